//! Writing below the project: whole files or nothing, and nothing outside.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use lore_model::{Code, Failure};

use super::root::{Fault, Root};

/// Keeps other writers of this project waiting until it is dropped. Nothing of it is left on disk.
///
/// Where a folder cannot be locked, there is none: two people who make a command in the same moment are rare there as well.
pub(super) fn lock(root: &Root) -> Option<File> {
    let folder = File::open(root.path()).ok()?;
    folder.lock().ok().map(|()| folder)
}

/// Keeps what a file says beside it, under the name that is given back; nothing where there is no file.
///
/// What was kept before stays: the first of them may be the only one that somebody wrote by hand.
pub(super) fn backup(root: &Root, relative: &str) -> Result<Option<String>, Failure> {
    let place = root.place_for(relative).map_err(|fault| failure(relative, &fault))?;
    if !place.is_file() {
        return Ok(None);
    }
    let names = (0_u32..100).map(|number| match number {
        0 => format!("{relative}.bak"),
        number => format!("{relative}.bak-{number}"),
    });
    for name in names {
        let beside = place.with_file_name(Path::new(&name).file_name().unwrap_or_default());
        // A link of that name is not followed.
        let mut kept = match fs::OpenOptions::new().create_new(true).write(true).open(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other.map_err(|error| failure(&name, &Fault::Io(error)))?,
        };
        let copied =
            fs::File::open(&place).and_then(|mut file| io::copy(&mut file, &mut kept)).and_then(|_| kept.sync_all());
        if let Err(error) = copied {
            drop(fs::remove_file(&beside));
            return Err(failure(&name, &Fault::Io(error)));
        }
        return Ok(Some(name));
    }
    Err(Failure::new(Code::CommandExists, format!("{relative} has a hundred backups")).hint("remove some of them"))
}

/// Puts back what was kept.
pub(super) fn restore(root: &Root, relative: &str, backup: &str) {
    let places = (root.place_for(backup), root.place_for(relative));
    if let (Ok(kept), Ok(place)) = places
        && let Err(error) = fs::rename(&kept, &place)
    {
        tracing::warn!(%error, "{relative} could not be put back; it is in {backup}");
    }
}

/// Replaces a file at once: a reader sees the old text or the new one, also after a crash.
pub(super) fn replace(root: &Root, relative: &str, text: &str) -> Result<(), Failure> {
    let place = root.place_for(relative).map_err(|fault| failure(relative, &fault))?;
    let done = prepare(&place).and_then(|()| {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = place.with_extension(format!("lore-{}-{number}.tmp", std::process::id()));
        // What a process of the same number left when it was killed.
        drop(fs::remove_file(&temporary));
        let written = write_synced(&temporary, text).and_then(|()| {
            if let Ok(before) = fs::metadata(&place) {
                fs::set_permissions(&temporary, before.permissions())?;
            }
            fs::rename(&temporary, &place)
        });
        if written.is_err() {
            // What is left of it helps nobody; that it cannot be removed either changes nothing.
            drop(fs::remove_file(&temporary));
        }
        written?;
        sync_folder(&place)
    });
    done.map_err(|error| failure(relative, &Fault::Io(error)))
}

/// Writes a file that is not there yet.
pub(super) fn create(root: &Root, relative: &str, text: &str) -> Result<(), Failure> {
    let place = root.place_for(relative).map_err(|fault| failure(relative, &fault))?;
    let done = prepare(&place).and_then(|()| {
        let mut file = File::options().write(true).create_new(true).open(&place)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| sync_folder(&place));
        if written.is_err() {
            // Half a file would be in the way of the next attempt, which overwrites nothing.
            drop(file);
            drop(fs::remove_file(&place));
        }
        written
    });
    done.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(relative),
        _ => failure(relative, &Fault::Io(error)),
    })
}

/// Takes back a file that was just written, as far as that is possible.
pub(super) fn remove(root: &Root, relative: &str) {
    drop(root.place_for(relative).map(fs::remove_file));
}

/// What is there is never overwritten.
pub(super) fn exists(relative: &str) -> Failure {
    Failure::new(Code::CommandExists, format!("{relative} is there already"))
        .hint("edit it, or choose another name; nothing was changed")
}

fn prepare(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The name of a new file is safe only with its folder. Windows cannot open one.
fn sync_folder(place: &Path) -> io::Result<()> {
    match place.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

fn failure(relative: &str, fault: &Fault) -> Failure {
    let failure = |code| {
        let why = match fault {
            // The fault itself is worded for those who read.
            Fault::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        Failure::new(code, format!("{relative} cannot be written: {why}"))
    };
    match fault {
        Fault::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
            failure(Code::DiskFull).hint("free some space and run it again: nothing is lost")
        }
        Fault::Io(_) => failure(Code::NoAccess).hint("check the permissions of that folder"),
        _ => failure(Code::InvalidConfig).hint("nothing is written outside the project"),
    }
}
