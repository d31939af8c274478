//! Trees, work trees, watching and mirrors, compared with what the real `git` says of the same repositories.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod branches;
mod mirror;
mod policy;
mod repo;
mod tree;
mod watch;
mod worktree;
