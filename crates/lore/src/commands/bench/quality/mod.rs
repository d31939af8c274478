//! `lore bench quality`: how well questions about a repository are answered, with parts of the ranking switched off in turn.
//!
//! The questions come from the repository itself. No process but git is started, and git runs in a folder of Lore's own.

mod ask;
mod borrowed;
mod questions;
mod report;

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lore_core::{
    Cancel,
    flows::FlowTask,
    history::{AddRequest, Target},
};
use lore_git::Repository;
use lore_git::git_failure;
use lore_model::{Code, Failure, Repo};

use self::{
    ask::{Asked, Asker},
    borrowed::Borrowed,
    questions::{Kind, Planned, plan},
};
use super::super::{Context, project::cancel_on_interrupt};
use crate::{environment, ui::Ui};

/// Measure how well questions about a repository are answered
///
/// The questions come from its own history: the subject of a commit asks, the files that it changed answer, and what is
/// searched is the tree before the commit, with the history before it. Shown are your current settings and what would
/// be without parts of them. It takes a while: the first tree is read from nothing, the others as far as they differ.
/// Ctrl-C ends it with what was measured so far.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore bench quality                     the repository you are in, 100 commits\n  lore bench quality ~/src/api --commits 30\n  lore bench quality --docs              questions about its documents\n  lore bench quality --json > before.json"
)]
pub(super) struct Args {
    /// The repository [default: the one you are in]
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Ask about so many commits, spread over the newest 2,000 (with `--docs`: so many, and as many sections)
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    commits: u32,
    /// Ask about documents: what headings say, and commits that changed documents only
    #[arg(long)]
    docs: bool,
}

impl Args {
    pub(super) fn folder(&self) -> PathBuf {
        environment::working_directory().join(self.path.as_deref().unwrap_or(Path::new("")))
    }
}

/// What was measured.
struct Measured {
    /// What the repository is called.
    name: String,
    kind: Kind,
    /// How many questions there were to ask.
    planned: usize,
    /// Whether older commits are not in this clone.
    shallow: bool,
    asked: Vec<Asked>,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<ExitCode, Failure> {
    let own = context.loaded.home.join("bench");
    let repository = Repository::discover(&args.folder()).map_err(git_failure)?;
    let kind = if args.docs { Kind::Documents } else { Kind::Commits };
    let cancel = cancel_on_interrupt();
    let shallow = !repository.shallow().is_empty();
    let progress = Progress::new(context.ui, "reading the history");
    let git = context.lore.history.git().clone();
    let (from, place, stop) = (repository.clone(), own.join("reading"), cancel.clone());
    let count = usize::try_from(args.commits).unwrap_or(usize::MAX);
    let planned = plan(&git, &place, &from, kind, count, &stop);
    progress.finish();
    let planned = planned?;
    let name = borrowed::name_of(&repository);
    if planned.is_empty() {
        return Err(nothing_to_ask(&name, kind, shallow));
    }
    let borrowed = Borrowed::new(&own.join("repos").join(&name), &repository)?;
    let asked = ask_all(context, &borrowed, &planned, &cancel)?;
    let measured = Measured { name, kind, planned: planned.len(), shallow, asked };
    if measured.asked.is_empty() {
        return Err(Failure::new(Code::Interrupted, "interrupted before the first question was asked"));
    }
    report::print(context, &measured)?;
    let whole = measured.asked.len() == measured.planned;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(Code::Interrupted.row().exit) })
}

fn nothing_to_ask(name: &str, kind: Kind, shallow: bool) -> Failure {
    let what = match kind {
        Kind::Commits => {
            "no commit that asks anything: one with a parent, a subject of three words or more, and up to ten files that were there before"
        }
        Kind::Documents => {
            "no document that asks anything: a section of 30 words or more with a heading of its own, or a commit that changed documents only"
        }
    };
    let hint = match (shallow, kind) {
        (true, _) => "it is a shallow clone: `git fetch --unshallow` brings the rest of its history",
        (false, Kind::Commits) => "measure a repository with more history, or `--docs` where it has documents",
        (false, Kind::Documents) => "leave `--docs` out to ask about commits",
    };
    Failure::new(Code::InvalidArgument, format!("{name} has {what}")).hint(hint)
}

/// Puts the branch where each question wants it, brings the index there, and asks.
fn ask_all(
    context: &Context<'_>,
    borrowed: &Borrowed,
    planned: &[Planned],
    cancel: &Cancel,
) -> Result<Vec<Asked>, Failure> {
    let (lore, options) = (&context.lore, context.sync_options());
    let mut repo: Option<Repo> = None;
    let mut asked = Vec::new();
    let progress = Progress::new(context.ui, "reading the first tree and the history before it");
    for (number, planned_one) in planned.iter().enumerate() {
        if cancel.is_cancelled() {
            break;
        }
        let is_read = number > 0 && planned[number - 1].at == planned_one.at;
        if let Some(known) = repo.as_ref().filter(|_| is_read) {
            progress.at(number, planned.len());
            let asker = Asker { lore, repo: known, place: borrowed.path(), at: planned_one.at };
            asked.push(asker.ask(&planned_one.question)?);
            continue;
        }
        borrowed.put(planned_one.at)?;
        let writer = context.writer()?;
        let known = match repo.take() {
            Some(repo) => repo,
            None => lore.history.add(&*writer, AddRequest::new(Target::Folder(borrowed.path().to_owned())))?,
        };
        let task = FlowTask { writer: &*writer, options: &options, cancel, progress: &|_| {} };
        match lore.sync(&known, &task) {
            Err(failure) if failure.code == Code::Interrupted => break,
            done => drop(done?),
        }
        // Whoever embeds writes by himself.
        drop(writer);
        if let Some(failure) = lore.search.index.embed_all(&known, cancel, &|_| {})?.and_then(|done| done.failure) {
            if failure.code == Code::Interrupted {
                break;
            }
            return Err(Failure::new(failure.code, failure.message.clone()));
        }
        progress.at(number, planned.len());
        let asker = Asker { lore, repo: &known, place: borrowed.path(), at: planned_one.at };
        asked.push(asker.ask(&planned_one.question)?);
        repo = Some(known);
    }
    progress.finish();
    Ok(asked)
}

/// How often a plain line is printed.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How far it is: a bar on a terminal, a line now and then elsewhere.
struct Progress<'a> {
    ui: &'a Ui,
    bar: Option<ProgressBar>,
    said: Mutex<Instant>,
}

impl<'a> Progress<'a> {
    fn new(ui: &'a Ui, what: &'static str) -> Self {
        let shown = std::io::stderr().is_terminal() && !ui.is_quiet();
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar.with_message(what)
        });
        Self { ui, bar, said: Mutex::new(Instant::now()) }
    }

    fn at(&self, number: usize, of: usize) {
        if let Some(bar) = &self.bar {
            if bar.length().is_none() {
                let style = ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} questions, {eta} left");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar.set_length(of as u64);
            }
            bar.set_position(number as u64);
            return;
        }
        let mut said = self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if said.elapsed() >= LINE_EVERY {
            *said = Instant::now();
            self.ui.note(&format!("{number} of {of} questions"));
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
