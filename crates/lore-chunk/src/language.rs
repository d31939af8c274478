//! Which language a file is in: by its name, its extension or its `#!` line.

use std::fmt;

use lore_model::ChunkKind;

use crate::{
    engine::{Document, Spec},
    languages,
};

/// A language that Lore knows; a cheap handle to a row of [`languages`].
#[derive(Clone, Copy)]
pub struct Language(pub(crate) &'static Row);

/// How files are known to be in a language, and how they are cut.
pub(crate) struct Row {
    /// Its name for people and programs, in lower case.
    pub(crate) name: &'static str,
    /// Extensions without the dot, in lower case.
    pub(crate) extensions: &'static [&'static str],
    /// Whole file names.
    pub(crate) files: &'static [&'static str],
    /// Programs that a `#!` line names, without version numbers.
    pub(crate) programs: &'static [&'static str],
    /// Where several rows list an extension, the first whose test of the first bytes agrees gets the file.
    pub(crate) claims: Option<fn(&[u8]) -> bool>,
    /// How a file is cut.
    pub(crate) method: Method,
}

/// How a file is cut into chunks.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// With a grammar, at definitions.
    Tree(&'static Spec),
    /// By a scanner that finds headings.
    Document(Document),
    /// By a function of the language's own, for files that hold several languages.
    Own(Own),
    /// Into runs of lines.
    Lines(ChunkKind),
}

/// Cuts a file in a way of its own; `None` leaves it to lines.
pub(crate) type Own = fn(&mut crate::Chunker, &crate::engine::Source<'_>) -> Option<crate::engine::Outline>;

impl Method {
    /// What lines of a file are in which no structure was found.
    pub(crate) fn kind(self) -> ChunkKind {
        match self {
            Self::Tree(spec) => spec.kind,
            Self::Document(_) => ChunkKind::Documentation,
            Self::Own(_) => ChunkKind::Definitions,
            Self::Lines(kind) => kind,
        }
    }
}

impl Row {
    /// What rows are filled up from: `..Row::LINES`.
    pub(crate) const LINES: Self = Self {
        name: "",
        extensions: &[],
        files: &[],
        programs: &[],
        claims: None,
        method: Method::Lines(ChunkKind::Definitions),
    };
}

impl Language {
    /// Every language, in the order in which they are tried.
    pub const ALL: &'static [Self] = languages::ALL;

    /// Text of no known language.
    pub(crate) const OTHER: Self = Self(&languages::other::ROW);

    /// The language of a file by its path and its first bytes; text of no known language where nothing better is found.
    pub fn of(path: &str, head: &[u8]) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        let claims = |row: &Row| row.claims.is_none_or(|claims| claims(head));
        let find = |found: &dyn Fn(&Row) -> bool| Self::ALL.iter().copied().find(|it| found(it.0) && claims(it.0));
        if let Some(named) = find(&|row| row.files.contains(&file)) {
            return named;
        }
        if let Some((_, extension)) = file.rsplit_once('.') {
            let extension = extension.to_ascii_lowercase();
            if let Some(known) = find(&|row| row.extensions.contains(&extension.as_str())) {
                return known;
            }
        }
        let program = program(head);
        program.and_then(|program| find(&|row| row.programs.contains(&program))).unwrap_or(Self::OTHER)
    }

    /// What of a path decides how a file is read: its extension, or its name where that means something. Content of equal
    /// bytes and equal hints is cut into equal chunks.
    pub fn hint(path: &str) -> String {
        let file = path.rsplit('/').next().unwrap_or(path);
        let is_known = Self::ALL.iter().any(|language| language.0.files.contains(&file));
        if is_known || crate::Plain::is_told_by(file) {
            return file.to_owned();
        }
        file.rsplit_once('.').map_or_else(String::new, |(_, extension)| format!(".{}", extension.to_ascii_lowercase()))
    }

    /// The language that files with this extension are in.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| language.0.extensions.contains(&extension))
    }

    /// The language of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| language.name() == name)
    }

    /// Its name for people and programs, in lower case.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether its files are documents rather than code or data.
    pub(crate) fn is_documentation(self) -> bool {
        matches!(self.0.method, Method::Document(_))
    }
}

/// The program of a `#!` line, without its path and version.
fn program(head: &[u8]) -> Option<&str> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let base = |word| str::rsplit(word, '/').next().unwrap_or_default();
    let mut program = base(words.next()?);
    if program == "env" {
        program = base(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    Some(program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-'))
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Language {}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, head: &str, expected: &str) {
        assert_eq!(Language::of(path, head.as_bytes()).name(), expected, "{path}");
    }

    #[test]
    fn files_are_known_by_name_extension_and_first_line() {
        check("src/main.rs", "", "rust");
        check("A/B.PY", "", "python");
        check("x.tsx", "", "tsx");
        check("x.d.ts", "", "typescript");
        check("README.md", "", "markdown");
        check("README", "", "text");
        check("bin/run", "#!/usr/bin/env -S python3.12 -u\n", "python");
        check("bin/run", "#!/usr/bin/node\n", "javascript");
        check("bin/run", "#!", "other");
        check(".hidden", "", "other");
        check("weird.xyz", "", "other");
    }

    #[test]
    fn every_row_has_a_name_of_its_own_and_everything_in_lower_case() {
        for (index, language) in Language::ALL.iter().enumerate() {
            assert!(!language.name().is_empty());
            assert!(Language::ALL[..index].iter().all(|other| other != language), "{language} is there twice");
            assert!(language.0.extensions.iter().all(|it| !it.starts_with('.') && *it == it.to_ascii_lowercase()));
            assert_eq!(Language::named(language.name()), Some(*language));
        }
    }
}
