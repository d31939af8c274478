//! `lore debug queries`: asks many questions in one process, with parts of the ranking switched on and off.

use std::{
    path::PathBuf,
    str::FromStr,
    time::{Duration, Instant},
};

use lore_bench::Times;
use lore_core::search::{CodeHit, CodeRequest, Parts};
use lore_model::{Failure, Repo};
use serde_json::{Value, json};

use super::{
    super::bench::{agent, parts::parts},
    Context, absolute, micros, read_queries, registered,
};

/// Ask the questions of a file
#[derive(clap::Args)]
pub(super) struct Args {
    /// One question on each line, as it is or as an object with `query`
    file: PathBuf,
    /// The repository, which `lore debug index` has indexed
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Only files below this folder
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    /// Parts of the ranking that are on: `text`, `meaning`, `second`, `rules` and `history`, or `all` (may be repeated)
    #[arg(long, value_name = "PARTS", default_value = "all")]
    parts: Vec<Chosen>,
    /// At most so many results for each
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
    /// Tell too what an agent would be given to read, within so many tokens; 0 for all of it (may be repeated)
    #[arg(long, value_name = "TOKENS")]
    agent: Vec<usize>,
    /// Ask all of them so many times; the results are those of the last time
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    rounds: usize,
}

/// Parts of the ranking as they were given.
#[derive(Debug, Clone)]
struct Chosen {
    name: String,
    parts: Parts,
}

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self { name: text.to_owned(), parts: parts(text)? })
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let repo = registered(context, &absolute(&args.repo))?;
    let queries = read_queries(&absolute(&args.file))?;
    let mut runs = Vec::new();
    let started = Instant::now();
    // The first question opens the index; what it takes is told apart.
    if let Some(query) = queries.first() {
        context.lore.search.query.search(&CodeRequest::new(query, vec![(repo.clone(), None)]))?;
    }
    let opened = started.elapsed();
    for chosen in &args.parts {
        runs.push(ask_all(context, &repo, args, &queries, chosen)?);
    }
    let mut value = json!({"repo": repo.name(), "model": context.lore.search.query.model(), "open_us": micros(opened), "runs": runs});
    if !args.agent.is_empty() {
        value["agent"] = agent_texts(context, args, &queries)?;
    }
    context.ui.line(&value.to_string())
}

/// What an agent reads: for each room, a text for each question.
fn agent_texts(context: &Context<'_>, args: &Args, queries: &[String]) -> Result<Value, Failure> {
    let place = absolute(&args.repo);
    let mut rooms = Vec::new();
    for &most in &args.agent {
        let mut texts = Vec::new();
        for query in queries {
            let room = Some(most).filter(|most| *most > 0);
            texts.push(agent::text(&context.lore, place.clone(), query, room, args.path.as_deref())?);
        }
        rooms.push(json!({"max_tokens": most, "texts": texts}));
    }
    Ok(rooms.into())
}

fn ask_all(
    context: &Context<'_>,
    repo: &Repo,
    args: &Args,
    queries: &[String],
    chosen: &Chosen,
) -> Result<Value, Failure> {
    let mut times: Vec<Duration> = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..args.rounds.max(1) {
        answers.clear();
        for query in queries {
            let mut request = CodeRequest::new(query, vec![(repo.clone(), None)]);
            (request.limit, request.parts) = (args.limit, chosen.parts);
            request.files.paths.extend(args.path.clone());
            let started = Instant::now();
            let answer = context.lore.search.query.search(&request)?;
            let took = started.elapsed();
            times.push(took);
            let commit = answer.freshness.first().and_then(|fresh| fresh.commit).map(|commit| commit.to_hex());
            let results: Vec<Value> = answer.hits.iter().map(result).collect();
            answers.push(
                json!({"query": query, "kind": answer.kind.as_str(), "took_us": micros(took), "commit": commit, "results": results}),
            );
        }
    }
    let times = Times::new(times);
    let percentile = |percent: usize| micros(times.percentile(percent));
    Ok(json!({
        "parts": chosen.name,
        "count": times.count(),
        "p50_us": percentile(50),
        "p95_us": percentile(95),
        "p99_us": percentile(99),
        "max_us": percentile(100),
        "answers": answers,
    }))
}

fn result(hit: &CodeHit) -> Value {
    let mut value = json!({
        "path": hit.path.to_text(),
        "lines": [hit.lines.0, hit.lines.1],
        "kind": hit.kind.as_str(),
        "name": hit.name,
        "score": hit.score,
    });
    if !hit.also_at.is_empty() {
        value["also_at"] = hit.also_at.iter().map(lore_model::RepoPath::to_text).collect();
    }
    value
}
