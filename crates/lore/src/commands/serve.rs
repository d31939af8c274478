//! `lore serve`: answers an agent over MCP on standard input and output.

use std::{
    collections::HashSet,
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use lore_commands::Commands;
use lore_commands::{AgentCommands, CommandError};
use lore_core::{
    Cancel, Extent, Lore, ProjectFolder,
    search::{ChunkFiles, ChunksPlace},
};
use lore_mcp::{Server, ServerText};
use lore_model::{CancelOnDrop, Code, Failure, Signal, closest};
use lore_tools::{Asked, Context as ToolContext, IndexNeed, Progress, Source, Toolset, Upkeep};

use super::Context;
use crate::{
    config::Flags,
    cortex::{self, Cortex},
    environment,
    instructions::instructions,
    runtime, ui,
};

/// How long a call waits for an index that does not exist yet.
const COLD_WAIT: Duration = Duration::from_secs(10);

/// How long a call that found no index waits for all of it, where a part is there before.
const WHOLE_WAIT: Duration = Duration::from_secs(2);

/// How long a call that asks only which repositories there are waits for the project to be registered.
const REGISTRATION_WAIT: Duration = Duration::from_secs(2);

/// How often it looks again.
const REGISTRATION_STEP: Duration = Duration::from_millis(5);

/// How often a call that waits for an index looks again.
const COLD_STEP: Duration = Duration::from_millis(50);

/// How long a sync that is under way may take to stop when the server ends.
const STOPPING: Duration = Duration::from_secs(3);

/// How long a client may take to say where it works, before the working directory is taken.
const SAYING: Duration = Duration::from_millis(2_500);

/// Answer an agent over MCP on standard input and output
///
/// Agents start this themselves: `lore setup claude-code` (or cursor, zed, …) tells them how. The project is kept fresh
/// while it runs: the one named here, else the one that the agent says it works in, else the one it is started in.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Toolsets to offer, separated by commas [default: history, context, why, messages; commands where the project has some]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    toolsets: Vec<String>,
    /// The project [default: what the agent says, or the current folder]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Answer `cortex_search` from the chunk files in this folder [default: `$CORTEX_CHUNKS_DIR`, or the index]
    #[arg(long, value_name = "DIR")]
    chunks_dir: Option<PathBuf>,
    /// Never sync by itself
    #[arg(long)]
    no_refresh: bool,
    /// Of commitmux; Lore has an index of its own.
    #[arg(long, hide = true, value_name = "PATH")]
    db: Option<PathBuf>,
}

impl Args {
    pub(super) fn flags(&self) -> Flags {
        let given = Some(&self.toolsets).filter(|list| !list.is_empty());
        Flags(given.map(|list| ("toolsets", list.clone().into())).into_iter().collect())
    }

    /// The project, as far as it is known at the start.
    pub(super) fn folder(&self) -> PathBuf {
        self.project.clone().unwrap_or_else(environment::working_directory)
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let toolsets = toolsets(&context.loaded.config.toolsets)?;
    if let Some(db) = &args.db {
        let db = ui::shell_word(&db.to_string_lossy());
        context.ui.warn(&format!("`--db` is of commitmux and does nothing here; `lore import commitmux --db {db}` takes its repositories over"));
    }
    if std::io::stdin().is_terminal() {
        context.ui.note(
            "serving MCP on standard input and output (`lore setup HOST` lets an agent start this); Ctrl-C ends it",
        );
    }
    let project = Project::open(context, args, &toolsets)?;
    let server = server(context, &toolsets, &project);
    let cancel = Cancel::default();
    // Who asks neither about code nor about history needs no index.
    let is_asked = toolsets.iter().any(|set| !matches!(set, Toolset::Messages | Toolset::Commands));
    let refresher = is_asked.then(|| refresher(context, args, &project, &cancel)).flatten();
    let served = runtime::block_on(async { lore_mcp::serve_stdio(server, runtime::shutdown_signal()).await })?;
    cancel.cancel();
    // What a passing fault kept from being noted would be delivered again.
    context.lore.messages.settle(Vec::new(), Vec::new());
    if let Some(refresher) = refresher {
        // Only a sync under way needs the time: it keeps what it has read.
        let stopped = refresher.wait(0, Some(STOPPING), &Cancel::default()) > 0;
        tracing::debug!(in_time = stopped, "the refresher stopped");
    }
    served.map_err(|error| Failure::new(Code::NoAccess, format!("standard input or output failed: {error}")))
}

/// The MCP server of these toolsets.
///
/// Where no toolset was chosen, commands are listed where the project has some. Which one that is, the client may say only
/// after the handshake.
fn server(context: &Context<'_>, toolsets: &[Toolset], project: &Arc<Project>) -> Server {
    let is_chosen = !context.loaded.config.toolsets.is_empty();
    let now = lore_tools::Project::folder_now(&**project);
    let has_commands_now = is_chosen || has_commands(&context.commands, &now);
    let told: Vec<Toolset> =
        toolsets.iter().copied().filter(|set| *set != Toolset::Commands || has_commands_now).collect();
    let text = ServerText { version: env!("CARGO_PKG_VERSION").to_owned(), instructions: instructions(&told) };
    let tools = ToolContext {
        lore: Arc::clone(&context.lore),
        commands: Arc::clone(&context.commands),
        project: Arc::clone(project) as _,
        asked: Asked::default(),
        team: None,
    };
    let mut server = Server::new(lore_tools::tools(toolsets), &tools, text);
    if !is_chosen {
        let (commands, asked) = (Arc::clone(&context.commands), Arc::clone(project));
        let condition = move || has_commands(&commands, &lore_tools::Project::folder(&*asked));
        server = server.list_if(Toolset::Commands, Arc::new(condition));
    }
    let heard = Arc::clone(project);
    server.ask_roots(Arc::new(move |roots| heard.hear(roots)))
}

/// The project of this server, and what answers questions about its code.
struct Project {
    lore: Arc<Lore>,
    folder: ProjectFolder,
    /// Whether the user named the project: then the client has no say.
    named: bool,
    /// The folder that is kept fresh: the same, unless its code would be read by another project's model.
    fresh: ProjectFolder,
    /// The project whose own choice of an embedding provider is followed.
    provider_of: Option<PathBuf>,
    /// What happens by itself to what is kept fresh.
    upkeep: Upkeep,
    /// What calls need not wait for any more: it is indexed, or they have waited for it in vain.
    waited: Mutex<HashSet<(PathBuf, IndexNeed)>>,
    /// Chunk files that the user named.
    chosen: Option<OpenFiles>,
    /// Chunk files that the project at this folder names, if it does.
    own: Mutex<Option<(PathBuf, Option<OpenFiles>)>>,
}

/// Chunk files. A thread reads them again when they change; it ends with this.
struct OpenFiles {
    files: Arc<ChunkFiles>,
    _watch: CancelOnDrop,
}

impl Project {
    /// The project as far as it is known now. Chunk files that cannot be read keep the server from starting.
    fn open(context: &Context<'_>, args: &Args, toolsets: &[Toolset]) -> Result<Arc<Self>, Failure> {
        let lore = Arc::clone(&context.lore);
        let is_asked = toolsets.contains(&Toolset::Context);
        let chosen = match cortex::chosen_chunks_dir(args.chunks_dir.as_deref()).filter(|_| is_asked) {
            Some(place) => Some(open_files(&lore, place)?),
            None => None,
        };
        let cortex = Cortex::find(&args.folder())?;
        let provider_of = cortex.chooses_provider().then(|| cortex.place().to_owned());
        let project = Self {
            lore,
            folder: ProjectFolder::new(args.project.clone()),
            named: args.project.is_some(),
            fresh: ProjectFolder::new(args.project.clone()),
            provider_of,
            upkeep: match (args.no_refresh, context.loaded.config.register_project) {
                (true, _) => Upkeep::Nothing,
                (false, false) => Upkeep::Registered,
                (false, true) => Upkeep::Project,
            },
            waited: Mutex::default(),
            chosen,
            own: Mutex::default(),
        };
        if is_asked && project.chosen.is_none() {
            project.own_files(&args.folder())?;
        }
        Ok(Arc::new(project))
    }

    /// Takes note of the folders that the client works in.
    fn hear(&self, roots: Option<Vec<PathBuf>>) {
        if self.named {
            return;
        }
        let roots = roots.unwrap_or_default();
        let folders = || roots.iter().filter(|root| root.is_dir());
        let is_repository = |folder: &&PathBuf| lore_git::Repository::discover(folder).is_ok();
        match folders().find(is_repository).or_else(|| folders().next()) {
            Some(folder) => self.set(folder.clone()),
            None if self.folder.get().is_none() => self.set(environment::working_directory()),
            None => {}
        }
    }

    fn set(&self, folder: PathBuf) {
        let is_other = self
            .provider_of
            .as_ref()
            .is_some_and(|place| lore_git::Repository::discover(&folder).is_ok_and(|found| found.path() != place));
        if is_other {
            tracing::warn!(folder = %folder.display(), "this project is not kept fresh: the server began with another one, whose own embedding provider it uses");
        } else {
            self.fresh.set(folder.clone());
        }
        self.folder.set(folder);
    }

    /// Waits until what a call needs is indexed, or until it makes no sense to wait for it any longer.
    fn wait_for_index(&self, folder: &Path, need: IndexNeed, repos: &[String], progress: Option<&Progress>) {
        let _wait = need.history.then(|| self.lore.history.wait_for_sync());
        let (started, cancel) = (Instant::now(), Cancel::current());
        while started.elapsed() < COLD_WAIT {
            let Ok(state) = self.lore.index_state(folder) else { return };
            let is_coming = state.repo.is_some() || self.upkeep == Upkeep::Project;
            let is_named = repos.is_empty() || state.repo.as_ref().is_none_or(|name| repos.contains(name));
            if !is_coming || !is_named {
                return;
            }
            let wanted = [(need.code, state.code), (need.history, state.history)];
            if !need.code && !need.history {
                if state.repo.is_some() || started.elapsed() >= REGISTRATION_WAIT {
                    return;
                }
                if !cancel.sleep(REGISTRATION_STEP) {
                    return;
                }
                continue;
            }
            let is_there = |least: Extent| {
                let has = |extent| extent == Extent::Whole || (extent == Extent::Partial && least == Extent::Partial);
                wanted.iter().all(|(needed, extent)| !needed || has(*extent))
            };
            if is_there(Extent::Whole) || (is_there(Extent::Partial) && started.elapsed() >= WHOLE_WAIT) {
                return;
            }
            if let Some(progress) = progress {
                let (what, percent) = if need.code && state.code != Extent::Whole {
                    ("indexing the code", state.progress.0)
                } else {
                    ("reading the history", state.progress.1)
                };
                progress.tell(f64::from(percent.unwrap_or(0)), Some(100.0), what);
            }
            if !cancel.sleep(COLD_STEP) {
                return;
            }
        }
    }

    /// The chunk files that the project at this folder names.
    fn own_files(&self, folder: &Path) -> Result<Option<Arc<ChunkFiles>>, Failure> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, files)) = &*own
            && known == folder
        {
            return Ok(files.as_ref().map(|open| Arc::clone(&open.files)));
        }
        let open = match Cortex::find(folder)?.chunks_dir()? {
            Some(place) => Some(open_files(&self.lore, place)?),
            None => None,
        };
        let files = open.as_ref().map(|open| Arc::clone(&open.files));
        // Those of the project before are not looked at any more.
        *own = Some((folder.to_owned(), open));
        Ok(files)
    }
}

impl lore_tools::Project for Project {
    fn folder_now(&self) -> PathBuf {
        self.folder.get().unwrap_or_else(environment::working_directory)
    }

    fn folder(&self) -> PathBuf {
        self.folder.wait_until_known(Some(SAYING), &Cancel::current()).unwrap_or_else(|| {
            self.hear(None);
            environment::working_directory()
        })
    }

    fn wait_until_indexed(&self, need: IndexNeed, repos: Vec<String>, progress: Option<Progress>) {
        if self.upkeep == Upkeep::Nothing || (self.chosen.is_some() && !need.history) {
            return;
        }
        let folder = lore_tools::Project::folder(self);
        let key = (folder.clone(), need);
        let has_waited = |key| self.waited.lock().unwrap_or_else(PoisonError::into_inner).contains(key);
        if has_waited(&key) || self.fresh.get().as_ref() != Some(&folder) {
            return;
        }
        self.wait_for_index(&folder, need, &repos, progress.as_ref());
        // One that was cancelled has not waited in vain.
        if !Cancel::current().is_cancelled() {
            self.waited.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        }
    }

    fn source(&self) -> Result<Source, Failure> {
        if let Some(files) = &self.chosen {
            return Ok(Source::Files(Arc::clone(&files.files)));
        }
        let folder = lore_tools::Project::folder(self);
        if let Some(files) = self.own_files(&folder)? {
            return Ok(Source::Files(files));
        }
        let upkeep = if self.fresh.get().as_ref() == Some(&folder) { self.upkeep } else { Upkeep::Nothing };
        Ok(Source::Index(folder, upkeep))
    }
}

/// Reads chunk files, and from then on reads them again when they change.
fn open_files(lore: &Lore, place: ChunksPlace) -> Result<OpenFiles, Failure> {
    let files = Arc::new(lore.search.query.open_chunk_files(place)?);
    let (watched, cancel) = (Arc::clone(&files), Cancel::default());
    let watch = cancel.on_drop();
    thread::spawn(move || watched.keep_fresh(&cancel));
    Ok(OpenFiles { files, _watch: watch })
}

/// Whether there are commands for a folder, be they broken.
pub(super) fn has_commands(commands: &Commands, folder: &Path) -> bool {
    let is_there =
        |agent: &AgentCommands| !matches!(&agent.commands, Err(CommandError::Registry { missing: true, .. }));
    commands.list(folder).iter().any(is_there)
}

/// The toolsets of these names; the usual ones where none is named.
pub(super) fn toolsets(names: &[String]) -> Result<Vec<Toolset>, Failure> {
    if names.is_empty() {
        return Ok(Toolset::DEFAULT.to_vec());
    }
    let known = Toolset::ALL.map(Toolset::name);
    names
        .iter()
        .map(|name| {
            Toolset::parse(name).ok_or_else(|| {
                let meant = closest(name, known).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
                Failure::new(Code::InvalidArgument, format!("there is no toolset `{name}`"))
                    .hint(format!("{meant}the toolsets are: {}", known.join(", ")))
            })
        })
        .collect()
}

/// Keeps the project fresh in the background. The returned signal notifies when that has ended.
fn refresher(context: &Context<'_>, args: &Args, project: &Arc<Project>, cancel: &Cancel) -> Option<Signal> {
    if args.no_refresh {
        return None;
    }
    let (lore, project, cancel) = (Arc::clone(&context.lore), Arc::clone(project), cancel.clone());
    let register = context.loaded.config.register_project;
    let ended = Signal::default();
    let end = ended.clone();
    thread::spawn(move || {
        thread::scope(|threads| {
            threads.spawn(|| {
                // A client that says nothing at all still has its project kept fresh.
                if cancel.sleep(2 * SAYING) {
                    project.hear(None);
                }
            });
            lore.follow(&project.fresh, register, &cancel);
        });
        end.notify();
    });
    Some(ended)
}
