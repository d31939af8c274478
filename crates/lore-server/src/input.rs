//! Reads what a request brings: the fields of a JSON body, or those of a query. A wrong name is answered with the right one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt as _;
use lore_mcp::is_json;
use lore_model::{Code, UserId, brief, closest};
use percent_encoding::percent_decode_str;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

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
            let message = "the body must be JSON in UTF-8, with `Content-Type: application/json`";
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

/// How many bytes of bodies there may be in memory: of all together, and of one user or address. Nobody alone can have all.
pub(crate) struct Budget {
    all: Arc<Semaphore>,
    each: usize,
    own: Mutex<HashMap<Whose, Weak<Semaphore>>>,
}

/// Whom a body is counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    /// A user, wherever they are.
    User(UserId),
    /// Whoever is at an address, before they have said who they are.
    Address(String),
}

impl Budget {
    /// So many bytes in all, and so many for each.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        let all = Arc::new(Semaphore::new(all.min(Semaphore::MAX_PERMITS)));
        Self { all, each: each.min(Semaphore::MAX_PERMITS), own: Mutex::default() }
    }

    fn own(&self, whose: Whose) -> Arc<Semaphore> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = own.get(&whose).and_then(Weak::upgrade) {
            return own;
        }
        // Those of whom nothing is being read are forgotten.
        own.retain(|_, own| own.strong_count() > 0);
        let made = Arc::new(Semaphore::new(self.each));
        own.insert(whose, Arc::downgrade(&made));
        made
    }
}

/// What a body has of the budget, until this is dropped.
#[derive(Default)]
pub(crate) struct Share(Vec<OwnedSemaphorePermit>);

impl Share {
    /// Takes so many bytes more. Whoever waits for their own waits for nobody else's.
    async fn grow(&mut self, bytes: usize, own: &Arc<Semaphore>, all: &Arc<Semaphore>) -> Result<(), AcquireError> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let taken = [own, all].map(|from| Arc::clone(from).acquire_many_owned(bytes));
        let [own, all] = taken;
        let (own, all) = (own.await?, all.await?);
        match self.0.as_mut_slice() {
            [had_own, had_all] => {
                had_own.merge(own);
                had_all.merge(all);
            }
            _ => self.0 = vec![own, all],
        }
        Ok(())
    }
}

/// How long a body may wait for its share of the budget.
const SHARE: Duration = Duration::from_secs(5);

/// How a body is read: so many bytes at most, in bounded time, from a budget.
pub(crate) struct Reading<'a> {
    pub(crate) most: usize,
    pub(crate) limits: &'a Limits,
    pub(crate) budget: &'a Budget,
    pub(crate) whose: Whose,
}

impl Reading<'_> {
    /// Reads a body. What it has of the budget is taken until its share is dropped.
    pub(crate) async fn read<B>(self, body: B) -> Result<(Bytes, Share), Refusal>
    where
        B: Body<Data: Send> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        tokio::time::timeout(self.limits.sending, self.collect(body)).await.unwrap_or_else(|_| {
            let message = "the body did not arrive in time";
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, Code::InvalidArgument, message))
        })
    }

    /// Takes from the budget what has arrived, not what was announced: whoever announces much and sends nothing has nothing.
    async fn collect<B: Body<Data: Send> + Send>(self, body: B) -> Result<(Bytes, Share), Refusal> {
        let Self { most, budget, whose, .. } = self;
        let too_large = || {
            let message = format!("the body is too large: the limit is {most} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidArgument, message)
        };
        if body.size_hint().lower() > most as u64 {
            return Err(too_large());
        }
        let own = budget.own(whose);
        let mut body = std::pin::pin!(body);
        let (mut read, mut share) = (BytesMut::new(), Share::default());
        while let Some(frame) = body.as_mut().frame().await {
            let frame = frame.map_err(|_| Refusal::invalid("the body ended early"))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = data.remaining();
            if length > most - read.len() {
                return Err(too_large());
            }
            let grown = share.grow(length, &own, &budget.all);
            let Ok(Ok(())) = tokio::time::timeout(SHARE, grown).await else {
                let message = "the server is reading too much just now";
                let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Busy, message);
                return Err(refusal.header(header::RETRY_AFTER, "5"));
            };
            read.put(data);
        }
        Ok((read.freeze(), share))
    }
}

#[cfg(test)]
mod tests {
    use futures::{Stream, StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;
    use crate::answer::Surface;

    type Frames = Result<Frame<Bytes>, std::convert::Infallible>;

    /// It sends so many bytes and then nothing.
    fn stalled(bytes: usize) -> StreamBody<impl Stream<Item = Frames>> {
        StreamBody::new(stream::iter([Ok(Frame::data(Bytes::from(vec![b'x'; bytes])))]).chain(stream::pending()))
    }

    fn whole(bytes: usize) -> Full<Bytes> {
        Full::new(Bytes::from(vec![b'x'; bytes]))
    }

    fn of<'a>(user: i64, budget: &'a Budget, limits: &'a Limits) -> Reading<'a> {
        Reading { most: 1000, limits, budget, whose: Whose::User(UserId(user)) }
    }

    fn status(read: Result<(Bytes, Share), Refusal>) -> StatusCode {
        read.err().unwrap().respond(Surface::Rest).status()
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_share_a_budget_while_they_are_read() {
        let (budget, limits) = (Budget::new(100, 100), Limits::default());
        let first = of(1, &budget, &limits).read(stalled(80));
        let second = async {
            tokio::task::yield_now().await;
            of(2, &budget, &limits).read(whole(50)).await
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!((status(first), status(second)), (StatusCode::REQUEST_TIMEOUT, StatusCode::SERVICE_UNAVAILABLE));
        let (third, share) = of(3, &budget, &limits).read(whole(100)).await.unwrap();
        assert_eq!(third.len(), 100, "what was given up is free again");
        assert_eq!(budget.all.available_permits(), 0, "what was read is taken as long as somebody has it");
        drop(share);
        assert_eq!(budget.all.available_permits(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_alone_takes_all_of_the_budget() {
        let (budget, limits) = (Budget::new(100, 40), Limits::default());
        let greedy =
            async { tokio::join!(of(1, &budget, &limits).read(stalled(30)), of(1, &budget, &limits).read(whole(30))) };
        let other = async {
            tokio::task::yield_now().await;
            of(2, &budget, &limits).read(whole(40)).await
        };
        let ((first, second), other) = tokio::join!(greedy, other);
        assert_eq!((status(first), status(second)), (StatusCode::REQUEST_TIMEOUT, StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(other.ok().unwrap().0.len(), 40);
        drop(of(4, &budget, &limits).read(whole(1)).await);
        assert_eq!(budget.own.lock().unwrap().len(), 1, "who has nothing is forgotten");
    }
}
