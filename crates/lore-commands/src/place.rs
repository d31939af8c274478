//! Where the commands of a project lie: the nearest `.agent` folder upwards within the repository, then the home directory.

use std::path::Path;

use super::root::Root;

/// Agents start in subfolders; deeper trees than that are nobody's project.
const DEPTH_MAX: usize = 64;

/// The folder of the project that has commands, if any, and otherwise the folder where they would be made.
pub(super) struct Project {
    pub(super) root: Option<Root>,
    /// The repository, or the folder itself outside of one.
    pub(super) top: Option<Root>,
}

/// Looks for commands from a folder upwards, as far as its repository goes.
pub(super) fn project(folder: &Path) -> Project {
    let here = Root::open(folder).ok();
    let Some(start) = here.as_ref() else { return Project { root: None, top: None } };
    let folders: Vec<&Path> = start.path().ancestors().take(DEPTH_MAX).collect();
    // A linked work tree and a submodule have a file of that name.
    let repository = folders.iter().position(|folder| folder.join(".git").exists());
    let within = &folders[..=repository.unwrap_or(0)];
    let having = |name: &str| within.iter().find(|folder| folder.join(name).is_dir());
    let found = having(".agent/climpt").or_else(|| having(".agent"));
    Project {
        root: found.and_then(|folder| Root::open(folder).ok()),
        top: within.last().and_then(|folder| Root::open(folder).ok()),
    }
}
