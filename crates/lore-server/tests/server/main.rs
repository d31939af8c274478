//! The team server, asked as its clients ask it: requests in process, and a few over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod api;
mod audit;
mod bodies;
mod forged;
mod log;
mod logins;
mod mcp;
mod names;
mod sockets;
mod support;
mod tokens;
