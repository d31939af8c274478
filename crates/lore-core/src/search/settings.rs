//! What a user may set about the search for code, and what of a repository is left out by it.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};

use super::ProjectIgnore;

/// Views that are kept unless somebody says otherwise: the project's, and those of a few others that were asked for.
const VIEWS: usize = 4;

/// What a user may set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Files that are left out, as lines of an ignore file.
    pub ignore: Vec<String>,
    /// The user's own file of git ignore rules.
    pub user_excludes: Option<PathBuf>,
    /// Gives what a repository itself wants to be left out, as lines of an ignore file.
    pub project_ignore: Option<ProjectIgnore>,
    /// So many views are kept open; at least one is.
    ///
    /// A view is a repository on a branch, or several together, as one question sees it. Opening one takes milliseconds to
    /// some hundreds of them; an open one holds its files and chunk numbers in memory, some tens of megabytes for a large
    /// repository (segments are mapped and shared). So: as many as are asked about in turn, not as many as there are.
    pub views: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ignore: Vec::new(), user_excludes: None, project_ignore: None, views: VIEWS }
    }
}

impl Settings {
    /// What is left out of the repository at this place.
    pub(super) fn ignore_at(&self, place: &Path) -> Vec<String> {
        let mut lines = self.ignore.clone();
        lines.extend(self.project_ignore.iter().flat_map(|ignore| ignore.lines(place)));
        lines
    }

    /// Looks at the repository's own list. This touches the disk.
    pub(super) fn refresh_ignore(&self, place: &Path) {
        if let Some(ignore) = &self.project_ignore {
            ignore.refresh(place);
        }
    }

    /// The failure of a list that cannot be used, where no earlier state of it is known.
    pub(super) fn unknown_ignore(&self, place: &Path) -> Option<Failure> {
        let ignore = self.project_ignore.as_ref().filter(|ignore| ignore.is_unknown(place))?;
        Some(
            Failure::new(Code::InvalidConfig, ignore.problem(place)?).hint("correct it, or remove it: Lore needs none"),
        )
    }

    /// Why the repository's own list cannot be used.
    pub(super) fn ignore_problem(&self, place: &Path) -> Option<String> {
        self.project_ignore.as_ref()?.problem(place)
    }
}
