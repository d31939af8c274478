//! A client of a Lore server: the bridge for hosts that start programs, and remote administration.
//!
//! It knows neither storage nor the product: what a server answers is passed on or shown. Requests are blocking calls, as
//! those of the embedding services are; who must not wait starts a thread. Nothing here opens an address that a server
//! sent: redirects are answers like others, and not followed.
#![forbid(unsafe_code)]

mod authority;
mod bridge;
mod client;
mod http;
mod logins;
mod secret;
mod sse;
mod types;
mod url;

pub use authority::Authority;
#[cfg(feature = "fuzzing")]
pub use bridge::fuzz;
pub use bridge::{Bridge, BridgeOptions, Stop};
pub use client::Client;
pub use http::{Connection, ConnectionOptions};
pub use logins::{Login, Logins, Tokens};
pub use secret::Secret;
pub use sse::{Event, Parser};
pub use types::{
    AuditEntry, Golden, GoldenChange, Issued, Job, JobDetails, JobLog, Listed, Me, NewGolden, NewToken, RefreshEvery,
    Started, Token, Unwritten, User,
};
pub use url::{PlainHttp, ServerUrl};

/// Seconds since 1970: libraries are told the time.
pub type Now = fn() -> i64;
