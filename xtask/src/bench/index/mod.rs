//! `cargo xtask bench index`: indexing the code of a repository, asking it, and seeing a change; beside a peer if wanted.
//!
//! Everything happens in a copy of the newest commit, without its history: that is measured by `bench history`.

mod change;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
pub(super) use change::Changing;
use change::DEBOUNCE;
use lore_testkit::{Git, Lore, Random, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    history::{PEER_PATIENCE, QUIET, load, median, megabytes, millis, size, warm_files},
    latency::Times,
    measure::{Cost, measure, most_memory},
    semble::{Cache, Peer, Semble},
    table::{Aim, Figure, render},
};
use crate::program::{output, program, release_with_dev, say};

/// Questions that are asked.
const QUESTIONS: usize = 200;
/// How often all of them are asked in one process.
const ROUNDS: &str = "3";
/// Runs of what takes a fraction of a second.
const QUICK_RUNS: usize = 20;
/// The same questions on every machine and day.
const SEED: u64 = 20_240_229;

/// Measures indexing and searching code.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository; of a bare one, HEAD.
    #[arg(long, value_name = "PATH")]
    pub(super) repo: PathBuf,

    /// Another code search to measure in the same run.
    #[arg(long, value_enum)]
    pub(super) peer: Option<Peer>,

    /// The peer's model, where it is on this machine; nothing is downloaded.
    #[arg(long, value_name = "DIR", requires = "peer")]
    pub(super) peer_model: Option<PathBuf>,

    /// How often the index is built, by each in turn.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(super) runs: usize,

    /// Questions, one on each line, instead of such that are made of commit subjects.
    #[arg(long, value_name = "FILE")]
    pub(super) queries: Option<PathBuf>,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    pub(super) lore: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// What was measured of one program.
struct Measured {
    costs: Vec<Cost>,
    files: u64,
    chunks: u64,
    index_bytes: u64,
    warm: Times,
    cold: Times,
    changed: Times,
}

/// What was measured of Lore alone.
struct Own {
    /// What `lore-dev index` told.
    told: Value,
    open: Duration,
    idle: Times,
    stdio: Option<Stdio>,
    recall: Value,
}

/// What was measured over standard input and output.
struct Stdio {
    asked: Times,
    /// How soon changes were found, without the debounce.
    changed: Times,
    /// The most memory that the process ever held; nothing where the system does not tell.
    peak_bytes: Option<u64>,
}

/// Where and with what it is measured.
pub(super) struct Bench {
    binary: PathBuf,
    repo: PathBuf,
    /// A copy of the repository.
    pub(super) copy: PathBuf,
    /// The questions, also one on each line of a file.
    pub(super) queries: Vec<String>,
    pub(super) file: PathBuf,
    _dir: TempDir,
}

impl Bench {
    /// Copies the newest commit of the repository and makes the questions.
    pub(super) fn prepare(args: &Args) -> Result<Self> {
        let binary = release_with_dev(args.lore.as_deref())?;
        let repo = args.repo.canonicalize().with_context(|| format!("cannot find {}", args.repo.display()))?;
        let dir = tempfile::tempdir()?;
        let copy = dir.path().join("copy");
        // One pack with the newest commit: what is read lies as it does in a clone, and there is no history to sync.
        let url = format!("file://{}", text(&repo)?);
        Git::at(dir.path()).text(&["clone", "--quiet", "--depth", "1", &url, text(&copy)?])?;
        warm_files(&copy)?;
        let queries = questions(args, &repo)?;
        let file = dir.path().join("queries");
        fs::write(&file, queries.join("\n"))?;
        Ok(Self { binary, repo, copy, queries, file, _dir: dir })
    }
}

/// All that was measured.
pub(super) struct Outcome {
    own: Own,
    lore: Measured,
    peer: Option<Measured>,
}

impl Outcome {
    /// Lines of the source.
    pub(super) fn lines(&self) -> u64 {
        self.own.told["lines"].as_u64().unwrap_or_default()
    }

    pub(super) fn figures(&self) -> Vec<Figure> {
        figures(&self.own, &self.lore, self.peer.as_ref())
    }
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let load = load();
    let bench = Bench::prepare(args)?;
    let semble = args.peer.map(|Peer::Semble| Semble::install(args.peer_model.as_deref())).transpose()?;
    let outcome = measured(&bench, args.runs.max(1), semble.as_ref())?;
    let figures = outcome.figures();
    let repo = bench.repo.display();
    if args.json {
        say(&serde_json::to_string_pretty(&json!({
            "repository": repo.to_string(),
            "lore_commit": output(program("git").args(["rev-parse", "HEAD"])).ok(),
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "load_before": load,
            "runs": args.runs.max(1),
            "index": outcome.own.told,
            "recall": outcome.own.recall,
            "peer": semble.map(|semble| semble.about),
            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>(),
        }))?);
        return Ok(());
    }
    say(&format!("{repo}: {} runs, medians; {} questions", args.runs.max(1), bench.queries.len()));
    if let Some(load) = load.filter(|load| *load > QUIET) {
        say(&format!(
            "the load was {load} before the first run: this machine is not quiet, and the figures are not fair"
        ));
    }
    if let Some(semble) = &semble {
        say(&semble.about);
    }
    say(&render(&figures));
    if outcome.own.stdio.is_none() {
        say("this binary has no tool `cortex_search`: nothing was asked over standard input and output");
    }
    Ok(())
}

/// Measures everything.
pub(super) fn measured(bench: &Bench, runs: usize, semble: Option<&Semble>) -> Result<Outcome> {
    let (lore, costs, peer_built) = build_in_turn(bench, runs, semble)?;
    let (own, measured) = measure_lore(bench, &lore, costs)?;
    let peer = match (semble, peer_built) {
        (Some(semble), Some((cache, costs))) => Some(measure_semble(bench, semble, &cache, costs)?),
        _ => None,
    };
    Ok(Outcome { own, lore: measured, peer })
}

/// Subjects of commits, and every second time one or two words of them.
fn questions(args: &Args, repo: &Path) -> Result<Vec<String>> {
    if let Some(file) = &args.queries {
        let given = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        return Ok(given.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect());
    }
    let log = Git::at(repo).bytes(&["log", "--no-merges", "--format=%s", "--max-count=2000"])?;
    let log = String::from_utf8_lossy(&log);
    let subjects: Vec<&str> = log.lines().filter(|line| line.split_whitespace().count() > 2).collect();
    let words: Vec<&str> = log.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3).collect();
    ensure!(!subjects.is_empty() && !words.is_empty(), "the repository has no commit to ask about: give --queries");
    let mut random = Random::new(SEED);
    let question = |number: usize| match number % 4 {
        0 | 2 => (*random.pick(&subjects)).to_owned(),
        1 => (*random.pick(&words)).to_owned(),
        _ => format!("{} {}", random.pick(&words), random.pick(&words)),
    };
    Ok((0..QUESTIONS).map(question).collect())
}

/// What building costs Lore and the peer, with the last indexes of both.
type Built = (Lore, Vec<Cost>, Option<(Cache, Vec<Cost>)>);

fn build_in_turn(bench: &Bench, runs: usize, semble: Option<&Semble>) -> Result<Built> {
    let path = text(&bench.copy)?;
    let (mut costs, mut last) = (Vec::new(), None);
    let mut peer: Option<(Cache, Vec<Cost>)> = None;
    for _ in 0..runs {
        let lore = Lore::new(&bench.binary);
        costs.push(measure(&lore.dev(&["index", path]))?);
        last = Some(lore);
        let spent: Duration = peer.iter().flat_map(|(_, costs)| costs).map(|cost| cost.wall).sum();
        if let Some(semble) = semble.filter(|_| spent < PEER_PATIENCE) {
            let cache = Cache::new()?;
            let cost = semble.index(&cache, path)?;
            let mut known = peer.take().map_or_else(Vec::new, |(_, costs)| costs);
            known.push(cost);
            peer = Some((cache, known));
        }
    }
    Ok((last.context("at least one run was made")?, costs, peer))
}

fn measure_lore(bench: &Bench, lore: &Lore, costs: Vec<Cost>) -> Result<(Own, Measured)> {
    let path = text(&bench.copy)?;
    let json = |lore: &Lore, args: &[&str]| -> Result<Value> {
        let printed = output(&mut lore.dev(args))?;
        serde_json::from_str(&printed).with_context(|| format!("lore-dev {} printed {printed}", args.join(" ")))
    };
    let told = json(lore, &["index", path])?;
    let number = |value: &Value, key: &str| value[key].as_u64().with_context(|| format!("lore did not tell {key}"));
    let index_bytes = size(lore.home())?;
    let idle = (0..QUICK_RUNS).map(|_| Ok(measure(&lore.dev(&["index", path]))?.wall));
    let idle = Times::new(idle.collect::<Result<_>>()?);

    let asked = json(lore, &["queries", text(&bench.file)?, "--repo", path, "--rounds", ROUNDS])?;
    let answers = asked["runs"][0]["answers"].as_array().context("lore did not tell its answers")?;
    let warm = answers.iter().map(|answer| number(answer, "took_us").map(Duration::from_micros));
    let warm = Times::new(warm.collect::<Result<_>>()?);

    let search = |query: &str| {
        let mut command = lore.command(&["search", "--limit", "10", "--json", "--", query]);
        command.current_dir(&bench.copy);
        command
    };
    // The first one may find that the history has not been read.
    output(&mut search(&bench.queries[0]))?;
    let cold = (0..QUICK_RUNS).map(|run| Ok(measure(&search(&bench.queries[run % bench.queries.len()]))?.wall));
    let cold = Times::new(cold.collect::<Result<_>>()?);

    let mut changing = Changing::find(&bench.copy)?;
    let mut changed = Vec::new();
    for _ in 0..QUICK_RUNS {
        let word = changing.change()?;
        let started = Instant::now();
        let printed = output(&mut search(&word))?;
        changed.push(started.elapsed());
        ensure!(printed.contains(&changing.path), "a change of {} was not found: {printed}", changing.path);
    }
    let stdio = over_stdio(bench, lore, &mut changing)?;
    Git::at(&bench.copy).text(&["checkout", "--quiet", "--", "."])?;
    let recall = json(&Lore::new(&bench.binary), &["recall", path, "--queries", text(&bench.file)?])?;
    let (files, chunks) = (number(&told, "files")?, number(&told, "chunks")?);
    let open = Duration::from_micros(number(&asked, "open_us")?);
    let measured = Measured { costs, files, chunks, index_bytes, warm, cold, changed: Times::new(changed) };
    Ok((Own { told, open, idle, stdio, recall }, measured))
}

/// Questions and changes over standard input and output; nothing where the program has no such tool.
fn over_stdio(bench: &Bench, lore: &Lore, changing: &mut Changing) -> Result<Option<Stdio>> {
    let mut command = lore.command(&["serve"]);
    command.current_dir(&bench.copy);
    let mut session = Session::start(command)?;
    session.initialize()?;
    let tools = session.request("tools/list", &json!({}))?;
    let has = tools["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "cortex_search"));
    if !has {
        session.end()?;
        return Ok(None);
    }
    let ask = |session: &mut Session, query: &str| session.call("cortex_search", &json!({"query": query, "limit": 10}));
    // The first answer opens the index.
    ask(&mut session, &bench.queries[0])?;
    let mut times = Vec::new();
    for query in &bench.queries {
        let started = Instant::now();
        let answer = ask(&mut session, query)?;
        times.push(started.elapsed());
        ensure!(!answer.is_error, "cortex_search failed for `{query}`: {}", answer.text);
    }
    let mut changes = Vec::new();
    for _ in 0..QUICK_RUNS {
        changes.push(change::over_stdio(&mut session, changing)?.saturating_sub(DEBOUNCE));
    }
    let peak_bytes = most_memory(session.process_id());
    let ended = session.end()?;
    ensure!(ended.status.success(), "lore serve ended with {}: {}", ended.status, ended.log);
    Ok(Some(Stdio { asked: Times::new(times), changed: Times::new(changes), peak_bytes }))
}

fn measure_semble(bench: &Bench, semble: &Semble, cache: &Cache, costs: Vec<Cost>) -> Result<Measured> {
    let path = text(&bench.copy)?;
    let (files, chunks) = semble.counts(cache, path)?;
    // Before anything is asked: it keeps a record of questions beside its index.
    let index_bytes = size(cache.path())?;
    let mut cold: Vec<Duration> = Vec::new();
    while cold.len() < QUICK_RUNS && cold.iter().sum::<Duration>() < PEER_PATIENCE / 3 {
        cold.push(semble.cold(cache, path, &bench.queries[cold.len() % bench.queries.len()])?);
    }
    let cold = Times::new(cold);
    let mut changing = Changing::find(&bench.copy)?;
    let mut changed: Vec<Duration> = Vec::new();
    while changed.len() < QUICK_RUNS.div_ceil(4) && changed.iter().sum::<Duration>() < PEER_PATIENCE / 3 {
        let word = changing.change()?;
        let started = Instant::now();
        let found = semble.files(cache, path, &word)?;
        changed.push(started.elapsed());
        ensure!(found.contains(&changing.path), "semble did not find a change of {}", changing.path);
    }
    let warm = semble.warm(cache, path, &bench.file)?;
    Git::at(&bench.copy).text(&["checkout", "--quiet", "--", "."])?;
    Ok(Measured { costs, files, chunks, index_bytes, warm, cold, changed: Times::new(changed) })
}

fn figures(own: &Own, lore: &Measured, peer: Option<&Measured>) -> Vec<Figure> {
    let figure = |name, unit, of: &dyn Fn(&Measured) -> f64| Figure {
        name,
        unit,
        measured: of(lore),
        reference: peer.map(|peer| ("semble", of(peer))),
        aim: Aim::None,
    };
    let alone = |name, unit, measured| Figure { name, unit, measured, reference: None, aim: Aim::None };
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let source = own.told["source_bytes"].as_u64().unwrap_or_default();
    let time =
        |name, of: fn(&Measured) -> &Times, percent| figure(name, "ms", &move |it| millis(of(it).percentile(percent)));
    let mut figures = vec![
        alone("source, lines", "", number(&own.told["lines"])),
        alone("source, size", "MB", megabytes(source)),
        figure("files indexed", "", &|it| real(it.files)),
        figure("chunks", "", &|it| real(it.chunks)),
        figure("full index, wall", "s", &|it| median(&it.costs, |cost| cost.wall.as_secs_f64())),
        figure("full index, CPU", "s", &|it| median(&it.costs, |cost| cost.cpu.as_secs_f64())),
        figure("full index, peak memory", "MB", &|it| {
            megabytes(it.costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or_default())
        }),
        figure("index size", "MB", &|it| megabytes(it.index_bytes)),
        figure("index size / source size", "", &|it| real(it.index_bytes) / real(source.max(1))),
        alone("index with nothing to do, median", "ms", millis(own.idle.percentile(50))),
        alone("opening the index for the first answer", "ms", millis(own.open)),
        time("search in process, p50", |it| &it.warm, 50),
        time("search in process, p95", |it| &it.warm, 95),
        time("search from process start, p50", |it| &it.cold, 50),
        time("search from process start, p95", |it| &it.cold, 95),
        time("changed file found by a new process, p50", |it| &it.changed, 50),
    ];
    for (accuracy, recall, took) in [
        ("fast", "recall@10 of accuracy fast", "by meaning alone, accuracy fast, p50"),
        ("balanced", "recall@10 of accuracy balanced", "by meaning alone, accuracy balanced, p50"),
        ("high", "recall@10 of accuracy high", "by meaning alone, accuracy high, p50"),
    ] {
        let told = &own.recall["accuracy"][accuracy];
        figures.push(alone(recall, "", number(&told["recall_at_10"])));
        figures.push(alone(took, "ms", number(&told["p50_us"]) / 1000.0));
    }
    if let Some(Stdio { asked, changed, peak_bytes }) = &own.stdio {
        if let Some(peak) = peak_bytes {
            figures.push(alone("`lore serve`, peak memory", "MB", megabytes(*peak)));
        }
        figures.extend([
            alone("search over stdio, p50", "ms", millis(asked.percentile(50))),
            alone("search over stdio, p95", "ms", millis(asked.percentile(95))),
            alone("changed file found over stdio, less debounce, p50", "ms", millis(changed.percentile(50))),
            alone("changed file found over stdio, less debounce, p95", "ms", millis(changed.percentile(95))),
        ]);
    }
    let aims = aims(number(&own.told["lines"]), lore.chunks);
    for (name, aim) in aims {
        figures.iter_mut().filter(|figure| figure.name == name).for_each(|figure| figure.aim = aim);
    }
    figures
}

/// What is promised for a source of this size.
fn aims(lines: f64, chunks: u64) -> Vec<(&'static str, Aim)> {
    let million = lines / 1e6;
    let mut aims = vec![
        // 100,000 lines in .8 s, 3,000,000 in 20 s; 400 MB and 1,200 MB.
        ("full index, wall", Aim::AtMost((20.0 / 3.0 * million).max(0.8))),
        ("full index, peak memory", Aim::AtMost(400.0 + 800.0 / 2.9 * (million - 0.1).max(0.0))),
        ("index size / source size", Aim::AtMost(1.0)),
        ("search from process start, p50", Aim::AtMost(60.0)),
        ("recall@10 of accuracy fast", Aim::AtLeast(0.9)),
        ("recall@10 of accuracy balanced", Aim::AtLeast(0.98)),
        ("recall@10 of accuracy high", Aim::AtLeast(1.0)),
        ("changed file found over stdio, less debounce, p50", Aim::AtMost(100.0)),
    ];
    if chunks <= 100_000 {
        aims.extend([
            ("search in process, p50", Aim::AtMost(2.0)),
            ("search in process, p95", Aim::AtMost(10.0)),
            ("search over stdio, p50", Aim::AtMost(5.0)),
        ]);
    }
    aims
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn real(number: u64) -> f64 {
    number as f64
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
