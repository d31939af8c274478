//! What an agent can call: one file per tool, one registry. A tool behaves the same over every transport and in a test.
#![forbid(unsafe_code)]

mod answer;
mod arguments;
pub mod commands;
pub mod messages;
pub mod prompts;
mod registry;
mod repositories;
pub mod schema;
mod tools;
mod why;

pub use registry::{Answer, Body, Calling, Context, Errors, Project, Receipt, Source, Tool, Toolset, Upkeep};

/// The tools of these toolsets, in the order in which they are listed.
pub fn tools(toolsets: &[Toolset]) -> Vec<&'static Tool> {
    tools::ALL.iter().copied().filter(|tool| toolsets.contains(&tool.toolset)).collect()
}
