//! For any bytes and any language: no panic, and the chunks are a partition.

use proptest::prelude::*;

use crate::{Chunker, Language, languages::testing::check_partition, symbols_text};

fn check_all(bytes: &[u8]) {
    let mut chunker = Chunker::new();
    for language in Language::ALL {
        let file = chunker.chunk(*language, "some/path", bytes);
        check_partition(bytes, &file);
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
        // What some languages hide from their parser.
        "EXPORT ",
        "#if A\n",
        "#else\n",
        "#endif\n",
        "template <",
        "//constructor(\n",
        "actual constructor(",
        "cfg_a! {\n",
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

/// What opens and closes something in one language or another.
const NESTING: &[(&str, &str)] = &[
    ("(", ")"),
    ("[\n", "]\n"),
    ("{\n", "}\n"),
    ("class A {\n", "}\n"),
    ("mod a {\n", "}\n"),
    ("def a():\n ", ""),
    ("fn a() {\n", "}\n"),
    ("> ", ""),
    ("- ", ""),
    ("<a>\n", "</a>\n"),
    ("a(\n", ")\n"),
    ("f(() => {\n", "})\n"),
    ("function a()\n", "end\n"),
    ("#if A\n", "#endif\n"),
    ("#if A\n{\n#else\nEXPORT a(\n", "#endif\n"),
    ("template <", ">"),
    ("cfg_a! {\n", "}\n"),
];

#[test]
fn deep_nesting_is_only_text() {
    let mut chunker = Chunker::new();
    let mut check_once = |text: &str| {
        for language in Language::ALL {
            check_partition(text.as_bytes(), &chunker.chunk(*language, "some/path", text.as_bytes()));
        }
    };
    for (open, close) in NESTING {
        check_once(&open.repeat(600));
        check_once(&[open.repeat(600), close.repeat(600)].concat());
    }
    let steps: Vec<String> = (0..600).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    check_once(&steps.concat());
}

/// What opens and closes something in a language's own way.
fn nested(language: Language) -> (&'static str, &'static str) {
    match language.name() {
        "bash" => ("if a; then\n", "fi\n"),
        "dockerfile" | "markdown" | "asciidoc" | "restructuredtext" | "text" | "other" | "config" => ("> ", ""),
        "html" | "vue" | "xml" => ("<a>\n", "</a>\n"),
        "json" | "yaml" | "toml" => ("[\n", "]\n"),
        "lua" => ("function a()\n", "end\n"),
        "makefile" => ("ifdef A\n", "endif\n"),
        "python" => ("(\n", ")\n"),
        "ruby" => ("def a\n", "end\n"),
        "sql" => ("(select\n", ")\n"),
        _ => ("a {\n", "}\n"),
    }
}

/// So deep that whoever runs this notices work that grows with the square of it.
#[test]
fn nesting_of_every_language_may_be_30_000_deep() {
    for language in Language::ALL {
        let (open, close) = nested(*language);
        let text = [open.repeat(30_000), close.repeat(30_000)].concat();
        check_partition(text.as_bytes(), &Chunker::new().chunk(*language, "some/path", text.as_bytes()));
    }
}

/// Not so deep that it is not parsed.
#[test]
fn nesting_of_every_language_may_be_900_deep() {
    let mut chunker = Chunker::new();
    for language in Language::ALL {
        let (open, close) = nested(*language);
        let (open, close) = (open.repeat(900), close.repeat(900));
        for text in [[&*open, &close].concat(), [&*open, &close, "EXPORT a {\n"].concat(), open] {
            check_partition(text.as_bytes(), &chunker.chunk(*language, "some/path", text.as_bytes()));
        }
    }
}

/// Each is too large for a chunk, so that what is in it is looked for. Whoever runs this notices work that grows with the
/// square of it.
#[test]
fn functions_in_functions_may_be_very_many() {
    let one = ["fn a() {\n".repeat(30), ";\n".repeat(85), "}\n".repeat(30)].concat();
    let text = one.repeat(500);
    let rust = Language::named("rust").unwrap();
    check_partition(text.as_bytes(), &Chunker::new().chunk(rust, "some/path", text.as_bytes()));
}

/// The same for what stands on one line behind very much white space. Other lines are as long together, so that it is parsed.
#[test]
fn very_many_things_may_stand_on_one_line() {
    let line = [" ".repeat(120_000), "fn a(){}".repeat(15_000), "\n".to_owned()].concat();
    let text = ["fn b() {\n", &line, "}\n", &line, &"// words\n".repeat(60_000)].concat();
    let rust = Language::named("rust").unwrap();
    let file = Chunker::new().chunk(rust, "some/path", text.as_bytes());
    check_partition(text.as_bytes(), &file);
    assert_eq!(file.plain, None);
}

/// Each branch is in the one before it, with no more brackets around it, and something in it is asked what it is in. Whoever runs
/// this notices work that grows with the square of it.
#[test]
fn branches_in_branches_may_be_very_many() {
    for (language, begin, branch, end) in [
        ("c", "void f(void) {\n", "if (a) { // b\n  A c(d);\n} else ", "{}\n}\n"),
        ("c", "struct f;\n#if A\n", "#elif A\ntypedef struct {\n  int b;\n} C;\n", "#endif\n"),
        ("cpp", "void f() {\n", "if (a) { // b\n  struct {\n    int c;\n  } d;\n} else ", "{}\n}\n"),
        ("java", "class A {\n  void f() {\n", "if (a) { // b\n  @B class C {\n    int d;\n  }\n} else ", "{}\n}\n}\n"),
        ("ruby", "if a\n  b\n", "elsif a\n  require \"b\"\n", "end\n"),
        ("swift", "func f() {\n", "if a { // func \n  let b = 1\n} else ", "{}\n}\n"),
    ] {
        let text = [begin, &branch.repeat(300_000 / branch.len()), end].concat();
        let file = Chunker::new().chunk(Language::named(language).unwrap(), "some/path", text.as_bytes());
        check_partition(text.as_bytes(), &file);
        assert_eq!(file.plain, None, "{language}");
    }
}

/// The same for what wraps one definition, again and again.
#[test]
fn a_template_may_be_one_of_very_many() {
    let text = ["template <class A>\n".repeat(50_000), "struct B {\n  int c;\n};\n".to_owned()].concat();
    let cpp = Language::named("cpp").unwrap();
    let file = Chunker::new().chunk(cpp, "some/path", text.as_bytes());
    check_partition(text.as_bytes(), &file);
    assert_eq!(file.plain, None);
}

/// The same for what stands below names that are as long as names are looked at.
#[test]
fn very_many_things_may_stand_below_very_long_names() {
    let modules = format!("mod {} {{\n", "a".repeat(4_000)).repeat(30);
    let text = [modules, "fn b(){}\n".repeat(80_000), "}\n".repeat(30)].concat();
    let rust = Language::named("rust").unwrap();
    let file = Chunker::new().chunk(rust, "some/path", text.as_bytes());
    check_partition(text.as_bytes(), &file);
    assert_eq!(file.plain, None);
}

#[test]
fn a_line_is_never_cut() {
    let line = "let x = [1, 2, 3]; # a < b ".repeat(40_000);
    for language in Language::ALL {
        for text in [line.clone(), format!("a\n{line}\nb\n"), line[..6_000].to_owned(), "x".repeat(900)] {
            check_partition(text.as_bytes(), &Chunker::new().chunk(*language, "some/path", text.as_bytes()));
        }
        let file = Chunker::new().chunk(*language, "some/path", line.as_bytes());
        assert_eq!(file.chunks.len(), 1, "{language}");
    }
}

/// A scanner that looks characters up in a table for 256 of them ends the process at the last ones.
#[test]
fn any_character_may_follow_any_sign() {
    let mut chunker = Chunker::new();
    for sign in (b' '..=b'~').filter(|byte| !byte.is_ascii_alphanumeric()).map(char::from) {
        for last in ['\u{100}', '\u{ffff}', '\u{1f600}', '\u{fffff}', '\u{10ffff}'] {
            let text = format!("a {sign}{last}\nb={sign}1..{last}\n{sign}{sign}{last}\n");
            for language in Language::ALL {
                let file = chunker.chunk(*language, "some/path", text.as_bytes());
                check_partition(text.as_bytes(), &file);
            }
        }
    }
}

#[test]
fn an_empty_file_has_no_chunk() {
    check_all(b"");
    assert!(Chunker::new().chunk(Language::OTHER, "x", b"").chunks.is_empty());
}
