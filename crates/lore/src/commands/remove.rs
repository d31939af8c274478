//! `lore remove`: forgets a repository.

use lore_model::Failure;
use serde_json::json;

use super::Context;

/// Forget a repository and everything read from it
///
/// The repository itself is not touched; a clone that Lore made is deleted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its name (`.` for the one you are in)
    #[arg(value_name = "NAME")]
    name: String,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let history = &context.lore.history;
    let repo = if args.name == "." {
        let here = crate::environment::working_directory();
        match history.find_project(&here)? {
            Some(repo) => repo,
            None => history.repo(&here.display().to_string())?,
        }
    } else {
        history.repo(&args.name)?
    };
    let writer = context.writer()?;
    if args.name != "." && repo.name() != args.name {
        history.remove_alias(&*writer, &repo, &args.name)?;
        if context.ui.is_json() {
            return context.ui.value(&json!({"removed": args.name, "alias_of": repo.name()}));
        }
        return context.ui.line(&format!("removed the alias {} of {}", args.name, repo.name()));
    }
    history.remove(&*writer, &repo)?;
    if context.ui.is_json() {
        return context.ui.value(&json!({"removed": repo.name(), "commits": repo.sync.commit_count}));
    }
    context.ui.line(&format!("removed {} ({} commits)", repo.name(), repo.sync.commit_count))
}
