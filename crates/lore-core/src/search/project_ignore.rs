//! What a repository itself wants to be left out, read again only when its file changes.
//!
//! Asking for the lines never touches the disk; [`ProjectIgnore::refresh`] does, and belongs where that does not matter.

use std::{
    collections::HashMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use lore_model::Failure;

/// Gives the lines that stand in the file of the repository at a place.
type ReadLines = fn(&Path) -> Result<Vec<String>, Failure>;

/// The ignore lists of repositories.
#[derive(Clone)]
pub struct ProjectIgnore {
    /// Where the file is in a repository.
    file: &'static str,
    read: ReadLines,
    known: Arc<Mutex<HashMap<PathBuf, Known>>>,
}

/// What is known of one repository.
#[derive(Clone, Default)]
struct Known {
    stamp: Option<(SystemTime, u64)>,
    /// The last ones that could be read; `None` where none ever could.
    lines: Option<Vec<String>>,
    /// Why the file as it is cannot be used.
    problem: Option<String>,
}

impl ProjectIgnore {
    /// Lists that stand in this file of each repository and are read by this function.
    pub fn new(file: &'static str, read: ReadLines) -> Self {
        Self { file, read, known: Arc::default() }
    }

    /// Looks whether the file has changed, and reads it where it has. What could be read before is kept where it cannot now.
    pub(super) fn refresh(&self, place: &Path) {
        let metadata = fs::metadata(place.join(self.file)).ok();
        let stamp = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        let before = self.lock().get(place).cloned();
        if before.as_ref().is_some_and(|known| known.stamp == stamp) {
            return;
        }
        let known = match (self.read)(place) {
            Ok(lines) => Known { stamp, lines: Some(lines), problem: None },
            Err(failure) => {
                tracing::warn!(%failure, "a project's ignore list cannot be read: what was read before is kept");
                let lines = before.and_then(|before| before.lines);
                Known { stamp, lines, problem: Some(failure.message) }
            }
        };
        self.lock().insert(place.to_owned(), known);
    }

    /// The lines, as they were when last refreshed.
    pub(super) fn lines(&self, place: &Path) -> Vec<String> {
        if !self.lock().contains_key(place) {
            self.refresh(place);
        }
        self.lock().get(place).and_then(|known| known.lines.clone()).unwrap_or_default()
    }

    /// Why the file as it is cannot be used.
    pub(super) fn problem(&self, place: &Path) -> Option<String> {
        self.lock().get(place)?.problem.clone()
    }

    /// Whether the file cannot be used, and no earlier state of it is known.
    pub(super) fn is_unknown(&self, place: &Path) -> bool {
        self.lock().get(place).is_some_and(|known| known.lines.is_none())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ProjectIgnore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectIgnore").field("file", &self.file).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use lore_model::Code;

    use super::*;

    #[test]
    fn a_file_is_read_once_for_each_state_and_a_bad_one_keeps_the_last_good() {
        let dir = tempfile::tempdir().unwrap();
        let (place, file) = (dir.path(), dir.path().join("list"));
        let ignore = ProjectIgnore::new("list", |place| {
            let text = fs::read_to_string(place.join("list")).unwrap_or_default();
            if text.contains('!') {
                return Err(Failure::new(Code::InvalidConfig, "bad"));
            }
            // Counts how often it was read.
            let count = fs::read_to_string(place.join("count")).unwrap_or_default() + "x";
            fs::write(place.join("count"), count).unwrap();
            Ok(text.lines().map(str::to_owned).collect())
        });
        assert_eq!(ignore.lines(place), Vec::<String>::new());
        fs::write(&file, "a\nb\n").unwrap();
        ignore.refresh(place);
        ignore.refresh(place);
        assert_eq!((ignore.lines(place), ignore.problem(place)), (vec!["a".to_owned(), "b".to_owned()], None));
        assert_eq!(fs::read_to_string(place.join("count")).unwrap(), "xx");
        fs::write(&file, "!!!\n!").unwrap();
        ignore.refresh(place);
        assert_eq!(ignore.lines(place), ["a", "b"]);
        assert_eq!(ignore.problem(place).as_deref(), Some("bad"));
        assert!(!ignore.is_unknown(place));
        fs::write(&file, "c").unwrap();
        ignore.refresh(place);
        assert_eq!((ignore.lines(place), ignore.problem(place)), (vec!["c".to_owned()], None));
    }
}
