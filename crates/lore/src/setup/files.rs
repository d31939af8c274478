//! Reading and replacing whole files, so that no reader ever sees half of one.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use lore_model::{Code, Failure};

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Everyone the system lets by default.
    Shared,
    /// The user alone: hosts keep keys and session data in these files.
    Private,
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused("read", file, error)),
    }
}

/// Replaces a file in one step. An existing file keeps its permissions, and a link stays a link.
pub(super) fn replace(file: &Path, bytes: &[u8], access: Access) -> Result<(), Failure> {
    let target = target(file)?;
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|existing| existing.permissions().readonly()) {
        return Err(refused("write", &target, io::Error::new(ErrorKind::PermissionDenied, "it is read-only")));
    }
    write(&target, bytes, existing.as_ref(), access).map_err(|error| refused("write", &target, error))
}

/// Removes a file; a link to it stays.
pub(super) fn remove(file: &Path) -> Result<(), Failure> {
    let target = target(file)?;
    match fs::remove_file(&target) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(refused("remove", &target, error)),
        _ => Ok(()),
    }
}

/// The missing folders above a file, the innermost first.
pub(super) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let Ok(target) = target(file) else { return Vec::new() };
    let folders = target.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    folders.map(Path::to_path_buf).collect()
}

/// Creates the folders above a file.
pub(super) fn make_folders(file: &Path) -> Result<(), Failure> {
    let target = target(file)?;
    let Some(folder) = target.parent() else { return Ok(()) };
    let missing = missing_folders(&target);
    let made = fs::create_dir_all(folder).and_then(|()| missing.iter().try_for_each(|made| sync_parent(made)));
    made.map_err(|error| refused("create", folder, error))
}

/// The file behind links, also one that does not exist yet.
fn target(file: &Path) -> Result<PathBuf, Failure> {
    let mut target = file.to_path_buf();
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            // Not a link, or not there.
            Err(_) => return Ok(target),
        }
    }
    Err(refused("find", file, io::Error::other("the links lead in a circle")))
}

/// Writes a draft next to the file, since a rename cannot cross file systems, and renames it.
fn write(target: &Path, bytes: &[u8], existing: Option<&fs::Metadata>, access: Access) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.lore-");
    remove_drafts(target, &prefix);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    if existing.is_none() && access == Access::Shared {
        share(&mut builder);
    }
    let mut draft = builder.tempfile_in(target.parent().unwrap_or(Path::new("")))?;
    draft.write_all(bytes)?;
    if let Some(existing) = existing {
        keep_owner(draft.as_file(), existing);
        draft.as_file().set_permissions(existing.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(target)?;
    sync_parent(target)
}

/// Removes the drafts of killed processes. A young one may belong to a process that still runs.
fn remove_drafts(target: &Path, prefix: &str) {
    const YOUNG: Duration = Duration::from_mins(1);
    let entries = target.parent().into_iter().flat_map(fs::read_dir).flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > YOUNG) {
            // One that cannot be removed does no harm.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Lets the system decide who may read a draft; by default it is the user alone.
#[cfg(unix)]
fn share(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}

#[cfg(not(unix))]
fn share(_: &mut tempfile::Builder<'_, '_>) {}

/// Keeps the owner if another user, such as root, makes the change.
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

/// Makes a new name survive a power cut.
fn sync_parent(target: &Path) -> io::Result<()> {
    if cfg!(unix)
        && let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty())
    {
        // Some file systems cannot sync a folder, which is no reason to fail.
        drop(File::open(folder)?.sync_all());
    }
    Ok(())
}

/// The failure of an operation on a file.
pub(super) fn refused(what: &str, file: &Path, error: io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::DiskFull,
        _ => Code::NoAccess,
    };
    Failure::new(code, format!("cannot {what} {}: {error}", file.display()))
        .hint("see who may write there, or add `--print` and paste the entry yourself")
        .caused_by(error)
}
