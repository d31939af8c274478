//! `cargo xtask bench search`: how long lines take to be found, beside ripgrep on the same files in the same run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore, Random};
use serde_json::{Value, json};

use super::{
    history::{load, millis, warm_files},
    latency::Times,
    table::{Aim, Figure, render},
};
use crate::{
    check_search::{Sample, escape, misspelt},
    program::{build_release, output, program, say},
};

/// Patterns of each kind.
const PATTERNS: usize = 60;
/// How often all of them are asked in one process; the last time counts.
const ROUNDS: &str = "3";
/// ripgrep is asked for every so many of them: it takes long.
const EVERY: usize = 3;
/// The same patterns on every machine and day.
const SEED: u64 = 20_240_229;

/// Measures finding lines.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository; of a bare one, HEAD.
    #[arg(long, value_name = "PATH")]
    repo: PathBuf,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = args.lore.clone().map_or_else(build_release, Ok)?;
    let binary = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
    let repo = args.repo.canonicalize().with_context(|| format!("cannot find {}", args.repo.display()))?;
    let load = load();
    let dir = tempfile::tempdir()?;
    let copy = dir.path().join("copy");
    let url = format!("file://{}", text(&repo)?);
    Git::at(dir.path()).text(&["clone", "--quiet", "--depth", "1", &url, text(&copy)?])?;
    warm_files(&copy)?;
    let lore = Lore::new(&binary);
    let told: Value = serde_json::from_str(&output(&mut lore.command(&["debug", "index", text(&copy)?]))?)?;
    let mut random = Random::new(SEED);
    let sample = Sample::new(&copy, &mut random)?;
    ensure!(!sample.names.is_empty(), "the repository has no names to look for");
    let kinds = ["literal", "regex", "fuzzy"];
    let mut figures = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        let patterns: Vec<Value> = (0..PATTERNS).map(|number| pattern(kind, number, &sample, &mut random)).collect();
        let (own, lines) = ask(&lore, &copy, dir.path(), &patterns)?;
        let peer = if *kind == "fuzzy" { None } else { ripgrep(&copy, kind, &patterns)? };
        let names = [
            ["literal p50", "literal p95"],
            ["regular expression p50", "regular expression p95"],
            ["misspelt word p50", "misspelt word p95"],
        ];
        let most = if *kind == "fuzzy" { 30.0 } else { 20.0 };
        let p50 = millis(own.percentile(50));
        figures.push(Figure { name: names[at][0], unit: "ms", measured: p50, reference: None, aim: Aim::AtMost(most) });
        let p95 = millis(own.percentile(95));
        figures.push(Figure { name: names[at][1], unit: "ms", measured: p95, reference: None, aim: Aim::None });
        if let Some(peer) = peer.as_ref().map(|peer| peer.percentile(50)) {
            let name = if *kind == "literal" { "literal, to ripgrep" } else { "regular expression, to ripgrep" };
            let reference = Some(("ripgrep p50", millis(peer)));
            figures.push(Figure { name, unit: "ms", measured: p50, reference, aim: Aim::TimesFaster(10.0) });
        }
        say(&format!("{kind}: {} patterns, {lines} lines", patterns.len()));
    }
    say(&format!("{}: {} lines of code; load before: {load:?}", repo.display(), told["lines"]));
    say(&render(&figures));
    Ok(())
}

/// A pattern that somebody might look for.
fn pattern(kind: &str, number: usize, sample: &Sample, random: &mut Random) -> Value {
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
    let args = ["debug", "lines", text(&file)?, "--repo", text(copy)?, "--count", "--limit", "10", "--rounds", ROUNDS];
    let told: Value = serde_json::from_str(&output(&mut lore.command(&args))?)?;
    let answers = told["answers"].as_array().context("`lore debug lines` did not answer")?;
    for answer in answers {
        ensure!(answer["error"].is_null(), "{answer}");
    }
    let times = answers.iter().map(|answer| Duration::from_micros(answer["took_us"].as_u64().unwrap_or(0)));
    Ok((Times::new(times.collect()), answers.iter().filter_map(|answer| answer["lines"].as_u64()).sum()))
}

/// How long ripgrep takes for some of them; none where it is not installed.
fn ripgrep(copy: &Path, kind: &str, patterns: &[Value]) -> Result<Option<Times>> {
    if program("rg").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        say("ripgrep is not installed: nothing is compared with it");
        return Ok(None);
    }
    let mut times = Vec::new();
    for pattern in patterns.iter().step_by(EVERY) {
        let mut command = program("rg");
        command.args(["--no-config", "--no-messages", "-n"]).current_dir(copy).stdout(Stdio::null());
        command.args((kind == "literal").then_some("-F"));
        command.args((pattern["case_sensitive"] != true).then_some("-i"));
        command.args(["-e", pattern["text"].as_str().unwrap_or_default(), "."]);
        let started = Instant::now();
        command.status()?;
        times.push(started.elapsed());
    }
    Ok(Some(Times::new(times)))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the path is no text")
}
