//! Embedding services elsewhere, behind the same trait as the built-in model.
//!
//! Requests are blocking calls on tokio's threads for such: batches go one after the other, so that an asynchronous
//! client would bring its dependencies and gain nothing.

mod client;
mod service;

use async_trait::async_trait;
use ureq::http::{
    Uri,
    uri::{Parts, PathAndQuery},
};

use crate::{DIMENSIONS, EmbedError, Embedder, Mode, ProviderConfig, endpoint};
use client::Client;
use service::Asked;
pub(crate) use service::Service;

/// The most texts in one request, and the most bytes unless one text alone has more.
const BATCH_TEXTS: usize = 64;
const BATCH_BYTES: usize = 128 << 10;

/// Longer texts are cut: models read some thousand tokens at most, and several services refuse more.
const LONGEST_TEXT: usize = 16 << 10;

/// A service that answered once.
pub(crate) struct Remote {
    service: Service,
    client: Client,
    /// The model as the service knows it.
    asked: Option<String>,
    dimensions: Option<usize>,
    /// The name of the vector space.
    name: String,
}

impl Remote {
    /// Checks the configuration, then asks the service for one vector.
    pub(crate) async fn connect(service: Service, config: &ProviderConfig) -> Result<Self, EmbedError> {
        let asked = config.model.as_deref().map(str::trim).filter(|model| !model.is_empty()).map(str::to_owned);
        if asked.is_none() && service.needs_model() {
            return Err(EmbedError::NoModel { provider: service.name().to_owned() });
        }
        if let Some(configured) = config.dimensions.filter(|dimensions| *dimensions != DIMENSIONS) {
            return Err(EmbedError::UnsupportedDimensions { configured });
        }
        let uri = uri(service, config.endpoint.as_deref())?;
        let client = Client::new(uri, config)?;
        let name = format!("{}:{}@{DIMENSIONS}", service.name(), asked.as_deref().unwrap_or("default"));
        let remote = Self { service, client, asked, dimensions: config.dimensions, name };
        remote.embed(&["hello"], Mode::Query).await?;
        Ok(remote)
    }

    async fn request(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        let asked = Asked { model: self.asked.as_deref(), dimensions: self.dimensions, mode };
        let body = self.service.request(&asked, texts).to_string().into_bytes();
        let answer = self.client.post(body).await?;
        let mut vectors = self.service.vectors(&answer, texts.len()).map_err(|what| self.client.malformed(&what))?;
        if let Some(wrong) = vectors.iter().find(|vector| vector.len() != DIMENSIONS) {
            return Err(EmbedError::WrongDimensions {
                model: self.name.clone(),
                expected: DIMENSIONS,
                got: wrong.len(),
            });
        }
        for vector in &mut vectors {
            make_one_long(vector);
        }
        Ok(vectors)
    }
}

#[async_trait]
impl Embedder for Remote {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    async fn embed(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = vec![vec![0.0; DIMENSIONS]; texts.len()];
        // Services refuse empty texts; their vectors stay zero.
        let sent: Vec<(usize, &str)> =
            texts.iter().enumerate().map(|(at, text)| (at, cut(text))).filter(|(_, text)| !text.is_empty()).collect();
        let mut rest = &sent[..];
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_length(rest));
            let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            for ((at, _), vector) in batch.iter().zip(self.request(&texts, mode).await?) {
                vectors[*at] = vector;
            }
            rest = later;
        }
        Ok(vectors)
    }
}

/// How many of the texts, at least one, go into the next request.
fn batch_length(texts: &[(usize, &str)]) -> usize {
    let mut bytes = 0;
    let fitting = texts.iter().take(BATCH_TEXTS).take_while(|(_, text)| {
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
            assert_eq!(batch_length(&texts), expected);
        };
        check(&short, 3, 3);
        check(&short, 100, BATCH_TEXTS);
        check(&long, 100, 8);
        check(&"x".repeat(BATCH_BYTES + 1), 2, 1);
        assert_eq!(cut(&format!(" {}", "ä".repeat(LONGEST_TEXT))).len(), LONGEST_TEXT);
    }
}
