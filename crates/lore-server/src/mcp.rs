//! Hands MCP requests to their endpoint: all tools at `/mcp`, those of one toolset at `/mcp/<toolset>`.

use std::collections::BTreeMap;

use http::{Request, StatusCode, header, request::Parts};
use http_body_util::Full;
use lore_mcp::{Allowed, HttpMcp, HttpOptions, Identity, Server, Sessions};
use lore_model::{Code, brief};

use crate::{
    Limits,
    answer::{HttpResponse, Refusal},
};

/// The MCP servers behind the paths. They share sessions, and with them limits and their end.
pub struct McpSetup {
    /// What is at `/mcp`.
    pub all: Server,
    /// What is at `/mcp/<name>`, by name. No other toolset can be reached.
    pub toolsets: Vec<(String, Server)>,
    /// The sessions.
    pub sessions: Sessions,
}

/// The endpoints.
pub(crate) struct Endpoints {
    all: HttpMcp,
    toolsets: BTreeMap<String, HttpMcp>,
    pub(crate) sessions: Sessions,
}

impl Endpoints {
    pub(crate) fn new(setup: McpSetup, allowed: &Allowed, limits: &Limits) -> Self {
        let endpoint = |server: &Server| {
            let options =
                HttpOptions { identity: Identity::Required, allowed: allowed.clone(), max_body: limits.mcp_body };
            HttpMcp::new(server, options, &setup.sessions)
        };
        Self {
            all: endpoint(&setup.all),
            toolsets: setup.toolsets.iter().map(|(name, server)| (name.clone(), endpoint(server))).collect(),
            sessions: setup.sessions,
        }
    }

    /// Whether there is a toolset of that name.
    pub(crate) fn has(&self, toolset: &str) -> bool {
        self.toolsets.contains_key(toolset)
    }

    /// Answers a message of the user that its extensions name.
    pub(crate) async fn answer(
        &self,
        toolset: Option<&str>,
        mut parts: Parts,
        body: bytes::Bytes,
    ) -> Result<HttpResponse, Refusal> {
        let endpoint = match toolset {
            None => &self.all,
            Some(name) => self.toolsets.get(name).ok_or_else(|| {
                let message = format!("there is no toolset `{}` here", brief(name));
                Refusal::new(StatusCode::NOT_FOUND, Code::InvalidArgument, message)
            })?,
        };
        // The origin was looked at, and no tool has to do with a secret.
        for name in [header::ORIGIN, header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE] {
            parts.headers.remove(name);
        }
        Ok(endpoint.handle(Request::from_parts(parts, Full::<bytes::Bytes>::from(body))).await)
    }
}
