//! `lore add`: registers a repository and reads its history.

use std::{ffi::OsString, path::PathBuf};

use lore_core::history::{AddRequest, Target};
use lore_model::{BranchChoice, Code, Failure, Repo, Source};
use serde_json::json;

use super::{Context, project::cancel_on_interrupt, sync};

/// Register a repository (a folder or a URL) and index its history
///
/// A URL is cloned into Lore's own folder and fetched at every sync. A local repository is read where it stands, at its
/// default branch and its HEAD; nothing is written into it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore add .\n  lore add ~/src/api --name api --exclude generated/\n  lore add https://example.com/team/web.git --branch main --branch next"
)]
pub(crate) struct Args {
    /// A folder inside a git repository, or a URL
    #[arg(value_name = "PATH|URL")]
    target: OsString,
    /// What to call it [default: the last part of the path or URL]
    #[arg(long, value_name = "N")]
    name: Option<String>,
    /// Leave out paths that begin with this (may be repeated)
    #[arg(long, value_name = "PREFIX")]
    exclude: Vec<String>,
    /// Do not leave out `node_modules/`, `vendor/`, `dist/` and `.git/`
    #[arg(long)]
    no_default_excludes: bool,
    /// Keep only commits whose author (name or email, also by mailmap) contains this
    #[arg(long, value_name = "PATTERN")]
    author: Option<String>,
    /// Index this branch instead of the default one (may be repeated)
    #[arg(long, value_name = "B")]
    branch: Vec<String>,
    /// Index every branch
    #[arg(long, conflicts_with = "branch")]
    all_branches: bool,
    /// Note what it was forked from
    #[arg(long, value_name = "NAME|URL")]
    fork_of: Option<String>,
    /// Register only; `lore sync` reads it later
    #[arg(long)]
    no_sync: bool,
}

impl Args {
    /// The folder that is registered; `None` for a URL.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match Target::parse(&self.target) {
            Target::Folder(folder) => Some(folder),
            Target::Url(_) => None,
        }
    }
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let branches = match (args.all_branches, args.branch) {
        (true, _) => BranchChoice::All,
        (false, names) if names.is_empty() => BranchChoice::Default,
        (false, names) => BranchChoice::Named(names),
    };
    let request = AddRequest {
        name: args.name,
        excludes: args.exclude,
        default_excludes: !args.no_default_excludes,
        author: args.author,
        branches,
        fork_of: args.fork_of,
        ..AddRequest::new(Target::parse(&args.target))
    };
    let history = &context.lore.history;
    let writer = context.writer()?;
    let repo = match history.add(&*writer, request.clone()) {
        Err(failure) if failure.code == Code::RepoExists => begun(context, &request)?.ok_or(failure)?,
        other => other?,
    };
    if args.no_sync {
        if context.ui.is_json() {
            return context.ui.value(&json!({"repo": repo.name(), "path": repo.info.local_path.to_string_lossy()}));
        }
        return context.ui.line(&format!(
            "registered {} as `{}`; `lore sync` will read it",
            repo.info.local_path.display(),
            repo.name()
        ));
    }
    let cancel = cancel_on_interrupt();
    let synced = context.sync_one(&*writer, &repo, &context.sync_options(), &cancel);
    match synced {
        Ok(mut report) => {
            drop(writer);
            report.embedding = context.embed_one(&repo, &cancel);
            sync::print(context, &[Ok(report)])
        }
        // What cannot be cloned is not worth remembering; what was interrupted is.
        Err(failure) if matches!(repo.info.source, Source::Url(_)) && failure.code != Code::Interrupted => {
            history.remove(&*writer, &repo)?;
            Err(failure)
        }
        Err(failure) => Err(failure),
    }
}

/// The same repository, registered before and not yet read to its end: adding it again goes on.
fn begun(context: &Context<'_>, request: &AddRequest) -> Result<Option<Repo>, Failure> {
    let Target::Folder(folder) = &request.target else { return Ok(None) };
    let repo = context.lore.history.find_project(folder)?;
    let same_name = |repo: &Repo| request.name.as_ref().is_none_or(|name| name == repo.name());
    let repo = repo.filter(|repo| repo.sync.last_synced_at.is_none() && same_name(repo));
    if let Some(repo) = &repo {
        context.ui.note(&format!("`{}` is registered already; going on where its sync stopped", repo.name()));
    }
    Ok(repo)
}
