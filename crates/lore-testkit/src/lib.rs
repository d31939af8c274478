//! Fixtures for tests: repositories made by the real `git`, a driver of the real `lore`, and an oracle
//! that asks git itself what `lore` ought to know.
//!
//! Nothing here reads repositories through Lore's own code: what is compared must not come from the same hand.

#![forbid(unsafe_code)]

mod climpt;
pub mod crash;
mod descendants;
mod driver;
pub mod dump;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod faults;
pub mod odd;
pub mod oracle;
mod process;
mod random;
mod repo;
mod session;
mod stand_in;
pub mod team;
mod team_server;
mod words;

pub use climpt::DOCUMENT;
pub use descendants::descendants;
pub use driver::{Lore, Output};
pub use process::Git;
pub use random::Random;
pub use repo::Repo;
pub use session::{Ended, Session, ToolAnswer};
pub use stand_in::{Asked, Gate, Reply, StandIn, Step};
pub use team_server::{HttpAnswer, PASSWORD, TeamServer};
pub use words::Words;
