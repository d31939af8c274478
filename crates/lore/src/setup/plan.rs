//! Planning the setup of a host, and its undo: the new text of its file, and the notes for the user.
//!
//! Nothing is written here; [`super::apply`] makes the change.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Registration, STAND_INS,
    change::Change,
    config_file::ConfigFile,
    document::{Document, Emptied, Problem, Server},
    hosts::{Host, Place, Scope},
    record::{Previous, Record, SetupDetails, hash},
    server::{self, Program},
};

/// What the setup of a host changed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HostDetails {
    /// Whether the setup added the list of servers.
    created_list: bool,
    /// The entry before it.
    previous: Previous,
    /// The executable or address that it wrote.
    command: String,
    args: Vec<String>,
}

impl SetupDetails for HostDetails {
    fn merge(&mut self, later: Self) {
        self.previous.merge(later.previous);
        (self.command, self.args) = (later.command, later.args);
    }
}

/// Whether an entry is what the setup on record wrote, or at least starts Lore.
pub(super) fn is_ours(record: Option<&Record<HostDetails>>, program: Option<&Program>) -> bool {
    let wrote = |program: &Program, setup: &HostDetails| program.command == setup.command && program.args == setup.args;
    record.zip(program).is_some_and(|(record, program)| program.is_lore() || wrote(program, &record.details))
}

/// The path of the record of a server.
pub(super) fn record_path(host: Host, scope: Scope, place: &Place, name: &str) -> Result<PathBuf, Failure> {
    let project = match scope {
        Scope::User => String::new(),
        // Every project has a file of its own.
        Scope::Project => format!("-{}", hash(&host.file(place, scope)?.to_string_lossy())),
    };
    Ok(place.state_dir.join(format!("{}-{}-{name}{project}.json", host.name(), scope.name())))
}

fn open(host: Host, scope: Scope, place: &Place, name: &str) -> Result<ConfigFile<HostDetails>, Failure> {
    ConfigFile::open(host.owner(), scope, host.file(place, scope)?, record_path(host, scope, place, name)?)
}

/// Plans to register a server in a host's file.
pub(crate) fn plan(host: Host, scope: Scope, place: &Place, registration: &Registration) -> Result<Change, Failure> {
    let name = &registration.name;
    let command = registration.command_text()?.to_owned();
    let file = open(host, scope, place, name)?;
    let mut document = Document::new(host, file.text());
    let list = document.servers().map_err(|problem| file.failure(problem))?;
    let created_list = list.is_none();
    let servers = list.unwrap_or_default();
    let current = servers.iter().rfind(|server| server.name == *name);
    let program = current.and_then(|server| Program::or_address(&server.value));
    let is_ours = is_ours(file.record.as_ref(), program.as_ref());
    if !is_ours {
        refuse_remote(host, &file.path, current, registration)?;
    }
    let previous =
        write(&mut document, host, current, &command, registration).map_err(|problem| file.failure(problem))?;
    let notes = notes(host, scope, place, &servers, registration);
    let mut later = Vec::new();
    if registration.address.is_some() {
        let title = host.title();
        later.push(format!(
            "{title} takes your token from the variable LORE_TOKEN; `lore tokens create NAME` makes one"
        ));
    } else if scope == Scope::Project {
        let path = file.path.display();
        later.push(format!("the command is a path of this machine; mind that before you share {path}"));
    }
    later.push(host.next_step(scope).to_owned());
    let details = HostDetails { created_list, previous, command, args: registration.args.clone() };
    file.plan(document.text(), details, is_ours, notes, later)
}

/// Writes the entry and reads it back: the host must find in it what was asked for. Gives what the entry was.
fn write(
    document: &mut Document,
    host: Host,
    current: Option<&Server>,
    command: &str,
    registration: &Registration,
) -> Result<Previous, Problem> {
    let fields = host.fields(command, registration);
    let previous = match current {
        None => document.add(&registration.name, &fields).map(|()| Previous::Absent),
        Some(server) => rewrite(document, server, &fields, registration).map(Previous::Fields),
    }?;
    let wanted = Program { command: command.to_owned(), args: registration.args.clone() };
    if started_by(document, &registration.name)? == Some(wanted) {
        return Ok(previous);
    }
    let message = format!("Lore cannot write `{}` into a file like this", registration.name);
    Err(Problem::at(document.text(), 0, message))
}

/// Changes the fields that differ and gives what they were; the user's other fields stay.
fn rewrite(
    document: &mut Document,
    server: &Server,
    fields: &[(&str, Value)],
    registration: &Registration,
) -> Result<Vec<(String, Option<String>)>, Problem> {
    let moved = server::nested_environment(&server.value).map(|environment| ("env", environment.clone()));
    // Hosts reject an entry that is a program and an address at once.
    let gone = if registration.address.is_some() { &server::OF_PROGRAMS[..] } else { &server::OF_ADDRESSES[..] };
    let gone = gone.iter().map(|key| (*key, None));
    let fields = fields.iter().chain(&moved).map(|(key, value)| (*key, Some(value)));
    let mut changed = Vec::new();
    for (key, value) in fields.chain(gone) {
        if server.value.get(key) != value {
            let raw = value.map(|value| document.render(value));
            document.set(&server.name, key, raw.as_deref())?;
            changed.push((key.to_owned(), server.raw(key)));
        }
    }
    Ok(changed)
}

/// Refuses to replace an address that the user entered.
fn refuse_remote(
    host: Host,
    file: &Path,
    current: Option<&Server>,
    registration: &Registration,
) -> Result<(), Failure> {
    let address = registration.address.as_deref();
    // A program is never the same as a server on the network, however the address is spelled.
    let is_same = |server: &Server| address.is_some() && server.value.get("url").and_then(Value::as_str) == address;
    match current {
        Some(server) if server::is_remote(&server.value) && !is_same(server) => Err(Failure::new(
            Code::InvalidConfig,
            format!("`{}` in {} is a server on the network", server.name, file.display()),
        )
        .hint(format!("take that entry out first, or rename it; `lore setup {} --print` shows ours", host.name()))),
        _ => Ok(()),
    }
}

fn notes(host: Host, scope: Scope, place: &Place, servers: &[Server], registration: &Registration) -> Vec<String> {
    let mut notes = server::import_notes(servers, place.os);
    for server in servers {
        let Some(program) = Program::of(&server.value) else { continue };
        let (name, command) = (&server.name, command_line(host, scope, &server.name));
        if *name == registration.name {
            if !program.is_lore() && program.command != registration.command.to_string_lossy() {
                let old = program.command;
                notes.push(format!("`{name}` started `{old}`; `{command} --undo` brings that back"));
            }
            if server::is_switched_off(&server.value) {
                notes.push(format!("`{name}` is switched off in that file and stays so"));
            }
        } else if STAND_INS.iter().any(|(known, _)| known == name && program.starts(known)) {
            notes.push(format!("`{name}` still starts the old program; `{command}` replaces it"));
        }
    }
    notes
}

/// The command that sets up a name.
fn command_line(host: Host, scope: Scope, name: &str) -> String {
    let name = if name == "lore" { String::new() } else { format!(" --as {name}") };
    let project = if scope == Scope::Project { " --project" } else { "" };
    format!("lore setup {}{name}{project}", host.name())
}

/// What the server with that name starts.
fn started_by(document: &Document, name: &str) -> Result<Option<Program>, Problem> {
    Ok(document.server(name)?.and_then(|server| Program::or_address(&server.value)))
}

/// Plans to take back the setup of the server with that name.
pub(crate) fn plan_undo(host: Host, scope: Scope, place: &Place, name: &str) -> Result<Change, Failure> {
    let file = open(host, scope, place, name)?;
    let path = file.path.clone();
    let undo = file.plan_undo(|text, record, notes| take_back(Document::new(host, text), record, name, notes))?;
    undo.ok_or_else(|| {
        Failure::new(
            Code::InvalidArgument,
            format!("nothing to undo: {} does not start Lore as `{name}` in {}", host.title(), path.display()),
        )
        .hint(format!("`lore setup {}` registers it; `lore doctor` shows where it is registered", host.name()))
    })
}

/// Changes our entry only.
fn take_back(
    mut document: Document,
    record: Option<&Record<HostDetails>>,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<Option<String>, Problem> {
    let program = started_by(&document, name)?;
    let Some(record) = record else {
        // Somebody pasted the entry.
        if !program.is_some_and(|program| program.is_lore()) {
            return Ok(None);
        }
        notes.push(format!("there is no record of a setup; the entry `{name}` is taken out"));
        document.remove(name, Emptied::Keep)?;
        return Ok(Some(document.text().to_owned()));
    };
    if !is_ours(Some(record), program.as_ref()) {
        notes.push(match program {
            None => format!("there is no entry `{name}` any more that starts a program"),
            Some(_) => format!("the entry `{name}` was changed since and starts another program; it stays"),
        });
        return Ok(Some(document.text().to_owned()));
    }
    match &record.details.previous {
        Previous::Absent => {
            let emptied = if record.details.created_list { Emptied::Drop } else { Emptied::Keep };
            document.remove(name, emptied)?;
            if record.created_file && document.is_empty() {
                return Ok(None);
            }
        }
        Previous::Fields(fields) => {
            for (key, raw) in fields {
                document.set(name, key, raw.as_deref())?;
            }
        }
    }
    notes.push("the file was changed since the setup; those changes stay".to_owned());
    Ok(Some(document.text().to_owned()))
}
