//! What a client takes as an answer, and what it says it sent.

use http::{
    HeaderMap,
    header::{ACCEPT, CONTENT_TYPE},
};

/// The forms in which a client takes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// One JSON text or a stream of events, as the protocol wants it.
    Both,
    /// One JSON text: what simple clients say, and those that say nothing.
    Json,
    /// A stream of events.
    Events,
    /// Nothing that there is.
    Nothing,
}

impl Takes {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let (mut json, mut events, mut any) = (false, false, !headers.contains_key(ACCEPT));
        for range in
            headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','))
        {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|q| q.parse::<f32>().ok());
            if weight == Some(0.0) {
                continue;
            }
            match media.as_str() {
                "application/json" | "application/*" => json = true,
                "text/event-stream" | "text/*" => events = true,
                "*/*" => any = true,
                _ => {}
            }
        }
        match (json || any, events) {
            (true, true) => Self::Both,
            (true, false) => Self::Json,
            (false, true) => Self::Events,
            (false, false) => Self::Nothing,
        }
    }

    /// Whether it takes a stream of events.
    pub(super) fn events(self) -> bool {
        matches!(self, Self::Both | Self::Events)
    }
}

/// Whether a body says that it is JSON, in the one encoding that is read (RFC 8259, section 8.1).
pub fn is_json(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let mut parts = text.split(';').map(str::trim);
    let is_utf8 = |parameter: &str| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let value = value.trim().trim_matches('"');
            ["utf-8", "utf8", "us-ascii"].iter().any(|charset| value.eq_ignore_ascii_case(charset))
        }
        _ => true,
    };
    parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json")) && parts.all(is_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_what_one_takes_is_understood() {
        for (accept, expected) in [
            (None, Takes::Json),
            (Some("*/*"), Takes::Json),
            (Some("application/json"), Takes::Json),
            (Some("Application/JSON; charset=utf-8"), Takes::Json),
            (Some("text/event-stream, application/json"), Takes::Both),
            (Some("text/event-stream, */*;q=0.1"), Takes::Both),
            (Some("text/event-stream"), Takes::Events),
            (Some("text/event-stream, application/json;q=0"), Takes::Events),
            (Some("text/html"), Takes::Nothing),
            (Some("application/json-seq"), Takes::Nothing),
            (Some(""), Takes::Nothing),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(Takes::of(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn only_json_is_json() {
        for (kind, expected) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("application/json;CHARSET=\"UTF-8\"", true),
            ("application/json; charset=utf8; x=y", true),
            ("application/json; x=charset", true),
            ("application/json; charset=us-ascii", true),
            ("application/json; charset=utf-16", false),
            ("application/json; x=y; charset = iso-8859-1", false),
            ("application/json; charset=utf-8; charset=utf-16", false),
            ("application/json; charset=", false),
            ("application/jsonp", false),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(is_json(&headers), expected, "{kind}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
