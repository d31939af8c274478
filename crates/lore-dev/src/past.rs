//! `lore-dev past`: the contents of paths in a period, and the commits that changed them, from the temporal index.

use std::path::PathBuf;

use lore_core::search::Period;
use lore_model::{Code, Failure, RepoPath};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{print, read, registered};

/// Print what the temporal index has about paths
#[derive(clap::Args)]
pub(super) struct Args {
    /// One question on each line, as an object: a path, and a time or a number of steps
    file: PathBuf,
    /// The repository, which `lore-dev index --history --temporal` has indexed
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    path: String,
    from: Option<i64>,
    to: Option<i64>,
    /// What happened to it, instead of what it held: at most so many steps.
    steps: Option<usize>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (lore, _) = lore::open()?;
    let repo = registered(&lore, &args.repo)?;
    let text = read(&args.file)?;
    let mut answers: Vec<Value> = Vec::new();
    for line in text.lines() {
        let question: Question = serde_json::from_str(line)
            .map_err(|error| Failure::new(Code::InvalidArgument, format!("not a question: {error}: {line}")))?;
        let path = RepoPath::new(question.path.as_bytes());
        answers.push(if let Some(limit) = question.steps {
            let story = lore.search.temporal.story(&repo, &path, None, limit)?;
            let steps = story.entries.iter().map(|step| {
                json!([
                    step.happened.commit.id.to_hex(),
                    step.happened.kind.as_str(),
                    step.path.to_text(),
                    step.old_path.as_ref().map(|path| path.to_text().into_owned()),
                ])
            });
            steps.collect()
        } else {
            let period = Period { from: question.from, to: question.to, removed: true, ..Period::default() };
            let contents = lore.search.temporal.contents_of(&repo, &path, &period)?;
            contents.iter().map(|blob| Value::from(blob.to_hex())).collect()
        });
    }
    print(&json!({"answers": answers}))
}
