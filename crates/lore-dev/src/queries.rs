//! `lore-dev queries`: runs many queries in one process, with parts of the ranking switched on and off.

use std::{path::PathBuf, str::FromStr, sync::Arc, time::Instant};

use lore_core::{
    Lore,
    search::{CodeHit, CodeRequest, Parts},
};
use lore_model::{Code, Failure, Repo};
use lore_tools::{Body, Toolset};
use serde_json::{Map, Value, json};

use super::{absolute, micros, print, read_queries, registered};

/// Run the queries of a file
#[derive(clap::Args)]
pub(super) struct Args {
    /// One question on each line, as it is or as an object with `query`
    file: PathBuf,
    /// The repository, which `lore-dev index` has indexed
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Only files below this folder
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    /// Parts of the ranking that are on: `text`, `meaning`, `second`, `rules` and `history`, or `all` (may be repeated)
    #[arg(long, value_name = "PARTS", default_value = "all")]
    parts: Vec<Chosen>,
    /// The most results of a query
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
    /// Print the answer of `cortex_search` too, with this `max_tokens`, or 0 for none (may be repeated)
    #[arg(long, value_name = "TOKENS")]
    agent: Vec<usize>,
    /// Run all of them this many times, and print the last results
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    rounds: usize,
}

/// The parts of the ranking that are on, and how they were given.
#[derive(Debug, Clone)]
struct Chosen {
    name: String,
    parts: Parts,
}

impl FromStr for Chosen {
    type Err = String;

    /// Reads names separated by commas, or `all`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Parts { text: false, meaning: false, second: false, rules: false, history: false };
        for part in text.split(',') {
            match part {
                "text" => parts.text = true,
                "meaning" => parts.meaning = true,
                "second" => parts.second = true,
                "rules" => parts.rules = true,
                "history" => parts.history = true,
                "all" => parts = Parts::default(),
                _ => return Err(format!("`{part}` is not `text`, `meaning`, `second`, `rules`, `history` or `all`")),
            }
        }
        Ok(Self { name: text.to_owned(), parts })
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (lore, _) = lore::open()?;
    let repo = registered(&lore, &args.repo)?;
    let queries = read_queries(&args.file)?;
    let started = Instant::now();
    // The first query opens the index, which is measured separately.
    if let Some(query) = queries.first() {
        lore.search.query.search(&CodeRequest::new(query, vec![(repo.clone(), None)]))?;
    }
    let opened = started.elapsed();
    let runs = args.parts.iter().map(|chosen| ask_all(&lore, &repo, args, &queries, chosen));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let rooms = args.agent.iter().map(|most| {
        let texts = queries.iter().map(|query| agent_text(&lore, args, query, *most));
        Ok(json!({"max_tokens": most, "texts": texts.collect::<Result<Vec<_>, Failure>>()?}))
    });
    print(&json!({
        "repo": repo.name(),
        "model": lore.search.query.model(),
        "open_us": micros(opened),
        "runs": runs,
        "agent": rooms.collect::<Result<Vec<_>, Failure>>()?,
    }))
}

/// The answer that an agent gets from `cortex_search`, with every other argument at its default.
fn agent_text(lore: &Arc<Lore>, args: &Args, query: &str, max_tokens: usize) -> Result<String, Failure> {
    let tool = lore_tools::tools(&[Toolset::Context]).into_iter().find(|tool| tool.name == "cortex_search");
    let tool = tool.ok_or_else(|| Failure::new(Code::Internal, "there is no tool `cortex_search`"))?;
    let mut arguments = Map::from_iter([("query".to_owned(), Value::from(query))]);
    arguments.extend((max_tokens > 0).then(|| ("max_tokens".to_owned(), max_tokens.into())));
    arguments.extend(args.path.clone().map(|path| ("path".to_owned(), path.into())));
    let context = lore_tools::Context::new(Arc::clone(lore), absolute(&args.repo)?);
    Ok(match (tool.call)(&context, arguments)?.body {
        Body::Json(value) => value.to_string(),
        Body::Text(text) => text,
    })
}

fn ask_all(lore: &Lore, repo: &Repo, args: &Args, queries: &[String], chosen: &Chosen) -> Result<Value, Failure> {
    let mut answers = Vec::new();
    for _ in 0..args.rounds.max(1) {
        answers.clear();
        for query in queries {
            let mut request = CodeRequest::new(query, vec![(repo.clone(), None)]);
            (request.limit, request.parts) = (args.limit, chosen.parts);
            request.files.paths.extend(args.path.clone());
            let started = Instant::now();
            let answer = lore.search.query.search(&request)?;
            let took = micros(started.elapsed());
            answers.push(json!({
                "query": query,
                "kind": answer.kind.as_str(),
                "took_us": took,
                "commit": answer.freshness.first().and_then(|fresh| fresh.commit).map(|commit| commit.to_hex()),
                "results": answer.hits.iter().map(result).collect::<Vec<_>>(),
            }));
        }
    }
    Ok(json!({"parts": chosen.name, "answers": answers}))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_switched_on_by_name() {
        let parts = |text: &str| text.parse::<Chosen>().map(|chosen| chosen.parts);
        assert_eq!(parts("all"), Ok(Parts::default()));
        assert_eq!(parts("text,meaning,second,rules,history"), Ok(Parts::default()));
        assert!(parts("text").is_ok_and(|parts| parts.text && !parts.meaning && !parts.rules && !parts.history));
        assert!(parts("words").is_err());
    }
}
