//! `reload`: reads an agent's registry again. It is never needed: changes are noticed by themselves.

use lore_commands::DEFAULT_AGENT;
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::run;
use crate::{
    Answer, Content, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    commands::{error_answer, note_origin},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "reload",
    title: "Read the commands again",
    toolset: Toolset::Commands,
    about: "Reads the registry of team commands again. Changes on disk are noticed without it; use it to see how many commands there are and what is wrong with the file.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, reload),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Whose registry (default "climpt")
    #[schemars(extend("default" = "climpt"))]
    agent: Option<String>,
}

fn reload(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let folder = context.folder();
    let agent = input.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned());
    match context.commands.reload(&folder, &agent) {
        Ok((origin, count)) => {
            let mut fields = Map::new();
            for (key, value) in [
                ("success", json!(true)),
                ("agent", json!(origin.agent)),
                ("commandCount", json!(count)),
                ("message", json!(message(&origin.agent, count, &origin.notes))),
            ] {
                fields.insert(key.to_owned(), value);
            }
            let mut answer = AnswerBuilder::object(fields).content(Content::Own);
            note_origin(&mut answer, &origin);
            Ok(answer.done())
        }
        Err(error) => error_answer(error),
    }
}

fn message(agent: &str, count: usize, notes: &[String]) -> Value {
    let count = if count == 1 { "1 command".to_owned() } else { format!("{count} commands") };
    let said = format!("Successfully reloaded {count} for agent '{agent}'");
    let all: Vec<&str> = std::iter::once(said.as_str()).chain(notes.iter().map(String::as_str)).collect();
    Value::from(all.join("; "))
}
