//! `lore search --at`, `--since`, `--until`, `--removed`, `--evolution`: code as it was.

use std::fmt::Write as _;

use lore_core::search::{ChangeKind, Happened, PastGaps, Period, Standing, Story, StoryEntry, Told, When};
use lore_model::{CommitId, Failure};
use serde_json::{Value, json};

use crate::{
    commands::{Context, sync::count},
    time::{self, Edge},
    ui::{DIM, one_line},
};

/// So many steps of a file are shown unless somebody says otherwise.
const STEPS: &str = "5";

/// Which time is asked about.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Search the tree of this commit: a hash, a tag, a branch, HEAD~5
    #[arg(long, value_name = "COMMIT", conflicts_with_all = ["since", "until", "removed", "author", "change"])]
    at: Option<String>,
    /// Search what was there from this day on, or since an age: 2024-03-01, 2w, 6mo
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Search what was there up to this day
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Search files too that are not there any more; without a time, of all times
    #[arg(long)]
    removed: bool,
    /// Only code that a commit of this author brought or took away in that time; what was merged is of whoever merged it
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Only code that a commit brought or took away in this way: added, modified, deleted, renamed (may be repeated)
    #[arg(long, value_name = "KIND", value_parser = ["added", "modified", "deleted", "renamed"], hide_possible_values = true)]
    change: Vec<String>,
    /// Show the last N commits that changed the file of each result, with what they changed (5 without a number). Without a
    /// time, what is committed is searched
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = STEPS)]
    evolution: Option<usize>,
}

impl Args {
    /// The time that is meant.
    pub(super) fn when(&self, now: i64) -> Result<When, Failure> {
        if let Some(commit) = &self.at {
            return Ok(When::At(commit.clone()));
        }
        let is_asked = self.since.is_some()
            || self.until.is_some()
            || self.removed
            || self.author.is_some()
            || !self.change.is_empty();
        if !is_asked {
            // What is committed has a past; what is not has none.
            return Ok(if self.evolution.is_some() { When::At("HEAD".to_owned()) } else { When::Now });
        }
        let parse = |text: &Option<String>, edge| text.as_deref().map(|text| time::parse(text, now, edge)).transpose();
        Ok(When::During(Period {
            from: parse(&self.since, Edge::Start)?,
            to: parse(&self.until, Edge::End)?,
            removed: self.removed,
            gone: false,
            changed: false,
            kinds: self.change.iter().filter_map(|word| ChangeKind::parse(word)).collect(),
            author: self.author.clone(),
        }))
    }

    /// How many steps of each file are wanted.
    pub(super) fn evolution(&self) -> Option<usize> {
        self.evolution
    }
}

/// Tells people what of the past is not there.
pub(super) fn warn_of_gaps(context: &Context<'_>, gaps: &PastGaps) {
    if context.ui.is_quiet() {
        return;
    }
    if !gaps.not_kept.is_empty() {
        let names = gaps.not_kept.join(", ");
        context.ui.warn(&format!(
            "the past of {names} is not kept, so this is what is there now: run `lore sync --temporal`"
        ));
    }
    if !gaps.beside.is_empty() {
        let names = gaps.beside.join(", ");
        context.ui.note(&format!(
            "note: the commit is not on the first-parent history of the indexed branch of {names}: results do not say when their code \
             was added or removed; to see that, name a commit of that branch"
        ));
    }
    for (name, line) in &gaps.other_line {
        context.ui.note(&format!("note: the past that is kept of {name} is that of `{line}`"));
    }
    if gaps.lacking > 0 {
        let count = gaps.lacking;
        context
            .ui
            .warn(&format!("{count} files of the commit were not searched: their content is not in the repository"));
    }
    if !gaps.behind.is_empty() {
        let names = gaps.behind.join(", ");
        context.ui.warn(&format!(
            "what is kept of the past of {names} is older than its code, or not all there: run `lore sync`"
        ));
    }
    if !gaps.no_commit.is_empty() {
        context.ui.warn(&format!("{} has no such commit and was not searched", gaps.no_commit.join(", ")));
    }
}

fn short(commit: &CommitId) -> String {
    commit.to_hex().chars().take(10).collect()
}

/// `2024-03-01 1a2b3c4d Subject (Author)`.
fn happened_line(happened: &Happened) -> String {
    let mut line = format!("{} {}", time::date(Some(happened.commit.at)), short(&happened.commit.id));
    if let Some(subject) = &happened.subject {
        write!(line, " {}", one_line(subject)).expect("writing to a string cannot fail");
    }
    if let Some(author) = &happened.author {
        write!(line, " ({})", one_line(author)).expect("writing to a string cannot fail");
    }
    line
}

/// What is told of a hit, for people: lines that are shown below it.
pub(super) fn told_text(context: &Context<'_>, told: &Told) -> String {
    let (ui, mut text) = (context.ui, String::new());
    let mut put = |line: &str| text.push_str(&ui.prose(line, 3));
    let Standing { first, last, file_is_gone, .. } = &told.standing;
    let date = |at: i64| time::date(Some(at));
    let until = if told.standing.removed_by.is_some() {
        format!("to {} {}", date(last.at), short(&last.id))
    } else {
        "until now".to_owned()
    };
    put(&format!("there from {} {} {until}", date(first.at), short(&first.id)));
    if let Some(by) = &told.removed_by {
        let what = match by.kind {
            ChangeKind::Deleted => "the file was deleted by",
            ChangeKind::Renamed => "the file was renamed by",
            _ => "changed or removed by",
        };
        put(&format!("{what} {}", happened_line(by)));
        if *file_is_gone && !matches!(by.kind, ChangeKind::Deleted | ChangeKind::Renamed) {
            put("the file is not there any more");
        }
    }
    if let Some(story) = &told.story {
        text.push_str(&story_text(context, story));
    }
    text
}

fn story_text(context: &Context<'_>, story: &Story) -> String {
    let (ui, mut text) = (context.ui, String::new());
    for entry in &story.entries {
        let StoryEntry { happened, path, old_path, diff, diff_left_out } = entry;
        let renamed = old_path.as_ref().map_or_else(String::new, |old| format!(" ({old} is {path} from then on)"));
        let kind = happened.kind.as_str();
        writeln!(text, "   {kind} {}{}", happened_line(happened), one_line(&renamed))
            .expect("writing to a string cannot fail");
        match diff {
            Ok(diff) => {
                for line in diff.lines() {
                    writeln!(text, "     {}", ui.paint(DIM, &one_line(line))).expect("writing to a string cannot fail");
                }
                if *diff_left_out > 0 {
                    writeln!(text, "     {} more", count(*diff_left_out as u64, "line"))
                        .expect("writing to a string cannot fail");
                }
            }
            Err(why) => writeln!(text, "     {why}").expect("writing to a string cannot fail"),
        }
    }
    if story.more {
        text.push_str("   there are older ones: --evolution=N shows more\n");
    }
    text
}

/// What is told of a hit, for programs.
pub(super) fn told_json(told: &Told) -> Value {
    let commit = |commit: &lore_model::LineCommit| json!({"commit": commit.id.to_hex(), "date": commit.at});
    let story = told.story.as_ref().map(|story| {
        let steps: Vec<Value> = story.entries.iter().map(step_json).collect();
        json!({"steps": steps, "more": story.more})
    });
    json!({
        "first": commit(&told.standing.first),
        "last": commit(&told.standing.last),
        "removed_by": told.removed_by.as_ref().map(happened_json),
        "file_is_gone": told.standing.file_is_gone,
        "commits": told.happened.iter().map(happened_json).collect::<Vec<_>>(),
        "commit_count": told.happened_count,
        "evolution": story,
    })
}

fn happened_json(happened: &Happened) -> Value {
    json!({
        "commit": happened.commit.id.to_hex(),
        "date": happened.commit.at,
        "change": happened.kind.as_str(),
        "subject": happened.subject,
        "author": happened.author,
    })
}

fn step_json(entry: &StoryEntry) -> Value {
    let mut step = happened_json(&entry.happened);
    step["path"] = entry.path.to_text().into();
    if let Some(old) = &entry.old_path {
        step["old_path"] = old.to_text().into();
    }
    match &entry.diff {
        Ok(diff) => step["diff"] = diff.as_str().into(),
        Err(why) => step["not_compared"] = (*why).into(),
    }
    if entry.diff_left_out > 0 {
        step["diff_lines_left_out"] = entry.diff_left_out.into();
    }
    step
}
