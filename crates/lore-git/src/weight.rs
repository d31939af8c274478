//! How heavy the diff of a commit is: asked where git could not make it, to tell a bomb from a machine without memory.
//!
//! A few hundred bytes of trees can name more paths than any machine can hold, so counting ends early. No content is read.

use std::collections::HashMap;

use gix::{bstr::BString, odb::Header as _};
use lore_model::CommitId;

use crate::{
    Cancel,
    missing::{MAX_FOLDER_BYTES, MAX_PATH_BYTES, Unlisted, changed, entries, trees},
};

/// More than this differs in no commit that anybody made.
const MANY_ENTRIES: usize = 1_000_000;

/// Folders within folders.
const MANY_FOLDERS: usize = 1_000;

/// The bytes of one path.
const LONG_PATH: usize = 1 << 20;

/// The bytes of the files that differ, before and after.
const MANY_BYTES: u64 = 128 << 20;

/// What makes a diff heavy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Nothing: git can make it, where it has the memory.
    Ordinary,
    /// The sizes of the files.
    Bytes,
    /// The number, the depth or the length of the paths, or a folder of very many bytes. Even a list of them is too much.
    Paths,
}

/// Looks at what differs between a commit and its first parent. What cannot be read counts as nothing.
pub(crate) fn weigh(repo: &gix::Repository, id: CommitId, excludes: &[String], cancel: &Cancel) -> Weight {
    let Some((old, new)) = trees(repo, id) else { return Weight::Ordinary };
    let mut folders = vec![(BString::default(), old, Some(new), 0)];
    let (mut looked_at, mut path_bytes, mut bytes) = (0, 0, 0_u64);
    // A bomb names the same few files a million times.
    let mut sizes = HashMap::new();
    while let Some((path, old, new, depth)) = folders.pop() {
        if old == new || cancel.is_cancelled() {
            continue;
        }
        let sides = [old, new].map(|side| entries(repo, side, MAX_FOLDER_BYTES));
        if sides.iter().any(|side| matches!(side, Err(Unlisted::TooLarge))) {
            return Weight::Paths;
        }
        let [before, after] = sides.map(Result::unwrap_or_default);
        looked_at += before.len() + after.len();
        if looked_at > MANY_ENTRIES || depth > MANY_FOLDERS {
            return Weight::Paths;
        }
        for (name, old, new) in changed(&before, &after) {
            let length = path.len() + name.len();
            path_bytes += length;
            if length > LONG_PATH || path_bytes > MAX_PATH_BYTES {
                return Weight::Paths;
            }
            let mut path = path.clone();
            path.extend_from_slice(&name);
            let folder = |side: Option<&crate::missing::Entry>| side.filter(|e| e.mode.is_tree()).map(|e| e.id);
            let (old_folder, new_folder) = (folder(old), folder(new));
            let is_excluded = |path: &BString| excludes.iter().any(|prefix| path.starts_with(prefix.as_bytes()));
            if old_folder.is_some() || new_folder.is_some() {
                let mut inside = path.clone();
                inside.push(b'/');
                if !is_excluded(&inside) {
                    folders.push((inside, old_folder, new_folder, depth + 1));
                }
            }
            if is_excluded(&path) {
                continue;
            }
            for file in [old, new].into_iter().flatten().filter(|e| !e.mode.is_tree() && !e.mode.is_commit()) {
                let size = sizes.entry(file.id).or_insert_with(|| {
                    repo.objects.try_header(&file.id).ok().flatten().map_or(0, |header| header.size())
                });
                bytes = bytes.saturating_add(*size);
            }
        }
    }
    if bytes > MANY_BYTES { Weight::Bytes } else { Weight::Ordinary }
}
