//! What a path says about a file: which words it has, and what role the file plays.

use std::collections::HashMap;

use lore_model::RepoPath;
use lore_store::{CodeView, for_each_token};

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

impl Role {
    /// What a file's path tells.
    pub(super) fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (folders, file) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
        let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let documents = ["md", "markdown", "rst", "adoc", "asciidoc", "txt"];
        if in_folder(&["vendor", "vendored", "third_party", "thirdparty", "node_modules", "deps", "external", "dist"]) {
            return Self::Vendored;
        }
        let test_stem = stem.starts_with("test_")
            || ["_test", "_tests", ".test", ".spec", "_spec", "-test"].iter().any(|end| stem.ends_with(end))
            || ["test", "tests", "conftest"].contains(&stem)
            || (["java", "kt", "cs", "scala", "swift", "php"].contains(&extension)
                && (stem.ends_with("test") || stem.ends_with("tests")));
        if test_stem
            || in_folder(&[
                "test",
                "tests",
                "__tests__",
                "spec",
                "specs",
                "testing",
                "testdata",
                "fixtures",
                "e2e",
                "mocks",
                "__mocks__",
            ])
        {
            return Self::Test;
        }
        if in_folder(&["example", "examples", "demo", "demos", "sample", "samples", "tutorial", "tutorials"])
            || stem.starts_with("example")
        {
            return Self::Example;
        }
        if in_folder(&["bench", "benches", "benchmark", "benchmarks"])
            || stem.ends_with("_bench")
            || stem.starts_with("bench_")
        {
            return Self::Bench;
        }
        if in_folder(&["compat", "legacy", "deprecated", "shims", "polyfills"])
            || ["compat", "_compat", "legacy"].contains(&stem)
        {
            return Self::Compatibility;
        }
        if file.ends_with(".d.ts") {
            return Self::Declarations;
        }
        if documents.contains(&extension)
            || ["readme", "changelog", "license", "contributing", "authors"].contains(&stem)
        {
            return Self::Document;
        }
        Self::Source
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

/// The words of all paths of a view.
pub(super) struct PathIndex {
    /// Files by word, each with how much the word counts there.
    files: HashMap<String, Vec<(u32, f32)>>,
    count: usize,
    pub(super) roles: Vec<Role>,
    /// What each file is called, without case, separators and extension.
    pub(super) stems: Vec<String>,
}

impl PathIndex {
    pub(super) fn new(view: &dyn CodeView) -> Self {
        let mut files: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        let (mut roles, mut stems) = (Vec::with_capacity(view.files().len()), Vec::with_capacity(view.files().len()));
        for (at, file) in view.files().iter().enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            let path = file.path.to_text();
            roles.push(Role::of(&path));
            let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
            // `mod.rs`, `index.ts`, `__init__.py` are named by their folder.
            let generic = ["mod", "index", "__init__", "lib", "main"].contains(&stem);
            let parent = folders.rsplit('/').next().unwrap_or("");
            let mut put = |text: &str, weight: f32| {
                for_each_token(text, |token| {
                    if !files.contains_key(token) {
                        files.insert(token.to_owned(), Vec::new());
                    }
                    let list = files.get_mut(token).expect("it was just put there");
                    match list.last_mut() {
                        Some((last, known)) if *last == at => *known = known.max(weight),
                        _ => list.push((at, weight)),
                    }
                });
            };
            stems.push(fold(if generic { parent } else { stem }));
            put(stem, STEM);
            if generic {
                put(parent, STEM * 0.9);
            }
            folders.split('/').for_each(|folder| put(folder, FOLDER));
        }
        Self { files, count: roles.len(), roles, stems }
    }

    /// How well each file's path fits the words: 0 to 1, best first, at most `limit`.
    pub(super) fn score(&self, words: &[(String, f32)], limit: usize) -> Vec<(u32, f32)> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        let mut total = 0.0;
        for (token, weight) in words {
            let found = self.files.get(token);
            #[expect(clippy::cast_precision_loss, reason = "a weight needs no precision")]
            let rarity = {
                let holders = found.map_or(0, Vec::len) as f32;
                (1.0 + (self.count as f32 - holders + 0.5).max(0.0) / (holders + 0.5)).ln()
            };
            // A word that no path has says nothing about paths, yet a file that has only the others fits less well.
            total += weight * if found.is_some() { rarity } else { rarity * 0.3 };
            for &(file, place) in found.into_iter().flatten() {
                *scores.entry(file).or_default() += weight * rarity * place;
            }
        }
        let mut scores: Vec<(u32, f32)> = scores
            .into_iter()
            .map(|(file, score)| (file, score / total.max(1e-6)))
            .filter(|(_, score)| *score > 0.05)
            .collect();
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scores.truncate(limit);
        scores
    }
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
        ] {
            assert_eq!(Role::of(path), role, "{path}");
        }
    }
}
