//! What a server entry starts, read from any host's form of it.
//!
//! Also the remarks about the program that Lore stands in for: they follow from what an entry
//! starts.

use serde_json::Value;

use super::{document::Server, hosts::Os};
use crate::ui;

/// The program that a server entry starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The executable.
    pub(super) command: String,
    /// Its arguments.
    pub(super) args: Vec<String>,
}

impl Program {
    /// Reads `command` and `args`, or the older form of Zed: `command: {path, args}`.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let (command, args) = match entry.get("command")? {
            Value::String(command) => (command, entry.get("args")),
            nested => (
                match nested.get("path")? {
                    Value::String(path) => path,
                    _ => return None,
                },
                nested.get("args"),
            ),
        };
        let args = args.and_then(Value::as_array).into_iter().flatten();
        let args = args.map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect();
        Some(Self { command: command.clone(), args })
    }

    /// The same, or the address of a server elsewhere in the place of the executable.
    pub(super) fn or_address(entry: &Value) -> Option<Self> {
        let address = || Some(Self { command: entry.get("url")?.as_str()?.to_owned(), args: Vec::new() });
        Self::of(entry).or_else(address)
    }

    /// Whether this is the address of a server, which nobody starts.
    pub(super) fn is_address(&self) -> bool {
        self.command.starts_with("http://") || self.command.starts_with("https://")
    }

    /// The name of the executable, without folders and `.exe`, whatever system wrote it.
    pub(super) fn name(&self) -> &str {
        let name = self.command.rsplit(['/', '\\']).next().unwrap_or_default();
        match name.len().checked_sub(4).and_then(|at| name.split_at_checked(at)) {
            Some((stem, end)) if end.eq_ignore_ascii_case(".exe") => stem,
            _ => name,
        }
    }

    /// Whether it starts the old program of that name, itself, by its bridge, or through a runtime such as Deno.
    pub(super) fn starts(&self, old: &str) -> bool {
        self.name().strip_suffix("-bridge").unwrap_or(self.name()) == old
            || self.name() == old
            || (!self.is_lore() && self.args.iter().any(|arg| arg.split(['/', '@']).any(|part| part == old)))
    }

    /// Whether it is Lore, be it another build or in another place.
    pub(super) fn is_lore(&self) -> bool {
        self.name() == "lore" && !self.command.contains("://")
    }
}

/// The names that hosts have for the address of a server elsewhere.
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Whether an entry is a server elsewhere rather than a program to start.
pub(super) fn is_remote(entry: &Value) -> bool {
    entry.get("command").is_none() && ADDRESSES.iter().any(|key| entry.get(key).is_some())
}

/// Fields that only a program has, and those that only a server elsewhere has.
pub(super) const OF_PROGRAMS: [&str; 3] = ["command", "args", "env"];
pub(super) const OF_ADDRESSES: [&str; 7] =
    ["url", "serverUrl", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers"];

/// Whether the user keeps the entry but has the host leave it alone.
pub(super) fn is_switched_off(entry: &Value) -> bool {
    entry.get("enabled") == Some(&Value::Bool(false)) || entry.get("disabled") == Some(&Value::Bool(true))
}

/// The environment of Zed's older form, which moves up beside the command.
pub(super) fn nested_environment(entry: &Value) -> Option<&Value> {
    entry.get("command")?.get("env").filter(|_| entry.get("env").is_none())
}

/// Says how to take over what the old program knows, for each entry that starts it.
pub(super) fn import_notes(servers: &[Server], os: Os) -> Vec<String> {
    let mut notes = Vec::new();
    for server in servers {
        let Some(program) = Program::of(&server.value) else { continue };
        if program.name() != "commitmux" {
            continue;
        }
        let database =
            database(&program, &server.value).map_or_else(String::new, |path| format!(" --db {}", word(&path, os)));
        let note = format!("run `lore import commitmux{database}` to take its repositories over");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The database that a commitmux entry names: as an argument, or in its environment.
fn database(program: &Program, entry: &Value) -> Option<String> {
    let mut args = program.args.iter();
    while let Some(arg) = args.next() {
        if arg == "--db" {
            return args.next().cloned();
        }
        if let Some(path) = arg.strip_prefix("--db=") {
            return Some(path.to_owned());
        }
    }
    let environment = entry.get("env").or_else(|| nested_environment(entry))?;
    Some(environment.get("COMMITMUX_DB")?.as_str()?.to_owned())
}

/// A word that the shell of this system takes as one argument.
fn word(text: &str, os: Os) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/\\.:_-+@,=~".contains(c);
    match os {
        Os::Windows if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Os::Windows => format!("\"{text}\""),
        // A home in a configuration is the home of who reads it.
        Os::Linux | Os::Mac => {
            text.strip_prefix("~/").map_or_else(|| ui::shell_word(text), |rest| format!("~/{}", ui::shell_word(rest)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_shell_there() {
        for (os, path, expected) in [
            (Os::Linux, "/srv/a.db", "/srv/a.db"),
            (Os::Linux, "/srv/my repos/a.db", "'/srv/my repos/a.db'"),
            (Os::Mac, "~/my repos/a.db", "~/'my repos/a.db'"),
            (Os::Mac, "~/a.db", "~/a.db"),
            (Os::Windows, r"C:\Users\me\a.db", r"C:\Users\me\a.db"),
            (Os::Windows, r"C:\my repos\a.db", r#""C:\my repos\a.db""#),
        ] {
            assert_eq!(word(path, os), expected);
        }
    }

    #[test]
    fn the_program_is_known_in_every_spelling() {
        for (command, name) in [
            ("lore", "lore"),
            ("/usr/bin/lore", "lore"),
            (r"C:\Users\me\.cargo\bin\LORE.EXE", "LORE"),
            (r"C:\bin\lore.exe", "lore"),
            ("", ""),
            ("日本", "日本"),
        ] {
            let program = Program::of(&json!({"command": command})).expect("a command is a program");
            assert_eq!(program.name(), name);
        }
    }

    #[test]
    fn the_database_is_found_wherever_it_is_said() {
        let check = |entry: Value, note: &str| {
            let server = Server { name: "x".to_owned(), value: entry, raw: Vec::new() };
            assert_eq!(import_notes(&[server], Os::Linux), [note.to_owned()]);
        };
        let said = "run `lore import commitmux --db /a/b.db` to take its repositories over";
        check(json!({"command": "commitmux", "args": ["serve", "--db", "/a/b.db"]}), said);
        check(json!({"command": "/x/commitmux", "args": ["serve", "--db=/a/b.db"]}), said);
        check(json!({"command": {"path": "commitmux", "args": ["serve", "--db", "/a/b.db"]}}), said);
        check(json!({"command": "commitmux", "env": {"COMMITMUX_DB": "/a/b.db"}}), said);
        check(
            json!({"command": "commitmux", "args": ["serve", "--db", "/a b/c's.db"]}),
            r"run `lore import commitmux --db '/a b/c'\''s.db'` to take its repositories over",
        );
        check(
            json!({"command": "commitmux", "args": ["serve"]}),
            "run `lore import commitmux` to take its repositories over",
        );
    }
}
