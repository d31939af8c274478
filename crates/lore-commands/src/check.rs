//! Holds registries and prompt files against each other.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

use lore_model::Failure;

use super::{
    Command, CommandName, Commands,
    profile::{Allowed, BadProfile, Profile},
    prompt::DEFAULT_VARIANT,
    registry::{REGISTRY_MAX, Registry},
    render::is_placeholder,
    root::Root,
    survey::{Front, PromptFile, Survey},
};

/// So many problems of one kind are told of one file.
const PROBLEMS_MAX: usize = 100;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A command does not work.
    Error,
    /// Something does not fit together.
    Warning,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
}

/// What is found while files are looked at.
#[derive(Default)]
struct Findings {
    checked: Checked,
    seen: HashSet<Problem>,
    /// How many there are of one kind in one file.
    counts: BTreeMap<(String, Severity), usize>,
}

impl Findings {
    fn add(&mut self, severity: Severity, file: &str, line: Option<usize>, message: impl Into<String>) {
        let count = self.counts.entry((file.to_owned(), severity)).or_default();
        if *count >= PROBLEMS_MAX {
            *count += 1;
            return;
        }
        let problem = Problem { severity, file: file.to_owned(), line, message: message.into() };
        if self.seen.insert(problem.clone()) {
            *count += 1;
            self.checked.problems.push(problem);
        }
    }

    fn error(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        self.add(Severity::Error, file, line, message);
    }

    fn warn(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        self.add(Severity::Warning, file, line, message);
    }

    /// All of it in order, with what was too much only counted.
    fn done(mut self) -> Checked {
        for ((file, severity), count) in self.counts.into_iter().filter(|(_, count)| *count > PROBLEMS_MAX) {
            let message = format!("{} more in this file", count - PROBLEMS_MAX);
            self.checked.problems.push(Problem { severity, file, line: Some(usize::MAX), message });
        }
        let key = |problem: &Problem| (problem.severity, problem.file.clone(), problem.line, problem.message.clone());
        self.checked.problems.sort_by_cached_key(key);
        for problem in &mut self.checked.problems {
            problem.line = problem.line.filter(|line| *line < usize::MAX);
        }
        self.checked
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
            // Nothing can be found where no folder has commands.
            return self.locate(folder, &agents[0]).map(|_| Checked::default()).map_err(Failure::from);
        };
        let mut findings = Findings::default();
        for agent in agents {
            check_agent(self, &roots, root, &agent, &mut findings);
            findings.checked.agents.push(agent);
        }
        Ok(findings.done())
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

fn check_agent(commands: &Commands, roots: &[Root], root: &Root, agent: &str, found: &mut Findings) {
    let mut notes = Vec::new();
    let path = commands.registry_path(roots, agent, &mut notes);
    for note in notes {
        found.error(&super::config_file(), line_in(&note), note.clone());
    }
    // The file itself is looked at, not what it said before.
    let owner = roots.iter().find(|root| root.stamp(&path).is_some()).unwrap_or(root);
    let read = owner.read(&path, REGISTRY_MAX).map_err(|fault| fault.to_string());
    let registry = match read.and_then(|content| Registry::parse(&content.text).map(|registry| (registry, content))) {
        Ok((registry, content)) => {
            for (line, why) in Registry::oddities(&content.text) {
                found.warn(&path, Some(line), why);
            }
            Some(registry)
        }
        Err(why) => {
            let hint = if owner.has(&path) { "" } else { " (`lore commands build` makes it from the prompt files)" };
            found.error(&path, line_in(&why), format!("the registry cannot be used: {why}{hint}"));
            None
        }
    };
    let empty = Registry::parse("[]").ok();
    let Some(registry) = registry.as_ref().or(empty.as_ref()) else { return };
    for (line, why) in &registry.problems {
        found.error(&path, Some(*line), format!("this command is passed over: {why}"));
    }
    let survey = Survey::of(owner, agent, registry.commands().map(|command| command.name.c1.clone()));
    for (_, bad) in &survey.bad {
        found.error(&bad.file, bad.line, bad.why.clone());
    }
    if let Some(limit) = &survey.limit {
        found.error(&path, None, format!("{limit}: not all of them were checked"));
    }
    let prompts = survey.by_command();
    found.checked.prompts += survey.prompts.len();
    let mut profiles: HashMap<&str, Result<Profile, BadProfile>> = HashMap::new();
    let mut first: HashMap<&CommandName, (usize, &Command)> = HashMap::new();
    for entry in &registry.entries {
        let command = &entry.command;
        if let Some((line, _)) = first.get(&command.name) {
            let message = format!("`{}` is there twice: the one on line {line} counts", command.name);
            found.warn(&path, Some(entry.line), message);
            continue;
        }
        first.insert(&command.name, (entry.line, command));
        found.checked.commands += 1;
        let of_it = prompts.get(&command.name).map(Vec::as_slice).unwrap_or_default();
        let c1 = command.name.c1.as_str();
        let profile =
            profiles.entry(c1).or_insert_with(|| Profile::find(std::slice::from_ref(owner), owner, agent, c1));
        let profile = profile.as_ref().ok();
        Entry { profile, survey: &survey, path: &path, line: entry.line, command, prompts: of_it }.check(found);
    }
    for prompt in &survey.prompts {
        check_prompt(prompt, first.get(&prompt.name).map(|(_, command)| *command), &path, found);
    }
}

/// One entry of a registry with its prompts.
struct Entry<'a> {
    profile: Option<&'a Profile>,
    survey: &'a Survey,
    path: &'a str,
    line: usize,
    command: &'a Command,
    prompts: &'a [&'a PromptFile],
}

impl Entry<'_> {
    fn check(&self, found: &mut Findings) {
        let Self { profile, survey, path, line, command, prompts } = self;
        let name = &command.name;
        if command.description.trim().is_empty() {
            found.warn(path, Some(*line), format!("`{name}` has no description: nobody can search for it"));
        }
        let Some(profile) = profile else { return };
        match profile.allows(name) {
            Allowed::No(file, why) => {
                found.warn(&file, None, format!("the patterns leave out `{name}`, which the registry lists: {why}"));
            }
            Allowed::Bad(file, why) => found.warn(&file, None, why),
            Allowed::Yes | Allowed::NotSaid => {}
        }
        if prompts.is_empty() {
            if survey.limit.is_none() && !survey.having.contains(name) {
                let expected = format!("{}/f_{DEFAULT_VARIANT}.md", profile.folder(name));
                found.error(path, Some(*line), format!("`{name}` has no prompt: {expected} is missing"));
            }
            return;
        }
        self.check_variants(found);
        self.check_variables(found);
    }

    fn check_variants(&self, checked: &mut Findings) {
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

    fn check_variables(&self, checked: &mut Findings) {
        let Self { path, line, command, prompts, .. } = self;
        let options = command.options.clone().unwrap_or_default();
        let mut used = HashSet::new();
        for prompt in *prompts {
            let Ok(body) = &prompt.body else { continue };
            for (name, at) in &body.uses {
                if !is_placeholder(name) {
                    let message = format!("`{{{name}}}` is no placeholder, though it looks like one");
                    checked.warn(&prompt.path, Some(*at), message);
                    continue;
                }
                let refused = match name.as_str() {
                    "input_text" => options.stdin == Some(false),
                    "input_text_file" => options.file == Some(false),
                    "destination_path" => options.destination == Some(false),
                    _ => false,
                };
                if refused {
                    let message = format!("`{{{name}}}` is used, and the options say that there is none");
                    checked.warn(&prompt.path, Some(*at), message);
                }
                if let Some(variable) = name.strip_prefix("uv-") {
                    if !command.uv.iter().any(|known| known.name == variable) {
                        let message = format!("`{{{name}}}` is used and not declared in `uv`");
                        checked.warn(&prompt.path, Some(*at), message);
                    }
                    used.insert(variable);
                }
            }
        }
        let all_are_known = prompts.iter().all(|prompt| prompt.body.as_ref().is_ok_and(|body| !body.more));
        for variable in command.uv.iter().filter(|variable| all_are_known && !used.contains(variable.name.as_str())) {
            let message = format!("`{}` declares the variable `{}`, which no prompt uses", command.name, variable.name);
            checked.warn(path, Some(*line), message);
        }
    }
}

/// A prompt by itself, and against the entry of its command.
fn check_prompt(prompt: &PromptFile, entry: Option<&Command>, registry: &str, checked: &mut Findings) {
    let (path, name) = (prompt.path.as_str(), &prompt.name);
    match &prompt.body {
        Err(fault) => return checked.error(path, None, fault.to_string()),
        Ok(body) if body.is_empty && entry.is_some() => checked.warn(path, None, "the prompt is empty"),
        Ok(_) => {}
    }
    if let Front::Says(said) = &prompt.front {
        for why in &said.odd {
            checked.warn(path, Some(1), why.clone());
        }
    }
    match (&prompt.front, entry) {
        (Front::Bad(line, why), _) => {
            checked.error(path, Some(*line), format!("the frontmatter cannot be understood: {why}"));
        }
        (Front::Says(said), _) if said.command.name != *name => {
            let other = &said.command.name;
            let message = format!("the frontmatter names `{other}`, the file lies where `{name}` does");
            checked.error(path, Some(1), message);
        }
        (Front::Says(said), Some(entry)) if prompt.is_default() => {
            let made = said.over(entry);
            let differ = [
                ("description", made.description != entry.description),
                ("usage", made.usage != entry.usage),
                ("options", made.options != entry.options),
                ("uv", made.uv != entry.uv),
            ];
            let differ: Vec<&str> = differ.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect();
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

/// The line that a message names.
fn line_in(message: &str) -> Option<usize> {
    let rest = &message[message.find("line ")? + 5..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
