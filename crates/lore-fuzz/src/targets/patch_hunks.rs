//! Patches, of which the hunks about some lines are shown.

use lore_core::why::fuzz::hunks;
use lore_model::RepoPath;

use crate::bytes::first_line;

/// The first line is the file; the rest is the patch.
pub(super) fn run(bytes: &[u8]) {
    let (path, patch) = first_line(bytes);
    let path = RepoPath::new(path);
    let lines = patch.split(|byte| *byte == b'\n').count();
    for wanted in [&[(1, u32::MAX)][..], &[(2, 3)], &[(5, 5), (1, 1), (4, 9)], &[]] {
        let Some(found) = hunks(patch, &path, wanted) else { continue };
        let mut told = 0;
        for hunk in &found {
            let count = |signs: [char; 2]| hunk.lines.iter().filter(|line| line.starts_with(signs)).count();
            let (old, new) = (count([' ', '-']), count([' ', '+']));
            assert!(hunk.head.contains(&format!(",{old} +")) && hunk.head.ends_with(&format!(",{new} @@")), "{hunk:?}");
            assert!(hunk.lines.iter().any(|line| line.starts_with('+')), "it changed something: {hunk:?}");
            told += hunk.lines.len() + hunk.left_out;
        }
        assert!(told <= lines, "{told} of {lines} lines");
        assert!(!wanted.is_empty() || found.is_empty(), "nothing was asked for");
    }
}
