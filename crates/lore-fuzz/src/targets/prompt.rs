//! Prompt files: frontmatter, profiles, patterns, placeholders.

use std::collections::BTreeMap;

use lore_commands::fuzz::{command, fields, fill, pattern, profile, split};
use serde_json::Value;

use crate::bytes::{first_line, text};

pub(super) fn run(bytes: &[u8]) {
    let text = text(bytes);
    let (front, body) = split(&text);
    assert!(text.ends_with(body), "the body is the rest");
    let before = &text[..text.len() - body.len()];
    match front {
        Some(front) => {
            assert!(before.contains(front) && before.trim_start_matches('\u{feff}').starts_with("---"), "{front:?}");
            let lines = line_ends(front) + 3;
            match fields(front) {
                Err((line, _)) => assert!((1..=lines).contains(&line), "{line} of {lines}"),
                Ok(value) => read(&value),
            }
        }
        None => assert!(before.trim_matches(['\u{feff}']).trim().is_empty(), "only blank lines are left out"),
    }
    if let Err((Some(line), _)) = profile(&text) {
        assert!(line <= line_ends(&text) + 2, "a line of the file");
    }
    placeholders(body);
    let (first, _) = first_line(bytes);
    let first = String::from_utf8_lossy(first);
    let is_plain = first.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
    match pattern(&first) {
        Ok(regex) => assert!(!is_plain || regex.is_match(&first), "a plain text matches itself"),
        Err(why) => assert!(!is_plain && !why.is_empty(), "{why}"),
    }
}

/// To YAML there are more line ends than one.
fn line_ends(text: &str) -> usize {
    text.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count()
}

fn read(value: &Value) {
    if let Ok(one) = command(value)
        && !one.uv.iter().any(|variable| variable.name.starts_with("uv-"))
    {
        assert_eq!(command(&Value::Object(one.fields())).as_ref(), Ok(&one), "written and read again");
    }
}

fn placeholders(template: &str) {
    let plain = |text: &str| format!("{}\n", text.replace("\r\n", "\n").trim_end_matches(['\n', '\r']));
    let (text, open) = fill(template, &BTreeMap::new()).expect("no value makes it longer");
    assert_eq!(text, plain(template), "without values nothing changes");
    let values = open.iter().map(|name| (name.clone(), "{uv-x}".to_owned())).collect();
    if let Some((text, left)) = fill(template, &values) {
        assert!(left.is_empty(), "{left:?}");
        let expected = open.iter().fold(plain(template), |text, name| text.replace(&format!("{{{name}}}"), "\0"));
        assert_eq!(text.replace("{uv-x}", "\0"), expected.replace("{uv-x}", "\0"), "values are put in once");
    }
}
