//! Files of rules that say what is left out.

use lore_git::Ignores;
use lore_model::RepoPath;

use crate::bytes::first_line;

/// The first line is a path; the rest is the file of rules.
pub(super) fn run(bytes: &[u8]) {
    let (path, rules) = first_line(bytes);
    // No path in a repository is absolute.
    let path = RepoPath::new(&path[path.iter().take_while(|byte| **byte == b'/').count()..]);
    let of = |rules: Vec<u8>| Ignores::new([(RepoPath::from(".loreignore"), rules)], &[]);
    let ignores = of(rules.to_vec());
    let excluded = ignores.excludes(&path).is_some();
    let spread: Vec<u8> =
        rules.split(|byte| *byte == b'\n').flat_map(|line| [b"# why\n\n", line, b"\n"].concat()).collect();
    let is_odd = rules.contains(&b'\r') || rules.starts_with(b"\xef\xbb\xbf");
    if !is_odd && ignores.notes().is_empty() {
        assert_eq!(of(spread).excludes(&path).is_some(), excluded, "comments and blank lines say nothing");
    }
    if !excluded && ignores.notes().is_empty() && !path.as_bytes().is_empty() {
        let all = of([rules, b"\n*\n"].concat());
        let is_path = path.as_bytes().split(|byte| *byte == b'/').all(|name| !name.is_empty());
        // One more may be one too many; that is told. A rule that ends in a backslash takes the line end along.
        let is_left_out = all.excludes(&path).is_some() || !all.notes().is_empty();
        assert!(is_left_out || !is_path || rules.ends_with(b"\\"), "the last rule counts");
    }
    let below = RepoPath::new([path.as_bytes(), b"/below"].concat());
    if excluded && !rules.contains(&b'!') {
        assert!(ignores.excludes(&below).is_some(), "a folder takes along what is in it");
    }
    let elsewhere = Ignores::new([(RepoPath::from("other/.loreignore"), rules.to_vec())], &[]);
    if !path.as_bytes().starts_with(b"other") {
        assert!(elsewhere.excludes(&path).is_none(), "rules count where they stand");
    }
}
