//! Requests to a team server: paths, queries, the header with the token.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue, Method, header};
use lore_server::fuzz::{paths, query, route, token};

use crate::bytes::{first_line, text};

static PATHS: LazyLock<Vec<(Method, &str)>> = LazyLock::new(paths);

/// The first line is a path with a query, each other one the value of a header.
pub(super) fn run(bytes: &[u8]) {
    let (target, rest) = first_line(bytes);
    let target = text(target);
    let (path, asked) = target.split_once('?').unwrap_or((&target, ""));
    for method in [Method::GET, Method::POST, Method::DELETE, Method::PATCH, Method::HEAD, Method::PUT] {
        check_route(&method, path);
    }
    check_query(asked);
    check_token(rest);
}

/// Each line is a header.
fn check_token(lines: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n').take(3) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(header::AUTHORIZATION, value);
        }
    }
    let Some(token) = token(&headers) else { return };
    assert_eq!(headers.len(), 1, "two headers are none");
    assert!(token.is_ascii() && token.trim() == token, "{token:?}");
    let value = headers[header::AUTHORIZATION].to_str().expect("it is text").trim().to_lowercase();
    assert!(value.starts_with("bearer") && value.ends_with(&token.to_lowercase()), "{value:?}");
}

/// One path of the table for each request, and what is named is what stands there.
fn check_route(method: &Method, path: &str) {
    let meant = if *method == Method::HEAD { &Method::GET } else { method };
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |(known, pattern): &(Method, &'static str)| {
        let pattern: Vec<&str> = pattern.split('/').collect();
        let same =
            |(ours, theirs): (&&str, &&str)| if ours.starts_with('{') { is_named(theirs) } else { ours == theirs };
        known == meant && pattern.len() == parts.len() && pattern.iter().zip(&parts).all(same)
    };
    let expected: Vec<&(Method, &str)> = PATHS.iter().filter(|path| fits(path)).collect();
    assert!(expected.len() < 2, "{path:?} is one path: {expected:?}");
    let found = route(method, path);
    assert_eq!(found.as_ref().map(|(path, _)| *path), expected.first().map(|(_, path)| *path), "{path:?}");
    if let Some((pattern, named)) = found {
        let places = pattern.split('/').zip(&parts).filter(|(ours, _)| ours.starts_with('{'));
        let expected: Vec<String> = places.filter_map(|(_, theirs)| decoded(theirs)).collect();
        assert_eq!(named, expected, "{path:?}");
    }
}

fn is_named(text: &str) -> bool {
    !text.is_empty() && decoded(text).is_some()
}

fn decoded(text: &str) -> Option<String> {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let escaped = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| bytes[at] == b'%');
        decoded.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).ok()
}

/// Each parameter once, and of its kind.
fn check_query(text: &str) {
    let Some((limit, all, name)) = query(text) else { return };
    let given = |wanted: &str| {
        let pairs = text.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let values: Vec<String> = pairs
            .filter(|(name, _)| decoded(&name.replace('+', " ")).as_deref() == Some(wanted))
            .filter_map(|(_, value)| decoded(&value.replace('+', " ")))
            .collect();
        assert!(values.len() < 2, "{text:?} has {wanted} twice");
        values.into_iter().next().filter(|value| !value.is_empty())
    };
    assert_eq!(limit, given("limit").and_then(|value| value.parse().ok()), "{text:?}");
    assert_eq!(all.map(|all| all.to_string()), given("all"), "{text:?}");
    assert_eq!(name, given("name"), "{text:?}");
}
