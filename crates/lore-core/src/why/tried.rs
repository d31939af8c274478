//! What was tried before: code like a text that is not there any more, and commits that took something back.

use std::path::PathBuf;

use lore_model::{CommitId, Failure, Repo};
use lore_store::CommitQuery;

use crate::{
    Lore,
    search::{ChangeKind, CodeFreshness, CodeHit, CodeRequest, LIMIT_MAX, PastGaps, Period, When, content_words},
    store_failure,
};

/// So many that are still there in another form are expected for each that is not.
const SPARE: usize = 5;

/// What has less in common with the text is no answer.
const MIN_SCORE: f32 = 0.3;

/// So many that are there now are looked at for one of the same name.
const NAMESAKES: usize = 20;

/// So many words of the text count.
const MAX_WORDS: usize = 12;

/// So many commits that took something back are looked at.
const MAX_COMMITS: usize = 200;

/// A question for what was tried before.
#[derive(Debug, Clone)]
pub struct TriedRequest {
    /// The repository, with the work tree that is meant where that is not the registered one.
    pub repo: (Repo, Option<PathBuf>),
    /// What is meant: a description, or code.
    pub text: String,
    /// At most so many answers of each kind.
    pub limit: usize,
}

/// A commit that took something back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// The commit.
    pub commit: CommitId,
    /// Its subject line.
    pub subject: String,
    /// Its author.
    pub author: String,
    /// Its author date.
    pub at: Option<i64>,
    /// The rest of its message.
    pub body: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, Default)]
pub struct Tried {
    /// Code that is not there any more, the most alike first; each tells what took it away.
    pub removed: Vec<CodeHit>,
    /// Commits that took something back which has to do with the text.
    pub reverted: Vec<Reverted>,
    /// What of the past is not kept.
    pub gaps: PastGaps,
    /// How fresh it is.
    pub freshness: Vec<CodeFreshness>,
}

impl Tried {
    /// Adds what another repository has to the same question: of both, the code that is most alike and the newest commits.
    pub fn add(&mut self, other: Self, limit: usize) {
        if self.freshness.is_empty() {
            *self = other;
            return;
        }
        self.removed.extend(other.removed);
        self.removed.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.removed.truncate(limit);
        self.reverted.extend(other.reverted);
        self.reverted.sort_by_key(|reverted| std::cmp::Reverse(reverted.at));
        self.reverted.truncate(limit);
        self.gaps.not_kept.extend(other.gaps.not_kept);
        self.freshness.extend(other.freshness);
    }
}

impl Lore {
    /// Looks for code like a text that was there and is not any more, and why it is not.
    pub fn was_tried(&self, request: &TriedRequest) -> Result<Tried, Failure> {
        let limit = request.limit.clamp(1, LIMIT_MAX);
        let mut asked = CodeRequest::new(request.text.clone(), vec![request.repo.clone()]);
        asked.limit = (limit * SPARE).min(LIMIT_MAX);
        asked.min_score = MIN_SCORE;
        asked.when = When::During(Period { removed: true, gone: true, ..Period::default() });
        asked.check()?;
        let mut found = self.search.query.search(&asked)?;
        let kept = found.gaps.not_kept.is_empty();
        // Without a past, what is there now answered: that was not taken away.
        let mut hits = if kept { std::mem::take(&mut found.hits) } else { Vec::new() };
        self.search.temporal.tell_past(&asked.repos, &mut hits, None)?;
        let mut removed = Vec::new();
        for hit in hits {
            if removed.len() < limit && !self.is_still_there(&asked, &hit)? {
                removed.push(hit);
            }
        }
        let reverted = self.reverted(&request.repo.0, &request.text, limit)?;
        Ok(Tried { removed, reverted, gaps: found.gaps, freshness: found.freshness })
    }

    /// Whether a definition is there in another form, or the same text elsewhere.
    fn is_still_there(&self, asked: &CodeRequest, hit: &CodeHit) -> Result<bool, Failure> {
        let by = hit.told.as_ref().and_then(|told| told.removed_by.as_ref());
        let Some(name) = &hit.name else {
            // Text without a name that was written anew is still there; of a file that is gone nothing is.
            return Ok(by.is_none_or(|by| by.kind != ChangeKind::Deleted));
        };
        let mut namesakes = CodeRequest::new(name.clone(), asked.repos.clone());
        namesakes.limit = NAMESAKES;
        let now = self.search.query.search(&namesakes)?;
        let is_it = |other: &CodeHit| {
            let is_namesake = other.name.as_ref() == Some(name);
            // Many a file has its own `main` or `setup`: elsewhere, one of that name is the same only if it says the same.
            let is_same = match (&hit.container, &other.container) {
                (Some(one), Some(another)) => one == another,
                (None, None) => says_the_same(name, &hit.snippet.text, &other.snippet.text),
                _ => false,
            };
            is_namesake && (other.path == hit.path || is_same)
        };
        Ok(now.hits.iter().any(is_it))
    }

    fn reverted(&self, repo: &Repo, text: &str, limit: usize) -> Result<Vec<Reverted>, Failure> {
        let words = content_words(text, MAX_WORDS);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
        let query = CommitQuery {
            text: format!(
                "(revert* OR backout OR rollback OR \"back out\" OR \"roll back\") AND ({})",
                quoted.join(" OR ")
            ),
            repos: Some(vec![repo.id]),
            prefixes: Vec::new(),
            hidden: self.history.hidden(std::slice::from_ref(repo))?,
            paths: Vec::new(),
            since: None,
            until: None,
            author: None,
            limit: MAX_COMMITS,
        };
        let store = self.history.store();
        let matches = store.search_commits(&query).map_err(store_failure)?;
        let mut reverted = Vec::new();
        for hit in matches.hits {
            let subject = hit.subject.to_lowercase();
            let is_one =
                ["revert", "back out", "backout", "roll back", "rollback"].iter().any(|word| subject.contains(word));
            if !is_one || reverted.len() >= limit {
                continue;
            }
            let detail = store.find_commit(repo.id, hit.commit).map_err(store_failure)?;
            reverted.push(Reverted {
                commit: hit.commit,
                subject: hit.subject,
                author: hit.author,
                at: hit.author_time,
                body: detail.and_then(|detail| detail.body),
            });
        }
        Ok(reverted)
    }
}

/// Whether most of what a definition says beside its name stands in another one, too.
fn says_the_same(name: &str, text: &str, other: &str) -> bool {
    let says = |line: &&str| line.len() > 3 && !line.contains(name);
    let other: Vec<&str> = other.lines().map(str::trim).filter(says).collect();
    let text: Vec<&str> = text.lines().map(str::trim).filter(says).collect();
    2 * text.iter().filter(|line| other.contains(line)).count() > text.len()
}
