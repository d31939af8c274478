//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use lore_model::RepoPath;

use super::Hunk;

/// The hunks of a patch that changed some of these lines of a file.
pub fn hunks(patch: &[u8], path: &RepoPath, wanted: &[(u32, u32)]) -> Option<Vec<Hunk>> {
    super::patch::hunks_of(patch, path, wanted)
}
