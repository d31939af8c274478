//! Addresses as they may be shown, and whether they are this machine's. Nothing here decides what may be reached.

use std::net::IpAddr;

/// A URL without who asks, where that may be a secret: people write tokens there.
///
/// Of a URL that is not HTTP nothing is taken: `git@` of an SSH address is no secret, and the address is wrong without it.
pub fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| scheme.starts_with("http")) else {
        return url.to_owned();
    };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

/// A text of another program without who asks in every address that it names. A text is for people: unlike an address that is
/// used again, it does not need `git@` of an SSH address either.
pub fn without_users(text: &str) -> String {
    let (mut told, mut end) = (String::with_capacity(text.len()), 0);
    for (at, mark) in text.match_indices("://") {
        let authority = &text[at + mark.len()..];
        let ends = |c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace();
        let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
        if let Some(host) = authority.rfind('@') {
            told.push_str(&text[end..at + mark.len()]);
            end = at + mark.len() + host + 1;
        }
    }
    told + &text[end..]
}

/// An address of a service without every part in which people write keys: credentials, query and fragment.
pub fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

/// Whether the host of an address, without its port, is this machine by its name or number. Nothing is looked up.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_urls_of_repositories_are_not_shown() {
        for (url, shown) in [
            ("https://TOKEN@example.com/o/n.git", "https://example.com/o/n.git"),
            ("https://a:b@example.com", "https://example.com"),
            ("https://ghp_x@example.com/a@b", "https://example.com/a@b"),
            ("https://example.com/a@b", "https://example.com/a@b"),
            ("https://example.com", "https://example.com"),
            ("ssh://git@example.com/o/n", "ssh://git@example.com/o/n"),
            ("git@example.com:o/n", "git@example.com:o/n"),
        ] {
            assert_eq!(without_user(url), shown);
        }
    }

    #[test]
    fn tokens_in_what_a_program_says_are_not_shown() {
        for (text, shown) in [
            (
                "fatal: could not read Password for 'http://ghp_x@example.com': terminal prompts disabled",
                "fatal: could not read Password for 'http://example.com': terminal prompts disabled",
            ),
            (
                "a https://a:b@example.com/x, b HTTP://c@example.com:8080?d\nssh://git@example.com/o",
                "a https://example.com/x, b HTTP://example.com:8080?d\nssh://example.com/o",
            ),
            ("unable to access 'https://ada:s'e@cret@example.com/o/n/'", "unable to access 'https://example.com/o/n/'"),
            ("https://example.com/a@b and ada@example.com", "https://example.com/a@b and ada@example.com"),
            ("https://https://ada@example.com", "https://https://example.com"),
            ("https://example.com for ada@example.com", "https://example.com for ada@example.com"),
            ("git@example.com: Permission denied (publickey).", "git@example.com: Permission denied (publickey)."),
            ("https://ada@", "https://"),
            ("://", "://"),
            ("", ""),
        ] {
            assert_eq!(without_users(text), shown);
        }
    }

    #[test]
    fn nothing_secret_of_a_service_is_shown() {
        for (url, shown) in [
            ("http://localhost:8121/embed", "http://localhost:8121/embed"),
            ("https://ada:secret@example.com/v1?key=secret#secret", "https://example.com/v1"),
            ("https://ada:se@cret@example.com", "https://example.com"),
            ("ada:secret@example.com/x", "example.com/x"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }

    #[test]
    fn only_names_and_numbers_of_the_machine_itself_are_its_own() {
        for host in ["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "[::1]", "::1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", "[::2]", "0.0.0.0"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
