//! Which calls of the system change files, and what they change.

use std::{
    fs::{self, File},
    os::unix::{
        ffi::OsStringExt as _,
        fs::{FileExt as _, MetadataExt as _},
    },
    path::{Component, Path, PathBuf},
};

/// What a call does to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes at this place of an open file.
    Write { file: u64, buffer: u64, length: u64, place: Place },
    /// The system copies from one file into another.
    Copy { file: u64 },
    /// An open file gets this length.
    Truncate { file: u64, length: u64 },
    /// An open file or folder is made durable.
    Sync { file: u64 },
    /// A file is opened that may have to be made.
    Create { folder: i32, path: u64, empties: bool },
    /// A file or folder gets another name.
    Rename { folders: [i32; 2], paths: [u64; 2] },
    /// A name goes.
    Remove { folder: i32, path: u64 },
    /// A folder is made.
    Folder { folder: i32, path: u64 },
    /// A file gets a second name.
    Link { folders: [i32; 2], paths: [u64; 2] },
}

/// Where bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the file stands.
    Here,
    /// At this offset.
    At(u64),
}

/// The folder of a call that names none: the one in which the process runs.
const HERE: i32 = -100;

/// Understands a call by its number and its arguments, as Linux has them on x86-64.
pub(super) fn kind(number: u64, arguments: [u64; 6]) -> Option<(&'static str, Kind)> {
    const CREATE: u64 = 0o100;
    const TRUNCATE: u64 = 0o1000;
    let [a, b, c, d, ..] = arguments;
    // A descriptor is an int, whatever the upper half of the register holds.
    let folder = |value: u64| value.to_le_bytes()[..4].try_into().map_or(HERE, i32::from_le_bytes);
    let create = |at: i32, path: u64, flags: u64| {
        (flags & (CREATE | TRUNCATE) != 0).then_some(Kind::Create { folder: at, path, empties: flags & TRUNCATE != 0 })
    };
    let found = match number {
        1 => ("write", Kind::Write { file: a, buffer: b, length: c, place: Place::Here }),
        18 => ("pwrite64", Kind::Write { file: a, buffer: b, length: c, place: Place::At(d) }),
        // Of these the system is asked afterwards what they wrote.
        20 => ("writev", Kind::Copy { file: a }),
        296 | 328 => ("pwritev", Kind::Copy { file: a }),
        40 => ("sendfile", Kind::Copy { file: a }),
        326 => ("copy_file_range", Kind::Copy { file: c }),
        285 => ("fallocate", Kind::Copy { file: a }),
        74 => ("fsync", Kind::Sync { file: a }),
        75 => ("fdatasync", Kind::Sync { file: a }),
        77 => ("ftruncate", Kind::Truncate { file: a, length: b }),
        2 => ("open", create(HERE, a, b)?),
        257 => ("openat", create(folder(a), b, c)?),
        85 => ("creat", Kind::Create { folder: HERE, path: a, empties: true }),
        82 => ("rename", Kind::Rename { folders: [HERE, HERE], paths: [a, b] }),
        264 | 316 => ("renameat", Kind::Rename { folders: [folder(a), folder(c)], paths: [b, d] }),
        86 => ("link", Kind::Link { folders: [HERE, HERE], paths: [a, b] }),
        265 => ("linkat", Kind::Link { folders: [folder(a), folder(c)], paths: [b, d] }),
        87 => ("unlink", Kind::Remove { folder: HERE, path: a }),
        84 => ("rmdir", Kind::Remove { folder: HERE, path: a }),
        263 => ("unlinkat", Kind::Remove { folder: folder(a), path: b }),
        83 => ("mkdir", Kind::Folder { folder: HERE, path: a }),
        258 => ("mkdirat", Kind::Folder { folder: folder(a), path: b }),
        _ => return None,
    };
    Some(found)
}

/// A process that is looked into while it is stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process(pub(super) i32);

impl Process {
    /// The process that a thread belongs to.
    pub(super) fn group(self) -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
    }

    /// The memory at an address.
    pub(super) fn bytes(self, at: u64, length: u64) -> Option<Vec<u8>> {
        let memory = File::open(format!("/proc/{}/mem", self.0)).ok()?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        memory.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// A path that is written at an address, as seen from a folder.
    pub(super) fn path(self, folder: i32, at: u64) -> Option<PathBuf> {
        let memory = File::open(format!("/proc/{}/mem", self.0)).ok()?;
        let mut bytes = Vec::new();
        let mut piece = [0; 256];
        while !bytes.contains(&0) && bytes.len() < 8192 {
            // The memory may end behind the text.
            let read = memory.read_at(&mut piece, at + bytes.len() as u64).ok().filter(|read| *read > 0)?;
            bytes.extend_from_slice(&piece[..read]);
        }
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
        if path.is_absolute() {
            return Some(plain(&path));
        }
        let base = if folder == HERE { "cwd".to_owned() } else { format!("fd/{folder}") };
        let base = fs::read_link(format!("/proc/{}/{base}", self.0)).ok()?;
        Some(plain(&base.join(path)))
    }

    /// What a descriptor stands for, where that has a path: pipes and sockets have none.
    pub(super) fn open_file(self, descriptor: u64) -> Option<PathBuf> {
        let path = fs::read_link(self.descriptor(descriptor)).ok()?;
        path.is_absolute().then_some(path)
    }

    /// What tells an open file from every other one, whatever it is called.
    pub(super) fn inode(self, descriptor: u64) -> Option<u64> {
        fs::metadata(self.descriptor(descriptor)).ok().map(|meta| meta.ino())
    }

    /// Where an open file stands: the next byte that is written goes there.
    pub(super) fn position(self, descriptor: u64) -> Option<u64> {
        const APPEND: u64 = 0o2000;
        let told = fs::read_to_string(format!("/proc/{}/fdinfo/{descriptor}", self.0)).ok()?;
        let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let flags = u64::from_str_radix(field("flags:")?, 8).ok()?;
        if flags & APPEND != 0 {
            return fs::metadata(self.descriptor(descriptor)).ok().map(|meta| meta.len());
        }
        field("pos:")?.parse().ok()
    }

    /// All that an open file holds now.
    pub(super) fn content(self, descriptor: u64) -> Option<Vec<u8>> {
        fs::read(self.descriptor(descriptor)).ok()
    }

    fn descriptor(self, descriptor: u64) -> String {
        format!("/proc/{}/fd/{descriptor}", self.0)
    }
}

/// The path without `.` and `..`. Nothing that is traced goes through links to folders.
fn plain(path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                made.pop();
            }
            Component::CurDir => {}
            part => made.push(part),
        }
    }
    made
}
