//! lazygit: a key that asks for a comment and passes it to `lore comment`.
//!
//! lazygit starts no MCP servers, so it has a list of commands in place of a list of servers. Planning, showing, writing
//! and undoing are the same as for a host.

mod entry;
mod key;
mod list;
mod location;
mod plan;

use lore_model::Failure;
use serde_json::Value;

pub(crate) use self::{
    entry::Commenter,
    location::Variables,
    plan::{plan, plan_undo},
};
use self::{
    entry::{EntryCommand, EntryKind, KEY},
    list::CommandList,
};
use super::{
    Snippet,
    config_file::{Owner, read_text, unmarked},
    hosts::Place,
};

/// The name on the command line.
pub(crate) const NAME: &str = "lazygit";

const OWNER: Owner = Owner { name: NAME, title: NAME };

/// The keys through which lazygit runs Lore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) keys: Vec<String>,
    pub(crate) program: String,
    /// `None` if the program is looked up in `PATH`.
    pub(crate) program_exists: Option<bool>,
}

/// The text to paste, for users who edit their files themselves.
pub(crate) fn snippet(place: &Place, commenter: &Commenter, key: Option<&str>) -> Result<Snippet, Failure> {
    key.map_or(Ok(()), key::check)?;
    let file = location::file(place);
    let items = EntryKind::ALL.map(|which| commenter.item(which, key.unwrap_or(KEY)));
    let list = CommandList::read("").and_then(|empty| empty.put(&[], &items));
    let text = list.map_err(|problem| problem.failure(NAME, &file))?.text().to_owned();
    Ok(Snippet { file, text })
}

/// The keys that run Lore; `None` without one.
pub(crate) fn registered(place: &Place) -> Option<Binding> {
    let content = read_text(OWNER, &location::file(place)).ok()??;
    let list = CommandList::read(unmarked(&content)).ok()?;
    let ours: Vec<&Value> = list.entries().iter().filter(|entry| entry::kind(entry).is_some()).collect();
    let runs = EntryCommand::of(ours.first()?)?;
    let mut keys: Vec<String> = ours.into_iter().flat_map(entry::keys).collect();
    keys.dedup();
    Some(Binding { keys, program_exists: runs.exists(), program: runs.program })
}
