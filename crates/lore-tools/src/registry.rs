//! What a tool is, and how a call of one is made.

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use lore_core::{Lore, search::ChunkFiles};
use lore_model::Failure;
use serde_json::{Map, Value};

/// A group of tools that is switched on and off together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Toolset {
    /// Git history across repositories.
    History,
    /// Code and documents of the project.
    Context,
}

impl Toolset {
    /// Every toolset, in the order in which they are listed.
    pub const ALL: [Self; 2] = [Self::History, Self::Context];

    /// Its name on the command line and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Context => "context",
        }
    }

    /// The toolset of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }
}

/// A call under way.
pub type Calling = BoxFuture<'static, Result<Answer, Failure>>;

/// How a client is told that a call failed: each contract has its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// As a result that says so, which an agent reads.
    Result,
    /// As an error of the protocol: -32602 for what the caller can mend, -32603 for the rest.
    Protocol,
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
    /// Whether it changes nothing.
    pub read_only: bool,
    /// How a failure is told.
    pub errors: Errors,
    /// The JSON schema of its arguments, made by [`crate::schema::input`].
    pub input: fn() -> Map<String, Value>,
    /// Runs it.
    pub call: fn(Context, Map<String, Value>) -> Calling,
}

/// What every call is given.
#[derive(Clone)]
pub struct Context {
    /// The product.
    pub lore: Arc<Lore>,
    /// What questions about code are answered from.
    pub source: Arc<dyn Fn() -> BoxFuture<'static, Result<Source, Failure>> + Send + Sync>,
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
        let source = move || {
            let source = Source::Index(folder.clone(), Upkeep::Nothing);
            Box::pin(std::future::ready(Ok(source))) as BoxFuture<'static, _>
        };
        Self { lore, source: Arc::new(source) }
    }
}

/// A tool's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The contract's value; its JSON is the text of the answer.
    pub value: Value,
    /// The same with what the text cannot carry (an object, for `structuredContent`).
    pub structured: Map<String, Value>,
    /// For `_meta`: notes, each under its own key.
    pub meta: Map<String, Value>,
}
