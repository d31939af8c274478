//! `cargo xtask bench all`: everything in one run, beside every peer that is given, in one table with the ratios first.
//!
//! Peers are programs that somebody installed; what is not given is in the table as not measured. As elsewhere, it judges
//! nothing but the aims, and no aim fails it. What fails it is a part that could not be measured.

mod growth;
mod machine;
mod page;
mod peers;
mod record;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use peers::Tool;
use record::Better;

use super::{history, index, quality, search, semble::Semble, server};
use crate::program::{output, program, release_with_dev, root, say};

pub(crate) use page::check as check_pages;
pub(super) use {
    machine::Meter,
    page::put_between,
    record::{Kind, Machine, Part, Peer, Record, Row},
};

/// Why a peer has no figures.
const NOT_GIVEN: &str = "not measured: no peer given";

/// Measures everything.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repositories with their history; the README shows figures of the first.
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    repo: Vec<PathBuf>,

    /// A commitmux to compare histories with.
    #[arg(long, value_name = "BINARY")]
    peer_commitmux: Option<PathBuf>,

    /// A semble to compare searches and answers with: the Python environment that it is installed in.
    #[arg(long, value_name = "VENV")]
    peer_semble: Option<PathBuf>,

    /// A probe to compare searches with.
    #[arg(long, value_name = "BINARY")]
    peer_probe: Option<PathBuf>,

    /// A ck to compare searches with.
    #[arg(long, value_name = "BINARY")]
    peer_ck: Option<PathBuf>,

    /// A ripgrep to compare the finding of lines with.
    #[arg(long, value_name = "BINARY")]
    rg: Option<PathBuf>,

    /// The folder with questions, as for `bench quality`.
    #[arg(long, value_name = "DIR", requires = "repos")]
    data: Option<PathBuf>,

    /// The folder with the repositories that the questions name, as for `bench quality`.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,

    /// How long users ask the team server.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,

    /// How often what takes seconds is done, by each in turn.
    #[arg(long, default_value_t = 3, value_name = "N")]
    runs: usize,

    /// Lines of the corpora that show how costs grow, smallest first.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000, 1_000_000, 10_000_000])]
    growth: Vec<u64>,

    /// Only these parts.
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
    only: Vec<Wanted>,

    /// Tries everything at small sizes; the figures mean nothing.
    #[arg(long)]
    quick: bool,

    /// Writes the run here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Keeps the run in `docs/benchmarks.json` and writes the pages from it.
    #[arg(long)]
    write_docs: bool,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// The parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Wanted {
    History,
    Code,
    Lines,
    Quality,
    Server,
    Growth,
}

/// Writes pages from a run.
#[derive(Debug, clap::Args)]
pub(crate) struct DocsArgs {
    /// A run of `bench all --json`, which is kept from now on; the one that is kept already, without this.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Writes `docs/benchmarks.md` and the figures of the README.
pub(crate) fn write_docs(args: &DocsArgs) -> Result<()> {
    let kept = page::record_file(root());
    let record = Record::read(args.json.as_deref().unwrap_or(&kept))?;
    record.write(&kept)?;
    record.write_pages(root())
}

/// Measures, prints and writes.
pub(crate) fn run(args: Args) -> Result<()> {
    ensure!(!args.write_docs || args.only.is_empty(), "--write-docs needs all parts: leave --only out");
    let run = Run::new(args)?;
    let args = &run.args;
    let machine = Machine::this();
    let mut record = Record {
        date: today()?,
        command: command(args),
        quick: args.quick,
        machine,
        lore: version(&run.binary, run.args.lore.is_some())?,
        peers: run.about()?,
        parts: Vec::new(),
    };
    for (wanted, measure) in PARTS {
        if args.only.is_empty() || args.only.contains(&wanted) {
            record.parts.extend(measure(&run)?);
            // What took long is not lost where a later part fails.
            if let Some(file) = &args.json {
                record.write(file)?;
            }
        }
    }
    print(&record);
    if args.write_docs {
        record.write(&page::record_file(root()))?;
        record.write_pages(root())?;
    }
    Ok(())
}

/// Prints a run.
pub(super) fn print(record: &Record) {
    say(&format!("\n{}, {}, {} cores\n", record.lore, record.machine.processor, record.machine.cores));
    for peer in &record.peers {
        say(&format!("{}: {}", peer.name, peer.about));
    }
    say(&format!("\n{}", record.text()));
}

/// The day, in UTC.
pub(super) fn today() -> Result<String> {
    output(program("date").args(["-u", "+%Y-%m-%d"]))
}

/// The version of the program, and the commit of this tree where it was built from it.
pub(super) fn version(binary: &Path, is_given: bool) -> Result<String> {
    let version = output(program(binary).arg("--version"))?;
    if is_given {
        // Nobody knows what a binary that was given was built from.
        return Ok(format!("{version}, a binary that was given with `--lore`"));
    }
    let commit = output(program("git").args(["rev-parse", "--short=12", "HEAD"]))?;
    let changed = !output(program("git").args(["status", "--porcelain", "--", "crates"]))?.is_empty();
    let changed = if changed { ", with changes" } else { "" };
    Ok(format!("{version}, commit {commit}{changed}"))
}

type Measure = fn(&Run) -> Result<Vec<Part>>;

const PARTS: [(Wanted, Measure); 6] = [
    (Wanted::History, Run::histories),
    (Wanted::Code, Run::codes),
    (Wanted::Lines, Run::lines),
    (Wanted::Quality, Run::quality),
    (Wanted::Server, Run::server),
    (Wanted::Growth, Run::growth),
];

/// The command as somebody else would type it: with the names of files instead of this machine's paths.
fn command(args: &Args) -> String {
    let name = |path: &Path| {
        let place = if path.ends_with("repo") { path.parent().unwrap_or(path) } else { path };
        place.file_name().unwrap_or(place.as_os_str()).to_string_lossy().into_owned()
    };
    let mut words = vec!["cargo xtask bench all --repo".to_owned()];
    words.extend(args.repo.iter().map(|path| name(path)));
    for (flag, path) in [
        ("--peer-commitmux", &args.peer_commitmux),
        ("--peer-semble", &args.peer_semble),
        ("--peer-probe", &args.peer_probe),
        ("--peer-ck", &args.peer_ck),
        ("--rg", &args.rg),
    ] {
        words.extend(path.iter().map(|path| format!("{flag} {}", name(path))));
    }
    if args.data.is_some() {
        words.push("--data DIR --repos DIR".to_owned());
    }
    words.extend((args.seconds != 60).then(|| format!("--seconds {}", args.seconds)));
    words.extend((args.runs != 3).then(|| format!("--runs {}", args.runs)));
    words.extend(args.quick.then(|| "--quick".to_owned()));
    words.join(" ")
}

/// A run.
struct Run {
    args: Args,
    binary: PathBuf,
    /// Names and places of the repositories.
    repos: Vec<(String, PathBuf)>,
    /// ripgrep, probe and ck, as far as they are given.
    tools: Vec<Tool>,
}

impl Run {
    fn new(args: Args) -> Result<Self> {
        let binary = release_with_dev(args.lore.as_deref())?;
        let repos: Vec<(String, PathBuf)> = args.repo.iter().map(|path| place_of(path)).collect::<Result<_>>()?;
        let given = [("ripgrep", &args.rg), ("probe", &args.peer_probe), ("ck", &args.peer_ck)];
        let given = given.into_iter().filter_map(|(name, binary)| Some((name, binary.as_ref()?)));
        let tools = given.map(|(name, binary)| Tool::new(name, binary)).collect::<Result<_>>()?;
        Ok(Self { args, binary, repos, tools })
    }

    fn runs(&self) -> usize {
        if self.args.quick { 1 } else { self.args.runs.max(1) }
    }

    fn semble(&self) -> Result<Option<Semble>> {
        self.args.peer_semble.as_deref().map(Semble::given).transpose()
    }

    /// Who it is compared with, in words.
    fn about(&self) -> Result<Vec<Peer>> {
        let peer = |name: &str, about: String| Peer { name: name.to_owned(), about };
        let git = output(program("git").arg("--version"))?;
        let mut peers = vec![peer(
            "git",
            format!("{}; `git log -p -M` prints what Lore reads", git.trim_start_matches("git version ")),
        )];
        let commitmux = match &self.args.peer_commitmux {
            Some(binary) => {
                let version = output(program(binary).arg("--version")).unwrap_or_else(|_| "version unknown".to_owned());
                format!("{version}; a full sync into a database of its own")
            }
            None => NOT_GIVEN.to_owned(),
        };
        peers.push(peer("commitmux", commitmux));
        peers.push(peer("semble", self.semble()?.map_or_else(|| NOT_GIVEN.to_owned(), |semble| semble.about)));
        for name in ["ripgrep", "probe", "ck"] {
            let tool = self.tools.iter().find(|tool| tool.name == name);
            peers.push(tool.map_or_else(|| peer(name, NOT_GIVEN.to_owned()), Tool::about));
        }
        Ok(peers)
    }

    fn histories(&self) -> Result<Vec<Part>> {
        self.repos.iter().map(|(name, repo)| self.history(name, repo)).collect()
    }

    fn history(&self, name: &str, repo: &Path) -> Result<Part> {
        say(&format!("history of {name}"));
        let meter = Meter::start();
        let (peer, runs) = (self.args.peer_commitmux.clone(), self.runs());
        let is_missing = peer.is_none();
        let args = history::Args { repo: repo.to_owned(), peer, runs, lore: Some(self.binary.clone()), json: false };
        let measured = history::measured(&args)?;
        let mut rows: Vec<Row> = history::figures(&measured).iter().map(Row::from).collect();
        if is_missing {
            rows.push(Row::missing("full sync, against commitmux", NOT_GIVEN));
        }
        let about = format!(
            "All commits of {name} into a new index: messages, files and diffs. {} by Lore and git in turn; questions over \
             standard input and output.",
            counted(runs, "run")
        );
        Ok(meter.part(Kind::History, format!("History of {name} ({} commits)", measured.commits), about, rows))
    }

    fn codes(&self) -> Result<Vec<Part>> {
        let semble = self.semble()?;
        self.repos.iter().map(|(name, repo)| self.code(name, repo, semble.as_ref())).collect()
    }

    fn code(&self, name: &str, repo: &Path, semble: Option<&Semble>) -> Result<Part> {
        say(&format!("code of {name}"));
        let meter = Meter::start();
        let args = index::Args {
            repo: repo.to_owned(),
            peer: None,
            peer_model: None,
            runs: self.runs(),
            queries: None,
            lore: Some(self.binary.clone()),
            json: false,
        };
        let bench = index::Bench::prepare(&args)?;
        let outcome = index::measured(&bench, self.runs(), semble)?;
        let figures = outcome.figures();
        let measured = |name: &str| figures.iter().find(|figure| figure.name == name).map(|figure| figure.measured);
        let mut rows: Vec<Row> = figures.iter().map(Row::from).collect();
        if let Some((index, source)) = measured("index size").zip(measured("source, size")) {
            rows.push(Row::against("index size", "MB", index, ("source", source)));
        }
        name_semble(&mut rows, semble);
        rows.extend(peers::beside(&bench, &self.binary, &self.tools)?);
        if semble.is_none() {
            rows.push(Row::missing("against semble", NOT_GIVEN));
        }
        for name in ["ripgrep", "probe", "ck"] {
            if !self.tools.iter().any(|tool| tool.name == name) {
                rows.push(Row::missing(&format!("against {name}"), NOT_GIVEN));
            }
        }
        let about = format!(
            "The newest commit of {name}, without its history, indexed from nothing and asked. {} by Lore and semble in turn, \
             questions from subjects of commits; a literal is a name that stands in the code.",
            counted(self.runs(), "run")
        );
        Ok(meter.part(Kind::Code, format!("Code of {name} ({} lines)", outcome.lines()), about, rows))
    }

    fn lines(&self) -> Result<Vec<Part>> {
        self.repos.iter().map(|(name, repo)| self.lines_of(name, repo)).collect()
    }

    fn lines_of(&self, name: &str, repo: &Path) -> Result<Part> {
        say(&format!("lines of {name}"));
        let meter = Meter::start();
        let rg = self.args.rg.clone();
        let args = search::Args {
            repo: repo.to_owned(),
            lore: Some(self.binary.clone()),
            rg: rg.clone().unwrap_or_default(),
            // The past takes minutes for a long history: the first repository shows it.
            temporal: !self.args.quick && self.repos.first().is_some_and(|(first, _)| first == name),
        };
        let measured = search::measured(&args)?;
        let mut rows: Vec<Row> = measured.figures.iter().map(Row::from).collect();
        if rg.is_none() {
            rows.push(Row::missing("against ripgrep", NOT_GIVEN));
        }
        let about = "Literals, expressions and misspelt names, counted in all files, in a process that runs, as an agent's server \
                     does; ripgrep is started for each. Hybrid questions and questions by meaning over standard input and \
                     output.";
        Ok(meter.part(Kind::Lines, format!("Lines of {name} ({} lines)", measured.lines), about.to_owned(), rows))
    }

    fn quality(&self) -> Result<Vec<Part>> {
        let Some(data) = &self.args.data else {
            let rows = vec![Row::missing("NDCG@10", "not measured: no questions given")];
            return Ok(vec![Meter::start().part(Kind::Quality, "Answers".to_owned(), String::new(), rows)]);
        };
        say("answers");
        let meter = Meter::start();
        let args = quality::Args {
            data: Some(data.clone()),
            repos: self.args.repos.clone(),
            alone: true,
            no_tokens: true,
            only: if self.args.quick { vec!["gin".to_owned()] } else { Vec::new() },
            lore: Some(self.binary.clone()),
            ..quality::Args::default()
        };
        let semble = self.semble()?;
        let (is_missing, is_whole) = (semble.is_none(), semble.as_ref().is_none_or(Semble::is_whole));
        let row = |answers: &quality::Answers| {
            let name = format!("NDCG@10, {}", answers.set.trim());
            let peer = answers.peer.map(|peer| (semble_name(is_whole), peer));
            let row = peer.map_or_else(
                || Row::alone(&name, "", answers.ndcg),
                |peer| Row::against(&name, "", answers.ndcg, peer),
            );
            Row { better: Better::More, note: Some(counted(answers.questions, "question")), ..row }
        };
        let mut rows: Vec<Row> = quality::measured(&args, semble)?.iter().map(row).collect();
        if is_missing {
            rows.push(Row::missing("against semble", NOT_GIVEN));
        }
        let about = "Published questions with the files that answer them, over the first ten results. Lore has the repository as it \
                     was, with its history; *folder alone* is what semble has too.";
        Ok(vec![meter.part(Kind::Quality, "Answers".to_owned(), about.to_owned(), rows)])
    }

    fn server(&self) -> Result<Vec<Part>> {
        say("team server");
        let meter = Meter::start();
        let (lines, seconds, users) =
            if self.args.quick { (20_000, self.args.seconds.min(10), 8) } else { (1_000_000, self.args.seconds, 50) };
        let args = server::Args {
            repo: Vec::new(),
            lines,
            seconds,
            users,
            rate: 2.0,
            lore: Some(self.binary.clone()),
            json: false,
        };
        let seen = server::measured(&args)?;
        let rows = seen.figures().iter().map(Row::from).collect();
        let about = format!(
            "{users} users ask {} questions in {seconds} s while two repositories are refreshed without a pause; the load runs on \
             the same cores. A time counts from when the question was due. *Alone* is one user before the others came.",
            seen.requests()
        );
        Ok(vec![meter.part(Kind::Server, format!("Team server ({lines} lines)"), about, rows)])
    }

    fn growth(&self) -> Result<Vec<Part>> {
        let sizes = if self.args.quick { vec![10_000, 50_000] } else { self.args.growth.clone() };
        let mut all: Vec<growth::Grown> = Vec::new();
        let mut parts = Vec::new();
        for lines in sizes {
            let meter = Meter::start();
            let grown = growth::measure_size(&self.binary, lines, self.args.rg.as_deref())?;
            let first = all.first().unwrap_or(&grown);
            let about = "A generated corpus, the same on every machine, with few different words: each is in very many places. What \
                         grows with the lines stands against the smallest corpus, multiplied; answers stand against it as it was, and \
                         against ripgrep where that is given.";
            parts.push(meter.part(
                Kind::Growth,
                format!("{lines} lines"),
                about.to_owned(),
                growth::rows(first, &grown),
            ));
            all.push(grown);
        }
        Ok(parts)
    }
}

/// The name and the place of a repository.
pub(super) fn place_of(path: &Path) -> Result<(String, PathBuf)> {
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let place = if path.ends_with("repo") { path.parent().unwrap_or(&path) } else { &path };
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    // A folder of mirrors names them `owner+name`.
    Ok((name.rsplit('+').next().unwrap_or(&name).trim_end_matches(".git").to_owned(), path))
}

/// What semble is called: without its model it is not what its users have.
fn semble_name(is_whole: bool) -> &'static str {
    if is_whole { "semble" } else { "semble without its model" }
}

/// Says in each row whether semble had its model.
fn name_semble(rows: &mut [Row], semble: Option<&Semble>) {
    let name = semble_name(semble.is_none_or(Semble::is_whole));
    for reference in rows.iter_mut().filter_map(|row| row.reference.as_mut()) {
        if reference.name == "semble" {
            name.clone_into(&mut reference.name);
        }
    }
}

pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn the_command_that_is_shown_names_no_place_of_this_machine() {
        let typed =
            "all --repo /data/a/tokio /data/mirror/django+django/repo --rg /data/bin/rg --data /data/q --repos /data/r";
        let args = Typed::parse_from(typed.split(' ')).args;
        let shown = "cargo xtask bench all --repo tokio django+django --rg rg --data DIR --repos DIR";
        assert_eq!(command(&args), shown);
        let typed = "all --repo /data/tokio --seconds 600 --runs 5 --quick";
        assert_eq!(
            command(&Typed::parse_from(typed.split(' ')).args),
            "cargo xtask bench all --repo tokio --seconds 600 --runs 5 --quick"
        );
    }
}
