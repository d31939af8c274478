//! One look at a work tree: walks folders and compares each file with the index, the cache and the commit.

use std::{io, ops::Range, path::Path};

use gix::{
    bstr::ByteSlice as _,
    index::entry::{Flags, Mode as EntryMode, Stage},
    objs::Kind as ObjectKind,
};
use lore_model::{BlobId, RepoPath};

use crate::{
    BlobReader, Change, FileKind, Found, Ignores, Repository, Result, SkipReason, SkippedPath, StatCache, WorkFile,
    WorktreeChanges, WorktreeOptions,
    beneath::{Content, Folder, Kind, Stat},
    ignores::{LORE_IGNORE, Rules, excluded},
    sorted::{below, below_in_index, exact, find, find_entry, with_slash},
    stat_cache::{Known, is_young, matches_entry, read_rules, read_rules_at},
    tree::{blob_id, name_problem},
    worktree::is_gone,
};

/// Which files of a folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    All,
    /// The folder is ignored: only what the index has from it.
    Tracked,
}

/// A folder's place in the walk.
#[derive(Clone)]
struct Place {
    /// What the commit has in it.
    base: Range<usize>,
    /// What the index has in it.
    index: Range<usize>,
    counts: Counts,
    depth: usize,
}

/// A look under way.
pub(crate) struct Look<'a> {
    repository: &'a Repository,
    hash: gix::hash::Kind,
    base: &'a [(RepoPath, BlobId)],
    /// Which of `base` need no more attention.
    done: Vec<bool>,
    /// The parts of `base` that this look answers for.
    covered: Vec<Range<usize>>,
    ignores: &'a Ignores,
    cache: &'a mut StatCache,
    options: &'a WorktreeOptions,
    git_rules: Vec<Rules>,
    lore_rules: Vec<Rules>,
    /// The path of what is being looked at; of a folder with a slash at its end.
    path: Vec<u8>,
    entries: usize,
    buffer: Vec<u8>,
    blobs: Option<BlobReader>,
    found: WorktreeChanges,
}

impl<'a> Look<'a> {
    pub(crate) fn new(
        repository: &'a Repository,
        base: &'a [(RepoPath, BlobId)],
        ignores: &'a Ignores,
        cache: &'a mut StatCache,
        options: &'a WorktreeOptions,
    ) -> Self {
        Self {
            repository,
            hash: repository.local().object_hash(),
            base,
            done: vec![false; base.len()],
            covered: Vec::new(),
            ignores,
            cache,
            options,
            git_rules: rules_for_all(repository, options.user_excludes.as_deref()),
            lore_rules: Vec::new(),
            path: Vec::new(),
            entries: 0,
            buffer: Vec::new(),
            blobs: None,
            found: WorktreeChanges::default(),
        }
    }

    /// Looks at everything.
    pub(crate) fn everything(&mut self, root: &mut Folder) -> Result<()> {
        self.covered.push(0..self.base.len());
        let place = self.root();
        let names = root.list().map_err(|error| self.repository.unreadable("the work tree", &error))?;
        self.names(root, names, &place)
    }

    /// Looks at one file or folder, and what the commit has below it.
    pub(crate) fn at(&mut self, root: &Folder, path: &[u8]) -> Result<()> {
        self.path.clear();
        if path.split(|byte| *byte == b'/').any(|name| name_problem(name).is_some()) {
            self.path.extend_from_slice(path);
            self.skip(SkipReason::NoPath);
            return Ok(());
        }
        self.covered.extend([exact(self.base, path), below(self.base, 0..self.base.len(), &with_slash(path))]);
        let kept = (self.git_rules.len(), self.lore_rules.len());
        let done = self.descend(root, path);
        self.git_rules.truncate(kept.0);
        self.lore_rules.truncate(kept.1);
        done
    }

    fn descend(&mut self, root: &Folder, path: &[u8]) -> Result<()> {
        let mut place = self.root();
        self.rules_of(root, b".gitignore");
        self.rules_of(root, LORE_IGNORE);
        let mut opened: Option<Folder> = None;
        let mut rest = path;
        while let Some(at) = rest.find_byte(b'/') {
            let parent = opened.as_ref().unwrap_or(root);
            self.path.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            let Some(inside) = self.enter(&place) else { return Ok(()) };
            place = inside;
            let name_at = self.path[..self.path.len() - 1].rfind_byte(b'/').map_or(0, |at| at + 1);
            let folder = match parent.folder(&self.path[name_at..self.path.len() - 1]) {
                Ok(folder) => folder,
                Err(error) => {
                    self.failed(&error, &place);
                    return Ok(());
                }
            };
            if place.index.is_empty() && (place.counts == Counts::Tracked || is_repository(&folder)) {
                return Ok(());
            }
            self.rules_of(&folder, b".gitignore");
            self.rules_of(&folder, LORE_IGNORE);
            opened = Some(folder);
        }
        let parent = opened.as_ref().unwrap_or(root);
        self.path.extend_from_slice(rest);
        match parent.stat(rest) {
            Ok(stat) => self.name(parent, rest, stat.kind, Some(stat), &place),
            Err(error) => {
                // What is gone is found by what the commit has.
                if !is_gone(&error) {
                    self.failed(&error, &place);
                }
                Ok(())
            }
        }
    }

    /// What was found, with what is gone.
    pub(crate) fn finish(mut self) -> WorktreeChanges {
        for range in std::mem::take(&mut self.covered) {
            for at in range {
                if std::mem::replace(&mut self.done[at], true) {
                    continue;
                }
                let path = &self.base[at].0;
                if !self.is_left_alone(path.as_bytes()) && self.ignores.excludes(path).is_none() {
                    self.found.changes.push(Change { path: path.clone(), now: None });
                }
            }
        }
        self.found
    }

    fn root(&mut self) -> Place {
        let index = 0..self.cache.parts().0.entries().len();
        Place { base: 0..self.base.len(), index, counts: Counts::All, depth: 0 }
    }

    /// Looks at the names of a folder. `self.path` is its path.
    fn names(&mut self, folder: &Folder, names: Vec<(Box<[u8]>, Kind)>, place: &Place) -> Result<()> {
        let (kept, length) = ((self.git_rules.len(), self.lore_rules.len()), self.path.len());
        for (name, kind) in &names {
            if *kind == Kind::File
                && (&**name == LORE_IGNORE || (&**name == b".gitignore" && place.counts == Counts::All))
            {
                self.rules_of(folder, name);
            }
        }
        for (name, kind) in names {
            self.entries += 1;
            if self.entries > self.options.max_entries {
                return Err(self.repository.too_many(self.options.max_entries));
            }
            self.path.truncate(length);
            self.path.extend_from_slice(&name);
            self.name(folder, &name, kind, None, place)?;
        }
        self.path.truncate(length);
        self.git_rules.truncate(kept.0);
        self.lore_rules.truncate(kept.1);
        Ok(())
    }

    /// Looks at one name of a folder. `self.path` is its path.
    fn name(&mut self, parent: &Folder, name: &[u8], kind: Kind, stat: Option<Stat>, place: &Place) -> Result<()> {
        if name.eq_ignore_ascii_case(b".git") {
            return Ok(());
        }
        match kind {
            Kind::Folder => self.folder(parent, name, place),
            Kind::File | Kind::Symlink => {
                self.file(parent, name, stat, place);
                Ok(())
            }
            Kind::Other => {
                if find(self.base, place.base.clone(), &self.path).is_some() {
                    self.skip(SkipReason::NotAFile);
                }
                Ok(())
            }
        }
    }

    fn folder(&mut self, parent: &Folder, name: &[u8], place: &Place) -> Result<()> {
        let Some(place) = self.enter(place) else { return Ok(()) };
        if place.counts == Counts::Tracked && place.index.is_empty() {
            return Ok(());
        }
        if place.depth > self.options.max_depth {
            self.failed_with(SkipReason::TooDeep, &place);
            return Ok(());
        }
        let opened = parent.folder(name).and_then(|mut folder| folder.list().map(|names| (folder, names)));
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
        self.names(&folder, names, &place)
    }

    /// Goes into the folder whose path, still without a slash, is `self.path`; none where nothing in it counts.
    fn enter(&mut self, outer: &Place) -> Option<Place> {
        let index = self.cache.parts().0;
        let is_submodule = find_entry(index, outer.index.clone(), &self.path)
            .is_some_and(|at| index.entries()[at].mode == EntryMode::COMMIT);
        let left_out = self.ignores.excludes_folder(&self.path) || excluded(self.lore_rules.iter(), &self.path, true);
        let mut counts = outer.counts;
        if counts == Counts::All && excluded(self.git_rules.iter(), &self.path, true) {
            counts = Counts::Tracked;
        }
        self.path.push(b'/');
        let base = below(self.base, outer.base.clone(), &self.path);
        if is_submodule || left_out {
            self.done[base].fill(true);
            return None;
        }
        let index = below_in_index(self.cache.parts().0, outer.index.clone(), &self.path);
        Some(Place { base, index, counts, depth: outer.depth + 1 })
    }

    fn file(&mut self, parent: &Folder, name: &[u8], stat: Option<Stat>, place: &Place) {
        let index = self.cache.parts().0;
        let entry = find_entry(index, place.index.clone(), &self.path);
        if entry.is_none() && (place.counts == Counts::Tracked || excluded(self.git_rules.iter(), &self.path, false)) {
            return;
        }
        let base = find(self.base, place.base.clone(), &self.path);
        if let Some(at) = base {
            self.done[at] = true;
        }
        let wanted = base.map(|at| self.base[at].1);
        if entry.is_some_and(|at| is_kept(index.entries()[at].flags)) {
            return;
        }
        match self.now(parent, name, stat, entry, wanted) {
            Ok(None) => {}
            Ok(Some(now)) => {
                let path = RepoPath::new(&*self.path);
                if !excluded(self.lore_rules.iter(), &self.path, false) && self.ignores.excludes(&path).is_none() {
                    self.found.changes.push(Change { path, now: Some(now) });
                }
            }
            Err(Trouble::Io(error)) if is_gone(&error) => {
                // It went away during the look.
                if let Some(at) = base {
                    self.done[at] = false;
                }
            }
            Err(Trouble::Io(error)) => self.skip_unless_excluded(SkipReason::Unreadable(error.to_string())),
            Err(Trouble::Skip(why)) => self.skip_unless_excluded(why),
        }
    }

    /// What is there now, unless it is what was wanted.
    fn now(
        &mut self,
        parent: &Folder,
        name: &[u8],
        stat: Option<Stat>,
        entry: Option<usize>,
        wanted: Option<BlobId>,
    ) -> Result<Option<WorkFile>, Trouble> {
        let stat = match stat {
            Some(stat) => stat,
            None => parent.stat(name)?,
        };
        let kind = match stat.kind {
            Kind::Symlink => FileKind::Symlink,
            _ if stat.executable => FileKind::Executable,
            _ => FileKind::Regular,
        };
        let tracked = entry.is_some();
        let look = self.cache.look;
        let (index, files) = self.cache.parts();
        if let Some(entry) = entry.map(|at| &index.entries()[at]) {
            let is_link = entry.mode == EntryMode::SYMLINK;
            if entry.stage() == Stage::Unconflicted
                && !entry.flags.contains(Flags::INTENT_TO_ADD)
                && is_link == (kind == FileKind::Symlink)
                && matches_entry(entry, &stat, index)
            {
                let blob = blob_id(&entry.id);
                return Ok((wanted != Some(blob)).then_some(WorkFile { blob, kind, size: stat.size, tracked }));
            }
        }
        let known = match files.get_mut(&*self.path) {
            Some(known) if known.stat == stat && !known.young => {
                known.look = look;
                known
            }
            _ => {
                let known = self.read(parent, name, &stat, look)?;
                self.cache.files.entry(Box::from(&*self.path)).insert_entry(known).into_mut()
            }
        };
        let (blob, with_lf, told) = (known.blob, known.with_lf, known.equals);
        let Some(wanted) = wanted else {
            return Ok(Some(WorkFile { blob, kind, size: stat.size, tracked }));
        };
        if wanted == blob || Some(wanted) == with_lf {
            return Ok(None);
        }
        let same = match told {
            Some((told, same)) if told == wanted => same,
            _ => kind != FileKind::Symlink && self.equals_with_lf(wanted, with_lf.unwrap_or(blob)),
        };
        if let Some(known) = self.cache.files.get_mut(&*self.path) {
            known.equals = Some((wanted, same));
        }
        Ok((!same).then_some(WorkFile { blob, kind, size: stat.size, tracked }))
    }

    fn read(&mut self, parent: &Folder, name: &[u8], stat: &Stat, look: u64) -> Result<Known, Trouble> {
        let mut known = Known {
            stat: *stat,
            young: true,
            blob: blob_id(&gix::ObjectId::empty_blob(self.hash)),
            with_lf: None,
            equals: None,
            look,
        };
        if stat.kind == Kind::Symlink {
            known.young = is_young(stat);
            known.blob = hash_blob(self.hash, &parent.link(name)?);
            return Ok(known);
        }
        if stat.size > self.options.max_file_bytes {
            return Err(Trouble::Skip(SkipReason::TooLarge(stat.size)));
        }
        // Asked before the file is read: what comes after makes it younger.
        let young = is_young(stat);
        match parent.read(name, self.options.max_file_bytes, &mut self.buffer)? {
            Content::Read { before, after } => known.young = young || before != *stat || after != *stat,
            Content::TooLarge(size) => return Err(Trouble::Skip(SkipReason::TooLarge(size))),
            Content::NotAFile => return Err(Trouble::Skip(SkipReason::NotAFile)),
        }
        known.blob = hash_blob(self.hash, &self.buffer);
        if make_lf(&mut self.buffer) {
            known.with_lf = Some(hash_blob(self.hash, &self.buffer));
        }
        Ok(known)
    }

    /// Whether the blob, with all its line ends as LF, is the one that `with_lf` names.
    fn equals_with_lf(&mut self, blob: BlobId, with_lf: BlobId) -> bool {
        let reader = self.blobs.get_or_insert_with(|| self.repository.blobs());
        let read = reader.read(blob, self.options.max_file_bytes, &mut self.buffer);
        matches!(read, Ok(Found::Read)) && make_lf(&mut self.buffer) && hash_blob(self.hash, &self.buffer) == with_lf
    }

    /// Whether the index says that the work tree is not to be asked about the path.
    fn is_left_alone(&mut self, path: &[u8]) -> bool {
        let index = self.cache.parts().0;
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

    fn rules_of(&mut self, folder: &Folder, name: &[u8]) {
        let Some(lines) = read_rules(folder, name) else { return };
        let at = self.path.rfind_byte(b'/').map_or(0, |at| at + 1);
        let rules = Rules::parse(&lines, &self.path[..at]);
        if name == LORE_IGNORE { self.lore_rules.push(rules) } else { self.git_rules.push(rules) }
    }

    fn failed(&mut self, error: &io::Error, place: &Place) {
        if !is_gone(error) {
            self.failed_with(SkipReason::Unreadable(error.to_string()), place);
        }
    }

    /// What is in a folder that cannot be looked into is neither there nor gone.
    fn failed_with(&mut self, why: SkipReason, place: &Place) {
        self.done[place.base.clone()].fill(true);
        if self.path.ends_with(b"/") {
            self.path.pop();
        }
        self.skip(why);
    }

    fn skip_unless_excluded(&mut self, why: SkipReason) {
        let excluded = excluded(self.lore_rules.iter(), &self.path, false)
            || self.ignores.excludes(&RepoPath::new(&*self.path)).is_some();
        if !excluded {
            self.skip(why);
        }
    }

    fn skip(&mut self, why: SkipReason) {
        self.found.skipped.push(SkippedPath { path: RepoPath::new(&*self.path), why });
    }
}

/// The rules that are in no work tree, the weakest first: the user's, and those of the repository's `info/exclude`.
pub(crate) fn rules_for_all(repository: &Repository, user: Option<&Path>) -> Vec<Rules> {
    let info = repository.common_dir().join("info/exclude");
    let files = [user, Some(&*info)].into_iter().flatten();
    files.filter_map(read_rules_at).map(|lines| Rules::parse(&lines, b"")).collect()
}

/// Why a file has no content to compare.
enum Trouble {
    Io(io::Error),
    Skip(SkipReason),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Git's name for a content.
pub(crate) fn hash_blob(hash: gix::hash::Kind, bytes: &[u8]) -> BlobId {
    let id = gix::objs::compute_hash(hash, ObjectKind::Blob, bytes);
    // It fails for contents that were made to collide; these get the name that no content has.
    blob_id(&id.unwrap_or_else(|_| hash.null()))
}

/// Replaces each CRLF by LF; false where there is none.
fn make_lf(bytes: &mut Vec<u8>) -> bool {
    let before = bytes.len();
    if memchr::memmem::find(bytes, b"\r\n").is_none() {
        return false;
    }
    let mut kept = 0;
    for at in 0..before {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        bytes[kept] = bytes[at];
        kept += 1;
    }
    bytes.truncate(kept);
    true
}

/// Whether the folder is the work tree of a repository of its own, by the same signs that git goes by.
///
/// Git does not ask where its index has files of the folder.
pub(crate) fn is_repository(folder: &Folder) -> bool {
    match folder.stat(b".git").map(|stat| stat.kind) {
        Ok(Kind::File) => read_rules(folder, b".git").is_some_and(|text| text.starts_with(b"gitdir: ")),
        Ok(Kind::Folder) => folder
            .folder(b".git")
            .is_ok_and(|git| [&b"HEAD"[..], b"objects", b"refs"].iter().all(|name| git.stat(name).is_ok())),
        _ => false,
    }
}

fn is_kept(flags: Flags) -> bool {
    flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
}
