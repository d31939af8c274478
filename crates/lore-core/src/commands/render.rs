//! Puts values into the placeholders of a prompt, in one pass: a value is never looked at again.

use std::collections::BTreeMap;

/// A longer text is not what anybody meant: a long value in many places.
const RENDERED_MAX: usize = 8 << 20;

/// A prompt with its values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) text: String,
    /// Placeholders that are left because there is no value, once each.
    pub(super) open: Vec<String>,
    /// Values that have no placeholder.
    pub(super) unused: Vec<String>,
}

/// The placeholders besides `uv-…`.
pub(super) const PLACEHOLDERS: [&str; 5] =
    ["input_text", "input_text_file", "destination_path", "base_prompt_dir", "schema_file"];

/// Fills a template. Line ends become LF, and the text ends in one of them; `None` where it would be too long.
pub(super) fn fill(template: &str, values: &BTreeMap<String, String>) -> Option<Filled> {
    let template = template.replace("\r\n", "\n");
    let mut text = String::with_capacity(template.len());
    let (mut open, mut used) = (Vec::new(), Vec::new());
    let mut rest = template.as_str();
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(name) = placeholder(rest) else {
            text.push('{');
            rest = &rest[1..];
            continue;
        };
        match values.get(name) {
            Some(value) => text.push_str(value),
            None => text.push_str(&rest[..name.len() + 2]),
        }
        let seen = if values.contains_key(name) { &mut used } else { &mut open };
        if !seen.iter().any(|seen| seen == name) {
            seen.push(name.to_owned());
        }
        if text.len() > RENDERED_MAX {
            return None;
        }
        rest = &rest[name.len() + 2..];
    }
    text.push_str(rest);
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    text.push('\n');
    let unused = values.keys().filter(|name| !used.contains(name)).cloned().collect();
    (text.len() <= RENDERED_MAX).then_some(Filled { text, open, unused })
}

/// The placeholders of a template, in the order of their first use.
pub(super) fn placeholders(template: &str) -> Vec<String> {
    fill(template, &BTreeMap::new()).map(|filled| filled.open).unwrap_or_default()
}

/// The name in the placeholder with which a text begins.
fn placeholder(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?;
    let name = &name[..name.find('}')?];
    let is_variable = |name: &str| {
        name.strip_prefix("uv-")
            .is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_'))
    };
    (PLACEHOLDERS.contains(&name) || is_variable(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, values: &[(&str, &str)], text: &str, open: &[&str]) {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let filled = fill(template, &values).unwrap();
        assert_eq!((filled.text.as_str(), filled.open), (text, open.iter().map(|name| (*name).to_owned()).collect()));
    }

    #[test]
    fn values_are_plain_text_and_are_not_looked_at_again() {
        check("a {input_text} b", &[("input_text", "$& $1 \\0 {uv-x}"), ("uv-x", "no")], "a $& $1 \\0 {uv-x} b\n", &[]);
        check("{uv-a}{uv-b}{uv-a}", &[("uv-a", "{uv-b}"), ("uv-b", "1")], "{uv-b}1{uv-b}\n", &[]);
    }

    #[test]
    fn an_absent_value_leaves_its_placeholder() {
        check("{uv-x} {input_text} {uv-x}", &[], "{uv-x} {input_text} {uv-x}\n", &["uv-x", "input_text"]);
        check("{uv-x}", &[("uv-x", "")], "\n", &[]);
    }

    #[test]
    fn other_braces_are_text() {
        let text = "{N} {this} {uv-} { input_text } {} { {{x}} ${HOME} {input_text\n";
        check(text, &[("input_text", "no")], text, &[]);
        check("{{input_text}} ${uv-変数}", &[("input_text", "x"), ("uv-変数", "y")], "{x} $y\n", &[]);
    }

    #[test]
    fn the_text_ends_in_one_newline_and_has_unix_line_ends() {
        check("a\r\nb\r\n\r\n\r\n", &[], "a\nb\n", &[]);
        check("a", &[], "a\n", &[]);
        check("a {input_text}", &[("input_text", "x\r\n\n")], "a x\n", &[]);
    }

    #[test]
    fn a_long_value_in_many_places_is_refused() {
        let values = BTreeMap::from([("input_text".to_owned(), "x".repeat(1 << 20))]);
        assert_eq!(fill(&"{input_text}".repeat(1000), &values), None);
        assert!(fill("{input_text}", &values).is_some());
    }

    #[test]
    fn values_without_a_placeholder_are_told() {
        let values = BTreeMap::from([("uv-x".to_owned(), "1".to_owned())]);
        assert_eq!(fill("text", &values).unwrap().unused, ["uv-x"]);
    }
}
