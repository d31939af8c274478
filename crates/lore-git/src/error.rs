//! The situations in which a repository cannot be read.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use lore_model::{Cancelled, CommitId, brief};

/// Why reading git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Nothing is there.
    #[error("{0} does not exist")]
    Vanished(PathBuf),
    /// Something is there, but no repository that can be read.
    #[error("{path} is not a git repository: {why}")]
    NotARepository {
        /// The place.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// A repository is there whose refs or objects cannot be read.
    #[error("cannot read {what} of {path}: {why}")]
    Unreadable {
        /// The repository.
        path: PathBuf,
        /// The part that failed.
        what: &'static str,
        /// What was said.
        why: String,
    },
    /// A commit names more paths than any repository that people work in.
    #[error("commit {commit} of {path} has more than {limit} {what}")]
    TreeTooLarge {
        /// The repository.
        path: PathBuf,
        /// The commit.
        commit: CommitId,
        /// What there is too much of.
        what: &'static str,
        /// How much of it is read.
        limit: usize,
    },
    /// The branch does not exist.
    #[error("{name} has no branch `{branch}`")]
    NoSuchBranch {
        /// What the repository is called. Where it is may be nobody's business.
        name: String,
        /// The branch asked for.
        branch: String,
        /// The first branches that exist, and how many more.
        known: String,
    },
    /// The text is not a URL that Lore fetches from.
    #[error("`{url}` cannot be cloned: {why}")]
    BadUrl {
        /// The text, without anything secret.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The policy of this server does not let it be cloned.
    #[error("`{url}` is not cloned by this server: {why}")]
    Refused {
        /// The URL.
        url: String,
        /// What is against it.
        why: String,
        /// The option of `lore server` that would allow it.
        setting: &'static str,
    },
    /// The host of a URL could not be looked up.
    #[error("the host {host} could not be looked up: {why}")]
    Unresolved {
        /// The host.
        host: String,
        /// What was said.
        why: String,
    },
    /// The program cannot do what is needed.
    #[error("{found} is too old: {wanted} or later is needed")]
    TooOld {
        /// What it calls itself.
        found: String,
        /// The first version that can.
        wanted: &'static str,
    },
    /// The program was ended because it wrote too much.
    #[error("`git {command}` was stopped: the mirror takes more than {limit} bytes")]
    TooLarge {
        /// The subcommand.
        command: String,
        /// How many bytes there may be.
        limit: u64,
    },
    /// The program could not be started.
    #[error("the `git` program could not be started: {0}")]
    NoProgram(#[source] io::Error),
    /// The program ended with an error.
    #[error("`git {command}` failed: {stderr}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What it said.
        stderr: String,
    },
    /// The program ran out of the memory or the stack that it may take.
    #[error("`git {command}` was overwhelmed: {how}")]
    Overwhelmed {
        /// The subcommand.
        command: String,
        /// What it said.
        how: String,
    },
    /// The program printed more than is read.
    #[error("`git {command}` was ended: it prints more than {limit} bytes")]
    TooMuch {
        /// The subcommand.
        command: String,
        /// How many bytes it may print.
        limit: u64,
    },
    /// The program was killed: nothing is wrong with the repository.
    #[error("`git {command}` was cut off: {how}")]
    CutOff {
        /// The subcommand.
        command: String,
        /// What ended it.
        how: String,
    },
    /// The program was ended because it took too long.
    #[error("`git {command}` took longer than {} s", limit.as_secs())]
    TooSlow {
        /// The subcommand.
        command: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The program printed something that is not what it prints.
    #[error("the output of `git` could not be understood: {0}")]
    Stream(String),
    /// A file of Lore's own could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Cancelled,
}

/// So many branches are named where one is not known.
const BRANCHES: usize = 20;

/// Subcommands that talk to other machines.
const REMOTE: [&str; 3] = ["clone", "fetch", "ls-remote"];

/// What git, curl and ssh say where the network or the other machine failed, in small letters; the next try may succeed.
const TRANSIENT: [&str; 17] = [
    "could not resolve host",
    "temporary failure in name resolution",
    "timed out",
    "connection refused",
    "connection reset",
    "connection closed by",
    "could not connect to server",
    "couldn't connect to server",
    "failed to connect",
    "network is unreachable",
    "no route to host",
    "early eof",
    "unexpected disconnect",
    "the remote end hung up unexpectedly",
    "empty reply from server",
    "gnutls recv error",
    "http/2 stream",
];

/// What they say where nothing will be other at the next try. It counts more: git adds that the remote end hung up.
const FINAL: [&str; 14] = [
    "authentication failed",
    "permission denied",
    "could not read username",
    "could not read password",
    "host key verification failed",
    "repository not found",
    "does not appear to be a git repository",
    "not found",
    "certificate",
    "transport '",
    "too many authentication failures",
    "unable to update url base from redirection",
    "repository corruption",
    "upload-pack: not our ref",
];

impl GitError {
    /// Whether the network or the other machine failed in a way that may be over soon.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unresolved { .. } => true,
            Self::Failed { command, stderr } if REMOTE.contains(&command.as_str()) => {
                let said = stderr.to_ascii_lowercase();
                let says = |texts: &[&str]| texts.iter().any(|text| said.contains(text));
                let status = said.split_once("returned error: ").map(|(_, status)| status.starts_with('5'));
                status.unwrap_or_else(|| !says(&FINAL) && says(&TRANSIENT))
            }
            _ => false,
        }
    }

    /// A branch that the repository at a place does not have, and those that it has.
    pub fn no_such_branch(path: &Path, branch: &str, known: &[String]) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let listed = match known.split_at_checked(BRANCHES) {
            Some((first, more)) if !more.is_empty() => format!("{} and {} more", first.join(", "), more.len()),
            _ => known.join(", "),
        };
        let name = name.strip_suffix(".git").unwrap_or(&name).to_owned();
        Self::NoSuchBranch { name, branch: brief(branch).into_owned(), known: listed }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl From<Cancelled> for GitError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_branch_tells_no_place_and_not_all_branches() {
        let known: Vec<String> = (0..25).map(|number| format!("b{number}")).collect();
        let place = Path::new("/srv/lore/clones/web.git");
        let error = GitError::no_such_branch(place, "topic", &known);
        assert_eq!(error.to_string(), "web has no branch `topic`");
        assert!(!format!("{error:?}").contains("/srv"));
        let listed = |error| match error {
            GitError::NoSuchBranch { known, .. } => known,
            other => panic!("{other}"),
        };
        let text = listed(error);
        assert!(text.starts_with("b0, b1, ") && text.ends_with(", b19 and 5 more"), "{text}");
        assert_eq!(listed(GitError::no_such_branch(place, "topic", &known[..2])), "b0, b1");
    }

    #[test]
    fn what_may_be_over_soon_is_told_from_what_will_not_be() {
        let said = |command: &str, stderr: &str| GitError::Failed { command: command.into(), stderr: stderr.into() };
        for transient in [
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            "fatal: unable to access 'https://x/': Failed to connect to x port 443 after 1 ms: Couldn't connect to server",
            "fatal: unable to access 'https://x/': The requested URL returned error: 503",
            "ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote repository.",
            "error: RPC failed; curl 56 GnuTLS recv error (-9)\nfatal: early EOF\nfatal: index-pack failed",
            "fatal: the remote end hung up unexpectedly",
        ] {
            assert!(said("fetch", transient).is_transient(), "{transient}");
            assert!(!said("log", transient).is_transient(), "{transient}");
        }
        for lasting in [
            "fatal: Authentication failed for 'https://x/'",
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
            "fatal: unable to access 'https://x/': The requested URL returned error: 403",
            "fatal: unable to access 'https://x/': The requested URL returned error: 429",
            "fatal: repository 'https://x/' not found",
            "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.\nthe remote end hung up unexpectedly",
            "Host key verification failed.\nfatal: the remote end hung up unexpectedly",
            "fatal: unable to access 'https://x/': SSL certificate problem: self-signed certificate",
            "fatal: transport 'file' not allowed",
            "remote: aborting due to possible repository corruption on the remote side.\nfatal: early EOF",
            "fatal: bad object",
        ] {
            assert!(!said("clone", lasting).is_transient(), "{lasting}");
        }
        assert!(GitError::Unresolved { host: "x".into(), why: "no".into() }.is_transient());
        assert!(!GitError::Cancelled.is_transient());
    }
}
