//! What a team server knows, in a SQLite file of its own. The file is a [`TruthFile`].

mod jobs;
mod repos;
mod users;

use std::{path::PathBuf, sync::Arc};

use lore_model::{
    Activation, Actor, AuditEntry, Golden, Job, JobId, JobLine, JobStatus, LoginId, RepoName, Role, Token, TokenId,
    User, UserId, UserName,
};
use lore_store::{
    Cancelled, JobEnd, JobLimits, JobQuery, NewJob, NewToken, RefreshToken, Renewal, Requeue, Result, Rotation,
    SecretHash, TeamChange, TeamStore,
};
use rusqlite::{Connection, Transaction, params};

use crate::{
    migrate::TEAM,
    rows::count,
    sums,
    truth::{Fault, TruthFile, broken_pages},
};

/// So many of the newest acts of one kind are kept of each actor.
const ACTS_MAX: i64 = 10_000;

/// What a team server knows, in one folder.
#[derive(Clone)]
pub struct EmbeddedTeam {
    file: Arc<TruthFile>,
}

impl EmbeddedTeam {
    /// The team in this folder, which need not exist yet.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { file: Arc::new(TruthFile::new(home.into(), "team.db", &TEAM)) }
    }

    fn read<T: Default>(&self, query: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T> {
        self.file.read(query)
    }

    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T> {
        self.file.write(work)
    }
}

/// Writes an act down.
fn note(
    transaction: &Transaction<'_>,
    by: &Actor,
    act: &str,
    subject: &str,
    outcome: &str,
) -> std::result::Result<(), Fault> {
    transaction
        .prepare_cached(
            "INSERT INTO acts (at, username, address, act, subject, outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![by.at, by.name, by.address, act, subject, outcome])?;
    Ok(())
}

/// Forgets old acts. What an actor does can only push out older acts of the same kind that are their own.
fn forget_acts(transaction: &Transaction<'_>) -> std::result::Result<(), Fault> {
    let mut many =
        transaction.prepare_cached("SELECT username, act FROM acts GROUP BY username, act HAVING count(*) > ?1")?;
    let many = many.query_map([ACTS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (username, act) in many.collect::<rusqlite::Result<Vec<(String, String)>>>()? {
        transaction.execute(
            "DELETE FROM acts WHERE username = ?1 AND act = ?2 AND id <= (
                 SELECT id FROM acts WHERE username = ?1 AND act = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3
             )",
            params![username, act, ACTS_MAX],
        )?;
    }
    Ok(())
}

impl TeamStore for EmbeddedTeam {
    fn add_user(&self, name: &UserName, role: Role, password: &str, by: &Actor) -> Result<User> {
        self.write(|transaction| users::add(transaction, name, role, password, by))
    }

    fn list_users(&self) -> Result<Vec<User>> {
        self.read(|connection| users::select(connection, "ORDER BY name", []))
    }

    fn find_user(&self, name: &UserName) -> Result<Option<User>> {
        self.read(|connection| Ok(users::select(connection, "WHERE name = ?1", [name.as_str()])?.pop()))
    }

    fn password_of(&self, user: UserId) -> Result<Option<String>> {
        self.read(|connection| users::password(connection, user))
    }

    fn set_password(&self, user: UserId, old: Option<&str>, password: &str, by: &Actor) -> Result<bool> {
        let old = old.map(str::to_owned);
        self.write(|transaction| users::set_password(transaction, user, old.as_deref(), password, by))
    }

    fn rehash_password(&self, user: UserId, old: &str, new: &str) -> Result<()> {
        self.write(|transaction| {
            let sql = "UPDATE users SET password = ?3 WHERE id = ?1 AND password = ?2";
            transaction.execute(sql, params![user.0, old, new])?;
            Ok(())
        })
    }

    fn set_role(&self, user: UserId, role: Role, by: &Actor) -> Result<User> {
        self.write(|transaction| users::set_role(transaction, user, role, by))
    }

    fn remove_user(&self, user: UserId, by: &Actor) -> Result<()> {
        self.write(|transaction| users::remove(transaction, user, by))
    }

    fn signing_key(&self, fresh: [u8; 32]) -> Result<[u8; 32]> {
        self.write(|transaction| users::signing_key(transaction, fresh))
    }

    fn add_login(
        &self,
        user: UserId,
        verified: &str,
        refresh: SecretHash,
        at: i64,
        expires_at: i64,
    ) -> Result<Option<LoginId>> {
        self.write(|transaction| {
            if users::password(transaction, user)?.is_none_or(|kept| kept != verified) {
                return Ok(None);
            }
            users::add_login(transaction, user, refresh, at, expires_at).map(Some)
        })
    }

    fn find_refresh(&self, secret: SecretHash, at: i64) -> Result<Option<RefreshToken>> {
        self.read(|connection| users::find_refresh(connection, secret, at))
    }

    fn rotate_login(&self, renewal: &Renewal) -> Result<Rotation> {
        // Anybody can show one that nobody was given: that keeps no writer waiting.
        if self.find_refresh(renewal.old, renewal.at)?.is_none() {
            return Ok(Rotation::Unknown);
        }
        self.write(|transaction| users::rotate(transaction, renewal))
    }

    fn end_login(&self, login: LoginId) -> Result<()> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM logins WHERE id = ?1", [login.0])?;
            Ok(())
        })
    }

    fn user_of_login(&self, login: LoginId, at: i64) -> Result<Option<User>> {
        self.read(|connection| {
            let rest = "WHERE id = (SELECT user FROM logins WHERE id = ?1 AND expires_at > ?2)";
            Ok(users::select(connection, rest, params![login.0, at])?.pop())
        })
    }

    fn add_token(&self, new: &NewToken, by: &Actor) -> Result<Token> {
        let (user, secret, expires_at) = (new.user, new.secret, new.expires_at);
        self.write(|transaction| users::add_token(transaction, user, &new.name, secret, expires_at, by))
    }

    fn list_tokens(&self, user: Option<UserId>) -> Result<Vec<Token>> {
        self.read(|connection| match user {
            Some(user) => users::tokens(connection, "WHERE user = ?1 ORDER BY tokens.id DESC", [user.0]),
            None => users::tokens(connection, "ORDER BY tokens.id DESC", []),
        })
    }

    fn revoke_token(&self, token: TokenId, user: Option<UserId>, by: &Actor) -> Result<bool> {
        self.write(|transaction| users::revoke_token(transaction, token, user, by))
    }

    fn find_token(&self, secret: SecretHash) -> Result<Option<(Token, User)>> {
        self.read(|connection| {
            let Some(token) = users::tokens(connection, "WHERE hash = ?1", [secret])?.pop() else { return Ok(None) };
            let user = users::select(connection, "WHERE id = ?1", [token.user.0])?.pop();
            Ok(user.map(|user| (token, user)))
        })
    }

    fn note_uses(&self, tokens: &[(TokenId, i64)], aliases: &[(UserId, RepoName, i64)]) -> Result<()> {
        self.write(|transaction| {
            for (token, at) in tokens {
                transaction.execute("UPDATE tokens SET last_used_at = ?2 WHERE id = ?1", params![token.0, at])?;
            }
            for (user, alias, at) in aliases {
                transaction.execute(
                    "UPDATE activations SET accessed_at = ?3 WHERE user = ?1 AND alias = ?2",
                    params![user.0, alias.as_str(), at],
                )?;
            }
            Ok(())
        })
    }

    fn list_golden(&self) -> Result<Vec<Golden>> {
        self.read(|connection| repos::golden(connection, "ORDER BY alias", []))
    }

    fn find_golden(&self, alias: &RepoName) -> Result<Option<Golden>> {
        self.read(|connection| Ok(repos::golden(connection, "WHERE alias = ?1", [alias.as_str()])?.pop()))
    }

    fn list_activations(&self, user: Option<UserId>) -> Result<Vec<Activation>> {
        self.read(|connection| match user {
            Some(user) => repos::activations(connection, "WHERE user = ?1 ORDER BY alias", [user.0]),
            None => repos::activations(connection, "ORDER BY user, alias", []),
        })
    }

    fn find_activation(&self, user: UserId, alias: &RepoName) -> Result<Option<Activation>> {
        self.read(|connection| {
            let rest = "WHERE user = ?1 AND alias = ?2";
            Ok(repos::activations(connection, rest, params![user.0, alias.as_str()])?.pop())
        })
    }

    fn wanted_branches(&self, alias: &RepoName) -> Result<Vec<String>> {
        self.read(|connection| repos::wanted_branches(connection, alias))
    }

    fn change(&self, changes: &[TeamChange], by: &Actor) -> Result<()> {
        self.write(|transaction| repos::apply(transaction, changes, by))
    }

    fn add_job(&self, new: &NewJob, changes: &[TeamChange], by: &Actor) -> Result<Job> {
        self.write(|transaction| jobs::add(transaction, new, changes, by))
    }

    fn claim_job(&self, limits: &JobLimits, at: i64) -> Result<Option<Job>> {
        let limits = *limits;
        // Mostly nothing waits, and that takes no lock.
        let waits = "SELECT EXISTS (SELECT 1 FROM jobs WHERE status = 'pending')";
        if !self.read(|connection| Ok(connection.query_row(waits, [], |row| row.get::<_, bool>(0))?))? {
            return Ok(None);
        }
        self.write(|transaction| jobs::claim(transaction, limits, at))
    }

    fn note_progress(&self, job: &JobId, progress: u8) -> Result<()> {
        self.write(|transaction| {
            let sql = "UPDATE jobs SET progress = max(progress, ?2) WHERE id = ?1 AND status = 'running'";
            transaction.execute(sql, params![job.as_str(), progress])?;
            Ok(())
        })
    }

    fn log_job(&self, job: &JobId, at: i64, text: &str) -> Result<()> {
        self.write(|transaction| jobs::log(transaction, job, at, text))
    }

    fn end_job(&self, job: &JobId, end: &JobEnd, changes: &[TeamChange], by: &Actor) -> Result<bool> {
        self.write(|transaction| jobs::end(transaction, job, end, changes, by))
    }

    fn requeue_job(&self, job: &JobId, again: &Requeue) -> Result<()> {
        self.write(|transaction| jobs::requeue(transaction, job, again))
    }

    fn cancel_job(&self, job: &JobId, by: &Actor) -> Result<Option<Cancelled>> {
        self.write(|transaction| jobs::cancel(transaction, job, by))
    }

    fn running_jobs(&self) -> Result<Vec<Job>> {
        self.read(|connection| jobs::select(connection, "WHERE status = 'running' ORDER BY number", []))
    }

    fn find_job(&self, job: &JobId) -> Result<Option<Job>> {
        self.read(|connection| jobs::find(connection, job))
    }

    fn list_jobs(&self, query: &JobQuery) -> Result<(Vec<Job>, usize)> {
        self.read(|connection| jobs::list(connection, query))
    }

    fn job_log(&self, job: &JobId) -> Result<Vec<JobLine>> {
        self.read(|connection| jobs::lines(connection, job))
    }

    fn count_jobs(&self, user: Option<UserId>) -> Result<Vec<(JobStatus, u64)>> {
        self.read(|connection| jobs::count_by_status(connection, user))
    }

    fn forget_jobs(&self, before: i64) -> Result<u64> {
        self.write(|transaction| {
            forget_acts(transaction)?;
            jobs::forget(transaction, before)
        })
    }

    fn note_act(&self, by: &Actor, act: &str, subject: &str, outcome: &str) -> Result<()> {
        self.write(|transaction| note(transaction, by, act, subject, outcome))
    }

    fn list_acts(&self, limit: usize) -> Result<(Vec<AuditEntry>, usize)> {
        self.read(|connection| {
            let sql = "SELECT at, username, address, act, subject, outcome FROM acts ORDER BY id DESC LIMIT ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([count(limit)], |row| {
                Ok(AuditEntry {
                    at: row.get(0)?,
                    username: row.get(1)?,
                    address: row.get(2)?,
                    act: row.get(3)?,
                    subject: row.get(4)?,
                    outcome: row.get(5)?,
                })
            })?;
            let entries = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let total: i64 = connection.query_row("SELECT count(*) FROM acts", [], |row| row.get(0))?;
            Ok((entries, usize::try_from(total).unwrap_or(0)))
        })
    }

    fn check_writing(&self) -> Result<()> {
        self.write(|transaction| {
            let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            // It is that already; the page is written all the same.
            Ok(transaction.pragma_update(None, "user_version", version)?)
        })
    }

    fn check_all(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut findings = broken_pages(connection)?;
            if findings.is_empty() {
                findings = sums::check_tables(connection, &TEAM)?;
            }
            let lost = connection.prepare("PRAGMA foreign_key_check")?.query_map([], |_| Ok(()))?.count();
            findings.extend((lost > 0).then(|| format!("{lost} rows belong to nothing")));
            Ok(findings)
        })
    }

    fn check(&self) -> Result<()> {
        self.read(|connection| Ok(connection.query_row("SELECT count(*) FROM users", [], |_| Ok(()))?))
    }
}

#[cfg(test)]
mod tests {
    use lore_store::StoreError;

    use super::*;

    #[test]
    fn nobody_pushes_out_what_others_did() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        let actor = |name: &str| Actor { name: name.to_owned(), address: None, at: 1 };
        store.note_act(&actor("root"), "create_user", "ada", "admin").unwrap();
        store.note_act(&actor("ada"), "set_role", "bob", "admin").unwrap();
        let tokens = store.write(|transaction| {
            (0..ACTS_MAX + 20).try_for_each(|_| note(transaction, &actor("ada"), "create_token", "x of ada", "created"))
        });
        tokens.unwrap();
        store.forget_jobs(0).unwrap();
        let (acts, total) = store.list_acts(20_000).unwrap();
        assert_eq!(total, 10_002);
        let kept: Vec<&str> = acts[10_000..].iter().map(|act| act.act.as_str()).collect();
        assert_eq!(kept, ["set_role", "create_user"]);
    }

    #[test]
    fn one_login_too_many_ends_the_one_that_was_renewed_longest_ago() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        let by = Actor { name: "root".to_owned(), address: None, at: 1 };
        let ada = store.add_user(&UserName::parse("ada").unwrap(), Role::Admin, "hash", &by).unwrap().id;
        let secret = |number: i64| -> SecretHash {
            let mut secret = [0; 32];
            secret[..8].copy_from_slice(&number.to_be_bytes());
            secret
        };
        let logins = store.write(|transaction| {
            let add = |number| users::add_login(transaction, ada, secret(number), number, 1000 + number);
            (1..=200).map(add).collect::<std::result::Result<Vec<LoginId>, Fault>>()
        });
        let logins = logins.unwrap();
        let renewal = Renewal { old: secret(1), new: secret(900), at: 300, expires_at: 1300, address: None };
        store.rotate_login(&renewal).unwrap();
        // However short it is: it is what somebody has just asked for.
        let newest = store.add_login(ada, "hash", secret(901), 301, 400).unwrap().unwrap();
        let mut ended = Vec::new();
        for login in logins.iter().chain([&newest]) {
            if store.user_of_login(*login, 302).unwrap().is_none() {
                ended.push(*login);
            }
        }
        assert_eq!(ended, [logins[1]]);
    }

    #[test]
    fn a_refresh_token_that_nobody_has_waits_for_no_writer() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        let by = Actor { name: "root".to_owned(), address: None, at: 1 };
        let ada = store.add_user(&UserName::parse("ada").unwrap(), Role::Admin, "hash", &by).unwrap().id;
        let login = store.add_login(ada, "hash", [1; 32], 10, 100).unwrap().unwrap();
        assert!(store.user_of_login(login, 20).unwrap().is_some());
        let other = Connection::open(dir.path().join("team.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let renewal = |old, at| Renewal { old: [old; 32], new: [9; 32], at, expires_at: 200, address: None };
        assert_eq!(store.rotate_login(&renewal(7, 20)).unwrap(), Rotation::Unknown);
        assert_eq!(store.rotate_login(&renewal(1, 100)).unwrap(), Rotation::Unknown, "its time is over");
        other.execute_batch("ROLLBACK").unwrap();
        let rotated = store.rotate_login(&renewal(1, 20)).unwrap();
        assert!(matches!(rotated, Rotation::Rotated(..)), "{rotated:?}");
    }

    #[test]
    fn whether_something_can_be_written_is_found_out_by_writing() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        store.check_writing().unwrap();
        let length = || std::fs::metadata(dir.path().join("team.db-wal")).unwrap().len();
        let before = length();
        store.check_writing().unwrap();
        assert!(length() > before, "nothing was written");
        assert!(store.check_all().unwrap().is_empty());
        std::fs::rename(dir.path().join("team.db"), dir.path().join("aside.db")).unwrap();
        std::fs::create_dir(dir.path().join("team.db")).unwrap();
        let refused = store.check_writing();
        assert!(matches!(refused, Err(StoreError::NoAccess { .. })), "{refused:?}");
    }

    #[test]
    fn what_has_to_be_upgraded_and_cannot_be_is_not_taken_for_empty() {
        let dir = tempfile::tempdir().unwrap();
        let actor = Actor { name: "root".to_owned(), address: None, at: 1 };
        EmbeddedTeam::new(dir.path()).note_act(&actor, "create_user", "ada", "admin").unwrap();
        let connection = Connection::open(dir.path().join("team.db")).unwrap();
        let newer = "ALTER TABLE jobs DROP COLUMN error_told; DROP INDEX acts_by_actor; DROP TABLE sums";
        connection.execute_batch(&format!("{newer}; PRAGMA user_version = 1")).unwrap();
        drop(connection);
        // Where processes cannot share memory, nobody can write.
        std::fs::create_dir(dir.path().join("team.db-shm")).unwrap();
        let refused = EmbeddedTeam::new(dir.path()).list_acts(9);
        assert!(matches!(refused, Err(StoreError::NoAccess { .. })), "{refused:?}");
        std::fs::remove_dir(dir.path().join("team.db-shm")).unwrap();
        assert_eq!(EmbeddedTeam::new(dir.path()).list_acts(9).unwrap().1, 1);
    }
}
