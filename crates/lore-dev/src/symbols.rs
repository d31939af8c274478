//! `lore-dev symbols`: the definitions in files, in a repository or not.

use std::{
    ffi::OsStr,
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use lore_chunk::{Chunker, Language, is_binary};
use lore_model::{Code, Failure};
use serde_json::{Value, json};

use super::{print, unreadable};

/// List the definitions in files, one object for each file on a line of its own
#[derive(clap::Args)]
pub(super) struct Args {
    /// The files
    files: Vec<PathBuf>,
    /// Take the files from standard input, each ended by NUL
    #[arg(long, conflicts_with = "files")]
    stdin0: bool,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let files = if args.stdin0 { read_names()? } else { args.files };
    let mut chunker = Chunker::new();
    for file in files {
        print(&symbols(&mut chunker, &file)?)?;
    }
    Ok(())
}

fn read_names() -> Result<Vec<PathBuf>, Failure> {
    let mut names = Vec::new();
    std::io::stdin().lock().read_to_end(&mut names).map_err(|error| {
        Failure::new(Code::InvalidArgument, format!("cannot read the names of files from standard input: {error}"))
    })?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

fn symbols(chunker: &mut Chunker, file: &Path) -> Result<Value, Failure> {
    let bytes = std::fs::read(file).map_err(|error| unreadable(file, &error))?;
    let path = file.to_string_lossy();
    let language = Language::of(&path, &bytes);
    if is_binary(&bytes) {
        return Ok(json!({"path": path, "language": "binary", "plain": "binary", "symbols": []}));
    }
    let chunked = chunker.chunk(language, &path, &bytes);
    let names = chunked.chunks.iter().flat_map(|chunk| &chunk.names);
    let symbols = chunked.symbols.iter().map(|symbol| {
        json!({
            "name": symbol.name,
            "kind": symbol.kind.as_str(),
            "container": symbol.container,
            "lines": [symbol.first_line, symbol.last_line],
        })
    });
    Ok(json!({
        "path": path,
        "language": language.name(),
        "plain": chunked.plain.map(|plain| format!("{plain:?}").to_lowercase()),
        "symbols": symbols.collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
    }))
}
