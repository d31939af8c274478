//! Planning a setup: what the host's file would hold, and what there is to say about it.
//!
//! Only reads. [`super::apply`] makes the change.

use std::path::Path;

use lore_model::{Code, Failure};
use serde_json::Value;

use super::{
    Registration, STAND_INS,
    change::{Change, Memory},
    document::{Document, Problem, Server},
    files,
    hosts::{Host, Place, Scope},
    record::{Previous, Record},
    server::{self, Program},
};

/// Plans to register a server in a host's file.
pub(crate) fn plan(host: Host, scope: Scope, place: &Place, registration: &Registration) -> Result<Change, Failure> {
    let file = host.file(place, scope)?;
    let command = registration.command_text()?;
    let problem = |problem: Problem| problem.failure(host.name(), &file);
    let before = files::read(&file)?;
    let mut document = Document::read(host, before.as_deref()).map_err(problem)?;
    let old = document.to_text();
    let list = document.servers().map_err(problem)?;
    let created_list = list.is_none();
    let servers = list.unwrap_or_default();
    let current = servers.iter().rfind(|server| server.name == registration.name);
    let path = Record::path(host, scope, place, &registration.name)?;
    let earlier = Record::read(&path)?;
    let program = current.and_then(|server| Program::or_address(&server.value));
    // An address that an earlier setup wrote is ours to change.
    if !earlier.as_ref().is_some_and(|record| record.owns(program.as_ref())) {
        refuse_remote(host, &file, current, registration)?;
    }
    let fields = host.fields(command, registration);
    let previous = match current {
        None => document.add(&registration.name, &fields).map(|()| Previous::Absent),
        Some(server) => rewrite(&mut document, server, &fields, registration).map(Previous::Fields),
    };
    let previous = previous.map_err(problem)?;
    check(&document, command, registration).map_err(problem)?;
    let new = document.to_text();
    let mut notes = notes(host, scope, place, &servers, registration);
    if before.is_some() && new == old {
        let after = before.clone();
        return Ok(Change { file, before, after, notes, scope, memory: Memory::Keep });
    }
    let folders = files::missing_folders(&file);
    if scope == Scope::User
        && let Some(folder) = folders.first()
    {
        notes.push(format!("there is no folder {} yet: is {} installed?", folder.display(), host.title()));
    }
    if registration.address.is_some() {
        let name = host.title();
        notes
            .push(format!("{name} takes your token from the variable LORE_TOKEN; `lore tokens create NAME` makes one"));
    } else if scope == Scope::Project {
        let file = file.display();
        notes.push(format!("the command is a path of this machine; mind that before you share {file}"));
    }
    notes.push(host.next_step(scope).to_owned());
    let mut record = Record::new(&file, command, registration);
    record.created_file = before.is_none();
    record.created_folders = folders.iter().map(|folder| folder.display().to_string()).collect();
    record.created_list = created_list;
    record.previous = previous;
    let record = record.after(earlier, program.as_ref(), &old, &new);
    let memory = Memory::Write(path, record.to_bytes()?);
    Ok(Change { file, before, after: Some(new.into_bytes()), notes, scope, memory })
}

/// Changes the fields that differ and says what they were; whatever else the user wrote stays.
fn rewrite(
    document: &mut Document,
    server: &Server,
    fields: &[(&str, Value)],
    registration: &Registration,
) -> Result<Vec<(String, Option<String>)>, Problem> {
    let moved = server::nested_environment(&server.value).map(|environment| ("env", environment.clone()));
    let mut changed = Vec::new();
    for (key, value) in fields.iter().chain(&moved) {
        if server.value.get(key) != Some(value) {
            document.set(&server.name, key, &document.render(value))?;
            changed.push(((*key).to_owned(), server.raw(key).map(str::to_owned)));
        }
    }
    // Hosts refuse an entry that is a program and an address at once.
    let gone = if registration.address.is_some() { &server::OF_PROGRAMS[..] } else { &server::OF_ADDRESSES[..] };
    for key in gone.iter().filter(|key| server.value.get(key).is_some()) {
        document.unset(&server.name, key)?;
        changed.push(((*key).to_owned(), server.raw(key).map(str::to_owned)));
    }
    Ok(changed)
}

/// Reads the result back: a host must find in it what was asked for.
fn check(document: &Document, command: &str, registration: &Registration) -> Result<(), Problem> {
    let wanted = Program { command: command.to_owned(), args: registration.args.clone() };
    let servers = document.servers()?.unwrap_or_default();
    let found = servers.iter().rfind(|server| server.name == registration.name);
    if found.and_then(|server| Program::or_address(&server.value)) == Some(wanted) {
        return Ok(());
    }
    let text = document.to_text();
    Err(Problem::at(&text, 0, format!("Lore cannot write `{}` into a file like this", registration.name)))
}

/// An address that somebody entered is not replaced by a program or another address.
fn refuse_remote(
    host: Host,
    file: &Path,
    current: Option<&Server>,
    registration: &Registration,
) -> Result<(), Failure> {
    let address = registration.address.as_deref();
    // A program is never the same as a server on the network, however that one's address is written.
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

/// The command that sets a name up.
fn command_line(host: Host, scope: Scope, name: &str) -> String {
    let name = if name == "lore" { String::new() } else { format!(" --as {name}") };
    let project = if scope == Scope::Project { " --project" } else { "" };
    format!("lore setup {}{name}{project}", host.name())
}
