//! Where history and code meet: both brought up to date together, and kept so while a server runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use lore_git::{Cancel, Event, Repository, WatchOptions, Watcher};
use lore_model::{Code, Failure, Repo, Source};
use lore_store::IndexWriter;
use tokio::sync::mpsc;

use crate::{
    Lore, blocking, git_failure,
    history::{AddRequest, FreshState, SyncEvent, SyncOptions, SyncReport, SyncTask, Target},
    search::{CodeEvent, CodeReport, CodeTask},
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

/// How a sync goes on.
#[derive(Debug, Clone)]
pub enum FlowEvent {
    /// Of the history.
    History(SyncEvent),
    /// Of the code.
    Code(CodeEvent),
}

/// What is to be brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// History and code.
    All,
    /// The code alone, which is soon done.
    Code,
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
}

impl Lore {
    /// Brings one repository up to date.
    pub async fn sync(&self, repo: &Repo, task: &FlowTask<'_>) -> Result<FlowReport, Failure> {
        let FlowTask { writer, options, cancel, progress } = *task;
        let history = |event| progress(FlowEvent::History(event));
        let history_task = SyncTask { writer, options, cancel, progress: &history };
        // What was registered by URL has to be fetched first; elsewhere the code can be asked soonest.
        if repo.info.source == Source::Local {
            let code = match self.sync_code(repo, task).await {
                // What keeps code from being read says nothing of the history; it is told once that is read.
                Err(failure) if !matches!(failure.code, Code::Interrupted | Code::DiskFull) => Err(failure),
                other => Ok(other?),
            };
            let history = self.history.sync(repo, &history_task).await?;
            return Ok(FlowReport { history, code: code? });
        }
        let history = self.history.sync(repo, &history_task).await?;
        let code = self.sync_code(repo, task).await?;
        Ok(FlowReport { history, code })
    }

    /// Brings the code of one repository up to date.
    pub async fn sync_code(&self, repo: &Repo, task: &FlowTask<'_>) -> Result<CodeReport, Failure> {
        let FlowTask { writer, options, cancel, progress } = *task;
        let heard = |event| progress(FlowEvent::Code(event));
        let task =
            CodeTask { writer, jobs: options.jobs, retry_missing: options.retry_missing, cancel, progress: &heard };
        self.search.sync(repo, &task).await
    }

    /// Registers the folder's repository if it is new (and `register` allows it), then syncs it whenever its refs move and
    /// takes note of files that change.
    ///
    /// Whoever holds the writer's lock does the work; the others look again later and find it done. It ends only when
    /// dropped or cancelled.
    pub async fn keep_fresh(self: &Arc<Self>, folder: &Path, register: bool, cancel: &Cancel) {
        let mut project = Project { folder, repo: None, register, watching: None };
        while !cancel.is_cancelled() {
            let pause = match self.refresh_once(&mut project, cancel).await {
                Ok(()) => PAUSE,
                Err(failure) if failure.code == Code::Busy => PAUSE,
                Err(failure) if failure.code == Code::Interrupted => break,
                Err(failure) if failure.code == Code::NotARepository => {
                    tracing::info!(folder = %folder.display(), %failure, "there is no project to keep fresh");
                    LONG_PAUSE
                }
                Err(failure) => {
                    tracing::warn!(folder = %folder.display(), %failure, "the project could not be refreshed");
                    LONG_PAUSE
                }
            };
            let until = tokio::time::Instant::now() + pause;
            while !cancel.is_cancelled() && tokio::time::Instant::now() < until {
                let Some(watching) = &mut project.watching else {
                    tokio::time::sleep(PAUSE_STEP).await;
                    continue;
                };
                match tokio::time::timeout(PAUSE_STEP, watching.events.recv()).await {
                    Err(_) => {}
                    Ok(Some(event)) => {
                        self.take_event(&project, event).await;
                        // Refs that moved are synced without waiting for the end of the pause.
                        break;
                    }
                    Ok(None) => self.stop_watching(&mut project),
                }
            }
        }
        self.stop_watching(&mut project);
    }

    async fn refresh_once(&self, project: &mut Project<'_>, cancel: &Cancel) -> Result<(), Failure> {
        let place = |repo: &Repo| (repo.id, repo.info.local_path.clone());
        let known = match &project.repo {
            Some(known) => self.history.repos().await?.into_iter().find(|repo| place(repo) == place(known)),
            None => self.history.find_project(project.folder).await?,
        };
        project.register &= project.repo.is_none();
        project.repo.clone_from(&known);
        let repo = match known {
            Some(repo) => {
                self.watch(project, &repo).await;
                if self.is_current(&repo).await {
                    return Ok(());
                }
                Some(repo)
            }
            None if !project.register => return Ok(()),
            None => None,
        };
        let writer = self.history.store().try_writer().await.map_err(store_failure)?;
        let repo = match repo {
            // Another process may have synced it in the meantime.
            Some(repo) => self.history.repo(repo.name()).await?,
            None => match self.history.find_project(project.folder).await? {
                Some(repo) => repo,
                None => self.history.add(&*writer, AddRequest::new(Target::Folder(project.folder.to_owned()))).await?,
            },
        };
        project.repo = Some(repo.clone());
        let options = SyncOptions::default();
        let task = FlowTask { writer: &*writer, options: &options, cancel, progress: &|_| {} };
        // Nobody takes note of changed files while this goes on, so questions look for themselves.
        if let Some(watching) = &project.watching {
            self.search.unwatch(&watching.place);
        }
        let synced = self.sync(&repo, &task).await;
        if let Some(watching) = &project.watching {
            self.touch(&repo, &watching.place, None).await;
        }
        synced.map(|_| ())
    }

    /// Whether there is nothing to do. Fetching is for `lore sync`: a server never goes to the network by itself.
    pub(crate) async fn is_current(&self, repo: &Repo) -> bool {
        if repo.info.source != Source::Local {
            return true;
        }
        let fresh = self.history.freshness(std::slice::from_ref(repo), None).await;
        fresh.repos.iter().all(|repo| repo.state == FreshState::Current)
            && self.search.is_indexed(repo).await.ok().flatten().unwrap_or(true)
    }

    /// Begins to watch the work tree, unless it is watched or there is none.
    async fn watch(&self, project: &mut Project<'_>, repo: &Repo) {
        if project.watching.is_some() || repo.info.source != Source::Local {
            return;
        }
        let folder = project.folder.to_owned();
        let user_excludes = self.search.user_excludes();
        let started = blocking(move || {
            let repository = Repository::discover(&folder)?;
            if repository.work_tree().is_none() {
                return Ok(None);
            }
            let options = WatchOptions { debounce: DEBOUNCE, user_excludes, ..WatchOptions::default() };
            Watcher::start(&repository, options).map(|watching| Some((repository.path().to_owned(), watching)))
        });
        match started.await.map_err(git_failure) {
            Ok(Some((place, (watcher, events)))) => {
                let watching = Watching { place, events, _watcher: watcher };
                // What changed before the watch began is seen by a look at everything.
                self.touch(repo, &watching.place, None).await;
                project.watching = Some(watching);
            }
            Ok(None) => {}
            Err(failure) => {
                tracing::warn!(%failure, "the work tree cannot be watched: it is looked at with each question");
            }
        }
    }

    fn stop_watching(&self, project: &mut Project<'_>) {
        if let Some(watching) = project.watching.take() {
            self.search.unwatch(&watching.place);
        }
    }

    async fn take_event(&self, project: &Project<'_>, event: Event) {
        let (Some(repo), Some(watching)) = (&project.repo, &project.watching) else { return };
        let paths = match event {
            Event::Paths(paths) => Some(paths),
            Event::Refs | Event::Rescan => None,
        };
        self.touch(repo, &watching.place, paths).await;
    }

    async fn touch(&self, repo: &Repo, place: &Path, paths: Option<Vec<lore_model::RepoPath>>) {
        if let Err(failure) = self.search.touch(repo, place, paths).await {
            tracing::debug!(%failure, "the work tree could not be looked at");
        }
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
    _watcher: Watcher,
}
