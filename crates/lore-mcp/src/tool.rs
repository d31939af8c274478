//! A tool as the server holds it: what a client is told about it, and how to call it.

use std::sync::Arc;

use futures::future::BoxFuture;
use lore_model::{Failure, Permission};
use lore_tools::{Answer, Asked, Context, Effect, Errors, Tool, Toolset};
use rmcp::model::{self, ToolAnnotations};
use serde_json::{Map, Value};

use crate::blocking::blocking;

/// Runs a tool with the arguments of a call.
pub type Call = Box<dyn Fn(Map<String, Value>, Asked) -> BoxFuture<'static, Result<Answer, Failure>> + Send + Sync>;

/// Waits until there is something to answer a call from. It holds no worker.
pub type Ready = Box<dyn Fn(&Map<String, Value>, &Asked) -> BoxFuture<'static, ()> + Send + Sync>;

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
    /// Waits before it runs.
    pub ready: Option<Ready>,
    /// Runs it.
    pub call: Call,
}

impl BoundTool {
    /// A tool of the registry, given what all calls are given. Each call has a thread of its own.
    pub fn new(tool: &'static Tool, context: &Context) -> Self {
        let (context, need) = (context.clone(), tool.index_need());
        let waiting = context.clone();
        let ready = move |arguments: &Map<String, Value>, asked: &Asked| {
            let (context, repos) = (Context { asked: asked.clone(), ..waiting.clone() }, named_repos(arguments));
            Box::pin(blocking(move || context.wait_until_indexed(need, repos))) as BoxFuture<'static, ()>
        };
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
            ready: (!need.is_none()).then(|| Box::new(ready) as Ready),
            call: Box::new(move |arguments, asked| {
                let context = Context { asked, ..context.clone() };
                // A call that nobody waits for any more has its place until it has ended.
                Box::pin(blocking(move || tool.run(&context, arguments)))
            }),
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

/// The repositories that a call names.
fn named_repos(arguments: &Map<String, Value>) -> Vec<String> {
    let given = ["repo", "repos", "repository_alias"].into_iter().filter_map(|name| arguments.get(name));
    let texts = given.flat_map(|value| match value {
        Value::Array(names) => names.iter().collect::<Vec<_>>(),
        one => vec![one],
    });
    texts.filter_map(Value::as_str).flat_map(|names| names.split(',')).map(|name| name.trim().to_owned()).collect()
}
