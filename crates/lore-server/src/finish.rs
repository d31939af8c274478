//! Notes how a request ended when the last of its answer is out: one line of the log, and the numbers.

use std::{net::IpAddr, sync::Arc, time::Instant};

use lore_mcp::McpCalled;
use lore_model::UserName;

use crate::metrics::Metrics;

/// What is known of a request. It never holds what somebody wrote: no query, no header, no body.
pub(crate) struct Noted {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) id: String,
    pub(crate) method: &'static str,
    /// The place in the table, and the path there.
    pub(crate) route: Option<(usize, &'static str)>,
    pub(crate) user: Option<UserName>,
    /// From where it came, and as that is counted.
    pub(crate) from: Option<IpAddr>,
    pub(crate) address: Option<String>,
    pub(crate) begun: Instant,
    pub(crate) status: u16,
    pub(crate) called: Option<McpCalled>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        let path = self.route.map_or("(none)", |(_, path)| path);
        let tool = self.called.as_ref().and_then(|called| called.tool.as_deref());
        let outcome = self.called.as_ref().and_then(McpCalled::outcome);
        self.metrics.note_request(self.route.map(|(place, _)| place), self.status, took);
        if let Some(tool) = tool {
            self.metrics.note_call(tool, outcome.unwrap_or("unfinished"));
        }
        tracing::info!(
            id = %self.id,
            method = self.method,
            path,
            status = self.status,
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
