//! `cargo xtask dist`: one static program with its completions, manual pages, licences and list of parts, in an archive that
//! anybody who builds the same commit with the same tools gets again, byte for byte.

mod archive;
mod build;
mod pages;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    dist::{archive::Entry, build::Source},
    program::{build_dev, output, program, root, run as run_program, say, target_dir},
    supply::{graph::Graph, inside::sha256, notices, sbom},
};

/// Builds the release archive: a static program with all that belongs to it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the archive and its checksums are put [default: `dist` in cargo's target directory].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// The target that is built for: `-gnu`, or `-musl` where rustup and a C compiler have it.
    #[arg(long, value_name = "TRIPLE", default_value = "x86_64-unknown-linux-gnu")]
    target: String,

    /// Builds a second time, from a clone in another folder, and fails where a byte differs.
    #[arg(long)]
    twice: bool,

    /// Takes the tree as it is, with changes that are not committed.
    #[arg(long)]
    dirty: bool,
}

/// Files of the project that go along.
const DOCUMENTS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Builds, packs and tells where it is.
pub(crate) fn run(args: &Args) -> Result<()> {
    let source = Source::of(root(), args.dirty)?;
    let target_dir = target_dir()?;
    let graph = Graph::of_lore(&args.target)?;
    let list = sbom::document(&graph, &args.target)?;
    let (notices, dev) = (notices::text(&graph, &args.target)?, build_dev()?);
    let shared = Shared { graph: &graph, list: &list, notices: &notices, target: &args.target, dev: &dev };

    let packed = shared.pack(&source, &target_dir)?;
    if args.twice {
        let folder = tempfile::Builder::new().prefix("lore-dist-again-").tempdir()?;
        let clone = folder.path().join("source");
        run_program(program("git").args(["clone", "--quiet", "--no-local"]).arg(root()).arg(&clone))?;
        run_program(program("git").arg("-C").arg(&clone).args(["checkout", "--quiet", "--detach", &source.commit]))?;
        let again = shared.pack(&source.in_folder(clone), &folder.path().join("built"))?;
        ensure!(
            packed.bytes == again.bytes,
            "the second build is another one: {} and {}",
            sha256(&packed.bytes),
            sha256(&again.bytes)
        );
        say(&format!("dist: a second build in another folder gave the same bytes: {}", sha256(&again.bytes)));
    }

    let out = args.out.clone().unwrap_or_else(|| target_dir.join("dist"));
    write_all(
        &out,
        &[(format!("{}.tar.gz", packed.name), packed.bytes), (format!("{}.cdx.json", packed.name), list.into_bytes())],
    )
}

/// What two builds of one commit have in common.
struct Shared<'a> {
    graph: &'a Graph,
    list: &'a str,
    notices: &'a str,
    target: &'a str,
    /// The `lore-dev` of this tree, which prints the manual pages.
    dev: &'a Path,
}

struct Packed {
    /// Of the archive without its ending, and of the folder in it.
    name: String,
    bytes: Vec<u8>,
}

impl Shared<'_> {
    fn pack(&self, source: &Source, target_dir: &Path) -> Result<Packed> {
        let started = Instant::now();
        let binary = build::build(source, self.target, target_dir, self.graph)?;
        let bytes = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
        build::check(&bytes, &build::places(source, target_dir)?)?;
        let told = output(program(&binary).arg("--version"))?;
        ensure!(told == format!("lore {}", source.version()), "the program says that it is `{told}`");
        say(&format!(
            "dist: {told}, {} bytes, {} s, sha256 {}",
            bytes.len(),
            started.elapsed().as_secs(),
            sha256(&bytes)
        ));

        let mut entries = vec![
            Entry::program("lore", bytes),
            Entry::text("lore.cdx.json", self.list),
            Entry::text("THIRD-PARTY.txt", self.notices),
        ];
        for document in DOCUMENTS {
            let text =
                fs::read_to_string(source.folder.join(document)).with_context(|| format!("cannot read {document}"))?;
            entries.push(Entry::text(document, &text));
        }
        entries.extend(pages::completions(&binary)?);
        entries.extend(pages::manuals(self.dev)?);
        let name = format!("lore-{}-{}", source.release, self.target);
        let bytes = archive::gzip(&archive::tar(&name, entries, source.time)?)?;
        Ok(Packed { name, bytes })
    }
}

/// Writes the files and their checksums, in the form that `sha256sum --check` reads.
fn write_all(out: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut sums = String::new();
    for (name, bytes) in files {
        fs::write(out.join(name), bytes).with_context(|| format!("cannot write {name} in {}", out.display()))?;
        writeln!(sums, "{}  {name}", sha256(bytes)).expect("writing to a string cannot fail");
        say(&format!("dist: {} ({} bytes, sha256 {})", out.join(name).display(), bytes.len(), sha256(bytes)));
    }
    fs::write(out.join("SHA256SUMS"), sums).with_context(|| format!("cannot write the checksums in {}", out.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_that_sha256sum_reads() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &[("a.txt".to_owned(), b"abc".to_vec())]).unwrap();
        let sums = fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
        assert_eq!(sums, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.txt\n");
    }
}
