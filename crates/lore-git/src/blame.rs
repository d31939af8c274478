//! Which commit each line of a file comes from, as `git blame -M -C` says.
//!
//! The whole file is asked about, whichever lines are wanted: with a part of it (`-L`) git finds other moved blocks, and
//! the same line would be told to come from different commits.

use std::{collections::HashMap, time::Duration};

use lore_model::{CommitId, Person, RepoPath};

use crate::{GitError, Reader, Result, quoted::unquote_path};

/// Where the lines of a file come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blame {
    /// The commits that lines come from, each once.
    pub commits: Vec<BlamedCommit>,
    /// Lines that belong together, in the order of the file; no line is in none of them.
    pub runs: Vec<BlamedRun>,
}

/// A commit that lines come from, as git tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedCommit {
    /// The commit.
    pub id: CommitId,
    /// Its author, as recorded.
    pub author: Person,
    /// The author date (seconds since 1970).
    pub author_time: Option<i64>,
    /// The first line of its message.
    pub subject: String,
    /// Whether the history that is known begins here: the lines may be older.
    pub boundary: bool,
}

/// Lines that came from one commit, one below the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedRun {
    /// The first line, from 1.
    pub first: u32,
    /// How many lines.
    pub count: u32,
    /// The place of the commit in [`Blame::commits`].
    pub commit: usize,
    /// The file that the lines were in then.
    pub path: RepoPath,
    /// The first line in that file.
    pub origin: u32,
}

impl Reader {
    /// Tells where the lines of a file of a commit come from; ends with an error where that takes longer than `limit`.
    pub fn blame(&self, commit: CommitId, path: &RepoPath, limit: Duration) -> Result<Blame> {
        let call = self
            .call()
            // A path without quotation marks is one that needs none.
            .args(["-c", "core.quotePath=false"])
            .subcommand("blame")
            .args(["-M", "-C", "--incremental", "--no-textconv", "--encoding=UTF-8", "--no-progress"])
            .arg(commit.to_hex())
            .arg("--")
            .arg(os_path(path)?);
        let printed = call.run_within(limit, self.cancel())?;
        // A root is no boundary: nothing is before it. Git calls both so.
        let mut blame = parse(&printed)?;
        let shallow = self.repository().shallow();
        for commit in &mut blame.commits {
            commit.boundary = shallow.binary_search(&commit.id).is_ok();
        }
        Ok(blame)
    }
}

/// A path as the system takes it for an argument.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not every path can be an argument")]
fn os_path(path: &RepoPath) -> Result<&std::ffi::OsStr> {
    Ok(std::os::unix::ffi::OsStrExt::from_bytes(path.as_bytes()))
}

#[cfg(not(unix))]
fn os_path(path: &RepoPath) -> Result<&str> {
    std::str::from_utf8(path.as_bytes()).map_err(|_| GitError::Stream(format!("{path} is no text")))
}

/// What git says of a commit, only the first time that it names it.
#[derive(Default)]
struct Details {
    author: Person,
    time: Option<i64>,
    subject: String,
}

/// Reads what `git blame --incremental` prints: for each run a line with its numbers, what is new about its commit, and
/// last the name of the file.
pub(crate) fn parse(printed: &[u8]) -> Result<Blame> {
    let unfit = |line: &[u8]| GitError::Stream(format!("`{}` in blame", String::from_utf8_lossy(line)));
    let mut blame = Blame::default();
    let mut known: HashMap<CommitId, usize> = HashMap::new();
    let mut lines = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    while let Some(head) = lines.next() {
        let (id, numbers) = numbers(head).ok_or_else(|| unfit(head))?;
        let mut details = Details::default();
        let path = loop {
            let line = lines.next().ok_or_else(|| unfit(b"the end"))?;
            let (key, value) = memchr::memchr(b' ', line).map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
            let text = || String::from_utf8_lossy(value).into_owned();
            match key {
                b"author" => details.author.name = text(),
                b"author-mail" => text().trim_matches(['<', '>']).clone_into(&mut details.author.email),
                b"author-time" => details.time = text().parse().ok(),
                b"summary" => details.subject = text(),
                b"filename" => break unquote_path(value).ok_or_else(|| unfit(line))?,
                _ => {}
            }
        };
        let commit = *known.entry(id).or_insert_with(|| {
            let Details { author, time, subject } = details;
            blame.commits.push(BlamedCommit { id, author, author_time: time, subject, boundary: false });
            blame.commits.len() - 1
        });
        let [origin, first, count] = numbers;
        blame.runs.push(BlamedRun { first, count, commit, path: RepoPath::new(path), origin });
    }
    blame.runs.sort_unstable_by_key(|run| run.first);
    let mut next = 1;
    for run in &blame.runs {
        if run.first != next || run.count == 0 {
            return Err(GitError::Stream(format!("line {next} is missing from blame")));
        }
        next = run.first.saturating_add(run.count);
    }
    Ok(blame)
}

/// The commit and the three numbers of a run's first line.
fn numbers(line: &[u8]) -> Option<(CommitId, [u32; 3])> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split(' ');
    let id = CommitId::from_hex(words.next()?.as_bytes()).ok()?;
    let mut number = || words.next()?.parse().ok();
    Some((id, [number()?, number()?, number()?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn check(printed: &str) -> std::result::Result<Vec<String>, String> {
        let blame = parse(printed.as_bytes()).map_err(|error| error.to_string())?;
        let run = |run: &BlamedRun| {
            let commit = &blame.commits[run.commit];
            let (last, path, author) = (run.first + run.count - 1, &run.path, &commit.author);
            format!(
                "{}-{last} {path}:{} {} {} {:?}",
                run.first, run.origin, commit.subject, author.email, commit.author_time
            )
        };
        Ok(blame.runs.iter().map(run).collect())
    }

    #[test]
    fn runs_come_in_the_order_of_the_file() {
        let printed = format!(
            "{A} 7 3 2\nauthor Ann\nauthor-mail <ann@x>\nauthor-time 5\nauthor-tz +0000\nsummary one\nprevious {B} b\nfilename b c\n\
             {B} 1 1 2\nauthor Bob\nauthor-mail <>\nauthor-time -\nsummary\nboundary\nfilename \"q\\\"\"\n{A} 1 5 1\nfilename z\n"
        );
        let runs = check(&printed).unwrap();
        assert_eq!(runs, ["1-2 q\":1   None", "3-4 b c:7 one ann@x Some(5)", "5-5 z:1 one ann@x Some(5)"]);
        assert_eq!(check("").unwrap(), Vec::<String>::new(), "an empty file has no lines");
    }

    #[test]
    fn what_is_cut_or_foreign_is_an_error() {
        for printed in [
            format!("{A} 1 1 1\n"),
            "x 1 1 1\nfilename a\n".to_owned(),
            format!("{A} 1 2 1\nfilename a\n"),
            format!("{A} 1\n"),
        ] {
            assert!(check(&printed).is_err(), "{printed}");
        }
    }
}
