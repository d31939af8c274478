//! Where history and code meet: both brought up to date together, and kept so while a server runs.

use std::{
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use lore_git::{Cancel, Event, Repository, WatchOptions, Watcher, Watching as WatchStatus};
use lore_model::{Code, Failure, Repo, RepoPath, Signal, Source};
use lore_store::IndexWriter;

use crate::{
    Lore, git_failure,
    history::{AddRequest, FreshState, SyncEvent, SyncOptions, SyncReport, SyncTask, Target},
    search::{CodeEvent, CodeReport, CodeTask, CommitsAnswer, CommitsRequest, EmbedEvent, EmbedReport, PastReport},
    store_failure,
};

/// How often refs are looked at: a few `stat` calls each time.
const PAUSE: Duration = Duration::from_millis(700);

/// How long to leave alone what failed, or what is no repository.
const LONG_PAUSE: Duration = Duration::from_secs(30);

/// How soon a pause ends when the server does.
const PAUSE_STEP: Duration = Duration::from_millis(50);

/// Changes of files within this time are taken together.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// How often it is looked at whether chunks have no vectors of the second model yet.
const EMBED_PAUSE: Duration = Duration::from_secs(2);

/// How often everything is looked at although it is watched: no system tells of every change.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// And how many times as long as the last look took it is left alone at least.
const LOOK_SHARE: u32 = 20;

/// How a sync goes on.
#[derive(Debug, Clone)]
pub enum FlowEvent {
    /// Of the history.
    History(SyncEvent),
    /// Of the code.
    Code(CodeEvent),
    /// Of the past of the code.
    Past(CodeEvent),
    /// Of the vectors of a second model.
    Embedding(EmbedEvent),
}

/// What a sync is done with.
#[derive(Clone, Copy)]
pub struct FlowTask<'a> {
    /// The one writer.
    pub writer: &'a dyn IndexWriter,
    /// How it is done.
    pub options: &'a SyncOptions,
    /// Stops it.
    pub cancel: &'a Cancel,
    /// Hears how it goes on.
    pub progress: &'a (dyn Fn(FlowEvent) + Send + Sync),
}

/// What a sync did.
#[derive(Debug, Clone, Default)]
pub struct FlowReport {
    /// To the history.
    pub history: SyncReport,
    /// To the code.
    pub code: CodeReport,
    /// To its past, where that is kept.
    pub past: Option<PastReport>,
    /// To the vectors of a second model, where that was asked for as well.
    pub embedding: Option<EmbedReport>,
}

impl Lore {
    /// Brings one repository up to date.
    pub fn sync(&self, repo: &Repo, task: &FlowTask<'_>) -> Result<FlowReport, Failure> {
        let FlowTask { writer, options, cancel, progress } = *task;
        let history = |event| progress(FlowEvent::History(event));
        let history_task = SyncTask { writer, options, cancel, progress: &history };
        // What was registered by URL has to be fetched first; elsewhere the code can be asked soonest.
        if repo.info.source == Source::Local {
            let ended = &AtomicBool::new(false);
            let (code, history) = thread::scope(|threads| {
                let code = threads.spawn(move || {
                    let _ended = Ended(ended, self.history.waits());
                    self.note_failure(repo, writer, self.sync_code(repo, task))
                });
                // A query that waits for history makes both be read at once.
                let waits = || (ended.load(Ordering::Acquire) || self.history.is_waited_for()).then_some(());
                self.history.waits().wait_for(None, &Cancel::default(), waits);
                let join = |code: ScopedJoinHandle<'_, _>| code.join().unwrap_or_else(|panic| resume_unwind(panic));
                if !ended.load(Ordering::Acquire) {
                    let history = self.history.sync(repo, &history_task);
                    return Ok((join(code), history?));
                }
                // What keeps code from being read says nothing of the history; it is told once that is read.
                match join(code) {
                    Err(failure) if matches!(failure.code, Code::Interrupted | Code::DiskFull) => Err(failure),
                    code => Ok((code, self.history.sync(repo, &history_task)?)),
                }
            })?;
            self.sync_evidence(repo, writer, history.added > 0 || options.retry_missing, cancel)?;
            // Reading the history has forgotten it.
            let code = self.note_failure(repo, writer, code)?;
            let past = self.sync_past(repo, task)?;
            return Ok(FlowReport { history, code, past, embedding: None });
        }
        let history = self.history.sync(repo, &history_task)?;
        let code = self.sync_code(repo, task);
        let code = self.note_failure(repo, writer, code)?;
        self.sync_evidence(repo, writer, history.added > 0 || options.retry_missing, cancel)?;
        let past = self.sync_past(repo, task)?;
        Ok(FlowReport { history, code, past, embedding: None })
    }

    /// Records why the code of a repository could not be indexed. Answers repeat it, also to users of a team server.
    fn note_failure<T>(&self, repo: &Repo, writer: &dyn IndexWriter, done: Result<T, Failure>) -> Result<T, Failure> {
        if let Err(failure) = &done
            && failure.code != Code::Interrupted
            && let Err(error) = writer.fail_sync(repo.id, &self.without_home(&failure.message))
        {
            tracing::warn!(repo = repo.name(), %error, "the failure of the sync could not be noted");
        }
        done
    }

    /// Finds commits by what they say or changed, on the branches that are asked about.
    pub fn find_commits(&self, request: &CommitsRequest) -> Result<CommitsAnswer, Failure> {
        let repos: Vec<Repo> = request.repos.iter().map(|(repo, _)| repo.clone()).collect();
        self.search.temporal.find_commits(request, &self.history.hidden(&repos)?)
    }

    /// Whether a branch is indexed as it stands in the repository on disk: its files and its history, all of them.
    ///
    /// Nothing is fetched. A branch that is not there is not indexed.
    pub fn branch_indexed(&self, repo: &Repo, branch: &str) -> Result<bool, Failure> {
        let repo = Repo { shown: Some(branch.to_owned()), ..repo.clone() };
        let Some(tip) = self.search.reader.indexed_tip(&repo)? else { return Ok(false) };
        Ok(!repo.sync.partial && repo.sync.tips.iter().any(|known| known.commit == tip))
    }

    /// Brings what is kept of the past of one repository's code up to date.
    pub fn sync_past(&self, repo: &Repo, task: &FlowTask<'_>) -> Result<Option<PastReport>, Failure> {
        let FlowTask { writer, options, cancel, progress } = *task;
        let is_kept = self.search.reader.state(repo.id)?.past.is_some();
        if !options.past.unwrap_or(is_kept) && !is_kept {
            return Ok(None);
        }
        let heard = |event| progress(FlowEvent::Past(event));
        let code =
            CodeTask { writer, jobs: options.jobs, retry_missing: options.retry_missing, cancel, progress: &heard };
        let reader = self.history.reader(repo, cancel)?;
        self.search.index.sync_past(repo, &reader, options.past, &code)
    }

    /// Keeps what the commits say about the files, as history and code are now; `anew` where it may have to be other
    /// although both seem the same.
    pub fn sync_evidence(
        &self,
        repo: &Repo,
        writer: &dyn IndexWriter,
        anew: bool,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let repo = self.history.get_repo(repo.id)?;
        self.search.index.sync_evidence(&repo, writer, anew, cancel)
    }

    /// Brings the code of one repository up to date.
    pub fn sync_code(&self, repo: &Repo, task: &FlowTask<'_>) -> Result<CodeReport, Failure> {
        let FlowTask { writer, options, cancel, progress } = *task;
        let heard = |event| progress(FlowEvent::Code(event));
        let task =
            CodeTask { writer, jobs: options.jobs, retry_missing: options.retry_missing, cancel, progress: &heard };
        self.search.reader.refresh_ignore(repo)?;
        self.search.index.sync(repo, &task)
    }

    /// Registers the folder's repository if it is new (and `register` allows it), then syncs it whenever its refs move and
    /// takes note of files that change.
    ///
    /// Whoever holds the writer's lock does the work; the others look again later and find it done. It ends only when
    /// dropped or cancelled.
    pub fn keep_fresh(&self, folder: &Path, register: bool, cancel: &Cancel) {
        thread::scope(|threads| {
            threads.spawn(|| self.keep_embedded(Embedded::Project(folder), cancel));
            self.keep_synced(folder, register, cancel);
        });
    }

    /// Gives whatever these repositories hold vectors of the second model, beside everything else. Ends when cancelled.
    pub(crate) fn keep_embedded(&self, which: Embedded<'_>, cancel: &Cancel) {
        while !cancel.is_cancelled() && self.search.query.second().is_some() {
            let mut pause = EMBED_PAUSE;
            for repo in self.embedded(which).unwrap_or_default() {
                if !self.search.index.wants_embedding(&repo).unwrap_or(false) {
                    continue;
                }
                match self.search.index.embed_all(&repo, cancel, &|_| {}) {
                    Ok(_) => {}
                    Err(failure) if failure.code == Code::Interrupted => return,
                    // Whoever holds the lock is doing this.
                    Err(failure) if failure.code == Code::Busy => pause = LONG_PAUSE,
                    Err(failure) => {
                        tracing::warn!(repo = repo.name(), %failure, "not all chunks could be embedded");
                        pause = LONG_PAUSE;
                    }
                }
            }
            cancel.sleep(pause);
        }
    }

    fn embedded(&self, which: Embedded<'_>) -> Result<Vec<Repo>, Failure> {
        match which {
            Embedded::Project(folder) => Ok(self.history.find_project(folder)?.into_iter().collect()),
            Embedded::Named(names) => {
                let mut repos = self.history.repos()?;
                repos.retain(|repo| is_watched(repo, names));
                Ok(repos)
            }
        }
    }

    fn keep_synced(&self, folder: &Path, register: bool, cancel: &Cancel) {
        let mut project = Project { folder, repo: None, register, watching: None };
        while !cancel.is_cancelled() {
            let pause = match self.refresh_once(&mut project, cancel) {
                Ok(()) => Pause::Short,
                Err(failure) if failure.code == Code::Busy => Pause::Short,
                Err(failure) if failure.code == Code::Interrupted => break,
                Err(failure) if failure.code == Code::NotARepository => {
                    tracing::info!(folder = %folder.display(), %failure, "there is no project to keep fresh");
                    Pause::Long
                }
                Err(failure) => {
                    tracing::warn!(folder = %folder.display(), %failure, "the project could not be refreshed");
                    Pause::Long
                }
            };
            self.pause(&mut project, pause, cancel);
        }
        self.stop_watching(&mut project);
    }

    /// Takes note of what changes until the project is to be refreshed again.
    fn pause(&self, project: &mut Project<'_>, pause: Pause, cancel: &Cancel) {
        let until = Instant::now() + if pause == Pause::Long { LONG_PAUSE } else { PAUSE };
        while !cancel.is_cancelled() && Instant::now() < until {
            let Some(watching) = &mut project.watching else {
                cancel.sleep(until.saturating_duration_since(Instant::now()));
                continue;
            };
            match watching.events.recv_timeout(PAUSE_STEP) {
                Err(RecvTimeoutError::Timeout) => self.heed_status(watching),
                Ok(event) => {
                    // Refs that moved are synced without waiting for the end of the pause, also where the last sync failed: it
                    // may have failed because of what they named. Files that are saved mend nothing.
                    let ends = pause == Pause::Short || event == Event::Refs;
                    self.take_event(project, event);
                    if ends {
                        break;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => self.stop_watching(project),
            }
        }
    }

    fn refresh_once(&self, project: &mut Project<'_>, cancel: &Cancel) -> Result<(), Failure> {
        let place = |repo: &Repo| (repo.id, repo.info.local_path.clone());
        let known = match &project.repo {
            Some(known) => self.history.repos()?.into_iter().find(|repo| place(repo) == place(known)),
            None => self.history.find_project(project.folder)?,
        };
        project.register &= project.repo.is_none();
        project.repo.clone_from(&known);
        if let Some(repo) = &known {
            self.watch(project, repo);
            if self.is_current(repo) {
                let due = |watching: &&mut Watching| watching.is_told() && watching.is_due();
                if let Some(watching) = project.watching.as_mut().filter(due) {
                    self.touch(repo, watching, None);
                }
                return Ok(());
            }
        } else {
            // When it is registered again, watching begins anew.
            self.stop_watching(project);
            if !project.register {
                return Ok(());
            }
        }
        let writer = self.history.store().try_writer().map_err(store_failure)?;
        let repo = match known {
            // Another process may have synced it in the meantime.
            Some(repo) => self.history.get_repo(repo.id)?,
            None => match self.history.find_project(project.folder)? {
                Some(repo) => repo,
                None => self.history.add(&*writer, AddRequest::new(Target::Folder(project.folder.to_owned())))?,
            },
        };
        project.repo = Some(repo.clone());
        let options = SyncOptions::default();
        let task = FlowTask { writer: &*writer, options: &options, cancel, progress: &|_| {} };
        // Nobody takes note of changed files while this goes on, so questions look for themselves.
        if let Some(watching) = &mut project.watching {
            self.stop_vouching(watching);
        }
        let synced = self.sync(&repo, &task);
        if let Some(watching) = &mut project.watching {
            self.touch(&repo, watching, None);
        }
        synced.map(|_| ())
    }

    /// Whether there is nothing to do. Fetching is for `lore sync`: a server never goes to the network by itself.
    pub(crate) fn is_current(&self, repo: &Repo) -> bool {
        if repo.info.source != Source::Local {
            return true;
        }
        let fresh = self.history.freshness(std::slice::from_ref(repo), None);
        fresh.repos.iter().all(|repo| repo.state == FreshState::Current)
            && self.search.reader.is_indexed(repo).ok().flatten().unwrap_or(true)
            && self.search.reader.has_evidence(repo)
            && self.search.reader.has_past(repo)
    }

    /// Begins to watch the work tree, unless it is watched or there is none. A look at everything is due then.
    fn watch(&self, project: &mut Project<'_>, repo: &Repo) {
        if project.watching.is_some() || repo.info.source != Source::Local {
            return;
        }
        let user_excludes = self.search.reader.user_excludes();
        let started = || {
            let repository = Repository::discover(project.folder)?;
            if repository.work_tree().is_none() {
                return Ok(None);
            }
            let options = WatchOptions { debounce: DEBOUNCE, user_excludes, ..WatchOptions::default() };
            Watcher::start(&repository, options).map(|watching| Some((repository.path().to_owned(), watching)))
        };
        match started().map_err(git_failure) {
            Ok(Some((place, (watcher, events)))) => {
                project.watching = Some(Watching { place, events, watcher, vouched_for: false, due: Instant::now() });
            }
            Ok(None) => {}
            Err(failure) => {
                tracing::warn!(%failure, "the work tree cannot be watched: it is looked at with each question");
            }
        }
    }

    fn stop_watching(&self, project: &mut Project<'_>) {
        if let Some(watching) = project.watching.take() {
            self.search.reader.unwatch(&watching.place);
        }
    }

    fn take_event(&self, project: &mut Project<'_>, event: Event) {
        let (Some(repo), Some(watching)) = (&project.repo, &mut project.watching) else { return };
        match event {
            Event::Paths(paths) => self.touch(repo, watching, Some(paths)),
            Event::Rescan => self.touch(repo, watching, None),
            // A sync comes first: all that differs from the commit that is indexed would be read twice.
            Event::Refs => self.stop_vouching(watching),
        }
    }

    /// Looks at these files, or at all of them, and vouches from then on that changes are noticed.
    ///
    /// Where they are not, or the look fails, questions look for themselves.
    fn touch(&self, repo: &Repo, watching: &mut Watching, paths: Option<Vec<RepoPath>>) {
        if !watching.is_told() {
            return self.stop_vouching(watching);
        }
        // When everything is due, a look at a part of it is not enough.
        let paths = paths.filter(|_| !watching.is_due());
        let (is_all, start) = (paths.is_none(), Instant::now());
        match self.search.reader.touch(repo, &watching.place, paths) {
            Ok(()) => watching.vouched_for = true,
            Err(failure) => {
                tracing::debug!(%failure, "the work tree could not be looked at");
                self.stop_vouching(watching);
            }
        }
        if is_all {
            watching.due = Instant::now() + LOOK_AGAIN.max(LOOK_SHARE * start.elapsed());
        }
        self.heed_status(watching);
    }

    /// Stops to vouch for a work tree whose changes are not told any more.
    fn heed_status(&self, watching: &mut Watching) {
        if watching.vouched_for && !watching.is_told() {
            self.stop_vouching(watching);
        }
    }

    /// From now on questions look for themselves, until everything has been looked at.
    fn stop_vouching(&self, watching: &mut Watching) {
        self.search.reader.unwatch(&watching.place);
        watching.vouched_for = false;
        watching.due = Instant::now();
    }
}

/// Whose chunks are given vectors of the second model.
#[derive(Clone, Copy)]
pub(crate) enum Embedded<'a> {
    /// The repository at this folder.
    Project(&'a Path),
    /// The local repositories of these names; all where none is named.
    Named(&'a [String]),
}

/// Whether a repository is among those that are watched.
pub(crate) fn is_watched(repo: &Repo, names: &[String]) -> bool {
    repo.info.source == Source::Local && (names.is_empty() || names.iter().any(|name| repo.answers_to(name)))
}

/// How a project is left alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// For a moment, or until something changes.
    Short,
    /// For long, because refreshing it failed, or until refs move.
    Long,
}

/// Says that work on another thread has ended, also where it panicked.
struct Ended<'a>(&'a AtomicBool, &'a Signal);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.notify();
    }
}

/// The project of one server.
struct Project<'a> {
    folder: &'a Path,
    /// The repository, once it is known to be registered.
    repo: Option<Repo>,
    /// Whether it may still be registered: once only, so that what a user removes stays removed.
    register: bool,
    watching: Option<Watching>,
}

/// A work tree that is watched.
struct Watching {
    place: PathBuf,
    events: mpsc::Receiver<Event>,
    watcher: Watcher,
    /// Whether questions rely on it that changes are noticed.
    vouched_for: bool,
    /// When everything is to be looked at.
    due: Instant,
}

impl Watching {
    /// Whether the system tells what changes.
    fn is_told(&self) -> bool {
        self.watcher.status() == WatchStatus::Events
    }

    fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use crate::LoreOptions;

    use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};
    use lore_testkit::Repo as Folder;

    use super::*;
    use crate::search::CodeRequest;

    /// Nothing waits this long unless something is broken.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A repository with one indexed file, and a Lore over an index of its own.
    struct Case {
        lore: Lore,
        repo: Repo,
        folder: Folder,
        _home: tempfile::TempDir,
    }

    impl Case {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let store = Arc::new(EmbeddedStore::new(home.path().join("index")));
            let messages = Arc::new(EmbeddedMessages::new(home.path()));
            let lore = Lore::new(home.path(), store, messages, LoreOptions::default());
            let folder = Folder::init(home.path().join("repo"));
            folder.write("src/a.txt", "the heron\n");
            folder.commit("one");
            let repo = add(&lore, &folder);
            let case = Self { lore, repo, folder, _home: home };
            case.sync();
            case
        }

        fn sync(&self) {
            let writer = self.lore.history.writer(|| {}).unwrap();
            let (options, cancel) = (SyncOptions::default(), Cancel::default());
            let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &|_| {} };
            self.lore.sync(&self.repo, &task).unwrap();
        }

        fn watching(&self, max_folders: usize) -> Watching {
            let repository = Repository::open(self.folder.path()).unwrap();
            let options = WatchOptions { max_folders, ..WatchOptions::default() };
            let (watcher, events) = Watcher::start(&repository, options).unwrap();
            let place = repository.path().to_owned();
            Watching { place, events, watcher, vouched_for: false, due: Instant::now() }
        }

        fn project(&self, watching: Watching) -> Project<'_> {
            let folder = self.folder.path();
            Project { folder, repo: Some(self.repo.clone()), register: false, watching: Some(watching) }
        }

        fn finds(&self, word: &str) -> bool {
            let request = CodeRequest::new(format!("\"{word}\""), vec![(self.repo.clone(), None)]);
            let answer = self.lore.search.query.search(&request).unwrap();
            answer.hits.iter().any(|hit| hit.snippet.text.contains(word))
        }

        /// Asks again and again, as nobody tells when a question will look.
        fn finds_soon(&self, word: &str) {
            let until = Instant::now() + PATIENCE;
            while !self.finds(word) {
                assert!(Instant::now() < until, "{word}");
                Cancel::default().sleep(PAUSE_STEP);
            }
        }
    }

    fn add(lore: &Lore, folder: &Folder) -> Repo {
        let writer = lore.history.writer(|| {}).unwrap();
        lore.history.add(&*writer, AddRequest::new(Target::Folder(folder.path().to_owned()))).unwrap()
    }

    #[test]
    fn what_is_only_polled_is_looked_at_with_each_question() {
        let case = Case::new();
        let mut watching = case.watching(1);
        assert_ne!(watching.watcher.status(), WatchStatus::Events);
        case.lore.touch(&case.repo, &mut watching, None);
        assert!(!watching.vouched_for);
        assert!(case.finds("heron"));
        case.folder.write("src/a.txt", "the egret\n");
        case.finds_soon("egret");
    }

    #[test]
    fn after_a_look_that_failed_questions_look_for_themselves() {
        let case = Case::new();
        let mut watching = case.watching(1000);
        case.lore.touch(&case.repo, &mut watching, None);
        assert!(watching.vouched_for && case.finds("heron"));
        let index = case.folder.path().join(".git/index");
        let kept = fs::read(&index).unwrap();
        fs::write(&index, "no index").unwrap();
        case.folder.write("src/a.txt", "the egret\n");
        case.lore.touch(&case.repo, &mut watching, Some(vec![RepoPath::from("src/a.txt")]));
        assert!(!watching.vouched_for && watching.is_due());
        fs::write(&index, kept).unwrap();
        case.finds_soon("egret");
    }

    #[test]
    fn when_refs_move_a_sync_comes_before_the_look() {
        let case = Case::new();
        let mut project = case.project(case.watching(1000));
        let cancel = Cancel::default();
        case.lore.refresh_once(&mut project, &cancel).unwrap();
        assert!(project.watching.as_ref().unwrap().vouched_for);
        case.folder.write("src/a.txt", "the egret\n");
        case.folder.commit("two");
        case.lore.take_event(&mut project, Event::Refs);
        let watching = project.watching.as_ref().unwrap();
        assert!(!watching.vouched_for && watching.is_due());
        case.lore.refresh_once(&mut project, &cancel).unwrap();
        let watching = project.watching.as_ref().unwrap();
        assert!(watching.vouched_for && !watching.is_due());
        assert!(case.finds("egret"));
    }

    #[test]
    fn what_failed_is_left_alone_until_refs_move_whatever_is_saved() {
        let case = Case::new();
        let (tell, events) = mpsc::channel();
        let mut project = case.project(Watching { events, ..case.watching(1000) });
        let cancel = Cancel::default();
        let saved = || Event::Paths(vec![RepoPath::from("src/a.txt")]);
        for event in [saved(), Event::Rescan, saved()] {
            tell.send(event).unwrap();
        }
        let (started, time) = (Instant::now(), Duration::from_secs(2));
        case.lore.pause(&mut project, Pause::Long, &cancel.until(started + time));
        assert!(started.elapsed() >= time, "it goes on");
        let is_empty = |project: &Project<'_>| project.watching.as_ref().unwrap().events.try_recv().is_err();
        assert!(is_empty(&project), "what changed was taken note of");
        for (pause, event) in [(Pause::Long, Event::Refs), (Pause::Short, saved())] {
            tell.send(event).unwrap();
            let started = Instant::now();
            case.lore.pause(&mut project, pause, &cancel);
            assert!(started.elapsed() < LONG_PAUSE / 2);
            assert!(is_empty(&project), "it ended because of that");
        }
    }

    #[test]
    fn a_repository_that_is_removed_is_not_watched_until_it_is_added_again() {
        let case = Case::new();
        let mut project = case.project(case.watching(1000));
        let writer = case.lore.history.writer(|| {}).unwrap();
        case.lore.history.remove(&*writer, &case.repo).unwrap();
        drop(writer);
        let cancel = Cancel::default();
        case.lore.refresh_once(&mut project, &cancel).unwrap();
        assert!(project.watching.is_none() && project.repo.is_none());
        add(&case.lore, &case.folder);
        case.lore.refresh_once(&mut project, &cancel).unwrap();
        assert!(project.watching.is_some_and(|watching| watching.vouched_for));
    }
}
