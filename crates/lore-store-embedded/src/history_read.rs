//! Reading history: search, touches, commits, patches.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use lore_model::{CommitId, CommitPrefix, FileStatus, Person, Repo, RepoId, RepoPath};
use lore_store::{
    CoChangeQuery, CoChanges, CommitDetail, CommitHit, CommitMatches, CommitMessage, CommitQuery, CommitSubject,
    Hidden, HistoryStore, IndexSize, IndexWriter, PatchText, Result, StoreError, SubjectFile, Subjects, TouchHit,
    TouchQuery, unpack_patch,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension, ToSql, params, params_from_iter, types::Value};

use crate::{
    EmbeddedStore,
    co_change::{co_changes, path_id},
    error::foreign,
    fts_query::{self, TooManyPhrases, normalize, quote_words},
    rows, sums,
};

/// Weights of subject, body and patch preview.
const BM25: &str = "bm25(commits_fts, 10.0, 4.0, 1.0)";

/// A condition on commits together with the values it names.
#[derive(Default)]
struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    fn repos(&mut self, column: &str, repos: Option<&Vec<RepoId>>) {
        if let Some(repos) = repos {
            let marks = vec!["?"; repos.len()].join(",");
            self.and(&format!("{column} IN ({marks})"), repos.iter().map(|id| Value::Integer(id.0)));
        }
    }

    /// The file's row is `f`. Of each repository that has a prefix the paths are looked through once.
    fn touched(&mut self, path: &str, prefixes: &[(RepoId, String)]) {
        const PATHS: &str = "f.path_id IN (SELECT path_id FROM paths WHERE ? || path LIKE ? ESCAPE '\\')";
        let pattern = || Value::Text(like(path));
        if prefixes.is_empty() {
            return self.and("f.path_id IN (SELECT path_id FROM paths WHERE path LIKE ? ESCAPE '\\')", [pattern()]);
        }
        let mut tests = vec![format!("(f.repo_id = ? AND {PATHS})"); prefixes.len()];
        let mut values: Vec<Value> = Vec::new();
        for (repo, prefix) in prefixes {
            values.extend([Value::Integer(repo.0), Value::Text(prefix.clone()), pattern()]);
        }
        let marks = vec!["?"; prefixes.len()].join(",");
        tests.push(format!("(f.repo_id NOT IN ({marks}) AND {PATHS})"));
        values.extend(prefixes.iter().map(|(repo, _)| Value::Integer(repo.0)));
        values.extend([Value::Text(String::new()), pattern()]);
        self.and(&format!("({})", tests.join(" OR ")), values);
    }

    fn times(&mut self, column: &str, since: Option<i64>, until: Option<i64>) {
        for (operator, bound) in [(">=", since), ("<=", until)] {
            if let Some(bound) = bound {
                self.and(&format!("coalesce({column}, 0) {operator} ?"), [Value::Integer(bound)]);
            }
        }
    }

    /// `commit` names the row of `commits` in the surrounding query.
    fn author(&mut self, commit: &str, author: Option<&String>) {
        let Some(author) = author else { return };
        let pattern = Value::Text(like(author));
        let condition = format!(
            "(({commit}.author_name || ' <' || {commit}.author_email || '>') LIKE ? ESCAPE '\\'
              OR EXISTS (SELECT 1 FROM author_aliases AS a
                         WHERE a.repo_id = {commit}.repo_id AND a.name = {commit}.author_name AND a.email = {commit}.author_email
                           AND (a.mapped_name || ' <' || a.mapped_email || '>') LIKE ? ESCAPE '\\'))"
        );
        self.and(&condition, [pattern.clone(), pattern]);
    }

    /// `column` names the number of a commit.
    fn hidden(&mut self, column: &str, connection: &Connection, hidden: &Hidden) -> rusqlite::Result<()> {
        if !hidden.is_empty() {
            let ids: Vec<String> = hidden_ids(connection, hidden)?.iter().map(i64::to_string).collect();
            let list = Value::Text(format!("[{}]", ids.join(",")));
            self.and(&format!("{column} NOT IN (SELECT value FROM json_each(?))"), [list]);
        }
        Ok(())
    }

    fn parameters(&self) -> impl Iterator<Item = &dyn ToSql> {
        self.values.iter().map(|value| value as &dyn ToSql)
    }
}

/// The numbers of hidden commits.
pub(crate) fn hidden_ids(connection: &Connection, hidden: &Hidden) -> rusqlite::Result<HashSet<i64>> {
    let mut id = connection.prepare_cached("SELECT id FROM commits WHERE repo_id = ?1 AND sha = ?2")?;
    let mut ids = HashSet::new();
    for (repo, commit) in hidden.iter() {
        ids.extend(id.query_row(params![repo.0, commit.to_hex()], |row| row.get::<_, i64>(0)).optional()?);
    }
    Ok(ids)
}

/// A `LIKE` pattern that matches texts which contain this one, character for character.
pub(crate) fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

/// `(p.path LIKE ? OR …)` and its values. The surrounding query names the file's row `f` and its path's `p`.
fn any_path(paths: &[String], prefixes: &[(RepoId, String)]) -> (String, Vec<Value>) {
    let cases = " WHEN ? THEN ?".repeat(prefixes.len());
    let path = if prefixes.is_empty() { "p.path" } else { &*format!("(CASE f.repo_id{cases} ELSE '' END || p.path)") };
    let tests = vec![format!("{path} LIKE ? ESCAPE '\\'"); paths.len()].join(" OR ");
    let mut values = Vec::new();
    for path in paths {
        for (repo, prefix) in prefixes {
            values.extend([Value::Integer(repo.0), Value::Text(prefix.clone())]);
        }
        values.push(Value::Text(like(path)));
    }
    (format!("({tests})"), values)
}

fn search(connection: &Connection, query: &CommitQuery, text: &str) -> rusqlite::Result<(Vec<CommitHit>, bool)> {
    let mut filter = Filter::default();
    filter.repos("c.repo_id", query.repos.as_ref());
    filter.hidden("c.id", connection, &query.hidden)?;
    filter.times("c.author_time", query.since, query.until);
    filter.author("c", query.author.as_ref());
    if !query.paths.is_empty() {
        let (tests, values) = any_path(&query.paths, &query.prefixes);
        let condition = format!(
            "EXISTS (SELECT 1 FROM file_changes AS f JOIN paths AS p ON p.path_id = f.path_id WHERE f.commit_id = c.id AND {tests})"
        );
        filter.and(&condition, values);
    }
    let ranked = best(connection, &filter, text, query.limit)?;
    let mut hits =
        ranked.into_iter().map(|(rank, id)| hit(connection, id, rank)).collect::<rusqlite::Result<Vec<_>>>()?;
    // Equal ones newest first; the rest only makes the order the same in every index.
    let age = |row: &Row| (row.hit.author_time.unwrap_or(0), row.commit_time);
    hits.sort_by(|a, b| {
        let order = b.hit.score.total_cmp(&a.hit.score).then_with(|| age(b).cmp(&age(a)));
        order.then_with(|| (a.hit.commit, a.hit.repo).cmp(&(b.hit.commit, b.hit.repo)))
    });
    let more = hits.len() > query.limit;
    hits.truncate(query.limit);
    let (tests, values) =
        if query.paths.is_empty() { ("1".to_owned(), Vec::new()) } else { any_path(&query.paths, &query.prefixes) };
    let sql = format!(
        "SELECT p.path FROM file_changes AS f JOIN paths AS p ON p.path_id = f.path_id WHERE f.commit_id = ? AND {tests} ORDER BY f.position"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    for row in &mut hits {
        let parameters = std::iter::once(&row.id as &dyn ToSql).chain(values.iter().map(|value| value as &dyn ToSql));
        let paths = statement.query_map(params_from_iter(parameters), |row| row.get(0))?;
        row.hit.matched_paths = paths.collect::<rusqlite::Result<_>>()?;
    }
    Ok((hits.into_iter().map(|row| row.hit).collect(), more))
}

/// Rank and row of the best `limit` matches and one more, and of all that rank the same as the last of them.
///
/// Only ranks are looked at here: reading the rows of every match would cost more than ranking them.
fn best(connection: &Connection, filter: &Filter, text: &str, limit: usize) -> rusqlite::Result<Vec<(f64, i64)>> {
    let join = if filter.sql.is_empty() { "" } else { "JOIN commits AS c ON c.id = commits_fts.rowid" };
    let sql =
        format!("SELECT {BM25}, commits_fts.rowid FROM commits_fts {join} WHERE commits_fts MATCH ? {}", filter.sql);
    let parameters = std::iter::once(&text as &dyn ToSql).chain(filter.parameters());
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(parameters), |row| Ok((row.get::<_, f64>(0)?, row.get(1)?)))?;
    let mut ranked = rows.collect::<rusqlite::Result<Vec<(f64, i64)>>>()?;
    if ranked.len() > limit + 1 {
        let (_, (last, _), _) = ranked.select_nth_unstable_by(limit, |a, b| a.0.total_cmp(&b.0));
        let last = *last;
        ranked.retain(|(rank, _)| *rank <= last);
    }
    Ok(ranked)
}

/// A hit with what its order depends on.
struct Row {
    id: i64,
    commit_time: Option<i64>,
    hit: CommitHit,
}

fn hit(connection: &Connection, id: i64, rank: f64) -> rusqlite::Result<Row> {
    let sql = "SELECT repo_id, sha, subject, author_name, author_time, patch_preview, lossy, commit_time FROM commits WHERE id = ?1";
    connection.prepare_cached(sql)?.query_row([id], |row| {
        let hit = CommitHit {
            repo: RepoId(row.get(0)?),
            commit: rows::commit_id(row, 1)?,
            subject: row.get(2)?,
            author: row.get(3)?,
            author_time: row.get(4)?,
            matched_paths: Vec::new(),
            patch_preview: row.get(5)?,
            lossy: row.get(6)?,
            // FTS5 calls the best the most negative.
            score: -rank,
        };
        Ok(Row { id, commit_time: row.get(7)?, hit })
    })
}

fn touches(connection: &Connection, query: &TouchQuery) -> rusqlite::Result<(Vec<TouchHit>, bool)> {
    let mut filter = Filter::default();
    filter.touched(&query.path, &query.prefixes);
    filter.repos("f.repo_id", query.repos.as_ref());
    filter.hidden("f.commit_id", connection, &query.hidden)?;
    filter.times("f.author_time", query.since, query.until);
    if let Some(author) = &query.author {
        let mut inner = Filter::default();
        inner.author("c", Some(author));
        filter
            .and(&format!("EXISTS (SELECT 1 FROM commits AS c WHERE c.id = f.commit_id {})", inner.sql), inner.values);
    }
    // First the moment of the last hit that can be shown, from narrow rows alone; then the hits from that moment on.
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT f.author_time FROM file_changes AS f WHERE 1 {} ORDER BY f.author_time DESC LIMIT 1 OFFSET ?",
        filter.sql
    );
    let parameters = filter.parameters().chain(std::iter::once(&limit as &dyn ToSql));
    let cut: Option<i64> =
        connection.prepare_cached(&sql)?.query_row(params_from_iter(parameters), |row| row.get(0)).optional()?;
    filter.times("f.author_time", cut, None);
    let sql = format!(
        "SELECT f.repo_id, c.sha, c.subject, c.author_time, f.status, p.path, p.exact, o.path, o.exact
         FROM file_changes AS f JOIN commits AS c ON c.id = f.commit_id JOIN paths AS p ON p.path_id = f.path_id
         LEFT JOIN paths AS o ON o.path_id = f.old_path_id
         WHERE 1 {}
         ORDER BY f.author_time DESC, c.commit_time DESC, c.sha, f.repo_id, f.position LIMIT ?",
        filter.sql
    );
    let limit = limit.saturating_add(1);
    let parameters = filter.parameters().chain(std::iter::once(&limit as &dyn ToSql));
    let mut hits = connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(parameters), |row| {
            Ok(TouchHit {
                repo: RepoId(row.get(0)?),
                commit: rows::commit_id(row, 1)?,
                subject: row.get(2)?,
                author_time: row.get(3)?,
                change: rows::file_change(row, 4)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let more = hits.len() > query.limit;
    hits.truncate(query.limit);
    Ok((hits, more))
}

fn subjects(connection: &Connection, repo: RepoId, max_files: usize) -> rusqlite::Result<Subjects> {
    let (mut found, mut numbers) = (Subjects::default(), HashMap::<i64, u32>::new());
    let mut path_ids = Vec::new();
    let mut number = |path_id: i64| {
        *numbers.entry(path_id).or_insert_with(|| {
            path_ids.push(path_id);
            u32::try_from(path_ids.len() - 1).unwrap_or(u32::MAX)
        })
    };
    let mut commits = connection.prepare_cached(
        "SELECT id, subject FROM commits WHERE repo_id = ?1 AND parent_count < 2 ORDER BY coalesce(commit_time, 0) DESC, sha",
    )?;
    let mut files = connection.prepare_cached(
        "SELECT path_id, status, old_path_id FROM file_changes WHERE commit_id = ?1 ORDER BY position",
    )?;
    let mut rows = commits.query([repo.0])?;
    while let Some(row) = rows.next()? {
        let changes = files.query_map([row.get::<_, i64>(0)?], |row| {
            let letter = row.get_ref(1)?.as_bytes()?.first().copied().unwrap_or(0);
            let status = FileStatus::from_letter(letter).ok_or_else(|| rows::unfit(1, "no status of a file"))?;
            Ok((row.get::<_, i64>(0)?, status, row.get::<_, Option<i64>>(2)?))
        })?;
        let mut changes: Vec<(i64, FileStatus, Option<i64>)> = changes.collect::<rusqlite::Result<_>>()?;
        let file_count = changes.len();
        if file_count > max_files {
            changes.retain(|(_, status, _)| *status == FileStatus::Renamed);
        }
        if changes.is_empty() {
            continue;
        }
        let file = |(path, status, old): (i64, FileStatus, Option<i64>)| SubjectFile {
            path: number(path),
            status,
            old_path: old.map(&mut number),
        };
        let files = changes.into_iter().map(file).collect();
        found.commits.push(CommitSubject { subject: row.get(1)?, file_count, files });
    }
    let mut path = connection.prepare_cached("SELECT path, exact FROM paths WHERE path_id = ?1")?;
    for id in path_ids {
        found.paths.push(path.query_row([id], |row| rows::repo_path(row, 0))?);
    }
    Ok(found)
}

fn last_touched(
    connection: &Connection,
    repo: RepoId,
    paths: &[RepoPath],
    hidden: &Hidden,
) -> rusqlite::Result<Vec<Option<i64>>> {
    const TOUCHES: &str = "FROM paths AS p JOIN file_changes AS f ON f.path_id = p.path_id
         JOIN commits AS c ON c.id = f.commit_id WHERE p.path = ?1 AND p.exact = ?2 AND f.repo_id = ?3";
    let exact = |path: &RepoPath| if path.is_text() { Vec::new() } else { path.as_bytes().to_vec() };
    if hidden.is_empty() {
        let mut last = connection.prepare_cached(&format!("SELECT max(c.commit_time) {TOUCHES}"))?;
        let time = |path: &RepoPath| last.query_row(params![path.to_text(), exact(path), repo.0], |row| row.get(0));
        return paths.iter().map(time).collect();
    }
    let hidden = hidden_ids(connection, hidden)?;
    let mut all = connection.prepare_cached(&format!("SELECT c.id, c.commit_time {TOUCHES}"))?;
    let time = |path: &RepoPath| {
        let mut last = None;
        let mut rows = all.query(params![path.to_text(), exact(path), repo.0])?;
        while let Some(row) = rows.next()? {
            if !hidden.contains(&row.get(0)?) {
                last = last.max(row.get(1)?);
            }
        }
        Ok(last)
    };
    paths.iter().map(time).collect()
}

/// What changed, for [`rows::file_change`]; what is appended says which.
const CHANGED: &str =
    "SELECT f.status, p.path, p.exact, o.path, o.exact FROM file_changes AS f JOIN paths AS p ON p.path_id = f.path_id
                       LEFT JOIN paths AS o ON o.path_id = f.old_path_id";

fn find_commit(connection: &Connection, repo: RepoId, commit: CommitId) -> rusqlite::Result<Option<CommitDetail>> {
    let Some((id, mut detail)) = find_message(connection, repo, commit)? else { return Ok(None) };
    detail.files = connection
        .prepare_cached(&format!("{CHANGED} WHERE f.commit_id = ?1 ORDER BY f.position"))?
        .query_map([id], |row| rows::file_change(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(detail))
}

fn find_commit_of(
    connection: &Connection,
    repo: RepoId,
    commit: CommitId,
    path: &RepoPath,
) -> rusqlite::Result<Option<CommitDetail>> {
    let Some((id, mut detail)) = find_message(connection, repo, commit)? else { return Ok(None) };
    let Some(path) = path_id(connection, path)? else { return Ok(Some(detail)) };
    // A commit may have changed very many files, and only by its path one of them is found at once.
    for which in ["f.path_id = ?2 AND f.commit_id = ?1", "f.commit_id = ?1 AND f.old_path_id = ?2"] {
        detail.files = connection
            .prepare_cached(&format!("{CHANGED} WHERE {which} ORDER BY f.position"))?
            .query_map([id, path], |row| rows::file_change(row, 0))?
            .collect::<rusqlite::Result<_>>()?;
        if !detail.files.is_empty() {
            break;
        }
    }
    Ok(Some(detail))
}

/// What a commit says, without its files, and its number.
fn find_message(
    connection: &Connection,
    repo: RepoId,
    commit: CommitId,
) -> rusqlite::Result<Option<(i64, CommitDetail)>> {
    let sql = "SELECT c.id, c.sha, c.subject, c.body, c.author_name, c.author_email, a.mapped_name, a.mapped_email, c.committer_name,
                      c.committer_email, c.author_time, c.commit_time, c.parent_count, c.patch_state, c.lossy
               FROM commits AS c
               LEFT JOIN author_aliases AS a ON a.repo_id = c.repo_id AND a.name = c.author_name AND a.email = c.author_email
               WHERE c.repo_id = ?1 AND c.sha = ?2";
    connection
        .prepare_cached(sql)?
        .query_row(params![repo.0, commit.to_hex()], |row| {
            let mapped: Option<String> = row.get(6)?;
            let detail = CommitDetail {
                commit: rows::commit_id(row, 1)?,
                subject: row.get(2)?,
                body: row.get(3)?,
                author: Person { name: row.get(4)?, email: row.get(5)? },
                mapped_author: mapped
                    .map(|name| Ok::<_, rusqlite::Error>(Person { name, email: row.get(7)? }))
                    .transpose()?,
                committer: Person { name: row.get(8)?, email: row.get(9)? },
                author_time: row.get(10)?,
                commit_time: row.get(11)?,
                parent_count: row.get(12)?,
                files: Vec::new(),
                patch_absence: rows::patch_absence(row, 13)?,
                lossy: row.get(14)?,
            };
            Ok((row.get::<_, i64>(0)?, detail))
        })
        .optional()
}

impl HistoryStore for EmbeddedStore {
    fn list_repos(&self) -> Result<Vec<Repo>> {
        Ok(self.read(|connection| rows::repos(connection, None))?.unwrap_or_default())
    }

    fn find_repo(&self, repo: RepoId) -> Result<Option<Repo>> {
        let found = self.read(|connection| rows::repos(connection, Some(repo)));
        Ok(found?.unwrap_or_default().pop())
    }

    fn search_commits(&self, query: &CommitQuery) -> Result<CommitMatches> {
        let found = self.read_long(|connection| {
            let text = query.text.replace('\0', " ");
            let too_many = |TooManyPhrases(phrases)| {
                let most = fts_query::MAX_PHRASES;
                StoreError::BadQuery(format!(
                    "it has {phrases} different words or phrases, and at most {most} are searched for"
                ))
            };
            let text = match normalize(&text) {
                Ok(text) => text,
                Err(error) => return Ok(Err(too_many(error))),
            };
            let mut quoted = false;
            let mut answer = search(connection, query, &text);
            if answer.as_ref().is_err_and(is_syntax) {
                quoted = true;
                answer = match normalize(&quote_words(&text)) {
                    Ok(text) => search(connection, query, &text),
                    Err(error) => return Ok(Err(too_many(error))),
                };
            }
            match answer {
                Ok((hits, more)) => Ok(Ok(CommitMatches { hits, more, quoted })),
                // With every word quoted only its size can be wrong, and SQLite's words for it help nobody. Now they repeat
                // nothing of the text either, so they can tell whether it is the file.
                Err(error) if is_syntax(&error) && foreign(&error).is_none() => {
                    tracing::debug!(%error, "a query was refused");
                    Ok(Err(StoreError::BadQuery("it has no words, or too many".to_owned())))
                }
                Err(error) => Err(error),
            }
        })?;
        found.unwrap_or(Ok(CommitMatches { hits: Vec::new(), more: false, quoted: false }))
    }

    fn list_touches(&self, query: &TouchQuery) -> Result<(Vec<TouchHit>, bool)> {
        Ok(self.read_long(|connection| touches(connection, query))?.unwrap_or_default())
    }

    fn list_candidates(
        &self,
        repo: RepoId,
        prefix: &CommitPrefix,
        hidden: &Hidden,
        limit: usize,
    ) -> Result<Vec<CommitId>> {
        let prefix = prefix.as_str().to_owned();
        let found = self.read(|connection| {
            // `g` comes after every hexadecimal digit.
            let sql = "SELECT sha FROM commits WHERE repo_id = ?1 AND sha >= ?2 AND sha < ?2 || 'g' ORDER BY sha";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_map(params![repo.0, prefix], |row| rows::commit_id(row, 0))?;
            let is_shown = |found: &rusqlite::Result<CommitId>| !found.as_ref().is_ok_and(|id| hidden.has(repo, *id));
            found.filter(is_shown).take(limit).collect()
        });
        Ok(found?.unwrap_or_default())
    }

    fn list_subjects(&self, repo: RepoId, max_files: usize) -> Result<Subjects> {
        Ok(self.read(|connection| subjects(connection, repo, max_files))?.unwrap_or_default())
    }

    fn last_touched(&self, repo: RepoId, paths: Vec<RepoPath>, hidden: &Hidden) -> Result<Vec<Option<i64>>> {
        let count = paths.len();
        let found = self.read(|connection| last_touched(connection, repo, &paths, hidden));
        Ok(found?.unwrap_or_else(|| vec![None; count]))
    }

    fn list_co_changes(&self, query: &CoChangeQuery) -> Result<CoChanges> {
        Ok(self.read(|connection| co_changes(connection, query))?.unwrap_or_default())
    }

    fn find_commit(&self, repo: RepoId, commit: CommitId) -> Result<Option<CommitDetail>> {
        Ok(self.read(|connection| find_commit(connection, repo, commit))?.flatten())
    }

    fn find_commit_of(&self, repo: RepoId, commit: CommitId, path: &RepoPath) -> Result<Option<CommitDetail>> {
        Ok(self.read(|connection| find_commit_of(connection, repo, commit, path))?.flatten())
    }

    fn find_patch(&self, repo: RepoId, commit: CommitId) -> Result<Option<PatchText>> {
        let found = self.read(|connection| {
            let sql =
                "SELECT c.patch_state, p.patch_blob FROM commits AS c LEFT JOIN patches AS p ON p.commit_id = c.id
                       WHERE c.repo_id = ?1 AND c.sha = ?2";
            connection
                .prepare_cached(sql)?
                .query_row(params![repo.0, commit.to_hex()], |row| {
                    Ok((rows::patch_absence(row, 0)?, row.get::<_, Option<Vec<u8>>>(1)?))
                })
                .optional()
        });
        let damaged = |what: String| StoreError::Damaged { path: self.file().to_owned(), what };
        match found?.flatten() {
            None => Ok(None),
            Some((Some(absence), _)) => Ok(Some(PatchText::Absent(absence))),
            Some((None, None)) => Err(damaged(format!("the patch of {commit} is missing"))),
            Some((None, Some(frame))) => {
                let bytes = unpack_patch(&frame)
                    .map_err(|error| damaged(format!("the patch of {commit} cannot be unpacked: {error}")))?;
                Ok(Some(PatchText::Bytes(bytes)))
            }
        }
    }

    fn commits_by(&self, repo: RepoId, author: &str) -> Result<HashSet<CommitId>> {
        let author = author.trim().to_owned();
        let found = self.read(|connection| {
            let mut filter = Filter::default();
            filter.and("c.repo_id = ?", [Value::Integer(repo.0)]);
            filter.author("c", Some(&author));
            let sql = format!("SELECT c.sha FROM commits AS c WHERE 1 {}", filter.sql);
            connection
                .prepare(&sql)?
                .query_map(params_from_iter(filter.parameters()), |row| rows::commit_id(row, 0))?
                .collect::<rusqlite::Result<HashSet<_>>>()
        });
        Ok(found?.unwrap_or_default())
    }

    fn list_messages(
        &self,
        repo: RepoId,
        since: Option<i64>,
        until: Option<i64>,
        author: Option<&str>,
        statuses: &[FileStatus],
        hidden: &Hidden,
    ) -> Result<Vec<CommitMessage>> {
        let author = author.map(|author| author.trim().to_owned());
        let statuses: Vec<Value> = statuses.iter().map(|status| Value::Text(status.letter().into())).collect();
        let found = self.read(|connection| {
            let mut filter = Filter::default();
            filter.and("c.repo_id = ?", [Value::Integer(repo.0)]);
            filter.times("c.commit_time", since, until);
            filter.author("c", author.as_ref());
            if !statuses.is_empty() {
                let marks = vec!["?"; statuses.len()].join(",");
                let changes = "SELECT 1 FROM file_changes AS f WHERE f.commit_id = c.id AND f.status";
                filter.and(&format!("EXISTS ({changes} IN ({marks}))"), statuses);
            }
            let sql = format!(
                "SELECT c.sha, c.commit_time, coalesce(a.mapped_name, c.author_name), c.subject, c.body FROM commits AS c
                 LEFT JOIN author_aliases AS a ON a.repo_id = c.repo_id AND a.name = c.author_name AND a.email = c.author_email
                 WHERE 1 {} ORDER BY c.commit_time DESC, c.sha",
                filter.sql
            );
            connection
                .prepare(&sql)?
                .query_map(params_from_iter(filter.parameters()), |row| {
                    Ok(CommitMessage {
                        commit: rows::commit_id(row, 0)?,
                        at: row.get(1)?,
                        author: row.get(2)?,
                        subject: row.get(3)?,
                        body: row.get(4)?,
                    })
                })?
                .filter(|said| !said.as_ref().is_ok_and(|said| hidden.has(repo, said.commit)))
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        Ok(found?.unwrap_or_default())
    }

    fn list_renames(&self, repo: RepoId) -> Result<Vec<(CommitId, RepoPath, RepoPath)>> {
        let found = self.read(|connection| {
            let sql = "SELECT c.sha, f.status, p.path, p.exact, o.path, o.exact FROM file_changes AS f
                       JOIN commits AS c ON c.id = f.commit_id JOIN paths AS p ON p.path_id = f.path_id
                       JOIN paths AS o ON o.path_id = f.old_path_id WHERE f.repo_id = ?1 AND f.status = 'R'";
            let rows = connection
                .prepare_cached(sql)?
                .query_map([repo.0], |row| Ok((rows::commit_id(row, 0)?, rows::file_change(row, 1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(rows.into_iter().filter_map(|(commit, file)| Some((commit, file.path, file.old_path?))).collect())
        });
        Ok(found?.unwrap_or_default())
    }

    fn generation(&self) -> Result<u64> {
        let sql = "SELECT value FROM meta WHERE key = 'generation'";
        let found = self.read(|connection| connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)));
        Ok(found?.unwrap_or(0).unsigned_abs())
    }

    fn size(&self) -> Result<IndexSize> {
        let counted = self.read(|connection| {
            let sql = "SELECT (SELECT coalesce(sum(commit_count), 0) FROM ingest_state), (SELECT coalesce(sum(bytes), 0) FROM segments)";
            connection.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        });
        let (commits, segments) = counted?.unwrap_or((0, 0));
        let (commits, segments) = (commits.unsigned_abs(), segments.unsigned_abs());
        let name = self.file().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let length = |suffix: &str| {
            std::fs::metadata(self.file().with_file_name(format!("{name}{suffix}"))).map_or(0, |meta| meta.len())
        };
        Ok(IndexSize { bytes: length("") + length("-wal") + segments, commits })
    }

    fn check(&self, deep: bool) -> Result<Vec<String>> {
        let found = self.read(|connection| check(connection, deep));
        Ok(found?.unwrap_or_default())
    }

    fn begin_anew(&self) -> Result<PathBuf> {
        crate::anew::begin_anew(self)
    }

    fn try_writer(&self) -> Result<Box<dyn IndexWriter>> {
        Ok(Box::new(self.writer()?))
    }
}

/// Whether the fault may lie in the text of the query. SQLite has no code of its own for that, and its words repeat those of
/// the query.
pub(crate) fn is_syntax(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::Unknown)
}

fn check(connection: &Connection, deep: bool) -> rusqlite::Result<Vec<String>> {
    let pragma = if deep { "PRAGMA integrity_check" } else { "PRAGMA quick_check" };
    let mut findings: Vec<String> =
        connection.prepare(pragma)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    findings.retain(|line| line != "ok");
    let lost = |sql: &str, what: &str| -> rusqlite::Result<Option<String>> {
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        Ok((count > 0).then(|| format!("{count} {what}")))
    };
    findings.extend(lost(
        "SELECT count(*) FROM commits WHERE patch_state = 0 AND id NOT IN (SELECT commit_id FROM patches)",
        "commits have lost their patch",
    )?);
    findings.extend(lost(
        "SELECT count(*) FROM patches WHERE commit_id NOT IN (SELECT id FROM commits)",
        "patches belong to no commit",
    )?);
    findings.extend(lost(
        "SELECT count(*) FROM file_changes WHERE commit_id NOT IN (SELECT id FROM commits)",
        "file entries belong to no commit",
    )?);
    findings.extend(lost(
        "SELECT count(*) FROM ingest_state AS s WHERE commit_count <> (SELECT count(*) FROM commits AS c WHERE c.repo_id = s.repo_id)",
        "repositories have another number of commits than noted",
    )?);
    if deep {
        let mut statement = connection.prepare(
            "SELECT c.sha, p.patch_blob, p.raw_len FROM patches AS p JOIN commits AS c ON c.id = p.commit_id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let expected = row.get::<_, i64>(2)?.unsigned_abs();
            let length = unpack_patch(row.get_ref(1)?.as_blob()?).map(|bytes| bytes.len() as u64);
            if length.ok() != Some(expected) {
                let sha = row.get_ref(0)?.as_bytes().unwrap_or_default();
                findings.push(format!("the patch of {} cannot be unpacked", String::from_utf8_lossy(sha)));
            }
        }
        findings.extend(sums::check(connection)?);
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_in_paths_are_literal() {
        assert_eq!(like("a_b%c\\d"), "%a\\_b\\%c\\\\d%");
    }
}
