//! The address of a server, checked before anything is sent to it.

use std::fmt;

use lore_model::{Code, Failure, brief, is_this_machine, without_secrets};
use ureq::http::Uri;

/// Whether an address without TLS may be another machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainHttp {
    /// Only this machine's: tokens are not sent over a network in the clear.
    #[default]
    ThisMachineOnly,
    /// The user said that any may.
    Allowed,
}

/// The address of a Lore server: scheme, host, port and perhaps a path, in one spelling for each server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerUrl {
    text: String,
    is_this_machine: bool,
}

impl ServerUrl {
    /// Reads an address. One that ends in `/mcp` is taken for the server's.
    pub fn parse(text: &str, plain: PlainHttp) -> Result<Self, Failure> {
        let text = text.trim();
        let bad = |what: &str| {
            // Credentials may stand in it: what is shown comes without.
            let shown = without_secrets(text);
            Failure::new(Code::InvalidArgument, format!("`{}` is not the address of a server: {what}", brief(&shown)))
                .hint("give it as https://lore.example.com, or http://127.0.0.1:7878 on this machine")
        };
        let uri: Uri = text.parse().map_err(|_| bad("it cannot be read"))?;
        let Some(scheme @ ("http" | "https")) = uri.scheme_str() else {
            return Err(bad("it must begin with https:// or http://"));
        };
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it holds credentials; `lore login` asks for them"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(bad("it has a query or a fragment"));
        }
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() {
            return Err(bad("it names no host"));
        }
        let usual = if scheme == "https" { 443 } else { 80 };
        let after_host = &authority.as_str()[authority.host().len()..];
        let port = match after_host.strip_prefix(':').map(str::parse::<u16>) {
            None if after_host.is_empty() => String::new(),
            Some(Ok(port)) if port == usual => String::new(),
            Some(Ok(port @ 1..)) => format!(":{port}"),
            _ => return Err(bad("its port is none")),
        };
        let mut path = uri.path().trim_end_matches('/');
        // Until there is none: what is written down of a server is read again.
        while let Some(server) = path.strip_suffix("/mcp") {
            path = server.trim_end_matches('/');
        }
        let is_this_machine = is_this_machine(&host);
        if scheme == "http" && !is_this_machine && plain == PlainHttp::ThisMachineOnly {
            return Err(Failure::new(
                Code::InvalidArgument,
                format!("http://{host}{port} is another machine, and tokens would travel there in the clear"),
            )
            .hint("use https, or `--insecure` where the network is yours"));
        }
        Ok(Self { text: format!("{scheme}://{host}{port}{path}"), is_this_machine })
    }

    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the server is on this machine.
    pub fn is_this_machine(&self) -> bool {
        self.is_this_machine
    }

    /// Whether it is asked over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// The address of the MCP endpoint, for all tools or for a toolset.
    pub fn mcp(&self, toolset: Option<&str>) -> Result<String, Failure> {
        match toolset {
            None => Ok(format!("{}/mcp", self.text)),
            Some(name) if is_name(name) => Ok(format!("{}/mcp/{name}", self.text)),
            Some(name) => Err(Failure::new(Code::InvalidArgument, format!("`{}` is not a toolset", brief(name)))
                .hint("`lore tools` lists them: code, repos, history, …")),
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_spelling_or_are_refused() {
        let check = |text: &str, plain: PlainHttp, expected: Result<&str, &str>| match (
            ServerUrl::parse(text, plain),
            expected,
        ) {
            (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
            (Err(failure), Err(part)) => assert!(failure.message.contains(part), "{}", failure.message),
            (found, _) => panic!("{text}: {found:?}"),
        };
        let safe = PlainHttp::ThisMachineOnly;
        check("https://Lore.Example.com/", safe, Ok("https://lore.example.com"));
        check("https://lore.example.com:443/mcp", safe, Ok("https://lore.example.com"));
        check(" https://example.com:8443/lore/mcp/ ", safe, Ok("https://example.com:8443/lore"));
        check("http://[::1]/mcp//mcp", safe, Ok("http://[::1]"));
        check("http://localhost:7878", safe, Ok("http://localhost:7878"));
        check("http://127.9.9.9:1", safe, Ok("http://127.9.9.9:1"));
        check("http://[::1]:1", safe, Ok("http://[::1]:1"));
        check("http://example.com", safe, Err("in the clear"));
        check("http://127.0.0.1.example.com", safe, Err("in the clear"));
        check("http://example.com", PlainHttp::Allowed, Ok("http://example.com"));
        check("ftp://example.com", safe, Err("https://"));
        check("file:///etc/passwd", safe, Err(""));
        check("example.com", safe, Err("https://"));
        check("https://", safe, Err("cannot be read"));
        check("https://ada:hunter2@example.com", safe, Err("`https://example.com` is not"));
        check("https://example.com/?token=hunter2", safe, Err("`https://example.com/` is not"));
        check("https://example.com:99999", safe, Err(""));
    }

    #[test]
    fn a_toolset_is_a_name() {
        let url = ServerUrl::parse("https://example.com", PlainHttp::default()).unwrap();
        assert_eq!(url.mcp(None).unwrap(), "https://example.com/mcp");
        assert_eq!(url.mcp(Some("code")).unwrap(), "https://example.com/mcp/code");
        for bad in ["", "../auth", "a/b", "a?b", "a b"] {
            assert!(url.mcp(Some(bad)).is_err(), "{bad}");
        }
    }
}
