//! Embedding services elsewhere, behind the same trait as the built-in model.
//!
//! Requests are blocking calls: only a few are under way at once, so that an asynchronous client would bring its dependencies
//! and gain nothing.

mod client;
mod service;

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use lore_model::{Cancel, without_secrets};
use ureq::http::{
    Uri,
    uri::{Parts, PathAndQuery},
};

use crate::{EmbedError, Embedder, Mode, ProviderConfig, error::LENGTHS};
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

/// After so many texts in a row that a service did not take, it is asked whether it takes anything.
const DOUBT_AFTER: usize = 3;

/// What it is asked then.
const PROBE: &str = "hello";

/// After so many requests that were as large as the service took, it is tried with larger ones again.
const GROW_AFTER: usize = 32;

/// A service.
pub(crate) struct Remote(Inner);

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
    /// How many requests of that size it took since.
    taken: AtomicUsize,
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
        let place = other_place(service, &uri)?;
        let client = Client::new(uri, config)?;
        let length = config.dimensions.map_or_else(String::new, |length| format!("@{length}"));
        let name = format!("{}:{}{length}{place}", service.name(), asked.as_deref().unwrap_or("default"));
        let dimensions = OnceLock::new();
        if let Some(length) = config.dimensions {
            dimensions.get_or_init(|| length);
        }
        let (configured, batch) = (config.dimensions, AtomicUsize::new(BATCH_TEXTS));
        let taken = AtomicUsize::new(0);
        Ok(Self(Inner { service, client, asked, configured, dimensions, batch, taken, name }))
    }
}

/// Some of the texts, as places among all.
struct Batch {
    texts: Vec<(usize, String)>,
    /// Set where it is one half of what was refused.
    half: Option<Arc<Half>>,
}

/// The halves of a batch that was refused. Only where both are taken it was too large: else it holds a text that the
/// service does not take at all, which says nothing about others.
struct Half {
    length: usize,
    left: AtomicUsize,
}

/// What became of a batch.
enum Done {
    Given(Vec<(usize, Vec<f32>)>),
    /// It is to be asked for in parts; whether the service may be unable to answer anything.
    Parts(Vec<Batch>, EmbedError, bool),
    /// The service does not take this one text.
    Refused(usize, EmbedError),
}

impl Inner {
    fn request(&self, texts: &[&str], mode: Mode, hurry: Option<Duration>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let asked = Asked { model: self.asked.as_deref(), dimensions: self.configured, mode };
        let body = self.service.request(&asked, texts).to_string().into_bytes();
        let usual = match mode {
            Mode::Query => self.client.timeout,
            Mode::Passage => self.client.passages_timeout,
        };
        let answer = self.client.post(body, hurry.unwrap_or(usual), hurry.is_some())?;
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
    fn send(&self, batch: Batch, mode: Mode) -> Result<Done, EmbedError> {
        let texts: Vec<&str> = batch.texts.iter().map(|(_, text)| text.as_str()).collect();
        let error = match self.request(&texts, mode, None) {
            Ok(vectors) => {
                self.learn(&batch);
                return Ok(Done::Given(batch.texts.iter().map(|(at, _)| *at).zip(vectors).collect()));
            }
            Err(error) => error,
        };
        let is_passage = mode == Mode::Passage;
        let is_late = matches!(error, EmbedError::Timeout { .. });
        // What may be due to one of the texts, and as well to a service that does not work.
        let is_doubtful = matches!(error, EmbedError::Status { status: 500.., .. } | EmbedError::Malformed { .. });
        let is_refused = matches!(error, EmbedError::Status { status: 400 | 413 | 422, .. });
        if !is_refused && !(is_passage && (is_late || is_doubtful)) {
            return Err(error);
        }
        let Batch { mut texts, .. } = batch;
        if texts.len() > 1 {
            let length = texts.len() / 2;
            tracing::debug!(%error, length, "the service is sent fewer texts at once");
            let half = Some(Arc::new(Half { length, left: AtomicUsize::new(2) }));
            let second = Batch { texts: texts.split_off(length), half: half.clone() };
            return Ok(Done::Parts(vec![Batch { texts, half }, second], error, is_doubtful));
        }
        match texts.pop() {
            _ if is_late => Err(error),
            // A text that the service finds too long is known by its beginning.
            Some((at, mut text)) if text.len() > SHORTEST_TEXT => {
                text.truncate(text.floor_char_boundary((text.len() / 4).max(SHORTEST_TEXT)));
                Ok(Done::Parts(vec![Batch { texts: vec![(at, text)], half: None }], error, is_doubtful))
            }
            Some((at, _)) if is_passage => Ok(Done::Refused(at, error)),
            _ => Err(error),
        }
    }

    /// Remembers how much the service takes at once.
    fn learn(&self, batch: &Batch) {
        if let Some(half) = &batch.half
            && half.left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.batch.fetch_min(half.length, Ordering::Relaxed);
            self.taken.store(0, Ordering::Relaxed);
            return;
        }
        let most = self.batch.load(Ordering::Relaxed);
        if most < BATCH_TEXTS
            && batch.texts.len() >= most
            && self.taken.fetch_add(1, Ordering::Relaxed) + 1 >= GROW_AFTER
        {
            self.batch.store((most * 2).min(BATCH_TEXTS), Ordering::Relaxed);
            self.taken.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the service gives vectors at all at this moment.
    fn works(&self) -> bool {
        self.request(&[PROBE], Mode::Passage, Some(self.client.timeout)).is_ok()
    }

    /// The texts in batches, so that the first is taken from the end.
    fn batches(&self, texts: &[&str]) -> Vec<Batch> {
        // Services refuse empty texts; their vectors stay zero.
        let sent: Vec<(usize, &str)> =
            texts.iter().enumerate().map(|(at, text)| (at, cut(text))).filter(|(_, text)| !text.is_empty()).collect();
        let (mut rest, mut batches) = (&sent[..], Vec::new());
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_length(rest, self.batch.load(Ordering::Relaxed)));
            let texts = batch.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
            batches.push(Batch { texts, half: None });
            rest = later;
        }
        batches.reverse();
        batches
    }
}

impl Embedder for Remote {
    fn model(&self) -> &str {
        &self.0.name
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions.get().copied().unwrap_or(0)
    }

    fn embed(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        let cancel = Cancel::current().child();
        thread::scope(|scope| {
            // After a failure the other requests are not waited for.
            let _failed = cancel.on_drop();
            self.embed_batches(texts, |batch| {
                let cancel = &cancel;
                scope.spawn(move || {
                    let _entered = cancel.enter();
                    self.0.send(batch, mode)
                })
            })
        })
    }

    fn embed_query(&self, text: &str, limit: Duration) -> Result<Vec<f32>, EmbedError> {
        let text = cut(text);
        if text.is_empty() {
            return Ok(vec![0.0; self.dimensions()]);
        }
        Ok(self.0.request(&[text], Mode::Query, Some(limit))?.pop().unwrap_or_default())
    }
}

impl Remote {
    /// Embeds texts in batches, of which `start` sends each on a thread of its own.
    fn embed_batches<'scope>(
        &self,
        texts: &[&str],
        start: impl Fn(Batch) -> ScopedJoinHandle<'scope, Result<Done, EmbedError>>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut waiting = self.0.batches(texts);
        let mut in_flight = VecDeque::new();
        let most = if self.0.client.is_here { 1 } else { IN_FLIGHT };
        // Texts that were not taken, and how many of them since the service was last seen to work.
        let (mut refused, mut in_doubt) = (Vec::new(), 0);
        let (mut works, mut has_given) = (false, false);
        loop {
            while in_flight.len() < most
                && let Some(batch) = waiting.pop()
            {
                in_flight.push_back(start(batch));
            }
            let Some(oldest) = in_flight.pop_front() else { break };
            match oldest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))? {
                Done::Given(given) => {
                    (works, has_given, in_doubt) = (true, true, 0);
                    for (at, vector) in given {
                        vectors[at] = vector;
                    }
                }
                Done::Parts(parts, error, is_doubtful) => {
                    if is_doubtful && !works && !self.0.works() {
                        return Err(error);
                    }
                    works |= is_doubtful;
                    waiting.extend(parts.into_iter().rev());
                }
                Done::Refused(at, error) => {
                    in_doubt += 1;
                    if !works || in_doubt >= DOUBT_AFTER {
                        if !self.0.works() {
                            return Err(error);
                        }
                        (works, in_doubt) = (true, 0);
                    }
                    refused.push((at, error));
                }
            }
        }
        // No vector is made up for a text because the service stopped to work meanwhile.
        if !refused.is_empty() && (!has_given || (in_doubt > 0 && !self.0.works())) {
            return Err(refused.swap_remove(0).1);
        }
        for (at, error) in refused {
            tracing::warn!(
                model = self.0.name,
                bytes = texts[at].len(),
                status = status(&error),
                "the embedding service does not take a text: it is not found by meaning"
            );
        }
        let length = self.dimensions();
        vectors.iter_mut().filter(|vector| vector.is_empty()).for_each(|vector| vector.resize(length, 0.0));
        Ok(vectors)
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
    let bad = |what: &str| EmbedError::BadEndpoint { endpoint: without_secrets(text), what: what.to_owned() };
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

/// What tells a service in another place than the usual one from others with a model of the same name: nothing for the
/// usual place, else `#` and eight digits, computed without query and credentials.
fn other_place(service: Service, uri: &Uri) -> Result<String, EmbedError> {
    let place = place(uri);
    if place == place_of_default(service)? {
        return Ok(String::new());
    }
    // FNV-1a.
    let hash = place.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Ok(format!("#{hash:08x}"))
}

fn place_of_default(service: Service) -> Result<String, EmbedError> {
    uri(service, None).map(|uri| place(&uri))
}

/// Scheme, host, port and path.
fn place(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let host = if ["127.0.0.1", "[::1]"].contains(&host.as_str()) { "localhost" } else { &host };
    format!("{scheme}://{host}:{port}{}", uri.path())
}

/// What went wrong with one text, in a word: answers may repeat the text.
fn status(error: &EmbedError) -> String {
    match error {
        EmbedError::Status { status, .. } => status.to_string(),
        _ => "malformed".to_owned(),
    }
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
    fn another_place_is_another_name() {
        let name = |endpoint: Option<&str>| {
            let config = ProviderConfig {
                model: Some("m".to_owned()),
                endpoint: endpoint.map(str::to_owned),
                ..ProviderConfig::default()
            };
            Remote::new(Service::Ollama, &config).unwrap_or_else(|error| panic!("{error}")).model().to_owned()
        };
        for usual in [None, Some("http://LOCALHOST:11434/"), Some("http://127.0.0.1:11434/api/embed?key=x")] {
            assert_eq!(name(usual), "ollama:m");
        }
        let other = name(Some("http://example.com:80/api?key=x"));
        assert!(other.starts_with("ollama:m#") && other.len() == "ollama:m#".len() + 8, "{other}");
        assert_eq!(other, name(Some("http://example.com")));
        assert_ne!(other, name(Some("http://example.com:81")));
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
