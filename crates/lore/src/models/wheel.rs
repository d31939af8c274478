//! Reads one file out of a wheel, which is a ZIP archive. Only what wheels use is understood.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek as _, SeekFrom},
    path::Path,
};

use zlib_rs::{Inflate, InflateFlush, Status};

/// The end of the archive is looked for in so many bytes.
const TAIL: u64 = 66_000;

/// No list of files is longer.
const LONGEST_LIST: u64 = 16 << 20;

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn number(bytes: &[u8], at: usize, size: usize) -> io::Result<u64> {
    let bytes = bytes.get(at..at + size).ok_or_else(|| bad("the archive is damaged"))?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Opens the file of that name.
pub(super) fn open(path: &Path, name: &str) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.by_ref().take(TAIL).read_to_end(&mut tail)?;
    let end = tail.windows(4).rposition(|four| four == b"PK\x05\x06").ok_or_else(|| bad("it is no wheel"))?;
    let (size, from) = (number(&tail, end + 12, 4)?, number(&tail, end + 16, 4)?);
    if size > LONGEST_LIST || from + size > length {
        return Err(bad("the archive is damaged"));
    }
    file.seek(SeekFrom::Start(from))?;
    let mut list = vec![0; usize::try_from(size).unwrap_or(0)];
    file.read_exact(&mut list)?;
    let mut at = 0;
    while list[at.min(list.len())..].starts_with(b"PK\x01\x02") {
        let [names, extra, comment] = [28, 30, 32].map(|field| number(&list, at + field, 2));
        let lengths = [names?, extra?, comment?].map(|length| usize::try_from(length).unwrap_or(0));
        let found = list.get(at + 46..at + 46 + lengths[0]).ok_or_else(|| bad("the archive is damaged"))?;
        if found == name.as_bytes() {
            let (method, packed, place) =
                (number(&list, at + 10, 2)?, number(&list, at + 20, 4)?, number(&list, at + 42, 4)?);
            return content(file, method, packed, place);
        }
        at += 46 + lengths.iter().sum::<usize>();
    }
    Err(bad(&format!("there is no {name} in it")))
}

fn content(mut file: File, method: u64, packed: u64, place: u64) -> io::Result<Box<dyn Read>> {
    file.seek(SeekFrom::Start(place))?;
    let mut head = [0; 30];
    file.read_exact(&mut head)?;
    if !head.starts_with(b"PK\x03\x04") {
        return Err(bad("the archive is damaged"));
    }
    let skipped = number(&head, 26, 2)? + number(&head, 28, 2)?;
    file.seek(SeekFrom::Start(place + 30 + skipped))?;
    let stored = BufReader::with_capacity(1 << 18, file.take(packed));
    match method {
        0 => Ok(Box::new(stored)),
        8 => Ok(Box::new(Inflating { from: stored, inflate: Inflate::new(false, 15), ended: false })),
        _ => Err(bad("it is packed in a way that wheels do not use")),
    }
}

/// A deflated file.
struct Inflating<R> {
    from: BufReader<R>,
    inflate: Inflate,
    ended: bool,
}

impl<R: Read> Read for Inflating<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !out.is_empty() {
            let input = io::BufRead::fill_buf(&mut self.from)?;
            let is_last = input.is_empty();
            let (before, given) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, out, InflateFlush::NoFlush);
            let status = status.map_err(|error| bad(error.as_str()))?;
            let taken = usize::try_from(self.inflate.total_in() - before).unwrap_or(0);
            let made = usize::try_from(self.inflate.total_out() - given).unwrap_or(0);
            io::BufRead::consume(&mut self.from, taken);
            self.ended = matches!(status, Status::StreamEnd);
            if made > 0 {
                return Ok(made);
            }
            if is_last && !self.ended {
                return Err(bad("the archive ends too early"));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one stored and one deflated file, as Python's zipfile writes it.
    fn archive() -> Vec<u8> {
        let text = "text ".repeat(4000);
        let mut packed = vec![0; 4000];
        let config = zlib_rs::DeflateConfig { window_bits: -15, ..zlib_rs::DeflateConfig::default() };
        let (packed, _) = zlib_rs::compress_slice(&mut packed, text.as_bytes(), config);
        let (mut bytes, mut list) = (Vec::new(), Vec::new());
        for (name, method, content) in [("a/stored.txt", 0_u16, b"as it is".as_slice()), ("a/packed.txt", 8, packed)] {
            let place = u32::try_from(bytes.len()).unwrap();
            let size = u32::try_from(content.len()).unwrap().to_le_bytes();
            let length = u16::try_from(name.len()).unwrap().to_le_bytes();
            bytes.extend(b"PK\x03\x04");
            bytes.extend([0; 22]);
            bytes.extend(length);
            bytes.extend([0; 2]);
            bytes.extend(name.as_bytes());
            bytes.extend(content);
            list.extend(b"PK\x01\x02");
            list.extend([0; 6]);
            list.extend(method.to_le_bytes());
            list.extend([0; 8]);
            list.extend(size);
            list.extend(size);
            list.extend(length);
            list.extend([0; 12]);
            list.extend(place.to_le_bytes());
            list.extend(name.as_bytes());
        }
        let from = u32::try_from(bytes.len()).unwrap();
        bytes.extend(&list);
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 8]);
        bytes.extend(u32::try_from(list.len()).unwrap().to_le_bytes());
        bytes.extend(from.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    fn read(path: &Path, name: &str) -> io::Result<String> {
        let mut text = String::new();
        open(path, name)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn files_are_read_and_damage_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.whl");
        let whole = archive();
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(read(&path, "a/stored.txt").unwrap(), "as it is");
        assert_eq!(read(&path, "a/packed.txt").unwrap(), "text ".repeat(4000));
        assert!(read(&path, "a/other.txt").unwrap_err().to_string().contains("there is no a/other.txt"));
        for length in (0..whole.len()).step_by(3) {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path, "a/packed.txt").is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&path, bytes).unwrap();
            // Whatever comes out, nothing panics and nothing is endless; sums of what matters are compared elsewhere.
            drop(open(&path, "a/packed.txt").map(|file| file.take(1 << 20).read_to_end(&mut Vec::new())));
        }
    }
}
