//! Drives a real team server: starts it, asks it over HTTP, kills it, and remembers what it promised.

mod client;
mod corpus;
pub mod kill;
pub mod load;
mod logins;
mod model;
mod questions;
pub mod restart;
mod server;
mod traffic;

use std::{sync::mpsc, time::Duration};

pub use client::{Client, Fault, Reply};
use corpus::add_commit;
pub use corpus::{Corpus, Size};
pub use questions::{KINDS, Material};
pub use server::{Running, Server};

/// Waits, where there is no event to wait for.
pub fn pause(time: Duration) {
    let (_keep, nothing) = mpsc::channel::<()>();
    if nothing.recv_timeout(time).is_ok() {
        unreachable!("nobody sends");
    }
}
