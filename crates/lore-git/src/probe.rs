//! Notices that refs have moved without reading them: a few `stat` calls instead of opening the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::Repository;

/// The places where a repository keeps its refs.
#[derive(Debug, Clone)]
pub struct RefProbe {
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// What HEAD points to, wherever that is.
    head: Option<PathBuf>,
}

/// With more loose refs than this, reading them is left to git's own ways.
const MAX_ENTRIES: usize = 8192;

impl RefProbe {
    /// A probe of this repository.
    pub fn new(repository: &Repository) -> Self {
        let common_dir = repository.common_dir();
        let head = repository.head_name().map(|name| common_dir.join(name));
        Self { git_dir: repository.git_dir(), common_dir, head }
    }

    /// A number that changes when a branch, HEAD or the shallow boundary does.
    ///
    /// `None` where that cannot be told cheaply: the repository is gone, or has very many loose refs.
    pub fn signature(&self) -> Option<u64> {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        mix(&mut hash, &self.git_dir.join("HEAD"))?;
        for name in ["packed-refs", "shallow", "refs/remotes/origin/HEAD"] {
            if mix(&mut hash, &self.common_dir.join(name)).is_none() {
                hash = step(hash, 1);
            }
        }
        if let Some(head) = &self.head {
            mix(&mut hash, head);
        }
        // Seen from a linked work tree, the others do not matter.
        if self.git_dir == self.common_dir {
            for linked in fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten().flatten() {
                mix_linked(&mut hash, &linked.path());
            }
        }
        let mut folders = vec![self.common_dir.join("refs/heads"), self.common_dir.join("refs/remotes/origin")];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                if seen > MAX_ENTRIES {
                    return None;
                }
                mix(&mut hash, &entry.path());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
            }
        }
        Some(hash)
    }
}

/// Mixes in where the HEAD of a linked work tree points and whether its folder is still there: nobody tells git when it is not.
fn mix_linked(hash: &mut u64, git_dir: &Path) {
    mix(hash, &git_dir.join("HEAD"));
    mix(hash, &git_dir.join("locked"));
    let Ok(target) = fs::read(git_dir.join("gitdir")) else { return };
    // `git worktree add --relative-paths` names it as seen from here.
    let Ok(target) = std::str::from_utf8(target.trim_ascii_end()) else { return };
    *hash = step(*hash, u64::from(git_dir.join(target).symlink_metadata().is_ok()));
}

/// Mixes in what a file system says of a file. Git replaces refs by renaming, so the inode changes with every write.
fn mix(hash: &mut u64, path: &Path) -> Option<()> {
    let meta = fs::symlink_metadata(path).ok()?;
    for byte in path.as_os_str().as_encoded_bytes() {
        *hash = step(*hash, u64::from(*byte));
    }
    *hash = step(*hash, meta.len());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        *hash = step(step(*hash, meta.ino()), meta.mtime_nsec().cast_unsigned());
        *hash = step(*hash, meta.mtime().cast_unsigned());
    }
    #[cfg(not(unix))]
    if let Ok(age) = meta.modified().and_then(|time| Ok(time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default()))
    {
        *hash = step(*hash, u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
    }
    Some(())
}

fn step(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(23)
}
