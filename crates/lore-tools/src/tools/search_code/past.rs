//! What `search_code` takes and tells of the past.

use std::time::Duration;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use lore_core::search::{
    ChangeKind, CodeRequest, CommitFound, CommitText, CommitsAnswer, CommitsRequest, Happened, LinesRequest, PastGaps,
    Period, StoryBudget, StoryEntry, Told, When,
};
use lore_model::{Code, Failure, LineCommit, brief};
use serde_json::{Value, json};

use super::Mode;
use crate::{Context, repositories::line};

/// So many steps of a file are told unless somebody says otherwise.
pub(super) const STEPS: i64 = 5;

/// What all results of an answer may tell together of what happened to their files: a hundred results have a hundred files, and
/// a file any number of commits.
pub(super) const BUDGET: StoryBudget =
    StoryBudget { steps: 10_000, diff_bytes: 1 << 20, time: Duration::from_secs(5), ..StoryBudget::UNLIMITED };

/// What the document promises where the past of a repository is not kept.
const NOT_KEPT: &str = "Temporal index not available. Showing results from current code only.";

/// The parameters that are about the past.
pub(super) struct Past {
    pub(super) time_range: Option<String>,
    pub(super) time_range_all: bool,
    pub(super) at_commit: Option<String>,
    pub(super) include_removed: bool,
    pub(super) show_evolution: bool,
    pub(super) evolution_limit: Option<i64>,
    pub(super) diff_type: Option<String>,
    pub(super) author: Option<String>,
}

fn invalid(message: String, hint: &str) -> Failure {
    Failure::new(Code::InvalidArgument, message).hint(hint)
}

fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// Which time is meant, and how many steps of each file are wanted. Commits are those of a time, of all times where none is
/// named.
pub(super) fn when(past: &Past, chunk_type: Option<ChunkType>) -> Result<(When, Option<usize>), Failure> {
    let limit = past.evolution_limit.unwrap_or(STEPS);
    let evolution = past.show_evolution.then(|| usize::try_from(limit).unwrap_or(usize::MAX));
    let (range, commit) = (given(past.time_range.as_ref()), given(past.at_commit.as_ref()));
    let (kinds, author) = (kinds(past.diff_type.as_deref())?, given(past.author.as_ref()).map(str::to_owned));
    let filters = !kinds.is_empty() || author.is_some();
    if let Some(commit) = commit {
        if range.is_some() || past.time_range_all || filters {
            return Err(invalid(
                "`at_commit` is one moment and cannot be used with time_range, time_range_all, diff_type or author"
                    .to_owned(),
                "leave one of them out",
            ));
        }
        if chunk_type.is_some() {
            return Err(invalid(
                "`chunk_type` searches commits of a time and cannot be used with at_commit".to_owned(),
                "use time_range or time_range_all",
            ));
        }
        return Ok((When::At(commit.to_owned()), evolution));
    }
    let (from, to) = range.map(days).transpose()?.unwrap_or((None, None));
    if range.is_some() || past.time_range_all || filters || past.include_removed || chunk_type.is_some() {
        let removed = past.include_removed;
        let period = Period { from, to, removed, gone: false, changed: false, kinds, author };
        return Ok((When::During(period), evolution));
    }
    // What is there now has a past as well.
    Ok((if evolution.is_some() { When::At("HEAD".to_owned()) } else { When::Now }, evolution))
}

fn kinds(text: Option<&str>) -> Result<Vec<ChangeKind>, Failure> {
    let words = text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            ChangeKind::parse(word).ok_or_else(|| {
                let message = format!("there is no diff_type `{}`", brief(word));
                invalid(message, "use added, modified, deleted, renamed or binary, with commas between them")
            })
        })
        .collect()
}

/// The first and the last second of a time, in UTC. One side may be left open.
fn days(text: &str) -> Result<(Option<i64>, Option<i64>), Failure> {
    let unfit = || {
        let message = format!("`{}` is no time_range", brief(text));
        invalid(message, "write two days with two dots between them: 2024-01-01..2024-12-31")
    };
    let (from, to) = text.split_once("..").ok_or_else(unfit)?;
    let day = |text: &str| -> Result<Option<Date>, Failure> {
        let text = text.trim();
        // A day may be read out of a whole time, but then the time would be dropped.
        let is_day = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match text {
            "" => Ok(None),
            _ if is_day => text.parse().map(Some).map_err(|_| unfit()),
            _ => Err(unfit()),
        }
    };
    let (from, to) = (day(from)?, day(to)?);
    if from.is_none() && to.is_none() {
        return Err(unfit());
    }
    let second = |date: Date, hour, minute, second| {
        date.at(hour, minute, second, 0).to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp().as_second())
    };
    // The first and the last days that there are have no such second.
    let from = from.map(|date| second(date, 0, 0, 0).unwrap_or(i64::MIN));
    let to = to.map(|date| second(date, 23, 59, 59).unwrap_or(i64::MAX));
    Ok((from, to))
}

/// What the caller can do about what is not there.
#[derive(Clone, Copy)]
pub(super) struct Mend {
    /// Where the past is not kept.
    pub(super) keep: &'static str,
    /// Where what is kept is behind.
    pub(super) sync: &'static str,
}

impl Mend {
    pub(super) fn of(context: &Context) -> Self {
        let keep = match context.team {
            Some(_) => "An admin can have it kept.",
            None => "Run `lore sync --temporal` to build it.",
        };
        Self { keep, sync: context.how_to_sync() }
    }
}

/// What of the past is not there.
pub(super) fn warning(gaps: &PastGaps, searched: usize, mend: Mend) -> Vec<String> {
    let Mend { keep, sync } = mend;
    let mut said = Vec::new();
    if !gaps.not_kept.is_empty() {
        said.push(match searched {
            1 => format!("{NOT_KEPT} {keep}"),
            _ => format!("{NOT_KEPT} {keep} (concerns {})", gaps.not_kept.join(", ")),
        });
    }
    if !gaps.beside.is_empty() {
        said.push(format!(
            "the commit is not on the first-parent history of the indexed branch of {}: results do not say when their code was added \
             or removed; to see that, name a commit of that branch in at_commit",
            gaps.beside.join(", ")
        ));
    }
    if !gaps.behind.is_empty() {
        said.push(format!(
            "what is kept of the past of {} is older than its code, or not all there: {sync}",
            gaps.behind.join(", ")
        ));
    }
    for (name, line) in &gaps.other_line {
        said.push(format!(
            "the past that is kept of {name} is that of `{line}`: what the branch had beside it is found with at_commit"
        ));
    }
    if gaps.lacking > 0 {
        said.push(format!(
            "{} files of the commit were not searched: their content is not in the repository",
            gaps.lacking
        ));
    }
    if !gaps.no_commit.is_empty() {
        said.push(format!("{} has no such commit and was not searched", gaps.no_commit.join(", ")));
    }
    said
}

fn date(at: i64) -> Option<String> {
    Timestamp::from_second(at).ok().map(|at| at.to_string())
}

/// The `temporal_context` of a result.
pub(super) fn context(told: &Told) -> Value {
    let seen = |commit: &LineCommit| date(commit.at);
    let mut value = json!({
        "first_seen": seen(&told.standing.first),
        "last_seen": seen(&told.standing.last),
        "commit_count": told.happened_count,
        "commits": told.happened.iter().map(happened).collect::<Vec<_>>(),
    });
    if told.standing.file_is_gone {
        value["is_removed"] = true.into();
    }
    if let Some(by) = &told.removed_by {
        value["removed_by"] = happened(by);
    }
    if let Some(story) = &told.story {
        value["evolution"] = story.entries.iter().map(step).collect();
        if story.more {
            value["evolution_has_more"] = true.into();
        }
    }
    value
}

fn happened(happened: &Happened) -> Value {
    json!({
        "commit_hash": happened.commit.id.to_hex(),
        "commit_date": date(happened.commit.at),
        "commit_message": happened.subject.as_deref().map(line),
        "author_name": happened.author.as_deref().map(line),
        "diff_type": happened.kind.as_str(),
    })
}

fn step(entry: &StoryEntry) -> Value {
    let mut value = happened(&entry.happened);
    value["file_path"] = entry.path.to_text().into();
    if let Some(old) = &entry.old_path {
        value["old_path"] = old.to_text().into();
    }
    match &entry.diff {
        Ok(diff) => value["diff"] = diff.as_str().into(),
        Err(why) => {
            value["diff"] = Value::Null;
            value["not_compared"] = (*why).into();
        }
    }
    if entry.diff_left_out > 0 {
        value["diff_lines_left_out"] = entry.diff_left_out.into();
    }
    value
}

/// What of commits is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkType {
    Message,
    Diff,
}

pub(super) fn chunk_type(text: Option<&str>) -> Result<Option<ChunkType>, Failure> {
    Ok(Some(match text.map(|text| text.trim().to_lowercase()).as_deref() {
        None | Some("") => return Ok(None),
        Some("commit_message") => ChunkType::Message,
        Some("commit_diff") => ChunkType::Diff,
        Some(other) => {
            let message = format!("there is no chunk_type `{}`", brief(other));
            return Err(invalid(message, "it is commit_message or commit_diff"));
        }
    }))
}

/// What was left out of the evolution of files, and how to get it.
pub(super) fn over_budget(budget: &StoryBudget) -> Vec<String> {
    let mut notes = Vec::new();
    let narrow = "ask for fewer results (limit, path_filter), or from there on with at_commit";
    if budget.diffs_cut > 0 {
        let (cut, most) = (budget.diffs_cut, BUDGET.diff_bytes >> 20);
        notes.push(format!(
            "{cut} diffs of the evolution were left out, beyond {most} MiB: {narrow} set to the commit_hash of the first step without one"
        ));
    }
    if budget.steps_cut {
        let most = BUDGET.steps;
        notes.push(format!(
            "the evolution of all results has {most} steps, and there are more: {narrow} set to the commit_hash of the last one"
        ));
    }
    notes
}

/// A question for commits, as far as it is one.
pub(super) struct Commits<'a> {
    pub(super) chunk_type: ChunkType,
    pub(super) mode: Mode,
    pub(super) meaning: &'a CodeRequest,
    pub(super) lines: &'a LinesRequest,
}

impl Commits<'_> {
    /// What is asked, one after the other; nothing for changed code by meaning, which is asked for like other code.
    pub(super) fn requests(&self) -> Vec<CommitsRequest> {
        let exact = CommitText::Messages(self.lines.wanted.clone());
        let meaning = CommitText::Meaning(self.meaning.query.clone());
        let texts = match (self.chunk_type, self.mode) {
            (ChunkType::Message, Mode::Fts) => vec![exact],
            (ChunkType::Message, Mode::Semantic) => vec![meaning],
            (ChunkType::Message, Mode::Hybrid) => vec![exact, meaning],
            (ChunkType::Diff, Mode::Semantic) => Vec::new(),
            (ChunkType::Diff, _) => vec![CommitText::Diffs(self.lines.wanted.clone())],
        };
        texts.into_iter().map(|text| self.request(text)).collect()
    }

    fn request(&self, text: CommitText) -> CommitsRequest {
        let period = if let When::During(period) = &self.meaning.when { period.clone() } else { Period::default() };
        CommitsRequest {
            text,
            case_sensitive: self.lines.case_sensitive,
            files: self.lines.files.clone(),
            period,
            repos: self.lines.repos.clone(),
            limit: self.lines.limit,
            min_score: self.meaning.min_score,
            context: self.lines.context,
            time: self.lines.time,
        }
    }
}

/// What an answer about commits may lack.
pub(super) fn commit_notes(found: &CommitsAnswer, chunk_type: ChunkType) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((looked, all)) = found.unfinished {
        notes.push(format!("time was up after {looked} of {all} commits: narrow it with time_range or author"));
    }
    if chunk_type == ChunkType::Diff && found.without_diff > 0 {
        notes
            .push(format!("{} commits have no diff that is kept (binary, very large, or missing)", found.without_diff));
    }
    if found.undecided > 0 {
        notes.push(format!(
            "{} commits were left out: whether they changed a binary file is not known, because no diff of them is kept (very large, or missing)",
            found.undecided
        ));
    }
    notes
}

/// So many characters of a message are told.
const MESSAGE_MAX: usize = 10_000;

/// The beginning of a text that anybody may have written; where it is cut, that is told.
fn snippet(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…\n[cut: {} bytes in all]", &text[..end], text.len()),
    }
}

pub(super) fn commit_json(found: &CommitFound) -> Value {
    let commit = &found.commit;
    let told = json!({
        "commit_hash": commit.commit.to_hex(),
        "commit_date": commit.at.and_then(date),
        "commit_message": line(&commit.subject),
        "author_name": commit.author,
    });
    let at = commit.at.and_then(date);
    json!({
        "file_path": found.path.as_ref().map(|path| path.to_text().into_owned()).unwrap_or_default(),
        "line_number": found.line,
        "code_snippet": snippet(&found.text),
        "similarity_score": (f64::from(found.score) * 1e4).round() / 1e4,
        "repository_alias": found.repo,
        "source_repo": found.repo,
        "temporal_context": {"first_seen": at, "last_seen": at, "commit_count": 1, "commits": [told]},
    })
}
