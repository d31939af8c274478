//! Who did what, who was refused, and whether the team can be read at all.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use lore_model::{Actor, AuditEntry, Failure, LoginId, User, UserName};

use super::{Team, throttle::make_room};
use crate::failure::team_failure;

/// Whoever is refused the same again is written down once in so many seconds: refusing costs little, and writing much.
const AGAIN: i64 = 60;

/// What was refused of late: who, and what from where.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<HashMap<(String, String), i64>>);

impl Refused {
    /// Whether this is to be written down.
    fn is_new(&self, who: &str, what: String, now: i64) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (who.to_owned(), what);
        // A clock that was set back keeps nothing out of the log.
        if noted.get(&key).is_some_and(|last| (0..AGAIN).contains(&(now - last))) {
            return false;
        }
        make_room(&mut noted, |at| (1, *at), now - AGAIN);
        noted.insert(key, now);
        true
    }
}

impl Team {
    /// The newest administrative acts, and how many there are.
    pub fn acts(&self, limit: usize) -> Result<(Vec<AuditEntry>, usize), Failure> {
        self.store.list_acts(limit).map_err(team_failure)
    }

    /// Writes down that a user asked for what they may not.
    pub fn note_denied(&self, user: &UserName, address: Option<String>, what: &str, why: &str) {
        let by = Actor { name: user.to_string(), address, at: self.clock.now() };
        if self.refused.is_new(&by.name, what.to_owned(), by.at) {
            self.note_refusal(&by, "denied", what, why);
        }
    }

    /// Writes down that somebody was not let in. What was typed in place of a name may be a password, so names that nobody has
    /// are not written; and however many there are, they are one actor's acts.
    pub(super) fn note_not_let_in(&self, user: Option<&User>, address: Option<&str>, act: &str, why: &str) {
        let name = user.map_or("(unknown)", |user| user.name.as_str());
        let by = Actor { name: name.to_owned(), address: address.map(str::to_owned), at: self.clock.now() };
        self.note_refusal(&by, act, name, why);
    }

    /// Writes down that somebody tries passwords and was told to wait. By where they are: they may try any name.
    pub(super) fn note_held_back(&self, account: &str, address: Option<&str>, wait: i64) {
        if !self.refused.is_new("(login)", address.unwrap_or_default().to_owned(), self.clock.now()) {
            return;
        }
        let user = match UserName::parse(account) {
            Ok(name) => self.store.find_user(&name).unwrap_or_default(),
            Err(_) => None,
        };
        let why = format!("too many wrong passwords: told to wait {wait} seconds");
        self.note_not_let_in(user.as_ref(), address, "login_held_back", &why);
    }

    /// Writes down that a login is renewed too often and was told to wait.
    pub(super) fn note_renewed_often(&self, login: LoginId, address: Option<&str>, wait: i64) {
        let now = self.clock.now();
        if !self.refused.is_new("(refresh)", login.0.to_string(), now) {
            return;
        }
        let user = self.store.user_of_login(login, now).unwrap_or_default();
        let why = format!("renewed too often: told to wait {wait} seconds");
        self.note_not_let_in(user.as_ref(), address, "refresh_held_back", &why);
    }

    /// Nobody is let in because the log cannot be written, and nobody is kept out for it.
    fn note_refusal(&self, by: &Actor, act: &str, subject: &str, why: &str) {
        if let Err(failure) = self.store.note_act(by, act, subject, why).map_err(team_failure) {
            tracing::warn!(%failure, "a refusal could not be written down");
        }
    }

    /// Fails where what the team has cannot be read.
    pub fn check(&self) -> Result<(), Failure> {
        self.store.check().map_err(team_failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_refusal_is_written_once_in_a_while() {
        let refused = Refused::default();
        let is_new = |who: &str, what: &str, now| refused.is_new(who, what.to_owned(), now);
        assert!(is_new("ada", "create_user", 100) && !is_new("ada", "create_user", 159));
        assert!(is_new("ada", "list_users", 100) && is_new("bob", "create_user", 100));
        assert!(is_new("ada", "create_user", 160) && !is_new("ada", "create_user", 170));
        assert!(is_new("ada", "create_user", 50), "where the clock was set back");
        for number in 0..50_000 {
            is_new("ada", &number.to_string(), 1000);
        }
        assert!(refused.0.lock().unwrap().len() <= 20_000);
    }
}
