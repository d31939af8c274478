//! What the tools and prompts of the toolset `commands` have in common: the contract's objects and errors.

mod options;

use lore_commands::{Command, CommandError, Origin, Rendered};
use lore_model::Failure;
use serde_json::{Map, Value, json};

pub(crate) use options::read as read_options;

use crate::{Answer, answer::AnswerBuilder};

/// The contract's object for an error, as an answer; an argument that cannot be is a failure like any other.
pub(crate) fn error_answer(error: CommandError) -> Result<Answer, Failure> {
    let object = match &error {
        CommandError::NotFound { name, .. } => {
            json!({"error": "Command not found", "c1": name.c1, "c2": name.c2, "c3": name.c3})
        }
        CommandError::Registry { path, details, .. } => {
            json!({"error": "Failed to load registry", "path": path, "details": details})
        }
        CommandError::Execution { name, stderr, .. } => {
            json!({"error": "Execution failed", "command": name.to_string(), "stderr": stderr})
        }
        CommandError::Invalid(_) => return Err(error.into()),
    };
    let Value::Object(fields) = object else { return Err(error.into()) };
    Ok(AnswerBuilder::failed(fields, error.into()).done())
}

/// A command with the fields of the document, and its variables where it has any.
pub fn command_json(command: &Command) -> Map<String, Value> {
    command.fields()
}

/// Says where an answer is from, and what is wrong with the files it is from.
pub(crate) fn note_origin(answer: &mut AnswerBuilder, origin: &Origin) {
    answer.note("agent", origin.agent.as_str());
    if !origin.registry.is_empty() {
        answer.note("registry", origin.registry.as_str());
    }
    answer.note("registry_folder", origin.folder.to_string_lossy());
    answer.notes(&origin.notes);
    // They repeat what stands in the files.
    if !origin.notes.is_empty() {
        answer.quote_repository();
    }
}

/// Says what a rendered prompt's text does not tell.
pub(crate) fn note_rendered(answer: &mut AnswerBuilder, rendered: &Rendered) {
    let name = &rendered.name;
    for (key, value) in [("c1", &name.c1), ("c2", &name.c2), ("c3", &name.c3), ("prompt_file", &rendered.prompt)] {
        answer.note(key, value.as_str());
    }
    answer.note("open_variables", json!(rendered.open));
    if !rendered.open.is_empty() {
        answer.remark(format!("no value was given for {}", rendered.open.join(", ")));
    }
    note_origin(answer, &rendered.origin);
}
