//! Views that are at hand: each is opened once, for everybody who asks about the same, and let go when it is of yesterday.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Instant,
};

use lore_model::{Cancelled, RepoId};
use lore_store::{CodeView, IndexStore, SnapshotId, SnapshotInfo, StoreError, ViewPart};

use super::{indexed::IndexedFiles, overlay::WorkVersion, shared::Shared, signals::PathIndex};

/// One snapshot of a view.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PartKey {
    pub(super) repo: RepoId,
    pub(super) snapshot: SnapshotId,
    /// The state of the work tree on top of it.
    pub(super) version: WorkVersion,
    /// What of the past is shown in its place.
    pub(super) past: Option<Arc<str>>,
}

impl PartKey {
    /// A snapshot as it was committed.
    pub(super) fn committed(repo: RepoId, snapshot: SnapshotId) -> Self {
        Self { repo, snapshot, version: WorkVersion::default(), past: None }
    }

    /// Whether both show the same. Where nothing is uncommitted, it does not matter in which work tree.
    fn shows_same(&self, other: &Self) -> bool {
        let is_same_version = self.version == other.version || self.version.state == 0 && other.version.state == 0;
        self.snapshot == other.snapshot && self.past == other.past && is_same_version
    }

    /// Whether this is another state of the same work tree, or was opened for none.
    fn is_replaced_by(&self, newer: &Self) -> bool {
        let is_same_tree = self.version.tree == newer.version.tree || self.version.tree == 0;
        self.snapshot == newer.snapshot && self.past == newer.past && is_same_tree
    }
}

/// Which snapshots and which state of their work trees a view shows.
pub(super) type ViewKey = Vec<PartKey>;

/// Whether this holds of each part of a view and the part of another one in its place.
fn is_each(one: &ViewKey, other: &ViewKey, holds: impl Fn(&PartKey, &PartKey) -> bool) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| holds(a, b))
}

/// A view with what is derived from it once.
pub(super) struct Loaded {
    pub(super) view: Arc<dyn CodeView>,
    pub(super) paths: PathIndex,
    /// How many files of it could not be read.
    pub(super) lacking: usize,
    meant: OnceLock<usize>,
    indexed: OnceLock<Arc<IndexedFiles>>,
}

impl Loaded {
    pub(super) fn new(view: Arc<dyn CodeView>, lacking: usize) -> Self {
        Self { paths: PathIndex::new(&*view), view, lacking, meant: OnceLock::new(), indexed: OnceLock::new() }
    }

    /// How many chunks are found by meaning.
    pub(super) fn meant(&self) -> usize {
        *self.meant.get_or_init(|| self.view.meant().len())
    }

    /// The files that are searched.
    pub(super) fn indexed(&self) -> Result<Arc<IndexedFiles>, StoreError> {
        if let Some(known) = self.indexed.get() {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(IndexedFiles::of(&*self.view)?);
        Ok(Arc::clone(self.indexed.get_or_init(|| made)))
    }
}

/// The views that are at hand, and those that are being opened.
pub(super) struct Views {
    /// The last used last.
    open: Mutex<Vec<(ViewKey, Arc<Loaded>)>>,
    opening: Shared<ViewKey, Arc<Loaded>>,
    most: usize,
}

impl Views {
    /// Keeps so many; at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { open: Mutex::default(), opening: Shared::default(), most: most.max(1) }
    }

    /// The view of that key: the one at hand, or the one that `make` or somebody before opens. Whoever opens it says how it
    /// is called in the end, since a work tree may have changed meanwhile.
    pub(super) fn get<E: From<Cancelled>>(
        &self,
        key: &ViewKey,
        make: impl FnOnce() -> Result<(ViewKey, Arc<Loaded>), E>,
    ) -> Result<Arc<Loaded>, E> {
        if let Some(known) = self.find(key) {
            return Ok(known);
        }
        let make = || {
            let (key, loaded) = make()?;
            // What is lacking may be there when it is asked for again.
            if loaded.lacking == 0 {
                self.remember(key, Arc::clone(&loaded));
            }
            Ok(loaded)
        };
        // After a refresh everybody wants the same view at once.
        self.opening.get(key, make)
    }

    fn find(&self, key: &ViewKey) -> Option<Arc<Loaded>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            open.iter().position(|(known, _)| is_each(known, key, PartKey::shows_same)).map(|at| open.remove(at))?;
        let loaded = Arc::clone(&found.1);
        open.push(found);
        Some(loaded)
    }

    fn remember(&self, key: ViewKey, loaded: Arc<Loaded>) {
        // An older state of the same work tree is not asked for again.
        let is_older = |known: &ViewKey| is_each(known, &key, PartKey::is_replaced_by);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone: Vec<_> = open.extract_if(.., |(known, _)| is_older(known)).collect();
        let too_many = (open.len() + 1).saturating_sub(self.most);
        gone.extend(open.drain(..too_many));
        open.push((key, loaded));
        drop(open);
        // Not while others wait for the list.
        drop(gone);
    }

    /// Whether a view with this snapshot is at hand.
    pub(super) fn show(&self, snapshot: SnapshotId) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().any(|(key, _)| key.iter().any(|part| part.snapshot == snapshot && part.past.is_none()))
    }

    /// Lets go of what shows other snapshots of a repository than these: nobody asks for it any more. Whoever opens what takes
    /// its place holds it until then: both have most segments in common, and those stay open with all that was read of them.
    #[must_use]
    pub(super) fn keep_only(&self, repo: RepoId, living: &[SnapshotInfo]) -> Vec<Arc<Loaded>> {
        let is_gone = |part: &PartKey| part.repo == repo && living.iter().all(|snapshot| snapshot.id != part.snapshot);
        self.take(|key| key.iter().any(is_gone))
    }

    /// Lets go of everything that shows one of these repositories.
    pub(super) fn forget(&self, repos: &[RepoId]) {
        drop(self.take(|key| key.iter().any(|part| repos.contains(&part.repo))));
    }

    /// Takes views out of the list. What they hold is freed by the caller: not while others wait for the list.
    fn take(&self, which: impl Fn(&ViewKey) -> bool) -> Vec<Arc<Loaded>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.extract_if(.., |(key, _)| which(key)).map(|(_, loaded)| loaded).collect()
    }
}

/// Opens a view, from which so many files are lacking.
pub(super) fn open(store: &dyn IndexStore, parts: Vec<ViewPart>, lacking: usize) -> Result<Arc<Loaded>, StoreError> {
    let started = Instant::now();
    let view = store.open_view(parts)?;
    let loaded = Arc::new(Loaded::new(view, lacking));
    let (files, chunks) = (loaded.view.files().len(), loaded.view.chunk_count());
    tracing::debug!(files, chunks, took_ms = started.elapsed().as_millis(), "a view was opened");
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use lore_model::CommitId;
    use lore_store_embedded::EmbeddedStore;

    use super::*;

    fn part(repo: i64, snapshot: i64, state: u64) -> PartKey {
        part_of(1, repo, snapshot, state)
    }

    fn part_of(tree: u64, repo: i64, snapshot: i64, state: u64) -> PartKey {
        PartKey { version: WorkVersion { tree, state }, ..PartKey::committed(RepoId(repo), SnapshotId(snapshot)) }
    }

    fn living(ids: &[i64]) -> Vec<SnapshotInfo> {
        let commit = CommitId::from_hex("1".repeat(40).as_bytes()).unwrap();
        let info = |id: &i64| SnapshotInfo { id: SnapshotId(*id), commit, files: 1, chunks: 1, lines: 1, bytes: 1 };
        ids.iter().map(info).collect()
    }

    /// A view of nothing: what is in it does not matter here.
    fn some_view() -> Arc<Loaded> {
        let dir = tempfile::tempdir().unwrap();
        let nothing = ViewPart { base: lore_store::Base::Nothing, overlay: lore_store::OverlayInput::default() };
        open(&EmbeddedStore::new(dir.path()), vec![nothing], 0).unwrap()
    }

    fn with(views: &Views, keys: &[ViewKey]) {
        for key in keys {
            let loaded = some_view();
            views.get(&key.clone(), || Ok::<_, StoreError>((key.clone(), loaded))).unwrap();
        }
    }

    fn held(views: &Views) -> Vec<ViewKey> {
        views.open.lock().unwrap().iter().map(|(key, _)| key.clone()).collect()
    }

    #[test]
    fn a_view_is_opened_once_and_the_one_that_was_not_used_longest_goes() {
        let views = Views::new(2);
        let keys = [1, 2, 3].map(|snapshot| vec![part(1, snapshot, 0)]);
        with(&views, &keys[..2]);
        let first = views.get::<StoreError>(&keys[0].clone(), || panic!("it is at hand")).unwrap();
        with(&views, &keys[2..]);
        assert_eq!(held(&views), [keys[0].clone(), keys[2].clone()]);
        assert!(Arc::ptr_eq(&first, &views.find(&keys[0]).unwrap()));
        assert!(views.show(SnapshotId(3)) && !views.show(SnapshotId(2)));
    }

    #[test]
    fn another_state_of_a_work_tree_takes_the_place_of_the_last() {
        let views = Views::new(8);
        with(&views, &[vec![part(1, 1, 0)], vec![part(1, 1, 7)]]);
        assert_eq!(held(&views), [vec![part(1, 1, 7)]]);
    }

    #[test]
    fn work_trees_over_one_commit_do_not_take_each_others_views() {
        let views = Views::new(8);
        let (first, second) = (vec![part_of(1, 1, 1, 7)], vec![part_of(2, 1, 1, 9)]);
        with(&views, &[first.clone(), second.clone()]);
        assert_eq!(held(&views), [first.clone(), second.clone()]);
        // One without uncommitted work is for all of them, until the tree that it was opened for has some.
        let clean = vec![part_of(3, 1, 1, 0)];
        with(&views, std::slice::from_ref(&clean));
        assert!(views.find(&vec![part_of(4, 1, 1, 0)]).is_some(), "it shows the same");
        assert!(views.find(&vec![part_of(3, 1, 1, 8)]).is_none() && views.find(&vec![part_of(2, 1, 1, 7)]).is_none());
        let edited = vec![part_of(3, 1, 1, 10)];
        with(&views, std::slice::from_ref(&edited));
        assert_eq!(held(&views), [first, second, edited]);
    }

    #[test]
    fn what_shows_a_snapshot_that_is_gone_is_let_go_and_nothing_else() {
        let views = Views::new(8);
        let (main, topic, other) = (part(1, 1, 0), part(1, 2, 0), part(2, 3, 0));
        let keys = [vec![main.clone()], vec![topic.clone()], vec![other.clone()], vec![main.clone(), other.clone()]];
        with(&views, &keys);
        assert_eq!(views.keep_only(RepoId(1), &living(&[2, 9])).len(), 2);
        assert_eq!(held(&views), [vec![topic.clone()], vec![other.clone()]]);
        assert!(views.keep_only(RepoId(1), &living(&[2, 9])).is_empty());
        views.forget(&[RepoId(2)]);
        assert_eq!(held(&views), [vec![topic]]);
    }
}
