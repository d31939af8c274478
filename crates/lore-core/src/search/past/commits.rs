//! What commits say and what they changed, as texts that are searched: messages, and the lines of diffs.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use lore_embed::Mode;
use lore_git::unquote_path;
use lore_model::{Cancel, Failure, FileStatus, PatchAbsence, Repo, RepoId, RepoPath};
use lore_store::{CommitMessage, Hidden, PatchText};

use super::{ChangeKind, Period, When};
use crate::{
    search::{
        CodeFreshness, FileFilter, LinesWanted, TemporalSearch,
        filter::Files,
        index::embed_failure,
        lines::{Match, Terms},
        query::content_words,
    },
    store_failure,
};

/// No more of a message is embedded: what it is about is said by then.
const PASSAGE_MAX: usize = 2000;

/// So many messages are embedded at once.
const BATCH: usize = 512;

/// So many words of a question count.
const MAX_WORDS: usize = 24;

/// What of commits is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitText {
    /// Their messages, by meaning.
    Meaning(String),
    /// Lines of their messages.
    Messages(LinesWanted),
    /// Lines that they added or removed.
    Diffs(LinesWanted),
}

/// A question about what commits say.
#[derive(Debug, Clone)]
pub struct CommitsRequest {
    /// What is looked for, and where.
    pub text: CommitText,
    /// Whether capital letters differ from small ones.
    pub case_sensitive: bool,
    /// Only changes of these files; messages have none.
    pub files: FileFilter,
    /// The time that commits were made in, by whom, and how they changed files: a commit counts where one of its files was
    /// changed so, a line of a diff where its own file was.
    pub period: Period,
    /// Which repositories.
    pub repos: Vec<(Repo, Option<PathBuf>)>,
    /// At most so many.
    pub limit: usize,
    /// Only messages that mean at least so much the same, 0 to 1.
    pub min_score: f32,
    /// So many lines before and after each.
    pub context: usize,
    /// How long it may take.
    pub time: Duration,
}

/// A commit that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitFound {
    /// The repository.
    pub repo: String,
    /// The commit.
    pub commit: CommitMessage,
    /// The file whose change was found.
    pub path: Option<RepoPath>,
    /// The line, from 1: of the message, or of the file after the change (before it, where it was removed).
    pub line: u32,
    /// The message, or lines of the diff with their signs.
    pub text: String,
    /// How sure it is, 0 to 1; lines are what was asked for.
    pub score: f32,
}

/// Commits that were found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommitsAnswer {
    /// By meaning the best first, else the newest first.
    pub found: Vec<CommitFound>,
    /// How many there are in all.
    pub total: usize,
    /// How many commits were looked at of how many, where time was up before all were.
    pub unfinished: Option<(usize, usize)>,
    /// How many commits have no diff that could be looked at.
    pub without_diff: usize,
    /// How many commits were left out because no diff is kept that tells whether they changed a binary file.
    pub undecided: usize,
    /// How fresh the answer is.
    pub freshness: Vec<CodeFreshness>,
}

impl TemporalSearch {
    /// Finds commits by what they say or changed, but for the hidden ones.
    pub(crate) fn find_commits(&self, request: &CommitsRequest, hidden: &Hidden) -> Result<CommitsAnswer, Failure> {
        When::During(request.period.clone()).check()?;
        let files = Files::new(&request.files)?.of(&request.repos);
        let stop = Cancel::current().until(Instant::now() + request.time);
        let mut answer = CommitsAnswer::default();
        let (mut looked, mut all) = (0, 0);
        for (repo, place) in &request.repos {
            let state = self.reader.store.code_state(repo.id).map_err(store_failure)?;
            let part = self.reader.part(repo, &state, place.as_deref(), false)?;
            answer.freshness.push(self.reader.freshness(repo, &state, part.as_ref()));
            let Period { from, to, author, kinds, .. } = &request.period;
            // Which files are binary is in the diffs alone: those that a message leads to are looked at below.
            let has_binary = kinds.contains(&ChangeKind::Binary);
            let is_diffs = matches!(request.text, CommitText::Diffs(_));
            let statuses = if has_binary && !is_diffs { Vec::new() } else { statuses(kinds) };
            if is_diffs && has_binary && statuses.is_empty() {
                continue;
            }
            let messages = self.reader.store.list_messages(repo.id, *from, *to, author.as_deref(), &statuses, hidden);
            let messages = messages.map_err(store_failure)?;
            all += messages.len();
            let mut of_repo = Vec::new();
            match &request.text {
                CommitText::Meaning(query) => {
                    let (found, here) = self.by_meaning(repo, query, &messages, request.min_score, &stop)?;
                    looked += here;
                    of_repo = found;
                }
                CommitText::Messages(wanted) => {
                    let terms = Terms::new(wanted, request.case_sensitive)?;
                    for commit in messages {
                        if stop.is_cancelled() {
                            break;
                        }
                        let text = whole(&commit);
                        let Some(lines) = terms.lines(text.as_bytes(), &stop) else { break };
                        looked += 1;
                        let Some(first) = lines.into_iter().next() else { continue };
                        let line = u32::try_from(first.line.number + 1).unwrap_or(u32::MAX);
                        let repo = repo.name().to_owned();
                        of_repo.push(CommitFound { repo, commit, path: None, line, text, score: 1.0 });
                    }
                }
                CommitText::Diffs(wanted) => {
                    let terms = Terms::new(wanted, request.case_sensitive)?;
                    let changes = Changes { repo: repo.id, files: &files, kinds };
                    for commit in messages {
                        if stop.is_cancelled() {
                            break;
                        }
                        let patch = self.reader.store.find_patch(repo.id, commit.commit).map_err(store_failure)?;
                        let Some(PatchText::Bytes(patch)) = patch else {
                            answer.without_diff += 1;
                            looked += 1;
                            continue;
                        };
                        let Some(hits) = in_patch(&patch, &terms, changes, request.context, &stop) else { break };
                        looked += 1;
                        for hit in hits {
                            answer.total += 1;
                            if of_repo.len() < request.limit {
                                let Hit { path, line, text } = hit;
                                of_repo.push(CommitFound {
                                    repo: repo.name().to_owned(),
                                    commit: commit.clone(),
                                    path: Some(path),
                                    line,
                                    text,
                                    score: 1.0,
                                });
                            }
                        }
                    }
                }
            }
            if !is_diffs {
                if has_binary {
                    let before = of_repo.len();
                    let decided = self.changed_so(repo, &mut of_repo, kinds, &stop)?;
                    answer.undecided += decided.unknown;
                    looked -= before - decided.looked;
                }
                answer.total += of_repo.len();
            }
            answer.found.append(&mut of_repo);
        }
        if matches!(request.text, CommitText::Meaning(_)) {
            answer.found.sort_by(|a, b| b.score.total_cmp(&a.score));
        } else {
            answer.found.sort_by_key(|found| std::cmp::Reverse(found.commit.at));
        }
        answer.found.truncate(request.limit);
        answer.unfinished = (looked < all).then_some((looked, all));
        Ok(answer)
    }

    /// Keeps the commits that changed a file in one of these ways, of which one is that it is binary.
    fn changed_so(
        &self,
        repo: &Repo,
        found: &mut Vec<CommitFound>,
        kinds: &[ChangeKind],
        stop: &Cancel,
    ) -> Result<Decided, Failure> {
        let statuses = statuses(kinds);
        let mut decided = Decided { looked: 0, unknown: 0 };
        let mut kept = Vec::new();
        for one in found.drain(..) {
            if stop.is_cancelled() {
                break;
            }
            decided.looked += 1;
            let commit = one.commit.commit;
            let detail = self.reader.store.find_commit(repo.id, commit).map_err(store_failure)?;
            let files = detail.map(|detail| detail.files).unwrap_or_default();
            let is_so = files.iter().any(|file| statuses.contains(&file.status))
                || match self.reader.store.find_patch(repo.id, commit).map_err(store_failure)? {
                    Some(PatchText::Bytes(patch)) => has_binary(&patch),
                    Some(PatchText::Absent(PatchAbsence::BinaryOnly)) => true,
                    Some(PatchText::Absent(_)) if !files.is_empty() => {
                        decided.unknown += 1;
                        false
                    }
                    Some(PatchText::Absent(_)) | None => false,
                };
            if is_so {
                kept.push(one);
            }
        }
        *found = kept;
        Ok(decided)
    }

    /// Messages that mean the same as a question, or have its words, and how many were looked at until time was up.
    fn by_meaning(
        &self,
        repo: &Repo,
        query: &str,
        messages: &[CommitMessage],
        min_score: f32,
        stop: &Cancel,
    ) -> Result<(Vec<CommitFound>, usize), Failure> {
        let asked = self.reader.embedder.embed(&[query], Mode::Query).map_err(embed_failure)?.pop().unwrap_or_default();
        let words: Vec<String> =
            content_words(query, MAX_WORDS).iter().flat_map(|word| lore_store::tokens(word)).collect();
        let (mut found, mut looked) = (Vec::new(), 0);
        for batch in messages.chunks(BATCH) {
            if stop.is_cancelled() {
                break;
            }
            looked += batch.len();
            let texts: Vec<String> = batch.iter().map(whole).collect();
            let passages: Vec<&str> = texts.iter().map(|text| beginning(text, PASSAGE_MAX)).collect();
            let vectors = self.reader.embedder.embed(&passages, Mode::Passage).map_err(embed_failure)?;
            let asked = asked.clone();
            let scored = {
                let score = |(text, vector): (String, Vec<f32>)| {
                    let cosine: f32 = vector.iter().zip(&asked).map(|(a, b)| a * b).sum();
                    let said = lore_store::tokens(&text);
                    let has = words.iter().filter(|word| said.contains(word)).count();
                    #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
                    let share = if words.is_empty() { 0.0 } else { has as f32 / words.len() as f32 };
                    (text, (0.5 * cosine.max(0.0) + 0.5 * share).clamp(0.0, 1.0))
                };
                texts.into_iter().zip(vectors).map(score).collect::<Vec<_>>()
            };
            for (commit, (text, score)) in batch.iter().zip(scored) {
                if score >= min_score && score > 0.0 {
                    let (repo, commit) = (repo.name().to_owned(), commit.clone());
                    found.push(CommitFound { repo, commit, path: None, line: 1, text, score });
                }
            }
        }
        Ok((found, looked))
    }
}

/// Of how many commits it was found out whether they changed files so, and of how many of these no diff tells it.
struct Decided {
    looked: usize,
    unknown: usize,
}

/// Git's letters for these ways. A copy is a new file.
fn statuses(kinds: &[ChangeKind]) -> Vec<FileStatus> {
    let of = |kind: &ChangeKind| match kind {
        ChangeKind::Added => &[FileStatus::Added, FileStatus::Copied][..],
        ChangeKind::Modified => &[FileStatus::Modified, FileStatus::TypeChanged],
        ChangeKind::Deleted => &[FileStatus::Deleted],
        ChangeKind::Renamed => &[FileStatus::Renamed],
        ChangeKind::Binary => &[],
    };
    kinds.iter().flat_map(of).copied().collect()
}

/// Whether a file of a patch is binary. Within a hunk no line begins so: each has its sign first.
fn has_binary(patch: &[u8]) -> bool {
    patch.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"Binary files ") && line.ends_with(b" differ"))
}

/// A message as git has it.
fn whole(commit: &CommitMessage) -> String {
    match &commit.body {
        Some(body) => format!("{}\n\n{body}\n", commit.subject),
        None => format!("{}\n", commit.subject),
    }
}

/// So many bytes of a text, of whole characters.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=text.len().min(most)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// A line of a diff that was found.
struct Hit {
    path: RepoPath,
    line: u32,
    text: String,
}

/// One line of a hunk.
struct DiffLine<'a> {
    sign: u8,
    text: &'a [u8],
    /// Its number after the change; before it, where it was removed.
    number: u32,
}

/// Which files of a patch count.
#[derive(Clone, Copy)]
struct Changes<'a> {
    repo: RepoId,
    files: &'a Files,
    /// Only those that were changed in one of these ways; empty for all.
    kinds: &'a [ChangeKind],
}

impl Changes<'_> {
    fn admit(&self, path: &RepoPath, kind: ChangeKind) -> bool {
        let language = lore_chunk::Language::of(&path.to_text(), b"").name();
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.files.is_any() || self.files.admits(self.repo, path, language))
    }
}

/// The added and removed lines of a patch that have what is looked for; `None` where time was up.
fn in_patch(patch: &[u8], terms: &Terms, changes: Changes<'_>, context: usize, stop: &Cancel) -> Option<Vec<Hit>> {
    let (mut hits, mut path): (Vec<Hit>, Option<RepoPath>) = (Vec::new(), None);
    let mut kind = ChangeKind::Modified;
    let mut lines = patch.split(|byte| *byte == b'\n').peekable();
    let mut old_path = None;
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix(b"--- ") {
            old_path = named(name, b"a/");
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            path = named(name, b"b/").or_else(|| old_path.take());
        } else if line.starts_with(b"diff --git ") {
            (path, kind) = (None, ChangeKind::Modified);
        } else if line.starts_with(b"new file mode ") || line.starts_with(b"copy from ") {
            kind = ChangeKind::Added;
        } else if line.starts_with(b"deleted file mode ") {
            kind = ChangeKind::Deleted;
        } else if line.starts_with(b"rename from ") {
            kind = ChangeKind::Renamed;
        } else if let Some((mut old, mut new)) = line.strip_prefix(b"@@ -").and_then(numbers) {
            let mut hunk = Vec::new();
            while let Some(line) = lines.next_if(|line| matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\'))) {
                let (sign, text) = (line[0], &line[1..]);
                match sign {
                    b'\\' => {}
                    b'-' => {
                        hunk.push(DiffLine { sign, text, number: old });
                        old += 1;
                    }
                    b'+' => {
                        hunk.push(DiffLine { sign, text, number: new });
                        new += 1;
                    }
                    _ => {
                        hunk.push(DiffLine { sign, text, number: new });
                        (old, new) = (old + 1, new + 1);
                    }
                }
            }
            let Some(path) = &path else { continue };
            if changes.admit(path, kind) {
                in_hunk(&hunk, path, terms, context, stop, &mut hits)?;
            }
        }
    }
    Some(hits)
}

/// `None` where time was up.
fn in_hunk(
    hunk: &[DiffLine<'_>],
    path: &RepoPath,
    terms: &Terms,
    context: usize,
    stop: &Cancel,
    hits: &mut Vec<Hit>,
) -> Option<()> {
    // What was added and what was removed are two texts: words that must stand together stand in one of them.
    for sign in [b'+', b'-'] {
        let of_sign: Vec<usize> = (0..hunk.len()).filter(|at| hunk[*at].sign == sign).collect();
        if of_sign.is_empty() {
            continue;
        }
        let text: Vec<u8> = of_sign.iter().flat_map(|at| hunk[*at].text.iter().copied().chain([b'\n'])).collect();
        for Match { line, .. } in terms.lines(&text, stop)? {
            let Some(&at) = of_sign.get(line.number) else { continue };
            let shown = &hunk[at.saturating_sub(context)..(at + context + 1).min(hunk.len())];
            let text = shown.iter().fold(String::new(), |mut text, line| {
                text.push(char::from(line.sign));
                text.push_str(&String::from_utf8_lossy(line.text));
                text.push('\n');
                text
            });
            hits.push(Hit { path: path.clone(), line: hunk[at].number, text });
        }
    }
    Some(())
}

/// A name of a patch; none for `/dev/null`.
fn named(name: &[u8], prefix: &[u8]) -> Option<RepoPath> {
    // A name with a space has a tab behind it.
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    let name = unquote_path(name)?;
    name.strip_prefix(prefix).map(RepoPath::new)
}

/// The first lines of a hunk: `3,4 +3,6 @@`.
fn numbers(text: &[u8]) -> Option<(u32, u32)> {
    let text = std::str::from_utf8(text.get(..text.len().min(60))?).ok().or_else(|| {
        // What follows may be cut within a character.
        let end = text.windows(3).position(|three| three == b" @@")?;
        std::str::from_utf8(&text[..end]).ok()
    })?;
    let (old, rest) = text.split_once(" +")?;
    let first = |text: &str| text.split([',', ' ']).next()?.parse().ok();
    Some((first(old)?, first(rest)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "\
diff --git a/src/old name.rs b/src/new name.rs
similarity index 90%
rename from src/old name.rs
rename to src/new name.rs
--- a/src/old name.rs\t
+++ b/src/new name.rs\t
@@ -10,5 +10,6 @@ fn outer() {
 before
-let retry = never;
+let retry = often;
+let pause = long;
 middle
-last one
\\ No newline at end of file
+last retry
@@ -40 +41,2 @@
-retry
+one
+two
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-import retry
-import pause
diff --git a/image.png b/image.png
Binary files a/image.png and b/image.png differ
@@ -1 +1 @@
-retry that belongs to nothing
";

    fn found(wanted: &LinesWanted, files: &FileFilter, context: usize) -> Vec<(String, u32, String)> {
        let terms = Terms::new(wanted, false).unwrap();
        let (files, stop) = (Files::new(files).unwrap(), Cancel::default());
        let changes = Changes { repo: RepoId(1), files: &files, kinds: &[] };
        let hits = in_patch(PATCH.as_bytes(), &terms, changes, context, &stop).unwrap();
        hits.into_iter().map(|hit| (hit.path.to_string(), hit.line, hit.text)).collect()
    }

    fn literal(text: &str) -> LinesWanted {
        LinesWanted::Literal(text.to_owned())
    }

    #[test]
    fn lines_of_a_patch_have_their_numbers_and_names() {
        let hits = found(&literal("retry"), &FileFilter::default(), 0);
        let hits: Vec<(&str, u32, &str)> =
            hits.iter().map(|(path, line, text)| (path.as_str(), *line, text.trim_end())).collect();
        assert_eq!(
            hits,
            [
                ("src/new name.rs", 11, "+let retry = often;"),
                ("src/new name.rs", 14, "+last retry"),
                ("src/new name.rs", 11, "-let retry = never;"),
                ("src/new name.rs", 40, "-retry"),
                ("gone.py", 1, "-import retry"),
            ]
        );
    }

    #[test]
    fn lines_around_are_those_of_the_same_hunk() {
        let hits = found(&literal("last retry"), &FileFilter::default(), 2);
        assert_eq!(hits[0].2, " middle\n-last one\n+last retry\n");
        let hits = found(&literal("let retry = never"), &FileFilter::default(), 1);
        assert_eq!(hits[0].2, " before\n-let retry = never;\n+let retry = often;\n");
    }

    #[test]
    fn what_was_added_and_what_was_removed_are_two_texts() {
        let both = |words: &str| found(&LinesWanted::Words(words.to_owned()), &FileFilter::default(), 0).len();
        assert_eq!((both("often long"), both("never last")), (1, 1));
        assert_eq!((both("never often"), both("never pause")), (0, 0));
    }

    #[test]
    fn only_files_that_are_meant_count() {
        let python = FileFilter { languages: vec!["python".to_owned()], ..FileFilter::default() };
        assert_eq!(found(&literal("retry"), &python, 0).len(), 1);
        let name = FileFilter { globs: vec!["src/**".to_owned()], ..FileFilter::default() };
        assert_eq!(found(&literal("retry"), &name, 0).len(), 4);
    }

    #[test]
    fn only_files_that_were_changed_so_count() {
        let (terms, files) =
            (Terms::new(&literal("retry"), false).unwrap(), Files::new(&FileFilter::default()).unwrap());
        let count = |kinds: &[ChangeKind]| {
            let changes = Changes { repo: RepoId(1), files: &files, kinds };
            in_patch(PATCH.as_bytes(), &terms, changes, 0, &Cancel::default()).map(|hits| hits.len())
        };
        assert_eq!(count(&[ChangeKind::Renamed]), Some(4));
        assert_eq!(count(&[ChangeKind::Deleted]), Some(1));
        assert_eq!(count(&[ChangeKind::Added, ChangeKind::Modified, ChangeKind::Binary]), Some(0));
        assert_eq!(count(&[]), Some(5));
    }

    #[test]
    fn a_patch_tells_whether_a_file_of_it_is_binary() {
        assert!(has_binary(PATCH.as_bytes()));
        assert!(!has_binary(b"@@ -1 +1 @@\n+Binary files a/x and b/x differ\n-Binary files a/x and b/x differ\n"));
    }

    #[test]
    fn a_hunk_tells_its_first_lines() {
        assert_eq!(numbers(b"3,4 +5,6 @@ fn x"), Some((3, 5)));
        assert_eq!(numbers(b"3 +5 @@"), Some((3, 5)));
        for begin in ["3 +5 @@ ", "3 +5 @@ x"] {
            let cut = format!("{begin}{}", "é".repeat(40));
            assert_eq!(numbers(cut.as_bytes()), Some((3, 5)), "what follows may be cut within a character");
        }
        assert_eq!((numbers(b"x +5 @@"), numbers(b"3 -5 @@"), numbers(b"")), (None, None, None));
    }
}
