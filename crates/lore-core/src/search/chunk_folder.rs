//! A folder of chunk files, opened so that only regular files in it are read: no link is followed, no device waited for.

use std::path::Path;

use lore_model::{Code, Failure};

use super::chunk_files::ChunksPlace;

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

/// An open folder.
pub(super) struct Folder(system::Handle);

impl Folder {
    /// Opens the folder. One that has to lie in a project is looked for there again each time: it may have been replaced.
    pub(super) fn open(place: &ChunksPlace) -> Result<Self, Failure> {
        let folder = &place.folder;
        let unread = |error: std::io::Error| {
            Failure::new(Code::InvalidConfig, format!("{} cannot be read: {error}", folder.display()))
        };
        let Some(within) = &place.within else { return Ok(Self(system::Handle::open(folder).map_err(unread)?)) };
        let real = |path: &Path| path.canonicalize().map_err(unread);
        let (within, real) = (real(within)?, real(folder)?);
        let Ok(below) = real.strip_prefix(&within) else {
            let message = format!("the chunks directory lies outside the project: {}", folder.display());
            return Err(Failure::new(Code::InvalidConfig, message)
                .hint("name it with `lore serve --chunks-dir DIR` or in CORTEX_CHUNKS_DIR if you trust it"));
        };
        // Name by name, so that a link that takes the place of a folder now is not followed.
        let mut handle = system::Handle::open(&within).map_err(unread)?;
        for name in below.components() {
            handle = handle.folder(name.as_os_str()).map_err(unread)?;
        }
        Ok(Self(handle))
    }

    /// The bytes of a regular file in the folder, or why there are none.
    pub(super) fn read(&self, name: &str, max: u64) -> Result<Vec<u8>, String> {
        use std::io::Read as _;
        let file = self.0.file(name).map_err(|error| error.to_string())?;
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let too_large = || format!("it is over {} MiB", max >> 20);
        if metadata.len() > max {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        file.take(max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() as u64 > max { Err(too_large()) } else { Ok(bytes) }
    }
}

#[cfg(unix)]
mod unix {
    use std::{ffi::OsStr, fs::File, io, os::fd::OwnedFd, path::Path};

    use rustix::fs::{CWD, Mode, OFlags, openat};

    pub(super) struct Handle(OwnedFd);

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    impl Handle {
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
        }

        pub(super) fn folder(&self, name: &OsStr) -> io::Result<Self> {
            Ok(Self(openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
        }

        pub(super) fn file(&self, name: &str) -> io::Result<File> {
            // Without blocking: the name may be that of a pipe.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            match openat(&self.0, name, flags, Mode::empty()) {
                Ok(file) => Ok(File::from(file)),
                Err(rustix::io::Errno::LOOP) => Err(io::Error::other("it is a symbolic link")),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Where a folder cannot be opened as a handle, links are looked for before a name is opened.
#[cfg(not(unix))]
mod portable {
    use std::{
        ffi::OsStr,
        fs::{self, File},
        io,
        path::{Path, PathBuf},
    };

    pub(super) struct Handle(PathBuf);

    impl Handle {
        pub(super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
        }

        pub(super) fn folder(&self, name: &OsStr) -> io::Result<Self> {
            let path = self.0.join(name);
            if fs::symlink_metadata(&path)?.is_dir() {
                Ok(Self(path))
            } else {
                Err(io::Error::other("it is no folder"))
            }
        }

        pub(super) fn file(&self, name: &str) -> io::Result<File> {
            let path = self.0.join(name);
            if fs::symlink_metadata(&path)?.is_file() {
                File::open(path)
            } else {
                Err(io::Error::other("it is not a regular file"))
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_devices_and_pipes_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (project, outside) = (dir.path().join("project"), dir.path().join("outside"));
        fs::create_dir_all(project.join("chunks")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        fs::write(project.join("chunks/a"), "a").unwrap();
        symlink(outside.join("secret"), project.join("chunks/link")).unwrap();
        symlink("/dev/zero", project.join("chunks/endless")).unwrap();
        fs::create_dir(project.join("chunks/folder")).unwrap();
        let place = |folder: &str| ChunksPlace { folder: project.join(folder), within: Some(project.clone()) };
        let folder = Folder::open(&place("chunks")).unwrap();
        assert_eq!(folder.read("a", 10), Ok(b"a".to_vec()));
        for (name, said) in [("link", "symbolic link"), ("endless", "symbolic link"), ("folder", "regular file")] {
            let why = folder.read(name, 10).unwrap_err();
            assert!(why.contains(said), "{name}: {why}");
        }
        assert!(folder.read("a", 0).unwrap_err().contains("over"));
        let devices = Folder::open(&ChunksPlace { folder: "/dev".into(), within: None }).unwrap();
        assert!(devices.read("zero", 10).unwrap_err().contains("regular file"));
        // A folder that is replaced by a link to elsewhere.
        fs::rename(project.join("chunks"), project.join("before")).unwrap();
        symlink(&outside, project.join("chunks")).unwrap();
        assert!(Folder::open(&place("chunks")).is_err_and(|failure| failure.message.contains("outside the project")));
        symlink(project.join("before"), project.join("inside")).unwrap();
        assert!(Folder::open(&place("inside")).is_ok(), "a link to a folder of the project is fine");
    }
}
