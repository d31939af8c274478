//! Notes how a request ended when the last of its answer is out: one line of the log, and the numbers.

use std::{
    convert::Infallible,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
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

/// A body that takes note when it is over, read to its end or not.
pub(crate) struct Finishing {
    pub(crate) body: BoxBody<Bytes, Infallible>,
    pub(crate) noted: Option<Noted>,
}

impl Body for Finishing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            drop(self.noted.take());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
