//! `lore commands search`: commands by what they are for.

use lore_model::Failure;
use serde_json::{Map, Value, json};

use super::{super::Context, Agent, Place, note_origin, origin_json};
use crate::ui::{BOLD, DIM, one_line};

/// Find commands by what they are for, in Japanese or English
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore commands search commit my changes in groups\n  lore commands search 変更をグループ化してコミット"
)]
pub(crate) struct Args {
    /// What you want to do
    #[arg(required = true, value_name = "WORDS")]
    query: Vec<String>,
    #[command(flatten)]
    agent: Agent,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let folder = args.place.folder()?;
    let (agent, query) = (args.agent.agent, args.query.join(" "));
    let (origin, hits) = context.commands.search(&folder, &agent, &query)?;
    let ui = context.ui;
    if ui.is_json() {
        let hit = |hit: &lore_commands::Hit| {
            let name = &hit.command.name;
            json!({"c1": name.c1, "c2": name.c2, "c3": name.c3, "description": hit.command.description, "score": hit.score})
        };
        let mut fields = Map::from_iter([("results".to_owned(), hits.iter().map(hit).collect())]);
        origin_json(&mut fields, &origin);
        return ui.value(&Value::Object(fields));
    }
    note_origin(context, &origin);
    if hits.is_empty() {
        ui.note("nothing found; `lore commands list` shows all commands");
    }
    for hit in &hits {
        let name = ui.paint(BOLD, &hit.command.name.to_string());
        let score = ui.paint(DIM, &format!("{:.2}", hit.score));
        ui.line(&format!("{score}  {name}\n      {}", one_line(&hit.command.description)))?;
    }
    Ok(())
}
