//! `cargo xtask check-why`: asks the real binary why lines are as they are and what changes together, and compares with git.
//!
//! How git is asked is in `lore_testkit::oracle`. Lines are asked over MCP, as an agent does.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use lore_testkit::{
    Lore, Random, Session,
    oracle::{LineOrigin, Log, Together, Truth},
};
use serde_json::{Value, json};

use crate::program::{agree, say, utf8};

/// Commits with more files do not count.
const MAX_FILES: usize = 50;

/// As many results as the tool gives at most.
const LIMIT: usize = 200;

/// Compares what Lore says of lines and of files that change together with what git says.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    path: PathBuf,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// How many lines are compared.
    #[arg(long, default_value_t = 300, value_name = "N")]
    lines: usize,

    /// For how many files what changes together with them is compared.
    #[arg(long, default_value_t = 50, value_name = "N")]
    files: usize,

    /// Decides which lines and files are taken.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// Runs the comparison; fails where anything differs.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = crate::program::release(args.lore.as_deref())?;
    let repo = args.path.canonicalize().with_context(|| format!("cannot find {}", args.path.display()))?;
    let path = utf8(&repo)?;
    let lore = Lore::new(&binary);
    let added = lore.run(&["add", path, "--name", "checked"]);
    if !added.status.success() {
        bail!("lore add ({}): {}", added.status, added.stderr.trim());
    }
    let truth = Truth::open(&repo, None)?;
    let mut random = Random::new(args.seed);
    let mut session = Session::start(lore.command(&["serve", "--no-refresh", "--project", path]))?;
    session.initialize()?;
    let mut checked = Checked::default();
    let files: Vec<Vec<u8>> = truth.head_files()?.into_iter().filter(|path| is_plain(path)).collect();
    ensure!(!files.is_empty(), "there are no files");
    lines(&mut session, &truth, &repo, &files, &mut random, args.lines, &mut checked)?;
    let log = truth.log()?;
    for _ in 0..args.files {
        let file: &Vec<u8> = random.pick(&files);
        together(&mut session, &log, file, &mut checked)?;
    }
    ensure!(session.end()?.status.success(), "the server did not end well");
    say(&checked.report());
    agree(&checked.differences)
}

/// Whether an agent can name it, and its text is no picture.
fn is_plain(path: &[u8]) -> bool {
    const PICTURES: [&str; 8] = ["png", "jpg", "gif", "ico", "woff", "woff2", "pdf", "zip"];
    let text = std::str::from_utf8(path);
    text.is_ok_and(|text| !PICTURES.iter().any(|end| text.to_lowercase().ends_with(end)))
}

#[derive(Default)]
struct Checked {
    lines: usize,
    with_hunk: usize,
    files: usize,
    pairs: usize,
    times: Vec<Duration>,
    together_times: Vec<Duration>,
    differences: Vec<String>,
}

impl Checked {
    fn report(&self) -> String {
        let quantile = |times: &[Duration], share: f64| {
            let mut sorted = times.to_vec();
            sorted.sort_unstable();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "an index"
            )]
            let at = ((sorted.len() as f64) * share) as usize;
            sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        format!(
            "{} lines ({} with a hunk that adds them; median {:.0} ms, 95 % {:.0} ms), {} files with {} pairs (median {:.1} ms, \
             95 % {:.1} ms), {} differences",
            self.lines,
            self.with_hunk,
            quantile(&self.times, 0.5),
            quantile(&self.times, 0.95),
            self.files,
            self.pairs,
            quantile(&self.together_times, 0.5),
            quantile(&self.together_times, 0.95),
            self.differences.len()
        )
    }
}

/// Calls a tool and gives its answer as JSON.
fn call(session: &mut Session, tool: &str, arguments: &Value) -> Result<Value> {
    let answer = session.call(tool, arguments)?;
    ensure!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
    Ok(serde_json::from_str(&answer.text)?)
}

fn lines(
    session: &mut Session,
    truth: &Truth,
    repo: &Path,
    files: &[Vec<u8>],
    random: &mut Random,
    count: usize,
    checked: &mut Checked,
) -> Result<()> {
    let mut known: BTreeMap<Vec<u8>, Vec<LineOrigin>> = BTreeMap::new();
    let mut tries = 0;
    while checked.lines < count {
        tries += 1;
        ensure!(tries < count * 20 + 100, "there are too few lines");
        let path = random.pick(files);
        if !known.contains_key(path) {
            known.insert(path.clone(), truth.blame(path)?);
        }
        let Some(origins) = known.get(path).filter(|origins| !origins.is_empty()) else { continue };
        let text = String::from_utf8_lossy(path).into_owned();
        let content = std::fs::read(repo.join(&text)).unwrap_or_default();
        if content.contains(&0) {
            continue;
        }
        let line = random.below(origins.len());
        let arguments = json!({"file": text, "lines": (line + 1).to_string(), "max_tokens": 20_000});
        let started = Instant::now();
        let told = call(session, "explain_lines", &arguments)?;
        checked.times.push(started.elapsed());
        checked.lines += 1;
        let expected = &origins[line];
        let commit = &told["commits"][0];
        let then = format!("{}:{}", String::from_utf8_lossy(&expected.path), expected.line);
        if commit["sha"] != expected.commit.as_str() || commit["then"] != json!([then]) {
            checked.differences.push(format!("{text}:{}: git {} {then}, lore {commit}", line + 1, expected.commit));
        }
        // The hunk must add the very line.
        let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        let wanted = lines.get(line).map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)));
        // Characters that nobody sees are left out of answers.
        let is_seen = |letter: &char| !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}');
        let start: String = wanted.as_deref().unwrap_or_default().chars().filter(is_seen).take(150).collect();
        let hunk: String = commit["hunk"].as_str().unwrap_or_default().chars().filter(is_seen).collect();
        if hunk.lines().any(|line| line.strip_prefix('+').is_some_and(|line| line.starts_with(&start))) {
            checked.with_hunk += 1;
        } else if !hunk.is_empty() {
            checked.differences.push(format!("{text}:{}: the hunk of {} does not add it", line + 1, expected.commit));
        }
    }
    Ok(())
}

fn together(session: &mut Session, log: &Log, path: &[u8], checked: &mut Checked) -> Result<()> {
    let text = String::from_utf8_lossy(path).into_owned();
    let started = Instant::now();
    let told = call(session, "co_changed", &json!({"files": [text], "limit": LIMIT}))?;
    checked.together_times.push(started.elapsed());
    checked.files += 1;
    let (commits, large, expected) = log.together(path, MAX_FILES);
    if told["commits"] != commits || told["left_out"]["commits_over_50_files"].as_u64().unwrap_or(0) != large as u64 {
        checked
            .differences
            .push(format!("{text}: git {commits} commits and {large} large ones, lore {}", told["commits"]));
    }
    let rows = told["results"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.len() != expected.len().min(LIMIT) {
        checked.differences.push(format!("{text}: git {} files, lore {}", expected.len(), rows.len()));
    }
    for (row, expected) in rows.iter().zip(&expected) {
        checked.pairs += 1;
        let Together { path, support, newest } = expected;
        let same = row["path"] == *String::from_utf8_lossy(path) && row["support"] == *support;
        if !same || row["newest"]["sha"] != newest.as_str() {
            let path = String::from_utf8_lossy(path);
            checked.differences.push(format!("{text}: git {path} {support} {newest}, lore {row}"));
        }
    }
    Ok(())
}
