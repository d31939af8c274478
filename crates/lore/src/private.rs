//! Files that only their owner can read, replaced whole.

use std::{
    io::{self, Write as _},
    path::Path,
};

use lore_model::{Code, Failure};
use tempfile::NamedTempFile;

/// Writes a file that only the user can read, in place of what was there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // Such a file is for its owner alone from its first moment.
    let written = NamedTempFile::with_prefix_in(".lore-", folder).and_then(|mut draft| {
        draft.write_all(bytes)?;
        draft.as_file().sync_all()?;
        draft.persist(path).map(drop).map_err(|error| error.error)?;
        sync_folder(folder);
        Ok(())
    });
    written.map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::DiskFull,
            _ => Code::NoAccess,
        };
        Failure::new(code, format!("cannot write {}: {error}", path.display())).hint("see who may write there")
    })
}

/// Makes names in a folder last through a power cut. Some file systems cannot do it for a folder, which is no reason to fail.
pub(crate) fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        drop(std::fs::File::open(folder).and_then(|folder| folder.sync_all()));
    }
}
