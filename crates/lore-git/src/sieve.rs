//! Tells which paths of a work tree can matter, so that a watcher keeps quiet about the others.
//!
//! Only git's own rules are asked here: what Lore leaves out besides is for the look that follows.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use gix::bstr::ByteSlice as _;

use crate::{
    Repository, Result, StatCache,
    beneath::{Folder, Kind},
    ignores::{Rules, excluded},
    look::{is_repository, rules_for_all},
    sorted::{below_in_index, find_entry, with_slash},
    stat_cache::read_rules,
};

/// What git ignores, as of the last [`Sieve::renew`].
pub(crate) struct Sieve {
    repository: Repository,
    root: PathBuf,
    user: Option<PathBuf>,
    index: StatCache,
    for_all: Vec<Rules>,
    /// The rules in each folder that was asked about.
    rules: HashMap<Vec<u8>, Option<Rules>>,
}

impl Sieve {
    pub(crate) fn new(repository: &Repository, root: &Path, user: Option<&Path>) -> Result<Self> {
        let mut sieve = Self {
            repository: repository.clone(),
            root: root.to_owned(),
            user: user.map(Path::to_owned),
            index: StatCache::default(),
            for_all: Vec::new(),
            rules: HashMap::new(),
        };
        sieve.renew()?;
        Ok(sieve)
    }

    /// Reads the rules and the index again.
    pub(crate) fn renew(&mut self) -> Result<()> {
        self.rules.clear();
        self.for_all = rules_for_all(&self.repository, self.user.as_deref());
        self.index.load_index(&self.repository)
    }

    /// Whether the file or folder counts: git has it or something in it, or does not ignore it.
    pub(crate) fn passes(&mut self, path: &[u8], is_folder: bool) -> bool {
        let index = self.index.parts().0;
        let all = 0..index.entries().len();
        if path.is_empty()
            || find_entry(index, all.clone(), path).is_some()
            || !below_in_index(index, all, &with_slash(path)).is_empty()
        {
            return true;
        }
        let ends: Vec<usize> = path.find_iter(b"/").collect();
        self.load(b"");
        let mut folders: Vec<&[u8]> = vec![b""];
        for end in ends {
            if self.is_excluded(&folders, &path[..end], true) {
                return false;
            }
            self.load(&path[..=end]);
            folders.push(&path[..=end]);
        }
        !self.is_excluded(&folders, path, is_folder)
    }

    fn is_excluded(&self, folders: &[&[u8]], path: &[u8], is_folder: bool) -> bool {
        let nested = folders.iter().filter_map(|folder| self.rules.get(*folder)?.as_ref());
        let lists: Vec<&Rules> = self.for_all.iter().chain(nested).collect();
        excluded(lists.into_iter(), path, is_folder)
    }

    fn load(&mut self, folder: &[u8]) {
        if !self.rules.contains_key(folder) {
            let opened = self.open(folder);
            let lines = opened.and_then(|opened| read_rules(&opened, b".gitignore"));
            self.rules.insert(folder.to_vec(), lines.map(|lines| Rules::parse(&lines, folder)));
        }
    }

    /// Opens a folder of the work tree; its path is empty or ends with a slash.
    fn open(&self, folder: &[u8]) -> Option<Folder> {
        let mut opened = Folder::open(&self.root).ok()?;
        for name in folder.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            opened = opened.folder(name).ok()?;
        }
        Some(opened)
    }

    /// Whether there is a folder by this path, and no link.
    pub(crate) fn is_folder(&self, path: &[u8]) -> bool {
        path.is_empty() || self.open(&with_slash(path)).is_some()
    }

    /// The folder and all folders in it that count, each before those in it; not more than `most` of them.
    pub(crate) fn folders(&mut self, folder: &[u8], most: usize) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut ahead = vec![folder.to_vec()];
        while let Some(folder) = ahead.pop() {
            if found.len() == most {
                break;
            }
            let prefix = if folder.is_empty() { Vec::new() } else { with_slash(&folder) };
            let Some(mut opened) = self.open(&prefix) else { continue };
            // The files of a repository inside do not count, unless git has some of them.
            let index = self.index.parts().0;
            let is_tracked = !below_in_index(index, 0..index.entries().len(), &prefix).is_empty();
            if !folder.is_empty() && !is_tracked && is_repository(&opened) {
                continue;
            }
            for (name, kind) in opened.list().unwrap_or_default() {
                let path = [&*prefix, &*name].concat();
                if kind == Kind::Folder && !name.eq_ignore_ascii_case(b".git") && self.passes(&path, true) {
                    ahead.push(path);
                }
            }
            found.push(folder);
        }
        found
    }
}
