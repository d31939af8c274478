//! Asks git what `lore` ought to say of lines and of what changes together, by means that Lore does not use: line by line, and
//! by brute force over the whole log.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
};

use anyhow::{Context as _, Result, bail};

use super::{DEFAULT_EXCLUDES, Truth};

/// Where one line comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineOrigin {
    /// The commit, in full.
    pub commit: String,
    /// The file that the line was in then.
    pub path: Vec<u8>,
    /// Its number there.
    pub line: u32,
}

/// A file that changes together with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Together {
    /// Its path.
    pub path: Vec<u8>,
    /// How many commits changed both.
    pub support: usize,
    /// The newest of them.
    pub newest: String,
}

/// One commit of the log.
#[derive(Debug, Clone, Default)]
struct Logged {
    id: String,
    time: i64,
    /// Paths after the commit.
    files: Vec<Vec<u8>>,
    /// New and old path of renamed files.
    renames: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The log of a repository without merges, the newest first.
#[derive(Debug, Clone)]
pub struct Log(Vec<Logged>);

impl Truth {
    /// The origin of each line of a file at HEAD, by `git blame -M -C`.
    pub fn blame(&self, path: &[u8]) -> Result<Vec<LineOrigin>> {
        let head = self.tips().first().context("there is no commit")?;
        let args = ["-c", "core.quotePath=false", "blame", "-M", "-C", "--line-porcelain", head, "--"];
        let args: Vec<&OsStr> = args.into_iter().map(OsStr::new).chain([OsStr::from_bytes(path)]).collect();
        let printed = self.git().bytes(&args)?;
        let mut origins = Vec::new();
        let mut now = LineOrigin { commit: String::new(), path: Vec::new(), line: 0 };
        let mut is_head = true;
        for line in printed.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            if is_head {
                let text = String::from_utf8_lossy(line);
                let words: Vec<&str> = text.split(' ').collect();
                let [commit, number, ..] = words[..] else { bail!("blame begins with `{text}`") };
                (now.commit, now.line, is_head) = (commit.to_owned(), number.parse()?, false);
            } else if let Some(name) = line.strip_prefix(b"filename ") {
                now.path = unquote(name);
            } else if line.starts_with(b"\t") {
                origins.push(now.clone());
                is_head = true;
            }
        }
        Ok(origins)
    }

    /// The files of HEAD.
    pub fn head_files(&self) -> Result<Vec<Vec<u8>>> {
        let head = self.tips().first().context("there is no commit")?;
        let printed = self.git().bytes(&["ls-tree", "-r", "-z", head])?;
        let rows = printed.split(|byte| *byte == 0).filter(|row| row.starts_with(b"100644 "));
        let path = |row: &[u8]| Some(row[row.iter().position(|byte| *byte == b'\t')? + 1..].to_vec());
        Ok(rows.filter_map(path).collect())
    }

    /// The log, as `git log --name-status -M -C` has it.
    pub fn log(&self) -> Result<Log> {
        let mut args = vec!["log", "--no-merges", "-z", "--name-status", "-M", "-C", "-l1000", "--format=%x01%H %ct"];
        args.extend(self.tips().iter().map(String::as_str));
        let printed = self.git().bytes(&args)?;
        let mut commits: Vec<Logged> = Vec::new();
        let mut fields = printed.split(|byte| *byte == 0).map(|field| field.strip_prefix(b"\n").unwrap_or(field));
        while let Some(field) = fields.next() {
            if let Some(head) = field.strip_prefix(b"\x01") {
                let head = String::from_utf8_lossy(head);
                let (id, time) = head.split_once(' ').context("a commit has a time")?;
                commits.push(Logged { id: id.to_owned(), time: time.parse().unwrap_or(0), ..Logged::default() });
                continue;
            }
            let Some(status) = field.first() else { continue };
            let commit = commits.last_mut().context("a file belongs to a commit")?;
            let first = fields.next().context("a status has a path")?.to_vec();
            let path = if matches!(status, b'R' | b'C') {
                fields.next().context("a rename has two paths")?.to_vec()
            } else {
                first.clone()
            };
            if DEFAULT_EXCLUDES.iter().any(|prefix| path.starts_with(prefix.as_bytes())) {
                continue;
            }
            if *status == b'R' {
                commit.renames.push((path.clone(), first));
            }
            commit.files.push(path);
        }
        commits.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.id.cmp(&b.id)));
        Ok(Log(commits))
    }
}

/// Names of a file, each with the time up to which what happened under it happened to the file.
type Names = BTreeMap<Vec<u8>, i64>;

impl Log {
    /// How many commits changed a file, how many of them are too large to count, and what changed together with it.
    pub fn together(&self, asked: &[u8], max_files: usize) -> (usize, usize, Vec<Together>) {
        let own = self.names(asked);
        let is_own = |path: &Vec<u8>, time: i64| own.get(path).is_some_and(|until| time <= *until);
        let touching = self.0.iter().filter(|commit| commit.files.iter().any(|path| is_own(path, commit.time)));
        let (counted, large): (Vec<&Logged>, Vec<&Logged>) =
            touching.partition(|commit| commit.files.len() <= max_files);
        let others = counted.iter().flat_map(|commit| {
            commit.files.iter().filter(|path| !is_own(path, commit.time)).cloned().collect::<Vec<_>>()
        });
        let names: BTreeMap<Vec<u8>, Names> =
            others.collect::<BTreeSet<_>>().into_iter().map(|path| (path.clone(), self.names(&path))).collect();
        let mut found: BTreeMap<&Vec<u8>, Vec<&str>> = BTreeMap::new();
        for commit in &counted {
            let mut files: BTreeSet<&Vec<u8>> = BTreeSet::new();
            for changed in commit.files.iter().filter(|path| !is_own(path, commit.time)) {
                let is_it = |of: &Names| of.get(changed).is_some_and(|until| commit.time <= *until);
                let meant: Vec<&Vec<u8>> = names.iter().filter(|(_, of)| is_it(of)).map(|(path, _)| path).collect();
                // Of several names of one file, only that counts which it had last.
                let is_last = |path: &&&Vec<u8>| {
                    !meant.iter().any(|later| later != *path && is_later(&names, later, path, commit.time))
                };
                files.extend(meant.iter().filter(is_last));
            }
            for path in files {
                found.entry(path).or_default().push(&commit.id);
            }
        }
        let order = |id: &str| counted.iter().position(|commit| commit.id == id);
        let mut together: Vec<Together> = found
            .into_iter()
            .map(|(path, commits)| Together {
                path: path.clone(),
                support: commits.len(),
                newest: commits[0].to_owned(),
            })
            .collect();
        together.sort_by(|a, b| {
            b.support
                .cmp(&a.support)
                .then_with(|| order(&a.newest).cmp(&order(&b.newest)))
                .then_with(|| a.path.cmp(&b.path))
        });
        (counted.len(), large.len(), together)
    }

    /// Every name that a file had before.
    fn names(&self, path: &[u8]) -> Names {
        let mut names = Names::from([(path.to_vec(), i64::MAX)]);
        loop {
            let mut more = names.clone();
            for commit in &self.0 {
                for (new, old) in &commit.renames {
                    if names.get(new).is_some_and(|until| commit.time <= *until) {
                        let known = more.entry(old.clone()).or_insert(i64::MIN);
                        *known = commit.time.max(*known);
                    }
                }
            }
            if more == names {
                return names;
            }
            names = more;
        }
    }
}

/// Whether a file that now has one name had another at this time, and did not only lend it to it.
fn is_later(names: &BTreeMap<Vec<u8>, Names>, later: &[u8], earlier: &[u8], time: i64) -> bool {
    let until = |of: &[u8], name: &[u8]| names.get(of).and_then(|names| names.get(name)).copied();
    until(later, earlier)
        .is_some_and(|until_then| time <= until_then && until(earlier, later).is_none_or(|back| back < until_then))
}

/// A path as git quotes it.
fn unquote(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else { return name.to_vec() };
    let (mut path, mut at) = (Vec::new(), 0);
    while at < inner.len() {
        let rest = &inner[at..];
        let plain = [
            (&b"\\n"[..], b'\n'),
            (b"\\t", b'\t'),
            (b"\\r", b'\r'),
            (b"\\\"", b'"'),
            (b"\\\\", b'\\'),
            (b"\\a", 7),
            (b"\\b", 8),
            (b"\\v", 11),
            (b"\\f", 12),
        ];
        if let Some((_, byte)) = plain.iter().find(|(escape, _)| rest.starts_with(escape)) {
            path.push(*byte);
            at += 2;
        } else if rest[0] == b'\\' && rest.len() > 3 {
            let digits = std::str::from_utf8(&rest[1..4]).unwrap_or("0");
            path.push(u8::from_str_radix(digits, 8).unwrap_or(0));
            at += 4;
        } else {
            path.push(rest[0]);
            at += 1;
        }
    }
    path
}
