//! What a git that was killed leaves among the objects of a mirror, and when that may go.
//!
//! Git takes temporary files away when it is asked to end, but not when it is killed, and of those of a repack nobody ever
//! does. For whoever has the mirror's turn. Says nothing about refs: their locks are a matter of [`crate::Mirror`].

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs::{self, File},
    io,
    path::Path,
};

use crate::program::Call;

/// How the mark of a pack begins that a fetch keeps for as long as no ref leads to it. Nobody else marks packs of a mirror.
const MARK: &[u8] = b"fetch-pack ";

/// A call that writes objects of this mirror: until it ends nobody clears anything there, even if its Lore is killed first.
pub(crate) fn at_work(call: Call, mirror: &Path) -> Call {
    // Where it cannot be held, git works all the same: it says itself what it cannot write.
    match File::open(packs(mirror)).and_then(|folder| folder.lock_shared().map(|()| folder)) {
        Ok(folder) => call.holding(folder),
        Err(error) => {
            tracing::debug!(%error, "the packs of a clone cannot be held");
            call
        }
    }
}

/// Takes away packs that were never finished and marks of fetches that are dead.
pub(crate) fn clear(mirror: &Path) {
    let folder = packs(mirror);
    let Some(_held) = nobody_writes(&folder) else { return };
    let files: Vec<_> = entries(&folder).collect();
    // A pack gets its index last and loses it first, so one without is nobody's.
    let stem_of = |name: &OsStr| Path::new(name).file_stem().map(OsStr::to_owned);
    let is_index = |name: &OsStr| Path::new(name).extension().is_some_and(|end| end == "idx");
    let whole: HashSet<_> = files.iter().filter(|name| is_index(name)).filter_map(|name| stem_of(name)).collect();
    for name in &files {
        let (text, path) = (name.to_string_lossy(), folder.join(name));
        let is_temporary = text.starts_with("tmp_") || text.starts_with(".tmp-");
        let is_part = text.starts_with("pack-") && stem_of(name).is_some_and(|stem| !whole.contains(&stem));
        let is_mark = path.extension().is_some_and(|end| end == "keep")
            && fs::read(&path).is_ok_and(|content| content.starts_with(MARK));
        if is_temporary || is_part || is_mark {
            remove(&path);
        }
    }
}

/// Takes away objects that were never finished. They are small and one for each git that was killed, so this is for rare moments.
pub(crate) fn clear_objects(mirror: &Path) {
    let Some(_held) = nobody_writes(&packs(mirror)) else { return };
    for first in 0..=u8::MAX {
        let folder = mirror.join("objects").join(format!("{first:02x}"));
        for name in entries(&folder).filter(|name| name.to_string_lossy().starts_with("tmp_obj_")) {
            remove(&folder.join(name));
        }
    }
}

fn packs(mirror: &Path) -> std::path::PathBuf {
    mirror.join("objects").join("pack")
}

/// Holds the folder where no git is at work in it, for as long as the answer is kept.
fn nobody_writes(folder: &Path) -> Option<File> {
    File::open(folder).ok().filter(|folder| folder.try_lock().is_ok())
}

/// The names in a folder; none where it cannot be listed.
fn entries(folder: &Path) -> impl Iterator<Item = std::ffi::OsString> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(%error, "what a git has left stays for now");
        }
        _ => {}
    }
}
