//! `<profile>-app.yml` and `<profile>-user.yml`: where a domain's prompts lie, and its rules for names and destinations.
//!
//! Neither file is needed, and neither is ever made here. Without the first one the prompts of domain `c1` lie in
//! `.agent/<agent>/prompts/<c1>`.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::{
    CommandName, DEFAULT_AGENT,
    root::{Fault, Root, clean, join},
};

/// Where the files lie.
pub(super) const CONFIG_DIR: &str = ".agent/climpt/config";

/// A longer file is no configuration.
const CONFIG_MAX: u64 = 1 << 20;

/// A pattern that needs more than that is an attack or a mistake.
const PATTERN_BYTES: usize = 1 << 20;

/// What the two files say.
#[derive(Debug)]
pub(super) struct Profile {
    /// The folder from which the paths are.
    pub(super) root: Root,
    /// Where the prompts lie.
    pub(super) prompts: String,
    /// Where the schemas lie.
    pub(super) schemas: String,
    /// What is put before destinations.
    pub(super) prefix: Option<String>,
    directive: Option<Pattern>,
    layer: Option<Pattern>,
    /// What a reader of the answer should know.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
struct Pattern {
    text: String,
    regex: Regex,
}

/// Whether the patterns of a profile let a command through.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// There are patterns for both words, and they match.
    Yes,
    /// There is no pattern for one of them.
    NotSaid,
    /// This word does not match.
    No(String),
}

/// A file that cannot be used, and why.
#[derive(Debug)]
pub(super) struct BadProfile {
    pub(super) file: String,
    pub(super) line: Option<usize>,
    pub(super) why: String,
}

impl std::fmt::Display for BadProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, why } = self;
        match line {
            Some(line) => write!(f, "{file}:{line}: {why}"),
            None => write!(f, "{file}: {why}"),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AppFile {
    working_dir: Option<String>,
    app_prompt: Option<Base>,
    app_schema: Option<Base>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Base {
    base_dir: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UserFile {
    params: Option<Params>,
    options: Option<Options>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Params {
    two: Option<Two>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Two {
    #[serde(alias = "demonstrativeType")]
    directive_type: Option<OnePattern>,
    layer_type: Option<OnePattern>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OnePattern {
    pattern: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Options {
    destination: Option<Destination>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Destination {
    prefix: Option<String>,
}

/// The profile of an agent's domain.
pub(super) fn profile_name(agent: &str, c1: &str) -> String {
    if agent == DEFAULT_AGENT { c1.to_owned() } else { format!("{agent}-{c1}") }
}

/// The file of a profile: `app` or `user`.
pub(super) fn config_file(profile: &str, kind: &str) -> String {
    format!("{CONFIG_DIR}/{profile}-{kind}.yml")
}

impl Profile {
    /// Reads the profile from the first of these folders that has it. Where none has, the prompts lie in `default`.
    pub(super) fn find(roots: &[Root], default: &Root, agent: &str, c1: &str) -> Result<Self, BadProfile> {
        let profile = profile_name(agent, c1);
        let (app_name, user_name) = (config_file(&profile, "app"), config_file(&profile, "user"));
        let named = |root: &&Root| root.has(&app_name) || root.has(&user_name);
        let root = roots.iter().find(named).unwrap_or(default);
        let app: Option<AppFile> = read_yaml(root, &app_name)?;
        let user: UserFile = read_yaml(root, &user_name)?.unwrap_or_default();
        let mut notes = Vec::new();
        if app.is_none() {
            notes.push(format!("there is no {app_name}, so the prompts are looked for where they lie by default"));
        }
        let app = app.unwrap_or_default();
        let place = |base: Option<Base>, kind: &str| {
            let working_dir = app.working_dir.as_deref().map(str::trim).filter(|dir| !dir.is_empty());
            let working_dir = working_dir.map_or_else(|| format!(".agent/{agent}"), str::to_owned);
            let base = base.and_then(|base| base.base_dir).filter(|dir| !dir.trim().is_empty());
            let base = base.unwrap_or_else(|| format!("{kind}/{c1}"));
            let below =
                |dir: &str| clean(root.path(), dir.trim()).map(|path| path.to_string_lossy().replace('\\', "/"));
            match (below(&working_dir), below(&base)) {
                (Some(working_dir), Some(base)) => Ok(join(&working_dir, &base)),
                _ => Err(BadProfile {
                    file: app_name.clone(),
                    line: None,
                    why: format!("`{working_dir}` with `{base}` leads outside the project"),
                }),
            }
        };
        let two = user.params.and_then(|params| params.two).unwrap_or_default();
        let pattern = |one: Option<OnePattern>| {
            let text = one.and_then(|one| one.pattern).filter(|text| !text.is_empty());
            let compiled = text.map(|text| {
                let regex = RegexBuilder::new(&text).size_limit(PATTERN_BYTES).build();
                regex.map(|regex| Pattern { text: text.clone(), regex }).map_err(|error| BadProfile {
                    file: user_name.clone(),
                    line: None,
                    why: format!("the pattern `{text}` cannot be used: {error}"),
                })
            });
            compiled.transpose()
        };
        let prefix = user.options.and_then(|options| options.destination).and_then(|destination| destination.prefix);
        Ok(Self {
            prompts: place(app.app_prompt, "prompts")?,
            schemas: place(app.app_schema, "schema")?,
            prefix: prefix.filter(|prefix| !prefix.trim().is_empty()),
            directive: pattern(two.directive_type)?,
            layer: pattern(two.layer_type)?,
            notes,
            root: root.clone(),
        })
    }

    /// Whether the patterns let a command through.
    pub(super) fn allows(&self, name: &CommandName) -> Allowed {
        let mut all = Allowed::Yes;
        for (key, part, pattern) in [("c2", &name.c2, &self.directive), ("c3", &name.c3, &self.layer)] {
            match pattern {
                None => all = Allowed::NotSaid,
                Some(pattern) if pattern.regex.is_match(part) => {}
                Some(pattern) => return Allowed::No(format!("{key} `{part}` does not match `{}`", pattern.text)),
            }
        }
        all
    }

    /// The folder of a command's prompts.
    pub(super) fn folder(&self, name: &CommandName) -> String {
        join(&join(&self.prompts, &name.c2), &name.c3)
    }
}

/// A YAML file; nothing where there is none. A file of comments alone says nothing.
fn read_yaml<T: Default + for<'de> Deserialize<'de>>(root: &Root, file: &str) -> Result<Option<T>, BadProfile> {
    let bad = |line: Option<usize>, why: String| BadProfile { file: file.to_owned(), line, why };
    let text = match root.read(file, CONFIG_MAX) {
        Ok(content) => content.text,
        Err(Fault::Missing) => return Ok(None),
        Err(fault) => return Err(bad(None, fault.to_string())),
    };
    let read: Option<T> = parse_yaml(&text).map_err(|(line, why)| bad(line, why))?;
    Ok(Some(read.unwrap_or_default()))
}

/// The value of a YAML text, or what is wrong with it and on which line.
pub(super) fn parse_yaml<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, (Option<usize>, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // `no` and `on` are words: the language of today has true and false only.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().and_then(|at| usize::try_from(at.line()).ok());
        let said = error.without_snippet().to_string();
        // The line is told beside it, and may be another in the file.
        let what = said.lines().next().and_then(|first| first.split(" at line ").next());
        (line, what.unwrap_or_default().to_owned())
    })
}
