//! Dockerfiles: cut at their stages.
//!
//! In the grammar, a stage is one instruction like all others, so what belongs to a stage has to be found by lines
//! anyway.

use std::ops::Range;

use lore_model::{ChunkKind, SymbolKind};

use crate::{
    Chunker, Symbol,
    engine::{Draft, Outline, Source, cut_lines},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "dockerfile",
    extensions: &["dockerfile", "containerfile"],
    files: &["Containerfile", "Dockerfile", "Dockerfile.dev", "Dockerfile.prod", "Dockerfile.test"],
    method: Method::Own(outline),
    ..Row::LINES
};

/// A stage with more than this is cut.
const LARGE_LINES: usize = 80;
const LARGE_BYTES: usize = 4_000;

/// `FROM image AS name`, and where it stands.
struct Stage {
    line: usize,
    /// The line from which on comments are about it.
    begins: usize,
    name: String,
    signature: String,
}

#[expect(clippy::unnecessary_wraps, reason = "other languages leave files to lines")]
fn outline(_: &mut Chunker, source: &Source<'_>) -> Option<Outline> {
    let mut outline = Outline::default();
    let stages = stages(source, &mut outline.prose);
    if stages.first().is_none_or(|first| first.begins > LARGE_LINES) {
        outline.drafts = cut_lines(source.bytes, 0..source.bytes.len(), ChunkKind::Data);
        return Some(outline);
    }
    let mut start = 0;
    for (index, stage) in stages.iter().enumerate() {
        let next = stages.get(index + 1).map_or(source.line_count(), |next| next.begins);
        let range = start..source.line_start(next);
        start = range.end;
        describe(stage, &range, source, &mut outline);
        let text = source.bytes[range.clone()].trim_ascii_end().len();
        let mut drafts = vec![Draft::unnamed(range.end, ChunkKind::Data)];
        if text > LARGE_BYTES || source.lines_in(&range) > LARGE_LINES {
            drafts = cut_lines(source.bytes, range, ChunkKind::Data);
        }
        let count = u32::try_from(drafts.len()).unwrap_or(u32::MAX);
        for (number, draft) in (1..).zip(drafts) {
            let part = (count > 1).then_some((number, count));
            outline.drafts.push(Draft { name: Some(stage.name.clone()), symbol: Some(SymbolKind::Section), part, ..draft });
        }
    }
    Some(outline)
}

fn describe(stage: &Stage, range: &Range<usize>, source: &Source<'_>, outline: &mut Outline) {
    let number = |line: usize| u32::try_from(line + 1).unwrap_or(u32::MAX);
    let length = source.bytes[range.clone()].trim_ascii_end().len().max(1);
    outline.names.push((source.line_start(stage.line), stage.name.clone()));
    outline.symbols.push(Symbol {
        name: stage.name.clone(),
        kind: SymbolKind::Section,
        container: None,
        first_line: number(stage.line),
        last_line: number(source.line_of(range.start + length - 1).max(stage.line)),
        signature: stage.signature.clone(),
    });
}

/// Finds the stages, and the comments on the way.
fn stages(source: &Source<'_>, prose: &mut Vec<Range<usize>>) -> Vec<Stage> {
    let mut stages = Vec::new();
    let (mut goes_on, mut heredoc, mut begins) = (false, None::<Vec<u8>>, None);
    for number in 0..source.line_count() {
        let line = source.line(number).trim_ascii_start();
        if let Some(end) = &heredoc {
            if line == end {
                heredoc = None;
            }
            continue;
        }
        if line.starts_with(b"#") {
            let start = source.line_start(number) + source.line(number).len() - line.len();
            prose.push(start..start + line.len());
            begins = begins.or(Some(number));
            continue;
        }
        if !goes_on && let Some(stage) = stage(source, number, begins.unwrap_or(number)) {
            stages.push(stage);
        }
        goes_on = line.ends_with(b"\\") || (goes_on && line.is_empty());
        heredoc = ends_at(line);
        begins = None;
    }
    stages
}

fn stage(source: &Source<'_>, number: usize, begins: usize) -> Option<Stage> {
    let signature = crate::encoding::one_line(&source.encoding.decode(source.line(number)), 200);
    let mut words = signature.split_whitespace().filter(|word| !word.starts_with("--"));
    words.next().filter(|word| word.eq_ignore_ascii_case("from"))?;
    let image = words.next()?;
    let name = words.next().filter(|word| word.eq_ignore_ascii_case("as")).and_then(|_| words.next()).unwrap_or(image);
    Some(Stage { line: number, begins, name: name.to_owned(), signature: signature.trim().to_owned() })
}

/// The word that ends the text that begins with `<<WORD`.
fn ends_at(line: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memmem::find(line, b"<<")?;
    let word = line[at + 2..].trim_ascii_start();
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'"' | b'\'');
    let word: Vec<u8> = word.iter().take_while(is_part).copied().filter(|byte| !matches!(byte, b'"' | b'\'')).collect();
    (!word.is_empty() && !word[0].is_ascii_digit()).then_some(word)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn stages_are_chunks() {
        let text = "# syntax=docker/dockerfile:1\nARG V=1\n\n# Builds.\nFROM --platform=x rust:$V AS build\nRUN a && \\\n    # Why.\n    FROM b\nRUN <<EOF\nFROM nothing\nEOF\n\n# Runs.\n# Always.\nFROM debian\nCOPY --from=build /x /x\nCMD [\"x\"]\n\nfrom build as Test\n";
        check("dockerfile", text, &expect![[r#"
            data 1-12 section `build` prose # syntax=docker/dockerf… | # Builds. | # Why.
            data 13-18 section `debian` prose # Runs. # Always.
            data 19-19 section `Test`
              5-11 section `build`: FROM --platform=x rust:$V AS build
              15-17 section `debian`: FROM debian
              19-19 section `Test`: from build as Test
        "#]]);
    }

    #[test]
    fn large_stages_are_cut() {
        check("dockerfile", &format!("FROM a\n{}", "RUN something\n".repeat(100)), &expect![[r#"
            data 1-40 section `a` part 1/3
            data 41-80 section `a` part 2/3 names 
            data 81-101 section `a` part 3/3 names 
              1-101 section `a`: FROM a
        "#]]);
        check("dockerfile", "RUN something\n", &expect![[r#"
            data 1-1
        "#]]);
    }
}
