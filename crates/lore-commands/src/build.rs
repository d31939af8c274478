//! Makes `registry.json` from the frontmatter of the prompt files.
//!
//! What the frontmatter does not say is kept: version, description and other fields of the file, the order of the entries,
//! every field of an entry that is not said anew, entries that cannot be understood, and entries whose prompts have no
//! frontmatter. An entry goes when its command has no prompt any more, and the answer names it.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use lore_model::{Code, Failure};
use serde_json::{Map, Value, json};

use super::{
    Command, CommandName, Commands, DEFAULT_AGENT, Problem, Severity, place,
    registry::{REGISTRY_MAX, Registry, json_error},
    root::{Fault, Root},
    survey::{Front, Said, Survey},
    write,
};

/// How a registry is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuildOptions {
    /// Say what would change, and write nothing.
    pub dry_run: bool,
    /// Leave out prompts that cannot be understood instead of stopping, and make a broken registry anew. What was there is
    /// kept beside it.
    pub force: bool,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The agent.
    pub agent: String,
    /// The file, from the folder in which `.agent` lies.
    pub registry: String,
    /// Commands that were not in it before.
    pub added: Vec<CommandName>,
    /// Commands that have no prompt any more.
    pub removed: Vec<CommandName>,
    /// Commands that are described otherwise now.
    pub changed: Vec<CommandName>,
    /// How many commands there are.
    pub commands: usize,
    /// Whether the file was written, or would have been.
    pub written: bool,
    /// Where what was there before is kept.
    pub backup: Option<String>,
    /// Prompts that were left out.
    pub problems: Vec<Problem>,
}

/// A registry that is made and not yet written.
struct Plan {
    root: Root,
    built: Built,
    text: String,
    /// The bytes that are there now.
    before: Option<String>,
}

impl Commands {
    /// Makes the registry of one agent.
    pub fn build(&self, folder: &Path, agent: &str, options: BuildOptions) -> Result<Built, Failure> {
        let root = project_root(folder)?;
        let _lock = write::lock(&root);
        let plan = self.plan(&root, agent, options)?;
        write_all(vec![plan], options).map(|mut built| built.swap_remove(0))
    }

    /// Makes the registries of all agents that have prompts: all of them or none.
    pub fn build_all(&self, folder: &Path, options: BuildOptions) -> Result<Vec<Built>, Failure> {
        let root = project_root(folder)?;
        let _lock = write::lock(&root);
        let (mut plans, mut nothing) = (Vec::new(), None);
        for agent in self.agents(folder) {
            match self.plan(&root, &agent, options) {
                Ok(plan) => plans.push(plan),
                // An agent without prompts needs no registry.
                Err(failure) if failure.code == Code::CommandNotFound => nothing = nothing.or(Some(failure)),
                Err(failure) => return Err(failure),
            }
        }
        match nothing {
            Some(failure) if plans.is_empty() => Err(failure),
            _ => write_all(plans, options),
        }
    }

    /// Where the registry of an agent is to be written. A configuration that cannot be understood might name another place.
    pub(super) fn registry_to_write(&self, root: &Root, agent: &str) -> Result<String, Failure> {
        let mut notes = Vec::new();
        let path = self.registry_path(std::slice::from_ref(root), agent, &mut notes);
        match notes.into_iter().next() {
            None => Ok(path),
            Some(note) => Err(Failure::new(Code::InvalidConfig, note)
                .hint("correct that file first: it may name another place for the registry; nothing was written")),
        }
    }

    fn plan(&self, root: &Root, agent: &str, options: BuildOptions) -> Result<Plan, Failure> {
        let agent = super::name::agent(agent)?;
        let registry = self.registry_to_write(root, agent)?;
        let old = Old::read(root, agent, &registry, options.force)?;
        let known: Vec<Option<CommandName>> =
            old.commands.iter().map(|entry| Command::read(entry).ok().map(|command| command.name)).collect();
        let survey = Survey::of(root, agent, known.iter().flatten().map(|name| name.c1.clone()));
        if survey.prompts.is_empty() && survey.bad.is_empty() && old.commands.is_empty() {
            let where_to =
                format!("write prompts to .agent/{agent}/prompts/C1/C2/C3/f_default.md, or run `lore commands new`");
            return Err(
                Failure::new(Code::CommandNotFound, format!("the agent `{agent}` has no prompts")).hint(where_to)
            );
        }
        if let Some(limit) = &survey.limit {
            let message = format!("{limit}: a registry of these might lack commands");
            return Err(
                Failure::new(Code::InvalidConfig, message).hint("nothing was written; use fewer, or several agents")
            );
        }
        let (said, problems) = said(&survey);
        if !problems.is_empty() && !options.force {
            return Err(refusal(&problems));
        }
        let (commands, mut built) = old.merged(&known, &survey, &said);
        agent.clone_into(&mut built.agent);
        built.registry = registry;
        built.problems = problems;
        let file = old.with_commands(commands);
        built.written = old.file.as_ref() != Some(&file);
        Ok(Plan { root: root.clone(), text: pretty(&file), before: old.text, built })
    }
}

fn project_root(folder: &Path) -> Result<Root, Failure> {
    place::project(folder).root.ok_or_else(|| {
        Failure::new(Code::CommandNotFound, format!("{} has no `.agent` folder", folder.display()))
            .hint("`lore commands new C1 C2 C3 --description TEXT` makes the first command")
    })
}

/// What stops a build.
fn refusal(problems: &[Problem]) -> Failure {
    let listed = problems.iter().take(20).map(|problem| {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}", problem.file, problem.message)
    });
    let message = format!("prompts cannot be understood:\n{}", listed.collect::<Vec<_>>().join("\n"));
    Failure::new(Code::InvalidConfig, message)
        .hint("nothing was written; correct them, or leave them out with `--force`")
}

/// Writes what was made. Where one cannot be written, those before it are as they were.
fn write_all(mut plans: Vec<Plan>, options: BuildOptions) -> Result<Vec<Built>, Failure> {
    if options.dry_run {
        return Ok(plans.into_iter().map(|plan| plan.built).collect());
    }
    for at in 0..plans.len() {
        let plan = &mut plans[at];
        if !plan.built.written {
            continue;
        }
        let registry = plan.built.registry.clone();
        let backup = if options.force { write::backup(&plan.root, &registry) } else { Ok(None) };
        let done = backup.and_then(|backup| {
            plan.built.backup = backup;
            write::replace(&plan.root, &registry, &plan.text)
        });
        if let Err(failure) = done {
            for plan in plans[..at].iter().filter(|plan| plan.built.written) {
                match (&plan.before, &plan.built.backup) {
                    (_, Some(backup)) => write::restore(&plan.root, &plan.built.registry, backup),
                    (Some(text), None) => drop(write::replace(&plan.root, &plan.built.registry, text)),
                    (None, None) => write::remove(&plan.root, &plan.built.registry),
                }
            }
            return Err(failure);
        }
    }
    Ok(plans.into_iter().map(|plan| plan.built).collect())
}

/// The registry that is there.
pub(super) struct Old {
    /// Its text, where it can be read.
    text: Option<String>,
    /// Its value, where it can be understood.
    file: Option<Value>,
    /// What it says besides its commands.
    rest: Map<String, Value>,
    /// Its entries as they are.
    pub(super) commands: Vec<Value>,
}

impl Old {
    /// Reads the file in every form that `lore commands list` understands. By force, what cannot be understood says nothing.
    pub(super) fn read(root: &Root, agent: &str, registry: &str, force: bool) -> Result<Self, Failure> {
        let empty = |text| Self { text, file: None, rest: Map::new(), commands: Vec::new() };
        let broken = |why: &str| Failure::new(Code::InvalidConfig, format!("{registry} cannot be understood: {why}"));
        let by_force = || {
            let of = if agent == DEFAULT_AGENT { String::new() } else { format!(" --agent {agent}") };
            format!(
                "correct it, or make it anew with `lore commands build{of} --force`, which keeps it as {registry}.bak"
            )
        };
        let text = match root.read(registry, REGISTRY_MAX) {
            Ok(content) => content.text,
            Err(Fault::Missing) => return Ok(empty(None)),
            Err(Fault::NotText(_) | Fault::TooLarge(_)) if force => return Ok(empty(None)),
            Err(fault @ (Fault::NotText(_) | Fault::TooLarge(_))) => {
                return Err(broken(&fault.to_string()).hint(by_force()));
            }
            Err(fault) => {
                return Err(
                    broken(&fault.to_string()).hint("move it away: a registry is a regular file in the project")
                );
            }
        };
        let plain = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let parsed = Registry::parse(plain)
            .and_then(|_| serde_json::from_str::<Value>(plain).map_err(|error| json_error(&error)));
        match parsed {
            Ok(value) => Ok(Self::of(value, text)),
            Err(_) if force => Ok(empty(Some(text))),
            Err(why) => Err(broken(&why).hint(by_force())),
        }
    }

    /// Takes a file apart: the entries may be under `tools`, beside it, or all there is.
    fn of(value: Value, text: String) -> Self {
        let file = Some(value.clone());
        let mut rest = match value {
            Value::Object(fields) => fields,
            other => Map::from_iter([("commands".to_owned(), other)]),
        };
        let under = rest.get_mut("tools").and_then(|tools| tools.get_mut("commands")).filter(|value| value.is_array());
        let taken = match under {
            Some(commands) => commands.take(),
            None => rest.shift_remove("commands").unwrap_or_default(),
        };
        let commands = if let Value::Array(commands) = taken { commands } else { Vec::new() };
        Self { text: Some(text), file, rest, commands }
    }

    /// The file with these entries under `tools`, and with what it says besides.
    pub(super) fn with_commands(&self, commands: Vec<Value>) -> Value {
        let mut file = self.rest.clone();
        if self.file.is_none() {
            file.insert("version".to_owned(), "1.0.0".into());
            file.insert("description".to_owned(), "Commands of this project".into());
        }
        let old = file.get_mut("tools").and_then(Value::as_object_mut).map(std::mem::take).unwrap_or_default();
        let mut tools = Map::new();
        // A file without that list gets none.
        if self.file.is_none() || old.contains_key("availableConfigs") {
            let mut configs = old.get("availableConfigs").and_then(Value::as_array).cloned().unwrap_or_default();
            let mut seen: HashSet<String> = configs.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            for c1 in commands.iter().filter_map(|entry| Command::read(entry).ok()).map(|command| command.name.c1) {
                if seen.insert(c1.clone()) {
                    configs.push(c1.into());
                }
            }
            tools.extend(old);
            tools.insert("availableConfigs".to_owned(), configs.into());
        } else {
            tools.extend(old);
        }
        tools.insert("commands".to_owned(), commands.into());
        file.insert("tools".to_owned(), tools.into());
        Value::Object(file)
    }

    /// The entries with what the prompts say, in their order, then the new ones; and what became of them.
    fn merged(
        &self,
        known: &[Option<CommandName>],
        survey: &Survey,
        said: &BTreeMap<&CommandName, &Said>,
    ) -> (Vec<Value>, Built) {
        let mut built = Built {
            agent: String::new(),
            registry: String::new(),
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            commands: 0,
            written: false,
            backup: None,
            problems: Vec::new(),
        };
        let is_bad = |c1: &str| survey.bad.iter().any(|(bad, _)| bad == c1);
        let mut commands = Vec::new();
        let mut seen = HashSet::new();
        for (entry, name) in self.commands.iter().zip(known) {
            let Some(name) = name.as_ref().filter(|name| seen.insert(*name)) else {
                // Nobody can say what it means, or it is there twice: that is for people to mend.
                commands.push(entry.clone());
                continue;
            };
            match said.get(name) {
                Some(said) => {
                    let made = merge(said, entry);
                    if made != *entry {
                        built.changed.push(name.clone());
                    }
                    commands.push(made);
                }
                None if survey.having.contains(name) || is_bad(&name.c1) => commands.push(entry.clone()),
                None => built.removed.push(name.clone()),
            }
        }
        for (name, said) in said.iter().filter(|(name, _)| !seen.contains(*name)) {
            commands.push(said.command.fields().into());
            built.added.push((*name).clone());
        }
        built.commands = seen.len() - built.removed.len() + built.added.len();
        (commands, built)
    }
}

/// What the prompts say of their commands, and what is wrong with prompts.
fn said(survey: &Survey) -> (BTreeMap<&CommandName, &Said>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut problem = |file: &str, line: Option<usize>, message: String| {
        problems.push(Problem { severity: Severity::Error, file: file.to_owned(), line, message });
    };
    for (_, bad) in &survey.bad {
        problem(&bad.file, bad.line, bad.why.clone());
    }
    let mut all = BTreeMap::new();
    for (name, prompts) in survey.by_command() {
        for prompt in prompts {
            match (&prompt.body, &prompt.front) {
                (Err(fault), _) => problem(&prompt.path, None, fault.to_string()),
                (_, Front::Bad(line, why)) => problem(&prompt.path, Some(*line), why.clone()),
                (_, Front::Says(said)) if said.command.name != *name => {
                    let other = &said.command.name;
                    let message = format!("the frontmatter names `{other}`, the file lies where `{name}` does");
                    problem(&prompt.path, Some(1), message);
                }
                (_, Front::Says(said)) => drop(all.entry(name).or_insert(said.as_ref())),
                (_, Front::None) => {}
            }
        }
    }
    (all, problems)
}

/// An entry with what the frontmatter says. Where that is what it says already, it stays as it is written.
fn merge(said: &Said, entry: &Value) -> Value {
    let unchanged = Command::read(entry).is_ok_and(|old| said.over(&old) == old);
    let Some(old) = entry.as_object().filter(|_| !unchanged) else { return entry.clone() };
    let mut made = old.clone();
    let mut fields = said.command.fields();
    if said.command.description.trim().is_empty() && made.contains_key("description") {
        fields.shift_remove("description");
    }
    if let Some(Value::Object(options)) = fields.shift_remove("options") {
        let mut all = made.get("options").and_then(Value::as_object).cloned().unwrap_or_default();
        // What earlier files call otherwise would be there twice.
        for (key, earlier) in [("edition", "input"), ("file", "input_file")] {
            if options.contains_key(key) {
                all.shift_remove(earlier);
            }
        }
        all.extend(options);
        made.insert("options".to_owned(), all.into());
    }
    if said.says_uv {
        if let Some(Value::Object(options)) = made.get_mut("options") {
            options.shift_remove("uv");
        }
        // Existing files have an empty text for none, and other programs read them.
        match made.get("uv") {
            Some(Value::String(_)) | None => {}
            Some(_) => drop(made.insert("uv".to_owned(), json!([]))),
        }
    }
    made.extend(fields);
    Value::Object(made)
}

/// The text of a file.
pub(super) fn pretty(file: &Value) -> String {
    let mut text = serde_json::to_string_pretty(file).unwrap_or_default();
    text.push('\n');
    text
}
