//! Storage of code: chunks by content, and what is asked of them.

use std::{any::Any, collections::HashSet, fmt, ops::Range, sync::Arc};

use lore_model::{BlobId, ChunkKind, CommitId, LineCommit, RepoId, RepoPath, SymbolKind, Tip};

use crate::{NewPast, PastInfo, PastPart, PathVersion, Result, TextPlan, ViewVectors};

/// The vector length of the index's own model.
pub const DIMENSIONS: usize = 384;

/// Names a chunk by everything that decides how it is found: kind, language, what it defines, its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkKey(pub [u8; 16]);

impl fmt::Debug for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The number of a chunk inside one index: stable, never reused.
pub type ChunkId = u32;

/// The fields that words are found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// What the chunk defines, and what it is defined in.
    Names,
    /// Source text.
    Code,
    /// Comments and documents.
    Prose,
}

impl Field {
    /// Every field, in the order in which they are kept.
    pub const ALL: [Self; 3] = [Self::Names, Self::Code, Self::Prose];
}

/// How much a field counts in BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldWeight {
    /// Multiplies how often a word occurs.
    pub weight: f32,
    /// How much long chunks are held back: 0 not at all, 1 in proportion.
    pub length: f32,
}

/// One word that is looked for, as [`tokens`](crate::tokens) spells it.
#[derive(Debug, Clone, PartialEq)]
pub struct AskWord {
    /// The token.
    pub token: String,
    /// Multiplies what it contributes.
    pub weight: f32,
}

/// What is looked for in a view.
pub struct Ask<'a> {
    /// Words; at most 64 count for [`Scored::matched`].
    pub words: &'a [AskWord],
    /// Whether only chunks that have all the words are found by text.
    pub all_words: bool,
    /// How fields count, in the order of [`Field::ALL`].
    pub fields: [FieldWeight; 3],
    /// The query's vector, of length 1.
    pub vector: Option<&'a [f32]>,
    /// Added to the text scores of these chunks before the best are chosen.
    pub boosts: &'a [(ChunkId, f32)],
    /// Chunks that may be answers; statistics are those of the whole view all the same.
    pub allowed: Option<&'a (dyn Fn(ChunkId) -> bool + Sync)>,
    /// These are found in any case.
    pub also: &'a [ChunkId],
    /// So many of the best by text, and so many of the best by vector.
    pub top: usize,
    /// How surely the best by vector are the best.
    pub accuracy: Accuracy,
}

/// How surely the nearest are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accuracy {
    /// At least nine of the ten nearest, soonest.
    Fast,
    /// Nearly all of them.
    #[default]
    Balanced,
    /// All of them: every vector is compared.
    High,
}

impl Accuracy {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Balanced, Self::High];

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::High => "high",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|accuracy| accuracy.as_str() == word)
    }
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The chunk.
    pub chunk: ChunkId,
    /// BM25 over the fields, boost included.
    pub text: f32,
    /// The cosine with the query's vector; `None` where either has none.
    pub vector: Option<f32>,
    /// Bit n: word n of the question occurs.
    pub matched: u64,
}

/// A chunk as the store takes it.
#[derive(Debug, Clone, Copy)]
pub struct ChunkInput<'a> {
    /// Its name by content.
    pub key: ChunkKey,
    /// Its exact bytes.
    pub text: &'a [u8],
    /// What it defines.
    pub names: &'a str,
    /// Its source text.
    pub code: &'a str,
    /// Its comments and prose.
    pub prose: &'a str,
    /// Its vector, of length 1, if it is to be found by meaning.
    pub vector: Option<&'a [f32; DIMENSIONS]>,
    /// Whether its text is whole lines of a file that git takes for text, which exact search looks through. Chunks
    /// with the same key say the same.
    pub exact: bool,
}

/// A chunk made ready by a [`ChunkSink`]; only the store that made it can open it.
#[derive(Clone)]
pub struct PreparedChunk(pub Arc<dyn Any + Send + Sync>);

/// Where chunks are made ready, on any number of threads at once.
pub trait ChunkSink: Send + Sync {
    /// Whether the caller has to supply this chunk: `true` exactly once for each that the store does not hold.
    fn claim(&self, key: &ChunkKey) -> bool;

    /// Does the work that needs no order.
    fn prepare(&self, chunk: &ChunkInput<'_>) -> PreparedChunk;
}

/// One chunk's place in a file's content; `C` names the chunk by content or by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<C> {
    /// Which chunk.
    pub chunk: C,
    /// What it is.
    pub kind: ChunkKind,
    /// Where it stands in the file; empty for an outline, which is not in the file.
    pub bytes: Range<u32>,
    /// The first line, from 1.
    pub first_line: u32,
    /// The last line.
    pub last_line: u32,
    /// What it defines first of all.
    pub name: Option<String>,
    /// Everything that it defines, where that is more or other than its name.
    pub names: Vec<String>,
    /// What its name stands for.
    pub symbol: Option<SymbolKind>,
    /// What it is defined in.
    pub container: Option<String>,
    /// Which part of how many, where a large definition was split.
    pub part: Option<(u32, u32)>,
}

impl<C> Entry<C> {
    /// The same entry naming its chunk in another way; `None` where `name` finds no name.
    pub fn rename<D>(self, name: impl FnOnce(C) -> Option<D>) -> Option<Entry<D>> {
        let Self { chunk, kind, bytes, first_line, last_line, name: defines, names, symbol, container, part } = self;
        let chunk = name(chunk)?;
        Some(Entry { chunk, kind, bytes, first_line, last_line, name: defines, names, symbol, container, part })
    }
}

/// What is known of a file's content, whatever path and repository it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRecord<C> {
    /// Its language.
    pub language: String,
    /// Its size in bytes.
    pub size: u64,
    /// How many lines it has.
    pub lines: u32,
    /// Why it is not found by meaning, where it is not.
    pub plain: Option<String>,
    /// The package or module that it declares.
    pub package: Option<String>,
    /// How many imports, types and functions it has.
    pub counts: [u32; 3],
    /// Tags that its text carries.
    pub tags: Vec<String>,
    /// Its chunks, in order of lines; the outline, if there is one, comes last.
    pub entries: Vec<Entry<C>>,
}

/// Names what a file's content was read as: the content, and what its path said of the language.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobKey {
    /// The content.
    pub blob: BlobId,
    /// What of its path decides how it is read: an extension, or a name that means something.
    pub hint: Arc<str>,
}

/// A file's content, read.
pub struct NewBlob {
    /// What was read.
    pub key: BlobKey,
    /// What was found.
    pub record: BlobRecord<ChunkKey>,
    /// The chunks that [`ChunkSink::claim`] asked for.
    pub chunks: Vec<(ChunkKey, PreparedChunk)>,
}

/// A file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SnapshotFile {
    /// Its path.
    pub path: RepoPath,
    /// Its content.
    pub key: BlobKey,
}

/// Names a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(pub i64);

/// A commit's tree that is to be published.
#[derive(Debug, Clone)]
pub struct NewSnapshot {
    /// The commit.
    pub commit: CommitId,
    /// Its files in order of their paths. Content that the store does not hold is left out, and the snapshot is partial.
    pub files: Vec<SnapshotFile>,
    /// Files that were left out on purpose.
    pub left_out: Vec<LeftOut>,
}

/// A file that is not searched, or not by meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeftOut {
    /// Why.
    pub reason: String,
    /// Which.
    pub path: RepoPath,
}

/// What a sync of code leaves behind.
#[derive(Debug, Clone)]
pub struct CodeEnd {
    /// The moment (seconds since 1970).
    pub at: i64,
    /// Everything but the content that decides how content is read.
    pub rules: String,
    /// Everything but the tips that decides which files are taken.
    pub scope: String,
    /// Tips and the commits they name.
    pub tips: Vec<Tip>,
    /// The trees of those commits, each once.
    pub snapshots: Vec<NewSnapshot>,
    /// Whether more is to come.
    pub partial: bool,
}

/// What is indexed of a repository's code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeState {
    /// When it was last brought up to date.
    pub at: Option<i64>,
    /// Everything but the content that decided how content was read.
    pub rules: String,
    /// Everything but the tips that decided which files were taken.
    pub scope: String,
    /// The tips.
    pub tips: Vec<Tip>,
    /// The snapshots, with the commits they are of.
    pub snapshots: Vec<SnapshotInfo>,
    /// Whether a sync is under way or was cut off.
    pub partial: bool,
    /// Whether every snapshot holds all files of its tree.
    pub complete: bool,
    /// What is kept of the repository's commits for ranking.
    pub evidence: Option<EvidenceInfo>,
    /// What is kept of its past, where that is wanted.
    pub past: Option<PastInfo>,
}

/// What is known of evidence without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceInfo {
    /// Another number whenever it was made anew.
    pub number: i64,
    /// Everything that decided what it says.
    pub made_of: String,
}

/// What is known of a snapshot without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its id.
    pub id: SnapshotId,
    /// Its commit.
    pub commit: CommitId,
    /// How many files it has.
    pub files: u64,
    /// How many chunks these have.
    pub chunks: u64,
    /// How many lines.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What is asked of a snapshot for people: languages, and what is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotSummary {
    /// Files, lines and chunks by language, the most lines first.
    pub languages: Vec<(String, [u64; 3])>,
    /// Files that are not searched, or not by meaning, by reason and path.
    pub left_out: Vec<LeftOut>,
}

/// Uncommitted work on top of a snapshot.
#[derive(Clone, Default)]
pub struct OverlayInput {
    /// Paths of the snapshot that are gone or replaced.
    pub hidden: Vec<RepoPath>,
    /// Files that take their place or are new.
    pub files: Vec<OverlayFile>,
}

/// What a part of a view shows.
#[derive(Debug, Clone, Default)]
pub enum Base {
    /// Nothing of a repository: what lies on top counts as [`RepoId`] 0.
    #[default]
    Nothing,
    /// A tip as it was indexed.
    Snapshot(SnapshotId),
    /// Some files of a repository.
    Tree(TreePart),
    /// What was there at some time.
    Past(PastPart),
}

/// Files of a repository, whatever commit they are of.
#[derive(Debug, Clone)]
pub struct TreePart {
    /// The repository.
    pub repo: RepoId,
    /// The rules under which their content was read.
    pub rules: String,
    /// The files in order of their paths. The store holds the content of each.
    pub files: Arc<Vec<SnapshotFile>>,
}

/// One part of a view.
#[derive(Clone, Default)]
pub struct ViewPart {
    /// What is below.
    pub base: Base,
    /// What lies on top of it.
    pub overlay: OverlayInput,
}

impl ViewPart {
    /// A tip as it was indexed.
    pub fn snapshot(id: SnapshotId) -> Self {
        Self { base: Base::Snapshot(id), overlay: OverlayInput::default() }
    }
}

/// A file of the work tree, read.
#[derive(Clone)]
pub struct OverlayFile {
    /// Its path.
    pub path: RepoPath,
    /// What was found.
    pub record: BlobRecord<ChunkKey>,
    /// All its chunks.
    pub chunks: Vec<(ChunkKey, PreparedChunk)>,
}

/// A file that can be found in a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewFile {
    /// The repository.
    pub repo: RepoId,
    /// The path.
    pub path: RepoPath,
    /// Its language.
    pub language: Arc<str>,
    /// Whether it is uncommitted.
    pub uncommitted: bool,
    /// The commits whose trees have this version of it, in a view of the past.
    pub version: Option<Range<u32>>,
}

/// Some snapshots with uncommitted work on top, as one searchable whole. It never changes.
///
/// Calls keep the thread busy: make them where that does not matter.
pub trait CodeView: Send + Sync {
    /// Its files in order of repository and path.
    fn files(&self) -> &[ViewFile];

    /// How many different chunks it has.
    fn chunk_count(&self) -> usize;

    /// The chunks that have a vector of the index's own model, ascending: those that are found by meaning.
    fn meant(&self) -> Vec<ChunkId>;

    /// What the set of another model has for this view by now; `None` where there is no such set.
    fn vectors(&self, model: &str) -> Result<Option<Arc<dyn ViewVectors>>>;

    /// The chunks of the file with this index, in the order of its record.
    fn chunks_of(&self, file: usize) -> &[ChunkId];

    /// The files in which a chunk stands, in order.
    fn files_with(&self, chunk: ChunkId) -> &[u32];

    /// When a chunk stood at the path of the file with this index, as ranges of commits, ascending; none where the view is
    /// not of the past.
    fn standing(&self, file: usize, chunk: ChunkId) -> Vec<Range<u32>>;

    /// Whether the newest commit of the line has a file at the path of the file with this index, in a view of the past.
    fn is_at_tip(&self, file: usize) -> bool;

    /// Reads together what [`Self::record`] will be asked for.
    fn prefetch(&self, files: &[u32]) -> Result<()>;

    /// What is known of the file with this index.
    fn record(&self, file: usize) -> Result<Arc<BlobRecord<ChunkId>>>;

    /// The exact bytes of a chunk.
    fn text(&self, chunk: ChunkId) -> Result<Vec<u8>>;

    /// The chunks that fit best, by text and by vector, in order of their content's name.
    fn search(&self, ask: &Ask<'_>) -> Result<Vec<Scored>>;

    /// In how many chunks a token occurs.
    fn frequency(&self, token: &str) -> Result<u32>;

    /// The chunks of exact text that may be what the plan asks for, ascending. None that is so is missing; how many
    /// others come along depends on how the store keeps them.
    fn chunks_with(&self, plan: &TextPlan) -> Result<Vec<ChunkId>>;

    /// Calls `visit` with the exact bytes of each of these chunks, which ascend, until it returns false.
    fn for_each_text(&self, chunks: &[ChunkId], visit: &mut dyn FnMut(ChunkId, &[u8]) -> bool) -> Result<()>;

    /// The chunks that may have a word which so many changes of a letter make of this one, ascending; whatever the case.
    /// None that has one is missing, as far as [`tokens`](crate::tokens) gives words whole.
    fn chunks_with_word_near(&self, word: &str, changes: usize) -> Result<Vec<ChunkId>>;

    /// Whether a chunk has lines of a file: an outline has none.
    fn is_exact(&self, chunk: ChunkId) -> bool;

    /// Of the chunks in which no word is known, and nothing is found by words, those that may be what the plan asks for,
    /// ascending.
    fn wordless_chunks_with(&self, plan: &TextPlan) -> Result<Vec<ChunkId>>;
}

/// Reads code. Each call sees one consistent state and never waits for a writer.
pub trait CodeStore: Send + Sync {
    /// What is indexed of a repository.
    fn code_state(&self, repo: RepoId) -> Result<CodeState>;

    /// Languages, and what is left out, of a snapshot.
    fn summarise(&self, snapshot: SnapshotId) -> Result<SnapshotSummary>;

    /// Makes chunks ready for an overlay: every chunk is to be supplied.
    fn overlay_sink(&self) -> Arc<dyn ChunkSink>;

    /// Lays snapshots, each with its repository's uncommitted work, beside each other. [`StoreError::Absent`](crate::StoreError::Absent) where one has
    /// been collected meanwhile: ask for the state again. Without any snapshot, nothing on disk is read.
    fn open_view(&self, parts: Vec<ViewPart>) -> Result<Arc<dyn CodeView>>;

    /// Which of these were read under these rules.
    fn held_blobs(&self, rules: &str, keys: Vec<BlobKey>) -> Result<HashSet<BlobKey>>;

    /// The commits of a past, oldest first, with its number; `None` where there is none.
    fn past_commits(&self, repo: RepoId) -> Result<Option<(i64, Arc<Vec<LineCommit>>)>>;

    /// What stood at a path, oldest first, by the past of this number: commits are counted as [`Self::past_commits`] gave them.
    /// [`StoreError::Absent`](crate::StoreError::Absent) where another one has taken its place meanwhile.
    fn path_versions(&self, repo: RepoId, past: i64, path: &RepoPath) -> Result<Vec<PathVersion>>;

    /// The evidence as it was put, with its number; `None` where there is none.
    fn evidence(&self, repo: RepoId) -> Result<Option<(i64, Vec<u8>)>>;

    /// Bytes on disk that hold code.
    fn code_bytes(&self) -> Result<u64>;

    /// Looks for damage in what is derived of code; `deep` compares every byte with its checksum. Empty where it is sound.
    fn check_code(&self, deep: bool) -> Result<Vec<String>>;
}

/// Writes code.
pub trait CodeWriter: Send + Sync {
    /// Notes that reading has begun under these rules. What other rules made stays until [`Self::end_code`].
    fn begin_code(&self, repo: RepoId, rules: &str) -> Result<CodeState>;

    /// Which of these were read under these rules.
    fn known_blobs(&self, rules: &str, keys: Vec<BlobKey>) -> Result<HashSet<BlobKey>>;

    /// Where chunks are made ready.
    fn sink(&self) -> Arc<dyn ChunkSink>;

    /// Adds what was read. It is durable, and visible to [`Self::end_code`], after [`Self::flush`].
    fn put_blobs(&self, rules: &str, blobs: Vec<NewBlob>) -> Result<()>;

    /// Writes what was put.
    fn flush(&self) -> Result<()>;

    /// Names the new tips and their snapshots, in one transaction; snapshots that no tip names are dropped.
    fn end_code(&self, repo: RepoId, end: CodeEnd) -> Result<CodeState>;

    /// Keeps what the commits of a repository say about its files, in place of what was kept. `made_of` names everything
    /// that decided it.
    fn put_evidence(&self, repo: RepoId, made_of: &str, bytes: Vec<u8>) -> Result<()>;

    /// Says whether the past of a repository is to be kept; where it is not, what is kept of it goes.
    fn want_past(&self, repo: RepoId, wanted: bool) -> Result<()>;

    /// Keeps the past of a repository, in one transaction.
    fn put_past(&self, repo: RepoId, past: NewPast) -> Result<PastInfo>;

    /// Makes everything of these repositories be read again, whatever the store holds. What is there answers until
    /// [`Self::end_code`] replaces it, and nothing of it is used for what is read from now on.
    fn retire_code(&self, repos: Vec<RepoId>) -> Result<()>;

    /// Removes what no snapshot needs, and joins small pieces. Readers are not disturbed. Cheap where there is little to do.
    fn collect(&self) -> Result<Collected>;
}

/// What [`CodeWriter::collect`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Chunks that are gone.
    pub chunks: u64,
    /// Bytes that were freed.
    pub bytes: u64,
}
