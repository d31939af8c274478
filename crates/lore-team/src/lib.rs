//! A team that shares one index: who its users are, which repositories they have, and the work that is done for them.
//!
//! Whether somebody may do a thing is decided before it is asked for here, at one place for each way in. Here it is decided
//! whose a thing is: what belongs to another user is not there.
#![forbid(unsafe_code)]

mod access;
mod ask;
mod audit;
mod failure;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod hs256;
mod jobs;
mod password;
mod remote;
mod repos;
mod run;
mod throttle;
mod unread;
mod uses;
mod work;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

pub use access::{CreatedToken, Known, LoginRefused, Session, Through};
pub use ask::{Activate, AddGolden, CompositeChange, GoldenChange};
pub use failure::team_failure;
pub use jobs::JobReport;
use lore_core::Lore;
use lore_model::{Caller, Cancel, Clock, Code, Failure, JobId, Signal};
pub use lore_store::Cancelled;
use lore_store::{JobLimits, TeamStore};
pub use repos::{Concerned, Shown, Standing, Visible, main_branch};
pub use run::JOB_THREAD;
pub use unread::Missing;

use self::{
    access::{Hashing, KeyCell},
    audit::Refused,
    run::Unwritten,
    throttle::{Renewals, Throttle},
    unread::Unread,
    uses::Uses,
};

/// What whoever runs the server may set.
#[derive(Debug, Clone)]
pub struct TeamSettings {
    /// How long an access token is valid, in seconds.
    pub access_seconds: i64,
    /// How long a refresh token is valid.
    pub refresh_seconds: i64,
    /// How often a login may be renewed at once. After that each renewal has to be waited for.
    pub renewals: u32,
    /// How many jobs run at a time.
    pub limits: JobLimits,
    /// How many unfinished jobs a user may have.
    pub user_jobs: usize,
    /// How long jobs that are over are kept, in seconds.
    pub keep_jobs: i64,
    /// How often a job is begun before it is given up; one that the network prevents may be given up earlier.
    pub attempts: u32,
    /// A clone or fetch that brings more bytes than this is given up; `None` for no limit.
    pub fetch_bytes: Option<u64>,
    /// How long to wait before a job is tried again the first time, in seconds; twice as long each time after.
    pub back_off: i64,
}

impl Default for TeamSettings {
    fn default() -> Self {
        Self {
            access_seconds: 15 * 60,
            refresh_seconds: 30 * 86_400,
            renewals: 1000,
            limits: JobLimits::new(2, None),
            user_jobs: 20,
            keep_jobs: 30 * 86_400,
            attempts: 10,
            fetch_bytes: Some(32 << 30),
            back_off: 15,
        }
    }
}

/// Who asks for something, and from where.
#[derive(Debug, Clone)]
pub struct Asker {
    /// The user; none for somebody on the machine itself.
    pub caller: Option<Caller>,
    /// Where the request came from.
    pub address: Option<String>,
}

impl Asker {
    /// Somebody on the machine itself, who could change the files as well.
    pub fn local() -> Self {
        Self { caller: None, address: None }
    }

    /// A user.
    pub fn user(caller: Caller, address: Option<String>) -> Self {
        Self { caller: Some(caller), address }
    }

    /// The user, where there must be one.
    pub(crate) fn caller(&self) -> Result<&Caller, Failure> {
        self.caller.as_ref().ok_or_else(|| {
            Failure::new(Code::Unauthenticated, "only a user of the server can have this").hint("log in first")
        })
    }
}

/// A team.
pub struct Team {
    store: Arc<dyn TeamStore>,
    lore: Arc<Lore>,
    clock: Arc<dyn Clock>,
    settings: TeamSettings,
    keys: KeyCell,
    throttle: Throttle,
    renewals: Renewals,
    refused: Refused,
    hashing: Hashing,
    uses: Uses,
    unread: Unread,
    /// Rung when there may be something to do.
    wake: Signal,
    /// Rung when a job is over.
    ended: Signal,
    /// What stops the jobs that run here.
    running: Mutex<HashMap<JobId, Cancel>>,
    /// Why the end of a job cannot be written down, or that one is begun, as long as it cannot.
    unwritten: Mutex<HashMap<Option<JobId>, Unwritten>>,
}

/// Passwords that are hashed at a time, each in 19 MiB.
const HASHING: usize = 2;

/// Passwords that are hashed or wait for that; those who come later try again.
const HASHING_LINE: usize = 64;

impl Team {
    /// The team that is kept in this store, over this index.
    pub fn new(store: Arc<dyn TeamStore>, lore: Arc<Lore>, clock: Arc<dyn Clock>, settings: TeamSettings) -> Self {
        Self {
            store,
            lore,
            clock,
            renewals: Renewals::new(settings.renewals),
            settings,
            keys: KeyCell::new(),
            throttle: Throttle::default(),
            refused: Refused::default(),
            hashing: Hashing::new(HASHING, HASHING_LINE),
            uses: Uses::default(),
            unread: Unread::default(),
            wake: Signal::default(),
            ended: Signal::default(),
            running: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// What is asked about repositories.
    pub fn lore(&self) -> &Arc<Lore> {
        &self.lore
    }
}
