//! Prompt files: which one is meant, its frontmatter, and its text.

use serde_json::Value;

use super::{profile::parse_yaml, root::join};

/// A longer file is no prompt.
pub(super) const PROMPT_MAX: u64 = 1 << 20;

/// The edition and the adaptation that are there without being asked for.
pub(super) const DEFAULT_VARIANT: &str = "default";

/// A prompt file in two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// What stands between the first line and the next `---`.
    pub(super) frontmatter: Option<&'a str>,
    /// The prompt, beginning with its first line that is not blank.
    pub(super) body: &'a str,
}

/// Takes the leading frontmatter off a prompt. A `---` anywhere else is a rule, and text.
pub(super) fn split(text: &str) -> Parts<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (frontmatter, body) = match leading_block(text) {
        Some((block, rest)) => (Some(block), rest),
        None => (None, text),
    };
    let mut body = body;
    while let Some((line, rest)) = body.split_once('\n').filter(|(line, _)| line.trim().is_empty()) {
        debug_assert!(line.trim().is_empty(), "only blank lines are skipped");
        body = rest;
    }
    Parts { frontmatter, body }
}

fn leading_block(text: &str) -> Option<(&str, &str)> {
    let is_rule = |line: &str| line.trim_end() == "---";
    let (first, rest) = text.split_once('\n')?;
    if !is_rule(first) {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_rule(line) {
            let block = &rest[..end];
            // Two rules with text between them are no frontmatter: that has fields.
            return has_fields(block).then_some((block, &rest[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

/// A longer block is no frontmatter to be read for fields.
pub(super) const FRONT_MAX: usize = 64 << 10;

/// Whether a text begins with a field, has nothing but comments, or is a mapping all the same.
fn has_fields(block: &str) -> bool {
    let first = block.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let begins = first.is_none_or(|line| {
        let key = line.split_once(':').map(|(key, _)| key.trim_matches(['"', '\'']));
        line.starts_with('{')
            || key.is_some_and(|key| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)))
    });
    begins || (block.len() <= FRONT_MAX && fields(block).is_ok_and(|value| value.is_object()))
}

/// The fields of a frontmatter, or what is wrong with it and on which line of the file.
pub(super) fn fields(frontmatter: &str) -> Result<Value, (usize, String)> {
    if frontmatter.len() > FRONT_MAX {
        return Err((1, format!("it is over {} KiB", FRONT_MAX >> 10)));
    }
    let read: Result<Option<Value>, _> = parse_yaml(frontmatter);
    // The first line of the file is the rule.
    read.map(|value| value.unwrap_or(Value::Null)).map_err(|(line, why)| (line.map_or(1, |line| line + 1), why))
}

/// The files that may hold a prompt, best first: with the adaptation, without it, and the same of the default edition.
pub(super) fn candidates(folder: &str, edition: Option<&str>, adaptation: Option<&str>) -> Vec<String> {
    let mut paths = Vec::new();
    for edition in [edition.unwrap_or(DEFAULT_VARIANT), DEFAULT_VARIANT] {
        let adapted = adaptation.map(|adaptation| format!("f_{edition}_{adaptation}.md"));
        for name in adapted.into_iter().chain([format!("f_{edition}.md")]) {
            let path = join(folder, &name);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Edition and adaptation of a prompt file's name; nothing where it is not one.
///
/// Names may have underscores, so the first one may not be where the edition ends: that is for the caller to know.
pub(super) fn variant(file: &str) -> Option<(&str, Option<&str>)> {
    let stem = file.strip_prefix("f_")?.strip_suffix(".md").filter(|stem| !stem.is_empty())?;
    Some(match stem.split_once('_') {
        Some((edition, adaptation)) if !edition.is_empty() && !adaptation.is_empty() => (edition, Some(adaptation)),
        _ => (stem, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_is_only_what_stands_at_the_beginning() {
        for (text, frontmatter, body) in [
            ("---\nc1: a\n---\n\nText\n", Some("c1: a\n"), "Text\n"),
            ("\u{feff}---\r\nc1: a\r\n--- \r\nText\r\n", Some("c1: a\r\n"), "Text\r\n"),
            ("---\n---\nText", Some(""), "Text"),
            ("---\n# only a comment\n---\nText", Some("# only a comment\n"), "Text"),
            ("---\nc1: a\n---\nText\n\n---\n\nMore\n", Some("c1: a\n"), "Text\n\n---\n\nMore\n"),
            ("---\nc1: a\n---\n\n---\n\nMore\n", Some("c1: a\n"), "---\n\nMore\n"),
            ("Text\n\n---\nc1: a\n---\nMore\n", None, "Text\n\n---\nc1: a\n---\nMore\n"),
            (
                "---\n\nA paragraph between rules.\n\n---\nMore\n",
                None,
                "---\n\nA paragraph between rules.\n\n---\nMore\n",
            ),
            ("---\nmain title: x\nc1: a\n---\nText", Some("main title: x\nc1: a\n"), "Text"),
            ("---\nc1: a\nno end\n", None, "---\nc1: a\nno end\n"),
            ("----\nc1: a\n---\n", None, "----\nc1: a\n---\n"),
            ("\n\n  indented\n", None, "  indented\n"),
            ("", None, ""),
            ("---", None, "---"),
        ] {
            assert_eq!(split(text), Parts { frontmatter, body }, "{text:?}");
        }
    }

    #[test]
    fn a_prompt_is_looked_for_with_and_without_adaptation_then_by_default() {
        let names = |edition, adaptation| candidates("p", edition, adaptation).join(" ");
        assert_eq!(names(None, None), "p/f_default.md");
        assert_eq!(names(Some("bug"), None), "p/f_bug.md p/f_default.md");
        assert_eq!(names(None, Some("short")), "p/f_default_short.md p/f_default.md");
        assert_eq!(
            names(Some("bug"), Some("short")),
            "p/f_bug_short.md p/f_bug.md p/f_default_short.md p/f_default.md"
        );
        assert_eq!(names(Some("default"), Some("default")), "p/f_default_default.md p/f_default.md");
    }

    #[test]
    fn the_name_of_a_file_tells_its_variant() {
        assert_eq!(variant("f_default.md"), Some(("default", None)));
        assert_eq!(variant("f_bug_short.md"), Some(("bug", Some("short"))));
        assert_eq!(variant("f_failed_git-dirty.md"), Some(("failed", Some("git-dirty"))));
        for other in ["f_.md", "default.md", "f_default.txt", "README.md"] {
            assert_eq!(variant(other), None, "{other}");
        }
    }

    #[test]
    fn broken_frontmatter_is_told_with_the_line_of_the_file() {
        assert_eq!(fields("c1: a\nuv:\n  - x: y\n").unwrap()["uv"][0]["x"], "y");
        let (line, why) = fields("c1: a\nc2: [b\n").unwrap_err();
        assert!((3..=4).contains(&line), "{line}: {why}");
    }
}
