//! lazygit: a key that asks for a comment and hands it to `lore comment`.
//!
//! Not a host of servers, so it has a file of its own kind and its own entries; the way of changing
//! it (planned, shown, undone, byte for byte) is that of the hosts.

mod entry;
mod key;
mod list;
mod location;
mod place;
mod plan;
mod record;
mod undo;
mod yaml;

use std::path::PathBuf;

use lore_model::Failure;

pub(crate) use self::{entry::Commenter, location::Variables, plan::plan, undo::plan_undo};
use self::{
    entry::{KEY, Runs, Which},
    list::List,
    yaml::Node,
};
use super::{Snippet, document::decode, files, hosts::Place};

/// The name on the command line.
pub(crate) const NAME: &str = "lazygit";

/// The entries through which lazygit runs Lore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The file they are in.
    pub(crate) file: PathBuf,
    /// The keys.
    pub(crate) keys: Vec<String>,
    /// The program that they run.
    pub(crate) program: String,
    /// Whether it is there; `None` when it is looked up in a `PATH`.
    pub(crate) program_exists: Option<bool>,
}

/// What to paste, for those who keep their files to themselves.
pub(crate) fn snippet(place: &Place, commenter: &Commenter, key: Option<&str>) -> Result<Snippet, Failure> {
    key.map_or(Ok(()), key::check)?;
    let file = location::file(place);
    let items = Which::ALL.map(|which| commenter.item(which, key.unwrap_or(KEY)));
    let list = List::read("").and_then(|empty| empty.put(&[], &items));
    let text = list.map_err(|problem| problem.failure(NAME, &file))?.text().to_owned();
    Ok(Snippet { file, text })
}

/// The keys that run Lore, if there are any.
pub(crate) fn registered(place: &Place) -> Option<Binding> {
    let file = location::file(place);
    let bytes = files::read(&file).ok()??;
    let list = List::read(decode(&bytes).ok()?.1).ok()?;
    let ours: Vec<&Node> = list.entries().iter().filter(|entry| which(entry).is_some()).collect();
    let runs = Runs::of(ours.first()?)?;
    let mut keys: Vec<String> = ours.iter().flat_map(|entry| entry::keys(entry)).map(str::to_owned).collect();
    keys.dedup();
    Some(Binding { file, keys, program_exists: runs.exists(), program: runs.program })
}

/// Which of our entries it is.
fn which(entry: &Node) -> Option<Which> {
    Runs::of(entry)?.which()
}
