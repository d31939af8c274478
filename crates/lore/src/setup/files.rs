//! Reading and replacing files whole, so that no reader ever sees half of one.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use lore_model::{Code, Failure};

/// Who may read a file that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Whoever the system lets by default.
    Shared,
    /// The user alone: hosts keep keys and session data in these files.
    Private,
}

/// Reads a file; a missing one is `None`.
pub(super) fn read(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused("read", file, error)),
    }
}

/// Replaces a file in one step. What was there keeps its permissions; a link stays a link.
pub(super) fn replace(file: &Path, bytes: &[u8], access: Access) -> Result<(), Failure> {
    let target = target(file).map_err(|error| refused("find", file, error))?;
    let existing = match fs::metadata(&target) {
        Ok(metadata) if metadata.permissions().readonly() => {
            let error = io::Error::new(ErrorKind::PermissionDenied, "it is read-only");
            return Err(refused("write", &target, error));
        }
        Ok(metadata) => Some(metadata),
        Err(_) => None,
    };
    let temporary = beside(&target);
    remove_left(&target);
    let outcome = write(&temporary, bytes, existing.as_ref(), access)
        .and_then(|()| fs::rename(&temporary, &target))
        .and_then(|()| sync_folder(&target));
    if outcome.is_err() {
        // Already gone when the rename worked; there is nothing more to do about it otherwise.
        drop(fs::remove_file(&temporary));
    }
    outcome.map_err(|error| refused("write", &target, error))
}

/// Removes a file; a link to it stays.
pub(super) fn remove(file: &Path) -> Result<(), Failure> {
    let target = target(file).map_err(|error| refused("find", file, error))?;
    match fs::remove_file(&target) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(refused("remove", &target, error)),
        _ => Ok(()),
    }
}

/// The folders above a file that do not exist yet, the innermost first.
pub(super) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let Ok(target) = target(file) else { return Vec::new() };
    let folders = target.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    folders.map(Path::to_path_buf).collect()
}

/// Makes the folders above a file.
pub(super) fn make_folders(file: &Path) -> Result<(), Failure> {
    let target = target(file).map_err(|error| refused("find", file, error))?;
    let Some(folder) = target.parent() else { return Ok(()) };
    let missing = missing_folders(&target);
    // What is written into a folder must not be lost with its name.
    let make = || fs::create_dir_all(folder).and_then(|()| missing.iter().try_for_each(|made| sync_folder(made)));
    make().map_err(|error| refused("create", folder, error))
}

/// Where the bytes really are: follows links, also to a file that does not exist yet.
fn target(file: &Path) -> io::Result<PathBuf> {
    let mut target = file.to_path_buf();
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            // Not a link, or not there.
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("the links lead in a circle"))
}

/// Removes drafts that processes which were killed have left. A young one may be that of a process that is still at it.
fn remove_left(target: &Path) {
    const YOUNG: Duration = Duration::from_mins(1);
    let own = beside(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let drafts = format!(".{name}.lore-");
    let entries = target.parent().into_iter().flat_map(fs::read_dir).flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&drafts)) {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        if entry.path() == own || age.is_some_and(|age| age > YOUNG) {
            // There is nothing more to do about one that stays.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// A name in the same folder, since a rename cannot cross file systems.
fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.lore-{}", std::process::id()))
}

fn write(temporary: &Path, bytes: &[u8], existing: Option<&fs::Metadata>, access: Access) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if existing.is_some() || access == Access::Private {
        make_private(&mut options);
    }
    let mut file = options.open(temporary)?;
    file.write_all(bytes)?;
    if let Some(existing) = existing {
        keep_owner(&file, existing);
        file.set_permissions(existing.permissions())?;
    }
    file.sync_all()
}

#[cfg(unix)]
fn make_private(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn make_private(_: &mut OpenOptions) {}

/// Keeps the owner when another user, such as root, makes the change.
#[cfg(unix)]
fn keep_owner(file: &File, existing: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let same = file.metadata().is_ok_and(|own| own.uid() == existing.uid() && own.gid() == existing.gid());
    if !same {
        // An ordinary user may not give a file away; the group at least can often be kept.
        let given = fchown(file, Some(existing.uid()), Some(existing.gid()));
        drop(given.or_else(|_| fchown(file, None, Some(existing.gid()))));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Makes the rename last through a power cut.
fn sync_folder(target: &Path) -> io::Result<()> {
    if cfg!(unix)
        && let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty())
    {
        // Some file systems cannot do it for a folder, which is no reason to fail.
        drop(File::open(folder)?.sync_all());
    }
    Ok(())
}

pub(super) fn refused(what: &str, file: &Path, error: io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::DiskFull,
        _ => Code::NoAccess,
    };
    Failure::new(code, format!("cannot {what} {}: {error}", file.display()))
        .hint("see who may write there, or add `--print` and paste the entry yourself")
        .caused_by(error)
}
