//! Damaged segment files: an error, or less than was written.

use std::sync::LazyLock;

use lore_store_embedded::fuzz::{ReadSegment, TEXTS, reseal, segment, use_segment};

use crate::bytes::edited;

static SEGMENT: LazyLock<(Vec<u8>, ReadSegment)> = LazyLock::new(|| {
    let bytes = segment();
    let read = use_segment(bytes.clone()).expect("it is a segment");
    assert!(read.whole && read.found.len() > 2 && !read.with.is_empty(), "{read:?}");
    let texts: Vec<Option<Vec<u8>>> = TEXTS.iter().map(|text| Some(text.as_bytes().to_vec())).collect();
    assert_eq!(read.texts[..TEXTS.len()], texts);
    (bytes, read)
});

/// The first byte says whether the header's checksum is written anew and whether the file is cut; the rest are changes, or all of
/// the file.
pub(super) fn run(bytes: &[u8]) {
    let (whole, read) = &*SEGMENT;
    let Some((how, edits)) = bytes.split_first() else { return };
    let mut damaged = match how % 4 {
        0 | 1 => edited(whole, edits),
        2 => [&whole[..512], edits].concat(),
        _ => edits.to_vec(),
    };
    if how / 4 % 2 == 1 {
        let keep = damaged.len() * usize::from(how / 8) / 32;
        damaged.truncate(keep);
    }
    let is_changed = damaged != *whole;
    // Whoever writes the header's checksum anew can change what it says, too.
    let is_sealed = how % 4 == 0 || damaged.get(..512) == whole.get(..512);
    if how % 4 > 0 {
        reseal(&mut damaged);
    }
    match use_segment(damaged) {
        Some(found) if !is_changed => assert_eq!(found, *read, "what is whole answers as ever"),
        Some(found) => assert!(!found.whole || !is_sealed, "every changed byte is found"),
        None => assert!(is_changed, "a whole segment can be read"),
    }
}
