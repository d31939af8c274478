//! Addresses that somebody gives: of repositories to clone, of servers, of hosts that are allowed.

use lore_git::{CloneUrl, HostRule, RemotePolicy};
use lore_remote::{PlainHttp, ServerUrl};

use crate::bytes::text;

pub(super) fn run(bytes: &[u8]) {
    let text = text(bytes);
    clone(&text);
    server(&text);
    drop(HostRule::parse(&text));
}

/// What is taken can be no option and no program, and a policy lets only plain addresses pass.
fn clone(text: &str) {
    CloneUrl::looks_like(text);
    let url = match CloneUrl::parse(text) {
        Ok(url) => url,
        Err(error) => {
            // Where somebody writes a password, nobody is told it.
            if let Some(secret) = secret(text) {
                let told = error.to_string();
                assert!(!told.contains(&secret), "{told}");
            }
            return;
        }
    };
    assert_eq!(url.as_str(), text);
    assert!(!text.starts_with('-') && !text.chars().any(char::is_control), "{text:?}");
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    assert!(scheme.is_none_or(|scheme| ["https", "http", "ssh", "git", "file"].contains(&scheme)), "{text:?}");
    assert!(scheme.is_some() || !text.contains("::"), "{text:?} names a program of git's");
    assert!(!url.base_name().contains(['/', ':']), "{text:?}");
    if RemotePolicy::default().check(&url).is_ok() {
        let is_secure = text.starts_with("https://") || text.starts_with("ssh://") || scheme.is_none();
        assert!(is_secure && text.chars().all(|c| c.is_ascii_graphic()), "{text:?}");
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let end = if scheme.is_some() { rest.find(['/', '?', '#']) } else { rest.find(':') };
        let authority = &rest[..end.unwrap_or(rest.len())];
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':');
        assert!(!host.is_empty() && !host.starts_with('-') && host.chars().all(is_plain), "{text:?}");
        assert!(!user.starts_with('-') && !user.contains([':', '@', '/']), "{text:?}");
    }
}

/// Each server has one spelling, and credentials are neither taken nor told.
fn server(text: &str) {
    for plain in [PlainHttp::ThisMachineOnly, PlainHttp::Allowed] {
        match ServerUrl::parse(text, plain) {
            Ok(url) => {
                let again = ServerUrl::parse(url.as_str(), plain);
                assert_eq!(again.as_ref().map_err(|failure| failure.message.clone()), Ok(&url), "one spelling");
                let authority = url.as_str().split('/').nth(2).unwrap_or_default();
                assert!(!authority.contains('@') && !url.as_str().contains(['?', '#', ' ']), "{url}");
                assert!(url.is_encrypted() || url.is_this_machine() || plain == PlainHttp::Allowed, "{url}");
                let mcp = url.mcp(None).expect("it has an endpoint");
                assert_eq!(ServerUrl::parse(&mcp, plain).as_ref().ok(), Some(&url), "{mcp} is the same server");
            }
            Err(failure) => {
                if let Some(secret) = secret(text.trim()) {
                    assert!(!failure.message.contains(&secret), "{}", failure.message);
                }
            }
        }
    }
}

/// A password in an address, long enough to be told from the rest.
fn secret(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (user, host) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    let is_told =
        password.len() < 6 || host.contains(password) || text.matches(password).count() > 1 || text.len() > 100;
    (!is_told).then(|| password.to_owned())
}
