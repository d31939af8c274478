//! A place in which the same is done again and again, each time from the same beginning.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::{Lore, Output};

/// A home of Lore that can be put back, and repositories beside it that Lore only reads.
#[derive(Debug)]
pub struct Scene {
    lore: Lore,
    root: TempDir,
}

impl Scene {
    /// An empty one.
    pub fn new(binary: &Path) -> Result<Self> {
        let root = tempfile::tempdir()?;
        let lore = Lore::at(binary, &root.path().join("now"));
        Ok(Self { lore, root })
    }

    /// The program in it.
    pub fn lore(&self) -> &Lore {
        &self.lore
    }

    /// The folder that is put back: below it lie the index and the user's home.
    pub fn now(&self) -> PathBuf {
        self.root.path().join("now")
    }

    /// A folder for a repository.
    pub fn repo(&self, name: &str) -> PathBuf {
        self.root.path().join("repos").join(name)
    }

    /// The same as an argument.
    pub fn repo_text(&self, name: &str) -> String {
        self.repo(name).to_string_lossy().into_owned()
    }

    /// The folder of a team server's data.
    pub fn team(&self) -> String {
        self.now().join("team").to_string_lossy().into_owned()
    }

    /// Remembers everything as it is.
    pub fn save(&self) -> Result<()> {
        let before = self.root.path().join("before");
        remove(&before)?;
        copy(&self.now(), &before)
    }

    /// Puts everything back as it was.
    pub fn restore(&self) -> Result<()> {
        self.clear()?;
        copy(&self.root.path().join("before"), &self.now())
    }

    /// Takes everything away but the folder itself, which may be a disk of its own.
    pub fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(self.now())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() { remove(&entry.path())? } else { fs::remove_file(entry.path())? }
        }
        Ok(())
    }

    /// How many bytes there are in it.
    pub fn size(&self) -> u64 {
        let of = |file: &String| fs::metadata(self.now().join(file)).map_or(0, |meta| meta.len());
        self.files().iter().map(of).sum()
    }

    /// What is not there, but must be for a program to run.
    pub fn complete(&self) -> Result<()> {
        Ok(fs::create_dir_all(self.lore.user_home())?)
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.lore.run(args)
    }

    /// The same, where it has to succeed.
    pub fn ok(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args);
        ensure!(output.status.success(), "lore {} ({}): {}", args.join(" "), output.status, output.stderr.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The same, with something on standard input.
    pub fn feed(&self, args: &[&str], input: &[u8]) -> Result<Output> {
        let mut command = self.command(args);
        let file = self.root.path().join("input");
        fs::write(&file, input)?;
        let output = command.stdin(fs::File::open(&file)?).output()?;
        Ok(Output {
            status: output.status,
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// A command that is ready to start.
    pub fn command(&self, args: &[&str]) -> Command {
        self.lore.command(args)
    }

    /// An answer without what differs from one time to the next.
    pub fn answer(&self, args: &[&str]) -> Result<String> {
        let printed = self.ok(args)?;
        let mut value: Value =
            serde_json::from_str(&printed).with_context(|| format!("lore {}: {printed}", args.join(" ")))?;
        steady(&mut value);
        Ok(format!("lore {}: {value}\n", args.join(" ")))
    }

    /// What `lore doctor --deep` finds broken. Nothing where all is well.
    pub fn broken(&self) -> Result<Vec<String>> {
        Ok(self.findings()?.into_iter().filter(|(level, _)| level == "broken").map(|(_, text)| text).collect())
    }

    /// What `lore doctor --deep` says, each with its level.
    pub fn findings(&self) -> Result<Vec<(String, String)>> {
        let output = self.run(&["doctor", "--deep", "--json"]);
        let code = output.status.code().context("lore doctor was killed")?;
        let value: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("lore doctor ({code}): {}", output.stderr.trim()))?;
        let rows = value["findings"].as_array().context("lore doctor lists nothing")?;
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        Ok(rows
            .iter()
            .map(|row| {
                (text(row, "level"), format!("{}: {} → {}", text(row, "about"), text(row, "text"), text(row, "hint")))
            })
            .collect())
    }

    /// The files below the home of Lore, as paths from there.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.now(), Path::new(""), &mut found);
        found.sort();
        found
    }
}

/// Takes times, durations and sizes on disk out of an answer.
fn steady(value: &mut Value) {
    const VOLATILE: [&str; 14] = [
        "seconds",
        "took_ms",
        "ms",
        "synced_at",
        "last_synced_at",
        "age",
        "generation",
        "indexed_at",
        "elapsed",
        "elapsed_ms",
        "bytes",
        "index_age",
        "time_ms",
        "execution_time_ms",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !VOLATILE.contains(&key.as_str()));
            fields.values_mut().for_each(steady);
        }
        Value::Array(values) => values.iter_mut().for_each(steady),
        _ => {}
    }
}

fn list(root: &Path, below: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let path = below.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(root, &path, found);
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}
