//! `lore-dev lines`: searches for many patterns in one process, and prints the matched lines and the time of each search,
//! one answer on each line.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::{Duration, Instant},
};

use lore_core::search::{FileFilter, LinesAnswer, LinesRequest, LinesWanted, When};
use lore_model::{Code, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{micros, print, read, registered};

/// Search for the patterns of a file
#[derive(clap::Args)]
pub(super) struct Args {
    /// One pattern on each line, as an object
    file: PathBuf,
    /// The repository, which `lore-dev index` has indexed
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Print only how many lines match
    #[arg(long)]
    count: bool,
    /// The most lines of an answer; 0 for all
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    limit: usize,
    /// Search for all of them this many times, and print the last times
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    rounds: usize,
}

/// One pattern.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    kind: Kind,
    text: String,
    #[serde(default)]
    changes: usize,
    #[serde(default)]
    case_sensitive: bool,
    #[serde(default)]
    languages: Vec<String>,
    #[serde(default)]
    globs: Vec<String>,
    #[serde(default)]
    not_globs: Vec<String>,
    #[serde(default)]
    extensions: Vec<String>,
    /// The commit whose tree is searched.
    #[serde(default)]
    at: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Literal,
    Regex,
    Words,
    Fuzzy,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (lore, _) = lore::open()?;
    let repo = registered(&lore, &args.repo)?;
    let text = read(&args.file)?;
    for round in 1..=args.rounds.max(1) {
        for line in text.lines() {
            let pattern: Pattern = serde_json::from_str(line)
                .map_err(|error| Failure::new(Code::InvalidArgument, format!("not a pattern: {error}: {line}")))?;
            let wanted = match pattern.kind {
                Kind::Literal => LinesWanted::Literal(pattern.text),
                Kind::Regex => LinesWanted::Regex(pattern.text),
                Kind::Words => LinesWanted::Words(pattern.text),
                Kind::Fuzzy => LinesWanted::Near { text: pattern.text, changes: pattern.changes },
            };
            let request = LinesRequest {
                wanted,
                case_sensitive: pattern.case_sensitive,
                files: FileFilter {
                    languages: pattern.languages,
                    globs: pattern.globs,
                    not_globs: pattern.not_globs,
                    extensions: pattern.extensions,
                    ..FileFilter::default()
                },
                repos: vec![(repo.clone(), None)],
                when: pattern.at.map_or(When::Now, When::At),
                limit: args.limit,
                context: 0,
                once: false,
                best: false,
                time: Duration::from_mins(5),
            };
            let started = Instant::now();
            let found = lore.search.query.find_lines(&request);
            let took = micros(started.elapsed());
            // The lines of all of them together may not fit into memory.
            if round == args.rounds.max(1) {
                let failed = |failure: Failure| json!({"error": failure.message});
                let mut answer = found.map_or_else(failed, |found| answer(&found, args.count));
                answer["took_us"] = took.into();
                print(&answer)?;
            }
        }
    }
    Ok(())
}

/// The matched lines by file, and every distinct matched text.
fn answer(found: &LinesAnswer, count: bool) -> Value {
    let mut answer = json!({"lines": found.lines, "files": found.files, "unfinished": found.unfinished.is_some()});
    if !count {
        let mut places: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for hit in &found.hits {
            places.entry(String::from_utf8_lossy(hit.path.as_bytes()).into_owned()).or_default().push(hit.line);
        }
        let texts: BTreeSet<&str> = found.hits.iter().filter_map(|hit| hit.text.get(hit.found.clone())).collect();
        answer["places"] = json!(places);
        answer["found"] = json!(texts);
    }
    answer
}
