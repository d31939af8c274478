//! The languages that Lore knows: one file for each, one row for each in `ALL`.
//!
//! To add a language:
//!
//! 1. Write `languages/<name>.rs`, with a `ROW` (its name, extensions, file names, `#!` programs) and, where there is a
//!    grammar, a `SPEC`: what each kind of syntax node is, as a table of `Role`s, and functions
//!    for what a table cannot say. `rust.rs` is the longest example, `go.rs` a short one, `tsx.rs` one that builds on
//!    another. To see the nodes of a file: `cargo run -p lore-chunk --example tree <file>`.
//! 2. Add its name to the list below. Where two languages share an extension, the one that comes first is asked first.
//! 3. Put tests in the same file: a source text and what is expected of it, for comments, nested types and text with
//!    errors. Begin with `expect![[""]]`, and `UPDATE_EXPECT=1 cargo test -p lore-chunk` fills it in for you to read.
//!
//! The grammar crate goes into this crate's manifest: it must depend on `tree-sitter-language` only, and its licence
//! must be on the list in `xtask/src/supply/licence.rs`.

/// Declares the modules and the table from one list.
macro_rules! languages {
    ($($name:ident,)*) => {
        $(pub(crate) mod $name;)*

        /// Every language, in the order in which they are tried.
        pub(crate) const ALL: &[crate::Language] = &[$(crate::Language(&$name::ROW),)*];
    };
}

languages! {
    asciidoc,
    bash,
    c,
    config,
    cpp,
    csharp,
    css,
    dart,
    dockerfile,
    go,
    hcl,
    html,
    java,
    javascript,
    json,
    kotlin,
    lua,
    makefile,
    markdown,
    other,
    php,
    python,
    restructuredtext,
    ruby,
    rust,
    scala,
    sql,
    swift,
    text,
    toml,
    tsx,
    typescript,
    vue,
    xml,
    yaml,
}

mod c_macros;

#[cfg(test)]
pub(crate) mod testing;
