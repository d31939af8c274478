//! The program that a server entry starts, in any host's form of an entry, and the notes that follow from it.

use serde_json::Value;

use super::{document::Server, hosts::Os};
use crate::ui;

/// The program of a server entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The executable, or the address of a server elsewhere.
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

impl Program {
    /// Reads `command` and `args`, or the older form of Zed: `command: {path, args}`.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let command = entry.get("command")?;
        let (command, args) = if command.is_object() {
            (command.get("path")?, command.get("args"))
        } else {
            (command, entry.get("args"))
        };
        let args = args.and_then(Value::as_array).into_iter().flatten();
        let args = args.map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect();
        Some(Self { command: command.as_str()?.to_owned(), args })
    }

    /// The same, or the address of a server elsewhere.
    pub(super) fn or_address(entry: &Value) -> Option<Self> {
        let address = || Some(Self { command: entry.get("url")?.as_str()?.to_owned(), args: Vec::new() });
        Self::of(entry).or_else(address)
    }

    pub(super) fn is_address(&self) -> bool {
        self.command.starts_with("http://") || self.command.starts_with("https://")
    }

    /// The name of the executable, without folders and `.exe`, on every system.
    pub(super) fn name(&self) -> &str {
        let name = self.command.rsplit(['/', '\\']).next().unwrap_or_default();
        match name.len().checked_sub(4).and_then(|at| name.split_at_checked(at)) {
            Some((stem, end)) if end.eq_ignore_ascii_case(".exe") => stem,
            _ => name,
        }
    }

    /// Whether it starts the old program of that name: itself, by its bridge, or through a runtime such as Deno.
    pub(super) fn starts(&self, old: &str) -> bool {
        let name = self.name();
        name == old
            || name.strip_suffix("-bridge") == Some(old)
            || (!self.is_lore() && self.args.iter().any(|arg| arg.split(['/', '@']).any(|part| part == old)))
    }

    /// Whether it is Lore, of any build and in any place.
    pub(super) fn is_lore(&self) -> bool {
        self.name() == "lore" && !self.command.contains("://")
    }
}

/// The fields that only a program has.
pub(super) const OF_PROGRAMS: [&str; 3] = ["command", "args", "env"];

/// The fields that only a server elsewhere has, first the names that hosts have for its address.
pub(super) const OF_ADDRESSES: [&str; 7] =
    ["url", "serverUrl", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers"];

/// Whether an entry is a server elsewhere rather than a program.
pub(super) fn is_remote(entry: &Value) -> bool {
    entry.get("command").is_none() && OF_ADDRESSES[..3].iter().any(|key| entry.get(key).is_some())
}

/// Whether the host ignores the entry for now.
pub(super) fn is_switched_off(entry: &Value) -> bool {
    entry.get("enabled") == Some(&Value::Bool(false)) || entry.get("disabled") == Some(&Value::Bool(true))
}

/// The environment in Zed's older form, which moves up next to the command.
pub(super) fn nested_environment(entry: &Value) -> Option<&Value> {
    entry.get("command")?.get("env").filter(|_| entry.get("env").is_none())
}

/// Notes on how to import what the old program knows, for each entry that starts it.
pub(super) fn import_notes(servers: &[Server], os: Os) -> Vec<String> {
    let mut notes = Vec::new();
    for server in servers {
        let Some(program) = Program::of(&server.value).filter(|program| program.name() == "commitmux") else {
            continue;
        };
        let database = database(&program, &server.value);
        let option = database.map_or_else(String::new, |path| format!(" --db {}", word(&path, os)));
        let note = format!("run `lore import commitmux{option}` to take its repositories over");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The database of a commitmux entry: an argument, or in its environment.
fn database(program: &Program, entry: &Value) -> Option<String> {
    let args = &program.args;
    let next = args.iter().position(|arg| arg == "--db").and_then(|at| args.get(at + 1)).map(String::as_str);
    let joined = || args.iter().find_map(|arg| arg.strip_prefix("--db="));
    let environment = || entry.get("env").or_else(|| nested_environment(entry))?.get("COMMITMUX_DB")?.as_str();
    next.or_else(joined).or_else(environment).map(str::to_owned)
}

/// A path as one argument of this system's shell.
fn word(text: &str, os: Os) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/\\.:_-+@,=~".contains(c);
    match os {
        Os::Windows if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Os::Windows => format!("\"{text}\""),
        // `~` in a configuration is the home of its reader.
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
