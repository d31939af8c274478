//! Code by content: segment files named by SQLite, snapshots of paths, views over both.

mod collect;
mod past;
mod read;
mod tiers;
mod view;
mod write;

use std::{path::Path, sync::Arc};

pub(crate) use collect::{Thoroughness, collect, living_chunks};
use lore_segments::Segment;
use lore_store::{Result, StoreError};
pub(crate) use past::want as want_past;
use rusqlite::Connection;
pub(crate) use write::{Claims, Pending};

use crate::{EmbeddedStore, db::file_id, error::explain_io};

/// Chunks of uncommitted files are numbered from here, in memory only.
const OVERLAY_BASE: u32 = 1 << 31;

/// A row of `segments`.
#[derive(Debug, Clone)]
struct SegmentRow {
    id: i64,
    file: String,
    chunks: u64,
    bytes: u64,
}

fn segment_rows(connection: &Connection) -> rusqlite::Result<Vec<SegmentRow>> {
    connection
        .prepare_cached("SELECT segment_id, file, chunks, bytes FROM segments ORDER BY segment_id")?
        .query_map([], |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
            Ok(SegmentRow { id: row.get(0)?, file: row.get(1)?, chunks: number(2)?, bytes: number(3)? })
        })?
        .collect()
}

/// Opens a segment, or takes the one that is open already.
fn open_segment(store: &EmbeddedStore, file: &str) -> Result<Arc<Segment>> {
    let path = store.segments_dir().join(file);
    // By the file itself: in an index that was deleted and made anew, the same name is another file.
    let id = file_id(&path);
    let mut open = store.open_segments().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(segment) = id.and_then(|id| open.get(&id)).and_then(std::sync::Weak::upgrade) {
        return Ok(segment);
    }
    let segment = Segment::open(&path).map_err(|error| segment_fault(&path, error))?;
    let segment = Arc::new(segment.keeping(store.texts().share()));
    open.retain(|_, segment| segment.strong_count() > 0);
    if let Some(id) = id.filter(|id| file_id(&path) == Some(*id)) {
        open.insert(id, Arc::downgrade(&segment));
    }
    Ok(segment)
}

/// What a fault of a segment means. One that is not there may just have been replaced.
fn segment_fault(path: &Path, error: lore_segments::SegmentError) -> StoreError {
    match error {
        lore_segments::SegmentError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
            StoreError::Absent(format!("the segment {}", path.display()))
        }
        lore_segments::SegmentError::Io(error) => explain_io(path, &error),
        lore_segments::SegmentError::Cancelled => StoreError::Interrupted,
        other => StoreError::CodeDamaged { path: path.to_owned(), what: other.to_string() },
    }
}

/// A packed list that cannot be read.
fn damaged(store: &EmbeddedStore, what: &str) -> StoreError {
    StoreError::CodeDamaged { path: store.file().to_owned(), what: what.to_owned() }
}

/// Segments with smaller numbers hold only what is to be read again: nothing new is built on them.
fn retired_before(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(value), 0) FROM meta WHERE key = 'retired_before'", [], |row| row.get(0))
}
