//! MCP over HTTP, driven with requests in process: no socket is opened.

mod access;
mod messages;
mod sessions;
mod streams;
mod support;
mod turns;
