//! What a person who types an argument of a command may mean.

use std::path::Path;

use super::{
    Command, Commands, DEFAULT_AGENT, place,
    prompt::{self, DEFAULT_VARIANT},
    root::{Root, join},
};

/// So many names of one folder are looked at.
const NAMES_MAX: usize = 10_000;

/// Values that begin with what was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// The first of them.
    pub values: Vec<String>,
    /// How many there are.
    pub total: usize,
}

impl Completion {
    /// The first hundred of these that begin with what was typed.
    fn of(values: impl IntoIterator<Item = String>, typed: &str) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.starts_with(typed)).collect();
        let total = values.len();
        values.truncate(100);
        Self { values, total }
    }
}

impl Commands {
    /// Editions or adaptations of a command that begin with what was typed: those that are declared and those that exist.
    /// Adaptations are those of one edition, where it is said.
    pub fn complete_variant(
        &self,
        folder: &Path,
        (agent, command): (&str, &Command),
        (argument, edition): (&str, Option<&str>),
        typed: &str,
    ) -> Completion {
        let options = command.options.clone().unwrap_or_default();
        let is_edition = argument == "edition";
        let declared = if is_edition { options.edition } else { options.adaptation };
        let mut values = declared.unwrap_or_default();
        let profile = self.profile(folder, agent, &self.locate(folder, agent), &command.name);
        if let Some(Ok(profile)) = profile {
            for (file, _) in profile.root.list(&profile.folder(&command.name), NAMES_MAX) {
                let Some((of, adaptation)) = prompt::variant(&file) else { continue };
                let is_meant = edition.is_none_or(|edition| edition.is_empty() || edition == of);
                let value = if is_edition { Some(of) } else { adaptation.filter(|_| is_meant) };
                values.extend(value.map(str::to_owned));
            }
        }
        values.sort_by_key(|value| (value != DEFAULT_VARIANT, value.clone()));
        values.dedup();
        Completion::of(values, typed)
    }

    /// Paths of the project that begin with what was typed, folders with a `/` behind. Nothing hidden, nothing outside.
    pub fn complete_path(&self, folder: &Path, typed: &str) -> Completion {
        let project = place::project(folder);
        let Some(root) = Root::open(folder).ok().or(project.top) else { return Completion::default() };
        let (parent, _) = typed.rsplit_once('/').unwrap_or_default();
        let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.') && part != ".");
        if typed.starts_with('/') || is_hidden(parent) {
            return Completion::default();
        }
        let names = root.list(if parent.is_empty() { "." } else { parent }, NAMES_MAX).into_iter();
        let shown = names.filter(|(name, _)| !name.starts_with('.') && !name.chars().any(char::is_control));
        let path = |(name, is_folder): (String, bool)| join(parent, &name) + if is_folder { "/" } else { "" };
        Completion::of(shown.map(path), typed)
    }

    /// The name under which a command is offered to people: unique as long as names have no `_`.
    pub fn prompt_name(agent: &str, command: &Command) -> String {
        let name = &command.name;
        let short = format!("{}_{}_{}", name.c1, name.c2, name.c3);
        if agent == DEFAULT_AGENT { short } else { format!("{agent}_{short}") }
    }
}
