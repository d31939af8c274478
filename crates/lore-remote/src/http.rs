//! How a server is reached: certificates, times, sizes, and what failures mean.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use lore_model::{Code, Failure};
use serde_json::Value;
use ureq::{
    Agent, Proxy,
    config::Config,
    http::{StatusCode, header},
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
};

use crate::{Secret, ServerUrl};

/// How long an ordinary call may take.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// So long a connection that nobody uses is kept. Lore's server closes one after 90 seconds, and most proxies after 60; a
/// request that meets that moment is lost.
const IDLE: Duration = Duration::from_secs(30);

/// The largest answer to an ordinary call, and how much of a refusal is read and shown.
const LARGEST_ANSWER: u64 = 16 << 20;
pub(crate) const LARGEST_REFUSAL: u64 = 64 << 10;
const SHOWN: usize = 400;

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// Where it is.
    pub url: ServerUrl,
    /// Certificates to trust besides those of the system: a team may have an authority of its own.
    pub ca_file: Option<PathBuf>,
}

/// A server and how to talk to it. Each agent that it gives has connections of its own.
#[derive(Debug, Clone)]
pub struct Connection {
    url: ServerUrl,
    config: Config,
}

impl Connection {
    /// Reads the certificates; nothing is asked of the server yet.
    pub fn new(options: &ConnectionOptions) -> Result<Self, Failure> {
        let url = options.url.clone();
        let mut settings = Agent::config_builder()
            .http_status_as_error(false)
            // A server's word is not a reason to send a token elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .max_idle_age(IDLE)
            .user_agent(concat!("lore/", env!("CARGO_PKG_VERSION")))
            .proxy(if url.is_this_machine() { None } else { Proxy::try_from_env() });
        if url.is_encrypted() {
            settings = settings.tls_config(tls(options)?);
        }
        Ok(Self { config: settings.build(), url })
    }

    /// Where the server is.
    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// A client of its own, whose connections are nobody else's.
    pub(crate) fn agent(&self) -> Agent {
        self.config.new_agent()
    }

    /// Makes one ordinary call and reads its answer as JSON.
    pub(crate) fn call(&self, agent: &Agent, call: &Call<'_>) -> Result<Value, Failure> {
        let address = format!("{}{}", self.url, call.path);
        let mut request = ureq::http::Request::builder().method(call.method).uri(&address);
        request = request.header(header::ACCEPT, "application/json");
        if let Some(bearer) = call.bearer {
            request = request.header(header::AUTHORIZATION, authorization(bearer)?);
        }
        let body = call.body.map(Value::to_string);
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let unfit = |_| Failure::new(Code::InvalidArgument, "the request cannot be written as HTTP");
        let sent = if let Some(body) = body {
            let request = request.body(body).map_err(unfit)?;
            agent.run(agent.configure_request(request).timeout_global(Some(CALL_TIMEOUT)).build())
        } else {
            let request = request.body(()).map_err(unfit)?;
            agent.run(agent.configure_request(request).timeout_global(Some(CALL_TIMEOUT)).build())
        };
        let mut response = sent.map_err(|error| self.failure(&error))?;
        let status = response.status();
        if !status.is_success() {
            let said = response.body_mut().with_config().limit(LARGEST_REFUSAL).read_to_vec().unwrap_or_default();
            return Err(self.refusal(status, &said));
        }
        let answer = response.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
        let answer = answer.map_err(|error| self.failure(&error))?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer).map_err(|error| self.nonsense(&error.to_string()))
    }

    /// What a fault of the connection means.
    pub(crate) fn failure(&self, error: &ureq::Error) -> Failure {
        let url = &self.url;
        match error {
            ureq::Error::BodyExceedsLimit(limit) => self.nonsense(&format!("it is longer than {} MiB", limit >> 20)),
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => self.nonsense(&error.to_string()),
            error if is_late(error) => {
                Failure::new(Code::ServerUnreachable, format!("{url} did not answer in time: {}", presentable(error)))
                    .hint("see that the server runs and that the address is right")
            }
            error if is_untrusted(error) => Failure::new(
                Code::ServerUnreachable,
                format!("the certificate of {url} is not accepted: {}", presentable(error)),
            )
            .hint("where your team has an authority of its own, name its certificate with `--ca-file FILE`"),
            error => Failure::new(Code::ServerUnreachable, format!("cannot reach {url}: {}", presentable(error)))
                .hint("see that the server runs and that the address is right"),
        }
    }

    /// What a refusal means: in the server's own words where it has some.
    pub(crate) fn refusal(&self, status: StatusCode, said: &[u8]) -> Failure {
        let url = &self.url;
        let said_json: Value = serde_json::from_slice(said).unwrap_or_default();
        let error = &said_json["error"];
        let by_name = error["code"].as_str().and_then(|name| Code::TABLE.iter().find(|row| row.name == name));
        let code = by_name.map_or_else(|| by_status(status), |row| row.code);
        let message = match error["message"].as_str() {
            Some(message) => shortened(message),
            None if status.is_redirection() => format!("{url} answers with a redirect, which is not followed"),
            None => format!("{url} answers {status}: {}", shortened(&String::from_utf8_lossy(said))),
        };
        let failure = Failure::new(code, message);
        match (error["hint"].as_str(), code) {
            (Some(hint), _) => failure.hint(shortened(hint)),
            (None, _) if status.is_redirection() => failure.hint("give the address at which the server itself answers"),
            (None, Code::Unauthenticated) => failure.hint(format!("`lore login {url}` logs in")),
            (None, Code::ServerUnreachable) => failure.hint("see that a Lore server answers at this address"),
            _ => failure,
        }
    }

    pub(crate) fn nonsense(&self, what: &str) -> Failure {
        let message = format!("the answer of {} cannot be understood: {}", self.url, shortened(what));
        Failure::new(Code::ServerUnreachable, message).hint("see that a Lore server answers at this address")
    }
}

/// One ordinary call.
pub(crate) struct Call<'a> {
    pub(crate) method: &'a str,
    /// Path and query, encoded.
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
    pub(crate) bearer: Option<&'a Secret>,
}

/// The header that shows who asks.
pub(crate) fn authorization(bearer: &Secret) -> Result<header::HeaderValue, Failure> {
    let unfit = || {
        Failure::new(Code::Unauthenticated, "the token holds characters that no token has")
            .hint("see how the variable was set: no quotes, no line end")
    };
    if bearer.expose().is_empty() || !bearer.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unfit());
    }
    let mut value = header::HeaderValue::from_str(&format!("Bearer {}", bearer.expose())).map_err(|_| unfit())?;
    value.set_sensitive(true);
    Ok(value)
}

fn by_status(status: StatusCode) -> Code {
    match status.as_u16() {
        400 | 413 | 422 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        409 => Code::Conflict,
        429 => Code::TooManyRequests,
        _ => Code::ServerUnreachable,
    }
}

/// Whether the time was up.
pub(crate) fn is_late(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(error) => is_late_io(error),
        _ => false,
    }
}

pub(crate) fn is_late_io(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
        || error.get_ref().is_some_and(|inner| inner.downcast_ref::<ureq::Error>().is_some_and(is_late))
}

/// Whether the server could not show that it is the one that was meant. Asking again changes nothing about that.
pub(crate) fn is_untrusted(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => true,
        // What goes wrong in the handshake comes as a fault of the connection.
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some(),
        _ => false,
    }
}

/// Whether no connection was made, so that the server cannot have seen anything.
pub(crate) fn was_never_sent(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => true,
        ureq::Error::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::AddrNotAvailable
        ),
        _ => false,
    }
}

/// One line of what went wrong.
pub(crate) fn presentable(error: &ureq::Error) -> String {
    shortened(&error.to_string())
}

/// One line, not too long, of what somebody else wrote. Gateways that repeat the headers of a request repeat its token, which
/// is left out: what is told here goes to screens, logs and agents.
pub(crate) fn shortened(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut words: Vec<&str> = printable.split_whitespace().collect();
    for at in 1..words.len() {
        // In JSON without blanks, the name of the header is part of that word.
        if words[at - 1].to_ascii_lowercase().ends_with("bearer") {
            words[at] = "(token)";
        }
    }
    let line = words.join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

/// The certificates of the system and those of the file.
fn tls(options: &ConnectionOptions) -> Result<TlsConfig, Failure> {
    let found = rustls_native_certs::load_native_certs().certs;
    let mut roots: Vec<_> = found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    if let Some(file) = &options.ca_file {
        let bad = |what: String| {
            Failure::new(Code::InvalidArgument, format!("{} holds no certificates: {what}", file.display()))
                .hint("`--ca-file` takes certificates in PEM form")
        };
        let pem = std::fs::read(file).map_err(|error| bad(error.to_string()))?;
        let before = roots.len();
        for item in parse_pem(&pem) {
            if let PemItem::Certificate(certificate) = item.map_err(|error| bad(error.to_string()))? {
                roots.push(certificate);
            }
        }
        if roots.len() == before {
            return Err(bad("there is none in it".to_owned()));
        }
    }
    if roots.is_empty() {
        let message = format!("this machine has no certificates to check {} with", options.url);
        return Err(Failure::new(Code::ServerUnreachable, message).hint("name the server's with `--ca-file FILE`"));
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlainHttp;

    #[test]
    fn a_token_that_is_repeated_is_not_told() {
        let check = |said: &str, told: &str| assert_eq!(shortened(said), told);
        check(
            "GET /mcp\r\nAuthorization: Bearer lore_pat_abc\r\nHost: x",
            "GET /mcp Authorization: Bearer (token) Host: x",
        );
        check(r#"{"authorization": "bearer eyJh.b.c"}"#, r#"{"authorization": "bearer (token)"#);
        check(r#"{"Authorization":"Bearer x","host":"y"}"#, r#"{"Authorization":"Bearer (token)"#);
        check("the bearer", "the bearer");
    }

    #[test]
    fn refusals_are_told_in_the_words_of_the_server() {
        let url = ServerUrl::parse("http://127.0.0.1:1", PlainHttp::default()).unwrap();
        let connection = Connection::new(&ConnectionOptions { url, ca_file: None }).unwrap();
        let check = |status: u16, said: &str, code: Code, message: &str, hint: Option<&str>| {
            let failure = connection.refusal(StatusCode::from_u16(status).unwrap(), said.as_bytes());
            assert_eq!((failure.code, failure.message.as_str()), (code, message));
            assert_eq!(failure.hint.as_deref(), hint);
        };
        let told = r#"{"error":{"code":"user_exists","message":"there is `ada`","hint":"choose another"}}"#;
        check(409, told, Code::UserExists, "there is `ada`", Some("choose another"));
        let new = r#"{"error":{"code":"of_the_future","message":"no\u0007\nway"}}"#;
        check(403, new, Code::PermissionDenied, "no way", None);
        check(
            302,
            "",
            Code::ServerUnreachable,
            "http://127.0.0.1:1 answers with a redirect, which is not followed",
            Some("give the address at which the server itself answers"),
        );
        check(
            502,
            "<html>\n bad gateway",
            Code::ServerUnreachable,
            "http://127.0.0.1:1 answers 502 Bad Gateway: <html> bad gateway",
            Some("see that a Lore server answers at this address"),
        );
    }
}
