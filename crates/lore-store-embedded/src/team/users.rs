//! Users, and how they show who they are.

use lore_model::{Actor, LoginId, Role, Token, TokenId, User, UserId, UserName};
use lore_store::{RefreshToken, Renewal, Rotation, SecretHash, StoreError};
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, params};

use super::{jobs, note};
use crate::{rows::unfit, truth::Fault};

type Result<T> = std::result::Result<T, Fault>;

/// A user has at most so many personal tokens.
const TOKENS_MAX: i64 = 200;

/// A user has at most so many logins: a program that logs in for each of its runs would add one each time.
const LOGINS_MAX: i64 = 200;

fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    let (name, role): (String, String) = (row.get(1)?, row.get(2)?);
    Ok(User {
        id: UserId(row.get(0)?),
        name: UserName::parse(&name).map_err(|what| unfit(1, what))?,
        role: Role::parse(&role).ok_or_else(|| unfit(2, role))?,
        created_at: row.get(3)?,
    })
}

/// The users that the rest of the query chooses.
pub(super) fn select(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<User>> {
    let sql = format!("SELECT id, name, role, created_at FROM users {rest}");
    let mut statement = connection.prepare_cached(&sql)?;
    let users = statement.query_map(values, user)?.collect::<rusqlite::Result<_>>()?;
    Ok(users)
}

pub(super) fn get(connection: &Connection, id: UserId) -> Result<User> {
    let found = select(connection, "WHERE id = ?1", [id.0])?.pop();
    found.ok_or_else(|| StoreError::Absent(format!("user {}", id.0)).into())
}

pub(super) fn add(
    transaction: &Transaction<'_>,
    name: &UserName,
    role: Role,
    password: &str,
    by: &Actor,
) -> Result<User> {
    if !select(transaction, "WHERE name = ?1", [name.as_str()])?.is_empty() {
        return Err(StoreError::Exists(format!("there is a user named `{name}` already")).into());
    }
    transaction.execute(
        "INSERT INTO users (name, role, password, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![name.as_str(), role.as_str(), password, by.at],
    )?;
    let id = UserId(transaction.last_insert_rowid());
    note(transaction, by, "create_user", name.as_str(), role.as_str())?;
    get(transaction, id)
}

pub(super) fn password(connection: &Connection, id: UserId) -> Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT password FROM users WHERE id = ?1")?;
    Ok(statement.query_row([id.0], |row| row.get(0)).optional()?)
}

pub(super) fn set_password(
    transaction: &Transaction<'_>,
    id: UserId,
    old: Option<&str>,
    new: &str,
    by: &Actor,
) -> Result<bool> {
    let user = get(transaction, id)?;
    if old.is_some() && password(transaction, id)?.as_deref() != old {
        return Ok(false);
    }
    transaction.execute("UPDATE users SET password = ?2 WHERE id = ?1", params![id.0, new])?;
    transaction.execute("DELETE FROM logins WHERE user = ?1", [id.0])?;
    note(transaction, by, "set_password", user.name.as_str(), "changed; all logins ended")?;
    Ok(true)
}

/// Fails where this user is the last who may decide who uses the server.
fn refuse_last_admin(transaction: &Transaction<'_>, user: &User) -> Result<()> {
    let others: i64 =
        transaction
            .query_row("SELECT count(*) FROM users WHERE role = 'admin' AND id <> ?1", [user.id.0], |row| row.get(0))?;
    if user.role == Role::Admin && others == 0 {
        let what = format!("`{}` is the only admin: nobody could manage the server any more", user.name);
        return Err(StoreError::Refused(what).into());
    }
    Ok(())
}

pub(super) fn set_role(transaction: &Transaction<'_>, id: UserId, role: Role, by: &Actor) -> Result<User> {
    let user = get(transaction, id)?;
    if role != Role::Admin {
        refuse_last_admin(transaction, &user)?;
    }
    transaction.execute("UPDATE users SET role = ?2 WHERE id = ?1", params![id.0, role.as_str()])?;
    let outcome = format!("{} -> {}", user.role.as_str(), role.as_str());
    note(transaction, by, "set_role", user.name.as_str(), &outcome)?;
    get(transaction, id)
}

pub(super) fn remove(transaction: &Transaction<'_>, id: UserId, by: &Actor) -> Result<()> {
    let user = get(transaction, id)?;
    refuse_last_admin(transaction, &user)?;
    let unfinished = "WHERE user = ?1 AND status IN ('pending', 'running') ORDER BY number";
    for job in jobs::select(transaction, unfinished, [id.0])? {
        jobs::stop(transaction, &job, by)?;
        let why = "UPDATE jobs SET error = 'the user was removed' WHERE id = ?1 AND status = 'cancelled'";
        transaction.execute(why, [job.id.as_str()])?;
    }
    transaction.execute("DELETE FROM users WHERE id = ?1", [id.0])?;
    note(transaction, by, "remove_user", user.name.as_str(), "removed")
}

pub(super) fn signing_key(transaction: &Transaction<'_>, fresh: [u8; 32]) -> Result<[u8; 32]> {
    let known = "SELECT value FROM secrets WHERE name = 'signing_key'";
    if let Some(key) = transaction.query_row(known, [], |row| row.get(0)).optional()? {
        return Ok(key);
    }
    transaction.execute("INSERT INTO secrets (name, value) VALUES ('signing_key', ?1)", [fresh])?;
    Ok(fresh)
}

pub(super) fn add_login(
    transaction: &Transaction<'_>,
    user: UserId,
    refresh: SecretHash,
    at: i64,
    expires_at: i64,
) -> Result<LoginId> {
    transaction.execute("DELETE FROM logins WHERE expires_at <= ?1", [at])?;
    transaction.execute(
        "INSERT INTO logins (user, created_at, expires_at) VALUES (?1, ?2, ?3)",
        params![user.0, at, expires_at],
    )?;
    let login = LoginId(transaction.last_insert_rowid());
    transaction.execute("INSERT INTO refresh_tokens (hash, login) VALUES (?1, ?2)", params![refresh, login.0])?;
    transaction.execute(
        "DELETE FROM logins WHERE id IN (
             SELECT id FROM logins WHERE user = ?1 ORDER BY id = ?2 DESC, expires_at DESC, id DESC LIMIT -1 OFFSET ?3
         )",
        params![user.0, login.0, LOGINS_MAX],
    )?;
    Ok(login)
}

/// A refresh token that would be rotated, or that was taken before.
pub(super) fn find_refresh(connection: &Connection, hash: SecretHash, at: i64) -> Result<Option<RefreshToken>> {
    let mut statement = connection.prepare_cached(
        "SELECT logins.id, taken_at IS NOT NULL FROM refresh_tokens JOIN logins ON logins.id = login
         WHERE hash = ?1 AND (taken_at IS NOT NULL OR expires_at > ?2)",
    )?;
    let token = |row: &Row<'_>| Ok(RefreshToken { login: LoginId(row.get(0)?), is_taken: row.get(1)? });
    Ok(statement.query_row(params![hash, at], token).optional()?)
}

pub(super) fn rotate(transaction: &Transaction<'_>, renewal: &Renewal) -> Result<Rotation> {
    let Renewal { old, new, at, expires_at, .. } = *renewal;
    let found = transaction
        .query_row(
            "SELECT logins.id, logins.user, logins.expires_at, taken_at FROM refresh_tokens
             JOIN logins ON logins.id = login WHERE hash = ?1",
            [old],
            |row| Ok((LoginId(row.get(0)?), UserId(row.get(1)?), row.get::<_, i64>(2)?, row.get::<_, Option<i64>>(3)?)),
        )
        .optional()?;
    let Some((login, user, expires, taken_at)) = found else { return Ok(Rotation::Unknown) };
    let user = get(transaction, user)?;
    if taken_at.is_some() {
        transaction.execute("DELETE FROM logins WHERE id = ?1", [login.0])?;
        let by = Actor { name: user.name.as_str().to_owned(), address: renewal.address.clone(), at };
        note(transaction, &by, "refresh_reused", user.name.as_str(), "the login was ended")?;
        return Ok(Rotation::Reused(user));
    }
    if expires <= at {
        return Ok(Rotation::Unknown);
    }
    transaction.execute("UPDATE refresh_tokens SET taken_at = ?2 WHERE hash = ?1", params![old, at])?;
    transaction.execute("INSERT INTO refresh_tokens (hash, login) VALUES (?1, ?2)", params![new, login.0])?;
    // One that was taken so long ago that it would be over anyway tells nothing any more.
    let over = "DELETE FROM refresh_tokens WHERE login = ?1 AND taken_at < ?2";
    transaction.execute(over, params![login.0, at - (expires_at - at)])?;
    transaction.execute("UPDATE logins SET expires_at = ?2 WHERE id = ?1", params![login.0, expires_at])?;
    Ok(Rotation::Rotated(login, user))
}

/// The tokens that the rest of the query chooses.
pub(super) fn tokens(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<Token>> {
    let sql = format!(
        "SELECT tokens.id, tokens.name, user, users.name, tokens.created_at, expires_at, last_used_at
         FROM tokens JOIN users ON users.id = user {rest}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(values, |row| {
        let username: String = row.get(3)?;
        Ok(Token {
            id: TokenId(row.get(0)?),
            name: row.get(1)?,
            user: UserId(row.get(2)?),
            username: UserName::parse(&username).map_err(|what| unfit(3, what))?,
            created_at: row.get(4)?,
            expires_at: row.get(5)?,
            last_used_at: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn add_token(
    transaction: &Transaction<'_>,
    user: UserId,
    name: &str,
    secret: SecretHash,
    expires_at: Option<i64>,
    by: &Actor,
) -> Result<Token> {
    let owner = get(transaction, user)?;
    // The name of one that is over is free again.
    transaction.execute("DELETE FROM tokens WHERE user = ?1 AND expires_at <= ?2", params![user.0, by.at])?;
    let rest = "WHERE user = ?1 AND tokens.name = ?2";
    if !tokens(transaction, rest, params![user.0, name])?.is_empty() {
        return Err(StoreError::Exists(format!("there is a token named `{name}` already")).into());
    }
    let count: i64 =
        transaction.query_row("SELECT count(*) FROM tokens WHERE user = ?1", [user.0], |row| row.get(0))?;
    if count >= TOKENS_MAX {
        let what = format!("`{}` has {count} personal tokens: revoke one that is not needed any more", owner.name);
        return Err(StoreError::Refused(what).into());
    }
    transaction.execute(
        "INSERT INTO tokens (user, name, hash, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![user.0, name, secret, by.at, expires_at],
    )?;
    let id = transaction.last_insert_rowid();
    note(transaction, by, "create_token", &format!("{} of {}", name, owner.name), "created")?;
    let added = tokens(transaction, "WHERE tokens.id = ?1", [id])?.pop();
    added.ok_or_else(|| StoreError::Absent(format!("token {id}")).into())
}

pub(super) fn revoke_token(
    transaction: &Transaction<'_>,
    token: TokenId,
    user: Option<UserId>,
    by: &Actor,
) -> Result<bool> {
    let found = tokens(transaction, "WHERE tokens.id = ?1", [token.0])?.pop();
    let Some(found) = found.filter(|found| user.is_none_or(|user| user == found.user)) else { return Ok(false) };
    transaction.execute("DELETE FROM tokens WHERE id = ?1", [token.0])?;
    note(transaction, by, "revoke_token", &format!("{} of {}", found.name, found.username), "revoked")?;
    Ok(true)
}
