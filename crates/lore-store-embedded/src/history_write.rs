//! Writing history.

use std::collections::{HashMap, HashSet};

use lore_model::{
    BranchChoice, CommitId, CommitRecord, NewRepo, Patch, PatchAbsence, Person, Repo, RepoId, RepoName, RepoPath,
    Source, SyncState,
};
use lore_store::{HistoryWriter, Result, StoreError, SyncEnd};
use rusqlite::{OptionalExtension, ToSql, Transaction, params, types::Value};

use crate::{
    code, rows,
    sums::{self, Sum},
    writer::Writer,
};

/// Known paths are kept in memory up to this number, then forgotten and looked up again.
const MAX_CACHED_PATHS: usize = 200_000;

fn path_id(
    transaction: &Transaction<'_>,
    cache: &mut HashMap<RepoPath, i64>,
    path: &RepoPath,
) -> rusqlite::Result<i64> {
    if let Some(id) = cache.get(path) {
        return Ok(*id);
    }
    let text = path.to_text();
    let exact = exact(path);
    let found = transaction
        .prepare_cached("SELECT path_id FROM paths WHERE path = ?1 AND exact = ?2")?
        .query_row(params![text, exact], |row| row.get(0))
        .optional()?;
    let id = match found {
        Some(id) => id,
        None => transaction
            .prepare_cached("INSERT INTO paths (path, exact) VALUES (?1, ?2)")?
            .insert(params![text, exact])?,
    };
    if cache.len() >= MAX_CACHED_PATHS {
        cache.clear();
    }
    cache.insert(path.clone(), id);
    Ok(id)
}

fn delete_commit(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    let unindex = "INSERT INTO commits_fts (commits_fts, rowid, subject, body, patch_preview)
                   SELECT 'delete', id, subject, body, patch_preview FROM commits WHERE id = ?1";
    let unlist = "DELETE FROM file_changes WHERE (path_id, commit_id, position) IN
                  (SELECT path_id, commit_id, position FROM file_changes WHERE commit_id = ?1)";
    for sql in [unindex, unlist, "DELETE FROM patches WHERE commit_id = ?1", "DELETE FROM commits WHERE id = ?1"] {
        transaction.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}

fn delete_all(transaction: &Transaction<'_>, repo: RepoId) -> rusqlite::Result<()> {
    let ids = transaction
        .prepare_cached("SELECT id FROM commits WHERE repo_id = ?1")?
        .query_map([repo.0], |row| row.get::<_, i64>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    ids.into_iter().try_for_each(|id| delete_commit(transaction, id))
}

fn commit_row(transaction: &Transaction<'_>, repo: RepoId, commit: CommitId) -> rusqlite::Result<Option<i64>> {
    transaction
        .prepare_cached("SELECT id FROM commits WHERE repo_id = ?1 AND sha = ?2")?
        .query_row(params![repo.0, commit.to_hex()], |row| row.get(0))
        .optional()
}

/// Adds a commit, or replaces it; tells whether it is new.
fn put_commit(
    transaction: &Transaction<'_>,
    paths: &mut HashMap<RepoPath, i64>,
    repo: RepoId,
    commit: &CommitRecord,
) -> rusqlite::Result<bool> {
    let old = commit_row(transaction, repo, commit.id)?;
    if let Some(old) = old {
        delete_commit(transaction, old)?;
    }
    let absence = match &commit.patch {
        Patch::Stored { .. } => None,
        Patch::Absent(reason) => Some(*reason),
    };
    let values = params![
        repo.0,
        commit.id.to_hex(),
        commit.author.name,
        commit.author.email,
        commit.committer.name,
        commit.committer.email,
        commit.author_time,
        commit.commit_time,
        commit.subject,
        commit.body,
        commit.parent_count,
        commit.patch_preview,
        rows::patch_state(absence),
        commit.lossy,
    ];
    let sum = Value::Integer(commit_sum(values, repo, commit)?);
    let id = transaction
        .prepare_cached(&format!(
            "INSERT INTO commits ({}, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            sums::COMMIT
        ))?
        .insert(&*sums::with_sum(values, &sum))?;
    transaction
        .prepare_cached("INSERT INTO commits_fts (rowid, subject, body, patch_preview) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![id, commit.subject, commit.body, commit.patch_preview])?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO file_changes (path_id, commit_id, position, status, old_path_id, repo_id, author_time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (position, file) in commit.files.iter().enumerate() {
        let path = path_id(transaction, paths, &file.path)?;
        let old_path = file.old_path.as_ref().map(|path| path_id(transaction, paths, path)).transpose()?;
        let status = file.status.letter().to_string();
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        insert.execute(params![path, id, position, status, old_path, repo.0, commit.author_time.unwrap_or(0)])?;
    }
    if let Patch::Stored { zstd, raw_len } = &commit.patch {
        transaction
            .prepare_cached("INSERT INTO patches (commit_id, patch_blob, raw_len) VALUES (?1, ?2, ?3)")?
            .execute(params![id, zstd, i64::try_from(*raw_len).unwrap_or(i64::MAX)])?;
    }
    Ok(old.is_none())
}

/// The sum of a commit's row and of its files, as [`sums::check`] reads them.
fn commit_sum(values: &[&dyn ToSql], repo: RepoId, commit: &CommitRecord) -> rusqlite::Result<i64> {
    let mut sum = Sum::default();
    sum.values(values)?;
    for (position, file) in commit.files.iter().enumerate() {
        let status = file.status.letter().to_string();
        let old = file.old_path.as_ref();
        sum.values(params![
            rows::count(position),
            status,
            file.path.to_text(),
            exact(&file.path),
            old.map(|path| path.to_text()),
            old.map(exact),
            repo.0,
            commit.author_time.unwrap_or(0),
        ])?;
    }
    Ok(sum.finish())
}

/// The bytes of a path that is no text.
fn exact(path: &RepoPath) -> &[u8] {
    if path.is_text() { b"" } else { path.as_bytes() }
}

fn state(transaction: &Transaction<'_>, repo: RepoId) -> rusqlite::Result<SyncState> {
    let repo = rows::repos(transaction, Some(repo))?.pop();
    repo.map(|repo| repo.sync).ok_or(rusqlite::Error::QueryReturnedNoRows)
}

impl Writer {
    /// Gives back to the system what a repository took that is gone.
    fn free_room(&self) -> Result<()> {
        self.query(|connection| {
            // What was deleted stays in the full-text index until its parts are merged.
            connection.execute("INSERT INTO commits_fts (commits_fts) VALUES ('optimize')", [])?;
            // Each step frees one page.
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut freed = statement.query([])?;
            while freed.next()?.is_some() {}
            Ok(())
        })?;
        code::collect(&self.shared, code::Thoroughness::Everything)?;
        self.checkpoint()
    }
}

fn exists(repo: &Repo) -> StoreError {
    let place = repo.info.local_path.to_string_lossy().into_owned();
    StoreError::RepoExists { name: repo.name().to_owned(), place }
}

impl HistoryWriter for Writer {
    fn add_repo(&self, new: &NewRepo, at: i64) -> Result<Repo> {
        self.write(|transaction, _| {
            let place = rows::path_value(&new.local_path);
            let is_taken = |repo: &Repo| repo.answers_to(new.name.as_str()) || repo.info.local_path == new.local_path;
            if let Some(taken) = rows::repos(transaction, None)?.iter().find(|repo| is_taken(repo)) {
                return Ok(Err(exists(taken)));
            }
            let url = if let Source::Url(url) = &new.source { Some(url) } else { None };
            let id = transaction
                .prepare(
                    "INSERT INTO repos (name, local_path, remote_url, default_branch, exclude_prefixes, author_filter, fork_of, branches)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .insert(params![
                    new.name.as_str(), place, url, new.default_branch, rows::list_json(&new.excludes), new.author_filter, new.fork_of,
                    rows::branches_value(&new.branches),
                ])?;
            transaction.execute("INSERT INTO ingest_state (repo_id, added_at) VALUES (?1, ?2)", params![id, at])?;
            Ok(rows::repos(transaction, Some(RepoId(id)))?.pop().ok_or(StoreError::Absent(new.name.to_string())))
        })?
    }

    fn remove_repo(&self, repo: RepoId) -> Result<()> {
        self.write(|transaction, paths| {
            delete_all(transaction, repo)?;
            for table in ["ingest_state", "repo_tips", "author_aliases", "snapshots", "code_state", "evidence", "pasts", "repos"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE repo_id = ?1"), [repo.0])?;
            }
            transaction.execute(
                "DELETE FROM paths WHERE path_id NOT IN
                 (SELECT path_id FROM file_changes UNION SELECT old_path_id FROM file_changes WHERE old_path_id IS NOT NULL)",
                [],
            )?;
            paths.clear();
            Ok(())
        })?;
        // The repository is gone. That its room cannot be freed now is no reason to say otherwise.
        if let Err(error) = self.free_room() {
            tracing::warn!(%error, "what a repository took could not be freed: run `lore doctor --deep`");
        }
        Ok(())
    }

    fn set_aliases(&self, repo: RepoId, aliases: &[RepoName]) -> Result<()> {
        self.write(|transaction, _| {
            let repos = rows::repos(transaction, None)?;
            let is_taken = |other: &&Repo| aliases.iter().any(|alias| other.answers_to(alias.as_str()));
            if let Some(taken) = repos.iter().filter(|other| other.id != repo).find(is_taken) {
                return Ok(Err(exists(taken)));
            }
            let names: Vec<String> = aliases.iter().map(RepoName::to_string).collect();
            let value = Some(rows::list_json(&names)).filter(|_| !names.is_empty());
            let changed =
                transaction.execute("UPDATE repos SET aliases = ?2 WHERE repo_id = ?1", params![repo.0, value])?;
            Ok(if changed == 0 { Err(StoreError::Absent(format!("repository {repo}"))) } else { Ok(()) })
        })?
    }

    fn set_branches(&self, repo: RepoId, branches: &BranchChoice) -> Result<()> {
        let value = rows::branches_value(branches);
        let changed = self.write(|transaction, _| {
            transaction.execute("UPDATE repos SET branches = ?2 WHERE repo_id = ?1", params![repo.0, value])
        })?;
        if changed == 0 { Err(StoreError::Absent(format!("repository {repo}"))) } else { Ok(()) }
    }

    fn note_current(&self, repo: RepoId, at: i64) -> Result<()> {
        self.write(|transaction, _| {
            transaction.execute(
                "UPDATE ingest_state SET last_synced_at = ?2, sync_count = sync_count + 1, last_error = NULL WHERE repo_id = ?1",
                params![repo.0, at],
            )?;
            Ok(())
        })?;
        self.checkpoint()
    }

    fn begin_sync(&self, repo: RepoId, fingerprint: &str, shallow: &[CommitId]) -> Result<SyncState> {
        self.write(|transaction, _| {
            let mut before = state(transaction, repo)?;
            if before.fingerprint != fingerprint {
                delete_all(transaction, repo)?;
                transaction.execute("DELETE FROM repo_tips WHERE repo_id = ?1", [repo.0])?;
                let reset = "UPDATE ingest_state SET fingerprint = ?2, commit_count = 0, last_synced_sha = NULL WHERE repo_id = ?1";
                transaction.execute(reset, params![repo.0, fingerprint])?;
                before = state(transaction, repo)?;
                before.partial = true;
            }
            transaction.execute("UPDATE ingest_state SET partial = 1 WHERE repo_id = ?1", [repo.0])?;
            let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO repo_tips (repo_id, name, sha, shallow) VALUES (?1, '', ?2, 1)")?;
            for commit in shallow {
                insert.execute(params![repo.0, commit.to_hex()])?;
            }
            Ok(before)
        })
    }

    fn known_commits(&self, repo: RepoId) -> Result<HashSet<CommitId>> {
        self.query(|connection| {
            let mut statement = connection.prepare_cached("SELECT sha FROM commits WHERE repo_id = ?1")?;
            statement.query_map([repo.0], |row| rows::commit_id(row, 0))?.collect()
        })
    }

    fn commits_without_patch(&self, repo: RepoId, why: PatchAbsence) -> Result<Vec<CommitId>> {
        // The last condition, which says nothing new, lets SQLite take the index of commits without a patch.
        let sql = "SELECT sha FROM commits WHERE repo_id = ?1 AND patch_state = ?2 AND patch_state <> 0 ORDER BY sha";
        self.query(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map([repo.0, rows::patch_state(Some(why))], |row| rows::commit_id(row, 0))?.collect()
        })
    }

    fn put_commits(&self, repo: RepoId, commits: Vec<CommitRecord>) -> Result<()> {
        self.write(|transaction, paths| {
            let mut added = 0_i64;
            for commit in &commits {
                added += i64::from(put_commit(transaction, paths, repo, commit)?);
            }
            transaction.execute(
                "UPDATE ingest_state SET commit_count = commit_count + ?2 WHERE repo_id = ?1",
                params![repo.0, added],
            )?;
            Ok(())
        })
    }

    fn list_authors(&self, repo: RepoId) -> Result<Vec<Person>> {
        self.query(|connection| {
            connection
                .prepare_cached("SELECT DISTINCT author_name, author_email FROM commits WHERE repo_id = ?1")?
                .query_map([repo.0], |row| Ok(Person { name: row.get(0)?, email: row.get(1)? }))?
                .collect()
        })
    }

    fn end_sync(&self, repo: RepoId, end: SyncEnd) -> Result<SyncState> {
        let ended = self
            .write(|transaction, _| {
                for commit in &end.remove {
                    if let Some(id) = commit_row(transaction, repo, *commit)? {
                        delete_commit(transaction, id)?;
                    }
                }
                transaction.execute("DELETE FROM repo_tips WHERE repo_id = ?1", [repo.0])?;
                let mut insert = transaction.prepare_cached("INSERT INTO repo_tips (repo_id, name, sha, shallow) VALUES (?1, ?2, ?3, ?4)")?;
                for tip in &end.tips {
                    insert.execute(params![repo.0, tip.name, tip.commit.to_hex(), false])?;
                }
                for commit in &end.shallow {
                    insert.execute(params![repo.0, "", commit.to_hex(), true])?;
                }
                transaction.execute("DELETE FROM author_aliases WHERE repo_id = ?1", [repo.0])?;
                let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO author_aliases VALUES (?1, ?2, ?3, ?4, ?5)")?;
                for alias in &end.aliases {
                    let (from, to) = (&alias.recorded, &alias.mapped);
                    insert.execute(params![repo.0, from.name, from.email, to.name, to.email])?;
                }
                let problems = rows::problems_json(transaction, repo, &end.problems)?;
                transaction.execute("UPDATE repos SET default_branch = coalesce(?2, default_branch) WHERE repo_id = ?1", params![repo.0, end.default_branch])?;
                transaction.execute(
                    "UPDATE ingest_state SET last_synced_at = ?2, sync_count = sync_count + 1, last_synced_sha = ?3, last_error = NULL, partial = 0, problems = ?4,
                            commit_count = (SELECT count(*) FROM commits WHERE repo_id = ?1) WHERE repo_id = ?1",
                    params![repo.0, end.at, end.head.map(|id| id.to_hex()), problems],
                )?;
                state(transaction, repo)
            })?;
        self.checkpoint()?;
        Ok(ended)
    }

    fn fail_sync(&self, repo: RepoId, error: &str) -> Result<()> {
        self.write(|transaction, _| {
            transaction
                .execute("UPDATE ingest_state SET last_error = ?2 WHERE repo_id = ?1", params![repo.0, error])?;
            Ok(())
        })
    }
}
