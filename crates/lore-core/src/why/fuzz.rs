//! Ways in to parsers that nothing outside needs, for those who feed them any bytes (`lore-fuzz`). They promise nothing.

use lore_model::RepoPath;

use super::Hunk;

/// The hunks of a patch that changed some of these lines of a file.
pub fn hunks(patch: &[u8], path: &RepoPath, wanted: &[(u32, u32)]) -> Option<Vec<Hunk>> {
    super::patch::hunks_of(patch, path, wanted)
}
