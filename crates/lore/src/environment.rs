//! The one place that reads the environment.
#![expect(clippy::disallowed_methods, reason = "libraries receive values; this module is where they come from")]

use std::path::PathBuf;

/// A variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The same as a path.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|path| !path.as_os_str().is_empty())
}

/// Where lazygit-mcp-bridge leaves its messages.
pub(crate) fn bridge_inbox() -> Option<PathBuf> {
    let config = folder("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))?;
    Some(config.join("jesseduffield/lazygit/mcp-messages.json"))
}

/// The folder the program was started in.
pub(crate) fn working_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

/// What the program was called with.
pub(crate) fn arguments() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::args_os().skip(1)
}

/// This very program.
pub(crate) fn executable() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("lore"))
}
