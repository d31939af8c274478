//! `lore why`: the commits that shaped lines of a file.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    path::{Path, PathBuf},
};

use lore_core::why::{
    COMMITS_MAX, CoChangeAnswer, CoChangeRequest, Disk, ExplainRequest, Explained, FileRequest, Shaped, parse_lines,
    shown,
};
use lore_messages::Placed;
use lore_model::{Code, Failure};
use serde_json::{Map, Value, json};

use super::{Context, freshness_json, path_json, search::seen_from_here, sync::count};
use crate::{
    environment, time,
    ui::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, one_line},
};

/// So many files that change together with the file are shown.
const TOGETHER: i64 = 5;

/// Show why lines of a file are as they are
///
/// For lines: the commits that shaped them, newest first, each with the part of its diff that did, and what reviewers said
/// there. For a whole file: the commits by how many of its lines they shaped, and the files that change together with it.
/// Lines are followed through renames, moves and copies. They are those of the file as it is on disk; lines that are not
/// committed yet are told.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore why src/auth.rs:42\n  lore why src/auth.rs:10-20\n  lore why src/auth.rs\n  lore why src/lib.rs:7 --repo axum --json"
)]
pub(crate) struct Args {
    /// The file, with a line or the first and the last
    #[arg(value_name = "FILE[:LINES]")]
    target: OsString,
    /// The file is in this repository, and named from its root
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// Answer from the index as it is
    #[arg(long)]
    no_sync: bool,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let (file, lines) = target(&args.target)?;
    if !args.no_sync {
        context.refresh_project()?;
    }
    let at = request(args.repo, file);
    let found = context.lore.explain_lines(&ExplainRequest { at: at.clone(), lines })?;
    let together = if lines.is_none() {
        let FileRequest { folder, repo, from, file, known: _ } = at.clone();
        let request =
            CoChangeRequest { folder, repo, known: None, from, files: vec![file], others: None, limit: TOGETHER };
        Some(context.lore.co_changed(&request)?)
    } else {
        None
    };
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&answer_json(&found, together.as_ref()));
    }
    context.warn_if_not_fresh(&found.freshness);
    let (_, place) = context.lore.find_place(&at.folder, at.repo.as_deref())?;
    let page = Page { context, found: &found, place: &place };
    ui.to_page(page.text(lines.is_some(), together.as_ref()).as_bytes());
    ui.show_page(&context.loaded.config.pager)
}

/// A file as a person names it: from where they are, or from the root of a repository that they name.
pub(super) fn request(repo: Option<String>, file: PathBuf) -> FileRequest {
    let folder = environment::working_directory();
    let from = repo.is_none().then(|| folder.clone());
    FileRequest { folder, repo: repo.filter(|name| name != "."), known: None, from, file }
}

/// The file and the lines behind its name. A file that is called so is meant as it is.
pub(super) fn target(text: &OsStr) -> Result<(PathBuf, Option<(u32, u32)>), Failure> {
    let bytes = text.as_encoded_bytes();
    let whole = || (PathBuf::from(text), None);
    let Some(at) = bytes.iter().rposition(|byte| *byte == b':') else { return Ok(whole()) };
    let Ok(lines) = std::str::from_utf8(&bytes[at + 1..]) else { return Ok(whole()) };
    let is_number = lines.starts_with(|c: char| c.is_ascii_digit());
    if !is_number || Path::new(text).symlink_metadata().is_ok() {
        return Ok(whole());
    }
    let lines = parse_lines(lines)?;
    Ok((PathBuf::from(head(text, at)?), Some(lines)))
}

/// The text before an ASCII character.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere a name may be no text")]
fn head(text: &OsStr, at: usize) -> Result<&OsStr, Failure> {
    Ok(std::os::unix::ffi::OsStrExt::from_bytes(&text.as_encoded_bytes()[..at]))
}

#[cfg(not(unix))]
fn head(text: &OsStr, at: usize) -> Result<&str, Failure> {
    let text = text.to_str().and_then(|text| text.get(..at));
    text.ok_or_else(|| Failure::new(Code::InvalidArgument, "the name of the file is no text"))
}

/// What a person sees.
struct Page<'a> {
    context: &'a Context<'a>,
    found: &'a Explained,
    place: &'a Path,
}

impl Page<'_> {
    fn text(&self, has_lines: bool, together: Option<&CoChangeAnswer>) -> String {
        let (ui, found) = (self.context.ui, self.found);
        let path = one_line(&seen_from_here(self.place, &found.path));
        let lines = found.lines.filter(|_| has_lines).map_or_else(String::new, |lines| format!(":{}", shown(&[lines])));
        let head = found.head.map_or_else(String::new, |head| format!("  {} at {}", found.repo, &head.to_hex()[..10]));
        let mut text = format!("{}{}\n", ui.paint(BOLD, &format!("{path}{lines}")), ui.paint(DIM, &head));
        let mut say = |said: &str| writeln!(text, "{said}").expect("writing to a string cannot fail");
        match found.disk {
            Disk::New => say("  the file is in no commit yet"),
            Disk::Absent => say("  the file is not on disk: these are lines of the commit"),
            Disk::Same | Disk::Changed => {}
        }
        if found.disk == Disk::Changed && !found.uncommitted.is_empty() {
            say(&format!("  {} {}", ui.paint(YELLOW, "uncommitted:"), of_lines(&found.uncommitted)));
        }
        for shaped in &found.commits {
            say("");
            say(&if has_lines { self.commit(shaped) } else { self.counted(shaped) });
        }
        if found.commits_left_out > 0 {
            let more = count(found.commits_left_out as u64, "commit");
            say(&ui.paint(DIM, &format!("(and {more} besides; at most {COMMITS_MAX} are shown)")));
        }
        for placed in &found.comments {
            say("");
            say(&self.comment(placed));
        }
        if found.comments_left_out {
            say(&ui.paint(DIM, "(older comments on this file were not looked through)"));
        }
        text + &together.map_or_else(String::new, |together| self.together(together))
    }

    fn head(&self, shaped: &Shaped) -> String {
        let ui = self.context.ui;
        format!(
            "{} {} {}",
            ui.paint(YELLOW, &shaped.commit.to_hex()[..12]),
            time::date(shaped.author_time),
            ui.paint(DIM, &one_line(&shaped.author)),
        )
    }

    fn boundary(&self, shaped: &Shaped) -> String {
        if !shaped.boundary {
            return String::new();
        }
        self.context.ui.paint(DIM, "  (the known history begins here: the lines may be older)")
    }

    /// One commit with what it did to the lines.
    fn commit(&self, shaped: &Shaped) -> String {
        let ui = self.context.ui;
        let lines = of_lines(&shaped.lines);
        let mut text = format!("{}  {}{}\n", self.head(shaped), ui.paint(CYAN, &lines), self.boundary(shaped));
        write!(text, "  {}", ui.paint(BOLD, &one_line(&shaped.subject))).expect("writing to a string cannot fail");
        for origin in shaped.origins.iter().filter(|origin| origin.path != self.found.path) {
            let then = format!("in {}:{}", one_line(&origin.path.to_text()), shown(&origin.lines));
            write!(text, "\n  {}", ui.paint(DIM, &then)).expect("writing to a string cannot fail");
        }
        for hunk in &shaped.hunks {
            write!(text, "\n  {}", ui.paint(CYAN, &hunk.head)).expect("writing to a string cannot fail");
            for line in &hunk.lines {
                let plain = one_line(&line.replace('\t', "    "));
                let painted = match line.as_bytes().first() {
                    Some(b'+') => ui.paint(GREEN, &plain),
                    Some(b'-') => ui.paint(RED, &plain),
                    _ => plain,
                };
                write!(text, "\n  {}", painted.trim_end()).expect("writing to a string cannot fail");
            }
            if hunk.left_out > 0 {
                let left_out = format!("({} of this change left out)", count(hunk.left_out as u64, "line"));
                write!(text, "\n  {}", ui.paint(DIM, &left_out)).expect("writing to a string cannot fail");
            }
        }
        text
    }

    /// One commit with how many lines of the file are its own.
    fn counted(&self, shaped: &Shaped) -> String {
        let ui = self.context.ui;
        let lines = ui.paint(CYAN, &count(shaped.count as u64, "line"));
        let subject = ui.paint(BOLD, &one_line(&shaped.subject));
        format!("{}  {lines}{}\n  {subject}", self.head(shaped), self.boundary(shaped))
    }

    fn comment(&self, placed: &Placed) -> String {
        let ui = self.context.ui;
        let sent = &placed.message.sent;
        let lines = placed.place.lines.map_or_else(String::new, |lines| format!(" on {}", of_lines(&[lines])));
        let state = format!("{}, {}", placed.message.state.as_str(), placed.place.fate.as_str());
        let head = ui.paint(YELLOW, &format!("comment {}{lines}", placed.message.id));
        let said: Vec<String> = sent.comment.lines().map(|line| format!("  {}", one_line(line))).collect();
        format!("{head} {} {}\n{}", one_line(&sent.time), ui.paint(DIM, &state), said.join("\n"))
    }

    fn together(&self, together: &CoChangeAnswer) -> String {
        let ui = self.context.ui;
        if together.files.is_empty() {
            return String::new();
        }
        let mut text = format!("\nChanges together with ({}):\n", count(together.commits as u64, "commit"));
        for changed in &together.files {
            let path = one_line(&seen_from_here(self.place, &changed.file.path));
            let gone = if changed.gone { "  (gone)" } else { "" };
            let often = format!("{:>5} ({:.0} %)", changed.file.support, changed.confidence * 100.0);
            writeln!(text, "{}  {}{}", ui.paint(CYAN, &often), ui.paint(BOLD, &path), ui.paint(DIM, gone))
                .expect("writing to a string cannot fail");
        }
        text
    }
}

/// `line 3` or `lines 3-5,8`.
fn of_lines(lines: &[(u32, u32)]) -> String {
    match lines {
        [(first, last)] if first == last => format!("line {first}"),
        many => format!("lines {}", shown(many)),
    }
}

fn answer_json(found: &Explained, together: Option<&CoChangeAnswer>) -> Value {
    let mut object = Map::new();
    object.insert("repo".to_owned(), found.repo.clone().into());
    path_json(&mut object, "path", Some(&found.path));
    let pairs = |lines: &[(u32, u32)]| -> Value { lines.iter().map(|(first, last)| json!([first, last])).collect() };
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("head", found.head.map(|head| head.to_hex()).into());
    put("lines", found.lines.map_or(Value::Null, |(first, last)| json!([first, last])));
    put(
        "disk",
        match found.disk {
            Disk::Same => "same",
            Disk::Changed => "changed",
            Disk::New => "new",
            Disk::Absent => "absent",
        }
        .into(),
    );
    put("uncommitted", pairs(&found.uncommitted));
    let commit = |shaped: &Shaped| {
        let origins = shaped.origins.iter().map(|origin| {
            let mut object = Map::new();
            path_json(&mut object, "path", Some(&origin.path));
            object.insert("lines".to_owned(), pairs(&origin.lines));
            Value::Object(object)
        });
        let hunks = shaped
            .hunks
            .iter()
            .map(|hunk| json!({"head": hunk.head, "lines": hunk.lines, "lines_left_out": hunk.left_out}));
        json!({
            "sha": shaped.commit.to_hex(),
            "subject": shaped.subject,
            "author": shaped.author,
            "date": shaped.author_time.unwrap_or(0),
            "lines": pairs(&shaped.lines),
            "count": shaped.count,
            "then": origins.collect::<Vec<Value>>(),
            "boundary": shaped.boundary,
            "hunks": hunks.collect::<Vec<Value>>(),
        })
    };
    put("commits", found.commits.iter().map(commit).collect());
    put("commits_left_out", found.commits_left_out.into());
    let comment = |placed: &Placed| {
        json!({
            "id": placed.message.id.0,
            "lines": placed.place.lines.map(|(first, last)| json!([first, last])),
            "text": placed.message.sent.comment,
            "time": placed.message.sent.time,
            "state": placed.message.state.as_str(),
            "code": placed.place.fate.as_str(),
        })
    };
    put("comments", found.comments.iter().map(comment).collect());
    put("comments_left_out", found.comments_left_out.into());
    if let Some(together) = together {
        put("co_changed", together_json(together));
    }
    put("freshness", freshness_json(&found.freshness));
    Value::Object(object)
}

fn together_json(together: &CoChangeAnswer) -> Value {
    let files = together.files.iter().map(|changed| {
        let mut object = Map::new();
        path_json(&mut object, "path", Some(&changed.file.path));
        object.insert("support".to_owned(), changed.file.support.into());
        object.insert("confidence".to_owned(), ((changed.confidence * 1e4).round() / 1e4).into());
        object.insert("gone".to_owned(), changed.gone.into());
        object.insert("newest".to_owned(), changed.file.newest.to_hex().into());
        Value::Object(object)
    });
    json!({
        "commits": together.commits,
        "commits_with_too_many_files": together.too_large,
        "files": files.collect::<Vec<Value>>(),
        "more": together.more,
    })
}

/// A line must be named where one is needed.
pub(super) fn needs_line(lines: Option<(u32, u32)>) -> Result<u32, Failure> {
    lines.map(|(first, _)| first).ok_or_else(|| {
        Failure::new(Code::InvalidArgument, "no line is named").hint("name one behind the file: src/auth.rs:42")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_behind_the_name_of_the_file() {
        let read =
            |text: &str| target(OsStr::new(text)).map(|(file, lines)| (file.to_string_lossy().into_owned(), lines));
        for (text, file, lines) in [
            ("src/a.rs", "src/a.rs", None),
            ("src/a.rs:7", "src/a.rs", Some((7, 7))),
            ("src/a.rs:7-9", "src/a.rs", Some((7, 9))),
            ("a:b:3,5", "a:b", Some((3, 5))),
            ("a:b", "a:b", None),
        ] {
            assert_eq!(read(text).unwrap(), (file.to_owned(), lines), "{text}");
        }
        assert!(read("a:0").is_err() && read("a:7x").is_err());
    }
}
