//! What a request asked for and how that went, for a log and for metrics. It never holds arguments.

use std::sync::{Arc, OnceLock};

use http::request::Parts;
use rmcp::model::Extensions;

/// What a request over HTTP asked for; an extension of its response.
#[derive(Debug, Clone)]
pub struct McpCalled {
    /// The method, if it is one that Lore knows, or else `unknown`.
    pub method: String,
    /// The tool that was to be called, as the client wrote it: cut, and with nothing invisible in it.
    pub tool: Option<String>,
    /// How it ended, once it has.
    pub(crate) ended: Ended,
}

impl McpCalled {
    /// How it ended: `ok`, `refused`, `denied`, `unknown_tool`, `panicked`, `cancelled`, `too_long` or the code of a failure.
    ///
    /// A call whose answer is streamed ends after its response began: ask when the body is at its end. `None` stands for a
    /// request that ended in no particular way, or has not ended.
    pub fn outcome(&self) -> Option<&'static str> {
        self.ended.0.get().copied()
    }
}

/// Where whoever answers says how a request ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended(Arc<OnceLock<&'static str>>);

impl Ended {
    /// Says how it ended; the first word counts.
    pub(crate) fn say(&self, outcome: &'static str) {
        self.0.get_or_init(|| outcome);
    }

    /// Says it for the request that these extensions belong to, if anybody wants to know.
    pub(crate) fn tell(extensions: &Extensions, outcome: &'static str) {
        if let Some(ended) = extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Self>()) {
            ended.say(outcome);
        }
    }
}
