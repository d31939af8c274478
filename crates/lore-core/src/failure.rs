//! Turns the errors of git and storage into failures that say what to do.

use std::path::Path;

use lore_git::GitError;
use lore_model::{Cancelled, Code, Failure};
use lore_store::StoreError;

/// What a fault in reading git means to the user.
pub fn git_failure(error: GitError) -> Failure {
    let message = error.to_string();
    // Git repeats names and texts of the repository, and what the other server says.
    let quotes = matches!(
        error,
        GitError::NoSuchBranch { .. } | GitError::Unreadable { .. } | GitError::Failed { .. } | GitError::Stream(_)
    );
    let failure = match &error {
        GitError::Vanished(_) => Failure::new(Code::NotARepository, message).hint(
            "if it moved, run `lore remove NAME` and `lore add NEW-PATH`; what was indexed stays usable until then",
        ),
        GitError::NotARepository { .. } => Failure::new(Code::NotARepository, message)
            .hint("go into a git repository, or name one: `lore add PATH` takes a folder in it, or a URL to clone"),
        GitError::Unreadable { .. } => {
            Failure::new(Code::NotARepository, message).hint("run `git fsck` there to see what is wrong with it")
        }
        GitError::TreeTooLarge { .. } => Failure::new(Code::NotARepository, message).hint(
            "the code of such a commit is not indexed: index another branch with `lore add PATH --branch BRANCH`",
        ),
        GitError::NoSuchBranch { known, .. } => {
            Failure::new(Code::InvalidArgument, message).hint(format!("its branches are: {known}"))
        }
        GitError::BadUrl { .. } => Failure::new(Code::InvalidArgument, message),
        GitError::NoProgram(_) => {
            Failure::new(Code::GitFailed, message).hint("install git 2.36 or later and make sure that it is in PATH")
        }
        GitError::Refused { setting: "--allow-git", .. } => {
            Failure::new(Code::PermissionDenied, message).hint("use an https or ssh URL")
        }
        GitError::Refused { setting, .. } => Failure::new(Code::PermissionDenied, message)
            .hint(format!("whoever runs this server can allow it with `lore server {setting}`")),
        GitError::TooOld { wanted, .. } => Failure::new(Code::GitFailed, message).hint(format!(
            "install git {wanted} or later: an older one cannot be held to the address that was checked"
        )),
        GitError::TooLarge { .. } => {
            Failure::new(Code::RemoteRefused, message).hint("the repository is larger than this server clones")
        }
        GitError::TooSlow { command, .. } if ["clone", "fetch", "ls-remote"].contains(&command.as_str()) => {
            Failure::new(Code::RemoteRefused, message)
                .hint("the repository is very large or the network very slow: try again later")
        }
        error if error.is_transient() => Failure::new(Code::RemoteUnreachable, message)
            .hint("the network or the other server may be down: try again in a while"),
        GitError::CutOff { .. } => {
            Failure::new(Code::GitFailed, message).hint("run it again: what was read so far is kept")
        }
        GitError::TooMuch { command, .. } if command == "ls-remote" => Failure::new(Code::RemoteRefused, message)
            .hint("the other server names more branches and tags than Lore reads: see what `git ls-remote URL` tells"),
        GitError::TooMuch { .. } => {
            Failure::new(Code::GitFailed, message).hint("it is more than Lore reads: ask git itself about it")
        }
        GitError::Overwhelmed { .. } => Failure::new(Code::GitFailed, message)
            .hint("run it again when more memory is free: what was read so far is kept"),
        GitError::TooSlow { .. } => Failure::new(Code::GitFailed, message)
            .hint("the file is large or has a very long history; ask about the commits of its path instead"),
        GitError::Failed { command, .. } if ["clone", "fetch", "ls-remote"].contains(&command.as_str()) => {
            Failure::new(Code::RemoteRefused, message)
                .hint("check the URL, the network and your credentials: `git ls-remote URL` must work without a prompt")
        }
        GitError::Failed { .. } | GitError::Unresolved { .. } | GitError::Stream(_) => {
            Failure::new(Code::GitFailed, message)
                .hint("run `lore doctor`; if git itself works there, please report this")
        }
        GitError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
            Failure::new(Code::DiskFull, message).hint("free some space and run it again: nothing is lost")
        }
        GitError::Io { .. } => Failure::new(Code::NoAccess, message).hint("check the permissions of that folder"),
        GitError::Cancelled => Failure::from(Cancelled),
    };
    let failure = failure.caused_by(error);
    if quotes { failure.quoting_repository() } else { failure }
}

/// What a fault of storage means to the user.
pub fn store_failure(error: StoreError) -> Failure {
    let message = error.to_string();
    let failure = match &error {
        StoreError::Locked => Failure::new(Code::Busy, message).hint("wait for it to end and try again"),
        StoreError::RepoExists { name, .. } => Failure::new(Code::RepoExists, message).hint(format!(
            "`lore sync --repo {name}` brings it up to date; to register it anew, run `lore remove {name}` first; another \
             repository needs another `--name`"
        )),
        StoreError::Exists(_) | StoreError::Refused(_) => Failure::new(Code::Conflict, message),
        StoreError::Absent(_) => {
            Failure::new(Code::RepoNotFound, message).hint("run `lore repos` to see what is registered")
        }
        StoreError::BadQuery(_) => Failure::new(Code::InvalidArgument, message).hint("use fewer and plainer words"),
        StoreError::TooNew { .. } => {
            Failure::new(Code::IndexTooNew, message)
                .hint("upgrade Lore, restart what still runs of the older one, or set LORE_HOME to another folder")
        }
        StoreError::Damaged { path, .. } => Failure::new(Code::IndexDamaged, message).hint(format!(
            "run `lore reindex`: the index can be rebuilt from git. Where it cannot even tell its repositories, move {} aside and \
             `lore add` them again",
            path.display()
        )),
        StoreError::CodeDamaged { .. } => {
            Failure::new(Code::IndexDamaged, message).hint("run `lore reindex`: it reads the code anew from git")
        }
        StoreError::Interrupted => Failure::new(Code::Busy, message)
            .hint("ask for less at a time: fewer and longer words, fewer repositories, a narrower path"),
        StoreError::Full(_) => {
            Failure::new(Code::DiskFull, message).hint("free some space and run it again: nothing is lost")
        }
        StoreError::NoAccess { .. } => Failure::new(Code::NoAccess, message)
            .hint("check the permissions of that folder and its disk, or set LORE_HOME to another one"),
        StoreError::Backend(_) => Failure::new(Code::Internal, message),
    };
    failure.caused_by(error)
}

/// What a fault in storing what a team has means to the user.
pub fn team_failure(error: StoreError) -> Failure {
    let kept = Kept {
        what: "the team's records",
        elsewhere: "choose another one with `--data DIR`",
        go_on: "Stop the server and put a backup in its place",
    };
    kept_failure(&kept, error)
}

/// Something that is kept in a file of its own and, unlike an index, exists nowhere else.
pub(crate) struct Kept {
    /// What it is, in the plural.
    pub(crate) what: &'static str,
    /// How to keep it elsewhere.
    pub(crate) elsewhere: &'static str,
    /// How to go on where the file is damaged.
    pub(crate) go_on: &'static str,
}

/// What a fault in storing such a thing means to the user.
pub(crate) fn kept_failure(kept: &Kept, error: StoreError) -> Failure {
    let Kept { what, elsewhere, go_on } = kept;
    let failure = match &error {
        StoreError::Damaged { path, what: found } => {
            let path = path.display();
            let hint = format!("nothing was changed; `sqlite3 {path} .recover` may save what it holds. {go_on}");
            Failure::new(Code::IndexDamaged, format!("{what} in {path} are damaged: {found}")).hint(hint)
        }
        StoreError::TooNew { path, found, known } => {
            let (path, versions) = (path.display(), format!("version {found}, this one knows {known}"));
            let message = format!("{what} in {path} were written by a newer Lore ({versions})");
            Failure::new(Code::IndexTooNew, message).hint("upgrade Lore, and restart what still runs of the older one")
        }
        StoreError::NoAccess { path, what: said } => {
            let message = format!("{what} at {} cannot be accessed: {said}", path.display());
            let hint = format!("check the permissions of that folder and its disk, or {elsewhere}");
            Failure::new(Code::NoAccess, message).hint(hint)
        }
        StoreError::Full(path) => {
            let message = format!("no space is left for {what} at {}", path.display());
            Failure::new(Code::DiskFull, message).hint("free some space and try again")
        }
        StoreError::Locked => Failure::new(Code::Busy, format!("other processes keep {what} busy")).hint("try again"),
        StoreError::Absent(it) => Failure::new(Code::RepoNotFound, format!("there is no {it}")),
        StoreError::Backend(said) => Failure::new(Code::Internal, format!("{what} cannot be used: {said}")),
        _ => return store_failure(error),
    };
    failure.caused_by(error)
}

/// A text without the folder of Lore: a clone is called by its name, and anything else by its place in that folder. Users of
/// a team server are told of its repositories, not of its disk.
pub(crate) fn without_home(text: &str, home: &Path) -> String {
    let real = home.canonicalize().ok();
    let mut homes = vec![home.to_string_lossy()];
    homes.extend(real.as_ref().map(|real| real.to_string_lossy()).filter(|real| *real != homes[0]));
    let mut told = text.to_owned();
    for home in homes.iter().map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty()) {
        told = told
            .split(home)
            .enumerate()
            .map(|(index, part)| if index == 0 { part.to_owned() } else { inside(home, part) })
            .collect();
    }
    told
}

/// What stands behind the name of a folder, without it.
fn inside(home: &str, rest: &str) -> String {
    let Some(below) = rest.strip_prefix('/') else {
        // Another folder may begin with the same letters.
        let is_longer = rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_' | '.'));
        return if is_longer { format!("{home}{rest}") } else { format!("the server's folder{rest}") };
    };
    match below.strip_prefix("clones/").and_then(|clone| clone.split_once(".git")) {
        Some((name, behind)) if !name.is_empty() && !name.contains(['/', ' ']) => {
            format!("the clone of `{name}`{behind}")
        }
        _ => below.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_what_exists_nowhere_else_is_none_of_the_index() {
        let kept = Kept { what: "the records", elsewhere: "put them elsewhere", go_on: "Put a backup in its place" };
        let path = || std::path::PathBuf::from("/srv/lore/team.db");
        let said = || "it is torn".to_owned();
        for (error, code, expected) in [
            (StoreError::Locked, Code::Busy, "the records busy"),
            (StoreError::Absent("user 7".to_owned()), Code::RepoNotFound, "there is no user 7"),
            (StoreError::TooNew { path: path(), found: 9, known: 2 }, Code::IndexTooNew, "in /srv/lore/team.db were"),
            (StoreError::Damaged { path: path(), what: said() }, Code::IndexDamaged, "/srv/lore/team.db are damaged"),
            (StoreError::Full(path()), Code::DiskFull, "left for the records at /srv/lore/team.db"),
            (StoreError::NoAccess { path: path(), what: said() }, Code::NoAccess, "accessed: it is torn"),
            (StoreError::Backend(said().into()), Code::Internal, "the records cannot be used: it is torn"),
        ] {
            let failure = kept_failure(&kept, error);
            let told = format!("{}; {}", failure.message, failure.hint.as_deref().unwrap_or_default());
            assert!(failure.code == code && told.contains(expected), "{told}");
            assert!(!told.contains("index"), "{told}");
        }
    }

    #[test]
    fn a_text_is_told_without_the_folder() {
        let home = Path::new("/srv/lore");
        for (text, expected) in [
            ("/srv/lore/clones/big.git does not exist", "the clone of `big` does not exist"),
            ("cannot read HEAD of /srv/lore/clones/a.b.git: no", "cannot read HEAD of the clone of `a.b`: no"),
            ("/srv/lore/code/12.seg is damaged (/srv/lore/x)", "code/12.seg is damaged (x)"),
            ("no /srv/lore/clones/.git", "no clones/.git"),
            ("no /srv/lore/clones/a b.git or /srv/lore/clones/a/b.git", "no clones/a b.git or clones/a/b.git"),
            ("move /srv/lore aside", "move the server's folder aside"),
            ("/srv/lore-2/x and /srv/lore.old", "/srv/lore-2/x and /srv/lore.old"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(without_home(text, home), expected);
        }
        assert_eq!(without_home("/x", Path::new("/")), "/x");
    }
}
