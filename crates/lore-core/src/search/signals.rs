//! What a path says about a file: which words it has, and what role the file plays.

use std::collections::HashMap;

use lore_model::RepoPath;
use lore_store::{AskWord, CodeView, for_each_token};

use super::query::{Wants, fold};

/// What kind of file it is, as far as its path tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The real thing.
    Source,
    /// Tests and what only they need.
    Test,
    /// Examples and demonstrations.
    Example,
    /// Measurements.
    Bench,
    /// Code of others, or made by a program.
    Vendored,
    /// Kept for old callers.
    Compatibility,
    /// Declarations without bodies, or lists of re-exports.
    Declarations,
    /// Prose.
    Document,
}

/// What the folders of a path tell; the first that is set counts.
#[derive(Debug, Clone, Copy, Default)]
struct Folders {
    vendored: bool,
    test: bool,
    example: bool,
    bench: bool,
    compatibility: bool,
}

impl Folders {
    fn of(folders: &str) -> Self {
        let mut found = Self::default();
        for folder in folders.split('/') {
            match folder.to_ascii_lowercase().as_str() {
                "vendor" | "vendored" | "third_party" | "thirdparty" | "node_modules" | "deps" | "external"
                | "dist" => found.vendored = true,
                "test" | "tests" | "__tests__" | "spec" | "specs" | "testing" | "testdata" | "fixtures" | "e2e"
                | "mocks" | "__mocks__" => found.test = true,
                "example" | "examples" | "demo" | "demos" | "sample" | "samples" | "tutorial" | "tutorials" => {
                    found.example = true;
                }
                "bench" | "benches" | "benchmark" | "benchmarks" => found.bench = true,
                "compat" | "legacy" | "deprecated" | "shims" | "polyfills" => found.compatibility = true,
                _ => {}
            }
        }
        found
    }
}

impl Role {
    /// What the folders and the name of a file tell.
    fn of(folders: Folders, file: &str) -> Self {
        let file = file.to_ascii_lowercase();
        let (stem, extension) = file.rsplit_once('.').unwrap_or((&file, ""));
        let begins = |names: &[&str]| names.iter().any(|name| stem.starts_with(name));
        let ends = |names: &[&str]| names.iter().any(|name| stem.ends_with(name));
        let is_test = || {
            begins(&["test_"])
                || ends(&["_test", "_tests", ".test", ".spec", "_spec", "-test"])
                || ["test", "tests", "conftest"].contains(&stem)
                || (["java", "kt", "cs", "scala", "swift", "php"].contains(&extension) && ends(&["test", "tests"]))
        };
        if folders.vendored {
            Self::Vendored
        } else if folders.test || is_test() {
            Self::Test
        } else if folders.example || begins(&["example"]) {
            Self::Example
        } else if folders.bench || ends(&["_bench"]) || begins(&["bench_"]) {
            Self::Bench
        } else if folders.compatibility || ["compat", "_compat", "legacy"].contains(&stem) {
            Self::Compatibility
        } else if file.ends_with(".d.ts") {
            Self::Declarations
        } else if ["md", "markdown", "rst", "adoc", "asciidoc", "txt"].contains(&extension)
            || ["readme", "changelog", "license", "contributing", "authors"].contains(&stem)
        {
            Self::Document
        } else {
            Self::Source
        }
    }

    /// What such a file is worth when it was not asked for.
    pub(super) fn factor(self, wants: Wants) -> f32 {
        match self {
            Self::Test if !wants.tests => 0.55,
            Self::Example if !wants.examples => 0.65,
            Self::Bench if !wants.benches => 0.6,
            Self::Vendored if !wants.vendored => 0.5,
            Self::Compatibility if !wants.compatibility => 0.7,
            Self::Declarations => 0.75,
            Self::Document if !wants.documents => 0.72,
            _ => 1.0,
        }
    }

    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Test => "test",
            Self::Example => "example",
            Self::Bench => "benchmark",
            Self::Vendored => "vendored",
            Self::Compatibility => "compatibility",
            Self::Declarations => "declarations",
            Self::Document => "document",
        }
    }
}

/// A word counts so much in the name of a file, and so much in the name of a folder.
const STEM: f32 = 1.0;
const FOLDER: f32 = 0.5;

/// The name of a project's own language counts so much in a question.
const OWN_LANGUAGE: f32 = 0.2;

/// Programming languages, each with what it is called.
const PROGRAMMING: [&[&str]; 18] = [
    &["bash"],
    &["c"],
    &["cpp", "c++"],
    &["csharp", "c#", "dotnet"],
    &["dart"],
    &["go", "golang"],
    &["java"],
    &["javascript", "js", "nodejs"],
    &["kotlin"],
    &["lua"],
    &["php"],
    &["python", "python3", "py"],
    &["ruby"],
    &["rust"],
    &["scala"],
    &["sql"],
    &["swift"],
    &["typescript", "ts"],
];

/// The words of all paths of a view.
pub(super) struct PathIndex {
    words: Words,
    count: usize,
    /// Tokens that name the language of most of the code.
    language: Vec<String>,
    pub(super) roles: Vec<Role>,
}

/// Files by word, each with how much the word counts there.
#[derive(Default)]
struct Words {
    numbers: HashMap<Box<str>, usize>,
    files: Vec<Vec<(u32, f32)>>,
}

impl Words {
    fn number(&mut self, word: &str) -> usize {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        self.numbers.insert(word.into(), self.files.len());
        self.files.push(Vec::new());
        self.files.len() - 1
    }

    fn put(&mut self, number: usize, file: u32, weight: f32) {
        let list = &mut self.files[number];
        match list.last_mut() {
            Some((last, known)) if *last == file => *known = known.max(weight),
            _ => list.push((file, weight)),
        }
    }
}

/// The folders and the name of a path.
fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// What a file is called: `mod.rs`, `index.ts`, `__init__.py` are named by their folder.
fn called<'a>(folders: &'a str, file: &'a str) -> (&'a str, Option<&'a str>) {
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    let generic = ["mod", "index", "__init__", "lib", "main"].contains(&stem);
    (stem, generic.then(|| folders.rsplit('/').next().unwrap_or("")))
}

/// What the file at a path is called, without case, separators and extension.
pub(super) fn stem(path: &RepoPath) -> String {
    let path = path.to_text();
    let (folders, file) = split_path(&path);
    let (stem, parent) = called(folders, file);
    fold(parent.unwrap_or(stem))
}

impl PathIndex {
    pub(super) fn new(view: &dyn CodeView) -> Self {
        let mut words = Words::default();
        let mut roles = Vec::with_capacity(view.files().len());
        // Files come in order of their paths, so neighbours mostly share their folders.
        let (mut last, mut of_last, mut numbers) = (String::new(), Folders::default(), Vec::new());
        for (at, file) in (0_u32..).zip(view.files()) {
            let path = file.path.to_text();
            let (folders, name) = split_path(&path);
            if folders != last {
                of_last = Folders::of(folders);
                numbers.clear();
                for_each_token(folders, |token| numbers.push(words.number(token)));
                folders.clone_into(&mut last);
            }
            roles.push(Role::of(of_last, name));
            let mut put = |text: &str, weight: f32| {
                for_each_token(text, |token| {
                    let number = words.number(token);
                    words.put(number, at, weight);
                });
            };
            let (stem, parent) = called(folders, name);
            put(stem, STEM);
            if let Some(parent) = parent {
                put(parent, STEM * 0.9);
            }
            for &number in &numbers {
                words.put(number, at, FOLDER);
            }
        }
        Self { words, count: roles.len(), language: main_language(view), roles }
    }

    /// The words of a query as they count here: in a project of Python, `python` says nothing.
    pub(super) fn weighed(&self, words: &[AskWord]) -> Vec<AskWord> {
        let weigh = |word: &AskWord| {
            let is_language = self.language.contains(&word.token);
            AskWord { token: word.token.clone(), weight: word.weight * if is_language { OWN_LANGUAGE } else { 1.0 } }
        };
        words.iter().map(weigh).collect()
    }

    /// How well each file's path fits the words: 0 to 1, best first, at most `limit`.
    pub(super) fn score(&self, words: &[AskWord], limit: usize) -> Vec<(u32, f32)> {
        let mut scores = vec![0.0_f32; self.count];
        let mut total = 0.0;
        for AskWord { token, weight } in words {
            let found = self.words.numbers.get(token.as_str()).map(|number| &self.words.files[*number]);
            #[expect(clippy::cast_precision_loss, reason = "a weight needs no precision")]
            let rarity = {
                let holders = found.map_or(0, Vec::len) as f32;
                (1.0 + (self.count as f32 - holders + 0.5).max(0.0) / (holders + 0.5)).ln()
            };
            // A word that no path has says nothing about paths, yet a file that has only the others fits less well.
            total += weight * if found.is_some() { rarity } else { rarity * 0.3 };
            for &(file, place) in found.into_iter().flatten() {
                scores[file as usize] += weight * rarity * place;
            }
        }
        let share = |(file, score): (u32, f32)| (file, score / total.max(1e-6));
        let mut scores: Vec<(u32, f32)> = (0..).zip(scores).map(share).filter(|(_, score)| *score > 0.05).collect();
        let better = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if scores.len() > limit && limit > 0 {
            scores.select_nth_unstable_by(limit - 1, better);
            scores.truncate(limit);
        }
        scores.sort_by(better);
        scores
    }
}

/// What the language of more than half of the code is called, as tokens.
fn main_language(view: &dyn CodeView) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for file in view.files() {
        *counts.entry(file.language.as_ref()).or_default() += 1;
    }
    let counts = PROGRAMMING.iter().map(|names| (names, counts.get(names[0]).copied().unwrap_or(0)));
    let all: usize = counts.clone().map(|(_, count)| count).sum();
    let main = counts.max_by_key(|(_, count)| *count).filter(|(_, count)| *count * 2 > all);
    main.map_or_else(Vec::new, |(names, _)| names.iter().flat_map(|name| lore_store::tokens(name)).collect())
}

/// The folders of a path, as tags.
pub(super) fn folder_tags(path: &RepoPath) -> Vec<String> {
    let path = path.to_text();
    let Some((folders, _)) = path.rsplit_once('/') else { return Vec::new() };
    folders.split('/').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_worth_less_unless_its_kind_was_asked_for() {
        let none = Wants::default();
        for (role, wanted) in [
            (Role::Test, Wants { tests: true, ..none }),
            (Role::Example, Wants { examples: true, ..none }),
            (Role::Bench, Wants { benches: true, ..none }),
            (Role::Vendored, Wants { vendored: true, ..none }),
            (Role::Compatibility, Wants { compatibility: true, ..none }),
            (Role::Document, Wants { documents: true, ..none }),
        ] {
            assert!(role.factor(none) < 0.8, "{role:?}");
            assert!((role.factor(wanted) - 1.0).abs() < f32::EPSILON, "{role:?}");
        }
        let all =
            Wants { tests: true, examples: true, benches: true, vendored: true, compatibility: true, documents: true };
        assert!((Role::Source.factor(none) - 1.0).abs() < f32::EPSILON);
        assert!(Role::Declarations.factor(all) < 0.8, "they say nothing of how it works");
    }

    #[test]
    fn roles_are_told_by_paths() {
        for (path, role) in [
            ("src/net/tcp.rs", Role::Source),
            ("tests/it/main.rs", Role::Test),
            ("pkg/auth/handler_test.go", Role::Test),
            ("src/button.spec.ts", Role::Test),
            ("src/test/java/FooTest.java", Role::Test),
            ("src/latest.rs", Role::Source),
            ("src/contest.py", Role::Source),
            ("examples/hello.rs", Role::Example),
            ("vendor/x/y.go", Role::Vendored),
            ("benches/a.rs", Role::Bench),
            ("docs/guide.md", Role::Document),
            ("types/a.d.ts", Role::Declarations),
            ("src/parser_bench.go", Role::Bench),
            ("src/bench_parser.py", Role::Bench),
            ("lib/_compat.py", Role::Compatibility),
            ("README", Role::Document),
        ] {
            let (folders, file) = split_path(path);
            assert_eq!(Role::of(Folders::of(folders), file), role, "{path}");
        }
    }
}
