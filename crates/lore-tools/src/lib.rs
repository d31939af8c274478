//! What an agent can call: one file per tool, one registry. A tool behaves the same over every transport and in a test.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod cold;
pub mod commands;
mod content;
pub mod messages;
pub mod prompts;
mod registry;
mod repositories;
pub mod schema;
mod scope;
pub mod shown;
mod told;
mod tools;
mod why;

pub use cold::IndexNeed;
pub use content::Content;
use lore_model::{Code, Failure};
pub use registry::{
    Answer, Asked, Body, Context, Effect, Errors, Held, Offered, Progress, Project, Receipt, Source, Tool, Toolset,
    Upkeep,
};

/// The tools of these toolsets that are there on every machine, in the order in which they are listed.
pub fn tools(toolsets: &[Toolset]) -> Vec<&'static Tool> {
    server_tools(toolsets).into_iter().filter(|tool| tool.offered == Offered::Everywhere).collect()
}

/// The tools of these toolsets that a team server has, in the order in which they are listed.
pub fn server_tools(toolsets: &[Toolset]) -> Vec<&'static Tool> {
    tools::ALL.iter().copied().filter(|tool| toolsets.contains(&tool.toolset)).collect()
}

/// The failure of a call that takes longer than it may.
pub fn too_long(tool: &str) -> Failure {
    Failure::new(Code::Busy, format!("{tool} took too long and was given up"))
        .hint("ask for less at a time: fewer repositories, a narrower path, fewer and longer words, a smaller limit")
}

/// A failure as a tool with [`Errors::Object`] tells it.
pub fn failed(failure: Failure) -> Answer {
    repositories::failed(failure, serde_json::Map::new())
}
