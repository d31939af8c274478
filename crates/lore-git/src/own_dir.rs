//! The empty bare directory in which git runs for a repository: it borrows the repository's objects and nothing else.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Git, GitError, Repository, Result};

/// Makes the directory what it must be for this repository now, and returns it.
pub(crate) fn prepare(git: &Git, own: &Path, repository: &Repository) -> Result<()> {
    let alternates = own.join("objects/info/alternates");
    let marker = own.join("lore-format");
    let wanted = alternates_line(&repository.objects_dir());
    let format = repository.object_format();
    if fs::read_to_string(&marker).ok().as_deref() != Some(format) {
        remove(own)?;
        fs::create_dir_all(own).map_err(GitError::io(own))?;
        git.bare()
            .subcommand("init")
            .args(["--quiet", "--bare", "--template="])
            .arg(format!("--object-format={format}"))
            .arg("--")
            .arg(own)
            .run()?;
        fs::create_dir_all(own.join("objects/info")).map_err(GitError::io(own))?;
        // Written last: a directory without it is made anew.
        fs::write(&marker, format).map_err(GitError::io(&marker))?;
    }
    if fs::read(&alternates).ok().as_deref() != Some(&wanted) {
        fs::write(&alternates, &wanted).map_err(GitError::io(&alternates))?;
    }
    copy_shallow(&repository.shallow_file(), &own.join("shallow"))
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

fn copy_shallow(from: &Path, to: &Path) -> Result<()> {
    match fs::read(from) {
        Ok(boundary) => fs::write(to, boundary).map_err(GitError::io(to)),
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
