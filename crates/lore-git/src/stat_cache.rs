//! Remembers the blob ids of work tree files, so that a file is hashed again only when the file system says it changed.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lore_model::BlobId;

use crate::{
    Repository, Result,
    beneath::{Folder, Stat},
};

/// A file this young when it was read may change again without its times telling: some systems keep whole seconds only.
const TOO_YOUNG: Duration = Duration::from_secs(2);

/// What earlier looks at one work tree have learnt. Empty at first, and never needed for an answer to be right.
#[derive(Default)]
pub struct StatCache {
    index: Option<(Option<Stat>, gix::index::File)>,
    files: HashMap<Box<[u8]>, Known>,
    /// What was said of ignore rules, with the last look that said it.
    told: HashMap<String, u64>,
    look: u64,
}

/// What is known of a file that git's index does not answer for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Learnt {
    pub(crate) stat: Stat,
    /// The file was so young when it was read that an equal `stat` proves nothing.
    pub(crate) young: bool,
    pub(crate) blob: BlobId,
    /// The blob id with all line ends as LF, where that is another.
    pub(crate) with_lf: Option<BlobId>,
    /// Whether it equals this blob but for line ends, as was found by reading the blob.
    pub(crate) equals: Option<(BlobId, bool)>,
}

/// What earlier looks learnt of a file.
struct Known {
    learnt: Learnt,
    /// The last look that met it.
    look: AtomicU64,
}

/// What a look can ask, from several threads.
#[derive(Clone, Copy)]
pub(crate) struct Earlier<'a> {
    pub(crate) index: &'a gix::index::File,
    files: &'a HashMap<Box<[u8]>, Known>,
    look: u64,
}

impl Earlier<'_> {
    /// What is known of a file, which is met now.
    pub(crate) fn file(&self, path: &[u8]) -> Option<&Learnt> {
        let known = self.files.get(path)?;
        known.look.store(self.look, Ordering::Relaxed);
        Some(&known.learnt)
    }
}

impl StatCache {
    /// Loads the index file, unless it is the one that is loaded already; says whether it did.
    pub(crate) fn load_index(&mut self, repository: &Repository) -> Result<bool> {
        let repo = repository.local();
        let stamp = Folder::open(repo.git_dir()).and_then(|folder| folder.stat(b"index")).ok();
        if self.index.as_ref().is_some_and(|(loaded, _)| *loaded == stamp) {
            return Ok(false);
        }
        let index = match stamp {
            Some(_) => repo.open_index().map_err(|error| repository.unreadable("the index", &error))?,
            None => gix::index::File::from_state(gix::index::State::new(repo.object_hash()), repo.index_path()),
        };
        self.index = Some((stamp, index));
        Ok(true)
    }

    /// The index. It must be loaded.
    pub(crate) fn index(&self) -> &gix::index::File {
        let (_, index) = self.index.as_ref().expect("it was loaded");
        index
    }

    /// Begins another look. The index must be loaded.
    pub(crate) fn begin(&mut self) -> Earlier<'_> {
        self.look += 1;
        Earlier { index: self.index(), files: &self.files, look: self.look }
    }

    /// Keeps what the last look has learnt.
    pub(crate) fn keep(&mut self, learnt: Vec<(Box<[u8]>, Learnt)>) {
        let known = |(path, learnt)| (path, Known { learnt, look: AtomicU64::new(self.look) });
        self.files.extend(learnt.into_iter().map(known));
    }

    /// Those of the notes of the last look that no look before it has made: a work tree is looked at all the time.
    pub(crate) fn untold<'a>(&mut self, notes: &'a [String]) -> Vec<&'a str> {
        let look = self.look;
        let fresh = notes.iter().filter(|note| self.told.insert((*note).clone(), look).is_none());
        fresh.map(String::as_str).collect()
    }

    /// Forgets files and notes that the last look, a full one, has not met.
    pub(crate) fn forget_unseen(&mut self) {
        let look = self.look;
        self.told.retain(|_, last| *last == look);
        self.files.retain(|_, known| *known.look.get_mut() == look);
    }
}

/// Whether the file still is what the entry of the index was made from.
pub(crate) fn matches_entry(entry: &gix::index::Entry, stat: &Stat, index: &gix::index::File) -> bool {
    let noted = &entry.stat;
    let same = |noted: gix::index::entry::stat::Time, now: (i64, u32)| {
        // Some writers keep whole seconds, and some no time of change at all.
        let seconds = i64::from(noted.secs) == now.0 & i64::from(u32::MAX);
        seconds && (noted.nsecs == 0 || noted.nsecs == now.1)
    };
    let no_change_time = noted.ctime.secs == 0 && noted.ctime.nsecs == 0;
    let timestamp = index.timestamp();
    // Git notes the size 0 of a file that it knows nothing of.
    let sized = noted.size != 0 || entry.id == gix::ObjectId::empty_blob(entry.id.kind());
    sized
        && is_settled(noted.mtime, (timestamp.unix_seconds(), timestamp.nanoseconds()))
        && u64::from(noted.size) == stat.size & u64::from(u32::MAX)
        && same(noted.mtime, stat.modified)
        && (no_change_time || stat.changed == (0, 0) || same(noted.ctime, stat.changed))
        && (noted.ino == 0 || stat.inode == 0 || u64::from(noted.ino) == stat.inode & u64::from(u32::MAX))
}

/// Whether the file was changed before the index was written: what was changed in the same moment, or later, may differ
/// from what the index was told.
fn is_settled(modified: gix::index::entry::stat::Time, written: (i64, u32)) -> bool {
    // Where only seconds are kept, the moment is a second long.
    let written = if modified.nsecs == 0 { (written.0, 0) } else { written };
    (i64::from(modified.secs), modified.nsecs) < written
}

/// Whether a file that is read now could change again without its times telling.
pub(crate) fn is_young(stat: &Stat) -> bool {
    #[expect(clippy::disallowed_methods, reason = "compared with the times of files, which come from the same clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = now.saturating_sub(TOO_YOUNG);
    let settled = (i64::try_from(settled.as_secs()).unwrap_or(i64::MAX), settled.subsec_nanos());
    stat.modified.max(stat.changed) >= settled
}

#[cfg(test)]
mod tests {
    use gix::index::entry::{Flags, Mode, Stat as Noted, stat::Time};

    use super::*;
    use crate::beneath::Kind;

    #[test]
    fn a_file_that_changed_when_the_index_was_written_proves_nothing() {
        let settled = |secs, nsecs, written| is_settled(Time { secs, nsecs }, written);
        assert!(settled(10, 5, (10, 6)) && settled(9, 999, (10, 0)));
        assert!(!settled(10, 6, (10, 6)) && !settled(10, 7, (10, 6)) && !settled(11, 0, (10, 6)));
        // With whole seconds, the file may have changed until the end of its second.
        assert!(!settled(10, 0, (10, 999)) && settled(9, 0, (10, 0)));
    }

    #[test]
    fn a_note_is_told_once_until_a_full_look_does_not_make_it() {
        let notes = ["a: cut".to_owned(), "b: cut".to_owned()];
        let mut cache = StatCache { look: 1, ..StatCache::default() };
        assert_eq!(cache.untold(&notes[..1]), ["a: cut"]);
        cache.look = 2;
        assert_eq!(cache.untold(&notes), ["b: cut"]);
        cache.look = 3;
        assert!(cache.untold(&notes[1..]).is_empty());
        cache.forget_unseen();
        cache.look = 4;
        assert_eq!(cache.untold(&notes), ["a: cut"]);
    }

    #[test]
    fn the_size_that_git_notes_for_a_file_it_knows_nothing_of_matches_no_file() {
        let kind = gix::hash::Kind::Sha1;
        let time = Time { secs: 1_000_000, nsecs: 5 };
        let noted = Noted { mtime: time, ctime: time, size: 0, ..Noted::default() };
        let now = Stat {
            kind: Kind::File,
            executable: false,
            size: 0,
            modified: (1_000_000, 5),
            changed: (1_000_000, 5),
            inode: 0,
        };
        let (empty, other) = (gix::ObjectId::empty_blob(kind), gix::ObjectId::empty_tree(kind));
        for (id, expected) in [(empty, true), (other, false)] {
            let mut index = gix::index::State::new(kind);
            index.dangerously_push_entry(noted, id, Flags::empty(), Mode::FILE, b"file".into());
            let index = gix::index::File::from_state(index, "index");
            assert_eq!(matches_entry(&index.entries()[0], &now, &index), expected, "{id}");
        }
    }
}
