//! Filters by path.

use lore_core::search::{FileFilter, fuzz::admits};
use lore_model::{Code, RepoPath};

use crate::bytes::{first_line, text};

/// The first line is a path, each other one a glob.
pub(super) fn run(bytes: &[u8]) {
    let (path, globs) = first_line(bytes);
    let path = RepoPath::new(path);
    let globs: Vec<String> = text(globs).lines().map(str::to_owned).collect();
    for glob in globs.iter().take(4) {
        check(glob, &path);
    }
    let all = FileFilter {
        languages: globs.clone(),
        not_languages: globs.clone(),
        paths: globs.clone(),
        globs: globs.clone(),
        not_globs: globs.clone(),
        extensions: globs,
    };
    drop(admits(&all, &path, "rust"));
}

fn check(glob: &str, path: &RepoPath) {
    let one = vec![glob.to_owned()];
    let wanted = FileFilter { globs: one.clone(), ..FileFilter::default() };
    let unwanted = FileFilter { not_globs: one.clone(), ..FileFilter::default() };
    let (yes, no) = match (admits(&wanted, path, "rust"), admits(&unwanted, path, "rust")) {
        (Ok(yes), Ok(no)) => (yes, no),
        (Err(failure), Err(_)) => {
            assert!(failure.code == Code::InvalidArgument && failure.hint.is_some(), "{failure:?}");
            assert!(failure.message.len() < 1000 && !is_simple(glob), "{glob:?}: {failure:?}");
            return;
        }
        (yes, no) => panic!("{glob:?} is understood once only: {yes:?} {no:?}"),
    };
    let path = path.to_text();
    if glob.trim().is_empty() {
        assert!(yes && no, "an empty glob says nothing");
        return;
    }
    assert_ne!(yes, no, "{glob:?} with {path:?}");
    // git has no other paths.
    let is_path = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
    // One `?` is one byte, as in git's own patterns, and the simple matcher counts characters.
    let counts_alike = path.is_ascii() || !glob.contains('?');
    if is_simple(glob) && is_path && counts_alike {
        assert_eq!(yes, fits_somehow(glob, &path), "{glob:?} with {path:?}");
        let part = FileFilter { paths: one.clone(), ..FileFilter::default() };
        let as_part = admits(&part, &RepoPath::from(&*path), "rust").expect("it is understood");
        let plain = glob.trim_start_matches("./");
        let contains = path.to_lowercase().contains(&plain.to_lowercase());
        // There is nothing behind a last slash that could be a file.
        let is_glob = !glob.ends_with('/') && glob.contains(['*', '?']);
        let expected = contains || (is_glob && fits(&parts(plain), &path));
        assert!(as_part == expected || glob.ends_with('/'), "{glob:?} in {path:?}: {as_part}");
    }
    let extension = FileFilter { extensions: one, ..FileFilter::default() };
    let end = glob.trim().trim_start_matches('*').trim_start_matches('.').to_lowercase();
    let expected = end.is_empty() || path.to_lowercase().ends_with(&format!(".{end}"));
    assert_eq!(admits(&extension, &RepoPath::from(&*path), "rust").ok(), Some(expected), "{glob:?} ends {path:?}");
}

/// What the simple matcher understands.
fn is_simple(glob: &str) -> bool {
    let mut run = 0;
    let few_stars = glob.chars().all(|c| {
        run = if c == '*' { run + 1 } else { 0 };
        run <= 2
    });
    few_stars
        && glob.len() <= 60
        && glob.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '?' | '/' | '.' | '_' | '-'))
}

/// As the documentation has it: over the whole path, also as a folder, and `*/` at the beginning may be nothing.
fn fits_somehow(glob: &str, path: &str) -> bool {
    let glob = glob.trim().trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
    let glob = if glob.is_empty() || glob == "." { "**" } else { glob };
    fits(&parts(glob), path)
        || fits(&parts(&format!("{glob}/**")), path)
        || glob.strip_prefix("*/").is_some_and(|rest| fits(&parts(rest), path))
}

enum Part {
    /// This character.
    One(char),
    /// Any character.
    Any,
    /// Any characters.
    Many,
    /// Any folders, or none.
    Folders,
}

fn parts(glob: &str) -> Vec<Part> {
    let (mut parts, mut rest) = (Vec::new(), glob);
    let mut at_border = true;
    while let Some(c) = rest.chars().next() {
        if at_border && let Some(after) = rest.strip_prefix("**/") {
            // `a/**/**/b` has the same folders twice.
            parts.push(Part::Folders);
            rest = after;
            continue;
        }
        at_border = c == '/';
        parts.push(match c {
            '*' => Part::Many,
            '?' => Part::Any,
            c => Part::One(c),
        });
        rest = &rest[c.len_utf8()..];
    }
    parts
}

/// Whether the parts make up the text: by dynamic programming, so that no glob takes long.
fn fits(parts: &[Part], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Whether what was looked at so far can be so many characters of the text.
    let mut so_far = vec![false; text.len() + 1];
    so_far[0] = true;
    for part in parts {
        let mut next = vec![false; text.len() + 1];
        for at in (0..=text.len()).filter(|at| so_far[*at]) {
            match part {
                Part::One(c) if text.get(at) == Some(c) => next[at + 1] = true,
                Part::Any if at < text.len() => next[at + 1] = true,
                Part::One(_) | Part::Any => {}
                Part::Many => next[at..].fill(true),
                Part::Folders => {
                    next[at] = true;
                    (at..text.len()).filter(|slash| text[*slash] == '/').for_each(|slash| next[slash + 1] = true);
                }
            }
        }
        so_far = next;
    }
    so_far[text.len()]
}
