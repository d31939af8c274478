//! Asks git about a repository without running git in it.
//!
//! As Lore does, git runs in an empty bare directory that borrows the repository's objects: then nothing that the
//! repository configures has a say.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use super::DEFAULT_EXCLUDES;
use crate::{Git, odd::PATCH_CAP};

/// What decides how a diff looks, said in full so that no default does; `-U3`, which implies `-p`, stands with the patch.
const DIFF_FLAGS: [&str; 15] = [
    "--diff-merges=first-parent",
    "-M",
    "-C",
    "-l1000",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--encoding=UTF-8",
    "--no-show-signature",
];

/// What git says about one repository.
#[derive(Debug)]
pub struct Truth {
    git: Git,
    tips: Vec<String>,
    /// Whether the repository is a partial clone, in which git may fail for want of an object.
    partial: bool,
    _dir: TempDir,
}

/// Who, when and why of one commit, as bytes that git printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// `%an`
    pub author_name: Vec<u8>,
    /// `%ae`
    pub author_email: Vec<u8>,
    /// `%at`; 0 where git prints no number or one that no clock can hold.
    pub author_time: i64,
    /// `%cn`
    pub committer_name: Vec<u8>,
    /// `%ce`
    pub committer_email: Vec<u8>,
    /// `%ct`, like the author's.
    pub commit_time: i64,
    /// The number of `%P`.
    pub parent_count: u64,
    /// `%s`
    pub subject: Vec<u8>,
    /// `%b`
    pub body: Vec<u8>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Git's letter, without a score.
    pub status: char,
    /// The path after the commit, or of a deleted file.
    pub path: Vec<u8>,
    /// Where it was renamed or copied from.
    pub old_path: Option<Vec<u8>>,
}

/// The patch that ought to be kept of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedPatch {
    /// These bytes.
    Stored(Vec<u8>),
    /// None: every changed file is binary.
    BinaryOnly,
    /// None: it is over the cap.
    TooLarge,
    /// None: the repository lacks objects.
    MissingObjects,
}

impl Truth {
    /// Looks at HEAD of the repository, and at one branch more where it is named.
    pub fn open(repo: &Path, branch: Option<&str>) -> Result<Self> {
        let theirs = Git::at(repo);
        let common = PathBuf::from(theirs.text(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
        let objects = common
            .join("objects")
            .into_os_string()
            .into_string()
            .ok()
            .context("the path of the repository is not UTF-8")?;
        ensure!(!objects.contains('\n'), "a path with a line end cannot be borrowed from");
        let dir = tempfile::tempdir()?;
        let format = format!("--object-format={}", theirs.text(&["rev-parse", "--show-object-format"])?);
        Git::at(dir.path()).bytes(&["init", "--quiet", "--bare", &format, "own.git"])?;
        let own = dir.path().join("own.git");
        std::fs::write(own.join("objects/info/alternates"), format!("{objects}\n"))?;
        if let Ok(shallow) = std::fs::read(common.join("shallow")) {
            std::fs::write(own.join("shallow"), shallow)?;
        }
        let resolve = |name: String| theirs.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).ok();
        let named = branch.and_then(|branch| {
            ["refs/heads", "refs/remotes/origin"]
                .iter()
                .find_map(|place| resolve(format!("{place}/{branch}^{{commit}}")))
        });
        let tips: Vec<String> = resolve("HEAD^{commit}".to_owned()).into_iter().chain(named).collect();
        let partial = std::fs::read_dir(common.join("objects/pack")).is_ok_and(|files| {
            files.flatten().any(|file| file.path().extension().is_some_and(|name| name == "promisor"))
        });
        Ok(Self { git: Git::at(&own).with("GIT_DIR", &own.to_string_lossy()), tips, partial, _dir: dir })
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    pub(super) fn tips(&self) -> &[String] {
        &self.tips
    }

    /// Every commit that the tips reach, newest first.
    pub fn commits(&self) -> Result<Vec<String>> {
        self.rev_list(&[])
    }

    /// How many there are, by git's own count.
    pub fn count(&self) -> Result<u64> {
        if self.tips.is_empty() {
            return Ok(0);
        }
        let mut args = vec!["rev-list", "--count"];
        args.extend(self.tips.iter().map(String::as_str));
        Ok(self.git.text(&args)?.parse()?)
    }

    /// Commits without a parent.
    pub fn roots(&self) -> Result<Vec<String>> {
        self.rev_list(&["--max-parents=0"])
    }

    /// Those of the given commits that rename or copy a file; all of them where git cannot tell in one go.
    pub(super) fn with_renames(&self, commits: &[String]) -> Vec<String> {
        let args = diff("log", &["--stdin", "--no-walk=unsorted", "--diff-filter=RC", "--format=%H", "--raw"]);
        match self.git.feed(&args, commits.join("\n").as_bytes()) {
            Ok(printed) => {
                // Raw lines begin with a colon, and without `-z` no path holds a line end.
                let text = String::from_utf8_lossy(&printed);
                text.lines().filter(|line| !line.is_empty() && !line.starts_with(':')).map(str::to_owned).collect()
            }
            Err(_) => commits.to_vec(),
        }
    }

    /// Who, when and why.
    pub fn details(&self, commit: &str) -> Result<Details> {
        let format = "--format=%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%P%x00%s%x00%b";
        // Not `git show -s`: that compares trees even so, and fails where they are missing.
        let printed =
            self.git.bytes(&["log", "--no-walk", "--encoding=UTF-8", "--no-show-signature", format, commit])?;
        // `%s` and `%b` end at the message's first NUL, so that no field holds one.
        let printed = printed.strip_suffix(b"\n").unwrap_or(&printed);
        let fields: Vec<&[u8]> = printed.split(|&byte| byte == 0).collect();
        let [an, ae, at, cn, ce, ct, parents, subject, body] = fields[..] else {
            bail!("git printed {} fields for {commit}", fields.len())
        };
        Ok(Details {
            author_name: an.to_vec(),
            author_email: ae.to_vec(),
            author_time: seconds(at),
            committer_name: cn.to_vec(),
            committer_email: ce.to_vec(),
            commit_time: seconds(ct),
            parent_count: parents.split(|&byte| byte == b' ').filter(|parent| !parent.is_empty()).count() as u64,
            subject: subject.to_vec(),
            body: body.to_vec(),
        })
    }

    /// The patch, or why there is none.
    pub fn patch(&self, commit: &str) -> Result<ExpectedPatch> {
        match self.git.bytes(&diff("show", &["--format=", "-U3", commit])) {
            Ok(patch) if patch.len() > PATCH_CAP => Ok(ExpectedPatch::TooLarge),
            Ok(patch) if is_binary_only(&patch) => Ok(ExpectedPatch::BinaryOnly),
            Ok(patch) => Ok(ExpectedPatch::Stored(patch)),
            Err(_) if self.partial => Ok(ExpectedPatch::MissingObjects),
            Err(error) => Err(error),
        }
    }

    /// The changed files in git's order.
    pub fn files(&self, commit: &str) -> Result<Vec<Change>> {
        parse_raw(&self.raw(commit, &[])?)
    }

    /// The changed files where objects are missing: without renames, which need them, and none at all without the trees.
    pub fn files_without_renames(&self, commit: &str) -> Result<Vec<Change>> {
        match self.raw(commit, &["--no-renames"]) {
            Err(_) if self.partial => Ok(Vec::new()),
            printed => parse_raw(&printed?),
        }
    }

    fn raw(&self, commit: &str, more: &[&str]) -> Result<Vec<u8>> {
        let questions = [&["--format=", "--raw", "--no-abbrev", "-z"], more, &[commit]].concat();
        self.git.bytes(&diff("show", &questions))
    }

    fn rev_list(&self, options: &[&str]) -> Result<Vec<String>> {
        if self.tips.is_empty() {
            return Ok(Vec::new());
        }
        let mut args = vec!["rev-list"];
        args.extend(options);
        args.extend(self.tips.iter().map(String::as_str));
        Ok(self.git.text(&args)?.lines().map(str::to_owned).collect())
    }
}

/// A call of git that prints differences, without the excluded paths.
fn diff(command: &str, questions: &[&str]) -> Vec<String> {
    let mut args: Vec<String> =
        [command].iter().chain(&DIFF_FLAGS).chain(questions).map(|&arg| arg.to_owned()).collect();
    args.push("--".to_owned());
    args.extend(DEFAULT_EXCLUDES.iter().map(|prefix| format!(":(exclude,top){prefix}*")));
    args
}

fn seconds(digits: &[u8]) -> i64 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Whether the patch says of every file only that its bytes differ. Lines of content never begin in the first column.
fn is_binary_only(patch: &[u8]) -> bool {
    let lines = || patch.split(|&byte| byte == b'\n');
    let files = lines().filter(|line| line.starts_with(b"diff --git ")).count();
    let binary = lines().filter(|line| line.starts_with(b"Binary files ") && line.ends_with(b" differ")).count();
    files > 0 && files == binary
}

fn parse_raw(printed: &[u8]) -> Result<Vec<Change>> {
    let mut fields = printed.split(|&byte| byte == 0);
    let mut changes = Vec::new();
    while let Some(header) = fields.next().filter(|field| !field.is_empty()) {
        let header = String::from_utf8_lossy(header);
        let words: Vec<&str> = header.split(' ').collect();
        let [_, _, _, _, status] = words[..] else { bail!("git printed the raw line `{header}`") };
        let status = status.chars().next().with_context(|| format!("`{header}` has no status"))?;
        let first = fields.next().context("a raw line has a path")?.to_vec();
        let second = if matches!(status, 'R' | 'C') {
            Some(fields.next().context("a rename has two paths")?.to_vec())
        } else {
            None
        };
        let (path, old_path) = second.map_or((first.clone(), None), |path| (path, Some(first)));
        changes.push(Change { status, path, old_path });
    }
    Ok(changes)
}
