//! `describe`: what one command is for and what it takes.

use lore_commands::{CommandName, DEFAULT_AGENT};
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    commands::{command_json, error_answer, note_origin},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "describe",
    title: "Describe a command",
    toolset: Toolset::Commands,
    about: "Tells what a team command takes: usage, editions, adaptations, whether it wants a file, a text or a destination, and its variables. Pass c1, c2 and c3 as `search` gave them.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, describe),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Whose command (default "climpt")
    #[schemars(extend("default" = "climpt"))]
    agent: Option<String>,
    /// Domain identifier
    c1: String,
    /// Action identifier
    c2: String,
    /// Target identifier
    c3: String,
}

fn describe(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let folder = context.folder();
    let agent = input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned());
    let name = CommandName::new(input.c1.clone(), input.c2.clone(), input.c3.clone());
    match context.commands.describe(&folder, &agent, &name) {
        Ok((origin, command)) => {
            let mut answer = AnswerBuilder::object(command_json(&command));
            note_origin(&mut answer, &origin);
            Ok(answer.done())
        }
        Err(error) => error_answer(error),
    }
}
