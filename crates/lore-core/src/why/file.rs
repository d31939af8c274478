//! Which file of which repository is meant, and that it is in it: nothing outside is ever read.

use std::path::{Component, Path, PathBuf};

use lore_model::{Code, Failure, Repo, RepoPath, brief};

use crate::Lore;

/// A file as somebody names it.
#[derive(Debug, Clone)]
pub struct FileRequest {
    /// The folder of the project.
    pub folder: PathBuf,
    /// Another registered repository than the project.
    pub repo: Option<String>,
    /// The repository itself, where the caller has found it already, on the branch that it is asked about; then neither
    /// project nor name counts.
    pub known: Option<Repo>,
    /// What a relative path counts from; the repository's root where nothing is said.
    pub from: Option<PathBuf>,
    /// The file: relative, or absolute and in the repository.
    pub file: PathBuf,
}

/// A file of a repository.
#[derive(Debug, Clone)]
pub struct FileAt {
    /// The repository.
    pub repo: Repo,
    /// The work tree, or the git directory of a bare repository.
    pub place: PathBuf,
    /// The file.
    pub path: RepoPath,
}

impl Lore {
    /// Finds the repository that is meant: the named one, or the project.
    pub fn find_place(&self, folder: &Path, repo: Option<&str>) -> Result<(Repo, PathBuf), Failure> {
        let project = self.find_project(folder);
        if let Some(name) = repo {
            let repo = self.history.repo(name)?;
            // The project may be another work tree of it than the registered one.
            let here = project.ok().filter(|found| found.repo.as_ref().is_some_and(|known| known.id == repo.id));
            let place = here.map_or_else(|| repo.info.local_path.clone(), |found| found.place);
            return Ok((repo, place));
        }
        let project = match project {
            Err(failure) if failure.code == Code::NotARepository => {
                let names = self.history.repos().unwrap_or_default();
                let names: Vec<&str> = names.iter().map(Repo::name).take(50).collect();
                let hint = match names.as_slice() {
                    [] => "run `lore add PATH` to register a repository".to_owned(),
                    names => format!("name a repository: {}", names.join(", ")),
                };
                return Err(Failure::new(failure.code, failure.message).hint(hint));
            }
            other => other?,
        };
        let place = project.place;
        let repo = project.repo.ok_or_else(|| {
            Failure::new(Code::RepoNotFound, format!("{} is not registered yet", place.display()))
                .hint(format!("ask again in a few seconds, or run `lore add {}`", place.display()))
        })?;
        Ok((repo, place))
    }

    /// Finds the file that is meant. That there is one is not said.
    pub fn find_file(&self, request: &FileRequest) -> Result<FileAt, Failure> {
        let (repo, place) = match &request.known {
            Some(repo) => (repo.clone(), repo.info.local_path.clone()),
            None => self.find_place(&request.folder, request.repo.as_deref())?,
        };
        let path = path_in(&place, request.from.as_deref(), &request.file)?;
        Ok(FileAt { repo, place, path })
    }
}

/// The path of a file below a repository's root.
pub(super) fn path_in(root: &Path, from: Option<&Path>, file: &Path) -> Result<RepoPath, Failure> {
    let shown = brief(&file.to_string_lossy()).into_owned();
    let refused = |why: &str| {
        Failure::new(Code::InvalidArgument, format!("`{shown}` {why}"))
            .hint("name a file as it is called from the repository's root, for example src/main.rs")
    };
    if file.as_os_str().is_empty() || file.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(refused("is no name of a file"));
    }
    let outside = || refused(&format!("is not in the repository at {}", root.display()));
    // A relative path that counts from the root needs nothing of the disk.
    let below = match from.filter(|_| file.is_relative()) {
        None if file.is_relative() => file.to_owned(),
        from => below(root, &from.map_or_else(|| file.to_owned(), |from| from.join(file))).ok_or_else(outside)?,
    };
    let mut names: Vec<&[u8]> = Vec::new();
    for part in below.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(names.pop().ok_or_else(outside)?),
            Component::Normal(name) => names.push(name.as_encoded_bytes()),
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    if names.iter().any(|name| name.eq_ignore_ascii_case(b".git")) {
        return Err(refused("is git's own, not a file of the repository"));
    }
    if names.is_empty() {
        return Err(refused("is a folder"));
    }
    Ok(RepoPath::new(names.join(&b'/')))
}

/// What is left of a path below a root, by names, or else where links lead on the way to the file.
fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix(root) {
        return Some(rest.to_owned());
    }
    // The nearest folder that is there; the file itself may be gone.
    let mut real = path.ancestors().skip(1).find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let (folder, real) = real.take()?;
    let rest = path.strip_prefix(folder).ok()?;
    real.join(rest).strip_prefix(root.canonicalize().ok()?).ok().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_repository_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("r");
        std::fs::create_dir_all(root.join("src/net")).unwrap();
        let found = |file: &str| path_in(&root, None, Path::new(file)).map(|path| path.to_string()).ok();
        for (file, expected) in [
            ("src/a.rs", "src/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/net/../a.rs", "src/a.rs"),
            ("-x", "-x"),
            ("--output=x", "--output=x"),
            (":(top)x", ":(top)x"),
        ] {
            assert_eq!(found(file).as_deref(), Some(expected), "{file}");
        }
        assert_eq!(found(&root.join("src/a.rs").to_string_lossy()).as_deref(), Some("src/a.rs"));
        let beside = format!("{}-evil/a", root.display());
        for file in
            ["", ".", "..", "../r/../x", "src/../../x", "/etc/passwd", ".git/config", "a/.GIT/x", "a\0b", &beside]
        {
            assert_eq!(found(file), None, "{file}");
        }
    }

    #[test]
    fn what_a_person_names_counts_from_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("r");
        std::fs::create_dir_all(root.join("src/net")).unwrap();
        let from = root.join("src");
        let found = |file: &str| path_in(&root, Some(&from), Path::new(file)).map(|path| path.to_string()).ok();
        assert_eq!(found("net/a.rs").as_deref(), Some("src/net/a.rs"));
        assert_eq!(found("../a.rs").as_deref(), Some("a.rs"));
        assert_eq!(found("../../a.rs"), None);
    }
}
