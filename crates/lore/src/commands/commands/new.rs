//! `lore commands new`: makes a command.

use lore_commands::{CommandName, DEFAULT_AGENT, NewCommand, Variable};
use lore_model::Failure;
use serde_json::json;

use super::{super::Context, Agent, Name, Place};
use crate::ui::{GREEN, one_line};

/// Make a new command: its prompt file and its entry in the registry
///
/// Nothing is overwritten. Where there is no registry yet, this makes the first one.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore commands new code review diff --description \"Review a diff\" --stdin\n  lore commands new test run specific --description \"Run some tests\" --uv \"target=Which tests\""
)]
pub(crate) struct Args {
    #[command(flatten)]
    name: Name,
    /// What it is for: agents and people find it by this
    #[arg(short, long, value_name = "TEXT")]
    description: String,
    /// Its title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// It takes a file
    #[arg(long)]
    file: bool,
    /// It takes a text
    #[arg(long)]
    stdin: bool,
    /// It takes a destination
    #[arg(long)]
    destination: bool,
    /// It takes a variable (may be repeated)
    #[arg(long = "uv", value_name = "NAME=ABOUT")]
    variables: Vec<String>,
    #[command(flatten)]
    agent: Agent,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let (folder, commands) = (args.place.folder()?, context.commands.clone());
    let variable = |text: &String| {
        let (name, about) = text.split_once('=').unwrap_or((text, ""));
        Variable { name: name.to_owned(), about: about.to_owned() }
    };
    let new = NewCommand {
        agent: args.agent.agent,
        name: CommandName::from(args.name),
        description: args.description,
        title: args.title,
        file: args.file,
        stdin: args.stdin,
        destination: args.destination,
        uv: args.variables.iter().map(variable).collect(),
    };
    let of = if new.agent == DEFAULT_AGENT { String::new() } else { format!(" --agent {}", new.agent) };
    let name = new.name.clone();
    let created = commands.create(&folder, &new)?;
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({
            "folder": created.folder.to_string_lossy(),
            "prompt": created.prompt,
            "files": created.files,
            "notes": created.notes,
        }));
    }
    for file in &created.files {
        ui.line(&format!("{} {}", ui.paint(GREEN, "wrote"), one_line(file)))?;
    }
    created.notes.iter().for_each(|note| ui.warn(note));
    ui.note(&format!("write the instructions in {}; `lore commands run {name}{of}` prints them", created.prompt));
    Ok(())
}
