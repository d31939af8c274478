//! `lore comment`: says something about a file to the agent that works on it.

use std::{
    ffi::{OsStr, OsString},
    io::{IsTerminal, Read as _},
    path::PathBuf,
};

use lore_messages::{COMMENT_MAX, CommentRequest};
use lore_model::{Code, Failure};
use serde_json::json;

use super::Context;
use crate::{environment, ui::one_line};

/// Say something about a file to the agent that works on the project
///
/// The comment is on disk when this returns, and reaches the agent with its next look (or at once, where it subscribed),
/// together with the code it is about, wherever that has moved by then. `lore setup lazygit` binds this to a key.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore comment --file src/auth.rs --line 42 \"this needs error handling\"\n  lore comment --file src/auth.rs --line 42-58 \"split this function\"\n  git diff | review-tool | lore comment --file src/auth.rs -"
)]
pub(crate) struct Args {
    /// The file: as seen from here, or from the project's root
    #[arg(long, value_name = "PATH")]
    file: PathBuf,
    /// The line, or the first and the last: 42 or 42-58
    #[arg(long, value_name = "N[-M]", allow_hyphen_values = true)]
    line: Option<String>,
    /// The project [default: the repository of the current folder, or of the file]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// File and text are written as in the query of an address: `%20` and `+`. For programs whose quoting is not right for
    /// every shell.
    #[arg(long, hide = true)]
    encoded: bool,
    /// What you say; from standard input without it, or with `-`
    #[arg(value_name = "TEXT")]
    text: Vec<OsString>,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let text = if args.encoded && !args.text.is_empty() {
        args.text.iter().map(|word| decoded(word).to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    } else {
        text(context, &args.text)?
    };
    let request = CommentRequest {
        folder: environment::working_directory(),
        project: args.project,
        file: if args.encoded { decoded(args.file.as_os_str()).into() } else { args.file },
        lines: args.line.as_deref().map(str::trim).filter(|line| !line.is_empty()).map(lines).transpose()?,
        text: text.clone(),
    };
    let kept = context.lore.messages.comment(&request).map_err(|failure| not_kept(failure, &text))?;
    let message = &kept.message;
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({
            "id": kept.id.0, "known": false, "file": message.file.to_text(),
            "line": message.lines.map(|lines| lines.0), "last_line": message.lines.map(|lines| lines.1),
            "project": message.project.as_ref().map(|project| project.to_string_lossy()), "time": message.time,
            "symbol": message.anchor.as_ref().and_then(|anchor| anchor.symbol.as_ref()), "notes": kept.notes,
        }));
    }
    for note in &kept.notes {
        ui.warn(note);
    }
    let place = super::comments::place(&message.file, message.lines);
    ui.line(&format!("comment {} on {} is waiting for the agent", kept.id, one_line(&place)))
}

/// What is said, as it was given or from standard input.
fn text(context: &Context<'_>, given: &[OsString]) -> Result<String, Failure> {
    if !given.is_empty() && given != ["-"] {
        let words: Vec<_> = given.iter().map(|word| word.to_string_lossy()).collect();
        return Ok(words.join(" "));
    }
    let input = std::io::stdin().lock();
    if input.is_terminal() {
        context.ui.note("type the comment, and end it with Ctrl-D on a line of its own:");
    }
    let mut bytes = Vec::new();
    input
        .take(u64::try_from(COMMENT_MAX).unwrap_or(u64::MAX) + 2)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::NoAccess, format!("standard input cannot be read: {error}")))?;
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        context.ui.warn("the text is not UTF-8: what is invalid in it is replaced");
    }
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// A text without its encoding.
fn decoded(text: &OsStr) -> OsString {
    let spaced = text.as_encoded_bytes().iter().map(|byte| if *byte == b'+' { b' ' } else { *byte });
    let bytes: Vec<u8> = spaced.collect();
    let bytes: Vec<u8> = percent_encoding::percent_decode(&bytes).collect();
    #[cfg(unix)]
    {
        std::os::unix::ffi::OsStringExt::from_vec(bytes)
    }
    #[cfg(not(unix))]
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// `42`, `42-58`, `42:58` or `42,58`.
fn lines(text: &str) -> Result<(u32, u32), Failure> {
    let (first, last) = text.split_once(['-', ':', ',']).unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|line| *line > 0);
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        // Editors name a selection from its cursor.
        (Some(first), Some(last)) => Ok((last, first)),
        _ => Err(Failure::new(Code::InvalidArgument, format!("`{text}` is no line"))
            .hint("lines count from 1: `--line 42` or `--line 42-58`")),
    }
}

/// What somebody typed must not be lost with the failure.
fn not_kept(failure: Failure, text: &str) -> Failure {
    let told = Failure::new(failure.code, format!("the comment was not kept: {failure}\nit said: {text}"));
    match &failure.hint {
        Some(hint) => told.hint(hint.clone()),
        None => told,
    }
    .caused_by(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_editors_write_them() {
        for (text, expected) in
            [("42", (42, 42)), ("3-5", (3, 5)), ("3:5", (3, 5)), (" 3 , 5 ", (3, 5)), ("5-3", (3, 5))]
        {
            assert_eq!(lines(text).unwrap(), expected, "{text}");
        }
        for wrong in ["0", "-3", "3-", "x", "1-2-3", "99999999999"] {
            assert!(lines(wrong).is_err(), "{wrong}");
        }
    }
}
