//! Errors of git as failures that say what to do.

use lore_model::{Cancelled, Code, Failure};

use crate::GitError;

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
