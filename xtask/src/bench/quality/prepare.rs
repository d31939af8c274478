//! Makes the repositories that are indexed, once for each set: they stay below `target/quality` for the next run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Repo};

use super::data::{FunctionSet, function_path};

/// Written last: a folder without it is not whole.
const WHOLE: &str = ".git/whole";

/// A repository that holds a folder as it was in a revision, and nothing else.
pub(crate) fn folder_at(name: &str, revision: &str, root: &str, source: &Path, work: &Path) -> Result<PathBuf> {
    make(&work.join(place_name(name, revision, root)), |dir| {
        let git_dir = git_dir(source)?;
        let index = dir.join(".git/source-index");
        let git = Git::at(dir)
            .with("GIT_DIR", text(&git_dir)?)
            .with("GIT_WORK_TREE", text(dir)?)
            .with("GIT_INDEX_FILE", text(&index)?);
        if root.is_empty() {
            git.text(&["read-tree", revision])?;
        } else {
            let (prefix, tree) = (format!("--prefix={root}/"), format!("{revision}:{root}"));
            git.text(&["read-tree", &prefix, &tree])?;
        }
        git.text(&["checkout-index", "--all"])?;
        Ok(fs::remove_file(index)?)
    })
}

/// A bare repository at a revision, with the history before it.
pub(crate) fn bare_at(name: &str, revision: &str, source: &Path, work: &Path) -> Result<PathBuf> {
    let dir = work.join(format!("{}.git", place_name(name, revision, "history")));
    fs::create_dir_all(work)?;
    let git = borrow(source, &dir)?;
    git.text(&["update-ref", "refs/heads/main", revision])?;
    Ok(dir)
}

fn place_name(name: &str, revision: &str, root: &str) -> String {
    format!("{name}@{}@{root}", &revision[..revision.len().min(12)]).replace('/', "+")
}

/// A repository with one file for each function.
pub(crate) fn functions_of(set: &FunctionSet, work: &Path) -> Result<PathBuf> {
    make(&work.join(format!("functions-{}", set.functions.len())), |dir| {
        for (id, code) in &set.functions {
            fs::write(dir.join(function_path(*id)), code)?;
        }
        Ok(())
    })
}

fn make(dir: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    if !dir.join(WHOLE).exists() {
        if dir.exists() {
            fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
        }
        let repo = Repo::init(dir);
        fill(dir).with_context(|| format!("cannot fill {}", dir.display()))?;
        // What was tracked there is tracked here, whatever its ignore files say.
        repo.git(&["add", "--all", "--force"]);
        repo.commit("what is searched");
        fs::write(dir.join(WHOLE), "")?;
    }
    Ok(dir.to_owned())
}

/// The directory with the objects of a repository, bare or not.
pub(crate) fn git_dir(source: &Path) -> Result<PathBuf> {
    let found = source.join(Git::at(source).text(&["rev-parse", "--git-common-dir"])?);
    found.canonicalize().with_context(|| format!("cannot find {}", found.display()))
}

/// A bare repository that borrows all objects of another one, which is not written to, and whose branch can be put anywhere.
pub(crate) fn borrow(source: &Path, dir: &Path) -> Result<Git> {
    let lender = git_dir(source)?;
    let objects = lender.join("objects");
    ensure!(objects.is_dir(), "{} has no objects", source.display());
    let format = Git::at(source).text(&["rev-parse", "--show-object-format"])?;
    let init = ["init", "--quiet", "--bare", "--initial-branch=main", &format!("--object-format={format}"), text(dir)?];
    Git::at(dir.parent().context("a folder has a parent")?).text(&init)?;
    fs::create_dir_all(dir.join("objects/info"))?;
    fs::write(dir.join("objects/info/alternates"), format!("{}\n", text(&objects)?))?;
    if lender.join("shallow").exists() {
        fs::copy(lender.join("shallow"), dir.join("shallow"))?;
    }
    Ok(Git::at(dir))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::files, *};

    #[test]
    fn every_kind_of_repository_lends_its_objects_and_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("long")).unwrap();
        Git::at(at("long")).text(&["init", "--quiet", "--object-format=sha256"]).unwrap();
        for name in ["shop", "long"] {
            let repo = Repo::init(at(name));
            for text in ["one", "two", "three"] {
                repo.write("a.txt", text).commit(text);
            }
        }
        let repo = Repo::init(at("shop"));
        repo.git(&["config", "uploadpack.allowFilter", "true"]);
        let url = format!("file://{}", at("shop").display());
        repo.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
        repo.git(&["clone", "--quiet", "--shared", ".", "../shared"]);
        repo.git(&["worktree", "add", "--quiet", "../linked"]);
        repo.git(&["clone", "--quiet", "--depth=2", &url, "../shallow"]);
        repo.git(&["clone", "--quiet", "--bare", "--filter=blob:none", &url, "../partial.git"]);
        for (name, commits) in [
            ("shop", "3"),
            ("long", "3"),
            ("bare.git", "3"),
            ("shared", "3"),
            ("linked", "3"),
            ("shallow", "2"),
            ("partial.git", "3"),
        ] {
            let content = || -> Vec<(PathBuf, Vec<u8>)> {
                let files = files(&at(name)).unwrap().into_iter();
                files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
            };
            let before = content();
            let head = Git::at(at(name)).text(&["rev-parse", "HEAD"]).unwrap();
            let borrowed = borrow(&at(name), &at(&format!("of-{name}"))).unwrap();
            borrowed.text(&["update-ref", "refs/heads/main", &head]).unwrap();
            assert_eq!(borrowed.text(&["rev-list", "--count", "HEAD"]).unwrap(), commits, "{name}");
            assert!(content() == before, "{name} was written to");
        }
    }
}
