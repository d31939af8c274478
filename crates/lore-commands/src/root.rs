//! The folder in which `.agent` lies, and files below it: nothing outside is ever opened, whatever links say.
//!
//! A path is made real first, which must leave it below the folder, and below `.agent` where it is said to lie there.
//! Prompts are fenced in further: no link leads out of their base directory. Then the names of the path are opened one by
//! one from a handle of the folder, and no link is followed any more: a link that takes the place of a name in between is
//! an error, not a way out. Only regular files are read, and only so many bytes of them.

use std::{
    fs,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

/// A folder whose files may be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Root(PathBuf);

/// The names in a folder.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Each with whether it is a folder, in alphabetical order.
    pub(super) names: Vec<(String, bool)>,
    /// Whether there are more than were looked at.
    pub(super) more: bool,
}

/// What the file system says of a file; a content that changes changes this as well, but for very quick changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("File not found")]
    Missing,
    #[error("it leads outside the project")]
    Outside,
    #[error("it leads outside {0}")]
    OutsideBase(String),
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is over {}", size(*.0))]
    TooLarge(u64),
    #[error("it is not UTF-8 (line {0})")]
    NotText(usize),
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

/// A file's text, and what the file was when it was read.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) stamp: Stamp,
}

impl Root {
    /// The folder at this place.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        if real.is_dir() { Ok(Self(real)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether there is anything of that name. What leads outside is not there.
    pub(super) fn has(&self, relative: &str) -> bool {
        self.real(fence(relative), relative).is_ok()
    }

    /// Whether a regular file of that name can be read.
    pub(super) fn has_file(&self, relative: &str) -> bool {
        self.has_file_in(fence(relative), relative)
    }

    /// The same, where it lies in this base directory.
    pub(super) fn has_file_in(&self, base: &str, relative: &str) -> bool {
        self.real(base, relative).is_ok_and(|below| self.0.join(below).is_file())
    }

    /// What the file system says of a file now; nothing where there is none.
    pub(super) fn stamp(&self, relative: &str) -> Option<Stamp> {
        let path = self.0.join(clean(&self.0, relative)?);
        fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
    }

    /// The text of a regular file, of at most so many bytes.
    pub(super) fn read(&self, relative: &str, max: u64) -> Result<Content, Fault> {
        self.read_in(fence(relative), relative, max)
    }

    /// The same, where it lies in this base directory.
    pub(super) fn read_in(&self, base: &str, relative: &str, max: u64) -> Result<Content, Fault> {
        let below = self.real(base, relative)?;
        let file = system::open_file(&self.0, &below)?;
        let before = file.metadata()?;
        if !before.is_file() {
            return Err(Fault::NotAFile);
        }
        let mut bytes = Vec::new();
        if before.len() > max || (&file).take(max + 1).read_to_end(&mut bytes)? as u64 > max {
            return Err(Fault::TooLarge(max));
        }
        // A file that changes while it is read is read again the next time.
        let stamp = Stamp::of(&before);
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            Fault::NotText(error.as_bytes()[..valid].split(|byte| *byte == b'\n').count())
        })?;
        Ok(Content { text, stamp })
    }

    /// The names in a folder, of which at most so many are looked at; none where it cannot be read.
    pub(super) fn list(&self, relative: &str, max: usize) -> Vec<(String, bool)> {
        self.list_in(fence(relative), relative, max).map(|listed| listed.names).unwrap_or_default()
    }

    /// The names in a folder of this base directory, of which at most so many are looked at.
    pub(super) fn list_in(&self, base: &str, relative: &str, max: usize) -> Result<Names, Fault> {
        let below = self.real(base, relative)?;
        let mut listed = Names::default();
        for (at, entry) in fs::read_dir(self.0.join(below))?.enumerate() {
            if at >= max {
                listed.more = true;
                break;
            }
            let entry = entry?;
            let (Ok(name), kind) = (entry.file_name().into_string(), entry.file_type()?) else { continue };
            // A link is what it leads to, as long as that lies here.
            let is_folder = if kind.is_symlink() {
                self.real(base, &join(relative, &name)).is_ok_and(|below| self.0.join(below).is_dir())
            } else {
                kind.is_dir()
            };
            listed.names.push((name, is_folder));
        }
        listed.names.sort();
        Ok(listed)
    }

    /// The place of a path below the folder, without any link in it; it lies in this base directory, which lies behind its
    /// own fence.
    fn real(&self, base: &str, relative: &str) -> Result<PathBuf, Fault> {
        let path = self.canonical(relative)?;
        let base_path = self.canonical(base)?;
        let fence_path = self.canonical(fence(base))?;
        let below = path.strip_prefix(&self.0).map_err(|_| Fault::Outside)?;
        if !base_path.starts_with(&fence_path) || has_git(below) {
            return Err(Fault::Outside);
        }
        if !path.starts_with(&base_path) {
            return Err(if base.is_empty() { Fault::Outside } else { Fault::OutsideBase(base.to_owned()) });
        }
        Ok(below.to_owned())
    }

    fn canonical(&self, relative: &str) -> Result<PathBuf, Fault> {
        let path = self.0.join(clean(&self.0, relative).ok_or(Fault::Outside)?);
        path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::Missing,
            _ => Fault::Io(error),
        })
    }

    /// Where a file may be written: below the folder, also where parts of the path do not exist yet.
    pub(super) fn place_for(&self, relative: &str) -> Result<PathBuf, Fault> {
        let below = clean(&self.0, relative).ok_or(Fault::Outside)?;
        let mut existing = self.0.join(&below);
        let mut missing = Vec::new();
        // A link that leads nowhere is there as well: writing would follow it.
        while fs::symlink_metadata(&existing).is_err() {
            let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                return Err(Fault::Outside);
            };
            missing.push(name.to_owned());
            existing = parent.to_owned();
        }
        let real = existing.canonicalize()?;
        let place = missing.into_iter().rev().fold(real, |path, name| path.join(name));
        // Where the fence is not there yet, nothing can lead out of it.
        let fence = self.canonical(fence(relative)).unwrap_or_else(|_| self.0.clone());
        match place.strip_prefix(&self.0) {
            Ok(inside) if !has_git(inside) && place.starts_with(&fence) => Ok(place),
            _ => Err(Fault::Outside),
        }
    }
}

/// The folder that a path must not leave by a link: `.agent` where it lies there, else the whole project.
fn fence(relative: &str) -> &'static str {
    let first = Path::new(relative).components().find(|part| *part != Component::CurDir);
    let is_agent = first.is_some_and(|first| first.as_os_str().eq_ignore_ascii_case(".agent"));
    if is_agent { ".agent" } else { "" }
}

/// What git keeps is nobody's prompt.
fn has_git(below: &Path) -> bool {
    below.components().any(|name| name.as_os_str().eq_ignore_ascii_case(".git"))
}

impl Stamp {
    /// Whether a file that is read now could change again without its times telling: some systems keep whole seconds.
    pub(super) fn is_young(&self) -> bool {
        #[expect(
            clippy::disallowed_methods,
            reason = "compared with the times of files, which come from the same clock"
        )]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        self.modified.0.max(self.changed.0) >= seconds - 2
    }

    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &fs::Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = modified.unwrap_or_default();
        let seconds = i64::try_from(modified.as_secs()).unwrap_or(i64::MAX);
        Self {
            size: metadata.len(),
            modified: (seconds, i64::from(modified.subsec_nanos())),
            changed: (0, 0),
            inode: 0,
        }
    }
}

/// A path of our own making, with slashes on every system.
pub(super) fn join(folder: &str, name: &str) -> String {
    match folder.trim_end_matches('/') {
        "" | "." => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// The path below the folder that a text names, as long as the text itself does not lead outside.
pub(super) fn clean(root: &Path, relative: &str) -> Option<PathBuf> {
    if relative.contains('\0') {
        return None;
    }
    let path = Path::new(relative);
    // An absolute path that names a place below the folder is as good.
    let path = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let mut below = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => below.push(name),
            Component::CurDir => {}
            Component::ParentDir if below.pop() => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    Some(below)
}

#[cfg(unix)]
mod system {
    use std::{fs::File, io, path::Path};

    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::Fault;

    /// Opens a file by the names that lead to it, following no link.
    pub(super) fn open_file(root: &Path, below: &Path) -> Result<File, Fault> {
        const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
        let open = |result: rustix::io::Result<_>| result.map_err(|error| Fault::Io(io::Error::from(error)));
        let mut folder = open(openat(CWD, root, FOLDER, Mode::empty()))?;
        for name in below.parent().into_iter().flat_map(Path::components) {
            folder = open(openat(&folder, name.as_os_str(), FOLDER | OFlags::NOFOLLOW, Mode::empty()))?;
        }
        let name = below.file_name().ok_or(Fault::NotAFile)?;
        // Without blocking: by now the name may be that of a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        match openat(&folder, name, flags, Mode::empty()) {
            Ok(file) => Ok(File::from(file)),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => Err(Fault::NotAFile),
            Err(rustix::io::Errno::NOENT) => Err(Fault::Missing),
            Err(error) => Err(Fault::Io(error.into())),
        }
    }
}

/// Where there are no handles of folders, the real path is opened as it is.
#[cfg(not(unix))]
mod system {
    use std::{fs::File, path::Path};

    use super::Fault;

    pub(super) fn open_file(root: &Path, below: &Path) -> Result<File, Fault> {
        let path = root.join(below);
        if path.is_file() { Ok(File::open(path)?) } else { Err(Fault::NotAFile) }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn check(root: &Root, relative: &str) -> String {
        root.read(relative, 10).map_or_else(|fault| fault.to_string(), |content| content.text)
    }

    #[test]
    fn only_regular_files_below_the_folder_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (project, outside) = (dir.path().join("project"), dir.path().join("project-evil"));
        fs::create_dir_all(project.join("a/.git")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        fs::write(project.join("a/text"), "text").unwrap();
        fs::write(project.join("a/.git/config"), "config").unwrap();
        fs::write(project.join("long"), "12345678901").unwrap();
        fs::write(project.join("bytes"), b"a\n\xff").unwrap();
        symlink(outside.join("secret"), project.join("link")).unwrap();
        symlink(&outside, project.join("folder")).unwrap();
        symlink("a/text", project.join("inside")).unwrap();
        symlink("/dev/zero", project.join("endless")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, project.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let root = Root::open(&project).unwrap();
        for (path, expected) in [
            ("a/text", "text"),
            ("./a//text", "text"),
            ("inside", "text"),
            ("none", "File not found"),
            ("a/text/x", "File not found"),
            ("a", "it is not a regular file"),
            ("pipe", "it is not a regular file"),
            ("long", "it is over 10 bytes"),
            ("bytes", "it is not UTF-8 (line 2)"),
            ("link", "it leads outside the project"),
            ("folder/secret", "it leads outside the project"),
            ("endless", "it leads outside the project"),
            ("../project-evil/secret", "it leads outside the project"),
            ("a/../../project-evil/secret", "it leads outside the project"),
            ("/etc/hosts", "it leads outside the project"),
            ("a\0b", "it leads outside the project"),
            ("a/.git/config", "it leads outside the project"),
        ] {
            assert_eq!(check(&root, path), expected, "{path}");
        }
        let absolute = root.path().join("a/text");
        assert_eq!(check(&root, absolute.to_str().unwrap()), "text");
        assert!(root.place_for("new/file").is_ok() && root.place_for("folder/file").is_err());
        symlink(outside.join("not-yet"), project.join("dangling")).unwrap();
        assert!(root.place_for("dangling").is_err() && root.place_for("../x").is_err());
        assert!(root.place_for(".git/hooks/x").is_err() && root.place_for("new/.GIT/x").is_err());
    }

    #[test]
    fn a_link_leads_neither_out_of_the_base_directory_nor_out_of_the_agents_folder() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path();
        for folder in [".agent/climpt/prompts", "elsewhere"] {
            fs::create_dir_all(project.join(folder)).unwrap();
        }
        fs::write(project.join(".env"), "SECRET=1").unwrap();
        fs::write(project.join("elsewhere/f.md"), "SECRET=2").unwrap();
        fs::write(project.join(".agent/climpt/beside"), "beside").unwrap();
        fs::write(project.join(".agent/climpt/prompts/plain"), "plain").unwrap();
        for (target, link) in [
            ("../../../.env", ".agent/climpt/prompts/env"),
            ("../../../elsewhere", ".agent/climpt/prompts/folder"),
            ("../beside", ".agent/climpt/prompts/beside"),
            ("plain", ".agent/climpt/prompts/inside"),
            ("../../.env", ".agent/climpt/registry.json"),
            ("../../elsewhere", ".agent/climpt/base"),
        ] {
            symlink(target, project.join(link)).unwrap();
        }
        let root = Root::open(project).unwrap();
        let base = ".agent/climpt/prompts";
        let read = |base: &str, path: &str| {
            root.read_in(base, path, 100).map_or_else(|fault| fault.to_string(), |content| content.text)
        };
        for (path, expected) in [
            ("plain", "plain"),
            ("inside", "plain"),
            ("env", "it leads outside .agent/climpt/prompts"),
            ("folder/f.md", "it leads outside .agent/climpt/prompts"),
            ("beside", "it leads outside .agent/climpt/prompts"),
        ] {
            assert_eq!(read(base, &join(base, path)), expected, "{path}");
        }
        assert_eq!(read(".agent/climpt/base", ".agent/climpt/base/f.md"), "it leads outside the project");
        assert_eq!(read("elsewhere", "elsewhere/f.md"), "SECRET=2", "a configuration may name any folder");
        assert_eq!(root.read(".agent/climpt/registry.json", 100).unwrap_err().to_string(), "it leads outside .agent");
        assert!(root.place_for(".agent/climpt/base/new").is_err());
        let listed = root.list_in(base, base, 100).unwrap();
        assert!(listed.names.iter().all(|(_, is_folder)| !is_folder), "{listed:?}");
    }
}
