//! Holds back those who try passwords, and those who renew a login again and again.
//!
//! Wrong passwords are counted for an account from one address, for an account from anywhere, and for an address on any
//! account. The first few cost nothing; after that each one makes the next attempt wait twice as long. What is tried from
//! elsewhere makes nobody wait who has not tried much themselves: whoever guesses all day would lock the account else.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use lore_model::LoginId;

/// Wrong passwords are forgotten after so many seconds without another.
const FORGET: i64 = 15 * 60;

/// Somebody who was right from an address is known there for so many seconds.
const KNOWN: i64 = 24 * 3600;

/// So many attempts on an account an address has before those from elsewhere count for it.
const OWN: u32 = 3;

/// A renewal of a login is made good after so many seconds. Each is a write, and one is needed in the time of an access token.
const RENEWAL: i64 = 4;

/// More are not counted; those that were seen least and longest ago go first.
const MOST: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Both(String, String),
    Account(String),
    Address(String),
}

impl Key {
    fn both(account: &str, address: Option<&str>) -> Self {
        Self::Both(account.to_owned(), address.unwrap_or_default().to_owned())
    }

    /// How many wrong ones cost nothing, and the longest wait in seconds.
    fn rule(&self) -> (u32, i64) {
        match self {
            Self::Both(..) => (5, 15 * 60),
            Self::Account(_) => (20, 60),
            Self::Address(_) => (30, 15 * 60),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    wrong: u32,
    last: i64,
}

/// What was seen of late.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    seen: Mutex<HashMap<Key, Seen>>,
    /// Who has shown the right password from where, and when.
    known: Mutex<HashMap<(String, String), i64>>,
}

impl Throttle {
    /// Begins an attempt on this account from this address, or tells how many seconds to wait. The attempt counts as a wrong
    /// password until [`Self::note_right`] or [`Self::take_back`]: many at the same time are as many attempts.
    pub(super) fn begin(&self, account: &str, address: Option<&str>, now: i64) -> Result<Attempt, i64> {
        let is_known = self.is_known(account, address, now);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(account, address) {
            if let Some(seen) = seen.get_mut(&key) {
                // A clock that was set back makes nobody wait until it is where it was.
                seen.last = seen.last.min(now);
            }
        }
        let of_late = |key: &Key| seen.get(key).filter(|seen| now - seen.last < FORGET);
        let own = of_late(&Key::both(account, address)).map_or(0, |seen| seen.wrong);
        let wait = |key: &Key| {
            let is_excused = match key {
                Key::Both(..) => false,
                // Others, wherever they are, do not make somebody wait who was right from here before.
                Key::Address(_) => is_known,
                Key::Account(_) => is_known || own < OWN,
            };
            let Some(seen) = of_late(key).filter(|_| !is_excused) else { return 0 };
            let (free, longest) = key.rule();
            let over = seen.wrong.saturating_sub(free);
            if over == 0 {
                return 0;
            }
            let pause = 1_i64.checked_shl(over - 1).filter(|pause| *pause > 0).unwrap_or(longest).min(longest);
            (seen.last + pause - now).max(0)
        };
        let wait = keys(account, address).map(|key| wait(&key)).max().unwrap_or(0);
        if wait > 0 {
            return Err(wait);
        }
        make_room(&mut seen, |seen| (seen.wrong, seen.last), now - FORGET);
        let mut attempt = Vec::new();
        for key in keys(account, address) {
            let entry = seen.entry(key.clone()).or_insert(Seen { wrong: 0, last: now });
            let before = entry.last;
            entry.wrong = if now - entry.last < FORGET { entry.wrong + 1 } else { 1 };
            entry.last = now;
            attempt.push((key, before, *entry));
        }
        Ok(Attempt(attempt))
    }

    /// Takes an attempt back at which the password was not looked at.
    pub(super) fn take_back(&self, attempt: Attempt) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, before, then) in attempt.0 {
            let Some(seen) = seen.get_mut(&key) else { continue };
            if *seen == then {
                // Where nobody tried since, what was wrong before is waited for as it was.
                seen.last = before;
            }
            seen.wrong = seen.wrong.saturating_sub(1);
        }
    }

    /// Notes that the password was right: what was wrong from there before was its owner's mistake.
    pub(super) fn note_right(&self, account: &str, address: Option<&str>, now: i64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(account, address) {
            if matches!(key, Key::Both(..)) {
                seen.remove(&key);
            } else if let Some(seen) = seen.get_mut(&key) {
                seen.wrong = seen.wrong.saturating_sub(1);
            }
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut known, |at| (1, *at), now - KNOWN);
        known.insert(place(account, address), now);
    }

    fn is_known(&self, account: &str, address: Option<&str>, now: i64) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&place(account, address)).is_some_and(|at| now - at < KNOWN)
    }
}

/// An attempt that was begun: what it counts for, when that was tried before, and how it stood then.
#[derive(Debug)]
#[must_use]
pub(super) struct Attempt(Vec<(Key, i64, Seen)>);

/// How often logins were renewed of late.
#[derive(Debug)]
pub(super) struct Renewals {
    /// So many are made good at most, in seconds.
    most: i64,
    /// When all renewals of a login are made good.
    good_at: Mutex<HashMap<LoginId, i64>>,
}

impl Renewals {
    /// So many at once.
    pub(super) fn new(most: u32) -> Self {
        Self { most: i64::from(most.max(1)) * RENEWAL, good_at: Mutex::default() }
    }

    /// Begins a renewal of this login, or tells how many seconds to wait.
    pub(super) fn begin(&self, login: LoginId, now: i64) -> Result<(), i64> {
        let mut good_at = self.good_at.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut good_at, |at| (1, *at), now);
        let good_at = good_at.entry(login).or_insert(now);
        // A clock that was set back makes nobody wait until it is where it was.
        *good_at = (*good_at).clamp(now, now + self.most);
        let next = *good_at + RENEWAL;
        let wait = next - now - self.most;
        if wait > 0 {
            return Err(wait);
        }
        *good_at = next;
        Ok(())
    }
}

fn place(account: &str, address: Option<&str>) -> (String, String) {
    (account.to_owned(), address.unwrap_or_default().to_owned())
}

/// Forgets what is older than a moment where there is much, and the half that is worth least where that is still much: by how
/// often it was seen, then by when it was seen last.
pub(super) fn make_room<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, worth: fn(&V) -> (u32, i64), oldest: i64) {
    if map.len() + 3 > MOST {
        map.retain(|_, value| worth(value).1 > oldest);
    }
    if map.len() + 3 > MOST {
        let mut all: Vec<(u32, i64)> = map.values().map(worth).collect();
        all.sort_unstable();
        let half = all.len() / 2;
        let bar = all[half];
        // Those at the bar are worth the same: as many of them stay as make up the half.
        let mut room = half - all[half..].iter().filter(|worth| **worth > bar).count();
        map.retain(|_, value| {
            let worth = worth(value);
            let stays = worth > bar || worth == bar && room > 0;
            room -= usize::from(stays && worth == bar);
            stays
        });
    }
}

fn keys(account: &str, address: Option<&str>) -> impl Iterator<Item = Key> {
    [
        Some(Key::both(account, address)),
        Some(Key::Account(account.to_owned())),
        address.map(|address| Key::Address(address.to_owned())),
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(throttle: &Throttle, account: &str, address: &str, now: i64) -> i64 {
        throttle.begin(account, Some(address), now).err().unwrap_or(0)
    }

    #[test]
    fn each_wrong_password_after_the_first_few_makes_the_next_wait_longer() {
        let throttle = Throttle::default();
        let mut now = 100;
        let mut waits = Vec::new();
        for _ in 0..10 {
            let wait = tries(&throttle, "ada", "1.2.3.4", now);
            waits.push(wait);
            if wait > 0 {
                assert_eq!(tries(&throttle, "ada", "1.2.3.4", now + wait - 1), 1, "it is waited for to the end");
                now += wait;
                assert_eq!(tries(&throttle, "ada", "1.2.3.4", now), 0);
            }
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 1, 2, 4, 8]);
        assert_eq!(tries(&throttle, "ada", "5.6.7.8", now), 0, "ada herself is elsewhere");
        throttle.note_right("ada", Some("1.2.3.4"), now);
        assert_eq!(tries(&throttle, "ada", "1.2.3.4", now), 0);
    }

    #[test]
    fn many_addresses_and_many_accounts_are_noticed_too() {
        let throttle = Throttle::default();
        throttle.note_right("ada", Some("7.7.7.7"), 100);
        for number in 0..60 {
            throttle.begin("ada", Some(&format!("10.0.0.{number}")), 100 + number).ok();
        }
        let waits = [(); 4].map(|()| tries(&throttle, "ada", "9.9.9.9", 159));
        assert_eq!(waits[..3], [0; 3], "whoever has not tried yet does not wait for those who have");
        assert!((1..=60).contains(&waits[3]), "an account waits a minute at most: {waits:?}");
        assert_eq!(tries(&throttle, "ada", "7.7.7.7", 159), 0, "not where she was right before");
        for number in 0..60 {
            throttle.begin(&format!("user{number}"), Some("6.6.6.6"), 200).ok();
        }
        assert!(tries(&throttle, "somebody", "6.6.6.6", 200) > 0);
        assert_eq!(tries(&throttle, "somebody", "6.6.6.6", 200 + FORGET), 0);
    }

    #[test]
    fn an_attempt_that_was_not_looked_at_is_none() {
        let throttle = Throttle::default();
        let in_vain = |now| throttle.take_back(throttle.begin("ada", Some("1.2.3.4"), now).unwrap());
        for _ in 0..100 {
            in_vain(100);
        }
        let waits = [(); 7].map(|()| tries(&throttle, "ada", "1.2.3.4", 100));
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 1], "those that were looked at still count");
        assert_eq!((tries(&throttle, "ada", "1.2.3.4", 101), tries(&throttle, "ada", "1.2.3.4", 101)), (0, 2));
        for _ in 0..100 {
            in_vain(103);
        }
        assert_eq!(tries(&throttle, "ada", "1.2.3.4", 103), 0, "nor is it waited for");
    }

    #[test]
    fn nobody_is_kept_out_for_ever_by_somebody_who_guesses() {
        let throttle = Throttle::default();
        for second in 0..3600 {
            // Somebody tries, from many places, whenever that is let through.
            for host in 0..3 {
                throttle.begin("ada", Some(&format!("10.0.0.{host}")), second).ok();
            }
        }
        assert_eq!(tries(&throttle, "ada", "9.9.9.9", 3600), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nobody_wait_longer() {
        let throttle = Throttle::default();
        for _ in 0..7 {
            throttle.begin("ada", Some("1.2.3.4"), 100_000).ok();
        }
        let wait = tries(&throttle, "ada", "1.2.3.4", 5000);
        assert!((1..=60).contains(&wait), "{wait}");
        assert_eq!(tries(&throttle, "ada", "1.2.3.4", 5000 + wait), 0);
    }

    #[test]
    fn nobody_is_forgotten_because_many_others_try_once() {
        let throttle = Throttle::default();
        for _ in 0..7 {
            throttle.begin("ada", Some("1.2.3.4"), 100).ok();
        }
        for number in 0..MOST {
            // All in one second, each from elsewhere on another account.
            throttle.begin(&format!("user{number}"), Some(&format!("address{number}")), 100).ok();
        }
        assert!(tries(&throttle, "ada", "1.2.3.4", 100) > 0);
        let kept = throttle.seen.lock().unwrap().len();
        assert!((MOST / 2 - 3..=MOST).contains(&kept), "{kept}");
    }

    #[test]
    fn a_login_that_is_renewed_again_and_again_has_to_wait() {
        let renewals = Renewals::new(3);
        let renews = |login, now| renewals.begin(LoginId(login), now).err().unwrap_or(0);
        assert_eq!([(); 5].map(|()| renews(1, 100)), [0, 0, 0, 4, 4]);
        assert_eq!(renews(2, 100), 0, "another one has nothing to do with it");
        assert_eq!((renews(1, 103), renews(1, 104), renews(1, 104)), (1, 0, 4));
        assert_eq!((renews(1, 50), renews(1, 54)), (4, 0), "where the clock was set back");
        assert_eq!([(); 4].map(|()| renews(1, 1000)), [0, 0, 0, 4]);
        for number in 0..50_000 {
            renews(number, 2000);
        }
        assert!(renewals.good_at.lock().unwrap().len() <= MOST);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let throttle = Throttle::default();
        for number in 0..i64::try_from(MOST).unwrap() + 10 {
            let (account, address) = (format!("user{number}"), format!("address{number}"));
            throttle.begin(&account, Some(&address), number / 100).ok();
            throttle.note_right(&account, Some(&address), number / 100);
        }
        assert!(throttle.seen.lock().unwrap().len() <= MOST);
        assert!(throttle.known.lock().unwrap().len() <= MOST);
    }
}
