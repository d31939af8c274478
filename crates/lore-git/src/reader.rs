//! Reads commits with their file lists and patches, exactly as git prints them.

use std::{
    collections::HashSet,
    convert::Infallible,
    io::Read,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lore_model::{CommitId, CommitRecord, PatchAbsence, Person, RepoPath};

use crate::{
    Cancel, Git, GitError, Repository, Result,
    first_parents::MOST_PRINTED,
    missing::{self, Completeness},
    own_dir,
    program::{Call, MEMORY},
    stream::{Record, Records, format_argument},
    weight::{Weight, weigh},
};

/// Flags that make git's output independent of any configuration.
const NEUTRAL: [&str; 15] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "-l1000",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--encoding=UTF-8",
    "--no-notes",
    "--no-show-signature",
    "--diff-merges=first-parent",
    "--root",
    "-z",
];

/// What of a commit is wanted.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Prefixes of paths that are left out of lists and patches.
    pub excludes: Vec<String>,
    /// Patches over so many bytes are not kept.
    pub patch_cap: usize,
    /// How many characters of the diff make the preview.
    pub preview_chars: usize,
}

/// One commit as read.
pub type ReadCommit = CommitRecord<Diff>;

/// The diff of a commit.
#[derive(Debug)]
pub enum Diff {
    /// Git's exact bytes.
    Bytes(Vec<u8>),
    /// It is not to be kept.
    Absent(PatchAbsence),
}

/// Reads one repository's history. Cheap to clone; several may read at once.
#[derive(Debug, Clone)]
pub struct Reader {
    git: Git,
    own_dir: PathBuf,
    repository: Repository,
    cancel: Cancel,
    /// Whether many commits touch excluded paths, as far as was seen.
    excluded_seen: Arc<AtomicBool>,
}

/// Commits that are being read, over all runs of git that it takes.
struct Reading<'a> {
    scope: &'a Scope,
    /// Those that were not handed over yet.
    left: HashSet<CommitId>,
    each: &'a mut dyn FnMut(ReadCommit) -> ControlFlow<()>,
}

impl<'a> Reading<'a> {
    fn new(ids: &[CommitId], scope: &'a Scope, each: &'a mut dyn FnMut(ReadCommit) -> ControlFlow<()>) -> Self {
        Self { scope, left: ids.iter().copied().collect(), each }
    }

    /// Those of these commits that are still to come, in their order.
    fn rest(&self, ids: &[CommitId]) -> Vec<CommitId> {
        ids.iter().filter(|id| self.left.contains(id)).copied().collect()
    }

    fn hand_over(&mut self, record: Record, absent: Option<PatchAbsence>) -> Result<()> {
        self.left.remove(&record.id);
        if (self.each)(finish(record, self.scope, absent)).is_break() { Err(GitError::Cancelled) } else { Ok(()) }
    }
}

/// How much git is asked to print.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Patches,
    Lists,
    Messages,
}

/// How commits are read in one run of git.
#[derive(Clone, Copy)]
struct Pass {
    depth: Depth,
    /// Why there are no patches, where there are none.
    absent: Option<PatchAbsence>,
    /// How many bytes of memory git may take.
    memory: u64,
    /// How long it may print nothing.
    stall: Option<Duration>,
}

/// All that is wanted. Few commits need as much memory; one that does is weighed, and read alone with more if it is ordinary.
const WHOLE: Pass = Pass { depth: Depth::Patches, absent: None, memory: 400 << 20, stall: Some(STALL) };

/// How long git may print nothing of the commits that it is given before they are weighed. A few trees can name more paths
/// than git compares in an hour.
const STALL: Duration = Duration::from_secs(3);

/// As much as there is without the objects that are missing.
const fn without_objects(depth: Depth) -> Pass {
    Pass { depth, absent: Some(PatchAbsence::MissingObjects), stall: None, ..WHOLE }
}

/// As much as there is without a diff that git cannot make.
const fn without_diff(depth: Depth) -> Pass {
    Pass { depth, absent: Some(PatchAbsence::TooHeavy), stall: None, ..WHOLE }
}

impl Reader {
    /// Prepares the directory of Lore's own in which git will run: `<root>/<key>.git`.
    pub fn open(git: &Git, root: &Path, key: &str, repository: Repository, cancel: Cancel) -> Result<Self> {
        let own_dir = own_dir::place(root, key);
        own_dir::prepare(git, &own_dir, &repository)?;
        Ok(Self { git: git.clone(), own_dir, repository, cancel, excluded_seen: Arc::default() })
    }

    /// A call of git in that directory.
    pub(crate) fn call(&self) -> Call {
        self.git.inside(&self.own_dir)
    }

    /// The repository that is read.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Removes that directory.
    pub fn remove(root: &Path, key: &str) -> Result<()> {
        own_dir::remove(&own_dir::place(root, key))
    }

    /// Commits that `tips` reach and `hidden` do not, newest first.
    pub fn rev_list(&self, tips: &[CommitId], hidden: &[CommitId]) -> Result<Vec<CommitId>> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let input = lines(tips.iter().map(CommitId::to_hex).chain(hidden.iter().map(|id| format!("^{id}"))));
        let call = self.call().subcommand("rev-list").arg("--stdin");
        self.printed(call, input, MOST_PRINTED)?
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| CommitId::from_hex(line).map_err(|error| GitError::Stream(error.to_string())))
            .collect()
    }

    /// The author of each of these commits, as recorded.
    pub fn authors(&self, ids: &[CommitId]) -> Result<Vec<(CommitId, Person)>> {
        let (scope, mut authors) = (Scope::default(), Vec::with_capacity(ids.len()));
        let mut each = |commit: ReadCommit| -> ControlFlow<()> {
            authors.push((commit.id, commit.author));
            ControlFlow::Continue(())
        };
        self.pass(ids, without_objects(Depth::Messages), &mut Reading::new(ids, &scope, &mut each))?;
        Ok(authors)
    }

    /// Reads these commits and hands each to `each`, in no promised order, until it breaks.
    ///
    /// Commits whose objects are partly missing are read as far as they go.
    ///
    /// Pathspecs cost git some 7 % more and change nothing in a commit that touches no excluded path. So where such paths
    /// are not expected, commits are read without pathspecs first, and the few that touch one are read once more.
    pub fn read(
        &self,
        ids: &[CommitId],
        scope: &Scope,
        each: &mut dyn FnMut(ReadCommit) -> ControlFlow<()>,
    ) -> Result<()> {
        if scope.excludes.is_empty() || self.expects_excluded(&scope.excludes) {
            return self.read_within(ids, scope, each);
        }
        let (mut again, mut heavy) = (Vec::new(), Vec::new());
        self.read_within(ids, &Scope { excludes: Vec::new(), ..scope.clone() }, &mut |commit| {
            // What is missing or too much may be so in an excluded folder only.
            match commit.patch {
                Diff::Absent(PatchAbsence::TooHeavy) => heavy.push(commit.id),
                Diff::Absent(PatchAbsence::MissingObjects) => again.push(commit.id),
                _ if touches(&commit, &scope.excludes) => again.push(commit.id),
                _ => return each(commit),
            }
            ControlFlow::Continue(())
        })?;
        if again.len() * 20 > ids.len() {
            self.excluded_seen.store(true, Ordering::Relaxed);
        }
        // Git is not overwhelmed once more to find out.
        let mut reading = Reading::new(&heavy, scope, each);
        heavy.iter().try_for_each(|id| self.read_alone(*id, &mut reading))?;
        if again.is_empty() { Ok(()) } else { self.read_within(&again, scope, each) }
    }

    /// Whether excluded paths are common here: they were in other commits, or HEAD has such a folder.
    fn expects_excluded(&self, excludes: &[String]) -> bool {
        let in_head = || {
            let repo = self.repository.local();
            let tree = repo.head_tree().ok()?;
            let first = |prefix: &String| prefix.split('/').next().unwrap_or_default().to_owned();
            let found = excludes.iter().any(|prefix| tree.find_entry(first(prefix).as_str()).is_some());
            Some(found)
        };
        self.excluded_seen.load(Ordering::Relaxed) || in_head().unwrap_or(false)
    }

    fn read_within(
        &self,
        ids: &[CommitId],
        scope: &Scope,
        each: &mut dyn FnMut(ReadCommit) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut reading = Reading::new(ids, scope, each);
        match self.pass(ids, WHOLE, &mut reading) {
            // A missing object ends the stream; so does a damaged one. Find out which commits are whole.
            Err(GitError::Failed { stderr, .. }) if names_an_object(&stderr) => {
                tracing::debug!(stderr, "reading commits one kind at a time");
                self.read_incomplete(ids, &mut reading)
            }
            Err(GitError::Overwhelmed { how, .. }) => {
                tracing::debug!(how, "reading heavy commits apart");
                self.read_heavy(ids, &mut reading)
            }
            other => other,
        }?;
        let left = reading.left.len();
        if left == 0 || self.cancel.is_cancelled() {
            return Ok(self.cancel.check()?);
        }
        Err(GitError::Stream(format!("{left} of {} commits were not printed", ids.len())))
    }

    fn read_incomplete(&self, ids: &[CommitId], reading: &mut Reading<'_>) -> Result<()> {
        let repo = self.repository.local();
        let (mut whole, mut listed, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for id in reading.rest(ids) {
            self.cancel.check()?;
            match missing::completeness(&repo, id, &reading.scope.excludes, &self.cancel) {
                Completeness::Whole => whole.push(id),
                Completeness::BlobsMissing => listed.push(id),
                Completeness::TreesMissing => bare.push(id),
            }
        }
        let passes =
            [(&whole, WHOLE), (&listed, without_objects(Depth::Lists)), (&bare, without_objects(Depth::Messages))];
        for (ids, pass) in passes {
            match self.pass(ids, pass, reading) {
                Err(GitError::Failed { stderr, .. }) if names_an_object(&stderr) => {}
                Err(GitError::Overwhelmed { .. }) => {}
                other => other?,
            }
        }
        // Git needed more than was foreseen, or an object is damaged: one commit at a time, as deep as each goes.
        reading.rest(ids).into_iter().try_for_each(|id| self.read_alone(id, reading))
    }

    /// Reads commits of which one was too much for git: those apart, the others together.
    fn read_heavy(&self, ids: &[CommitId], reading: &mut Reading<'_>) -> Result<()> {
        // Heavy commits seldom come alone, and weighing costs less than finding out with git.
        for id in reading.rest(ids) {
            self.cancel.check()?;
            let weight = weigh(&self.repository.local(), id, &reading.scope.excludes, &self.cancel);
            if weight != Weight::Ordinary {
                self.read_weighed(id, weight, reading)?;
            }
        }
        loop {
            // Commits come as they were asked for, and the last before the end of a stream is not taken for whole: one of
            // the first two that are left is the one that git was at.
            let mut rest = reading.rest(ids);
            let together = rest.split_off(rest.len().min(2));
            for id in rest {
                self.read_alone(id, reading)?;
            }
            match self.pass(&together, WHOLE, reading) {
                Err(GitError::Overwhelmed { .. }) => {}
                Err(GitError::Failed { stderr, .. }) if names_an_object(&stderr) => {
                    return self.read_incomplete(ids, reading);
                }
                other => return other,
            }
        }
    }

    /// Reads one commit as deep as it goes.
    fn read_alone(&self, id: CommitId, reading: &mut Reading<'_>) -> Result<()> {
        self.cancel.check()?;
        let weight = weigh(&self.repository.local(), id, &reading.scope.excludes, &self.cancel);
        self.read_weighed(id, weight, reading)
    }

    fn read_weighed(&self, id: CommitId, weight: Weight, reading: &mut Reading<'_>) -> Result<()> {
        let first = match weight {
            Weight::Ordinary => Pass { memory: MEMORY, stall: None, ..WHOLE },
            // A diff of such files is too large to be kept, and costs git several times their size.
            Weight::Bytes => without_diff(Depth::Lists),
            Weight::Paths => without_diff(Depth::Messages),
        };
        let mut tried = self.pass(&[id], first, reading);
        for depth in [Depth::Lists, Depth::Messages] {
            let pass = match &tried {
                Err(GitError::Failed { stderr, .. }) if names_an_object(stderr) => without_objects(depth),
                // Where little differs it is the machine that lacks memory, and another time it may not.
                Err(GitError::Overwhelmed { .. }) if weight != Weight::Ordinary => without_diff(depth),
                _ => break,
            };
            tried = self.pass(&[id], pass, reading);
        }
        tried?;
        // Whoever reads on until nothing is left counts on this.
        if reading.left.contains(&id) { Err(GitError::Stream(format!("{id} was not printed"))) } else { Ok(()) }
    }

    /// One run of `git log` over these commits.
    fn pass(&self, ids: &[CommitId], how: Pass, reading: &mut Reading<'_>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let Pass { depth, absent, memory, stall } = how;
        let (scope, nonce) = (reading.scope, nonce());
        let mut call = self
            .call()
            .within_memory(memory)
            .subcommand("log")
            .args(["--stdin", "--no-walk=unsorted"])
            .arg(format_argument(&nonce))
            .args(NEUTRAL);
        call = match depth {
            // `-U3` belongs here alone: it implies `-p`.
            Depth::Patches => call.args(["--raw", "--no-abbrev", "-p", "-U3", "--full-index", "-M", "-C"]),
            Depth::Lists => call.args(["--raw", "--no-abbrev", "--no-renames"]),
            // Without `off`, git reads the trees of merges though nothing is printed of them.
            Depth::Messages => call.args(["-s", "--diff-merges=off"]),
        };
        // With pathspecs git reads trees, even for messages alone.
        if depth != Depth::Messages {
            // Without `--sparse`, a commit that the pathspecs leave without a diff is not printed at all.
            call = call.arg("--sparse").arg("--").args(pathspecs(&scope.excludes));
        }
        let input = lines(ids.iter().map(CommitId::to_hex));
        // A record is whole when another one follows it, or when git has ended well: never before.
        let last = call.stream(input, stall, |out| {
            let mut records = Records::new(out as &mut dyn Read, &nonce, scope.patch_cap);
            let mut whole = None;
            while let Some(record) = records.next()? {
                self.cancel.check()?;
                whole.replace(record).map_or(Ok(()), |record| reading.hand_over(record, absent))?;
            }
            Ok(whole)
        })?;
        last.map_or(Ok(()), |record| reading.hand_over(record, absent))
    }
}

fn finish(mut record: Record, scope: &Scope, absent: Option<PatchAbsence>) -> ReadCommit {
    record.patch_preview = preview(&record.patch.bytes, scope.preview_chars);
    let finished = record.try_map_patch(|patch| {
        Ok::<_, Infallible>(match absent {
            Some(reason) => Diff::Absent(reason),
            None if patch.len > scope.patch_cap as u64 => Diff::Absent(PatchAbsence::TooLarge),
            None if is_binary_only(&patch.bytes) => Diff::Absent(PatchAbsence::BinaryOnly),
            None => Diff::Bytes(patch.bytes),
        })
    });
    match finished {
        Ok(commit) => commit,
    }
}

/// Whether a commit touches a path that begins with one of these.
fn touches(commit: &ReadCommit, excludes: &[String]) -> bool {
    let excluded = |path: &RepoPath| excludes.iter().any(|prefix| path.as_bytes().starts_with(prefix.as_bytes()));
    commit.files.iter().any(|file| excluded(&file.path) || file.old_path.as_ref().is_some_and(excluded))
}

/// The first characters of a diff.
fn preview(patch: &[u8], chars: usize) -> String {
    let bytes = &patch[..patch.len().min(chars * 4)];
    String::from_utf8_lossy(bytes).chars().take(chars).map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect()
}

/// Whether every file's section of the diff is a "Binary files … differ" line.
///
/// A line of content begins with a space, `+`, `-` or `\`, so these words at a line's beginning are git's own.
fn is_binary_only(patch: &[u8]) -> bool {
    let count = |words: &str| {
        usize::from(patch.starts_with(words.as_bytes()))
            + memchr::memmem::find_iter(patch, format!("\n{words}").as_bytes()).count()
    };
    let binary = count("Binary files ");
    binary > 0 && binary == count("diff --git ")
}

/// Pathspecs that leave out paths which begin with one of these texts.
fn pathspecs(excludes: &[String]) -> impl Iterator<Item = String> {
    excludes.iter().map(|prefix| {
        let mut spec = String::from(":(exclude,top)");
        for c in prefix.chars() {
            if matches!(c, '*' | '?' | '[' | '\\') {
                spec.push('\\');
            }
            spec.push(c);
        }
        spec + "*"
    })
}

/// Whether git says that an object could not be read; everything else that makes it fail is no fault of the repository.
fn names_an_object(stderr: &str) -> bool {
    const WORDS: [&str; 12] = [
        "unable to read",
        "could not read",
        "cannot read",
        "unable to parse",
        "missing",
        "corrupt",
        "bad object",
        "bad tree",
        "tree object",
        "tree entry",
        "tree file",
        "unable to find",
    ];
    let said = stderr.to_lowercase();
    WORDS.iter().any(|words| said.contains(words))
}

/// One item a line, for git's standard input.
fn lines(items: impl Iterator<Item = String>) -> Vec<u8> {
    items.flat_map(|item| item.into_bytes().into_iter().chain([b'\n'])).collect()
}

/// A text that nothing in a repository can foresee.
fn nonce() -> String {
    use std::hash::{BuildHasher, RandomState};
    // `RandomState` is seeded by the operating system, and anew (by increment) for each value.
    let part = || RandomState::new().hash_one(std::process::id());
    format!("lore-{:016x}{:016x}", part(), part())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_binary_diffs_count_as_binary() {
        let section = |body: &str| format!("diff --git a/x b/x\nindex 1..2\n{body}");
        let binary = section("Binary files a/x and b/x differ\n");
        assert!(is_binary_only(binary.as_bytes()));
        assert!(is_binary_only(format!("{binary}{binary}").as_bytes()));
        let text = section("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+Binary files a/x and b/x differ\n");
        assert!(!is_binary_only(text.as_bytes()));
        assert!(!is_binary_only(format!("{binary}{text}").as_bytes()));
        assert!(!is_binary_only(b""));
    }

    #[test]
    fn excludes_are_literal_prefixes() {
        let specs: Vec<_> = pathspecs(&["a*b/".to_owned(), "[x]".to_owned()]).collect();
        assert_eq!(specs, [":(exclude,top)a\\*b/*", ":(exclude,top)\\[x]*"]);
    }

    #[test]
    fn previews_are_cut_at_characters() {
        assert_eq!(preview("äöü".as_bytes(), 2), "äö");
        assert_eq!(preview(b"a\xffb", 5), "a\u{fffd}b");
    }
}
