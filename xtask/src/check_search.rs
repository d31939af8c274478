//! `cargo xtask check-search`: looks for literals, expressions and misspelt names with the real binary, and compares every
//! line with what `git grep` finds in the same tree.
//!
//! git is asked in a bare copy without attributes, in a UTF-8 locale: `-F` for literals, `-P` for expressions. Where it gives up
//! on an expression, each line of its files is looked at here. Misspelt names are compared with a plain computation of distances.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore, Random, Repo};
use serde_json::{Value, json};

use crate::program::{agree, output, say, utf8};

/// Expressions that have gone wrong in programs like this one, in the syntax that both sides share.
const NASTY: &[&str] = &[
    "",
    ".",
    "^",
    "$",
    "^$",
    "a*",
    "x*y*z*",
    "\\s+$",
    "^\\s+\\S",
    "\\bfn\\b|\\bdef\\b|\\bfunc\\b",
    "[^\\x00-\\x7F]",
    "\\t\\t+",
    "[ \\t]+$",
    "(a|ab)(c|bcd)(d*)",
    "(?i)TODO|XXX",
    "\\d{4}-\\d{2}-\\d{2}",
    "0x[0-9a-fA-F]+",
    "\"[^\"]*\"",
    "'(\\\\.|[^'\\\\])*'",
    "//.*$",
    "#\\s*\\w+",
    "\\b[A-Z][a-z]+[A-Z]\\w*",
    "\\w+\\s*\\(",
    "return\\s+\\w+;?$",
    "^\\s*(//|#|\\*)",
    "[[:digit:]]+\\.[[:digit:]]+",
    "(\\w+)\\s*=\\s*(\\w+)",
    "\\.{3}",
    "a{0,2}b",
    "(foo|bar|baz)?qux",
    "[a-f]{8,}",
    "\\S{60,}",
    "^.{100,}$",
    "\\r$",
    "é|ü|ñ",
    "\\p{L}{12,}",
    "[\\[\\]{}()]",
    "\\\\",
    "\\bif\\b.*\\belse\\b",
    "e+r+o+r+",
    "(((a)))",
    "x?y?z?",
    "\\w{3}\\W\\w{3}$",
    "^[^a-z]*$",
    "\\bthe\\s+the\\b",
    "[-+*/]=",
    "<[^>]+>",
    "&&|\\|\\|",
    "\\$\\{?\\w+",
    "@\\w+",
    "::\\w+",
    "->\\w+",
    "=>",
    "\\bnot?\\b",
    "[.,;:]\\s*$",
];

/// Compares what Lore finds in lines with what `git grep` finds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    #[arg(required_unless_present = "generated")]
    path: Option<PathBuf>,

    /// Generates a small repository and compares on that.
    #[arg(long, conflicts_with = "path")]
    generated: bool,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// How many patterns are drawn or taken from the list.
    #[arg(long, default_value_t = 300, value_name = "N")]
    patterns: usize,

    /// How many names are misspelt.
    #[arg(long, default_value_t = 500, value_name = "N")]
    names: usize,

    /// On how many old commits some of the patterns are compared.
    #[arg(long, default_value_t = 20, value_name = "N")]
    old_commits: usize,

    /// How many patterns are compared on each.
    #[arg(long, default_value_t = 15, value_name = "N")]
    old_patterns: usize,

    /// Decides what is drawn.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// A pattern with what both sides are told.
#[derive(Clone)]
struct Question {
    lore: Value,
    git: Vec<String>,
    paths: Vec<String>,
    /// Whose tree is searched.
    commit: String,
}

/// Runs the comparison; fails where anything differs.
pub(crate) fn run(args: Args) -> Result<()> {
    let binary = crate::program::release_with_dev(args.lore.as_deref())?;
    let dir = tempfile::tempdir()?;
    let source = if args.generated {
        let folder = dir.path().join("generated");
        fs::create_dir(&folder)?;
        generate(&folder);
        folder
    } else {
        args.path.context("no repository was named")?.canonicalize()?
    };
    let bare = dir.path().join("bare.git");
    Git::at(dir.path()).text(&["clone", "-q", "--bare", "--shared", utf8(&source)?, utf8(&bare)?])?;
    let lore = Lore::new(&binary);
    let flags: &[&str] = if args.old_commits > 0 { &["--history", "--temporal"] } else { &[] };
    output(lore.dev(&["index", utf8(&bare)?]).args(flags))?;
    let mut random = Random::new(args.seed);
    let sample = Sample::new(&bare, &mut random)?;
    let questions = questions(&sample, args.patterns, &mut random);
    let mut differences = compare(&lore, &bare, dir.path(), &questions)?;
    let old = old_questions(&bare, &questions, args.old_commits, args.old_patterns, &mut random)?;
    if !old.is_empty() {
        differences.extend(compare(&lore, &bare, dir.path(), &old)?);
    }
    differences.extend(misspell(&lore, &bare, dir.path(), &sample, args.names, &mut random)?);
    agree(&differences)
}

/// A repository with some of everything.
fn generate(folder: &Path) {
    let repo = Repo::init(folder);
    let function = |number: u32| {
        format!(
            "def handler_{number}(request, userName):\n    # TODO: the the check of {number}\n    return '{number}' + userName\n\n\n"
        )
    };
    repo.write("src/many.py", (0..200).map(function).collect::<String>())
        .write("src/parse.rs", "/// Parses.\npub fn parseConfig(text: &str) -> Result<Config, Error> {\n\tlet x = 0xFF;   \n\tfoo::bar(x)?;\n}\n")
        .write("tests/parse_test.rs", "fn test_parse_config() { assert!(parseConfig(\"a\").is_ok() || true); }\n")
        .write("web/app.js", "const retries = 3; // 2024-01-02\nexport function fetchWithRetry(url) { return a => b; }\n")
        .write("docs/guide.md", "# Größe\n\nThe café's naïve résumé… ${HOME} @user\n\n\tindented <b>text</b>\n")
        .write("crlf.txt", "one\r\ntwo  \r\n\r\nthree")
        .write("latin.txt", b"caf\xe9 cr\xe8me\nplain\n")
        .write("bin.dat", b"\0\x01\x02binary parseConfig\n")
        .write("app.min.js", format!("var a={};\n", "f(x,y),".repeat(2000)))
        .write("empty", "");
    repo.commit("everything");
}

/// Lines and names of a tree.
pub(crate) struct Sample {
    lines: Vec<String>,
    pub(crate) names: Vec<String>,
    extensions: Vec<String>,
    folders: Vec<String>,
}

impl Sample {
    pub(crate) fn new(bare: &Path, random: &mut Random) -> Result<Self> {
        let listed = Git::at(bare).bytes(&["ls-tree", "-r", "-z", "HEAD"])?;
        let mut files: Vec<(String, String)> = Vec::new();
        for entry in listed.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            let Some((about, path)) = entry.split_once('\t') else { continue };
            if about.starts_with("100") && !path.contains('\u{fffd}') {
                files.push((about.split(' ').nth(2).unwrap_or_default().to_owned(), path.to_owned()));
            }
        }
        ensure!(!files.is_empty(), "the repository has no files");
        let mut lines = Vec::new();
        let mut names = BTreeSet::new();
        for _ in 0..400.min(files.len() * 4) {
            let (blob, _) = random.pick(&files);
            let content = Git::at(bare).bytes(&["cat-file", "blob", blob])?;
            if content.iter().take(8000).any(|byte| *byte == 0) {
                continue;
            }
            let all: Vec<&[u8]> = content.split(|byte| *byte == b'\n').filter(|line| line.len() > 3).collect();
            for _ in 0..8.min(all.len()) {
                if let Ok(line) = std::str::from_utf8(all[random.below(all.len())]) {
                    let line = line.trim_end_matches('\r');
                    let is_name = |word: &&str| word.len() >= 6 && word.len() <= 40 && word.is_ascii();
                    let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(is_name);
                    names.extend(words.filter(|word| word.trim_matches('_') == *word).map(str::to_owned));
                    lines.push(line.chars().take(300).collect());
                }
            }
        }
        let mut extensions: BTreeMap<String, usize> = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for (_, path) in &files {
            if let Some((_, end)) = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'))
                && end.bytes().all(|byte| byte.is_ascii_lowercase())
            {
                *extensions.entry(end.to_owned()).or_default() += 1;
            }
            if let Some((folder, _)) = path.split_once('/') {
                folders.insert(folder.to_owned());
            }
        }
        let mut extensions: Vec<(String, usize)> = extensions.into_iter().collect();
        extensions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let plain = |folder: &String| folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        Ok(Self {
            lines,
            names: names.into_iter().collect(),
            extensions: extensions.into_iter().take(4).map(|(end, _)| end).collect(),
            folders: folders.into_iter().filter(plain).collect(),
        })
    }
}

/// A piece of a line, of whole characters.
fn piece(line: &str, random: &mut Random) -> String {
    let letters: Vec<char> = line.chars().collect();
    let from = random.below(letters.len());
    let length = 1 + random.below(20);
    letters[from..(from + length).min(letters.len())].iter().collect()
}

/// The text with everything that means something put literally.
pub(crate) fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, letter| {
        // `\<` means something else to both.
        if letter.is_ascii_punctuation() && !"_<>".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
        escaped
    })
}

/// An expression that was made of a piece of a line.
fn expression(line: &str, random: &mut Random) -> String {
    let text = piece(line, random);
    match random.below(8) {
        0 => format!("^\\s*{}", escape(&text)),
        1 => format!("{}$", escape(&text)),
        2 => format!("{}|{}", escape(&text), escape(&piece(line, random))),
        3 => {
            let letters: Vec<String> = text.chars().map(|letter| escape(&letter.to_string())).collect();
            let at = random.below(letters.len());
            let kinds = [".", "\\S", "[^x]", ".?", "\\W?", "(.|\\s)"];
            letters
                .iter()
                .enumerate()
                .map(|(n, one)| if n == at { kinds[random.below(kinds.len())] } else { one })
                .collect()
        }
        4 => text.split(' ').map(escape).collect::<Vec<_>>().join("\\s+"),
        5 => format!("\\b{}\\b", escape(&text)),
        6 => {
            let (a, b) = (piece(line, random), piece(line, random));
            format!("{}.*{}", escape(&a), escape(&b))
        }
        _ => format!("({})+", escape(&text)),
    }
}

/// Literals and expressions, in every case, with and without filters.
fn questions(sample: &Sample, count: usize, random: &mut Random) -> Vec<Question> {
    let mut patterns: Vec<(&str, String)> = NASTY.iter().map(|text| ("regex", (*text).to_owned())).collect();
    while patterns.len() < count && !sample.lines.is_empty() {
        let line = random.pick(&sample.lines);
        if line.is_empty() {
            continue;
        }
        let is_literal = patterns.len().is_multiple_of(2);
        patterns.push(if is_literal { ("literal", piece(line, random)) } else { ("regex", expression(line, random)) });
    }
    let mut questions = Vec::new();
    for (number, (kind, text)) in patterns.into_iter().take(count).enumerate() {
        for case_sensitive in [true, false] {
            let flag = if kind == "literal" { "-F" } else { "-P" };
            let mut git = vec![flag.to_owned()];
            git.extend((!case_sensitive).then(|| "-i".to_owned()));
            git.extend(["-e".to_owned(), text.clone()]);
            let lore = json!({"kind": kind, "text": text, "case_sensitive": case_sensitive});
            let commit = "HEAD".to_owned();
            questions.push(Question {
                lore: lore.clone(),
                git: git.clone(),
                paths: Vec::new(),
                commit: commit.clone(),
            });
            let mut filtered = lore;
            let paths = match number % 4 {
                0 if !sample.extensions.is_empty() => {
                    let end = random.pick(&sample.extensions);
                    filtered["extensions"] = json!([end]);
                    vec![format!(":(icase)*.{end}")]
                }
                1 if !sample.folders.is_empty() => {
                    let folder = random.pick(&sample.folders);
                    filtered["globs"] = json!([folder]);
                    vec![format!(":(literal){folder}")]
                }
                2 if !sample.folders.is_empty() => {
                    let folder = random.pick(&sample.folders);
                    filtered["not_globs"] = json!([format!("{folder}/*")]);
                    vec![format!(":(exclude,literal){folder}/")]
                }
                _ => {
                    filtered["languages"] = json!(["rust"]);
                    vec!["*.rs".to_owned()]
                }
            };
            questions.push(Question { lore: filtered, git, paths, commit });
        }
    }
    questions
}

/// Some of the questions about old commits: of the line that leads to HEAD, and a few that are not on it.
fn old_questions(
    bare: &Path,
    questions: &[Question],
    commits: usize,
    patterns: usize,
    random: &mut Random,
) -> Result<Vec<Question>> {
    let listed = |flags: &[&str]| -> Result<Vec<String>> {
        let listed = Git::at(bare).text(&[&["rev-list"], flags, &["HEAD"]].concat())?;
        Ok(listed.lines().map(str::to_owned).collect())
    };
    let (line, all) = (listed(&["--first-parent"])?, listed(&[])?);
    let mut old = Vec::new();
    for number in 0..commits {
        let commit = if number % 5 == 4 { random.pick(&all) } else { random.pick(&line) }.clone();
        for _ in 0..patterns {
            let Question { lore, git, paths, .. } = random.pick(questions);
            let mut lore = lore.clone();
            lore["at"] = commit.as_str().into();
            old.push(Question { lore, git: git.clone(), paths: paths.clone(), commit: commit.clone() });
        }
    }
    Ok(old)
}

/// Where lines are: their numbers, by file.
type Places = BTreeMap<String, BTreeSet<u64>>;

/// Asks both sides everything.
fn compare(lore: &Lore, bare: &Path, dir: &Path, questions: &[Question]) -> Result<Vec<String>> {
    let (mut differences, mut by_words, mut lines, mut gave_up) = (Vec::new(), Vec::new(), 0, 0);
    let mut asked = questions.iter();
    let patterns = questions.iter().map(|question| &question.lore);
    ask(lore, bare, dir, patterns, &mut |answer| {
        let question = asked.next().context("there are more answers than questions")?;
        let shown = format!("{} {:?}", question.lore, question.paths);
        let Some(places) = answer["places"].as_object().filter(|_| answer["unfinished"] == false) else {
            differences.push(format!("{shown}: {}", answer["error"]));
            return Ok(());
        };
        let numbers = |lines: &Value| lines.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let ours: Places = places.iter().map(|(path, lines)| (path.clone(), numbers(lines))).collect();
        let theirs = if let Some(found) = git_grep(bare, question)? {
            found
        } else {
            gave_up += 1;
            line_by_line(bare, question)?
        };
        lines += theirs.values().map(BTreeSet::len).sum::<usize>();
        let (missing, added) = (without(&theirs, &ours), without(&ours, &theirs));
        if missing.is_empty() && added.is_empty() {
            return Ok(());
        }
        // What a letter of a word is differs from one PCRE to the next.
        let spelt = Question { git: question.git.iter().map(|arg| spell_words(arg)).collect(), ..question.clone() };
        if spelt.git != question.git && git_grep(bare, &spelt)?.is_some_and(|found| found == ours) {
            by_words.push(format!("{shown}: missing {missing:?}, added {added:?}"));
        } else {
            differences.push(format!("{shown}: missing {missing:?}, added {added:?}"));
        }
        Ok(())
    })?;
    let count = questions.len();
    say(&format!("{count} questions, {lines} lines, {} differ; git gave up on {gave_up}", differences.len()));
    if !by_words.is_empty() {
        say(&format!("{} more are equal where \\w is spelt out as Unicode has it:", by_words.len()));
        for difference in &by_words {
            say(&format!("  {difference}"));
        }
    }
    Ok(differences)
}

/// The letters of words as Unicode has them (UTS 18), which Rust takes; PCRE 10.42 takes no marks and every number for them.
const LETTERS: &str = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}";

/// The same expression with `\w`, `\W` and `\b` put in other words.
fn spell_words(expression: &str) -> String {
    let (mut spelt, mut in_class, mut letters) = (String::new(), false, expression.chars());
    while let Some(letter) = letters.next() {
        let escaped = if letter == '\\' { letters.next() } else { None };
        match (letter, escaped) {
            ('[', _) => in_class = true,
            (']', _) => in_class = false,
            _ => {}
        }
        match escaped {
            Some('w') if in_class => spelt.push_str(LETTERS),
            Some('w') => spelt.extend(["[", LETTERS, "]"]),
            Some('W') if !in_class => spelt.extend(["[^", LETTERS, "]"]),
            Some('b') if !in_class => {
                spelt.push_str(&"(?:(?<=[L])(?![L])|(?<![L])(?=[L]))".replace('L', LETTERS));
            }
            other => {
                spelt.push(letter);
                spelt.extend(other);
            }
        }
    }
    spelt
}

/// A few of the lines that are in one and not in the other.
fn without(these: &Places, others: &Places) -> Vec<(String, u64)> {
    let none = BTreeSet::new();
    let of_file = |(path, lines): (&String, &BTreeSet<u64>)| -> Vec<(String, u64)> {
        let others = others.get(path).unwrap_or(&none);
        lines.difference(others).take(3).map(|line| (path.clone(), *line)).collect()
    };
    these.iter().flat_map(of_file).take(3).collect()
}

/// Asks Lore, and takes one answer after the other: all of them together may not fit into memory.
fn ask<'a>(
    lore: &Lore,
    bare: &Path,
    dir: &Path,
    patterns: impl Iterator<Item = &'a Value>,
    take: &mut dyn FnMut(Value) -> Result<()>,
) -> Result<()> {
    let file = dir.join("patterns");
    let lines: Vec<String> = patterns.map(ToString::to_string).collect();
    fs::write(&file, lines.join("\n"))?;
    let mut command = lore.dev(&["lines", utf8(&file)?, "--repo", utf8(bare)?]);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let answers = BufReader::new(child.stdout.take().context("its output is a pipe")?);
    let mut count = 0;
    for answer in answers.lines() {
        take(serde_json::from_str(&answer?)?)?;
        count += 1;
    }
    let status = child.wait()?;
    ensure!(
        status.success() && count == lines.len(),
        "`lore-dev lines` ended ({status}) after {count} of {} answers",
        lines.len()
    );
    Ok(())
}

/// `git grep` without attributes, in a UTF-8 locale: path, line and text of each match, with NUL between them.
pub(crate) fn grep_in(dir: &Path) -> Command {
    let mut command = Git::at(dir).command();
    command.env("LC_ALL", "C.UTF-8").env("GIT_ATTR_SOURCE", "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    command.args(["-c", "core.quotePath=false", "grep", "--no-color", "-n", "-z", "-I"]);
    command
}

/// What git finds; `None` where it gives up on the expression.
fn git_grep(bare: &Path, question: &Question) -> Result<Option<Places>> {
    let mut command = grep_in(bare);
    command.args(question.git.iter().map(OsStr::new)).args([question.commit.as_str(), "--"]).args(&question.paths);
    let out = command.output()?;
    if out.status.code() >= Some(2) {
        let said = String::from_utf8_lossy(&out.stderr);
        // PCRE stops where an expression takes too many steps or too much room.
        ensure!(said.contains("pcre2_") && said.contains("failed"), "{:?}: {said}", question.git);
        return Ok(None);
    }
    let mut found = Places::new();
    let prefix = format!("{}:", question.commit);
    let mut rest = out.stdout.as_slice();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let path = String::from_utf8_lossy(&rest[..end]);
        let after = &rest[end + 1..];
        let end = after.iter().position(|byte| *byte == 0).context("git's line has no number")?;
        let number = std::str::from_utf8(&after[..end])?.parse()?;
        let path = path.strip_prefix(&prefix).unwrap_or(&path);
        match found.get_mut(path) {
            Some(lines) => drop(lines.insert(number)),
            None => drop(found.insert(path.to_owned(), BTreeSet::from([number]))),
        }
        rest = after[end + 1..].iter().position(|byte| *byte == b'\n').map_or(&[], |line| &after[end + 2 + line..]);
    }
    Ok(Some(found))
}

/// What stands in git's files, each line looked at by itself.
fn line_by_line(bare: &Path, question: &Question) -> Result<Places> {
    let text = question.lore["text"].as_str().context("a pattern is a text")?;
    let mut regex = regex::bytes::RegexBuilder::new(text);
    let regex = regex.case_insensitive(question.lore["case_sensitive"] == false).build()?;
    let mut command = Git::at(bare).command();
    command.args(["-c", "core.quotePath=false", "grep", "-l", "-z", "-I", "-F", "-e", "", &question.commit, "--"]);
    let listed = command.args(&question.paths).output()?.stdout;
    let prefix = format!("{}:", question.commit);
    let mut found = Places::new();
    for path in listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = String::from_utf8_lossy(path);
        let path = path.strip_prefix(&prefix).unwrap_or(&path);
        let content = Git::at(bare).bytes(&["cat-file", "blob", &format!("{}:{path}", question.commit)])?;
        let content = content.strip_suffix(b"\n").unwrap_or(&content);
        let lines = (1..).zip(content.split(|byte| *byte == b'\n'));
        let lines: BTreeSet<u64> = lines.filter(|(_, line)| regex.is_match(line)).map(|(number, _)| number).collect();
        if !lines.is_empty() {
            found.insert(path.to_owned(), lines);
        }
    }
    Ok(found)
}

/// Misspells names, and looks whether they are found, and nothing that is further away.
fn misspell(
    lore: &Lore,
    bare: &Path,
    dir: &Path,
    sample: &Sample,
    count: usize,
    random: &mut Random,
) -> Result<Vec<String>> {
    if sample.names.is_empty() {
        return Ok(Vec::new());
    }
    let mut asked = Vec::new();
    for number in 0..count {
        let name = random.pick(&sample.names).clone();
        let changes = 1 + number % 3;
        let text = misspelt(&name, changes, random);
        asked.push((name, text, changes));
    }
    let patterns: Vec<Value> = asked
        .iter()
        .map(|(_, text, changes)| json!({"kind": "fuzzy", "text": text, "changes": changes, "case_sensitive": true}))
        .collect();
    let mut differences = Vec::new();
    let mut misspelt = asked.iter();
    ask(lore, bare, dir, patterns.iter(), &mut |answer| {
        let (name, text, changes) = misspelt.next().context("there are more answers than questions")?;
        let Some(found) = answer["found"].as_array() else {
            differences.push(format!("fuzzy {text} ({changes}): {}", answer["error"]));
            return Ok(());
        };
        let found: BTreeSet<&str> = found.iter().filter_map(Value::as_str).collect();
        // It may be hidden by something as near in the same lines, but never be missing from all.
        let is_found =
            found.contains(name.as_str()) || found.iter().any(|word| distance(word, text) <= distance(name, text));
        if !is_found {
            differences.push(format!("fuzzy {text} ({changes}): {name} is not found"));
        }
        for word in found {
            if distance(word, text) > *changes {
                differences.push(format!("fuzzy {text} ({changes}): {word} is too far"));
            }
        }
        Ok(())
    })?;
    say(&format!("{} misspelt names, {} differ", asked.len(), differences.len()));
    Ok(differences)
}

/// A name with so many random changes.
pub(crate) fn misspelt(name: &str, changes: usize, random: &mut Random) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    for _ in 0..changes {
        let letter = char::from(b"abcdefghijklmnopqrstuvwxyz"[random.below(26)]);
        match random.below(3) {
            0 => letters.insert(random.below(letters.len() + 1), letter),
            1 if letters.len() > 5 => drop(letters.remove(random.below(letters.len()))),
            _ => {
                let at = random.below(letters.len());
                letters[at] = letter;
            }
        }
    }
    letters.into_iter().collect()
}

/// How many letters have to be added, left out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            next.push((row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
