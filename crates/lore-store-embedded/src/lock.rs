//! The writer's lock: an OS file lock, so that a crash cannot leave it behind.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Seek, Write},
    path::Path,
};

use lore_store::{Result, StoreError};

use crate::error::explain_io;

/// Held by the one process that writes; dropping it lets the next one in.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Takes the lock or fails at once.
    pub(crate) fn try_take(path: &Path) -> Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(|error| explain_io(path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked),
            Err(TryLockError::Error(error)) => return Err(explain_io(path, &error)),
        }
        // For people who look for the process that writes; a failure to note it changes nothing.
        let noted =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        if let Err(error) = noted {
            tracing::debug!(%error, "the writer's process id could not be noted");
        }
        Ok(Self { _file: file })
    }
}
