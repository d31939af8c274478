//! Why a request has no answer, and how the host is told.

use std::{fmt, time::Duration};

use serde_json::Value;
use ureq::http::StatusCode;

use super::message::error_response;
use crate::http::{is_late, is_untrusted, presentable, shortened, was_never_sent};

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The time was up.
    Late(u64),
    /// No connection was made: the server has not seen the request.
    NoConnection(String),
    /// The server could not show that it is the one that was meant.
    Untrusted(String),
    /// The connection broke: the server may have seen the request, and may have done it.
    Broken(String),
    /// The server does not take the token, or there is none.
    Unauthorized(String),
    /// The server does not know the session.
    SessionLost,
    /// The server refused for the moment, and has done nothing yet. It may say for how long it wants to be left alone.
    NotNow(StatusCode, String, Option<Duration>),
    /// The server refused otherwise.
    Refused(StatusCode, String),
    /// What came is no answer.
    Nonsense(String),
    /// The host took the request back, or the bridge ends: nobody waits for an answer.
    Dropped,
}

/// For the log.
impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(seconds) => write!(f, "no answer within {seconds} seconds"),
            Self::NoConnection(detail)
            | Self::Untrusted(detail)
            | Self::Broken(detail)
            | Self::Unauthorized(detail)
            | Self::Nonsense(detail) => f.write_str(detail),
            Self::SessionLost => f.write_str("the server does not know the session"),
            Self::NotNow(status, detail, _) | Self::Refused(status, detail) => write!(f, "{status}: {detail}"),
            Self::Dropped => f.write_str("nobody waits for the answer"),
        }
    }
}

impl Trouble {
    /// What a fault of the connection is.
    pub(super) fn of(error: &ureq::Error, seconds: u64) -> Self {
        if was_never_sent(error) {
            Self::NoConnection(presentable(error))
        } else if is_late(error) {
            Self::Late(seconds)
        } else if is_untrusted(error) {
            Self::Untrusted(presentable(error))
        } else {
            match error {
                ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => Self::Nonsense(presentable(error)),
                _ => Self::Broken(presentable(error)),
            }
        }
    }

    /// How long the server wants to be left alone, where it says so.
    pub(super) fn pause_wanted(&self) -> Option<Duration> {
        match self {
            Self::NotNow(_, _, pause) => *pause,
            _ => None,
        }
    }

    /// Whether the same request may be tried again.
    pub(super) fn is_passing(&self, read_only: bool) -> bool {
        match self {
            Self::NoConnection(_) | Self::NotNow(..) => true,
            Self::Broken(_) => read_only,
            Self::Refused(status, _) => read_only && matches!(status.as_u16(), 429 | 502..=504),
            _ => false,
        }
    }

    /// Whether a stream that has no end may be asked for again: all that another time may change.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Late(_)) || self.is_passing(true)
    }

    /// The answer for the host; `None` where nobody waits for one.
    pub(super) fn response(&self, id: &Value, url: &str) -> Option<Value> {
        let (message, detail) = match self {
            Self::Late(seconds) => {
                (format!("Request timed out after {seconds} seconds"), format!("{url} did not answer in time"))
            }
            Self::NoConnection(detail) | Self::Untrusted(detail) => {
                (format!("Connection failed to {url}"), detail.clone())
            }
            Self::Broken(detail) => (format!("Connection lost to {url}"), detail.clone()),
            Self::Unauthorized(detail) => ("Authentication failed: 401 Unauthorized".to_owned(), detail.clone()),
            Self::SessionLost => {
                ("Session lost".to_owned(), format!("{url} does not know the session, and gives no other"))
            }
            Self::Refused(status, detail) | Self::NotNow(status, detail, _) if status.is_server_error() => {
                (format!("Server error: {status}"), detail.clone())
            }
            Self::Refused(status, detail) | Self::NotNow(status, detail, _) => {
                (format!("HTTP error: {status}"), detail.clone())
            }
            Self::Nonsense(detail) => (format!("The answer of {url} cannot be understood"), detail.clone()),
            Self::Dropped => return None,
        };
        Some(error_response(id, -32000, &message, &shortened(&detail)))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_certificate_that_is_not_accepted_is_no_fault_of_a_gateway() {
        let refused = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let trouble = Trouble::of(&ureq::Error::Io(io::Error::new(io::ErrorKind::InvalidData, refused)), 1);
        assert!(!trouble.is_passing(true) && !trouble.may_pass(), "asking again changes nothing: {trouble:?}");
        let told = trouble.response(&json!(1), "https://lore.example.com").unwrap();
        assert_eq!(told["error"]["message"], "Connection failed to https://lore.example.com");
        assert!(told["error"]["data"]["detail"].as_str().unwrap().contains("UnknownIssuer"), "{told}");
    }
}
