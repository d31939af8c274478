//! Writes the reference pages from the program itself, so that they cannot drift; the tests compare.
//!
//! `cargo xtask codegen` runs these tests with `UPDATE_EXPECT=1`, which writes the pages anew.

use std::fmt::Write as _;

use clap::CommandFactory;
use expect_test::expect_file;
use lore_model::Code;
use lore_tools::{Tool, Toolset};
use serde_json::Value;

use crate::{commands::Cli, config::KEYS};

const NOTE: &str =
    "<!-- Written by `cargo xtask codegen` from the program itself: edit the program, not this page. -->\n\n";

/// Every command's help, as the program prints it.
#[test]
fn cli_page_is_what_the_program_says() {
    let mut command = Cli::command().term_width(100).max_term_width(100);
    command.build();
    let mut page = format!("{NOTE}# Command line\n\n```text\n{}```\n", plain(&command.render_long_help().to_string()));
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        add_command(&mut page, sub, "lore");
    }
    expect_file!["../../../docs/reference/cli.md"].assert_eq(&page);
}

fn add_command(page: &mut String, command: &mut clap::Command, parent: &str) {
    let name = format!("{parent} {}", command.get_name());
    let help = plain(&command.render_long_help().to_string());
    write!(page, "\n## `{name}`\n\n```text\n{help}```\n").expect("writing to a string cannot fail");
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        add_command(page, sub, &name);
    }
}

fn plain(help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// Every tool with its arguments.
#[test]
fn tools_page_is_what_agents_are_told() {
    let mut page = format!("{NOTE}# Tools\n");
    for toolset in Toolset::ALL {
        write!(page, "\n## Toolset `{}`\n", toolset.name()).expect("writing to a string cannot fail");
        for tool in lore_tools::tools(&[toolset]) {
            write!(page, "\n### `{}`\n\n{}\n\n", tool.name, tool.about).expect("writing to a string cannot fail");
            page.push_str(&arguments(tool));
        }
    }
    write!(
        page,
        "\n## Instructions\n\nWhat an agent is told once:\n\n```text\n{}\n```\n",
        crate::instructions::instructions(&Toolset::DEFAULT)
    )
    .expect("writing to a string cannot fail");
    expect_file!["../../../docs/reference/tools.md"].assert_eq(&page);
}

fn arguments(tool: &Tool) -> String {
    let schema = (tool.input)();
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut table = String::from("| argument | type | | meaning |\n|---|---|---|---|\n");
    for (name, property) in schema["properties"].as_object().expect("a schema has properties") {
        let kind = property["type"].as_str().unwrap_or_default();
        let need = if required.contains(&name.as_str()) { "required" } else { "" };
        let about = property["description"].as_str().unwrap_or_default();
        writeln!(table, "| `{name}` | {kind} | {need} | {about} |").expect("writing to a string cannot fail");
    }
    table
}

/// Every configuration key with its default.
#[test]
fn config_page_has_every_key() {
    let defaults = serde_json::to_value(crate::config::Config::default()).expect("a configuration is JSON");
    let mut page = format!(
        "{NOTE}# Configuration\n\nDefaults come first, then `config.toml` in Lore's home, then `LORE_*` variables, then flags.\n\
         `lore config show` prints each value and where it came from.\n\n| key | variable | default | meaning |\n|---|---|---|---|\n\
         | (home) | `LORE_HOME` | `~/.lore` | Where Lore keeps its index and `config.toml`. |\n"
    );
    for (key, about) in KEYS {
        let (variable, default) = (key.to_uppercase(), &defaults[key]);
        writeln!(page, "| `{key}` | `LORE_{variable}` | `{default}` | {about} |")
            .expect("writing to a string cannot fail");
    }
    page.push_str("\n`LORE_LOG` sets what is logged to standard error, for example `LORE_LOG=debug`.\n");
    expect_file!["../../../docs/reference/config.md"].assert_eq(&page);
}

/// Every failure code.
#[test]
fn errors_page_has_every_code() {
    let mut page = format!(
        "{NOTE}# Errors\n\nA failure has a code for programs, a message, and where possible a hint that says what to do.\n\n\
         | code | exit code | HTTP status | may succeed later | meaning |\n|---|---|---|---|---|\n"
    );
    for row in Code::TABLE {
        let retry = if row.retry { "yes" } else { "no" };
        writeln!(page, "| `{}` | {} | {} | {retry} | {} |", row.name, row.exit, row.http, row.meaning)
            .expect("writing to a string cannot fail");
    }
    expect_file!["../../../docs/reference/errors.md"].assert_eq(&page);
}

/// The table of tools in the README, between its markers.
#[test]
fn readme_lists_every_tool() {
    const BEGIN: &str = "<!-- tools:begin -->\n";
    const END: &str = "<!-- tools:end -->";
    let readme = include_str!("../../../README.md");
    let (before, rest) = readme.split_once(BEGIN).expect("the README has the marker");
    let (_, after) = rest.split_once(END).expect("the README has the marker");
    let mut table = String::from("| tool | toolset | what it does |\n|---|---|---|\n");
    for tool in lore_tools::tools(&Toolset::ALL) {
        writeln!(table, "| `{}` | {} | {} |", tool.name, tool.toolset.name(), tool.about)
            .expect("writing to a string cannot fail");
    }
    expect_file!["../../../README.md"].assert_eq(&format!("{before}{BEGIN}{table}{END}{after}"));
}

#[test]
fn the_default_list_of_tools_is_cheap() {
    let total: usize = lore_tools::tools(&Toolset::DEFAULT).iter().map(|tool| crate::commands::tool_cost(tool)).sum();
    assert!(total < 2650, "{total} tokens");
}
