//! Where a work tree holds its repository under another name than `.git`.

use std::{fs, path::Path};

/// A file that names a git directory is shorter.
const MAX_NAME: u64 = 4096;

/// The folders of a work tree, as paths in it, that hold the repository itself although they are not called `.git`: what
/// `git init --separate-git-dir` makes of a folder inside. They are never looked into, whoever names them.
pub(crate) fn own_folders(root: &Path) -> Vec<Vec<u8>> {
    let named = |file: &Path, prefix: &str| {
        let is_short = fs::symlink_metadata(file).is_ok_and(|about| about.is_file() && about.len() <= MAX_NAME);
        let text = is_short.then(|| fs::read_to_string(file).ok()).flatten()?;
        Some(text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']).to_owned())
    };
    let Some(git_dir) = named(&root.join(".git"), "gitdir: ") else { return Vec::new() };
    let (Ok(root), Ok(git_dir)) = (root.canonicalize(), root.join(git_dir).canonicalize()) else { return Vec::new() };
    let common = named(&git_dir.join("commondir"), "").and_then(|common| git_dir.join(common).canonicalize().ok());
    let inside = |folder: &Path| {
        let path = folder.strip_prefix(&root).ok()?;
        let names: Vec<&[u8]> = path.components().map(|name| name.as_os_str().as_encoded_bytes()).collect();
        Some(names.join(&b'/')).filter(|path| !path.is_empty())
    };
    [Some(git_dir), common].into_iter().flatten().filter_map(|folder| inside(&folder)).collect()
}

/// Whether a path of a work tree leads into one of these folders.
pub(crate) fn leads_into(folders: &[Vec<u8>], path: &[u8]) -> bool {
    folders.iter().any(|folder| {
        path.strip_prefix(folder.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}
