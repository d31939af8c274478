//! What the tools and prompts of the toolset `commands` have in common: the contract's objects and errors.

mod options;

use lore_core::commands::{Command, CommandError, Origin, Rendered};
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
    answer.note_if(!origin.notes.is_empty(), "notes", json!(origin.notes));
    origin.notes.iter().for_each(|note| answer.remark(note));
}

/// What a rendered prompt's text does not tell.
pub(crate) fn rendered_json(rendered: &Rendered) -> Map<String, Value> {
    let name = &rendered.name;
    let mut fields = Map::new();
    for (key, value) in [("c1", &name.c1), ("c2", &name.c2), ("c3", &name.c3), ("prompt_file", &rendered.prompt)] {
        fields.insert(key.to_owned(), value.as_str().into());
    }
    fields.insert("open_variables".to_owned(), json!(rendered.open));
    fields
}
