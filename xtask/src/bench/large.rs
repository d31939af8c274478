//! `cargo xtask bench large`: what a large repository costs to index and to query, as the reference of later changes.
//!
//! Programs take turns: another build of Lore (`--baseline`) for indexing and for every query, ripgrep and `git grep` for every
//! literal and every expression. What slows the machine for a while slows all of them, and their ratios keep it out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use lore_testkit::{Lore, Random};

use super::{
    all::{Kind, Machine, Meter, Part, Peer, Record, Row, counted, place_of, print, put_between, today, version},
    checkout::Checkout,
    history::{megabytes, millis, size},
    measure::{Cost, measure, most_memory},
    query::{KINDS, Program, Source, difference},
    ratio::{of_each, of_percentiles, percentile},
};
use crate::program::{agree, output, program, release, root, say, utf8};

/// The measured build of Lore, and what it takes turns with.
const LORE: &str = "Lore";
const BASELINE: &str = "baseline";
const GIT_GREP: &str = "git grep";
/// What the repository is called.
const NAME: &str = "large";
/// The same queries on every machine and day.
const SEED: u64 = 20_240_229;
/// Queries of each kind that a server answers before the ones that count.
const UNTIMED: usize = 10;
/// One process is started for so many queries that a running one answers.
const STARTED_EVERY: usize = 5;

/// The kept run, and the page with its tables.
const RECORD: &str = "docs/benchmarks-large.json";
const PAGE: &str = "docs/guides/measuring.md";
const MARKS: [&str; 2] = ["<!-- large:begin -->\n", "<!-- large:end -->"];

/// Measures indexing and queries of a large repository.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    #[arg(long, value_name = "PATH")]
    repo: PathBuf,

    /// The commit that is indexed, with the history that leads to it.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    commit: String,

    /// Leaves the history out.
    #[arg(long)]
    shallow: bool,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// Another build of Lore, which takes turns with the first.
    #[arg(long, value_name = "BINARY")]
    baseline: Option<PathBuf>,

    /// The ripgrep to compare with.
    #[arg(long, value_name = "BINARY", default_value = "rg")]
    rg: PathBuf,

    /// How often the index is built, by each build in turn; of fewer than five there are no intervals.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    runs: usize,

    /// Queries of each kind to a running server; a fifth as many are asked of a new process each.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    queries: usize,

    /// Writes the run here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Keeps the run in `docs/benchmarks-large.json` and puts its tables into the guide.
    #[arg(long, conflicts_with = "baseline")]
    write_docs: bool,
}

/// A count that is not 0.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it is at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("it is a number: {error}")),
    }
}

/// Measures, prints and writes. Fails where an answer is not what git finds, never because of a time.
pub(crate) fn run(args: &Args) -> Result<()> {
    let builds = builds(args)?;
    let checkout = Checkout::new(&args.repo, &args.commit)?;
    let mut random = Random::new(SEED);
    let source = Source::of(&checkout.path, &mut random)?;
    if args.shallow {
        checkout.drop_history()?;
    }
    checkout.warm()?;
    let rg = output(program(&args.rg).arg("--version")).ok();
    let mut bench = Bench { args, builds, checkout, source, random, has_rg: rg.is_some(), differences: Vec::new() };
    let mut record = Record {
        date: today()?,
        command: command(args)?,
        quick: false,
        machine: Machine::this(),
        lore: version(&bench.builds[0].1, args.lore.is_some())?,
        peers: peers(args, rg)?,
        parts: Vec::new(),
    };
    let mut keep = |part| -> Result<()> {
        record.parts.push(part);
        // What took long is not lost where a later part fails.
        args.json.as_ref().map_or(Ok(()), |file| record.write(file))
    };
    let (part, indexes) = bench.index()?;
    keep(part)?;
    keep(bench.query_running(&indexes)?)?;
    keep(bench.query_started(&indexes)?)?;
    print(&record);
    agree(&bench.differences)?;
    if args.write_docs {
        record.write(&root().join(RECORD))?;
        fs::write(root().join(PAGE), page(&record, root())?)?;
    }
    Ok(())
}

/// The builds of Lore, the measured one first.
fn builds(args: &Args) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut builds = vec![(LORE, release(args.lore.as_deref())?)];
    if let Some(baseline) = &args.baseline {
        builds.push((BASELINE, release(Some(baseline))?));
    }
    Ok(builds)
}

/// What Lore is compared with.
fn peers(args: &Args, rg: Option<String>) -> Result<Vec<Peer>> {
    let peer = |name: &str, about: String| Peer { name: name.to_owned(), about };
    let mut peers = Vec::new();
    if let Some(baseline) = &args.baseline {
        let version = output(program(baseline.canonicalize()?).arg("--version"))?;
        peers.push(peer(BASELINE, format!("{version}, another build, with an index of its own")));
    }
    let rg = rg.and_then(|rg| Some(rg.lines().next()?.to_owned()));
    peers.push(peer("ripgrep", rg.unwrap_or_else(|| "not measured: not installed".to_owned())));
    peers.push(peer(GIT_GREP, output(program("git").arg("--version"))?));
    Ok(peers)
}

/// The command as somebody else would type it.
fn command(args: &Args) -> Result<String> {
    let mut words = vec![format!("cargo xtask bench large --repo {}", place_of(&args.repo)?.0)];
    words.extend((args.commit != "HEAD").then(|| format!("--commit {}", args.commit)));
    words.extend(args.shallow.then(|| "--shallow".to_owned()));
    words.extend(args.baseline.is_some().then(|| "--baseline BINARY".to_owned()));
    words.extend((args.runs != 5).then(|| format!("--runs {}", args.runs)));
    words.extend((args.queries != 100).then(|| format!("--queries {}", args.queries)));
    Ok(words.join(" "))
}

/// What is measured.
struct Bench<'a> {
    args: &'a Args,
    builds: Vec<(&'static str, PathBuf)>,
    checkout: Checkout,
    source: Source,
    random: Random,
    has_rg: bool,
    /// Where Lore and git disagree.
    differences: Vec<String>,
}

/// The index of each build.
type Indexes = Vec<(&'static str, Lore)>;

/// The places from 0 to below `count`, with another one first each time.
fn turns(time: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |turn| (time + turn) % count)
}

impl<'a> Bench<'a> {
    /// Builds the index, in a new home each time; the last homes are kept.
    fn index(&self) -> Result<(Part, Indexes)> {
        let meter = Meter::start();
        let path = utf8(&self.checkout.path)?;
        let count = self.builds.len();
        let mut costs: Vec<Vec<(Cost, u64)>> = vec![Vec::new(); count];
        let mut indexes: Vec<Option<Lore>> = (0..count).map(|_| None).collect();
        for run in 0..self.args.runs {
            for turn in turns(run, count) {
                say(&format!("index, run {} of {}, {}", run + 1, self.args.runs, self.builds[turn].0));
                let lore = Lore::new(&self.builds[turn].1);
                output(&mut lore.command(&["add", path, "--name", NAME, "--no-sync"]))?;
                let cost = measure(&lore.command(&["sync", "--repo", NAME]))?;
                costs[turn].push((cost, size(lore.home())?));
                indexes[turn] = Some(lore);
            }
        }
        let row = |name, unit, value: fn(&(Cost, u64)) -> f64| {
            let values = |turn: usize| costs[turn].iter().map(value).collect::<Vec<_>>();
            match self.builds.get(1) {
                Some((name_of_other, _)) => of_percentiles(name, unit, 50, &values(0), (name_of_other, &values(1))),
                None => Row::alone(name, unit, percentile(&values(0), 50)),
            }
        };
        let rows = vec![
            row("full index, wall", "s", |(cost, _)| cost.wall.as_secs_f64()),
            row("full index, CPU", "s", |(cost, _)| cost.cpu.as_secs_f64()),
            row("full index, peak memory", "MB", |(cost, _)| megabytes(cost.peak_bytes)),
            row("index size", "MB", |(_, bytes)| megabytes(*bytes)),
        ];
        let Checkout { name, commit, .. } = &self.checkout;
        let title = match self.checkout.commits()?.as_str() {
            "1" => format!("Index of {name} at {} (1 commit)", &commit[..12]),
            commits => format!("Index of {name} at {} ({commits} commits)", &commit[..12]),
        };
        let about =
            format!("`lore sync` of code and history into a new index; medians of {}.", counted(self.args.runs, "run"));
        let names = self.builds.iter().map(|(name, _)| *name);
        let indexes = names.zip(indexes).filter_map(|(name, lore)| Some((name, lore?))).collect();
        Ok((meter.part(Kind::Large, title, about, rows), indexes))
    }

    /// Queries to a server that runs.
    fn query_running(&mut self, indexes: &Indexes) -> Result<Part> {
        let meter = Meter::start();
        let programs: Result<Vec<_>> =
            indexes.iter().map(|(name, lore)| Ok((*name, Program::running(lore)?))).collect();
        let mut programs = programs?;
        self.add_others(&mut programs);
        let mut rows = self.query(&mut programs, (UNTIMED, self.args.queries))?;
        let memory = |program: &Program| match program {
            Program::Running(session) => most_memory(session.process_id()),
            _ => None,
        };
        let memory: Vec<f64> = programs.iter().filter_map(|(_, program)| memory(program)).map(megabytes).collect();
        match memory[..] {
            [lore] => rows.push(Row::alone("`lore serve`, peak memory", "MB", lore)),
            [lore, other] => rows.push(Row::against("`lore serve`, peak memory", "MB", lore, (indexes[1].0, other))),
            _ => {}
        }
        // The meter counts the processor time of what has ended.
        programs.into_iter().try_for_each(|(_, program)| program.end())?;
        let about = format!(
            "{} queries of each kind to a `lore serve` that has answered others, over standard input and output; ripgrep and \
             `git grep` are started for each.",
            self.args.queries
        );
        Ok(meter.part(Kind::Large, format!("Warm queries of {}", self.checkout.name), about, rows))
    }

    /// The first query to a server that was started for it.
    fn query_started(&mut self, indexes: &Indexes) -> Result<Part> {
        let meter = Meter::start();
        let mut programs: Vec<_> = indexes.iter().map(|(name, lore)| (*name, Program::Started(lore))).collect();
        self.add_others(&mut programs);
        let count = self.args.queries.div_ceil(STARTED_EVERY);
        let rows = self.query(&mut programs, (0, count))?;
        let about = format!(
            "{count} queries of each kind, each from the start of a `lore serve` of its own to the answer; files are in the page \
             cache."
        );
        Ok(meter.part(Kind::Large, format!("Cold queries of {}", self.checkout.name), about, rows))
    }

    /// Adds the programs that read every file.
    fn add_others<'p>(&self, programs: &mut Vec<(&'static str, Program<'p>)>)
    where
        'a: 'p,
    {
        let args = self.args;
        if self.has_rg {
            programs.push(("ripgrep", Program::Ripgrep(&args.rg)));
        }
        programs.push((GIT_GREP, Program::GitGrep));
    }

    /// Asks queries of each kind, all programs in turn. The first is Lore.
    fn query(
        &mut self,
        programs: &mut [(&'static str, Program)],
        (untimed, timed): (usize, usize),
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for kind in KINDS {
            say(&format!("{kind}, {timed} queries"));
            let mut times: Vec<Vec<f64>> = vec![Vec::new(); programs.len()];
            let mut unfinished = 0;
            for number in 0..untimed + timed {
                let query = self.source.query(kind, number, &mut self.random);
                let mut answers = Vec::new();
                for turn in turns(number, programs.len()) {
                    answers.extend(programs[turn].1.answer(&query, &self.checkout.path)?.map(|answer| (turn, answer)));
                }
                let git = answers.iter().find(|(turn, _)| programs[*turn].0 == GIT_GREP);
                for (turn, answer) in &answers {
                    let is_lore = matches!(programs[*turn].1, Program::Running(_) | Program::Started(_));
                    let git = git.filter(|_| is_lore);
                    let wrong = git.and_then(|(_, git)| difference(&query, answer, git));
                    self.differences.extend(wrong.map(|wrong| format!("{}: {wrong}", programs[*turn].0)));
                    unfinished += usize::from(*turn == 0 && answer.paths.is_none());
                    if number >= untimed {
                        times[*turn].push(millis(answer.took));
                    }
                }
            }
            rows.extend(rows_of(kind, &programs.iter().map(|(name, _)| *name).zip(times).collect::<Vec<_>>()));
            if unfinished > 0 {
                rows.push(Row::missing(kind, &format!("{unfinished} queries ran out of time")));
            }
        }
        if !self.has_rg {
            rows.push(Row::missing("against ripgrep", "not measured: not installed"));
        }
        Ok(rows)
    }
}

/// Rows of one kind: Lore, which is first, beside each other program that has such queries.
fn rows_of(kind: &str, times: &[(&str, Vec<f64>)]) -> Vec<Row> {
    let Some(((_, lore), others)) = times.split_first() else { return Vec::new() };
    let name = |what: &str| format!("{kind}, {what}");
    let percents = [("p50", 50), ("p95", 95)];
    let mut rows = Vec::new();
    for (other, times) in others.iter().filter(|(_, times)| !times.is_empty()) {
        rows.extend(percents.map(|(what, percent)| of_percentiles(&name(what), "ms", percent, lore, (other, times))));
        // Between builds, little matters.
        rows.extend((*other == BASELINE).then(|| of_each(&name("each query"), "ms", lore, (other, times))));
    }
    if rows.is_empty() {
        rows.extend(percents.map(|(what, percent)| Row::alone(&name(what), "ms", percentile(lore, percent))));
    }
    rows
}

/// The guide with the tables of a run.
fn page(record: &Record, root: &Path) -> Result<String> {
    let before = fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let intervals = "*Ratio* is Lore's figure divided by the other one, with its 95 % interval.\n\n";
    let tables = format!("\n{}{intervals}{}", record.head(), record.tables("###"));
    put_between(&before, MARKS, &tables).with_context(|| format!("{PAGE} has no marks for the tables"))
}

/// Says where the guide does not have the tables of the kept run.
pub(crate) fn check_page(root: &Path) -> Result<Vec<String>> {
    if !root.join(RECORD).exists() {
        return Ok(Vec::new());
    }
    let is_same = page(&Record::read(&root.join(RECORD))?, root)? == fs::read_to_string(root.join(PAGE))?;
    let problem = format!("{PAGE} does not say what {RECORD} says: its tables are not edited by hand");
    Ok(if is_same { Vec::new() } else { vec![problem] })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use lore_testkit::Repo;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    fn typed(line: &str) -> Result<Args, clap::Error> {
        Typed::try_parse_from(format!("large {line}").split(' ')).map(|typed| typed.args)
    }

    #[test]
    fn the_command_that_is_shown_names_no_place_of_this_machine() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("shop"));
        let place = repo.path().display();
        let line = format!("--repo {place} --commit v1.2 --runs 7 --lore /x/lore --baseline /y/lore --json /z.json");
        let shown = "cargo xtask bench large --repo shop --commit v1.2 --baseline BINARY --runs 7";
        assert_eq!(command(&typed(&line).unwrap()).unwrap(), shown);
        let line = format!("--repo {place} --shallow --queries 20");
        let shown = "cargo xtask bench large --repo shop --shallow --queries 20";
        assert_eq!(command(&typed(&line).unwrap()).unwrap(), shown);
    }

    #[test]
    fn a_bench_without_runs_or_queries_is_refused_and_so_is_a_page_with_a_baseline() {
        assert!(typed("--repo shop --runs 1 --queries 1 --write-docs").is_ok());
        for line in ["--repo shop --runs 0", "--repo shop --queries 0", "--repo shop --runs many", "--runs 2"] {
            assert!(typed(line).is_err(), "{line}");
        }
        assert!(typed("--repo shop --write-docs --baseline old").is_err());
    }

    #[test]
    fn everybody_has_every_turn_equally_often() {
        let all: Vec<Vec<usize>> = (0..4).map(|time| turns(time, 2).collect()).collect();
        assert_eq!(all, [[0, 1], [1, 0], [0, 1], [1, 0]]);
        assert_eq!(turns(5, 3).collect::<Vec<_>>(), [2, 0, 1]);
    }

    #[test]
    fn lore_stands_beside_those_that_answered_and_alone_where_nobody_did() {
        let names = |times: &[(&str, Vec<f64>)]| -> Vec<String> {
            rows_of("regex", times).iter().map(|row| row.cells()[..2].join(" ").trim_end().to_owned()).collect()
        };
        let (lore, twice) = ((LORE, vec![1.0; 5]), vec![2.0; 5]);
        let percentiles = ["regex, p50 0.500× [0.500, 0.500]", "regex, p95 0.500× [0.500, 0.500]"];
        assert_eq!(names(&[lore.clone(), (GIT_GREP, Vec::new())]), ["regex, p50", "regex, p95"]);
        assert_eq!(names(&[lore.clone(), ("ripgrep", twice.clone()), (GIT_GREP, Vec::new())]), percentiles);
        let each = "regex, each query 0.500× [0.500, 0.500]";
        assert_eq!(names(&[lore, (BASELINE, twice)]), [&percentiles[..], &[each]].concat());
    }

    #[test]
    fn the_guide_says_what_the_kept_run_says() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("docs/guides")).unwrap();
        let guide = dir.path().join(PAGE);
        fs::write(&guide, format!("before\n{}{}\nafter\n", MARKS[0], MARKS[1])).unwrap();
        assert_eq!(check_page(dir.path()).unwrap(), Vec::<String>::new(), "nothing was measured");
        let rows = vec![Row::alone("full index, wall", "s", 12.3)];
        let record = Record {
            date: "2024-02-29".to_owned(),
            command: "cargo xtask bench large --repo shop".to_owned(),
            quick: false,
            machine: Machine::this(),
            lore: "lore 0.1.0".to_owned(),
            peers: Vec::new(),
            parts: vec![Meter::start().part(Kind::Large, "Index of shop".to_owned(), "Medians.".to_owned(), rows)],
        };
        record.write(&dir.path().join(RECORD)).unwrap();
        assert_eq!(check_page(dir.path()).unwrap().len(), 1);
        fs::write(&guide, page(&record, dir.path()).unwrap()).unwrap();
        assert_eq!(check_page(dir.path()).unwrap(), Vec::<String>::new());
        let text = fs::read_to_string(&guide).unwrap();
        assert!(
            text.contains("### Index of shop\n\nMedians.") && text.contains("| full index, wall | 12.3 s |"),
            "{text}"
        );
        fs::write(&guide, text.replace("12.3 s", "2.3 s")).unwrap();
        assert_eq!(check_page(dir.path()).unwrap().len(), 1);
    }
}
