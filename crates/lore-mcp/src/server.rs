//! Answers MCP requests: who Lore is, which tools there are, and calls of them.
//!
//! It knows no stream: rmcp and a transport bring the requests, in any order and many at a time.

use std::{error::Error as _, fmt, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use futures::FutureExt as _;
use lore_model::{Code, Failure, closest};
use lore_tools::{Answer, Context, Errors, Tool};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        self, CallToolRequestParams, CallToolResponse, Implementation, InitializeRequestParams, InitializeResult,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Map, Value};

use crate::{
    answer,
    roots::{Roots, RootsListener},
    shown::shown,
    tool::BoundTool,
};

/// What a server says about itself.
#[derive(Debug, Clone)]
pub struct ServerText {
    /// The version of Lore.
    pub version: String,
    /// Tells an agent when to use which tool; hosts cut it at 2,000 characters. Empty: left out.
    pub instructions: String,
}

/// Lore as an MCP server. Its tools are fixed when it is made.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
    roots: Option<Arc<Roots>>,
}

struct Inner {
    tools: Vec<BoundTool>,
    listed: Vec<model::Tool>,
    config: ServerConfig,
}

/// How a call ended.
enum Outcome {
    Answered(Answer),
    Failed(Failure),
    Panicked,
    Cancelled,
}

impl Server {
    /// A server of these tools, listed in this order.
    pub fn new(tools: Vec<&'static Tool>, context: &Context, text: ServerText) -> Self {
        Self::of(tools.into_iter().map(|tool| BoundTool::new(tool, context)).collect(), text)
    }

    /// A server of tools that need not be in the registry.
    pub fn of(tools: Vec<BoundTool>, text: ServerText) -> Self {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut config = ServerConfig::new(capabilities).with_server_info(Implementation::new("lore", text.version));
        config.instructions = Some(text.instructions).filter(|instructions| !instructions.is_empty());
        let listed = tools.iter().map(BoundTool::listed).collect();
        Self { inner: Arc::new(Inner { tools, listed, config }), roots: None }
    }

    /// The same server, which also asks its client for the folders it works in.
    #[must_use]
    pub fn ask_roots(mut self, listener: RootsListener) -> Self {
        self.roots = Some(Arc::new(Roots::new(listener)));
        self
    }

    fn find_tool(&self, name: &str) -> Result<&BoundTool, ErrorData> {
        let tools = &self.inner.tools;
        tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let meant = closest(name, tools.iter().map(|tool| tool.name.as_str()))
                .map(|meant| format!(" (did you mean {meant}?)"))
                .unwrap_or_default();
            ErrorData::invalid_params(format!("Unknown tool: {}{meant}", shown(name)), None)
        })
    }
}

/// Runs a call to its end, unless it is cancelled; a panic ends the call and nothing else.
async fn run(tool: &BoundTool, arguments: Map<String, Value>, cancelled: impl Future<Output = ()>) -> Outcome {
    let call = AssertUnwindSafe(async { (tool.call)(arguments).await }).catch_unwind();
    tokio::select! {
        // First: what is cancelled before it began never begins.
        biased;
        () = cancelled => Outcome::Cancelled,
        ended = call => match ended {
            Ok(Ok(answer)) => Outcome::Answered(answer),
            Ok(Err(failure)) => Outcome::Failed(failure),
            Err(_) => Outcome::Panicked,
        },
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.inner.config.clone()
    }

    /// Keeps the version that was agreed on; rmcp's own default would keep the one that was asked for, and then hold
    /// the requests that follow to its rules.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(roots) = &self.roots {
            roots.ask(&context.peer).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if let Some(roots) = &self.roots {
            roots.ask(&context.peer).await;
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.inner.listed.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.find_tool(&request.name)?;
        if let Some(roots) = self.roots.as_ref().filter(|_| tool.about_project)
            && let Some(question) = roots.of_call(&request, &context)
        {
            return Ok(question.into());
        }
        let started = Instant::now();
        let outcome = run(tool, request.arguments.unwrap_or_default(), context.ct.cancelled()).await;
        tracing::info!(tool = tool.name, took_ms = started.elapsed().as_millis(), %outcome, "call");
        let result = match outcome {
            Outcome::Answered(answer) => answer::success(answer),
            Outcome::Failed(failure) => {
                if let Some(cause) = failure.source() {
                    tracing::warn!(tool = tool.name, cause, "{failure}");
                }
                match tool.errors {
                    Errors::Result => answer::failure(&failure),
                    Errors::Protocol => return Err(answer::error(&failure)),
                }
            }
            Outcome::Panicked => match tool.errors {
                Errors::Result => answer::failure(&fault(&tool.name)),
                Errors::Protocol => return Err(answer::error(&fault(&tool.name))),
            },
            // Sent only when the server stops: the answer to a request that its client cancelled is dropped.
            Outcome::Cancelled => return Err(ErrorData::internal_error("the server is stopping", None)),
        };
        Ok(result.into())
    }
}

fn fault(tool: &str) -> Failure {
    Failure::new(Code::Internal, format!("{tool} failed: a fault of Lore's own"))
        .hint("other calls still work; the log of `lore serve` (stderr) says where it happened")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answered(_) => "ok",
            Self::Failed(failure) => failure.code.name(),
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
        })
    }
}
