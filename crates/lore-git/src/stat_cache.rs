//! Remembers the blob ids of work tree files, so that a file is hashed again only when the file system says it changed.

use std::{
    collections::HashMap,
    path::Path,
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
    pub(crate) files: HashMap<Box<[u8]>, Known>,
    pub(crate) look: u64,
}

/// What is known of a file that git's index does not answer for.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) stat: Stat,
    /// The file was so young when it was read that an equal `stat` proves nothing.
    pub(crate) young: bool,
    pub(crate) blob: BlobId,
    /// The blob id with all line ends as LF, where that is another.
    pub(crate) with_lf: Option<BlobId>,
    /// Whether it equals this blob but for line ends, as was found by reading the blob.
    pub(crate) equals: Option<(BlobId, bool)>,
    /// The last look that met it.
    pub(crate) look: u64,
}

impl StatCache {
    /// Loads the index file, unless it is the one that is loaded already.
    pub(crate) fn load_index(&mut self, repository: &Repository) -> Result<()> {
        let repo = repository.local();
        let stamp = Folder::open(repo.git_dir()).and_then(|folder| folder.stat(b"index")).ok();
        if self.index.as_ref().is_some_and(|(loaded, _)| *loaded == stamp) {
            return Ok(());
        }
        let index = match stamp {
            Some(_) => repo.open_index().map_err(|error| repository.unreadable("the index", &error))?,
            None => gix::index::File::from_state(gix::index::State::new(repo.object_hash()), repo.index_path()),
        };
        self.index = Some((stamp, index));
        Ok(())
    }

    /// The index, and what is known of files.
    pub(crate) fn parts(&mut self) -> (&gix::index::File, &mut HashMap<Box<[u8]>, Known>) {
        let (_, index) = self.index.as_ref().expect("it was loaded");
        (index, &mut self.files)
    }

    /// Forgets files that the last full look has not met.
    pub(crate) fn forget_unseen(&mut self) {
        let look = self.look;
        self.files.retain(|_, known| known.look == look);
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
    // What was changed in the moment in which the index was written, or later, may differ all the same.
    let settled =
        (i64::from(noted.mtime.secs), noted.mtime.nsecs) < (timestamp.unix_seconds(), timestamp.nanoseconds());
    settled
        && u64::from(noted.size) == stat.size & u64::from(u32::MAX)
        && same(noted.mtime, stat.modified)
        && (no_change_time || stat.changed == (0, 0) || same(noted.ctime, stat.changed))
        && (noted.ino == 0 || stat.inode == 0 || u64::from(noted.ino) == stat.inode & u64::from(u32::MAX))
}

/// Whether a file that is read now could change again without its times telling.
pub(crate) fn is_young(stat: &Stat) -> bool {
    #[expect(clippy::disallowed_methods, reason = "compared with the times of files, which come from the same clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = now.saturating_sub(TOO_YOUNG);
    let settled = (i64::try_from(settled.as_secs()).unwrap_or(i64::MAX), settled.subsec_nanos());
    stat.modified.max(stat.changed) >= settled
}

/// Reads one file of rules from a folder; nothing where there is none.
pub(crate) fn read_rules(folder: &Folder, name: &[u8]) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    match folder.read(name, crate::ignores::MAX_RULES, &mut lines) {
        Ok(crate::beneath::Content::Read { .. }) => Some(lines),
        _ => None,
    }
}

/// Reads a file of rules by its place: one that the user named, or one in the git directory.
pub(crate) fn read_rules_at(path: &Path) -> Option<Vec<u8>> {
    let folder = Folder::open(path.parent()?).ok()?;
    read_rules(&folder, path.file_name()?.as_encoded_bytes())
}
