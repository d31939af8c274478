//! Every prompt file of an agent, and the commands they are prompts of.

use std::collections::BTreeMap;

use super::{
    Command, CommandName, DEFAULT_AGENT, name,
    profile::{BadProfile, CONFIG_DIR, Profile},
    prompt::{self, DEFAULT_VARIANT, PROMPT_MAX},
    root::{Fault, Root, join},
};

/// So many prompts of one agent are looked at.
const PROMPTS_MAX: usize = 5000;

/// So many names of one folder are looked at.
const NAMES_MAX: usize = 1000;

/// The prompts of an agent.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// In the order of their paths.
    pub(super) prompts: Vec<PromptFile>,
    /// Profiles that cannot be used.
    pub(super) bad_profiles: Vec<BadProfile>,
}

/// One prompt file.
#[derive(Debug)]
pub(super) struct PromptFile {
    /// From the folder in which `.agent` lies.
    pub(super) path: String,
    /// The command whose prompt it is, by the folders it lies in.
    pub(super) name: CommandName,
    pub(super) edition: String,
    pub(super) adaptation: Option<String>,
    /// The text below the frontmatter, or why the file cannot be read.
    pub(super) body: Result<String, Fault>,
    /// The line of the file on which that begins.
    pub(super) body_starts: usize,
    pub(super) front: Front,
}

/// What the frontmatter of a prompt says.
#[derive(Debug)]
pub(super) enum Front {
    /// There is none, or it names no command: the prompt is for something else.
    None,
    /// It cannot be understood: on which line of the file, and why.
    Bad(usize, String),
    /// It describes this command, in these words.
    Says(Box<Command>),
}

impl Survey {
    /// Looks for the prompts of an agent: those of its profiles, of the domains in `known`, and of its `prompts` folder.
    pub(super) fn of(root: &Root, agent: &str, known: impl Iterator<Item = String>) -> Self {
        let mut domains: Vec<String> = known.chain(profiles(root, agent)).collect();
        let folders = root.list(&format!(".agent/{agent}/prompts"), NAMES_MAX).into_iter();
        domains.extend(folders.filter(|(name, is_folder)| *is_folder && name::is_name(name)).map(|(name, _)| name));
        let mut seen = std::collections::HashSet::new();
        domains.retain(|domain| seen.insert(domain.clone()));
        let mut survey = Self::default();
        // Two domains may have one folder: the first is meant, unless the frontmatter says the other.
        let mut found: BTreeMap<String, (Vec<String>, String, String, String)> = BTreeMap::new();
        for c1 in domains {
            let profile = match Profile::find(std::slice::from_ref(root), root, agent, &c1) {
                Ok(profile) => profile,
                Err(bad) => {
                    survey.bad_profiles.push(bad);
                    continue;
                }
            };
            for (c2, c3, file) in files(root, &profile.prompts) {
                let path = join(&join(&join(&profile.prompts, &c2), &c3), &file);
                found.entry(path).or_insert_with(|| (Vec::new(), c2, c3, file)).0.push(c1.clone());
            }
        }
        for (path, (domains, c2, c3, file)) in found.into_iter().take(PROMPTS_MAX) {
            survey.prompts.extend(PromptFile::read(root, path, &domains, (c2, c3), &file));
        }
        survey
    }

    /// The prompts of each command, the default one first.
    pub(super) fn by_command(&self) -> BTreeMap<&CommandName, Vec<&PromptFile>> {
        let mut commands: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for prompt in &self.prompts {
            commands.entry(&prompt.name).or_default().push(prompt);
        }
        for prompts in commands.values_mut() {
            prompts.sort_by_key(|prompt| (!prompt.is_default(), prompt.path.clone()));
        }
        commands
    }
}

impl PromptFile {
    fn read(root: &Root, path: String, domains: &[String], (c2, c3): (String, String), file: &str) -> Option<Self> {
        let (edition, adaptation) = prompt::variant(file)?;
        let (edition, adaptation) = (edition.to_owned(), adaptation.map(str::to_owned));
        let (body, body_starts, front) = match root.read(&path, PROMPT_MAX) {
            Err(fault) => (Err(fault), 1, Front::None),
            Ok(content) => {
                let parts = prompt::split(&content.text);
                let above = &content.text[..content.text.len() - parts.body.len()];
                let starts = 1 + above.matches('\n').count();
                (Ok(parts.body.to_owned()), starts, parts.frontmatter.map_or(Front::None, Front::read))
            }
        };
        let said = match &front {
            Front::Says(command) => domains.iter().find(|domain| **domain == command.name.c1),
            Front::None | Front::Bad(..) => None,
        };
        let c1 = said.or(domains.first())?.clone();
        Some(Self { path, name: CommandName { c1, c2, c3 }, edition, adaptation, body, body_starts, front })
    }

    /// Whether it is what is taken where nothing is asked for.
    pub(super) fn is_default(&self) -> bool {
        self.edition == DEFAULT_VARIANT && self.adaptation.is_none()
    }
}

impl Front {
    fn read(frontmatter: &str) -> Self {
        let value = match prompt::fields(frontmatter) {
            Err((line, why)) => return Self::Bad(line, why),
            Ok(value) => value,
        };
        // Prompts for the steps of an agent have an action and a target at most.
        if value.get("c1").is_none() {
            return Self::None;
        }
        match Command::read(&value) {
            Ok(command) => Self::Says(Box::new(command)),
            Err(why) => Self::Bad(1, why),
        }
    }
}

/// The domains that have a profile of this agent.
fn profiles(root: &Root, agent: &str) -> Vec<String> {
    let names = root.list(CONFIG_DIR, NAMES_MAX).into_iter();
    let profiles: Vec<String> =
        names.filter_map(|(name, _)| name.strip_suffix("-app.yml").map(str::to_owned)).collect();
    if agent != DEFAULT_AGENT {
        let domain = |profile: &String| profile.strip_prefix(agent)?.strip_prefix('-').map(str::to_owned);
        return profiles.iter().filter_map(domain).filter(|domain| name::is_name(domain)).collect();
    }
    // `iterator-dev` is the domain `dev` of the agent `iterator`, where there is such an agent.
    let others: Vec<String> = root.list(".agent", NAMES_MAX).into_iter().map(|(name, _)| format!("{name}-")).collect();
    let is_other =
        |profile: &String| others.iter().any(|other| other != "climpt-" && profile.starts_with(other.as_str()));
    profiles.into_iter().filter(|profile| name::is_name(profile) && !is_other(profile)).collect()
}

/// The prompt files below a folder: action, target and file.
fn files(root: &Root, prompts: &str) -> Vec<(String, String, String)> {
    let folders = |folder: &str| {
        let names = root.list(folder, NAMES_MAX).into_iter();
        names.filter(|(name, is_folder)| *is_folder && name::is_name(name)).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for c2 in folders(prompts) {
        for c3 in folders(&join(prompts, &c2)) {
            for (file, is_folder) in root.list(&join(&join(prompts, &c2), &c3), NAMES_MAX) {
                if !is_folder && prompt::variant(&file).is_some() && found.len() < PROMPTS_MAX {
                    found.push((c2.clone(), c3.clone(), file));
                }
            }
        }
    }
    found
}
