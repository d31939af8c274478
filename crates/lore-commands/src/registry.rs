//! `registry.json`: the commands of one agent, in every form that existing files have.
//!
//! One entry that makes no sense is passed over with a note; the others stay usable.

use std::collections::HashMap;

use lore_model::brief;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

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
#[serde(expecting = "an object")]
struct File<'a> {
    #[serde(borrow)]
    tools: Option<Tools<'a>>,
    #[serde(borrow)]
    commands: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Tools<'a> {
    #[serde(borrow)]
    commands: Option<Vec<&'a RawValue>>,
}

impl Registry {
    /// Reads the text of the file; what is wrong is told with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let raw = listed(text)?;
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        let (most, all) = (COMMANDS_MAX.min(raw.len()), raw.len());
        let mut line = 1;
        for (at, one) in lines(text, raw.into_iter().take(most)) {
            line = at;
            let read = match one.get() {
                long if long.len() > ENTRY_MAX => Err((line, format!("it is over {} KiB", ENTRY_MAX >> 10))),
                text => serde_json::from_str(text)
                    .map_err(|error| (line + error.line().saturating_sub(1), json_fault(&error)))
                    .and_then(|value| Command::read(&value).map_err(|why| (line, why))),
            };
            match read {
                Ok(command) => entries.push(Entry { command, line }),
                Err(problem) => problems.push(problem),
            }
        }
        if all > most {
            problems.push((line, format!("there are {all} commands, and only {most} are read")));
        }
        let index = Index::new(entries.iter().map(|entry| &entry.command));
        Ok(Self { entries, problems, index })
    }

    /// What a reader of the file may have meant otherwise than it is read, with the line.
    pub(super) fn oddities(text: &str) -> Vec<(usize, String)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let raw = listed(text).unwrap_or_default();
        let mut odd = Vec::new();
        for (line, one) in lines(text, raw.into_iter().take(COMMANDS_MAX)) {
            if one.get().len() > ENTRY_MAX {
                continue;
            }
            let said = serde_json::from_str::<Value>(one.get()).map(|value| oddities(&value)).unwrap_or_default();
            let twice = serde_json::from_str::<Keys>(one.get()).map(|keys| keys.twice).unwrap_or_default();
            odd.extend(
                twice.into_iter().map(|key| (line, format!("`{}` is there twice: the last counts", brief(&key)))),
            );
            odd.extend(said.into_iter().map(|why| (line, why)));
        }
        odd
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

/// The entries of a registry's text, in every form that a file has.
fn listed(text: &str) -> Result<Vec<&RawValue>, String> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| json_error(&error));
    }
    let file: File<'_> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    let listed = file.tools.and_then(|tools| tools.commands).or(file.commands);
    listed.ok_or_else(|| "it has no list `tools.commands`".to_owned())
}

/// Entries with the lines on which they begin. They come in the order of the text, so each line is counted once.
fn lines<'a>(
    text: &'a str,
    entries: impl Iterator<Item = &'a RawValue>,
) -> impl Iterator<Item = (usize, &'a RawValue)> {
    let (mut line, mut counted) = (1, 0);
    entries.map(move |one| {
        let offset = (one.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
        line += text[counted..offset.max(counted)].matches('\n').count();
        counted = offset.max(counted);
        (line, one)
    })
}

/// The names of an object's fields that are there twice.
struct Keys {
    twice: Vec<String>,
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Keys;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut counts: HashMap<String, usize> = HashMap::new();
                let mut twice = Vec::new();
                while let Some((key, _)) = map.next_entry::<String, serde::de::IgnoredAny>()? {
                    let count = counts.entry(key.clone()).or_default();
                    *count += 1;
                    if *count == 2 {
                        twice.push(key);
                    }
                }
                Ok(Keys { twice })
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// What is wrong with JSON, with line and column first.
pub(super) fn json_error(error: &serde_json::Error) -> String {
    format!("line {}, column {}: {}", error.line(), error.column(), json_fault(error))
}

/// What is wrong with JSON, without the place.
fn json_fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let at = format!(" at line {} column {}", error.line(), error.column());
    brief(text.strip_suffix(&at).unwrap_or(&text)).into_owned()
}

/// Fields of an entry or a frontmatter that are not what they should be, and are read as if they were not there.
pub(super) fn oddities(value: &Value) -> Vec<String> {
    let mut odd = Vec::new();
    let mut expect = |name: &str, value: Option<&Value>, wanted: &str, fits: fn(&Value) -> bool| {
        if let Some(value) = value.filter(|value| !value.is_null() && !fits(value)) {
            odd.push(format!("`{name}` is {wanted}, and not {}", brief(&value.to_string())));
        }
    };
    let is_list = |value: &Value| match value {
        Value::String(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        _ => false,
    };
    let is_flag = |value: &Value| match value {
        Value::Bool(_) => true,
        Value::Array(items) => items.iter().all(Value::is_boolean),
        Value::String(text) => text.trim().parse::<bool>().is_ok(),
        _ => false,
    };
    let is_uv = |value: &Value| match value {
        Value::Object(_) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(|item| item.is_object() || item.is_string()),
        _ => false,
    };
    expect("description", value.get("description"), "a text", Value::is_string);
    expect("usage", value.get("usage"), "a text", Value::is_string);
    expect("options", value.get("options"), "an object", Value::is_object);
    expect("uv", value.get("uv"), "a list of variables", is_uv);
    let options = value.get("options");
    for key in ["edition", "adaptation"] {
        expect(key, options.and_then(|options| options.get(key)), "a list of texts", is_list);
    }
    for key in ["file", "stdin", "destination"] {
        expect(key, options.and_then(|options| options.get(key)), "true or false", is_flag);
    }
    odd
}

impl Command {
    /// Reads an entry of a registry or the frontmatter of a prompt: they have the same fields.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("it is not an object")?;
        let word = |key: &str| match fields.get(key) {
            Some(Value::String(word)) => Ok(word.trim().to_owned()),
            // Frontmatter may leave out the quotes.
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(other) => Err(format!("`{key}` is no text but {}", brief(&other.to_string()))),
            None => Err(format!("`{key}` is missing")),
        };
        let name = CommandName { c1: word("c1")?, c2: word("c2")?, c3: word("c3")? };
        if let Some((key, part)) = name.bad_part() {
            return Err(format!("`{key}` cannot be {:?}: names have letters, digits, `-`, `_` and `.`", brief(part)));
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

    /// The command as an entry of a registry, which is also how the tools tell it.
    pub fn fields(&self) -> Map<String, Value> {
        let CommandName { c1, c2, c3 } = &self.name;
        let mut fields = Map::new();
        for (key, value) in [("c1", c1), ("c2", c2), ("c3", c3), ("description", &self.description)] {
            fields.insert(key.to_owned(), value.as_str().into());
        }
        fields.extend(self.usage.as_ref().map(|usage| ("usage".to_owned(), usage.as_str().into())));
        fields.extend(self.options.as_ref().map(|options| ("options".to_owned(), options.fields().into())));
        if !self.uv.is_empty() {
            fields.insert("uv".to_owned(), self.uv.iter().map(Variable::field).collect());
        }
        fields
    }
}

impl Variable {
    fn field(&self) -> Value {
        Value::Object(Map::from_iter([(self.name.clone(), self.about.as_str().into())]))
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

    /// What is said, by name.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        for (key, value) in [
            ("edition", self.edition.as_ref().map(|list| json!(list))),
            ("adaptation", self.adaptation.as_ref().map(|list| json!(list))),
            ("file", self.file.map(Value::from)),
            ("stdin", self.stdin.map(Value::from)),
            ("destination", self.destination.map(Value::from)),
        ] {
            fields.extend(value.map(|value| (key.to_owned(), value)));
        }
        fields
    }
}

/// `""` is none; then there are lists of objects with one field each, lists of names, and one object with them all.
fn variables(value: Option<&Value>) -> Vec<Variable> {
    let plain = |name: &str| name.strip_prefix("uv-").unwrap_or(name).to_owned();
    let of = |fields: &Map<String, Value>| -> Vec<Variable> {
        let about = |about: &Value| about.as_str().map_or_else(|| about.to_string(), str::to_owned);
        fields.iter().map(|(name, value)| Variable { name: plain(name), about: about(value) }).collect()
    };
    match value {
        Some(Value::Object(fields)) => of(fields),
        Some(Value::Array(items)) => items
            .iter()
            .flat_map(|item| match item {
                Value::Object(fields) => of(fields),
                Value::String(name) => vec![Variable { name: plain(name), about: String::new() }],
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
    fn what_is_wrong_with_an_entry_is_short_and_has_the_line_of_the_file() {
        check(
            "{\"commands\": [\n\n {\"c1\": \"git\",\n  \"c2\": \"\\ud800\"}]}",
            expect![[r#"
                4: problem: unexpected end of hex escape
            "#]],
        );
        let long = format!(
            r#"[{{"c1": "{}", "c2": "b", "c3": "c"}}, {{"c1": [{}]}}]"#,
            "x/".repeat(9000),
            "1, ".repeat(9000) + "1"
        );
        let problems = Registry::parse(&long).unwrap().problems;
        assert!(problems.len() == 2 && problems.iter().all(|(_, why)| why.len() < 300), "{problems:?}");
        for text in ["5", r#"{"tools": 5}"#] {
            let why = Registry::parse(text).unwrap_err();
            assert!(why.ends_with("expected an object"), "{why}");
        }
    }

    #[test]
    fn fields_of_a_wrong_kind_are_odd() {
        let text = "[\n{\"c1\": \"a\", \"c1\": \"b\", \"c2\": \"b\", \"c3\": \"c\", \"description\": 5, \"uv\": 5, \"options\": {\"file\": \"yes\", \"edition\": [1]}},\n{\"c1\": \"a\", \"uv\": \"\", \"options\": {\"file\": [true], \"edition\": \"x\"}}]";
        let odd: Vec<String> =
            Registry::oddities(text).into_iter().map(|(line, why)| format!("{line}: {why}\n")).collect();
        expect![[r#"
            2: `c1` is there twice: the last counts
            2: `description` is a text, and not 5
            2: `uv` is a list of variables, and not 5
            2: `edition` is a list of texts, and not [1]
            2: `file` is true or false, and not "yes"
        "#]]
        .assert_eq(&odd.concat());
    }

    #[test]
    fn a_variable_is_named_without_its_prefix_in_every_form() {
        for uv in [r#"["uv-scope"]"#, r#"[{"uv-scope": ""}]"#, r#"{"uv-scope": ""}"#, r#"["scope"]"#] {
            let text = format!(r#"[{{"c1":"a","c2":"b","c3":"c","uv":{uv}}}]"#);
            let read = Registry::parse(&text).unwrap();
            let expected = [Variable { name: "scope".to_owned(), about: String::new() }];
            assert_eq!(read.entries[0].command.uv, expected, "{uv}");
        }
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
