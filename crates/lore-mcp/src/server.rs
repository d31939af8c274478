//! Answers MCP requests: who Lore is, which tools there are, and calls of them.
//!
//! It knows no stream: rmcp and a transport bring the requests, in any order and many at a time.
#![expect(
    deprecated,
    reason = "clients of the handshake era subscribe and ask for log messages in ways that later ones do not"
)]

use std::{error::Error as _, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use futures::FutureExt as _;
use http::request::Parts;
use lore_model::{Code, Failure, closest};
use lore_tools::{
    Answer, Asked, Context, Errors, Offered, Tool, Toolset,
    messages::{self, Follower},
    prompts,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        self, ArgumentInfo, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, CompletionInfo, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptsCapability,
        ReadResourceRequestParams, ReadResourceResponse, Reference, Resource, ResourcesCapability, ServerCapabilities,
        ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::{
    access::{Access, Who},
    answer,
    blocking::blocking,
    called::Ended,
    http::UnderWay,
    notices::{Notices, On},
    progress,
    receipts::Receipts,
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
    connection: Arc<Connection>,
    who: Who,
    roots: Option<Arc<Roots>>,
    listing: Option<Arc<Listing>>,
}

/// A toolset whose tools are listed under a condition. They can be called in any case.
struct Listing {
    toolset: Toolset,
    condition: Condition,
    /// Decided once: the list never changes during a connection.
    met: OnceCell<bool>,
}

/// Whether something holds, which may take a while to know.
pub type Condition = Arc<dyn Fn() -> bool + Send + Sync>;

struct Inner {
    tools: Vec<BoundTool>,
    listed: Vec<model::Tool>,
    config: ServerConfig,
    /// What resources and prompts are about, where there are any.
    context: Option<Context>,
    on: On,
}

/// What belongs to one client. Two clients never share it: one would hear what the other subscribed to.
#[derive(Default)]
struct Connection {
    notices: Arc<Notices>,
    receipts: Receipts,
}

/// How a call ended.
enum Outcome {
    Answered(Box<Answer>),
    Failed(Failure),
    Panicked,
    Cancelled,
    Disconnected,
    TooLong,
}

impl Server {
    /// A server of these tools, listed in this order, and of the resources and prompts of their toolsets.
    pub fn new(tools: Vec<&'static Tool>, context: &Context, text: ServerText) -> Self {
        let has = |toolset| tools.iter().any(|tool| tool.toolset == toolset);
        let on = On { messages: has(Toolset::Messages), prompts: has(Toolset::Commands) };
        let tools = tools.into_iter().map(|tool| BoundTool::new(tool, context)).collect();
        Self::make(tools, Some(context.clone()), on, text)
    }

    /// A server of tools that need not be in the registry.
    pub fn of(tools: Vec<BoundTool>, text: ServerText) -> Self {
        Self::make(tools, None, On { messages: false, prompts: false }, text)
    }

    fn make(tools: Vec<BoundTool>, context: Option<Context>, on: On, text: ServerText) -> Self {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = Some(false);
        }
        if on.messages {
            let mut resources = ResourcesCapability::default();
            (resources.subscribe, resources.list_changed) = (Some(true), Some(true));
            capabilities.resources = Some(resources);
            capabilities.logging = Some(JsonObject::default());
        }
        if on.prompts {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
            capabilities.completions = Some(JsonObject::default());
        }
        let mut config = ServerConfig::new(capabilities).with_server_info(Implementation::new("lore", text.version));
        config.instructions = Some(text.instructions).filter(|instructions| !instructions.is_empty());
        let listed = tools.iter().map(BoundTool::listed).collect();
        Self {
            inner: Arc::new(Inner { tools, listed, config, context, on }),
            connection: Arc::default(),
            who: Who::Anybody,
            roots: None,
            listing: None,
        }
    }

    /// The same server for one more client. Where clients are elsewhere, nobody asks for their folders.
    pub(crate) fn for_client(&self, who: Who) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            connection: Arc::default(),
            who,
            roots: None,
            listing: self.listing.clone(),
        }
    }

    /// Whom to tell that answers are out, and whom that there will be no more requests.
    pub(crate) fn heeded(&self) -> (Receipts, Arc<Notices>) {
        (self.connection.receipts.clone(), Arc::clone(&self.connection.notices))
    }

    /// Tells the client what it did not ask for at that moment, from now on; never ready.
    pub(crate) async fn notices(&self) -> impl Future<Output = ()> + use<> {
        let (inner, notices) = (Arc::clone(&self.inner), Arc::clone(&self.connection.notices));
        let offered = Arc::clone(&self.inner);
        let (news, known) = blocking(move || {
            let context = |is_on: bool| offered.context.as_ref().filter(|_| is_on);
            let news = context(offered.on.messages).map(|context| Follower::new(context.clone()));
            (news, context(offered.on.prompts).map(prompts::stamp))
        })
        .await;
        async move {
            if let Some(context) = &inner.context {
                notices.run(context, news, known).await;
            }
            std::future::pending::<()>().await;
        }
    }

    /// Without a handshake nobody will say where the client works, unless a call of a tool brings it.
    fn hear_nobody(&self, asked: &RequestContext<RoleServer>) {
        if let Some(roots) = self.roots.as_ref().filter(|_| asked.peer.peer_info().is_none()) {
            roots.hear_nobody();
        }
    }

    /// What prompts are made from, where they are offered.
    fn prompts(&self, method: &str) -> Result<&Context, ErrorData> {
        self.inner.context.as_ref().filter(|_| self.inner.on.prompts).ok_or_else(|| off(method))
    }

    /// What messages are read from, where they are offered.
    fn messages(&self, method: &str) -> Result<&Context, ErrorData> {
        self.inner.context.as_ref().filter(|_| self.inner.on.messages).ok_or_else(|| off(method))
    }

    /// The same, for the one resource there is.
    fn resource(&self, method: &str, uri: &str) -> Result<&Context, ErrorData> {
        let context = self.messages(method)?;
        if uri == messages::URI {
            return Ok(context);
        }
        Err(ErrorData::invalid_params(format!("Unknown resource: {} (there is {})", shown(uri), messages::URI), None))
    }

    /// The same server, which also asks its client for the folders it works in.
    #[must_use]
    pub fn ask_roots(mut self, listener: RootsListener) -> Self {
        self.roots = Some(Arc::new(Roots::new(listener)));
        self
    }

    /// The same server, which lists the tools of one toolset only where that holds when the list is first asked for.
    #[must_use]
    pub fn list_if(mut self, toolset: Toolset, condition: Condition) -> Self {
        self.listing = Some(Arc::new(Listing { toolset, condition, met: OnceCell::new() }));
        self
    }

    fn find_tool(&self, name: &str) -> Result<&BoundTool, ErrorData> {
        let tools = &self.inner.tools;
        tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let elsewhere = lore_tools::tools(&Toolset::ALL).into_iter().find(|tool| tool.name == name);
            let is_offered = |tool: &&Tool| tool.offered == Offered::Everywhere;
            if let (Some(tool), Some(_)) = (elsewhere.filter(is_offered), &self.inner.context) {
                let toolset = tool.toolset.name();
                let message = format!("{name} is in the toolset `{toolset}`, which is off: start `lore serve` with it");
                return ErrorData::invalid_params(message, None);
            }
            let meant = closest(name, tools.iter().map(|tool| tool.name.as_str()))
                .map(|meant| format!(" (did you mean {meant}?)"))
                .unwrap_or_default();
            ErrorData::invalid_params(format!("Unknown tool: {}{meant}", shown(name)), None)
        })
    }
}

/// Runs a call to its end, unless it is cancelled or takes too long; a panic ends the call and nothing else.
async fn run(
    tool: &BoundTool,
    arguments: Map<String, Value>,
    mut asked: Asked,
    context: &RequestContext<RoleServer>,
) -> Outcome {
    let deadline = async {
        match UnderWay::deadline(&context.extensions) {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let call = async {
        if let Some(ready) = &tool.ready {
            ready(&arguments, &asked).await;
        }
        let place = UnderWay::worker(&context.extensions).await;
        asked.place.clone_from(&place);
        let ended = (tool.call)(arguments, asked).await;
        drop(place);
        ended
    };
    let call = AssertUnwindSafe(call).catch_unwind();
    tokio::select! {
        // First: what is cancelled before it began never begins.
        biased;
        () = context.ct.cancelled() => Outcome::Cancelled,
        () = UnderWay::abandoned(&context.extensions) => Outcome::Disconnected,
        ended = call => match ended {
            Ok(Ok(answer)) => Outcome::Answered(Box::new(answer)),
            Ok(Err(failure)) => Outcome::Failed(failure),
            Err(_) => Outcome::Panicked,
        },
        () = deadline => Outcome::TooLong,
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
        if let Some(roots) = &self.roots {
            roots.greet(&request.capabilities);
        }
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.connection.notices.shook_hands(context.peer.clone());
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
        asked: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let hidden = match &self.listing {
            Some(listing) => {
                self.hear_nobody(&asked);
                let condition = Arc::clone(&listing.condition);
                let is_met = *listing.met.get_or_init(|| blocking(move || condition())).await;
                (!is_met).then_some(listing.toolset)
            }
            None => None,
        };
        let access = Access::of(&asked.extensions, self.who);
        let tools = self.inner.tools.iter().zip(&self.inner.listed);
        let shown = tools
            .filter(|(tool, _)| hidden.is_none() || tool.toolset != hidden)
            .filter(|(tool, _)| access.may(tool.permission))
            .map(|(_, listed)| listed.clone());
        Ok(ListToolsResult::with_all_items(shown.collect()))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.messages("resources/list")?;
        let resource = Resource::new(messages::URI, messages::NAME)
            .with_description(messages::ABOUT)
            .with_mime_type(messages::MIME);
        Ok(ListResourcesResult::with_all_items(vec![resource]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.messages("resources/templates/list")?;
        Ok(ListResourceTemplatesResult::default())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        asked: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.hear_nobody(&asked);
        let context = self.resource("resources/read", &request.uri)?.clone();
        let read = blocking(move || messages::read(&context)).await.map_err(|failure| answer::error(&failure))?;
        Ok(answer::resource(&request.uri, read).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        asked: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.hear_nobody(&asked);
        let context = self.prompts("prompts/list")?.clone();
        let listed = blocking(move || prompts::list(&context)).await;
        Ok(ListPromptsResult::with_all_items(listed.iter().map(answer::listed_prompt).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        asked: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.hear_nobody(&asked);
        let context = self.prompts("prompts/get")?.clone();
        let arguments = request.arguments.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null());
        let text = |value: Value| if let Value::String(text) = value { text } else { value.to_string() };
        let arguments = arguments.map(|(name, value)| (name, text(value))).collect();
        let prompt = blocking(move || prompts::get(&context, &request.name, arguments)).await;
        prompt.map(|prompt| answer::prompt(&prompt).into()).map_err(|failure| answer::error(&failure))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        asked: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.hear_nobody(&asked);
        let context = self.prompts("completion/complete")?.clone();
        let Reference::Prompt(prompt) = request.r#ref else { return Ok(CompleteResult::default()) };
        let given = request.context.and_then(|context| context.arguments).unwrap_or_default().into_iter().collect();
        let ArgumentInfo { name, value, .. } = request.argument;
        let found = blocking(move || prompts::complete(&context, &prompt.name, &name, &value, &given)).await;
        let found = found.map_err(|failure| answer::error(&failure))?;
        let total = u32::try_from(found.total).ok();
        let values = CompletionInfo::with_pagination(found.values, total, found.more);
        values.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.resource("resources/subscribe", &request.uri)?;
        self.connection.notices.subscribe(context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.resource("resources/unsubscribe", &request.uri)?;
        self.connection.notices.unsubscribe();
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.messages("logging/setLevel")?;
        self.connection.notices.set_level(request.level, context.peer);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.supported_by(&self.inner.config.capabilities);
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| uri == messages::URI);
        }
        (self.inner.on.messages || self.inner.on.prompts).then_some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.connection.notices.listen(&context).await;
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(off(&shown(&request.method)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_http = context.extensions.get::<Parts>().is_some();
        let tool = self.find_tool(&request.name).inspect_err(|error| {
            Ended::tell(&context.extensions, "unknown_tool");
            if !is_http {
                tracing::warn!("{}", error.message);
            }
        })?;
        let access = Access::of(&context.extensions, self.who);
        if let Err(denied) = access.check(tool) {
            Ended::tell(&context.extensions, "denied");
            if let (Some(tools), Some(caller)) = (&self.inner.context, access.caller()) {
                let (tools, caller, address) = (tools.clone(), caller.clone(), access.address());
                let (name, permission) = (tool.name.clone(), tool.permission);
                blocking(move || tools.note_denied(&caller, address, &name, permission)).await;
            }
            return Err(denied);
        }
        if let Some(roots) = self.roots.as_ref().filter(|_| tool.about_project)
            && let Some(question) = roots.of_call(&request, &context)
        {
            return Ok(question.into());
        }
        let started = Instant::now();
        let (progress, reports) = progress::of(&context).unzip();
        let asked = Asked {
            caller: access.caller().cloned(),
            address: access.address(),
            progress,
            log_id: access.log_id(),
            place: None,
        };
        let call = run(tool, request.arguments.unwrap_or_default(), asked, &context);
        let outcome = match reports {
            Some(reports) => reports.during(call).await,
            None => call.await,
        };
        tracing::info!(tool = tool.name, took_ms = started.elapsed().as_millis(), outcome = outcome.name(), "call");
        Ended::tell(&context.extensions, outcome.name());
        let result = match outcome {
            Outcome::Answered(mut answer) => {
                if let Some(receipt) = answer.receipt.take() {
                    match context.extensions.get::<Parts>() {
                        // Over HTTP nobody tells when an answer has arrived: it counts as delivered when it is given.
                        Some(_) => blocking(|| receipt.written()).await,
                        None => self.connection.receipts.put(context.extensions.get(), receipt),
                    }
                }
                answer::answered(*answer)
            }
            Outcome::Failed(failure) => {
                let cause = failure.source();
                // What users of a team server ask for stands in no log, and so no answer that quotes it.
                if cause.is_some() || !is_http {
                    tracing::warn!(tool = tool.name, code = failure.code.name(), cause, "{failure}");
                }
                told(tool, failure)?
            }
            Outcome::Panicked => told(tool, fault(&tool.name, access.log_id().as_deref()))?,
            Outcome::TooLong => told(tool, lore_tools::too_long(&tool.name))?,
            // Sent only when the server stops: the answer to a request that its client cancelled is dropped.
            Outcome::Cancelled => return Err(ErrorData::internal_error("the server is stopping", None)),
            // For a client that resumes too late.
            Outcome::Disconnected => {
                let why = "the call was cancelled because the connection was closed: call the tool again";
                return Err(ErrorData::internal_error(why, None));
            }
        };
        Ok(result.into())
    }
}

/// What a client hears that asks for what this server does not offer.
fn off(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", Some(json!({"method": method})))
}

/// A failure as the contract of the tool has it.
fn told(tool: &BoundTool, failure: Failure) -> Result<CallToolResult, ErrorData> {
    match tool.errors {
        Errors::Result => Ok(answer::failure(failure)),
        Errors::Object => Ok(answer::answered(lore_tools::failed(failure))),
        Errors::Protocol => Err(answer::error(&failure)),
    }
}

fn fault(tool: &str, log_id: Option<&str>) -> Failure {
    let failure = Failure::new(Code::Internal, format!("{tool} failed: a fault of Lore's own"));
    match log_id {
        Some(id) => failure.hint(format!("other calls still work; an admin finds it in the server's log under {id}")),
        None => failure.hint("other calls still work; the log of `lore serve` (stderr) says where it happened"),
    }
}

impl Outcome {
    /// The word that logs and metrics have for it.
    fn name(&self) -> &'static str {
        match self {
            Self::Answered(answer) => answer.failure.as_ref().map_or("ok", |failure| failure.code.name()),
            Self::Failed(failure) => failure.code.name(),
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
            Self::Disconnected => "disconnected",
            Self::TooLong => "too_long",
        }
    }
}
