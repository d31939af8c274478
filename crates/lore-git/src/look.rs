//! One look at a work tree: walks folders, decides which files count, and has each compared.

use std::{
    io,
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use gix::{bstr::ByteSlice as _, index::entry::Mode as EntryMode};
use lore_model::{BlobId, RepoPath};

use crate::{
    BlobReader, Change, Ignores, Repository, Result, SkipReason, SkippedPath, WorktreeOptions,
    beneath::{Folder, Kind, Stat},
    compare::is_kept,
    ignores::{Chain, LORE_IGNORE, Rules},
    own_folders::{leads_into, own_folders},
    sorted::{below, below_in_index, exact, find, find_entry, with_slash},
    stat_cache::{Earlier, Learnt},
    tree::is_impossible,
    walk::{Visitor, walk},
    worktree::is_gone,
};

/// Which files of a folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    All,
    /// The folder is ignored: only what the index has from it.
    Tracked,
}

/// A folder's place in the walk.
#[derive(Clone)]
pub(crate) struct Place {
    /// What the commit has in it.
    pub(crate) base: Range<usize>,
    /// What the index has in it.
    pub(crate) index: Range<usize>,
    pub(crate) counts: Counts,
    depth: usize,
    /// What applies in it.
    pub(crate) git_rules: Chain,
    pub(crate) lore_rules: Chain,
}

/// What a look compares with; the same for all its threads.
pub(crate) struct Look<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) hash: gix::hash::Kind,
    pub(crate) base: &'a [(RepoPath, BlobId)],
    /// Which of `base` need no more attention.
    pub(crate) done: Vec<AtomicBool>,
    pub(crate) ignores: &'a Ignores,
    pub(crate) earlier: Earlier<'a>,
    pub(crate) options: &'a WorktreeOptions,
    rules_for_all: Chain,
    /// Folders that hold the repository itself.
    own: Vec<Vec<u8>>,
    entries: AtomicUsize,
}

/// What was found, in no order.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) changes: Vec<Change>,
    pub(crate) skipped: Vec<SkippedPath>,
    pub(crate) notes: Vec<String>,
    pub(crate) learnt: Vec<(Box<[u8]>, Learnt)>,
}

impl Findings {
    fn add(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.skipped.extend(other.skipped);
        self.notes.extend(other.notes);
        self.learnt.extend(other.learnt);
    }
}

impl<'a> Look<'a> {
    pub(crate) fn new(
        repository: &'a Repository,
        base: &'a [(RepoPath, BlobId)],
        ignores: &'a Ignores,
        earlier: Earlier<'a>,
        options: &'a WorktreeOptions,
    ) -> Self {
        Self {
            repository,
            hash: repository.local().object_hash(),
            base,
            done: base.iter().map(|_| AtomicBool::new(false)).collect(),
            ignores,
            earlier,
            options,
            rules_for_all: rules_for_all(repository, options.user_excludes.as_deref()),
            own: repository.work_tree().map(|root| own_folders(&root)).unwrap_or_default(),
            entries: AtomicUsize::new(0),
        }
    }

    /// Looks at everything.
    pub(crate) fn everything(&self, root: Folder) -> Result<Findings> {
        let names = root.list().map_err(|error| self.repository.unreadable("the work tree", &error))?;
        let mut walker = Walker::new(self);
        let mut ahead = Vec::new();
        walker.names(&Arc::new(root), &names, self.root(), &mut ahead)?;
        let mut found = self.walk(walker, ahead)?;
        self.add_what_is_gone(0..self.base.len(), &mut found);
        Ok(found)
    }

    /// Looks at these files and folders, and what the commit has below them.
    pub(crate) fn at(&self, root: Folder, paths: &[&[u8]]) -> Result<Findings> {
        let root = Arc::new(root);
        let mut walker = Walker::new(self);
        let (mut ahead, mut covered) = (Vec::new(), Vec::new());
        for path in paths {
            walker.path.clear();
            if is_impossible(path) {
                walker.path.extend_from_slice(path);
                walker.skip(SkipReason::NoPath);
                continue;
            }
            covered.extend([exact(self.base, path), below(self.base, 0..self.base.len(), &with_slash(path))]);
            walker.descend(&root, path, &mut ahead);
        }
        let mut found = self.walk(walker, ahead)?;
        self.add_what_is_gone(covered.into_iter().flatten(), &mut found);
        Ok(found)
    }

    fn walk(&self, walker: Walker<'_>, ahead: Vec<Ahead>) -> Result<Findings> {
        let mut found = walker.finish();
        if !ahead.is_empty() {
            for other in walk(ahead, || Walker::new(self))? {
                found.add(other);
            }
        }
        Ok(found)
    }

    fn add_what_is_gone(&self, covered: impl Iterator<Item = usize>, found: &mut Findings) {
        for at in covered {
            if self.done[at].swap(true, Ordering::Relaxed) {
                continue;
            }
            let path = &self.base[at].0;
            if !self.is_left_alone(path.as_bytes()) && self.ignores.excludes(path).is_none() {
                found.changes.push(Change { path: path.clone(), now: None });
            }
        }
    }

    /// Whether the index says that the work tree is not to be asked about the path.
    fn is_left_alone(&self, path: &[u8]) -> bool {
        let index = self.earlier.index;
        let all = 0..index.entries().len();
        if let Some(at) = find_entry(index, all.clone(), path) {
            return is_kept(index.entries()[at].flags);
        }
        // Folders outside a sparse checkout can be one entry.
        index.is_sparse()
            && path.find_iter(b"/").any(|end| {
                find_entry(index, all.clone(), &path[..=end]).is_some_and(|at| index.entries()[at].mode.is_sparse())
            })
    }

    fn root(&self) -> Place {
        Place {
            base: 0..self.base.len(),
            index: 0..self.earlier.index.entries().len(),
            counts: Counts::All,
            depth: 0,
            git_rules: self.rules_for_all.clone(),
            lore_rules: Chain::default(),
        }
    }

    fn leave_alone(&self, base: Range<usize>) {
        for done in &self.done[base] {
            done.store(true, Ordering::Relaxed);
        }
    }
}

/// A folder that is to be walked.
pub(crate) struct Ahead {
    parent: Arc<Folder>,
    /// With a slash at its end.
    path: Vec<u8>,
    place: Place,
}

/// A look on one thread.
pub(crate) struct Walker<'a> {
    pub(crate) look: &'a Look<'a>,
    /// The path of what is being looked at; of a folder with a slash at its end.
    pub(crate) path: Vec<u8>,
    pub(crate) buffer: Vec<u8>,
    pub(crate) blobs: Option<BlobReader>,
    pub(crate) found: Findings,
}

impl Visitor for Walker<'_> {
    type Folder = Ahead;
    type Found = Findings;

    fn visit(&mut self, folder: Ahead, ahead: &mut Vec<Ahead>) -> Result<()> {
        let Ahead { parent, path, place } = folder;
        self.path = path;
        let opened = parent.folder(last_name(&self.path)).and_then(|folder| folder.list().map(|names| (folder, names)));
        drop(parent);
        let (folder, names) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.failed(&error, &place);
                return Ok(());
            }
        };
        let is_inner = || names.iter().any(|(name, _)| &**name == b".git") && is_repository(&folder);
        if place.index.is_empty() && is_inner() {
            return Ok(());
        }
        self.names(&Arc::new(folder), &names, place, ahead)
    }

    fn finish(self) -> Findings {
        self.found
    }
}

impl<'a> Walker<'a> {
    fn new(look: &'a Look<'a>) -> Self {
        Self { look, path: Vec::new(), buffer: Vec::new(), blobs: None, found: Findings::default() }
    }

    /// Goes down to one file or folder.
    fn descend(&mut self, root: &Arc<Folder>, path: &[u8], ahead: &mut Vec<Ahead>) {
        let mut place = self.look.root();
        let mut parent = Arc::clone(root);
        self.rules_of(&parent, b".gitignore", &mut place);
        self.rules_of(&parent, LORE_IGNORE, &mut place);
        let mut rest = path;
        while let Some(at) = rest.find_byte(b'/') {
            self.path.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            let Some(inside) = self.enter(&place) else { return };
            place = inside;
            let folder = match parent.folder(last_name(&self.path)) {
                Ok(folder) => folder,
                Err(error) => return self.failed(&error, &place),
            };
            if place.index.is_empty() && (place.counts == Counts::Tracked || is_repository(&folder)) {
                return;
            }
            if place.depth > self.look.options.max_depth {
                return self.failed_with(SkipReason::TooDeep, &place);
            }
            self.rules_of(&folder, b".gitignore", &mut place);
            self.rules_of(&folder, LORE_IGNORE, &mut place);
            parent = Arc::new(folder);
        }
        self.path.extend_from_slice(rest);
        match parent.stat(rest) {
            Ok(stat) => self.name(&parent, rest, stat.kind, Some(stat), &place, ahead),
            // What is gone is found by what the commit has.
            Err(error) if is_gone(&error) => {}
            Err(error) => self.failed(&error, &place),
        }
    }

    /// Looks at the names of a folder. `self.path` is its path.
    fn names(
        &mut self,
        folder: &Arc<Folder>,
        names: &[(Box<[u8]>, Kind)],
        mut place: Place,
        ahead: &mut Vec<Ahead>,
    ) -> Result<()> {
        let max = self.look.options.max_entries;
        if self.look.entries.fetch_add(names.len(), Ordering::Relaxed) + names.len() > max {
            return Err(self.look.repository.too_many(max));
        }
        for (name, kind) in names {
            let counts = &**name == LORE_IGNORE || (&**name == b".gitignore" && place.counts == Counts::All);
            if *kind == Kind::File && counts {
                self.rules_of(folder, name, &mut place);
            }
        }
        let length = self.path.len();
        for (name, kind) in names {
            self.path.truncate(length);
            self.path.extend_from_slice(name);
            self.name(folder, name, *kind, None, &place, ahead);
        }
        Ok(())
    }

    /// Looks at one name of a folder. `self.path` is its path.
    fn name(
        &mut self,
        parent: &Arc<Folder>,
        name: &[u8],
        kind: Kind,
        stat: Option<Stat>,
        place: &Place,
        ahead: &mut Vec<Ahead>,
    ) {
        if name.eq_ignore_ascii_case(b".git") {
            return;
        }
        match kind {
            Kind::Folder => ahead.extend(self.folder(parent, place)),
            Kind::File | Kind::Symlink => self.file(parent, name, stat, place),
            Kind::Other => {
                if find(self.look.base, place.base.clone(), &self.path).is_some() {
                    self.skip(SkipReason::NotAFile);
                }
            }
        }
    }

    /// The folder whose path, still without a slash, is `self.path`, where it is to be walked.
    fn folder(&mut self, parent: &Arc<Folder>, place: &Place) -> Option<Ahead> {
        let place = self.enter(place)?;
        if place.counts == Counts::Tracked && place.index.is_empty() {
            return None;
        }
        if place.depth > self.look.options.max_depth {
            self.failed_with(SkipReason::TooDeep, &place);
            return None;
        }
        Some(Ahead { parent: Arc::clone(parent), path: self.path.clone(), place })
    }

    /// Goes into the folder whose path, still without a slash, is `self.path`; none where nothing in it counts.
    fn enter(&mut self, outer: &Place) -> Option<Place> {
        let look = self.look;
        let index = look.earlier.index;
        let is_submodule = find_entry(index, outer.index.clone(), &self.path)
            .is_some_and(|at| index.entries()[at].mode == EntryMode::COMMIT);
        let left_out = look.ignores.excludes_folder(&self.path)
            || outer.lore_rules.excludes(&self.path, true)
            || leads_into(&look.own, &self.path);
        let mut counts = outer.counts;
        if counts == Counts::All && outer.git_rules.excludes(&self.path, true) {
            counts = Counts::Tracked;
        }
        self.path.push(b'/');
        let base = below(look.base, outer.base.clone(), &self.path);
        if left_out {
            look.leave_alone(base);
            return None;
        }
        // What the commit has where a submodule is now is gone.
        if is_submodule {
            return None;
        }
        let index = below_in_index(index, outer.index.clone(), &self.path);
        let (git_rules, lore_rules) = (outer.git_rules.clone(), outer.lore_rules.clone());
        Some(Place { base, index, counts, depth: outer.depth + 1, git_rules, lore_rules })
    }

    /// Adds the rules of a folder, whose path is `self.path`.
    fn rules_of(&mut self, folder: &Folder, name: &[u8], place: &mut Place) {
        if name == LORE_IGNORE && !self.look.options.lore_ignores {
            return;
        }
        let Some(rules) = Rules::read(folder, name, &self.path) else { return };
        let chain = if name == LORE_IGNORE { &mut place.lore_rules } else { &mut place.git_rules };
        let left_out = rules.left_out.clone();
        let too_many = (!chain.push(rules)).then(|| "it is not followed: too many such lines apply".to_owned());
        for why in [left_out, too_many].into_iter().flatten() {
            let path = RepoPath::new([&*self.path, name].concat());
            self.found.notes.push(format!("{path}: {why}"));
        }
    }

    fn failed(&mut self, error: &io::Error, place: &Place) {
        if !is_gone(error) {
            self.failed_with(SkipReason::Unreadable(error.to_string()), place);
        }
    }

    /// What is in a folder that cannot be looked into is neither there nor gone.
    fn failed_with(&mut self, why: SkipReason, place: &Place) {
        self.look.leave_alone(place.base.clone());
        if self.path.ends_with(b"/") {
            self.path.pop();
        }
        self.skip(why);
    }

    pub(crate) fn skip(&mut self, why: SkipReason) {
        self.found.skipped.push(SkippedPath { path: RepoPath::new(&*self.path), why });
    }
}

/// The last name of the path of a folder, which ends with a slash.
pub(crate) fn last_name(path: &[u8]) -> &[u8] {
    let path = &path[..path.len() - 1];
    &path[path.rfind_byte(b'/').map_or(0, |at| at + 1)..]
}

/// The rules that are in no work tree, the weakest first: the user's, and those of the repository's `info/exclude`.
pub(crate) fn rules_for_all(repository: &Repository, user: Option<&Path>) -> Chain {
    let info = repository.common_dir().join("info/exclude");
    // Many people keep such files elsewhere, and have links to them at home. This one is theirs, so git follows it as well.
    let user = user.and_then(|path| path.canonicalize().ok());
    let mut rules = Chain::default();
    for read in [user.as_deref(), Some(&*info)].into_iter().flatten().filter_map(Rules::read_at) {
        rules.push(read);
    }
    rules
}

/// Whether the folder is the work tree of a repository of its own, by the same signs that git goes by.
///
/// Git does not ask where its index has files of the folder.
pub(crate) fn is_repository(folder: &Folder) -> bool {
    match folder.stat(b".git").map(|stat| stat.kind) {
        Ok(Kind::File) => {
            let mut text = Vec::new();
            folder.read(b".git", MAX_GIT_FILE, &mut text).is_ok() && text.starts_with(b"gitdir: ")
        }
        Ok(Kind::Folder) => folder
            .folder(b".git")
            .is_ok_and(|git| [&b"HEAD"[..], b"objects", b"refs"].iter().all(|name| git.stat(name).is_ok())),
        _ => false,
    }
}

/// A file that names a git directory is not longer: it holds one path.
const MAX_GIT_FILE: u64 = 1 << 20;
