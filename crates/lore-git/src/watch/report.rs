//! What the system says of changes, cut down to what matters.

use std::{
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::SyncSender,
    },
};

use gix::bstr::ByteSlice as _;
use notify::{
    ErrorKind, EventKind,
    event::{AccessKind, AccessMode, ModifyKind},
};

/// What reaches the thread.
pub(super) enum Report {
    Touched(PathBuf),
    /// Something appeared that may be a folder with files in it.
    Appeared(PathBuf),
    Overflow,
    OutOfWatches,
    Stop,
}

/// Passes on what the system says, on a thread that must not wait.
pub(super) fn report(event: notify::Result<notify::Event>, reports: &SyncSender<Report>, overflow: &AtomicBool) {
    let send = |report| {
        if reports.try_send(report).is_err() {
            overflow.store(true, Ordering::Relaxed);
        }
    };
    match event {
        Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => send(Report::OutOfWatches),
        Err(_) => send(Report::Overflow),
        Ok(event) if event.need_rescan() => send(Report::Overflow),
        Ok(event) => {
            let appeared = match event.kind {
                EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Any => true,
                EventKind::Modify(ModifyKind::Metadata(_)) => return,
                EventKind::Access(AccessKind::Close(AccessMode::Write))
                | EventKind::Modify(_)
                | EventKind::Remove(_)
                | EventKind::Other => false,
                // Reading changes nothing, and Lore itself reads.
                EventKind::Access(_) => return,
            };
            for path in event.paths {
                send(if appeared { Report::Appeared(path) } else { Report::Touched(path) });
            }
        }
    }
}

pub(super) enum GitPart {
    Refs,
    /// `info/exclude`.
    Rules,
    /// Objects, logs, locks: of no interest.
    Other,
}

/// What a path in a git directory is.
pub(super) fn part_of_git_dir(path: &Path) -> GitPart {
    if path.extension().is_some_and(|extension| extension == "lock") {
        return GitPart::Other;
    }
    let mut names = path.iter().filter_map(|name| name.to_str());
    match (names.next(), names.next(), names.next(), names.next()) {
        (Some("HEAD" | "index" | "packed-refs" | "shallow"), None, ..)
        | (Some("refs"), Some(_), ..)
        | (Some("worktrees"), Some(_), None | Some("HEAD"), None) => GitPart::Refs,
        (Some("info"), Some("exclude"), None, _) => GitPart::Rules,
        _ => GitPart::Other,
    }
}

/// The path as git has it.
pub(super) fn repo_path(path: &Path) -> Option<Vec<u8>> {
    let bytes = <[u8]>::from_path(path)?;
    Some(if cfg!(windows) { bytes.replace(b"\\", b"/") } else { bytes.to_vec() })
}
