//! The team's commands: prompts kept in the repository, found by words and rendered for an agent.
//!
//! Reading starts no program, asks no network and writes nothing; only [`Commands::build`] and [`Commands::create`] write,
//! and they only write below the project, where its configuration says (`.agent` unless it says otherwise), and never in
//! `.git`. The files are looked at in every call, so what somebody edits counts at once.
#![forbid(unsafe_code)]

mod build;
mod check;
mod complete;
mod create;
mod error;
mod execute;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod glossary;
mod name;
mod place;
mod profile;
mod prompt;
mod rank;
mod registry;
mod render;
mod root;
mod survey;
#[cfg(test)]
mod tests;
mod tokens;
mod watched;
mod write;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub use build::{BuildOptions, Built};
pub use check::{Checked, Problem, Severity};
pub use complete::{Completion, Variants};
pub use create::{Created, NewCommand};
pub use error::CommandError;
pub use execute::{ExecuteOptions, Rendered};
pub use name::CommandName;
pub use registry::{Command, CommandOptions, Variable};

use lore_model::{Code, Failure, closest};
use profile::CONFIG_DIR;
use registry::{REGISTRY_MAX, Registry};
use root::Root;
use watched::Watched;

/// The agent that is meant where none is named.
pub const DEFAULT_AGENT: &str = "climpt";

/// More agents than that are not listed.
const AGENTS_MAX: usize = 100;

/// More entries that make no sense are only counted.
const NOTES_MAX: usize = 5;

/// Answers questions about the commands of a project.
#[derive(Debug)]
pub struct Commands {
    home: Option<PathBuf>,
    known: Mutex<Known>,
}

/// What was read so far.
#[derive(Debug, Default)]
struct Known {
    configs: Watched<BTreeMap<String, String>>,
    registries: Watched<Registry>,
}

/// A command that was found by words.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The command.
    pub command: Command,
    /// How well it fits, above 0 and at most 1.
    pub score: f64,
}

/// What an answer is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The agent.
    pub agent: String,
    /// The registry, from the folder in which `.agent` lies.
    pub registry: String,
    /// That folder.
    pub folder: PathBuf,
    /// What is wrong with files that were needed: the answer is from what could be understood.
    pub notes: Vec<String>,
}

/// The commands of one agent.
#[derive(Debug)]
pub struct AgentCommands {
    /// The agent.
    pub agent: String,
    /// Its commands and where they are from, or why there are none.
    pub commands: Result<(Origin, Vec<Command>), CommandError>,
}

/// A registry that could be read.
struct Located {
    root: Root,
    registry: Arc<Registry>,
    /// Why the file cannot be read now, where the registry is what it held before.
    fault: Option<String>,
    origin: Origin,
}

impl Commands {
    /// Knows the home directory's registries besides the project's; touches no file.
    pub fn new(home: Option<PathBuf>) -> Self {
        Self { home, known: Mutex::default() }
    }

    /// The commands that a question means, best first.
    pub fn search(&self, folder: &Path, agent: &str, query: &str) -> Result<(Origin, Vec<Hit>), CommandError> {
        if query.trim().is_empty() {
            return Err(Failure::new(Code::InvalidArgument, "`query` is empty")
                .hint("say what you want to do: `commit my changes in groups`")
                .into());
        }
        let Located { registry, origin, .. } = self.locate(folder, agent)?;
        let hit = |(at, score): (usize, f64)| Hit { command: registry.entries[at].command.clone(), score };
        Ok((origin, registry.index.search(query).into_iter().map(hit).collect()))
    }

    /// The command of that name.
    pub fn describe(&self, folder: &Path, agent: &str, name: &CommandName) -> Result<(Origin, Command), CommandError> {
        let Located { registry, origin, .. } = self.locate(folder, agent)?;
        match find(&registry, agent, name) {
            Some(command) => Ok((origin, command.clone())),
            None => Err(not_found(&registry, name)),
        }
    }

    /// Reads everything again, and gives how many commands there are. Fails where the file cannot be read now; the registry
    /// that was read before then stays in use.
    pub fn reload(&self, folder: &Path, agent: &str) -> Result<(Origin, usize), CommandError> {
        let agent = name::agent(agent)?;
        let roots = self.roots(folder);
        for root in &roots {
            self.known().configs.forget(root, &config_file());
        }
        let path = self.registry_path(&roots, agent, &mut Vec::new());
        for root in &roots {
            self.known().registries.forget(root, &path);
        }
        let Located { registry, fault, origin, .. } = self.locate(folder, agent)?;
        if let Some(details) = fault {
            let hint = format!(
                "correct the file and call `reload` again; until then the {} read from it before stay in use",
                match registry.commands().count() {
                    1 => "1 command".to_owned(),
                    count => format!("{count} commands"),
                }
            );
            return Err(CommandError::Registry { path: origin.registry, details, missing: false, hint });
        }
        Ok((origin, registry.commands().count()))
    }

    /// Every agent of the project and the home directory, with its commands. There is always `climpt`, and it is first.
    pub fn list(&self, folder: &Path) -> Vec<AgentCommands> {
        let agents = self.agents(folder).into_iter();
        let commands = |agent: String| {
            let commands = self.locate(folder, &agent).map(|located| {
                let commands = located.registry.commands().cloned().collect();
                (located.origin, commands)
            });
            AgentCommands { agent, commands }
        };
        agents.map(commands).collect()
    }

    /// A number that changes when the commands of a project may have changed.
    pub fn stamp(&self, folder: &Path) -> u64 {
        let roots = self.roots(folder);
        let mut hasher = DefaultHasher::new();
        for agent in self.agents(folder) {
            let path = self.registry_path(&roots, &agent, &mut Vec::new());
            agent.hash(&mut hasher);
            for root in &roots {
                (root, root.stamp(&path)).hash(&mut hasher);
            }
        }
        for root in &roots {
            root.stamp(&config_file()).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The agents that have a registry or are configured, `climpt` first.
    pub fn agents(&self, folder: &Path) -> Vec<String> {
        let roots = self.roots(folder);
        let mut agents = vec![DEFAULT_AGENT.to_owned()];
        let configured = self.config(&roots, &mut Vec::new());
        let folders = roots.iter().flat_map(|root| {
            let names = root.list(".agent", 1000).into_iter();
            names.filter(|(name, is_folder)| *is_folder && root.has_file(&default_registry(name))).map(|(name, _)| name)
        });
        let mut others: Vec<String> = configured
            .iter()
            .flat_map(|config| config.keys().cloned())
            .chain(folders)
            .filter(|name| name::is_name(name))
            .collect();
        others.sort();
        others.dedup();
        agents.extend(others.into_iter().filter(|agent| agent != DEFAULT_AGENT));
        agents.truncate(AGENTS_MAX);
        agents
    }

    /// The folders that are looked in, best first: the project's, then the home directory.
    fn roots(&self, folder: &Path) -> Vec<Root> {
        let project = place::project(folder).root;
        let home = self.home.as_deref().and_then(|home| Root::open(home).ok()).filter(|home| home.has(".agent"));
        let home = home.filter(|home| project.as_ref() != Some(home));
        project.into_iter().chain(home).collect()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `registry_config.json` says: the project's, or the home directory's where the project has none.
    fn config(&self, roots: &[Root], notes: &mut Vec<String>) -> Option<Arc<BTreeMap<String, String>>> {
        let file = config_file();
        for root in roots {
            let state = self.known().configs.get((root, &file), 1 << 20, parse_config);
            if let Some(state) = state {
                notes.extend(state.fault.map(|fault| broken(&file, &fault, state.good.is_some())));
                return state.good;
            }
        }
        None
    }

    /// Where the registry of an agent is said to be, from the folder in which `.agent` lies.
    fn registry_path(&self, roots: &[Root], agent: &str, notes: &mut Vec<String>) -> String {
        let configured = self.config(roots, notes).and_then(|config| config.get(agent).cloned());
        configured.unwrap_or_else(|| default_registry(agent))
    }

    /// The registry of an agent.
    fn locate(&self, folder: &Path, agent: &str) -> Result<Located, CommandError> {
        let agent = name::agent(agent)?;
        let roots = self.roots(folder);
        let mut notes = Vec::new();
        let path = self.registry_path(&roots, agent, &mut notes);
        for root in &roots {
            let state = self.known().registries.get((root, &path), REGISTRY_MAX, Registry::parse);
            let Some(state) = state else { continue };
            let Some(registry) = state.good else {
                let details = state.fault.unwrap_or_default();
                let of = if agent == DEFAULT_AGENT { String::new() } else { format!(" --agent {agent}") };
                let hint = format!(
                    "correct the file, or make it anew from the prompt files with `lore commands build{of} --force`"
                );
                return Err(CommandError::Registry { path, details, missing: false, hint });
            };
            notes.extend(state.fault.as_ref().map(|fault| broken(&path, fault, true)));
            let problems = registry.problems.iter().map(|(line, why)| format!("{path}:{line}: passed over: {why}"));
            notes.extend(problems.take(NOTES_MAX));
            if registry.problems.len() > NOTES_MAX {
                notes
                    .push(format!("{} more like this: see `lore commands check`", registry.problems.len() - NOTES_MAX));
            }
            let origin = Origin { agent: agent.to_owned(), registry: path, folder: root.path().to_owned(), notes };
            return Ok(Located { root: root.clone(), registry, fault: state.fault, origin });
        }
        let others = self.agents(folder).into_iter().filter(|other| other != agent && self.has_registry(&roots, other));
        let others: Vec<String> = others.take(20).collect();
        let is_configured = path != default_registry(agent);
        let hint = if is_configured {
            let config = config_file();
            format!("{config} names that file: correct it there, or run `lore commands build` to make the file")
        } else if others.is_empty() {
            "this project has no commands yet: `lore commands new C1 C2 C3 --description TEXT` makes the first one"
                .to_owned()
        } else {
            format!("there are commands of: {}; `lore commands new` makes one", others.join(", "))
        };
        let details = root::Fault::Missing.to_string();
        Err(CommandError::Registry { path, details, missing: true, hint })
    }

    fn has_registry(&self, roots: &[Root], agent: &str) -> bool {
        let path = self.registry_path(roots, agent, &mut Vec::new());
        roots.iter().any(|root| root.has_file(&path))
    }
}

fn config_file() -> String {
    format!("{CONFIG_DIR}/registry_config.json")
}

fn default_registry(agent: &str) -> String {
    format!(".agent/{agent}/registry.json")
}

fn broken(file: &str, fault: &str, has_last: bool) -> String {
    let instead = if has_last { "what it said before is used" } else { "it is passed over" };
    format!("{file} cannot be understood ({fault}): {instead}")
}

fn parse_config(text: &str) -> Result<BTreeMap<String, String>, String> {
    #[derive(serde::Deserialize)]
    struct Config {
        #[serde(default)]
        registries: BTreeMap<String, String>,
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let config: Config = serde_json::from_str(text).map_err(|error| registry::json_error(&error))?;
    Ok(config.registries)
}

/// The command of that name. The name of the program (`climpt-git`) is taken for the domain (`git`), as usages say it so.
fn find<'a>(registry: &'a Registry, agent: &str, name: &CommandName) -> Option<&'a Command> {
    registry.find(name).or_else(|| {
        let c1 = name.c1.strip_prefix(agent)?.strip_prefix('-')?;
        registry.find(&CommandName { c1: c1.to_owned(), ..name.clone() })
    })
}

fn not_found(registry: &Registry, name: &CommandName) -> CommandError {
    let names: Vec<String> = registry.commands().map(|command| command.name.to_string()).collect();
    let near = closest(&name.to_string(), names.iter().map(String::as_str)).map(str::to_owned);
    CommandError::NotFound { name: name.clone(), near }
}
