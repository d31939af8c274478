//! Turns what SQLite says into what it means.

use std::path::Path;

use lore_store::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

/// A fault of the file at `path`, as a situation.
pub(crate) fn explain(path: &Path, error: Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(path),
        // The memory that processes share (`-shm`) is a file. SQLite does not tell why it cannot grow, and calls it an I/O error.
        Some(_) if error.sqlite_extended_error_code() == Some(ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full(path),
        Some(ErrorCode::OperationInterrupted) => StoreError::Interrupted,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked,
        Some(
            ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure,
        ) => StoreError::NoAccess { path, what: error.to_string() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig) => {
            StoreError::Damaged { path, what: error.to_string() }
        }
        _ => match foreign(&error) {
            Some(what) => StoreError::Damaged { path, what },
            None => StoreError::Backend(Box::new(error)),
        },
    }
}

/// What is wrong with a file that is sound, but not as Lore makes it: something else stands where a table is expected, or a
/// value is of no kind that Lore writes.
///
/// SQLite has one code for all that its words tell apart here. What it says of a text in FTS5's syntax repeats that text, and
/// must not come here.
pub(crate) fn foreign(error: &Error) -> Option<String> {
    const WORDS: [&str; 6] =
        ["is a view", "view \"", "no such table", "already exists", "unsafe use of", "unsupported file format"];
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => Some(error.to_string()),
        // Statements are right where the tables are. The whole one, which the error tells as well, says nothing to anybody.
        Error::SqlInputError { msg, .. } => Some(msg.clone()),
        Error::SqliteFailure(_, Some(said)) => WORDS.iter().any(|words| said.contains(words)).then(|| said.clone()),
        _ => None,
    }
}

/// The same for a file or folder outside SQLite.
pub(crate) fn explain_io(path: &Path, error: &std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return StoreError::Full(path.to_owned());
    }
    StoreError::NoAccess { path: path.to_owned(), what: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_whichever_file_cannot_grow() {
        let explained = |code| explain(Path::new("lore.db"), Error::SqliteFailure(ffi::Error::new(code), None));
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            assert!(matches!(explained(code), StoreError::Full(_)), "{code}");
        }
        assert!(matches!(explained(ffi::SQLITE_IOERR_READ), StoreError::NoAccess { .. }));
    }
}
