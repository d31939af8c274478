//! Reads what a request brings: the fields of a JSON body, or those of a query. A wrong name is answered with the right one.

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt as _;
use lore_model::{Code, brief, closest};
use percent_encoding::percent_decode_str;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::{Limits, answer::Refusal};

/// Nothing is needed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// The names and types of what a request may bring.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    /// Each field with its schema.
    pub(crate) properties: Map<String, Value>,
    /// Those that must be there.
    pub(crate) required: Vec<String>,
}

impl Fields {
    /// The fields of a type.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        let properties = schema["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        Self { properties, required }
    }

    /// Fails where a name is not one of them, and where one is missing.
    fn check<'a>(&self, what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
        let mut given = Vec::new();
        for name in names {
            if !self.properties.contains_key(name) {
                let message = format!("there is no {what} `{}`", brief(name));
                let known = || self.properties.keys().map(String::as_str);
                let hint = match closest(name, known()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if self.properties.is_empty() => "this takes none".to_owned(),
                    None => format!("there are: {}", known().collect::<Vec<_>>().join(", ")),
                };
                return Err(Refusal::invalid(message).hint(hint));
            }
            if given.contains(&name) {
                return Err(Refusal::invalid(format!("the {what} `{name}` is there twice")));
            }
            given.push(name);
        }
        match self.required.iter().find(|name| !given.contains(&name.as_str())) {
            Some(missing) => Err(Refusal::invalid(format!("the {what} `{missing}` is missing"))
                .hint(format!("this needs: {}", self.required.join(", ")))),
            None => Ok(()),
        }
    }

    /// Reads a JSON body; an empty one is like `{}`.
    pub(crate) fn read_body<T: DeserializeOwned>(&self, headers: &HeaderMap, body: &[u8]) -> Result<T, Refusal> {
        let body = if body.trim_ascii().is_empty() {
            b"{}"
        } else if is_json(headers) {
            body
        } else {
            let message = "the body must be JSON, with `Content-Type: application/json`";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidArgument, message));
        };
        let unfit = |error: serde_json::Error| Refusal::invalid(format!("the body cannot be read: {error}"));
        match serde_json::from_slice::<Value>(body).map_err(unfit)? {
            Value::Object(object) => self.check("field", object.keys().map(String::as_str))?,
            _ => return Err(Refusal::invalid("the body must be a JSON object")),
        }
        // Once more from the bytes: there, a field that stands twice is seen.
        serde_json::from_slice(body).map_err(unfit)
    }

    /// Reads a query.
    pub(crate) fn read_query<T: DeserializeOwned>(&self, query: &str) -> Result<T, Refusal> {
        let mut pairs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((decoded(name)?, decoded(value)?));
        }
        self.check("parameter", pairs.iter().map(|(name, _)| name.as_str()))?;
        let mut object = Map::new();
        for (name, text) in pairs.into_iter().filter(|(_, text)| !text.is_empty()) {
            let kind = &self.properties[&name]["type"];
            let is = |word: &str| kind == word || kind.as_array().is_some_and(|kinds| kinds.contains(&word.into()));
            let value = if is("integer") {
                text.parse::<u64>().map(Value::from).ok()
            } else if is("boolean") {
                text.parse::<bool>().map(Value::from).ok()
            } else {
                Some(Value::from(text.as_str()))
            };
            let value = value
                .ok_or_else(|| Refusal::invalid(format!("the parameter `{name}` cannot be `{}`", brief(&text))))?;
            object.insert(name, value);
        }
        serde_json::from_value(Value::Object(object))
            .map_err(|error| Refusal::invalid(format!("the query cannot be read: {error}")))
    }
}

fn decoded(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8();
    text.map(std::borrow::Cow::into_owned).map_err(|_| Refusal::invalid("the query is no text"))
}

fn is_json(headers: &HeaderMap) -> bool {
    let media = |value: &HeaderValue| {
        let text = value.to_str().ok()?;
        Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    };
    headers.get(header::CONTENT_TYPE).and_then(media).is_some_and(|media| media == "application/json")
}

/// How many bytes of bodies there may be in memory while they are being read.
pub(crate) struct Budget(Semaphore);

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS)))
    }
}

/// How long a body may wait for its share of the budget.
const SHARE: Duration = Duration::from_secs(5);

/// Reads a body of so many bytes at most, in bounded time.
pub(crate) async fn read<B>(body: B, most: usize, limits: &Limits, budget: &Budget) -> Result<Bytes, Refusal>
where
    B: Body<Data: Send> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    tokio::time::timeout(limits.sending, collect(body, most, budget)).await.unwrap_or_else(|_| {
        let message = "the body did not arrive in time";
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, Code::InvalidArgument, message))
    })
}

/// Takes from the budget what has arrived, not what was announced: whoever announces much and sends nothing has nothing.
async fn collect<B: Body<Data: Send> + Send>(body: B, most: usize, budget: &Budget) -> Result<Bytes, Refusal> {
    let too_large = || {
        let message = format!("the body is too large: the limit is {most} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidArgument, message)
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let mut body = std::pin::pin!(body);
    let (mut read, mut shares) = (BytesMut::new(), Vec::new());
    while let Some(frame) = body.as_mut().frame().await {
        let frame = frame.map_err(|_| Refusal::invalid("the body ended early"))?;
        let Ok(data) = frame.into_data() else { continue };
        let length = data.remaining();
        if length > most - read.len() {
            return Err(too_large());
        }
        let share = budget.0.acquire_many(u32::try_from(length).unwrap_or(u32::MAX));
        let Ok(Ok(share)) = tokio::time::timeout(SHARE, share).await else {
            let message = "the server is reading too much just now";
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Busy, message);
            return Err(refusal.header(header::RETRY_AFTER, "5"));
        };
        shares.push(share);
        read.put(data);
    }
    Ok(read.freeze())
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;
    use crate::answer::Surface;

    #[tokio::test(start_paused = true)]
    async fn bodies_share_a_budget_while_they_are_read() {
        let (budget, limits) = (Budget::new(100), Limits::default());
        let half = || Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from_static(&[b'x'; 80])));
        // It sends most of what it has and then nothing.
        let stalled = StreamBody::new(stream::iter([half()]).chain(stream::pending()));
        let first = read(stalled, 1000, &limits, &budget);
        let second = async {
            tokio::task::yield_now().await;
            read(Full::new(Bytes::from_static(&[b'x'; 50])), 1000, &limits, &budget).await
        };
        let (first, second) = tokio::join!(first, second);
        let status = |read: Result<Bytes, Refusal>| read.unwrap_err().respond(Surface::Rest).status();
        assert_eq!((status(first), status(second)), (StatusCode::REQUEST_TIMEOUT, StatusCode::SERVICE_UNAVAILABLE));
        let third = read(Full::new(Bytes::from_static(&[b'x'; 100])), 1000, &limits, &budget).await;
        assert_eq!(third.unwrap().len(), 100, "what was read and what was given up is free again");
    }
}
