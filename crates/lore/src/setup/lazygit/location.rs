//! Where lazygit keeps its configuration: the same places in the same order as lazygit looks.

use std::path::{Path, PathBuf};

use super::super::hosts::{Os, Place};

/// What the environment says of lazygit's configuration; the caller reads it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    /// `$LG_CONFIG_FILE`: one file or several, with commas between.
    pub(crate) files: Option<PathBuf>,
    /// `$CONFIG_DIR`.
    pub(crate) folder: Option<PathBuf>,
    /// `$XDG_CONFIG_DIRS`.
    pub(crate) shared: Option<PathBuf>,
}

/// The file that lazygit reads, or would make.
pub(super) fn file(place: &Place) -> PathBuf {
    if let Some(files) = &place.lazygit.files {
        // The first is the user's own; what follows are themes and the like.
        return files.to_str().and_then(|files| files.split(',').next()).map_or_else(|| files.clone(), PathBuf::from);
    }
    if let Some(folder) = &place.lazygit.folder {
        return folder.join("config.yml");
    }
    let candidates = candidates(place);
    let found = candidates.iter().find(|file| file.exists());
    found.cloned().unwrap_or_else(|| own(place).join("lazygit").join("config.yml"))
}

/// Another file of the user that lazygit passes over because of this one.
pub(super) fn passed_over(place: &Place, file: &Path) -> Option<PathBuf> {
    candidates(place).into_iter().find(|other| other != file && other.starts_with(&place.home) && other.exists())
}

/// The places without any variable of lazygit's own: the old name of its folder comes first.
fn candidates(place: &Place) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = std::iter::once(own(place)).chain(shared(place)).collect();
    let names = ["jesseduffield/lazygit/config.yml", "lazygit/config.yml"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).collect()
}

/// The user's folder of configurations.
fn own(place: &Place) -> PathBuf {
    let given = place.config_home.clone().filter(|folder| folder.is_absolute());
    given.unwrap_or_else(|| match place.os {
        Os::Linux => place.home.join(".config"),
        Os::Mac => place.home.join("Library").join("Application Support"),
        Os::Windows => place.local(),
    })
}

/// The folders of configurations that are looked through after that.
fn shared(place: &Place) -> Vec<PathBuf> {
    if let Some(list) = &place.lazygit.shared {
        return std::env::split_paths(list).filter(|folder| folder.is_absolute()).collect();
    }
    match place.os {
        Os::Linux => vec![PathBuf::from("/etc/xdg")],
        Os::Mac => vec![
            place.home.join("Library").join("Preferences"),
            PathBuf::from("/Library/Application Support"),
            PathBuf::from("/Library/Preferences"),
            place.home.join(".config"),
        ],
        Os::Windows => vec![place.roaming()],
    }
}
