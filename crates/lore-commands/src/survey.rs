//! Every prompt file of an agent, and the commands they are prompts of.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::{
    Command, CommandName, DEFAULT_AGENT, name,
    profile::{BadProfile, CONFIG_DIR, Profile},
    prompt::{self, DEFAULT_VARIANT, PROMPT_MAX},
    registry,
    render::{PLACEHOLDERS, braced, is_placeholder},
    root::{Fault, Root, join},
};

/// So many prompts of one agent are looked at: more than a registry may have commands.
const PROMPTS_MAX: usize = 20_000;

/// So many names of one folder are looked at.
const NAMES_MAX: usize = 10_000;

/// So many different names in braces of one prompt are looked at.
const USES_MAX: usize = 200;

/// The prompts of an agent.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// In the order of their paths.
    pub(super) prompts: Vec<PromptFile>,
    /// Domains whose profile or folders cannot be used.
    pub(super) bad: Vec<(String, BadProfile)>,
    /// Commands that have a prompt file. Two domains may share a folder, so these may be more than the prompts name.
    pub(super) having: BTreeSet<CommandName>,
    /// What is too much to be looked at: then a prompt may be there that is not here.
    pub(super) limit: Option<String>,
}

/// One prompt file. Its text is not kept: there may be many.
#[derive(Debug)]
pub(super) struct PromptFile {
    /// From the folder in which `.agent` lies.
    pub(super) path: String,
    /// The command whose prompt it is, by the folders it lies in.
    pub(super) name: CommandName,
    pub(super) edition: String,
    pub(super) adaptation: Option<String>,
    /// What is known of the text below the frontmatter, or why the file cannot be read.
    pub(super) body: Result<Body, Fault>,
    pub(super) front: Front,
}

/// What is known of a prompt's text.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) is_empty: bool,
    /// Names in braces that are placeholders or look like one, each with the line of the file that has it first.
    pub(super) uses: Vec<(String, usize)>,
    /// Whether there are more of them.
    pub(super) more: bool,
}

/// What the frontmatter of a prompt says.
#[derive(Debug)]
pub(super) enum Front {
    /// There is none, or it names no command: the prompt is for something else.
    None,
    /// It cannot be understood: on which line of the file, and why.
    Bad(usize, String),
    /// It describes a command.
    Says(Box<Said>),
}

/// The description of a command in a frontmatter.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) command: Command,
    /// Whether variables are mentioned at all.
    pub(super) says_uv: bool,
    /// What is not what it should be.
    pub(super) odd: Vec<String>,
}

impl Said {
    /// The entry of a registry with what is said here; what is not said here stays.
    pub(super) fn over(&self, entry: &Command) -> Command {
        let mut made = entry.clone();
        let Command { name: _, description, usage, options, uv } = &self.command;
        if !description.trim().is_empty() {
            made.description.clone_from(description);
        }
        if usage.is_some() {
            made.usage.clone_from(usage);
        }
        if let Some(said) = options {
            let old = made.options.unwrap_or_default();
            made.options = Some(super::CommandOptions {
                edition: said.edition.clone().or(old.edition),
                adaptation: said.adaptation.clone().or(old.adaptation),
                file: said.file.or(old.file),
                stdin: said.stdin.or(old.stdin),
                destination: said.destination.or(old.destination),
            });
        }
        if self.says_uv {
            made.uv.clone_from(uv);
        }
        made
    }
}

impl Survey {
    /// Looks for the prompts of an agent: those of its profiles, of the domains in `known`, and of its `prompts` folder.
    pub(super) fn of(root: &Root, agent: &str, known: impl Iterator<Item = String>) -> Self {
        let mut domains: Vec<String> = known.chain(profiles(root, agent)).collect();
        let folders = root.list(&format!(".agent/{agent}/prompts"), NAMES_MAX).into_iter();
        domains.extend(folders.filter(|(name, is_folder)| *is_folder && name::is_name(name)).map(|(name, _)| name));
        let mut seen = HashSet::new();
        domains.retain(|domain| seen.insert(domain.clone()));
        let mut survey = Self::default();
        // Two domains may have one folder: the first is meant, unless the frontmatter says the other.
        let mut found: BTreeMap<String, Found> = BTreeMap::new();
        for c1 in domains {
            let profile = match Profile::find(std::slice::from_ref(root), root, agent, &c1) {
                Ok(profile) => profile,
                Err(bad) => {
                    survey.bad.push((c1, bad));
                    continue;
                }
            };
            let files = survey.files(root, &profile.prompts);
            let files = files.unwrap_or_else(|(folder, fault)| {
                survey.bad.push((c1.clone(), BadProfile { file: folder, line: None, why: fault.to_string() }));
                Vec::new()
            });
            for (c2, c3, file) in files {
                survey.having.insert(CommandName::new(c1.as_str(), c2.as_str(), c3.as_str()));
                let path = join(&join(&join(&profile.prompts, &c2), &c3), &file);
                let at = found.entry(path).or_insert_with(|| Found {
                    domains: Vec::new(),
                    base: profile.prompts.clone(),
                    c2,
                    c3,
                    file,
                });
                at.domains.push(c1.clone());
            }
        }
        if found.len() > PROMPTS_MAX {
            survey.limit = Some(format!("there are more than {PROMPTS_MAX} prompts"));
        }
        for (path, found) in found.into_iter().take(PROMPTS_MAX) {
            survey.prompts.extend(PromptFile::read(root, path, found));
        }
        survey
    }

    /// The prompt files below a folder: action, target and file. Or the folder that cannot be read.
    fn files(&mut self, root: &Root, prompts: &str) -> Result<Vec<Place>, (String, Fault)> {
        let mut names = |folder: &str| match root.list_in(prompts, folder, NAMES_MAX) {
            Ok(listed) => {
                if listed.more {
                    self.limit = Some(format!("there are more than {NAMES_MAX} names in {folder}"));
                }
                Ok(listed.names)
            }
            Err(Fault::Missing) => Ok(Vec::new()),
            Err(fault) => Err((folder.to_owned(), fault)),
        };
        let is_named_folder = |(name, is_folder): &(String, bool)| *is_folder && name::is_name(name);
        let mut found = Vec::new();
        for (c2, _) in names(prompts)?.into_iter().filter(is_named_folder) {
            let action = join(prompts, &c2);
            for (c3, _) in names(&action)?.into_iter().filter(is_named_folder) {
                for (file, is_folder) in names(&join(&action, &c3))? {
                    if !is_folder && prompt::variant(&file).is_some() && found.len() <= PROMPTS_MAX {
                        found.push((c2.clone(), c3.clone(), file));
                    }
                }
            }
        }
        Ok(found)
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

/// Action, target and file of a prompt.
type Place = (String, String, String);

/// A prompt file before it is read.
struct Found {
    domains: Vec<String>,
    base: String,
    c2: String,
    c3: String,
    file: String,
}

impl PromptFile {
    fn read(root: &Root, path: String, found: Found) -> Option<Self> {
        let Found { domains, base, c2, c3, file } = found;
        let (edition, adaptation) = prompt::variant(&file)?;
        let (edition, adaptation) = (edition.to_owned(), adaptation.map(str::to_owned));
        let (body, front) = match root.read_in(&base, &path, PROMPT_MAX) {
            Err(fault) => (Err(fault), Front::None),
            Ok(content) => {
                let parts = prompt::split(&content.text);
                let above = &content.text[..content.text.len() - parts.body.len()];
                let starts = 1 + above.matches('\n').count();
                (Ok(Body::of(parts.body, starts)), parts.frontmatter.map_or(Front::None, Front::read))
            }
        };
        let said = match &front {
            Front::Says(said) => domains.iter().find(|domain| **domain == said.command.name.c1),
            Front::None | Front::Bad(..) => None,
        };
        let c1 = said.or(domains.first())?.clone();
        Some(Self { path, name: CommandName { c1, c2, c3 }, edition, adaptation, body, front })
    }

    /// Whether it is what is taken where nothing is asked for.
    pub(super) fn is_default(&self) -> bool {
        self.edition == DEFAULT_VARIANT && self.adaptation.is_none()
    }
}

impl Body {
    /// Looks through a text that begins on this line of its file.
    fn of(text: &str, starts: usize) -> Self {
        let mut body = Self { is_empty: text.trim().is_empty(), ..Self::default() };
        let mut seen = HashSet::new();
        let (mut line, mut counted) = (starts, 0);
        for (at, _) in text.match_indices('{') {
            let Some(name) = braced(&text[at..]).filter(|name| is_placeholder(name) || is_near(name)) else { continue };
            if !seen.insert(name) {
                continue;
            }
            if body.uses.len() >= USES_MAX {
                body.more = true;
                break;
            }
            line += text[counted..at].matches('\n').count();
            counted = at;
            body.uses.push((name.to_owned(), line));
        }
        body
    }
}

/// Whether a name differs from a placeholder only in how it is written.
fn is_near(name: &str) -> bool {
    let plain = |name: &str| name.replace(['-', '_', ' '], "").to_lowercase();
    name.len() < 40 && (name.starts_with("uv_") || PLACEHOLDERS.iter().any(|known| plain(known) == plain(name)))
}

impl Front {
    fn read(frontmatter: &str) -> Self {
        let value: Value = match prompt::fields(frontmatter) {
            Err((line, why)) => return Self::Bad(line, why),
            Ok(value) => value,
        };
        // Prompts for the steps of an agent have an action and a target at most.
        if value.get("c1").is_none() {
            return Self::None;
        }
        match Command::read(&value) {
            Ok(command) => {
                let nested = value.get("options").and_then(|options| options.get("uv"));
                let says_uv = value.get("uv").or(nested).is_some_and(|uv| !uv.is_null());
                Self::Says(Box::new(Said { command, says_uv, odd: registry::oddities(&value) }))
            }
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
