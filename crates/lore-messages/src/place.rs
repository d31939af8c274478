//! Where the code of a message is by now: its file, its lines, and the definition that holds them.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use lore_chunk::{Chunker, Language};
use lore_git::{Ignores, Repository, StatCache, TreeLimits, WorktreeOptions, read_beneath};
use lore_model::{Anchor, CommitId, Message, RepoPath, SymbolKind};

use super::relocate::{Before, Now, likeness, lines, relocate, relocate_within};

/// The largest file in which lines are looked for.
pub(super) const FILE_MAX: u64 = 4 << 20;

/// Lines of code that are shown with a message.
const SHOWN_LINES: usize = 30;

/// Files that are looked through where a file is gone.
const SEARCHED_FILES: usize = 200;

/// How much of a file must be in another one for that to be the same file under another name: one that was not in the
/// commit at the time, or one of which that is not known.
const SAME_FILE: (f32, f32) = (0.5, 0.9);

/// The most code that is shown with a message.
const SHOWN_BYTES: usize = 4096;

/// How long code is looked for in one call. What was not found by then is told as it was.
const PATIENCE: Duration = Duration::from_secs(1);

/// A message and where its code is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The message.
    pub message: Message,
    /// Where its code is.
    pub place: Place,
}

impl Placed {
    /// The code as it was when the message was written, at most 30 lines and 4 KB.
    pub fn code_then(&self) -> Option<String> {
        let sent = &self.message.sent;
        let ((first, last), anchor) = sent.lines.zip(sent.anchor.as_ref())?;
        let from = |line: u32| line.checked_sub(anchor.first_line).map(|line| line + 1);
        let code = excerpt(&anchor.text, (from(first)?, from(last)?));
        Some(code).filter(|code| !code.is_empty())
    }
}

/// Where code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, below the project's root.
    pub file: RepoPath,
    /// The first and the last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// What became of the code since the message was written.
    pub fate: Fate,
    /// The definition that holds the lines.
    pub symbol: Option<SymbolAt>,
    /// The lines as they are now, at most 30 and 4 KB.
    pub code: Option<String>,
}

/// What became of the code of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is where it was.
    Here,
    /// It is unchanged, on other lines or in another file.
    Moved,
    /// Its text has changed.
    Edited,
    /// The lines are not in the file any more.
    Gone,
    /// The file is not there any more.
    FileGone,
    /// Nothing can be said: the message names no line, or the code was not there when it was written.
    Unknown,
}

impl Fate {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Moved => "moved",
            Self::Edited => "edited",
            Self::Gone => "gone",
            Self::FileGone => "file_gone",
            Self::Unknown => "unknown",
        }
    }
}

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolAt {
    /// Its name with what it is in: `Router::add`.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// Its first and last line.
    pub lines: (u32, u32),
}

/// The messages with where their code is.
pub(super) fn all(messages: Vec<Message>) -> Vec<Placed> {
    {
        let mut finder = Finder::new();
        messages.into_iter().map(|message| finder.place(message)).collect()
    }
}

/// The same for one.
pub(super) fn one(message: Message) -> Placed {
    Finder::new().place(message)
}

/// Looks for the code of messages, and reads each file once for all of them.
struct Finder {
    deadline: Instant,
    chunker: Chunker,
    files: HashMap<(PathBuf, RepoPath), Option<Rc<Vec<u8>>>>,
    symbols: HashMap<(PathBuf, RepoPath), Rc<Vec<SymbolAt>>>,
    /// The files of a work tree.
    lists: HashMap<PathBuf, Rc<Vec<RepoPath>>>,
    /// The files of a commit.
    trees: HashMap<(PathBuf, CommitId), Rc<HashSet<RepoPath>>>,
}

impl Finder {
    fn new() -> Self {
        Self {
            deadline: Instant::now() + PATIENCE,
            chunker: Chunker::new(),
            files: HashMap::new(),
            symbols: HashMap::new(),
            lists: HashMap::new(),
            trees: HashMap::new(),
        }
    }

    fn place(&mut self, message: Message) -> Placed {
        let found = if Instant::now() < self.deadline { self.find(&message) } else { None };
        let place = found.unwrap_or_else(|| as_it_was(&message, Fate::Unknown));
        Placed { message, place }
    }

    fn find(&mut self, message: &Message) -> Option<Place> {
        let sent = &message.sent;
        let root = sent.project.as_deref()?;
        let (file, text) = match self.read(root, &sent.file) {
            Some(text) => (sent.file.clone(), text),
            // Too large, a link, a folder: it is there, and nothing can be said of it.
            None if exists(root, &sent.file) => return None,
            None => {
                let anchor = sent.anchor.as_ref()?;
                match self.find_file(root, message, anchor) {
                    Some(found) => found,
                    None if root.exists() => return Some(as_it_was(message, Fate::FileGone)),
                    None => return None,
                }
            }
        };
        let renamed = file != sent.file;
        let Some(before) = sent.lines else {
            let fate = if renamed { Fate::Moved } else { Fate::Unknown };
            return Some(Place { file, lines: None, fate, symbol: None, code: None });
        };
        let anchor = sent.anchor.as_ref()?;
        let then = Before { text: &anchor.text, first_line: anchor.first_line, whole: anchor.whole, lines: before };
        let (lines, fate) = match relocate(then, &text, self.deadline) {
            Now::At(now) if now == before && !renamed => (now, Fate::Here),
            Now::At(now) => (now, Fate::Moved),
            Now::Edited(now) => (now, Fate::Edited),
            Now::Gone => return Some(Place { file, ..as_it_was(message, Fate::Gone) }),
            Now::Unknown => return None,
        };
        let symbols = self.symbols_of(root, &file, &text);
        let mut symbol = innermost(&symbols, lines).cloned();
        let (mut lines, mut fate) = (lines, fate);
        // Equal lines of two definitions that changed places: the one that was meant is the one in its own definition.
        if let Some(own) = anchor.symbol.as_ref().filter(|own| symbol.as_ref().is_none_or(|found| found.name != **own))
            && let Some(own) = symbols.iter().find(|symbol| symbol.name == *own)
            && let Some(found) = relocate_within(then, &text, own.lines)
        {
            (lines, fate, symbol) = (found, Fate::Moved, Some(own.clone()));
        }
        let code = Some(excerpt(&text, lines));
        Some(Place { file, lines: Some(lines), fate, symbol, code })
    }

    fn read(&mut self, root: &Path, file: &RepoPath) -> Option<Rc<Vec<u8>>> {
        let key = (root.to_owned(), file.clone());
        let read = self.files.entry(key).or_insert_with(|| match read_beneath(root, file, FILE_MAX) {
            Ok(text) => text.map(Rc::new),
            Err(error) => {
                tracing::debug!(%error, %file, "the file of a message cannot be read");
                None
            }
        });
        read.clone()
    }

    fn symbols_of(&mut self, root: &Path, file: &RepoPath, text: &[u8]) -> Rc<Vec<SymbolAt>> {
        let chunker = &mut self.chunker;
        let known = self.symbols.entry((root.to_owned(), file.clone()));
        Rc::clone(known.or_insert_with(|| Rc::new(symbols(chunker, file, text))))
    }

    /// The file under another name: the one that has most of its text.
    fn find_file(&mut self, root: &Path, message: &Message, anchor: &Anchor) -> Option<(RepoPath, Rc<Vec<u8>>)> {
        let file = &message.sent.file;
        let files = self.list(root)?;
        // What was there already when the message was written is another file, however alike.
        let others = message.sent.head.and_then(|head| self.tree(root, head));
        let needed = if others.is_some() { SAME_FILE.0 } else { SAME_FILE.1 };
        let is_new = |path: &&RepoPath| others.as_ref().is_none_or(|others| !others.contains(*path));
        let name = |path: &RepoPath| path.as_bytes().rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
        let end =
            |path: &RepoPath| name(path).and_then(|name| name.rsplit(|byte| *byte == b'.').next().map(<[u8]>::to_vec));
        let (own_name, own_end) = (name(file), end(file));
        // Those of the same name first, then those of the same kind.
        let mut likely: Vec<&RepoPath> = files.iter().filter(|path| end(path) == own_end).filter(is_new).collect();
        likely.sort_by_key(|path| name(path) != own_name);
        let mut best: Option<(f32, RepoPath, Rc<Vec<u8>>)> = None;
        for path in likely.into_iter().take(SEARCHED_FILES) {
            if Instant::now() >= self.deadline {
                break;
            }
            let Some(text) = self.read(root, path) else { continue };
            let alike = likeness(&anchor.text, &text);
            if alike >= needed && best.as_ref().is_none_or(|(known, ..)| alike > *known) {
                best = Some((alike, path.clone(), text));
            }
        }
        best.map(|(_, path, text)| (path, text))
    }

    /// The files of the work tree that git does not ignore, uncommitted ones included.
    fn list(&mut self, root: &Path) -> Option<Rc<Vec<RepoPath>>> {
        if let Some(known) = self.lists.get(root) {
            return Some(Rc::clone(known));
        }
        let repository = Repository::open(root).ok()?;
        let tree = match repository.head().ok()?.commit {
            Some(commit) => repository.tree_of(commit, &TreeLimits::default()).ok()?,
            None => lore_git::Tree::default(),
        };
        let base = tree.base();
        let (ignores, options) = (Ignores::new([], &[]), WorktreeOptions::default());
        let changes = repository.worktree_changes(&base, &ignores, &mut StatCache::default(), &options).ok()?;
        let mut files: Vec<RepoPath> = changes.changes.into_iter().map(|change| change.path).collect();
        files.extend(base.into_iter().map(|(path, _)| path));
        files.sort();
        files.dedup();
        Some(Rc::clone(self.lists.entry(root.to_owned()).or_insert(Rc::new(files))))
    }

    fn tree(&mut self, root: &Path, commit: CommitId) -> Option<Rc<HashSet<RepoPath>>> {
        let key = (root.to_owned(), commit);
        if let Some(known) = self.trees.get(&key) {
            return Some(Rc::clone(known));
        }
        let tree = Repository::open(root).ok()?.tree_of(commit, &TreeLimits::default()).ok()?;
        let files = tree.files.into_iter().map(|file| file.path).collect();
        Some(Rc::clone(self.trees.entry(key).or_insert(Rc::new(files))))
    }
}

fn as_it_was(message: &Message, fate: Fate) -> Place {
    let sent = &message.sent;
    Place { file: sent.file.clone(), lines: sent.lines, fate, symbol: None, code: None }
}

fn exists(root: &Path, file: &RepoPath) -> bool {
    let text = file.to_text();
    root.join(&*text).symlink_metadata().is_ok()
}

/// The innermost definition that holds these lines.
pub(super) fn symbol_at(file: &RepoPath, text: &[u8], lines: (u32, u32)) -> Option<SymbolAt> {
    innermost(&symbols(&mut Chunker::new(), file, text), lines).cloned()
}

fn symbols(chunker: &mut Chunker, file: &RepoPath, text: &[u8]) -> Vec<SymbolAt> {
    let path = file.to_text();
    let chunked = chunker.chunk(Language::of(&path, text), &path, text);
    let symbol = |symbol: lore_chunk::Symbol| SymbolAt {
        name: symbol.container.map_or_else(|| symbol.name.clone(), |outer| format!("{outer}::{}", symbol.name)),
        kind: symbol.kind,
        lines: (symbol.first_line, symbol.last_line),
    };
    chunked.symbols.into_iter().map(symbol).collect()
}

fn innermost(symbols: &[SymbolAt], (first, last): (u32, u32)) -> Option<&SymbolAt> {
    let holding = symbols.iter().filter(|symbol| symbol.lines.0 <= first && last <= symbol.lines.1);
    holding.min_by_key(|symbol| symbol.lines.1 - symbol.lines.0)
}

/// The lines as they are shown.
pub(super) fn excerpt(text: &[u8], (first, last): (u32, u32)) -> String {
    let index = |line: u32| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let wanted = (index(last) - index(first) + 1).min(SHOWN_LINES);
    let all = lines(text);
    let shown: Vec<_> = all.iter().skip(index(first)).take(wanted).map(|line| String::from_utf8_lossy(line)).collect();
    let mut code = shown.join("\n");
    if code.len() > SHOWN_BYTES {
        code.truncate(code.floor_char_boundary(SHOWN_BYTES));
        code.push('…');
    }
    code
}
