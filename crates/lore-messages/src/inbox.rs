//! Takes over what lazygit-mcp-bridge leaves in its file: one message, written in place, overwritten by the next.
//!
//! The file is moved aside before it is read for good, so that what is written meanwhile makes a new one and is not removed
//! unread. What was moved aside and not taken over, because the process died, is taken over by the next one.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::PoisonError,
    time::Duration,
};

use lore_model::{Failure, MessageId, NewMessage, RepoPath, millis};
use lore_store::Added;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{
    Messages, failure, project_root,
    write::{Surroundings, bridge_key, comment_key, repo_path, resolve},
};
use crate::{Sha256Hash, rfc3339_millis};

/// The largest file that is taken for a message.
const FILE_MAX: u64 = 1 << 20;

/// What is put behind the file's name while it is being taken over.
const ASIDE: &str = ".lore-";

/// So many unreadable contents are remembered as reported.
const REPORTED_MAX: usize = 1000;

/// How long a writer may take to write all of its message.
const WRITING: Duration = Duration::from_secs(2);

/// A file that cannot be taken over, and why: what follows its name in a sentence.
pub type Unreadable = (PathBuf, String);

/// What was taken over.
#[derive(Debug, Default)]
pub struct Imported {
    /// Messages that are new.
    pub messages: Vec<MessageId>,
    /// Files that hold no message, or cannot be removed. They stay as they are: their writer may have more to write, their
    /// user can correct them, and the next message replaces them.
    pub unreadable: Vec<Unreadable>,
    /// Why messages that were understood could not be taken over. They stay where they are.
    pub failed: Option<Failure>,
}

/// The message as the bridge writes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Left {
    file: String,
    #[serde(default)]
    line: Option<Line>,
    comment: String,
    #[serde(default)]
    project_root: Option<String>,
    #[serde(default)]
    time: Option<String>,
}

/// A line, however it was written down.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Line {
    Number(f64),
    Text(String),
}

impl Line {
    fn range(&self) -> Option<(u32, u32)> {
        let text = match self {
            Self::Number(line) => line.to_string(),
            Self::Text(text) => text.clone(),
        };
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        let lines = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(lines).filter(|(first, last)| *first > 0 && first <= last)
    }
}

/// A message in a file, and when the file was written (milliseconds since 1970).
struct Found {
    left: Left,
    written: i64,
}

impl Messages {
    /// Takes over what is in the inbox, and removes it there.
    pub fn import(&self) -> Imported {
        let mut imported = Imported::default();
        let Some(inbox) = self.inbox.clone() else { return imported };
        // One at a time: the loop that looks for news and a call may both be at it.
        let _turn = self.importing.lock().unwrap_or_else(PoisonError::into_inner);
        // What is understood is kept before the file is touched: its writer may write the next one at any moment.
        match read(&inbox) {
            Ok(None) => {}
            Ok(Some(found)) => {
                if self.keep(found, &mut imported).is_err() {
                    return imported;
                }
                if let Err(error) = set_aside(&inbox) {
                    let path = self.inbox.clone().unwrap_or_default();
                    imported.unreadable.push((path, format!("was taken over and cannot be removed: {error}")));
                    return imported;
                }
            }
            Err(why) => imported.unreadable.extend(self.if_settled(inbox, why)),
        }
        for file in self.aside() {
            let inbox = file.clone();
            match read(&inbox) {
                Ok(None) => continue,
                Ok(Some(found)) => {
                    if self.keep(found, &mut imported).is_err() {
                        return imported;
                    }
                }
                Err(why) => {
                    if let Some(settled) = self.if_settled(file, why) {
                        // A name that was taken by a process which died before it used it.
                        let path = settled.0.clone();
                        let is_empty = fs::metadata(&path).is_ok_and(|meta| meta.len() == 0);
                        let path = settled.0.clone();
                        if !is_empty || fs::remove_file(path).is_err() {
                            imported.unreadable.push(settled);
                        }
                    }
                    continue;
                }
            }
            let removed = fs::remove_file(file);
            if let Err(error) = removed {
                // It will be found again, and known.
                tracing::debug!(%error, "a message that was taken over is left behind");
            }
        }
        imported
    }

    /// Files that hold no message, each with the reason, also one that is perhaps still being written. Nothing is changed.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        let mut files = self.aside();
        files.extend(self.inbox.clone());
        {
            let problem = |file: PathBuf| read(&file).err().map(|why| (file, why));
            files.into_iter().filter_map(problem).collect()
        }
    }

    /// The same as [`Self::import`], logged: files that hold no message are reported once for each content. Gives them too.
    pub fn take_inbox(&self) -> Result<Vec<Unreadable>, Failure> {
        let Imported { unreadable, failed, .. } = self.import();
        for (path, why) in &unreadable {
            let file = (path.clone(), why.clone());
            let content = content(&file.0, &file.1);
            let is_new = {
                let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
                if reported.len() >= REPORTED_MAX {
                    reported.clear();
                }
                reported.insert(content)
            };
            if is_new {
                tracing::warn!("{} {why}: correct or remove the file", path.display());
            }
        }
        failed.map_or(Ok(unreadable), Err)
    }

    fn keep(&self, found: Found, imported: &mut Imported) -> Result<(), ()> {
        let message = convert(found);
        let added = match self.store.find_key(comment_key(&message)) {
            Ok(None) => self.store.add(&message, self.clock.now()),
            known => known.map(|id| Added::Known(id.unwrap_or_default())),
        };
        match added {
            Ok(Added::New(id)) => imported.messages.push(id),
            Ok(Added::Known(_)) => {}
            Err(error) => {
                let told = failure(error);
                let why = format!("a message of lazygit-mcp-bridge could not be taken over: {told}");
                let failed = Failure::new(told.code, why);
                imported.failed = Some(match &told.hint {
                    Some(hint) => failed.hint(hint.clone()),
                    None => failed,
                });
                return Err(());
            }
        }
        Ok(())
    }

    /// Whether a file that holds no message will not hold one a moment later either.
    fn if_settled(&self, file: PathBuf, why: String) -> Option<Unreadable> {
        let now = self.clock.now_millis();
        let written = modified(&file);
        (now - written > i64::try_from(WRITING.as_millis()).unwrap_or(0)).then_some((file, why))
    }

    /// What is aside: of this process, and of those that died over it.
    fn aside(&self) -> Vec<PathBuf> {
        let Some(inbox) = &self.inbox else { return Vec::new() };
        let (Some(folder), Some(name)) = (inbox.parent(), inbox.file_name()) else { return Vec::new() };
        let prefix = format!("{}{ASIDE}", name.to_string_lossy());
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut aside: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
            .collect();
        aside.sort();
        aside
    }
}

/// Moves the file to a name that no other process has.
fn set_aside(inbox: &Path) -> io::Result<()> {
    let mut name = inbox.as_os_str().to_owned();
    name.push(format!("{ASIDE}{}", std::process::id()));
    for number in 0_u32.. {
        let mut aside = name.clone();
        aside.push(format!("-{number}"));
        // Whoever makes the file has the name, also among processes that share a number.
        match OpenOptions::new().create_new(true).write(true).open(&aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => drop(made?),
        }
        return match fs::rename(inbox, &aside) {
            Ok(()) => Ok(()),
            Err(error) => {
                fs::remove_file(&aside)?;
                // Another process was first.
                if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
            }
        };
    }
    Ok(())
}

fn modified(file: &Path) -> i64 {
    fs::metadata(file).and_then(|meta| meta.modified()).map_or(0, millis)
}

/// Identifies the unreadable content of a file.
fn content(file: &Path, why: &str) -> Sha256Hash {
    let is_read = fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= FILE_MAX);
    let bytes = if is_read { fs::read(file).ok() } else { None };
    let mut hasher = Sha256::new();
    hasher.update(file.as_os_str().as_encoded_bytes());
    hasher.update(bytes.unwrap_or_else(|| format!("{why} {}", modified(file)).into_bytes()));
    hasher.finalize().into()
}

/// The message in a file; none where there is no file.
fn read(file: &Path) -> Result<Option<Found>, String> {
    try_read(file).map_err(|why| format!("holds no message that can be read: {why}"))
}

fn try_read(file: &Path) -> Result<Option<Found>, String> {
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(meta) if !meta.is_file() => return Err("it is no file".to_owned()),
        Ok(meta) if meta.len() > FILE_MAX => return Err(format!("it has more than {FILE_MAX} bytes")),
        Ok(_) => {}
    }
    let written = modified(file);
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| error.to_string())?,
    };
    Ok(Some(Found { left: parse(&bytes)?, written }))
}

fn parse(bytes: &[u8]) -> Result<Left, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// File, lines and comment of a message, as they are read.
#[cfg(feature = "fuzzing")]
pub(super) type Parsed = (String, Option<(u32, u32)>, String);

#[cfg(feature = "fuzzing")]
pub(super) fn parsed(bytes: &[u8]) -> Result<Parsed, String> {
    let Left { file, line, comment, .. } = parse(bytes)?;
    Ok((file, line.as_ref().and_then(Line::range), comment))
}

/// What is left below the root of a whole path. Links may lead to both: the root is known without them, the path is not.
fn below(root: &Path, named: &Path, file: &Path) -> Option<PathBuf> {
    if !file.is_absolute() {
        return None;
    }
    if let Ok(rest) = file.strip_prefix(root) {
        return Some(rest.to_owned());
    }
    let real = resolve(file);
    let rest = match real.strip_prefix(root) {
        Ok(rest) => rest,
        // The folder of the file is gone, so nothing tells where it was but its name.
        Err(_) if named.canonicalize().is_ok_and(|named| named == root) => file.strip_prefix(named).ok()?,
        Err(_) => return None,
    };
    Some(rest.to_owned())
}

fn convert(found: Found) -> NewMessage {
    let Found { left, written } = found;
    let named = left.project_root.as_deref().map(str::trim).filter(|root| !root.is_empty()).map(Path::new);
    let project = named.map(project_root);
    // The bridge writes a path below the root or a whole one, as lazygit gave it.
    let below = project.as_deref().and_then(|root| below(root, named?, Path::new(&left.file)));
    let file = below.as_deref().map_or_else(|| RepoPath::from(left.file.as_str()), repo_path);
    let lines = left.line.as_ref().and_then(Line::range);
    // Code that was written after the message is not the code it is about.
    let seen = project.as_deref().filter(|root| modified(&root.join(&*file.to_text())) <= written);
    let seen = seen.map(|root| Surroundings::of(root, &file, lines)).unwrap_or_default();
    let mut message = NewMessage {
        file,
        project,
        lines,
        comment: left.comment,
        time: left.time.filter(|time| !time.is_empty()).unwrap_or_else(|| rfc3339_millis(written)),
        branch: seen.head.branch,
        head: seen.head.commit,
        hunk: seen.hunk,
        anchor: seen.anchor,
        key: [0; 32],
    };
    message.key = bridge_key(&message);
    message
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{os::unix::fs::symlink, sync::Arc};

    use lore_store::MessageStore as _;
    use lore_store_embedded::EmbeddedMessages;

    use super::*;
    use lore_model::Clock;

    use crate::CommentRequest;

    /// A clock that stands still.
    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> i64 {
            43_200
        }
    }

    /// What becomes of a message about a file, whose code is read if the file is found.
    fn taken(root: &Path, file: &Path) -> NewMessage {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let left = Left {
            file: text(file),
            line: Some(Line::Number(1.0)),
            comment: "about this".to_owned(),
            project_root: Some(text(root)),
            time: None,
        };
        convert(Found { left, written: i64::MAX })
    }

    #[test]
    fn a_file_that_is_named_through_a_link_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        let link = folder.path().join("link");
        fs::create_dir_all(real.join("src")).unwrap();
        fs::create_dir(real.join(".git")).unwrap();
        fs::write(real.join("src/a.rs"), "fn a() {}\n").unwrap();
        symlink(&real, &link).unwrap();
        for (root, file) in [
            (&real, real.join("src/a.rs")),
            (&link, link.join("src/a.rs")),
            (&real, link.join("src/a.rs")),
            (&link, real.join("src/a.rs")),
            (&link.join("src"), link.join("src/a.rs")),
            (&link, PathBuf::from("src/a.rs")),
        ] {
            let message = taken(root, &file);
            assert_eq!((message.project.as_ref(), &*message.file.to_text()), (Some(&real), "src/a.rs"), "{file:?}");
            assert!(message.anchor.is_some(), "{file:?}");
        }
        let gone = taken(&link, &link.join("gone/a.rs"));
        assert_eq!((&*gone.file.to_text(), gone.anchor), ("gone/a.rs", None));
        let elsewhere = folder.path().join("elsewhere.rs");
        assert_eq!(&*taken(&link, &elsewhere).file.to_text(), elsewhere.to_str().unwrap());
    }

    /// Messages in a folder, and what the bridge left there: line 4 or 5, the rest the same.
    fn messages(folder: &Path) -> (Arc<EmbeddedMessages>, Messages, impl Fn(u32)) {
        let store = Arc::new(EmbeddedMessages::new(folder.join("home")));
        let inbox = folder.join("mcp-messages.json");
        let messages = Messages::new(Arc::<EmbeddedMessages>::clone(&store), Arc::new(Noon), Some(inbox.clone()));
        let place = folder.to_owned();
        let leave = move |line| {
            let left = serde_json::json!({
                "file": "a.go", "line": line, "comment": "again", "project_root": place, "time": "2025-07-01T10:30:00Z",
            });
            fs::write(&inbox, left.to_string()).unwrap();
        };
        (store, messages, leave)
    }

    #[test]
    fn a_message_of_the_bridge_is_known_by_file_comment_and_time() {
        let folder = tempfile::tempdir().unwrap();
        let (_, messages, leave) = messages(folder.path());
        leave(4);
        assert_eq!(messages.import().messages.len(), 1);
        leave(5);
        assert_eq!(messages.import().messages, []);
        assert_eq!(messages.check_store().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_message_of_the_bridge_in_an_older_database_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (store, messages, leave) = messages(folder.path());
        leave(4);
        let found = read(messages.inbox.as_deref().unwrap()).unwrap().unwrap();
        let mut older = convert(found);
        older.key = comment_key(&older);
        assert!(matches!(store.add(&older, 1).unwrap(), Added::New(_)));
        assert_eq!(messages.import().messages, []);
        assert_eq!(messages.check_store().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn two_comments_are_two_even_in_one_millisecond() {
        let folder = tempfile::tempdir().unwrap();
        let (_, messages, _) = messages(folder.path());
        let mut times = Vec::new();
        for _ in 0..3 {
            let request = CommentRequest {
                folder: folder.path().to_owned(),
                project: None,
                file: "a.go".into(),
                lines: Some((4, 4)),
                text: "again".to_owned(),
            };
            times.push(messages.comment(&request).unwrap().message.time);
        }
        let expected = ["1970-01-01T12:00:00.000Z", "1970-01-01T12:00:00.001Z", "1970-01-01T12:00:00.002Z"];
        assert_eq!(times, expected);
        assert_eq!(messages.waiting(folder.path()).unwrap().messages.len(), 3);
    }
}
