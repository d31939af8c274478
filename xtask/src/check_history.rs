//! `cargo xtask check-history`: indexes a repository with the real binary and compares every answer with git's.
//!
//! What is compared, and how git is asked, is in `lore_testkit::oracle`; nothing of it is repeated here.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use lore_testkit::{
    Lore,
    odd::{self, Variant},
    oracle::{self, Report, Selection},
};

use crate::program::{agree, say, utf8};

/// Compares what Lore knows of a repository's history with what git says, commit by commit.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    #[arg(required_unless_present = "generated")]
    path: Option<PathBuf>,

    /// Generates repositories with every known oddity, in every form, and compares all of their commits.
    #[arg(long, conflicts_with = "path")]
    generated: bool,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// Compares every commit, not only 500 at random, the roots, and the newest 3,000 with renames or copies.
    #[arg(long)]
    all: bool,

    /// Decides which commits are taken at random.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// Runs the comparison; fails where anything differs.
pub(crate) fn run(args: Args) -> Result<()> {
    let Args { path, generated, lore, all, seed } = args;
    let binary = crate::program::release(lore.as_deref())?;
    let mut differences = Vec::new();
    if generated {
        let dir = tempfile::tempdir()?;
        for variant in Variant::ALL {
            let repo = odd::build(variant, &dir.path().join(variant.name()))?;
            let found = check(&binary, variant.name(), &repo.path, Selection::All)?;
            differences.extend(found.into_iter().map(|difference| format!("{}: {difference}", variant.name())));
        }
    } else {
        let path = path.context("no repository was named")?;
        let sample = Selection::Sample { random: 500, seed, renames_among_newest: 3_000 };
        differences = check(&binary, "checked", &path, if all { Selection::All } else { sample })?;
    }
    agree(&differences)
}

/// Indexes one repository in a home of its own and says what differs.
fn check(binary: &Path, name: &str, repo: &Path, selection: Selection) -> Result<Vec<String>> {
    let lore = Lore::new(binary);
    let repo = repo.canonicalize().with_context(|| format!("cannot find {}", repo.display()))?;
    let started = Instant::now();
    let path = utf8(&repo)?;
    for args in [&["add", path, "--name", name][..], &["sync", "--repo", name]] {
        let output = lore.run(args);
        if !output.status.success() {
            bail!("lore {} ({}): {}", args.join(" "), output.status, output.stderr.trim());
        }
    }
    let indexed = started.elapsed();
    let Report { commits, patches_compared, patches_absent, lists_compared, differences } =
        oracle::compare(&lore, name, &repo, selection)?;
    let compared = started.elapsed().saturating_sub(indexed);
    say(&format!(
        "{name}: {commits} commits, {patches_compared} patches and {lists_compared} file lists compared, \
         {patches_absent} patches absent on purpose, {} differences; indexed in {:.1} s, compared in {:.1} s",
        differences.len(),
        indexed.as_secs_f32(),
        compared.as_secs_f32(),
    ));
    Ok(differences)
}
