//! What a team server knows, in a SQLite file of its own. The file is a [`TruthFile`].

mod jobs;
mod repos;
mod users;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
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
    db::run,
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

    async fn read<T: Default + Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let file = Arc::clone(&self.file);
        run(move || file.read(query)).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let file = Arc::clone(&self.file);
        run(move || file.write(work)).await
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

#[async_trait]
impl TeamStore for EmbeddedTeam {
    async fn add_user(&self, name: &UserName, role: Role, password: &str, by: &Actor) -> Result<User> {
        let (name, password, by) = (name.clone(), password.to_owned(), by.clone());
        self.write(move |transaction| users::add(transaction, &name, role, &password, &by)).await
    }

    async fn list_users(&self) -> Result<Vec<User>> {
        self.read(|connection| users::select(connection, "ORDER BY name", [])).await
    }

    async fn find_user(&self, name: &UserName) -> Result<Option<User>> {
        let name = name.clone();
        self.read(move |connection| Ok(users::select(connection, "WHERE name = ?1", [name.as_str()])?.pop())).await
    }

    async fn password_of(&self, user: UserId) -> Result<Option<String>> {
        self.read(move |connection| users::password(connection, user)).await
    }

    async fn set_password(&self, user: UserId, old: Option<&str>, password: &str, by: &Actor) -> Result<bool> {
        let (old, password, by) = (old.map(str::to_owned), password.to_owned(), by.clone());
        self.write(move |transaction| users::set_password(transaction, user, old.as_deref(), &password, &by)).await
    }

    async fn rehash_password(&self, user: UserId, old: &str, new: &str) -> Result<()> {
        let (old, new) = (old.to_owned(), new.to_owned());
        self.write(move |transaction| {
            let sql = "UPDATE users SET password = ?3 WHERE id = ?1 AND password = ?2";
            transaction.execute(sql, params![user.0, old, new])?;
            Ok(())
        })
        .await
    }

    async fn set_role(&self, user: UserId, role: Role, by: &Actor) -> Result<User> {
        let by = by.clone();
        self.write(move |transaction| users::set_role(transaction, user, role, &by)).await
    }

    async fn remove_user(&self, user: UserId, by: &Actor) -> Result<()> {
        let by = by.clone();
        self.write(move |transaction| users::remove(transaction, user, &by)).await
    }

    async fn signing_key(&self, fresh: [u8; 32]) -> Result<[u8; 32]> {
        self.write(move |transaction| users::signing_key(transaction, fresh)).await
    }

    async fn add_login(
        &self,
        user: UserId,
        verified: &str,
        refresh: SecretHash,
        at: i64,
        expires_at: i64,
    ) -> Result<Option<LoginId>> {
        let verified = verified.to_owned();
        self.write(move |transaction| {
            if users::password(transaction, user)?.is_none_or(|kept| kept != verified) {
                return Ok(None);
            }
            users::add_login(transaction, user, refresh, at, expires_at).map(Some)
        })
        .await
    }

    async fn find_refresh(&self, secret: SecretHash, at: i64) -> Result<Option<RefreshToken>> {
        self.read(move |connection| users::find_refresh(connection, secret, at)).await
    }

    async fn rotate_login(&self, renewal: &Renewal) -> Result<Rotation> {
        // Anybody can show one that nobody was given: that keeps no writer waiting.
        if self.find_refresh(renewal.old, renewal.at).await?.is_none() {
            return Ok(Rotation::Unknown);
        }
        let renewal = renewal.clone();
        self.write(move |transaction| users::rotate(transaction, &renewal)).await
    }

    async fn end_login(&self, login: LoginId) -> Result<()> {
        self.write(move |transaction| {
            transaction.execute("DELETE FROM logins WHERE id = ?1", [login.0])?;
            Ok(())
        })
        .await
    }

    async fn user_of_login(&self, login: LoginId, at: i64) -> Result<Option<User>> {
        self.read(move |connection| {
            let rest = "WHERE id = (SELECT user FROM logins WHERE id = ?1 AND expires_at > ?2)";
            Ok(users::select(connection, rest, params![login.0, at])?.pop())
        })
        .await
    }

    async fn add_token(&self, new: &NewToken, by: &Actor) -> Result<Token> {
        let (user, name, secret, expires_at) = (new.user, new.name.clone(), new.secret, new.expires_at);
        let by = by.clone();
        self.write(move |transaction| users::add_token(transaction, user, &name, secret, expires_at, &by)).await
    }

    async fn list_tokens(&self, user: Option<UserId>) -> Result<Vec<Token>> {
        self.read(move |connection| match user {
            Some(user) => users::tokens(connection, "WHERE user = ?1 ORDER BY tokens.id DESC", [user.0]),
            None => users::tokens(connection, "ORDER BY tokens.id DESC", []),
        })
        .await
    }

    async fn revoke_token(&self, token: TokenId, user: Option<UserId>, by: &Actor) -> Result<bool> {
        let by = by.clone();
        self.write(move |transaction| users::revoke_token(transaction, token, user, &by)).await
    }

    async fn find_token(&self, secret: SecretHash) -> Result<Option<(Token, User)>> {
        self.read(move |connection| {
            let Some(token) = users::tokens(connection, "WHERE hash = ?1", [secret])?.pop() else { return Ok(None) };
            let user = users::select(connection, "WHERE id = ?1", [token.user.0])?.pop();
            Ok(user.map(|user| (token, user)))
        })
        .await
    }

    async fn note_uses(&self, tokens: &[(TokenId, i64)], aliases: &[(UserId, RepoName, i64)]) -> Result<()> {
        let (tokens, aliases) = (tokens.to_vec(), aliases.to_vec());
        self.write(move |transaction| {
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
        .await
    }

    async fn list_golden(&self) -> Result<Vec<Golden>> {
        self.read(|connection| repos::golden(connection, "ORDER BY alias", [])).await
    }

    async fn find_golden(&self, alias: &RepoName) -> Result<Option<Golden>> {
        let alias = alias.clone();
        self.read(move |connection| Ok(repos::golden(connection, "WHERE alias = ?1", [alias.as_str()])?.pop())).await
    }

    async fn list_activations(&self, user: Option<UserId>) -> Result<Vec<Activation>> {
        self.read(move |connection| match user {
            Some(user) => repos::activations(connection, "WHERE user = ?1 ORDER BY alias", [user.0]),
            None => repos::activations(connection, "ORDER BY user, alias", []),
        })
        .await
    }

    async fn find_activation(&self, user: UserId, alias: &RepoName) -> Result<Option<Activation>> {
        let alias = alias.clone();
        self.read(move |connection| {
            let rest = "WHERE user = ?1 AND alias = ?2";
            Ok(repos::activations(connection, rest, params![user.0, alias.as_str()])?.pop())
        })
        .await
    }

    async fn wanted_branches(&self, alias: &RepoName) -> Result<Vec<String>> {
        let alias = alias.clone();
        self.read(move |connection| repos::wanted_branches(connection, &alias)).await
    }

    async fn change(&self, changes: &[TeamChange], by: &Actor) -> Result<()> {
        let (changes, by) = (changes.to_vec(), by.clone());
        self.write(move |transaction| repos::apply(transaction, &changes, &by)).await
    }

    async fn add_job(&self, new: &NewJob, changes: &[TeamChange], by: &Actor) -> Result<Job> {
        let (new, changes, by) = (new.clone(), changes.to_vec(), by.clone());
        self.write(move |transaction| jobs::add(transaction, &new, &changes, &by)).await
    }

    async fn claim_job(&self, limits: &JobLimits, at: i64) -> Result<Option<Job>> {
        let limits = *limits;
        // Mostly nothing waits, and that takes no lock.
        let waits = "SELECT EXISTS (SELECT 1 FROM jobs WHERE status = 'pending')";
        if !self.read(move |connection| Ok(connection.query_row(waits, [], |row| row.get::<_, bool>(0))?)).await? {
            return Ok(None);
        }
        self.write(move |transaction| jobs::claim(transaction, limits, at)).await
    }

    async fn note_progress(&self, job: &JobId, progress: u8) -> Result<()> {
        let job = job.clone();
        self.write(move |transaction| {
            let sql = "UPDATE jobs SET progress = max(progress, ?2) WHERE id = ?1 AND status = 'running'";
            transaction.execute(sql, params![job.as_str(), progress])?;
            Ok(())
        })
        .await
    }

    async fn log_job(&self, job: &JobId, at: i64, text: &str) -> Result<()> {
        let (job, text) = (job.clone(), text.to_owned());
        self.write(move |transaction| jobs::log(transaction, &job, at, &text)).await
    }

    async fn end_job(&self, job: &JobId, end: &JobEnd, changes: &[TeamChange], by: &Actor) -> Result<bool> {
        let (job, end, changes, by) = (job.clone(), end.clone(), changes.to_vec(), by.clone());
        self.write(move |transaction| jobs::end(transaction, &job, &end, &changes, &by)).await
    }

    async fn requeue_job(&self, job: &JobId, again: &Requeue) -> Result<()> {
        let (job, again) = (job.clone(), again.clone());
        self.write(move |transaction| jobs::requeue(transaction, &job, &again)).await
    }

    async fn cancel_job(&self, job: &JobId, by: &Actor) -> Result<Option<Cancelled>> {
        let (job, by) = (job.clone(), by.clone());
        self.write(move |transaction| jobs::cancel(transaction, &job, &by)).await
    }

    async fn running_jobs(&self) -> Result<Vec<Job>> {
        self.read(|connection| jobs::select(connection, "WHERE status = 'running' ORDER BY number", [])).await
    }

    async fn find_job(&self, job: &JobId) -> Result<Option<Job>> {
        let job = job.clone();
        self.read(move |connection| jobs::find(connection, &job)).await
    }

    async fn list_jobs(&self, query: &JobQuery) -> Result<(Vec<Job>, usize)> {
        let query = query.clone();
        self.read(move |connection| jobs::list(connection, &query)).await
    }

    async fn job_log(&self, job: &JobId) -> Result<Vec<JobLine>> {
        let job = job.clone();
        self.read(move |connection| jobs::lines(connection, &job)).await
    }

    async fn count_jobs(&self, user: Option<UserId>) -> Result<Vec<(JobStatus, u64)>> {
        self.read(move |connection| jobs::count_by_status(connection, user)).await
    }

    async fn forget_jobs(&self, before: i64) -> Result<u64> {
        self.write(move |transaction| {
            forget_acts(transaction)?;
            jobs::forget(transaction, before)
        })
        .await
    }

    async fn note_act(&self, by: &Actor, act: &str, subject: &str, outcome: &str) -> Result<()> {
        let (by, act, subject, outcome) = (by.clone(), act.to_owned(), subject.to_owned(), outcome.to_owned());
        self.write(move |transaction| note(transaction, &by, &act, &subject, &outcome)).await
    }

    async fn list_acts(&self, limit: usize) -> Result<(Vec<AuditEntry>, usize)> {
        self.read(move |connection| {
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
        .await
    }

    async fn check_writing(&self) -> Result<()> {
        self.write(|transaction| {
            let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            // It is that already; the page is written all the same.
            Ok(transaction.pragma_update(None, "user_version", version)?)
        })
        .await
    }

    async fn check_all(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut findings = broken_pages(connection)?;
            if findings.is_empty() {
                findings = sums::check_tables(connection, &TEAM)?;
            }
            let lost = connection.prepare("PRAGMA foreign_key_check")?.query_map([], |_| Ok(()))?.count();
            findings.extend((lost > 0).then(|| format!("{lost} rows belong to nothing")));
            Ok(findings)
        })
        .await
    }

    async fn check(&self) -> Result<()> {
        self.read(|connection| Ok(connection.query_row("SELECT count(*) FROM users", [], |_| Ok(()))?)).await
    }
}

#[cfg(test)]
mod tests {
    use lore_store::StoreError;

    use super::*;

    #[tokio::test]
    async fn nobody_pushes_out_what_others_did() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        let actor = |name: &str| Actor { name: name.to_owned(), address: None, at: 1 };
        store.note_act(&actor("root"), "create_user", "ada", "admin").await.unwrap();
        store.note_act(&actor("ada"), "set_role", "bob", "admin").await.unwrap();
        let tokens = store.write(move |transaction| {
            (0..ACTS_MAX + 20).try_for_each(|_| note(transaction, &actor("ada"), "create_token", "x of ada", "created"))
        });
        tokens.await.unwrap();
        store.forget_jobs(0).await.unwrap();
        let (acts, total) = store.list_acts(20_000).await.unwrap();
        assert_eq!(total, 10_002);
        let kept: Vec<&str> = acts[10_000..].iter().map(|act| act.act.as_str()).collect();
        assert_eq!(kept, ["set_role", "create_user"]);
    }

    #[tokio::test]
    async fn one_login_too_many_ends_the_one_that_was_renewed_longest_ago() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        let by = Actor { name: "root".to_owned(), address: None, at: 1 };
        let ada = store.add_user(&UserName::parse("ada").unwrap(), Role::Admin, "hash", &by).await.unwrap().id;
        let secret = |number: i64| -> SecretHash {
            let mut secret = [0; 32];
            secret[..8].copy_from_slice(&number.to_be_bytes());
            secret
        };
        let logins = store.write(move |transaction| {
            let add = |number| users::add_login(transaction, ada, secret(number), number, 1000 + number);
            (1..=200).map(add).collect::<std::result::Result<Vec<LoginId>, Fault>>()
        });
        let logins = logins.await.unwrap();
        let renewal = Renewal { old: secret(1), new: secret(900), at: 300, expires_at: 1300, address: None };
        store.rotate_login(&renewal).await.unwrap();
        // However short it is: it is what somebody has just asked for.
        let newest = store.add_login(ada, "hash", secret(901), 301, 400).await.unwrap().unwrap();
        let mut ended = Vec::new();
        for login in logins.iter().chain([&newest]) {
            if store.user_of_login(*login, 302).await.unwrap().is_none() {
                ended.push(*login);
            }
        }
        assert_eq!(ended, [logins[1]]);
    }

    #[tokio::test]
    async fn a_refresh_token_that_nobody_has_waits_for_no_writer() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        let by = Actor { name: "root".to_owned(), address: None, at: 1 };
        let ada = store.add_user(&UserName::parse("ada").unwrap(), Role::Admin, "hash", &by).await.unwrap().id;
        let login = store.add_login(ada, "hash", [1; 32], 10, 100).await.unwrap().unwrap();
        assert!(store.user_of_login(login, 20).await.unwrap().is_some());
        let other = Connection::open(dir.path().join("team.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let renewal = |old, at| Renewal { old: [old; 32], new: [9; 32], at, expires_at: 200, address: None };
        assert_eq!(store.rotate_login(&renewal(7, 20)).await.unwrap(), Rotation::Unknown);
        assert_eq!(store.rotate_login(&renewal(1, 100)).await.unwrap(), Rotation::Unknown, "its time is over");
        other.execute_batch("ROLLBACK").unwrap();
        let rotated = store.rotate_login(&renewal(1, 20)).await.unwrap();
        assert!(matches!(rotated, Rotation::Rotated(..)), "{rotated:?}");
    }

    #[tokio::test]
    async fn whether_something_can_be_written_is_found_out_by_writing() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedTeam::new(dir.path());
        store.check_writing().await.unwrap();
        let length = || std::fs::metadata(dir.path().join("team.db-wal")).unwrap().len();
        let before = length();
        store.check_writing().await.unwrap();
        assert!(length() > before, "nothing was written");
        assert!(store.check_all().await.unwrap().is_empty());
        std::fs::rename(dir.path().join("team.db"), dir.path().join("aside.db")).unwrap();
        std::fs::create_dir(dir.path().join("team.db")).unwrap();
        let refused = store.check_writing().await;
        assert!(matches!(refused, Err(StoreError::NoAccess { .. })), "{refused:?}");
    }

    #[tokio::test]
    async fn what_has_to_be_upgraded_and_cannot_be_is_not_taken_for_empty() {
        let dir = tempfile::tempdir().unwrap();
        let actor = Actor { name: "root".to_owned(), address: None, at: 1 };
        EmbeddedTeam::new(dir.path()).note_act(&actor, "create_user", "ada", "admin").await.unwrap();
        let connection = Connection::open(dir.path().join("team.db")).unwrap();
        let newer = "ALTER TABLE jobs DROP COLUMN error_told; DROP INDEX acts_by_actor; DROP TABLE sums";
        connection.execute_batch(&format!("{newer}; PRAGMA user_version = 1")).unwrap();
        drop(connection);
        // Where processes cannot share memory, nobody can write.
        std::fs::create_dir(dir.path().join("team.db-shm")).unwrap();
        let refused = EmbeddedTeam::new(dir.path()).list_acts(9).await;
        assert!(matches!(refused, Err(StoreError::NoAccess { .. })), "{refused:?}");
        std::fs::remove_dir(dir.path().join("team.db-shm")).unwrap();
        assert_eq!(EmbeddedTeam::new(dir.path()).list_acts(9).await.unwrap().1, 1);
    }
}
