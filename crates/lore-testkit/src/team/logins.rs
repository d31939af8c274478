//! Logins that are kept over the deaths of a server: each refresh token works once, and none is lost.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{Client, Fault, Running, load::PASSWORD, pause};

/// Between two rotations: not so long that a kill falls between them each time, not so short that they are all the load.
const EVERY: Duration = Duration::from_millis(15);

/// What a check found out about logins.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) lost: Vec<String>,
    pub(super) twice: Vec<String>,
}

/// A login of a user, with the refresh token that is to work next.
#[derive(Debug)]
pub(super) struct Login {
    user: String,
    refresh: String,
    /// The answer to a rotation never came: the token may have been used, or not.
    unsure: bool,
    /// Rotations that were acknowledged.
    pub(super) rotations: usize,
    pub(super) faults: Vec<String>,
}

impl Login {
    /// Logs in with the password that everybody has here.
    pub(super) fn new(running: &Running, user: &str) -> Result<Self> {
        let refresh = refresh_token(&log_in(running, user)?)?;
        Ok(Self { user: user.to_owned(), refresh, unsure: false, rotations: 0, faults: Vec::new() })
    }

    /// Rotates until it is over or the connection breaks.
    pub(super) fn act(&mut self, client: &mut Client, over: &AtomicBool) {
        while !self.unsure && !over.load(Ordering::Relaxed) {
            match self.rotate(client) {
                Ok(_) => pause(EVERY),
                Err(fault) if fault.is_unsure() => self.unsure = true,
                Err(fault) => {
                    self.faults.push(format!("a rotation of {}: {fault}", self.user));
                    return;
                }
            }
        }
    }

    fn rotate(&mut self, client: &mut Client) -> Result<Value, Fault> {
        let answer = spend(client, &self.refresh)?;
        if let Some(next) = answer["refresh_token"].as_str() {
            next.clone_into(&mut self.refresh);
            self.rotations += 1;
        }
        Ok(answer)
    }

    /// After a start: the token works, unless nobody knows whether it was used already. A `thorough` look uses it twice,
    /// which must end the login.
    pub(super) fn check(&mut self, running: &Running, thorough: bool, found: &mut Found) -> Result<()> {
        let mut client = running.client();
        let (old, was_unsure) = (self.refresh.clone(), std::mem::take(&mut self.unsure));
        let answer = match self.rotate(&mut client) {
            Ok(answer) => answer,
            Err(Fault::Refused(401, _)) if was_unsure => return self.begin_again(running),
            Err(Fault::Refused(status, why)) => {
                found.lost.push(format!("a login of {}: {status}: {why}", self.user));
                return self.begin_again(running);
            }
            Err(fault) => return Err(fault.into()),
        };
        let access = answer["access_token"].as_str().context("a rotation gave no access token")?;
        if let Err(fault) = running.client_of(access).rest("GET", "/auth/me", None) {
            found.lost.push(format!("an access token of {} that was just given: {fault}", self.user));
        }
        if !thorough {
            return Ok(());
        }
        for (token, what) in [(&old, "a refresh token was taken twice"), (&self.refresh, "a stolen login goes on")] {
            match spend(&mut client, token) {
                Err(Fault::Refused(401, _)) => {}
                Err(fault) => return Err(fault.into()),
                Ok(_) => found.twice.push(format!("{what}: {}", self.user)),
            }
        }
        self.begin_again(running)
    }

    fn begin_again(&mut self, running: &Running) -> Result<()> {
        self.refresh = refresh_token(&log_in(running, &self.user)?)?;
        Ok(())
    }
}

/// Logs a user in who has the password that everybody has here.
pub(super) fn log_in(running: &Running, user: &str) -> Result<Value, Fault> {
    running.client().rest("POST", "/auth/login", Some(&json!({"username": user, "password": PASSWORD})))
}

fn refresh_token(answer: &Value) -> Result<String> {
    Ok(answer["refresh_token"].as_str().context("the login has no refresh token")?.to_owned())
}

fn spend(client: &mut Client, token: &str) -> Result<Value, Fault> {
    client.rest("POST", "/auth/refresh", Some(&json!({"refresh_token": token})))
}
