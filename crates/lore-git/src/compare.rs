//! One file of a look: what is there now, by the index, by what earlier looks learnt, or by reading it.

use std::{io, sync::atomic::Ordering};

use gix::{
    index::entry::{Flags, Mode as EntryMode, Stage},
    objs::Kind as ObjectKind,
};
use lore_model::{BlobId, RepoPath};

use crate::{
    BlobReader, Change, FileKind, Found, SkipReason, WorkFile,
    beneath::{Content, Folder, Kind, Stat},
    look::{Counts, Place, Walker},
    sorted::{find, find_entry},
    stat_cache::{Learnt, is_young, matches_entry},
    tree::blob_id,
    worktree::is_gone,
};

impl Walker<'_> {
    /// Looks at a file or link. `self.path` is its path.
    pub(crate) fn file(&mut self, parent: &Folder, name: &[u8], stat: Option<Stat>, place: &Place) {
        let index = self.look.earlier.index;
        let entry = find_entry(index, place.index.clone(), &self.path);
        if entry.is_none() && (place.counts == Counts::Tracked || place.git_rules.excludes(&self.path, false)) {
            return;
        }
        let base = find(self.look.base, place.base.clone(), &self.path);
        if let Some(at) = base {
            self.look.done[at].store(true, Ordering::Relaxed);
        }
        let wanted = base.map(|at| self.look.base[at].1);
        if entry.is_some_and(|at| is_kept(index.entries()[at].flags)) {
            return;
        }
        match self.now(parent, name, stat, entry, wanted) {
            Ok(None) => {}
            Ok(Some(now)) => {
                if !self.is_left_out(place) {
                    self.found.changes.push(Change { path: RepoPath::new(&*self.path), now: Some(now) });
                }
            }
            Err(Trouble::Io(error)) if is_gone(&error) => {
                // It went away during the look.
                if let Some(at) = base {
                    self.look.done[at].store(false, Ordering::Relaxed);
                }
            }
            Err(trouble) => {
                if !self.is_left_out(place) {
                    self.skip(match trouble {
                        Trouble::Io(error) => SkipReason::Unreadable(error.to_string()),
                        Trouble::Skip(why) => why,
                    });
                }
            }
        }
    }

    /// Whether Lore's own rules exclude the file.
    fn is_left_out(&self, place: &Place) -> bool {
        place.lore_rules.excludes(&self.path, false)
            || self.look.ignores.excludes(&RepoPath::new(&*self.path)).is_some()
    }

    /// What is there now, unless it is what was wanted.
    fn now(
        &mut self,
        parent: &Folder,
        name: &[u8],
        stat: Option<Stat>,
        entry: Option<usize>,
        wanted: Option<BlobId>,
    ) -> Result<Option<WorkFile>, Trouble> {
        let stat = match stat {
            Some(stat) => stat,
            None => parent.stat(name)?,
        };
        let kind = match stat.kind {
            Kind::Symlink => FileKind::Symlink,
            _ if stat.executable => FileKind::Executable,
            _ => FileKind::Regular,
        };
        let tracked = entry.is_some();
        let index = self.look.earlier.index;
        if let Some(entry) = entry.map(|at| &index.entries()[at]) {
            let is_link = entry.mode == EntryMode::SYMLINK;
            if entry.stage() == Stage::Unconflicted
                && !entry.flags.contains(Flags::INTENT_TO_ADD)
                && is_link == (kind == FileKind::Symlink)
                && matches_entry(entry, &stat, index)
            {
                let blob = blob_id(&entry.id);
                return Ok((wanted != Some(blob)).then_some(WorkFile { blob, kind, size: stat.size, tracked }));
            }
        }
        let known = self.look.earlier.file(&self.path).filter(|known| known.stat == stat && !known.young).copied();
        let (mut learnt, mut is_news) = match known {
            Some(known) => (known, false),
            None => (self.read(parent, name, &stat)?, true),
        };
        let same = match wanted {
            None => false,
            Some(wanted) if wanted == learnt.blob || Some(wanted) == learnt.with_lf => true,
            Some(wanted) => match learnt.equals {
                Some((told, same)) if told == wanted => same,
                _ => {
                    let with_lf = learnt.with_lf.unwrap_or(learnt.blob);
                    let same = kind != FileKind::Symlink && self.equals_with_lf(wanted, with_lf);
                    (learnt.equals, is_news) = (Some((wanted, same)), true);
                    same
                }
            },
        };
        if is_news {
            self.found.learnt.push((Box::from(&*self.path), learnt));
        }
        Ok((!same).then_some(WorkFile { blob: learnt.blob, kind, size: stat.size, tracked }))
    }

    fn read(&mut self, parent: &Folder, name: &[u8], stat: &Stat) -> Result<Learnt, Trouble> {
        let hash = self.look.hash;
        let mut learnt = Learnt {
            stat: *stat,
            // Asked before the file is read: what comes after makes it younger.
            young: is_young(stat),
            blob: blob_id(&gix::ObjectId::empty_blob(hash)),
            with_lf: None,
            equals: None,
        };
        if stat.kind == Kind::Symlink {
            learnt.blob = hash_blob(hash, &parent.link(name)?);
            return Ok(learnt);
        }
        let max = self.look.options.max_file_bytes;
        if stat.size > max {
            return Err(Trouble::Skip(SkipReason::TooLarge(stat.size)));
        }
        match parent.read(name, max, &mut self.buffer)? {
            Content::Read { before, after } => learnt.young |= before != *stat || after != *stat,
            Content::TooLarge(size) => return Err(Trouble::Skip(SkipReason::TooLarge(size))),
            Content::NotAFile => return Err(Trouble::Skip(SkipReason::NotAFile)),
        }
        learnt.blob = hash_blob(hash, &self.buffer);
        if make_lf(&mut self.buffer) {
            learnt.with_lf = Some(hash_blob(hash, &self.buffer));
        }
        Ok(learnt)
    }

    /// Whether the blob, with all its line ends as LF, is the one that `with_lf` names.
    fn equals_with_lf(&mut self, blob: BlobId, with_lf: BlobId) -> bool {
        let look = self.look;
        let reader: &mut BlobReader = self.blobs.get_or_insert_with(|| look.repository.blobs());
        let read = reader.read(blob, look.options.max_file_bytes, &mut self.buffer);
        matches!(read, Ok(Found::Read)) && make_lf(&mut self.buffer) && hash_blob(look.hash, &self.buffer) == with_lf
    }
}

/// Why a file has no content to compare.
enum Trouble {
    Io(io::Error),
    Skip(SkipReason),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Git's name for a content.
pub(crate) fn hash_blob(hash: gix::hash::Kind, bytes: &[u8]) -> BlobId {
    let id = gix::objs::compute_hash(hash, ObjectKind::Blob, bytes);
    // It fails for contents that were made to collide; these get the name that no content has.
    blob_id(&id.unwrap_or_else(|_| hash.null()))
}

/// Replaces each CRLF by LF; false where there is none.
fn make_lf(bytes: &mut Vec<u8>) -> bool {
    let before = bytes.len();
    if memchr::memmem::find(bytes, b"\r\n").is_none() {
        return false;
    }
    let mut kept = 0;
    for at in 0..before {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        bytes[kept] = bytes[at];
        kept += 1;
    }
    bytes.truncate(kept);
    true
}

/// Whether the index says that the work tree is not to be asked about the file.
pub(crate) fn is_kept(flags: Flags) -> bool {
    flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
}
