//! `lore debug queries`: asks many questions in one process, with parts of the ranking switched on and off.

use std::{
    path::PathBuf,
    str::FromStr,
    time::{Duration, Instant},
};

use lore_core::search::{CodeHit, CodeRequest, Parts};
use lore_model::{Failure, Repo};
use serde_json::{Value, json};

use super::{Context, absolute, micros, read_queries, registered};

/// Ask the questions of a file
#[derive(clap::Args)]
pub(super) struct Args {
    /// One question on each line, as it is or as an object with `query`
    file: PathBuf,
    /// The repository, which `lore debug index` has indexed
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Parts of the ranking that are on: `text`, `meaning`, `second` and `rules`, or `all` (may be repeated)
    #[arg(long, value_name = "PARTS", default_value = "all")]
    parts: Vec<Chosen>,
    /// At most so many results for each
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
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
        let mut parts = Parts { text: false, meaning: false, second: false, rules: false };
        for part in text.split(',') {
            match part {
                "text" => parts.text = true,
                "meaning" => parts.meaning = true,
                "second" => parts.second = true,
                "rules" => parts.rules = true,
                "all" => parts = Parts::default(),
                _ => return Err(format!("`{part}` is not `text`, `meaning`, `second`, `rules` or `all`")),
            }
        }
        Ok(Self { name: text.to_owned(), parts })
    }
}

pub(super) async fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let repo = registered(context, &absolute(&args.repo)).await?;
    let queries = read_queries(&absolute(&args.file))?;
    let mut runs = Vec::new();
    let started = Instant::now();
    // The first question opens the index; what it takes is told apart.
    if let Some(query) = queries.first() {
        context.lore.search.search(&CodeRequest::new(query, vec![(repo.clone(), None)])).await?;
    }
    let opened = started.elapsed();
    for chosen in &args.parts {
        runs.push(ask_all(context, &repo, &args, &queries, chosen).await?);
    }
    let value =
        json!({"repo": repo.name(), "model": context.lore.search.model(), "open_us": micros(opened), "runs": runs});
    context.ui.line(&value.to_string())
}

async fn ask_all(
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
            let started = Instant::now();
            let answer = context.lore.search.search(&request).await?;
            let took = started.elapsed();
            times.push(took);
            let commit = answer.freshness.first().and_then(|fresh| fresh.commit).map(|commit| commit.to_hex());
            let results: Vec<Value> = answer.hits.iter().map(result).collect();
            answers.push(
                json!({"query": query, "kind": answer.kind.as_str(), "took_us": micros(took), "commit": commit, "results": results}),
            );
        }
    }
    times.sort_unstable();
    let percentile = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).copied().map(micros)
    };
    Ok(json!({
        "parts": chosen.name,
        "count": times.len(),
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
