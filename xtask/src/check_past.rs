//! `cargo xtask check-past`: asks the real binary what paths held at some time and what happened to them, and compares with
//! `git ls-tree`, `git log --first-parent` and `git log --follow`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail, ensure};
use lore_testkit::{Git, Lore, Random};
use serde_json::{Value, json};

use crate::program::{agree, output, say, utf8};

/// Compares what Lore keeps of the past with what git says.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    path: PathBuf,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// How many pairs of a path and a time are compared.
    #[arg(long, default_value_t = 200, value_name = "N")]
    pairs: usize,

    /// Of how many paths it is compared what happened to them.
    #[arg(long, default_value_t = 60, value_name = "N")]
    stories: usize,

    /// Decides which are taken.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// A commit of the line, as git lists it.
struct Point {
    id: String,
    at: i64,
}

/// Runs the comparison; fails where anything differs.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = crate::program::release_with_dev(args.lore.as_deref())?;
    let dir = tempfile::tempdir()?;
    let source = args.path.canonicalize()?;
    let bare = dir.path().join("bare.git");
    Git::at(dir.path()).text(&["clone", "-q", "--bare", "--shared", utf8(&source)?, utf8(&bare)?])?;
    let lore = Lore::new(&binary);
    output(&mut lore.dev(&["index", utf8(&bare)?, "--history", "--temporal"]))?;
    let mut random = Random::new(args.seed);
    let line = line(&bare)?;
    let paths = paths(&bare)?;
    ensure!(!paths.is_empty() && !line.is_empty(), "there is nothing to compare");
    let mut differences = Vec::new();
    differences.extend(compare_times(&lore, &bare, dir.path(), &line, &paths, args.pairs, &mut random)?);
    differences.extend(compare_stories(&lore, &bare, dir.path(), &paths, args.stories, &mut random)?);
    agree(&differences)
}

/// The first-parent line, newest first.
fn line(bare: &Path) -> Result<Vec<Point>> {
    let listed = Git::at(bare).text(&["rev-list", "--first-parent", "--timestamp", "HEAD"])?;
    let point = |line: &str| {
        let (at, id) = line.split_once(' ')?;
        Some(Point { id: id.to_owned(), at: at.parse().ok()? })
    };
    Ok(listed.lines().filter_map(point).collect())
}

/// Every path of text that the line ever had.
fn paths(bare: &Path) -> Result<Vec<String>> {
    let listed = Git::at(bare).bytes(&[
        "log",
        "--first-parent",
        "--diff-merges=first-parent",
        "--no-renames",
        "--raw",
        "--no-abbrev",
        "-z",
        "--format=",
        "HEAD",
    ])?;
    let mut paths = BTreeSet::new();
    let mut pieces = listed.split(|byte| *byte == 0);
    while let Some(piece) = pieces.next() {
        let is_file = piece.starts_with(b":100") || piece.starts_with(b":000000 100");
        if piece.starts_with(b":")
            && let Some(path) = pieces.next()
            && let Ok(path) = std::str::from_utf8(path)
            && is_file
        {
            paths.insert(path.to_owned());
        }
    }
    Ok(paths.into_iter().collect())
}

fn ask(lore: &Lore, bare: &Path, dir: &Path, questions: &[Value]) -> Result<Vec<Value>> {
    let file = dir.join("questions");
    fs::write(&file, questions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let told = output(&mut lore.dev(&["past", utf8(&file)?, "--repo", utf8(bare)?]))?;
    let mut told: Value = serde_json::from_str(&told)?;
    match told["answers"].take() {
        Value::Array(answers) => Ok(answers),
        other => bail!("`lore-dev past` printed {other}"),
    }
}

/// What a path is in the tree of a commit, where that is a file.
fn content(bare: &Path, commit: &str, path: &str) -> Result<Option<String>> {
    let listed = Git::at(bare).text(&["--literal-pathspecs", "ls-tree", commit, "--", path])?;
    let mut words = listed.split([' ', '\t']);
    let mode = words.next().unwrap_or_default();
    Ok(words.nth(1).filter(|_| mode.starts_with("100")).map(str::to_owned))
}

/// What a path held at moments and in times.
fn compare_times(
    lore: &Lore,
    bare: &Path,
    dir: &Path,
    line: &[Point],
    paths: &[String],
    count: usize,
    random: &mut Random,
) -> Result<Vec<String>> {
    let (first, last) = (line.iter().map(|point| point.at).min(), line.iter().map(|point| point.at).max());
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
    let mut questions = Vec::new();
    for number in 0..count {
        let moment = |random: &mut Random| {
            first + i64::try_from(random.below(usize::try_from(last - first + 2).unwrap_or(1))).unwrap_or(0)
        };
        let from = moment(random);
        let to = if number % 2 == 0 { from } else { from.max(moment(random)) };
        questions.push((random.pick(paths).clone(), from, to));
    }
    let asked: Vec<Value> =
        questions.iter().map(|(path, from, to)| json!({"path": path, "from": from, "to": to})).collect();
    let answers = ask(lore, bare, dir, &asked)?;
    let (mut differences, mut there) = (Vec::new(), 0);
    for ((path, from, to), answer) in questions.iter().zip(&answers) {
        let ours: BTreeSet<String> =
            answer.as_array().into_iter().flatten().filter_map(|blob| blob.as_str().map(str::to_owned)).collect();
        // The tree before the time, as `git rev-list --before` finds it, and those of the commits in it.
        let before = line.iter().find(|point| point.at < *from);
        let within = line.iter().filter(|point| (*from..=*to).contains(&point.at));
        let mut theirs = BTreeSet::new();
        // Most trees have what the one before has: only those that the path changed in are looked at.
        let touching = Git::at(bare).text(&[
            "--literal-pathspecs",
            "log",
            "--first-parent",
            "--no-patch",
            "--full-history",
            "--format=%H",
            "HEAD",
            "--",
            path,
        ])?;
        let touching: BTreeSet<&str> = touching.lines().collect();
        if let Some(before) = before {
            theirs.extend(content(bare, &before.id, path)?);
        }
        let within: Vec<&Point> = within.collect();
        for (number, point) in within.iter().enumerate() {
            // Where dates go back, the tree before a commit is not the one before it in time.
            if number + 1 == within.len() || touching.contains(point.id.as_str()) {
                theirs.extend(content(bare, &point.id, path)?);
            }
        }
        there += usize::from(!theirs.is_empty());
        if ours != theirs {
            differences.push(format!("{path} {from}..{to}: {ours:?}, git has {theirs:?}"));
        }
    }
    say(&format!("{count} paths at times ({there} were there), {} differ", differences.len()));
    Ok(differences)
}

/// One step as git tells it: the commit, the letter, the path, and where it was before.
type Step = (String, char, String, Option<String>);

/// What happened to paths, up to where git says that a file was copied from one that the commit did not change.
fn compare_stories(
    lore: &Lore,
    bare: &Path,
    dir: &Path,
    paths: &[String],
    count: usize,
    random: &mut Random,
) -> Result<Vec<String>> {
    let chosen: Vec<String> = (0..count).map(|_| random.pick(paths).clone()).collect();
    let asked: Vec<Value> = chosen.iter().map(|path| json!({"path": path, "steps": 100_000})).collect();
    let answers = ask(lore, bare, dir, &asked)?;
    let (mut differences, mut steps, mut renames) = (Vec::new(), 0, 0);
    for (path, answer) in chosen.iter().zip(&answers) {
        let mut theirs = follow(bare, path)?;
        let mut ours: Vec<(String, String)> = answer
            .as_array()
            .into_iter()
            .flatten()
            .map(|step| {
                (step[0].as_str().unwrap_or_default().to_owned(), step[2].as_str().unwrap_or_default().to_owned())
            })
            .collect();
        let mut end = None;
        for (at, (commit, letter, _, old)) in theirs.iter().enumerate() {
            renames += usize::from(*letter == 'R');
            if *letter == 'C' && !changed(bare, commit)?.contains(old.as_deref().unwrap_or_default()) {
                end = Some(at);
                break;
            }
        }
        if let Some(end) = end {
            theirs.truncate(end);
            ours.truncate(end);
        }
        steps += theirs.len();
        let theirs: Vec<(String, String)> = theirs.into_iter().map(|(commit, _, path, _)| (commit, path)).collect();
        if ours != theirs {
            let at = ours.iter().zip(&theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
            differences.push(format!("{path}: step {at}: {:?}, git has {:?}", ours.get(at), theirs.get(at)));
        }
    }
    say(&format!("{count} stories, {steps} steps, {renames} renames, {} differ", differences.len()));
    Ok(differences)
}

fn follow(bare: &Path, path: &str) -> Result<Vec<Step>> {
    let listed = Git::at(bare).bytes(&[
        "--literal-pathspecs",
        "log",
        "--first-parent",
        "--diff-merges=first-parent",
        "--follow",
        "--name-status",
        "-z",
        "--format=%x01%H",
        "HEAD",
        "--",
        path,
    ])?;
    let text = String::from_utf8_lossy(&listed);
    let mut steps = Vec::new();
    for record in text.split('\u{1}').filter(|record| !record.is_empty()) {
        let mut parts = record.split('\0').map(|part| part.trim_start_matches('\n'));
        let (Some(commit), Some(status)) = (parts.next(), parts.find(|part| !part.is_empty())) else { continue };
        let letter = status.chars().next().unwrap_or('?');
        let first = parts.next().unwrap_or_default().to_owned();
        steps.push(if matches!(letter, 'R' | 'C') {
            (commit.to_owned(), letter, parts.next().unwrap_or_default().to_owned(), Some(first))
        } else {
            (commit.to_owned(), letter, first, None)
        });
    }
    Ok(steps)
}

/// The paths that a commit changed.
fn changed(bare: &Path, commit: &str) -> Result<BTreeSet<String>> {
    let listed = Git::at(bare).text(&[
        "diff-tree",
        "-r",
        "-m",
        "--first-parent",
        "--root",
        "--no-renames",
        "--no-commit-id",
        "--name-only",
        "-z",
        commit,
    ])?;
    Ok(listed.split('\0').map(str::to_owned).collect())
}
