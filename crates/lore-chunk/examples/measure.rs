//! Cuts every file below a folder and prints how fast that was, by language.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example for people at a terminal")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::{collections::BTreeMap, path::Path};

use lore_chunk::{Chunker, Language, is_binary};

#[derive(Default)]
struct Row {
    files: usize,
    bytes: usize,
    seconds: f64,
    slowest: f64,
    chunks: usize,
    named: usize,
    symbols: usize,
    plain: usize,
    largest: usize,
    small: usize,
}

fn main() {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut chunker = Chunker::new();
    for folder in std::env::args().skip(1) {
        visit(Path::new(&folder), &mut |path, bytes| {
            if is_binary(bytes) {
                return;
            }
            let language = Language::of(path, bytes);
            let start = cpu_seconds();
            let file = chunker.chunk(language, path, bytes);
            let seconds = cpu_seconds() - start;
            let row = rows.entry(language.name()).or_default();
            row.files += 1;
            if file.plain.is_some() {
                row.plain += 1;
                return;
            }
            if seconds > 0.5 {
                println!("{seconds:.2} s: {path}");
            }
            row.bytes += bytes.len();
            row.seconds += seconds;
            row.slowest = row.slowest.max(seconds);
            row.chunks += file.chunks.len();
            row.named += file.chunks.iter().filter(|chunk| chunk.name.is_some()).count();
            row.symbols += file.symbols.len();
            row.largest = row.largest.max(file.chunks.iter().map(|chunk| chunk.bytes.len()).max().unwrap_or(0));
            row.small += file.chunks.iter().filter(|chunk| chunk.last_line - chunk.first_line < 2).count();
        });
    }
    println!("{:16} files plain     MB   MB/s  slowest  chunks  named symbols largest  <3 lines", "language");
    for (name, row) in rows {
        println!(
            "{name:16} {:5} {:5} {:6.2} {:6.1} {:7.3}s {:7} {:6} {:7} {:7} {:9}",
            row.files,
            row.plain,
            row.bytes as f64 / 1e6,
            row.bytes as f64 / 1e6 / row.seconds.max(1e-9),
            row.slowest,
            row.chunks,
            row.named,
            row.symbols,
            row.largest,
            row.small,
        );
    }
}

/// Seconds of processor time of this thread: others may be using the machine.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn visit(path: &Path, see: &mut dyn FnMut(&str, &[u8])) {
    if path.is_symlink() {
        return;
    }
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for entry in &entries {
            visit(entry, see);
        }
    } else if path.is_file() {
        see(&path.to_string_lossy(), &std::fs::read(path).unwrap());
    }
}
