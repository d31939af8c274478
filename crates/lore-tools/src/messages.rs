//! Messages as agents get them: the contract's text, and beside it what the text cannot carry.
//!
//! The tool `check_lazygit_messages` and the resource `lazygit://messages` show the same.

use std::{path::PathBuf, time::Duration};

use lore_messages::{Fate, Placed, SymbolAt, Unreadable};
use lore_model::{Cancel, Failure, MessageId, RepoPath};
use serde_json::{Map, Value, json};

use crate::{Answer, Content, Context, answer::AnswerBuilder};

/// The resource's address.
pub const URI: &str = "lazygit://messages";

/// Its name for people.
pub const NAME: &str = "Lazygit Messages";

/// What it is.
pub const ABOUT: &str = "Messages from lazygit for code improvement";

/// Its kind of text.
pub const MIME: &str = "text/plain";

/// What there is to say where nothing waits.
const NONE: &str = "No new messages from lazygit";

/// What stands between two messages.
const RULE: &str = "\n\n--------------------------------------------------\n\n";

/// Characters of code that a note quotes.
const QUOTED: usize = 200;

/// How often the file of lazygit-mcp-bridge is looked at.
const INBOX: Duration = Duration::from_millis(500);

/// How long to leave messages alone where they cannot be read.
const RETRY: Duration = Duration::from_secs(5);

/// What waits for the project, shown and left there.
pub fn read(context: &Context) -> Result<Answer, Failure> {
    let folder = context.folder();
    let waiting = context.lore.messages.waiting(&folder)?;
    let mut answer = answer(&waiting.messages, waiting.left, "check_lazygit_messages gives these and then the next");
    answer.notes(&notes(&waiting.unreadable));
    Ok(answer.done())
}

/// The contract's text, and beside it what it does not say.
pub(crate) fn answer(messages: &[Placed], left: usize, how: &str) -> AnswerBuilder {
    let content = Content::Review.unless(messages.is_empty());
    let mut answer = AnswerBuilder::text(text(messages, left, how)).content(content);
    answer.note("messages", messages.iter().map(unsaid).collect::<Vec<Value>>());
    answer.note("waiting", left);
    answer
}

/// Tells of messages that arrive.
pub struct Follower {
    context: Context,
    /// The last one that is no news.
    seen: MessageId,
}

impl Follower {
    /// What is there at this moment is no news, for whichever project it is: the client may not have said yet where it
    /// works.
    pub fn new(context: Context) -> Self {
        let seen = context.lore.messages.last().unwrap_or_default();
        Self { context, seen }
    }

    /// Tells of every message that arrives for the project, until it is cancelled.
    pub fn run(self, cancel: &Cancel, heard: &dyn Fn(&RepoPath)) {
        let Self { context, mut seen } = self;
        let messages = &context.lore.messages;
        let changes = loop {
            match messages.changes() {
                Ok(changes) => break changes,
                Err(failure) => {
                    tracing::warn!(%failure, "messages cannot be watched");
                    if !cancel.sleep(RETRY) {
                        return;
                    }
                }
            }
        };
        let mut reported: Option<String> = None;
        let mut folder: Option<PathBuf> = None;
        while !cancel.is_cancelled() {
            let last_change = changes.last();
            let failed = messages.take_inbox().err().map(|failure| failure.to_string());
            // Once, not twice a second.
            if let Some(problem) = failed.as_ref().filter(|_| failed != reported) {
                tracing::warn!(problem, "the messages of lazygit-mcp-bridge are left in its file");
            }
            reported = failed;
            messages.settle(Vec::new(), Vec::new());
            let now = context.project.folder_now();
            let is_other = folder.as_ref().is_some_and(|folder| *folder != now);
            // Numbers that begin anew are those of another database, in the place of one that was moved away.
            if is_other || messages.last().is_ok_and(|last| last < seen) {
                seen = MessageId(0);
            }
            match messages.newest(&now) {
                Ok(Some((id, file))) if id > seen => {
                    seen = id;
                    heard(&file);
                }
                Ok(_) => {}
                Err(failure) => tracing::debug!(%failure, "messages cannot be looked at"),
            }
            folder = Some(now);
            changes.wait(last_change, Some(INBOX), cancel);
        }
    }
}

/// The contract's text.
fn text(messages: &[Placed], left: usize, how: &str) -> String {
    if messages.is_empty() {
        return NONE.to_owned();
    }
    let mut parts: Vec<String> = messages.iter().enumerate().map(|(index, placed)| one(index + 1, placed)).collect();
    if left > 0 {
        let are = if left == 1 { "message is" } else { "messages are" };
        parts.push(format!("{left} more {are} waiting: {how}"));
    }
    parts.join(RULE)
}

fn one(number: usize, placed: &Placed) -> String {
    let sent = &placed.message.sent;
    let mut rows = vec![format!("Message {number}:"), format!("File: {}", shown(&placed.place.file))];
    rows.extend(placed.place.lines.or(sent.lines).map(|at| format!("Line: {}", range(at))));
    rows.push(format!("Comment: {}", sent.comment));
    rows.push(format!("Time: {}", sent.time));
    rows.extend(note(placed).map(|note| format!("Note: {note}")));
    rows.join("\n") + "\n\nPlease improve this code."
}

fn range((first, last): (u32, u32)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// What the agent must know of the place, where it is not as it was.
fn note(placed: &Placed) -> Option<String> {
    let sent = &placed.message.sent;
    let was = match (sent.lines, placed.place.file != sent.file) {
        (Some(lines), true) => format!("line {} of {}", range(lines), shown(&sent.file)),
        (Some(lines), false) => format!("line {}", range(lines)),
        (None, _) => shown(&sent.file),
    };
    match placed.place.fate {
        Fate::Here | Fate::Unknown => None,
        Fate::Moved => Some(format!("the code moved after this was written; it was at {was}")),
        Fate::Edited => Some(format!("the code was edited after this was written; it was at {was}")),
        Fate::Gone => Some(format!("the code is gone since this was written; it was at {was}{}", then(placed))),
        Fate::FileGone => Some("the file is gone since this was written".to_owned()),
    }
}

/// The first line of the code as it was, as a quotation.
fn then(placed: &Placed) -> String {
    let code = placed.code_then().unwrap_or_default();
    let line = code.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        return String::new();
    }
    format!(": `{}`", line.chars().take(QUOTED).collect::<String>())
}

/// A path in the text: whatever it is called, it is one line.
fn shown(path: &RepoPath) -> String {
    path.to_text().chars().fold(String::new(), |mut text, c| {
        if matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
        text
    })
}

/// What the reader must know of files that hold no message.
pub(crate) fn notes(unreadable: &[Unreadable]) -> Vec<String> {
    let note = |(path, why): &Unreadable| {
        format!("a review comment may be missing: {} {why}; the user can correct or remove the file", path.display())
    };
    unreadable.iter().map(note).collect()
}

/// What the text does not say of a message, in the order of the text, with what says which message it is.
fn unsaid(placed: &Placed) -> Value {
    let mut value = json(placed);
    if let Value::Object(fields) = &mut value {
        fields.remove("comment");
        fields.remove("note");
    }
    value
}

/// A message for programs.
pub fn json(placed: &Placed) -> Value {
    let (message, place) = (&placed.message, &placed.place);
    let sent = &message.sent;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            object.insert(key.to_owned(), value);
        }
    };
    let lines = place.lines.or(sent.lines);
    put("id", message.id.0.into());
    put("file", place.file.to_text().into());
    put("line", lines.map(|lines| lines.0).into());
    put("last_line", lines.map(|lines| lines.1).into());
    put("comment", sent.comment.clone().into());
    put("time", sent.time.clone().into());
    put("code_state", place.fate.as_str().into());
    if !matches!(place.fate, Fate::Here | Fate::Unknown) {
        put(
            "was",
            json!({"file": sent.file.to_text(), "line": sent.lines.map(|lines| lines.0), "last_line": sent.lines.map(|lines| lines.1)}),
        );
        put("code_then", placed.code_then().into());
    }
    put("code", place.code.clone().into());
    put("symbol", place.symbol.as_ref().map(symbol).into());
    put("symbol_then", sent.anchor.as_ref().and_then(|anchor| anchor.symbol.clone()).into());
    put("hunk", sent.hunk.clone().into());
    put("project", sent.project.as_ref().map(|project| project.to_string_lossy()).into());
    put("branch", sent.branch.clone().into());
    put("commit", sent.head.map(|head| head.to_hex()).into());
    if let Some(note) = note(placed) {
        put("note", note.into());
    }
    Value::Object(object)
}

fn symbol(symbol: &SymbolAt) -> Value {
    json!({"name": symbol.name, "kind": symbol.kind.as_str(), "line": symbol.lines.0, "last_line": symbol.lines.1})
}
