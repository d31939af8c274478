//! `cargo xtask audit`: known weaknesses of what we depend on, from a copy of the database `advisory-db`.
//!
//! `cargo audit` compares; what it must not pass over and what we do not mind, with reasons, is in `.cargo/audit.toml`.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::program::{cargo, output, run, say};

/// Compares the lock file with published advisories.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A git clone of the advisory database; without it, cargo-audit fetches one.
    #[arg(long, value_name = "DIR")]
    db: Option<PathBuf>,
}

/// Fails where there is an advisory that `.cargo/audit.toml` does not answer.
pub(crate) fn check(args: &Args) -> Result<()> {
    let installed = output(cargo().args(["audit", "--version"]));
    ensure!(installed.is_ok(), "cargo-audit is not there: `cargo install cargo-audit --locked` installs it");
    run(cargo().arg("audit").args(arguments(args)))?;
    say("audit: nothing is known against the packages of Cargo.lock that .cargo/audit.toml does not answer");
    Ok(())
}

fn arguments(args: &Args) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    if let Some(db) = &args.db {
        // A copy is as old as it is: whoever names one knows.
        arguments.extend(["--db".to_owned(), db.display().to_string(), "--no-fetch".to_owned(), "--stale".to_owned()]);
    }
    for kind in ["unmaintained", "unsound", "yanked"] {
        arguments.extend(["--deny".to_owned(), kind.to_owned()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_copy_is_taken_as_it_is_and_warnings_are_faults() {
        let line = arguments(&Args { db: Some("/srv/db".into()) }).join(" ");
        assert_eq!(line, "--db /srv/db --no-fetch --stale --deny unmaintained --deny unsound --deny yanked");
        assert!(!arguments(&Args { db: None }).join(" ").contains("--no-fetch"));
    }
}
