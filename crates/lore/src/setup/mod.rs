//! Registers Lore as an MCP server in the configuration of the programs that start such servers.
//!
//! A change is planned, shown, and only then made; it touches one entry and can be undone. Nothing here reads the
//! environment or prints: the folders come in as a [`Place`], and the result is a [`Change`] with its notes.

mod change;
mod config_file;
mod document;
mod files;
mod hosts;
mod json;
pub(crate) mod lazygit;
mod plan;
mod record;
mod server;
#[cfg(test)]
mod tests;
mod text;
mod toml;

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};

pub(crate) use self::{
    change::{Change, apply},
    hosts::{Host, Os, Place, Scope},
    plan::{plan, plan_undo},
};
use self::{
    config_file::{read_text, unmarked},
    document::Document,
    plan::{is_ours, record_path},
    record::Record,
    server::Program,
};

/// The old servers that Lore can stand in for, with the toolsets that have their tools.
pub(crate) const STAND_INS: [(&str, &str); 5] = [
    ("commitmux", "history"),
    ("cortex", "context"),
    ("climpt", "commands"),
    ("cidx", "code,repos,insight"),
    ("lazygit-mcp-bridge", "messages"),
];

/// The server to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registration {
    /// The name, which the host shows in front of each tool.
    pub(crate) name: String,
    /// The executable, with its whole path: a program started from a desktop has a short `PATH`.
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    /// The address of a server elsewhere that the host asks itself, in place of a program.
    pub(crate) address: Option<String>,
}

/// A team server for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TeamServer {
    pub(crate) url: String,
    /// The address of its MCP endpoint.
    pub(crate) endpoint: String,
    /// The toolset, unless all tools are wanted.
    pub(crate) toolset: Option<String>,
    /// Further options of `lore bridge`.
    pub(crate) options: Vec<String>,
}

impl Registration {
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

    /// Makes a host ask a team server: by itself, or through the bridge.
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

    /// The executable, or the address, for a host's file.
    fn command_text(&self) -> Result<&str, Failure> {
        self.address.as_deref().map_or_else(|| path_text(&self.command), Ok)
    }
}

/// A path for a configuration file.
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
    /// The content of that file if it has no other entry.
    pub(crate) text: String,
}

/// The entry to paste, for users who edit their files themselves.
pub(crate) fn snippet(
    host: Host,
    scope: Scope,
    place: &Place,
    registration: &Registration,
) -> Result<Snippet, Failure> {
    let file = host.file(place, scope)?;
    let mut document = Document::new(host, "");
    let fields = host.fields(registration.command_text()?, registration);
    document.add(&registration.name, &fields).map_err(|problem| problem.failure(host.name(), &file))?;
    Ok(Snippet { text: document.text().to_owned(), file })
}

/// A host's entry that starts Lore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The name under which the host lists it.
    pub(crate) name: String,
    /// The executable, or the address of a server.
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// `None` for an executable that is looked up in `PATH`, and for an address.
    pub(crate) command_exists: Option<bool>,
    pub(crate) is_address: bool,
}

/// The entry through which a host starts Lore: the user's first, then the project's.
pub(crate) fn registered(host: Host, place: &Place) -> Option<Entry> {
    [Scope::User, Scope::Project].into_iter().find_map(|scope| {
        let content = read_text(host.owner(), &host.file(place, scope).ok()?).ok()??;
        let servers = Document::new(host, unmarked(&content)).servers().ok()??;
        let starts_lore = servers.into_iter().filter_map(|server| {
            let program = Program::or_address(&server.value)?;
            // An address may be anyone's: it is a team server's if a setup wrote it.
            let record = || Record::read(&record_path(host, scope, place, &server.name).ok()?).ok()?;
            (program.is_lore() || is_ours(record().as_ref(), Some(&program))).then_some((server.name, program))
        });
        let (name, program) = starts_lore.max_by_key(|(name, _)| name == "lore")?;
        let is_address = program.is_address();
        let is_path = !is_address && program.command.contains(['/', '\\']);
        let command_exists = is_path.then(|| Path::new(&program.command).exists());
        Some(Entry { name, command: program.command, args: program.args, command_exists, is_address })
    })
}
