//! Endpoints as they may be shown.

/// An endpoint without the parts in which people write keys: credentials, query and fragment.
pub(crate) fn shown(endpoint: &str) -> String {
    let endpoint = endpoint.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = endpoint.split_once("://").map_or(("", endpoint), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        for (endpoint, expected) in [
            ("http://localhost:8121/embed", "http://localhost:8121/embed"),
            ("https://ada:secret@example.com/v1?key=secret#secret", "https://example.com/v1"),
            ("https://ada:se@cret@example.com", "https://example.com"),
            ("ada:secret@example.com/x", "example.com/x"),
            ("", ""),
        ] {
            assert_eq!(shown(endpoint), expected);
        }
    }
}
