//! What a disk may hold after the power went out, as far as POSIX promises: what was synced is there, and of the rest
//! anything or nothing.
//!
//! Content and names are apart: a file whose bytes were synced has its name only once its folder was synced, and a name may
//! outlast a power cut that took the bytes behind it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::Step;
use crate::Random;

/// Disks write so many bytes whole or not at all.
const SECTOR: usize = 512;

/// What is lost of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All of it.
    Everything,
    /// Bytes; names are as they were last.
    Content,
    /// Names; bytes are as they were last.
    Names,
    /// Some of it, drawn: whole files, sectors, the last changes of a folder.
    Some,
}

impl Loss {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Everything, Self::Content, Self::Names, Self::Some];
}

/// A file: what is durable, and what came after that.
#[derive(Debug, Clone, Default)]
struct File {
    durable: Vec<u8>,
    since: Vec<Change>,
    mode: Option<u32>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
    Whole(Vec<u8>),
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Folder,
    File(usize),
}

/// A change of names that is not durable yet.
#[derive(Debug, Clone)]
enum Naming {
    Add(PathBuf, Entry),
    Remove(PathBuf),
    Move(PathBuf, PathBuf),
}

impl Naming {
    /// The folders that have to be synced for it; one is enough, as a journal takes a change whole.
    fn folders(&self) -> Vec<&Path> {
        let parent = |path: &'static str| Path::new(path);
        match self {
            Self::Add(path, _) | Self::Remove(path) => vec![path.parent().unwrap_or_else(|| parent(""))],
            Self::Move(from, to) => [from, to].map(|path| path.parent().unwrap_or_else(|| parent(""))).to_vec(),
        }
    }
}

type Names = BTreeMap<PathBuf, Entry>;

/// A disk while steps are made on it.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    files: Vec<File>,
    inodes: HashMap<u64, usize>,
    now: Names,
    durable: Names,
    since: Vec<Naming>,
}

impl Disk {
    /// A disk on which everything that a folder holds is durable.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let mut disk = Self {
            files: Vec::new(),
            inodes: HashMap::new(),
            now: Names::new(),
            durable: Names::new(),
            since: Vec::new(),
        };
        disk.take(folder, Path::new(""))?;
        disk.durable = disk.now.clone();
        Ok(disk)
    }

    fn take(&mut self, root: &Path, below: &Path) -> Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let meta = entry.metadata()?;
            if meta.is_dir() {
                self.now.insert(path.clone(), Entry::Folder);
                self.take(root, &path)?;
            } else {
                let durable = fs::read(entry.path()).with_context(|| format!("cannot read {}", path.display()))?;
                self.files.push(File { durable, since: Vec::new(), mode: Some(meta.mode()) });
                self.inodes.insert(meta.ino(), self.files.len() - 1);
                self.now.insert(path, Entry::File(self.files.len() - 1));
            }
        }
        Ok(())
    }

    /// Makes a step.
    pub(crate) fn apply(&mut self, step: &Step) {
        match step {
            Step::Create { path, inode } => {
                self.files.push(File::default());
                self.inodes.insert(*inode, self.files.len() - 1);
                self.name(Naming::Add(path.clone(), Entry::File(self.files.len() - 1)));
            }
            Step::Write { inode, at, bytes } => self.change(*inode, Change::Write(*at, bytes.clone())),
            Step::Content { inode, bytes } => self.change(*inode, Change::Whole(bytes.clone())),
            Step::Truncate { inode, length } => self.change(*inode, Change::Length(*length)),
            Step::SyncFile { inode } => {
                if let Some(file) = self.inodes.get(inode).and_then(|file| self.files.get_mut(*file)) {
                    file.durable = made(&file.durable, &file.since);
                    file.since.clear();
                }
            }
            Step::SyncFolder { path } => {
                let (done, rest): (Vec<Naming>, Vec<Naming>) =
                    std::mem::take(&mut self.since).into_iter().partition(|naming| naming.folders().contains(&&**path));
                for naming in &done {
                    apply(&mut self.durable, naming);
                }
                self.since = rest;
            }
            Step::Rename { from, to } => self.name(Naming::Move(from.clone(), to.clone())),
            Step::Link { from, to } => {
                if let Some(entry) = self.now.get(from).copied() {
                    self.name(Naming::Add(to.clone(), entry));
                }
            }
            Step::Remove { path } => self.name(Naming::Remove(path.clone())),
            Step::Folder { path } => self.name(Naming::Add(path.clone(), Entry::Folder)),
        }
    }

    fn name(&mut self, naming: Naming) {
        apply(&mut self.now, &naming);
        self.since.push(naming);
    }

    fn change(&mut self, inode: u64, change: Change) {
        if let Some(file) = self.inodes.get(&inode).and_then(|file| self.files.get_mut(*file)) {
            file.since.push(change);
        }
    }

    /// Writes what may be there after the power went out into a folder that is empty.
    pub(crate) fn image(&self, folder: &Path, loss: Loss, random: &mut Random) -> Result<()> {
        let names = match loss {
            Loss::Everything | Loss::Names => self.durable.clone(),
            Loss::Content => self.now.clone(),
            Loss::Some => self.some_names(random),
        };
        for (path, entry) in &names {
            let place = folder.join(path);
            // What lies in a folder that is not there is lost with it.
            if place.parent().is_none_or(|parent| !parent.is_dir()) {
                continue;
            }
            match entry {
                Entry::Folder => fs::create_dir(&place)?,
                Entry::File(number) => {
                    let file = &self.files[*number];
                    let content = match loss {
                        Loss::Everything | Loss::Content => file.durable.clone(),
                        Loss::Names => made(&file.durable, &file.since),
                        Loss::Some => file.some(random),
                    };
                    fs::write(&place, content)?;
                    if let Some(mode) = file.mode {
                        fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The durable names and some of the changes since: of each folder the first so many, as a journal has them.
    fn some_names(&self, random: &mut Random) -> Names {
        let mut names = self.durable.clone();
        let mut kept: BTreeMap<&Path, bool> = BTreeMap::new();
        for naming in &self.since {
            let folders = naming.folders();
            let mut is_kept = true;
            for folder in folders {
                let so_far = kept.entry(folder).or_insert(true);
                *so_far &= random.below(3) > 0;
                is_kept &= *so_far;
            }
            if is_kept {
                apply(&mut names, naming);
            }
        }
        names
    }
}

impl File {
    /// The durable bytes and some of those that came after them.
    fn some(&self, random: &mut Random) -> Vec<u8> {
        match random.below(3) {
            0 => return self.durable.clone(),
            1 => return made(&self.durable, &self.since),
            _ => {}
        }
        let mut kept = Vec::new();
        for change in &self.since {
            match change {
                Change::Write(at, bytes) => {
                    for (number, piece) in bytes.chunks(SECTOR).enumerate() {
                        if random.below(2) == 0 {
                            kept.push(Change::Write(at + (number * SECTOR) as u64, piece.to_vec()));
                        }
                    }
                }
                other if random.below(2) == 0 => kept.push(other.clone()),
                _ => {}
            }
        }
        made(&self.durable, &kept)
    }
}

/// The bytes after some changes.
fn made(durable: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = durable.to_vec();
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    for change in changes {
        match change {
            Change::Write(at, new) => {
                let end = number(*at) + new.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[number(*at)..end].copy_from_slice(new);
            }
            Change::Length(length) => bytes.resize(number(*length), 0),
            Change::Whole(new) => bytes.clone_from(new),
        }
    }
    bytes
}

fn apply(names: &mut Names, naming: &Naming) {
    match naming {
        Naming::Add(path, entry) => {
            names.insert(path.clone(), *entry);
        }
        Naming::Remove(path) => names.retain(|name, _| !name.starts_with(path)),
        Naming::Move(from, to) => {
            let moved: BTreeSet<PathBuf> = names.keys().filter(|name| name.starts_with(from)).cloned().collect();
            if moved.is_empty() {
                return;
            }
            names.retain(|name, _| moved.contains(name) || !name.starts_with(to));
            for name in moved {
                let (Some(entry), Ok(below)) = (names.remove(&name), name.strip_prefix(from)) else { continue };
                // Joined with nothing, a path would end in a slash.
                names.insert(if below.as_os_str().is_empty() { to.clone() } else { to.join(below) }, entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(steps: &[Step], loss: Loss) -> BTreeMap<String, String> {
        let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(before.path().join("old"), "old").unwrap();
        let inode = fs::metadata(before.path().join("old")).unwrap().ino();
        let mut disk = Disk::of(before.path()).unwrap();
        for step in steps {
            let mut step = step.clone();
            // Inode 0 is that of the file that was there.
            if let Step::Write { inode: of, .. } | Step::SyncFile { inode: of } = &mut step
                && *of == 0
            {
                *of = inode;
            }
            disk.apply(&step);
        }
        disk.image(after.path(), loss, &mut Random::new(1)).unwrap();
        let entries = fs::read_dir(after.path()).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn only_what_was_synced_outlasts_a_power_cut() {
        let write = |inode, text: &str| Step::Write { inode, at: 0, bytes: text.into() };
        let draft = || PathBuf::from("draft");
        let steps = [
            Step::Create { path: draft(), inode: 7 },
            write(7, "new"),
            Step::Rename { from: draft(), to: "old".into() },
            Step::SyncFolder { path: PathBuf::new() },
        ];
        let held = |content: &str| BTreeMap::from([("old".to_owned(), content.to_owned())]);
        assert_eq!(image(&steps, Loss::Everything), held(""), "the name came before the bytes");
        assert_eq!(image(&steps[..3], Loss::Everything), held("old"), "no folder was synced");
        let mut careful = steps.to_vec();
        careful.insert(2, Step::SyncFile { inode: 7 });
        assert_eq!(image(&careful, Loss::Everything), held("new"));
        assert_eq!(image(&[write(0, "n")], Loss::Everything), held("old"));
        assert_eq!(image(&[write(0, "n")], Loss::Names), held("nld"));
        assert_eq!(image(&[write(0, "n"), Step::SyncFile { inode: 0 }], Loss::Everything), held("nld"));
    }
}
