//! The hosts Lore can be registered in: where each keeps its servers and how it writes one down.
//!
//! Only locations and shapes. Which of them exist, and what is in them, is read elsewhere.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};
use serde_json::{Value, json};

use super::{Registration, document::Syntax, lazygit::Variables};

/// A program that starts MCP servers and keeps the list of them in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// Claude Code, the command line and its editor extensions.
    ClaudeCode,
    /// The Claude desktop application.
    ClaudeDesktop,
    /// The Cursor editor.
    Cursor,
    /// The Zed editor.
    Zed,
    /// Visual Studio Code.
    VsCode,
    /// Codex: its command line, editor extension and application share one file.
    Codex,
}

/// Whose configuration is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's own, for every project.
    User,
    /// The one kept inside the project.
    Project,
}

/// The operating system whose conventions decide the locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Os {
    /// Linux and everything else that follows the XDG folders.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
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
    /// The user's home folder.
    pub(crate) home: PathBuf,
    /// `$XDG_CONFIG_HOME`.
    pub(crate) config_home: Option<PathBuf>,
    /// `%APPDATA%`.
    pub(crate) app_data: Option<PathBuf>,
    /// `%LOCALAPPDATA%`.
    pub(crate) local_app_data: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`.
    pub(crate) claude_config_dir: Option<PathBuf>,
    /// `$CODEX_HOME`.
    pub(crate) codex_home: Option<PathBuf>,
    /// What is said of lazygit.
    pub(crate) lazygit: Variables,
    /// The root of the project the user stands in.
    pub(crate) project: PathBuf,
    /// Where Lore remembers how to undo a setup: `$LORE_HOME/setup`.
    pub(crate) state_dir: PathBuf,
    /// Whose conventions apply.
    pub(crate) os: Os,
}

impl Host {
    /// Every host, in the order they are listed.
    pub(crate) const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::ClaudeDesktop, Self::Cursor, Self::Zed, Self::VsCode, Self::Codex];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::Zed => "zed",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
        }
    }

    /// The name people call it by.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Zed => "Zed",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
        }
    }

    /// The host of that name.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        Self::ALL.into_iter().find(|host| host.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Failure::new(Code::InvalidArgument, format!("no host named `{name}`")).hint(format!("use one of {known}"))
        })
    }

    /// The configuration file that lists this host's servers.
    pub(crate) fn file(self, place: &Place, scope: Scope) -> Result<PathBuf, Failure> {
        match scope {
            Scope::User => Ok(self.user_file(place)),
            Scope::Project => match self.project_file() {
                Some(file) => Ok(place.project.join(file)),
                None => Err(Failure::new(
                    Code::InvalidArgument,
                    format!("{} has no configuration inside a project", self.title()),
                )
                .hint(format!("leave out `--project`: `lore setup {}`", self.name()))),
            },
        }
    }

    fn user_file(self, place: &Place) -> PathBuf {
        match self {
            Self::ClaudeCode => given(place.claude_config_dir.as_deref()).unwrap_or(&place.home).join(".claude.json"),
            Self::ClaudeDesktop => place
                .packaged_claude()
                .unwrap_or_else(|| place.application_config().join("Claude"))
                .join("claude_desktop_config.json"),
            Self::Cursor => place.home.join(".cursor").join("mcp.json"),
            Self::Zed => place.zed_folder().join("settings.json"),
            Self::VsCode => place.application_config().join("Code").join("User").join("mcp.json"),
            Self::Codex => match given(place.codex_home.as_deref()) {
                Some(folder) => folder.join("config.toml"),
                None => place.home.join(".codex").join("config.toml"),
            },
        }
    }

    fn project_file(self) -> Option<&'static Path> {
        match self {
            Self::ClaudeCode => Some(Path::new(".mcp.json")),
            Self::ClaudeDesktop => None,
            Self::Cursor => Some(Path::new(".cursor/mcp.json")),
            Self::Zed => Some(Path::new(".zed/settings.json")),
            Self::VsCode => Some(Path::new(".vscode/mcp.json")),
            Self::Codex => Some(Path::new(".codex/config.toml")),
        }
    }

    /// How the file is written.
    pub(super) fn syntax(self) -> Syntax {
        match self {
            Self::Codex => Syntax::Toml,
            _ => Syntax::Json,
        }
    }

    /// The key under which the servers are.
    pub(super) fn container(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
            Self::Zed => "context_servers",
            Self::VsCode => "servers",
            Self::Codex => "mcp_servers",
        }
    }

    /// What this host wants to know of a server that it starts itself.
    ///
    /// Zed took `"source": "custom"` for a while and now offers to migrate files that have it
    /// away, so it is not written.
    pub(super) fn fields(self, command: &str, registration: &Registration) -> Vec<(&'static str, Value)> {
        if registration.address.is_some() {
            return self.address_fields(command);
        }
        let mut fields = vec![("command", json!(command)), ("args", json!(registration.args))];
        if matches!(self, Self::ClaudeCode | Self::VsCode) {
            fields.insert(0, ("type", json!("stdio")));
        }
        fields
    }

    /// Whether it asks servers elsewhere itself, with a token that it takes from a variable.
    ///
    /// Claude Desktop takes no headers. Zed and VS Code do, but put no variable into them, and a token must not stand in a
    /// file: these are given the bridge.
    pub(crate) fn asks_by_itself(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Cursor | Self::Codex)
    }

    /// What this host wants to know of a server elsewhere.
    fn address_fields(self, address: &str) -> Vec<(&'static str, Value)> {
        let bearer = |variable: &str| json!({"Authorization": format!("Bearer {variable}")});
        match self {
            Self::Codex => vec![("url", json!(address)), ("bearer_token_env_var", json!("LORE_TOKEN"))],
            Self::Cursor => vec![("url", json!(address)), ("headers", bearer("${env:LORE_TOKEN}"))],
            _ => vec![("type", json!("http")), ("url", json!(address)), ("headers", bearer("${LORE_TOKEN}"))],
        }
    }

    /// What the user has to do for the host to take the change up.
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
    /// The name in the file that remembers how to undo.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl Place {
    /// Where applications built on Electron keep their folders.
    fn application_config(&self) -> PathBuf {
        match self.os {
            Os::Linux => self.xdg_config(),
            Os::Mac => self.home.join("Library").join("Application Support"),
            Os::Windows => self.roaming(),
        }
    }

    fn zed_folder(&self) -> PathBuf {
        match self.os {
            Os::Linux => self.xdg_config().join("zed"),
            // Zed reads no `$XDG_CONFIG_HOME` there.
            Os::Mac => self.home.join(".config").join("zed"),
            Os::Windows => self.roaming().join("Zed"),
        }
    }

    fn xdg_config(&self) -> PathBuf {
        // The XDG specification says to ignore a relative path.
        let folder = self.config_home.as_deref().filter(|folder| folder.is_absolute());
        folder.map_or_else(|| self.home.join(".config"), Path::to_path_buf)
    }

    pub(super) fn roaming(&self) -> PathBuf {
        let folder = given(self.app_data.as_deref());
        folder.map_or_else(|| self.home.join("AppData").join("Roaming"), Path::to_path_buf)
    }

    pub(super) fn local(&self) -> PathBuf {
        let folder = given(self.local_app_data.as_deref());
        folder.map_or_else(|| self.home.join("AppData").join("Local"), Path::to_path_buf)
    }

    /// The folder that Windows gives to Claude Desktop in place of `%APPDATA%\Claude` when it was
    /// installed as a package, as all present installers do: what is written to the ordinary
    /// folder never reaches the application then.
    fn packaged_claude(&self) -> Option<PathBuf> {
        if self.os != Os::Windows {
            return None;
        }
        let mut found: Vec<PathBuf> = std::fs::read_dir(self.local().join("Packages"))
            .ok()?
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("Claude_"))
            .map(|entry| entry.path().join("LocalCache").join("Roaming"))
            .filter(|folder| folder.is_dir())
            .collect();
        found.sort();
        Some(found.into_iter().next()?.join("Claude"))
    }
}

/// An environment variable that is set but empty says nothing.
fn given(folder: Option<&Path>) -> Option<&Path> {
    folder.filter(|folder| !folder.as_os_str().is_empty())
}
