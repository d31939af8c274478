//! Makes a new command: its prompt, its profile where there is none, and its entry in the registry.

use std::path::Path;

use lore_model::{Code, Failure};
use serde_json::Value;

use super::{
    Command, CommandName, CommandOptions, Commands, DEFAULT_AGENT, Variable,
    build::{Old, pretty},
    place,
    profile::{Allowed, Profile, config_file, profile_name},
    prompt::DEFAULT_VARIANT,
    root::{Root, join},
    write,
};

/// A command to be made.
#[derive(Debug, Clone)]
pub struct NewCommand {
    /// Whose it is.
    pub agent: String,
    /// What it is called.
    pub name: CommandName,
    /// What it is for.
    pub description: String,
    /// Its title; the name where it is left out.
    pub title: Option<String>,
    /// Whether it takes a file.
    pub file: bool,
    /// Whether it takes a text.
    pub stdin: bool,
    /// Whether it takes a destination.
    pub destination: bool,
    /// The variables it takes.
    pub uv: Vec<Variable>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The folder in which `.agent` lies.
    pub folder: std::path::PathBuf,
    /// The prompt, which waits for its text.
    pub prompt: String,
    /// All files that were written, from that folder.
    pub files: Vec<String>,
    /// What else there is to do.
    pub notes: Vec<String>,
}

impl Commands {
    /// Makes a command. Nothing that is there is overwritten; where something stands in the way, nothing is written.
    pub fn create(&self, folder: &Path, new: &NewCommand) -> Result<Created, Failure> {
        let agent = super::name::agent(&new.agent)?;
        if let Some((key, part)) = new.name.bad_part() {
            let message = format!("{key} cannot be `{}`", lore_model::brief(part));
            return Err(
                Failure::new(Code::InvalidArgument, message).hint("names have letters, digits, `-`, `_` and `.`")
            );
        }
        if new.description.trim().is_empty() {
            return Err(Failure::new(Code::InvalidArgument, "the description is empty")
                .hint("say what the command is for: agents and people find it by that"));
        }
        let cannot_be =
            |variable: &&Variable| !super::name::is_name(&variable.name) || !super::render::is_variable(&variable.name);
        if let Some(variable) = new.uv.iter().find(cannot_be) {
            let message = format!("a variable cannot be called `{}`", lore_model::brief(&variable.name));
            return Err(Failure::new(Code::InvalidArgument, message).hint("names have letters, digits, `-` and `_`"));
        }
        let project = place::project(folder);
        let no_folder = || Failure::new(Code::InvalidArgument, format!("{} is not a folder", folder.display()));
        let root = project.root.or(project.top).ok_or_else(no_folder)?;
        let _lock = write::lock(&root);
        let registry = self.registry_to_write(&root, agent)?;
        let bad_profile = |bad: super::profile::BadProfile| {
            Failure::new(Code::InvalidConfig, bad.to_string()).hint("correct that file first")
        };
        let profile = Profile::find(std::slice::from_ref(&root), &root, agent, &new.name.c1).map_err(bad_profile)?;
        let prompt = join(&profile.folder(&new.name), &format!("f_{DEFAULT_VARIANT}.md"));
        let command = new.command(agent);
        let old = Old::read(&root, agent, &registry, false)?;
        let text = with_entry(&old, &command, &registry)?;
        if root.stamp(&prompt).is_some() {
            return Err(write::exists(&prompt));
        }
        let mut created =
            Created { folder: root.path().to_owned(), prompt: prompt.clone(), files: Vec::new(), notes: Vec::new() };
        let mut files = profile_files(&root, agent, &new.name, &profile);
        files.push((prompt, new.prompt(&command)));
        let mut written = Ok(());
        for (file, text) in files {
            written = written.and_then(|()| write::create(&root, &file, &text));
            if written.is_ok() {
                created.files.push(file);
            }
        }
        if let Err(failure) = written.and_then(|()| write::replace(&root, &registry, &text)) {
            // Half a command is in the way of the next attempt.
            created.files.iter().for_each(|file| write::remove(&root, file));
            return Err(failure);
        }
        created.files.push(registry);
        if let Allowed::No(file, why) | Allowed::Bad(file, why) = profile.allows(&new.name) {
            created.notes.push(format!("{file} has patterns that leave this command out: {why}"));
        }
        Ok(created)
    }
}

impl NewCommand {
    fn command(&self, agent: &str) -> Command {
        let program = format!("{agent}-{}", self.name.c1);
        let program = if self.name.c1.starts_with(&format!("{agent}-")) { self.name.c1.clone() } else { program };
        let variables: String =
            self.uv.iter().flat_map(|variable| [" --uv-", &variable.name, "=<", &variable.name, ">"]).collect();
        Command {
            name: self.name.clone(),
            description: self.description.clone(),
            usage: Some(format!("{program} {} {}{variables}", self.name.c2, self.name.c3)),
            options: Some(CommandOptions {
                edition: Some(vec![DEFAULT_VARIANT.to_owned()]),
                adaptation: Some(vec![DEFAULT_VARIANT.to_owned()]),
                file: Some(self.file),
                stdin: Some(self.stdin),
                destination: Some(self.destination),
            }),
            uv: self.uv.clone(),
        }
    }

    /// The prompt file: what is known, and a place for what is not.
    fn prompt(&self, command: &Command) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let title =
            self.title.clone().unwrap_or_else(|| format!("{} {}", self.name.c2, self.name.c3).replace('-', " "));
        let CommandName { c1, c2, c3 } = &self.name;
        let mut text = format!(
            "---\nc1: {}\nc2: {}\nc3: {}\ntitle: {}\ndescription: {}\nusage: {}\nc3l_version: \"0.5\"\noptions:\n  edition: [\"default\"]\n  adaptation: [\"default\"]\n  file: {}\n  stdin: {}\n  destination: {}\n",
            quoted(c1),
            quoted(c2),
            quoted(c3),
            quoted(&title),
            quoted(&self.description),
            quoted(command.usage.as_deref().unwrap_or_default()),
            self.file,
            self.stdin,
            self.destination,
        );
        if !self.uv.is_empty() {
            text.push_str("uv:\n");
            text.extend(
                self.uv.iter().map(|variable| format!("  - {}: {}\n", quoted(&variable.name), quoted(&variable.about))),
            );
        }
        let description = &self.description;
        text.extend(["---\n\n# ", &title, "\n\n", description, "\n\n## Steps\n\n1. Say here what is to be done.\n"]);
        for (wanted, heading, placeholder) in [
            (self.file, "Input file", "{input_text_file}"),
            (self.stdin, "Input", "{input_text}"),
            (self.destination, "Where to write the result", "{destination_path}"),
        ] {
            if wanted {
                text.extend(["\n## ", heading, "\n\n", placeholder, "\n"]);
            }
        }
        if !self.uv.is_empty() {
            text.push_str("\n## Given\n\n");
            text.extend(self.uv.iter().map(|variable| format!("- {}: {{uv-{}}}\n", variable.about, variable.name)));
        }
        text
    }
}

/// The registry with one more entry at its end; the others stay as they are.
fn with_entry(old: &Old, command: &Command, registry: &str) -> Result<String, Failure> {
    let is_there = |entry: &Value| Command::read(entry).is_ok_and(|read| read.name == command.name);
    if old.commands.iter().any(is_there) {
        return Err(Failure::new(Code::CommandExists, format!("`{}` is in {registry} already", command.name))
            .hint("edit its prompt, or choose another name; nothing was changed"));
    }
    let entry = Value::Object(command.fields());
    Ok(pretty(&old.with_commands(old.commands.iter().cloned().chain([entry]).collect())))
}

/// The files of the profile, where it has none.
fn profile_files(root: &Root, agent: &str, name: &CommandName, profile: &Profile) -> Vec<(String, String)> {
    let profile_name = profile_name(agent, &name.c1);
    let app = config_file(&profile_name, "app");
    if root.has(&app) {
        return Vec::new();
    }
    let c1 = &name.c1;
    let app_text = format!(
        "# Where the prompts of `{c1}` lie.\nworking_dir: \".agent/{agent}\"\napp_prompt:\n  base_dir: \"prompts/{c1}\"\napp_schema:\n  base_dir: \"schema/{c1}\"\n"
    );
    debug_assert_eq!(profile.prompts, format!(".agent/{agent}/prompts/{c1}"), "the file says what holds without it");
    let mut files = vec![(app, app_text)];
    let user = config_file(&profile_name, "user");
    if !root.has(&user) {
        let any = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
        let text = format!(
            "# Which actions and targets there are, and where results go (options.destination.prefix).\nparams:\n  two:\n    directiveType:\n      pattern: \"{any}\"\n    layerType:\n      pattern: \"{any}\"\n"
        );
        files.push((user, text));
    }
    let config = super::config_file();
    if agent != DEFAULT_AGENT && !root.has(&config) {
        let text = serde_json::json!({"registries": {DEFAULT_AGENT: super::default_registry(DEFAULT_AGENT), agent: super::default_registry(agent)}});
        files.push((config, format!("{}\n", serde_json::to_string_pretty(&text).unwrap_or_default())));
    }
    files
}
