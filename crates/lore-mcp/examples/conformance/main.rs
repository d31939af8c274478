//! The server that the conformance suite of MCP is run against: everything the suite asks for, behind Lore's own way of
//! speaking HTTP.
//!
//! Lore has no tool that returns sound or asks a model, so what answers here is made for the suite. What it goes through
//! (reading messages, sessions, eras, hosts and origins) is the product's. `cargo xtask conformance` runs it.
//!
//! It prints the port it listens on, and ends with its standard input.
#![expect(deprecated, reason = "the suite tests what earlier versions of the protocol have")]

mod input;
mod tools;

use std::{convert::Infallible, io, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use lore_mcp::{Allowed, HttpMcp, HttpOptions, Identity, SessionLimits, Sessions};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        self, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, net::TcpListener, sync::broadcast};

/// One red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// No sound at all.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let own = format!("http://127.0.0.1:{port}");
    let local = format!("http://localhost:{port}");
    let allowed = Allowed::new(&["localhost", "127.0.0.1", "::1"], &[own.as_str(), local.as_str()]);
    let allowed = allowed.map_err(io::Error::other)?;
    let options = HttpOptions { identity: Identity::Anonymous, allowed, ..HttpOptions::default() };
    let sessions = Sessions::new(SessionLimits::default());
    let (changes, _) = broadcast::channel(16);
    let mcp = HttpMcp::serving(move || Fixture { changes: changes.clone() }, options, &sessions);
    #[expect(clippy::print_stdout, reason = "whoever started it reads the port from here")]
    {
        println!("{port}");
    }
    let accept = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            // Otherwise each small event waits for the acknowledgement of the one before.
            drop(stream.set_nodelay(true));
            let mcp = mcp.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| async { Ok::<_, Infallible>(mcp.handle(request).await) });
                drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = async { tokio::io::stdin().read_to_end(&mut Vec::new()).await } => {}
    }
    sessions.stop().await;
    Ok(())
}

/// Answers what the suite asks.
struct Fixture {
    /// What open subscriptions are told.
    changes: broadcast::Sender<Change>,
}

/// A list that changed.
#[derive(Debug, Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

/// A value of the protocol, from its JSON.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .build();
        capabilities.completions = Some(model::JsonObject::default());
        ServerConfig::new(capabilities).with_server_info(Implementation::new("lore-conformance", "1.0.0"))
    }

    fn get_tool(&self, name: &str) -> Option<model::Tool> {
        let tools = serde_json::from_value::<Vec<model::Tool>>(tools::list()).ok()?;
        tools.into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(typed(tools::list())?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |uri: &str, name: &str, mime: &str| json!({"uri": uri, "name": name, "description": name, "mimeType": mime});
        Ok(ListResourcesResult::with_all_items(typed(json!([
            resource("test://static-text", "static-text", "text/plain"),
            resource("test://static-binary", "static-binary", "image/png"),
            resource("test://watched-resource", "watched-resource", "text/plain"),
        ]))?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(typed(json!([{
            "uriTemplate": "test://template/{id}/data", "name": "template", "description": "Data by id", "mimeType": "application/json",
        }]))?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (uri, id) {
            ("test://static-text", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
            }
            ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL}),
            ("test://watched-resource", _) => json!({"uri": uri, "mimeType": "text/plain", "text": "Watch me."}),
            (_, Some(id)) => {
                let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
                json!({"uri": uri, "mimeType": "application/json", "text": text})
            }
            _ => return Err(ErrorData::invalid_params("Resource not found", Some(json!({"uri": uri})))),
        };
        Ok(ReadResourceResult::new(vec![typed(content)?]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = |name: &str| json!({"name": name, "description": name, "required": true});
        Ok(ListPromptsResult::with_all_items(typed(json!([
            {"name": "test_simple_prompt", "description": "A simple prompt"},
            {"name": "test_prompt_with_arguments", "description": "Two arguments", "arguments": [argument("arg1"), argument("arg2")]},
            {"name": "test_prompt_with_embedded_resource", "description": "A resource", "arguments": [argument("resourceUri")]},
            {"name": "test_prompt_with_image", "description": "An image"},
            {"name": "test_input_required_result_prompt", "description": "Asks first"},
        ]))?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let text = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        let messages = match request.name.as_str() {
            "test_simple_prompt" => json!([text("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                json!([text(&format!(
                    "Prompt with arguments: arg1='{}', arg2='{}'",
                    argument("arg1"),
                    argument("arg2")
                ))])
            }
            "test_prompt_with_embedded_resource" => json!([
                {"role": "user", "content": {"type": "resource", "resource": {
                    "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing.",
                }}},
                text("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                {"role": "user", "content": {"type": "image", "data": PIXEL, "mimeType": "image/png"}},
                text("Please analyze the image above."),
            ]),
            "test_input_required_result_prompt" => {
                let Some(answer) = input::answer(request.input_responses.as_ref(), "user_context") else {
                    let ask = input::elicit("What context should the prompt use?", "context", "string");
                    return Ok(input::required(&json!({"user_context": ask}), None)?.into());
                };
                json!([text(&format!("Use this context: {}", answer["content"]["context"]))])
            }
            name => return Err(ErrorData::invalid_params(format!("Unknown prompt: {name}"), None)),
        };
        let result: model::GetPromptResult = typed(json!({"resultType": "complete", "messages": messages}))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let known = ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&request.argument.value));
        let values = CompletionInfo::with_all_values(known.map(str::to_owned).collect());
        values.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let told = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
            drop(told);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
