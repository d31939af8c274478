//! `lore commands run`: prints the prompt of a command. It runs nothing.

use std::io::{IsTerminal as _, Read as _};

use lore_commands::{CommandName, ExecuteOptions};
use lore_model::{Code, Failure, brief, escape_for_terminal};
use serde_json::{Map, Value, json};

use super::{super::Context, Agent, Name, Place, note_origin, origin_json};

/// A longer text is no input of a prompt.
const INPUT_MAX: u64 = 8 << 20;

/// Print the prompt of a command, with your values put in
///
/// Nothing is run: the prompt is for an agent, or for you. Standard input is the input text where it is a pipe or a file and
/// the command takes one; `-` reads it in any case.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore commands run git group-commit unstaged-changes\n  lore commands run test run specific --uv target=src/auth\n  git diff | lore commands run code review diff -e short -"
)]
pub(crate) struct Args {
    #[command(flatten)]
    name: Name,
    /// The input text; `-` reads standard input
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// The edition of the prompt
    #[arg(short, long, value_name = "NAME")]
    edition: Option<String>,
    /// The adaptation of the prompt
    #[arg(short, long, value_name = "NAME")]
    adaptation: Option<String>,
    /// The path of the input file, as the prompt is to name it
    #[arg(short, long, alias = "from", value_name = "PATH")]
    file: Option<String>,
    /// Where the result is to go, as the prompt is to name it
    #[arg(short = 'o', long, value_name = "PATH")]
    destination: Option<String>,
    /// The value of a variable (may be repeated)
    #[arg(long = "uv", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    #[command(flatten)]
    agent: Agent,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let (folder, commands) = (args.place.folder()?, context.commands.clone());
    let (agent, name) = (args.agent.agent, CommandName::from(args.name));
    let mut options = ExecuteOptions {
        edition: args.edition,
        adaptation: args.adaptation,
        file: args.file,
        destination: args.destination,
        ..ExecuteOptions::default()
    };
    for variable in &args.variables {
        let (name, value) = variable.split_once('=').ok_or_else(|| {
            Failure::new(Code::InvalidArgument, format!("`--uv {}` has no value", brief(variable)))
                .hint("say `--uv NAME=VALUE`")
        })?;
        options.uv.insert(name.strip_prefix("uv-").unwrap_or(name).to_owned(), value.to_owned());
    }
    let given = args.input;
    let render = || {
        let takes_text = || {
            let described = commands.describe(&folder, &agent, &name);
            described.is_ok_and(|(_, command)| command.options.and_then(|options| options.stdin) != Some(false))
        };
        options.stdin = match given {
            Some(text) if text != "-" => Some(text),
            Some(_) => Some(standard_input()?),
            // A terminal would have to be waited for, and a command that takes no text must not wait for a pipe.
            None if !std::io::stdin().is_terminal() && takes_text() => {
                Some(standard_input()?).filter(|text| !text.is_empty())
            }
            None => None,
        };
        Ok::<_, Failure>(commands.execute(&folder, &agent, &name, &options)?)
    };
    let rendered = render()?;
    let ui = context.ui;
    if ui.is_json() {
        let name = &rendered.name;
        let mut fields = Map::new();
        for (key, value) in [
            ("c1", json!(name.c1)),
            ("c2", json!(name.c2)),
            ("c3", json!(name.c3)),
            ("text", json!(rendered.text)),
            ("prompt_file", json!(rendered.prompt)),
            ("open_variables", json!(rendered.open)),
        ] {
            fields.insert(key.to_owned(), value);
        }
        origin_json(&mut fields, &rendered.origin);
        return ui.value(&Value::Object(fields));
    }
    note_origin(context, &rendered.origin);
    if !rendered.open.is_empty() {
        ui.note(&format!("note: no value was given for {}", rendered.open.join(", ")));
    }
    if ui.is_terminal() {
        return ui.bytes(escape_for_terminal(&rendered.text).as_bytes());
    }
    ui.bytes(rendered.text.as_bytes())
}

fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(INPUT_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(Code::NoAccess, format!("standard input cannot be read: {error}")))?;
    if bytes.len() as u64 > INPUT_MAX {
        return Err(
            Failure::new(Code::InvalidArgument, "standard input is over 8 MiB").hint("name a file with `-f PATH`")
        );
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(Code::InvalidArgument, "standard input is not UTF-8").hint("name a file with `-f PATH`")
    })
}
