//! Renders the prompt of a command: finds its file, puts the values in, and tells what it did.

use std::{collections::BTreeMap, path::Path};

use lore_model::brief;

use super::{
    CommandError, CommandName, Commands, Located, Origin, find, name, not_found,
    profile::{Allowed, BadProfile, Profile},
    prompt::{self, DEFAULT_VARIANT, PROMPT_MAX},
    render,
    root::{Fault, join},
};

/// What a command is rendered with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecuteOptions {
    /// The edition of the prompt.
    pub edition: Option<String>,
    /// The adaptation of the prompt.
    pub adaptation: Option<String>,
    /// The path of an input file, which is named in the prompt and not read.
    pub file: Option<String>,
    /// Where the result is to be written, which is named in the prompt.
    pub destination: Option<String>,
    /// The input text.
    pub stdin: Option<String>,
    /// The values of variables, without `uv-` in the names.
    pub uv: BTreeMap<String, String>,
}

/// A prompt with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The command, as the registry names it.
    pub name: CommandName,
    /// The prompt.
    pub text: String,
    /// The file it is from, from the folder in which `.agent` lies.
    pub prompt: String,
    /// Placeholders that are left because no value was given.
    pub open: Vec<String>,
    /// Where the command is from; the notes tell what the reader should know of this answer.
    pub origin: Origin,
}

impl Commands {
    /// The prompt of a command.
    ///
    /// A command that no registry lists is rendered all the same where the patterns of its profile name it: agents call
    /// prompts for their own steps that way.
    pub fn execute(
        &self,
        folder: &Path,
        agent: &str,
        asked: &CommandName,
        options: &ExecuteOptions,
    ) -> Result<Rendered, CommandError> {
        let located = match self.locate(folder, agent) {
            Err(CommandError::Invalid(failure)) => return Err(failure.into()),
            other => other,
        };
        let listed = located.as_ref().ok().and_then(|located| find(&located.registry, agent, asked));
        let is_listed = listed.is_some();
        let name = listed.map_or_else(|| asked.clone(), |command| command.name.clone());
        let failed = |Why { stderr, asked_wrong, hint }| CommandError::Execution {
            name: asked.clone(),
            stderr,
            asked_wrong,
            hint: hint.map(String::into_boxed_str),
        };
        let profile = if name.bad_part().is_none() { self.profile(folder, agent, &located, &name) } else { None };
        let (profile, note) = match profile {
            Some(Err(bad)) if is_listed => {
                return Err(failed(Why::file(bad.to_string(), Some("correct that file".to_owned()))));
            }
            Some(Ok(profile)) => match permission(&profile, &name, is_listed) {
                Permission::Granted(note) => (profile, note),
                Permission::Denied => return Err(unknown(located, asked)),
            },
            Some(Err(_)) | None => return Err(unknown(located, asked)),
        };
        let (prompt, text) = choose(&profile, &name, options).map_err(failed)?;
        let values = values(&profile, &name, options).map_err(|why| failed(Why::asked(why, None)))?;
        let Some(filled) = render::fill(prompt::split(&text).body, &values) else {
            return Err(failed(Why::asked(format!("{prompt} would be over 8 MiB with these values"), None)));
        };
        let mut origin = match located {
            Ok(located) => located.origin,
            Err(_) => Origin {
                agent: agent.to_owned(),
                registry: String::new(),
                folder: profile.root.path().to_owned(),
                notes: Vec::new(),
            },
        };
        origin.notes.extend(note);
        origin.notes.extend(variant_note(&prompt, options));
        origin.notes.extend(unused_note(&filled.unused, options));
        Ok(Rendered { name, text: filled.text, prompt, open: filled.open, origin })
    }

    /// The profile of a command; nothing where no folder has commands. A command that a registry lists has its prompts where
    /// that registry lies, whatever other folders say of its domain.
    pub(super) fn profile(
        &self,
        folder: &Path,
        agent: &str,
        located: &Result<Located, CommandError>,
        name: &CommandName,
    ) -> Option<Result<Profile, BadProfile>> {
        let located = located.as_ref().ok();
        if let Some(located) = located.filter(|located| find(&located.registry, agent, name).is_some()) {
            return Some(Profile::find(std::slice::from_ref(&located.root), &located.root, agent, &name.c1));
        }
        let roots = self.roots(folder);
        let default = located.map(|located| &located.root).or(roots.first())?;
        Some(Profile::find(&roots, default, agent, &name.c1))
    }

    /// The prompt files of a command, from the folder in which `.agent` lies; at most twenty.
    pub fn prompt_files(&self, folder: &Path, agent: &str, name: &CommandName) -> Vec<String> {
        let profile = self.profile(folder, agent, &self.locate(folder, agent), name).and_then(Result::ok);
        let Some(profile) = profile.filter(|_| name.bad_part().is_none()) else { return Vec::new() };
        let folder = profile.folder(name);
        variants(&profile, &folder).iter().map(|file| join(&folder, file)).collect()
    }
}

/// Why a command is not known: there is no such entry, or no registry.
fn unknown(located: Result<Located, CommandError>, asked: &CommandName) -> CommandError {
    match located {
        Ok(located) => not_found(&located.registry, asked),
        Err(error) => error,
    }
}

/// Whether a command may be rendered.
enum Permission {
    /// With what the reader should know.
    Granted(Option<String>),
    Denied,
}

/// The registry decides about what it lists, and the patterns of the profile about the rest.
fn permission(profile: &Profile, name: &CommandName, is_listed: bool) -> Permission {
    match (is_listed, profile.allows(name)) {
        (true, Allowed::No(file, why)) => {
            Permission::Granted(Some(format!("{file} does not name this command, the registry does: {why}")))
        }
        (true, Allowed::Bad(file, why)) => {
            Permission::Granted(Some(format!("{file}: {why}; the registry lists this command all the same")))
        }
        (true, Allowed::Yes | Allowed::NotSaid) => Permission::Granted(None),
        (false, Allowed::Yes) if !variants(profile, &profile.folder(name)).is_empty() => {
            Permission::Granted(Some("no registry lists this command: the profile's patterns name it".to_owned()))
        }
        (false, _) => Permission::Denied,
    }
}

/// Why a prompt cannot be made, and what to do.
struct Why {
    stderr: String,
    asked_wrong: bool,
    hint: Option<String>,
}

impl Why {
    /// It is with the project's files.
    fn file(stderr: String, hint: Option<String>) -> Self {
        Self { stderr, asked_wrong: false, hint }
    }

    /// It is with what was asked for.
    fn asked(stderr: String, hint: Option<String>) -> Self {
        Self { stderr, asked_wrong: true, hint }
    }
}

/// What to say where values have no place in the prompt.
fn unused_note(unused: &[String], options: &ExecuteOptions) -> Option<String> {
    let is_given = |name: &&str| match *name {
        "base_prompt_dir" | "schema_file" => false,
        "destination_path" => options.destination.is_some(),
        _ => true,
    };
    let unused: Vec<&str> = unused.iter().map(String::as_str).filter(is_given).collect();
    (!unused.is_empty()).then(|| format!("the prompt has no place for: {}", unused.join(", ")))
}

/// The prompt file that is meant, with its text; or why there is none, and what to do.
fn choose(profile: &Profile, command: &CommandName, options: &ExecuteOptions) -> Result<(String, String), Why> {
    let word = |key: &str, value: &Option<String>| match value.as_deref().map(str::trim).filter(|word| !word.is_empty())
    {
        Some(word) if !name::is_name(word) => {
            let why = format!("`{key}` cannot be `{}`: it has letters, digits, `-`, `_` and `.`", brief(word));
            Err(Why::asked(why, Some(format!("`describe` tells the {key}s"))))
        }
        word => Ok(word.map(str::to_owned)),
    };
    let (edition, adaptation) = (word("edition", &options.edition)?, word("adaptation", &options.adaptation)?);
    let folder = profile.folder(command);
    let tried = prompt::candidates(&folder, edition.as_deref(), adaptation.as_deref());
    for path in &tried {
        match profile.root.read_in(&profile.prompts, path, PROMPT_MAX) {
            Ok(content) => return Ok((path.clone(), content.text)),
            Err(Fault::Missing) => {}
            Err(fault) => return Err(Why::file(format!("{path}: {fault}"), None)),
        }
    }
    let there = variants(profile, &folder);
    let hint = match (there.is_empty(), &profile.missing) {
        (false, _) => format!("there are: {}", there.join(", ")),
        (true, None) => "write the prompt there; `lore commands check` finds what else is missing".to_owned(),
        (true, Some(app)) => format!("write the prompt there, or say in {app} where the prompts lie"),
    };
    Err(Why::file(format!("no prompt file; tried {}", tried.join(", ")), Some(hint)))
}

/// The prompt files of a folder.
fn variants(profile: &Profile, folder: &str) -> Vec<String> {
    let files = profile.root.list_in(&profile.prompts, folder, 1000).unwrap_or_default();
    files
        .names
        .into_iter()
        .filter(|(file, is_folder)| !is_folder && prompt::variant(file).is_some())
        .map(|(file, _)| file)
        .take(20)
        .collect()
}

/// What to say where another variant was taken than was asked for.
fn variant_note(prompt: &str, options: &ExecuteOptions) -> Option<String> {
    let file = prompt.rsplit('/').next().unwrap_or_default();
    let said =
        |value: &Option<String>| value.as_deref().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned);
    let edition = said(&options.edition).unwrap_or_else(|| DEFAULT_VARIANT.to_owned());
    let adaptation = said(&options.adaptation).filter(|adaptation| adaptation != DEFAULT_VARIANT);
    let wanted = match &adaptation {
        Some(adaptation) => format!("f_{edition}_{adaptation}.md"),
        None => format!("f_{edition}.md"),
    };
    (file != wanted && !(adaptation.is_none() && file == format!("f_{edition}_{DEFAULT_VARIANT}.md")))
        .then(|| format!("there is no {wanted}, so {file} was taken"))
}

/// The values of the placeholders.
fn values(profile: &Profile, name: &CommandName, options: &ExecuteOptions) -> Result<BTreeMap<String, String>, String> {
    let mut values: BTreeMap<String, String> =
        options.uv.iter().map(|(name, value)| (format!("uv-{name}"), value.clone())).collect();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            values.insert(name.to_owned(), value);
        }
    };
    // An empty text is none: it would only hide that something is missing.
    let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    put("input_text", given(&options.stdin));
    put("input_text_file", given(&options.file));
    put("destination_path", destination(profile.prefix.as_deref(), given(&options.destination).as_deref())?);
    put("base_prompt_dir", Some(profile.folder(name)));
    let schema = join(&join(&join(&profile.schemas, &name.c2), &name.c3), "base.schema.md");
    put("schema_file", profile.root.has_file_in(&profile.schemas, &schema).then_some(schema));
    Ok(values)
}

/// Where the result goes: below the prefix of the profile, unless the path is absolute.
fn destination(prefix: Option<&str>, given: Option<&str>) -> Result<Option<String>, String> {
    let (Some(prefix), Some(given)) = (prefix, given) else { return Ok(given.or(prefix).map(str::to_owned)) };
    if Path::new(given).is_absolute() {
        return Ok(Some(given.to_owned()));
    }
    if Path::new(given).components().any(|part| part == std::path::Component::ParentDir) {
        return Err(format!("the destination `{}` leads outside `{prefix}`", brief(given)));
    }
    Ok(Some(join(prefix, given.trim_start_matches("./"))))
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn a_destination_goes_below_the_prefix() {
        let check = |prefix, given| destination(prefix, given).unwrap_or_else(Some).unwrap_or_default();
        assert_eq!(check(None, None), "");
        assert_eq!(check(None, Some("out/a.md")), "out/a.md");
        assert_eq!(check(Some("output/git"), None), "output/git");
        assert_eq!(check(Some("output/git"), Some("tasks/1.md")), "output/git/tasks/1.md");
        assert_eq!(check(Some("output/git/"), Some("./tasks/1.md")), "output/git/tasks/1.md");
        assert_eq!(check(Some("output"), Some("/tmp/x")), "/tmp/x");
        assert_eq!(check(Some("output"), Some("a/../../x")), "the destination `a/../../x` leads outside `output`");
    }
}
