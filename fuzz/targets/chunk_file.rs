//! See `crates/lore-fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lore_fuzz::run("chunk_file", bytes));
