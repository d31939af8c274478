//! Every parser of bytes that somebody else wrote, with what must hold of it whatever the bytes are.
//!
//! A [`Target`] takes any bytes and panics where something does not hold. libFuzzer calls it (`fuzz/`, `cargo xtask fuzz`),
//! and so does a test on every machine, with the inputs that are kept and with changed ones ([`Mutator`]). Not only panics
//! count: each target compares with something simpler, or with the way back.
#![forbid(unsafe_code)]

mod bytes;
mod mutate;
mod targets;

pub use mutate::Mutator;
pub use targets::{TARGETS, Target};

/// Tries these bytes with the target of that name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("there is no target `{name}`")).run)(bytes);
}
