//! Finds out whether a repository holds every object that the diff of a commit needs.

use gix::{bstr::BString, objs::tree::EntryMode};
use lore_model::CommitId;

use crate::{Cancel, repository::object_id};

/// How deep the folders of a tree may go; deeper ones are not looked into.
const MAX_DEPTH: usize = 4096;

/// How many entries are compared before the rest of a commit counts as whole: trees can name more paths than any machine can
/// list.
const MAX_ENTRIES: usize = 5_000_000;

/// How many bytes the paths of all entries that differ may have together: a few objects can name very many long ones.
pub(crate) const MAX_PATH_BYTES: usize = 512 << 20;

/// How many bytes one folder of a tree may have to be listed: more than a million entries of the usual kind. All of it is
/// unpacked at once.
pub(crate) const MAX_FOLDER_BYTES: u64 = 64 << 20;

/// What is there of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// Everything.
    Whole,
    /// Its trees, but not every blob that changed.
    BlobsMissing,
    /// Not even its trees.
    TreesMissing,
}

/// Looks at the trees of a commit and its first parent, and at the blobs that differ.
pub(crate) fn completeness(repo: &gix::Repository, id: CommitId, excludes: &[String], cancel: &Cancel) -> Completeness {
    compare(repo, id, excludes, cancel).unwrap_or(Completeness::TreesMissing)
}

/// The trees that the diff of a commit compares: the one of its first parent, where it has one, and its own.
pub(crate) fn trees(repo: &gix::Repository, id: CommitId) -> Option<(Option<gix::ObjectId>, gix::ObjectId)> {
    let commit = repo.find_object(object_id(id)).ok()?.try_into_commit().ok()?;
    let new = commit.tree_id().ok()?.detach();
    let shallow = repo.shallow_commits().ok().flatten().is_some_and(|ids| ids.contains(&object_id(id)));
    let old = match commit.parent_ids().next() {
        Some(parent) if !shallow => {
            Some(repo.find_object(parent.detach()).ok()?.try_into_commit().ok()?.tree_id().ok()?.detach())
        }
        _ => None,
    };
    Some((old, new))
}

fn compare(repo: &gix::Repository, id: CommitId, excludes: &[String], cancel: &Cancel) -> Option<Completeness> {
    let (old, new) = trees(repo, id)?;
    // Git reads the root of both trees, even where they are the same.
    if ![Some(new), old].into_iter().flatten().all(|tree| repo.has_object(tree)) {
        return None;
    }
    // Pairs of folders that differ; each entry of a folder is compared by name.
    let mut folders = vec![(BString::default(), old, Some(new), 0)];
    let mut found = Completeness::Whole;
    let (mut looked_at, mut path_bytes) = (0, 0);
    while let Some((path, old, new, depth)) = folders.pop() {
        if old == new {
            continue;
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let (before, after) = match (entries(repo, old, MAX_FOLDER_BYTES), entries(repo, new, MAX_FOLDER_BYTES)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(Unlisted::Unreadable), _) | (_, Err(Unlisted::Unreadable)) => return None,
            // As with too many entries: where it is too much for git as well, that is found out by weighing.
            _ => return Some(found),
        };
        looked_at += before.len() + after.len();
        if looked_at > MAX_ENTRIES || cancel.is_cancelled() {
            return Some(found);
        }
        for (name, old, new) in changed(&before, &after) {
            path_bytes += path.len() + name.len();
            if path_bytes > MAX_PATH_BYTES {
                return Some(found);
            }
            let mut path = path.clone();
            path.extend_from_slice(&name);
            let side = |entry: Option<&Entry>, tree: bool| entry.filter(|e| e.mode.is_tree() == tree).map(|e| e.id);
            let (old_tree, new_tree) = (side(old, true), side(new, true));
            if old_tree.is_some() || new_tree.is_some() {
                let mut inside = path.clone();
                inside.push(b'/');
                if !excludes.iter().any(|prefix| inside.starts_with(prefix.as_bytes())) {
                    folders.push((inside, old_tree, new_tree, depth + 1));
                }
            }
            if excludes.iter().any(|prefix| path.starts_with(prefix.as_bytes())) {
                continue;
            }
            for entry in
                [old, new].into_iter().flatten().filter(|entry| !entry.mode.is_tree() && !entry.mode.is_commit())
            {
                if !repo.has_object(entry.id) {
                    found = Completeness::BlobsMissing;
                }
            }
        }
    }
    Some(found)
}

/// One entry of a folder.
pub(crate) struct Entry {
    name: BString,
    pub(crate) mode: EntryMode,
    pub(crate) id: gix::ObjectId,
}

/// Why a folder could not be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unlisted {
    /// It is missing or damaged.
    Unreadable,
    /// It has more bytes than are read.
    TooLarge,
}

/// The entries of a folder of at most so many bytes by name; none where there is no folder.
pub(crate) fn entries(repo: &gix::Repository, tree: Option<gix::ObjectId>, most: u64) -> Result<Vec<Entry>, Unlisted> {
    let Some(tree) = tree else { return Ok(Vec::new()) };
    // Asked before it is unpacked.
    if repo.find_header(tree).map_err(|_| Unlisted::Unreadable)?.size() > most {
        return Err(Unlisted::TooLarge);
    }
    list(repo, tree).ok_or(Unlisted::Unreadable)
}

fn list(repo: &gix::Repository, tree: gix::ObjectId) -> Option<Vec<Entry>> {
    let tree = repo.find_object(tree).ok()?.try_into_tree().ok()?;
    let mut entries = Vec::new();
    for entry in tree.iter() {
        let entry = entry.ok()?;
        entries.push(Entry { name: entry.filename().to_owned(), mode: entry.mode(), id: entry.oid().to_owned() });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Some(entries)
}

/// A name, and the entries that have it before and after.
pub(crate) type Changed<'a> = (BString, Option<&'a Entry>, Option<&'a Entry>);

/// What differs between two folders.
pub(crate) fn changed<'a>(before: &'a [Entry], after: &'a [Entry]) -> Vec<Changed<'a>> {
    let find = |list: &'a [Entry], name: &BString| {
        list.binary_search_by(|entry| entry.name.cmp(name)).ok().map(|at| &list[at])
    };
    let mut changed = Vec::new();
    for new in after {
        // Modes are compared by kind: git calls 100664 the same as 100644.
        let old = find(before, &new.name);
        if old.is_none_or(|old| old.id != new.id || old.mode.kind() != new.mode.kind()) {
            changed.push((new.name.clone(), old, Some(new)));
        }
    }
    changed.extend(
        before.iter().filter(|old| find(after, &old.name).is_none()).map(|old| (old.name.clone(), Some(old), None)),
    );
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::empty;

    #[test]
    fn a_folder_of_too_many_bytes_is_not_unpacked() {
        let root = tempfile::tempdir().unwrap();
        let repo = empty(root.path()).local();
        let blob = repo.write_blob("x").unwrap().detach();
        let entry = |name: &str| gix::objs::tree::Entry {
            mode: gix::objs::tree::EntryKind::Blob.into(),
            filename: name.into(),
            oid: blob,
        };
        let tree = gix::objs::Tree { entries: vec![entry("a"), entry("b")] };
        let tree = repo.write_object(&tree).unwrap().detach();
        let size = repo.find_header(tree).unwrap().size();
        let missing = gix::ObjectId::null(gix::hash::Kind::Sha1);
        for (folder, most, expected) in [
            (Some(tree), size, Ok(2)),
            (Some(tree), size - 1, Err(Unlisted::TooLarge)),
            (Some(blob), size, Err(Unlisted::Unreadable)),
            (Some(missing), size, Err(Unlisted::Unreadable)),
            (None, 0, Ok(0)),
        ] {
            let count = entries(&repo, folder, most).map(|entries| entries.len());
            assert_eq!(count, expected, "{folder:?} of {most} bytes");
        }
    }
}
