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
    file: File,
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that is being started at this moment has it as well, until it runs.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "the writer's lock could not be given back before its file is closed");
        }
    }
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
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_back_also_while_a_program_is_being_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("writer.lock");
        let lock = WriterLock::try_take(&path).unwrap();
        assert!(matches!(WriterLock::try_take(&path), Err(StoreError::Locked)));
        // What a process has between its beginning and the program that it is to run.
        let inherited = lock.file.try_clone().unwrap();
        drop(lock);
        drop(WriterLock::try_take(&path).unwrap());
        drop(inherited);
    }
}
