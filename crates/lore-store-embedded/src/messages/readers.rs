//! Who claims messages, and whether it still lives.
//!
//! A reader is a file that its process keeps locked. The system lets go of the lock when the process ends, however it
//! ends, so nobody has to guess from a clock whether it died.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::PathBuf,
};

use lore_store::Result;

use crate::{db::make_home, error::explain_io};

/// The readers of one folder of messages.
pub(super) struct Readers {
    folder: PathBuf,
    own: Option<Own>,
}

/// This process as a reader.
struct Own {
    name: String,
    path: PathBuf,
    _lock: File,
}

impl Readers {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, own: None }
    }

    /// The name of this process as a reader; from now on it can claim.
    pub(super) fn own(&mut self) -> Result<String> {
        // Somebody may have cleared the folder.
        if let Some(own) = self.own.as_ref().filter(|own| own.path.exists()) {
            return Ok(own.name.clone());
        }
        make_home(&self.folder).map_err(|error| explain_io(&self.folder, &error))?;
        // A number that no other reader of this time has, whatever machine or container it runs on.
        let unique = rusqlite::Connection::open_in_memory()
            .and_then(|connection| connection.query_row("SELECT hex(randomblob(8))", [], |row| row.get::<_, String>(0)))
            .map_err(|error| crate::error::explain(&self.folder, error))?;
        let name = format!("{}-{unique}", std::process::id());
        let path = self.folder.join(format!("{name}.lock"));
        let lock = OpenOptions::new()
            .create_new(true)
            .write(true)
            .open(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| explain_io(&path, &error))?;
        self.own = Some(Own { name: name.clone(), path, _lock: lock });
        Ok(name)
    }

    /// The name of this process, if it ever claimed.
    pub(super) fn name(&self) -> Option<&str> {
        self.own.as_ref().map(|own| own.name.as_str())
    }

    /// Whether the process of that name lives. What a dead one left is cleared away.
    pub(super) fn is_alive(&self, name: &str) -> bool {
        if self.name() == Some(name) {
            return true;
        }
        let path = self.folder.join(format!("{name}.lock"));
        let file = match OpenOptions::new().write(true).open(&path) {
            Ok(file) => file,
            // What cannot be looked at at this moment (too many files are open) may well live.
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "whether a reader lives is not known");
                true
            }
            Ok(()) => {
                drop(file);
                remove(&path);
                false
            }
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &std::path::Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(%error, path = %path.display(), "a reader's file is left behind");
    }
}
