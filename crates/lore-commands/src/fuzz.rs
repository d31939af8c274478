//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::{Command, profile, prompt, registry::Registry, render};

/// What could not be understood, with the line.
type Problems = Vec<(usize, String)>;

/// The commands of a registry's text, and what could not be understood, with the line.
pub fn registry(text: &str) -> Result<(Vec<Command>, Problems), String> {
    let Registry { entries, problems, .. } = Registry::parse(text)?;
    Ok((entries.into_iter().map(|entry| entry.command).collect(), problems))
}

/// What in a registry's text is read otherwise than somebody may have meant, with the line.
pub fn oddities(text: &str) -> Vec<(usize, String)> {
    Registry::oddities(text)
}

/// The command of an entry or of a frontmatter.
pub fn command(fields: &Value) -> Result<Command, String> {
    Command::read(fields)
}

/// The frontmatter of a prompt, and its text.
pub fn split(text: &str) -> (Option<&str>, &str) {
    let parts = prompt::split(text);
    (parts.frontmatter, parts.body)
}

/// The fields of a frontmatter, or the line on which something is wrong.
pub fn fields(frontmatter: &str) -> Result<Value, (usize, String)> {
    prompt::fields(frontmatter)
}

/// A prompt with its values, and the placeholders that are left.
pub fn fill(template: &str, values: &BTreeMap<String, String>) -> Option<(String, Vec<String>)> {
    render::fill(template, values).map(|filled| (filled.text, filled.open))
}

/// A pattern of a profile.
pub fn pattern(text: &str) -> Result<Regex, String> {
    profile::compile(text)
}

/// Whether a text is a profile.
pub fn profile(text: &str) -> Result<(), (Option<usize>, String)> {
    profile::parse_yaml::<Option<profile::ConfigFile>>(text).map(|_| ())
}
