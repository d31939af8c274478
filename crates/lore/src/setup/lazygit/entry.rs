//! A custom command of lazygit: ours as it is written, and anybody's as it is recognised.
//!
//! Two entries, since lazygit names the file differently in the work tree and in a commit. Both
//! leave all quoting to lazygit, which knows the shell it starts.

use std::path::Path;

use lore_model::Failure;

use super::{
    super::path_text,
    list::Item,
    yaml::{Kind, Node},
};

/// The key that the old program used.
pub(super) const KEY: &str = "<c-y>";

/// Which files an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that changed in the work tree.
    WorkTree,
    /// Those of a commit.
    Commit,
}

impl Which {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::WorkTree, Self::Commit];

    /// The views in which the key works: the list of files, and the lines of one.
    pub(super) fn contexts(self) -> &'static [&'static str] {
        match self {
            Self::WorkTree => &["files", "staging", "stagingSecondary"],
            Self::Commit => &["commitFiles", "patchBuilding"],
        }
    }

    /// What lazygit calls the selected file there. In the lines of a commit's file, `SelectedPath`
    /// is still the file that is selected in the work tree.
    fn selected(self) -> &'static str {
        match self {
            Self::WorkTree => ".SelectedPath",
            Self::Commit => ".SelectedCommitFilePath",
        }
    }
}

/// What lazygit is told to run.
#[derive(Debug, Clone)]
pub(crate) struct Commenter {
    /// This program, with its whole path.
    program: String,
    /// Lore's home, where it is not the usual one.
    home: Option<String>,
}

impl Commenter {
    /// This program, and Lore's home where the comments are not to go to the usual one.
    pub(crate) fn new(program: &Path, home: Option<&Path>) -> Result<Self, Failure> {
        let home = home.map(|home| path_text(home).map(str::to_owned)).transpose()?;
        Ok(Self { program: path_text(program)?.to_owned(), home })
    }

    /// The template of the command line.
    ///
    /// File and comment are encoded before lazygit quotes them: its quoting is not right for every shell, and letters,
    /// digits and `%` mean nothing to any. An `=` and the `--` keep what begins with a dash from being an option.
    pub(super) fn command(&self, which: Which) -> String {
        let home = self.home.as_deref().map_or_else(String::new, |home| format!(" --home={}", word(home)));
        let (program, selected) = (word(&self.program), which.selected());
        let passed = |value: &str| format!("{{{{ {value} | urlquery | quote }}}}");
        format!("{program} comment{home} --encoded --file={} -- {}", passed(selected), passed(".Form.Comment"))
    }

    /// The entry as it is added.
    pub(super) fn item(&self, which: Which, key: &str) -> Item {
        let title = format!("Comment on {{{{ {} }}}}", which.selected());
        let fields = [
            ("key", scalar(key)),
            ("context", scalar(&which.contexts().join(", "))),
            ("description", scalar("Comment for the coding agent")),
            ("loadingText", scalar("Keeping the comment")),
        ];
        let prompt = [("type", scalar("input")), ("title", scalar(&title)), ("key", scalar("Comment"))];
        let command = scalar(&self.command(which));
        let join = |pairs: &[(&str, String)], with: &str| {
            pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(with)
        };
        let block = format!(
            "- {}\n  prompts:\n    - {}\n  command: {command}",
            join(&fields, "\n  "),
            join(&prompt, "\n      ")
        );
        let flow = format!("{{{}, prompts: [{{{}}}], command: {command}}}", join(&fields, ", "), join(&prompt, ", "));
        let mut item = Item::lines(block).expect("our own entry is YAML");
        item.flow = Some(flow);
        item
    }
}

/// A text as YAML that is read the same in every place.
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

/// A word of the command line: as it is where no shell and no template could mind, or else a
/// string of the template that lazygit quotes.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    // The strings of JSON are strings of Go.
    format!("{{{{ {} | quote }}}}", serde_json::Value::from(text))
}

/// What an entry runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runs {
    /// The program.
    pub(super) program: String,
    /// What follows it.
    pub(super) rest: String,
}

impl Runs {
    /// Reads the first word of an entry's command.
    pub(super) fn of(entry: &Node) -> Option<Self> {
        let command = entry.get("command")?.text()?.trim_start();
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

    fn name(&self) -> &str {
        let name = self.program.rsplit(['/', '\\']).next().unwrap_or_default();
        name.strip_suffix(".exe").unwrap_or(name)
    }

    fn first(&self) -> &str {
        self.rest.split_whitespace().next().unwrap_or_default()
    }

    /// Whether it sends comments to the old program.
    pub(super) fn is_old(&self) -> bool {
        self.name() == "lazygit-mcp-bridge" && self.first() == "send"
    }

    /// Which of ours it is, be it from another build or in another place. What somebody wrote himself to run `lore comment`
    /// is his.
    pub(super) fn which(&self) -> Option<Which> {
        let passes = |value: &str| self.rest.contains(&format!("{{{{ {value} |"));
        if self.first() != "comment" || !passes(".Form.Comment") {
            return None;
        }
        [Which::WorkTree, Which::Commit].into_iter().find(|which| passes(which.selected()))
    }

    /// Whether the program is there; `None` when it is looked up in a `PATH`.
    pub(super) fn exists(&self) -> Option<bool> {
        self.program.contains(['/', '\\']).then(|| Path::new(&self.program).exists())
    }
}

/// The views in which an entry's key works; `None` for all of them.
pub(super) fn contexts(entry: &Node) -> Option<Vec<&str>> {
    let contexts: Vec<&str> = entry.get("context")?.text()?.split(',').map(str::trim).collect();
    if contexts.contains(&"global") { None } else { Some(contexts) }
}

/// The keys of an entry: one, or a list of them.
pub(super) fn keys(entry: &Node) -> Vec<&str> {
    match entry.get("key") {
        Some(key) => match &key.kind {
            Kind::List(keys) => keys.iter().filter_map(Node::text).collect(),
            _ => key.text().into_iter().collect(),
        },
        None => Vec::new(),
    }
}
