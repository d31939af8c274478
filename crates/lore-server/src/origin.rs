//! Which names the server is reached by, and which web pages may use it.
//!
//! The lists and the rules are those of [`lore_mcp::Allowed`]; here one is added: a page of the server's own origin is
//! allowed, whatever that origin is called.

use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, request::Parts};
use lore_mcp::{Allowed, Forbidden};
use lore_model::{Code, Failure};

use crate::{
    ServerOptions,
    answer::{HttpResponse, Refusal, empty},
};

/// A page that was allowed by name, and is told so.
#[derive(Debug, Clone)]
pub(crate) struct Page(HeaderValue);

/// The names and pages of a server.
pub(crate) fn allowed(options: &ServerOptions, public: Option<&str>) -> Result<Allowed, Failure> {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
    let address = options.listen.ip().to_canonical();
    // Every address is not a name.
    if !address.is_unspecified() {
        hosts.push(address.to_string());
    }
    if let Some((_, rest)) = public.and_then(|public| public.split_once("://")) {
        hosts.push(rest.split('/').next().unwrap_or(rest).to_owned());
    }
    hosts.extend(options.hosts.iter().cloned());
    Allowed::new(&hosts, &options.origins).map_err(|why| Failure::new(Code::InvalidArgument, why))
}

/// Refuses a request for another name and one from a foreign page; returns the page where one was allowed by name.
pub(crate) fn check(
    allowed: &Allowed,
    uri: &Uri,
    headers: &HeaderMap,
    scheme: &str,
) -> Result<Option<Page>, (Forbidden, Refusal)> {
    match allowed.check(uri, headers) {
        Ok(()) => Ok(headers.get(header::ORIGIN).cloned().map(Page)),
        Err(Forbidden::Origin) if is_own(uri, headers, scheme) => Ok(None),
        Err(forbidden) => {
            let refusal = Refusal::new(StatusCode::FORBIDDEN, Code::PermissionDenied, forbidden.message());
            let refusal = match forbidden {
                Forbidden::Host => refusal.hint("whoever runs the server names it with `--host NAME`"),
                Forbidden::Origin => refusal.hint("whoever runs the server allows pages with `--origin URL`"),
            };
            Err((forbidden, refusal))
        }
    }
}

/// Whether a request only looks whether the server is well. It learns nothing else, so it may call the server what it
/// likes; a page may not look even so.
pub(crate) fn is_probe(parts: &Parts) -> bool {
    let looks = parts.method == Method::GET || parts.method == Method::HEAD;
    looks && ["/healthz", "/readyz"].contains(&parts.uri.path()) && !parts.headers.contains_key(header::ORIGIN)
}

/// The host that a request names.
pub(crate) fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(header::HOST)?.to_str().ok(),
    }
}

/// Whether a request comes from a page of the very server that it asks. Its name was found to be in order before.
fn is_own(uri: &Uri, headers: &HeaderMap, scheme: &str) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
    let Some(host) = host(uri, headers) else { return false };
    origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
}

/// Whether a browser asks what a page may do.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Tells a browser what an allowed page may do. Which paths there are, it does not tell.
pub(crate) fn preflight() -> HttpResponse {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, accept, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, x-request-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Lets an allowed page read a response.
pub(crate) fn admit(page: Page, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page.0);
    let exposed = HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate, x-request-id");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}
