//! Parsers and compiled rules, loaded when a language is first met.

use std::{borrow::Cow, cell::Cell, collections::HashMap, fmt::Write as _, ops::ControlFlow, ops::Range};

use tree_sitter::{InputEdit, ParseOptions, ParseState, Parser, Point, Tree};

use super::rules::{Change, Hide, Role, Sees, Spec, children};
use crate::encoding::{Encoding, one_line};

/// How often the parser may report in before it is told to give up: so much at least, and once for so many bytes. It
/// reports in every 100 operations. Over six repositories, files need 0.0065 reports for a byte, the worst of them 0.022;
/// a megabyte of the worst nesting is given up after about a second.
const REPORTS: usize = 1_000;
const BYTES_PER_REPORT: usize = 12;

/// How often the parser may ask for so many bytes: so much at least, and once for so many bytes of the file. After an
/// error, the scanners of some languages look for the end of a string that never began, up to the end of the file: with
/// an error on every line, that is as much work as the file is long for each of its lines, and few reports.
const READS: usize = 32_768;
const BYTES_PER_READ: usize = 4_096;
const BYTES_PER_MORE_READ: usize = 64;

/// Text that is nested deeper than this is not parsed: to recover from an error costs as much as the place is deep.
const DEEPEST: usize = 1_000;

/// How often a file is parsed anew with something hidden.
const MOST_TRIES: usize = 2;

/// The languages loaded so far.
#[derive(Default)]
pub(super) struct Trees(HashMap<&'static str, Option<Loaded>>);

/// A parser with the rules of its language.
pub(super) struct Loaded {
    parser: Parser,
    cost_of_errors: fn(usize) -> usize,
    hide: Option<Hide>,
    depth: fn(&[u8]) -> usize,
    sees: Sees,
    /// The last file without errors, and its tree.
    last: Option<(Vec<u8>, Tree)>,
    /// The role of each kind of node, by its number.
    pub(super) rules: Rules,
}

/// The role of each kind of node, by its number.
pub(super) struct Rules(Vec<Option<Role>>);

impl Rules {
    fn compile(grammar: &tree_sitter::Language, spec: &Spec) -> Self {
        let role = |id: u16| {
            let kind = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))?;
            if kind == "ERROR" {
                return Some(Role::Open);
            }
            spec.rules.iter().rev().flat_map(|rules| rules.iter().rev()).find(|rule| rule.0 == kind).map(|rule| rule.1)
        };
        let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        Self((0..count).map(role).collect())
    }

    pub(super) fn role(&self, kind: u16) -> Option<Role> {
        // The number of ERROR lies far above all others.
        if kind == u16::MAX { Some(Role::Open) } else { self.0.get(usize::from(kind)).copied().flatten() }
    }
}

impl Trees {
    /// The parser of a language; `None` where the grammar does not fit the parser, which a test excludes.
    pub(super) fn load(&mut self, name: &'static str, spec: &'static Spec) -> Option<&mut Loaded> {
        let load = || {
            let grammar = (spec.grammar)();
            let mut parser = Parser::new();
            parser.set_language(&grammar).ok()?;
            let rules = Rules::compile(&grammar, spec);
            let Spec { cost_of_errors, hide, depth, sees, .. } = *spec;
            Some(Loaded { parser, cost_of_errors, hide, depth, sees, last: None, rules })
        };
        self.0.entry(name).or_insert_with(load).as_mut()
    }
}

impl Loaded {
    /// Parses a part of a file, and once more without what misled the parser; `None` where that is too much work.
    pub(super) fn read(&mut self, bytes: &[u8], part: Range<usize>) -> Option<Tree> {
        if (self.depth)(&bytes[part.clone()]) > DEEPEST {
            return None;
        }
        let tree = if part.len() == bytes.len() {
            self.parse_like_last(bytes)?
        } else {
            self.parse(bytes, part.clone(), None)?
        };
        let mut changes = self.hide.map(|hide| hide(bytes, part.clone(), &tree)).unwrap_or_default();
        if changes.is_empty() {
            return Some(tree);
        }
        let before = errors(&tree);
        for _ in 0..MOST_TRIES {
            let Some(other) = self.parse(&changed(bytes, &changes), part.clone(), None) else { break };
            let after = errors(&other);
            let count = changes.len();
            let is_open = changes.iter().all(|change| change.scope.is_empty());
            if !is_open {
                let broken = Broken::new(after.iter().map(|(error, _)| error));
                changes.retain(|change| !broken.overlaps(&change.scope));
            }
            let weight = |errors: &[(Range<usize>, usize)]| errors.iter().map(|error| error.1).sum::<usize>();

            let is_better = if is_open { weight(&after) < weight(&before) } else { changes.len() == count };
            if is_better {
                return Some(other);
            }
            if changes.is_empty() || changes.len() == count {
                break;
            }
        }
        Some(tree)
    }

    /// Parses a file; where it is a version of the last one, only what differs. `None` where that is too much work.
    ///
    /// Of a text without errors there is one tree, however it was come by; how errors are recovered from depends on what
    /// was there before, so a file that has some is parsed as a whole.
    fn parse_like_last(&mut self, bytes: &[u8]) -> Option<Tree> {
        let last = self.last.take().and_then(|(old, tree)| edited(&old, tree, bytes));
        let again = last.and_then(|last| self.parse(bytes, 0..bytes.len(), Some(&last)));
        let tree = match again.filter(|tree| !tree.root_node().has_error()) {
            Some(tree) => tree,
            None => self.parse(bytes, 0..bytes.len(), None)?,
        };
        if !tree.root_node().has_error() {
            self.last = Some((bytes.to_vec(), tree.clone()));
        }
        Some(tree)
    }

    /// Parses a part of a file, with the tree of an older version where there is one; `None` where that is too much work.
    fn parse(&mut self, bytes: &[u8], part: Range<usize>, old: Option<&Tree>) -> Option<Tree> {
        let bytes = match self.sees {
            Sees::Everything => Cow::Borrowed(bytes),
            Sees::Ascii => as_ascii(bytes),
        };
        let bytes = bytes.as_ref();
        let mut left = REPORTS + part.len() / BYTES_PER_REPORT;
        let cost = (self.cost_of_errors)(bytes.len());
        let reads = Cell::new(READS + part.len() / BYTES_PER_MORE_READ);
        let mut progress = |state: &ParseState| {
            left = left.saturating_sub(if state.has_error() { cost } else { 1 });
            if left == 0 || reads.get() == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut read = |at: usize, _: Point| {
            reads.set(reads.get().saturating_sub(1));
            // Where it was too much, the file ends here: then the parser has soon done.
            let end = if reads.get() == 0 { at } else { bytes.len().min(at + BYTES_PER_READ) };
            bytes.get(at..end).unwrap_or_default()
        };
        let ranges: &[tree_sitter::Range] = if part.len() == bytes.len() { &[] } else { &[place(bytes, part)] };
        self.parser.set_included_ranges(ranges).ok()?;
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = self.parser.parse_with_options(&mut read, old, Some(options));
        // A parser that gave up would otherwise go on with the same file.
        self.parser.reset();
        tree.filter(|_| reads.get() > 0)
    }
}

/// Text of the same length in which every byte that is not ASCII is a letter.
fn as_ascii(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.is_ascii() {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(bytes.iter().map(|byte| if byte.is_ascii() { *byte } else { b'x' }).collect())
}

/// The tree of an old text, told what is other in the new one; `None` where they have little in common.
fn edited(old: &[u8], mut tree: Tree, new: &[u8]) -> Option<Tree> {
    let most = old.len().min(new.len());
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let same_end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    if start + same_end < most / 2 {
        return None;
    }
    let (old_end, new_end) = (old.len() - same_end, new.len() - same_end);
    tree.edit(&InputEdit {
        start_byte: start,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position: point(old, start),
        old_end_position: point(old, old_end),
        new_end_position: point(new, new_end),
    });
    Some(tree)
}

fn point(bytes: &[u8], at: usize) -> Point {
    let row = memchr::memchr_iter(b'\n', &bytes[..at]).count();
    let column = at - memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |before| before + 1);
    Point { row, column }
}

/// A text with other bytes in some places.
fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut text = bytes.to_vec();
    for change in changes {
        let with = change.with.iter().copied().chain(std::iter::repeat(b' '));
        for (byte, with) in text[change.range.clone()].iter_mut().zip(with) {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = with;
            }
        }
    }
    text
}

/// Where errors are: a file may have as many of them as changes, so that not each is compared with each.
struct Broken(Vec<Reach>);

/// Where an error begins, and where it and all that begin before it have ended.
struct Reach {
    start: usize,
    end: usize,
}

impl Broken {
    /// The errors are sorted by where they begin.
    fn new<'a>(errors: impl Iterator<Item = &'a Range<usize>>) -> Self {
        let mut end = 0;
        let reaches = errors.map(|error| {
            end = end.max(error.end);
            Reach { start: error.start, end }
        });
        let reaches: Vec<Reach> = reaches.collect();
        debug_assert!(reaches.is_sorted_by_key(|reach| reach.start), "a tree is walked from its start to its end");
        Self(reaches)
    }

    /// Whether there is an error in the scope, or one that ends where it begins.
    fn overlaps(&self, scope: &Range<usize>) -> bool {
        let before = self.0.partition_point(|reach| reach.start < scope.end);
        self.0[..before].last().is_some_and(|reach| reach.end >= scope.start)
    }
}

/// Where a tree has errors, and how many tokens found no place in each.
fn errors(tree: &Tree) -> Vec<(Range<usize>, usize)> {
    let mut errors = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_missing() {
            errors.push((node.byte_range(), 1));
        } else if node.is_error() {
            let tokens = children(node).filter(|child| child.child_count() == 0).count();
            errors.push((node.byte_range(), 1 + tokens));
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return errors;
            }
        }
    }
}

fn place(bytes: &[u8], part: Range<usize>) -> tree_sitter::Range {
    tree_sitter::Range {
        start_byte: part.start,
        end_byte: part.end,
        start_point: point(bytes, part.start),
        end_point: point(bytes, part.end),
    }
}

/// A tree as text: one named node for each line, with its field and the start of its text.
pub(super) fn show(tree: &Tree, bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_named() {
            let field = cursor.field_name().map(|name| format!("{name}: ")).unwrap_or_default();
            let line = one_line(&Encoding::Utf8.decode(&bytes[node.byte_range()]), 60);
            let row = node.start_position().row + 1;
            let indent = "  ".repeat(cursor.depth() as usize);
            writeln!(text, "{indent}{field}{} [{row}] {line}", node.kind()).expect("because a string takes everything");
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return text;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Language, language::Method};

    proptest! {
        #[test]
        fn errors_overlap_a_scope_as_if_each_was_asked(
            errors in prop::collection::vec((0_usize..30, 0_usize..8), 0..8),
            scope in (0_usize..30, 0_usize..8),
        ) {
            let mut errors: Vec<Range<usize>> = errors.into_iter().map(|(at, length)| at..at + length).collect();
            errors.sort_unstable_by_key(|error| error.start);
            let scope = scope.0..scope.0 + scope.1;
            let each = errors.iter().any(|error| error.start < scope.end && error.end >= scope.start);
            prop_assert_eq!(Broken::new(errors.iter()).overlaps(&scope), each);
        }
    }

    /// Texts in several languages, each a function after the other.
    fn samples() -> Vec<(Language, String)> {
        let of = |name: &str, one: &str| {
            let text = (0..12).map(|number| one.replace("NN", &number.to_string())).collect::<String>();
            (Language::named(name).unwrap(), text)
        };
        vec![
            (Language::named("rust").unwrap(), include_str!("tree.rs").to_owned()),
            (Language::named("rust").unwrap(), include_str!("walk.rs").to_owned()),
            of(
                "python",
                "class CNN:\n    \"\"\"Doc.\"\"\"\n\n    @property\n    def f(self, a=NN):\n        if a:\n            return f\"{a}\"\n        return [x for x in a]\n\n",
            ),
            of(
                "go",
                "// FNN does.\nfunc (r *R) FNN(a int, b ...string) (int, error) {\n\tif a > NN {\n\t\treturn a, nil\n\t}\n\tfor i := range b {\n\t\tgo r.f(i)\n\t}\n\treturn 0, err\n}\n\n",
            ),
            of(
                "javascript",
                "/** Doc. */\nexport async function fNN({ a, b = NN }) {\n  const c = `${a} ${b}`;\n  return c.map((x) => x / 2).filter(/re/.test);\n}\n\n",
            ),
            of(
                "typescript",
                "interface INN<T extends object> {\n  a?: T;\n  f(x: number): Promise<void>;\n}\n\nfunction gNN<T>(x: T): x is T {\n  return true;\n}\n\n",
            ),
            of(
                "java",
                "class CNN extends B<String> {\n  /** Doc. */\n  @Override\n  public int f(List<String> a) throws E {\n    return a.stream().map(x -> x.size()).sum() + NN;\n  }\n}\n\n",
            ),
            of(
                "c",
                "/* Doc. */\nstatic int fNN(const char *a, struct s *b) {\n  if (!a) {\n    return -NN;\n  }\n  b->x = a[0];\n  return 0;\n}\n\n",
            ),
            of(
                "cpp",
                "template <typename T>\nclass CNN : public B {\n public:\n  T f(const T& a) const { return a + NN; }\n};\n\n",
            ),
            of(
                "ruby",
                "# Doc.\nclass CNN < B\n  def f(a, b: NN)\n    a.each do |x|\n      puts \"#{x}\"\n    end\n  end\nend\n\n",
            ),
            of(
                "kotlin",
                "/** Doc. */\nclass CNN(val a: Int = NN) {\n    fun f(x: String?): Int {\n        return x?.length ?: a\n    }\n}\n\n",
            ),
            of(
                "bash",
                "# Doc.\nfNN() {\n  local a=\"$1\"\n  if [ -n \"$a\" ]; then\n    echo \"${a}\" | grep NN\n  fi\n}\n\n",
            ),
        ]
    }

    /// The text with one of its lines, or one of its functions, gone, twice or elsewhere.
    fn another(text: &str, seed: u64) -> String {
        let parts: Vec<&str> = if seed.is_multiple_of(2) {
            text.split_inclusive("\n\n").collect()
        } else {
            text.split_inclusive('\n').collect()
        };
        let (at, other) = ((seed / 8) as usize % parts.len(), (seed / 977) as usize % parts.len());
        let mut parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
        match seed / 2 % 4 {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts[at].clone()),
            2 => parts.swap(at, other),
            _ => parts[at] = parts[at].replace("return", "return  ").replace('1', "12"),
        }
        parts.concat()
    }

    #[test]
    fn a_version_of_the_last_file_has_the_tree_that_it_has_by_itself() {
        let (mut same, mut whole) = (0, 0);
        for (language, text) in samples() {
            let Method::Tree(spec) = language.0.method else { panic!("{language} has no grammar") };
            let mut trees = Trees::default();
            let mut version = text;
            for seed in 0..60_u64 {
                let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17);
                let next = another(&version, seed);
                let bytes = next.as_bytes();
                let after = trees.load(language.name(), spec).unwrap().read(bytes, 0..bytes.len());
                let alone = Trees::default().load(language.name(), spec).unwrap().read(bytes, 0..bytes.len());
                let show = |tree: &Option<Tree>| tree.as_ref().map(|tree| show(tree, bytes));
                assert_eq!(show(&after), show(&alone), "{language}\n{next}");
                same += usize::from(alone.as_ref().is_some_and(|tree| !tree.root_node().has_error()));
                whole += usize::from(alone.as_ref().is_some_and(|tree| tree.root_node().has_error()));
                // What is broken stays behind, so that most versions are whole.
                if alone.is_some_and(|tree| !tree.root_node().has_error()) {
                    version = next;
                }
            }
        }
        assert!(same > 400 && whole > 40, "{same} {whole}");
    }

    #[test]
    fn a_scanner_does_not_read_the_rest_of_the_file_for_every_error() {
        let text = "actual a()\n".repeat(30_000);
        for language in Language::ALL {
            let Method::Tree(spec) = language.0.method else { continue };
            if !matches!(language.name(), "bash" | "kotlin") {
                continue;
            }
            let mut trees = Trees::default();
            let loaded = trees.load(language.name(), spec).unwrap();
            assert!(loaded.read(text.as_bytes(), 0..text.len()).is_none(), "{language}");
            assert!(loaded.read(&text.as_bytes()[..5_500], 0..5_500).is_some(), "{language}");
        }
    }

    #[test]
    fn every_grammar_loads_and_knows_the_nodes_that_its_rules_name() {
        for language in Language::ALL {
            let Method::Tree(spec) = language.0.method else { continue };
            assert!(Trees::default().load(language.name(), spec).is_some(), "{language}");
            let grammar = (spec.grammar)();
            // The last table is the language's own; those before it are another's, which may know more.
            for (kind, _) in *spec.rules.last().unwrap() {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{language} has no node `{kind}`");
            }
        }
    }
}
