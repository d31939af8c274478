//! `lore show`: one commit with message, files and diff.

use lore_core::history::CommitAnswer;
use lore_model::{Code, Failure};
use serde_json::{Map, Value, json};

use super::{
    Context, freshness_json,
    patch::{CommitArgs, to_page},
    path_json,
};
use crate::{
    time,
    ui::{DIM, YELLOW, one_line},
};

/// Show one commit: message, files and diff
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    commit: CommitArgs,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let history = &context.lore.history;
    let (repo, place) = args.commit.place(context)?;
    let found = history.commit(&repo, Some(&place), &args.commit.sha)?;
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&commit_json(&found));
    }
    context.warn_if_not_fresh(&found.freshness);
    let commit = &found.commit;
    let mut head = vec![ui.paint(YELLOW, &format!("commit {} ({})", commit.commit, found.repo))];
    let person = |person: &lore_model::Person| one_line(&format!("{} <{}>", person.name, person.email));
    head.push(format!("Author:    {}", person(&commit.author)));
    head.extend(commit.mapped_author.as_ref().map(|mapped| format!("Mailmap:   {}", person(mapped))));
    head.push(format!("Date:      {}", time::moment(commit.author_time)));
    if commit.committer != commit.author {
        head.push(format!("Committer: {}", person(&commit.committer)));
    }
    if commit.commit_time != commit.author_time {
        head.push(format!("Committed: {}", time::moment(commit.commit_time)));
    }
    if commit.parent_count > 1 {
        head.push(
            ui.paint(DIM, &format!("Merge of {} parents; files and diff are against the first", commit.parent_count)),
        );
    }
    head.push(String::new());
    let message = std::iter::once(commit.subject.as_str())
        .chain(commit.body.iter().flat_map(|body| std::iter::once("").chain(body.lines())));
    head.extend(message.map(|line| format!("    {}", one_line(line)).trim_end().to_owned()));
    head.push(String::new());
    for file in &commit.files {
        let from =
            file.old_path.as_ref().map_or_else(String::new, |path| format!(" (from {})", one_line(&path.to_text())));
        head.push(format!("{} {}{from}", file.status.letter(), one_line(&file.path.to_text())));
    }
    if found.files_left_out > 0 {
        head.push(format!("(and {} more files)", found.files_left_out));
    }
    head.push(String::new());
    ui.to_page((head.join("\n") + "\n").as_bytes());
    match history.patch(&repo, None, &commit.commit.to_hex()) {
        Ok(patch) => to_page(ui, &patch.bytes),
        Err(failure) if failure.code == Code::PatchNotFound => {
            ui.to_page(format!("({})\n", failure.hint.unwrap_or_default()).as_bytes());
        }
        Err(failure) => return Err(failure),
    }
    ui.show_page(&context.loaded.config.pager)
}

fn commit_json(found: &CommitAnswer) -> Value {
    let commit = &found.commit;
    let person = |person: &lore_model::Person| json!({"name": person.name, "email": person.email});
    let files: Vec<Value> = commit
        .files
        .iter()
        .map(|file| {
            let mut object = Map::new();
            path_json(&mut object, "path", Some(&file.path));
            object.insert("status".to_owned(), file.status.letter().to_string().into());
            path_json(&mut object, "old_path", file.old_path.as_ref());
            Value::Object(object)
        })
        .collect();
    json!({
        "repo": found.repo,
        "sha": commit.commit.to_hex(),
        "subject": commit.subject,
        "body": commit.body,
        "author": person(&commit.author),
        "mailmap_author": commit.mapped_author.as_ref().map(person),
        "committer": person(&commit.committer),
        "date": commit.author_time.unwrap_or(0),
        "commit_date": commit.commit_time.unwrap_or(0),
        "no_date": commit.author_time.is_none(),
        "parent_count": commit.parent_count,
        "changed_files": files,
        "changed_files_left_out": found.files_left_out,
        "patch": commit.patch_absence.map_or("stored", lore_model::PatchAbsence::as_str),
        "replaced_invalid_utf8": commit.lossy,
        "freshness": freshness_json(&found.freshness),
    })
}
