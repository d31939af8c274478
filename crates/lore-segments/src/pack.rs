//! Lists as compact bytes: varints, shared beginnings, zstd for long ones.

use std::{collections::HashMap, sync::Arc};

use lore_model::{ChunkKind, RepoPath, SymbolKind};
use lore_store::{ChunkId, Entry, LeftOut};

/// What was stored is not what was written.
#[derive(Debug, thiserror::Error)]
#[error("a packed list is damaged")]
pub struct Damaged;

type Result<T> = std::result::Result<T, Damaged>;

/// How hard lists are compressed: they are written whole at each sync.
const LEVEL: i32 = 3;

/// No packed list unpacks to more: a damaged length must not ask for all memory.
const LARGEST: usize = 1 << 30;

#[derive(Default)]
pub(crate) struct Out(pub(crate) Vec<u8>);

impl Out {
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 128 {
            self.0.push((value & 127).to_le_bytes()[0] | 128);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// The step from one number to the next, which may be back.
    pub(crate) fn step(&mut self, from: i64, to: i64) {
        let step = to.wrapping_sub(from);
        self.number(((step << 1) ^ (step >> 63)).cast_unsigned());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A text or none.
    pub(crate) fn maybe(&mut self, text: Option<&str>) {
        match text {
            None => self.number(0),
            Some(text) => {
                self.number(text.len() as u64 + 1);
                self.0.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// The names of these languages, each once, and the number of each.
    pub(crate) fn languages<'l>(&mut self, names: impl Iterator<Item = &'l str>) -> HashMap<&'l str, u64> {
        let mut languages: Vec<&str> = Vec::new();
        let mut numbers: HashMap<&str, u64> = HashMap::new();
        for name in names {
            numbers.entry(name).or_insert_with(|| {
                languages.push(name);
                languages.len() as u64 - 1
            });
        }
        self.number(languages.len() as u64);
        for language in &languages {
            self.bytes(language.as_bytes());
        }
        numbers
    }

    /// A path that often begins like the one before.
    pub(crate) fn path(&mut self, before: &[u8], path: &[u8]) {
        let shared = before.iter().zip(path).take_while(|(a, b)| a == b).count();
        self.number(shared as u64);
        self.bytes(&path[shared..]);
    }
}

pub(crate) struct In<'a>(pub &'a [u8]);

impl<'a> In<'a> {
    pub(crate) fn number(&mut self) -> Result<u64> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let (&byte, rest) = self.0.split_first().ok_or(Damaged)?;
            self.0 = rest;
            if shift > 63 {
                return Err(Damaged);
            }
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    pub(crate) fn small(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| Damaged)
    }

    pub(crate) fn step(&mut self, from: i64) -> Result<i64> {
        let step = self.number()?;
        Ok(from.wrapping_add((step >> 1).cast_signed() ^ -(step & 1).cast_signed()))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).map_err(|_| Damaged)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    pub(crate) fn maybe(&mut self) -> Result<Option<String>> {
        match self.number()? {
            0 => Ok(None),
            length => Ok(Some(text(self.take(length - 1)?)?)),
        }
    }

    pub(crate) fn languages(&mut self) -> Result<Vec<Arc<str>>> {
        let mut languages: Vec<Arc<str>> = Vec::new();
        for _ in 0..self.small()? {
            languages.push(text(self.bytes()?)?.into());
        }
        Ok(languages)
    }

    /// Room for so many values, each of which takes at least `least` bytes: a damaged count asks for no more than is there.
    pub(crate) fn room<T>(&self, count: usize, least: usize) -> Vec<T> {
        Vec::with_capacity(count.min(self.0.len() / least))
    }

    pub(crate) fn path(&mut self, path: &mut Vec<u8>) -> Result<()> {
        let shared = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        if shared > path.len() {
            return Err(Damaged);
        }
        path.truncate(shared);
        path.extend_from_slice(self.bytes()?);
        Ok(())
    }
}

pub(crate) fn text(bytes: &[u8]) -> Result<String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Damaged)
}

pub(crate) fn compress(raw: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(raw, LEVEL).expect("compressing into memory cannot fail")
}

pub(crate) fn decompress(packed: &[u8]) -> Result<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten().ok_or(Damaged)?;
    let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST).ok_or(Damaged)?;
    zstd::bulk::decompress(packed, size).map_err(|_| Damaged)
}

const KINDS: [ChunkKind; 4] = ChunkKind::ALL;
const SYMBOLS: [SymbolKind; 16] = SymbolKind::ALL;

/// The chunks of a blob.
pub fn pack_entries(entries: &[Entry<ChunkId>]) -> Vec<u8> {
    let mut out = Out::default();
    out.number(entries.len() as u64);
    let (mut chunk, mut line, mut byte) = (0, 0, 0);
    let mut container: Option<&str> = None;
    for entry in entries {
        let kind = KINDS.iter().position(|kind| *kind == entry.kind).unwrap_or(0);
        let symbol = entry.symbol.and_then(|symbol| SYMBOLS.iter().position(|other| *other == symbol));
        out.number((symbol.map_or(0, |at| at + 1) * KINDS.len() + kind) as u64);
        out.step(chunk, i64::from(entry.chunk));
        out.step(line, i64::from(entry.first_line));
        out.step(i64::from(entry.first_line), i64::from(entry.last_line));
        out.step(byte, i64::from(entry.bytes.start));
        out.step(i64::from(entry.bytes.start), i64::from(entry.bytes.end));
        out.maybe(entry.name.as_deref());
        // Neighbours mostly stand in the same container, and most define nothing but what they are called after.
        let same = entry.container.as_deref() == container;
        let named = !entry.names.is_empty();
        out.number(u64::from(same) | u64::from(named) << 1);
        if !same {
            out.maybe(entry.container.as_deref());
        }
        if named {
            out.number(entry.names.len() as u64);
            entry.names.iter().for_each(|name| out.bytes(name.as_bytes()));
        }
        out.number(entry.part.map_or(0, |(part, _)| u64::from(part) + 1));
        if let Some((_, parts)) = entry.part {
            out.number(u64::from(parts));
        }
        (chunk, line, byte) = (i64::from(entry.chunk), i64::from(entry.last_line), i64::from(entry.bytes.end));
        container = entry.container.as_deref();
    }
    out.0
}

/// Reads what [`pack_entries`] wrote.
pub fn unpack_entries(packed: &[u8]) -> Result<Vec<Entry<ChunkId>>> {
    let mut input = In(packed);
    let count = input.small()?;
    let mut entries = Vec::new();
    let small = |value: i64| u32::try_from(value).map_err(|_| Damaged);
    let (mut chunk, mut line, mut byte) = (0, 0, 0);
    let mut container: Option<String> = None;
    for _ in 0..count {
        let what = input.small()? as usize;
        let symbol = (what / KINDS.len()).checked_sub(1).map(|at| SYMBOLS.get(at).copied().ok_or(Damaged));
        chunk = input.step(chunk)?;
        let first_line = input.step(line)?;
        line = input.step(first_line)?;
        let start = input.step(byte)?;
        byte = input.step(start)?;
        let name = input.maybe()?;
        let flags = input.number()?;
        if flags & 1 == 0 {
            container = input.maybe()?;
        }
        let mut names = Vec::new();
        if flags & 2 != 0 {
            for _ in 0..input.small()? {
                names.push(text(input.bytes()?)?);
            }
        }
        let part = match input.small()? {
            0 => None,
            part => Some((part - 1, input.small()?)),
        };
        entries.push(Entry {
            chunk: small(chunk)?,
            kind: KINDS[what % KINDS.len()],
            bytes: small(start)?..small(byte)?,
            first_line: small(first_line)?,
            last_line: small(line)?,
            name,
            names,
            symbol: symbol.transpose()?,
            container: container.clone(),
            part,
        });
    }
    Ok(entries)
}

/// A file of a snapshot as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// Where it is.
    pub path: RepoPath,
    /// The row of its content.
    pub blob: i64,
    /// Its language.
    pub language: Arc<str>,
    /// Its chunks, in their order.
    pub chunks: Vec<ChunkId>,
}

/// The files of a snapshot, in order of their paths.
pub fn pack_files(files: &[PackedFile]) -> Vec<u8> {
    let mut out = Out::default();
    let numbers = out.languages(files.iter().map(|file| &*file.language));
    out.number(files.len() as u64);
    let (mut path, mut blob, mut chunk): (&[u8], i64, i64) = (b"", 0, 0);
    for file in files {
        out.path(path, file.path.as_bytes());
        out.step(blob, file.blob);
        out.number(numbers[&*file.language]);
        out.number(file.chunks.len() as u64);
        for &id in &file.chunks {
            out.step(chunk, i64::from(id));
            chunk = i64::from(id);
        }
        (path, blob) = (file.path.as_bytes(), file.blob);
    }
    compress(&out.0)
}

/// Reads what [`pack_files`] wrote.
pub fn unpack_files(packed: &[u8]) -> Result<Vec<PackedFile>> {
    let raw = decompress(packed)?;
    let mut input = In(&raw);
    let languages = input.languages()?;
    let count = input.small()? as usize;
    let mut files = input.room(count, 5);
    let (mut path, mut blob, mut chunk) = (Vec::new(), 0, 0);
    for _ in 0..count {
        input.path(&mut path)?;
        blob = input.step(blob)?;
        let language = languages.get(input.small()? as usize).ok_or(Damaged)?.clone();
        let length = input.small()? as usize;
        let mut chunks = input.room(length, 1);
        for _ in 0..length {
            chunk = input.step(chunk)?;
            chunks.push(u32::try_from(chunk).map_err(|_| Damaged)?);
        }
        files.push(PackedFile { path: RepoPath::new(path.as_slice()), blob, language, chunks });
    }
    Ok(files)
}

/// Files that are left out, by reason and path.
pub fn pack_left_out(files: &[LeftOut]) -> Vec<u8> {
    let mut out = Out::default();
    out.number(files.len() as u64);
    let (mut reason, mut path): (&[u8], &[u8]) = (b"", b"");
    for file in files {
        out.path(reason, file.reason.as_bytes());
        out.path(path, file.path.as_bytes());
        (reason, path) = (file.reason.as_bytes(), file.path.as_bytes());
    }
    compress(&out.0)
}

/// Reads what [`pack_left_out`] wrote.
pub fn unpack_left_out(packed: &[u8]) -> Result<Vec<LeftOut>> {
    let raw = decompress(packed)?;
    let mut input = In(&raw);
    let (mut files, mut reason, mut path) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..input.small()? {
        input.path(&mut reason)?;
        input.path(&mut path)?;
        files.push(LeftOut { reason: text(&reason)?, path: RepoPath::new(path.as_slice()) });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*};

    use super::*;

    fn entry() -> impl Strategy<Value = Entry<ChunkId>> {
        let part = option::of((1..9_u32, 1..9_u32));
        let named = (
            option::of("[a-z]{0,9}"),
            vec("[a-z]{0,3}", 0..3),
            option::of(0..16_usize),
            option::of("[A-Z]{1,3}"),
            part,
        );
        (any::<u32>(), 0..4_usize, any::<[u32; 4]>(), named).prop_map(
            |(chunk, kind, at, (name, names, symbol, container, part))| Entry {
                chunk,
                kind: KINDS[kind],
                bytes: at[0]..at[1],
                first_line: at[2],
                last_line: at[3],
                name,
                names,
                symbol: symbol.map(|symbol| SYMBOLS[symbol]),
                container,
                part,
            },
        )
    }

    fn file() -> impl Strategy<Value = PackedFile> {
        (vec(any::<u8>(), 0..20), any::<i64>(), "[a-c]{1,2}", vec(any::<u32>(), 0..5)).prop_map(
            |(path, blob, language, chunks)| PackedFile {
                path: RepoPath::new(path),
                blob,
                language: language.into(),
                chunks,
            },
        )
    }

    #[test]
    fn a_damaged_count_asks_for_no_more_room_than_there_are_bytes() {
        let input = In(&[0; 50]);
        assert_eq!(input.room::<PackedFile>(3, 5).capacity(), 3);
        assert_eq!(input.room::<PackedFile>(usize::MAX, 5).capacity(), 10);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(entries in vec(entry(), 0..20), files in vec(file(), 0..20)) {
            prop_assert_eq!(unpack_entries(&pack_entries(&entries)).unwrap(), entries);
            prop_assert_eq!(unpack_files(&pack_files(&files)).unwrap(), files);
        }

        #[test]
        fn damage_is_an_error_not_a_fault(bytes in vec(any::<u8>(), 0..200)) {
            drop(unpack_entries(&bytes));
            let packed = compress(&bytes);
            drop(unpack_files(&packed));
            drop(unpack_left_out(&packed));
            prop_assert!(unpack_files(&bytes).is_err() || !bytes.is_empty());
        }
    }
}
