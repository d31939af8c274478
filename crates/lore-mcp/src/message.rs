//! Understands one line of input before rmcp sees it, and answers what is no request that Lore serves.
//!
//! rmcp alone is silent on malformed JSON, refuses `initialize` without params, and calls a known method with unfit
//! params unknown. Here every line with an id gets an answer that says what was wrong, and only typed requests go on.
//! Nothing here knows a stream or a tool.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage, ProtocolVersion, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    shown::shown,
    strict::{self, Unread},
};

/// Where a request of the stateless era names its protocol version.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Methods that only the handshake era has.
const REMOVED: [&str; 5] = ["initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"];

/// What a line turned out to be.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A request, notification or response, for rmcp.
    Message(Box<ClientJsonRpcMessage>),
    /// Something that is answered with this error.
    Refused(Value),
    /// Something that needs no answer and no action: a blank line, an unknown notification.
    Ignored,
}

/// Understands one line.
pub(crate) fn read(line: &[u8]) -> Incoming {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Incoming::Ignored;
    }
    let value = match strict::parse(line) {
        Ok(value) => value,
        Err(Unread::Malformed(why)) => {
            return refuse(None, ErrorCode::PARSE_ERROR, &format!("Parse error: {why}"));
        }
        Err(Unread::TooManyValues) => return too_large(),
    };
    match value {
        Value::Object(object) => read_object(object),
        Value::Array(_) => invalid(None, "batches are not supported, send one message a line"),
        _ => invalid(None, "a message is a JSON object"),
    }
}

/// The answer to a message that is longer than Lore reads.
pub(crate) fn too_large() -> Incoming {
    invalid(None, "message too large")
}

/// The answer to a request whose id another unanswered one has.
pub(crate) fn id_in_use(id: &RequestId) -> Incoming {
    invalid(Some(id), "another request with this id is not answered yet")
}

/// The answer to one more request for notices than there may be.
pub(crate) fn too_many_listening(id: &RequestId) -> Incoming {
    invalid(Some(id), "too many subscriptions are open: cancel one first")
}

fn read_object(mut object: Map<String, Value>) -> Incoming {
    let id = object.get("id").cloned();
    let method = match object.get("method") {
        Some(Value::String(method)) => Some(method.clone()),
        Some(_) => return invalid(usable(id.as_ref()).as_ref(), "`method` must be a string"),
        None => None,
    };
    let is_response = object.contains_key("result") || object.contains_key("error");
    match (method, id) {
        (Some(_), _) if is_response => {
            invalid(usable(object.get("id")).as_ref(), "a message has a `method` or a result, not both")
        }
        (Some(_), None) => pass(object),
        (Some(method), Some(id)) => {
            let Some(id) = usable(Some(&id)) else {
                return invalid(None, "`id` must be a string or an integer");
            };
            if object.get("jsonrpc").is_none_or(|version| version != "2.0") {
                return invalid(Some(&id), "`jsonrpc` must be \"2.0\"");
            }
            // A null means the same as nothing to many writers of JSON.
            if object.get("params").is_some_and(Value::is_null) {
                object.remove("params");
            }
            read_request(&method, id, object)
        }
        (None, _) if is_response => pass(object),
        (None, id) => invalid(usable(id.as_ref()).as_ref(), "`method` is missing"),
    }
}

/// A notification or a response: never answered, whatever is wrong with it.
fn pass(object: Map<String, Value>) -> Incoming {
    match serde_json::from_value(Value::Object(object)) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(_) => Incoming::Ignored,
    }
}

fn read_request(method: &str, id: RequestId, mut object: Map<String, Value>) -> Incoming {
    if object.get("params").is_some_and(|params| !params.is_object()) {
        return unfit(&id, "`params` must be an object");
    }
    let era = Era::of(&object);
    if method == "initialize" && era == Era::Handshake {
        complete_initialize(&mut object);
    }
    if era == Era::Stateless && REMOVED.contains(&method) {
        return unknown_method(&id, method);
    }
    if let Err(why) = check(method, &mut object) {
        return unfit(&id, why);
    }
    let request = Value::Object(object);
    // Every method that Lore serves, and in which era. What a later toolset brings is added here.
    let request = match (method, era) {
        ("initialize", _) => typed(request, ClientRequest::InitializeRequest),
        ("ping", _) => typed(request, ClientRequest::PingRequest),
        ("server/discover", _) => typed(request, ClientRequest::DiscoverRequest),
        ("tools/list", _) => typed(request, ClientRequest::ListToolsRequest),
        ("tools/call", _) => typed(request, ClientRequest::CallToolRequest),
        ("resources/list", _) => typed(request, ClientRequest::ListResourcesRequest),
        ("resources/templates/list", _) => typed(request, ClientRequest::ListResourceTemplatesRequest),
        ("resources/read", _) => typed(request, ClientRequest::ReadResourceRequest),
        ("resources/subscribe", _) => typed(request, ClientRequest::SubscribeRequest),
        ("resources/unsubscribe", _) => typed(request, ClientRequest::UnsubscribeRequest),
        ("subscriptions/listen", Era::Stateless) => typed(request, ClientRequest::SubscriptionsListenRequest),
        ("logging/setLevel", _) => typed(request, ClientRequest::SetLevelRequest),
        ("prompts/list", _) => typed(request, ClientRequest::ListPromptsRequest),
        ("prompts/get", _) => typed(request, ClientRequest::GetPromptRequest),
        ("completion/complete", _) => typed(request, ClientRequest::CompleteRequest),
        _ => return unknown_method(&id, method),
    };
    match request {
        Ok(request) => Incoming::Message(Box::new(JsonRpcMessage::request(request, id))),
        Err(error) => unfit(&id, &shown(&error.to_string())),
    }
}

fn typed<T: DeserializeOwned>(request: Value, wrap: fn(T) -> ClientRequest) -> serde_json::Result<ClientRequest> {
    serde_json::from_value(request).map(wrap)
}

/// The two ways in which a client and a server agree on a protocol version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    /// Up to 2025-11-25: `initialize` once, or, with Lore, not at all.
    Handshake,
    /// Since 2026-07-28: each request names its version.
    Stateless,
}

impl Era {
    fn of(request: &Map<String, Value>) -> Self {
        request
            .get("params")
            .and_then(|params| params.get("_meta")?.get(META_VERSION))
            .and_then(|version| serde_json::from_value::<ProtocolVersion>(version.clone()).ok())
            .map_or(Self::Handshake, |version| if version.has_initialize() { Self::Handshake } else { Self::Stateless })
    }
}

/// Fills in what simple clients leave out: they know the oldest protocol, and say nothing about themselves.
fn complete_initialize(request: &mut Map<String, Value>) {
    let Some(params) = request.entry("params").or_insert_with(|| json!({})).as_object_mut() else {
        return;
    };
    let defaults = [
        ("protocolVersion", json!(ProtocolVersion::V_2024_11_05)),
        ("capabilities", json!({})),
        ("clientInfo", json!({})),
    ];
    for (field, default) in defaults {
        // Some languages write an empty object as an empty list.
        if params.get(field).is_none_or(|value| value.is_null() || *value == json!([])) {
            params.insert(field.to_owned(), default);
        }
    }
    if let Some(client) = params.get_mut("clientInfo").and_then(Value::as_object_mut) {
        client.entry("name").or_insert_with(|| json!("unknown"));
        client.entry("version").or_insert_with(|| json!("0"));
    }
}

/// Says in plain words what is most often wrong, where rmcp would say it badly or not at all.
fn check(method: &str, request: &mut Map<String, Value>) -> Result<(), &'static str> {
    let params = request.get_mut("params").and_then(Value::as_object_mut);
    match (method, params) {
        ("initialize", Some(params)) if !params.get("protocolVersion").is_some_and(Value::is_string) => {
            Err("`protocolVersion` must be a string")
        }
        ("tools/list" | "resources/list" | "resources/templates/list" | "prompts/list", Some(params)) => {
            match params.get("cursor") {
                None | Some(Value::Null) => Ok(()),
                Some(_) => Err("unknown `cursor`: everything is in one page"),
            }
        }
        ("resources/read" | "resources/subscribe" | "resources/unsubscribe", params) => {
            let uri = params.and_then(|params| params.get("uri").map(Value::is_string));
            if uri == Some(true) { Ok(()) } else { Err("`uri` must be the address of a resource") }
        }
        ("prompts/get", Some(params)) => {
            if params.get("arguments").is_some_and(Value::is_null) {
                params.remove("arguments");
            }
            if params.get("name").is_some_and(Value::is_string) {
                Ok(())
            } else {
                Err("`name` must be the name of a prompt")
            }
        }
        ("prompts/get", None) => Err("`params` is missing: `name` and `arguments` of the prompt"),
        ("tools/call", Some(params)) => {
            if params.get("arguments").is_some_and(Value::is_null) {
                params.remove("arguments");
            }
            if !params.get("name").is_some_and(Value::is_string) {
                Err("`name` must be the name of a tool")
            } else if params.get("arguments").is_some_and(|arguments| !arguments.is_object()) {
                Err("`arguments` must be an object")
            } else {
                Ok(())
            }
        }
        ("tools/call", None) => Err("`params` is missing: `name` and `arguments` of the tool"),
        _ => Ok(()),
    }
}

/// The id, if it is one that an answer can carry.
fn usable(id: Option<&Value>) -> Option<RequestId> {
    id.and_then(|id| serde_json::from_value(id.clone()).ok())
}

fn invalid(id: Option<&RequestId>, why: &str) -> Incoming {
    refuse(id, ErrorCode::INVALID_REQUEST, &format!("Invalid Request: {why}"))
}

fn unfit(id: &RequestId, why: &str) -> Incoming {
    refuse(Some(id), ErrorCode::INVALID_PARAMS, &format!("Invalid params: {why}"))
}

fn unknown_method(id: &RequestId, method: &str) -> Incoming {
    Incoming::Refused(json!({
        "jsonrpc": "2.0", "id": id,
        "error": { "code": ErrorCode::METHOD_NOT_FOUND, "message": "Method not found", "data": { "method": shown(method) } },
    }))
}

/// rmcp leaves out an id that could not be read; JSON-RPC wants it to be null.
fn refuse(id: Option<&RequestId>, code: ErrorCode, message: &str) -> Incoming {
    Incoming::Refused(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}
