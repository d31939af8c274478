//! Queries of every kind that `search_code` has, drawn from a repository, and the programs that answer them.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Lore, Random, Session, Words};
use serde_json::{Value, json};

use super::search::{pattern, ripgrep_for};
use crate::check_search::{Sample, escape, grep_in};

/// The kinds of queries.
pub(super) const KINDS: [&str; 5] = ["semantic", "hybrid", "literal", "regex", "fuzzy"];

/// How a server for these queries is started.
const SERVE: [&str; 4] = ["serve", "--no-refresh", "--toolsets", "code"];

/// What queries are drawn from.
pub(super) struct Source {
    words: Words,
    pub(super) names: Vec<String>,
    sample: Sample,
}

impl Source {
    /// Reads the words of a repository's history and the names in its files.
    pub(super) fn of(repo: &Path, random: &mut Random) -> Result<Self> {
        let sample = Sample::new(repo, random)?;
        ensure!(!sample.names.is_empty(), "the repository has no names to look for");
        Ok(Self { words: Words::of(repo)?, names: sample.names.clone(), sample })
    }

    /// A query of this kind.
    pub(super) fn query(&self, kind: &str, number: usize, random: &mut Random) -> Query {
        match kind {
            "semantic" | "hybrid" => Query::of_text(kind, &self.words.some(random)),
            _ => Query::of_pattern(pattern(kind, number, &self.sample, random)),
        }
    }

    /// A word of the history.
    pub(super) fn word(&self, random: &mut Random) -> &str {
        self.words.word(random)
    }
}

/// A query as each program takes it.
#[derive(Debug)]
pub(super) struct Query {
    /// The arguments of `search_code`.
    pub(super) arguments: Value,
    /// What lines are looked for, as in [`pattern`].
    pattern: Option<Value>,
}

impl Query {
    /// A query by meaning (`semantic`), or by words as well (`hybrid`).
    pub(super) fn of_text(mode: &str, text: &str) -> Self {
        Self { arguments: json!({"query_text": text, "search_mode": mode}), pattern: None }
    }

    /// A query for lines. `search_code` takes a literal as an expression that matches nothing else.
    pub(super) fn of_pattern(pattern: Value) -> Self {
        let text = pattern["text"].as_str().unwrap_or_default();
        let arguments = if pattern["kind"] == "fuzzy" {
            json!({"query_text": text, "search_mode": "fts", "fuzzy": true, "edit_distance": pattern["changes"]})
        } else {
            let text = if pattern["kind"] == "literal" { escape(text) } else { text.to_owned() };
            let case = &pattern["case_sensitive"];
            json!({"query_text": text, "search_mode": "fts", "regex": true, "case_sensitive": case})
        };
        Self { arguments, pattern: Some(pattern) }
    }

    /// What a program that looks at every line is given; `None` where it has no such query.
    fn lines(&self) -> Option<&Value> {
        self.pattern.as_ref().filter(|pattern| pattern["kind"] != "fuzzy")
    }

    /// `git grep` for it, where git has such a query.
    pub(super) fn git_grep(&self, checkout: &Path) -> Option<Command> {
        let pattern = self.lines()?;
        let mut command = grep_in(checkout);
        command.arg(if pattern["kind"] == "literal" { "-F" } else { "-P" });
        command.args((pattern["case_sensitive"] != true).then_some("-i"));
        command.args(["-e", pattern["text"].as_str().unwrap_or_default()]);
        Some(command)
    }
}

/// A program that answers queries.
pub(super) enum Program<'a> {
    /// `lore serve` that runs.
    Running(Session),
    /// `lore serve` that is started for each query.
    Started(&'a Lore),
    /// ripgrep, started for each query.
    Ripgrep(&'a Path),
    /// `git grep`, started for each query.
    GitGrep,
}

/// What a program answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) took: Duration,
    /// Files with a match; `None` where that is not known, as where time was up.
    pub(super) paths: Option<BTreeSet<String>>,
}

impl Program<'_> {
    /// Starts a server and opens its index.
    pub(super) fn running(lore: &Lore) -> Result<Self> {
        let mut session = Session::start(lore.command(&SERVE))?;
        session.initialize()?;
        Ok(Self::Running(session))
    }

    /// Ends a server that runs.
    pub(super) fn end(self) -> Result<()> {
        let Self::Running(session) = self else { return Ok(()) };
        let ended = session.end()?;
        ensure!(ended.status.success(), "lore serve ended with {}: {}", ended.status, ended.log);
        Ok(())
    }

    /// Answers a query; `None` where the program has no such query.
    pub(super) fn answer(&mut self, query: &Query, checkout: &Path) -> Result<Option<Answer>> {
        let started = Instant::now();
        match self {
            Self::Running(session) => search_code(session, query, started).map(Some),
            Self::Started(lore) => {
                let mut session = Session::start(lore.command(&SERVE))?;
                session.initialize()?;
                let answer = search_code(&mut session, query, started)?;
                session.end()?;
                Ok(Some(answer))
            }
            Self::Ripgrep(rg) => {
                let Some(pattern) = query.lines() else { return Ok(None) };
                ripgrep_for(rg, checkout, pattern).output().context("cannot start ripgrep")?;
                // It leaves out what `.gitignore` names and hidden files, so there is nothing to compare.
                Ok(Some(Answer { took: started.elapsed(), paths: None }))
            }
            Self::GitGrep => {
                let Some(mut command) = query.git_grep(checkout) else { return Ok(None) };
                let output = command.output().context("cannot start git")?;
                let took = started.elapsed();
                // 1 says that there is no match, more that git gave up.
                let is_done = output.status.code().is_some_and(|code| code < 2);
                Ok(Some(Answer { took, paths: is_done.then(|| paths_in(&output.stdout)) }))
            }
        }
    }
}

fn search_code(session: &mut Session, query: &Query, started: Instant) -> Result<Answer> {
    let answer = session.call("search_code", &query.arguments)?;
    let took = started.elapsed();
    let value = answer.value().with_context(|| format!("search_code {}", query.arguments))?;
    let found = &value["results"];
    let results = found["results"].as_array().with_context(|| format!("search_code answered {value}"))?;
    let paths = results.iter().filter_map(|result| Some(result["file_path"].as_str()?.to_owned())).collect();
    let is_done = found["query_metadata"]["timeout_occurred"] == false;
    Ok(Answer { took, paths: is_done.then_some(paths) })
}

/// The paths in what `git grep -n -z` printed.
pub(super) fn paths_in(printed: &[u8]) -> BTreeSet<String> {
    let lines = printed.split(|byte| *byte == b'\n').filter(|line| line.contains(&0));
    let path = |line: &[u8]| String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or(line)).into_owned();
    lines.map(path).collect()
}

/// What is wrong with Lore's answer, as git has it: Lore shows a few of the files with a match, and no other.
pub(super) fn difference(query: &Query, lore: &Answer, git: &Answer) -> Option<String> {
    let (ours, theirs) = (lore.paths.as_ref()?, git.paths.as_ref()?);
    let query = &query.arguments;
    if let Some(path) = ours.difference(theirs).next() {
        return Some(format!("{query}: lore names {path}, where git finds nothing"));
    }
    let missed = theirs.first().filter(|_| ours.is_empty())?;
    Some(format!("{query}: lore finds nothing, git finds {} files, such as {missed}", theirs.len()))
}

#[cfg(test)]
mod tests {
    use lore_testkit::Repo;

    use super::*;

    fn answer(paths: Option<&[&str]>) -> Answer {
        let paths = paths.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect());
        Answer { took: Duration::ZERO, paths }
    }

    #[test]
    fn git_grep_finds_what_search_code_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("shop"));
        repo.write("a b.rs", "fn parseConfig() {}\nparseConfig();\n")
            .write("c.rs", "fn parseconfig() {}\n")
            .commit("all");
        let found = |pattern: Value| {
            let query = Query::of_pattern(pattern);
            let answer = Program::GitGrep.answer(&query, repo.path()).unwrap();
            let paths: Option<Vec<String>> = answer.map(|answer| answer.paths.unwrap().into_iter().collect());
            paths.map_or_else(|| "no such query".to_owned(), |paths| paths.join(", "))
        };
        for (pattern, expected) in [
            (json!({"kind": "literal", "text": "parseConfig()", "case_sensitive": true}), "a b.rs"),
            (json!({"kind": "literal", "text": "parseConfig()", "case_sensitive": false}), "a b.rs, c.rs"),
            (json!({"kind": "regex", "text": "^fn \\w+config", "case_sensitive": true}), "c.rs"),
            (json!({"kind": "regex", "text": "nothing", "case_sensitive": true}), ""),
            (json!({"kind": "fuzzy", "text": "parsConfig", "changes": 1}), "no such query"),
        ] {
            assert_eq!(found(pattern.clone()), expected, "{pattern}");
        }
    }

    #[test]
    fn a_literal_is_asked_for_as_an_expression_that_means_itself() {
        let literal = Query::of_pattern(json!({"kind": "literal", "text": "a.b(", "case_sensitive": false}));
        assert_eq!(
            literal.arguments,
            json!({"query_text": "a\\.b\\(", "search_mode": "fts", "regex": true, "case_sensitive": false})
        );
        let fuzzy = Query::of_pattern(json!({"kind": "fuzzy", "text": "pasre", "changes": 2}));
        assert_eq!(
            fuzzy.arguments,
            json!({"query_text": "pasre", "search_mode": "fts", "fuzzy": true, "edit_distance": 2})
        );
    }

    #[test]
    fn an_answer_is_wrong_where_git_finds_nothing_or_alone_finds_something() {
        let query = Query::of_text("hybrid", "x");
        let wrong = |ours, theirs| difference(&query, &answer(ours), &answer(theirs)).unwrap_or_default();
        assert_eq!(wrong(Some(&["a"]), Some(&["a", "b"])), "");
        assert_eq!(wrong(Some(&[]), Some(&[])), "");
        assert_eq!(wrong(None, Some(&["a"])), "", "time was up");
        assert_eq!(wrong(Some(&["a"]), None), "", "git gave up");
        assert!(wrong(Some(&["a", "c"]), Some(&["a"])).ends_with("lore names c, where git finds nothing"));
        assert!(wrong(Some(&[]), Some(&["a", "b"])).ends_with("git finds 2 files, such as a"));
    }
}
