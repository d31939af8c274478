//! From cuts to chunks.

use std::{collections::HashSet, ops::Range};

use lore_model::{ChunkKind, SymbolKind};

use super::Source;
use crate::{Chunk, Chunked, Symbol, encoding::clip};

/// The longest path of containers that is kept, in characters. Each thing has its own copy of it, and there may be very many
/// things below very many long names.
pub(super) const LONGEST_PATH: usize = 300;

/// What is known of a file before its chunks are made.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Where the chunks end, in order; each begins where the former ended.
    pub(crate) drafts: Vec<Draft>,
    pub(crate) symbols: Vec<Symbol>,
    /// Names and where they are defined.
    pub(crate) names: Vec<(usize, String)>,
    pub(crate) prose: Vec<Range<usize>>,
    pub(crate) package: Option<String>,
    pub(crate) imports: u32,
    pub(crate) tags: Vec<String>,
}

/// A chunk to be.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Where it ends: a line border.
    pub(crate) end: usize,
    pub(crate) kind: ChunkKind,
    pub(crate) name: Option<String>,
    pub(crate) symbol: Option<SymbolKind>,
    pub(crate) container: Option<String>,
    pub(crate) part: Option<(u32, u32)>,
}

impl Draft {
    /// A chunk without a name.
    pub(crate) fn unnamed(end: usize, kind: ChunkKind) -> Self {
        Self { end, kind, name: None, symbol: None, container: None, part: None }
    }
}

impl Outline {
    /// Makes the chunks.
    pub(crate) fn finish(mut self, source: &Source<'_>) -> Chunked {
        self.symbols.sort_by_key(|symbol| symbol.first_line);
        self.names.sort_by_key(|name| name.0);
        self.prose.sort_by_key(|range| range.start);
        let chunks = self.chunks(source);
        let count = |is: fn(SymbolKind) -> bool| {
            u32::try_from(self.symbols.iter().filter(|symbol| is(symbol.kind)).count()).unwrap_or(u32::MAX)
        };
        Chunked {
            plain: None,
            decoded: source.encoding,
            types: count(SymbolKind::is_type),
            functions: count(SymbolKind::is_function),
            package: self.package,
            imports: self.imports,
            tags: self.tags,
            symbols: self.symbols,
            chunks,
        }
    }

    fn chunks(&mut self, source: &Source<'_>) -> Vec<Chunk> {
        let length = source.bytes.len();
        if let Some(last) = self.drafts.last_mut() {
            last.end = length;
        } else if length > 0 {
            self.drafts.push(Draft::unnamed(length, ChunkKind::Definitions));
        }
        join_scraps(&mut self.drafts, &self.names, source);
        let mut chunks: Vec<Chunk> = Vec::with_capacity(self.drafts.len());
        let mut names = std::mem::take(&mut self.names).into_iter().peekable();
        let mut prose = self.prose.as_slice();
        let mut start = 0;
        let mut line = 1;
        for draft in self.drafts.drain(..) {
            let bytes = start..draft.end.min(length);
            if bytes.is_empty() {
                continue;
            }
            let breaks = memchr::memchr_iter(b'\n', &source.bytes[bytes.clone()]).count();
            let ends_open = source.bytes[bytes.end - 1] != b'\n';
            let after = line + u32::try_from(breaks + usize::from(ends_open)).unwrap_or(u32::MAX);
            let mut chunk = Chunk {
                kind: draft.kind,
                bytes: bytes.clone(),
                first_line: line,
                last_line: after - 1,
                name: draft.name,
                symbol: draft.symbol,
                container: draft.container,
                part: draft.part,
                names: Vec::new(),
                prose: prose_in(&mut prose, &bytes, source),
            };
            while let Some((_, name)) = names.next_if(|(at, _)| *at < bytes.end) {
                chunk.names.push(name);
            }
            keep_first(&mut chunk.names);
            chunks.push(chunk);
            start = bytes.end;
            line = after;
        }
        chunks
    }
}

/// Keeps each name once, where it comes first. One line may define as many as half the file has room for.
fn keep_first(names: &mut Vec<String>) {
    let mut seen = HashSet::with_capacity(names.len());
    let is_first: Vec<bool> = names.iter().map(|name| seen.insert(name.as_str())).collect();
    drop(seen);
    let mut is_first = is_first.into_iter();
    names.retain(|_| is_first.next().unwrap_or_default());
}

/// A piece with less text than this says nothing by itself.
const SCRAP: usize = 60;

/// The head of a block with less text than this goes with the first thing in the block.
const HEAD: usize = 160;

/// Gives scraps between definitions (a lone `use`, a closing brace) and short heads (`impl A for B {`) to what follows, or
/// to what stands before where nothing follows: each chunk costs a vector and should say something.
fn join_scraps(drafts: &mut Vec<Draft>, names: &[(usize, String)], source: &Source<'_>) {
    // Scraps that were joined count with what follows, so that many of them do not make one large chunk.
    let (mut start, mut kept): (usize, Vec<Draft>) = (0, Vec::with_capacity(drafts.len()));
    let mut rest = std::mem::take(drafts).into_iter().peekable();
    let is_first = |draft: &Draft| draft.part.is_none_or(|(part, _)| part == 1);
    let takes = |draft: &Draft| draft.kind != ChunkKind::Documentation;
    while let Some(draft) = rest.next() {
        let end = draft.end;
        let bytes = start.min(end)..end.min(source.bytes.len());
        let next = rest.peek();
        let joined = match (&draft.name, draft.symbol) {
            _ if draft.part.is_some() || !takes(&draft) || bytes.len() > 2 * HEAD => false,
            (Some(name), Some(SymbolKind::Impl)) => {
                let is_inside =
                    |next: &Draft| next.container.as_ref().is_some_and(|container| container.ends_with(name));
                next.is_some_and(|next| is_inside(next) && is_first(next)) && text_length(source, &bytes) < HEAD
            }
            (Some(_), _) => false,
            (None, _) => !defines(names, &bytes) && text_length(source, &bytes) < SCRAP,
        };
        match next {
            Some(next) if joined && is_first(next) && takes(next) => continue,
            None if joined && kept.last().is_some_and(takes) => {
                if let Some(last) = kept.last_mut() {
                    last.end = end;
                }
            }
            _ => kept.push(draft),
        }
        start = end;
    }
    *drafts = kept;
}

/// Whether something is defined there.
fn defines(names: &[(usize, String)], bytes: &Range<usize>) -> bool {
    names.get(names.partition_point(|(at, _)| *at < bytes.start)).is_some_and(|(at, _)| *at < bytes.end)
}

/// How many bytes are no white space.
fn text_length(source: &Source<'_>, bytes: &Range<usize>) -> usize {
    source.bytes[bytes.clone()].iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}

/// Takes the prose of a chunk; neighbours with only white space between are one.
fn prose_in(prose: &mut &[Range<usize>], bytes: &Range<usize>, source: &Source<'_>) -> Vec<Range<usize>> {
    let mut inside: Vec<Range<usize>> = Vec::new();
    while let Some(range) = prose.first().filter(|range| range.start < bytes.end) {
        if let Some(clipped) = clip(range, bytes) {
            match inside.last_mut() {
                Some(last) if clipped.start <= last.end => last.end = last.end.max(clipped.end),
                Some(last) if source.bytes[last.end..clipped.start].trim_ascii().is_empty() => last.end = clipped.end,
                _ => inside.push(clipped),
            }
        }
        if range.end > bytes.end {
            // The rest of it is prose of the next chunk.
            break;
        }
        *prose = &prose[1..];
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_in_their_order() {
        let mut names = ["b", "a", "b", "c", "a"].map(str::to_owned).to_vec();
        keep_first(&mut names);
        assert_eq!(names, ["b", "a", "c"]);
    }
}
