//! Asks the program: one process indexes, one asks all questions of a set with every part of the ranking in turn.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore};
use serde_json::{Value, json};

use super::{
    super::semble::Content,
    metric::{Found, Question, RESULTS, Score, score},
    tokens::{Counter, ROOMS, Tokens},
    ways::{ALL, WAYS},
    with::{Also, With},
};

/// A question with its score in each column; none where that column was not asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) set: String,
    pub(crate) question: Question,
    pub(crate) scores: Vec<Option<Score>>,
    /// What an agent reads of it.
    pub(crate) tokens: Option<Tokens>,
}

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The repository that Lore indexes.
    pub(crate) repo: &'a Path,
    /// Only files below this folder; empty for all.
    pub(crate) root: &'a str,
    /// Whether its commits count.
    pub(crate) history: bool,
    /// The same files on disk, for a peer, and what it is to take of them; none where it is not asked.
    pub(crate) folder: Option<(&'a Path, Content)>,
}

/// The program with an index of its own, or one that is kept.
pub(crate) struct Program {
    lore: Lore,
    home: Option<PathBuf>,
}

impl Program {
    pub(crate) fn new(binary: &Path, home: Option<PathBuf>) -> Result<Self> {
        if let Some(home) = &home {
            fs::create_dir_all(home)?;
        }
        let home = home.map(|home| home.canonicalize()).transpose()?;
        Ok(Self { lore: Lore::new(binary), home })
    }

    /// Runs to the end and reads what was printed.
    fn json(&self, args: &[&str]) -> Result<Value> {
        let mut command = self.lore.dev(args);
        if let Some(home) = &self.home {
            command.env("LORE_HOME", home);
        }
        let text = crate::program::output(&mut command)?;
        serde_json::from_str(&text).with_context(|| format!("lore-dev {} printed {text}", args.join(" ")))
    }

    /// Indexes a repository; gives what the program tells of it.
    fn index(&self, place: Place<'_>) -> Result<Value> {
        let mut args = vec!["index", path(place.repo)?];
        args.extend(place.history.then_some("--history"));
        self.json(&args)
    }

    /// Asks with each of these parts, and with these further arguments.
    fn ask(&self, place: Place<'_>, file: &Path, parts: &[&str], more: &[&str]) -> Result<Value> {
        let (limit, below) = (RESULTS.to_string(), format!("{}/**", place.root));
        let mut args = vec!["queries", path(file)?, "--repo", path(place.repo)?, "--limit", &limit];
        if !place.root.is_empty() {
            args.extend(["--path", &below]);
        }
        for parts in parts {
            args.extend(["--parts", parts]);
        }
        args.extend(more);
        self.json(&args)
    }
}

/// Indexes and asks, in every column.
pub(crate) fn ask(with: &With, set: &str, place: Place<'_>, questions: &[Question]) -> Result<(Value, Vec<Asked>)> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("queries");
    let lines: Vec<String> = questions.iter().map(|question| json!({"query": question.query}).to_string()).collect();
    fs::write(&file, lines.join("\n"))?;
    let index = with.program.index(place)?;
    let rooms: Vec<String> = ROOMS.iter().map(ToString::to_string).collect();
    let rooms: Vec<&str> = rooms.iter().flat_map(|room| ["--agent", room]).collect();
    let parts: Vec<&str> = WAYS.iter().map(|way| way.parts).collect();
    let more = if with.counter.is_some() { rooms.as_slice() } else { &[] };
    let told = with.program.ask(place, &file, &parts, more)?;
    let mut columns = scores(&told, place, questions, parts.len())?;
    for Also { program, .. } in &with.also {
        program.index(place)?;
        columns.extend(scores(&program.ask(place, &file, &[ALL], &[])?, place, questions, 1)?);
    }
    if with.peer.is_some() {
        columns.push(peer_scores(with, place, questions, dir.path())?);
    }
    let asked = questions.iter().enumerate().map(|(at, question)| {
        let tokens = with.counter.as_ref().map(|counter| tokens(counter, &told, at, question)).transpose()?;
        let scores = columns.iter().map(|column| column.get(at).cloned()).collect();
        Ok(Asked { set: set.to_owned(), question: question.clone(), scores, tokens })
    });
    Ok((index, asked.collect::<Result<_>>()?))
}

/// A column for each run: a score for each question.
fn scores(told: &Value, place: Place<'_>, questions: &[Question], expected: usize) -> Result<Vec<Vec<Score>>> {
    let head = Git::at(place.repo).text(&["rev-parse", "HEAD"])?;
    let runs = told["runs"].as_array().context("`lore-dev queries` did not tell its runs")?;
    ensure!(runs.len() == expected, "`lore-dev queries` made {} runs", runs.len());
    let one = |run: &Value, at: usize| -> Result<Score> {
        let searched = &run["answers"][at]["commit"];
        ensure!(*searched == head.as_str(), "{} was searched at {searched}, not at {head}", place.repo.display());
        let results = run["answers"][at]["results"].as_array().context("`lore-dev queries` left a question out")?;
        Ok(score(&results.iter().map(found).collect::<Result<Vec<_>>>()?, &questions[at]))
    };
    runs.iter().map(|run| (0..questions.len()).map(|at| one(run, at)).collect()).collect()
}

/// What the peer gives; nothing where it has no folder to look into.
fn peer_scores(with: &With, place: Place<'_>, questions: &[Question], dir: &Path) -> Result<Vec<Score>> {
    let (Some(peer), Some((folder, content))) = (&with.peer, place.folder) else { return Ok(Vec::new()) };
    let file = dir.join("lines");
    let lines: Vec<String> = questions.iter().map(|question| question.query.replace(['\n', '\r'], " ")).collect();
    fs::write(&file, lines.join("\n"))?;
    let answers = peer.results(folder, &file, content)?;
    ensure!(answers.len() == questions.len(), "the peer answered {} of {} questions", answers.len(), questions.len());
    Ok(answers.iter().zip(questions).map(|(answer, question)| score(answer, question)).collect())
}

fn tokens(counter: &Counter, told: &Value, at: usize, question: &Question) -> Result<Tokens> {
    let text = |room: usize| {
        let text = told["agent"][room]["texts"][at].as_str();
        text.with_context(|| format!("`lore-dev queries` did not tell what an agent reads of {}", question.query))
    };
    let texts = (0..ROOMS.len()).map(text).collect::<Result<Vec<_>>>()?;
    counter.count(&texts, question)
}

fn found(value: &Value) -> Result<Found> {
    let line = |at: usize| value["lines"][at].as_u64().with_context(|| format!("a result without lines: {value}"));
    let also_at = value["also_at"].as_array().into_iter().flatten();
    Ok(Found {
        path: value["path"].as_str().with_context(|| format!("a result without a path: {value}"))?.to_owned(),
        also_at: also_at.filter_map(|path| path.as_str().map(str::to_owned)).collect(),
        lines: (line(0)?, line(1)?),
    })
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
