//! The team's commands as prompts, which hosts show to people as slash commands.
//!
//! A command is called `c1_c2_c3`, or `agent_c1_c2_c3` for another agent than `climpt`. Where two names would be one, the
//! later in the list has `_2` behind it (`_3`, …): the order is that of agents and registries, so it is the same each time.

use std::collections::{BTreeMap, HashSet};

use lore_commands::{AgentCommands, Command, Commands, DEFAULT_AGENT, ExecuteOptions, Variants};
use lore_model::{Code, Failure, brief, closest};

use crate::Context;

/// More prompts than that are not listed: `search` finds the others.
const PROMPTS_MAX: usize = 1000;

/// A prompt that a host can offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInfo {
    /// Its name: `git_group-commit_unstaged-changes`.
    pub name: String,
    /// What people see.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// What it takes.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether the prompt makes no sense without.
    pub required: bool,
}

/// A prompt with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// What it is for.
    pub description: String,
    /// What is said to the model.
    pub text: String,
}

/// Values that a person may mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completed {
    /// At most a hundred.
    pub values: Vec<String>,
    /// How many there are.
    pub total: usize,
    /// Whether there are more than these.
    pub more: bool,
}

/// A command under the name of its prompt.
struct Named {
    name: String,
    agent: String,
    command: Command,
}

/// Every prompt of the project.
pub fn list(context: &Context) -> Vec<PromptInfo> {
    let (commands, folder) = (&context.commands, context.folder());
    let named = named(commands.list(&folder));
    let mut all = Vec::with_capacity(named.len());
    // Those of one agent are in a row.
    for of_agent in named.chunk_by(|a, b| a.agent == b.agent) {
        let listed: Vec<&Command> = of_agent.iter().map(|named| &named.command).collect();
        let variants = commands.variants(&folder, &of_agent[0].agent, &listed);
        all.extend(of_agent.iter().zip(&variants).map(|(named, variants)| info(named, variants)));
    }
    all
}

fn info(named: &Named, variants: &Variants) -> PromptInfo {
    let Named { name, agent, command } = named;
    let of = if agent == DEFAULT_AGENT { String::new() } else { format!("{agent}: ") };
    PromptInfo {
        name: name.clone(),
        title: format!("{of}{}", command.name),
        description: command.description.clone(),
        arguments: arguments(command, variants),
    }
}

/// A number that changes when the list may have changed.
pub fn stamp(context: &Context) -> u64 {
    let folder = context.project.folder_now();
    context.commands.stamp(&folder)
}

/// The text of a prompt with these values.
pub fn get(context: &Context, name: &str, arguments: BTreeMap<String, String>) -> Result<PromptText, Failure> {
    let (commands, folder) = (&context.commands, context.folder());
    let all = named(commands.list(&folder));
    let found = find(&all, name)?;
    let options = options(&found.command, arguments)?;
    let rendered = commands.execute(&folder, &found.agent, &found.command.name, &options)?;
    Ok(PromptText { description: found.command.description.clone(), text: rendered.text })
}

/// Values of an argument that begin with what was typed; none where nobody can know. A prompt or an argument that is not
/// there is a failure.
pub fn complete(
    context: &Context,
    name: &str,
    argument: &str,
    typed: &str,
    given: &BTreeMap<String, String>,
) -> Result<Completed, Failure> {
    let edition = given.get("edition").cloned();
    let (commands, folder) = (&context.commands, context.folder());
    let all = named(commands.list(&folder));
    let found = find(&all, name)?;
    let completion = match argument {
        "edition" | "adaptation" => {
            let edition = edition.as_deref().filter(|_| argument == "adaptation");
            commands.complete_variant(&folder, (&found.agent, &found.command), (argument, edition), typed)
        }
        "file" | "destination" => commands.complete_path(&folder, typed),
        _ if is_argument(&found.command, argument) => return Ok(Completed::default()),
        _ => return Err(unknown(&found.command, argument)),
    };
    let more = completion.total > completion.values.len();
    Ok(Completed { values: completion.values, total: completion.total, more })
}

/// The commands of all agents under unique names. A registry that cannot be read has none: `search` says what is wrong.
fn named(agents: Vec<AgentCommands>) -> Vec<Named> {
    let mut taken = HashSet::new();
    let mut all = Vec::new();
    for AgentCommands { agent, commands } in agents {
        for command in commands.map(|(_, commands)| commands).unwrap_or_default() {
            let plain = Commands::prompt_name(&agent, &command);
            let other = (2..).map(|number| format!("{plain}_{number}"));
            let name = std::iter::once(plain.clone()).chain(other).find(|name| !taken.contains(name)).unwrap_or(plain);
            taken.insert(name.clone());
            all.push(Named { name, agent: agent.clone(), command });
        }
    }
    all.truncate(PROMPTS_MAX);
    all
}

fn find<'a>(all: &'a [Named], name: &str) -> Result<&'a Named, Failure> {
    all.iter().find(|named| named.name == name).ok_or_else(|| {
        let failure = Failure::new(Code::CommandNotFound, format!("there is no prompt `{}`", brief(name)));
        match closest(name, all.iter().map(|named| named.name.as_str())) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")).quoting_repository(),
            None => failure.hint("`prompts/list` has all of them"),
        }
    })
}

/// The names that are not those of variables.
const OWN: [&str; 5] = ["edition", "adaptation", "file", "input", "destination"];

/// What a command takes, as arguments. Where nothing is said of it, it may take anything.
fn arguments(command: &Command, variants: &Variants) -> Vec<PromptArgument> {
    let argument =
        |name: &str, description: String| PromptArgument { name: name.to_owned(), description, required: false };
    let options = command.options.clone().unwrap_or_default();
    let said = command.options.is_some();
    let mut arguments = Vec::new();
    for (name, choices) in [("edition", &variants.editions), ("adaptation", &variants.adaptations)] {
        if choices.iter().any(|choice| choice != "default") {
            arguments.push(argument(name, format!("One of: {}", choices.join(", "))));
        }
    }
    let wanted = |flag: Option<bool>| flag.unwrap_or(!said);
    for (flag, name, description) in [
        (options.file, "file", "Path of the input file"),
        (options.stdin, "input", "Input text"),
        (options.destination, "destination", "Where the result is to go"),
    ] {
        if wanted(flag) {
            arguments.push(argument(name, description.to_owned()));
        }
    }
    for variable in &command.uv {
        arguments.push(argument(&variable_argument(&variable.name), variable.about.clone()));
    }
    arguments
}

/// What is declared, without a look at the files.
fn declared(command: &Command) -> Variants {
    let options = command.options.clone().unwrap_or_default();
    Variants { editions: options.edition.unwrap_or_default(), adaptations: options.adaptation.unwrap_or_default() }
}

/// Whether a prompt takes this argument.
fn is_argument(command: &Command, name: &str) -> bool {
    let variable = name.strip_prefix("uv-");
    OWN.contains(&name) || name == "stdin" || variable.is_some() || command.uv.iter().any(|known| known.name == name)
}

/// A variable goes by its name, unless that means something else.
fn variable_argument(name: &str) -> String {
    if OWN.contains(&name) { format!("uv-{name}") } else { name.to_owned() }
}

fn options(command: &Command, arguments: BTreeMap<String, String>) -> Result<ExecuteOptions, Failure> {
    let mut options = ExecuteOptions::default();
    for (name, value) in arguments {
        // Hosts send an empty text for what was left out.
        let value = Some(value).filter(|value| !value.is_empty());
        let variable = name.strip_prefix("uv-").unwrap_or(&name);
        match name.as_str() {
            "edition" => options.edition = value,
            "adaptation" => options.adaptation = value,
            "file" => options.file = value,
            "input" | "stdin" => options.stdin = value,
            "destination" => options.destination = value,
            _ if is_argument(command, &name) => {
                options.uv.extend(value.map(|value| (variable.to_owned(), value)));
            }
            _ => return Err(unknown(command, &name)),
        }
    }
    Ok(options)
}

fn unknown(command: &Command, name: &str) -> Failure {
    let known: Vec<String> = arguments(command, &declared(command)).into_iter().map(|argument| argument.name).collect();
    let failure = Failure::new(Code::InvalidArgument, format!("`{}` has no argument `{}`", command.name, brief(name)));
    match (closest(name, known.iter().map(String::as_str)), known.is_empty()) {
        (Some(near), _) => {
            failure.hint(format!("did you mean `{near}`? It takes {}", known.join(", "))).quoting_repository()
        }
        (None, false) => failure.hint(format!("it takes {}", known.join(", "))).quoting_repository(),
        (None, true) => failure.hint("it takes none"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use lore_commands::{CommandName, CommandOptions, Origin, Variable};

    use super::*;

    fn command(c1: &str, c2: &str, c3: &str) -> Command {
        Command {
            name: CommandName::new(c1, c2, c3),
            description: String::new(),
            usage: None,
            options: None,
            uv: Vec::new(),
        }
    }

    fn agent(agent: &str, commands: Vec<Command>) -> AgentCommands {
        let origin =
            Origin { agent: agent.to_owned(), registry: String::new(), folder: PathBuf::new(), notes: Vec::new() };
        AgentCommands { agent: agent.to_owned(), commands: Ok((origin, commands)) }
    }

    #[test]
    fn names_are_unique_and_the_first_keeps_its_own() {
        let all = named(vec![
            agent("climpt", vec![command("a", "b_c", "d"), command("a_b", "c", "d"), command("x", "y", "z")]),
            agent("a", vec![command("b", "c", "d"), command("x", "y", "z")]),
        ]);
        let names: Vec<&str> = all.iter().map(|named| named.name.as_str()).collect();
        assert_eq!(names, ["a_b_c_d", "a_b_c_d_2", "x_y_z", "a_b_c_d_3", "a_x_y_z"]);
        assert_eq!(find(&all, "a_b_c_d_3").unwrap().agent, "a");
    }

    #[test]
    fn a_title_tells_whose_command_it_is_and_editions_on_disk_are_arguments() {
        let of = |agent: &str| Named {
            name: "x".to_owned(),
            agent: agent.to_owned(),
            command: command("dev", "start", "default"),
        };
        let on_disk = Variants { editions: vec!["default".to_owned(), "short".to_owned()], adaptations: Vec::new() };
        assert_eq!(info(&of("climpt"), &Variants::default()).title, "dev start default");
        let told = info(&of("reviewer"), &on_disk);
        assert_eq!(told.title, "reviewer: dev start default");
        assert_eq!(told.arguments[0].description, "One of: default, short");
    }

    #[test]
    fn a_broken_registry_has_no_prompts() {
        let broken = lore_commands::Commands::new(None).list(std::path::Path::new("/nonexistent"));
        assert!(named(broken).is_empty());
    }

    #[test]
    fn arguments_are_those_of_the_command() {
        let mut taking = command("a", "b", "c");
        let names = |command: &Command| -> Vec<String> {
            arguments(command, &declared(command)).into_iter().map(|argument| argument.name).collect()
        };
        assert_eq!(names(&taking), ["file", "input", "destination"], "nothing is said of what it takes");
        taking.options = Some(CommandOptions {
            edition: Some(vec!["default".to_owned(), "bug".to_owned()]),
            adaptation: Some(vec!["default".to_owned()]),
            stdin: Some(true),
            file: Some(false),
            ..CommandOptions::default()
        });
        taking.uv = ["topic", "file"].map(|name| Variable { name: name.to_owned(), about: String::new() }).into();
        assert_eq!(names(&taking), ["edition", "input", "topic", "uv-file"]);
        let given = [("topic", "t"), ("uv-file", "f"), ("input", "text"), ("edition", "")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let read = options(&taking, given).unwrap();
        assert_eq!((read.stdin.as_deref(), read.edition), (Some("text"), None));
        assert_eq!(
            read.uv.into_iter().collect::<Vec<_>>(),
            [("file".into(), "f".into()), ("topic".into(), "t".into())]
        );
        let wrong = options(&taking, [("topics".to_owned(), "x".to_owned())].into()).unwrap_err();
        assert!(wrong.hint.unwrap_or_default().starts_with("did you mean `topic`?"));
    }
}
