//! Files below a folder, reached from an open handle name by name: no link is followed, so nothing outside is ever opened.

use std::{io, path::Path};

#[cfg(not(unix))]
pub(crate) use portable::Folder;
#[cfg(unix)]
pub(crate) use unix::Folder;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
    Other,
}

/// What the file system says of a file; a content that changes changes this as well, but for very quick changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    pub(crate) executable: bool,
    pub(crate) size: u64,
    /// Seconds and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// When anything about the file changed; `(0, 0)` where the system does not keep it.
    pub(crate) changed: (i64, u32),
    /// 0 where the system has none.
    pub(crate) inode: u64,
}

/// What reading a file gave.
#[derive(Debug)]
pub(crate) enum Content {
    /// Its bytes are in the buffer; so the file was before and after.
    Read { before: Stat, after: Stat },
    /// It has so many bytes.
    TooLarge(u64),
    /// It is something else by now.
    NotAFile,
}

impl Folder {
    /// Opens the folder that a path below `root` lies in; gives it with the last name of the path.
    pub(crate) fn open_above<'p>(root: &Path, path: &'p [u8]) -> io::Result<(Self, &'p [u8])> {
        let (mut folder, mut rest) = (Self::open(root)?, path);
        while let Some(at) = memchr::memchr(b'/', rest) {
            folder = folder.folder(&rest[..at])?;
            rest = &rest[at + 1..];
        }
        Ok((folder, rest))
    }
}

#[cfg(unix)]
mod unix {
    use std::{
        ffi::OsStr,
        fs::File,
        io::{self, Read as _},
        os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
        path::Path,
    };

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};

    use super::{Content, Kind, Stat};

    /// An open folder.
    pub(crate) struct Folder(OwnedFd);

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    impl Folder {
        /// Opens a folder by its place.
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(openat(rustix::fs::CWD, path, FOLDER, Mode::empty())?))
        }

        /// Opens a folder in this one.
        pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Self> {
            Ok(Self(openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
        }

        /// The names in the folder, in no order. It can be asked once.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        pub(crate) fn list(&self) -> io::Result<Vec<(Box<[u8]>, Kind)>> {
            // Very many folders are listed in a row: no memory is asked for each time.
            let mut buffer = [std::mem::MaybeUninit::<u8>::uninit(); 8 << 10];
            let mut entries = rustix::fs::RawDir::new(&self.0, &mut buffer);
            let mut names = Vec::new();
            while let Some(entry) = entries.next() {
                let entry = entry?;
                self.add(&mut names, entry.file_name().to_bytes(), entry.file_type());
            }
            Ok(names)
        }

        /// The names in the folder, in no order. It can be asked once.
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        pub(crate) fn list(&self) -> io::Result<Vec<(Box<[u8]>, Kind)>> {
            let mut names = Vec::new();
            for entry in rustix::fs::Dir::new(self.0.try_clone()?)? {
                let entry = entry?;
                self.add(&mut names, entry.file_name().to_bytes(), entry.file_type());
            }
            Ok(names)
        }

        fn add(&self, names: &mut Vec<(Box<[u8]>, Kind)>, name: &[u8], told: FileType) {
            if matches!(name, b"." | b"..") {
                return;
            }
            let kind = match told {
                FileType::Unknown => self.stat(name).map(|stat| stat.kind),
                known => Ok(kind(known)),
            };
            // What is gone by now is not in the folder.
            names.extend(kind.ok().map(|kind| (Box::from(name), kind)));
        }

        /// What the file system says of a name in the folder.
        pub(crate) fn stat(&self, name: &[u8]) -> io::Result<Stat> {
            Ok(convert(&statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
        }

        /// Reads a regular file in the folder.
        pub(crate) fn read(&self, name: &[u8], max: u64, buffer: &mut Vec<u8>) -> io::Result<Content> {
            buffer.clear();
            // Without blocking: by now the name may be that of a pipe.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            let mut file = match openat(&self.0, name, flags, Mode::empty()) {
                Ok(file) => File::from(file),
                Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Ok(Content::NotAFile),
                Err(error) => return Err(error.into()),
            };
            let before = convert(&fstat(&file)?);
            if before.kind != Kind::File {
                return Ok(Content::NotAFile);
            }
            if before.size > max {
                return Ok(Content::TooLarge(before.size));
            }
            buffer.reserve(usize::try_from(before.size).unwrap_or(0) + 1);
            (&mut file).take(max + 1).read_to_end(buffer)?;
            let after = convert(&fstat(&file)?);
            if buffer.len() as u64 > max {
                return Ok(Content::TooLarge(after.size.max(max + 1)));
            }
            Ok(Content::Read { before, after })
        }

        /// The place that a link in the folder names.
        pub(crate) fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            Ok(readlinkat(&self.0, OsStr::from_bytes(name), Vec::new())?.into_bytes())
        }
    }

    fn kind(kind: FileType) -> Kind {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Other,
        }
    }

    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        clippy::unnecessary_cast,
        reason = "the types of the fields differ between systems"
    )]
    fn convert(stat: &rustix::fs::Stat) -> Stat {
        Stat {
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            executable: stat.st_mode & 0o100 != 0,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            inode: stat.st_ino as u64,
        }
    }
}

/// Where there are no handles of folders, each name is looked at before it is used.
#[cfg(not(unix))]
mod portable {
    use std::{
        fs::{self, File},
        io::{self, Read as _},
        path::{Path, PathBuf},
        time::UNIX_EPOCH,
    };

    use gix::bstr::ByteSlice as _;

    use super::{Content, Kind, Stat};

    /// A folder, by its place.
    pub(crate) struct Folder(PathBuf);

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
        }

        fn place(&self, name: &[u8]) -> io::Result<PathBuf> {
            Ok(self.0.join(name.to_path().map_err(io::Error::other)?))
        }

        pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Self> {
            match self.stat(name)?.kind {
                Kind::Folder => Ok(Self(self.place(name)?)),
                _ => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub(crate) fn list(&self) -> io::Result<Vec<(Box<[u8]>, Kind)>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                // A name that is no Unicode cannot be that of a file that git keeps on such a system.
                if let Some(name) = entry.file_name().to_str() {
                    names.push((Box::from(name.as_bytes()), kind(entry.file_type()?)));
                }
            }
            Ok(names)
        }

        pub(crate) fn stat(&self, name: &[u8]) -> io::Result<Stat> {
            fs::symlink_metadata(self.place(name)?).map(|meta| convert(&meta))
        }

        pub(crate) fn read(&self, name: &[u8], max: u64, buffer: &mut Vec<u8>) -> io::Result<Content> {
            buffer.clear();
            if self.stat(name)?.kind != Kind::File {
                return Ok(Content::NotAFile);
            }
            let mut file = File::open(self.place(name)?)?;
            let before = convert(&file.metadata()?);
            if before.size > max {
                return Ok(Content::TooLarge(before.size));
            }
            (&mut file).take(max + 1).read_to_end(buffer)?;
            let after = convert(&file.metadata()?);
            if buffer.len() as u64 > max {
                return Ok(Content::TooLarge(after.size.max(max + 1)));
            }
            Ok(Content::Read { before, after })
        }

        pub(crate) fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            let target = fs::read_link(self.place(name)?)?;
            Ok(target.to_string_lossy().replace('\\', "/").into_bytes())
        }
    }

    fn kind(kind: fs::FileType) -> Kind {
        if kind.is_symlink() {
            Kind::Symlink
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_file() {
            Kind::File
        } else {
            Kind::Other
        }
    }

    fn convert(meta: &fs::Metadata) -> Stat {
        let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Stat {
            kind: kind(meta.file_type()),
            executable: false,
            size: meta.len(),
            modified: (i64::try_from(modified.as_secs()).unwrap_or(i64::MAX), modified.subsec_nanos()),
            changed: (0, 0),
            inode: 0,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Whoever looked first was told of a file; what it is when it is opened counts.
    #[test]
    fn a_name_that_became_a_link_is_neither_read_nor_entered() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::write(dir.path().join("secret"), "canary").unwrap();
        std::os::unix::fs::symlink("../secret", dir.path().join("in/file")).unwrap();
        std::os::unix::fs::symlink("..", dir.path().join("in/folder")).unwrap();
        let folder = Folder::open(&dir.path().join("in")).unwrap();
        let mut read = Vec::new();
        assert!(matches!(folder.read(b"file", 100, &mut read).unwrap(), Content::NotAFile) && read.is_empty());
        assert!(folder.folder(b"folder").is_err());
    }
}
