//! Trees that no git command writes: names that lead elsewhere, entries that contradict each other, modes without meaning.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;

use super::{
    OddRepo,
    bombs::{commit, entry},
    init,
    raw::hash,
    stream::MAIN,
};

/// A text of the ordinary file, to be searched for.
pub const BESIDE_CRAFTED: &str = "ordinary_function_beside_crafted_trees";

/// Makes a repository whose main branch is as it should be, and which has a branch `crafted/LABEL` for each way in which a
/// tree can be wrong. Its commits have the same labels.
pub fn crafted(dir: &Path) -> Result<OddRepo> {
    let git = init(dir, "sha1")?;
    let code = hash(&git, "blob", format!("pub fn {BESIDE_CRAFTED}() {{}}\n").as_bytes())?;
    let evil = hash(&git, "blob", b"evil_content_of_a_crafted_entry\n")?;
    let target = hash(&git, "blob", b"/etc")?;
    let plain = entry("100644", b"lib.rs", &code)?;
    let ordinary = hash(&git, "tree", &plain)?;
    let inner = hash(&git, "tree", &entry("100644", b"config", &evil)?)?;
    let nowhere = "12".repeat(20);
    let file = |name: &[u8]| entry("100644", name, &evil);
    let folder = |name: &[u8]| entry("40000", name, &inner);
    let trees: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("dot", vec![file(b".")?, folder(b".")?]),
        ("dot-dot", vec![folder(b"..")?, file(b"..")?]),
        ("git-folder", vec![folder(b".git")?]),
        ("git-capital", vec![folder(b".GIT")?]),
        ("git-short", vec![folder(b"git~1")?]),
        ("git-invisible", vec![folder(".g\u{200c}it".as_bytes())?]),
        ("git-stream", vec![folder(b".git::$INDEX_ALLOCATION")?]),
        ("empty-name", vec![file(b"")?, folder(b"")?]),
        ("absolute", vec![file(b"/etc/passwd")?, folder(b"/tmp")?]),
        ("slashes", vec![file(b"a/b")?, file(b"a//b")?, file(b"../../escaped")?]),
        ("backslashes", vec![file(b"..\\..\\escaped")?, file(b"C:\\x")?]),
        ("devices", vec![file(b"con")?, file(b"NUL")?, file(b"aux.txt")?]),
        ("link-and-folder", vec![entry("120000", b"a", &target)?, file(b"a.b")?, folder(b"a")?]),
        ("twice", vec![file(b"a")?, entry("100755", b"a", &code)?, file(b"a")?]),
        ("unsorted", vec![file(b"z")?, file(b"a")?, file(b"m")?]),
        ("mode-zero", vec![entry("0", b"a", &evil)?]),
        ("mode-huge", vec![entry("37777777777777777777777", b"a", &evil)?]),
        ("mode-words", vec![entry("abc", b"a", &evil)?]),
        ("mode-device", vec![entry("60000", b"a", &evil)?, entry("10000", b"b", &evil)?]),
        ("folder-that-is-a-file", vec![entry("40000", b"a", &evil)?]),
        ("file-that-is-a-folder", vec![entry("100644", b"a", &inner)?]),
        ("link-that-is-a-folder", vec![entry("120000", b"a", &inner)?]),
        ("file-that-is-missing", vec![entry("100644", b"a", &nowhere)?]),
        ("folder-that-is-missing", vec![entry("40000", b"a", &nowhere)?]),
        ("module-link", vec![entry("120000", b".gitmodules", &target)?, entry("160000", b"sub", &nowhere)?]),
        ("ignore-link", vec![entry("120000", b".gitignore", &target)?, entry("120000", b".loreignore", &target)?]),
        ("carriage-return", vec![file(b"a\r")?, folder(b"sub\r")?]),
        ("cut", vec![file(b"whole")?, file(b"cut")?[..20].to_vec()]),
        ("no-tree", vec![b"this is no tree at all".to_vec()]),
    ];
    let begin = commit(&git, &ordinary, &[], "Begin")?;
    let mut commits = BTreeMap::new();
    for (label, entries) in trees {
        // With the ordinary file beside it, where that fits.
        let bytes = [entries.concat(), if label == "no-tree" { Vec::new() } else { plain.clone() }].concat();
        let tree = hash(&git, "tree", &bytes)?;
        let made = commit(&git, &tree, &[&begin], label)?;
        git.bytes(&["update-ref", &format!("refs/heads/crafted/{label}"), &made])?;
        commits.insert(label.to_owned(), made);
    }
    // A commit whose tree is missing, and one whose tree is a file.
    for (label, tree) in [("tree-is-missing", &nowhere), ("tree-is-a-file", &code)] {
        let made = commit(&git, tree, &[&begin], label)?;
        // Git refuses to name some of these; a hostile server does not.
        let file = dir.join(".git/refs/heads/crafted").join(label);
        std::fs::write(file, format!("{made}\n"))?;
        commits.insert(label.to_owned(), made);
    }
    git.bytes(&["update-ref", MAIN, &begin])?;
    git.bytes(&["reset", "--quiet", "--hard", MAIN])?;
    Ok(OddRepo { path: dir.to_owned(), commits })
}
