//! What is searched, and bringing it up to date first: registering at first use, and a first answer while that takes long.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use lore_core::{
    flows::{FlowEvent, FlowTask},
    history::{AddRequest, Target},
    search::{CodeEvent, CodeRequest},
};
use lore_git::Repository;
use lore_model::{Cancel, Code, Failure, Repo, RepoPath, Signal, Source};
use lore_store::IndexWriter;
use lore_store::store_failure;

use super::page::{Page, rule};
use crate::{
    commands::{Context, project::cancel_on_interrupt},
    environment,
    progress::SyncProgress,
};

/// Whoever waits longer is shown what is found so far.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// So many results are enough for a first answer.
const FIRST_RESULTS: usize = 5;

/// A repository that is searched.
pub(in crate::commands) struct Wanted {
    pub(in crate::commands) repo: Repo,
    /// The work tree that the user stands in.
    pub(in crate::commands) here: Option<PathBuf>,
    /// Whether it is brought up to date first.
    refresh: bool,
    /// Held since it was registered.
    writer: Option<Box<dyn IndexWriter>>,
}

impl Wanted {
    pub(super) fn new(repo: Repo, here: Option<PathBuf>, refresh: bool) -> Self {
        Self { repo, here, refresh, writer: None }
    }

    /// As a question names it.
    pub(super) fn asked(&self) -> (Repo, Option<PathBuf>) {
        (self.repo.clone(), self.here.clone())
    }

    /// The work tree that results are in.
    pub(in crate::commands) fn work_tree(&self) -> Option<PathBuf> {
        let place = self.here.as_ref().unwrap_or(&self.repo.info.local_path);
        Repository::open(place).ok()?.work_tree()
    }

    /// A file on disk.
    pub(super) fn file(&self, path: &RepoPath) -> Option<PathBuf> {
        #[cfg(unix)]
        let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path.as_bytes());
        #[cfg(not(unix))]
        let name = path.to_text().into_owned();
        Some(self.work_tree()?.join(name))
    }
}

/// Which repositories are asked about.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Scope<'a> {
    /// Those of these names; the one that the user stands in where none is named.
    pub(in crate::commands) repos: &'a [String],
    /// All that are registered.
    pub(in crate::commands) all_repos: bool,
    /// Whether the index is asked as it is.
    pub(in crate::commands) no_sync: bool,
}

/// The repositories that are searched.
pub(in crate::commands) fn find(context: &Context<'_>, scope: &Scope<'_>) -> Result<Vec<Wanted>, Failure> {
    let all = || -> Result<Vec<Wanted>, Failure> {
        Ok(context.lore.history.repos()?.into_iter().map(|repo| Wanted::new(repo, None, false)).collect())
    };
    if scope.all_repos {
        let all = all()?;
        return if all.is_empty() { Err(none_registered()) } else { Ok(all) };
    }
    if scope.repos.is_empty() {
        return match project(context, scope.no_sync) {
            Err(failure) if failure.code == Code::NotARepository => {
                let all = all()?;
                if all.is_empty() { Err(failure) } else { Ok(all) }
            }
            other => other.map(|project| vec![project]),
        };
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for name in scope.repos {
        let next = match name.as_str() {
            "." => project(context, scope.no_sync)?,
            name => Wanted::new(context.lore.history.repo(name)?, None, true),
        };
        if !wanted.iter().any(|known| known.repo.id == next.repo.id) {
            wanted.push(next);
        }
    }
    Ok(wanted)
}

/// What to say of registered repositories that were not asked, where the user named none; empty where there is none.
pub(super) fn not_asked(context: &Context<'_>, scope: &Scope<'_>, wanted: &[Wanted]) -> Result<String, Failure> {
    if !scope.repos.is_empty() {
        return Ok(String::new());
    }
    let repos = context.lore.history.repos()?;
    let others = repos.iter().filter(|repo| !wanted.iter().any(|wanted| wanted.repo.id == repo.id)).count();
    Ok(match others {
        0 => String::new(),
        1 => "; 1 other repository was not searched: --all-repos searches it too".to_owned(),
        many => format!("; {many} other repositories were not searched: --all-repos searches them too"),
    })
}

fn none_registered() -> Failure {
    Failure::new(Code::RepoNotFound, "no repository is registered").hint("run `lore add PATH` first")
}

/// The repository the user stands in, registered at first use.
fn project(context: &Context<'_>, no_sync: bool) -> Result<Wanted, Failure> {
    let here = environment::working_directory();
    let found = context.lore.find_project(&here)?;
    if let Some(repo) = found.repo {
        return Ok(Wanted::new(repo, Some(found.place), true));
    }
    if no_sync || !context.loaded.config.register_project {
        return Err(Failure::new(Code::RepoNotFound, format!("{} is not in a registered repository", here.display()))
            .hint("run `lore add .`, or name one of `lore repos` with --repo"));
    }
    let writer = context.writer()?;
    // Another process may have registered it meanwhile.
    let repo = if let Some(repo) = context.lore.history.find_project(&here)? {
        repo
    } else {
        let repo = context.lore.history.add(&*writer, AddRequest::new(Target::Folder(here)))?;
        let (path, name) = (repo.info.local_path.display(), repo.name());
        context.ui.note(&format!("registered {path} as `{name}` (first use here)"));
        repo
    };
    Ok(Wanted { writer: Some(writer), ..Wanted::new(repo, Some(found.place), true) })
}

/// Brings what is searched up to date, and tells whether a first answer, to the question `early`, was shown meanwhile.
///
/// What is indexed already can be asked even where that fails, or where another process is writing.
pub(super) fn refresh(
    context: &Context<'_>,
    wanted: &mut [Wanted],
    early: Option<&CodeRequest>,
) -> Result<bool, Failure> {
    let search = &context.lore.search;
    let mut shown = false;
    for at in 0..wanted.len() {
        let repo = wanted[at].repo.clone();
        let current = search.reader.is_indexed(&repo)?.unwrap_or(true);
        if !wanted[at].refresh || repo.info.source != Source::Local || current {
            continue;
        }
        let usable = !search.reader.state(repo.id)?.snapshots.is_empty();
        let writer = match wanted[at].writer.take() {
            Some(writer) => Ok(writer),
            None if usable => context.lore.history.store().try_writer().map_err(store_failure),
            None => context.writer(),
        };
        let done = match writer {
            Ok(writer) => index(context, &*writer, &repo, wanted, early),
            Err(failure) => Err(failure),
        };
        match done {
            Ok(early) => shown |= early,
            Err(failure) if !usable || failure.code == Code::Interrupted => return Err(failure),
            Err(failure) if failure.code == Code::Busy => {
                context.ui.note("another lore process is writing the index; the answer is from what is there");
            }
            Err(failure) => context.ui.warn(&format!("{} could not be brought up to date: {failure}", repo.name())),
        }
    }
    Ok(shown)
}

/// Indexes one repository's code with progress; where that takes long, a person is shown a first answer.
fn index(
    context: &Context<'_>,
    writer: &dyn IndexWriter,
    repo: &Repo,
    wanted: &[Wanted],
    early: Option<&CodeRequest>,
) -> Result<bool, Failure> {
    let progress = SyncProgress::new(context.ui, repo.name());
    let (published, ended) = (Signal::default(), Cancel::default());
    let heard = |event: FlowEvent| {
        if matches!(event, FlowEvent::Code(CodeEvent::Published)) {
            published.notify();
        }
        progress.event(event);
    };
    let (cancel, options) = (cancel_on_interrupt(), context.sync_options());
    let task = FlowTask { writer, options: &options, cancel: &cancel, progress: &heard };
    let started = Instant::now();
    // Programs, and files, get one answer.
    let is_wanted = context.ui.is_terminal() && !context.ui.is_json() && !context.ui.is_quiet();
    let early = early.filter(|_| is_wanted);
    let (report, shown) = thread::scope(|threads| {
        let sync = threads.spawn(|| {
            let _ended = ended.on_drop();
            context.lore.sync_code(repo, &task)
        });
        let shown = early.is_some_and(|request| {
            ended.sleep(FIRST_ANSWER)
                && published.wait(0, None, &ended) > 0
                && !ended.is_cancelled()
                && first_answer(context, wanted, request, &progress)
        });
        (sync.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), shown)
    });
    progress.finish();
    let report = report?;
    if started.elapsed() > Duration::from_secs(1) {
        let (files, seconds) = (super::super::sync::count(report.files, "file"), started.elapsed().as_secs_f32());
        context.ui.note(&format!("indexed {files} of {} in {seconds:.1} s", repo.name()));
    }
    Ok(shown)
}

/// Shows what is found so far, beside the progress bar; whether there was anything to show.
fn first_answer(context: &Context<'_>, wanted: &[Wanted], request: &CodeRequest, progress: &SyncProgress<'_>) -> bool {
    let request = CodeRequest { limit: request.limit.min(FIRST_RESULTS), ..request.clone() };
    match context.lore.search.query.search(&request) {
        Ok(answer) if !answer.hits.is_empty() => {
            let page = Page { context, wanted, answer: &answer, explain: false };
            let head = rule(context, "partial: a first answer from what is indexed so far");
            let text = format!("{head}\n{}{}\n", page.text(&request.query, None), rule(context, "indexing goes on"));
            progress.aside(|| context.ui.bytes(text.as_bytes()).is_ok());
            true
        }
        Ok(_) => false,
        Err(failure) => {
            tracing::debug!(%failure, "there is no first answer");
            false
        }
    }
}
