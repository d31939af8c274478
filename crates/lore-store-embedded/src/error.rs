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
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { path, what: error.to_string() }
        }
        // A value that no Lore has written.
        None if is_unfit(&error) => StoreError::Damaged { path, what: error.to_string() },
        _ => StoreError::Backend(Box::new(error)),
    }
}

/// Whether a stored value is not what its column holds.
fn is_unfit(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    )
}

/// The same for a file or folder outside SQLite.
pub(crate) fn explain_io(path: &Path, error: &std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return StoreError::Full(path.to_owned());
    }
    StoreError::NoAccess { path: path.to_owned(), what: error.to_string() }
}
