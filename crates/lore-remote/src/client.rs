//! The calls of a server that are not MCP: logins, users, tokens, repositories, jobs.

use lore_model::{Code, Failure};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use ureq::Agent;

use crate::{
    AuditEntry, Authority, Connection, Golden, GoldenChange, Issued, Job, JobDetails, Listed, Me, NewGolden, NewToken,
    RefreshEvery, Secret, Started, Token, User, http::Call,
};

/// What may stand in a path as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The most entries that a server gives of a list. Left alone it gives fewer.
const MOST: usize = 1000;

/// A server, asked by somebody.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    agent: Agent,
    authority: Authority,
}

impl Client {
    /// Asks in somebody's name; nothing is asked yet.
    pub fn new(connection: Connection, authority: Authority) -> Self {
        Self { agent: connection.agent(), connection, authority }
    }

    /// Logs in with a password.
    pub fn login(connection: &Connection, username: &str, password: &Secret) -> Result<Issued, Failure> {
        let body = json!({"username": username, "password": password.expose()});
        let call = Call { method: "POST", path: "/auth/login", body: Some(&body), bearer: None };
        read(connection, connection.call(&connection.agent(), &call)?)
    }

    /// Gets the next pair of tokens.
    pub fn refresh(connection: &Connection, refresh_token: &Secret) -> Result<Issued, Failure> {
        let body = json!({"refresh_token": refresh_token.expose()});
        let call = Call { method: "POST", path: "/auth/refresh", body: Some(&body), bearer: None };
        read(connection, connection.call(&connection.agent(), &call)?)
    }

    /// Ends a login and everything that came of it.
    pub fn logout(&self, refresh_token: Option<&Secret>) -> Result<(), Failure> {
        let body = match refresh_token {
            Some(token) => json!({"refresh_token": token.expose()}),
            None => json!({}),
        };
        self.ask("POST", "/auth/logout", Some(&body)).map(drop)
    }

    /// Who asks.
    pub fn me(&self) -> Result<Me, Failure> {
        self.get("/auth/me")
    }

    /// Changes one's own password.
    pub fn change_password(&self, current: &Secret, new: &Secret) -> Result<(), Failure> {
        let body = json!({"current_password": current.expose(), "new_password": new.expose()});
        self.ask("POST", "/auth/password", Some(&body)).map(drop)
    }

    /// One's own tokens, or everybody's.
    pub fn tokens(&self, all: bool) -> Result<Listed<Token>, Failure> {
        let all = if all { "all=true&" } else { "" };
        self.list(&format!("/api/tokens?{all}limit={MOST}"), "tokens")
    }

    /// Makes a token.
    pub fn create_token(&self, name: &str, expires_in_days: Option<u32>) -> Result<NewToken, Failure> {
        let mut body = json!({"name": name});
        if let Some(days) = expires_in_days {
            body["expires_in_days"] = days.into();
        }
        self.post("/api/tokens", &body)
    }

    /// Takes a token back.
    pub fn revoke_token(&self, id: &str) -> Result<(), Failure> {
        self.ask("DELETE", &format!("/api/tokens/{}", part(id)), None).map(drop)
    }

    /// Jobs, the newest first.
    pub fn jobs(&self, status: Option<&str>, limit: usize) -> Result<Listed<Job>, Failure> {
        let status = status.map_or_else(String::new, |status| format!("status={}&", part(status)));
        self.list(&format!("/api/jobs?{status}limit={limit}"), "jobs")
    }

    /// A job and its notes.
    pub fn job(&self, id: &str) -> Result<JobDetails, Failure> {
        self.get(&format!("/api/jobs/{}", part(id)))
    }

    /// Stops a job; what the server says.
    pub fn cancel_job(&self, id: &str) -> Result<String, Failure> {
        let done = self.ask("POST", &format!("/api/jobs/{}/cancel", part(id)), Some(&json!({})))?;
        Ok(message(&done))
    }

    /// Everybody.
    pub fn users(&self) -> Result<Listed<User>, Failure> {
        self.list(&format!("/api/users?limit={MOST}"), "users")
    }

    /// Lets somebody in.
    pub fn add_user(&self, name: &str, password: &Secret, role: &str) -> Result<User, Failure> {
        let body = json!({"username": name, "password": password.expose(), "role": role});
        self.user("POST", "/api/users", &body)
    }

    /// Makes somebody something else.
    pub fn set_role(&self, name: &str, role: &str) -> Result<User, Failure> {
        self.user("PATCH", &format!("/api/users/{}", part(name)), &json!({"role": role}))
    }

    /// Gives somebody another password.
    pub fn set_password(&self, name: &str, password: &Secret) -> Result<User, Failure> {
        self.user("PATCH", &format!("/api/users/{}", part(name)), &json!({"password": password.expose()}))
    }

    /// Lets somebody in no longer.
    pub fn remove_user(&self, name: &str) -> Result<(), Failure> {
        self.ask("DELETE", &format!("/api/users/{}", part(name)), None).map(drop)
    }

    /// The repositories that the server keeps.
    pub fn golden(&self) -> Result<Listed<Golden>, Failure> {
        self.list(&format!("/api/golden?limit={MOST}"), "repositories")
    }

    /// Lets the server keep a repository.
    pub fn add_golden(&self, new: &NewGolden) -> Result<Started, Failure> {
        let mut body = Map::from_iter([
            ("url".to_owned(), json!(new.url)),
            ("alias".to_owned(), json!(new.alias)),
            ("enable_temporal".to_owned(), json!(new.temporal)),
        ]);
        body.extend(new.branch.as_ref().map(|branch| ("branch".to_owned(), json!(branch))));
        body.extend(new.refresh_every.map(|every| ("refresh_every".to_owned(), refresh_every(every))));
        self.post("/api/golden", &Value::Object(body))
    }

    /// Changes how a repository is kept.
    pub fn set_golden(&self, alias: &str, change: GoldenChange) -> Result<Started, Failure> {
        let mut body = Map::new();
        body.extend(change.refresh_every.map(|every| ("refresh_every".to_owned(), refresh_every(every))));
        body.extend(change.temporal.map(|temporal| ("enable_temporal".to_owned(), json!(temporal))));
        body.extend(change.branch.map(|branch| ("branch".to_owned(), json!(branch))));
        let path = format!("/api/golden/{}", part(alias));
        self.read(self.ask("PATCH", &path, Some(&Value::Object(body)))?)
    }

    /// Brings a repository up to date.
    pub fn refresh_golden(&self, alias: &str) -> Result<Started, Failure> {
        self.post(&format!("/api/golden/{}/refresh", part(alias)), &json!({}))
    }

    /// Lets the server keep a repository no longer; those who have activated it lose it only by force.
    pub fn remove_golden(&self, alias: &str, force: bool) -> Result<Started, Failure> {
        let force = if force { "?force=true" } else { "" };
        self.read(self.ask("DELETE", &format!("/api/golden/{}{force}", part(alias)), None)?)
    }

    /// What was done and tried, the newest first.
    pub fn audit(&self, limit: usize) -> Result<Listed<AuditEntry>, Failure> {
        self.list(&format!("/api/audit?limit={limit}"), "entries")
    }

    fn user(&self, method: &str, path: &str, body: &Value) -> Result<User, Failure> {
        let mut answer = self.ask(method, path, Some(body))?;
        self.read(answer["user"].take())
    }

    fn list<T: DeserializeOwned>(&self, path: &str, key: &str) -> Result<Listed<T>, Failure> {
        let mut answer = self.ask("GET", path, None)?;
        let told = answer["total"].as_u64().and_then(|total| usize::try_from(total).ok());
        let Some(list) = answer.get_mut(key) else {
            return Err(self.connection.nonsense(&format!("it has no `{key}`")));
        };
        let entries: Vec<T> = self.read(list.take())?;
        Ok(Listed { total: told.unwrap_or(0).max(entries.len()), entries })
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.read(self.ask("GET", path, None)?)
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Failure> {
        self.read(self.ask("POST", path, Some(body))?)
    }

    fn read<T: DeserializeOwned>(&self, answer: Value) -> Result<T, Failure> {
        read(&self.connection, answer)
    }

    /// Asks, and once more with a new token where the old one is no longer taken.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let bearer = self.authority.bearer()?;
        let call = |bearer| self.connection.call(&self.agent, &Call { method, path, body, bearer: Some(bearer) });
        match call(&bearer) {
            Err(failure) if failure.code == Code::Unauthenticated => match self.authority.renewed(&bearer)? {
                Some(bearer) => call(&bearer),
                None => Err(failure),
            },
            done => done,
        }
    }
}

fn read<T: DeserializeOwned>(connection: &Connection, answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer).map_err(|error| connection.nonsense(&error.to_string()))
}

fn message(answer: &Value) -> String {
    answer["message"].as_str().unwrap_or_default().to_owned()
}

fn refresh_every(every: RefreshEvery) -> Value {
    match every {
        RefreshEvery::Seconds(seconds) => seconds.into(),
        RefreshEvery::Never => Value::Null,
    }
}

/// A part of a path: no name can lead to another route.
fn part(text: &str) -> String {
    match text {
        // Dots alone are taken for folders.
        "." | ".." => text.replace('.', "%2E"),
        text => utf8_percent_encode(text, PLAIN).to_string(),
    }
}
