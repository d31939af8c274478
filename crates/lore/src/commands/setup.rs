//! `lore setup`: registers Lore in the configuration of an agent's host.

use lore_model::{Code, Failure};
use serde_json::json;

use super::Context;
use crate::{
    config::DEFAULT_HOME,
    environment,
    setup::{self, Host, Os, Place, Registration, STAND_INS, Scope},
    ui::{DIM, GREEN, RED},
};

/// Let an agent's host start Lore
///
/// Writes one entry into the host's own configuration file, shows the change and keeps everything else in that file.
/// Hosts: claude-code, claude-desktop, cursor, zed, vscode, codex.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore setup claude-code\n  lore setup cursor --project\n  lore setup claude-desktop --as commitmux\n  lore setup zed --print\n  lore setup claude-code --undo"
)]
pub(crate) struct Args {
    /// The host
    #[arg(value_name = "HOST", value_parser = host_names())]
    host: String,
    /// Stand in for this old server, under its name and with its tools alone
    #[arg(long = "as", value_name = "NAME", value_parser = STAND_INS.map(|(name, _)| name))]
    stand_in: Option<String>,
    /// Write the project's file instead of your own
    #[arg(long)]
    project: bool,
    /// Only print what to paste where
    #[arg(long, conflicts_with = "undo")]
    print: bool,
    /// Take the entry out again and restore what was there
    #[arg(long)]
    undo: bool,
}

fn host_names() -> Vec<&'static str> {
    Host::ALL.iter().map(|host| host.name()).collect()
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let host = Host::parse(&args.host)?;
    let scope = if args.project { Scope::Project } else { Scope::User };
    let place = place(context)?;
    let executable = environment::executable();
    let mut registration = match &args.stand_in {
        Some(name) => Registration::standing_in(name, executable)?,
        None => Registration::lore(executable),
    };
    // The host does not have this shell's variables.
    if context.loaded.home_source != DEFAULT_HOME {
        registration.args.extend(["--home".to_owned(), context.loaded.home.to_string_lossy().into_owned()]);
    }
    let ui = context.ui;
    if args.print {
        let snippet = setup::snippet(host, scope, &place, &registration)?;
        if ui.is_json() {
            return ui
                .value(&json!({"host": host.name(), "file": snippet.file.to_string_lossy(), "text": snippet.text}));
        }
        ui.note(&format!("put this into {}:", snippet.file.display()));
        return ui.bytes(snippet.text.as_bytes());
    }
    let change = if args.undo {
        setup::plan_undo(host, scope, &place, &registration.name)?
    } else {
        setup::plan(host, scope, &place, &registration)?
    };
    setup::apply(&change)?;
    if ui.is_json() {
        return ui.value(&json!({
            "host": host.name(), "file": change.file.to_string_lossy(), "changed": !change.is_noop(), "diff": change.diff(), "notes": change.notes,
        }));
    }
    if change.is_noop() {
        let state = if args.undo { "holds no entry of Lore's" } else { "already has this entry" };
        ui.line(&format!("{} {state}; nothing was changed", change.file.display()))?;
    } else {
        for line in change.diff().lines() {
            let painted = match line.as_bytes().first() {
                Some(b'+') => ui.paint(GREEN, line),
                Some(b'-') => ui.paint(RED, line),
                _ => ui.paint(DIM, line),
            };
            ui.line(&painted)?;
        }
        let done = if args.undo { "no longer starts Lore" } else { "will start Lore" };
        ui.line(&format!("{} {done}", host.title()))?;
    }
    for note in &change.notes {
        ui.note(&format!("note: {note}"));
    }
    Ok(())
}

/// The root of the repository the user stands in, or the folder itself.
fn project_root() -> std::path::PathBuf {
    let here = environment::working_directory();
    lore_git::Repository::discover(&here).map_or(here, |repository| repository.path().to_owned())
}

/// Where the hosts keep their files.
pub(super) fn place(context: &Context<'_>) -> Result<Place, Failure> {
    let home = environment::home()
        .ok_or_else(|| Failure::new(Code::InvalidConfig, "there is no home directory").hint("set HOME"))?;
    Ok(Place {
        home,
        config_home: environment::folder("XDG_CONFIG_HOME"),
        app_data: environment::folder("APPDATA"),
        local_app_data: environment::folder("LOCALAPPDATA"),
        claude_config_dir: environment::folder("CLAUDE_CONFIG_DIR"),
        codex_home: environment::folder("CODEX_HOME"),
        project: project_root(),
        state_dir: context.loaded.home.join("setup"),
        os: Os::HERE,
    })
}
