//! Taking a setup back: exactly, or, when others changed the file since, only our own entry.

use std::path::Path;

use lore_model::{Code, Failure};

use super::{
    change::{Change, Memory},
    document::{Document, Emptied, Problem},
    files,
    hosts::{Host, Place, Scope},
    record::{Previous, Record},
    server::Program,
};

/// Plans to take back what `plan` did for the server of that name.
pub(crate) fn plan_undo(host: Host, scope: Scope, place: &Place, name: &str) -> Result<Change, Failure> {
    let file = host.file(place, scope)?;
    let path = Record::path(host, scope, place, name)?;
    let record = Record::read(&path)?;
    let before = files::read(&file)?;
    let problem = |problem: Problem| problem.failure(host.name(), &file);
    let mut notes = Vec::new();
    let after = match (&record, &before) {
        (None, bytes) => {
            let document = Document::read(host, bytes.as_deref()).map_err(problem)?;
            let after = unrecorded(document, name).map_err(problem)?;
            notes.push(format!("there is no record of a setup; the entry `{name}` is taken out"));
            Some(after.ok_or_else(|| nothing(host, &file, name))?)
        }
        (Some(_), None) => {
            notes.push(format!("{} is gone already", file.display()));
            None
        }
        (Some(record), Some(bytes)) => {
            let document = Document::read(host, Some(bytes)).map_err(problem)?;
            match exact(record, &document) {
                Some(_) if record.created_file => None,
                Some(text) => Some(text),
                None => least(record, document, name, &mut notes).map_err(problem)?,
            }
        }
    };
    let memory = match record {
        Some(record) => Memory::Forget(path, record.created_folders),
        None => Memory::Keep,
    };
    Ok(Change { file, before, after: after.map(String::into_bytes), notes, scope, memory })
}

/// The bytes as they were, if nobody touched the file.
fn exact(record: &Record, document: &Document) -> Option<String> {
    let text = document.to_text();
    if record.is_untouched(&text) { record.rewind(&text) } else { None }
}

/// Changes our entry only.
fn least(
    record: &Record,
    mut document: Document,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<Option<String>, Problem> {
    let Some(program) = started_by(&document, name)? else {
        notes.push(format!("there is no entry `{name}` any more that starts a program"));
        return Ok(Some(document.to_text()));
    };
    if !record.owns(Some(&program)) {
        notes.push(format!("the entry `{name}` was changed since and starts another program; it stays"));
        return Ok(Some(document.to_text()));
    }
    match &record.previous {
        Previous::Absent => {
            let emptied = if record.created_list { Emptied::Drop } else { Emptied::Keep };
            document.remove(name, emptied)?;
            if record.created_file && document.is_empty() {
                return Ok(None);
            }
        }
        Previous::Fields(fields) => {
            for (key, raw) in fields {
                match raw {
                    Some(raw) => document.set(name, key, raw)?,
                    None => document.unset(name, key)?,
                }
            }
        }
    }
    notes.push("the file was changed since the setup; those changes stay".to_owned());
    Ok(Some(document.to_text()))
}

/// Takes an entry out that starts Lore though no setup is on record: pasted, or set up elsewhere.
fn unrecorded(mut document: Document, name: &str) -> Result<Option<String>, Problem> {
    match started_by(&document, name)? {
        Some(program) if program.is_lore() => {
            document.remove(name, Emptied::Keep)?;
            Ok(Some(document.to_text()))
        }
        _ => Ok(None),
    }
}

/// What the entry of that name starts.
fn started_by(document: &Document, name: &str) -> Result<Option<Program>, Problem> {
    let servers = document.servers()?.unwrap_or_default();
    let server = servers.iter().rfind(|server| server.name == name);
    Ok(server.and_then(|server| Program::or_address(&server.value)))
}

fn nothing(host: Host, file: &Path, name: &str) -> Failure {
    Failure::new(
        Code::InvalidArgument,
        format!("nothing to undo: {} does not start Lore as `{name}` in {}", host.title(), file.display()),
    )
    .hint(format!("`lore setup {}` registers it; `lore doctor` shows where it is registered", host.name()))
}
