//! Holds back those who try passwords.
//!
//! Wrong passwords are counted for an account from one address, for an account from anywhere, and for an address on any
//! account. The first few cost nothing; after that each one makes the next attempt wait twice as long. Whoever tries from
//! elsewhere can make an account wait for a minute, never lock it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Wrong passwords are forgotten after so many seconds without another.
const FORGET: i64 = 15 * 60;

/// More are not counted; those that were seen longest ago go first.
const MOST: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Both(String, String),
    Account(String),
    Address(String),
}

impl Key {
    /// How many wrong ones cost nothing, and the longest wait in seconds.
    fn rule(&self) -> (u32, i64) {
        match self {
            Self::Both(..) => (5, 15 * 60),
            Self::Account(_) => (20, 60),
            Self::Address(_) => (30, 15 * 60),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    wrong: u32,
    last: i64,
}

/// What was seen of late.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    seen: Mutex<HashMap<Key, Seen>>,
}

impl Throttle {
    /// How many seconds to wait before an attempt on this account from this address; 0 for none.
    pub(super) fn wait(&self, account: &str, address: Option<&str>, now: i64) -> i64 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = |key: Key| {
            let (free, longest) = key.rule();
            let Some(seen) = seen.get(&key).filter(|seen| now - seen.last < FORGET) else { return 0 };
            let over = seen.wrong.saturating_sub(free);
            if over == 0 {
                return 0;
            }
            let pause = 1_i64.checked_shl(over - 1).filter(|pause| *pause > 0).unwrap_or(longest).min(longest);
            (seen.last + pause - now).max(0)
        };
        keys(account, address).map(wait).max().unwrap_or(0)
    }

    /// Notes a wrong password.
    pub(super) fn note_wrong(&self, account: &str, address: Option<&str>, now: i64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() + 3 > MOST {
            seen.retain(|_, seen| now - seen.last < FORGET);
        }
        if seen.len() + 3 > MOST {
            let mut times: Vec<i64> = seen.values().map(|seen| seen.last).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            seen.retain(|_, seen| seen.last > middle);
        }
        for key in keys(account, address) {
            let entry = seen.entry(key).or_insert(Seen { wrong: 0, last: now });
            entry.wrong = if now - entry.last < FORGET { entry.wrong + 1 } else { 1 };
            entry.last = now;
        }
    }

    /// Notes the right password: what was wrong from there before was its owner's mistake.
    pub(super) fn note_right(&self, account: &str, address: Option<&str>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(&Key::Both(account.to_owned(), address.unwrap_or_default().to_owned()));
    }
}

fn keys(account: &str, address: Option<&str>) -> impl Iterator<Item = Key> {
    let from = address.unwrap_or_default().to_owned();
    let both = Key::Both(account.to_owned(), from);
    [Some(both), Some(Key::Account(account.to_owned())), address.map(|address| Key::Address(address.to_owned()))]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_password_after_the_first_few_makes_the_next_wait_longer() {
        let throttle = Throttle::default();
        let mut waits = Vec::new();
        for _ in 0..9 {
            throttle.note_wrong("ada", Some("1.2.3.4"), 100);
            waits.push(throttle.wait("ada", Some("1.2.3.4"), 100));
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8]);
        assert_eq!(throttle.wait("ada", Some("1.2.3.4"), 105), 3);
        assert_eq!(throttle.wait("ada", Some("5.6.7.8"), 100), 0, "ada herself is elsewhere");
        throttle.note_right("ada", Some("1.2.3.4"));
        assert_eq!(throttle.wait("ada", Some("1.2.3.4"), 100), 0);
    }

    #[test]
    fn many_addresses_and_many_accounts_are_noticed_too() {
        let throttle = Throttle::default();
        for number in 0..60 {
            throttle.note_wrong("ada", Some(&format!("10.0.0.{number}")), 100);
        }
        assert_eq!(throttle.wait("ada", Some("9.9.9.9"), 100), 60, "an account waits a minute at most");
        for number in 0..60 {
            throttle.note_wrong(&format!("user{number}"), Some("6.6.6.6"), 100);
        }
        assert_eq!(throttle.wait("somebody", Some("6.6.6.6"), 100), 900);
        assert_eq!(throttle.wait("somebody", Some("6.6.6.6"), 100 + FORGET), 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let throttle = Throttle::default();
        for number in 0..i64::try_from(MOST).unwrap() {
            throttle.note_wrong(&format!("user{number}"), Some(&format!("address{number}")), number / 100);
        }
        assert!(throttle.seen.lock().unwrap().len() <= MOST);
    }
}
