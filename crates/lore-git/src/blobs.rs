//! Reads the contents of blobs, one reader for each thread.

use std::path::PathBuf;

use gix::{
    objs::{Find as _, Kind},
    odb::{Header as _, pack},
};
use lore_model::BlobId;

use crate::{GitError, Repository, Result};

/// How many bytes of unpacked objects a reader keeps, because the next object may be stored as a difference to one.
const KEPT: usize = 32 << 20;

/// What became of a blob that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Its bytes are in the buffer.
    Read,
    /// The repository does not hold it: a partial clone.
    Missing,
    /// It has so many bytes, more than were allowed. It was not unpacked.
    TooLarge(u64),
}

/// Reads blobs on one thread. Each thread takes one of its own.
pub struct BlobReader {
    objects: gix::OdbHandle,
    path: PathBuf,
}

impl Repository {
    /// A reader of blobs, for one thread.
    pub fn blobs(&self) -> BlobReader {
        let mut objects = self.local().objects;
        objects.ignore_replacements = true;
        objects.set_pack_cache(|| Box::new(pack::cache::lru::MemoryCappedHashmap::new(KEPT)));
        BlobReader { objects, path: self.path().to_owned() }
    }
}

impl BlobReader {
    /// The number of bytes of a blob; none where the repository does not hold it.
    pub fn size(&self, blob: BlobId) -> Result<Option<u64>> {
        let header = self.objects.try_header(&object_id(blob)).map_err(|error| self.unreadable(blob, &error))?;
        header.map(|header| self.must_be_blob(blob, header.kind()).map(|()| header.size())).transpose()
    }

    /// Reads a blob into the buffer, in place of what was there, unless it has more than `max` bytes.
    pub fn read(&mut self, blob: BlobId, max: u64, buffer: &mut Vec<u8>) -> Result<Found> {
        buffer.clear();
        match self.size(blob)? {
            None => return Ok(Found::Missing),
            Some(size) if size > max => return Ok(Found::TooLarge(size)),
            Some(_) => {}
        }
        let found = self.objects.try_find(&object_id(blob), buffer).map_err(|error| self.unreadable(blob, &error))?;
        match found.map(|data| data.kind) {
            None => Ok(Found::Missing),
            Some(kind) => self.must_be_blob(blob, kind).map(|()| Found::Read),
        }
    }

    fn must_be_blob(&self, blob: BlobId, kind: Kind) -> Result<()> {
        if kind == Kind::Blob { Ok(()) } else { Err(self.unreadable(blob, &format_args!("it is a {kind}"))) }
    }

    fn unreadable(&self, blob: BlobId, why: &dyn std::fmt::Display) -> GitError {
        GitError::Unreadable { path: self.path.clone(), what: "a blob", why: format!("{blob}: {why}") }
    }
}

fn object_id(id: BlobId) -> gix::ObjectId {
    gix::ObjectId::from_bytes_or_panic(id.as_bytes())
}
