//! Files that are read again only when the file system says that they changed. What was understood last stays in use when
//! a file breaks.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use super::root::{Fault, Root, Stamp};

/// More files than that are forgotten at once: they are read again when they are asked for.
const FILES_MAX: usize = 256;

/// What is known of some files.
#[derive(Debug)]
pub(super) struct Watched<T> {
    known: HashMap<PathBuf, Known<T>>,
}

#[derive(Debug)]
struct Known<T> {
    stamp: Option<Stamp>,
    state: State<T>,
}

/// What a file says.
#[derive(Debug)]
pub(super) struct State<T> {
    /// What it says now, or said last when it could be understood.
    pub(super) good: Option<Arc<T>>,
    /// What is wrong with it now.
    pub(super) fault: Option<String>,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self { good: self.good.clone(), fault: self.fault.clone() }
    }
}

impl<T> Default for Watched<T> {
    fn default() -> Self {
        Self { known: HashMap::new() }
    }
}

impl<T> Watched<T> {
    /// What the file says, of at most so many bytes; nothing where there is no such file.
    pub(super) fn get(
        &mut self,
        (root, relative): (&Root, &str),
        max: u64,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<State<T>> {
        let key = root.path().join(relative);
        let now = root.stamp(relative);
        if let Some(known) = self.known.get(&key)
            && known.stamp.is_some()
            && known.stamp == now
        {
            return Some(known.state.clone());
        }
        let (stamp, read) = match root.read(relative, max) {
            Err(Fault::Missing) => {
                self.known.remove(&key);
                return None;
            }
            // So young a file may change again within the same tick of the clock: it is read once more.
            Ok(content) => (Some(content.stamp).filter(|stamp| !stamp.is_young()), parse(&content.text)),
            Err(fault) => (None, Err(fault.to_string())),
        };
        if self.known.len() >= FILES_MAX {
            self.known.clear();
        }
        let before = self.known.remove(&key).and_then(|known| known.state.good);
        let state = match read {
            Ok(value) => State { good: Some(Arc::new(value)), fault: None },
            Err(why) => State { good: before, fault: Some(why) },
        };
        self.known.insert(key, Known { stamp, state: state.clone() });
        Some(state)
    }

    /// Forgets when the file was read, so that it is read again.
    pub(super) fn forget(&mut self, root: &Root, relative: &str) {
        if let Some(known) = self.known.get_mut(&root.path().join(relative)) {
            known.stamp = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_when_it_changed_and_its_last_good_content_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("n");
        let root = Root::open(dir.path()).unwrap();
        let mut watched = Watched::<u32>::default();
        let mut parsed = 0;
        let mut ask = || {
            let state = watched.get((&root, "n"), 10, |text| {
                parsed += 1;
                text.parse().map_err(|error: std::num::ParseIntError| error.to_string())
            });
            state.map(|state| (state.good.map(|good| *good), state.fault))
        };
        assert_eq!(ask(), None);
        fs::write(&file, "1").unwrap();
        assert_eq!(ask(), Some((Some(1), None)));
        // The same size within one tick of the clock.
        fs::write(&file, "2").unwrap();
        assert_eq!(ask(), Some((Some(2), None)));
        fs::write(&file, "x").unwrap();
        assert_eq!(ask(), Some((Some(2), Some("invalid digit found in string".to_owned()))));
        fs::write(&file, "3").unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        assert_eq!(ask(), Some((Some(3), None)));
        fs::remove_file(&file).unwrap();
        assert_eq!(ask(), None);
        assert_eq!(parsed, 4);
    }
}
