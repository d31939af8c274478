//! `lore comments`: what reviewers said, and what became of it.

use std::path::PathBuf;

use clap::Subcommand;
use lore_messages::{Fate, LIST_MAX, Placed, project_root};
use lore_model::{Code, Failure, MessageId, RepoPath};
use lore_store::MessageQuery;
use serde_json::{Value, json};

use super::Context;
use crate::{
    environment,
    time::{self, Edge},
    ui::{BOLD, DIM, GREEN, YELLOW, one_line},
};

/// Look at what reviewers said: waiting, delivered and withdrawn comments
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore comments list\n  lore comments list --state waiting --all\n  lore comments search retry limit --path src/net\n  lore comments withdraw 12"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List comments, newest first
    List(Filter),
    /// Find comments by words in what was said, the file, the function or the diff around it
    Search {
        /// Words that must all occur
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Show one comment with the code it is about
    Show {
        /// Its number
        #[arg(value_name = "ID")]
        id: i64,
    },
    /// Take comments back that no agent has yet
    Withdraw {
        /// Their numbers
        #[arg(required = true, value_name = "ID")]
        ids: Vec<i64>,
    },
}

#[derive(clap::Args)]
struct Filter {
    /// Only comments in this state
    #[arg(long, value_name = "STATE", value_parser = ["waiting", "delivered", "withdrawn"])]
    state: Option<String>,
    /// Only files whose path contains this
    #[arg(long, value_name = "TEXT")]
    path: Option<String>,
    /// Only comments from here on: 2w, 6mo, 2025-03-01
    #[arg(long, value_name = "AGE|DATE")]
    since: Option<String>,
    /// The project [default: the one you are in]
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    project: Option<PathBuf>,
    /// All projects
    #[arg(long)]
    all: bool,
    /// At most so many (1–500)
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    limit: usize,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    match args.action {
        Action::List(filter) => list(context, None, &filter),
        Action::Search { words, filter } => list(context, Some(words.join(" ")), &filter),
        Action::Show { id } => show(context, MessageId(id)),
        Action::Withdraw { ids } => withdraw(context, &ids),
    }
}

/// Takes over what the old bridge left, and says what cannot be taken over.
fn import(context: &Context<'_>) {
    let messages = &context.lore.messages;
    let imported = messages.import();
    let mut unreadable = imported.unreadable;
    // What was written just now may not be whole yet, but whoever asks now wants to know.
    for (path, why) in messages.unreadable() {
        if !unreadable.iter().any(|(known, _)| *known == path) {
            unreadable.push((path, why));
        }
    }
    for (path, why) in unreadable {
        context.ui.warn(&format!("{} {why}: correct or remove the file", path.display()));
    }
    if let Some(failure) = imported.failed {
        context.ui.warn(&failure.message);
    }
}

fn list(context: &Context<'_>, words: Option<String>, filter: &Filter) -> Result<(), Failure> {
    import(context);
    let now = context.lore.history.now();
    let folder = filter.project.clone().unwrap_or_else(environment::working_directory);
    let state = filter
        .state
        .as_deref()
        .and_then(|wanted| ["waiting", "delivered", "withdrawn"].into_iter().find(|state| *state == wanted));
    let is_search = words.is_some();
    let query = MessageQuery {
        words,
        project: (!filter.all).then(|| project_root(&folder)),
        path: filter.path.clone(),
        file: None,
        state,
        since: filter.since.as_deref().map(|text| time::parse(text, now, Edge::Start)).transpose()?,
        limit: context.in_range("--limit", filter.limit, (1, LIST_MAX)),
    };
    let (found, more) = context.lore.messages.list(&query)?;
    let ui = context.ui;
    if ui.is_json() {
        let results: Vec<Value> = found.iter().map(comment_json).collect();
        return ui.value(&json!({"comments": results, "more": more}));
    }
    if found.is_empty() {
        let place = if filter.all { "any project".to_owned() } else { project_root(&folder).display().to_string() };
        let all = if filter.all { "" } else { "; `--all` looks in all projects" };
        ui.note(&format!("no comments {} {place}{all}", if is_search { "with these words in" } else { "in" }));
        return Ok(());
    }
    for placed in &found {
        ui.to_page(row(context, placed, now, filter.all).as_bytes());
    }
    if more {
        ui.to_page(ui.paint(DIM, &format!("({} are shown; --limit shows more)\n", found.len())).as_bytes());
    }
    ui.show_page(&context.loaded.config.pager)
}

/// `src/main.rs:42-58`.
pub(super) fn place(file: &RepoPath, lines: Option<(u32, u32)>) -> String {
    match lines {
        None => file.to_string(),
        Some((first, last)) if first == last => format!("{file}:{first}"),
        Some((first, last)) => format!("{file}:{first}-{last}"),
    }
}

/// What became of the code, where that is worth a word.
fn fate(placed: &Placed) -> Option<String> {
    let sent = &placed.message.sent;
    let was = place(&sent.file, sent.lines);
    match placed.place.fate {
        Fate::Here | Fate::Unknown => None,
        Fate::Moved => Some(format!("moved from {was}")),
        Fate::Edited => Some(format!("edited since, was {was}")),
        Fate::Gone => Some("the code is gone".to_owned()),
        Fate::FileGone => Some("the file is gone".to_owned()),
    }
}

fn row(context: &Context<'_>, placed: &Placed, now: i64, with_project: bool) -> String {
    let (ui, message) = (context.ui, &placed.message);
    let state = message.state.as_str();
    let state = ui.paint(if state == "waiting" { GREEN } else { DIM }, state);
    let mut about = vec![time::age(message.stored_at, now)];
    about.extend(placed.place.symbol.as_ref().map(|symbol| one_line(&symbol.name)));
    about.extend(fate(placed));
    about.extend(message.sent.project.as_ref().filter(|_| with_project).map(|root| one_line(&root.to_string_lossy())));
    let at = one_line(&place(&placed.place.file, placed.place.lines));
    format!(
        "{} {state} {} {}\n  {}\n",
        ui.paint(YELLOW, &format!("#{}", message.id)),
        ui.paint(BOLD, &at),
        ui.paint(DIM, &about.join(", ")),
        one_line(&message.sent.comment)
    )
}

fn show(context: &Context<'_>, id: MessageId) -> Result<(), Failure> {
    let placed = context.lore.messages.get(id)?;
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&comment_json(&placed));
    }
    let (message, sent) = (&placed.message, &placed.message.sent);
    let mut lines = vec![ui.paint(YELLOW, &format!("comment {id}"))];
    let mut put = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("{name:<9} {}", one_line(&value))));
    };
    put("Place:", Some(place(&placed.place.file, placed.place.lines)));
    put("Code:", fate(&placed));
    put("In:", placed.place.symbol.as_ref().map(|symbol| format!("{} {}", symbol.kind, symbol.name)));
    put("Project:", sent.project.as_ref().map(|project| project.display().to_string()));
    put("Branch:", sent.branch.clone());
    put("Commit:", sent.head.map(|head| head.to_hex()));
    put("Time:", Some(sent.time.clone()));
    let since = message.state.since().map(|at| format!(" {}", time::moment(Some(at)))).unwrap_or_default();
    put("State:", Some(format!("{}{since}", message.state.as_str())));
    lines.push(String::new());
    lines.extend(sent.comment.lines().map(|line| format!("    {}", one_line(line))));
    if let Some(hunk) = &sent.hunk {
        lines.push(String::new());
        lines.extend(hunk.lines().map(|line| ui.paint(DIM, &lore_model::escape_for_terminal(line))));
    }
    ui.to_page((lines.join("\n") + "\n").as_bytes());
    ui.show_page(&context.loaded.config.pager)
}

fn withdraw(context: &Context<'_>, ids: &[i64]) -> Result<(), Failure> {
    let mut done = Vec::new();
    let mut failed: Option<Failure> = None;
    for id in ids {
        match context.lore.messages.withdraw(MessageId(*id)) {
            Ok(()) => done.push(*id),
            Err(failure) if ids.len() == 1 => return Err(failure),
            Err(failure) => {
                context.ui.warn(&failure.message);
                failed.get_or_insert(failure);
            }
        }
    }
    if context.ui.is_json() {
        context.ui.value(&json!({"withdrawn": done}))?;
    } else {
        for id in &done {
            context.ui.line(&format!("comment {id} is withdrawn"))?;
        }
    }
    match failed {
        Some(failure) => Err(Failure::new(
            failure.code,
            format!("{} of {} comments could not be withdrawn", ids.len() - done.len(), ids.len()),
        )),
        None if done.is_empty() => Err(Failure::new(Code::InvalidArgument, "no comment is named")),
        None => Ok(()),
    }
}

fn comment_json(placed: &Placed) -> Value {
    let message = &placed.message;
    let mut value = lore_tools::messages::json(placed);
    value["state"] = message.state.as_str().into();
    value["state_since"] = message.state.since().into();
    value["stored_at"] = message.stored_at.into();
    value
}
