//! What is left out of the index by choice: `.loreignore` files and configured globs, with the rules of `.gitignore`.
//!
//! These apply to every file, tracked or not. `.gitignore` applies to untracked files only and is the business of the
//! look at the work tree, which shares the rules here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::{
    bstr::{BString, ByteSlice as _},
    glob::{pattern::Case, search::pattern},
    ignore::search::{Ignore, pattern_matching_relative_path},
};
use lore_model::RepoPath;

use crate::{Found, Repository, Result, Tree};

/// The name of Lore's own ignore files.
pub(crate) const LORE_IGNORE: &[u8] = b".loreignore";

/// Longer files of rules are not read: nobody wrote them by hand.
pub(crate) const MAX_RULES: u64 = 1 << 20;

/// The lines of one ignore file.
#[derive(Debug, Clone)]
pub(crate) struct Rules(pattern::List<Ignore>);

impl Rules {
    /// Reads the lines of a file that lies in `folder`, which is empty or ends with a slash.
    pub(crate) fn parse(lines: &[u8], folder: &[u8]) -> Self {
        let patterns = gix::ignore::parse(lines, false)
            .map(|(pattern, line, kind)| pattern::Mapping { pattern, value: kind, sequence_number: line })
            .collect();
        let base = (!folder.is_empty()).then(|| BString::from(folder));
        Self(pattern::List { patterns, source: None, base })
    }

    /// The line that decides about the path, if one does. What the folders above it say is not asked.
    fn decide(&self, path: &[u8], name_at: Option<usize>, is_folder: bool) -> Option<gix::ignore::search::Match<'_>> {
        pattern_matching_relative_path(&self.0, path.as_bstr(), name_at, Some(is_folder), Case::Sensitive)
    }
}

/// Whether the last rule that fits excludes the path; later lists come before earlier ones.
pub(crate) fn excluded<'a>(lists: impl DoubleEndedIterator<Item = &'a Rules>, path: &[u8], is_folder: bool) -> bool {
    let name_at = path.rfind_byte(b'/').map(|at| at + 1);
    let decided = lists.rev().find_map(|rules| rules.decide(path, name_at, is_folder));
    decided.is_some_and(|found| !found.pattern.is_negative())
}

/// Decides which paths are left out, and says why.
#[derive(Debug, Clone, Default)]
pub struct Ignores {
    /// With where the rules stand, to be told. What comes later overrides.
    lists: Vec<(String, Rules)>,
}

impl Ignores {
    /// Takes `.loreignore` files, each with its path and content, and globs from the configuration.
    pub fn new(files: impl IntoIterator<Item = (RepoPath, Vec<u8>)>, globs: &[String]) -> Self {
        let mut lists = Vec::new();
        if !globs.is_empty() {
            lists.push(("the configuration".to_owned(), Rules::parse(globs.join("\n").as_bytes(), b"")));
        }
        let mut files: Vec<_> = files.into_iter().collect();
        // Folders further down have the last word.
        files.sort_by_cached_key(|(path, _)| (path.as_bytes().find_iter(b"/").count(), path.clone()));
        for (path, lines) in files {
            let folder = path.as_bytes().rfind_byte(b'/').map_or(0, |at| at + 1);
            lists.push((path.to_string(), Rules::parse(&lines, &path.as_bytes()[..folder])));
        }
        Self { lists }
    }

    /// Why the path is left out; none where it is not.
    ///
    /// A folder that is left out takes everything below it along, whatever the rules say of that.
    pub fn excludes(&self, path: &RepoPath) -> Option<String> {
        if self.lists.is_empty() {
            return None;
        }
        let bytes = path.as_bytes();
        let folders = bytes.find_iter(b"/").map(|end| (&bytes[..end], true));
        folders.chain([(bytes, false)]).find_map(|(path, is_folder)| self.decide(path, is_folder))
    }

    /// Whether the folder is left out. The folders above it are not asked.
    pub(crate) fn excludes_folder(&self, path: &[u8]) -> bool {
        !self.lists.is_empty() && self.decide(path, true).is_some()
    }

    fn decide(&self, path: &[u8], is_folder: bool) -> Option<String> {
        let name_at = path.rfind_byte(b'/').map(|at| at + 1);
        let decided = |(place, rules): &(String, Rules)| {
            let found = rules.decide(path, name_at, is_folder)?;
            let reason = format!("line {} of {place}: {}", found.sequence_number, found.pattern);
            Some((!found.pattern.is_negative()).then_some(reason))
        };
        self.lists.iter().rev().find_map(decided)?
    }
}

impl Repository {
    /// The rules of a committed tree: its own `.loreignore` files at any depth, and configured globs.
    pub fn tree_ignores(&self, tree: &Tree, globs: &[String]) -> Result<Ignores> {
        let mut reader = self.blobs();
        let mut files = Vec::new();
        for file in &tree.files {
            let path = file.path.as_bytes();
            if path.rsplit(|byte| *byte == b'/').next() != Some(LORE_IGNORE) || file.kind == crate::FileKind::Symlink {
                continue;
            }
            let mut lines = Vec::new();
            if reader.read(file.blob, MAX_RULES, &mut lines)? == Found::Read {
                files.push((file.path.clone(), lines));
            }
        }
        Ok(Ignores::new(files, globs))
    }
}

/// The file of ignore rules that a user has for all repositories, as their own git configuration names it.
///
/// `config_home` is `$XDG_CONFIG_HOME`, where it is set. Included configuration files are not looked into.
pub fn user_excludes(home: &Path, config_home: Option<&Path>) -> PathBuf {
    let git = config_home.map_or_else(|| home.join(".config"), Path::to_owned).join("git");
    let named = [home.join(".gitconfig"), git.join("config")].iter().find_map(|file| {
        let text = fs::read(file).ok()?;
        let config = gix::config::File::try_from(text.to_str().ok()?).ok()?;
        let value = config.string("core.excludesFile")?;
        let place = value.to_path_lossy().into_owned();
        Some(place.strip_prefix("~").map_or(place.clone(), |rest| home.join(rest)))
    });
    named.unwrap_or_else(|| git.join("ignore"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn check(ignores: &Ignores, path: &str) -> String {
        ignores.excludes(&RepoPath::from(path)).unwrap_or_else(|| "kept".to_owned())
    }

    #[test]
    fn rules_of_deeper_folders_override_those_above_and_the_configuration() {
        let files = [
            (RepoPath::from("docs/.loreignore"), b"!keep.gen\n/only-here\n".to_vec()),
            (RepoPath::from(".loreignore"), b"# comment\n*.gen\nvendor/\n".to_vec()),
        ];
        let ignores = Ignores::new(files, &["*.min.js".to_owned(), "/a/**/z".to_owned()]);
        let paths = [
            "x.gen",
            "docs/keep.gen",
            "docs/x.gen",
            "docs/only-here",
            "only-here",
            "docs/deep/only-here",
            "vendor/a/b.rs",
            "lib/vendor/b.rs",
            "vendor",
            "js/x.min.js",
            "a/b/c/z",
            "b/a/z",
        ];
        let said: Vec<String> = paths.iter().map(|path| format!("{path}: {}", check(&ignores, path))).collect();
        expect![[r#"
            x.gen: line 2 of .loreignore: *.gen
            docs/keep.gen: kept
            docs/x.gen: line 2 of .loreignore: *.gen
            docs/only-here: line 2 of docs/.loreignore: /only-here
            only-here: kept
            docs/deep/only-here: kept
            vendor/a/b.rs: line 3 of .loreignore: vendor/
            lib/vendor/b.rs: line 3 of .loreignore: vendor/
            vendor: kept
            js/x.min.js: line 1 of the configuration: *.min.js
            a/b/c/z: line 2 of the configuration: /a/**/z
            b/a/z: kept"#]]
        .assert_eq(&said.join("\n"));
    }

    #[test]
    fn nothing_below_an_excluded_folder_comes_back() {
        let ignores = Ignores::new([(RepoPath::from(".loreignore"), b"out/\n!out/keep\n".to_vec())], &[]);
        assert!(ignores.excludes(&RepoPath::from("out/keep")).is_some());
        assert!(Ignores::default().excludes(&RepoPath::from("out/keep")).is_none());
    }

    #[test]
    fn names_in_no_encoding_are_matched_as_bytes() {
        let ignores = Ignores::new([(RepoPath::new(*b"\xff/.loreignore"), b"\xfe*\n".to_vec())], &[]);
        assert!(ignores.excludes(&RepoPath::new(*b"\xff/\xfe1")).is_some());
        assert!(ignores.excludes(&RepoPath::new(*b"\xfd/\xfe1")).is_none());
    }

    #[test]
    fn the_users_own_excludes_file_is_found() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(user_excludes(home.path(), None), home.path().join(".config/git/ignore"));
        assert_eq!(user_excludes(home.path(), Some(Path::new("/x"))), Path::new("/x/git/ignore"));
        fs::write(home.path().join(".gitconfig"), "[core]\n\texcludesfile = ~/.gitignore_all\n").unwrap();
        assert_eq!(user_excludes(home.path(), None), home.path().join(".gitignore_all"));
    }
}
