//! The stream of `git log`: however it arrives in pieces and wherever it is cut.

use lore_git::fuzz::records;
use lore_model::CommitRecord;

use crate::bytes::Pieces;

const NONCE: &str = "NONCE";

/// Larger than any input: patches are whole.
const CAP: usize = 1 << 20;

type Record = CommitRecord<(Vec<u8>, u64)>;

pub(super) fn run(bytes: &[u8]) {
    let (found, error) = records(bytes, NONCE, CAP);
    for size in [1, 7] {
        let (pieces, broken) = records(Pieces(bytes, size), NONCE, CAP);
        assert_eq!(pieces, found, "pieces of {size}");
        assert_eq!(broken.is_some(), error.is_some(), "pieces of {size}");
    }
    let (short, _) = records(bytes, NONCE, 3);
    for (short, whole) in short.iter().zip(&found) {
        assert_eq!(short.patch.1, whole.patch.1, "a cap does not change the length");
        assert_eq!(short.patch.0, whole.patch.0[..whole.patch.0.len().min(4)], "the cap and one byte more");
    }
    let written: Vec<Vec<u8>> = found.iter().map(write).collect();
    let stream = written.concat();
    // That text was no UTF-8 is known of the original alone.
    let expected: Vec<Record> = found.into_iter().map(|record| Record { lossy: false, ..record }).collect();
    assert_eq!(records(&stream[..], NONCE, CAP), (expected.clone(), None), "written and read again");
    for cut in (0..stream.len()).step_by(stream.len() / 16 + 1) {
        check_cut(&stream, cut, &expected, &written);
    }
}

/// What is before the cut is there, and of the record that was cut only what git had said of it.
fn check_cut(stream: &[u8], cut: usize, all: &[Record], written: &[Vec<u8>]) {
    let (found, error) = records(&stream[..cut], NONCE, CAP);
    let ends = written.iter().scan(0, |end, record| {
        *end += record.len();
        Some(*end)
    });
    let whole = ends.take_while(|end| *end <= cut).count();
    // A record that something else follows than the next one is not known to be whole.
    let is_known = found.len() + 1 == whole && error.is_some();
    assert!(is_known || found.len() == whole || found.len() == whole + 1, "{} of {whole}", found.len());
    let Some((last, before)) = found.split_last() else { return };
    assert_eq!(before, &all[..before.len()]);
    let original = &all[before.len()];
    assert_eq!((last.id, &last.subject, &last.body), (original.id, &original.subject, &original.body));
    assert!(original.files.starts_with(&last.files), "{:?}", last.files);
    // The beginning of the next nonce cannot be told from a patch.
    let patch = last.patch.0.strip_prefix(&*original.patch.0).map_or(&[][..], |more| more);
    assert!(original.patch.0.starts_with(&last.patch.0) || NONCE.as_bytes().starts_with(patch), "{patch:?}");
    let is_at_border = written[..whole].iter().map(Vec::len).sum::<usize>() == cut;
    let is_after_patch = found.len() == whole && !original.patch.0.is_empty();
    assert!(found.len() > whole || error.is_some() || is_at_border || is_after_patch, "what has no end is told");
}

fn write(record: &Record) -> Vec<u8> {
    let time = |time: Option<i64>| time.map(|time| time.to_string()).unwrap_or_default();
    let parents = vec!["p"; usize::try_from(record.parent_count).unwrap_or(0)].join(" ");
    let fields = [
        NONCE,
        &record.id.to_hex(),
        &parents,
        &record.author.name,
        &record.author.email,
        &time(record.author_time),
        &record.committer.name,
        &record.committer.email,
        &time(record.commit_time),
        &record.subject,
        record.body.as_deref().unwrap_or_default(),
        "",
    ];
    let mut written = fields.map(|field| format!("{field}\0")).concat().into_bytes();
    if !record.files.is_empty() || record.patch.1 > 0 {
        written.push(b'\n');
    }
    for file in &record.files {
        written.extend(format!(":100644 100644 1 2 {}\0", file.status.letter()).into_bytes());
        for path in file.old_path.iter().chain([&file.path]) {
            written.extend(path.as_bytes());
            written.push(0);
        }
    }
    if record.patch.1 > 0 {
        written.push(0);
        written.extend(&record.patch.0);
    }
    written
}
