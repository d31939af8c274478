//! Tells which paths of a work tree can matter, so that a watcher keeps quiet about the others.
//!
//! Only git's own rules are asked here: what Lore leaves out besides is for the look that follows.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{bstr::ByteSlice as _, index::entry::Flags};

use crate::{
    Repository, Result, StatCache,
    beneath::{Folder, Kind},
    ignores::{Chain, Rules},
    look::{is_repository, last_name, rules_for_all},
    sorted::{below_in_index, find_entry, with_slash},
    worktree::is_gone,
};

/// What git ignores, as of the last [`Sieve::renew`].
pub(crate) struct Sieve {
    repository: Repository,
    root: PathBuf,
    user: Option<PathBuf>,
    index: StatCache,
    /// Whether the index is another than when somebody last asked.
    index_changed: bool,
    for_all: Chain,
    /// The rules that apply in each folder that was asked about, whose path is empty or ends with a slash.
    rules: HashMap<Vec<u8>, Chain>,
}

/// What a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// One whose files count.
    Folder,
    /// The work tree of a repository of its own: its files do not count as long as it is one.
    Repository,
}

impl Sieve {
    pub(crate) fn new(repository: &Repository, root: &Path, user: Option<&Path>) -> Result<Self> {
        let mut sieve = Self {
            repository: repository.clone(),
            root: root.to_owned(),
            user: user.map(Path::to_owned),
            index: StatCache::default(),
            index_changed: false,
            for_all: Chain::default(),
            rules: HashMap::new(),
        };
        sieve.renew()?;
        Ok(sieve)
    }

    /// Reads the rules and the index again.
    pub(crate) fn renew(&mut self) -> Result<()> {
        self.rules.clear();
        self.for_all = rules_for_all(&self.repository, self.user.as_deref());
        self.renew_index()
    }

    fn renew_index(&mut self) -> Result<()> {
        self.index_changed |= self.index.load_index(&self.repository)?;
        Ok(())
    }

    /// Reads the index again, where it has changed; says whether it has since this was last asked, whoever read it.
    pub(crate) fn take_index_change(&mut self) -> Result<bool> {
        self.renew_index()?;
        Ok(std::mem::take(&mut self.index_changed))
    }

    /// The folders that git has files of on disk, sorted.
    pub(crate) fn tracked_folders(&self) -> Vec<&[u8]> {
        let index = self.index.index();
        let on_disk = index.entries().iter().filter(|entry| !entry.flags.contains(Flags::SKIP_WORKTREE));
        let paths = on_disk.map(|entry| entry.path_in(index.path_backing()));
        let mut folders: Vec<&[u8]> =
            paths.filter_map(|path| Some(&path.as_bytes()[..path.rfind_byte(b'/')?])).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Whether the file or folder counts: git has it or something in it, or does not ignore it.
    pub(crate) fn passes(&mut self, path: &[u8], is_folder: bool) -> bool {
        let index = self.index.index();
        let all = 0..index.entries().len();
        if path.is_empty()
            || find_entry(index, all.clone(), path).is_some()
            || !below_in_index(index, all, &with_slash(path)).is_empty()
        {
            return true;
        }
        let mut rules = self.rules_in(b"", self.for_all.clone());
        for end in path.find_iter(b"/") {
            if rules.excludes(&path[..end], true) {
                return false;
            }
            rules = self.rules_in(&path[..=end], rules);
        }
        !rules.excludes(path, is_folder)
    }

    /// The rules that apply in a folder: its own, and those that apply above it.
    fn rules_in(&mut self, folder: &[u8], above: Chain) -> Chain {
        if let Some(known) = self.rules.get(folder) {
            return known.clone();
        }
        let own = self.open(folder).ok().and_then(|opened| Rules::read(&opened, b".gitignore", folder));
        self.keep_rules(folder, above, own)
    }

    /// The rules that apply above a folder.
    fn rules_above(&mut self, folder: &[u8]) -> Chain {
        let Some(inner) = folder.strip_suffix(b"/") else { return self.for_all.clone() };
        let parent = &folder[..inner.rfind_byte(b'/').map_or(0, |at| at + 1)];
        if let Some(known) = self.rules.get(parent) {
            return known.clone();
        }
        let mut rules = self.rules_in(b"", self.for_all.clone());
        for end in inner.find_iter(b"/") {
            rules = self.rules_in(&folder[..=end], rules);
        }
        rules
    }

    fn keep_rules(&mut self, folder: &[u8], mut rules: Chain, own: Option<Rules>) -> Chain {
        if let Some(own) = own {
            // Where they are too many a look does not follow them either, and says so.
            rules.push(own);
        }
        self.rules.insert(folder.to_vec(), rules.clone());
        rules
    }

    /// Opens a folder of the work tree; its path is empty or ends with a slash.
    fn open(&self, folder: &[u8]) -> io::Result<Folder> {
        let mut opened = Folder::open(&self.root)?;
        for name in folder.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            opened = opened.folder(name)?;
        }
        Ok(opened)
    }

    /// Whether there is a folder by this path, and no link; or it cannot be told, as with too many open files.
    pub(crate) fn is_folder(&self, path: &[u8]) -> bool {
        path.is_empty() || !self.open(&with_slash(path)).is_err_and(|error| is_closed(&error))
    }

    /// Visits the folder and all folders in it that count, until a visit says that it is enough.
    ///
    /// Each is visited before it is listed: whoever begins to watch it with the visit misses nothing. Folders that lie deeper than
    /// `max_depth` do not count. Fails where one cannot be opened that is there, as with too many open files: then not all were
    /// visited.
    pub(crate) fn visit(
        &mut self,
        top: &[u8],
        max_depth: usize,
        mut visit: impl FnMut(&[u8], Counted) -> bool,
    ) -> io::Result<()> {
        let top = if top.is_empty() { Vec::new() } else { with_slash(top) };
        let mut ahead: Vec<(Option<Arc<Folder>>, Vec<u8>)> = vec![(None, top)];
        while let Some((parent, prefix)) = ahead.pop() {
            let depth = prefix.find_iter(b"/").count();
            if depth > max_depth {
                continue;
            }
            let opened = match parent {
                None => self.open(&prefix),
                Some(parent) => parent.folder(last_name(&prefix)),
            };
            let opened = match opened {
                Ok(opened) => Arc::new(opened),
                Err(error) if is_closed(&error) => continue,
                Err(error) => return Err(error),
            };
            // The files of a repository inside do not count, unless git has some of them.
            let index = self.index.index();
            let is_tracked = || !below_in_index(index, 0..index.entries().len(), &prefix).is_empty();
            let is_inner = !prefix.is_empty() && !is_tracked() && is_repository(&opened);
            let counted = if is_inner { Counted::Repository } else { Counted::Folder };
            if !visit(prefix.strip_suffix(b"/").unwrap_or_default(), counted) {
                return Ok(());
            }
            if is_inner {
                continue;
            }
            let names = match opened.list() {
                Err(error) if !is_closed(&error) => return Err(error),
                listed => listed.unwrap_or_default(),
            };
            if !self.rules.contains_key(&prefix) {
                let has_rules = names.iter().any(|(name, kind)| *kind == Kind::File && &**name == b".gitignore");
                let own = has_rules.then(|| Rules::read(&opened, b".gitignore", &prefix)).flatten();
                let above = self.rules_above(&prefix);
                self.keep_rules(&prefix, above, own);
            }
            for (name, kind) in names {
                let path = [&*prefix, &*name].concat();
                if kind == Kind::Folder && !name.eq_ignore_ascii_case(b".git") && self.passes(&path, true) {
                    ahead.push((Some(Arc::clone(&opened)), with_slash(&path)));
                }
            }
        }
        Ok(())
    }
}

/// Whether a folder is gone by now, or a link; or nobody here can read what is in it.
fn is_closed(error: &io::Error) -> bool {
    is_gone(error) || error.kind() == io::ErrorKind::PermissionDenied
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::repository::empty;

    #[test]
    fn a_folder_is_listed_after_it_was_visited() {
        let root = tempfile::tempdir().unwrap();
        let mut sieve = Sieve::new(&empty(root.path()), root.path(), None).unwrap();
        let mut visited = Vec::new();
        let whole = sieve.visit(b"", usize::MAX, |folder, counted| {
            assert_eq!(counted, Counted::Folder);
            // What is made in this moment is told by no watch of the folder above, which has been listed.
            if visited.len() < 4 {
                fs::create_dir(root.path().join(folder.to_path().unwrap()).join("made")).unwrap();
            }
            visited.push(folder.to_str().unwrap().to_owned());
            true
        });
        whole.unwrap();
        assert_eq!(visited, ["", "made", "made/made", "made/made/made", "made/made/made/made"]);
    }

    #[test]
    fn what_no_look_reaches_is_not_visited() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b/c/d")).unwrap();
        let mut sieve = Sieve::new(&empty(root.path()), root.path(), None).unwrap();
        for (top, expected) in [("", &["", "a", "a/b"][..]), ("a/b", &["a/b"]), ("a/b/c", &[]), ("gone", &[])] {
            let mut visited = Vec::new();
            let whole = sieve.visit(top.as_bytes(), 2, |folder, _| {
                visited.push(folder.to_str().unwrap().to_owned());
                true
            });
            whole.unwrap();
            assert_eq!(visited, expected, "below {top:?}");
        }
    }

    #[test]
    fn a_change_of_the_index_is_told_whoever_read_it_first() {
        let root = tempfile::tempdir().unwrap();
        let repository = empty(root.path());
        let mut sieve = Sieve::new(&repository, root.path(), None).unwrap();
        assert!(sieve.take_index_change().unwrap());
        assert!(!sieve.take_index_change().unwrap());
        let state = gix::index::State::new(gix::hash::Kind::Sha1);
        let mut index = gix::index::File::from_state(state, root.path().join(".git/index"));
        index.write(gix::index::write::Options::default()).unwrap();
        sieve.renew().unwrap();
        sieve.renew().unwrap();
        assert!(sieve.take_index_change().unwrap());
        assert!(!sieve.take_index_change().unwrap());
    }

    #[test]
    fn rules_that_a_look_does_not_follow_hide_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        // As many as one file may have; there may be two of these.
        let many = "one-of-many\n".repeat(4096);
        for (file, lines) in [(".gitignore", &*many), ("a/.gitignore", &*many), ("a/b/.gitignore", "out\n")] {
            fs::write(root.path().join(file), lines).unwrap();
        }
        let mut sieve = Sieve::new(&empty(root.path()), root.path(), None).unwrap();
        assert!(!sieve.passes(b"a/b/one-of-many", false));
        assert!(sieve.passes(b"a/b/out", false));
        fs::write(root.path().join("a/.gitignore"), "one\n").unwrap();
        sieve.renew().unwrap();
        assert!(!sieve.passes(b"a/b/out", false) && !sieve.passes(b"a/b/one", false));
    }

    #[test]
    fn what_is_ignored_or_a_repository_of_its_own_is_not_entered() {
        let root = tempfile::tempdir().unwrap();
        let repository = empty(root.path());
        for folder in ["a/out/deep", "a/kept", "out/kept", "other/src", "other/.git/objects", "other/.git/refs"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("other/.git/HEAD"), "").unwrap();
        fs::write(root.path().join("a/.gitignore"), "out\n").unwrap();
        let mut sieve = Sieve::new(&repository, root.path(), None).unwrap();
        let mut visited = Vec::new();
        let whole = sieve.visit(b"", usize::MAX, |folder, counted| {
            visited.push((folder.to_str().unwrap().to_owned(), counted));
            true
        });
        whole.unwrap();
        visited.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = ["", "a", "a/kept", "other", "out", "out/kept"];
        let counted = |name: &str| if name == "other" { Counted::Repository } else { Counted::Folder };
        assert_eq!(visited, expected.map(|name| (name.to_owned(), counted(name))));
    }
}
