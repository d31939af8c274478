//! `lore import`: takes over what other tools knew.

use std::{path::PathBuf, process::ExitCode};

use lore_core::history::{AddRequest, History, SyncOptions, Target};
use lore_model::{Code, DEFAULT_EXCLUDES, Failure, Repo, RepoName};
use lore_store::HistoryWriter;
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

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode, Failure> {
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
    let writer = context.writer()?;
    let (mut added, mut aliases, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for foreign in found {
        let name = foreign.name.clone();
        let wanted = request(foreign);
        match history.add(&*writer, wanted.clone()) {
            Ok(repo) => added.push(repo),
            Err(failure) if failure.code == Code::RepoExists => match alias(history, &*writer, &wanted)? {
                Some(alias) => aliases.push(alias),
                None => skipped.push((name, failure)),
            },
            // One repository that has gone must not keep the others from being taken over.
            Err(failure) if matches!(failure.code, Code::NotARepository | Code::InvalidArgument) => {
                skipped.push((name, failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    drop(writer);
    let ui = context.ui;
    ui.note(&format!("{}: {} repositories taken over, {} left alone", file.display(), added.len(), skipped.len()));
    for Alias { name, repo, differs } in &aliases {
        ui.note(&format!("{name} is the same repository as {repo}, which answers to both names"));
        if !differs.is_empty() {
            let settings = differs.join(" and ");
            ui.warn(&format!("{name} had other settings: the {settings} of {repo} counts for both names; to change it, `lore remove {repo}` and `lore add` it with other options"));
        }
    }
    for (name, failure) in &skipped {
        ui.warn(&format!("{name} was left alone: {failure}"));
    }
    let names: Vec<String> = added.iter().map(|repo| repo.name().to_owned()).collect();
    let reports = if no_sync { Vec::new() } else { sync_all(context, added, &SyncOptions::default())? };
    if ui.is_json() {
        let skipped: Vec<_> =
            skipped.iter().map(|(name, failure)| json!({"repo": name, "reason": failure.message})).collect();
        let aliases: Vec<_> = aliases
            .iter()
            .map(|alias| json!({"name": alias.name.as_str(), "repo": alias.repo, "differs": alias.differs}))
            .collect();
        ui.value(
            &json!({"added": names, "aliases": aliases, "skipped": skipped, "repos": sync::reports_json(&reports)}),
        )?;
    } else {
        sync::print(context, &reports)?;
    }
    Ok(sync::exit_code(&reports))
}

/// A second name of a repository.
struct Alias {
    name: RepoName,
    repo: String,
    /// Settings that the second name had and the repository has not.
    differs: Vec<&'static str>,
}

/// Keeps a name whose repository is registered under another one; `None` where the name itself is taken.
fn alias(history: &History, writer: &dyn HistoryWriter, wanted: &AddRequest) -> Result<Option<Alias>, Failure> {
    let (Some(Ok(name)), Target::Folder(folder)) = (wanted.name.as_deref().map(RepoName::parse), &wanted.target) else {
        return Ok(None);
    };
    if history.repos()?.iter().any(|repo| repo.answers_to(name.as_str())) {
        return Ok(None);
    }
    let Some(repo) = history.find_project(folder)? else { return Ok(None) };
    history.add_alias(writer, &repo, &name)?;
    let differs = differences(&repo, wanted);
    Ok(Some(Alias { name, repo: repo.name().to_owned(), differs }))
}

fn differences(repo: &Repo, wanted: &AddRequest) -> Vec<&'static str> {
    let info = &repo.info;
    let has = |prefix: &String| info.excludes.contains(prefix);
    let own = info.excludes.iter().filter(|prefix| !DEFAULT_EXCLUDES.contains(&prefix.as_str())).count();
    [
        (wanted.excludes.len() != own || !wanted.excludes.iter().all(has), "exclude prefixes"),
        (wanted.author != info.author_filter, "author filter"),
        (wanted.default_branch != info.default_branch, "default branch"),
        (wanted.fork_of != info.fork_of, "fork"),
    ]
    .into_iter()
    .filter_map(|(differs, what)| differs.then_some(what))
    .collect()
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
