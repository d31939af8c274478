//! ARCHITECTURE.md: what it names in backticks is there, and each invariant names a test that runs.
//!
//! Sources are searched as text: a name that is declared counts, whoever may see it. What a test shows is not checked.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use anyhow::{Context as _, Result};
use regex::Regex;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// Words in backticks that are of other programs.
const FOREIGN: [&str; 5] = ["git", "info", "stat", "tracing", "warn"];

/// How the document shortens the way to tests: the prefix, and the folder that it stands for.
const SHORT: [(&str, &str); 3] =
    [("it", "crates/lore/tests/it/"), ("mcp", "crates/lore-mcp/tests/"), ("conformance", "crates/lore-store/src/")];

/// What the document names that is not there.
pub(super) fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let mut tree = Tree::default();
    for file in files {
        let path = file.to_string_lossy().replace('\\', "/");
        if is_rust(&path) {
            tree.sources.push(Source::new(&path, read(&path)?));
        }
        tree.files.push(path);
    }
    Ok(tree.problems(&read(DOCUMENT)?).into_iter().map(|problem| format!("{DOCUMENT}: {problem}")).collect())
}

/// The files of the project, and the text of those that are Rust.
#[derive(Default)]
struct Tree {
    files: Vec<String>,
    sources: Vec<Source>,
}

struct Source {
    path: String,
    text: String,
    has_tests: bool,
}

/// Where a name is looked for: below a folder, in files whose path has these words.
#[derive(Default)]
struct Scope {
    folder: String,
    words: Vec<String>,
}

/// What the text of a source has under a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    Something,
    Test,
}

impl Tree {
    fn problems(&self, document: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for section in document.split("\n## ").skip(1) {
            let (title, text) = section.split_once('\n').unwrap_or((section, ""));
            let mut folder = String::new();
            for statement in statements(text) {
                if title == "Code map" {
                    folder = crate_of(&statement).unwrap_or(folder);
                }
                // Elsewhere brackets hold words, not places.
                let note = |note| if title == "Invariants" { note } else { None };
                let found: Vec<Found> =
                    names(&statement).map(|(name, said)| self.look(name, &self.scope(&folder, note(said)))).collect();
                let missing = names(&statement).zip(&found).filter(|(_, found)| **found == Found::Nothing);
                problems.extend(missing.map(|((name, _), _)| format!("`{name}` ({title}) is not there")));
                if title == "Invariants" && statement.starts_with("- ") && !found.contains(&Found::Test) {
                    problems.push(format!("an invariant names no test: {statement}"));
                }
            }
        }
        problems
    }

    /// The crate of the paragraph; behind a name the crate and the module may stand in brackets, `(core, commands)`.
    fn scope(&self, folder: &str, note: Option<&str>) -> Scope {
        let mut scope = Scope { folder: folder.to_owned(), words: Vec::new() };
        for word in note.into_iter().flat_map(|note| note.split(", ")) {
            let place = format!("crates/lore-{word}/");
            if self.files.iter().any(|file| file.starts_with(&place)) {
                scope.folder = place;
            } else {
                scope.words.push(word.to_owned());
            }
        }
        scope
    }

    fn look(&self, name: &str, scope: &Scope) -> Found {
        if let Some(command) = name.strip_prefix("cargo xtask ") {
            return self.command_of_xtask(command);
        }
        if let Some(commands) = name.strip_prefix("lore ") {
            return self.commands_of_lore(commands);
        }
        if !is_name(name) {
            let is_place = name.contains('/') || is_rust(name);
            let is_plain = name.starts_with(['$', '.', '-']) || name.contains(['*', ' ']) || !is_place;
            // Commands of xtask stand in its paragraph without more.
            return match (scope.folder.as_str(), is_plain) {
                ("xtask/", true) => self.command_of_xtask(name),
                (_, true) => Found::Something,
                (folder, false) => self.place(name, folder),
            };
        }
        if FOREIGN.contains(&name) || name.starts_with("LORE_") {
            return Found::Something;
        }
        if scope.folder == "xtask/" {
            return self.command_of_xtask(name);
        }
        let found = self.declared(name, scope);
        // Everybody speaks in values of the model.
        if found == Found::Nothing && !scope.folder.is_empty() {
            return self.declared(name, &Scope { folder: "crates/lore-model/".to_owned(), words: Vec::new() });
        }
        found
    }

    fn command_of_xtask(&self, command: &str) -> Found {
        let variant: String = command.split('-').map(capital).collect();
        let is_variant =
            |line: &str| line.trim().strip_prefix(&variant).is_some_and(|rest| rest.starts_with([',', '(', ' ']));
        let main = self.sources.iter().find(|source| source.path == "xtask/src/main.rs");
        if main.is_some_and(|main| main.text.lines().any(is_variant)) { Found::Test } else { Found::Nothing }
    }

    /// One file for each command, `users|tokens` are two of them; what follows are its own words.
    fn commands_of_lore(&self, commands: &str) -> Found {
        let first = commands.split(' ').next().unwrap_or_default();
        let has = |command: &str| self.place(&format!("commands/{command}"), "crates/lore/src/") != Found::Nothing;
        let file = |command: &str| has(&format!("{command}.rs")) || has(&format!("{command}/"));
        if first.split('|').all(file) { Found::Something } else { Found::Nothing }
    }

    /// A file or a folder, from the root or as the end of a path.
    fn place(&self, name: &str, folder: &str) -> Found {
        let inside = |path: &str| {
            let path = format!("/{path}");
            path.ends_with(&format!("/{name}")) || path.contains(&format!("/{}/", name.trim_end_matches('/')))
        };
        let mut there =
            self.files.iter().filter(|file| (file.starts_with(folder) || file.starts_with(name)) && inside(file));
        let tests = self.sources.iter().any(|source| source.has_tests && inside(&source.path));
        match (there.next(), tests) {
            (None, _) => Found::Nothing,
            (Some(_), true) => Found::Test,
            (Some(_), false) => Found::Something,
        }
    }

    /// A name that some file declares: `module::tests::name`, `Type::function`, `lore_crate::Type`, `name…`.
    fn declared(&self, name: &str, scope: &Scope) -> Found {
        let mut path: Vec<&str> = name.split("::").collect();
        let mut folder = scope.folder.clone();
        if let Some((_, place)) = SHORT.iter().find(|(short, _)| path.len() > 1 && path[0] == *short) {
            (*place).clone_into(&mut folder);
            if path[0] != "conformance" {
                path.remove(0);
            }
        } else if let Some(crate_name) = path.first().and_then(|first| first.strip_prefix("lore_")) {
            let place = format!("crates/lore-{crate_name}/");
            if self.files.iter().any(|file| file.starts_with(&place)) {
                folder = place;
                path.remove(0);
            }
        }
        let Some((last, above)) = path.split_last() else { return Found::Something };
        let wanted = Wanted::new(last, above);
        let sources = self.sources.iter().filter(|source| source.path.starts_with(&folder));
        let sources = sources.filter(|source| scope.words.iter().all(|word| source.is_in(word)));
        sources.map(|source| wanted.found_in(source)).max().unwrap_or(Found::Nothing)
    }
}

/// A name, and the modules or types above it.
struct Wanted<'a> {
    last: &'a str,
    declaration: Regex,
    above: Vec<(&'a str, Regex)>,
}

impl<'a> Wanted<'a> {
    fn new(last: &'a str, above: &[&'a str]) -> Self {
        let pattern = |text: &str| Regex::new(text).expect("because names are letters, digits and underscores");
        let name = match last.strip_suffix('…') {
            Some(begin) => format!(r"{begin}\w*"),
            None => format!(r"{last}\b"),
        };
        let about = |name: &str| {
            pattern(&format!(r"(?m)^\s*((pub(\(\w+\))? )?(struct|enum|trait|mod) {name}\b|impl\b[^{{]*\b{name}\b)"))
        };
        Self {
            last,
            // Fields are declared as well, and what a macro makes of a name that stands alone.
            declaration: pattern(&format!(
                r"(?m)^[^/\n]*\b(fn|struct|enum|trait|mod|type|const|static) {name}|^\s*pub {name}:|^\s*{name},?$"
            )),
            above: above.iter().map(|name| (*name, about(name))).collect(),
        }
    }

    /// Whether the file is, or declares, such a thing.
    fn found_in(&self, source: &Source) -> Found {
        let is_about = |name: &str, about: &Regex| source.text.contains(name) && about.is_match(&source.text);
        if !self.above.iter().all(|(name, about)| source.is_in(name) || is_about(name, about)) {
            return Found::Nothing;
        }
        if source.is_in(self.last) {
            return if source.has_tests { Found::Test } else { Found::Something };
        }
        // Most files do not have the name, and that is soon seen.
        let found = source.text.contains(self.last.trim_end_matches('…')).then(|| self.declaration.find(&source.text));
        let Some(found) = found.flatten() else { return Found::Nothing };
        let is_test = if found.as_str().contains("mod ") {
            source.has_tests
        } else {
            // What the conformance suite does not call is dead code, which the compiler tells.
            source.path.contains("/conformance/") || is_test(&source.text[..found.start()])
        };
        if is_test { Found::Test } else { Found::Something }
    }
}

impl Source {
    fn new(path: &str, text: String) -> Self {
        Self { path: path.to_owned(), has_tests: text.lines().any(is_test_line), text }
    }

    /// Whether the path of the file has such a module.
    fn is_in(&self, module: &str) -> bool {
        self.path.split('/').any(|part| part.strip_suffix(".rs").unwrap_or(part) == module)
    }
}

/// The crate that a paragraph of the code map is about.
fn crate_of(statement: &str) -> Option<String> {
    let name = statement.strip_prefix("**")?.split_once("**")?.0;
    Some(if name == "xtask" { "xtask/".to_owned() } else { format!("crates/{name}/") })
}

/// Points of a list and paragraphs, each on one line.
fn statements(text: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    for line in text.lines() {
        let line = line.trim();
        match statements.last_mut() {
            Some(last) if !line.is_empty() && !line.starts_with("- ") && !last.is_empty() => {
                last.push(' ');
                last.push_str(line);
            }
            _ => statements.push(line.to_owned()),
        }
    }
    statements
}

/// What stands in backticks, with the next note in brackets that says where such things are.
fn names(statement: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("`([^`]+)`").ok());
    static NOTE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"` \(([a-z-]+(, [a-z-]+)?)\)").ok());
    let names = NAME.iter().flat_map(|name| name.captures_iter(statement));
    names.filter_map(|name| {
        let name = name.get(1)?;
        let note = NOTE.as_ref().and_then(|note| note.captures(&statement[name.end()..]));
        Some((name.as_str(), note.and_then(|note| note.get(1)).map(|note| note.as_str())))
    })
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

fn is_name(name: &str) -> bool {
    name.strip_suffix('…').unwrap_or(name).split("::").all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Whether the attributes directly above make a function a test.
fn is_test(before: &str) -> bool {
    before.lines().rev().map(str::trim).take_while(|line| line.starts_with(['#', '/'])).any(is_test_line)
}

fn is_test_line(line: &str) -> bool {
    let line = line.trim();
    line == "#[test]" || line.starts_with("#[tokio::test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let source = |path: &str, text: &str| Source::new(path, text.to_owned());
        let test = "#[test]\nfn it_holds() {}\n\nfn helps() {}\n";
        let sources = vec![
            source("crates/lore/src/commands/add.rs", "pub(crate) fn run() {}"),
            source("crates/lore/tests/it/kill.rs", test),
            source(
                "crates/lore-core/src/flows.rs",
                "pub struct Lore;\nimpl Lore {\n    pub async fn sync(&self) {}\n}",
            ),
            source("crates/lore-core/src/why/mod.rs", "struct Why;\n// fn spoken_of\n"),
            source("crates/lore-core/src/why/tests.rs", "#[tokio::test(flavor = \"x\")]\nasync fn it_is_why() {}\n"),
            source("crates/lore-model/src/id.rs", "pub struct RepoId(i64);"),
            source("crates/lore-store/src/conformance/team.rs", "fn check_team() {}"),
            source("xtask/src/main.rs", "enum Task {\n    KillSync(Args),\n    Tidy,\n}"),
        ];
        let files = sources.iter().map(|source| source.path.clone()).chain(["docs/concepts/team.md".to_owned()]);
        Tree { files: files.collect(), sources }
    }

    fn problems(section: &str, text: &str) -> Vec<String> {
        tree().problems(&format!("# Title\n\n## {section}\n\n{text}\n"))
    }

    #[test]
    fn what_is_there_may_be_named() {
        for name in [
            "lore add PATH",
            "cargo xtask kill-sync",
            "Lore::sync",
            "lore_core::Lore::sync",
            "flows.rs",
            "why/",
            "crates/lore-core/src/flows.rs",
            "docs/concepts/team.md",
            "--json",
            "$LORE_HOME",
            "LORE_LOG",
            "git",
        ] {
            assert_eq!(problems("Boundaries", &format!("- `{name}` is there.")), [""; 0], "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_told() {
        for name in [
            "lore remove",
            "lore add|remove",
            "cargo xtask kill",
            "Lore::fetch",
            "Why::sync",
            "lore_git::Lore",
            "flow.rs",
            "command/",
            "docs/concepts/teams.md",
            "spoken_of",
        ] {
            let said = problems("Boundaries", &format!("- `{name}` is there."));
            assert_eq!(said.len(), 1, "{name}: {said:?}");
        }
    }

    #[test]
    fn the_code_map_names_what_is_in_its_crate() {
        assert_eq!(problems("Code map", "**lore-core**: `Lore`, `RepoId`.\n\n`Why` (`why/`).").len(), 0);
        assert_eq!(problems("Code map", "**lore-model**: `Why`.").len(), 1);
        assert_eq!(problems("Code map", "**xtask**: `tidy`, `kill-sync`.").len(), 0);
        assert_eq!(problems("Code map", "**xtask**: `kill`.").len(), 1);
    }

    #[test]
    fn an_invariant_names_a_test_that_runs() {
        for (text, number) in [
            ("- It holds: `it::kill::it_holds`.", 0),
            ("- It holds: `it::kill`.", 0),
            ("- It holds: `crates/lore/tests/it/kill.rs`.", 0),
            ("- It holds: `it_is_why` (core).", 0),
            ("- It holds: `it_is…` (core, why), the rest is text.", 0),
            ("- It holds: `conformance::check_team`.", 0),
            ("- It holds: `cargo xtask tidy`.", 0),
            ("- It holds\n  on two lines: `it::kill`.\n- And this:\n  `why::tests` (core).", 0),
            ("- It holds.", 1),
            ("- It holds: `it::kill::helps`.", 1),
            ("- It holds: the same, `Lore::sync`.", 1),
            // Not there, and so no test either.
            ("- It holds: `it_is_why` (model).", 2),
            ("- It holds: `it::killed::it_holds`.", 2),
        ] {
            let said = problems("Invariants", text);
            assert_eq!(said.len(), number, "{text}: {said:?}");
        }
    }
}
