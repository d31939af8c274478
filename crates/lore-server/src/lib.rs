//! The team server: HTTP for many users, who may do what, and MCP at one of its paths.
//!
//! It reads requests and writes answers; what is done about them is in `lore-core`. It knows neither the backend nor the
//! command line. There is no router of a framework here: one table says which paths there are and who may use them, and the
//! document about them is made of the same table.
#![forbid(unsafe_code)]

mod answer;
mod api;
mod app;
mod bearer;
mod finish;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod input;
mod listen;
mod mcp;
mod metrics;
mod openapi;
mod options;
mod origin;
mod patient;
mod places;
mod proxies;
mod routes;
mod tls;

pub use answer::HttpResponse;
pub use app::{App, Peer, ServerSetup};
pub use listen::Bound;
pub use mcp::McpSetup;
pub use options::{Limits, ServerOptions, TlsFiles};
pub use proxies::Network;
pub use routes::{RouteRow, Who};
