//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use std::{convert::Infallible, io::Read};

use lore_model::CommitRecord;

use crate::{Blame, Result, stream::Records};

/// A commit with the beginning of its patch and the length of the whole.
pub type Record = CommitRecord<(Vec<u8>, u64)>;

/// The commits of git's stream, each with its patch up to `cap` bytes and the length of the whole, and why reading ended early.
pub fn records(input: impl Read, nonce: &str, cap: usize) -> (Vec<Record>, Option<String>) {
    let (mut records, mut found) = (Records::new(input, nonce, cap), Vec::new());
    loop {
        match records.next() {
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error.to_string())),
            Ok(Some(record)) => {
                let Ok(record) = record.try_map_patch(|patch| Ok::<_, Infallible>((patch.bytes, patch.len)));
                found.push(record);
            }
        }
    }
}

/// What `git blame --incremental` printed.
pub fn blame(printed: &[u8]) -> Result<Blame> {
    crate::blame::parse(printed)
}
