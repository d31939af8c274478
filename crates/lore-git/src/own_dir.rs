//! The empty bare directory in which git runs for a repository: it borrows the repository's objects and nothing else.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{Git, GitError, Repository, Result};

/// Says which kind of objects the directory is for, and what git wrote into it: a power cut may leave names without bytes.
const MARKER: &str = "lore-format";

/// What git needs to take the directory for a repository.
const FILES: [&str; 2] = ["HEAD", "config"];
const FOLDERS: [&str; 2] = ["objects/info", "refs"];

/// Makes the directory what it must be for this repository now.
pub(crate) fn prepare(git: &Git, own: &Path, repository: &Repository) -> Result<()> {
    let alternates = own.join("objects/info/alternates");
    let wanted = alternates_line(&repository.objects_dir());
    let format = repository.object_format();
    if !is_made(own, format) {
        make(git, own, format)?;
    }
    replace(&alternates, &wanted)?;
    copy_shallow(&repository.shallow_file(), &own.join("shallow"))
}

/// Makes the directory anew, beside its place and then into it: another process may do the same at this moment.
fn make(git: &Git, own: &Path, format: &str) -> Result<()> {
    let made = beside(own);
    let done = make_at(git, &made, format).and_then(|()| put(&made, own, format));
    remove(&made)?;
    done
}

fn make_at(git: &Git, made: &Path, format: &str) -> Result<()> {
    remove(made)?;
    fs::create_dir_all(made).map_err(GitError::io(made))?;
    git.bare()
        .subcommand("init")
        .args(["--quiet", "--bare", "--template="])
        .arg(format!("--object-format={format}"))
        .arg("--")
        .arg(made)
        .run()?;
    fs::create_dir_all(made.join("objects/info")).map_err(GitError::io(made))?;
    let marker = made.join(MARKER);
    let content = marker_of(made, format).map_err(GitError::io(made))?;
    fs::write(&marker, content).map_err(GitError::io(&marker))
}

/// Puts what was made in its place, unless somebody else was quicker.
fn put(made: &Path, own: &Path, format: &str) -> Result<()> {
    if fs::rename(made, own).is_ok() || is_made(own, format) {
        return Ok(());
    }
    remove(own)?;
    match fs::rename(made, own) {
        Err(error) if !is_made(own, format) => Err(GitError::Io { path: own.to_owned(), source: error }),
        _ => Ok(()),
    }
}

/// Whether the directory is there, whole, and for this kind of objects.
fn is_made(own: &Path, format: &str) -> bool {
    let found = fs::read(own.join(MARKER));
    FOLDERS.iter().all(|folder| own.join(folder).is_dir())
        && found.is_ok_and(|found| marker_of(own, format).is_ok_and(|wanted| found == wanted))
}

/// What the marker has to say about a directory as it is.
fn marker_of(own: &Path, format: &str) -> io::Result<Vec<u8>> {
    let mut content = format.as_bytes().to_vec();
    for file in FILES {
        content.push(b'\n');
        content.extend(fs::read(own.join(file))?);
    }
    Ok(content)
}

/// Removes the directory, if it is there.
pub(crate) fn remove(own: &Path) -> Result<()> {
    match fs::remove_dir_all(own) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::Io { path: own.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Gives a file this content, unless it has it, in one step: git may be reading it for somebody else.
fn replace(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    let written = beside(path);
    let put = fs::write(&written, content).and_then(|()| fs::rename(&written, path));
    put.map_err(|error| {
        drop(fs::remove_file(&written));
        GitError::Io { path: path.to_owned(), source: error }
    })
}

/// A name beside this one that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("new-{}-{number}", std::process::id()))
}

fn copy_shallow(from: &Path, to: &Path) -> Result<()> {
    match fs::read(from) {
        Ok(boundary) => replace(to, &boundary),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::Io { path: from.to_owned(), source: error })
        }
        Err(_) => match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GitError::Io { path: to.to_owned(), source: error })
            }
            _ => Ok(()),
        },
    }
}

/// One line of `objects/info/alternates`: quoted where the path could be taken for something else.
fn alternates_line(objects: &Path) -> Vec<u8> {
    let path = objects.as_os_str().as_encoded_bytes();
    let mut line = Vec::with_capacity(path.len() + 3);
    if path.iter().any(|byte| matches!(byte, b'\n' | b'"' | b'\\')) {
        line.push(b'"');
        for byte in path {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                other => line.push(*other),
            }
        }
        line.push(b'"');
    } else {
        line.extend_from_slice(path);
    }
    line.push(b'\n');
    line
}

/// Where the directory of a repository lies below a common root.
pub(crate) fn place(root: &Path, key: &str) -> PathBuf {
    root.join(format!("{key}.git"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_in_one_step_and_left_alone_where_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("shallow"), dir.path().join("copy"));
        let names = || {
            let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        fs::write(&from, "one").unwrap();
        copy_shallow(&from, &to).unwrap();
        // Whoever has it open goes on reading what it was.
        let open = fs::File::open(&to).unwrap();
        fs::write(&from, "another").unwrap();
        copy_shallow(&from, &to).unwrap();
        assert_eq!(io::read_to_string(open).unwrap(), "one");
        assert_eq!(fs::read(&to).unwrap(), b"another");
        assert_eq!(names(), ["copy", "shallow"]);
        fs::remove_file(&from).unwrap();
        copy_shallow(&from, &to).unwrap();
        assert!(names().is_empty());
        // What cannot be read is not taken for nothing.
        fs::create_dir(&from).unwrap();
        assert!(copy_shallow(&from, &to).is_err());
    }
}
