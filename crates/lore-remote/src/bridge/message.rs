//! What a host says: which lines are requests, and what a server must be told about them in headers.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

/// Since this version of MCP requests stand for themselves: no handshake, no session, and headers that say what is in them.
const STANDALONE_SINCE: &str = "2026-07-28";

/// Where such a request says its version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Methods that change nothing: asking twice is as good as asking once.
const READ_ONLY: &[&str] = &[
    "completion/complete",
    "initialize",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
];

/// A line of the host's.
#[derive(Debug)]
pub(super) enum Line {
    /// It wants an answer.
    Request(Request),
    /// It wants none: a notification, or the host's answer to a request of the server.
    Other(Message),
    /// It is nothing that can be passed on. The answer to it.
    Invalid(Value),
}

/// A message as it came, and what there is to know about it.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The line, byte for byte.
    pub(super) text: String,
    /// What it asks for or tells; absent for answers.
    pub(super) method: Option<String>,
    /// The version of MCP, where the message stands for itself.
    pub(super) standalone: Option<String>,
    /// The tool, prompt or resource that it is about.
    pub(super) name: Option<String>,
    /// The request that it takes back.
    pub(super) cancels: Option<Value>,
}

/// A message that wants an answer.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) message: Message,
}

impl Request {
    pub(super) fn method(&self) -> &str {
        self.message.method.as_deref().unwrap_or_default()
    }

    /// Whether it may be asked twice.
    pub(super) fn is_read_only(&self) -> bool {
        READ_ONLY.contains(&self.method())
    }

    /// Whether its answer is a stream that goes on until somebody ends it.
    pub(super) fn is_endless(&self) -> bool {
        self.method() == "subscriptions/listen"
    }
}

impl Message {
    /// Whether it is that notification or request.
    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// The headers that a message of the newer kind has.
    pub(super) fn standalone_headers(&self) -> Vec<(&'static str, String)> {
        let Some(version) = &self.standalone else { return Vec::new() };
        let mut headers = vec![("MCP-Protocol-Version", header_text(version))];
        headers.extend(self.method.as_ref().map(|method| ("Mcp-Method", header_text(method))));
        headers.extend(self.name.as_ref().map(|name| ("Mcp-Name", header_text(name))));
        headers
    }
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Line {
    let invalid = |id: Value, code: i64, message: &str, detail: String| {
        Line::Invalid(error_response(&id, code, message, &detail))
    };
    let Ok(text) = std::str::from_utf8(line) else {
        return invalid(Value::Null, -32700, "Parse error", "the line is not UTF-8".to_owned());
    };
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return invalid(Value::Null, -32700, "Parse error", error.to_string()),
    };
    let Some(object) = value.as_object() else {
        return invalid(Value::Null, -32600, "Invalid Request", "a message is one JSON object".to_owned());
    };
    let id = object.get("id");
    let has_id = id.is_some_and(|id| id.is_string() || id.is_number());
    let known_id = if has_id { id.cloned().unwrap_or_default() } else { Value::Null };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(known_id, -32600, "Invalid Request", "`jsonrpc` must be \"2.0\"".to_owned());
    }
    let method = object.get("method");
    let is_answer = method.is_none() && (object.contains_key("result") || object.contains_key("error"));
    let params = object.get("params").unwrap_or(&Value::Null);
    let message = Message {
        text: text.trim().to_owned(),
        method: method.and_then(Value::as_str).map(str::to_owned),
        standalone: standalone(params),
        name: method.and_then(Value::as_str).and_then(|method| name(method, params)),
        cancels: method
            .filter(|method| *method == "notifications/cancelled")
            .and_then(|_| params.get("requestId").cloned()),
    };
    match (id, has_id) {
        (Some(_), true) if is_answer => Line::Other(message),
        _ if message.method.is_none() => invalid(known_id, -32600, "Invalid Request", "`method` is missing".to_owned()),
        (None, _) => Line::Other(message),
        (Some(_), true) => Line::Request(Request { id: known_id, message }),
        (Some(_), false) => {
            invalid(Value::Null, -32600, "Invalid Request", "`id` must be a text or a number".to_owned())
        }
    }
}

/// The answer that says what went wrong, in the form of the contract.
pub(super) fn error_response(id: &Value, code: i64, message: &str, detail: &str) -> Value {
    json!({"jsonrpc": "2.0", "error": {"code": code, "message": message, "data": {"detail": detail}}, "id": id})
}

/// JSON on one line: outside of texts a line end is a blank, and in texts there can be none.
pub(super) fn one_line(json: &str) -> String {
    json.trim().replace(['\n', '\r'], " ")
}

fn standalone(params: &Value) -> Option<String> {
    let version = params.get("_meta")?.get(VERSION_KEY)?.as_str()?;
    // Versions are dates, and dates compare as texts.
    (version >= STANDALONE_SINCE).then(|| version.to_owned())
}

fn name(method: &str, params: &Value) -> Option<String> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(key)?.as_str().map(str::to_owned)
}

/// A text as a header can hold it: as it is, or as `=?base64?…?=`.
fn header_text(text: &str) -> String {
    let looks_wrapped = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_trimmed = text.trim_matches([' ', '\t']).len() == text.len();
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if is_plain && is_trimmed && !looks_wrapped {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        match read(line.as_bytes()) {
            Line::Request(request) => format!("request {} {}", request.id, request.method()),
            Line::Other(message) => format!("other {}", message.method.as_deref().unwrap_or("(answer)")),
            Line::Invalid(answer) => format!("invalid {} id {}", answer["error"]["code"], answer["id"]),
        }
    }

    #[test]
    fn lines_are_told_apart() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "request 1 tools/list"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"x"}"#, "request \"a\" x"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "other notifications/initialized"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "other (answer)"),
            (r#"{"jsonrpc":"2.0","id":7,"error":{}}"#, "other (answer)"),
            ("{", "invalid -32700 id null"),
            ("\u{1}", "invalid -32700 id null"),
            ("[]", "invalid -32600 id null"),
            ("7", "invalid -32600 id null"),
            (r#"{"id":3,"method":"tools/list"}"#, "invalid -32600 id 3"),
            (r#"{"jsonrpc":"2.0","id":4}"#, "invalid -32600 id 4"),
            (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, "invalid -32600 id 4"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "invalid -32600 id null"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "invalid -32600 id null"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
        assert!(matches!(read(b"\xff"), Line::Invalid(answer) if answer["error"]["code"] == -32700));
        let deep = "[".repeat(100_000);
        assert!(matches!(read(deep.as_bytes()), Line::Invalid(answer) if answer["error"]["code"] == -32700));
    }

    #[test]
    fn newer_requests_have_their_headers() {
        let line = |name: &str, version: &str| {
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": name, "_meta": {VERSION_KEY: version},
            }})
            .to_string()
        };
        let headers = |line: &str| match read(line.as_bytes()) {
            Line::Request(request) => request.message.standalone_headers(),
            other => panic!("{other:?}"),
        };
        assert_eq!(headers(&line("search_code", "2025-11-25")), []);
        let expected = |name: &str| {
            vec![
                ("MCP-Protocol-Version", "2026-07-28".to_owned()),
                ("Mcp-Method", "tools/call".to_owned()),
                ("Mcp-Name", name.to_owned()),
            ]
        };
        assert_eq!(headers(&line("search_code", "2026-07-28")), expected("search_code"));
        assert_eq!(headers(&line("a\r\nb", "2026-07-28")), expected("=?base64?YQ0KYg==?="));
        assert_eq!(headers(&line("=?base64?x?=", "2026-07-28")), expected("=?base64?PT9iYXNlNjQ/eD89?="));
        let odd = headers(&line("x", "2026-07-28\r\nX-Other: 1"));
        assert!(odd.iter().all(|(_, value)| !value.contains(['\r', '\n'])), "a header ends where it ends: {odd:?}");
        assert_eq!(headers(&line("hällo", "2026-07-28")), expected("=?base64?aMOkbGxv?="));
    }
}
