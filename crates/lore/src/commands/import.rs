//! `lore import`: takes over what other tools knew.

use std::{path::PathBuf, process::ExitCode};

use lore_core::history::{AddRequest, SyncOptions, Target};
use lore_model::{Code, Failure, RepoName};
use lore_store_embedded::{CommitmuxRepo, read_commitmux};
use serde_json::json;

use super::{
    Context,
    sync::{self, sync_all},
};
use crate::environment;

/// Take over the repositories of another tool
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(clap::Subcommand)]
enum From {
    /// Register the repositories of a commitmux database and read their history from git
    Commitmux {
        /// The database [default: `$COMMITMUX_DB` or `~/.commitmux/db.sqlite3`]
        #[arg(long, value_name = "PATH")]
        db: Option<PathBuf>,
        /// Register only; `lore sync` reads them later
        #[arg(long)]
        no_sync: bool,
    },
}

pub(super) async fn run(context: &Context<'_>, args: Args) -> Result<ExitCode, Failure> {
    let From::Commitmux { db, no_sync } = args.from;
    let file = db
        .or_else(|| environment::folder("COMMITMUX_DB"))
        .or_else(|| environment::home().map(|home| home.join(".commitmux/db.sqlite3")))
        .unwrap_or_default();
    let found = read_commitmux(&file).map_err(|error| {
        let message = format!("{} cannot be read as a commitmux database", file.display());
        Failure::new(Code::NoAccess, message).hint("name the database with `--db PATH`").caused_by(error)
    })?;
    let history = &context.lore.history;
    let writer = context.writer().await?;
    let mut added = Vec::new();
    let mut skipped = Vec::new();
    for foreign in found {
        let name = foreign.name.clone();
        match history.add(&*writer, request(foreign)).await {
            Ok(repo) => added.push(repo),
            // One repository that has gone must not keep the others from being taken over.
            Err(failure) if matches!(failure.code, Code::RepoExists | Code::NotARepository | Code::InvalidArgument) => {
                skipped.push((name, failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    drop(writer);
    let ui = context.ui;
    ui.note(&format!("{}: {} repositories taken over, {} left alone", file.display(), added.len(), skipped.len()));
    for (name, failure) in &skipped {
        ui.warn(&format!("{name} was left alone: {failure}"));
    }
    let names: Vec<String> = added.iter().map(|repo| repo.name().to_owned()).collect();
    let reports = if no_sync { Vec::new() } else { sync_all(context, added, &SyncOptions::default()).await? };
    if ui.is_json() {
        let skipped: Vec<_> =
            skipped.iter().map(|(name, failure)| json!({"repo": name, "reason": failure.message})).collect();
        ui.value(&json!({"added": names, "skipped": skipped, "repos": sync::reports_json(&reports)}))?;
    } else {
        sync::print(context, &reports)?;
    }
    Ok(sync::exit_code(&reports))
}

/// A clone that commitmux managed is cloned anew, because its branches were never moved forward.
fn request(foreign: CommitmuxRepo) -> AddRequest {
    let managed = foreign.local_path.parent().is_some_and(|parent| parent.ends_with(".commitmux/clones"));
    let target = match foreign.remote_url {
        Some(url) if managed => Target::Url(url),
        _ => Target::Folder(foreign.local_path),
    };
    AddRequest {
        // Lore's names are stricter.
        name: Some(RepoName::parse(&foreign.name).unwrap_or_else(|_| RepoName::from_any(&foreign.name)).to_string()),
        excludes: foreign.exclude_prefixes,
        author: foreign.author_filter,
        fork_of: foreign.fork_of,
        default_branch: foreign.default_branch,
        ..AddRequest::new(target)
    }
}
