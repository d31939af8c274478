//! A custom command in lazygit's file: how ours are written, and how any is recognised.
//!
//! There are two of ours, since lazygit names the selected file differently in the work tree and in a commit. Both leave all
//! quoting to lazygit, which knows the shell that it starts.

use std::path::Path;

use lore_model::Failure;
use serde_json::Value;

use super::{super::path_text, list::Item};

/// The key that the old program used.
pub(super) const KEY: &str = "<c-y>";

/// Which of our entries one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// For changed files in the work tree.
    WorkTree,
    /// For the files of a commit.
    Commit,
}

impl EntryKind {
    pub(super) const ALL: [Self; 2] = [Self::WorkTree, Self::Commit];

    /// The views in which the key works: the list of files, and the lines of one.
    pub(super) fn contexts(self) -> &'static [&'static str] {
        match self {
            Self::WorkTree => &["files", "staging", "stagingSecondary"],
            Self::Commit => &["commitFiles", "patchBuilding"],
        }
    }

    /// lazygit's name for the selected file. In the lines of a commit's file, `SelectedPath` is still the file that is
    /// selected in the work tree.
    fn selected(self) -> &'static str {
        match self {
            Self::WorkTree => ".SelectedPath",
            Self::Commit => ".SelectedCommitFilePath",
        }
    }
}

/// The program that lazygit runs for a comment.
#[derive(Debug, Clone)]
pub(crate) struct Commenter {
    /// The whole path of this program.
    program: String,
    /// Lore's home, if it is not the default one.
    home: Option<String>,
}

impl Commenter {
    /// This program, and Lore's home if comments are not to go to the default one.
    pub(crate) fn new(program: &Path, home: Option<&Path>) -> Result<Self, Failure> {
        let home = home.map(|home| path_text(home).map(str::to_owned)).transpose()?;
        Ok(Self { program: path_text(program)?.to_owned(), home })
    }

    /// The template of the command line.
    ///
    /// File and comment are encoded before lazygit quotes them: its quoting is not right for every shell, and letters,
    /// digits and `%` mean nothing to any. An `=` and the `--` keep what begins with a dash from being an option.
    pub(super) fn command(&self, kind: EntryKind) -> String {
        let home = self.home.as_deref().map_or_else(String::new, |home| format!(" --home={}", word(home)));
        let (program, selected) = (word(&self.program), kind.selected());
        let passed = |value: &str| format!("{{{{ {value} | urlquery | quote }}}}");
        format!("{program} comment{home} --encoded --file={} -- {}", passed(selected), passed(".Form.Comment"))
    }

    /// A new entry.
    pub(super) fn item(&self, kind: EntryKind, key: &str) -> Item {
        let (key, context) = (scalar(key), scalar(&kind.contexts().join(", ")));
        let title = scalar(&format!("Comment on {{{{ {} }}}}", kind.selected()));
        let command = scalar(&self.command(kind));
        Item::Lines(format!(
            "  - key: {key}\n    context: {context}\n    description: 'Comment for the coding agent'\n    \
            loadingText: 'Keeping the comment'\n    prompts:\n      - type: 'input'\n        title: {title}\n        \
            key: 'Comment'\n    command: {command}\n"
        ))
    }
}

/// A text as YAML that means the same everywhere.
pub(super) fn scalar(text: &str) -> String {
    let odd = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    if !text.contains(odd) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if odd(c) => format!("\\U{:08x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// A word of the command line: verbatim if no shell and no template could misread it, else a string in the template that
/// lazygit quotes.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    // The strings of JSON are strings of Go.
    format!("{{{{ {} | quote }}}}", serde_json::Value::from(text))
}

/// The command of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EntryCommand {
    pub(super) program: String,
    /// What follows the program.
    rest: String,
}

impl EntryCommand {
    /// Reads the first word of an entry's command.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let command = entry.get("command")?.as_str()?.trim_start();
        let (program, rest) = if let Some(action) = command.strip_prefix("{{") {
            let mut strings = serde_json::Deserializer::from_str(action).into_iter::<String>();
            let program = strings.next()?.ok()?;
            (program, action[strings.byte_offset()..].split_once("}}")?.1)
        } else if let Some(quote) = command.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let (program, rest) = command[1..].split_once(quote)?;
            (program.to_owned(), rest)
        } else {
            let (program, rest) = command.split_at(command.find(char::is_whitespace).unwrap_or(command.len()));
            (program.to_owned(), rest)
        };
        Some(Self { program, rest: rest.trim().to_owned() })
    }

    fn subcommand(&self) -> Option<&str> {
        self.rest.split_whitespace().next()
    }

    /// Whether it sends comments to the old program.
    pub(super) fn is_old(&self) -> bool {
        let name = self.program.rsplit(['/', '\\']).next().unwrap_or_default();
        name.strip_suffix(".exe").unwrap_or(name) == "lazygit-mcp-bridge" && self.subcommand() == Some("send")
    }

    /// Which of our entries it is, of any build and in any place. A user's own command for `lore comment` is none of them.
    pub(super) fn kind(&self) -> Option<EntryKind> {
        let passes = |value: &str| self.rest.contains(&format!("{{{{ {value} |"));
        let is_ours = self.subcommand() == Some("comment") && passes(".Form.Comment");
        EntryKind::ALL.into_iter().find(|kind| is_ours && passes(kind.selected()))
    }

    /// Whether the program exists; `None` if it is looked up in `PATH`.
    pub(super) fn exists(&self) -> Option<bool> {
        self.program.contains(['/', '\\']).then(|| Path::new(&self.program).exists())
    }
}

/// Which of our entries it is, if any.
pub(super) fn kind(entry: &Value) -> Option<EntryKind> {
    EntryCommand::of(entry)?.kind()
}

/// The views in which an entry's key works; `None` for all of them.
pub(super) fn contexts(entry: &Value) -> Option<Vec<&str>> {
    let contexts: Vec<&str> = entry.get("context")?.as_str()?.split(',').map(str::trim).collect();
    if contexts.contains(&"global") { None } else { Some(contexts) }
}

/// The keys of an entry: one, or a list of them.
pub(super) fn keys(entry: &Value) -> Vec<String> {
    let text = |key: &Value| match key {
        Value::String(key) => Some(key.clone()),
        Value::Number(key) => Some(key.to_string()),
        _ => None,
    };
    match entry.get("key") {
        Some(Value::Array(keys)) => keys.iter().filter_map(text).collect(),
        key => key.and_then(text).into_iter().collect(),
    }
}
