//! The hosts Lore can be registered in: where each keeps its servers, and the form of an entry.
//!
//! Locations and forms only. Files are read elsewhere.

use std::path::PathBuf;

use lore_model::{Code, Failure};
use serde_json::{Value, json};

use super::{Registration, config_file::Owner, document::Syntax, lazygit::Variables};

/// A program that starts MCP servers and keeps the list of them in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// The command line and its editor extensions.
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Zed,
    VsCode,
    /// Its command line, editor extension and application share one file.
    Codex,
}

/// Whose configuration is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's, for every project.
    User,
    /// The one inside the project.
    Project,
}

/// The operating system whose conventions decide the locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Os {
    /// Linux, and everything else that follows the XDG folders.
    Linux,
    Mac,
    Windows,
}

impl Os {
    /// The one this program was built for.
    pub(crate) const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Linux
    };
}

/// The folders that decide where a host's file is; the caller takes them from the environment.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) home: PathBuf,
    /// `$XDG_CONFIG_HOME`.
    pub(crate) config_home: Option<PathBuf>,
    pub(crate) app_data: Option<PathBuf>,
    pub(crate) local_app_data: Option<PathBuf>,
    pub(crate) claude_config_dir: Option<PathBuf>,
    pub(crate) codex_home: Option<PathBuf>,
    pub(crate) lazygit: Variables,
    /// The root of the current project.
    pub(crate) project: PathBuf,
    /// The folder for the records of setups: `$LORE_HOME/setup`.
    pub(crate) state_dir: PathBuf,
    pub(crate) os: Os,
}

impl Host {
    /// Every host, in the order of lists.
    pub(crate) const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::ClaudeDesktop, Self::Cursor, Self::Zed, Self::VsCode, Self::Codex];

    /// The name on the command line and the title in messages, the key of the list of servers, and the file in a project.
    const fn facts(self) -> (&'static str, &'static str, &'static str, Option<&'static str>) {
        match self {
            Self::ClaudeCode => ("claude-code", "Claude Code", "mcpServers", Some(".mcp.json")),
            Self::ClaudeDesktop => ("claude-desktop", "Claude Desktop", "mcpServers", None),
            Self::Cursor => ("cursor", "Cursor", "mcpServers", Some(".cursor/mcp.json")),
            Self::Zed => ("zed", "Zed", "context_servers", Some(".zed/settings.json")),
            Self::VsCode => ("vscode", "VS Code", "servers", Some(".vscode/mcp.json")),
            Self::Codex => ("codex", "Codex", "mcp_servers", Some(".codex/config.toml")),
        }
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        self.facts().0
    }

    /// The name in messages.
    pub(crate) fn title(self) -> &'static str {
        self.facts().1
    }

    /// The key under which the servers are.
    pub(super) fn container(self) -> &'static str {
        self.facts().2
    }

    pub(super) fn syntax(self) -> Syntax {
        if self == Self::Codex { Syntax::Toml } else { Syntax::Json }
    }

    /// The owner of its files.
    pub(super) fn owner(self) -> Owner {
        Owner { name: self.name(), title: self.title() }
    }

    /// The host with that name.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        Self::ALL.into_iter().find(|host| host.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Failure::new(Code::InvalidArgument, format!("no host named `{name}`")).hint(format!("use one of {known}"))
        })
    }

    /// The configuration file that lists this host's servers.
    pub(crate) fn file(self, place: &Place, scope: Scope) -> Result<PathBuf, Failure> {
        if scope == Scope::User {
            return Ok(self.user_file(place));
        }
        let file = self.facts().3.ok_or_else(|| {
            Failure::new(Code::InvalidArgument, format!("{} has no configuration inside a project", self.title()))
                .hint(format!("leave out `--project`: `lore setup {}`", self.name()))
        })?;
        Ok(place.project.join(file))
    }

    fn user_file(self, place: &Place) -> PathBuf {
        match self {
            Self::ClaudeCode => place.claude_config_dir.as_ref().unwrap_or(&place.home).join(".claude.json"),
            Self::ClaudeDesktop => {
                let folder = place.packaged_claude().unwrap_or_else(|| place.application_config().join("Claude"));
                folder.join("claude_desktop_config.json")
            }
            Self::Cursor => place.home.join(".cursor").join("mcp.json"),
            Self::Zed => place.zed_folder().join("settings.json"),
            Self::VsCode => place.application_config().join("Code").join("User").join("mcp.json"),
            Self::Codex => place.codex_home.clone().unwrap_or_else(|| place.home.join(".codex")).join("config.toml"),
        }
    }

    /// The fields of an entry.
    ///
    /// Zed took `"source": "custom"` for a while and now offers to migrate files that have it, so it is not written.
    pub(super) fn fields(self, command: &str, registration: &Registration) -> Vec<(&'static str, Value)> {
        let bearer = |variable: &str| json!({"Authorization": format!("Bearer {variable}")});
        match (self, &registration.address) {
            (Self::ClaudeCode | Self::VsCode, None) => {
                vec![("type", json!("stdio")), ("command", json!(command)), ("args", json!(registration.args))]
            }
            (_, None) => vec![("command", json!(command)), ("args", json!(registration.args))],
            (Self::Codex, Some(_)) => vec![("url", json!(command)), ("bearer_token_env_var", json!("LORE_TOKEN"))],
            (Self::Cursor, Some(_)) => vec![("url", json!(command)), ("headers", bearer("${env:LORE_TOKEN}"))],
            (_, Some(_)) => {
                vec![("type", json!("http")), ("url", json!(command)), ("headers", bearer("${LORE_TOKEN}"))]
            }
        }
    }

    /// Whether it can ask a server elsewhere, with a token from an environment variable.
    ///
    /// Claude Desktop takes no headers. Zed and VS Code do, but put no variable into them, and a token must not stand in a
    /// file: these are given the bridge.
    pub(crate) fn asks_by_itself(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Cursor | Self::Codex)
    }

    /// What the user has to do before the host uses the change.
    pub(super) fn next_step(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Self::ClaudeCode, Scope::User) => "start a new Claude Code session to load it",
            (Self::ClaudeCode, Scope::Project) => "Claude Code asks once before it starts a server from `.mcp.json`",
            (Self::ClaudeDesktop, _) => "quit Claude Desktop completely and start it again to load it",
            (Self::Cursor, _) => "restart Cursor and see that the server is switched on in its MCP settings",
            (Self::Zed, Scope::User) => "see that the server is switched on in Zed's agent settings",
            (Self::Zed, Scope::Project) => "Zed reads a project's settings only once you trust the folder",
            (Self::VsCode, _) => "start it in VS Code with the command `MCP: List Servers`",
            (Self::Codex, Scope::User) => "start a new Codex session to load it",
            (Self::Codex, Scope::Project) => "Codex reads this file only in a project it trusts",
        }
    }
}

impl Scope {
    /// The name in the file name of a record.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl Place {
    /// The folder for applications built on Electron.
    fn application_config(&self) -> PathBuf {
        match self.os {
            Os::Linux => self.xdg_config().unwrap_or_else(|| self.home.join(".config")),
            Os::Mac => self.home.join("Library/Application Support"),
            Os::Windows => self.roaming(),
        }
    }

    fn zed_folder(&self) -> PathBuf {
        match self.os {
            // Zed on macOS reads no `$XDG_CONFIG_HOME`.
            Os::Mac => self.home.join(".config/zed"),
            Os::Linux => self.application_config().join("zed"),
            Os::Windows => self.roaming().join("Zed"),
        }
    }

    /// `$XDG_CONFIG_HOME`; the specification says to ignore a relative path.
    pub(super) fn xdg_config(&self) -> Option<PathBuf> {
        self.config_home.clone().filter(|folder| folder.is_absolute())
    }

    pub(super) fn roaming(&self) -> PathBuf {
        self.app_data.clone().unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
    }

    pub(super) fn local(&self) -> PathBuf {
        self.local_app_data.clone().unwrap_or_else(|| self.home.join("AppData").join("Local"))
    }

    /// The folder that Windows gives to Claude Desktop in place of `%APPDATA%\Claude` if it was installed as a package, as
    /// all present installers do: the application never sees the ordinary folder then.
    fn packaged_claude(&self) -> Option<PathBuf> {
        if self.os != Os::Windows {
            return None;
        }
        let packages = std::fs::read_dir(self.local().join("Packages")).ok()?.flatten();
        let claude = packages.filter(|entry| entry.file_name().to_string_lossy().starts_with("Claude_"));
        let folders = claude.map(|entry| entry.path().join("LocalCache").join("Roaming"));
        Some(folders.filter(|folder| folder.is_dir()).min()?.join("Claude"))
    }
}
