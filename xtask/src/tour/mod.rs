//! `cargo xtask tour`: plays the commands of the README and the guides, so that they cannot rot.
//!
//! Every block of commands (`sh`, `console`) is played in a home of its page's own, with the real program on repositories that
//! the tour makes (`world.rs`), or is excused with a reason that is printed. Commands must end as the page says, and what a page
//! shows of their output is compared (`compare.rs`). Notes for the tour stand in the pages, where readers do not see them
//! (`page.rs`). Needs `sh` and git, and no network.

mod compare;
mod page;
mod play;
mod screenshot;
mod terminal;
mod visit;
mod world;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};

use self::{
    visit::{Counts, Transcript, Visit},
    world::{Given, Template},
};
use crate::program::{build_debug, root};

pub(crate) use self::terminal::{InTerminal, run as run_in_terminal};

/// Plays the commands of the README and the guides and compares what is printed with what they show.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the page of this name: `README`, `getting-started`; may be repeated.
    #[arg(long, value_name = "NAME")]
    guide: Vec<String>,

    /// The binary to play, instead of a fresh debug build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// A real repository in place of the one of this name that the tour makes; may be repeated.
    #[arg(long, value_name = "NAME=PATH")]
    repo: Vec<Given>,

    /// Writes what was played, with output and times, into this file too.
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// Prints pages, excuses and failures alone.
    #[arg(long)]
    brief: bool,

    /// Plays no page: makes the README's picture of a terminal. Wants `--repo tokio=PATH`.
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
}

/// What `cargo xtask test` plays: everything, with the binary that the tests have built.
pub(crate) fn run_all() -> Result<()> {
    run(&Args { guide: Vec::new(), lore: None, repo: Vec::new(), transcript: None, brief: true, screenshot: None })
}

/// Plays the chosen pages; fails where a page does not hold.
pub(crate) fn run(args: &Args) -> Result<()> {
    let started = Instant::now();
    let lore = args.lore.clone().map_or_else(build_debug, Ok)?;
    let lore = lore.canonicalize().with_context(|| format!("cannot find {}", lore.display()))?;
    let template = Template::make(&lore, &args.repo)?;
    if let Some(file) = &args.screenshot {
        return screenshot::make(&template, file);
    }
    let pages = pages(&args.guide)?;
    let mut log = Transcript::new(args.brief);
    let mut counts = Counts::default();
    for path in &pages {
        let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
        log.line(&format!("━━ {name}"));
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let blocks = page::read(&text, &play::is_whole).with_context(|| name.clone())?;
        let world = template.world()?;
        Visit::new(&world, &name, &mut log, &mut counts).play(&blocks);
    }
    log.line("");
    for failure in &counts.failures {
        log.line(&format!("failed: {failure}"));
    }
    log.line(&format!(
        "{} pages: {} commands played, {} outputs compared, {} excused, {} failed, {:.1} s",
        pages.len(),
        counts.played,
        counts.compared,
        counts.excused,
        counts.failures.len(),
        started.elapsed().as_secs_f32()
    ));
    if let Some(file) = &args.transcript {
        fs::write(file, &log.text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    ensure!(counts.failures.is_empty(), "the pages do not say what the program does");
    Ok(())
}

/// The README and the guides, or those that were asked for.
fn pages(names: &[String]) -> Result<Vec<PathBuf>> {
    let guides = root().join("docs/guides");
    let entries = fs::read_dir(&guides).with_context(|| format!("cannot read {}", guides.display()))?;
    let mut pages: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.insert(0, root().join("README.md"));
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(unknown) = names.iter().find(|name| !pages.iter().any(|page| stem(page) == **name)) {
        let known: Vec<String> = pages.iter().map(|page| stem(page)).collect();
        bail!("no page is called {unknown}; there are {}", known.join(", "));
    }
    pages.retain(|page| names.is_empty() || names.contains(&stem(page)));
    Ok(pages)
}
