//! Which snapshot of each repository a question is about, with the uncommitted work over it, and the view over all of them.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use lore_model::{Cancelled, Code, CommitId, Failure, Repo, RepoId, Source};
use lore_store::{Base, OverlayInput, SnapshotId, SnapshotInfo, StoreError, ViewPart};

use super::{
    IndexReader,
    overlay::WorkVersion,
    past::PastShown,
    tips::Tips,
    views::{self, Loaded, PartKey, ViewKey},
    work_tree::{Look, Watched},
};

impl From<Cancelled> for Unopened {
    fn from(cancelled: Cancelled) -> Self {
        Self::Store(cancelled.into())
    }
}

/// Why a view is not open.
enum Unopened {
    Store(StoreError),
    /// What of it is read from git cannot be read.
    Read(Failure),
}

impl From<StoreError> for Unopened {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// One repository in an answer.
pub(super) struct Part {
    pub(super) repo: Repo,
    pub(super) snapshot: SnapshotInfo,
    pub(super) uncommitted: usize,
    pub(super) work: Option<Arc<Mutex<Watched>>>,
    /// The state of the work tree that was seen.
    pub(super) version: WorkVersion,
    /// Why the work tree could not be looked at, or not all of it.
    pub(super) work_error: Option<String>,
    /// What could not be followed of ignore files.
    pub(super) notes: Vec<String>,
    /// What is shown of the past, in place of what is there.
    pub(super) past: Option<PastShown>,
}

impl IndexReader {
    /// Where the refs point, seen from a work tree; `None` where the repository cannot be read.
    pub(super) fn tips(&self, repo: &Repo, place: &Path) -> Option<Tips> {
        self.settings.refresh_ignore(&repo.info.local_path);
        self.tips.at(repo, place)
    }

    /// Whether the branch that is asked about is there, or no branch is; a repository that cannot be read still answers from
    /// the index.
    pub fn has_branch(&self, repo: &Repo) -> bool {
        repo.shown.is_none() || self.tips(repo, &repo.info.local_path).is_none_or(|tips| tips.shown.is_some())
    }

    /// The part of a view that shows a repository; `None` where nothing of it is indexed, or not the branch that is asked
    /// about. A branch that is not there any more is a failure: another one's code would be no answer.
    pub(super) fn part(
        &self,
        repo: &Repo,
        state: &lore_store::CodeState,
        place: Option<&Path>,
        searched_alone: bool,
    ) -> Result<Option<Part>, Failure> {
        let place = place.unwrap_or(&repo.info.local_path);
        let tips = self.tips(repo, place);
        if let (Some(branch), Some(Tips { shown: None, .. })) = (&repo.shown, &tips) {
            return Err(no_such_branch(repo, branch, state));
        }
        let Some(snapshot) = base(repo, tips.as_ref(), state) else { return Ok(None) };
        let (repo, snapshot) = (repo.clone(), snapshot.clone());
        // A mirror has no work tree either.
        if repo.shown.is_some() || matches!(repo.info.source, Source::Url(_)) {
            let (work, notes) = (None, Vec::new());
            return Ok(Some(Part {
                repo,
                snapshot,
                uncommitted: 0,
                work,
                version: WorkVersion::default(),
                work_error: None,
                notes,
                past: None,
            }));
        }
        // Mostly nothing is uncommitted, so what is committed can be opened meanwhile.
        if searched_alone && !self.views.show(snapshot.id) {
            self.open_early(repo.id, snapshot.id);
        }
        let (looked, error) = match self.look(&repo, place, snapshot.commit, Look::IfNeeded) {
            Ok(Some(mut looked)) => {
                let error = looked.error.take();
                (Some(looked), error)
            }
            Ok(None) => (None, None),
            Err(failure) => (None, Some(failure)),
        };
        // Where the repository has gone, what was indexed of it can still be searched, and the state says that it has gone.
        let work_error = error.filter(|_| tips.is_some()).map(|failure| failure.message);
        let (uncommitted, version) =
            looked.as_ref().map_or_else(Default::default, |looked| (looked.uncommitted, looked.version));
        let (work, notes) = looked.map_or((None, Vec::new()), |looked| (Some(looked.work), looked.notes));
        Ok(Some(Part { repo, snapshot, uncommitted, work, version, work_error, notes, past: None }))
    }

    /// Begins to open a snapshot without uncommitted work, on another thread. Where it fails, it fails again when it is wanted.
    fn open_early(&self, repo: RepoId, snapshot: SnapshotId) {
        let (store, views) = (Arc::clone(&self.store), Arc::clone(&self.views));
        thread::spawn(move || {
            let key = vec![PartKey::committed(repo, snapshot)];
            let make = || {
                let loaded = views::open(&*store, vec![ViewPart::snapshot(snapshot)], 0)?;
                Ok::<_, StoreError>((key.clone(), loaded))
            };
            drop(views.get(&key.clone(), make));
        });
    }

    /// The view over these parts, opened or remembered. Where the store fails, the question may be asked again.
    pub(super) fn load(&self, parts: &[Part]) -> Result<Result<Arc<Loaded>, StoreError>, Failure> {
        let key = parts.iter().map(|part| {
            let committed = PartKey::committed(part.repo.id, part.snapshot.id);
            match &part.past {
                Some(past) => PartKey { past: Some(Arc::clone(&past.key)), ..committed },
                None => PartKey { version: part.version, ..committed },
            }
        });
        match self.views.get(&key.collect(), || self.open_view(parts)) {
            Ok(loaded) => Ok(Ok(loaded)),
            Err(Unopened::Store(error)) => Ok(Err(error)),
            Err(Unopened::Read(failure)) => Err(failure),
        }
    }

    /// Opens the view over these parts.
    fn open_view(&self, parts: &[Part]) -> Result<(ViewKey, Arc<Loaded>), Unopened> {
        let (mut works, mut lacking) = (Vec::new(), 0);
        for part in parts {
            let past = match &part.past {
                Some(past) => {
                    let mut overlay = OverlayInput::default();
                    if let Some(missing) = &past.missing {
                        let (read, unread) = self.read_missing(missing).map_err(Unopened::Read)?;
                        overlay = read;
                        lacking += unread;
                    }
                    Some((Arc::clone(&past.key), ViewPart { base: past.base.clone(), overlay }))
                }
                None => None,
            };
            works.push((part.repo.id, part.snapshot.clone(), part.work.clone(), past));
        }
        let (mut key, mut wanted): (ViewKey, Vec<ViewPart>) = (Vec::new(), Vec::new());
        for (repo, snapshot, work, past) in works {
            let committed = PartKey::committed(repo, snapshot.id);
            if let Some((past, shown)) = past {
                key.push(PartKey { past: Some(past), ..committed });
                wanted.push(shown);
                continue;
            }
            let work = work.as_ref().map(|work| work.lock().unwrap_or_else(PoisonError::into_inner));
            // Where the work tree was laid over another commit meanwhile, the snapshot stands alone: the next question sees it.
            let version = work.as_ref().and_then(|work| work.overlay.version_over(snapshot.commit));
            key.push(PartKey { version: version.unwrap_or_default(), ..committed });
            let input = work.filter(|_| version.is_some()).map(|work| work.overlay.input());
            wanted.push(ViewPart { base: Base::Snapshot(snapshot.id), overlay: input.unwrap_or_default() });
        }
        Ok((key, views::open(&*self.store, wanted, lacking)?))
    }
}

/// The snapshot that a work tree stands on: of its HEAD where that is indexed, else of what was its HEAD. Where neither is
/// indexed, only some branches are: then of the default branch, or of the first of the others.
///
/// Where a branch is asked about, only that one: as it is now, or as it was when it was indexed.
pub(super) fn base<'a>(repo: &Repo, tips: Option<&Tips>, state: &'a lore_store::CodeState) -> Option<&'a SnapshotInfo> {
    let of = |commit: CommitId| state.snapshots.iter().find(|snapshot| snapshot.commit == commit);
    if let Some(branch) = &repo.shown {
        let was = || state.tips.iter().find(|tip| lore_git::is_ref_of(&tip.name, branch));
        return tips.and_then(|tips| tips.shown).and_then(of).or_else(|| was().and_then(|tip| of(tip.commit)));
    }
    let was = state.tips.iter().find(|tip| tip.name == "HEAD").map(|tip| tip.commit);
    let default = repo.info.default_branch.as_deref();
    let is_default = |name: &str| default.is_some_and(|default| lore_git::is_ref_of(name, default));
    let named = || state.tips.iter().filter(|tip| is_default(&tip.name)).chain(&state.tips);
    tips.and_then(|tips| tips.head)
        .and_then(of)
        .or_else(|| was.and_then(of))
        .or_else(|| named().find_map(|tip| of(tip.commit)))
        .or_else(|| state.snapshots.first())
}

/// The branch that is asked about is not in the repository.
fn no_such_branch(repo: &Repo, branch: &str, state: &lore_store::CodeState) -> Failure {
    let mut known: Vec<&str> = state
        .tips
        .iter()
        .filter_map(|tip| tip.name.strip_prefix("refs/heads/"))
        .filter(|name| *name != branch)
        .collect();
    known.sort_unstable();
    let failure = Failure::new(
        Code::InvalidArgument,
        format!("{} has no branch `{}`: it is gone, or never was there", repo.name(), lore_model::brief(branch)),
    );
    match known.as_slice() {
        [] => failure.hint("choose another branch"),
        known => failure.hint(format!("choose another branch; indexed are: {}", known.join(", "))).quoting_repository(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use lore_model::{BranchChoice, NewRepo, RepoName, SyncState, Tip};

    use super::*;

    #[test]
    fn where_head_is_not_indexed_the_default_branch_answers() {
        let commit = |digit: char| CommitId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap();
        let snapshot = |id: i64, commit: CommitId| SnapshotInfo {
            id: SnapshotId(id),
            commit,
            files: 1,
            chunks: 1,
            lines: 1,
            bytes: 1,
        };
        let tip = |name: &str, commit: CommitId| Tip { name: name.to_owned(), commit };
        let mut repo = Repo {
            id: RepoId(1),
            info: NewRepo {
                name: RepoName::parse("r").unwrap(),
                local_path: PathBuf::from("/r"),
                source: Source::Local,
                default_branch: Some("trunk".to_owned()),
                branches: BranchChoice::Named(vec!["next".to_owned(), "old".to_owned(), "trunk".to_owned()]),
                excludes: Vec::new(),
                author_filter: None,
                fork_of: None,
            },
            aliases: Vec::new(),
            added_at: None,
            sync: SyncState::default(),
            shown: None,
            alone: false,
            mount: None,
        };
        let state = lore_store::CodeState {
            tips: vec![
                tip("refs/heads/next", commit('2')),
                tip("refs/heads/old", commit('1')),
                tip("refs/heads/trunk", commit('3')),
            ],
            // In the order in which they were made.
            snapshots: vec![snapshot(1, commit('1')), snapshot(2, commit('2')), snapshot(3, commit('3'))],
            ..lore_store::CodeState::default()
        };
        let answers = |repo: &Repo| base(repo, None, &state).map(|snapshot| snapshot.id);
        assert_eq!(answers(&repo), Some(SnapshotId(3)));
        repo.info.default_branch = None;
        assert_eq!(answers(&repo), Some(SnapshotId(2)), "the first that was named");
        for (branch, expected) in [("old", Some(SnapshotId(1))), ("next", Some(SnapshotId(2))), ("other", None)] {
            repo.shown = Some(branch.to_owned());
            assert_eq!(answers(&repo), expected, "only the branch that is asked about: {branch}");
        }
    }
}
