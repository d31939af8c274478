//! Holds registries and prompt files against each other.

use std::{collections::BTreeMap, path::Path};

use lore_model::Failure;

use super::{
    Command, CommandName, Commands,
    profile::{Allowed, Profile, config_file, profile_name},
    prompt::DEFAULT_VARIANT,
    registry::{REGISTRY_MAX, Registry},
    render::{PLACEHOLDERS, placeholders},
    root::Root,
    survey::{Front, PromptFile, Survey},
};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A command does not work.
    Error,
    /// Something does not fit together.
    Warning,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file, from the folder in which `.agent` lies.
    pub file: String,
    /// The line, where one is meant.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The agents that were looked at.
    pub agents: Vec<String>,
    /// How many commands there are.
    pub commands: usize,
    /// How many prompt files there are.
    pub prompts: usize,
    /// What is wrong, by file and line.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// How many problems are errors.
    pub fn errors(&self) -> usize {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    fn add(&mut self, severity: Severity, file: &str, line: Option<usize>, message: impl Into<String>) {
        let problem = Problem { severity, file: file.to_owned(), line, message: message.into() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn error(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        self.add(Severity::Error, file, line, message);
    }

    fn warn(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        self.add(Severity::Warning, file, line, message);
    }
}

impl Commands {
    /// Checks the commands of one agent, or of all agents of the project.
    pub fn check(&self, folder: &Path, agent: Option<&str>) -> Result<Checked, Failure> {
        let roots = self.roots(folder);
        let agents = match agent {
            Some(agent) => vec![super::name::agent(agent)?.to_owned()],
            None => self.agents_in_use(folder, &roots),
        };
        let Some(root) = roots.first() else {
            return Err(self.locate(folder, &agents[0]).err().map_or_else(nothing, Failure::from));
        };
        let mut checked = Checked::default();
        for agent in agents {
            check_agent(self, &roots, root, &agent, &mut checked);
            checked.agents.push(agent);
        }
        checked
            .problems
            .sort_by(|a, b| (a.severity, &a.file, a.line, &a.message).cmp(&(b.severity, &b.file, b.line, &b.message)));
        Ok(checked)
    }
}

impl Commands {
    /// The agents, without `climpt` where it has nothing and others have.
    fn agents_in_use(&self, folder: &Path, roots: &[Root]) -> Vec<String> {
        let mut agents = self.agents(folder);
        let has_prompts = roots.iter().any(|root| root.has(".agent/climpt/prompts"));
        if agents.len() > 1 && !has_prompts && !self.has_registry(roots, &agents[0]) {
            agents.remove(0);
        }
        agents
    }
}

fn nothing() -> Failure {
    Failure::new(lore_model::Code::CommandNotFound, "this project has no commands")
}

fn check_agent(commands: &Commands, roots: &[Root], root: &Root, agent: &str, checked: &mut Checked) {
    let mut notes = Vec::new();
    let path = commands.registry_path(roots, agent, &mut notes);
    for note in notes {
        checked.error(&super::config_file(), line_in(&note), note.clone());
    }
    // The file itself is looked at, not what it said before.
    let owner = roots.iter().find(|root| root.stamp(&path).is_some()).unwrap_or(root);
    let read = owner.read(&path, REGISTRY_MAX).map_err(|fault| fault.to_string());
    let registry = match read.and_then(|content| Registry::parse(&content.text)) {
        Ok(registry) => Some(registry),
        Err(why) => {
            let hint = if owner.has(&path) { "" } else { " (`lore commands build` makes it from the prompt files)" };
            checked.error(&path, line_in(&why), format!("the registry cannot be used: {why}{hint}"));
            None
        }
    };
    let empty = Registry::parse("[]").ok();
    let Some(registry) = registry.as_ref().or(empty.as_ref()) else { return };
    for (line, why) in &registry.problems {
        checked.error(&path, Some(*line), format!("this command is passed over: {why}"));
    }
    let survey = Survey::of(owner, agent, registry.commands().map(|command| command.name.c1.clone()));
    for bad in &survey.bad_profiles {
        checked.error(&bad.file, bad.line, bad.why.clone());
    }
    let prompts = survey.by_command();
    checked.prompts += survey.prompts.len();
    let mut first: BTreeMap<&CommandName, usize> = BTreeMap::new();
    for entry in &registry.entries {
        let command = &entry.command;
        if let Some(line) = first.insert(&command.name, entry.line) {
            checked.warn(
                &path,
                Some(entry.line),
                format!("`{}` is there twice: the one on line {line} counts", command.name),
            );
            first.insert(&command.name, line);
            continue;
        }
        checked.commands += 1;
        let found = prompts.get(&command.name).map(Vec::as_slice).unwrap_or_default();
        Entry { owner, agent, path: &path, line: entry.line, command, prompts: found }.check(checked);
    }
    for prompt in &survey.prompts {
        check_prompt(prompt, registry.find(&prompt.name), &path, checked);
    }
}

/// One entry of a registry with its prompts.
struct Entry<'a> {
    owner: &'a Root,
    agent: &'a str,
    path: &'a str,
    line: usize,
    command: &'a Command,
    prompts: &'a [&'a PromptFile],
}

impl Entry<'_> {
    fn check(&self, checked: &mut Checked) {
        let Self { owner, agent, path, line, command, prompts } = self;
        let name = &command.name;
        if command.description.trim().is_empty() {
            checked.warn(path, Some(*line), format!("`{name}` has no description: nobody can search for it"));
        }
        let Ok(profile) = Profile::find(std::slice::from_ref(*owner), owner, agent, &name.c1) else { return };
        if let Allowed::No(why) = profile.allows(name) {
            let file = config_file(&profile_name(agent, &name.c1), "user");
            checked.warn(&file, None, format!("the patterns leave out `{name}`, which the registry lists: {why}"));
        }
        if prompts.is_empty() {
            let expected = format!("{}/f_{DEFAULT_VARIANT}.md", profile.folder(name));
            checked.error(path, Some(*line), format!("`{name}` has no prompt: {expected} is missing"));
            return;
        }
        self.check_variants(checked);
        self.check_variables(checked);
    }

    fn check_variants(&self, checked: &mut Checked) {
        let Self { path, line, command, prompts, .. } = self;
        let name = &command.name;
        let options = command.options.clone().unwrap_or_default();
        let stems: Vec<String> = prompts
            .iter()
            .map(|prompt| match &prompt.adaptation {
                Some(adaptation) => format!("{}_{adaptation}", prompt.edition),
                None => prompt.edition.clone(),
            })
            .collect();
        let editions = options.edition.clone().unwrap_or_default();
        let has_edition =
            |edition: &String| stems.iter().any(|stem| stem == edition || stem.starts_with(&format!("{edition}_")));
        for edition in editions.iter().filter(|edition| !has_edition(edition)) {
            checked.warn(
                path,
                Some(*line),
                format!("`{name}` names the edition `{edition}`, which has no prompt file"),
            );
        }
        let adaptations = options.adaptation.clone().unwrap_or_default();
        let has_adaptation = |adaptation: &String| stems.iter().any(|stem| stem.ends_with(&format!("_{adaptation}")));
        for adaptation in
            adaptations.iter().filter(|adaptation| *adaptation != DEFAULT_VARIANT && !has_adaptation(adaptation))
        {
            checked.warn(
                path,
                Some(*line),
                format!("`{name}` names the adaptation `{adaptation}`, which has no prompt file"),
            );
        }
        if options.edition.is_none() {
            return;
        }
        for (prompt, stem) in prompts.iter().zip(&stems) {
            let named = editions.iter().any(|edition| stem == edition || stem.starts_with(&format!("{edition}_")));
            if !named && prompt.edition != DEFAULT_VARIANT {
                checked.warn(&prompt.path, None, format!("`{name}` does not name the edition `{}`", prompt.edition));
            }
        }
    }

    fn check_variables(&self, checked: &mut Checked) {
        let Self { path, line, command, prompts, .. } = self;
        let options = command.options.clone().unwrap_or_default();
        let mut used = Vec::new();
        for prompt in *prompts {
            let Ok(body) = &prompt.body else { continue };
            for name in placeholders(body) {
                let at = body_line(prompt, &format!("{{{name}}}"));
                let refused = match name.as_str() {
                    "input_text" => options.stdin == Some(false),
                    "input_text_file" => options.file == Some(false),
                    "destination_path" => options.destination == Some(false),
                    _ => false,
                };
                if refused {
                    checked.warn(
                        &prompt.path,
                        at,
                        format!("`{{{name}}}` is used, and the options say that there is none"),
                    );
                }
                if let Some(variable) = name.strip_prefix("uv-") {
                    if !command.uv.iter().any(|known| known.name == variable) {
                        checked.warn(&prompt.path, at, format!("`{{{name}}}` is used and not declared in `uv`"));
                    }
                    used.push(variable.to_owned());
                }
            }
            for name in near_misses(body) {
                let at = body_line(prompt, &format!("{{{name}}}"));
                checked.warn(&prompt.path, at, format!("`{{{name}}}` is no placeholder, though it looks like one"));
            }
        }
        for variable in command.uv.iter().filter(|variable| !used.contains(&variable.name)) {
            let message = format!("`{}` declares the variable `{}`, which no prompt uses", command.name, variable.name);
            checked.warn(path, Some(*line), message);
        }
    }
}

/// A prompt by itself, and against the entry of its command.
fn check_prompt(prompt: &PromptFile, entry: Option<&Command>, registry: &str, checked: &mut Checked) {
    let (path, name) = (prompt.path.as_str(), &prompt.name);
    match &prompt.body {
        Err(fault) => return checked.error(path, None, fault.to_string()),
        Ok(body) if body.trim().is_empty() && entry.is_some() => checked.warn(path, None, "the prompt is empty"),
        Ok(_) => {}
    }
    match (&prompt.front, entry) {
        (Front::Bad(line, why), _) => {
            checked.error(path, Some(*line), format!("the frontmatter cannot be understood: {why}"));
        }
        (Front::Says(said), _) if said.name != *name => {
            let message = format!("the frontmatter names `{}`, the file lies where `{name}` does", said.name);
            checked.error(path, Some(1), message);
        }
        (Front::Says(said), Some(entry)) if prompt.is_default() => {
            let mut differ = Vec::new();
            if said.description != entry.description {
                differ.push("description");
            }
            if said.usage.is_some() && said.usage != entry.usage {
                differ.push("usage");
            }
            if said.options.is_some() && said.options != entry.options {
                differ.push("options");
            }
            if said.uv != entry.uv {
                differ.push("uv");
            }
            if !differ.is_empty() {
                let message = format!(
                    "{} of `{name}` differ from {registry}: `lore commands build` takes them over",
                    differ.join(", ")
                );
                checked.warn(path, Some(1), message);
            }
        }
        (Front::Says(..), None) if prompt.is_default() => {
            checked.warn(path, Some(1), format!("`{name}` is not in {registry}: `lore commands build` takes it in"));
        }
        (Front::None, Some(_)) if prompt.is_default() => {
            checked.warn(path, Some(1), "the prompt has no frontmatter that describes it");
        }
        _ => {}
    }
}

/// Names in braces that differ from a placeholder only in how they are written.
fn near_misses(body: &str) -> Vec<String> {
    let plain = |name: &str| name.replace(['-', '_', ' '], "").to_lowercase();
    let known: Vec<String> = PLACEHOLDERS.iter().map(|name| plain(name)).collect();
    let mut found = Vec::new();
    for part in body.split('{').skip(1) {
        let Some((name, _)) = part.split_once('}') else { continue };
        let is_near = known.contains(&plain(name)) || name.starts_with("uv_");
        let is_short = name.len() < 40 && !name.contains('\n');
        if is_short && is_near && !PLACEHOLDERS.contains(&name) && !found.iter().any(|seen| seen == name) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The line of the file on which the body has a text.
fn body_line(prompt: &PromptFile, text: &str) -> Option<usize> {
    let body = prompt.body.as_ref().ok()?;
    let at = body.find(text)?;
    Some(prompt.body_starts + body[..at].matches('\n').count())
}

/// The line that a message names.
fn line_in(message: &str) -> Option<usize> {
    let rest = &message[message.find("line ")? + 5..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
