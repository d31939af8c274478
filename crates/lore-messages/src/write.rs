//! Takes a comment down: whose project and file it is, what the code looks like, and then onto the disk.

use std::path::{Component, Path, PathBuf};

use lore_git::{Head, Repository, read_beneath};
use lore_model::{Anchor, Code, Failure, MessageId, NewMessage, RepoPath};
use lore_store::Added;
use sha2::{Digest, Sha256};
use similar::TextDiff;

use super::{
    Messages, failure,
    place::{FILE_MAX, symbol_at},
    relocate::lines,
};
use crate::rfc3339_millis;

/// The longest comment.
pub const COMMENT_MAX: usize = 1 << 20;

/// The largest file that is kept whole with a comment.
const WHOLE_MAX: usize = 1 << 20;

/// Lines before and after that are kept of a larger one.
const KEPT_AROUND: usize = 200;

/// Lines before and after a place that are shown.
const CONTEXT: usize = 3;

/// The longest hunk that is kept, in lines and bytes.
const HUNK_MAX: (usize, usize) = (200, 16 << 10);

/// What somebody says about a file.
#[derive(Debug, Clone)]
pub struct CommentRequest {
    /// The folder in which it is said.
    pub folder: PathBuf,
    /// The project, where it is not the one of the folder or of the file.
    pub project: Option<PathBuf>,
    /// The file: absolute, or as seen from the folder or from the project's root.
    pub file: PathBuf,
    /// The first and the last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// What is said.
    pub text: String,
}

/// A comment that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commented {
    /// Its number.
    pub id: MessageId,
    /// The message.
    pub message: NewMessage,
    /// What its writer should know.
    pub notes: Vec<String>,
}

/// The project that a folder belongs to: the nearest folder upwards that is a repository, else the folder itself.
pub fn project_root(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
    root.unwrap_or(folder)
}

impl Messages {
    /// Keeps a comment. It is on disk when this returns.
    pub fn comment(&self, request: &CommentRequest) -> Result<Commented, Failure> {
        if request.text.trim().is_empty() {
            return Err(
                invalid("the comment is empty".to_owned()).hint("give its text as an argument or on standard input")
            );
        }
        if request.text.len() > COMMENT_MAX {
            return Err(invalid(format!("the comment has more than {COMMENT_MAX} bytes"))
                .hint("put long text into a file and name that"));
        }
        let mut time = self.clock.now_millis();
        let (mut message, notes) = compose(request)?;
        loop {
            message.time = rfc3339_millis(time);
            message.key = comment_key(&message);
            match self.store.add(&message, time / 1000).map_err(failure)? {
                Added::New(id) => return Ok(Commented { id, message, notes }),
                // Two comments are never one, even where they are the same and the clock did not advance between them.
                Added::Known(_) => time += 1,
            }
        }
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(Code::InvalidArgument, message)
}

/// The key of a comment: text, place and time. Older databases have it for messages of lazygit-mcp-bridge as well.
pub(super) fn comment_key(message: &NewMessage) -> [u8; 32] {
    key(message, message.lines)
}

/// The key of a message of lazygit-mcp-bridge: file (which is one of a project), text and time. As its documentation says,
/// the line is no part of it.
pub(super) fn bridge_key(message: &NewMessage) -> [u8; 32] {
    key(message, None)
}

fn key(message: &NewMessage, lines: Option<(u32, u32)>) -> [u8; 32] {
    let mut hash = Sha256::new();
    let project = message.project.as_ref().map(|project| project.as_os_str().as_encoded_bytes());
    let lines = lines.map(|lines| format!("{lines:?}")).unwrap_or_default();
    for part in [
        message.file.as_bytes(),
        message.comment.as_bytes(),
        message.time.as_bytes(),
        project.unwrap_or_default(),
        lines.as_bytes(),
    ] {
        // Lengths keep one part from running into the next.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A comment that lacks its time and key.
fn compose(request: &CommentRequest) -> Result<(NewMessage, Vec<String>), Failure> {
    let (project, file) = locate(request)?;
    let seen = Surroundings::of(&project, &file, request.lines);
    let message = NewMessage {
        project: Some(project),
        file,
        lines: request.lines,
        comment: request.text.clone(),
        time: String::new(),
        branch: seen.head.branch,
        head: seen.head.commit,
        hunk: seen.hunk,
        anchor: seen.anchor,
        key: [0; 32],
    };
    Ok((message, seen.notes))
}

/// What is around a place when something is said about it.
#[derive(Default)]
pub(super) struct Surroundings {
    pub(super) head: Head,
    pub(super) hunk: Option<String>,
    pub(super) anchor: Option<Anchor>,
    /// What the writer should know.
    notes: Vec<String>,
}

impl Surroundings {
    /// Looks at the place.
    pub(super) fn of(project: &Path, file: &RepoPath, at: Option<(u32, u32)>) -> Self {
        let repository = Repository::open(project).ok();
        let head = match &repository {
            Some(repository) => repository.head().unwrap_or_else(|error| {
                tracing::debug!(%error, "what is checked out is not known");
                Head::default()
            }),
            None => Head::default(),
        };
        let mut seen = Self { head, ..Self::default() };
        let text = match read_beneath(project, file, FILE_MAX) {
            Ok(Some(text)) if lore_chunk::is_binary(&text) => Err("is no text"),
            Ok(Some(text)) => Ok(text),
            Ok(None) => match project.join(&*file.to_text()).symlink_metadata() {
                Ok(meta) if meta.is_dir() => return seen,
                Ok(meta) if meta.is_symlink() => Err("is a link"),
                Ok(meta) if meta.len() > FILE_MAX => Err("is very large"),
                Ok(_) => Err("is not read"),
                Err(_) => Err("does not exist"),
            },
            Err(error) => {
                tracing::debug!(%error, %file, "the file of a comment cannot be read");
                Err("cannot be read")
            }
        };
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                seen.notes.push(format!("{file} {why}: the comment is kept without its code"));
                return seen;
            }
        };
        let count = lines(&text).len();
        if at.is_some_and(|(_, last)| usize::try_from(last).map_or(true, |last| last > count)) {
            seen.notes.push(format!("{file} has only {count} lines on disk: the comment is kept without its code"));
            return seen;
        }
        let committed = repository
            .as_ref()
            .zip(seen.head.commit)
            .and_then(|(repository, commit)| repository.file_of(commit, file, FILE_MAX).ok().flatten());
        seen.hunk = hunk(committed.as_deref(), &text, at);
        seen.anchor = Some(anchor_of(file, &text, at));
        seen
    }
}

/// The project's root and the file below it.
fn locate(request: &CommentRequest) -> Result<(PathBuf, RepoPath), Failure> {
    let named = request.file.as_os_str();
    if named.is_empty() || named.as_encoded_bytes().contains(&0) {
        return Err(invalid("the file has no name".to_owned()).hint("pass `--file PATH`"));
    }
    if let Some(project) = request.project.as_ref().filter(|project| !project.is_dir()) {
        return Err(
            invalid(format!("{} is no folder", project.display())).hint("pass the project's folder with `--project`")
        );
    }
    let folder = request.project.as_ref().unwrap_or(&request.folder);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let root = project_root(&folder);
    let seen_from = |base: &Path| resolve(&base.join(&request.file));
    let from_folder = seen_from(&folder);
    let from_root = seen_from(&root);
    let below = |root: &Path, path: &Path| path.strip_prefix(root).ok().map(Path::to_owned);
    // Editors name a file as seen from where they run, lazygit as seen from the root. Where both are there, the last counts.
    let candidates = [&from_root, &from_folder];
    let inside = candidates.iter().filter_map(|path| Some((path.symlink_metadata().is_ok(), below(&root, path)?)));
    let found = inside.max_by_key(|(exists, _)| *exists).map(|(_, path)| (root.clone(), path));
    // A file elsewhere belongs to its own project, unless another one was named.
    let found = found.or_else(|| {
        let own = project_root(from_folder.parent().filter(|_| request.project.is_none())?);
        let path = below(&own, &from_folder)?;
        // The folder that holds the project is no file of another one.
        Some((own, path)).filter(|_| from_folder.exists() && !root.starts_with(&from_folder))
    });
    let Some((root, path)) = found else {
        return Err(invalid(format!("{} is not in the project at {}", request.file.display(), root.display()))
            .hint("name a file of the project, or its own project with `--project DIR`"));
    };
    Ok((root, repo_path(&path)))
}

pub(super) fn repo_path(path: &Path) -> RepoPath {
    let names: Vec<&[u8]> = path.components().map(|name| name.as_os_str().as_encoded_bytes()).collect();
    // The project as a whole: lazygit selects it where nothing else is.
    if names.is_empty() { RepoPath::from(".") } else { RepoPath::new(names.join(&b'/')) }
}

/// The path without `.`, `..` and links on the way; its last name stays as it is.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    match (plain.parent().and_then(|parent| parent.canonicalize().ok()), plain.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => plain,
    }
}

/// What is needed to find the place again.
fn anchor_of(file: &RepoPath, text: &[u8], at: Option<(u32, u32)>) -> Anchor {
    let symbol = at.and_then(|at| symbol_at(file, text, at)).map(|symbol| symbol.name);
    if text.len() <= WHOLE_MAX {
        return Anchor { text: text.to_vec(), first_line: 1, whole: true, symbol };
    }
    let (first, last) = at.unwrap_or((1, 1));
    let index = |line: u32| usize::try_from(line.saturating_sub(1)).unwrap_or(0);
    let start = index(first).saturating_sub(KEPT_AROUND);
    let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let end = (index(last) + KEPT_AROUND + 1).min(all.len());
    let part = all.get(start..end).unwrap_or_default().concat();
    Anchor { text: part, first_line: u32::try_from(start + 1).unwrap_or(1), whole: false, symbol }
}

/// What the reviewer sees: the hunk of the uncommitted change around the lines (all hunks where no line is named), or else
/// the lines around.
fn hunk(committed: Option<&[u8]>, text: &[u8], at: Option<(u32, u32)>) -> Option<String> {
    let now = String::from_utf8_lossy(text);
    let then = committed.map(String::from_utf8_lossy);
    let mut hunks = String::new();
    if let Some(then) = then.as_ref().filter(|then| **then != now) {
        let diff = TextDiff::configure().timeout(std::time::Duration::from_millis(300)).diff_lines(&**then, &*now);
        for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
            let range = hunk.ops().first()?.new_range().start..hunk.ops().last()?.new_range().end;
            // Where all was deleted there is no line; the hunk is at the place where it was.
            let end = range.end.max(range.start + 1);
            let index = |line: u32| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
            if at.is_none_or(|(first, last)| range.start <= index(last) && index(first) < end) {
                hunks.push_str(&hunk.to_string());
            }
        }
    }
    match at {
        _ if !hunks.is_empty() => Some(cut(hunks)),
        Some((first, last)) => Some(cut(around(&now, first, last))),
        None => None,
    }
}

/// The lines around a place, as a hunk that changes nothing.
fn around(text: &str, first: u32, last: u32) -> String {
    let index = |line: u32| usize::try_from(line.saturating_sub(1)).unwrap_or(0);
    let start = index(first).saturating_sub(CONTEXT);
    let lines: Vec<&str> = text.lines().skip(start).take(index(last) + CONTEXT + 1 - start).collect();
    let mut hunk = format!("@@ -{0},{1} +{0},{1} @@\n", start + 1, lines.len());
    for line in lines {
        hunk.push(' ');
        hunk.push_str(line);
        hunk.push('\n');
    }
    hunk
}

fn cut(hunk: String) -> String {
    let (most_lines, most_bytes) = HUNK_MAX;
    let mut kept = 0;
    for (number, line) in hunk.split_inclusive('\n').enumerate() {
        if number == most_lines || kept + line.len() > most_bytes {
            let left = hunk[kept..].lines().count();
            return format!("{}\\ {left} more lines are left out\n", &hunk[..kept]);
        }
        kept += line.len();
    }
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_large_file_the_lines_around_are_kept() {
        let file = RepoPath::from("large.txt");
        let large = (1..=200_000).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let kept = |at| {
            let anchor = anchor_of(&file, large.as_bytes(), at);
            assert!(!anchor.whole);
            let text = String::from_utf8(anchor.text).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            (anchor.first_line, lines[0].to_owned(), lines[lines.len() - 1].to_owned())
        };
        let lines = |first: u32, last: u32| (first, format!("line {first}"), format!("line {last}"));
        assert_eq!(kept(Some((1000, 1001))), lines(800, 1201));
        assert_eq!(kept(Some((5, 5))), lines(1, 205));
        assert_eq!(kept(Some((199_999, 200_000))), lines(199_799, 200_000));
        assert_eq!(kept(None), lines(1, 201));
        let small = anchor_of(&file, b"one\ntwo\n", Some((2, 2)));
        assert!(small.whole && small.first_line == 1 && small.text == b"one\ntwo\n");
    }

    fn numbered(change: impl Fn(u32) -> Option<String>) -> String {
        (1..=100).filter_map(change).map(|line| line + "\n").collect()
    }

    #[track_caller]
    fn check(now: &str, at: (u32, u32), has: &[&str], lacks: &[&str]) {
        let then = numbered(|number| Some(format!("line {number}")));
        let hunk = hunk(Some(then.as_bytes()), now.as_bytes(), Some(at)).unwrap();
        let lines: Vec<&str> = hunk.lines().collect();
        assert!(has.iter().all(|line| lines.contains(line)), "{hunk}");
        assert!(!lacks.iter().any(|line| lines.contains(line)), "{hunk}");
    }

    #[test]
    fn a_change_anywhere_in_the_lines_is_in_the_hunk() {
        let now = numbered(|number| Some(if number == 50 { "CHANGED".to_owned() } else { format!("line {number}") }));
        for at in [(30, 70), (50, 50), (48, 60), (53, 60), (40, 47)] {
            check(&now, at, &["-line 50", "+CHANGED"], &[]);
        }
        for at in [(1, 46), (54, 54), (54, 100)] {
            check(&now, at, &[], &["-line 50", "+CHANGED"]);
        }
    }

    #[test]
    fn a_change_beside_the_lines_is_not_in_the_hunk() {
        let now = numbered(|number| match number {
            20 | 80 => Some("CHANGED".to_owned()),
            50 => None,
            number => Some(format!("line {number}")),
        });
        check(&now, (40, 60), &["-line 50", " line 51"], &["-line 20", "-line 80"]);
        check(&now, (10, 90), &["-line 20", "-line 50", "-line 80"], &[]);
        let cut = numbered(|number| (number < 90).then(|| format!("line {number}")));
        check(&cut, (80, 89), &["-line 90", "-line 100"], &[]);
    }

    #[test]
    fn half_a_line_end_is_a_line_that_can_be_commented_on() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "a\n\r").unwrap();
        let seen = Surroundings::of(folder.path(), &RepoPath::from("a.txt"), Some((2, 2)));
        assert_eq!((seen.notes, seen.anchor.is_some()), (Vec::<String>::new(), true));
    }
}
