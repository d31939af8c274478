//! What the program tells about itself: completions for shells, and manual pages.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::archive::Entry;
use crate::program::{output, program};

/// Shells, and what their completions are called where they look for them.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "lore.bash"),
    ("elvish", "lore.elv"),
    ("fish", "lore.fish"),
    ("powershell", "lore.ps1"),
    ("zsh", "_lore"),
];

/// Completions for every shell, as the program prints them.
pub(super) fn completions(binary: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (shell, file) in SHELLS {
        let text = output(program(binary).args(["completions", shell]))?;
        ensure!(text.contains("lore"), "the completions for {shell} are not of lore");
        entries.push(Entry::text(&format!("completions/{file}"), &(text + "\n")));
    }
    Ok(entries)
}

/// A manual page for every command, as `lore-dev` prints them.
pub(super) fn manuals(dev: &Path) -> Result<Vec<Entry>> {
    of_manuals(&output(program(dev).arg("man"))?)
}

fn of_manuals(text: &str) -> Result<Vec<Entry>> {
    let pages: Value = serde_json::from_str(text).context("the manual pages are no JSON")?;
    let pages = pages.as_object().context("the manual pages are no object")?;
    ensure!(pages.contains_key("lore.1"), "there is no page of the program itself");
    let entry = |(name, page): (&String, &Value)| {
        let page = page.as_str().with_context(|| format!("{name} is no text"))?;
        ensure!(page.contains("\n.TH ") || page.starts_with(".TH "), "{name} is no manual page");
        Ok(Entry::text(&format!("man/man1/{name}"), page))
    };
    pages.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_where_man_looks_for_them() {
        let entries = of_manuals(r#"{"lore.1": ".TH lore 1\n", "lore-add.1": ".ie x\n.TH lore-add 1\n"}"#).unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(names, ["man/man1/lore.1", "man/man1/lore-add.1"]);
        for wrong in ["[]", "{}", "text", r#"{"lore.1": 1}"#, r#"{"lore.1": "text"}"#] {
            assert!(of_manuals(wrong).is_err(), "{wrong}");
        }
    }
}
