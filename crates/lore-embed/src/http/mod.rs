//! Embedding services elsewhere, behind the same trait as the built-in model.
//!
//! Requests are blocking calls on tokio's threads for such: only a few are under way at once, so that an asynchronous
//! client would bring its dependencies and gain nothing.

mod client;
mod service;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::task::JoinSet;
use ureq::http::{
    Uri,
    uri::{Parts, PathAndQuery},
};

use crate::{EmbedError, Embedder, Mode, ProviderConfig, endpoint, error::LENGTHS};
use client::Client;
use service::Asked;
pub(crate) use service::Service;

/// The most texts in one request, and the most bytes unless one text alone has more.
const BATCH_TEXTS: usize = 64;
const BATCH_BYTES: usize = 128 << 10;

/// Longer texts are cut: models read some thousand tokens at most, and several services refuse more.
const LONGEST_TEXT: usize = 16 << 10;

/// What a service does not take in one request at all is cut to a quarter, until it is as short as this.
const SHORTEST_TEXT: usize = 1 << 10;

/// So many requests are under way at once to another machine. One on this machine has no more cores for more.
const IN_FLIGHT: usize = 3;

/// A service.
pub(crate) struct Remote(Arc<Inner>);

struct Inner {
    service: Service,
    client: Client,
    /// The model as the service knows it.
    asked: Option<String>,
    /// The length that is asked for.
    configured: Option<usize>,
    /// The length of its vectors, once it is known.
    dimensions: OnceLock<usize>,
    /// The most texts in one request: fewer where the service did not take so many.
    batch: AtomicUsize,
    /// The name of the vector space.
    name: String,
}

impl Remote {
    /// Checks the configuration.
    pub(crate) fn new(service: Service, config: &ProviderConfig) -> Result<Self, EmbedError> {
        let asked = config.model.as_deref().map(str::trim).filter(|model| !model.is_empty()).map(str::to_owned);
        if asked.is_none() && service.needs_model() {
            return Err(EmbedError::NoModel { provider: service.name().to_owned() });
        }
        if let Some(length) = config.dimensions.filter(|length| !LENGTHS.contains(length)) {
            return Err(EmbedError::UnsupportedDimensions { length });
        }
        let uri = uri(service, config.endpoint.as_deref())?;
        let client = Client::new(uri, config)?;
        let length = config.dimensions.map_or_else(String::new, |length| format!("@{length}"));
        let name = format!("{}:{}{length}", service.name(), asked.as_deref().unwrap_or("default"));
        let dimensions = OnceLock::new();
        if let Some(length) = config.dimensions {
            dimensions.get_or_init(|| length);
        }
        let (configured, batch) = (config.dimensions, AtomicUsize::new(BATCH_TEXTS));
        Ok(Self(Arc::new(Inner { service, client, asked, configured, dimensions, batch, name })))
    }
}

/// Some of the texts, as places among all.
type Batch = Vec<(usize, String)>;

impl Inner {
    async fn request(&self, texts: &[&str], mode: Mode, hurry: Option<Duration>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let asked = Asked { model: self.asked.as_deref(), dimensions: self.configured, mode };
        let body = self.service.request(&asked, texts).to_string().into_bytes();
        let answer = self.client.post(body, hurry).await?;
        let mut vectors = self.service.vectors(&answer, texts.len()).map_err(|what| self.client.malformed(&what))?;
        for vector in &mut vectors {
            if !LENGTHS.contains(&vector.len()) {
                return Err(EmbedError::UnsupportedDimensions { length: vector.len() });
            }
            let expected = *self.dimensions.get_or_init(|| vector.len());
            if vector.len() != expected {
                let (model, got) = (self.name.clone(), vector.len());
                return Err(EmbedError::WrongDimensions { model, expected, got });
            }
            make_one_long(vector);
        }
        Ok(vectors)
    }

    /// One request for a batch, and what is left to be asked where the service did not take so much.
    async fn send(
        self: Arc<Self>,
        batch: Batch,
        mode: Mode,
    ) -> Result<(Vec<(usize, Vec<f32>)>, Vec<Batch>), EmbedError> {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let error = match self.request(&texts, mode, None).await {
            Ok(vectors) => return Ok((batch.iter().map(|(at, _)| *at).zip(vectors).collect(), Vec::new())),
            Err(error @ EmbedError::Status { status: 400 | 413 | 422, .. }) => error,
            Err(error) => return Err(error),
        };
        if batch.len() > 1 {
            let half = batch.len() / 2;
            self.batch.fetch_min(half, Ordering::Relaxed);
            tracing::debug!(%error, half, "the service is sent fewer texts at once");
            let mut first = batch;
            let second = first.split_off(half);
            return Ok((Vec::new(), vec![first, second]));
        }
        // A text that the service finds too long is known by its beginning.
        match batch.into_iter().next() {
            Some((at, mut text)) if text.len() > SHORTEST_TEXT => {
                text.truncate(text.floor_char_boundary((text.len() / 4).max(SHORTEST_TEXT)));
                Ok((Vec::new(), vec![vec![(at, text)]]))
            }
            _ => Err(error),
        }
    }

    /// The texts in batches, so that the first is taken from the end.
    fn batches(&self, texts: &[&str]) -> Vec<Batch> {
        // Services refuse empty texts; their vectors stay zero.
        let sent: Vec<(usize, &str)> =
            texts.iter().enumerate().map(|(at, text)| (at, cut(text))).filter(|(_, text)| !text.is_empty()).collect();
        let (mut rest, mut batches) = (&sent[..], Vec::new());
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_length(rest, self.batch.load(Ordering::Relaxed)));
            batches.push(batch.iter().map(|(at, text)| (*at, (*text).to_owned())).collect());
            rest = later;
        }
        batches.reverse();
        batches
    }
}

#[async_trait]
impl Embedder for Remote {
    fn model(&self) -> &str {
        &self.0.name
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions.get().copied().unwrap_or(0)
    }

    async fn embed(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut waiting = self.0.batches(texts);
        // Dropped, they end: nothing goes on being asked for somebody who has gone.
        let mut under_way = JoinSet::new();
        let most = if self.0.client.is_here { 1 } else { IN_FLIGHT };
        loop {
            while under_way.len() < most
                && let Some(batch) = waiting.pop()
            {
                under_way.spawn(Arc::clone(&self.0).send(batch, mode));
            }
            let Some(done) = under_way.join_next().await else { break };
            let done = done.unwrap_or_else(|_| Err(self.0.client.unreachable("the request was given up")));
            let (given, left) = done?;
            for (at, vector) in given {
                vectors[at] = vector;
            }
            waiting.extend(left.into_iter().rev());
        }
        let length = self.dimensions();
        vectors.iter_mut().filter(|vector| vector.is_empty()).for_each(|vector| vector.resize(length, 0.0));
        Ok(vectors)
    }

    async fn embed_query(&self, text: &str, limit: Duration) -> Result<Vec<f32>, EmbedError> {
        let text = cut(text);
        if text.is_empty() {
            return Ok(vec![0.0; self.dimensions()]);
        }
        Ok(self.0.request(&[text], Mode::Query, Some(limit)).await?.pop().unwrap_or_default())
    }
}

/// How many of the texts, at least one, go into the next request.
fn batch_length(texts: &[(usize, &str)], most: usize) -> usize {
    let mut bytes = 0;
    let fitting = texts.iter().take(most).take_while(|(_, text)| {
        bytes += text.len();
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1)
}

fn cut(text: &str) -> &str {
    let text = text.trim();
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// The whole address of a service.
fn uri(service: Service, configured: Option<&str>) -> Result<Uri, EmbedError> {
    let text = configured.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(service.default_endpoint());
    let bad = |what: &str| EmbedError::BadEndpoint { endpoint: endpoint::shown(text), what: what.to_owned() };
    let given: Uri = text.parse().map_err(|_| bad("it is not an address"))?;
    if !matches!(given.scheme_str(), Some("http" | "https")) {
        return Err(bad("it must begin with http:// or https://"));
    }
    if given.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(bad("it holds credentials, which belong in `api_key`"));
    }
    let path = service.path(given.path());
    let path = given.query().map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
    let mut parts: Parts = given.into_parts();
    parts.path_and_query = Some(path.parse::<PathAndQuery>().map_err(|_| bad("it is not an address"))?);
    Uri::from_parts(parts).map_err(|_| bad("it is not an address"))
}

fn make_one_long(vector: &mut [f32]) {
    let norm = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if norm > 0.0 {
        for value in vector {
            #[expect(clippy::cast_possible_truncation, reason = "computed with more digits than are kept")]
            let shorter = (f64::from(*value) / norm) as f32;
            *value = shorter;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_or_refused() {
        let check = |configured: Option<&str>, expected: Result<&str, &str>| {
            let found = uri(Service::CortexEmbed, configured).map(|uri| uri.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{configured:?}: {found:?}"),
            }
        };
        check(None, Ok("http://localhost:8121/embed"));
        check(Some(" "), Ok("http://localhost:8121/embed"));
        check(Some("http://127.0.0.1:9"), Ok("http://127.0.0.1:9/embed"));
        check(Some("https://example.com/a?b=c"), Ok("https://example.com/a?b=c"));
        check(Some("localhost:8121"), Err("http://"));
        check(Some("ftp://example.com"), Err("http://"));
        check(Some("http://"), Err("not an address"));
        check(
            Some("https://ada:secret@example.com"),
            Err("`https://example.com` cannot be used: it holds credentials"),
        );
    }

    #[test]
    fn batches_are_bounded() {
        let (short, long) = ("x".repeat(100), "x".repeat(LONGEST_TEXT));
        let check = |text: &str, count: usize, expected: usize| {
            let texts: Vec<(usize, &str)> = (0..count).map(|at| (at, text)).collect();
            assert_eq!(batch_length(&texts, BATCH_TEXTS), expected);
        };
        check(&short, 3, 3);
        check(&short, 100, BATCH_TEXTS);
        check(&long, 100, 8);
        check(&"x".repeat(BATCH_BYTES + 1), 2, 1);
        assert_eq!(cut(&format!(" {}", "ä".repeat(LONGEST_TEXT))).len(), LONGEST_TEXT);
    }
}
