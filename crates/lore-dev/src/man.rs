//! `lore-dev man`: the manual pages of `lore`, for `cargo xtask dist`.
//!
//! The pages are the help, in another form: nothing is said here that `--help` does not say.

use std::{collections::BTreeMap, io};

use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};
use lore_model::{Code, Failure};

use super::print;

pub(super) fn run() -> Result<(), Failure> {
    let pages = pages().map_err(|error| {
        Failure::new(Code::Internal, format!("the manual pages could not be written: {error}")).caused_by(error)
    })?;
    print(&serde_json::json!(pages))
}

/// Every command that is not hidden: the name of the file and the page.
fn pages() -> io::Result<BTreeMap<String, String>> {
    let mut command = lore::command().disable_help_subcommand(true);
    command.build();
    let mut pages = BTreeMap::new();
    add(&command, None, &mut pages)?;
    Ok(pages)
}

fn add(command: &clap::Command, parent: Option<&str>, pages: &mut BTreeMap<String, String>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    pages.insert(format!("{name}.1"), page(command, parent)?);
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        add(sub, Some(&name), pages)?;
    }
    Ok(())
}

fn page(command: &clap::Command, parent: Option<&str>) -> io::Result<String> {
    let source = format!("lore {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("Lore");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    if let Some(after) = after {
        text.extend_from_slice(&notes(&after.to_string())?);
    }
    let mut end = Roff::new();
    end.control("SH", ["SEE ALSO"]);
    match parent {
        Some(parent) => end.text([bold(parent), roman("(1)")]),
        None => end.text([bold("git"), roman("(1)")]),
    };
    end.to_writer(&mut text)?;
    let page = String::from_utf8(text).map_err(io::Error::other)?;
    // No date is written as nothing at all, and what follows would be taken for it.
    Ok(page.replacen(" 1  \"", " 1 \"\" \"", 1))
}

/// Examples and exit codes. Their lines are columns, which must stay as they are; what is one long line is filled.
fn notes(text: &str) -> io::Result<Vec<u8>> {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    for block in text.split("\n\n") {
        roff.control("PP", []);
        let as_is = block.contains('\n');
        if as_is {
            roff.control("nf", []);
        }
        for line in block.lines() {
            roff.text([roman(line)]);
        }
        if as_is {
            roff.control("fi", []);
        }
    }
    let mut written = Vec::new();
    roff.to_writer(&mut written)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().unwrap();
        for name in ["lore.1", "lore-search.1", "lore-users-add.1", "lore-completions.1"] {
            assert!(pages.contains_key(name), "{name} is missing: {:?}", pages.keys());
        }
        assert!(!pages.keys().any(|name| name.contains("help")), "{:?}", pages.keys());
        assert!(pages["lore-search.1"].contains("\n.SH NAME\nlore\\-search \\- "), "{}", pages["lore-search.1"]);
    }

    #[test]
    fn pages_say_what_the_help_says_and_nothing_of_when_or_where() {
        let pages = pages().unwrap();
        let page = &pages["lore.1"];
        assert!(page.contains("lore setup claude\\-code") && page.contains("Exit codes: 0 done"), "{page}");
        let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
        assert_eq!(title, format!(".TH lore 1 \"\" \"lore {}\" Lore", env!("CARGO_PKG_VERSION")));
        assert_eq!(pages, super::pages().unwrap(), "twice is once");
    }

    #[test]
    fn examples_keep_their_lines() {
        let text = String::from_utf8(notes("Examples:\n  a  one\n  b  two\n\nA long line.").unwrap()).unwrap();
        assert!(text.ends_with(".PP\n.nf\nExamples:\n  a  one\n  b  two\n.fi\n.PP\nA long line.\n"), "{text}");
    }
}
