//! `lore commands list`: every command of every agent.

use lore_commands::AgentCommands;
use lore_model::Failure;
use serde_json::{Map, Value, json};

use super::{super::Context, Place, note_origin, origin_json};
use crate::ui::{BOLD, DIM, one_line};

/// List the commands of the project
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the commands of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let (folder, commands) = (args.place.folder()?, context.commands.clone());
    let mut agents = commands.list(&folder);
    if let Some(wanted) = &args.agent {
        agents.retain(|agent| agent.agent == *wanted);
    } else if agents.len() > 1 {
        // A project may have commands of other agents only; what is broken is told.
        let is_missing = |agent: &AgentCommands| {
            matches!(agent.commands, Err(lore_commands::CommandError::Registry { missing: true, .. }))
        };
        agents.retain(|agent| agent.agent != lore_commands::DEFAULT_AGENT || !is_missing(agent));
    }
    if agents.iter().all(|agent| agent.commands.is_err()) {
        let first = agents.into_iter().next().and_then(|agent| agent.commands.err());
        let unknown = || {
            Failure::new(lore_model::Code::CommandNotFound, "there is no such agent")
                .hint("leave `--agent` out to see all")
        };
        return Err(first.map_or_else(unknown, Failure::from));
    }
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({"agents": agents.into_iter().map(agent_json).collect::<Vec<_>>()}));
    }
    for AgentCommands { agent, commands } in agents {
        match commands {
            Err(error) => ui.warn(&Failure::from(error).message),
            Ok((origin, commands)) => {
                note_origin(context, &origin);
                ui.line(&ui.paint(DIM, &format!("agent {agent} ({})", one_line(&origin.registry))))?;
                let width =
                    commands.iter().map(|command| command.name.to_string().chars().count()).max().unwrap_or(0).min(50);
                for command in &commands {
                    let name = command.name.to_string();
                    let pad = " ".repeat(width.saturating_sub(name.chars().count()));
                    ui.line(&format!("  {}{pad}  {}", ui.paint(BOLD, &name), one_line(&command.description)))?;
                }
            }
        }
    }
    Ok(())
}

fn agent_json(agent: AgentCommands) -> Value {
    let mut fields = Map::new();
    match agent.commands {
        Ok((origin, commands)) => {
            origin_json(&mut fields, &origin);
            let commands = commands.iter().map(|command| Value::Object(lore_tools::commands::command_json(command)));
            fields.insert("commands".to_owned(), commands.collect());
        }
        Err(error) => {
            fields.insert("agent".to_owned(), agent.agent.into());
            fields.insert("commands".to_owned(), json!([]));
            fields.insert("notes".to_owned(), json!([Failure::from(error).message]));
        }
    }
    Value::Object(fields)
}
