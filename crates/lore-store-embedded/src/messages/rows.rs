//! Messages to and from rows.

use lore_model::{Anchor, CommitId, Message, MessageId, MessageState, NewMessage, RepoPath};
use rusqlite::{Connection, OptionalExtension, Params, Result, Row, Transaction, params, types::Type};

use crate::rows::{damaged, path_column, path_value, repo_path};

/// The columns of a message in the order in which [`message`] reads them, and behind them those of its anchor.
const COLUMNS: &str =
    "id, project, file, file_exact, first_line, last_line, comment, time, branch, head, hunk, symbol, key,
    stored_at, state, state_since";
const ANCHOR: &str = "anchor_line, whole, packed";

/// The most that an anchor unpacks to: more was never packed.
const UNPACKED_MAX: usize = 8 << 20;

/// The bytes of a path that is no text; none of one that is, whose text says it all.
pub(super) fn exact(path: &RepoPath) -> &[u8] {
    if path.is_text() { &[] } else { path.as_bytes() }
}

/// Adds a message.
pub(super) fn insert(transaction: &Transaction<'_>, message: &NewMessage, at: i64) -> Result<MessageId> {
    let file = message.file.to_text();
    let symbol = message.anchor.as_ref().and_then(|anchor| anchor.symbol.as_ref());
    transaction.execute(
        "INSERT INTO messages (project, file, file_exact, first_line, last_line, comment, time, branch, head, hunk, symbol, key, stored_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            message.project.as_deref().map(path_value),
            file,
            exact(&message.file),
            message.lines.map(|lines| lines.0),
            message.lines.map(|lines| lines.1),
            message.comment,
            message.time,
            message.branch,
            message.head.map(|head| head.to_hex()),
            message.hunk,
            symbol,
            message.key,
            at,
        ],
    )?;
    let id = transaction.last_insert_rowid();
    transaction.execute(
        "INSERT INTO messages_fts (rowid, comment, file, symbol, hunk) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![id, message.comment, file, symbol, message.hunk],
    )?;
    if let Some(anchor) = &message.anchor {
        let content = content(transaction, &anchor.text)?;
        transaction.execute(
            "INSERT INTO anchors (message, content, anchor_line, whole) VALUES (?1, ?2, ?3, ?4)",
            params![id, content, anchor.first_line, anchor.whole],
        )?;
    }
    Ok(MessageId(id))
}

/// The number of a text, which is kept once however many messages are about it.
fn content(transaction: &Transaction<'_>, text: &[u8]) -> Result<i64> {
    let hash = *blake3::hash(text).as_bytes();
    let known = "SELECT content FROM contents WHERE hash = ?1";
    if let Some(known) = transaction.query_row(known, [hash], |row| row.get(0)).optional()? {
        return Ok(known);
    }
    let packed = zstd::encode_all(text, 3).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction.execute("INSERT INTO contents (hash, packed) VALUES (?1, ?2)", params![hash, packed])?;
    Ok(transaction.last_insert_rowid())
}

/// The messages that `rest` (conditions, order, limit) names.
pub(super) fn select(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<Message>> {
    let sql = format!(
        "SELECT {COLUMNS}, {ANCHOR} FROM messages LEFT JOIN anchors ON message = id LEFT JOIN contents USING (content) {rest}"
    );
    connection.prepare_cached(&sql)?.query_map(values, message)?.collect()
}

/// The same without their anchors.
pub(super) fn select_bare(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<Message>> {
    let sql = format!("SELECT {COLUMNS}, NULL, NULL, NULL FROM messages {rest}");
    connection.prepare_cached(&sql)?.query_map(values, message)?.collect()
}

/// Texts that cannot be unpacked, each with the reason.
pub(super) fn damaged_contents(connection: &Connection) -> Result<Vec<String>> {
    let mut contents = connection.prepare("SELECT content, packed, hash FROM contents")?;
    let rows = contents
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, Vec<u8>>(2)?)))?;
    let mut damage = Vec::new();
    for row in rows {
        let (content, packed, hash) = row?;
        match zstd::bulk::decompress(&packed, UNPACKED_MAX) {
            Err(error) => {
                damage.push(format!("the code of some comments (content {content}) cannot be unpacked: {error}"));
            }
            Ok(text) if blake3::hash(&text).as_bytes()[..] != hash[..] => {
                damage.push(format!("the code of some comments (content {content}) is not what was written"));
            }
            Ok(_) => {}
        }
    }
    Ok(damage)
}

fn message(row: &Row<'_>) -> Result<Message> {
    let project = match row.get_ref(1)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(path_column(row, 1)?),
    };
    let head: Option<String> = row.get(9)?;
    let head = head.map(|hex| CommitId::from_hex(hex.as_bytes())).transpose().map_err(damaged(9))?;
    let since =
        |state: fn(i64) -> MessageState| Ok::<_, rusqlite::Error>(state(row.get::<_, Option<i64>>(15)?.unwrap_or(0)));
    let state = match row.get_ref(14)?.as_str()? {
        "waiting" => MessageState::Waiting,
        "delivered" => since(MessageState::Delivered)?,
        "withdrawn" => since(MessageState::Withdrawn)?,
        _ => return Err(rusqlite::Error::InvalidColumnType(14, "state".to_owned(), Type::Text)),
    };
    let symbol = row.get(11)?;
    let anchor = match row.get::<_, Option<Vec<u8>>>(18)? {
        None => None,
        Some(packed) => match zstd::bulk::decompress(&packed, UNPACKED_MAX) {
            Ok(text) => Some(Anchor { text, first_line: row.get(16)?, whole: row.get(17)?, symbol }),
            // What was said is worth more than where the code is now.
            Err(error) => {
                tracing::warn!(%error, "the code of a comment is damaged; the comment is not");
                None
            }
        },
    };
    let lines = row.get::<_, Option<u32>>(4)?.zip(row.get::<_, Option<u32>>(5)?);
    Ok(Message {
        id: MessageId(row.get(0)?),
        sent: NewMessage {
            project,
            file: repo_path(row, 2)?,
            lines,
            comment: row.get(6)?,
            time: row.get(7)?,
            branch: row.get(8)?,
            head,
            hunk: row.get(10)?,
            anchor,
            key: row.get(12)?,
        },
        stored_at: row.get(13)?,
        state,
    })
}
