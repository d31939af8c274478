//! Turns what SQLite says into what it means.

use std::path::Path;

use lore_store::StoreError;
use rusqlite::{Error, ErrorCode};

/// A fault of the file at `path`, as a situation.
pub(crate) fn explain(path: &Path, error: Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked,
        Some(
            ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure,
        ) => StoreError::NoAccess { path, what: error.to_string() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig) => {
            StoreError::Damaged { path, what: error.to_string() }
        }
        _ if is_foreign(&error) => StoreError::Damaged { path, what: error.to_string() },
        _ => StoreError::Backend(Box::new(error)),
    }
}

/// Whether the file is sound, but not as Lore makes it: something else stands where a table is expected, or a value is of no
/// kind that Lore writes.
fn is_foreign(error: &Error) -> bool {
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => true,
        Error::SqliteFailure(_, Some(said)) | Error::SqlInputError { msg: said, .. } => {
            ["is a view", "view \"", "no such table", "unsafe use of"].iter().any(|words| said.contains(words))
        }
        _ => false,
    }
}

/// The same for a file or folder outside SQLite.
pub(crate) fn explain_io(path: &Path, error: &std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return StoreError::Full(path.to_owned());
    }
    StoreError::NoAccess { path: path.to_owned(), what: error.to_string() }
}
