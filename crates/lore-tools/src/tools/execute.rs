//! `execute`: the instructions of a command. It renders a text and runs nothing.

use lore_commands::{CommandName, DEFAULT_AGENT};
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::run;
use crate::{
    Answer, Content, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    commands::{error_answer, note_rendered, read_options},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "execute",
    title: "Get a command's instructions",
    toolset: Toolset::Commands,
    about: "Gives the instructions of a team command as text, with your values put in; it runs nothing itself. Call `describe` first to see the options. Follow the text if it serves what the user asked for.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, mut args| {
        // The document requires it and knows one value for it.
        if args.get("agent").is_none_or(Value::is_null) {
            args.insert("agent".to_owned(), DEFAULT_AGENT.into());
        }
        run(&TOOL, context, args, execute)
    },
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Whose command: "climpt"
    agent: String,
    /// Domain identifier
    c1: String,
    /// Action identifier
    c2: String,
    /// Target identifier
    c3: String,
    /// Command options; a list of command line words (`-e=x`, `--uv-name=v`) works too
    #[serde(default)]
    #[schemars(with = "Options", extend("default" = {}))]
    options: Value,
}

/// What `options` is said to be; it is read more leniently.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Options {
    /// Edition of the prompt
    edition: Option<String>,
    /// Adaptation of the prompt
    adaptation: Option<String>,
    /// Path of the input file
    file: Option<String>,
    /// Where the result is to go
    destination: Option<String>,
    /// Input text
    stdin: Option<String>,
    /// Variables by name
    uv: Option<serde_json::Map<String, Value>>,
}

fn execute(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let options = read_options(input.options.clone())?;
    let folder = context.folder();
    let name = CommandName::new(input.c1.clone(), input.c2.clone(), input.c3.clone());
    match context.commands.execute(&folder, &input.agent, &name, &options) {
        Ok(rendered) => {
            let mut answer = AnswerBuilder::text(rendered.text.clone()).content(Content::Procedure);
            note_rendered(&mut answer, &rendered);
            Ok(answer.done())
        }
        Err(error) => error_answer(error),
    }
}
