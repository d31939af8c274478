//! MCP messages in and out, in both protocol eras: the loop that serves a client on standard input and output, and
//! [`HttpMcp`], which answers requests of HTTP.
//!
//! The one crate that names rmcp. It knows tools by name, schema and call, and nothing of what they do; it never writes
//! to standard output anything but protocol messages.
#![forbid(unsafe_code)]

mod access;
mod answer;
mod blocking;
mod called;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod http;
mod lines;
mod message;
mod notices;
mod progress;
mod receipts;
mod roots;
mod serve;
mod server;
mod shown;
mod stdio;
mod strict;
mod tool;
mod transport;
mod writer;

pub use crate::http::{
    Allowed, Forbidden, HttpMcp, HttpOptions, Identity, Keeping, ListensUntil, SessionLimits, Sessions, is_json,
};
pub use blocking::blocking;
pub use called::McpCalled;
pub use roots::RootsListener;
pub use serve::{serve, serve_stdio};
pub use server::{Condition, Server, ServerText};
pub use tool::{BoundTool, Call, Ready};
