//! Names of commands, agents and variants: each becomes part of a path, so it may hold nothing that leads elsewhere.

use std::fmt;

use lore_model::{Code, Failure, brief};

/// Longer names are somebody's mistake.
const MAX_CHARS: usize = 100;

/// What Windows keeps for devices, whatever comes behind a dot.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// The three words that name a command: domain, action and target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandName {
    /// The domain, `git`.
    pub c1: String,
    /// The action, `group-commit`.
    pub c2: String,
    /// The target, `unstaged-changes`.
    pub c3: String,
}

impl CommandName {
    /// The name of these words, whether such a command can exist or not.
    pub fn new(c1: impl Into<String>, c2: impl Into<String>, c3: impl Into<String>) -> Self {
        Self { c1: c1.into(), c2: c2.into(), c3: c3.into() }
    }

    /// The three words.
    pub(super) fn parts(&self) -> [(&'static str, &str); 3] {
        [("c1", &self.c1), ("c2", &self.c2), ("c3", &self.c3)]
    }

    /// The first word that cannot be part of a path, with what it is.
    pub(super) fn bad_part(&self) -> Option<(&'static str, &str)> {
        self.parts().into_iter().find(|(_, part)| !is_name(part))
    }
}

impl fmt::Display for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.c1, self.c2, self.c3)
    }
}

/// Whether a word can be the name of a file or a folder, and of nothing else: letters and digits of any script, `-`, `_`
/// and dots between them.
pub(super) fn is_name(word: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: char| c.is_alphanumeric() || c == '_';
    let is_device = cfg!(windows)
        && DEVICES.iter().any(|device| {
            let stem = word.split('.').next().unwrap_or_default().to_ascii_lowercase();
            stem.strip_prefix(device).is_some_and(|rest| rest.len() <= 1 && rest.bytes().all(|b| b.is_ascii_digit()))
        });
    !word.is_empty()
        && word.chars().count() <= MAX_CHARS
        && word.chars().all(fits)
        && word.starts_with(edge)
        && word.ends_with(|c: char| edge(c) || c == '-')
        && !word.contains("..")
        && !is_device
}

/// The agent's name, where it can be one.
pub(super) fn agent(name: &str) -> Result<&str, Failure> {
    if is_name(name) {
        return Ok(name);
    }
    Err(Failure::new(Code::InvalidArgument, format!("`{}` cannot be the name of an agent", brief(name)))
        .hint("an agent is named with letters, digits, `-`, `_` and `.`; leave it out for `climpt`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere() {
        for good in ["git", "group-commit", "c3l-command", "v1.2", "processing_done", "変更", "_private", "a-"] {
            assert!(is_name(good), "{good}");
        }
        let long = "x".repeat(101);
        for bad in [
            "",
            ".",
            "..",
            "a..b",
            "../x",
            "a/b",
            "a\\b",
            "/etc",
            "C:",
            "a\0b",
            "a b",
            ".git",
            "x.",
            "-f",
            "a\nb",
            "~",
            "%2e%2e",
            "\u{202e}x",
            "a\u{200b}",
            &long,
        ] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
