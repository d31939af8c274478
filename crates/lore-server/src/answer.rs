//! Answers and refusals, in the forms that the contract has for them.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use lore_model::{Code, Failure};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

/// A response as it leaves the server.
pub type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The code of the protocol for an MCP request that the server refuses by its own rules.
const REFUSED: i32 = -32000;

/// What a handler gives: the form is part of its type, so that the document about it cannot say something else.
pub(crate) trait Output: Send + 'static {
    /// Its media type, and its schema where it is JSON.
    fn describe(generator: &mut SchemaGenerator) -> (&'static str, Option<Schema>);

    /// The response.
    fn respond(self) -> HttpResponse;
}

/// A value as JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize + JsonSchema + Send + 'static> Output for Json<T> {
    fn describe(generator: &mut SchemaGenerator) -> (&'static str, Option<Schema>) {
        (JSON, Some(generator.subschema_for::<T>()))
    }

    fn respond(self) -> HttpResponse {
        match serde_json::to_string(&self.0) {
            Ok(text) => written(StatusCode::OK, JSON, text),
            Err(error) => Refusal::from(Failure::new(Code::Internal, error.to_string())).respond(Surface::Rest),
        }
    }
}

/// A text.
pub(crate) struct Text(pub(crate) String);

impl Output for Text {
    fn describe(_: &mut SchemaGenerator) -> (&'static str, Option<Schema>) {
        (TEXT, None)
    }

    fn respond(self) -> HttpResponse {
        written(StatusCode::OK, TEXT, self.0)
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

fn written(status: StatusCode, media: &'static str, text: String) -> HttpResponse {
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Full::default().boxed());
    *response.status_mut() = status;
    response
}

/// Who reads an answer: the contract has a form for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// A client of the paths beside MCP.
    Rest,
    /// A client of MCP.
    Mcp,
}

/// Why a request is not served.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    failure: Failure,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether the reader may read the message as it is.
    told: bool,
    /// The id of the MCP message that it answers, as far as that is known.
    id: Option<Box<Value>>,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let status = StatusCode::from_u16(failure.code.row().http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // What is the server's own fault may name its folders.
        Self { status, failure, headers: Vec::new(), told: !status.is_server_error(), id: None }
    }
}

impl Refusal {
    /// A refusal with a status of its own.
    pub(crate) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self { status, failure: Failure::new(code, message), headers: Vec::new(), told: true, id: None }
    }

    /// An argument that does not do.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Failure::new(Code::InvalidArgument, message).into()
    }

    /// Says what the reader can do now.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.failure = self.failure.hint(hint);
        self
    }

    /// Answers the MCP message of that id.
    pub(crate) fn answering(mut self, id: Value) -> Self {
        self.id = Some(Box::new(id));
        self
    }

    /// Whether it is that nobody has shown who they are.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }

    /// Why somebody may not do what they asked for, where it is that.
    pub(crate) fn denial(&self) -> Option<&str> {
        (self.failure.code == Code::PermissionDenied).then_some(self.failure.message.as_str())
    }

    /// Adds a header to the response.
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// The response.
    pub(crate) fn respond(self, surface: Surface) -> HttpResponse {
        let Self { status, failure, headers, told, id } = self;
        // What the client is told is a state of the server, such as that it is not ready, and no fault of it.
        if status.is_server_error() && told {
            tracing::debug!(code = failure.code.name(), %failure, "a request was refused");
        } else if status.is_server_error() {
            tracing::error!(code = failure.code.name(), %failure, "a request failed");
        }
        let message = if told { failure.message.as_str() } else { failure.code.row().meaning };
        let hint = failure.hint.as_deref().filter(|_| told);
        let text = match surface {
            Surface::Rest => {
                json!({"error": {"code": failure.code.name(), "message": message, "hint": hint}}).to_string()
            }
            Surface::Mcp => {
                let message = if status == StatusCode::UNAUTHORIZED {
                    "Authentication failed: 401 Unauthorized"
                } else {
                    message
                };
                json!({"jsonrpc": "2.0", "error": {"code": REFUSED, "message": message}, "id": id}).to_string()
            }
        };
        let mut response = written(status, JSON, text);
        response.headers_mut().extend(headers);
        // What every such answer must tell; some tell it better.
        let needed = match status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, r#"Bearer realm="lore""#)),
            StatusCode::TOO_MANY_REQUESTS => Some((header::RETRY_AFTER, "5")),
            _ => None,
        };
        if let Some((name, value)) = needed {
            response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
        }
        response
    }
}
