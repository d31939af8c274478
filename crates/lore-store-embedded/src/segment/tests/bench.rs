//! Figures on real source. Not a test: run by hand, in release mode, with folders of source in `LORE_BENCH_SOURCE`
//! (separated by `:`):
//!
//! `cargo test --release -p lore-store-embedded segment::tests::bench -- --ignored --nocapture`
#![expect(clippy::print_stdout, reason = "it prints figures")]

use std::{
    collections::HashSet,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lore_store::{Ask, AskWord, ChunkKey, DIMENSIONS, TextPlan, tokens};

use super::{
    super::{ChunkInput, Prepared, Scratch, Segment, SegmentBuilder, View, layout::Part, merge, write_atomically},
    FIELDS, Random, normalised,
};

const LINES: usize = 25;
const ENDINGS: [&str; 12] = ["py", "rs", "go", "c", "h", "ts", "tsx", "js", "md", "txt", "cpp", "java"];

struct Piece {
    text: String,
    names: String,
    code: String,
    prose: String,
    vector: [f32; DIMENSIONS],
}

fn walk(folder: &Path, visit: &mut impl FnMut(&Path)) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, visit);
        } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            visit(&path);
        }
    }
}

/// A crude parser: what follows a keyword is a name, lines of comment are prose.
fn piece(text: String, table: &[[f32; DIMENSIONS]]) -> Piece {
    let (mut names, mut code, mut prose) = (String::new(), String::new(), String::new());
    for line in text.lines() {
        let line = line.trim_start();
        let is_comment = ["#", "//", "*", "/*", "\"\"\"", "--"].iter().any(|mark| line.starts_with(mark));
        let target = if is_comment { &mut prose } else { &mut code };
        target.push_str(line);
        target.push('\n');
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| ["def", "class", "fn", "func", "struct", "enum", "trait", "function"].contains(&word)) {
            names.push_str(words.next().unwrap_or_default());
            names.push(' ');
        }
    }
    let mut vector = [0f32; DIMENSIONS];
    for token in tokens(&text) {
        let at = usize::from_le_bytes(*blake3::hash(token.as_bytes()).as_bytes().first_chunk().unwrap());
        vector.iter_mut().zip(&table[at % table.len()]).for_each(|(sum, value)| *sum += value);
    }
    Piece { text, names, code, prose, vector: normalised(&vector) }
}

fn pieces(limit: usize) -> Vec<Piece> {
    #[expect(clippy::disallowed_methods, reason = "it is run by hand, with data of one's own")]
    let folders = std::env::var("LORE_BENCH_SOURCE").expect("LORE_BENCH_SOURCE names folders of source");
    let mut random = Random(5);
    let table: Vec<_> = (0..20_000).map(|_| random.vector()).collect();
    let (mut pieces, mut seen) = (Vec::new(), HashSet::new());
    for folder in folders.split(':') {
        walk(Path::new(folder), &mut |path| {
            let Ok(text) = fs::read_to_string(path) else { return };
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for chunk in lines.chunks(LINES) {
                let text = chunk.concat();
                if pieces.len() < limit && text.len() < 20_000 && seen.insert(blake3::hash(text.as_bytes())) {
                    pieces.push(piece(text, &table));
                }
            }
        });
    }
    pieces
}

fn prepare(pieces: &[Piece], exact: bool) -> Vec<Prepared> {
    let mut scratch = Scratch::default();
    let prepared = |piece: &Piece| {
        let key = ChunkKey(*blake3::hash(piece.text.as_bytes()).as_bytes().first_chunk().unwrap());
        let Piece { text, names, code, prose, vector } = piece;
        let input = ChunkInput { key, text: text.as_bytes(), names, code, prose, vector: Some(vector), exact };
        Prepared::new(&input, &mut scratch)
    };
    pieces.iter().map(prepared).collect()
}

fn build(pieces: &[Piece], first: u32, exact: bool) -> Vec<u8> {
    let start = Instant::now();
    let prepared = prepare(pieces, exact);
    let took = start.elapsed();
    let memory: usize = prepared.iter().map(Prepared::memory).sum();
    let start = Instant::now();
    let mut builder = SegmentBuilder::new();
    for chunk in prepared {
        builder.push(chunk);
    }
    let (pushed, held) = (start.elapsed(), builder.memory());
    let start = Instant::now();
    let ids: Vec<u32> = (first..first + builder.len()).collect();
    let bytes = builder.finish(&ids);
    println!(
        "prepare {took:.2?} ({} MB), push {pushed:.2?} (holds {} MB), finish {:.2?}",
        memory >> 20,
        held >> 20,
        start.elapsed()
    );
    bytes
}

fn took<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{name:28} p50 {:>9.1?} p95 {:>9.1?}", times[times.len() / 2], times[times.len() * 95 / 100]);
}

fn measure(view: &View, pieces: &[Piece], label: &str) {
    let mut random = Random(31);
    for count in [1, 3, 8] {
        let mut times = [Vec::new(), Vec::new()];
        let mut postings = 0u64;
        let mut asked = 0u32;
        while asked < 300 {
            let piece = &pieces[random.below(pieces.len())];
            let words = tokens(if asked.is_multiple_of(2) { &piece.prose } else { &piece.code });
            if words.len() < count + 1 {
                continue;
            }
            let from = random.below(words.len() - count);
            let words: Vec<AskWord> =
                words[from..from + count].iter().map(|token| AskWord { token: token.clone(), weight: 1.0 }).collect();
            postings += words.iter().map(|word| u64::from(view.frequency(&word.token))).sum::<u64>();
            for (times, vector) in times.iter_mut().zip([None, Some(&piece.vector[..])]) {
                let ask = Ask { words: &words, fields: FIELDS, vector, boosts: &[], allowed: None, top: 100 };
                // The best of three: other programs run too.
                times.extend((0..3).map(|_| took(|| view.search(&ask))).min());
            }
            asked += 1;
        }
        let [text, both] = times;
        report(&format!("{label} {count} words (df {})", postings / u64::from(asked)), text);
        report(&format!("{label} {count} words + vector"), both);
    }
}

/// Pieces of lines: how long it takes to find candidates, and to look through them.
fn measure_exact(view: &View, pieces: &[Piece]) {
    let mut random = Random(8);
    let (mut finding, mut reading, mut chunks, mut matching) = (Vec::new(), Vec::new(), 0, 0);
    while finding.len() < 300 {
        let line = pieces[random.below(pieces.len())].text.lines().next().unwrap_or_default().trim();
        let count = line.chars().count();
        if count < 6 {
            continue;
        }
        let literal: String = line.chars().skip(random.below(count - 5)).take(5 + random.below(15)).collect();
        let plan = TextPlan::literal(literal.as_bytes());
        finding.extend((0..3).map(|_| took(|| view.chunks_with(&plan).unwrap())).min());
        let found = view.chunks_with(&plan).unwrap();
        chunks += found.len();
        let has = |id: &&u32| view.text(**id).unwrap().windows(literal.len()).any(|bytes| bytes == literal.as_bytes());
        let start = Instant::now();
        matching += found.iter().filter(has).count();
        reading.push(start.elapsed());
    }
    report("candidates of a literal", finding);
    report("looking through them", reading);
    println!("candidates {}, of them matching {} in the mean", chunks / 300, matching / 300);
}

#[test]
#[ignore = "prints figures: see above"]
fn figures() {
    let pieces = pieces(120_000);
    let source: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    println!("{} chunks, {:.1} MB", pieces.len(), source as f64 / 1e6);
    print!("without trigrams: ");
    build(&pieces, 1, false);
    let bytes = build(&pieces, 1, true);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.seg");
    let start = Instant::now();
    write_atomically(&path, &bytes).unwrap();
    println!("write {:.2?}, {:.1} MB", start.elapsed(), bytes.len() as f64 / 1e6);
    drop(bytes);
    let mut opening = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        drop(Segment::open(&path).unwrap());
        opening.push(start.elapsed());
    }
    report("open", opening);
    let segment = Arc::new(Segment::open(&path).unwrap());
    for part in Part::ALL {
        let size = segment.part(part).len();
        println!(
            "  {:12} {:8.2} MB {:5.1} %",
            format!("{part:?}"),
            size as f64 / 1e6,
            size as f64 * 100.0 / source as f64
        );
    }
    let start = Instant::now();
    segment.verify().unwrap();
    println!("verify {:.2?}", start.elapsed());
    let ids: Vec<u32> = segment.ids().collect();
    let start = Instant::now();
    let view = View::new(vec![segment.clone()], &ids).unwrap();
    println!("view {:.2?}", start.elapsed());
    measure_exact(&view, &pieces);
    measure(&view, &pieces, "one segment");
    let mut random = Random(3);
    let some: Vec<u32> = ids.iter().copied().filter(|_| random.below(10) == 0).collect();
    measure(&View::new(vec![segment.clone()], &some).unwrap(), &pieces, "10 % scattered");
    measure(&View::new(vec![segment.clone()], &ids[..ids.len() / 10]).unwrap(), &pieces, "first 10 %");
    let mut texts = Vec::new();
    for _ in 0..2000 {
        let id = ids[random.below(ids.len())];
        let start = Instant::now();
        view.text(id).unwrap();
        texts.push(start.elapsed());
    }
    report("text", texts);
    let mut first = 1;
    let mut small = Vec::new();
    for share in pieces.chunks(pieces.len() / 8 + 1) {
        small.push(Arc::new(Segment::from_bytes(build(share, first, true)).unwrap()));
        first += u32::try_from(share.len()).unwrap();
    }
    measure(&View::new(small.clone(), &ids).unwrap(), &pieces, "8 segments");
    let start = Instant::now();
    let merged = merge(&small.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &|_| true).unwrap();
    println!("merge of 8 {:.2?}", start.elapsed());
    assert!(merged == fs::read(&path).unwrap());
}
