//! Whole projects in temporary folders, asked as tools and people ask them.

mod any_bytes;
mod building;
mod changing;
mod checking;
mod looking;
mod making;
mod rendering;
#[cfg(unix)]
mod staying_inside;

use std::fs;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

const AGENT: &str = DEFAULT_AGENT;

/// A project in a repository, a home directory, and what answers questions about them.
struct Place {
    dir: TempDir,
    commands: Commands,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["project/.git", "home"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let commands = Commands::new(Some(dir.path().join("home")));
        Self { dir, commands }
    }

    /// The one command `git commit changes` with this prompt.
    fn with_prompt(text: &str) -> Self {
        Self::new()
            .entries(&[("git", "commit", "changes")])
            .write("project/.agent/climpt/prompts/git/commit/changes/f_default.md", text)
    }

    fn write(self, path: &str, text: &str) -> Self {
        write(&self.dir.path().join(path), text);
        self
    }

    /// A registry of commands that are described by their names.
    fn entries(self, names: &[(&str, &str, &str)]) -> Self {
        let text = registry(names);
        self.write("project/.agent/climpt/registry.json", &text)
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn run(&self, options: &ExecuteOptions) -> String {
        self.run_named(&name("git", "commit", "changes"), options)
    }

    fn run_named(&self, name: &CommandName, options: &ExecuteOptions) -> String {
        said(self.commands.execute(&self.project(), AGENT, name, options).map(|rendered| rendered.text))
    }
}

fn registry(names: &[(&str, &str, &str)]) -> String {
    let entry = |(c1, c2, c3): &(&str, &str, &str)| serde_json::json!({"c1": c1, "c2": c2, "c3": c3, "description": format!("{c2} the {c3}")});
    let commands: Vec<_> = names.iter().map(entry).collect();
    serde_json::json!({"version": "1.0.0", "description": "Test", "tools": {"commands": commands}}).to_string()
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn name(c1: &str, c2: &str, c3: &str) -> CommandName {
    CommandName::new(c1, c2, c3)
}

fn said(answer: Result<String, CommandError>) -> String {
    answer.unwrap_or_else(|error| match error {
        CommandError::NotFound { name, .. } => format!("not found: {name}"),
        CommandError::Registry { path, details, .. } => format!("no registry {path}: {details}"),
        CommandError::Execution { stderr, .. } => format!("failed: {stderr}"),
        CommandError::Invalid(failure) => format!("invalid: {failure}"),
    })
}

/// Every file below a folder, with its content.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(snapshot(&path));
            all.insert(path, Vec::new());
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    all
}
