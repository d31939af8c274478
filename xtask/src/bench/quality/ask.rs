//! Asks the program: one process indexes, one asks all questions of a set with every part of the ranking in turn.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore};
use serde_json::{Value, json};

use super::{
    data::Question,
    metric::{Found, file_ranks, ndcg, reciprocal_rank, result_ranks},
};

/// How many ranks count.
pub(crate) const DEPTH: usize = 10;

/// So many results give ten files nearly always, and more would make the program look further than it does for a user.
const RESULTS: &str = "49";

/// Which parts of the ranking are on, and what that is called.
pub(crate) const WAYS: [(&str, &str); 5] =
    [("text", "words"), ("meaning", "model"), ("text,meaning", "both"), ("text,rules", "no model"), ("all", "all")];

/// How one question was answered in one way.
#[derive(Debug, Clone)]
pub(crate) struct Score {
    /// The rank of each target among files.
    pub(crate) ranks: Vec<Option<usize>>,
    pub(crate) ndcg: f64,
    /// The same over the first ten results as they are, several of one file included.
    pub(crate) shown: f64,
    pub(crate) reciprocal: f64,
    /// The first files.
    pub(crate) files: Vec<String>,
}

/// A question with its score in each of [`WAYS`].
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) set: String,
    pub(crate) question: Question,
    pub(crate) scores: Vec<Score>,
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
    pub(crate) fn json(&self, args: &[&str]) -> Result<Value> {
        let mut command = self.lore.command(args);
        if let Some(home) = &self.home {
            command.env("LORE_HOME", home);
        }
        let text = crate::program::output(&mut command)?;
        serde_json::from_str(&text).with_context(|| format!("lore {} printed {text}", args.join(" ")))
    }

    /// Indexes a repository; gives what the program tells of it.
    pub(crate) fn index(&self, repo: &Path) -> Result<Value> {
        self.json(&["debug", "index", path(repo)?])
    }

    /// Asks in every way.
    pub(crate) fn ask(&self, set: &str, repo: &Path, questions: &[Question]) -> Result<Vec<Asked>> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("queries");
        let lines: Vec<String> =
            questions.iter().map(|question| json!({"query": question.query}).to_string()).collect();
        fs::write(&file, lines.join("\n"))?;
        let mut args = vec!["debug", "queries", path(&file)?, "--repo", path(repo)?, "--limit", RESULTS];
        for (parts, _) in WAYS {
            args.extend(["--parts", parts]);
        }
        let told = self.json(&args)?;
        let head = Git::at(repo).text(&["rev-parse", "HEAD"])?;
        let runs = told["runs"].as_array().context("`lore debug queries` did not tell its runs")?;
        ensure!(runs.len() == WAYS.len(), "`lore debug queries` made {} runs", runs.len());
        let score = |at: usize, run: &Value| -> Result<Score> {
            let searched = &run["answers"][at]["commit"];
            ensure!(*searched == head.as_str(), "{} was searched at {searched}, not at {head}", repo.display());
            let results =
                run["answers"][at]["results"].as_array().context("`lore debug queries` left a question out")?;
            Ok(score(&results.iter().map(found).collect::<Result<Vec<_>>>()?, &questions[at]))
        };
        let asked = |(at, question): (usize, &Question)| {
            let scores = runs.iter().map(|run| score(at, run)).collect::<Result<_>>()?;
            Ok(Asked { set: set.to_owned(), question: question.clone(), scores })
        };
        questions.iter().enumerate().map(asked).collect()
    }
}

fn score(results: &[Found], question: &Question) -> Score {
    let ranks = file_ranks(results, &question.relevant);
    let mut files: Vec<String> = Vec::new();
    for found in results {
        if files.len() < DEPTH && !files.contains(&found.path) {
            files.push(found.path.clone());
        }
    }
    Score {
        ndcg: ndcg(&ranks, DEPTH),
        shown: ndcg(&result_ranks(results, &question.relevant), DEPTH),
        reciprocal: reciprocal_rank(&ranks),
        ranks,
        files,
    }
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

pub(crate) fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
