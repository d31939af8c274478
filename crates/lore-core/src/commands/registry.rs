//! `registry.json`: the commands of one agent, in every form that existing files have.
//!
//! One entry that makes no sense is passed over with a note; the others stay usable.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{CommandName, rank::Index};

/// A longer file is no registry.
pub(super) const REGISTRY_MAX: u64 = 16 << 20;

/// More commands than that nobody can choose from, and each takes memory.
const COMMANDS_MAX: usize = 10_000;

/// A longer entry is no command.
const ENTRY_MAX: usize = 64 << 10;

/// A command as the team described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it is called.
    pub name: CommandName,
    /// What it is for.
    pub description: String,
    /// How it is used.
    pub usage: Option<String>,
    /// What it takes, where that is said.
    pub options: Option<CommandOptions>,
    /// The variables it takes.
    pub uv: Vec<Variable>,
}

/// What a command takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOptions {
    /// Its editions.
    pub edition: Option<Vec<String>>,
    /// Its adaptations.
    pub adaptation: Option<Vec<String>>,
    /// Whether it takes a file.
    pub file: Option<bool>,
    /// Whether it takes a text.
    pub stdin: Option<bool>,
    /// Whether it takes a destination.
    pub destination: Option<bool>,
}

/// A variable of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name, without `uv-`.
    pub name: String,
    /// What it is.
    pub about: String,
}

/// The commands of an agent.
#[derive(Debug)]
pub(super) struct Registry {
    pub(super) entries: Vec<Entry>,
    /// What could not be understood, with the line.
    pub(super) problems: Vec<(usize, String)>,
    pub(super) index: Index,
}

/// A command and the line on which it begins.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) command: Command,
    pub(super) line: usize,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    tools: Option<Tools<'a>>,
    #[serde(borrow)]
    commands: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Tools<'a> {
    #[serde(borrow)]
    commands: Option<Vec<&'a RawValue>>,
}

impl Registry {
    /// Reads the text of the file; what is wrong is told with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let raw = if text.trim_start().starts_with('[') {
            serde_json::from_str::<Vec<&RawValue>>(text).map_err(|error| json_error(&error))?
        } else {
            let file: File<'_> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
            let listed = file.tools.and_then(|tools| tools.commands).or(file.commands);
            listed.ok_or("it has no list `tools.commands`")?
        };
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        let (mut line, mut counted) = (1, 0);
        let (most, all) = (COMMANDS_MAX.min(raw.len()), raw.len());
        for one in raw.into_iter().take(most) {
            // Entries come in the order of the text, so each line is counted once.
            let offset = (one.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
            line += text[counted..offset.max(counted)].matches('\n').count();
            counted = offset.max(counted);
            let read = match one.get() {
                long if long.len() > ENTRY_MAX => Err(format!("it is over {} KiB", ENTRY_MAX >> 10)),
                text => serde_json::from_str(text)
                    .map_err(|error| error.to_string())
                    .and_then(|value| Command::read(&value)),
            };
            match read {
                Ok(command) => entries.push(Entry { command, line }),
                Err(why) => problems.push((line, why)),
            }
        }
        if all > most {
            problems.push((line, format!("there are {all} commands, and only {most} are read")));
        }
        let index = Index::new(entries.iter().map(|entry| &entry.command));
        Ok(Self { entries, problems, index })
    }

    /// The command of that name; the first one where there are several.
    pub(super) fn find(&self, name: &CommandName) -> Option<&Command> {
        self.entries.iter().map(|entry| &entry.command).find(|command| command.name == *name)
    }

    /// Every command once.
    pub(super) fn commands(&self) -> impl Iterator<Item = &Command> {
        let mut seen = std::collections::HashSet::new();
        self.entries.iter().map(|entry| &entry.command).filter(move |command| seen.insert(&command.name))
    }
}

/// What is wrong with JSON, with line and column first.
pub(super) fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let at = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(&at).unwrap_or(&text);
    format!("line {}, column {}: {what}", error.line(), error.column())
}

impl Command {
    /// Reads an entry of a registry or the frontmatter of a prompt: they have the same fields.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("it is not an object")?;
        let word = |key: &str| match fields.get(key) {
            Some(Value::String(word)) => Ok(word.trim().to_owned()),
            // Frontmatter may leave out the quotes.
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(other) => Err(format!("`{key}` is no text but {other}")),
            None => Err(format!("`{key}` is missing")),
        };
        let name = CommandName { c1: word("c1")?, c2: word("c2")?, c3: word("c3")? };
        if let Some((key, part)) = name.bad_part() {
            return Err(format!("`{key}` cannot be {part:?}: names have letters, digits, `-`, `_` and `.`"));
        }
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let options = fields.get("options").and_then(Value::as_object);
        let mut uv = variables(fields.get("uv"));
        uv.extend(variables(options.and_then(|options| options.get("uv"))));
        Ok(Self {
            name,
            description: text("description").unwrap_or_default(),
            usage: text("usage").filter(|usage| !usage.trim().is_empty()),
            options: options.map(CommandOptions::read),
            uv,
        })
    }
}

impl CommandOptions {
    /// Earlier files say `input` for `edition`, `input_file` for `file`, and `[true]` for `true`.
    fn read(fields: &Map<String, Value>) -> Self {
        let first = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key));
        let list = |keys: &[&str]| match first(keys)? {
            Value::String(one) if !one.trim().is_empty() => Some(vec![one.clone()]),
            Value::Array(many) => Some(many.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            _ => None,
        };
        let flag = |keys: &[&str]| match first(keys)? {
            Value::Bool(flag) => Some(*flag),
            Value::Array(many) => Some(many.iter().any(|one| *one == Value::Bool(true))),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        Self {
            edition: list(&["edition", "input"]),
            adaptation: list(&["adaptation"]),
            file: flag(&["file", "input_file"]),
            stdin: flag(&["stdin"]),
            destination: flag(&["destination"]),
        }
    }
}

/// `""` is none; then there are lists of objects with one field each, lists of names, and one object with them all.
fn variables(value: Option<&Value>) -> Vec<Variable> {
    let of = |fields: &Map<String, Value>| -> Vec<Variable> {
        let about = |about: &Value| about.as_str().map_or_else(|| about.to_string(), str::to_owned);
        let plain = |name: &str| name.strip_prefix("uv-").unwrap_or(name).to_owned();
        fields.iter().map(|(name, value)| Variable { name: plain(name), about: about(value) }).collect()
    };
    match value {
        Some(Value::Object(fields)) => of(fields),
        Some(Value::Array(items)) => items
            .iter()
            .flat_map(|item| match item {
                Value::Object(fields) => of(fields),
                Value::String(name) => vec![Variable { name: name.clone(), about: String::new() }],
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are checked")]
    fn check(text: &str, expected: Expect) {
        let said = match Registry::parse(text) {
            Err(why) => format!("refused: {why}\n"),
            Ok(registry) => {
                let line = |entry: &Entry| {
                    let Entry { command, line } = entry;
                    format!("{line}: {} / {:?} {:?}\n", command.name, command.options, command.uv)
                };
                let problem = |(line, why): &(usize, String)| format!("{line}: problem: {why}\n");
                registry.entries.iter().map(line).chain(registry.problems.iter().map(problem)).collect()
            }
        };
        expected.assert_eq(&said);
    }

    #[test]
    fn every_form_of_existing_files_is_read() {
        check(
            "\u{feff}{\"version\": \"1.0.0\", \"tools\": {\"commands\": [\n {\"c1\": \"git\", \"c2\": \"a\", \"c3\": \"b\", \"uv\": \"\",\n  \"options\": {\"edition\": [\"default\"], \"file\": false, \"stdin\": true}},\n {\"c1\": \"git\", \"c2\": \"c\", \"c3\": \"d\", \"options\": {\"input\": [\"MD\"], \"input_file\": [true], \"stdin\": [false]}},\n {\"c1\": \"git\", \"c2\": \"e\", \"c3\": \"f\", \"uv\": [{\"name\": \"About\"}, {\"other\": \"More\"}]},\n {\"c1\": \"git\", \"c2\": \"g\", \"c3\": \"h\", \"options\": {\"uv\": {\"max-lines\": \"How many\"}}}\n]}}",
            expect![[r#"
                2: git a b / Some(CommandOptions { edition: Some(["default"]), adaptation: None, file: Some(false), stdin: Some(true), destination: None }) []
                4: git c d / Some(CommandOptions { edition: Some(["MD"]), adaptation: None, file: Some(true), stdin: Some(false), destination: None }) []
                5: git e f / None [Variable { name: "name", about: "About" }, Variable { name: "other", about: "More" }]
                6: git g h / Some(CommandOptions { edition: None, adaptation: None, file: None, stdin: None, destination: None }) [Variable { name: "max-lines", about: "How many" }]
            "#]],
        );
        check(
            r#"{"commands": [{"c1": "a", "c2": "b", "c3": "c"}]}"#,
            expect![[r#"
            1: a b c / None []
        "#]],
        );
        check(
            r#"[{"c1": "a", "c2": "b", "c3": "c"}]"#,
            expect![[r#"
            1: a b c / None []
        "#]],
        );
    }

    #[test]
    fn a_bad_entry_is_passed_over_and_told_with_its_line() {
        check(
            "{\"tools\": {\"commands\": [\n {\"c1\": \"\", \"c2\": \"a\", \"c3\": \"b\"},\n 5,\n {\"c1\": \"git\", \"c2\": \"../..\", \"c3\": \"b\"},\n {\"c1\": \"git\", \"c2\": \"a\"},\n {\"c1\": \"git\", \"c2\": \"a\", \"c3\": \"b\"}]}}",
            expect![[r#"
                6: git a b / None []
                2: problem: `c1` cannot be "": names have letters, digits, `-`, `_` and `.`
                3: problem: it is not an object
                4: problem: `c2` cannot be "../..": names have letters, digits, `-`, `_` and `.`
                5: problem: `c3` is missing
            "#]],
        );
    }

    #[test]
    fn more_than_anybody_means_is_not_read() {
        let entry = r#"{"c1":"a","c2":"b","c3":"c"}"#;
        let many = Registry::parse(&format!("[{}]", vec![entry; 10_001].join(","))).unwrap();
        assert_eq!((many.entries.len(), many.problems.len()), (10_000, 1));
        let long = format!(r#"[{{"c1":"a","c2":"b","c3":"c","description":"{}"}}]"#, "x".repeat(65_536));
        check(
            &long,
            expect![[r#"
            1: problem: it is over 64 KiB
        "#]],
        );
    }

    #[test]
    fn a_broken_registry_is_told_with_line_and_column() {
        check(
            "{\n  \"tools\": {\n    \"commands\": [,]\n}}",
            expect![[r#"
            refused: line 3, column 18: expected value
        "#]],
        );
        check(
            "",
            expect![[r#"
            refused: line 1, column 0: EOF while parsing a value
        "#]],
        );
        check(
            "{\"tools\": {}}",
            expect![[r#"
            refused: it has no list `tools.commands`
        "#]],
        );
        check(
            &("[".repeat(100_000)),
            expect![[r#"
                refused: line 1, column 100000: EOF while parsing a list
            "#]],
        );
    }
}
