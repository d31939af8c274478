//! Values to and from columns.

use std::path::{Path, PathBuf};

use lore_model::{
    BranchChoice, CommitId, FileChange, FileStatus, NewRepo, PatchAbsence, Problem, Repo, RepoId, RepoName, RepoPath,
    Source, SyncState, Tip,
};
use rusqlite::{
    Connection, Result, Row,
    types::{FromSqlError, Type, Value, ValueRef},
};

/// A fault in a stored value: somebody changed it, or the file is damaged.
pub(crate) fn unfit(column: usize, what: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into().into())
}

/// The same for an error of whatever read the value.
pub(crate) fn damaged<E: std::error::Error + Send + Sync + 'static>(column: usize) -> impl Fn(E) -> rusqlite::Error {
    move |error| rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, Box::new(error))
}

/// A number of things as SQLite counts.
pub(crate) fn count(things: usize) -> i64 {
    i64::try_from(things).unwrap_or(i64::MAX)
}

pub(crate) fn commit_id(row: &Row<'_>, column: usize) -> Result<CommitId> {
    CommitId::from_hex(row.get_ref(column)?.as_bytes()?).map_err(|error| unfit(column, error.to_string()))
}

/// A path of the machine's file system, which need not be UTF-8.
pub(crate) fn path_value(path: &Path) -> Value {
    path.to_str()
        .map_or_else(|| Value::Blob(path.as_os_str().as_encoded_bytes().to_vec()), |text| Value::Text(text.to_owned()))
}

pub(crate) fn path_column(row: &Row<'_>, column: usize) -> Result<PathBuf> {
    match row.get_ref(column)? {
        ValueRef::Text(text) => Ok(PathBuf::from(String::from_utf8_lossy(text).into_owned())),
        #[cfg(unix)]
        ValueRef::Blob(bytes) => {
            use std::os::unix::ffi::OsStrExt;
            Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
        }
        #[cfg(not(unix))]
        ValueRef::Blob(bytes) => Ok(PathBuf::from(String::from_utf8_lossy(bytes).into_owned())),
        _ => Err(FromSqlError::InvalidType.into()),
    }
}

/// A path inside a repository from the columns `path` and `exact`.
pub(crate) fn repo_path(row: &Row<'_>, column: usize) -> Result<RepoPath> {
    let exact = row.get_ref(column + 1)?.as_blob()?;
    Ok(if exact.is_empty() { RepoPath::new(row.get_ref(column)?.as_bytes()?) } else { RepoPath::new(exact) })
}

/// A change from the columns `status, path, exact, old path, old exact`.
pub(crate) fn file_change(row: &Row<'_>, column: usize) -> Result<FileChange> {
    let letter = row.get_ref(column)?.as_bytes()?.first().copied().unwrap_or(0);
    let status = FileStatus::from_letter(letter).ok_or_else(|| unfit(column, "no status of a file"))?;
    let old_path =
        if matches!(row.get_ref(column + 3)?, ValueRef::Null) { None } else { Some(repo_path(row, column + 3)?) };
    Ok(FileChange { status, path: repo_path(row, column + 1)?, old_path })
}

pub(crate) fn patch_state(absence: Option<PatchAbsence>) -> i64 {
    match absence {
        None => 0,
        Some(PatchAbsence::BinaryOnly) => 1,
        Some(PatchAbsence::TooLarge) => 2,
        Some(PatchAbsence::MissingObjects) => 3,
        Some(PatchAbsence::TooHeavy) => 4,
    }
}

pub(crate) fn patch_absence(row: &Row<'_>, column: usize) -> Result<Option<PatchAbsence>> {
    Ok(match row.get::<_, i64>(column)? {
        0 => None,
        1 => Some(PatchAbsence::BinaryOnly),
        2 => Some(PatchAbsence::TooLarge),
        3 => Some(PatchAbsence::MissingObjects),
        4 => Some(PatchAbsence::TooHeavy),
        _ => return Err(unfit(column, "no state of a patch")),
    })
}

/// Why patches of this repository are absent, and how often.
fn absences(connection: &Connection, repo: i64) -> Result<Vec<Problem>> {
    let sql = "SELECT patch_state, count(*) FROM commits WHERE repo_id = ?1 AND patch_state <> 0 GROUP BY patch_state";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([repo], |row| {
        let reason = patch_absence(row, 0)?.map_or("", PatchAbsence::reason);
        Ok(Problem { reason: format!("patches left out: {reason}"), count: row.get::<_, i64>(1)?.unsigned_abs() })
    })?;
    rows.collect()
}

pub(crate) fn problems_json(connection: &Connection, repo: RepoId, more: &[Problem]) -> Result<String> {
    let mut problems = absences(connection, repo.0)?;
    problems.extend_from_slice(more);
    let pairs: Vec<(&str, u64)> = problems.iter().map(|problem| (problem.reason.as_str(), problem.count)).collect();
    Ok(serde_json::to_string(&pairs).expect("texts and numbers are JSON"))
}

pub(crate) fn list_json(items: &[String]) -> String {
    serde_json::to_string(items).expect("texts are JSON")
}

/// Stands for the default branch where it heads a list of branches: git lets no branch have this name, and a Lore that
/// does not know of this takes it for a branch that is not there.
const DEFAULT: &str = "HEAD";

/// The choice that a list of names stands for.
fn branches(names: Vec<String>) -> BranchChoice {
    match names.split_first() {
        Some((first, rest)) if first == DEFAULT => BranchChoice::DefaultAnd(rest.to_vec()),
        _ => BranchChoice::Named(names),
    }
}

pub(crate) fn branches_value(choice: &BranchChoice) -> Option<String> {
    match choice {
        BranchChoice::Default => None,
        BranchChoice::All => Some("*".to_owned()),
        BranchChoice::Named(names) => Some(list_json(names)),
        BranchChoice::DefaultAnd(names) => {
            let names: Vec<String> =
                std::iter::once(DEFAULT).chain(names.iter().map(String::as_str)).map(str::to_owned).collect();
            Some(list_json(&names))
        }
    }
}

/// What reads repositories: two statements, for with one that fits both SQLite looks at all to find one.
fn listing(only: Option<RepoId>) -> String {
    let which = if only.is_some() { "r.repo_id = ?1" } else { "?1 IS NULL" };
    format!(
        "SELECT r.repo_id, r.name, r.local_path, r.remote_url, r.default_branch, r.exclude_prefixes, r.author_filter,
                r.fork_of, r.branches, s.last_synced_at, s.last_synced_sha, s.last_error, s.fingerprint, s.partial,
                s.commit_count, s.problems, s.added_at, s.sync_count, r.aliases
         FROM repos AS r JOIN ingest_state AS s USING (repo_id) WHERE {which} ORDER BY r.name"
    )
}

/// Every repository, or the one with this id, by name.
pub(crate) fn repos(connection: &Connection, only: Option<RepoId>) -> Result<Vec<Repo>> {
    let mut repos = connection
        .prepare_cached(&listing(only))?
        .query_map([only.map(|id| id.0)], repo)?
        .collect::<Result<Vec<Repo>>>()?;
    let mut tips = connection
        .prepare_cached("SELECT name, sha, shallow FROM repo_tips WHERE repo_id = ?1 ORDER BY shallow, name, sha")?;
    for repo in &mut repos {
        let mut rows = tips.query([repo.id.0])?;
        while let Some(row) = rows.next()? {
            if row.get(2)? {
                repo.sync.shallow.push(commit_id(row, 1)?);
            } else {
                repo.sync.tips.push(Tip { name: row.get(0)?, commit: commit_id(row, 1)? });
            }
        }
    }
    Ok(repos)
}

fn repo(row: &Row<'_>) -> Result<Repo> {
    let json = |column: usize| -> Result<Vec<String>> {
        serde_json::from_slice(row.get_ref(column)?.as_bytes()?).map_err(|error| unfit(column, error.to_string()))
    };
    let problems: Vec<(String, u64)> =
        serde_json::from_slice(row.get_ref(15)?.as_bytes()?).map_err(|error| unfit(15, error.to_string()))?;
    let info = NewRepo {
        name: RepoName::parse(&row.get::<_, String>(1)?).map_err(|error| unfit(1, error))?,
        local_path: path_column(row, 2)?,
        source: row.get::<_, Option<String>>(3)?.map_or(Source::Local, Source::Url),
        default_branch: row.get(4)?,
        excludes: json(5)?,
        author_filter: row.get(6)?,
        fork_of: row.get(7)?,
        branches: match row.get_ref(8)? {
            ValueRef::Null => BranchChoice::Default,
            ValueRef::Text(b"*") => BranchChoice::All,
            _ => branches(json(8)?),
        },
    };
    let aliases = if matches!(row.get_ref(18)?, ValueRef::Null) { Vec::new() } else { json(18)? };
    let aliases = aliases.iter().map(|alias| RepoName::parse(alias).map_err(|error| unfit(18, error)));
    let aliases = aliases.collect::<Result<_>>()?;
    let sync = SyncState {
        last_synced_at: row.get(9)?,
        last_synced_sha: if matches!(row.get_ref(10)?, ValueRef::Null) { None } else { Some(commit_id(row, 10)?) },
        last_error: row.get(11)?,
        fingerprint: row.get(12)?,
        partial: row.get(13)?,
        commit_count: row.get::<_, i64>(14)?.unsigned_abs(),
        sync_count: row.get::<_, i64>(17)?.unsigned_abs(),
        problems: problems.into_iter().map(|(reason, count)| Problem { reason, count }).collect(),
        ..SyncState::default()
    };
    Ok(Repo {
        id: RepoId(row.get(0)?),
        info,
        aliases,
        added_at: row.get(16)?,
        sync,
        shown: None,
        alone: false,
        mount: None,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::{db::prepare, migrate::INDEX};

    #[test]
    fn one_repository_is_read_without_a_look_at_the_others() {
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&connection).unwrap();
        INDEX.migrate(Path::new("lore.db"), &mut connection).unwrap();
        let many = "INSERT INTO repos (name, local_path, exclude_prefixes)
                    WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 40)
                    SELECT 'r' || at, '/r' || at, '[]' FROM n;
                    INSERT INTO ingest_state (repo_id) SELECT repo_id FROM repos;";
        connection.execute_batch(many).unwrap();
        let read = |only: Option<RepoId>| {
            let found = repos(&connection, only).unwrap().len();
            let statement = connection.prepare_cached(&listing(only)).unwrap();
            (found, statement.get_status(StatementStatus::FullscanStep))
        };
        assert_eq!(read(Some(RepoId(7))), (1, 0));
        let (found, steps) = read(None);
        assert!(found == 40 && steps > 30, "{found} {steps}");
    }
}
