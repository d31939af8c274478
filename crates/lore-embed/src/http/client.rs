//! One request: bounded in time and size, sent again where that may help.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use lore_model::{Cancel, is_this_machine, without_secrets};
use ureq::{
    Agent, Proxy,
    http::{HeaderValue, Uri, header},
    tls::{Certificate, RootCerts, TlsConfig},
};

use crate::{EmbedError, Patience, ProviderConfig};

/// How long a question may take, and how long many passages may.
const TIMEOUT: Duration = Duration::from_secs(30);
const PASSAGES_TIMEOUT: Duration = Duration::from_mins(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest answer: 64 vectors of 4,096 numbers fit, so that a wrong length is told as such.
const LARGEST_ANSWER: u64 = 16 << 20;

/// How much of a refusal is read, and how much of it is shown.
const LARGEST_REFUSAL: u64 = 64 << 10;
const SHOWN_REFUSAL: usize = 300;

/// A service's address and how to talk to it.
#[derive(Clone)]
pub(super) struct Client {
    agent: Agent,
    uri: Uri,
    authorization: Option<HeaderValue>,
    key: Option<String>,
    /// How long a request of questions may take, and one of passages.
    pub(super) timeout: Duration,
    pub(super) passages_timeout: Duration,
    patience: Patience,
    /// Whether it is on this machine.
    pub(super) is_here: bool,
    /// The address as it may be shown.
    pub(super) endpoint: String,
}

/// Why an attempt failed.
struct Refusal {
    error: EmbedError,
    /// Whether another attempt may help.
    passing: bool,
    /// How long the service wants to be left alone.
    wants: Option<Duration>,
}

impl Client {
    pub(super) fn new(uri: Uri, config: &ProviderConfig) -> Result<Self, EmbedError> {
        let endpoint = without_secrets(&uri.to_string());
        let timeout = config.timeout.unwrap_or(TIMEOUT);
        let passages_timeout = config.timeout.unwrap_or(PASSAGES_TIMEOUT);
        let key = config.api_key.as_ref().map(|key| key.expose().to_owned()).filter(|key| !key.is_empty());
        let authorization = key.as_ref().map(|key| HeaderValue::from_str(&format!("Bearer {key}"))).transpose();
        let mut authorization = authorization.map_err(|_| EmbedError::BadKey)?;
        if let Some(value) = &mut authorization {
            value.set_sensitive(true);
        }
        let is_here = is_this_machine(uri.host().unwrap_or_default());
        let mut settings = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(timeout))
            .timeout_connect(Some(timeout.min(CONNECT_TIMEOUT)))
            .user_agent(concat!("lore/", env!("CARGO_PKG_VERSION")))
            // The usual variables of the environment, for services elsewhere. A service on this machine is not asked
            // through another one.
            .proxy(if is_here { None } else { Proxy::try_from_env() });
        if uri.scheme_str() == Some("https") {
            settings = settings.tls_config(tls(&endpoint)?);
        }
        let patience = config.patience;
        let agent = settings.build().into();
        Ok(Self { agent, uri, authorization, key, timeout, passages_timeout, patience, is_here, endpoint })
    }

    /// Sends a JSON body and gives the bytes of the answer, each attempt within that time.
    pub(super) fn post(&self, body: Vec<u8>, limit: Duration, once: bool) -> Result<Vec<u8>, EmbedError> {
        let (body, begun) = (Arc::new(body), Instant::now());
        let mut pause = self.patience.pause;
        for attempt in 1.. {
            let refusal = match self.attempt(&body, limit) {
                Ok(answer) => return Ok(answer),
                Err(refusal) => refusal,
            };
            let wait = refusal.wants.unwrap_or_else(|| varied(pause)).min(self.patience.longest);
            let has_time = begun.elapsed() + wait <= self.patience.total;
            if once || !refusal.passing || attempt >= self.patience.attempts || !has_time {
                return Err(refusal.error);
            }
            tracing::debug!(error = %refusal.error, ?wait, "the embedding service is asked again");
            if !Cancel::current().sleep(wait) {
                return Err(EmbedError::Cancelled);
            }
            pause *= 2;
        }
        Err(self.unreachable("it was not asked"))
    }

    /// One attempt, on a thread of its own: neither a request under way nor the lookup of a host can be interrupted.
    fn attempt(&self, body: &Arc<Vec<u8>>, limit: Duration) -> Result<Vec<u8>, Refusal> {
        let (client, body, cancel) = (self.clone(), Arc::clone(body), Cancel::current());
        cancel.run_detached(limit * 2, move || client.attempt_blocking(&body, limit)).unwrap_or_else(|| {
            Err(Refusal::last(if cancel.is_cancelled() { EmbedError::Cancelled } else { self.late(limit) }))
        })
    }

    fn attempt_blocking(&self, body: &[u8], limit: Duration) -> Result<Vec<u8>, Refusal> {
        let mut request = self.agent.post(&self.uri).header(header::CONTENT_TYPE, "application/json");
        if let Some(value) = &self.authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let request =
            request.config().timeout_global(Some(limit)).timeout_connect(Some(limit.min(CONNECT_TIMEOUT))).build();
        let mut response = request.send(body).map_err(|error| self.refusal(error, limit))?;
        let status = response.status();
        if status.is_success() {
            let answer = response.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
            return answer.map_err(|error| self.refusal(error, limit));
        }
        let wait = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let said = response.body_mut().with_config().limit(LARGEST_REFUSAL).read_to_vec().unwrap_or_default();
        let error = EmbedError::Status {
            endpoint: self.endpoint.clone(),
            status: status.as_u16(),
            answer: self.presentable(&String::from_utf8_lossy(&said)),
        };
        let passing = matches!(status.as_u16(), 408 | 429) || status.is_server_error();
        Err(Refusal { error, passing, wants: wait.map(Duration::from_secs) })
    }

    fn refusal(&self, error: ureq::Error, limit: Duration) -> Refusal {
        match error {
            ureq::Error::Timeout(_) => Refusal::last(self.late(limit)),
            ureq::Error::BodyExceedsLimit(limit) => {
                Refusal::last(self.malformed(&format!("it is longer than {} MiB", limit >> 20)))
            }
            ureq::Error::Io(error) if is_late(&error) => Refusal::last(self.late(limit)),
            ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => {
                Refusal { error: self.unreachable(&error.to_string()), passing: true, wants: None }
            }
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
                Refusal::last(self.malformed(&error.to_string()))
            }
            error => Refusal::last(self.unreachable(&error.to_string())),
        }
    }

    fn late(&self, after: Duration) -> EmbedError {
        EmbedError::Timeout { endpoint: self.endpoint.clone(), after }
    }

    pub(super) fn unreachable(&self, what: &str) -> EmbedError {
        EmbedError::Unreachable { endpoint: self.endpoint.clone(), what: self.presentable(what) }
    }

    pub(super) fn malformed(&self, what: &str) -> EmbedError {
        EmbedError::Malformed { endpoint: self.endpoint.clone(), what: self.presentable(what) }
    }

    /// One line of what a service said, without the key, which some services repeat.
    fn presentable(&self, said: &str) -> String {
        let without_key = self.key.as_ref().map_or_else(|| said.to_owned(), |key| said.replace(key, "(key)"));
        let printable = without_key.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        let line = printable.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHOWN_REFUSAL) {
            Some((end, _)) => format!("{} …", &line[..end]),
            None => line,
        }
    }
}

impl Refusal {
    fn last(error: EmbedError) -> Self {
        Self { error, passing: false, wants: None }
    }
}

/// A pause between a half and one and a half of this one.
fn varied(pause: Duration) -> Duration {
    let chance = RandomState::new().build_hasher().finish() % 1024;
    let share = u32::try_from(chance).unwrap_or(0) + 512;
    pause * share / 1024
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// The certificates of the system, so that a company's own authority counts.
fn tls(endpoint: &str) -> Result<TlsConfig, EmbedError> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        let what = "this machine has no certificates to check the service with".to_owned();
        return Err(EmbedError::Unreachable { endpoint: endpoint.to_owned(), what });
    }
    let roots: Vec<_> = found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}
