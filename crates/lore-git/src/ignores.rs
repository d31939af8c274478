//! What is left out of the index by choice: `.loreignore` files and configured globs, with the rules of `.gitignore`.
//!
//! These apply to every file, tracked or not. `.gitignore` applies to untracked files only and is the business of the
//! look at the work tree, which shares the rules here.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{
    bstr::{BString, ByteSlice as _},
    glob::{pattern::Case, search::pattern},
    ignore::search::{Ignore, pattern_matching_relative_path},
};
use lore_model::RepoPath;

use crate::{
    Found, Repository, Result, Tree,
    beneath::{Content, Folder},
};

/// The name of Lore's own ignore files.
pub(crate) const LORE_IGNORE: &[u8] = b".loreignore";

/// Longer files of rules are not read: nobody wrote them by hand.
pub(crate) const MAX_RULES: u64 = 1 << 20;

/// What the lines of one file may weigh: some 4,000 of the usual kind. Each is compared with every path.
const MAX_WEIGHT: usize = 1 << 17;

/// What all lines that apply to a path may weigh.
const MAX_WEIGHT_IN_ALL: usize = 2 * MAX_WEIGHT;

/// What a line weighs at least.
const LEAST_WEIGHT: usize = 32;

/// What a file may begin with to tell that it is in UTF-8.
const UTF_8: &[u8] = b"\xef\xbb\xbf";

/// What a file begins with to tell that it is in UTF-16, as some shells write files.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The lines of one ignore file.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    list: pattern::List<Ignore>,
    weight: usize,
    /// What is not followed, and why.
    pub(crate) left_out: Option<String>,
}

impl Rules {
    /// Reads the lines of a file that lies in `folder`, which is empty or ends with a slash.
    ///
    /// Rules are foreign input: those that would make every comparison slow are left out.
    pub(crate) fn parse(lines: &[u8], folder: &[u8]) -> Self {
        let (mut patterns, mut total, mut left_out) = (Vec::new(), 0, 0_usize);
        // The parser would take the marks of seven more encodings from the first line, and what is left for a rule. Git knows
        // one mark; behind a line end none is looked for.
        let all = [b"\n", lines.strip_prefix(UTF_8).unwrap_or(lines)].concat();
        for (pattern, line, value) in gix::ignore::parse(&all, false) {
            let sequence_number = line.saturating_sub(1);
            match weight(&pattern.text).filter(|weight| total + weight <= MAX_WEIGHT) {
                Some(weight) => {
                    total += weight;
                    patterns.push(pattern::Mapping { pattern, value, sequence_number });
                }
                None => left_out += 1,
            }
        }
        let left_out = if left_out > 0 {
            Some(format!(
                "{left_out} of its lines are not followed: they are too many, too long, or have too many `**`"
            ))
        } else if UTF_16.iter().any(|mark| lines.starts_with(mark)) {
            // What was added to it in UTF-8 is followed.
            Some("it begins as UTF-16, which is not followed: save it as UTF-8".to_owned())
        } else {
            None
        };
        let base = (!folder.is_empty()).then(|| BString::from(folder));
        Self { list: pattern::List { patterns, source: None, base }, weight: total, left_out }
    }

    /// Reads a file of rules in an opened folder whose path is `place`; none where there is none.
    pub(crate) fn read(opened: &Folder, name: &[u8], place: &[u8]) -> Option<Self> {
        let mut lines = Vec::new();
        match opened.read(name, MAX_RULES, &mut lines) {
            Ok(Content::Read { .. }) => Some(Self::parse(&lines, place)),
            Ok(Content::TooLarge(bytes)) => Some(Self { left_out: Some(too_large(bytes)), ..Self::parse(b"", place) }),
            Ok(Content::NotAFile) | Err(_) => None,
        }
    }

    /// Reads a file of rules by its place: one that the user named, or one in the git directory.
    pub(crate) fn read_at(path: &Path) -> Option<Self> {
        let folder = Folder::open(path.parent()?).ok()?;
        Self::read(&folder, path.file_name()?.as_encoded_bytes(), b"")
    }

    /// The line that decides about the path, if one does. What the folders above it say is not asked.
    fn decide(&self, path: &[u8], name_at: Option<usize>, is_folder: bool) -> Option<gix::ignore::search::Match<'_>> {
        pattern_matching_relative_path(&self.list, path.as_bstr(), name_at, Some(is_folder), Case::Sensitive)
    }
}

/// How long a comparison with the pattern can take: for each `**` in it, all may be tried twice and at every folder; and
/// all characters in brackets are compared with each one of the path.
fn weight(pattern: &[u8]) -> Option<usize> {
    let doublings = 2 * u32::try_from(pattern.find_iter(b"**").count()).ok()?;
    let length = if pattern.contains(&b'[') { 8 * pattern.len() } else { pattern.len() };
    length.max(LEAST_WEIGHT).checked_mul(2_usize.checked_pow(doublings)?)
}

fn too_large(bytes: u64) -> String {
    format!("it is not followed: {bytes} bytes are more than {MAX_RULES}")
}

/// The rules that apply in a folder: its own and those of the folders above it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    rules: Rules,
    /// With that of all above.
    weight: usize,
    above: Chain,
}

impl Chain {
    /// With these rules, which override those that are there; false where they would be too many.
    pub(crate) fn push(&mut self, rules: Rules) -> bool {
        let weight = rules.weight + self.0.as_ref().map_or(0, |link| link.weight);
        let fits = weight <= MAX_WEIGHT_IN_ALL;
        if fits {
            let above = std::mem::take(self);
            self.0 = Some(Arc::new(Link { rules, weight, above }));
        }
        fits
    }

    /// Whether the path is excluded. What the folders above it say is not asked.
    pub(crate) fn excludes(&self, path: &[u8], is_folder: bool) -> bool {
        excluded(self.strongest_first(), path, is_folder)
    }

    fn strongest_first(&self) -> impl Iterator<Item = &Rules> {
        std::iter::successors(self.0.as_deref(), |link| link.above.0.as_deref()).map(|link| &link.rules)
    }
}

/// Whether the last rule that fits excludes the path.
fn excluded<'a>(strongest_first: impl Iterator<Item = &'a Rules>, path: &[u8], is_folder: bool) -> bool {
    let name_at = path.rfind_byte(b'/').map(|at| at + 1);
    let mut lists = strongest_first;
    let decided = lists.find_map(|rules| rules.decide(path, name_at, is_folder));
    decided.is_some_and(|found| !found.pattern.is_negative())
}

/// Decides which paths are left out, and says why.
#[derive(Debug, Clone, Default)]
pub struct Ignores {
    globs: Option<Rules>,
    /// By folder, whose path is empty or ends with a slash: the file of rules in it, and what it says.
    folders: HashMap<Box<[u8]>, (String, Rules)>,
    notes: Vec<String>,
}

impl Ignores {
    /// Takes `.loreignore` files, each with its path and content, and globs from the configuration.
    pub fn new(files: impl IntoIterator<Item = (RepoPath, Vec<u8>)>, globs: &[String]) -> Self {
        let globs = (!globs.is_empty()).then(|| Rules::parse(globs.join("\n").as_bytes(), b""));
        let note = |rules: &Rules| rules.left_out.as_ref().map(|why| format!("the configuration: {why}"));
        let mut ignores =
            Self { notes: globs.as_ref().and_then(note).into_iter().collect(), globs, folders: HashMap::new() };
        let mut files: Vec<_> = files.into_iter().collect();
        // Where there are too many rules, those of folders further down give way: they decide about less.
        files.sort_by_cached_key(|(path, _)| (path.as_bytes().find_iter(b"/").count(), path.clone()));
        let mut total = 0;
        for (path, lines) in files {
            let folder = path.as_bytes().rfind_byte(b'/').map_or(0, |at| at + 1);
            let rules = Rules::parse(&lines, &path.as_bytes()[..folder]);
            if let Some(why) = &rules.left_out {
                ignores.note(&path, why);
            }
            if total + rules.weight > MAX_WEIGHT_IN_ALL {
                ignores.note(&path, "it is not followed: the repository has too many such lines");
                continue;
            }
            total += rules.weight;
            ignores.folders.insert(Box::from(&path.as_bytes()[..folder]), (path.to_string(), rules));
        }
        ignores
    }

    /// Rules that could not be followed, each with the file that they are in and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn note(&mut self, path: &RepoPath, why: &str) {
        tracing::warn!(%path, why, "rules are left out");
        self.notes.push(format!("{path}: {why}"));
    }

    /// Why the path is left out; none where it is not.
    ///
    /// A folder that is left out takes everything below it along, whatever the rules say of that.
    pub fn excludes(&self, path: &RepoPath) -> Option<String> {
        let bytes = path.as_bytes();
        let lists = self.strongest_first(bytes);
        if lists.is_empty() {
            return None;
        }
        let folders = bytes.find_iter(b"/").map(|end| (&bytes[..end], true));
        folders.chain([(bytes, false)]).find_map(|(path, is_folder)| decide(&lists, path, is_folder))
    }

    /// Whether the folder is left out. The folders above it are not asked.
    pub(crate) fn excludes_folder(&self, path: &[u8]) -> bool {
        decide(&self.strongest_first(path), path, true).is_some()
    }

    /// The rules that can say something of the path, with where they stand. Folders further down have the last word.
    fn strongest_first(&self, path: &[u8]) -> Vec<(&str, &Rules)> {
        let mut lists = Vec::new();
        if !self.folders.is_empty() {
            let folders = path.rfind_iter(b"/").map(|end| &path[..=end]).chain([&b""[..]]);
            let found = folders.filter_map(|folder| self.folders.get(folder));
            lists.extend(found.map(|(place, rules)| (&**place, rules)));
        }
        lists.extend(self.globs.as_ref().map(|rules| ("the configuration", rules)));
        lists
    }
}

fn decide(strongest_first: &[(&str, &Rules)], path: &[u8], is_folder: bool) -> Option<String> {
    let name_at = path.rfind_byte(b'/').map(|at| at + 1);
    let decided = |(place, rules): &(&str, &Rules)| {
        let found = rules.decide(path, name_at, is_folder)?;
        let reason = format!("line {} of {place}: {}", found.sequence_number, found.pattern);
        Some((!found.pattern.is_negative()).then_some(reason))
    };
    strongest_first.iter().find_map(decided)?
}

impl Repository {
    /// The rules of a committed tree: its own `.loreignore` files at any depth, and configured globs.
    ///
    /// A file of rules that cannot be read counts as empty, and is in [`Ignores::notes`].
    pub fn tree_ignores(&self, tree: &Tree, globs: &[String]) -> Result<Ignores> {
        let mut reader = self.blobs();
        let (mut files, mut unread) = (Vec::new(), Vec::new());
        for file in &tree.files {
            let path = file.path.as_bytes();
            if path.rsplit(|byte| *byte == b'/').next() != Some(LORE_IGNORE) || file.kind == crate::FileKind::Symlink {
                continue;
            }
            let mut lines = Vec::new();
            match reader.read(file.blob, MAX_RULES, &mut lines) {
                Ok(Found::Read) => files.push((file.path.clone(), lines)),
                Ok(Found::Missing) => {
                    unread.push((&file.path, "it is not followed: the repository does not hold it".to_owned()));
                }
                Ok(Found::TooLarge(bytes)) => unread.push((&file.path, too_large(bytes))),
                Err(error) => unread.push((&file.path, format!("it is not followed: {error}"))),
            }
        }
        let mut ignores = Ignores::new(files, globs);
        for (path, why) in unread {
            ignores.note(path, &why);
        }
        Ok(ignores)
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
    fn a_file_may_begin_with_the_mark_of_utf_8_and_with_no_other() {
        let of = |rules: &[u8]| Ignores::new([(RepoPath::from(".loreignore"), rules.to_vec())], &[]);
        let first = of(b"\xef\xbb\xbf*.gen\r\nlog/\n");
        assert!(check(&first, "x.gen").contains("line 1") && check(&first, "log/x").contains("line 2"));
        // As some shells write a file, and other programs add to it.
        let mixed = of(b"\xff\xfe*\0\r\0\n\0*.tmp\n*.log\n");
        assert_eq!((check(&mixed, "x").as_str(), check(&mixed, "x.log").contains("line 3")), ("kept", true));
        for mark in [b"\xff\xfe".as_slice(), b"\xfe\xff"] {
            let ignores = of(&[mark, b"*"].concat());
            assert_eq!(check(&ignores, "x"), "kept");
            assert!(ignores.notes()[0].starts_with(".loreignore: it begins as UTF-16"), "{:?}", ignores.notes());
        }
        // The marks of others are names as good as any.
        for mark in ["+/v8", "+/v9", "\u{f}", "dL"] {
            let ignores = of(format!("{mark}/x\n").as_bytes());
            assert!(check(&ignores, "x") == "kept" && check(&ignores, &format!("{mark}/x")) != "kept", "{mark}");
            assert!(ignores.notes().is_empty());
        }
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

    /// Rules for one folder take a while to read and almost none to follow, whatever is in them.
    #[test]
    fn rules_cannot_be_a_bomb() {
        let lines = |line: &str, count: usize| format!("{line}\n").repeat(count).into_bytes();
        // 2^30 ways to fail, without a bound.
        let stars = format!("{}b\n*.log\n", "**/a/".repeat(30)).into_bytes();
        let bombs = [lines("x", 500_000), lines("**/*a*/**/b", 80_000), stars, lines(&"[a".repeat(5000), 100)];
        for (bomb, lines) in bombs.into_iter().enumerate() {
            let ignores = Ignores::new([(RepoPath::from(".loreignore"), lines)], &[]);
            assert_eq!(ignores.notes().len(), 1, "{bomb}");
            assert!(ignores.notes()[0].starts_with(".loreignore: "), "{:?}", ignores.notes());
            let deep = RepoPath::from(&*("a/".repeat(100) + "file"));
            assert_eq!(ignores.excludes(&deep), None, "{bomb}");
            // What comes after a line that is left out is followed.
            assert_eq!(ignores.excludes(&RepoPath::from("y.log")).is_some(), bomb == 2);
        }
    }

    #[test]
    fn many_files_of_rules_are_no_bomb_either() {
        let lines = "one-of-many\n".repeat(4000).into_bytes();
        let files = (0..100).map(|number| (RepoPath::from(&*format!("d{number:02}/.loreignore")), lines.clone()));
        let ignores = Ignores::new(files.chain([(RepoPath::from(".loreignore"), b"*.gen\n".to_vec())]), &[]);
        assert_eq!(check(&ignores, "d99/x.gen"), "line 1 of .loreignore: *.gen");
        assert_eq!(check(&ignores, "d00/one-of-many"), "line 4000 of d00/.loreignore: one-of-many");
        assert_eq!(check(&ignores, "d99/one-of-many"), "kept");
        assert!(ignores.notes().iter().any(|note| note.starts_with("d99/.loreignore: ")), "{:?}", ignores.notes());
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
