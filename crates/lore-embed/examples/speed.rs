//! Prints how fast the built-in model is: `cargo run --release -p lore-embed --example speed [MODEL_FILE]`.
//!
//! The texts are this workspace's own sources, in chunks of about 1 KB.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "it is there to print")]

use std::{
    env, fs,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use lore_embed::{DIMENSIONS, Mode, Scratch, StaticModel};

fn main() {
    let file = env::args().nth(1).map(|path| &*fs::read(path).expect("the model file can be read").leak());
    let begin = Instant::now();
    let own = file.map(|file| StaticModel::from_bytes(file).expect("a static model"));
    let model = own.as_ref().unwrap_or_else(|| StaticModel::built_in());
    let load = begin.elapsed();
    let mut out = [0.0; DIMENSIONS];
    let begin = Instant::now();
    model.embed_into("where is the http body parsed", Mode::Query, &mut out, &mut Scratch::default());
    println!("{}: load {load:?}, first query {:?}", model.name(), begin.elapsed());

    let mut sources = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut sources);
    let chunks: Vec<&str> = sources.iter().flat_map(|source| cut(source)).collect();
    let bytes: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    let mut scratch = Scratch::default();
    let time = least(&chunks, |chunk| {
        model.embed_into(chunk, Mode::Passage, &mut out, &mut scratch);
        black_box(&out);
    });
    let rate = |count: usize| Duration::from_secs(1).as_nanos() * count as u128 / time.as_nanos();
    let (count, average) = (chunks.len(), bytes / chunks.len());
    println!("{count} chunks of {average} bytes: {} chunks/s, {} MB/s", rate(count), rate(bytes) / 1_000_000);

    let queries = ["where is the http body parsed", "retry with backoff on connection errors", "open_sqlite_database"];
    let time = least(&queries.repeat(500), |query| {
        model.embed_into(query, Mode::Query, &mut out, &mut scratch);
        black_box(&out);
    });
    println!("query: {} ns", time.as_nanos() / 1_500);
}

/// The sum of the least times of short blocks: other processes on the machine hardly count.
fn least(texts: &[&str], mut run: impl FnMut(&str)) -> Duration {
    let mut best = vec![Duration::MAX; texts.len().div_ceil(20)];
    for _ in 0..50 {
        for (best, block) in best.iter_mut().zip(texts.chunks(20)) {
            let begin = Instant::now();
            for text in block {
                run(text);
            }
            *best = begin.elapsed().min(*best);
        }
    }
    best.iter().sum()
}

fn collect(folder: &Path, sources: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.extend(fs::read_to_string(path));
        }
    }
}

/// Pieces of about 1 KB, at line ends.
fn cut(source: &str) -> Vec<&str> {
    let (mut chunks, mut rest) = (Vec::new(), source);
    while !rest.is_empty() {
        let from = rest.floor_char_boundary(1_000);
        let end = rest[from..].find('\n').map_or(rest.len(), |at| from + at + 1);
        chunks.push(&rest[..end]);
        rest = &rest[end..];
    }
    chunks
}
