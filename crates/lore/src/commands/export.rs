//! `lore export`: the index in forms that other tools read.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use lore_core::{
    rfc3339,
    search::{CodeFreshness, CodeState, ExportedChunk},
};
use lore_model::{ChunkKind, Code, CommitId, Failure, Repo};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Context, sync::count};
use crate::{
    environment,
    ui::{BOLD, one_line},
};

/// Write what is indexed for other tools
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Chunks(Chunks),
}

/// Write the code as chunk files: `code-symbols.json`, `code-definitions.json`, `code-data.json`, `doc-chunks.json`
///
/// With vectors, uncommitted work included. Each file takes the place of the one before at once, when all of it is
/// written. Files that are minified, generated or no text are left out.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  lore export chunks .cortex/chunks --repo .")]
struct Chunks {
    /// The folder, which is made where it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only this repository [default: the one you are in]
    #[arg(long, value_name = "NAME", default_value = ".")]
    repo: String,
}

impl Args {
    /// Whether only the repository the user stands in is meant.
    pub(super) fn is_about_here(&self) -> bool {
        let What::Chunks(chunks) = &self.what;
        chunks.repo == "."
    }
}

/// The file of each type of chunk.
const FILES: [(ChunkKind, &str); 4] = [
    (ChunkKind::Symbols, "code-symbols.json"),
    (ChunkKind::Definitions, "code-definitions.json"),
    (ChunkKind::Data, "code-data.json"),
    (ChunkKind::Documentation, "doc-chunks.json"),
];

pub(super) fn run(context: &Context<'_>, Args { what: What::Chunks(args) }: Args) -> Result<(), Failure> {
    // The user may stand in another work tree than the registered one.
    let place = match args.repo.as_str() {
        "." => Some(context.lore.find_project(&environment::working_directory())?.place),
        _ => None,
    };
    let repo = context.named_repos(&[args.repo])?.remove(0);
    let mut export = context.lore.search.query.export(&repo, place.as_deref())?;
    is_whole(context, &repo, &export.freshness)?;
    let now = context.lore.history.now();
    fs::create_dir_all(&args.folder).map_err(|error| no_access(&args.folder, &error))?;
    let about = |kind: ChunkKind| {
        json!({
            "model": export.model(),
            "dimensions": export.dimensions(),
            "chunk_type": kind.as_str(),
            "generated": rfc3339(now),
            "version": "2.0.0",
        })
    };
    let mut files = FILES
        .iter()
        .map(|(kind, name)| ChunkFile::create(*kind, args.folder.join(name), &about(*kind)))
        .collect::<Result<Vec<_>, _>>()?;
    let CodeFreshness { commit, committed_at, .. } = export.freshness;
    let made = Made { repo: &repo, commit, committed_at: committed_at.unwrap_or(now), now };
    while let Some(chunks) = export.next_file()? {
        for chunk in chunks {
            let file = files.iter_mut().find(|file| file.kind == chunk.kind).expect("every kind has a file");
            file.add(&made.row(chunk))?;
        }
    }
    let written: Vec<(PathBuf, u64)> = files.into_iter().map(ChunkFile::publish).collect::<Result<_, _>>()?;
    let ui = context.ui;
    if ui.is_json() {
        let rows: Vec<Value> =
            written.iter().map(|(path, chunks)| json!({"path": path.to_string_lossy(), "chunks": chunks})).collect();
        return ui.value(&json!({"repo": repo.name(), "files": rows, "left_out": export.plain}));
    }
    for (path, chunks) in written {
        ui.line(&format!("{}  {}", ui.paint(BOLD, &one_line(&path.to_string_lossy())), count(chunks, "chunk")))?;
    }
    if export.plain > 0 {
        let left_out = count(export.plain, "file");
        ui.note(&format!("{left_out} without vectors left out; `lore status --left-out` lists them"));
    }
    Ok(())
}

/// Refuses to write a part for the whole, and warns of an older state.
fn is_whole(context: &Context<'_>, repo: &Repo, fresh: &CodeFreshness) -> Result<(), Failure> {
    let hint = format!("run `lore sync --repo {}` first", repo.name());
    let refused = |why: &str| Failure::new(Code::RepoNotFound, format!("{why} `{}` is indexed yet", repo.name()));
    if fresh.has_nothing() {
        let what = format!("there is nothing of `{}`: no branch that is indexed has a commit", repo.name());
        return Err(Failure::new(Code::RepoNotFound, what));
    }
    match (fresh.state, fresh.commit) {
        (CodeState::NeverIndexed, _) | (_, None) => return Err(refused("nothing of").hint(hint)),
        (CodeState::Partial, _) => return Err(refused("only a part of").hint(hint)),
        _ => {}
    }
    if let Some(error) = &fresh.uncommitted_error {
        let message = format!("uncommitted work of `{}` could not be read: {error}", repo.name());
        return Err(Failure::new(Code::GitFailed, message).hint("`lore doctor` tells what is wrong"));
    }
    if fresh.state == CodeState::Stale {
        context.ui.warn(&format!("{} has moved since its code was indexed: run `lore sync`", repo.name()));
    }
    Ok(())
}

/// A chunk as it stands in a file. Not a [`Value`]: that would write each number of a vector with twice as many digits.
#[derive(Serialize)]
struct ChunkRow {
    id: String,
    chunk_type: &'static str,
    title: String,
    text: String,
    embedding: Vec<f32>,
    tags: Vec<String>,
    metadata: Map<String, Value>,
    created_at: String,
    updated_at: String,
}

/// Where and when chunks come from.
struct Made<'a> {
    repo: &'a Repo,
    commit: Option<CommitId>,
    committed_at: i64,
    now: i64,
}

impl Made<'_> {
    fn row(&self, chunk: ExportedChunk) -> ChunkRow {
        let is_code = chunk.kind != ChunkKind::Documentation;
        let mut metadata = Map::new();
        let mut put = |key: &str, value: Value| {
            if !value.is_null() {
                metadata.insert(key.to_owned(), value);
            }
        };
        put("source", if is_code { "code" } else { "documentation" }.into());
        put("file_path", chunk.path.to_text().into());
        put("language", chunk.language.into());
        put("package", chunk.package.into());
        if is_code {
            for (name, count) in ["imports_count", "types_count", "functions_count"].into_iter().zip(chunk.counts) {
                put(name, count.into());
            }
        }
        put("start_line", chunk.lines.0.into());
        put("end_line", chunk.lines.1.into());
        put("repo", self.repo.name().into());
        put("name", chunk.name.into());
        put("symbol", chunk.symbol.map(lore_model::SymbolKind::as_str).into());
        put("container", chunk.container.into());
        put("part", chunk.part.map(|(part, of)| format!("{part} of {of}")).into());
        put("commit", self.commit.map(|commit| commit.to_hex()).into());
        put("uncommitted", chunk.uncommitted.then_some(true).into());
        let at = rfc3339(if chunk.uncommitted { self.now } else { self.committed_at });
        ChunkRow {
            id: chunk.id,
            chunk_type: chunk.kind.as_str(),
            title: chunk.title,
            text: chunk.text,
            embedding: chunk.vector,
            tags: chunk.tags,
            metadata,
            created_at: at.clone(),
            updated_at: at,
        }
    }
}

/// A file under way, beside the place that it will take.
struct ChunkFile {
    kind: ChunkKind,
    path: PathBuf,
    draft: PathBuf,
    out: Option<BufWriter<File>>,
    chunks: u64,
}

impl ChunkFile {
    fn create(kind: ChunkKind, path: PathBuf, about: &Value) -> Result<Self, Failure> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let draft = path.with_file_name(name);
        let create = || {
            let mut out = BufWriter::new(File::create(&draft)?);
            write!(out, "{{\"_metadata\":{about},\"chunks\":[")?;
            Ok(out)
        };
        let out = create().map_err(|error| no_access(&draft, &error))?;
        Ok(Self { kind, path, draft, out: Some(out), chunks: 0 })
    }

    fn add(&mut self, chunk: &ChunkRow) -> Result<(), Failure> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let comma = if self.chunks == 0 { "" } else { "," };
        self.chunks += 1;
        let written = writeln!(out, "{comma}").and_then(|()| Ok(serde_json::to_writer(out, chunk)?));
        written.map_err(|error| no_access(&self.draft, &error))
    }

    /// Ends the file and gives it its name.
    fn publish(mut self) -> Result<(PathBuf, u64), Failure> {
        let Some(mut out) = self.out.take() else { return Ok((self.path.clone(), 0)) };
        let mut end = || {
            out.write_all(b"\n]}\n")?;
            out.flush()?;
            out.get_ref().sync_all()?;
            fs::rename(&self.draft, &self.path)
        };
        let done = end();
        if done.is_err() {
            remove(&self.draft);
        }
        done.map_err(|error| no_access(&self.path, &error))?;
        Ok((self.path.clone(), self.chunks))
    }
}

impl Drop for ChunkFile {
    fn drop(&mut self) {
        // Still there only where something failed before its end.
        if self.out.take().is_some() {
            remove(&self.draft);
        }
    }
}

fn remove(draft: &Path) {
    if let Err(error) = fs::remove_file(draft) {
        tracing::debug!(%error, path = %draft.display(), "a file under way could not be removed");
    }
}

fn no_access(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull => Failure::new(Code::DiskFull, message).hint("free some space and run it again"),
        _ => Failure::new(Code::NoAccess, message).hint("name a folder that you may write"),
    }
}
