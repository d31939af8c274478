//! What a hundred times as many lines cost: the same generated corpus in several sizes, indexed, changed and asked.
//!
//! The corpus has few different words, so each of them is in very many chunks: questions are harder than those about code
//! that people wrote.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{
    Lore, Random, Words,
    team::{Corpus, Size},
};
use serde_json::{Value, json};

use super::{
    super::{
        history::{megabytes, millis, size, warm_files},
        index::Changing,
        latency::Times,
        measure::{Cost, measure},
        search::{Lines, RIPGREP, find_lines, search_code},
    },
    record::Row,
};
use crate::{
    check_search::Sample,
    program::{output, say},
};

/// The same corpus on every machine and day.
const SEED: u64 = 20_240_229;
/// Commits, whose subjects ask.
const COMMITS: usize = 10;
/// How often a file is changed.
const CHANGES: usize = 5;

/// What one size took.
pub(super) struct Grown {
    /// Lines that were wished for.
    pub(super) lines: u64,
    /// Lines, bytes and chunks that there are.
    told: Value,
    index: Cost,
    index_bytes: u64,
    hybrid: Times,
    literal: Lines,
    regex: Lines,
    changed: Times,
    made: Duration,
}

/// Makes a corpus of so many lines and measures it, beside ripgrep where there is one.
pub(super) fn measure_size(binary: &Path, lines: u64, rg: Option<&Path>) -> Result<Grown> {
    let dir = tempfile::tempdir()?;
    let started = Instant::now();
    let size_of = Size { lines: usize::try_from(lines)?, commits: COMMITS, branches: 0 };
    let corpus = Corpus::make(&dir.path().join("corpus"), SEED, size_of);
    let made = started.elapsed();
    let repo = corpus.repo.path();
    let path = repo.to_str().context("a temporary folder has a name of text")?;
    warm_files(repo)?;
    let lore = Lore::new(binary);
    let index = measure(&lore.dev(&["index", path]))?;
    let index_bytes = size(lore.home())?;
    let told: Value = serde_json::from_str(&output(&mut lore.dev(&["index", path]))?)?;
    let mut random = Random::new(SEED);
    let mut found = find_lines(&lore, repo, dir.path(), rg, &mut random)?;
    let mut of = |kind: &str| -> Result<Lines> {
        let at = found.iter().position(|found| found.kind == kind);
        Ok(found.swap_remove(at.with_context(|| format!("nothing was looked for by {kind}"))?))
    };
    let (literal, regex) = (of("literal")?, of("regex")?);
    let (words, sample) = (Words::of(repo)?, Sample::new(repo, &mut random)?);
    let name = told["repo"].as_str().context("`lore-dev index` did not answer")?;
    let mut asked = |number: usize| {
        let query = if number.is_multiple_of(2) { words.some(&mut random) } else { random.pick(&sample.names).clone() };
        json!({"query_text": query, "search_mode": "hybrid"})
    };
    let hybrid = search_code(&lore, name, &mut asked)?;
    let changed = change(&lore, repo)?;
    let grown = Grown { lines, told, index, index_bytes, hybrid, literal, regex, changed, made };
    say(&format!(
        "growth: {lines} lines made in {:.0} s, indexed in {:.1} s; {:.0} s in all",
        grown.made.as_secs_f64(),
        grown.index.wall.as_secs_f64(),
        started.elapsed().as_secs_f64()
    ));
    Ok(grown)
}

/// How soon a changed file is found by a new process, which has to see the change and to index it.
fn change(lore: &Lore, repo: &Path) -> Result<Times> {
    let search = |word: &str| {
        let mut command = lore.command(&["search", "--limit", "10", "--json", "--", word]);
        command.current_dir(repo);
        command
    };
    // The first one may find that the history has not been read.
    output(&mut search("anything"))?;
    let mut changing = Changing::find(repo)?;
    let mut times = Vec::new();
    for _ in 0..CHANGES {
        let word = changing.change()?;
        let started = Instant::now();
        let printed = output(&mut search(&word))?;
        times.push(started.elapsed());
        ensure!(printed.contains(&changing.path), "a change of {} was not found: {printed}", changing.path);
    }
    Ok(Times::new(times))
}

/// The rows of one size; what grows with the lines stands against the first size, multiplied, and what should grow less
/// against the first size as it was.
pub(super) fn rows(first: &Grown, grown: &Grown) -> Vec<Row> {
    let number = |of: &Grown, key: &str| of.told[key].as_f64().unwrap_or_default();
    let more = number(grown, "lines") / number(first, "lines").max(1.0);
    let is_first = first.lines == grown.lines;
    let times = format!("{more:.1} × that of {} lines", first.lines);
    let same = format!("{} lines", first.lines);
    let linear = |name: &str, unit: &str, of: &dyn Fn(&Grown) -> f64| {
        if is_first {
            Row::alone(name, unit, of(grown))
        } else {
            Row::against(name, unit, of(grown), (&times, of(first) * more))
        }
    };
    let sublinear = |name: &str, of: &dyn Fn(&Grown) -> f64| {
        if is_first {
            Row::alone(name, "ms", of(grown))
        } else {
            Row::against(name, "ms", of(grown), (&same, of(first)))
        }
    };
    let at = |times: &Times, percent| millis(times.percentile(percent));
    let mut rows = vec![
        Row::alone("lines", "", number(grown, "lines")),
        Row::alone("chunks", "", number(grown, "chunks")),
        linear("full index, wall", "s", &|of| of.index.wall.as_secs_f64()),
        linear("full index, CPU", "s", &|of| of.index.cpu.as_secs_f64()),
        linear("full index, peak memory", "MB", &|of| megabytes(of.index.peak_bytes)),
        Row::against("index size", "MB", megabytes(grown.index_bytes), ("source", number(grown, "source_bytes") / 1e6)),
        sublinear("hybrid, p50", &|of| at(&of.hybrid, 50)),
        sublinear("hybrid, p95", &|of| at(&of.hybrid, 95)),
        sublinear("literal, p50", &|of| at(&of.literal.own, 50)),
        sublinear("literal, p95", &|of| at(&of.literal.own, 95)),
        sublinear("regular expression, p50", &|of| at(&of.regex.own, 50)),
        sublinear("regular expression, p95", &|of| at(&of.regex.own, 95)),
        sublinear("changed file found by a new process, p50", &|of| at(&of.changed, 50)),
    ];
    for (name, found) in [("literal, p50", &grown.literal), ("regular expression, p50", &grown.regex)] {
        if let Some(peer) = &found.peer {
            rows.push(Row::against(name, "ms", at(&found.own, 50), (RIPGREP, at(peer, 50))));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(lines: u64, wall: u64, answer: u64) -> Grown {
        let times = || Times::new(vec![Duration::from_millis(answer)]);
        let peer = || Some(Times::new(vec![Duration::from_millis(answer * 2)]));
        let found = |kind| Lines { kind, own: times(), peer: peer(), found: 1 };
        Grown {
            lines,
            told: json!({"lines": lines, "chunks": lines / 20, "source_bytes": lines * 30}),
            index: Cost { wall: Duration::from_secs(wall), cpu: Duration::from_secs(wall), peak_bytes: 1_000_000 },
            index_bytes: lines * 15,
            hybrid: times(),
            literal: found("literal"),
            regex: found("regex"),
            changed: times(),
            made: Duration::ZERO,
        }
    }

    #[test]
    fn a_constant_cost_for_each_line_is_a_ratio_of_one() {
        let (small, large) = (grown(1_000, 2, 4), grown(10_000, 20, 6));
        let ratio = |name: &str| rows(&small, &large).iter().find(|row| row.name == name).and_then(Row::ratio);
        assert_eq!(ratio("full index, wall"), Some(1.0));
        assert_eq!(ratio("full index, peak memory"), Some(0.1));
        assert_eq!(ratio("index size"), Some(0.5));
        assert_eq!(ratio("hybrid, p50"), Some(1.5));
        assert!(ratio("literal, p50") == Some(1.5) && rows(&small, &large).iter().any(|row| row.ratio() == Some(0.5)));
        let alone = rows(&small, &small);
        let with: Vec<&str> = alone.iter().filter(|row| row.ratio().is_some()).map(|row| row.name.as_str()).collect();
        assert_eq!(with, ["index size", "literal, p50", "regular expression, p50"]);
    }
}
