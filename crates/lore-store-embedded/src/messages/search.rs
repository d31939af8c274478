//! Finds messages by words, place and state.

use lore_model::Message;
use lore_store::{MESSAGE_WORDS_BYTES, MESSAGE_WORDS_MAX, MessageQuery};
use rusqlite::{Connection, Result, ToSql, params_from_iter, types::Value};

use super::rows;
use crate::{
    fts_query::quote_words,
    history_read::like,
    rows::{count, path_value},
};

/// Weights of what was said, the file, the definition and the hunk.
const BM25: &str = "bm25(messages_fts, 10.0, 4.0, 4.0, 1.0)";

/// So many conditions stand in one chain: SQLite bounds how deep an expression is, and a chain is as deep as it is long.
const CHAIN: usize = 100;

/// Whether these are more words than are asked for at a time. A pattern of [`like`] is at most twice as long, and a little: less
/// than the 50,000 bytes that SQLite takes.
pub(super) fn are_too_many(words: &str) -> bool {
    let each = words.split(|c: char| c == '\0' || c.is_whitespace()).filter(|word| !word.is_empty());
    words.len() > MESSAGE_WORDS_BYTES || each.count() > MESSAGE_WORDS_MAX
}

/// Messages that fit; the flag says whether more would have.
pub(super) fn list(connection: &Connection, query: &MessageQuery) -> Result<(Vec<Message>, bool)> {
    // NUL ends the text of a query.
    let words = query.words.as_deref().map(|words| words.replace('\0', " "));
    let words = words.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let Some(words) = words else { return run(connection, query, &Words::Any) };
    let found = run(connection, query, &Words::Stems(quote_words(words)))?;
    if !found.0.is_empty() {
        return Ok(found);
    }
    // Parts of names, and languages that are written without spaces.
    run(connection, query, &Words::Parts(words.split_whitespace().map(like).collect()))
}

enum Words {
    Any,
    Stems(String),
    Parts(Vec<String>),
}

fn run(connection: &Connection, query: &MessageQuery, words: &Words) -> Result<(Vec<Message>, bool)> {
    let mut conditions = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let (mut found, mut order) = (String::new(), "id DESC");
    match words {
        Words::Any => {}
        Words::Stems(stems) => {
            // A limit, which limits nothing, keeps this a list that is made once: SQLite would else match again for each message.
            found = format!(
                "JOIN (SELECT rowid AS found, {BM25} AS weight FROM messages_fts WHERE messages_fts MATCH ? LIMIT -1) ON found = id "
            );
            values.push(stems.clone().into());
            order = "weight, id DESC";
        }
        Words::Parts(parts) => {
            let all =
                "(comment || char(10) || file || char(10) || coalesce(symbol, '') || char(10) || coalesce(hunk, ''))";
            for some in parts.chunks(CHAIN) {
                let chain = vec![format!("{all} LIKE ? ESCAPE '\\'"); some.len()].join(" AND ");
                conditions.push(format!("({chain})"));
                values.extend(some.iter().map(|part| Value::from(part.clone())));
            }
        }
    }
    if let Some(project) = &query.project {
        conditions.push("(project = ? OR project IS NULL)".to_owned());
        values.push(path_value(project));
    }
    if let Some(path) = &query.path {
        conditions.push("file LIKE ? ESCAPE '\\'".to_owned());
        values.push(like(path).into());
    }
    if let Some(file) = &query.file {
        conditions.push("file = ? AND file_exact = ?".to_owned());
        values.push(file.to_text().into_owned().into());
        values.push(rows::exact(file).to_vec().into());
    }
    if let Some(state) = query.state {
        conditions.push("state = ?".to_owned());
        values.push(state.to_owned().into());
    }
    if let Some(since) = query.since {
        conditions.push("stored_at >= ?".to_owned());
        values.push(since.into());
    }
    values.push(count(query.limit.saturating_add(1)).into());
    let conditions = if conditions.is_empty() { "TRUE".to_owned() } else { conditions.join(" AND ") };
    let rest = format!("{found}WHERE {conditions} ORDER BY {order} LIMIT ?");
    let values = params_from_iter(values.iter().map(|value| value as &dyn ToSql));
    let mut found = rows::select(connection, &rest, values)?;
    let more = found.len() > query.limit;
    found.truncate(query.limit);
    Ok((found, more))
}
