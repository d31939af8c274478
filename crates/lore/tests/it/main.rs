//! Drives the real binary, over its command line and over MCP.

mod cli;
mod clients;
mod concurrent;
mod growing;
mod history;
mod hostile;
mod kill;
mod mcp_context;
mod mcp_history;
mod place;
mod regressions;
mod repositories;
mod search;
mod stdio;
mod switches;
mod upstream;
