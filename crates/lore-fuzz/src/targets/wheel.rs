//! Wheels, which are ZIP archives.

use std::io::{Read as _, Write as _};

use crate::bytes::edited;

/// The reader is private in the program, which is too much to build for this.
#[path = "../../../lore/src/models/wheel.rs"]
mod reader;

/// An archive with one stored and one deflated file.
fn archive() -> Vec<u8> {
    let text = b"text ".repeat(40);
    let mut packed = vec![0; 400];
    let config = zlib_rs::DeflateConfig { window_bits: -15, ..zlib_rs::DeflateConfig::default() };
    let (packed, _) = zlib_rs::compress_slice(&mut packed, &text, config);
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for (name, method, content) in [("a.txt", 0_u8, &b"as it is"[..]), ("b.txt", 8, packed)] {
        let place = length(bytes.len());
        bytes.extend([&b"PK\x03\x04"[..], &[0; 22], &[5, 0, 0, 0], name.as_bytes(), content].concat());
        let size = length(content.len());
        list.extend(
            [&b"PK\x01\x02"[..], &[0; 6], &[method, 0], &[0; 8], &size, &size, &[5, 0], &[0; 12], &place].concat(),
        );
        list.extend(name.as_bytes());
    }
    let from = length(bytes.len());
    bytes.extend(&list);
    bytes.extend([&b"PK\x05\x06"[..], &[0; 8], &length(list.len()), &from, &[0; 2]].concat());
    bytes
}

fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(0).to_le_bytes()
}

/// The first byte says whether the rest are changes of an archive or all of it.
pub(super) fn run(bytes: &[u8]) {
    let Some((how, edits)) = bytes.split_first() else { return };
    let whole = archive();
    let changed = match how % 3 {
        0 => edited(&whole, edits),
        1 => [&whole[..(whole.len() * usize::from(*how)) >> 8], edits].concat(),
        _ => edits.to_vec(),
    };
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    file.write_all(&changed).expect("there is room");
    for (name, content) in [("a.txt", b"as it is".to_vec()), ("b.txt", b"text ".repeat(40))] {
        let mut read = Vec::new();
        // Nothing is so much longer than what it was made of: 1032 times is the most that deflate can do.
        let most = 2000 * (changed.len() as u64 + 1);
        let done = reader::open(file.path(), name).and_then(|found| found.take(most).read_to_end(&mut read));
        assert!((read.len() as u64) < most, "it has an end");
        assert!(changed != whole || (done.is_ok() && read == content), "a whole archive is read");
    }
}
