//! The tools that the suite calls.
#![expect(deprecated, reason = "the suite tests what earlier versions of the protocol have")]

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CustomNotification,
        ProgressNotificationParam, ServerNotification, ServerRequest,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::{Change, Fixture, PIXEL, SILENCE, input, typed};

/// Tools without arguments.
const PLAIN: [&str; 25] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_reconnection",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "test_nothing",
];

/// All tools, as they are listed.
pub(crate) fn list() -> Value {
    let tool = |name: &str, schema: Value| json!({"name": name, "description": format!("{name}, for the suite"), "inputSchema": schema});
    let text = |name: &str| json!({"type": "object", "properties": {name: {"type": "string", "description": name}}, "required": [name]});
    let mut tools: Vec<Value> =
        PLAIN.iter().map(|name| tool(name, json!({"type": "object", "properties": {}}))).collect();
    tools.push(tool("test_sampling", text("prompt")));
    tools.push(tool("test_elicitation", text("message")));
    tools.push(tool(
        "test_header",
        json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]}),
    ));
    tools.push(tool(
        "json_schema_2020_12_tool",
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {
                "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"}, "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]}, "else": {"required": ["email"]},
            "additionalProperties": false,
        }),
    ));
    Value::Array(tools)
}

/// A result that is one text.
pub(crate) fn text(text: &str) -> Result<CallToolResult, ErrorData> {
    result(&json!([{"type": "text", "text": text}]))
}

fn result(content: &Value) -> Result<CallToolResult, ErrorData> {
    typed(json!({"resultType": "complete", "content": content}))
}

/// Calls a tool.
pub(crate) async fn call(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let client = context.client_capabilities();
    if let Some(response) = input::call(&request, client.clone())? {
        return Ok(response);
    }
    if let Some(result) = fixed(&request.name) {
        return result.map(Into::into);
    }
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let result = match request.name.as_ref() {
        "test_tool_with_logging" | "test_logging_tool" => {
            for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                log(&context, step).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            text("Logged three messages.")
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                if let Some(token) = context.meta.get_progress_token() {
                    drop(
                        context
                            .peer
                            .notify_progress(ProgressNotificationParam::new(token, done).with_total(100.0))
                            .await,
                    );
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            text("Told three states.")
        }
        "test_sampling" => {
            let said = json!({"role": "user", "content": {"type": "text", "text": arguments["prompt"]}});
            let answer = context.peer.create_message(typed(json!({"messages": [said], "maxTokens": 100}))?).await;
            text(&format!("LLM response: {}", told(answer)?["content"]["text"].as_str().unwrap_or_default()))
        }
        "test_elicitation" => {
            let fields = json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            });
            let answer = elicit(&context, &arguments["message"], &fields, &["username", "email"]).await?;
            text(&format!("User response: action={}, content={}", answer["action"], answer["content"]))
        }
        "test_elicitation_sep1034_defaults" => {
            let fields = json!({
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true},
            });
            let answer = elicit(&context, &json!("Do the defaults suit you?"), &fields, &[]).await?;
            text(&format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"]))
        }
        "test_elicitation_sep1330_enums" => {
            let titled = |word: &str| json!([{"const": "value1", "title": format!("First {word}")}, {"const": "value2", "title": format!("Second {word}")}, {"const": "value3", "title": format!("Third {word}")}]);
            let plain = json!(["option1", "option2", "option3"]);
            let fields = json!({
                "untitledSingle": {"type": "string", "enum": plain},
                "titledSingle": {"type": "string", "oneOf": titled("Option")},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
            });
            let answer = elicit(&context, &json!("Choose."), &fields, &[]).await?;
            text(&format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"]))
        }
        "test_missing_capability" => {
            if client.is_none_or(|client| client.sampling.is_none()) {
                let needed: ClientCapabilities = typed(json!({"sampling": {}}))?;
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            text("The client can sample.")
        }
        "test_trigger_tool_change" => {
            drop(fixture.changes.send(Change::Tools));
            text("The tools changed.")
        }
        "test_trigger_prompt_change" => {
            drop(fixture.changes.send(Change::Prompts));
            text("The prompts changed.")
        }
        "test_reconnection" => {
            tokio::time::sleep(Duration::from_millis(500)).await;
            text("Still there.")
        }
        "test_header" | "json_schema_2020_12_tool" | "test_nothing" => text(&arguments.to_string()),
        name => return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
    };
    result.map(Into::into)
}

/// The result of a tool that always gives the same content.
fn fixed(name: &str) -> Option<Result<CallToolResult, ErrorData>> {
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => result(&json!([image()])),
        "test_audio_content" => result(&json!([{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}])),
        "test_embedded_resource" => {
            let embedded = resource("test://embedded-resource", "text/plain", "This is an embedded resource content.");
            result(&json!([embedded]))
        }
        "test_multiple_content_types" => {
            let data = json!({"test": "data", "value": 123}).to_string();
            let said = json!({"type": "text", "text": "Multiple content types test:"});
            result(&json!([said, image(), resource("test://mixed-content-resource", "application/json", &data)]))
        }
        "test_error_handling" => {
            let said = json!([{"type": "text", "text": "This tool intentionally returns an error for testing"}]);
            typed(json!({"resultType": "complete", "isError": true, "content": said}))
        }
        _ => return None,
    })
}

fn image() -> Value {
    json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}})
}

/// Logs where the client asked for it: later clients say so in each request.
async fn log(context: &RequestContext<RoleServer>, text: &str) {
    let stateless = context.protocol_version().is_some_and(|version| !version.has_initialize());
    if stateless && context.meta.log_level().is_none() {
        return;
    }
    let params = json!({"level": "info", "logger": "fixture", "data": text});
    let message = CustomNotification::new("notifications/message", Some(params));
    drop(context.peer.send_notification(ServerNotification::CustomNotification(message)).await);
}

async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &Value,
    fields: &Value,
    required: &[&str],
) -> Result<Value, ErrorData> {
    let schema = json!({"type": "object", "properties": fields, "required": required});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let question = typed(json!({"method": "elicitation/create", "params": params}))?;
    told(context.peer.send_request(ServerRequest::ElicitRequest(question)).await)
}

/// What a client answered, as JSON.
fn told<T: serde::Serialize, E: std::fmt::Display>(answer: Result<T, E>) -> Result<Value, ErrorData> {
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    serde_json::to_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
