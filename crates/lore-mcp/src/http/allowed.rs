//! Which names a server is reached by, and which web pages may speak to it.
//!
//! A page in somebody's browser can make requests to servers on their machine and in their network. It cannot choose the
//! `Host` and `Origin` that the browser sends, so a server that knows its own names and its pages is out of reach.

use std::net::Ipv6Addr;

use http::{
    HeaderMap, HeaderValue, Uri,
    header::{HOST, ORIGIN},
    uri::Authority,
};

/// The names that a server goes by and the origins of the pages that may use it.
#[derive(Debug, Clone)]
pub struct Allowed {
    hosts: Vec<Host>,
    origins: Vec<Origin>,
}

/// What a request is refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    /// It asks for a server of another name, or of none.
    Host,
    /// It comes from a page that is not on the list, or hides where it comes from.
    Origin,
}

impl Forbidden {
    /// What the client is told.
    pub fn message(self) -> &'static str {
        match self {
            Self::Host => "Forbidden: this Host is not one of the server's names",
            Self::Origin => "Forbidden: requests from this Origin are not allowed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Any,
    Named { name: String, port: Option<u16> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: String,
    name: String,
    /// `None` in the list stands for every port.
    port: Option<u16>,
}

impl Allowed {
    /// The names of this machine to itself, and no page at all.
    pub(crate) fn loopback() -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"];
        let named = |name: &str| Host::Named { name: name.to_owned(), port: None };
        Self { hosts: hosts.into_iter().map(named).collect(), origins: Vec::new() }
    }

    /// These hosts (`name`, `name:port`, or `*` for every name) and origins (`scheme://name`, with `:port` or `:*`).
    ///
    /// Fails with the entry that cannot be read.
    pub fn new<T: AsRef<str>>(hosts: &[T], origins: &[T]) -> Result<Self, String> {
        let read = |entry: &T, kind: &str| format!("`{}` is not {kind}", entry.as_ref());
        let hosts = hosts.iter().map(|entry| Host::read(entry.as_ref()).ok_or_else(|| read(entry, "a host")));
        let origins = origins.iter().map(|entry| {
            let text = entry.as_ref();
            let origin = match text.strip_suffix(":*") {
                Some(rest) => Origin::read(&format!("{rest}:80")).map(|origin| Origin { port: None, ..origin }),
                None => Origin::read(text),
            };
            origin.ok_or_else(|| read(entry, "an origin"))
        });
        Ok(Self { hosts: hosts.collect::<Result<_, _>>()?, origins: origins.collect::<Result<_, _>>()? })
    }

    /// Refuses a request for another server's name, and one from a page that is not on the list.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Forbidden> {
        // HTTP/2 names the host in the address; where a request names it more than once, each must do.
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let mut hosts =
            headers.get_all(HOST).iter().map(text).chain(uri.authority().map(ToString::to_string)).peekable();
        if hosts.peek().is_none() || !hosts.all(|host| self.allows_host(&host)) {
            return Err(Forbidden::Host);
        }
        if headers.get_all(ORIGIN).iter().all(|origin| self.allows_origin(&text(origin))) {
            Ok(())
        } else {
            Err(Forbidden::Origin)
        }
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(Host::Named { name, port }) = Host::read(host) else { return false };
        self.hosts.iter().any(|allowed| match allowed {
            Host::Any => true,
            Host::Named { name: ours, port: our_port } => *ours == name && (our_port.is_none() || *our_port == port),
        })
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let Some(Origin { scheme, name, port }) = Origin::read(origin) else { return false };
        let mut allowed = self.origins.iter().filter(|allowed| allowed.scheme == scheme && allowed.name == name);
        allowed.any(|allowed| allowed.port.is_none() || allowed.port == port)
    }
}

impl Host {
    fn read(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        if text.parse::<Ipv6Addr>().is_ok() {
            return Some(Self::Named { name: format!("[{}]", text.to_ascii_lowercase()), port: None });
        }
        let authority = Authority::try_from(text).ok().filter(|_| !text.contains('@'))?;
        let name = authority.host().to_ascii_lowercase();
        let port = authority.port_u16();
        // A port that is none, such as `host:` or `host:99999`.
        if name.is_empty() || (port.is_none() && text.len() != authority.host().len()) {
            return None;
        }
        Some(Self::Named { name, port })
    }
}

impl Origin {
    /// Reads what a browser sends: a scheme, a name, a port if it is not the usual one, and nothing else.
    fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let usual = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        if rest.contains(['/', '?', '#', '*']) {
            return None;
        }
        match Host::read(rest)? {
            Host::Named { name, port } => {
                Some(Self { scheme: scheme.to_owned(), name, port: Some(port.unwrap_or(usual)) })
            }
            Host::Any => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allowed: &Allowed, host: Option<&str>, origin: Option<&str>) -> Result<(), Forbidden> {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
        }
        allowed.check(&Uri::from_static("/mcp"), &headers)
    }

    #[test]
    fn a_server_knows_its_names() {
        let allowed = Allowed::new(&["lore.example", "10.0.0.1:8080", "::1"], &[]).unwrap();
        for host in ["lore.example", "LORE.example:99", "10.0.0.1:8080", "[::1]:5"] {
            assert_eq!(check(&allowed, Some(host), None), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "lore.example.evil",
            "xlore.example",
            "10.0.0.1",
            "10.0.0.1:80",
            "a@lore.example",
            "*",
            "",
            ":",
            "lore.example:",
            "lore.example:99999",
            "lore.example/x",
            "lore.example evil",
            "127.0.0.1",
            "\u{e9}",
        ] {
            assert_eq!(check(&allowed, Some(host), None), Err(Forbidden::Host), "{host}");
        }
        assert_eq!(check(&allowed, None, None), Err(Forbidden::Host));
        let any = Allowed::new(&["*"], &[]).unwrap();
        assert_eq!((check(&any, Some("x"), None), check(&any, Some("*"), None)), (Ok(()), Err(Forbidden::Host)));
    }

    #[test]
    fn every_name_that_a_request_uses_must_be_the_servers() {
        let allowed = Allowed::loopback();
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert_eq!(allowed.check(&Uri::from_static("http://localhost/mcp"), &headers), Ok(()));
        assert_eq!(allowed.check(&Uri::from_static("http://evil.example/mcp"), &headers), Err(Forbidden::Host));
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(allowed.check(&Uri::from_static("/mcp"), &headers), Err(Forbidden::Host));
    }

    #[test]
    fn pages_are_refused_unless_they_are_on_the_list() {
        let none = Allowed::loopback();
        let some = Allowed::new(&["localhost"], &["https://app.example", "http://localhost:*"]).unwrap();
        for origin in ["https://app.example", "https://app.example:443", "http://localhost:3000", "http://localhost"] {
            assert_eq!(check(&some, Some("localhost"), Some(origin)), Ok(()), "{origin}");
            assert_eq!(check(&none, Some("localhost"), Some(origin)), Err(Forbidden::Origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://app.example",
            "https://app.example:8443",
            "https://localhost",
            "https://app.example.evil",
            "https://app.example/",
            "https://x@app.example",
            "app.example",
            "file://app.example",
            "https://app.example https://evil.example",
            "https://*",
            "\u{e9}",
        ] {
            assert_eq!(check(&some, Some("localhost"), Some(origin)), Err(Forbidden::Origin), "{origin}");
        }
        assert_eq!(check(&some, Some("localhost"), None), Ok(()));
    }

    #[test]
    fn entries_that_cannot_be_read_are_told() {
        assert_eq!(Allowed::new(&["a b"], &[]).unwrap_err(), "`a b` is not a host");
        assert_eq!(Allowed::new(&["a"], &["null"]).unwrap_err(), "`null` is not an origin");
        assert!(Allowed::new(&[], &["https://app.example:443:*"]).is_err());
    }
}
