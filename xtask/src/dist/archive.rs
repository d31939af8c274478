//! An archive that depends on nothing but the files in it and one time: `tar` and `gzip`, each as their first versions
//! already read it.
//!
//! Programs of that name would do, but what they write depends on which of them a machine has.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use zlib_rs::{DeflateConfig, ReturnCode, compress_bound, compress_slice};

/// A file of the archive.
#[derive(Debug)]
pub(super) struct Entry {
    /// Below the archive's folder.
    pub(super) path: String,
    mode: u32,
    bytes: Vec<u8>,
}

impl Entry {
    /// A file that anybody may read.
    pub(super) fn text(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), mode: 0o644, bytes: text.as_bytes().to_vec() }
    }

    /// A file that anybody may run.
    pub(super) fn program(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), mode: 0o755, bytes }
    }
}

const BLOCK: usize = 512;

/// All files below one folder, sorted, with one time and no owner.
pub(super) fn tar(folder: &str, mut entries: Vec<Entry>, time: u64) -> Result<Vec<u8>> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let mut folders = BTreeSet::from([format!("{folder}/")]);
    for entry in &entries {
        let parents = entry.path.match_indices('/').map(|(at, _)| format!("{folder}/{}", &entry.path[..=at]));
        folders.extend(parents);
    }
    let mut written = Vec::new();
    for name in &folders {
        written.extend(header(name, 0o755, 0, time, b'5')?);
    }
    for entry in &entries {
        written.extend(header(&format!("{folder}/{}", entry.path), entry.mode, entry.bytes.len(), time, b'0')?);
        written.extend(&entry.bytes);
        written.resize(written.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks are the end.
    written.resize(written.len() + 2 * BLOCK, 0);
    Ok(written)
}

/// The header of POSIX (`ustar`): numbers are octal digits, ended by a NUL.
fn header(name: &str, mode: u32, size: usize, time: u64, kind: u8) -> Result<[u8; BLOCK]> {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, length: usize, text: &[u8]| -> Result<()> {
        ensure!(text.len() <= length, "`{name}` does not fit into the header of an archive");
        block[at..at + text.len()].copy_from_slice(text);
        Ok(())
    };
    put(0, 100, name.as_bytes())?;
    put(100, 7, format!("{mode:07o}").as_bytes())?;
    put(108, 7, b"0000000")?;
    put(116, 7, b"0000000")?;
    put(124, 11, format!("{size:011o}").as_bytes())?;
    put(136, 11, format!("{time:011o}").as_bytes())?;
    // The checksum is that of a header with spaces in its place.
    put(148, 8, b"        ")?;
    put(156, 1, &[kind])?;
    put(257, 8, b"ustar\x0000")?;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

/// Compressed, without a name and without a time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    // 15 bits of window, and 16 for the header of gzip.
    let config = DeflateConfig { level: 9, window_bits: 31, ..DeflateConfig::default() };
    let mut packed = vec![0; compress_bound(bytes.len()) + 64];
    let (written, code) = compress_slice(&mut packed, bytes, config);
    ensure!(code == ReturnCode::Ok, "the archive cannot be compressed: {code:?}");
    let length = written.len();
    packed.truncate(length);
    let time = packed.get(4..8).context("the archive has no header")?;
    ensure!(time == [0; 4], "the compressed archive tells a time");
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::program::{output, program};

    fn sample() -> Vec<Entry> {
        vec![
            Entry::text("man/man1/lore.1", ".TH lore 1\n"),
            Entry::program("lore", vec![b'x'; 1000]),
            Entry::text("README.md", ""),
        ]
    }

    #[test]
    fn tar_and_gzip_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.tar.gz");
        fs::write(&file, gzip(&tar("lore-1", sample(), 1_700_000_000).unwrap()).unwrap()).unwrap();
        let list = output(program("tar").env("TZ", "UTC").arg("-tvzf").arg(&file)).unwrap();
        assert_eq!(list.lines().count(), 6, "three folders and three files: {list}");
        assert!(list.lines().all(|line| line.contains("2023-11-14 22:13") && line.contains(" 0/0 ")), "{list}");
        output(program("tar").arg("-xzf").arg(&file).arg("-C").arg(folder.path())).unwrap();
        let place = folder.path().join("lore-1");
        assert_eq!(fs::read(place.join("lore")).unwrap(), vec![b'x'; 1000]);
        assert_eq!(fs::read_to_string(place.join("man/man1/lore.1")).unwrap(), ".TH lore 1\n");
        assert_eq!(place.join("lore").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn the_order_in_which_files_come_does_not_show() {
        let mut turned = sample();
        turned.reverse();
        let (one, other) = (tar("a", sample(), 1).unwrap(), tar("a", turned, 1).unwrap());
        assert!(one == other && gzip(&one).unwrap() == gzip(&other).unwrap());
        assert_ne!(one, tar("a", sample(), 2).unwrap());
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused() {
        assert!(tar(&"a".repeat(99), sample(), 1).is_err());
    }
}
