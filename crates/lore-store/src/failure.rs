//! Errors of storage as failures that say what to do.

use lore_model::{Code, Failure};

use crate::StoreError;

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

/// Something that is kept in a file of its own and, unlike an index, exists nowhere else.
pub struct Kept {
    /// What it is, in the plural.
    pub what: &'static str,
    /// How to keep it elsewhere.
    pub elsewhere: &'static str,
    /// How to go on where the file is damaged.
    pub go_on: &'static str,
}

/// What a fault in storing such a thing means to the user.
pub fn kept_failure(kept: &Kept, error: StoreError) -> Failure {
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
}
