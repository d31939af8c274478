//! Where lazygit keeps its configuration: the same places in the same order in which lazygit looks.

use std::path::{Path, PathBuf};

use super::super::hosts::{Os, Place};

/// The environment variables for lazygit's configuration; the caller reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    /// `$LG_CONFIG_FILE`: one file, or several separated by commas.
    pub(crate) files: Option<PathBuf>,
    /// `$CONFIG_DIR`.
    pub(crate) folder: Option<PathBuf>,
    /// `$XDG_CONFIG_DIRS`.
    pub(crate) shared: Option<PathBuf>,
}

/// The file that lazygit reads, or would create.
pub(super) fn file(place: &Place) -> PathBuf {
    if let Some(files) = &place.lazygit.files {
        // The first is the user's own; the others are themes and the like.
        return files.to_str().and_then(|files| files.split(',').next()).map_or_else(|| files.clone(), PathBuf::from);
    }
    if let Some(folder) = &place.lazygit.folder {
        return folder.join("config.yml");
    }
    let found = candidates(place).into_iter().find(|file| file.exists());
    found.unwrap_or_else(|| own(place).join("lazygit").join("config.yml"))
}

/// Another file of the user that lazygit ignores because of this one.
pub(super) fn passed_over(place: &Place, file: &Path) -> Option<PathBuf> {
    candidates(place).into_iter().find(|other| other != file && other.starts_with(&place.home) && other.exists())
}

/// The files without any variable of lazygit's own, those in its former folder first.
fn candidates(place: &Place) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = std::iter::once(own(place)).chain(shared(place)).collect();
    let names = ["jesseduffield/lazygit/config.yml", "lazygit/config.yml"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).collect()
}

/// The user's folder for configuration files.
fn own(place: &Place) -> PathBuf {
    place.xdg_config().unwrap_or_else(|| match place.os {
        Os::Linux => place.home.join(".config"),
        Os::Mac => place.home.join("Library/Application Support"),
        Os::Windows => place.local(),
    })
}

/// The folders that lazygit searches after that.
fn shared(place: &Place) -> Vec<PathBuf> {
    if let Some(list) = &place.lazygit.shared {
        return std::env::split_paths(list).filter(|folder| folder.is_absolute()).collect();
    }
    match place.os {
        Os::Linux => vec!["/etc/xdg".into()],
        Os::Mac => vec![
            place.home.join("Library/Preferences"),
            "/Library/Application Support".into(),
            "/Library/Preferences".into(),
            place.home.join(".config"),
        ],
        Os::Windows => vec![place.roaming()],
    }
}
