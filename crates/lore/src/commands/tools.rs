//! `lore tools`: what an agent can call, and what the list costs it.

use lore_model::Failure;
use lore_tools::{Effect, Tool, Toolset};
use serde_json::{Value, json};

use super::Context;
use crate::ui::{BOLD, DIM};

/// List the tools that agents can call
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show what each tool costs in the agent's context (tokens, as characters / 4)
    #[arg(long)]
    cost: bool,
    /// Only these toolsets, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    toolsets: Vec<String>,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let names = if args.toolsets.is_empty() { &context.loaded.config.toolsets } else { &args.toolsets };
    let mut toolsets = super::serve::toolsets(names)?;
    if names.is_empty() && !super::serve::has_commands(&context.commands, &crate::environment::working_directory()) {
        toolsets.retain(|set| *set != Toolset::Commands);
    }
    let tools = lore_tools::tools(&toolsets);
    let ui = context.ui;
    if ui.is_json() {
        let rows: Vec<Value> = tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name, "title": tool.title, "toolset": tool.toolset.name(), "description": tool.about,
                    "read_only": tool.effect == Effect::Reads, "input_schema": (tool.input)(), "tokens": cost(tool),
                })
            })
            .collect();
        let total: usize = tools.iter().map(|tool| cost(tool)).sum();
        return ui.value(&json!({"tools": rows, "tokens": total}));
    }
    for toolset in Toolset::ALL.into_iter().filter(|set| toolsets.contains(set)) {
        ui.line(&ui.paint(DIM, &format!("toolset {}", toolset.name())))?;
        for tool in tools.iter().filter(|tool| tool.toolset == toolset) {
            let price = if args.cost { format!("{:>5} tokens  ", cost(tool)) } else { String::new() };
            ui.line(&format!("  {price}{}", ui.paint(BOLD, tool.name)))?;
            ui.line(&format!("      {}", tool.about))?;
        }
    }
    if args.cost {
        let total: usize = tools.iter().map(|tool| cost(tool)).sum();
        let instructions = crate::instructions::instructions(&toolsets).len().div_ceil(4);
        ui.line(&format!("{total} tokens for the list, {instructions} for the instructions"))?;
    }
    Ok(())
}

/// What a tool adds to the agent's context: the characters of its entry in `tools/list`, by four.
pub(crate) fn cost(tool: &Tool) -> usize {
    let entry = json!({"name": tool.name, "title": tool.title, "description": tool.about, "inputSchema": (tool.input)(),
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}});
    entry.to_string().len().div_ceil(4)
}
