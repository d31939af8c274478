//! For any bytes and any language: no panic, and the chunks are a partition.

use lore_chunk::{Chunked, Chunker, Language, symbols_text};
use proptest::prelude::*;

fn check(bytes: &[u8], file: &Chunked) {
    let mut at = 0;
    let mut line = 1;
    for chunk in &file.chunks {
        assert_eq!(chunk.bytes.start, at, "chunks follow each other");
        assert!(chunk.bytes.end > at, "no chunk is empty");
        assert!(at == 0 || bytes[at - 1] == b'\n', "chunks begin at lines");
        assert_eq!(chunk.first_line, line);
        let lines = bytes[chunk.bytes.clone()].split_inclusive(|byte| *byte == b'\n').count();
        assert_eq!(chunk.last_line as usize, line as usize + lines - 1);
        assert!(chunk.name.iter().chain(&chunk.names).chain(&chunk.container).all(|name| !name.is_empty()));
        assert!(chunk.prose.iter().all(|it| it.start < it.end && it.start >= at && it.end <= chunk.bytes.end));
        assert!(chunk.prose.windows(2).all(|pair| pair[0].end <= pair[1].start), "prose is in order");
        assert!(chunk.part.is_none_or(|(number, count)| number >= 1 && number <= count && count > 1));
        at = chunk.bytes.end;
        line = chunk.last_line + 1;
    }
    assert_eq!(at, bytes.len(), "all bytes are in chunks");
    for symbol in &file.symbols {
        assert!(!symbol.name.is_empty() && symbol.first_line >= 1 && symbol.first_line <= symbol.last_line);
        assert!(symbol.last_line < line && symbol.signature.chars().count() <= 200, "{symbol:?}");
    }
    assert!(file.symbols.windows(2).all(|pair| pair[0].first_line <= pair[1].first_line));
}

fn check_all(bytes: &[u8]) {
    let mut chunker = Chunker::new();
    for language in Language::ALL {
        let file = chunker.chunk(*language, "some/path", bytes);
        check(bytes, &file);
        assert_eq!(
            file,
            chunker.chunk(*language, "some/path", bytes),
            "{language}: the same bytes give the same chunks"
        );
        symbols_text(&file);
    }
}

/// Words and marks of many languages, so that generated text gets somewhere in the parsers.
fn words() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "fn ",
        "def ",
        "class ",
        "func ",
        "function ",
        "struct ",
        "impl ",
        "mod ",
        "const ",
        "let ",
        "type ",
        "enum ",
        "interface ",
        "import ",
        "export ",
        "package ",
        "return ",
        "if ",
        "=> ",
        "a",
        "b1",
        "X",
        "é",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ":",
        ";",
        ",",
        ".",
        "=",
        "\"",
        "'",
        "`",
        "\"\"\"",
        "#",
        "##",
        "# ",
        "//",
        "/*",
        "*/",
        "<",
        ">",
        "<a>",
        "</a>",
        "---\n",
        "===\n",
        "```\n",
        "::\n",
        "    ",
        "\t",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "@",
        "$",
        "&",
        "|",
        "-",
        "- ",
        "\u{feff}",
        "tags: [a]",
        "<script>\n",
        "</script>\n",
        "select ",
        "create table ",
        "end\n",
        "do\n",
    ]);
    prop::collection::vec(words, 0..400).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_partitioned(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        check_all(&bytes);
    }

    #[test]
    fn any_words_are_partitioned(text in words()) {
        check_all(text.as_bytes());
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_long_text_is_partitioned(text in words(), times in 1_usize..12) {
        check_all(text.repeat(times).as_bytes());
    }
}

#[test]
fn deep_nesting_is_only_text() {
    let mut chunker = Chunker::new();
    let mut check_once = |text: &str| {
        for language in Language::ALL {
            check(text.as_bytes(), &chunker.chunk(*language, "some/path", text.as_bytes()));
        }
    };
    for unit in ["(", "[\n", "{\n"] {
        check_once(&unit.repeat(4_000));
        let deep = unit.repeat(100_000);
        let language = Language::named("rust").expect("it is known");
        check(deep.as_bytes(), &Chunker::new().chunk(language, "some/path", deep.as_bytes()));
    }
    for unit in ["class A {\n", "mod a {\n", "def a():\n ", "fn a() {\n", "> ", "- ", "<a>\n", "a(\n", "f(() => {\n"] {
        check_once(&unit.repeat(600));
    }
    let steps: Vec<String> = (0..600).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    check_once(&steps.concat());
}

#[test]
fn an_empty_file_has_no_chunk() {
    check_all(b"");
    assert!(Chunker::new().chunk(Language::OTHER, "x", b"").chunks.is_empty());
}
