//! `cargo xtask bench quality`: how well questions are answered, with parts of the ranking switched on and off.
//!
//! It compares files, not texts, and judges nothing: the figures say whether a change made answers better.

mod ask;
mod commits;
mod data;
mod metric;
mod prepare;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use ask::{Asked, Program};
use report::Group;
use serde_json::{Value, json};

use crate::program::{build_release, output, say, target_dir};

/// Measures how well questions about code are answered.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder with the questions: `repo-queries.jsonl`, `cosqa-dev-queries.jsonl` and `cosqa-functions.jsonl`.
    #[arg(long, value_name = "DIR", required_unless_present = "commits")]
    data: Option<PathBuf>,

    /// The folder with the repositories that `repo-queries.jsonl` names: `owner+name/repo`, `owner/name` or `name`.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,

    /// A repository whose commits ask: the subject is the question, the changed files are the answer (may be repeated).
    #[arg(long, value_name = "PATH")]
    commits: Vec<PathBuf>,

    /// How many commits of each repository.
    #[arg(long, default_value_t = 100, value_name = "N")]
    count: usize,

    /// Only sets whose name contains this (`functions` for those without a repository; may be repeated).
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,

    /// Writes the ranks of each question, one line each.
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,

    /// Says what changed since a run that was dumped.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    /// Keeps the index here for the next run, which reads only what is new.
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// What a set was asked.
struct Answered {
    name: String,
    /// What the program told of its index; nothing for commits, which have many.
    index: Value,
    asked: Vec<Asked>,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = args.lore.clone().map_or_else(build_release, Ok)?;
    let binary = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
    let work = target_dir()?.join("quality");
    let program = Program::new(&binary, args.home.clone())?;
    let mut repos = Vec::new();
    let mut others = Vec::new();
    if let Some(data) = &args.data {
        repos = ask_repos(args, &program, data, &work)?;
        others.extend(ask_functions(args, &program, data, &work)?);
    }
    for path in &args.commits {
        others.push(ask_commits(args, &program, path)?);
    }
    ensure!(!repos.is_empty() || !others.is_empty(), "there is nothing to ask: look at --data and --only");
    let groups = groups(&repos, &others);
    let indexes: Vec<Value> =
        repos.iter().chain(&others).map(|set| json!({"name": set.name, "index": set.index})).collect();
    if args.json {
        say(&serde_json::to_string_pretty(&json!({
            "lore_commit": output(crate::program::program("git").args(["rev-parse", "HEAD"])).ok(),
            "indexes": indexes,
            "groups": report::as_json(&groups),
        }))?);
    } else {
        say(&format!("\n{}", report::tables(&groups)));
    }
    let all: Vec<Asked> = repos.into_iter().chain(others).flat_map(|set| set.asked).collect();
    if let Some(file) = &args.against {
        say(&format!("\n{}", report::compare(&all, file)?));
    }
    args.dump.as_ref().map_or(Ok(()), |file| report::dump(&all, file))
}

fn is_wanted(args: &Args, name: &str) -> bool {
    args.only.is_empty() || args.only.iter().any(|only| name.contains(only.as_str()))
}

fn ask_repos(args: &Args, program: &Program, data: &Path, work: &Path) -> Result<Vec<Answered>> {
    let mut answered = Vec::new();
    for set in data::read_repo_sets(data)?.into_iter().filter(|set| is_wanted(args, &set.repo)) {
        let dir = args.repos.as_ref().context("--repos says where the repositories of `repo-queries.jsonl` are")?;
        let Some(source) = data::find_repo(dir, &set.repo) else {
            say(&format!("{} is not in {}: left out", set.repo, dir.display()));
            continue;
        };
        let place = prepare::repo_of(&set, &source, work)?;
        answered.push(ask_one(program, &set.repo, &place, &set.questions)?);
    }
    Ok(answered)
}

fn ask_functions(args: &Args, program: &Program, data: &Path, work: &Path) -> Result<Option<Answered>> {
    let name = "functions";
    let Some(set) = data::read_function_set(data)?.filter(|_| is_wanted(args, name)) else { return Ok(None) };
    let place = prepare::functions_of(&set, work)?;
    ask_one(program, name, &place, &set.questions).map(Some)
}

fn ask_one(program: &Program, name: &str, place: &Path, questions: &[data::Question]) -> Result<Answered> {
    let index = program.index(place)?;
    let number = |key: &str| index[key].as_u64().unwrap_or_default();
    let seconds = std::time::Duration::from_micros(number("wall_us")).as_secs_f32();
    say(&format!("{name}: {} files, {} chunks, indexed in {seconds:.1} s", number("files"), number("chunks")));
    let asked = program.ask(name, place, questions)?;
    Ok(Answered { name: name.to_owned(), index, asked })
}

fn ask_commits(args: &Args, program: &Program, path: &Path) -> Result<Answered> {
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let place = if path.ends_with("repo") { path.parent().unwrap_or(&path) } else { &path };
    let name = format!("commits of {}", place.file_name().unwrap_or_default().to_string_lossy());
    say(&name);
    let asked = commits::ask(program, &name, &path, args.count)?;
    Ok(Answered { name, index: Value::Null, asked })
}

/// Each set of repositories, their categories, all of them; then the other sets.
fn groups<'a>(repos: &'a [Answered], others: &'a [Answered]) -> Vec<Group<'a>> {
    let of = |set: &'a Answered| Group { name: set.name.clone(), asked: set.asked.iter().collect() };
    let mut groups: Vec<Group<'a>> = repos.iter().map(of).collect();
    let all: Vec<&Asked> = repos.iter().flat_map(|set| &set.asked).collect();
    let mut categories: Vec<&str> = all.iter().map(|asked| asked.question.category.as_str()).collect();
    categories.sort_unstable();
    categories.dedup();
    for category in categories.into_iter().filter(|category| !category.is_empty()) {
        let asked = all.iter().copied().filter(|asked| asked.question.category == category).collect();
        groups.push(Group { name: format!("  {category}"), asked });
    }
    if repos.len() > 1 {
        groups.push(Group { name: "all repositories".to_owned(), asked: all });
    }
    groups.extend(others.iter().map(of));
    groups
}
