//! `cargo xtask check-symbols`: compares the symbols that Lore finds in source files with those of universal-ctags.
//!
//! It says what ctags knows and Lore does not, never the reverse: what Lore finds beyond ctags is not counted.

mod kinds;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};
use kinds::{Compared, LANGUAGES, Language};
use lore_testkit::{Git, Lore};
use serde_json::Value;

use crate::{
    bench::grid,
    program::{output, program, release_with_dev, say},
};

/// Lore's line of a symbol may differ by so many: attributes and return types stand on lines of their own.
const NEAR: u64 = 2;

/// What a main language has to reach.
const LEAST: f64 = 0.9;

/// Languages with fewer symbols are shown and not judged.
const ENOUGH: usize = 20;

/// Kinds that are shown as missing, and examples of each.
const SHOWN: usize = 3;

/// Compares Lore's symbols with those of universal-ctags.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder with source code; of a bare repository, HEAD is checked out.
    path: PathBuf,

    /// Only this language, as ctags calls it: `Rust`, `C++` (may be repeated).
    #[arg(long, value_name = "LANGUAGE")]
    language: Vec<String>,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// Lists every symbol that is missing.
    #[arg(long)]
    missing: bool,
}

/// A symbol as ctags tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    path: String,
    name: String,
    kind: String,
    line: u64,
    compared: Compared,
}

/// What Lore found in one file.
#[derive(Debug, Default)]
struct Known {
    /// Why it looks for none.
    plain: Option<String>,
    symbols: Vec<(String, u64)>,
    /// Names of members besides.
    names: Vec<String>,
}

/// What came of one language.
#[derive(Default)]
struct Outcome {
    files: usize,
    /// Files in which Lore looks for no symbols.
    plain: usize,
    tags: usize,
    missing: Vec<Tag>,
}

/// Runs the comparison; fails where a main language misses too much.
pub(crate) fn run(args: &Args) -> Result<()> {
    let wanted = wanted(args)?;
    let ctags = ctags()?;
    let binary = release_with_dev(args.lore.as_deref())?;
    let path = args.path.canonicalize().with_context(|| format!("cannot find {}", args.path.display()))?;
    let dir = tempfile::tempdir()?;
    let root = checked_out(&path, dir.path())?;
    let tags = read_tags(&root, &wanted)?;
    let known = read_symbols(&binary, &root, &tags)?;
    let outcomes: Vec<(&Language, Outcome)> =
        wanted.iter().zip(&tags).map(|(language, tags)| (*language, compare(tags, &known))).collect();
    say(&format!("{} against {ctags}", path.display()));
    print(&outcomes);
    if args.missing {
        for tag in outcomes.iter().flat_map(|(_, outcome)| &outcome.missing) {
            say(&format!("{}:{}: {} {}", tag.path, tag.line, tag.kind, tag.name));
        }
    }
    let judged = outcomes.iter().filter(|(_, outcome)| outcome.tags >= ENOUGH);
    let low: Vec<&str> =
        judged.filter(|(_, outcome)| outcome.recall() < LEAST).map(|(language, _)| language.name).collect();
    ensure!(low.is_empty(), "fewer than {LEAST} of the symbols were found: {}", low.join(", "));
    Ok(())
}

fn wanted(args: &Args) -> Result<Vec<&'static Language>> {
    for name in &args.language {
        let known = LANGUAGES.iter().any(|language| language.name.eq_ignore_ascii_case(name));
        let names: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
        ensure!(known, "`{name}` is not compared; there are {}", names.join(", "));
    }
    let is_wanted = |language: &&Language| {
        args.language.is_empty() || args.language.iter().any(|name| language.name.eq_ignore_ascii_case(name))
    };
    Ok(LANGUAGES.iter().filter(is_wanted).collect())
}

/// The version of ctags; it has to be the universal one, with JSON.
fn ctags() -> Result<String> {
    let hint = "install universal-ctags (Debian, Ubuntu: `apt install universal-ctags`; macOS: `brew install universal-ctags`)";
    let version = output(program("ctags").arg("--version")).context(hint)?;
    let first = version.lines().next().unwrap_or_default();
    ensure!(first.starts_with("Universal Ctags"), "this is `{first}`: {hint}");
    let features = output(program("ctags").arg("--list-features"))?;
    ensure!(features.lines().any(|line| line.starts_with("json")), "this ctags cannot print JSON: {hint}");
    Ok(first.split(',').next().unwrap_or(first).to_owned())
}

/// The folder, or the files of a bare repository's HEAD.
fn checked_out(path: &Path, dir: &Path) -> Result<PathBuf> {
    if path.join(".git").exists() || !path.join("objects").is_dir() {
        return Ok(path.to_owned());
    }
    let text = |path: &Path| path.to_str().map(str::to_owned).context("the path is not UTF-8");
    let (tree, index) = (dir.join("tree"), dir.join("index"));
    fs::create_dir(&tree)?;
    let git = Git::at(&tree).with("GIT_DIR", &text(path)?).with("GIT_WORK_TREE", &text(&tree)?);
    let git = git.with("GIT_INDEX_FILE", &text(&index)?);
    git.text(&["read-tree", "HEAD"])?;
    git.text(&["checkout-index", "--all"])?;
    Ok(tree)
}

/// The tags of each language, in its order.
fn read_tags(root: &Path, wanted: &[&Language]) -> Result<Vec<Vec<Tag>>> {
    let names: Vec<&str> = wanted.iter().map(|language| language.name).collect();
    let mut command = program("ctags");
    // Nothing of the user's configuration; links are not followed, so that no file counts twice.
    command.current_dir(root).args(["--options=NONE", "--recurse", "--links=no", "--sort=no", "--output-format=json"]);
    command.args(["--fields=+KnSlEZ", "--fields={name}{input}{line}{kind}{scopeKind}{scope}{language}{extras}"]);
    command.args([
        "--map-TypeScript=+.tsx",
        "--map-TypeScript=+.mts",
        "--map-TypeScript=+.cts",
        "--map-JavaScript=+.cjs",
    ]);
    command.args([&format!("--languages={}", names.join(",")), "--exclude=.git", "-f", "-", "."]);
    let printed = command.stderr(Stdio::null()).output().context("cannot start ctags")?;
    ensure!(printed.status.success(), "ctags ended with {}", printed.status);
    let mut tags = vec![Vec::new(); wanted.len()];
    let mut sources = Sources { root, path: String::new(), lines: Vec::new() };
    for line in String::from_utf8_lossy(&printed.stdout).lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let of = wanted.iter().position(|language| value["language"] == language.name);
        if let Some(at) = of
            && let Some(tag) = tag(&value, wanted[at], &mut |path, line| sources.line(path, line))
        {
            tags[at].push(tag);
        }
    }
    Ok(tags)
}

/// Lines of files; the last file is kept, because tags come file by file.
struct Sources<'a> {
    root: &'a Path,
    path: String,
    lines: Vec<String>,
}

impl Sources<'_> {
    fn line(&mut self, path: &str, line: u64) -> String {
        if self.path != path {
            let bytes = fs::read(self.root.join(path)).unwrap_or_default();
            self.lines = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
            path.clone_into(&mut self.path);
        }
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        self.lines.get(at).cloned().unwrap_or_default()
    }
}

/// Whether a line that is not indented declares this constant or type.
fn declares(line: &str, name: &str) -> bool {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let declared = words.windows(2).any(|pair| ["const", "type", "val"].contains(&pair[0]) && pair[1] == name);
    let import = line.starts_with("import") || line.contains("require(");
    declared && !import && !line.starts_with(char::is_whitespace)
}

/// A tag that is compared.
fn tag(value: &Value, language: &Language, line_of: &mut dyn FnMut(&str, u64) -> String) -> Option<Tag> {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let (name, kind) = (text("name"), text("kind"));
    let compared = language.kinds.iter().find(|(known, _)| *known == kind)?.1;
    let path = text("path").trim_start_matches("./").to_owned();
    let line = value["line"].as_u64()?;
    let made_up = text("extras").contains("anonymous")
        || name.starts_with("__anon")
        || name.starts_with("anonymousFunction")
        || name.starts_with('<')
        // Of a companion object of Kotlin without a name.
        || (name == "Companion" && !line_of(&path, line).contains(name));
    let within = ["function", "func", "method", "member", "singletonMethod", "generator", "getter", "setter"];
    let local = within.contains(&text("scopeKind"));
    let compared = match compared {
        Compared::Method if text("scopeKind") == "interface" => Compared::Member,
        Compared::Method => Compared::Symbol,
        other => other,
    };
    let shown = match compared {
        Compared::Symbol | Compared::Member | Compared::Method => true,
        Compared::Capitals => text("scope").is_empty() && !name.chars().any(char::is_lowercase),
        Compared::Top => text("scope").is_empty() && declares(&line_of(&path, line), name),
        Compared::Class => ["class", "function"].iter().any(|word| line_of(&path, line).contains(word)),
    };
    (shown && !made_up && !local).then(|| Tag { path, name: name.to_owned(), kind: kind.to_owned(), line, compared })
}

/// Asks Lore about every file that has a tag.
fn read_symbols(binary: &Path, root: &Path, tags: &[Vec<Tag>]) -> Result<HashMap<String, Known>> {
    let mut files: Vec<&str> = tags.iter().flatten().map(|tag| tag.path.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let lore = Lore::new(binary);
    let mut command = lore.dev(&["symbols", "--stdin0"]);
    command.current_dir(root);
    let printed = fed(&mut command, files.join("\0").into_bytes())?;
    let mut known = HashMap::new();
    for line in printed.lines() {
        let value: Value = serde_json::from_str(line).with_context(|| format!("`lore-dev symbols` printed {line}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |key: &str| value[key].as_array().cloned().unwrap_or_default();
        let symbol = |value: &Value| (text(&value["name"]), value["lines"][0].as_u64().unwrap_or_default());
        let found = Known {
            plain: value["plain"].as_str().map(str::to_owned),
            symbols: list("symbols").iter().map(symbol).collect(),
            names: list("names").iter().map(text).collect(),
        };
        known.insert(text(&value["path"]), found);
    }
    ensure!(known.len() == files.len(), "`lore-dev symbols` told of {} files, not of {}", known.len(), files.len());
    Ok(known)
}

/// Runs a program with this standard input and gives what it prints.
fn fed(command: &mut Command, input: Vec<u8>) -> Result<String> {
    use std::io::Write as _;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("standard input is a pipe")?;
    // A program that ends early closes the pipe; its exit status tells more than the failed write.
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let printed = child.wait_with_output()?;
    if writer.join().is_err() || !printed.status.success() {
        bail!("lore-dev symbols ({}): {}", printed.status, String::from_utf8_lossy(&printed.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&printed.stdout).into_owned())
}

/// Finds each tag among Lore's symbols: the one of the same name on nearly the same line, else another one of that name
/// in the file. A symbol answers for one tag only.
fn compare(tags: &[Tag], known: &HashMap<String, Known>) -> Outcome {
    let mut by_file: BTreeMap<&str, Vec<&Tag>> = BTreeMap::new();
    for tag in tags {
        by_file.entry(&tag.path).or_default().push(tag);
    }
    let mut outcome = Outcome::default();
    let nothing = Known::default();
    for (path, tags) in by_file {
        let known = known.get(path).unwrap_or(&nothing);
        outcome.files += 1;
        if known.plain.is_some() {
            outcome.plain += 1;
            continue;
        }
        // `app.init = function init()` is two tags of ctags, and one definition.
        let mut seen = HashSet::new();
        let tags: Vec<&Tag> = tags.into_iter().filter(|tag| seen.insert((&tag.name, tag.line))).collect();
        outcome.tags += tags.len();
        let mut free: Vec<&(String, u64)> = known.symbols.iter().collect();
        let mut names: Vec<&String> = known.names.iter().collect();
        // Names of symbols are among the names of chunks; what is left are members.
        for (symbol, _) in &known.symbols {
            names.iter().position(|name| *name == symbol).map(|at| names.swap_remove(at));
        }
        let mut take = |tag: &Tag, near: u64| {
            let found = free.iter().position(|(name, line)| same(name, &tag.name) && line.abs_diff(tag.line) <= near);
            found.map(|at| free.swap_remove(at)).is_some()
        };
        let rest: Vec<&Tag> = tags.into_iter().filter(|tag| !take(tag, NEAR)).collect();
        let rest: Vec<&Tag> = rest.into_iter().filter(|tag| !take(tag, u64::MAX)).collect();
        let mut member = |tag: &Tag| {
            let found = names.iter().position(|name| same(name, &tag.name));
            tag.compared == Compared::Member && found.map(|at| names.swap_remove(at)).is_some()
        };
        outcome.missing.extend(rest.into_iter().filter(|tag| !member(tag)).cloned());
    }
    outcome
}

/// Whether two names are the same but for how they are written: ctags keeps blanks in `operator ()`, and quotes.
fn same(lore: &str, ctags: &str) -> bool {
    let plain = |name: &str| name.replace([' ', '"', '\'', '`'], "");
    lore == ctags || plain(lore) == plain(ctags) || lore.rsplit(['.', ':']).next() == Some(ctags)
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn recall(&self) -> f64 {
        if self.tags == 0 { 1.0 } else { 1.0 - self.missing.len() as f64 / self.tags as f64 }
    }

    /// The kinds that are missing most, with examples.
    fn missing_kinds(&self) -> String {
        let mut kinds: BTreeMap<&str, Vec<&Tag>> = BTreeMap::new();
        for tag in &self.missing {
            kinds.entry(&tag.kind).or_default().push(tag);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, tags)| std::cmp::Reverse(tags.len()));
        let shown = kinds.iter().take(SHOWN).map(|(kind, tags)| {
            // Not the first ones only: they are often all of one file.
            let step = tags.len().div_ceil(SHOWN);
            let examples = tags.iter().step_by(step).map(|tag| format!("{} {}:{}", tag.name, tag.path, tag.line));
            format!("{} {kind} ({})", tags.len(), examples.collect::<Vec<_>>().join(", "))
        });
        shown.collect::<Vec<_>>().join("; ")
    }
}

fn print(outcomes: &[(&Language, Outcome)]) {
    let head = ["language", "files", "left out", "ctags", "found", "recall", "missing"].map(str::to_owned).to_vec();
    let seen = || outcomes.iter().filter(|(_, outcome)| outcome.files > 0);
    let row = |(language, outcome): &(&Language, Outcome)| {
        vec![
            language.name.to_owned(),
            outcome.files.to_string(),
            outcome.plain.to_string(),
            outcome.tags.to_string(),
            (outcome.tags - outcome.missing.len()).to_string(),
            format!("{:.3}", outcome.recall()),
            outcome.missing_kinds(),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(seen().map(row)).collect();
    say(&grid(&rows));
    say(
        "\n`left out` are files that Lore keeps as plain lines: generated, minified, too large. Kinds of ctags that are not compared:",
    );
    for (language, _) in seen() {
        say(&format!("  {}: {}", language.name, language.left_out));
    }
    say("and everywhere locals and what is defined inside functions, parameters, and names that ctags made up.");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tag_at(name: &str, line: u64, compared: Compared) -> Tag {
        Tag { path: "a".to_owned(), name: name.to_owned(), kind: "method".to_owned(), line, compared }
    }

    fn missing(tags: &[Tag], symbols: &[(&str, u64)], names: &[&str]) -> Vec<u64> {
        let symbols = symbols.iter().map(|(name, line)| ((*name).to_owned(), *line)).collect();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let known = HashMap::from([("a".to_owned(), Known { plain: None, symbols, names })]);
        compare(tags, &known).missing.iter().map(|tag| tag.line).collect()
    }

    #[test]
    fn a_symbol_answers_for_one_tag_only() {
        let tags = [tag_at("new", 10, Compared::Symbol), tag_at("new", 50, Compared::Symbol)];
        assert_eq!(missing(&tags, &[("new", 51)], &[]), [10]);
        assert_eq!(missing(&tags, &[("new", 8), ("new", 90)], &[]), [0; 0], "elsewhere in the file is good enough");
        assert_eq!(missing(&tags, &[("old", 10)], &["new", "new"]), [10, 50], "names are for members");
    }

    #[test]
    fn two_tags_of_one_name_on_one_line_are_one_definition() {
        let tags = [tag_at("init", 10, Compared::Symbol), tag_at("init", 10, Compared::Symbol)];
        assert_eq!(missing(&tags, &[("init", 10)], &[]), [0; 0]);
        assert_eq!(missing(&tags, &[], &[]), [10]);
    }

    #[test]
    fn members_may_be_names_of_what_they_are_in() {
        let tags = [tag_at("Red", 3, Compared::Member), tag_at("Blue", 4, Compared::Member)];
        assert_eq!(missing(&tags, &[("Color", 2)], &["Color", "Red"]), [4]);
    }

    #[test]
    fn locals_and_made_up_names_are_not_compared() {
        let (rust, none) = (&LANGUAGES[0], &mut |_: &str, _| String::new());
        let value = |scope: &str, name: &str| json!({"name": name, "path": "./a.rs", "line": 1, "kind": "function", "scopeKind": scope, "scope": "x"});
        assert!(tag(&value("interface", "f"), rust, none).is_some_and(|tag| tag.path == "a.rs"));
        assert!(tag(&value("function", "f"), rust, none).is_none());
        assert!(tag(&value("module", "__anon12"), rust, none).is_none());
        assert!(tag(&json!({"name": "f", "path": "a.rs", "line": 1, "kind": "field"}), rust, none).is_none());
    }

    #[test]
    fn constants_of_python_are_in_capitals_at_the_top() {
        let python = LANGUAGES.iter().find(|language| language.name == "Python").unwrap();
        let none = &mut |_: &str, _| String::new();
        let value = |name: &str, scope: &str| json!({"name": name, "path": "a.py", "line": 1, "kind": "variable", "scope": scope});
        assert!(tag(&value("MAX_SIZE", ""), python, none).is_some());
        assert!(tag(&value("size", ""), python, none).is_none());
        assert!(tag(&value("MAX_SIZE", "Class"), python, none).is_none());
    }

    #[test]
    fn constants_are_declared_at_the_top() {
        assert!(declares("export const limit = 3;", "limit") && declares("export type Id = string;", "Id"));
        assert!(!declares("  const limit = 3;", "limit"), "a local");
        assert!(!declares("  limit: 3,", "limit"), "a property");
        assert!(!declares("import { type Id } from './id';", "Id") && !declares("const fs = require('fs');", "fs"));
        assert!(!declares("export type Unit = keyof Id;", "Id"));
    }

    #[test]
    fn names_may_be_written_differently() {
        assert!(same("operator()", "operator ()") && same("Foo::bar", "bar") && same("'x'", "x"));
        assert!(!same("bar", "baz"));
    }
}
