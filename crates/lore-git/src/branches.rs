//! The branches of a repository: where each stands, and how it relates to the branch that it follows.
//!
//! All of it is read from what is on disk; nothing is asked of a remote.

use std::collections::{BinaryHeap, HashMap, HashSet};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice as _},
    refs::FullName,
};
use lore_model::CommitId;

use crate::{Repository, Result, repository::commit_id};

/// Two branches are compared over so many commits; what is further apart is not counted.
const MAX_COMPARED: usize = 20_000;

/// A local branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its name without `refs/heads/`.
    pub name: String,
    /// Whether it is checked out here, or asked about in place of what is.
    pub is_current: bool,
    /// The commit that it stands at; none where that cannot be read.
    pub tip: Option<BranchTip>,
    /// The branch that it follows, where one is configured.
    pub upstream: Option<Upstream>,
}

/// The last commit of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// The commit.
    pub commit: CommitId,
    /// The first line of its message.
    pub subject: String,
    /// Its author's name.
    pub author: String,
    /// When it was made, by its committer's clock (seconds since 1970).
    pub time: i64,
}

/// The branch that another one follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name without `refs/remotes/`.
    pub name: String,
    /// How many commits only the branch has, and how many only this one has, as of the last fetch; none where it was never
    /// fetched, or where they are too far apart to count.
    pub ahead_behind: Option<(u64, u64)>,
}

impl Repository {
    /// The local branches by name, at most `max` of them, and how many there are. `current` is the branch that counts as
    /// checked out where that is not what HEAD says.
    pub fn local_branches(&self, max: usize, current: Option<&str>) -> Result<(Vec<Branch>, usize)> {
        let mut repo = self.local();
        repo.objects.ignore_replacements = true;
        let current = match current {
            Some(branch) => Some(branch.to_owned()),
            None => self.head()?.branch,
        };
        let platform = repo.references().map_err(|error| self.unreadable("refs", &error))?;
        let mut names: Vec<FullName> = Vec::new();
        for reference in platform.prefixed("refs/heads/").map_err(|error| self.unreadable("refs", &error))? {
            let reference = reference.map_err(|error| self.unreadable("refs", &error))?;
            names.push(reference.name().to_owned());
        }
        names.sort();
        names.dedup();
        let total = names.len();
        let mut left = MAX_COMPARED_IN_ALL;
        let branch = |name: FullName| {
            let short = name.shorten().to_str_lossy().into_owned();
            let tip = tip_of(&repo, &name);
            let upstream = upstream_of(&repo, &name, tip.as_ref().map(|(id, _)| *id), &mut left);
            let is_current = current.as_ref() == Some(&short);
            Branch { name: short, is_current, tip: tip.map(|(_, tip)| tip), upstream }
        };
        Ok((names.into_iter().take(max).map(branch).collect(), total))
    }
}

/// One branch that cannot be read does not keep the others from being listed.
fn tip_of(repo: &gix::Repository, name: &FullName) -> Option<(ObjectId, BranchTip)> {
    let commit = repo.try_find_reference(name.as_ref()).ok()??.peel_to_commit().ok()?;
    let subject = commit.message_raw().ok()?.lines().next().unwrap_or_default().to_str_lossy().trim().to_owned();
    let author = commit.author().ok()?.name.to_str_lossy().into_owned();
    let time = commit.time().ok()?.seconds;
    Some((commit.id, BranchTip { commit: commit_id(commit.id), subject, author, time }))
}

fn upstream_of(repo: &gix::Repository, name: &FullName, tip: Option<ObjectId>, left: &mut usize) -> Option<Upstream> {
    let followed = followed(repo, name)?;
    let there = repo.try_find_reference(followed.as_ref()).ok().flatten();
    let there = there.and_then(|mut reference| Some(reference.peel_to_commit().ok()?.id));
    let ahead_behind = tip.zip(there).and_then(|(ours, theirs)| ahead_behind(repo, ours, theirs, left));
    Some(Upstream { name: followed.shorten().to_str_lossy().into_owned(), ahead_behind })
}

/// The ref that holds what was fetched of the branch that this one follows.
///
/// The names are taken from the repository's own configuration, which counts as untrusted: they only say which ref to look
/// at here.
fn followed(repo: &gix::Repository, name: &FullName) -> Option<FullName> {
    let config = repo.config_snapshot();
    let config = config.plumbing();
    let remote = config.string_by("branch", Some(name.shorten()), "remote")?;
    let merge = config.string_by("branch", Some(name.shorten()), "merge")?;
    if remote == "." {
        return FullName::try_from(merge).ok();
    }
    let specs = config.strings_by("remote", Some(remote.as_ref()), "fetch")?;
    let tracked = specs.iter().find_map(|spec| {
        let (from, to) = spec.strip_prefix(b"+").unwrap_or(spec).split_once_str(":")?;
        match (from.strip_suffix(b"*"), to.strip_suffix(b"*")) {
            (Some(from), Some(to)) => Some([to, merge.strip_prefix(from)?].concat()),
            (None, None) => (from == merge.as_bytes()).then(|| to.to_vec()),
            _ => None,
        }
    });
    FullName::try_from(BString::from(tracked?)).ok()
}

/// So many commits are looked at for all branches together; those that come later are not compared.
const MAX_COMPARED_IN_ALL: usize = 100_000;

const OURS: u8 = 1;
const THEIRS: u8 = 2;
const BOTH: u8 = OURS | THEIRS;

/// How many commits each side has that the other has not: the newest first, each marked with the sides that reach it.
fn ahead_behind(repo: &gix::Repository, ours: ObjectId, theirs: ObjectId, left: &mut usize) -> Option<(u64, u64)> {
    if ours == theirs {
        return Some((0, 0));
    }
    let time = |id: ObjectId| Some(repo.find_commit(id).ok()?.time().ok()?.seconds);
    let mut marks: HashMap<ObjectId, u8> = HashMap::from([(ours, OURS), (theirs, THEIRS)]);
    let mut queue: BinaryHeap<(i64, ObjectId)> = BinaryHeap::from([(time(ours)?, ours), (time(theirs)?, theirs)]);
    let mut waiting: HashSet<ObjectId> = HashSet::from([ours, theirs]);
    // Once all that is left is reached from both sides, so is everything below it, and only what was met already, be it
    // because clocks differ, still has to be told so.
    let mut one_sided = 2_usize;
    let mut visited = 0;
    while let Some((_, id)) = queue.pop() {
        waiting.remove(&id);
        let mark = marks[&id];
        one_sided -= usize::from(mark != BOTH);
        visited += 1;
        if visited > MAX_COMPARED || *left == 0 {
            return None;
        }
        *left -= 1;
        let Ok(commit) = repo.find_commit(id) else { continue };
        for parent in commit.parent_ids().map(gix::Id::detach) {
            // The commits below the boundary of a shallow clone are not there.
            let Some(when) = time(parent) else { continue };
            let before = marks.get(&parent).copied();
            if before.is_none() && mark == BOTH && one_sided == 0 {
                continue;
            }
            let after = before.unwrap_or(0) | mark;
            if before == Some(after) {
                continue;
            }
            marks.insert(parent, after);
            if waiting.insert(parent) {
                queue.push((when, parent));
                one_sided += usize::from(after != BOTH);
            } else if after == BOTH {
                one_sided -= 1;
            }
        }
    }
    let count = |side: u8| marks.values().filter(|mark| **mark == side).count() as u64;
    Some((count(OURS), count(THEIRS)))
}
