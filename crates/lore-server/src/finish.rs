//! Notes how a request ended when the last of its answer is out: one line of the log, and the numbers.

use std::{net::IpAddr, sync::Arc, time::Instant};

use lore_mcp::McpCalled;
use lore_model::UserName;

use crate::app::App;

/// A request whose client left before there was an answer. No such status is ever sent; logs of proxies have the same.
const LEFT: u16 = 499;

/// A request that the server cut off when it stopped.
const CUT_OFF: u16 = 503;

/// What is known of a request. Nothing of it that a client chose is logged: no query, no header, no body, no name that the
/// server does not have.
pub(crate) struct Noted {
    pub(crate) app: Arc<App>,
    pub(crate) id: String,
    pub(crate) method: &'static str,
    /// The place in the table, and the path there.
    pub(crate) route: Option<(usize, &'static str)>,
    pub(crate) user: Option<UserName>,
    /// From where it came, and as that is counted.
    pub(crate) from: Option<IpAddr>,
    pub(crate) address: Option<String>,
    pub(crate) begun: Instant,
    /// That of the answer, once there is one.
    pub(crate) status: Option<u16>,
    pub(crate) called: Option<McpCalled>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        let path = self.route.map_or("(none)", |(_, path)| path);
        let metrics = &self.app.metrics;
        let tool = self.called.as_ref().and_then(|called| called.tool.as_deref());
        let tool = tool.map(|tool| metrics.known_tool(tool));
        let outcome = self.called.as_ref().and_then(McpCalled::outcome);
        let status = self.status.unwrap_or(if self.app.is_stopping() { CUT_OFF } else { LEFT });
        metrics.note_request(self.route.map(|(place, _)| place), status, took);
        if let Some(tool) = tool {
            metrics.note_call(tool, outcome.unwrap_or("unfinished"));
        }
        tracing::info!(
            id = %self.id,
            method = self.method,
            path,
            status,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            user = self.user.as_ref().map(tracing::field::display),
            address = self.address.as_deref(),
            rpc = self.called.as_ref().map(|called| called.method.as_str()),
            tool,
            outcome,
            "request"
        );
    }
}
