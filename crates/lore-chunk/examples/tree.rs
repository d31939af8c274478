//! Prints the syntax tree of a file and what is cut out of it, for writing the rules of a language.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example for people at a terminal")]

use lore_chunk::{Chunker, Language};

fn main() {
    let path = std::env::args().nth(1).expect("name a file");
    let bytes = std::fs::read(&path).unwrap();
    let language = Language::of(&path, &bytes);
    if let Some(tree) = Chunker::new().tree_text(language, &bytes) {
        println!("{tree}");
    }
    let file = Chunker::new().chunk(language, &path, &bytes);
    for chunk in &file.chunks {
        println!(
            "{} {}-{} {:?} {:?} in {:?} {:?} {:?}",
            chunk.kind,
            chunk.first_line,
            chunk.last_line,
            chunk.symbol,
            chunk.name,
            chunk.container,
            chunk.part,
            chunk.names
        );
    }
}
