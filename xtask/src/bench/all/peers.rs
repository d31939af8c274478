//! Code searches that are programs: ripgrep, probe and ck, asked as somebody at a terminal asks them.
//!
//! Their binaries are given. Nothing of them is fetched or built here.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore, Random};

use super::{
    super::{
        history::{PEER_PATIENCE, megabytes, millis, size},
        index::Bench,
        latency::Times,
        measure::{Cost, measure},
    },
    record::{Peer, Row},
};
use crate::{
    check_search::Sample,
    program::{output, program},
};

/// Questions to each.
const QUESTIONS: usize = 20;
/// The same names on every machine and day.
const SEED: u64 = 20_240_229;

/// A program that searches code.
pub(super) struct Tool {
    pub(super) name: &'static str,
    binary: PathBuf,
    version: String,
}

impl Tool {
    pub(super) fn new(name: &'static str, binary: &Path) -> Result<Self> {
        let binary = binary.canonicalize().with_context(|| format!("cannot find {name} at {}", binary.display()))?;
        let version = output(program(&binary).arg("--version"))?;
        let version = version.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Self { name, binary, version })
    }

    pub(super) fn about(&self) -> Peer {
        let how = match self.name {
            "ripgrep" => "reads all files each time; in lines, each pattern is a process of its own",
            "probe" => "`probe search --max-results 10`: keeps no index, reads all files each time",
            _ => "`ck --lex --topk 10`: BM25 alone, since its models come from a hub",
        };
        Peer { name: self.name.to_owned(), about: format!("{}; {how}", self.version) }
    }

    /// A question, asked in the folder.
    fn search(&self, folder: &Path, home: &Path, query: &str) -> Command {
        let mut command = program(&self.binary);
        command.current_dir(folder).env("HOME", home);
        match self.name {
            "ripgrep" => command.args(["--no-config", "-n", "-F", "-e", query, "."]),
            // Left alone it gives up after half a minute.
            "probe" => command.args(["search", "--max-results", "10", "--timeout", "300", query, "."]),
            _ => command.args(["--lex", "--topk", "10", "--", query, "."]),
        };
        command
    }
}

/// Costs of one program that answers questions, each from the start of a process to its end.
struct Asked {
    times: Times,
    peak_bytes: u64,
}

fn ask(questions: &[String], search: &dyn Fn(&str) -> Command) -> Result<Asked> {
    let mut costs: Vec<Cost> = Vec::new();
    for query in questions.iter().take(QUESTIONS) {
        if costs.iter().map(|cost| cost.wall).sum::<Duration>() > PEER_PATIENCE {
            break;
        }
        costs.push(measure(&search(query))?);
    }
    Ok(Asked {
        peak_bytes: costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or_default(),
        times: Times::new(costs.iter().map(|cost| cost.wall).collect()),
    })
}

/// Lore with an index of a copy, and what making it cost.
struct Indexed {
    lore: Lore,
    built: Cost,
    bytes: u64,
}

impl Indexed {
    fn new(bench: &Bench, binary: &Path) -> Result<Self> {
        let lore = Lore::new(binary);
        let path = bench.copy.to_str().context("a temporary folder has a name of text")?;
        let built = measure(&lore.dev(&["index", path]))?;
        let indexed = Self { built, bytes: size(lore.home())?, lore };
        // The first one may find that the history has not been read.
        output(&mut indexed.search(bench, &[], &bench.queries[0]))?;
        Ok(indexed)
    }

    fn search(&self, bench: &Bench, way: &[&str], query: &str) -> Command {
        let mut command = self.lore.command(&["search", "--limit", "10", "--json"]);
        command.args(way).args(["--", query]).current_dir(&bench.copy);
        command
    }
}

/// Rows of Lore beside each of these, in the same copy with the same questions.
pub(super) fn beside(bench: &Bench, binary: &Path, tools: &[Tool]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let indexed = Indexed::new(bench, binary)?;
    let own = ask(&bench.queries, &|query| indexed.search(bench, &[], query))?;
    // A name that stands in the copy, for those that look for text.
    let mut random = Random::new(SEED);
    let sample = Sample::new(&bench.copy, &mut random)?;
    ensure!(!sample.names.is_empty(), "the repository has no names to look for");
    let names: Vec<String> = (0..QUESTIONS).map(|_| random.pick(&sample.names).clone()).collect();
    let literal = ask(&names, &|name| indexed.search(bench, &["--literal"], name))?;
    for tool in tools {
        let is_text = tool.name == "ripgrep";
        let (own, questions) = if is_text { (&literal, &names) } else { (&own, &bench.queries) };
        // A program that fails says nothing about the others.
        rows.extend(figures(bench, &indexed, tool, own, questions).unwrap_or_else(|error| {
            vec![Row::missing(&format!("against {}", tool.name), &format!("not measured: it failed: {error}"))]
        }));
        Git::at(&bench.copy).text(&["clean", "-ffdxq"])?;
    }
    Ok(rows)
}

/// Rows of Lore beside one of them.
fn figures(bench: &Bench, indexed: &Indexed, tool: &Tool, own: &Asked, questions: &[String]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let is_text = tool.name == "ripgrep";
    let home = tempfile::tempdir()?;
    let before = size(&bench.copy)?;
    // Where it keeps an index, the first question makes it.
    let first = measure(&tool.search(&bench.copy, home.path(), &questions[0]))?;
    let kept = size(&bench.copy)?.saturating_sub(before) + size(home.path())?;
    let asked = ask(questions, &|query| tool.search(&bench.copy, home.path(), query))?;
    let row = |name: &str, unit, lore, other| {
        let what = if is_text { "literal from process start" } else { "search from process start" };
        Row::against(&name.replace('$', what), unit, lore, (tool.name, other))
    };
    let at = |asked: &Asked, percent| millis(asked.times.percentile(percent));
    if kept > 0 {
        let (lore, other) = (indexed.built.wall.as_secs_f64(), first.wall.as_secs_f64());
        rows.push(row("full index, wall", "s", lore, other));
        rows.push(row("index size", "MB", megabytes(indexed.bytes), megabytes(kept)));
    }
    rows.push(row("$, p50", "ms", at(own, 50), at(&asked, 50)));
    rows.push(row("$, p95", "ms", at(own, 95), at(&asked, 95)));
    rows.push(row("$, peak memory", "MB", megabytes(own.peak_bytes), megabytes(asked.peak_bytes)));
    Ok(rows)
}
