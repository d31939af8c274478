//! `<profile>-app.yml` and `<profile>-user.yml`: where a domain's prompts lie, and its rules for names and destinations.
//!
//! Neither file is needed, and neither is ever made here. Without the first one the prompts of domain `c1` lie in
//! `.agent/<agent>/prompts/<c1>`. Rules may stand in either file: the second one counts where both say something.

use std::path::Path;

use lore_model::brief;
use regex::Regex;
use serde::Deserialize;

use super::{
    CommandName, DEFAULT_AGENT,
    root::{Fault, Root, clean, join},
};

/// Where the files lie.
pub(super) const CONFIG_DIR: &str = ".agent/climpt/config";

/// A longer file is no configuration.
const CONFIG_MAX: u64 = 1 << 20;

/// A longer pattern is an attack or a mistake.
const PATTERN_MAX: usize = 16 << 10;

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
    /// The file that would say where the prompts lie, where there is none.
    pub(super) missing: Option<String>,
}

/// A rule for a word.
#[derive(Debug)]
struct Pattern {
    file: String,
    text: String,
    /// Or why it cannot be used.
    regex: Result<Regex, String>,
}

/// Whether the patterns of a profile let a command through.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// There are patterns for both words, and they match.
    Yes,
    /// There is no pattern for one of them.
    NotSaid,
    /// This word does not match, by this file.
    No(String, String),
    /// A pattern of this file cannot be used.
    Bad(String, String),
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
#[serde(default, expecting = "fields")]
pub(super) struct ConfigFile {
    working_dir: Option<String>,
    app_prompt: Option<Base>,
    app_schema: Option<Base>,
    params: Option<Params>,
    options: Option<Options>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "fields")]
struct Base {
    base_dir: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "fields")]
struct Params {
    two: Option<Two>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "fields")]
struct Two {
    #[serde(alias = "demonstrativeType")]
    directive_type: Option<OnePattern>,
    layer_type: Option<OnePattern>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "fields")]
struct OnePattern {
    pattern: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "fields")]
struct Options {
    destination: Option<Destination>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "fields")]
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

impl ConfigFile {
    fn patterns(&mut self) -> Two {
        self.params.take().and_then(|params| params.two).unwrap_or_default()
    }

    fn prefix(&mut self) -> Option<String> {
        let prefix = self.options.take()?.destination?.prefix;
        prefix.filter(|prefix| !prefix.trim().is_empty())
    }
}

impl Profile {
    /// Reads the profile from the first of these folders that has it. Where none has, the prompts lie in `default`.
    pub(super) fn find(roots: &[Root], default: &Root, agent: &str, c1: &str) -> Result<Self, BadProfile> {
        let profile = profile_name(agent, c1);
        let (app_name, user_name) = (config_file(&profile, "app"), config_file(&profile, "user"));
        let named = |root: &&Root| root.has(&app_name) || root.has(&user_name);
        let root = roots.iter().find(named).unwrap_or(default);
        let app: Option<ConfigFile> = read_yaml(root, &app_name)?;
        let missing = app.is_none().then(|| app_name.clone());
        let mut app = app.unwrap_or_default();
        let mut user: ConfigFile = read_yaml(root, &user_name)?.unwrap_or_default();
        let working_dir = app.working_dir.as_deref().map(str::trim).filter(|dir| !dir.is_empty());
        let working_dir = working_dir.map_or_else(|| format!(".agent/{agent}"), str::to_owned);
        let place = |base: Option<Base>, kind: &str| {
            let base = base.and_then(|base| base.base_dir).filter(|dir| !dir.trim().is_empty());
            let base = base.unwrap_or_else(|| format!("{kind}/{c1}"));
            let both = join_dirs(&working_dir, base.trim());
            let below = clean(root.path(), &both).map(|path| path.to_string_lossy().replace('\\', "/"));
            below.ok_or_else(|| BadProfile {
                file: app_name.clone(),
                line: None,
                why: format!("`{}` with `{}` leads outside the project", brief(&working_dir), brief(&base)),
            })
        };
        let (prompts, schemas) = (place(app.app_prompt.take(), "prompts")?, place(app.app_schema.take(), "schema")?);
        let (of_user, of_app) = (user.patterns(), app.patterns());
        let pattern = |user: Option<OnePattern>, app: Option<OnePattern>| {
            let said = |one: Option<OnePattern>| one.and_then(|one| one.pattern).filter(|text| !text.is_empty());
            let (file, text) = match (said(user), said(app)) {
                (Some(text), _) => (&user_name, text),
                (None, Some(text)) => (&app_name, text),
                (None, None) => return None,
            };
            Some(Pattern { file: file.clone(), regex: compile(&text), text })
        };
        Ok(Self {
            prompts,
            schemas,
            prefix: user.prefix().or_else(|| app.prefix()),
            directive: pattern(of_user.directive_type, of_app.directive_type),
            layer: pattern(of_user.layer_type, of_app.layer_type),
            missing,
            root: root.clone(),
        })
    }

    /// Whether the patterns let a command through.
    pub(super) fn allows(&self, name: &CommandName) -> Allowed {
        let mut all = Allowed::Yes;
        for (key, part, pattern) in [("c2", &name.c2, &self.directive), ("c3", &name.c3, &self.layer)] {
            let Some(Pattern { file, text, regex }) = pattern else {
                all = Allowed::NotSaid;
                continue;
            };
            match regex {
                Ok(regex) if regex.is_match(part) => {}
                Ok(_) => return Allowed::No(file.clone(), format!("{key} `{part}` does not match `{}`", brief(text))),
                Err(why) => {
                    let why = format!("the pattern `{}` cannot be used: {why}", brief(text));
                    return Allowed::Bad(file.clone(), why);
                }
            }
        }
        all
    }

    /// The folder of a command's prompts.
    pub(super) fn folder(&self, name: &CommandName) -> String {
        join(&join(&self.prompts, &name.c2), &name.c3)
    }
}

/// The second folder from the first one, unless it says itself where it is.
fn join_dirs(first: &str, second: &str) -> String {
    if Path::new(second).is_absolute() { second.to_owned() } else { format!("{first}/{second}") }
}

/// Makes a pattern that was written for JavaScript.
pub(super) fn compile(text: &str) -> Result<Regex, String> {
    if text.len() > PATTERN_MAX {
        return Err(format!("it is over {} KiB", PATTERN_MAX >> 10));
    }
    // The error draws the pattern first and ends with what is wrong.
    Regex::new(&from_javascript(text)).map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    })
}

/// There `\w`, `\d` and `\b` know ASCII only, and a bracket in a class is a character.
fn from_javascript(text: &str) -> String {
    let (mut made, mut in_class) = (String::with_capacity(text.len()), false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, in_class) {
            ('\\', _) => {
                let escaped = chars.next();
                let class = match escaped {
                    Some('w') => Some("[:word:]"),
                    Some('W') => Some("[:^word:]"),
                    Some('d') => Some("[:digit:]"),
                    Some('D') => Some("[:^digit:]"),
                    _ => None,
                };
                match (class, escaped) {
                    (Some(class), _) if in_class => made.push_str(class),
                    (Some(class), _) => made.extend(["[", class, "]"]),
                    (None, Some('b')) if !in_class => made.push_str("(?-u:\\b)"),
                    (None, escaped) => made.extend(std::iter::once('\\').chain(escaped)),
                }
            }
            ('[', false) => {
                in_class = true;
                made.push('[');
            }
            ('[' | '&' | '~', true) => made.extend(['\\', c]),
            (']', true) => {
                in_class = false;
                made.push(']');
            }
            (c, _) => made.push(c),
        }
    }
    made
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
        let what = said.lines().next().and_then(|first| first.split(" at line ").next()).unwrap_or_default();
        let what = if what.contains("budget") { "it is too large or nested too deeply" } else { what };
        (line, brief(what).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_javascript() {
        for (pattern, word, expected) in [
            (r"^[\w-]{1,40}$", "group-commit", Ok(true)),
            (r"^[\w-]{1,40}$", "変更", Ok(false)),
            (r"^\w+\d$", "a1", Ok(true)),
            (r"^\W$", "é", Ok(true)),
            (r"^[^\D]$", "٣", Ok(false)),
            (r"\bcommit\b", "group-commit", Ok(true)),
            (r"^[[&]$", "[", Ok(true)),
            (r"^[あ-ん]+$", "きの", Ok(true)),
            (r"^a\/b\.c$", "a/b.c", Ok(true)),
            (r"^(?!test)[a-z]+$", "a", Err("look-around, including look-ahead and look-behind, is not supported")),
            ("(((a{1000}){1000}){1000})", "a", Err("Compiled regex exceeds size limit of 10485760 bytes.")),
        ] {
            let said = compile(pattern).map(|regex| regex.is_match(word));
            assert_eq!(
                said.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|why| *why),
                "{pattern} {word}"
            );
        }
        assert_eq!(compile(&"a".repeat(900_000)).unwrap_err(), "it is over 16 KiB");
    }
}
