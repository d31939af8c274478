//! Puts a segment on disk so that its name never stands for half of it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// Writes `bytes` beside `path`, makes them durable, and gives them their name.
///
/// A crash leaves at most a file that ends in `.part`.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&part, path)?;
    sync_parent(path)
}

/// Makes a folder that outlasts a power failure, unless it is there.
pub fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path)?;
    sync_parent(path)
}

/// Deletes a file that nothing names. Where that is not possible now, the next writer tries again.
pub fn remove_unnamed(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "a file that is not needed any more could not be deleted");
        }
        _ => {}
    }
}

/// Makes the name of what is at `path` durable. Windows cannot open a folder, and does not need it: its journal orders
/// what is renamed.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    if cfg!(unix)
        && let Some(folder) = path.parent()
    {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
