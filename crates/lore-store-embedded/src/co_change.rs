//! Reading history: which files change together.
//!
//! Everything is reached by an index: a path's changes by the path, a commit's files by the commit. There is none by a file's
//! former name, so renames are followed back in time only, from each name that was met.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use lore_model::{RepoId, RepoPath};
use lore_store::{CoChange, CoChangeQuery, CoChanges};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{history_read::hidden_ids, rows};

/// More names of one file are not followed: near-empty files can be taken for each other without end.
const NAMES_MAX: usize = 64;

/// So many subjects are told.
const SUBJECTS_MAX: usize = 200;

const PATH: &str = "SELECT path_id FROM paths WHERE path = ?1 AND exact = ?2";
const RENAMES: &str = "SELECT f.old_path_id, coalesce(c.commit_time, 0), f.commit_id FROM file_changes AS f CROSS JOIN commits AS c ON c.id = f.commit_id
    WHERE f.path_id = ?1 AND f.repo_id = ?2 AND f.status = 'R' AND f.old_path_id IS NOT NULL AND c.parent_count < 2";
const CHANGES: &str = "SELECT f.commit_id, coalesce(c.commit_time, 0), c.sha FROM file_changes AS f CROSS JOIN commits AS c ON c.id = f.commit_id
    WHERE f.path_id = ?1 AND f.repo_id = ?2 AND c.parent_count < 2";
const FILES: &str = "SELECT path_id FROM file_changes WHERE commit_id = ?1 LIMIT ?2";
const COMMIT: &str = "SELECT sha, subject, author_time FROM commits WHERE id = ?1";
const NAME: &str = "SELECT path, exact FROM paths WHERE path_id = ?1";

/// Names of a file, each with the time up to which what happened under it happened to the file.
type Names = BTreeMap<i64, i64>;

/// A commit that counts. Ordered: the newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Counted {
    time: Reverse<i64>,
    sha: String,
    id: i64,
}

pub(crate) fn co_changes(connection: &Connection, query: &CoChangeQuery) -> rusqlite::Result<CoChanges> {
    let of = Counting { connection, repo: query.repo, hidden: hidden_ids(connection, &query.hidden)? };
    let mut asked = Names::new();
    for path in &query.paths {
        if let Some(id) = path_id(connection, path)? {
            merge(&mut asked, of.names(id)?);
        }
    }
    let mut commits = of.changes(&asked)?;
    let too_old = commits.len().saturating_sub(query.max_commits);
    commits.truncate(query.max_commits);
    let mut found = CoChanges { too_old, ..CoChanges::default() };
    let mut others: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    let mut files = connection.prepare_cached(FILES)?;
    let most = i64::try_from(query.max_files).unwrap_or(i64::MAX - 1);
    let mut counted = Vec::new();
    for commit in commits {
        let paths = files.query_map(params![commit.id, most + 1], |row| row.get(0))?;
        let paths: Vec<i64> = paths.collect::<rusqlite::Result<_>>()?;
        if paths.len() > query.max_files {
            found.too_large += 1;
            continue;
        }
        for path in BTreeSet::from_iter(paths) {
            if asked.get(&path).is_none_or(|until| *until < commit.time.0) {
                others.entry(path).or_default().push(counted.len());
            }
        }
        counted.push(commit);
    }
    found.commits = counted.len();
    let mut ranked: Vec<(usize, usize, RepoPath)> = Vec::new();
    let mut name = connection.prepare_cached(NAME)?;
    for (path, commits) in of.followed(&others, &counted)? {
        let Some(newest) = commits.first() else { continue };
        ranked.push((commits.len(), *newest, name.query_row([path], |row| rows::repo_path(row, 0))?));
    }
    // Commits are numbered from the newest on.
    ranked.sort_by(|a, b| (Reverse(a.0), a.1, &a.2).cmp(&(Reverse(b.0), b.1, &b.2)));
    found.more = ranked.len() > query.limit;
    ranked.truncate(query.limit);
    let mut commit = connection.prepare_cached(COMMIT)?;
    for (support, newest, path) in ranked {
        found.files.push(commit.query_row([counted[newest].id], |row| {
            Ok(CoChange {
                path,
                support,
                newest: rows::commit_id(row, 0)?,
                subject: row.get(1)?,
                author_time: row.get(2)?,
            })
        })?);
    }
    for counted in counted.iter().take(SUBJECTS_MAX) {
        found.subjects.push(commit.query_row([counted.id], |row| row.get(1))?);
    }
    for id in asked.keys() {
        let path = name.query_row([id], |row| rows::repo_path(row, 0))?;
        if !query.paths.contains(&path) {
            found.earlier.push(path);
        }
    }
    found.earlier.sort();
    Ok(found)
}

/// The number of a path, where it has one.
pub(crate) fn path_id(connection: &Connection, path: &RepoPath) -> rusqlite::Result<Option<i64>> {
    let exact: &[u8] = if path.is_text() { b"" } else { path.as_bytes() };
    connection.prepare_cached(PATH)?.query_row(params![path.to_text(), exact], |row| row.get(0)).optional()
}

/// What commits are looked at for an answer.
struct Counting<'a> {
    connection: &'a Connection,
    repo: RepoId,
    /// Numbers of commits that do not count.
    hidden: HashSet<i64>,
}

impl Counting<'_> {
    /// The names of a file, found from its last one.
    fn names(&self, path: i64) -> rusqlite::Result<Names> {
        let mut renames = self.connection.prepare_cached(RENAMES)?;
        let mut names = Names::from([(path, i64::MAX)]);
        let mut left = vec![path];
        while let Some(next) = left.pop() {
            let until = names.get(&next).copied().unwrap_or(i64::MIN);
            let mut rows = renames.query(params![next, self.repo.0])?;
            while let Some(row) = rows.next()? {
                if self.hidden.contains(&row.get(2)?) {
                    continue;
                }
                let (old, at): (i64, i64) = (row.get(0)?, row.get(1)?);
                let is_later = at <= until && names.get(&old).is_none_or(|known| *known < at);
                if is_later && (names.contains_key(&old) || names.len() < NAMES_MAX) {
                    names.insert(old, at);
                    left.push(old);
                }
            }
        }
        Ok(names)
    }

    /// The commits that changed a file under one of its names, the newest first.
    fn changes(&self, names: &Names) -> rusqlite::Result<Vec<Counted>> {
        let mut statement = self.connection.prepare_cached(CHANGES)?;
        let mut commits = BTreeSet::new();
        for (name, until) in names {
            let mut rows = statement.query(params![name, self.repo.0])?;
            while let Some(row) = rows.next()? {
                let (id, time): (i64, i64) = (row.get(0)?, row.get(1)?);
                if time <= *until && !self.hidden.contains(&id) {
                    commits.insert(Counted { time: Reverse(time), sha: row.get(2)?, id });
                }
            }
        }
        Ok(commits.into_iter().collect())
    }

    /// The commits of each file under all its names; what belongs to a file by its later name does not count for the earlier one.
    fn followed(
        &self,
        others: &BTreeMap<i64, Vec<usize>>,
        counted: &[Counted],
    ) -> rusqlite::Result<Vec<(i64, Vec<usize>)>> {
        let mut all: HashMap<i64, Names> = HashMap::new();
        for path in others.keys() {
            all.insert(*path, self.names(*path)?);
        }
        let until = |of: i64, name: i64| all.get(&of).and_then(|names| names.get(&name)).copied();
        let mut claimed: HashMap<i64, i64> = HashMap::new();
        for (path, names) in &all {
            // Where two files changed names again and again, the one that had the name last claims the other.
            let earlier = names.iter().filter(|(name, _)| *name != path);
            for (name, at) in earlier.filter(|(name, at)| until(**name, *path).is_none_or(|other| other < **at)) {
                let known = claimed.entry(*name).or_insert(*at);
                *known = (*known).max(*at);
            }
        }
        let mut files = Vec::new();
        for (path, names) in &all {
            let after = claimed.get(path).copied().unwrap_or(i64::MIN);
            let mut commits = BTreeSet::new();
            for (name, until) in names {
                let time = |commit: &&usize| counted[**commit].time.0;
                let of_name = others.get(name).into_iter().flatten();
                commits.extend(of_name.filter(|commit| time(commit) <= *until && time(commit) > after).copied());
            }
            files.push((*path, commits.into_iter().collect()));
        }
        Ok(files)
    }
}

fn merge(names: &mut Names, more: Names) {
    for (name, until) in more {
        let known = names.entry(name).or_insert(until);
        *known = until.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::migrate::INDEX;

    #[test]
    fn nothing_is_searched_from_end_to_end() {
        let mut connection = Connection::open_in_memory().unwrap();
        INDEX.migrate(Path::new(""), &mut connection).unwrap();
        for sql in [PATH, RENAMES, CHANGES, FILES, COMMIT, NAME] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let count = statement.parameter_count();
            let plan: Vec<String> = statement
                .query_map(rusqlite::params_from_iter(vec![1; count]), |row| row.get(3))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert!(plan.iter().all(|step| step.starts_with("SEARCH ") && step.contains("=?")), "{sql}: {plan:?}");
        }
    }
}
