//! Parses the stream of `git log --raw -p -z` into commits, in bounded memory.
//!
//! A record is: the nonce, NUL, [`FIELDS`] fields each ended by NUL, NUL; and where anything changed: a line end,
//! raw entries (`:modes ids status NUL path NUL [path NUL]`), NUL, the patch. A patch may hold any byte (git calls a
//! file text when its first NUL lies after byte 8,000), so only the nonce, new for every run, ends it.

use std::io::Read;

use lore_model::{CommitId, CommitRecord, FileChange, FileStatus, Person, RepoPath};
use memchr::memmem::Finder;

use crate::{GitError, Result, program::broken_pipe};

/// The placeholders of `--format`, in the order in which [`Records::next`] reads them.
pub(crate) const FIELDS: [&str; 10] = ["%H", "%P", "%an", "%ae", "%at", "%cn", "%ce", "%ct", "%s", "%b"];

const READ_SIZE: usize = 128 * 1024;

/// A patch as the stream tells it.
#[derive(Debug, Default)]
pub(crate) struct RawPatch {
    /// The patch, cut after the cap.
    pub(crate) bytes: Vec<u8>,
    /// The length of the whole patch.
    pub(crate) len: u64,
}

/// A commit as the stream tells it; its preview is made later.
pub(crate) type Record = CommitRecord<RawPatch>;

/// The `--format` argument for a nonce.
pub(crate) fn format_argument(nonce: &str) -> String {
    format!("--format={nonce}%x00{}%x00", FIELDS.join("%x00"))
}

/// Reads records one after the other.
pub(crate) struct Records<R> {
    input: R,
    nonce: Vec<u8>,
    finder: Finder<'static>,
    /// Bytes from `start` to `end` have been read and not taken.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    patch_cap: usize,
}

impl<R: Read> Records<R> {
    /// Patches are kept up to `patch_cap` bytes, and one byte more so that the caller can tell.
    pub(crate) fn new(input: R, nonce: &str, patch_cap: usize) -> Self {
        let nonce = nonce.as_bytes().to_vec();
        let finder = Finder::new(&nonce).into_owned();
        Self { input, nonce, finder, buffer: vec![0; 4 * READ_SIZE], start: 0, end: 0, patch_cap }
    }

    /// The next commit, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record>> {
        if self.peek()?.is_none() {
            return Ok(None);
        }
        if !self.at_nonce()? {
            return Err(self.unfit("a record does not begin with the nonce"));
        }
        self.start += self.nonce.len();
        self.expect(0)?;
        let mut fields = Fields { lossy: false };
        let id = self.take_until_nul()?;
        let id = CommitId::from_hex(&id).map_err(|error| GitError::Stream(error.to_string()))?;
        let parents = self.take_until_nul()?;
        let mut record = Record {
            id,
            parent_count: u32::try_from(parents.split(|b| *b == b' ').filter(|p| !p.is_empty()).count())
                .unwrap_or(u32::MAX),
            author: Person { name: fields.text(self.take_until_nul()?), email: fields.text(self.take_until_nul()?) },
            author_time: time(&self.take_until_nul()?),
            committer: Person { name: fields.text(self.take_until_nul()?), email: fields.text(self.take_until_nul()?) },
            commit_time: time(&self.take_until_nul()?),
            subject: fields.text(self.take_until_nul()?),
            body: Some(fields.text(self.take_until_nul()?)),
            lossy: fields.lossy,
            files: Vec::new(),
            patch_preview: String::new(),
            patch: RawPatch::default(),
        };
        record.body = record.body.map(|body| body.trim_end().to_owned()).filter(|body| !body.is_empty());
        self.expect(0)?;
        if self.peek()?.is_some() && !self.at_nonce()? {
            self.expect(b'\n')?;
            self.take_changes(&mut record)?;
        }
        Ok(Some(record))
    }

    fn take_changes(&mut self, record: &mut Record) -> Result<()> {
        while self.peek()? == Some(b':') {
            let entry = self.take_until_nul()?;
            let status = entry.rsplit(|b| *b == b' ').next().and_then(|word| word.first().copied());
            let Some(status) = status.and_then(FileStatus::from_letter) else {
                return Err(self.unfit(&format!("unknown entry `{}`", String::from_utf8_lossy(&entry))));
            };
            let first = RepoPath::new(self.take_until_nul()?);
            record.files.push(if matches!(status, FileStatus::Renamed | FileStatus::Copied) {
                FileChange { status, path: RepoPath::new(self.take_until_nul()?), old_path: Some(first) }
            } else {
                FileChange { status, path: first, old_path: None }
            });
        }
        // Without `-p` the list is the end of the record.
        if self.peek()? == Some(0) {
            self.start += 1;
            self.take_patch(record)?;
        }
        Ok(())
    }

    /// Takes everything up to the next nonce or the end.
    fn take_patch(&mut self, record: &mut Record) -> Result<()> {
        loop {
            let rest = self.rest();
            let (taken, done) = match self.finder.find(rest) {
                Some(end) => (end, true),
                // The last bytes may be the beginning of a nonce.
                None => (rest.len().saturating_sub(self.nonce.len() - 1), false),
            };
            self.keep(record, taken);
            if done {
                return Ok(());
            }
            if !self.fill()? {
                let rest = self.rest().len();
                self.keep(record, rest);
                return Ok(());
            }
        }
    }

    fn keep(&mut self, record: &mut Record, count: usize) {
        let room = (self.patch_cap + 1).saturating_sub(record.patch.bytes.len()).min(count);
        record.patch.bytes.extend_from_slice(&self.buffer[self.start..self.start + room]);
        record.patch.len += count as u64;
        self.start += count;
    }

    fn at_nonce(&mut self) -> Result<bool> {
        while self.rest().len() < self.nonce.len() && self.fill()? {}
        Ok(self.rest().starts_with(&self.nonce))
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.start]))
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek()? != Some(byte) {
            return Err(self.unfit(&format!("byte {byte} expected")));
        }
        self.start += 1;
        Ok(())
    }

    fn take_until_nul(&mut self) -> Result<Vec<u8>> {
        let mut scanned = 0;
        loop {
            if let Some(end) = memchr::memchr(0, &self.rest()[scanned..]) {
                let from = self.start;
                self.start += scanned + end + 1;
                return Ok(self.buffer[from..self.start - 1].to_vec());
            }
            scanned = self.rest().len();
            if !self.fill()? {
                return Err(self.unfit("it ends inside a field"));
            }
        }
    }

    /// Reads more; `false` at the end of the input.
    fn fill(&mut self) -> Result<bool> {
        if self.buffer.len() - self.end < READ_SIZE {
            // What has been taken makes room; only a long field makes the buffer grow.
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.buffer.len() - self.end < READ_SIZE {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        let count = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| broken_pipe(&error))?,
            }
        };
        self.end += count;
        Ok(count > 0)
    }

    /// What has been read and not taken.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn unfit(&self, what: &str) -> GitError {
        let rest = self.rest();
        let near = String::from_utf8_lossy(&rest[..rest.len().min(60)]).into_owned();
        GitError::Stream(format!("{what}, near {near:?}"))
    }
}

struct Fields {
    lossy: bool,
}

impl Fields {
    fn text(&mut self, bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap_or_else(|error| {
            self.lossy = true;
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    }
}

/// Seconds since 1970; `None` where git printed nothing or more than fits.
fn time(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;

    /// Feeds the stream in pieces of one size after the other: every split must give the same records.
    fn check(stream: &[u8], expected: &Expect) {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.0.len().min(self.1).min(buffer.len());
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut first = None;
        for size in [1, 2, 3, 7, 64, 4096] {
            let mut records = Records::new(Pieces(stream, size), "NONCE", 40);
            let mut shown = String::new();
            loop {
                match records.next() {
                    Ok(None) => break,
                    Err(error) => {
                        // What stands near depends on how much has been read.
                        writeln!(shown, "error: {}", error.to_string().split(", near").next().unwrap()).unwrap();
                        break;
                    }
                    Ok(Some(record)) => writeln!(
                        shown,
                        "{} p{} {:?} {:?} {:?} {:?} lossy={} {:?} {:?} of {}",
                        &record.id.to_hex()[..4],
                        record.parent_count,
                        record.author.name,
                        record.author_time,
                        record.subject,
                        record.body,
                        record.lossy,
                        record.files.iter().map(|f| (f.status.letter(), &f.path, &f.old_path)).collect::<Vec<_>>(),
                        String::from_utf8_lossy(&record.patch.bytes),
                        record.patch.len
                    )
                    .unwrap(),
                }
            }
            assert_eq!(first.get_or_insert_with(|| shown.clone()), &shown, "pieces of {size}");
        }
        expected.assert_eq(&first.unwrap());
    }

    fn header(id: char, subject: &str, body: &str) -> Vec<u8> {
        format!("NONCE\0{}\0p1 p2\0Ann\0a@x\012\0Bob\0b@x\013\0{subject}\0{body}\0\0", id.to_string().repeat(40))
            .into_bytes()
    }

    #[test]
    fn records_with_and_without_changes() {
        let mut stream = header('a', "empty", "");
        stream.extend(header('b', "one two", "body\n\n"));
        stream.extend(b"\n:100644 100644 1 2 M\0x\0:100644 100644 1 2 R087\0old\0new\0\0diff --git\n");
        stream.extend(header('c', "last", ""));
        check(
            &stream,
            &expect![[r#"
            aaaa p2 "Ann" Some(12) "empty" None lossy=false [] "" of 0
            bbbb p2 "Ann" Some(12) "one two" Some("body") lossy=false [('M', "x", None), ('R', "new", Some("old"))] "diff --git\n" of 11
            cccc p2 "Ann" Some(12) "last" None lossy=false [] "" of 0
        "#]],
        );
    }

    #[test]
    fn a_patch_may_hold_nul_and_look_like_a_record_and_is_cut_after_the_cap() {
        let mut stream = header('a', "s", "");
        stream
            .extend(b"\n:0 0 1 2 A\0x\0\0diff\0NONC\0commit\n:100644 NONC 0123456789012345678901234567890123456789\n");
        stream.extend(header('b', "t", ""));
        check(
            &stream,
            &expect![[r#"
            aaaa p2 "Ann" Some(12) "s" None lossy=false [('A', "x", None)] "diff\0NONC\0commit\n:100644 NONC 01234567890" of 71
            bbbb p2 "Ann" Some(12) "t" None lossy=false [] "" of 0
        "#]],
        );
    }

    #[test]
    fn a_cut_or_foreign_stream_is_an_error_not_a_record() {
        check(
            b"warning: something\n",
            &expect![[r"
            error: the output of `git` could not be understood: a record does not begin with the nonce
        "]],
        );
        check(
            &header('a', "s", "")[..60],
            &expect![[r"
            error: the output of `git` could not be understood: it ends inside a field
        "]],
        );
    }
}
