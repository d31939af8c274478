//! `lore commands show`: what one command is for and what it takes.

use lore_commands::{Command, CommandName};
use lore_model::Failure;
use serde_json::Value;

use super::{super::Context, Agent, Name, Place, note_origin, origin_json};
use crate::ui::{BOLD, DIM, one_line};

/// Show what a command is for and what it takes
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    name: Name,
    #[command(flatten)]
    agent: Agent,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let folder = args.place.folder()?;
    let (agent, name) = (args.agent.agent, CommandName::from(args.name));
    let asked = || {
        let (origin, command) = context.commands.describe(&folder, &agent, &name)?;
        let prompts = context.commands.prompt_files(&folder, &agent, &command.name);
        Ok::<_, Failure>((origin, command, prompts))
    };
    let (origin, command, prompts) = asked()?;
    let ui = context.ui;
    if ui.is_json() {
        let mut fields = lore_tools::commands::command_json(&command);
        origin_json(&mut fields, &origin);
        fields.insert("prompt_files".to_owned(), serde_json::json!(prompts));
        return ui.value(&Value::Object(fields));
    }
    note_origin(context, &origin);
    ui.line(&ui.paint(BOLD, &command.name.to_string()))?;
    ui.line(&format!("  {}", one_line(&command.description)))?;
    for (label, text) in rows(&command, &prompts) {
        ui.line(&format!("  {} {}", ui.paint(DIM, &format!("{label:<12}")), one_line(&text)))?;
    }
    Ok(())
}

fn rows(command: &Command, prompts: &[String]) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |label: &str, text: Option<String>| rows.extend(text.map(|text| (label.to_owned(), text)));
    row("usage", command.usage.clone());
    let options = command.options.clone().unwrap_or_default();
    row("editions", options.edition.map(|list| list.join(", ")));
    row("adaptations", options.adaptation.map(|list| list.join(", ")));
    let takes =
        [(options.file, "a file (-f)"), (options.stdin, "a text (stdin)"), (options.destination, "a destination (-o)")];
    let takes: Vec<&str> = takes.into_iter().filter(|(flag, _)| *flag == Some(true)).map(|(_, name)| name).collect();
    row("takes", (!takes.is_empty()).then(|| takes.join(", ")));
    for variable in &command.uv {
        row("variable", Some(format!("--uv {}=… {}", variable.name, variable.about)));
    }
    for prompt in prompts {
        row("prompt", Some(prompt.clone()));
    }
    if prompts.is_empty() {
        row("prompt", Some("there is none: `lore commands check` says where it is expected".to_owned()));
    }
    rows
}
