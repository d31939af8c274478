//! Finds paths in the two sorted lists that a work tree is compared with: the files of a commit, and git's index.

use std::ops::Range;

use lore_model::{BlobId, RepoPath};

/// The prefix of all paths in a folder.
pub(crate) fn with_slash(path: &[u8]) -> Vec<u8> {
    [path, b"/"].concat()
}

/// The place of a path in a part of the list.
pub(crate) fn find(base: &[(RepoPath, BlobId)], range: Range<usize>, path: &[u8]) -> Option<usize> {
    let start = range.start;
    base[range].binary_search_by(|(other, _)| other.as_bytes().cmp(path)).ok().map(|at| start + at)
}

/// The part of the list that is exactly this path, or nothing.
pub(crate) fn exact(base: &[(RepoPath, BlobId)], path: &[u8]) -> Range<usize> {
    find(base, 0..base.len(), path).map_or(0..0, |at| at..at + 1)
}

/// The part of a sorted list whose paths start with the prefix.
pub(crate) fn below(base: &[(RepoPath, BlobId)], range: Range<usize>, prefix: &[u8]) -> Range<usize> {
    let list = &base[range.clone()];
    let from = list.partition_point(|(path, _)| path.as_bytes() < prefix);
    let count = list[from..].partition_point(|(path, _)| path.as_bytes().starts_with(prefix));
    range.start + from..range.start + from + count
}

/// The part of the index whose paths start with the prefix.
pub(crate) fn below_in_index(index: &gix::index::File, range: Range<usize>, prefix: &[u8]) -> Range<usize> {
    let (list, backing) = (&index.entries()[range.clone()], index.path_backing());
    let from = list.partition_point(|entry| &**entry.path_in(backing) < prefix);
    let count = list[from..].partition_point(|entry| entry.path_in(backing).starts_with(prefix));
    range.start + from..range.start + from + count
}

/// The entry of a path; of a path in conflict, one of its entries.
pub(crate) fn find_entry(index: &gix::index::File, range: Range<usize>, path: &[u8]) -> Option<usize> {
    let start = range.start;
    let (list, backing) = (&index.entries()[range], index.path_backing());
    list.binary_search_by(|entry| (**entry.path_in(backing)).cmp(path)).ok().map(|at| start + at)
}
