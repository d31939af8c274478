//! Golden repositories, and what users have activated of them.

use lore_model::{Activation, Actor, Golden, GoldenState, RepoName, UserId};
use lore_store::{StoreError, TeamChange};
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, params};

use super::{jobs, note, users};
use crate::{rows::unfit, truth::Fault};

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<RepoName> {
    let text: String = row.get(column)?;
    RepoName::parse(&text).map_err(|what| unfit(column, what))
}

/// The golden repositories that the rest of the query chooses.
pub(super) fn golden(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<Golden>> {
    let sql = format!(
        "SELECT alias, url, branch, temporal, refresh_every, state, created_at, refreshed_at, tried_at, last_error FROM golden {rest}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(values, |row| {
        let state: String = row.get(5)?;
        Ok(Golden {
            alias: name(row, 0)?,
            url: row.get(1)?,
            branch: row.get(2)?,
            temporal: row.get(3)?,
            refresh_every: row.get(4)?,
            state: GoldenState::parse(&state).ok_or_else(|| unfit(5, state))?,
            created_at: row.get(6)?,
            refreshed_at: row.get(7)?,
            tried_at: row.get(8)?,
            last_error: row.get(9)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The activations that the rest of the query chooses.
pub(super) fn activations(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<Activation>> {
    let sql = format!("SELECT id, user, alias, composite, branch, activated_at, accessed_at FROM activations {rest}");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(values, |row| {
        let activation = Activation {
            user: UserId(row.get(1)?),
            alias: name(row, 2)?,
            golden: Vec::new(),
            composite: row.get(3)?,
            branch: row.get(4)?,
            activated_at: row.get(5)?,
            accessed_at: row.get(6)?,
        };
        Ok((row.get::<_, i64>(0)?, activation))
    })?;
    let mut members =
        connection.prepare_cached("SELECT golden FROM members WHERE activation = ?1 ORDER BY position")?;
    let mut found = Vec::new();
    for row in rows {
        let (id, mut activation) = row?;
        activation.golden = members.query_map([id], |row| name(row, 0))?.collect::<rusqlite::Result<_>>()?;
        found.push(activation);
    }
    Ok(found)
}

/// The branches of a golden repository that somebody wants beside its main one.
pub(super) fn wanted_branches(connection: &Connection, alias: &RepoName) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT branch FROM activations JOIN members ON activation = activations.id
         WHERE golden = ?1 AND branch IS NOT NULL
         UNION
         SELECT branch FROM jobs JOIN job_golden ON job = number
         WHERE golden = ?1 AND branch IS NOT NULL AND status IN ('pending', 'running')
               AND operation NOT IN ('add_golden_repo', 'refresh_golden_repo')
         ORDER BY branch",
    )?;
    let branches = statement.query_map([alias.as_str()], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(branches)
}

fn get_golden(connection: &Connection, alias: &RepoName) -> Result<Golden> {
    let found = golden(connection, "WHERE alias = ?1", [alias.as_str()])?.pop();
    found.ok_or_else(|| StoreError::Absent(format!("golden repository `{alias}`")).into())
}

/// Makes the changes in their order.
pub(super) fn apply(transaction: &Transaction<'_>, changes: &[TeamChange], by: &Actor) -> Result<()> {
    changes.iter().try_for_each(|change| apply_one(transaction, change, by))
}

fn apply_one(transaction: &Transaction<'_>, change: &TeamChange, by: &Actor) -> Result<()> {
    match change {
        TeamChange::AddGolden(new) => add_golden(transaction, new, by),
        TeamChange::Refreshed { alias, at } => {
            transaction.execute(
                "UPDATE golden SET state = iif(state = 'removing', state, 'ready'),
                                   refreshed_at = ?2, tried_at = ?2, last_error = NULL
                 WHERE alias = ?1",
                params![alias.as_str(), at],
            )?;
            Ok(())
        }
        TeamChange::RefreshFailed { alias, at, error } => {
            transaction.execute(
                "UPDATE golden SET tried_at = ?2, last_error = ?3 WHERE alias = ?1",
                params![alias.as_str(), at, error],
            )?;
            Ok(())
        }
        TeamChange::RefreshEvery(alias, every) => {
            get_golden(transaction, alias)?;
            let sql = "UPDATE golden SET refresh_every = ?2 WHERE alias = ?1";
            transaction.execute(sql, params![alias.as_str(), every])?;
            let outcome = every.map_or("never".to_owned(), |seconds| format!("every {seconds} s"));
            note(transaction, by, "set_refresh", alias.as_str(), &outcome)
        }
        TeamChange::Temporal(alias, temporal) => {
            get_golden(transaction, alias)?;
            let sql = "UPDATE golden SET temporal = ?2 WHERE alias = ?1";
            transaction.execute(sql, params![alias.as_str(), temporal])?;
            note(transaction, by, "set_temporal", alias.as_str(), if *temporal { "on" } else { "off" })
        }
        TeamChange::MainBranch(alias, branch) => {
            get_golden(transaction, alias)?;
            let sql = "UPDATE golden SET branch = ?2 WHERE alias = ?1";
            transaction.execute(sql, params![alias.as_str(), branch])?;
            note(transaction, by, "set_branch", alias.as_str(), branch.as_deref().unwrap_or("the remote's own choice"))
        }
        TeamChange::RemovingGolden { alias, force } => removing(transaction, alias, *force, by),
        TeamChange::KeepGolden(alias) => {
            // One that was never read is being added still, by a job that has yet to end.
            transaction.execute(
                "UPDATE golden SET state = iif(refreshed_at IS NULL, 'adding', 'ready')
                 WHERE alias = ?1 AND state = 'removing' AND NOT EXISTS (
                     SELECT 1 FROM jobs JOIN job_golden ON job = number
                     WHERE golden = ?1 AND operation = 'remove_golden_repo' AND status IN ('pending', 'running')
                 )",
                [alias.as_str()],
            )?;
            Ok(())
        }
        TeamChange::RemoveGolden(alias) => remove_golden(transaction, alias),
        TeamChange::NotAdded(alias) => {
            if golden(transaction, "WHERE alias = ?1", [alias.as_str()])?.iter().any(|it| it.refreshed_at.is_none()) {
                remove_golden(transaction, alias)?;
            }
            Ok(())
        }
        TeamChange::Activate(activation) => activate(transaction, activation),
        TeamChange::Deactivate(user, alias) => {
            let sql = "DELETE FROM activations WHERE user = ?1 AND alias = ?2";
            if transaction.execute(sql, params![user.0, alias.as_str()])? == 0 {
                return Err(StoreError::Absent(format!("activated repository `{alias}`")).into());
            }
            Ok(())
        }
        TeamChange::SetBranch(user, alias, branch) => {
            let sql = "UPDATE activations SET branch = ?3 WHERE user = ?1 AND alias = ?2 AND NOT composite";
            if transaction.execute(sql, params![user.0, alias.as_str(), branch])? == 0 {
                return Err(StoreError::Absent(format!("activated repository `{alias}`")).into());
            }
            Ok(())
        }
    }
}

/// Takes a golden repository from all who have it. A composite goes on with what is left of it.
fn remove_golden(transaction: &Transaction<'_>, alias: &RepoName) -> Result<()> {
    let alias = [alias.as_str()];
    let single =
        "DELETE FROM activations WHERE NOT composite AND id IN (SELECT activation FROM members WHERE golden = ?1)";
    transaction.execute(single, alias)?;
    transaction.execute("DELETE FROM members WHERE golden = ?1", alias)?;
    let empty = "DELETE FROM activations WHERE NOT EXISTS (SELECT 1 FROM members WHERE activation = activations.id)";
    transaction.execute(empty, [])?;
    transaction.execute("DELETE FROM golden WHERE alias = ?1", alias)?;
    Ok(())
}

fn add_golden(transaction: &Transaction<'_>, new: &Golden, by: &Actor) -> Result<()> {
    let folded = new.alias.folded();
    let known = "SELECT alias FROM golden WHERE folded = ?1";
    let known: Option<String> = transaction.query_row(known, [&folded], |row| row.get(0)).optional()?;
    if let Some(known) = known {
        return Err(StoreError::Exists(format!("there is a golden repository `{known}` already")).into());
    }
    // What a user calls so would be another repository from now on.
    let mut taken = transaction.prepare_cached("SELECT DISTINCT alias FROM activations")?;
    let taken = taken.query_map([], |row| name(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    // SQLite knows the small letters of ASCII alone.
    if taken.iter().any(|alias| alias.folded() == folded) {
        let what = format!("`{}` is what a user calls another repository already: choose another alias", new.alias);
        return Err(StoreError::Exists(what).into());
    }
    transaction.execute(
        "INSERT INTO golden (alias, folded, url, branch, temporal, refresh_every, state, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            new.alias.as_str(),
            folded,
            new.url,
            new.branch,
            new.temporal,
            new.refresh_every,
            new.state.as_str(),
            new.created_at
        ],
    )?;
    note(transaction, by, "add_golden_repo", new.alias.as_str(), &lore_model::without_user(&new.url))
}

fn removing(transaction: &Transaction<'_>, alias: &RepoName, force: bool, by: &Actor) -> Result<()> {
    get_golden(transaction, alias)?;
    let (single, composites, users): (i64, i64, i64) = transaction.query_row(
        "SELECT count(*) FILTER (WHERE NOT composite), count(*) FILTER (WHERE composite), count(DISTINCT user)
         FROM activations JOIN members ON activation = activations.id WHERE golden = ?1",
        [alias.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let times = |count: i64, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let concerned: Vec<String> = [(single, "activation"), (composites, "composite")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| times(count, what))
        .collect();
    let concerned = concerned.join(" and ");
    if users > 0 && !force {
        let users = times(users, "user");
        let what = format!("golden repository `{alias}` is in use: {concerned} of {users}");
        return Err(StoreError::Refused(what).into());
    }
    transaction.execute("UPDATE golden SET state = 'removing' WHERE alias = ?1", [alias.as_str()])?;
    // Nobody waits for what is to go.
    let unfinished =
        "WHERE status IN ('pending', 'running') AND operation IN ('add_golden_repo', 'refresh_golden_repo')
                      AND EXISTS (SELECT 1 FROM job_golden WHERE job = number AND golden = ?1)";
    for job in jobs::select(transaction, unfinished, [alias.as_str()])? {
        transaction.execute("UPDATE jobs SET cancel = 1 WHERE id = ?1", [job.id.as_str()])?;
    }
    let outcome = if users > 0 { format!("asked for, with {concerned}") } else { "asked for".to_owned() };
    note(transaction, by, "remove_golden_repo", alias.as_str(), &outcome)
}

fn activate(transaction: &Transaction<'_>, new: &Activation) -> Result<()> {
    for alias in &new.golden {
        let found = get_golden(transaction, alias)?;
        if found.state != GoldenState::Ready {
            let what = format!("golden repository `{alias}` is not ready: it is {}", found.state.as_str());
            return Err(StoreError::Refused(what).into());
        }
    }
    // Their account may have gone while this was prepared.
    users::get(transaction, new.user)?;
    // A golden repository is found by its own alias: that must not mean another one to one user.
    let folded = new.alias.folded();
    let is_golden = !golden(transaction, "WHERE folded = ?1", [folded])?.is_empty();
    if is_golden && (new.composite || new.golden != [new.alias.clone()]) {
        let what = format!("`{}` is the alias of a golden repository: choose another one", new.alias);
        return Err(StoreError::Exists(what).into());
    }
    let rest = "WHERE user = ?1 AND alias = ?2";
    let known = activations(transaction, rest, params![new.user.0, new.alias.as_str()])?.pop();
    let accessed_at = known.as_ref().and_then(|known| known.accessed_at);
    if let Some(known) = known {
        if known.composite != new.composite || (!new.composite && known.golden != new.golden) {
            let what = format!("you have a repository called `{}` already: choose another alias", new.alias);
            return Err(StoreError::Exists(what).into());
        }
        let sql = "DELETE FROM activations WHERE user = ?1 AND alias = ?2";
        transaction.execute(sql, params![new.user.0, new.alias.as_str()])?;
    }
    transaction.execute(
        "INSERT INTO activations (user, alias, composite, branch, activated_at, accessed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![new.user.0, new.alias.as_str(), new.composite, new.branch, new.activated_at, accessed_at],
    )?;
    let id = transaction.last_insert_rowid();
    for (position, alias) in (0_i64..).zip(&new.golden) {
        transaction.execute(
            "INSERT INTO members (activation, position, golden) VALUES (?1, ?2, ?3)",
            params![id, position, alias.as_str()],
        )?;
    }
    Ok(())
}
