//! Makes `registry.json` from the frontmatter of the prompt files.
//!
//! What the frontmatter does not say is kept: version, description and other fields of the file, fields of an entry that
//! are not ours, and entries whose prompts have no frontmatter.

use std::{collections::BTreeMap, path::Path};

use lore_model::{Code, Failure};
use serde_json::{Map, Value, json};

use super::{
    Command, CommandName, Commands, Problem, Severity, place,
    registry::{REGISTRY_MAX, Registry, json_error},
    root::{Fault, Root},
    survey::{Front, Survey},
    write,
};

/// How a registry is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuildOptions {
    /// Say what would change, and write nothing.
    pub dry_run: bool,
    /// Leave out prompts that cannot be understood instead of stopping.
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
    /// Prompts that were left out.
    pub problems: Vec<Problem>,
}

impl Commands {
    /// Makes the registry of one agent.
    pub fn build(&self, folder: &Path, agent: &str, options: BuildOptions) -> Result<Built, Failure> {
        let agent = super::name::agent(agent)?;
        let project = place::project(folder);
        let none = || {
            Failure::new(Code::CommandNotFound, format!("{} has no `.agent` folder", folder.display()))
                .hint("`lore commands new C1 C2 C3 --description TEXT` makes the first command")
        };
        let root = project.root.ok_or_else(none)?;
        let registry = self.registry_path(std::slice::from_ref(&root), agent, &mut Vec::new());
        let old = read_old(&root, &registry, options.force)?;
        let entries = entries_of(&old);
        let known: Vec<String> = entries.keys().map(|name| name.c1.clone()).collect();
        let survey = Survey::of(&root, agent, known.into_iter());
        if survey.prompts.is_empty() && entries.is_empty() {
            let where_to =
                format!("write prompts to .agent/{agent}/prompts/C1/C2/C3/f_default.md, or run `lore commands new`");
            return Err(
                Failure::new(Code::CommandNotFound, format!("the agent `{agent}` has no prompts")).hint(where_to)
            );
        }
        let (fresh, problems) = fresh(&survey, &entries);
        if !problems.is_empty() && !options.force {
            let listed = problems.iter().take(20).map(|problem| {
                let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{}{line}: {}", problem.file, problem.message)
            });
            let message = format!("prompts cannot be understood:\n{}", listed.collect::<Vec<_>>().join("\n"));
            return Err(
                Failure::new(Code::InvalidConfig, message).hint("correct them, or leave them out with `--force`")
            );
        }
        let before = |name: &CommandName| entries.get(name);
        let mut built = Built {
            agent: agent.to_owned(),
            added: fresh.keys().filter(|name| before(name).is_none()).cloned().collect(),
            removed: entries.keys().filter(|name| !fresh.contains_key(name)).cloned().collect(),
            changed: fresh
                .iter()
                .filter(|(name, entry)| before(name).is_some_and(|old| old != *entry))
                .map(|(name, _)| name.clone())
                .collect(),
            commands: fresh.len(),
            registry,
            written: false,
            problems,
        };
        let text = file_text(&old, &fresh);
        built.written = root.read(&built.registry, REGISTRY_MAX).map_or(true, |content| content.text != text);
        if built.written && !options.dry_run {
            write::replace(&root, &built.registry, &text)?;
        }
        Ok(built)
    }
}

/// The file as it is; an empty object where there is none.
pub(super) fn read_old(root: &Root, registry: &str, force: bool) -> Result<Value, Failure> {
    let broken = |why: String| {
        Failure::new(Code::InvalidConfig, format!("{registry} cannot be understood: {why}"))
            .hint("correct it, or make it anew with `lore commands build --force`")
    };
    let text = match root.read(registry, REGISTRY_MAX) {
        Ok(content) => content.text,
        Err(Fault::Missing) => return Ok(json!({})),
        Err(fault) => return Err(broken(fault.to_string())),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(Value::Array(commands)) => Ok(json!({"tools": {"commands": commands}})),
        Ok(_) | Err(_) if force => Ok(json!({})),
        Ok(_) => Err(broken("it is not an object".to_owned())),
        Err(error) => Err(broken(json_error(&error))),
    }
}

/// The entries of a registry by name, the first of each; what cannot be understood is not among them.
fn entries_of(file: &Value) -> BTreeMap<CommandName, Value> {
    let listed = file.pointer("/tools/commands").or_else(|| file.get("commands")).and_then(Value::as_array);
    let mut entries = BTreeMap::new();
    for entry in listed.into_iter().flatten() {
        if let Ok(command) = Command::read(entry) {
            entries.entry(command.name).or_insert_with(|| entry.clone());
        }
    }
    entries
}

/// The entries that the prompts make, and what is wrong with prompts.
fn fresh(survey: &Survey, old: &BTreeMap<CommandName, Value>) -> (BTreeMap<CommandName, Value>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut problem = |file: &str, line: Option<usize>, message: String| {
        problems.push(Problem { severity: Severity::Error, file: file.to_owned(), line, message });
    };
    for bad in &survey.bad_profiles {
        problem(&bad.file, bad.line, bad.why.clone());
    }
    let mut entries = BTreeMap::new();
    for (name, prompts) in survey.by_command() {
        let mut said = None;
        let mut is_bad = false;
        for prompt in prompts {
            match (&prompt.body, &prompt.front) {
                (Err(fault), _) => problem(&prompt.path, None, fault.to_string()),
                (_, Front::Bad(line, why)) => problem(&prompt.path, Some(*line), why.clone()),
                (_, Front::Says(command)) if command.name != *name => {
                    let message =
                        format!("the frontmatter names `{}`, the file lies where `{name}` does", command.name);
                    problem(&prompt.path, Some(1), message);
                }
                (_, Front::Says(command)) => {
                    said.get_or_insert(command);
                    continue;
                }
                (_, Front::None) => continue,
            }
            is_bad = true;
        }
        let before = old.get(name);
        let entry = match (said, before) {
            (Some(command), before) => Some(entry_json(command, before)),
            (None, Some(before)) => Some(before.clone()),
            (None, None) => None,
        };
        // What is only half understood keeps its entry.
        let entry = if is_bad && said.is_none() { before.cloned() } else { entry };
        entries.extend(entry.map(|entry| (name.clone(), entry)));
    }
    (entries, problems)
}

/// An entry, over what the old one says besides.
pub(super) fn entry_json(command: &Command, before: Option<&Value>) -> Value {
    let CommandName { c1, c2, c3 } = &command.name;
    let mut entry = Map::new();
    for (key, value) in [("c1", c1), ("c2", c2), ("c3", c3), ("description", &command.description)] {
        entry.insert(key.to_owned(), value.as_str().into());
    }
    if let Some(usage) = &command.usage {
        entry.insert("usage".to_owned(), usage.as_str().into());
    }
    if let Some(options) = &command.options {
        let mut fields = Map::new();
        let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| json!(list));
        for (key, value) in [
            ("edition", list(&options.edition)),
            ("adaptation", list(&options.adaptation)),
            ("file", options.file.map(Value::from)),
            ("stdin", options.stdin.map(Value::from)),
            ("destination", options.destination.map(Value::from)),
        ] {
            fields.extend(value.map(|value| (key.to_owned(), value)));
        }
        entry.insert("options".to_owned(), fields.into());
    }
    let uv: Vec<Value> = command
        .uv
        .iter()
        .map(|variable| Value::Object(Map::from_iter([(variable.name.clone(), variable.about.as_str().into())])))
        .collect();
    let old_uv = before.and_then(|before| before.get("uv"));
    match (uv.is_empty(), old_uv) {
        (false, _) => drop(entry.insert("uv".to_owned(), uv.into())),
        // Existing files have a text there, and other programs read them.
        (true, Some(Value::String(none))) => drop(entry.insert("uv".to_owned(), none.as_str().into())),
        (true, _) => {}
    }
    let ours = ["c1", "c2", "c3", "description", "usage", "options", "uv"];
    let others = before.and_then(Value::as_object).into_iter().flatten();
    entry.extend(
        others.filter(|(key, _)| !ours.contains(&key.as_str())).map(|(key, value)| (key.clone(), value.clone())),
    );
    Value::Object(entry)
}

/// The file with these entries, and with what it says besides.
pub(super) fn file_text(old: &Value, entries: &BTreeMap<CommandName, Value>) -> String {
    let mut file = Map::new();
    let mut old = old.as_object().cloned().unwrap_or_default();
    let mut tools = old.shift_remove("tools").and_then(|tools| tools.as_object().cloned()).unwrap_or_default();
    old.shift_remove("commands");
    file.insert("version".to_owned(), old.shift_remove("version").unwrap_or_else(|| "1.0.0".into()));
    file.insert(
        "description".to_owned(),
        old.shift_remove("description").unwrap_or_else(|| "Commands of this project".into()),
    );
    file.extend(old);
    let named = tools.get("availableConfigs").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut configs: Vec<String> = named.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    for name in entries.keys() {
        if !configs.contains(&name.c1) {
            configs.push(name.c1.clone());
        }
    }
    tools.shift_remove("commands");
    let mut first = Map::from_iter([("availableConfigs".to_owned(), json!(configs))]);
    tools.shift_remove("availableConfigs");
    first.extend(tools);
    first.insert("commands".to_owned(), entries.values().cloned().collect());
    file.insert("tools".to_owned(), first.into());
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    debug_assert!(Registry::parse(&text).is_ok_and(|read| read.problems.is_empty()), "what is written can be read");
    text
}
