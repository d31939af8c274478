//! Puts values into the placeholders of a prompt, in one pass: a value is never looked at again.

use std::collections::{BTreeMap, HashSet};

/// A longer text is not what anybody meant: a long value in many places.
const RENDERED_MAX: usize = 8 << 20;

/// A longer name in braces is no placeholder.
const NAME_MAX: usize = 110;

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
    let (mut open, mut seen, mut used) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut rest = template.as_str();
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(name) = placeholder(rest) else {
            text.push('{');
            rest = &rest[1..];
            continue;
        };
        if let Some(value) = values.get(name) {
            text.push_str(value);
            used.insert(name);
        } else {
            text.push_str(&rest[..name.len() + 2]);
            if seen.insert(name) {
                open.push(name.to_owned());
            }
        }
        if text.len() > RENDERED_MAX {
            return None;
        }
        rest = &rest[name.len() + 2..];
    }
    text.push_str(rest);
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    text.push('\n');
    let unused = values.keys().filter(|name| !used.contains(name.as_str())).cloned().collect();
    (text.len() <= RENDERED_MAX).then_some(Filled { text, open, unused })
}

/// The name with which a text goes on behind a brace, up to the brace that closes it on the same line.
pub(super) fn braced(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?;
    let (end, last) = name.char_indices().take(NAME_MAX).find(|(_, c)| matches!(c, '{' | '}' | '\n'))?;
    (last == '}').then(|| &name[..end])
}

/// Whether a name in braces stands for a value.
pub(super) fn is_placeholder(name: &str) -> bool {
    PLACEHOLDERS.contains(&name) || name.strip_prefix("uv-").is_some_and(is_variable)
}

/// Whether a variable can be called so: nothing else is found in a prompt.
pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

/// The name in the placeholder with which a text begins.
fn placeholder(text: &str) -> Option<&str> {
    braced(text).filter(|name| is_placeholder(name))
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
    fn many_braces_and_many_names_take_no_time() {
        // A linear pass takes some milliseconds, a quadratic one minutes.
        let braces = "{".repeat(1 << 20);
        assert_eq!(fill(&braces, &BTreeMap::new()).unwrap().text.len(), braces.len() + 1);
        let names = (0..80_000).map(|number| format!("{{uv-{number}}}")).collect::<Vec<_>>().concat();
        assert_eq!(fill(&names, &BTreeMap::new()).unwrap().open.len(), 80_000);
    }

    #[test]
    fn values_without_a_placeholder_are_told() {
        let values = BTreeMap::from([("uv-x".to_owned(), "1".to_owned())]);
        assert_eq!(fill("text", &values).unwrap().unused, ["uv-x"]);
    }
}
