//! Registers Lore as an MCP server in the configuration of the programs that start such servers.
//!
//! A change is planned, shown, and only then made; it touches the bytes of one entry and can be
//! undone. Nothing here reads the environment or prints: the folders come in as a [`Place`], and
//! what there is to say goes out as a `Change` with its notes.

mod change;
mod document;
mod edit;
mod files;
mod hosts;
mod json_file;
mod json_text;
pub(crate) mod lazygit;
mod plan;
mod record;
mod server;
#[cfg(test)]
mod tests;
mod toml_file;
mod undo;

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};

pub(crate) use self::{
    change::{Change, apply},
    hosts::{Host, Os, Place, Scope},
    plan::plan,
    undo::plan_undo,
};
use self::{
    document::{Document, Problem},
    record::Record,
    server::Program,
};

/// The old servers that Lore can stand in for, each with the toolsets that have its tools.
pub(crate) const STAND_INS: [(&str, &str); 5] = [
    ("commitmux", "history"),
    ("cortex", "context"),
    ("climpt", "commands"),
    ("cidx", "code,repos,insight"),
    ("lazygit-mcp-bridge", "messages"),
];

/// The server that a host is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registration {
    /// The name the host knows it by, which it shows in front of each tool.
    pub(crate) name: String,
    /// The executable, with its whole path: what a desktop starts has a short `PATH`.
    pub(crate) command: PathBuf,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// The address of a server elsewhere that the host asks itself, in place of a program.
    pub(crate) address: Option<String>,
}

/// A team server that a host is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TeamServer {
    /// Its address.
    pub(crate) url: String,
    /// The address of its MCP endpoint.
    pub(crate) endpoint: String,
    /// The toolset, where not all tools are wanted.
    pub(crate) toolset: Option<String>,
    /// What `lore bridge` is told besides.
    pub(crate) options: Vec<String>,
}

impl Registration {
    /// Makes a host ask a team server: by itself where it can, else by the bridge.
    pub(crate) fn of_server(mut self, server: &TeamServer, by_itself: bool) -> Self {
        if by_itself {
            self.args.clear();
            self.address = Some(server.endpoint.clone());
            return self;
        }
        self.args = ["bridge", "--url", &server.url].map(str::to_owned).to_vec();
        if let Some(toolset) = &server.toolset {
            self.args.extend(["--toolset".to_owned(), toolset.clone()]);
        }
        self.args.extend(server.options.iter().cloned());
        self
    }

    /// Lore under its own name.
    pub(crate) fn lore(command: PathBuf) -> Self {
        Self { name: "lore".to_owned(), command, args: vec!["serve".to_owned()], address: None }
    }

    /// Lore in place of an old server, under that server's name and with its tools alone.
    pub(crate) fn standing_in(name: &str, command: PathBuf) -> Result<Self, Failure> {
        let Some((name, toolset)) = STAND_INS.iter().find(|(known, _)| *known == name) else {
            let known = STAND_INS.map(|(name, _)| name).join(", ");
            return Err(Failure::new(Code::InvalidArgument, format!("Lore does not stand in for `{name}`"))
                .hint(format!("`--as` takes one of {known}")));
        };
        let args = ["serve", "--toolsets", toolset].map(str::to_owned).to_vec();
        Ok(Self { name: (*name).to_owned(), command, args, address: None })
    }

    /// The executable, or the address, as a host's file can hold it.
    fn command_text(&self) -> Result<&str, Failure> {
        self.address.as_deref().map_or_else(|| path_text(&self.command), Ok)
    }
}

/// A path as a configuration can hold it.
fn path_text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        Failure::new(Code::InvalidArgument, format!("the path of this program is not Unicode: {}", path.display()))
            .hint("move the program to a folder whose name is plain text")
    })
}

/// An entry to paste by hand.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The file it belongs in.
    pub(crate) file: PathBuf,
    /// What that file would hold if it held nothing else.
    pub(crate) text: String,
}

/// A host's entry that starts Lore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The file it is in.
    pub(crate) file: PathBuf,
    /// Whose file that is.
    pub(crate) scope: Scope,
    /// The name the host knows it by.
    pub(crate) name: String,
    /// The executable as it is written there.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Whether the executable is there; `None` when it is looked up in a `PATH`, or is the address of a server.
    pub(crate) command_exists: Option<bool>,
    /// Whether a server is asked and no program started.
    pub(crate) is_address: bool,
}

/// What to paste where, for those who keep their files to themselves.
pub(crate) fn snippet(
    host: Host,
    scope: Scope,
    place: &Place,
    registration: &Registration,
) -> Result<Snippet, Failure> {
    let file = host.file(place, scope)?;
    let problem = |problem: Problem| problem.failure(host.name(), &file);
    let mut document = Document::read(host, None).map_err(problem)?;
    let fields = host.fields(registration.command_text()?, registration);
    document.add(&registration.name, &fields).map_err(problem)?;
    Ok(Snippet { text: document.to_text(), file })
}

/// The entry through which a host starts Lore: the user's own first, then the project's.
pub(crate) fn registered(host: Host, place: &Place) -> Option<Entry> {
    [Scope::User, Scope::Project].into_iter().find_map(|scope| {
        let file = host.file(place, scope).ok()?;
        let bytes = files::read(&file).ok()??;
        let servers = Document::read(host, Some(&bytes)).ok()?.servers().ok()??;
        let starts_lore = servers.iter().filter_map(|server| {
            let program = Program::or_address(&server.value)?;
            // An address may be anybody's: it is that of a team server where a setup wrote it.
            let is_ours = || {
                let record = Record::read(&Record::path(host, scope, place, &server.name).ok()?).ok()??;
                record.owns(Some(&program)).then_some(())
            };
            (program.is_lore() || is_ours().is_some()).then(|| (server.name.clone(), program))
        });
        let (name, program) = starts_lore.max_by_key(|(name, _)| name == "lore")?;
        let by_path = !program.is_address() && program.command.contains(['/', '\\']);
        let command_exists = by_path.then(|| Path::new(&program.command).exists());
        let is_address = program.is_address();
        Some(Entry { file, scope, name, command: program.command, args: program.args, command_exists, is_address })
    })
}
