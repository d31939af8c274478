//! What a person who types an argument of a command may mean.

use std::{collections::HashMap, path::Path};

use super::{
    Command, Commands, DEFAULT_AGENT, place,
    profile::Profile,
    prompt::{self, DEFAULT_VARIANT},
    root::Root,
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

/// What a command is there in: what is declared and what has a file, `default` first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variants {
    /// Its editions.
    pub editions: Vec<String>,
    /// Its adaptations.
    pub adaptations: Vec<String>,
}

impl Variants {
    /// The adaptations are those of one edition, where it is said.
    fn of(command: &Command, profile: Option<&Profile>, edition: Option<&str>) -> Self {
        let options = command.options.clone().unwrap_or_default();
        let mut editions = options.edition.unwrap_or_default();
        let mut adaptations = options.adaptation.unwrap_or_default();
        let listed = profile
            .and_then(|profile| profile.root.list_in(&profile.prompts, &profile.folder(&command.name), NAMES_MAX).ok());
        for (file, is_folder) in listed.unwrap_or_default().names {
            let Some((of, adaptation)) = prompt::variant(&file).filter(|_| !is_folder) else { continue };
            let is_meant = edition.is_none_or(|edition| edition.is_empty() || edition == of);
            editions.push(of.to_owned());
            adaptations.extend(adaptation.filter(|_| is_meant).map(str::to_owned));
        }
        for values in [&mut editions, &mut adaptations] {
            values.sort_by_cached_key(|value| (value != DEFAULT_VARIANT, value.clone()));
            values.dedup();
        }
        Self { editions, adaptations }
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
        let located = self.locate(folder, agent);
        let profile = self.profile(folder, agent, &located, &command.name).and_then(Result::ok);
        let Variants { editions, adaptations } = Variants::of(command, profile.as_ref(), edition);
        Completion::of(if argument == "edition" { editions } else { adaptations }, typed)
    }

    /// The editions and adaptations of these commands of an agent, in their order.
    pub fn variants(&self, folder: &Path, agent: &str, commands: &[&Command]) -> Vec<Variants> {
        let located = self.locate(folder, agent);
        // Commands of one domain have one profile.
        let mut profiles: HashMap<&str, Option<Profile>> = HashMap::new();
        let variants = commands.iter().map(|command| {
            let find = || self.profile(folder, agent, &located, &command.name).and_then(Result::ok);
            let profile = profiles.entry(&command.name.c1).or_insert_with(find);
            Variants::of(command, profile.as_ref(), None)
        });
        variants.collect()
    }

    /// Paths of the project that begin with what was typed, folders with a `/` behind. Nothing hidden, nothing outside.
    pub fn complete_path(&self, folder: &Path, typed: &str) -> Completion {
        let project = place::project(folder);
        let Some(root) = Root::open(folder).ok().or(project.top) else { return Completion::default() };
        let (parent, _) = typed.rsplit_once('/').unwrap_or_default();
        // What was typed is what values begin with, also where it says nothing: `./`.
        let prefix = &typed[..typed.rfind('/').map_or(0, |at| at + 1)];
        let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.') && part != ".");
        if typed.starts_with('/') || is_hidden(parent) {
            return Completion::default();
        }
        let names = root.list(if parent.is_empty() { "." } else { parent }, NAMES_MAX).into_iter();
        let shown = names.filter(|(name, _)| !name.starts_with('.') && !name.chars().any(char::is_control));
        let path = |(name, is_folder): (String, bool)| format!("{prefix}{name}{}", if is_folder { "/" } else { "" });
        Completion::of(shown.map(path), typed)
    }

    /// The name under which a command is offered to people: unique as long as names have no `_`.
    pub fn prompt_name(agent: &str, command: &Command) -> String {
        let name = &command.name;
        let short = format!("{}_{}_{}", name.c1, name.c2, name.c3);
        if agent == DEFAULT_AGENT { short } else { format!("{agent}_{short}") }
    }
}
