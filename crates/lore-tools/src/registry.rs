//! What a tool is, and how a call of one is made.

use std::sync::Arc;

use futures::future::BoxFuture;
use lore_core::Lore;
use lore_model::Failure;
use serde_json::{Map, Value};

/// A group of tools that is switched on and off together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Toolset {
    /// Git history across repositories.
    History,
}

impl Toolset {
    /// Every toolset, in the order in which they are listed.
    pub const ALL: [Self; 1] = [Self::History];

    /// Its name on the command line and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::History => "history",
        }
    }

    /// The toolset of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }
}

/// A call under way.
pub type Calling = BoxFuture<'static, Result<Answer, Failure>>;

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
