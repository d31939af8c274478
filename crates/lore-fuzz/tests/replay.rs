//! Every kept input, and a bounded number of changed ones, on every machine and without a fuzzer.
//!
//! Each target is a test of its own, so that what fails is named. What is tried is the same in every run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use lore_fuzz::{Mutator, TARGETS};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
}

/// The kept inputs of a target, by name.
fn kept(name: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder(name)).unwrap_or_else(|error| panic!("{name} has no inputs: {error}"));
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("it is a target");
    let inputs = kept(name);
    assert!(!inputs.is_empty(), "{name} has no inputs");
    let check = |what: &str, bytes: &[u8]| {
        let tried = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
        assert!(tried.is_ok(), "{name} fails with {what}:\n{}", bytes.escape_ascii());
    };
    check("nothing", b"");
    for (file, bytes) in &inputs {
        check(&format!("fuzz/corpus/{name}/{file}"), bytes);
    }
    let known: Vec<Vec<u8>> = inputs.into_iter().map(|(_, bytes)| bytes).collect();
    let mut mutator = Mutator::new(1);
    for number in 0..target.tries {
        check(&format!("changed input {number}"), &mutator.next(&known));
    }
}

macro_rules! replay {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_tried() {
            let tried = [$(stringify!($name)),*];
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(known, tried);
        }
    };
}

replay! {
    access_token addresses chunk_file chunker commitmux git_blame git_stream globs history_query http_request ignore_rules
    json_rpc message_file patch_hunks prompt regex_lines registry segment_file sse values wheel words
}

#[test]
fn kept_inputs_are_few_and_short() {
    let sizes = TARGETS.iter().flat_map(|target| kept(target.name)).map(|(_, bytes)| bytes.len());
    assert!(sizes.sum::<usize>() < 200_000, "they are read by people and tried by every run");
}
