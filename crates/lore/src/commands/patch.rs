//! `lore patch`: the diff of one commit.

use std::path::PathBuf;

use anstyle::Style;
use lore_model::{Failure, Repo, escape_for_terminal};
use serde_json::json;

use super::{Context, freshness_json};
use crate::{
    environment,
    ui::{BOLD, CYAN, GREEN, RED, Ui},
};

/// Print the diff of one commit, exactly as git does
///
/// On a terminal it is coloured and goes through your pager; elsewhere the exact bytes are printed.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    commit: CommitArgs,
}

/// Names one commit.
#[derive(clap::Args)]
pub(crate) struct CommitArgs {
    /// The repository, `.` for the one you are in
    #[arg(value_name = "REPO")]
    pub(super) repo: String,
    /// The commit: its SHA or the first digits of it (at least 4), a tag, a branch or `HEAD~5`
    #[arg(value_name = "COMMIT")]
    pub(super) sha: String,
}

impl CommitArgs {
    /// The repository, and the work tree of it that names of commits are seen from.
    pub(super) fn place(&self, context: &Context<'_>) -> Result<(Repo, PathBuf), Failure> {
        let name = context.repo_name(&self.repo)?;
        context.lore.find_place(&environment::working_directory(), Some(&name))
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let history = &context.lore.history;
    let (repo, place) = args.commit.place(context)?;
    let found = history.patch(&repo, Some(&place), &args.commit.sha)?;
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({
            "repo": found.repo,
            "sha": found.commit.to_hex(),
            "patch_text": String::from_utf8_lossy(&found.bytes),
            "bytes": found.bytes.len(),
            "replaced_invalid_utf8": std::str::from_utf8(&found.bytes).is_err(),
            "freshness": freshness_json(&found.freshness),
        }));
    }
    to_page(ui, &found.bytes);
    ui.show_page(&context.loaded.config.pager)
}

/// Adds a diff to the page: exact bytes, or coloured and harmless on a terminal.
pub(super) fn to_page(ui: &Ui, patch: &[u8]) {
    if !ui.is_terminal() && !ui.colored() {
        ui.to_page(patch);
        return;
    }
    for line in String::from_utf8_lossy(patch).split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        let shown = escape_for_terminal(text);
        let painted = style(text).map_or_else(|| shown.to_string(), |style| ui.paint(style, &shown));
        ui.to_page(painted.as_bytes());
        ui.to_page(b"\n");
    }
}

/// Git's own colours.
fn style(line: &str) -> Option<Style> {
    const HEADER: [&str; 14] = [
        "diff --git ",
        "index ",
        "--- ",
        "+++ ",
        "new file mode ",
        "deleted file mode ",
        "old mode ",
        "new mode ",
        "similarity index ",
        "dissimilarity index ",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
    ];
    if HEADER.iter().any(|word| line.starts_with(word)) {
        return Some(BOLD);
    }
    match line.as_bytes().first()? {
        b'@' => Some(CYAN),
        b'+' => Some(GREEN),
        b'-' => Some(RED),
        _ => None,
    }
}
