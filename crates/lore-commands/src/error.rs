//! What can go wrong with a command, in the terms of its contract.

use lore_model::{Code, Failure};

use super::CommandName;

/// Why a command cannot be shown or rendered.
#[derive(Debug)]
pub enum CommandError {
    /// There is no such command.
    NotFound {
        /// What was asked for.
        name: CommandName,
        /// A command of nearly that name.
        near: Option<String>,
    },
    /// The registry is not there or cannot be understood.
    Registry {
        /// The file, from the folder in which `.agent` lies.
        path: String,
        /// What is wrong with it.
        details: String,
        /// Whether there is no such file.
        missing: bool,
        /// What to do now.
        hint: String,
    },
    /// The command is known, its prompt cannot be made.
    Execution {
        /// The command.
        name: CommandName,
        /// What is wrong.
        stderr: String,
        /// Whether it is with what was asked for, and not with the project's files.
        asked_wrong: bool,
        /// What to do now.
        hint: Option<Box<str>>,
    },
    /// An argument that cannot be.
    Invalid(Failure),
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Invalid(failure)
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::NotFound { name, near } => {
                let failure = Self::new(Code::CommandNotFound, format!("there is no command `{name}`"));
                match near {
                    Some(near) => failure.hint(format!("did you mean `{near}`?")).quoting_repository(),
                    None => failure.hint("`search` finds commands by what they are for"),
                }
            }
            CommandError::Registry { path, missing: true, hint, .. } => {
                Self::new(Code::CommandNotFound, format!("there is no registry {path}")).hint(hint)
            }
            CommandError::Registry { path, details, hint, .. } => {
                Self::new(Code::InvalidConfig, format!("{path} cannot be used: {details}"))
                    .hint(hint)
                    .quoting_repository()
            }
            CommandError::Execution { name, stderr, asked_wrong, hint } => {
                let code = if asked_wrong { Code::InvalidArgument } else { Code::InvalidConfig };
                let failure = Self::new(code, format!("`{name}` cannot be rendered: {stderr}")).quoting_repository();
                match hint {
                    Some(hint) => failure.hint(hint.into_string()),
                    None => failure,
                }
            }
            CommandError::Invalid(failure) => failure,
        }
    }
}
