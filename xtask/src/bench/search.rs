//! `cargo xtask bench search`: how long lines take to be found, beside ripgrep on the same files in the same run; then what an
//! agent waits for with `search_code`, in the present and in the past, and what keeping the past costs.

use std::{
    collections::BTreeSet,
    fs,
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore, Random, Session};
use serde_json::{Value, json};

use super::{
    history::{load, megabytes, millis, size, warm_files},
    latency::{Times, Words},
    measure::measure,
    table::{Aim, Figure, render},
};
use crate::{
    check_search::{Sample, escape, misspelt},
    program::{output, program, release_with_dev, say},
};

/// Patterns of each kind.
const PATTERNS: usize = 60;
/// How often all of them are asked in one process; the last time counts.
const ROUNDS: &str = "3";
/// ripgrep is asked for every so many of them: it takes long.
const EVERY: usize = 3;
/// The same patterns on every machine and day.
const SEED: u64 = 20_240_229;
/// What it is called.
pub(super) const RIPGREP: &str = "ripgrep, started each time";
/// Questions of each kind to `search_code`; before that, so many that are not timed.
const QUESTIONS: usize = 100;
const UNTIMED: usize = 10;

/// Measures finding lines.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository; of a bare one, HEAD.
    #[arg(long, value_name = "PATH")]
    pub(super) repo: PathBuf,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    pub(super) lore: Option<PathBuf>,

    /// The ripgrep to compare with.
    #[arg(long, value_name = "BINARY", default_value = "rg")]
    pub(super) rg: PathBuf,

    /// Measures what keeping the past costs as well, and questions about it; needs the whole history.
    #[arg(long)]
    pub(super) temporal: bool,
}

/// All that was measured.
pub(super) struct Measured {
    /// Lines of the source.
    pub(super) lines: u64,
    pub(super) figures: Vec<Figure>,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let load = load();
    let measured = measured(args)?;
    say(&format!("{}: {} lines of code; load before: {load:?}", args.repo.display(), measured.lines));
    say(&render(&measured.figures));
    Ok(())
}

/// Measures everything.
pub(super) fn measured(args: &Args) -> Result<Measured> {
    let binary = release_with_dev(args.lore.as_deref())?;
    let repo = args.repo.canonicalize().with_context(|| format!("cannot find {}", args.repo.display()))?;
    let dir = tempfile::tempdir()?;
    let copy = dir.path().join("copy");
    let url = format!("file://{}", text(&repo)?);
    Git::at(dir.path()).text(&["clone", "--quiet", "--depth", "1", &url, text(&copy)?])?;
    warm_files(&copy)?;
    let lore = Lore::new(&binary);
    let told: Value = serde_json::from_str(&output(&mut lore.dev(&["index", text(&copy)?]))?)?;
    let mut random = Random::new(SEED);
    let mut figures = Vec::new();
    for found in find_lines(&lore, &copy, dir.path(), Some(&args.rg), &mut random)? {
        say(&format!("{}: {} patterns, {} lines", found.kind, PATTERNS, found.found));
        figures.extend(found.figures());
    }
    let words = Words::of(&repo)?;
    let name = told["repo"].as_str().context("`lore-dev index` did not answer")?;
    for (figures_of, most, mode) in
        [(["hybrid, p50", "hybrid, p95"], 5.0, "hybrid"), (["by meaning, p50", "by meaning, p95"], 5.0, "semantic")]
    {
        let mut asked = |_| json!({"query_text": words.some(&mut random), "search_mode": mode});
        let times = search_code(&lore, name, &mut asked)?;
        for (name, percent, aim) in [(figures_of[0], 50, Aim::AtMost(most)), (figures_of[1], 95, Aim::None)] {
            let measured = millis(times.percentile(percent));
            figures.push(Figure { name, unit: "ms", measured, reference: None, aim });
        }
    }
    if args.temporal {
        figures.extend(of_past(&binary, &repo, &words, &mut random)?);
    }
    Ok(Measured { lines: told["lines"].as_u64().unwrap_or_default(), figures })
}

/// How long patterns of one kind took.
pub(super) struct Lines {
    pub(super) kind: &'static str,
    pub(super) own: Times,
    /// ripgrep's times, where it was asked.
    pub(super) peer: Option<Times>,
    /// How many lines were found.
    pub(super) found: u64,
}

impl Lines {
    fn figures(&self) -> Vec<Figure> {
        let (names, most) = match self.kind {
            "literal" => (["literal, p50", "literal, p95"], 20.0),
            "regex" => (["regular expression, p50", "regular expression, p95"], 20.0),
            _ => (["misspelt word, p50", "misspelt word, p95"], 30.0),
        };
        let figure = |name: &'static str, percent, reference, aim| Figure {
            name,
            unit: "ms",
            measured: millis(self.own.percentile(percent)),
            reference,
            aim,
        };
        let mut figures = vec![figure(names[0], 50, None, Aim::AtMost(most)), figure(names[1], 95, None, Aim::None)];
        if let Some(peer) = &self.peer {
            let reference = |percent| Some((RIPGREP, millis(peer.percentile(percent))));
            figures.push(figure(names[0], 50, reference(50), Aim::TimesFaster(10.0)));
            figures.push(figure(names[1], 95, reference(95), Aim::None));
        }
        figures
    }
}

/// Looks for literals, expressions and misspelt names of a copy that is indexed, and lets ripgrep look for the same.
pub(super) fn find_lines(
    lore: &Lore,
    copy: &Path,
    dir: &Path,
    rg: Option<&Path>,
    random: &mut Random,
) -> Result<Vec<Lines>> {
    let sample = Sample::new(copy, random)?;
    ensure!(!sample.names.is_empty(), "the repository has no names to look for");
    let mut all = Vec::new();
    for kind in ["literal", "regex", "fuzzy"] {
        let patterns: Vec<Value> = (0..PATTERNS).map(|number| pattern(kind, number, &sample, random)).collect();
        let (own, found) = ask(lore, copy, dir, &patterns)?;
        let peer = match rg.filter(|_| kind != "fuzzy") {
            Some(rg) => ripgrep(rg, copy, &patterns)?,
            None => None,
        };
        all.push(Lines { kind, own, peer, found });
    }
    Ok(all)
}

/// How long `search_code` takes over standard input and output for the arguments that each number gives.
pub(super) fn search_code(lore: &Lore, repo: &str, asked: &mut dyn FnMut(usize) -> Value) -> Result<Times> {
    let mut session = Session::start(lore.command(&["serve", "--no-refresh", "--toolsets", "code"]))?;
    session.initialize()?;
    let mut times = Vec::new();
    for number in 0..UNTIMED + QUESTIONS {
        let mut asked = asked(number);
        asked["repository_alias"] = repo.into();
        let started = Instant::now();
        let answer = session.call("search_code", &asked)?;
        let took = started.elapsed();
        answer.value().with_context(|| format!("search_code failed: {asked}"))?;
        times.extend((number >= UNTIMED).then_some(took));
    }
    let ended = session.end()?;
    ensure!(ended.status.success(), "lore serve ended with {}: {}", ended.status, ended.log);
    Ok(Times::new(times))
}

/// What the past costs, and how long questions about it take.
fn of_past(binary: &Path, repo: &Path, words: &Words, random: &mut Random) -> Result<Vec<Figure>> {
    const NAME: &str = "past";
    let lore = Lore::new(binary);
    output(&mut lore.command(&["add", text(repo)?, "--name", NAME, "--no-sync"]))?;
    let sync = measure(&lore.command(&["sync", "--repo", NAME]))?;
    let before = size(&lore.home().join("segments"))?;
    let past = measure(&lore.command(&["sync", "--repo", NAME, "--temporal"]))?;
    let added = size(&lore.home().join("segments"))?.saturating_sub(before);
    let unique = unique_text(repo)?;
    let git = Git::at(repo);
    let commits: usize = git.text(&["rev-list", "--count", "--first-parent", "HEAD"])?.parse()?;
    ensure!(commits > 1, "there is no past to ask about");
    let first = git.text(&["log", "-1", "--format=%cs", &format!("HEAD~{}", commits / 2)])?;
    let last = git.text(&["log", "-1", "--format=%cs", &format!("HEAD~{}", commits / 4)])?;
    let mut asked = |number: usize| {
        let query = words.some(random);
        match number % 3 {
            0 => json!({"query_text": query, "time_range_all": true, "include_removed": true}),
            1 => json!({"query_text": query, "time_range": format!("{first}..{last}")}),
            _ => json!({"query_text": query, "at_commit": format!("HEAD~{}", 1 + (number * 7919) % (commits - 1))}),
        }
    };
    let times = search_code(&lore, NAME, &mut asked)?;
    let peak = sync.peak_bytes.max(past.peak_bytes);
    say(&format!(
        "past: {commits} commits of the line, {:.0} MB of unique text; sync {:.1} s, {:.1} s CPU; with the past {:.1} s, {:.1} s CPU more; {:.0} MB of memory",
        megabytes(unique),
        sync.wall.as_secs_f64(),
        sync.cpu.as_secs_f64(),
        past.wall.as_secs_f64(),
        past.cpu.as_secs_f64(),
        megabytes(peak),
    ));
    let figure = |name, unit, measured, reference, aim| Figure { name, unit, measured, reference, aim };
    let (cpu, reference) = (past.cpu.as_secs_f64(), ("sync", sync.cpu.as_secs_f64()));
    let room = 2.0 * megabytes(before) + megabytes(unique);
    Ok(vec![
        figure("keeping the past, CPU", "s", cpu, Some(reference), Aim::RatioAtMost(10.0)),
        figure("index of the past", "MB", megabytes(added), Some(("2 x HEAD's + text", room)), Aim::RatioAtMost(1.0)),
        figure("the past by meaning, p50", "ms", millis(times.percentile(50)), None, Aim::AtMost(20.0)),
        figure("the past by meaning, p95", "ms", millis(times.percentile(95)), None, Aim::None),
    ])
}

/// How many bytes all contents have together that any file of the first-parent line ever had.
fn unique_text(repo: &Path) -> Result<u64> {
    let git = Git::at(repo);
    let raw = git.bytes(&["log", "--first-parent", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames"])?;
    let raw = String::from_utf8_lossy(&raw);
    let blobs: BTreeSet<&str> = raw.lines().filter_map(|line| line.split(' ').nth(3)).collect();
    let asked: String = blobs.into_iter().flat_map(|blob| [blob, "\n"]).collect();
    let mut file = tempfile::tempfile()?;
    file.write_all(asked.as_bytes())?;
    file.rewind()?;
    let mut command = git.command();
    let sizes = output(command.args(["cat-file", "--batch-check=%(objecttype) %(objectsize)"]).stdin(file))?;
    Ok(sizes.lines().filter_map(|line| line.strip_prefix("blob ")?.parse::<u64>().ok()).sum())
}

/// A pattern that somebody might look for.
pub(super) fn pattern(kind: &str, number: usize, sample: &Sample, random: &mut Random) -> Value {
    let name = random.pick(&sample.names).clone();
    match kind {
        "literal" => json!({"kind": kind, "text": name, "case_sensitive": number.is_multiple_of(2)}),
        "fuzzy" => {
            let changes = 1 + number % 2;
            json!({"kind": kind, "text": misspelt(&name, changes, random), "changes": changes})
        }
        _ => {
            let (start, end) = name.split_at(name.len() / 2);
            let text = match number % 4 {
                0 => format!("\\b{}\\w*\\(", escape(&name)),
                1 => format!("{}.*{}", escape(start), escape(end)),
                2 => format!("^\\s*\\w+ {}", escape(&name)),
                _ => format!("({}|{})\\s*=", escape(&name), escape(random.pick::<String>(&sample.names))),
            };
            json!({"kind": "regex", "text": text, "case_sensitive": true})
        }
    }
}

/// How long each took in Lore, and how many lines were found in all.
fn ask(lore: &Lore, copy: &Path, dir: &Path, patterns: &[Value]) -> Result<(Times, u64)> {
    let file = dir.join("patterns");
    let lines: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    fs::write(&file, lines.join("\n"))?;
    let args = ["lines", text(&file)?, "--repo", text(copy)?, "--count", "--limit", "10", "--rounds", ROUNDS];
    let told = output(&mut lore.dev(&args))?;
    let answers: Vec<Value> = told.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(answers.len() == patterns.len(), "`lore-dev lines` did not answer everything");
    for answer in &answers {
        ensure!(answer["error"].is_null(), "{answer}");
    }
    let times = answers.iter().map(|answer| Duration::from_micros(answer["took_us"].as_u64().unwrap_or(0)));
    Ok((Times::new(times.collect()), answers.iter().filter_map(|answer| answer["lines"].as_u64()).sum()))
}

/// How long ripgrep takes for some of them; none where it is not installed.
fn ripgrep(rg: &Path, copy: &Path, patterns: &[Value]) -> Result<Option<Times>> {
    if program(rg).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        say("ripgrep is not installed: nothing is compared with it");
        return Ok(None);
    }
    let mut times = Vec::new();
    for pattern in patterns.iter().step_by(EVERY) {
        let mut command = ripgrep_for(rg, copy, pattern);
        let started = Instant::now();
        command.stdout(Stdio::null()).status()?;
        times.push(started.elapsed());
    }
    Ok(Some(Times::new(times)))
}

/// ripgrep that looks for a pattern in all files.
pub(super) fn ripgrep_for(rg: &Path, copy: &Path, pattern: &Value) -> Command {
    let mut command = program(rg);
    command.args(["--no-config", "--no-messages", "-n"]).current_dir(copy);
    command.args((pattern["kind"] == "literal").then_some("-F"));
    command.args((pattern["case_sensitive"] != true).then_some("-i"));
    command.args(["-e", pattern["text"].as_str().unwrap_or_default(), "."]);
    command
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the path is no text")
}
