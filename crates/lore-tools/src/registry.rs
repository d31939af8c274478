//! What a tool is, and how a call of one is made.

use std::{
    any::Any,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use lore_commands::Commands;
use lore_core::{Lore, search::ChunkFiles};
use lore_model::{Caller, Cancel, Failure, Permission};
use lore_team::Team;
use serde_json::{Map, Value};

use crate::{Content, IndexNeed, told::Telling};

/// A group of tools that is switched on and off together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Toolset {
    /// Git history across repositories.
    History,
    /// Code and documents of the project.
    Context,
    /// Why code is as it is.
    Why,
    /// What reviewers said.
    Messages,
    /// The team's commands and prompts.
    Commands,
    /// Every way to search code, and its files.
    Code,
    /// Which repositories there are.
    Repos,
    /// Keeping a team server: its repositories and its users.
    Admin,
    /// How repositories fare.
    Insight,
}

impl Toolset {
    /// Every toolset, in the order in which they are listed.
    pub const ALL: [Self; 9] = [
        Self::History,
        Self::Context,
        Self::Why,
        Self::Messages,
        Self::Commands,
        Self::Code,
        Self::Repos,
        Self::Admin,
        Self::Insight,
    ];

    /// Those that are on where nobody chose any: what every agent needs, at a price that every agent can pay.
    pub const DEFAULT: [Self; 5] = [Self::History, Self::Context, Self::Why, Self::Messages, Self::Commands];

    /// Its name on the command line and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Context => "context",
            Self::Messages => "messages",
            Self::Commands => "commands",
            Self::Why => "why",
            Self::Code => "code",
            Self::Repos => "repos",
            Self::Admin => "admin",
            Self::Insight => "insight",
        }
    }

    /// The toolset of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }
}

/// How a client is told that a call failed: each contract has its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// As a result that says so, which an agent reads.
    Result,
    /// As a result that is an object: `{"success": false, "error": …}`.
    Object,
    /// As an error of the protocol: -32602 for what the caller can mend, -32603 for the rest.
    Protocol,
}

/// Where a tool is there to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// On every machine.
    Everywhere,
    /// On a team server alone: it is about users, jobs, or what users have activated.
    OnServer,
}

/// What a tool does to the world, so that hosts know which calls to ask people about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It adds something, or notes it.
    Changes,
    /// It brings something from other machines.
    Fetches,
    /// It takes something away, or may.
    Removes,
}

/// One tool that an agent can call.
pub struct Tool {
    /// Its name: `[a-z0-9_]`.
    pub name: &'static str,
    /// What people see.
    pub title: &'static str,
    /// The toolset it belongs to.
    pub toolset: Toolset,
    /// What it does and when to use it, for an agent.
    pub about: &'static str,
    /// What a user of a team server needs to call it.
    pub permission: Permission,
    /// Where it is there to be called.
    pub offered: Offered,
    /// What it does to the world.
    pub effect: Effect,
    /// How a failure is told.
    pub errors: Errors,
    /// The JSON schema of its arguments, made by [`crate::schema::input`].
    pub input: fn() -> Arc<Map<String, Value>>,
    /// Runs it.
    pub call: fn(&Context, Map<String, Value>) -> Result<Answer, Failure>,
}

impl Tool {
    /// Runs it on this thread until the thread's [`Cancel`](lore_model::Cancel), and tells what failed as the caller may hear it.
    pub fn run(&self, context: &Context, arguments: Map<String, Value>) -> Result<Answer, Failure> {
        let outcome = (self.call)(context, arguments);
        let Some(telling) = Telling::on_server(context) else { return outcome };
        if Cancel::current().is_cancelled() {
            // The client has left. Nothing receives the outcome, and being interrupted is not an error to log.
            return outcome;
        }
        match outcome {
            Ok(answer) => Ok(telling.answer(self.name, answer)),
            Err(failure) => Err(telling.failure(self.name, failure)),
        }
    }
}

/// What every call is given.
#[derive(Clone)]
pub struct Context {
    /// The product.
    pub lore: Arc<Lore>,
    /// The team's prompt commands.
    pub commands: Arc<Commands>,
    /// What the calls are about.
    pub project: Arc<dyn Project>,
    /// Who makes this call.
    pub asked: Asked,
    /// The team, on a team server.
    pub team: Option<Arc<Team>>,
}

/// Who makes a call, and how they hear how it goes on.
#[derive(Clone, Default)]
pub struct Asked {
    /// The user, on a team server.
    pub caller: Option<Caller>,
    /// Where the request came from, for the audit log.
    pub address: Option<String>,
    /// Tells the client how a long call goes on, where it wants to hear.
    pub progress: Option<Progress>,
    /// What the call is named in the server's log.
    pub log_id: Option<String>,
    /// The place of the call among those that are worked on. It goes where the work goes: a call that nobody waits for any
    /// more has it until the work on it has ended.
    pub place: Option<Held>,
}

/// Something that is taken for a request until this and its clones are dropped, or it is released.
#[derive(Clone)]
pub struct Held(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Held {
    /// Holds this.
    pub fn new(held: impl Any + Send) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(held)))))
    }

    /// Lets go of it, whoever else has a clone.
    pub fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Held")
    }
}

/// Tells a client how a call goes on.
#[derive(Clone)]
pub struct Progress(Arc<Tell>);

type Tell = dyn Fn(f64, Option<f64>, &str) + Send + Sync;

impl Progress {
    /// Tells with this function: how far it is, of how much, and what is being done.
    pub fn new(tell: impl Fn(f64, Option<f64>, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells how far it is, of how much, and what is being done.
    pub fn tell(&self, done: f64, of: Option<f64>, what: &str) {
        (self.0)(done, of, what);
    }
}

/// The project that calls are about, which the client may say late or change.
pub trait Project: Send + Sync {
    /// The folder it is in, once the client has had the time to say.
    fn folder(&self) -> PathBuf;

    /// The folder it is in, as far as that is known at this moment.
    fn folder_now(&self) -> PathBuf;

    /// What questions about code are answered from.
    fn source(&self) -> Result<Source, Failure>;

    /// Waits a while until the index of the project has what a call needs, if it is being made. Calls that name repositories
    /// wait only if the project is among them.
    fn wait_until_indexed(&self, _need: IndexNeed, _repos: Vec<String>, _progress: Option<Progress>) {}
}

/// A project whose folder is known and which nobody keeps fresh.
struct Fixed(PathBuf);

impl Project for Fixed {
    fn folder(&self) -> PathBuf {
        self.0.clone()
    }

    fn folder_now(&self) -> PathBuf {
        self.0.clone()
    }

    fn source(&self) -> Result<Source, Failure> {
        Ok(Source::Index(self.0.clone(), Upkeep::Nothing))
    }
}

/// What of the project is brought up to date by itself, so that asking again later gives more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// Nothing: somebody has to run `lore sync`.
    Nothing,
    /// The project, once it is registered.
    Registered,
    /// The project, which is registered where it is not yet.
    Project,
}

/// What questions about code are answered from.
#[derive(Clone)]
pub enum Source {
    /// The index: of the repository that this folder is in, unless another one is named.
    Index(PathBuf, Upkeep),
    /// The chunk files of a folder, and nothing else.
    Files(Arc<ChunkFiles>),
}

impl Context {
    /// Questions about code are about the repository that this folder is in.
    pub fn new(lore: Arc<Lore>, folder: PathBuf) -> Self {
        let commands = Arc::new(Commands::new(None));
        Self { lore, commands, project: Arc::new(Fixed(folder)), asked: Asked::default(), team: None }
    }

    /// Questions are those of users of a team server, who have no folder on it: every repository is named.
    pub fn for_team(team: Arc<Team>) -> Self {
        let lore = Arc::clone(team.lore());
        let nowhere = lore.home().unwrap_or_default();
        let commands = Arc::new(Commands::new(None));
        Self { lore, commands, project: Arc::new(Fixed(nowhere)), asked: Asked::default(), team: Some(team) }
    }

    /// Has a team server write down that a user called a tool that they may not.
    pub fn note_denied(&self, caller: &Caller, address: Option<String>, tool: &str, needed: Permission) {
        if let Some(team) = &self.team {
            let why = format!("this needs the permission `{}`", needed.as_str());
            team.note_denied(&caller.name, address, tool, &why);
        }
    }

    /// The folder that the call is about.
    pub(crate) fn folder(&self) -> PathBuf {
        self.project.folder()
    }
}

/// The text of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A value, as its JSON.
    Json(Value),
    /// A text as it is.
    Text(String),
}

/// A tool's answer.
#[derive(Debug)]
pub struct Answer {
    /// What the contract says.
    pub body: Body,
    /// Whose words the body carries.
    pub content: Content,
    /// For `_meta`: notes, each under its own key.
    pub meta: Map<String, Value>,
    /// What the reader must know besides, for the text behind the body: most hosts show a model texts and nothing else.
    pub remarks: Vec<String>,
    /// Where the body tells of a failure: which one.
    pub failure: Option<Failure>,
    /// Whom to tell that the client has the answer.
    pub receipt: Option<Receipt>,
}

impl Answer {
    /// A value that holds text of repositories.
    pub fn json(value: Value) -> Self {
        Self {
            body: Body::Json(value),
            content: Content::Repository,
            meta: Map::new(),
            remarks: Vec::new(),
            failure: None,
            receipt: None,
        }
    }
}

/// Tells somebody that an answer was written to the client.
///
/// Dropped without that, it tells that the answer never went out: what was meant for the client is then still to be
/// delivered.
pub struct Receipt(Box<dyn FnOnce() + Send + Sync>);

impl Receipt {
    /// Runs `told` when the answer is out, and drops it unrun when it never goes out.
    pub fn new(told: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Box::new(told))
    }

    /// The answer is out.
    pub fn written(self) {
        (self.0)();
    }
}

impl std::fmt::Debug for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Receipt")
    }
}
