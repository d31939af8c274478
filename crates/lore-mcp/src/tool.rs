//! A tool as the server holds it: what a client is told about it, and how to call it.

use std::sync::Arc;

use futures::future::BoxFuture;
use lore_model::{Failure, Permission};
use lore_tools::{Answer, Asked, Context, Effect, Errors, Tool, Toolset};
use rmcp::model::{self, ToolAnnotations};
use serde_json::{Map, Value};

/// Runs a tool with the arguments of a call.
pub type Call = Box<dyn Fn(Map<String, Value>, Asked) -> BoxFuture<'static, Result<Answer, Failure>> + Send + Sync>;

/// A tool together with what it works on.
pub struct BoundTool {
    /// Its name.
    pub name: String,
    /// What people see.
    pub title: String,
    /// What it does and when to use it, for an agent.
    pub about: String,
    /// What a user of a team server needs to call it.
    pub permission: Permission,
    /// What it does to the world.
    pub effect: Effect,
    /// How a failure is told.
    pub errors: Errors,
    /// Whether its answers depend on the folder that the client works in.
    pub about_project: bool,
    /// The toolset it belongs to, if it is in the registry.
    pub toolset: Option<Toolset>,
    /// The JSON schema of its arguments.
    pub input: Arc<Map<String, Value>>,
    /// Runs it.
    pub call: Call,
}

impl BoundTool {
    /// A tool of the registry, given what all calls are given.
    pub fn new(tool: &'static Tool, context: &Context) -> Self {
        let context = context.clone();
        Self {
            name: tool.name.to_owned(),
            title: tool.title.to_owned(),
            about: tool.about.to_owned(),
            permission: tool.permission,
            effect: tool.effect,
            errors: tool.errors,
            about_project: tool.toolset != Toolset::History,
            toolset: Some(tool.toolset),
            input: (tool.input)(),
            call: Box::new(move |arguments, asked| tool.run(Context { asked, ..context.clone() }, arguments)),
        }
    }

    /// The tool as `tools/list` shows it.
    pub(crate) fn listed(&self) -> model::Tool {
        let reads = self.effect == Effect::Reads;
        let annotations = ToolAnnotations::new()
            .read_only(reads)
            .destructive(self.effect == Effect::Removes)
            .idempotent(reads)
            .open_world(self.effect == Effect::Fetches);
        model::Tool::new(self.name.clone(), self.about.clone(), Arc::clone(&self.input))
            .with_title(self.title.clone())
            .with_annotations(annotations)
    }
}
