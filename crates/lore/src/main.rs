//! The program `lore`.
#![deny(unsafe_code)]

fn main() -> std::process::ExitCode {
    lore::main()
}
