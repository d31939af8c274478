//! `cargo xtask bench quality`: how well questions are answered, with parts of the ranking switched on and off.
//!
//! It compares files, not texts, and judges nothing: the figures say whether a change made answers better.

mod ask;
mod commits;
mod data;
mod documents;
mod headings;
pub(super) mod metric;
mod prepare;
mod report;
mod sections;
mod tokens;
mod ways;
mod with;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use ask::{Asked, Place, ask};
use commits::commit_question;
use metric::Question;
use report::{Group, Report};
use serde_json::{Value, json};
use with::{Named, With};

use super::semble::{Content, Peer, Semble};
use crate::program::{output, release_with_dev, say, target_dir};

/// Measures how well questions about code are answered.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The folder with the questions: `repo-queries.jsonl`, `cosqa-dev-queries.jsonl` and `cosqa-functions.jsonl`.
    #[arg(long, value_name = "DIR", required_unless_present_any = ["commits", "docs"])]
    pub(super) data: Option<PathBuf>,

    /// The folder with the repositories that `repo-queries.jsonl` names: `owner+name/repo`, `owner/name` or `name`.
    #[arg(long, value_name = "DIR")]
    pub(super) repos: Option<PathBuf>,

    /// Asks the questions of `repo-queries.jsonl` about the folder alone too, without the rest of its repository and
    /// without its history: peers publish figures of that.
    #[arg(long)]
    pub(super) alone: bool,

    /// Repositories whose commits ask: the subject is the question, the changed files are the answer.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(super) commits: Vec<PathBuf>,

    /// Repositories whose documents ask: headings, and commits that changed documents only.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(super) docs: Vec<PathBuf>,

    /// How many commits of each repository, and how many sections.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub(super) count: usize,

    /// Only sets whose name contains this (`functions` for those without a repository; may be repeated).
    #[arg(long, value_name = "TEXT")]
    pub(super) only: Vec<String>,

    /// A further column: another build of the program, with everything on (may be repeated).
    #[arg(long, value_name = "NAME=BINARY")]
    pub(super) also: Vec<Named>,

    /// A further column: another code search, asked about the files of `repo-queries.jsonl` and about sections.
    #[arg(long, value_enum)]
    pub(super) peer: Option<Peer>,

    /// Leaves out what an agent reads: tokens to the first right answer, and whether `max_tokens` is kept.
    #[arg(long)]
    pub(super) no_tokens: bool,

    /// Writes the ranks of each question, one line each.
    #[arg(long, value_name = "FILE")]
    pub(super) dump: Option<PathBuf>,

    /// Says what changed since a run that was dumped.
    #[arg(long, value_name = "FILE")]
    pub(super) against: Option<PathBuf>,

    /// Keeps the index here for the next run, which reads only what is new.
    #[arg(long, value_name = "DIR")]
    pub(super) home: Option<PathBuf>,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    pub(super) lore: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// What a set was asked.
struct Answered {
    name: String,
    /// What the program told of its index; nothing for commits, which have many.
    index: Value,
    asked: Vec<Asked>,
}

/// Everything that was asked, by where the questions are from.
#[derive(Default)]
struct All {
    repos: Vec<Answered>,
    alone: Vec<Answered>,
    functions: Option<Answered>,
    commits: Vec<Answered>,
    documents: Vec<Answered>,
}

impl All {
    fn sets(&self) -> impl Iterator<Item = &Answered> {
        self.repos.iter().chain(&self.alone).chain(&self.functions).chain(&self.commits).chain(&self.documents)
    }
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let peer = args.peer.map(|Peer::Semble| Semble::install(None)).transpose()?;
    let with = with(args, peer)?;
    let all = ask_all(args, &with)?;
    let report = Report { columns: with.columns(), groups: groups(&all) };
    if args.json {
        let indexes: Vec<Value> = all.sets().map(|set| json!({"name": set.name, "index": set.index})).collect();
        say(&serde_json::to_string_pretty(&json!({
            "lore_commit": output(crate::program::program("git").args(["rev-parse", "HEAD"])).ok(),
            "peer": with.peer.as_ref().map(|peer| &peer.about),
            "indexes": indexes,
            "groups": report.as_json(),
        }))?);
    } else {
        say(&format!("\n{}", report.text()));
        let sets: Vec<(String, Vec<&Asked>)> =
            all.sets().map(|set| (set.name.clone(), set.asked.iter().collect())).collect();
        if let Some(table) = tokens::table(&sets) {
            say(&format!("\n{table}"));
        }
        if let Some(peer) = &with.peer {
            say(&format!("\n{}", peer.about));
        }
    }
    let asked: Vec<&Asked> = all.sets().flat_map(|set| &set.asked).collect();
    if let Some(file) = &args.against {
        say(&format!("\n{}", report::compare(&asked, file)?));
    }
    args.dump.as_ref().map_or(Ok(()), |file| report::dump(&asked, &report.columns, file))
}

/// Who is asked.
fn with(args: &Args, peer: Option<Semble>) -> Result<With> {
    let binary = release_with_dev(args.lore.as_deref())?;
    let mut with = With::new(&binary, args.home.as_deref(), &args.also, peer)?;
    with.counter = with.counter.filter(|_| !args.no_tokens);
    Ok(with)
}

/// Asks everything that was wished for.
fn ask_all(args: &Args, with: &With) -> Result<All> {
    let work = target_dir()?.join("quality");
    let mut all = All::default();
    if let Some(data) = &args.data {
        ask_repos(args, with, data, &work, &mut all)?;
        all.functions = ask_functions(args, with, data, &work)?;
    }
    for path in &args.commits {
        all.commits.push(ask_commits(args, with, path)?);
    }
    for path in &args.docs {
        let (path, name) = place_of(path)?;
        all.documents.extend(documents::ask_documents(with, &name, &path, args.count, &work)?);
    }
    ensure!(all.sets().next().is_some(), "there is nothing to ask: look at --data and --only");
    Ok(all)
}

/// How well a set was answered by Lore with all parts, and by the peer where there is one.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) set: String,
    pub(super) questions: usize,
    pub(super) ndcg: f64,
    pub(super) peer: Option<f64>,
}

/// Asks everything and gives one mean for each group: NDCG@10 of results, as peers publish it.
pub(super) fn measured(args: &Args, peer: Option<Semble>) -> Result<Vec<Answers>> {
    let with = with(args, peer)?;
    let all = ask_all(args, &with)?;
    Ok(report::answers(&groups(&all), with.columns().len() - 1, with.peer.is_some()))
}

fn is_wanted(args: &Args, name: &str) -> bool {
    args.only.is_empty() || args.only.iter().any(|only| name.contains(only.as_str()))
}

/// Asks in the repository as it was, with its history; and about the folder alone where that is wanted.
fn ask_repos(args: &Args, with: &With, data: &Path, work: &Path, all: &mut All) -> Result<()> {
    for set in data::read_repo_sets(data)?.into_iter().filter(|set| is_wanted(args, &set.repo)) {
        let dir = args.repos.as_ref().context("--repos says where the repositories of `repo-queries.jsonl` are")?;
        let Some(source) = data::find_repo(dir, &set.repo) else {
            say(&format!("{} is not in {}: left out", set.repo, dir.display()));
            continue;
        };
        let folder = (args.alone || with.peer.is_some())
            .then(|| prepare::folder_at(&set.repo, &set.revision, &set.root, &source, work))
            .transpose()?;
        let bare = prepare::bare_at(&set.repo, &set.revision, &source, work)?;
        let code = |folder| (folder, Content::Code);
        let place = Place { repo: &bare, root: &set.root, history: true, folder: folder.as_deref().map(code) };
        all.repos.push(ask_one(with, &set.repo, place, &set.questions)?);
        if let Some(folder) = folder.as_deref().filter(|_| args.alone) {
            let place = Place { repo: folder, root: "", history: false, folder: Some(code(folder)) };
            all.alone.push(ask_one(with, &format!("{}, folder alone", set.repo), place, &set.questions)?);
        }
    }
    Ok(())
}

fn ask_functions(args: &Args, with: &With, data: &Path, work: &Path) -> Result<Option<Answered>> {
    let name = "functions";
    let Some(set) = data::read_function_set(data)?.filter(|_| is_wanted(args, name)) else { return Ok(None) };
    let place = prepare::functions_of(&set, work)?;
    let place = Place { repo: &place, root: "", history: false, folder: Some((&place, Content::Code)) };
    ask_one(with, name, place, &set.questions).map(Some)
}

fn ask_one(with: &With, name: &str, place: Place<'_>, questions: &[Question]) -> Result<Answered> {
    let (index, asked) = ask(with, name, place, questions)?;
    let number = |key: &str| index[key].as_u64().unwrap_or_default();
    let seconds = std::time::Duration::from_micros(number("wall_us")).as_secs_f32();
    say(&format!("{name}: {} files, {} chunks, indexed in {seconds:.1} s", number("files"), number("chunks")));
    Ok(Answered { name: name.to_owned(), index, asked })
}

fn ask_commits(args: &Args, with: &With, path: &Path) -> Result<Answered> {
    let (path, name) = place_of(path)?;
    let name = format!("commits of {name}");
    say(&name);
    let asked = commits::ask_commits(with, &name, &path, args.count, commit_question)?;
    ensure!(!asked.is_empty(), "{} has no commit that could be asked about", path.display());
    Ok(Answered { name, index: Value::Null, asked })
}

/// Where a repository is, and what it is called.
fn place_of(path: &Path) -> Result<(PathBuf, String)> {
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let place = if path.ends_with("repo") { path.parent().unwrap_or(&path) } else { &path };
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((path, name))
}

/// Each set of repositories, their categories, all of them; then the other sets, and means over repositories.
fn groups(all: &All) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = all.repos.iter().map(Group::of).collect();
    let asked: Vec<&Asked> = all.repos.iter().flat_map(|set| &set.asked).collect();
    let mut categories: Vec<&str> = asked.iter().map(|asked| asked.question.category.as_str()).collect();
    categories.sort_unstable();
    categories.dedup();
    for category in categories.into_iter().filter(|category| !category.is_empty()) {
        let asked = asked.iter().copied().filter(|asked| asked.question.category == category).collect();
        groups.push(Group { name: format!("  {category}"), sets: vec![asked], documents: false });
    }
    if all.repos.len() > 1 {
        groups.push(Group { name: "all repositories".to_owned(), sets: vec![asked], documents: false });
    }
    groups.extend(all.alone.iter().map(Group::of));
    if all.alone.len() > 1 {
        let asked = all.alone.iter().flat_map(|set| &set.asked).collect();
        groups.push(Group { name: "all folders alone".to_owned(), sets: vec![asked], documents: false });
    }
    groups.extend(all.functions.iter().map(Group::of));
    groups.extend(all.commits.iter().map(Group::of));
    groups.extend(mean_of("commits", &all.commits, ""));
    groups.extend(all.documents.iter().map(|set| Group { documents: true, ..Group::of(set) }));
    for kind in ["sections", "document commits"] {
        groups.extend(mean_of(kind, &all.documents, kind).map(|group| Group { documents: true, ..group }));
    }
    groups
}

/// All sets whose name begins so, each counting the same; nothing for fewer than two.
fn mean_of<'a>(what: &str, sets: &'a [Answered], begins: &str) -> Option<Group<'a>> {
    let sets: Vec<Vec<&Asked>> =
        sets.iter().filter(|set| set.name.starts_with(begins)).map(|set| set.asked.iter().collect()).collect();
    (sets.len() > 1).then(|| Group {
        name: format!("{what}, mean of {} repositories", sets.len()),
        sets,
        documents: false,
    })
}
