//! `cargo xtask bench cold-start`: what an agent is told that asks from the first second on, while the index is being built.
//!
//! Every answer is judged once the index is complete: an answer that lacks something has to say, in words that a model reads, that
//! the index is not complete. Times are reported and not judged.

mod answer;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use answer::{Answer, Part, Verdict, is_explained, judge, quote};
use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Lore, Random, Session, team::pause};
use serde_json::{Value, json};

use super::{
    all::{Machine, version},
    checkout::Checkout,
    grid,
    large::at_least_one,
    query::{Query, Source, paths_in},
    ratio::percentile,
    table::shown,
};
use crate::{
    check_search::misspelt,
    program::{release, say},
};

/// The same queries on every machine and day.
const SEED: u64 = 20_240_229;
/// Names that are asked about in turn, one in each round.
const NAMES: usize = 6;
/// How long an agent thinks between two rounds.
const PAUSE: Duration = Duration::from_millis(300);
/// An index that takes longer counts as one that never comes.
const PATIENCE: Duration = Duration::from_hours(2);
/// So many answers are quoted; `--json` has all of them.
const SHOWN: usize = 20;
/// How the quote of an answer with some of the results begins.
const PARTIAL: &str = "partial";
/// The toolsets with the tools below.
const TOOLSETS: &str = "history,context,code,repos";

/// Measures the first calls of an agent.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repositories.
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    repo: Vec<PathBuf>,

    /// How often each is indexed from nothing.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    runs: usize,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// Writes what was measured here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Measures, prints and writes; fails where an answer lacked something and did not say so.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = release(args.lore.as_deref())?;
    let mut runs = Vec::new();
    for repo in &args.repo {
        for number in 1..=args.runs {
            let run = Run::new(&binary, repo)?;
            say(&format!("{}, run {number} of {}: {}", run.repo, args.runs, run.line()));
            runs.push(run);
        }
    }
    say(&format!("\n{}", table(&runs)));
    if let Some(file) = &args.json {
        let told = json!({
            "lore": version(&binary, args.lore.is_some())?,
            "machine": Machine::this(),
            "runs": runs.iter().map(Run::json).collect::<Vec<_>>(),
        });
        fs::write(file, serde_json::to_string_pretty(&told)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let mut silent: Vec<&String> = runs.iter().flat_map(|run| &run.silent).collect();
    // The empty ones are the worse.
    silent.sort_by_key(|quoted| quoted.starts_with(PARTIAL));
    for quoted in silent.iter().take(SHOWN) {
        say(&format!("\n{quoted}"));
    }
    if silent.len() > SHOWN {
        say(&format!("\n… and {} more", silent.len() - SHOWN));
    }
    ensure!(
        silent.is_empty(),
        "{} answers lacked something and did not say that the index is incomplete",
        silent.len()
    );
    Ok(())
}

/// A call of a tool.
struct Question {
    kind: &'static str,
    tool: &'static str,
    arguments: Value,
    part: Part,
    /// Whether the answer counts all matches, however few it shows.
    is_counted: bool,
    /// Which of the names it is about.
    name: usize,
}

/// The calls of a round about each name, and the files that have the name.
struct Questions {
    all: Vec<Question>,
    files: Vec<BTreeSet<String>>,
}

impl Questions {
    fn of(checkout: &Checkout) -> Result<Self> {
        let mut random = Random::new(SEED);
        let source = Source::of(&checkout.path, &mut random)?;
        let (mut all, mut files) = (Vec::new(), Vec::new());
        for name in 0..NAMES {
            let text = random.pick(&source.names).clone();
            let (start, end) = text.split_at(text.len() / 2);
            let literal = Query::of_pattern(json!({"kind": "literal", "text": text, "case_sensitive": true}));
            let mut grep = literal.git_grep(&checkout.path).context("git looks for literals")?;
            files.push(paths_in(&grep.output()?.stdout));
            let regex = json!({"kind": "regex", "text": format!("{start}.*{end}"), "case_sensitive": true});
            let fuzzy = json!({"kind": "fuzzy", "text": misspelt(&text, 1, &mut random), "changes": 1});
            for (kind, query) in [
                ("semantic", Query::of_text("semantic", &text)),
                ("hybrid", Query::of_text("hybrid", &text)),
                ("literal", literal),
                ("regex", Query::of_pattern(regex)),
                ("fuzzy", Query::of_pattern(fuzzy)),
            ] {
                let (is_counted, arguments) = (query.arguments["search_mode"] == "fts", query.arguments);
                all.push(Question { kind, tool: "search_code", arguments, part: Part::Code, is_counted, name });
            }
            let mut others = |kind, tool, arguments, part| {
                all.push(Question { kind, tool, arguments, part, is_counted: false, name });
            };
            others("context", "cortex_search", json!({"query": text}), Part::Code);
            others("history", "commitmux_search", json!({"query": source.word(&mut random)}), Part::History);
            // The last of a round: it tells what the calls before it were answered from.
            others("status", "get_repository_status", json!({}), Part::Status);
        }
        Ok(Self { all, files })
    }
}

/// A call that was answered.
struct Call {
    question: usize,
    /// Since the start of the server.
    at: Duration,
    answer: Answer,
    /// The answer as it came, where it says nothing of the index.
    quoted: String,
    was_incomplete: bool,
}

/// One index that was built from nothing.
struct Run {
    repo: String,
    /// Seconds to the first result that is in a file with the name that was asked about, by kind.
    first: BTreeMap<&'static str, f64>,
    /// Seconds until everything was indexed.
    complete: f64,
    verdicts: Vec<Verdict>,
    /// Answers that lack something and do not say so, as they are told.
    silent: Vec<String>,
}

impl Run {
    /// Starts a server in a new checkout with a new home, and calls tools until the index is complete.
    fn new(binary: &Path, repo: &Path) -> Result<Self> {
        let checkout = Checkout::new(repo, "HEAD")?;
        let questions = Questions::of(&checkout)?;
        let lore = Lore::new(binary);
        let mut command = lore.command(&["serve", "--toolsets", TOOLSETS]);
        command.current_dir(&checkout.path);
        let started = Instant::now();
        let mut session = Session::start(command)?;
        session.initialize()?;
        let mut ask = |question: &Question| {
            session.answer("tools/call", &json!({"name": question.tool, "arguments": question.arguments}))
        };
        let (mut calls, mut name) = (Vec::<Call>::new(), 0);
        let complete = loop {
            let begun = calls.len();
            for (number, question) in questions.all.iter().enumerate().filter(|(_, question)| question.name == name) {
                let message = ask(question)?;
                let answer = Answer::of(&message);
                let quoted = if is_explained(&answer.said) { String::new() } else { quote(&message) };
                calls.push(Call { question: number, at: started.elapsed(), answer, quoted, was_incomplete: false });
            }
            let status = calls.pop().context("the status comes last")?;
            for call in &mut calls[begun..] {
                call.was_incomplete = !status.answer.is_complete(questions.all[call.question].part);
            }
            let (at, is_complete) = (status.at, status.answer.is_complete(Part::Status));
            calls.push(status);
            if is_complete {
                break at;
            }
            ensure!(started.elapsed() < PATIENCE, "the index is not complete after {} s", PATIENCE.as_secs());
            name = (name + 1) % NAMES;
            pause(PAUSE);
        };
        let whole: Vec<Answer> =
            questions.all.iter().map(|question| Ok(Answer::of(&ask(question)?))).collect::<Result<_>>()?;
        let ended = session.end()?;
        ensure!(ended.status.success(), "lore serve ended with {}: {}", ended.status, ended.log);
        Ok(Self::judged(checkout.name, &questions, &calls, &whole, complete))
    }

    fn judged(repo: String, questions: &Questions, calls: &[Call], whole: &[Answer], complete: Duration) -> Self {
        let (mut first, mut verdicts, mut silent) = (BTreeMap::new(), Vec::new(), Vec::new());
        for call in calls {
            let question = &questions.all[call.question];
            let verdict = judge(&call.answer, &whole[call.question], question.is_counted, call.was_incomplete);
            let at = call.at.as_secs_f64();
            if verdict == Verdict::EmptySilent || verdict == Verdict::PartialSilent {
                let what = if verdict == Verdict::EmptySilent { "empty" } else { PARTIAL };
                let Question { tool, arguments, .. } = question;
                silent.push(format!("{what} and silent: {repo}, {at:.1} s, {tool} {arguments}: {}", call.quoted));
            }
            if !call.answer.files.is_disjoint(&questions.files[question.name]) {
                first.entry(question.kind).or_insert(at);
            }
            verdicts.push(verdict);
        }
        Self { repo, first, complete: complete.as_secs_f64(), verdicts, silent }
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.iter().filter(|one| **one == verdict).count()
    }

    /// Seconds to the first useful answer of any kind; none where the index was complete before there was one.
    fn first_useful(&self) -> Option<f64> {
        self.first.values().copied().min_by(f64::total_cmp)
    }

    fn line(&self) -> String {
        let first = self
            .first_useful()
            .map_or_else(|| "no useful answer".to_owned(), |first| format!("first useful answer {first:.2} s"));
        format!(
            "{first}, complete {:.1} s, {} answers, {} silent",
            self.complete,
            self.verdicts.len(),
            self.silent.len()
        )
    }

    fn json(&self) -> Value {
        json!({
            "repo": self.repo,
            "first_useful_s": self.first_useful(),
            "first_useful_s_by_kind": self.first,
            "complete_s": self.complete,
            "answers": self.verdicts.len(),
            "empty_explained": self.count(Verdict::EmptyExplained),
            "empty_silent": self.count(Verdict::EmptySilent),
            "partial_explained": self.count(Verdict::PartialExplained),
            "partial_silent": self.count(Verdict::PartialSilent),
            "silent": self.silent,
        })
    }
}

/// A row for each repository: medians of times with the longest, sums of answers.
fn table(runs: &[Run]) -> String {
    const HEAD: [&str; 8] = [
        "",
        "runs",
        "first useful answer (longest)",
        "complete index (longest)",
        "answers",
        "empty, said why (did not)",
        "partial, said so (did not)",
        "whole",
    ];
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    let repos: BTreeSet<&str> = runs.iter().map(|run| run.repo.as_str()).collect();
    for repo in repos {
        let of: Vec<&Run> = runs.iter().filter(|run| run.repo == repo).collect();
        let times = |values: Vec<f64>| match values.len() {
            0 => "none".to_owned(),
            _ => format!("{} s ({} s)", shown(percentile(&values, 50)), shown(percentile(&values, 100))),
        };
        let sum = |verdict| of.iter().map(|run| run.count(verdict)).sum::<usize>();
        let both = |said, silent| format!("{} ({})", sum(said), sum(silent));
        rows.push(vec![
            repo.to_owned(),
            of.len().to_string(),
            times(of.iter().filter_map(|run| run.first_useful()).collect()),
            times(of.iter().map(|run| run.complete).collect()),
            of.iter().map(|run| run.verdicts.len()).sum::<usize>().to_string(),
            both(Verdict::EmptyExplained, Verdict::EmptySilent),
            both(Verdict::PartialExplained, Verdict::PartialSilent),
            sum(Verdict::Whole).to_string(),
        ]);
    }
    grid(&rows)
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
    fn several_repositories_are_named_at_once() {
        let typed = |line: &str| Typed::try_parse_from(line.split(' ')).map(|typed| typed.args);
        let args = typed("cold-start --repo a b --runs 2").unwrap();
        assert_eq!((args.repo.len(), args.runs), (2, 2));
        assert_eq!(typed("cold-start --repo a").unwrap().runs, 5);
        assert!(typed("cold-start").is_err() && typed("cold-start --repo a --runs 0").is_err());
    }
}
