//! `search`: the team's commands, by what they are for.

use lore_commands::DEFAULT_AGENT;
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    commands::{error_answer, note_origin},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "search",
    title: "Search the team's commands",
    toolset: Toolset::Commands,
    about: "Team commands, not code: finds the prompts and procedures that this team keeps in its repository, by what they are for, in any words, Japanese or English. Returns up to 10 with c1, c2, c3, description and score (0-1). Then `describe` tells what one takes and `execute` gives its instructions.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, search),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What you want to do: "commit my changes in groups"
    query: String,
    /// Whose commands (default "climpt")
    #[schemars(extend("default" = "climpt"))]
    agent: Option<String>,
}

fn search(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let folder = context.folder();
    let agent = input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned());
    let found = context.commands.search(&folder, &agent, &input.query);
    let (origin, hits) = match found {
        Ok(found) => found,
        Err(error) => return error_answer(error),
    };
    let results = hits.iter().map(|hit| {
        let name = &hit.command.name;
        json!({
            "c1": name.c1, "c2": name.c2, "c3": name.c3,
            "description": hit.command.description,
            "score": hit.score,
        })
    });
    let mut answer = AnswerBuilder::list(results.collect());
    note_origin(&mut answer, &origin);
    Ok(answer.done())
}
