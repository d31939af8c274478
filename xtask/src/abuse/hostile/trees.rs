//! Trees that no git command writes: what is impossible is told and written nowhere, and what stands beside it is found.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context as _, Result};
use lore_testkit::odd::{BESIDE_CRAFTED, crafted};
use serde_json::json;

use crate::abuse::{Bench, Outcome, trial::Trial};

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    let repo = crafted(&trial.path("crafted"))?;
    let path = repo.path.to_str().context("its path is UTF-8")?.to_owned();
    let before = everything(trial.folder())?;
    trial.ok(&["add", &path, "--name", "all", "--all-branches"])?;
    for (label, commit) in &repo.commits {
        trial.run(&["show", "all", commit])?;
        trial.run(&["patch", "all", commit])?;
        let found = trial.json(&["log", label, "--no-sync", "--repo", "all"])?;
        let known = found["results"].as_array().is_some_and(|found| found.iter().any(|hit| hit["sha"] == **commit));
        trial.check(known, || format!("the commit `{label}` is not in the history"));
    }
    let left_out = trial.run(&["status", "--left-out"])?;
    let told = String::from_utf8_lossy(&left_out.stdout).into_owned();
    trial.check(!told.contains("evil_content"), || "status shows content".to_owned());
    trial.run(&["doctor", "--deep"])?;
    trial.ok(&["remove", "all"])?;
    for (number, label) in repo.commits.keys().enumerate() {
        let (name, branch) = (format!("one{number}"), format!("crafted/{label}"));
        let added = trial.run(&["add", &path, "--name", &name, "--branch", &branch])?;
        trial.run(&["sync", "--repo", &name, "--temporal"])?;
        let code = trial.run(&["search", BESIDE_CRAFTED, "--no-sync", "--repo", &name])?;
        let found = String::from_utf8_lossy(&code.stdout).contains("lib.rs");
        // Where not even the list of the tree can be read, that is said.
        let said = !added.stderr.trim().is_empty() || added.code != Some(0);
        trial.check(found || said, || format!("{label}: neither the ordinary file is found nor anything said"));
        trial.run(&["remove", &name])?;
    }
    trial.run(&["add", &path, "--name", "all"])?;
    files(&mut trial, Path::new(&path))?;
    let after = everything(trial.folder())?;
    let new: Vec<&String> = after.difference(&before).collect();
    trial.check(new.is_empty(), || format!("these were written: {new:?}"));
    trial.tell(format!("{} kinds of trees", repo.commits.len()));
    Ok(trial.end())
}

/// The tools that take paths from an agent.
fn files(trial: &mut Trial, project: &Path) -> Result<()> {
    let mut session = trial.serve(project, &["--no-refresh", "--toolsets", "history,context,why,code"])?;
    for path in
        ["..", ".git/config", ".GIT/config", "git~1", "/etc/passwd", "../../etc/passwd", "", "a\0b", "a/../..", "."]
    {
        for (tool, key) in [("get_file_content", "file_path"), ("browse_directory", "path"), ("explain_lines", "file")]
        {
            let answer = trial.call(&mut session, tool, &json!({key: path}))?;
            let text = answer.to_string();
            trial.check(!text.contains("root:") && !text.contains("repositoryformatversion"), || {
                format!("{tool} {path:?} reads what it must not: {text}")
            });
        }
    }
    session.end()?;
    Ok(())
}

/// The paths of all files below a folder, those of git's own left out.
fn everything(folder: &Path) -> Result<BTreeSet<String>> {
    let (mut folders, mut found) = (vec![folder.to_owned()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            found.insert(path.to_string_lossy().into_owned());
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}
