//! `lore completions`: completion scripts for shells.

use clap::CommandFactory;
use lore_model::Failure;

use crate::ui::Ui;

/// Print a completion script for your shell
#[derive(clap::Args)]
#[command(after_help = "Example:\n  lore completions bash > ~/.local/share/bash-completion/completions/lore")]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(super) fn run(ui: &Ui, args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "lore", &mut script);
    ui.bytes(&script)
}
