//! Paths that a caller names: only what can be a file or folder of a repository is taken, on whatever system.
//!
//! Nothing is looked up here. What is taken is still opened name by name without following links.

use gix::{bstr::ByteSlice as _, validate::path::component};
use lore_model::RepoPath;

/// Longer paths are no paths of files on any system.
const MAX_PATH: usize = 4096;

/// Why a text cannot be the path of something in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPath {
    /// It begins at the root of a file system.
    Absolute,
    /// It leads out of a folder with `..`.
    Leaves,
    /// It leads into a git directory, however that is spelled.
    GitDirectory,
    /// It holds a NUL.
    Nul,
    /// It is longer than any path.
    TooLong,
    /// Windows gives it another meaning.
    Reserved,
}

impl BadPath {
    /// What is wrong, in words that follow the path.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Absolute => "is an absolute path, and paths are relative to the root of the repository",
            Self::Leaves => "leads out of a folder with `..`, which is never followed",
            Self::GitDirectory => "leads into a git directory, which is never read",
            Self::Nul => "holds a NUL, which no path does",
            Self::TooLong => "is longer than any path",
            Self::Reserved => "cannot be the path of a file on this system",
        }
    }
}

/// The path that a text names, relative to the root of a repository; an empty one is the root.
///
/// `.` and empty names are dropped. Names are judged as every system would read them: what is harmless here may be a git
/// directory on the disk of another machine, and git itself would check out neither.
pub fn path_inside(text: &str) -> Result<RepoPath, BadPath> {
    if text.contains('\0') {
        return Err(BadPath::Nul);
    }
    if text.len() > MAX_PATH {
        return Err(BadPath::TooLong);
    }
    let has_drive = matches!(text.as_bytes(), [drive, b':', rest @ ..]
        if drive.is_ascii_alphabetic() && matches!(rest.first(), None | Some(b'/' | b'\\')));
    if text.starts_with(['/', '\\']) || has_drive {
        return Err(BadPath::Absolute);
    }
    for name in text.split(['/', '\\']).filter(|name| !matches!(*name, "" | ".")) {
        check_name(name)?;
    }
    // Only where it separates names anyway is a backslash taken for a slash: elsewhere a file may have it in its name.
    let is_separator = |c: char| c == '/' || (cfg!(windows) && c == '\\');
    let names: Vec<&str> = text.split(is_separator).filter(|name| !matches!(*name, "" | ".")).collect();
    Ok(RepoPath::from(names.join("/").as_str()))
}

fn check_name(name: &str) -> Result<(), BadPath> {
    let options = component::Options { protect_windows: cfg!(windows), protect_hfs: true, protect_ntfs: true };
    match gix::validate::path::component(name.as_bytes().as_bstr(), None, options) {
        Ok(_) => Ok(()),
        Err(component::Error::Relative) => Err(BadPath::Leaves),
        Err(component::Error::DotGitDir) => Err(BadPath::GitDirectory),
        Err(_) => Err(BadPath::Reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_files_are_taken_and_tidied() {
        for (text, path) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            ("src/main.rs", "src/main.rs"),
            ("./src//main.rs", "src/main.rs"),
            ("src/", "src"),
            (".github/workflows", ".github/workflows"),
            (".gitignore", ".gitignore"),
            ("a..b/...", "a..b/..."),
            ("-rf", "-rf"),
            ("a\u{202e}b", "a\u{202e}b"),
        ] {
            assert_eq!(path_inside(text), Ok(RepoPath::from(path)), "{text}");
        }
    }

    #[test]
    fn whatever_leads_elsewhere_is_refused() {
        for (text, why) in [
            ("..", BadPath::Leaves),
            ("../x", BadPath::Leaves),
            ("a/../../x", BadPath::Leaves),
            ("a/..", BadPath::Leaves),
            ("..\\x", BadPath::Leaves),
            ("a\\..\\..\\x", BadPath::Leaves),
            ("/etc/passwd", BadPath::Absolute),
            ("//server/share", BadPath::Absolute),
            ("\\\\server\\share", BadPath::Absolute),
            ("C:\\x", BadPath::Absolute),
            ("c:/x", BadPath::Absolute),
            ("C:", BadPath::Absolute),
            ("a\0b", BadPath::Nul),
            (".git", BadPath::GitDirectory),
            (".git/config", BadPath::GitDirectory),
            ("sub/.git/config", BadPath::GitDirectory),
            (".GIT/config", BadPath::GitDirectory),
            (".Git", BadPath::GitDirectory),
            ("./.git", BadPath::GitDirectory),
            ("a\\.git\\config", BadPath::GitDirectory),
            (".git./config", BadPath::GitDirectory),
            (".git /config", BadPath::GitDirectory),
            (".git::$INDEX_ALLOCATION/config", BadPath::GitDirectory),
            ("GIT~1/config", BadPath::GitDirectory),
            (".g\u{200c}it/config", BadPath::GitDirectory),
            (".git\u{200d}", BadPath::GitDirectory),
        ] {
            assert_eq!(path_inside(text), Err(why), "{text:?}");
        }
        assert_eq!(path_inside(&"a/".repeat(3000)), Err(BadPath::TooLong));
        // `..` comes first, or something is refused in any case.
        assert!(path_inside("a/../.git").is_err());
    }
}
