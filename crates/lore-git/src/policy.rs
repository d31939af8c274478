//! What a server may clone and fetch: which kinds of URLs, which hosts, which folders.
//!
//! The host of a URL is looked up here, at every clone and fetch, and git is sent to the address that was checked: what the
//! name leads to a moment later does not matter. A URL is read strictly, so that git and curl cannot read it otherwise.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs},
    path::{Path, PathBuf},
    sync::Arc,
};

use lore_model::without_user;

use crate::{
    CloneUrl, Git, GitError, Result,
    addresses::{Network, carried, is_public},
};

/// The first git that can be told which address a host of a URL has (`http.curloptResolve`).
const PINNING: (u32, u32) = (2, 37);

/// The port of ssh, which `known_hosts` does not mention.
const SSH: u16 = 22;

/// Looks up hosts.
pub trait Resolve: Send + Sync {
    /// The addresses of a host, which is a name and no address.
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<IpAddr>>;
}

/// Looks hosts up as every program on this machine does.
#[derive(Debug, Clone, Copy, Default)]
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<IpAddr>> {
        Ok((host, port).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}

/// A host or a network that is allowed although it is not public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule(Rule);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Name(String),
    Network(Network),
}

impl HostRule {
    /// Reads the name of a host, an address or a network (`10.1.0.0/16`); says what is wrong otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Some(network) = Network::parse(bare) {
            return Ok(Self(Rule::Network(network)));
        }
        match host_of(text) {
            Ok(Host::Name(name)) => Ok(Self(Rule::Name(name))),
            _ => Err(format!("`{text}` is neither a host nor a network such as 10.1.0.0/16")),
        }
    }

    fn allows(&self, host: &Host, address: IpAddr) -> bool {
        match (&self.0, host) {
            (Rule::Name(name), Host::Name(host)) => name == host,
            (Rule::Name(_), Host::Address(_)) => false,
            (Rule::Network(network), _) => {
                network.contains(address) || carried(address).is_some_and(|inner| network.contains(inner.into()))
            }
        }
    }
}

/// What may be cloned and fetched. By default https and ssh to public addresses.
#[derive(Clone)]
pub struct RemotePolicy {
    /// Whether `http:` is allowed, which anybody on the way can read and change.
    pub allow_http: bool,
    /// Whether `git:` is allowed, which is no better.
    pub allow_git: bool,
    /// Folders beneath which `file:` is allowed.
    pub allow_local: Vec<PathBuf>,
    /// Hosts and networks that are allowed although they are not public.
    pub allow_hosts: Vec<HostRule>,
    /// The one file of git configuration that counts, for credentials and certificates.
    pub git_config: Option<PathBuf>,
    /// Looks up hosts.
    pub resolver: Arc<dyn Resolve>,
}

impl Default for RemotePolicy {
    fn default() -> Self {
        Self {
            allow_http: false,
            allow_git: false,
            allow_local: Vec::new(),
            allow_hosts: Vec::new(),
            git_config: None,
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl fmt::Debug for RemotePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemotePolicy")
            .field("allow_http", &self.allow_http)
            .field("allow_git", &self.allow_git)
            .field("allow_local", &self.allow_local)
            .field("allow_hosts", &self.allow_hosts)
            .field("git_config", &self.git_config)
            .finish_non_exhaustive()
    }
}

/// The way to a remote that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// What git is told to clone.
    pub(crate) url: String,
    /// The one kind of transport that git may use.
    pub(crate) scheme: &'static str,
    /// Settings that send git to the address that was checked.
    pub(crate) settings: Vec<String>,
    /// What a `git:` server is told that it is called.
    pub(crate) virtual_host: Option<String>,
}

impl Route {
    /// The way without a policy.
    pub(crate) fn any(url: &CloneUrl) -> Self {
        Self { url: url.as_str().to_owned(), scheme: "", settings: Vec::new(), virtual_host: None }
    }
}

/// A host as a URL has it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    Address(IpAddr),
}

/// The parts of a URL that are checked.
struct Parts<'a> {
    scheme: &'static str,
    host: Host,
    port: u16,
    user: Option<&'a str>,
    /// With its slash.
    path: &'a str,
}

impl RemotePolicy {
    /// Says whether a URL may be cloned, as far as that is known without looking anything up: addresses, and the names of this
    /// machine, are checked; other names when they are cloned.
    pub fn check(&self, url: &CloneUrl) -> Result<()> {
        if url.as_str().starts_with("file:") {
            return self.local(url).map(|_| ());
        }
        let parts = self.parts(url)?;
        match &parts.host {
            Host::Address(address) if !self.is_allowed(&parts.host, *address) => Err(not_public(url, *address)),
            // Whatever a resolver says, that is what these names are for (RFC 6761).
            Host::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
                let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
                let is_allowed = own.iter().any(|address| self.is_allowed(&parts.host, *address));
                if is_allowed { Ok(()) } else { Err(not_public(url, own[0])) }
            }
            _ => Ok(()),
        }
    }

    /// Whether an address of a host may be reached.
    fn is_allowed(&self, host: &Host, address: IpAddr) -> bool {
        is_public(address) || self.allow_hosts.iter().any(|rule| rule.allows(host, address))
    }

    /// Looks up where a URL leads and says how git gets there, and only there.
    pub(crate) fn route(&self, git: &Git, url: &CloneUrl) -> Result<Route> {
        if url.as_str().starts_with("file:") {
            let url = self.local(url)?;
            return Ok(Route { url, scheme: "file", settings: Vec::new(), virtual_host: None });
        }
        let parts = self.parts(url)?;
        let addresses = self.addresses(url, &parts)?;
        let first = *addresses.first().ok_or_else(|| unresolved(&parts.host, "it has no address"))?;
        let mut route =
            Route { url: url.as_str().to_owned(), scheme: parts.scheme, settings: Vec::new(), virtual_host: None };
        match (parts.scheme, &parts.host) {
            ("http" | "https", Host::Name(name)) => {
                check_version(git)?;
                let list: Vec<String> = addresses.iter().map(|address| in_url(*address)).collect();
                route.settings.push(format!("http.curloptResolve={name}:{}:{}", parts.port, list.join(",")));
            }
            ("ssh", host) => {
                // Each part is an address, or a host of letters, digits, dots and dashes: a shell reads nothing else in it. An
                // alias is looked up as it is, so it has to be what `known_hosts` says: with the port, where it is another.
                let alias = match host {
                    Host::Name(name) if parts.port == SSH => format!(" -o HostKeyAlias={name}"),
                    Host::Name(name) => format!(" -o 'HostKeyAlias=[{name}]:{}'", parts.port),
                    Host::Address(_) => String::new(),
                };
                route.settings.push(format!(
                    "core.sshCommand=ssh -o HostName={first}{alias} -o BatchMode=yes -o CanonicalizeHostname=no \
                     -o ForwardAgent=no -o ClearAllForwardings=yes -o PermitLocalCommand=no"
                ));
            }
            ("git", host) => {
                let user = parts.user.map(|user| format!("{user}@")).unwrap_or_default();
                route.url = format!("git://{user}{}:{}{}", in_url(first), parts.port, parts.path);
                if let Host::Name(name) = host {
                    route.virtual_host = Some(name.clone());
                }
            }
            _ => {}
        }
        Ok(route)
    }

    /// The addresses of the host, each of which must be allowed: which of them a program takes is not ours to say.
    fn addresses(&self, url: &CloneUrl, parts: &Parts<'_>) -> Result<Vec<IpAddr>> {
        let addresses = match &parts.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let found = self.resolver.resolve(name, parts.port);
                let mut found = found.map_err(|error| unresolved(&parts.host, &error.to_string()))?;
                let mut seen = std::collections::HashSet::new();
                found.retain(|address| seen.insert(*address));
                found
            }
        };
        match addresses.iter().find(|address| !self.is_allowed(&parts.host, **address)) {
            Some(address) => Err(not_public(url, *address)),
            None => Ok(addresses),
        }
    }

    /// The URL of a folder beneath an allowed one, with every link on the way followed.
    fn local(&self, url: &CloneUrl) -> Result<String> {
        let no = |why: &str| refused(url, why.to_owned(), "--allow-local");
        let path = url.as_str().strip_prefix("file://").filter(|path| path.starts_with('/') && !path.contains('%'));
        let path = path.ok_or_else(|| no("write a folder as file:///absolute/path, without `%`"))?;
        // Whether something is there is told of allowed folders only.
        let real = Path::new(path).canonicalize().map_err(|_| no("no allowed folder has it"));
        let allowed: Vec<PathBuf> = self.allow_local.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        let real = real.and_then(|real| {
            let is_beneath = allowed.iter().any(|folder| real.starts_with(folder));
            if is_beneath { Ok(real) } else { Err(no("no allowed folder has it")) }
        })?;
        let text = real.to_str().filter(|text| !text.contains('%') && !text.contains(char::is_control));
        text.map(|text| format!("file://{text}")).ok_or_else(|| no("its path has characters that no URL has"))
    }

    /// Reads a URL of which nobody can have another opinion, and checks its scheme.
    fn parts<'a>(&self, url: &'a CloneUrl) -> Result<Parts<'a>> {
        let text = url.as_str();
        let bad = |why| GitError::BadUrl { url: without_user(text), why };
        let is_plain =
            |c: char| c.is_ascii_graphic() && !matches!(c, '\\' | '"' | '<' | '>' | '`' | '{' | '}' | '|' | '^');
        if !text.chars().all(is_plain) {
            return Err(bad("it has characters that no URL has"));
        }
        let (scheme, authority, path) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                (scheme, &rest[..at], &rest[at..])
            }
            None => match text.split_once(':') {
                Some((authority, path)) => ("scp", authority, path),
                None => return Err(bad("it names no host")),
            },
        };
        if scheme != "scp" && !path.starts_with('/') {
            return Err(bad("it names no repository"));
        }
        let not_allowed = |setting| refused(url, format!("{scheme}: is not allowed here"), setting);
        let (scheme, port) = match scheme {
            "https" => ("https", 443),
            "ssh" | "scp" => ("ssh", SSH),
            "http" if self.allow_http => ("http", 80),
            "git" if self.allow_git => ("git", 9418),
            "http" => return Err(not_allowed("--allow-http")),
            "git" => return Err(not_allowed("--allow-git")),
            _ => return Err(bad("only https, ssh, http, git and file URLs are fetched")),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        // Whoever may see the repository would see it too, and so would the log of a proxy.
        if user.is_some() && matches!(scheme, "http" | "https") {
            return Err(bad("it names a user: credentials belong into the file of `lore server --git-config`"));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if user.is_some_and(|user| user.is_empty() || user.starts_with('-') || !user.chars().all(is_name)) {
            return Err(bad("its user has characters that are not taken here"));
        }
        let (host, said) = match host.rsplit_once(':') {
            // `user@host:path` has no port, and neither has an address in brackets.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (host, None),
        };
        let port = match said.filter(|port| !port.is_empty()) {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().ok().filter(|port| *port != 0).ok_or_else(|| bad("its port is none"))?
            }
            Some(_) => return Err(bad("its port is none")),
            None => port,
        };
        Ok(Parts { scheme, host: host_of(host).map_err(bad)?, port, user, path })
    }
}

/// Reads a host: a name, or an address in the one form that every program reads alike.
fn host_of(text: &str) -> Result<Host, &'static str> {
    if let Some(inner) = text.strip_prefix('[') {
        let address = inner.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
        return address.map(|address| Host::Address(address.into())).ok_or("its host is no address");
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if text.len() > 253 || !text.split('.').all(is_label) {
        return Err("its host has characters that no name of a host has");
    }
    // `2130706433`, `0x7f.1` and `0177.0.0.1` are 127.0.0.1 to some programs, and names to others.
    let last = text.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    if last.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err("its host is a number: write an address as four decimal numbers");
    }
    Ok(Host::Name(text.to_ascii_lowercase()))
}

/// An address as it stands in a URL.
fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn unresolved(host: &Host, why: &str) -> GitError {
    let host = match host {
        Host::Name(name) => name.clone(),
        Host::Address(address) => address.to_string(),
    };
    GitError::Unresolved { host, why: why.to_owned() }
}

fn not_public(url: &CloneUrl, address: IpAddr) -> GitError {
    refused(url, format!("its host is at {address}, which is not on the public internet"), "--allow-host")
}

fn refused(url: &CloneUrl, why: String, setting: &'static str) -> GitError {
    GitError::Refused { url: without_user(url.as_str()), why, setting }
}

fn check_version(git: &Git) -> Result<()> {
    let (version, text) = git.version()?;
    if version < PINNING {
        return Err(GitError::TooOld { found: text, wanted: "2.37" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows `public.test`, `private.test`, `half.test` (of both) and `none.test`.
    struct Known;

    impl Resolve for Known {
        fn resolve(&self, host: &str, _: u16) -> io::Result<Vec<IpAddr>> {
            let addresses = match host {
                "public.test" => &["8.8.8.8", "2606:4700::1111"][..],
                "private.test" => &["10.1.2.3"],
                "half.test" => &["8.8.8.8", "127.0.0.1"],
                "none.test" => &[],
                _ => return Err(io::Error::other("no such host")),
            };
            Ok(addresses.iter().map(|address| address.parse().unwrap()).collect())
        }
    }

    fn policy(change: impl FnOnce(&mut RemotePolicy)) -> RemotePolicy {
        let mut policy = RemotePolicy { resolver: Arc::new(Known), ..RemotePolicy::default() };
        change(&mut policy);
        policy
    }

    /// How a URL fares, in a word.
    fn fares(policy: &RemotePolicy, url: &str) -> &'static str {
        let Ok(url) = CloneUrl::parse(url) else { return "no url" };
        match policy.route(&Git::default(), &url) {
            Ok(_) => "allowed",
            Err(GitError::BadUrl { .. }) => "bad",
            Err(GitError::Refused { setting, .. }) => setting,
            Err(GitError::Unresolved { .. }) => "unresolved",
            Err(_) => "failed",
        }
    }

    #[test]
    fn what_is_cloned_is_what_the_policy_says() {
        let (strict, hosts) = (policy(|_| {}), "--allow-host");
        for (url, expected) in [
            ("https://public.test/x", "allowed"),
            ("https://PUBLIC.test:8443/x", "allowed"),
            ("https://user@public.test/x", "bad"),
            ("https://@public.test/x", "bad"),
            ("ssh://git@public.test/x", "allowed"),
            ("ssh://@public.test/x", "bad"),
            ("git@public.test:team/x", "allowed"),
            ("https://8.8.8.8/x", "allowed"),
            ("https://[2606:4700::1111]/x", "allowed"),
            ("http://public.test/x", "--allow-http"),
            ("git://public.test/x", "--allow-git"),
            ("file:///etc", "--allow-local"),
            ("file://localhost/etc", "--allow-local"),
            ("https://private.test/x", hosts),
            ("git@private.test:x", hosts),
            ("https://half.test/x", hosts),
            ("https://none.test/x", "unresolved"),
            ("https://unknown.test/x", "unresolved"),
            ("https://127.0.0.1/x", hosts),
            ("https://169.254.169.254/latest", hosts),
            ("https://[::1]/x", hosts),
            ("https://[::ffff:127.0.0.1]/x", hosts),
            ("https://[64:ff9b::7f00:1]/x", hosts),
            ("https://[2002:7f00:1::]/x", hosts),
            ("https://[fe80::1%25eth0]/x", "bad"),
            ("https://2130706433/x", "bad"),
            ("https://0x7f.1/x", "bad"),
            ("https://0x7f000001/x", "bad"),
            ("https://0177.0.0.1/x", "bad"),
            ("https://127.1/x", "bad"),
            ("https://public.test./x", "bad"),
            ("https://public.test", "bad"),
            ("https://public.test?@127.0.0.1/x", "bad"),
            ("https://public.test#@127.0.0.1/x", "bad"),
            ("https://127.0.0.1\\@public.test/x", "bad"),
            ("https://a@127.0.0.1@public.test/x", "bad"),
            ("https://public.test:80:443/x", "bad"),
            ("https://public.test:0/x", "bad"),
            ("https://public.test:99999/x", "bad"),
            ("https://public.test/x y", "bad"),
            ("ssh://$(id)@public.test/x", "bad"),
            ("$(id)@public.test:x", "bad"),
            ("git@public.test;id:x", "bad"),
            ("ssh://-oProxyCommand=x/y", "no url"),
            ("ext::sh -c id", "no url"),
            ("--upload-pack=x", "no url"),
        ] {
            assert_eq!(fares(&strict, url), expected, "{url}");
        }
        let open = policy(|policy| {
            (policy.allow_http, policy.allow_git) = (true, true);
            let rules = ["private.test", "127.0.0.0/8", "169.254.169.254"];
            policy.allow_hosts = rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect();
        });
        for (url, expected) in [
            ("http://public.test/x", "allowed"),
            ("git://public.test/x", "allowed"),
            ("https://private.test/x", "allowed"),
            ("https://half.test/x", "allowed"),
            ("http://127.0.0.1/x", "allowed"),
            ("http://[::ffff:127.0.0.1]/x", "allowed"),
            ("http://10.1.2.3/x", hosts),
            ("http://[::1]/x", hosts),
            ("https://0x7f.1/x", "bad"),
        ] {
            assert_eq!(fares(&open, url), expected, "{url}");
        }
        for bad in ["", "*", "10.0.0.0/40", "-x", "a b", "host:80"] {
            assert!(HostRule::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_needs_no_lookup_is_decided_without_one() {
        struct Nobody;
        impl Resolve for Nobody {
            fn resolve(&self, host: &str, _: u16) -> io::Result<Vec<IpAddr>> {
                panic!("{host} was looked up");
            }
        }
        let policy = |rules: &[&str]| RemotePolicy {
            resolver: Arc::new(Nobody),
            allow_hosts: rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect(),
            ..RemotePolicy::default()
        };
        let checked = |policy: &RemotePolicy, url: &str| policy.check(&CloneUrl::parse(url).unwrap());
        for (url, allowed) in [
            ("https://127.0.0.1/x", "127.0.0.0/8"),
            ("https://10.1.2.3:8443/x", "10.1.0.0/16"),
            ("https://169.254.169.254/latest", "169.254.169.254"),
            ("https://[::1]/x", "::1"),
            ("https://[::ffff:10.0.0.1]/x", "10.0.0.0/8"),
            ("ssh://git@192.168.1.1/x", "192.168.0.0/16"),
            ("git@10.0.0.1:x", "10.0.0.1"),
            ("https://localhost/x", "localhost"),
            ("https://LocalHost:3000/x", "127.0.0.0/8"),
            ("git@localhost:x", "::1"),
            ("https://git.localhost/x", "git.localhost"),
        ] {
            let refused = checked(&policy(&[]), url);
            assert!(matches!(refused, Err(GitError::Refused { setting: "--allow-host", .. })), "{url}: {refused:?}");
            checked(&policy(&[allowed]), url).unwrap();
        }
        for url in ["https://8.8.8.8/x", "https://private.test/x", "https://notlocalhost/x", "git@half.test:x"] {
            checked(&policy(&[]), url).unwrap();
        }
    }

    #[test]
    fn a_host_is_as_long_as_names_of_hosts_are() {
        let (strict, label) = (policy(|_| {}), "a".repeat(63));
        let of = |last: usize| format!("https://{label}.{label}.{label}.{}/x", "b".repeat(last));
        assert_eq!(fares(&strict, &of(61)), "unresolved", "253 bytes can be a name");
        assert_eq!(fares(&strict, &of(62)), "bad");
        assert_eq!(fares(&strict, &format!("https://{label}.test/x")), "unresolved");
        assert_eq!(fares(&strict, &format!("https://{label}a.test/x")), "bad");
        assert_eq!(fares(&strict, "https://a..test/x"), "bad");
        assert_eq!(fares(&strict, "https://a-.test/x"), "bad");
    }

    #[test]
    fn git_is_sent_to_the_address_that_was_checked() {
        let policy = policy(|policy| policy.allow_git = true);
        let route = |url: &str| policy.route(&Git::default(), &CloneUrl::parse(url).unwrap()).unwrap();
        let https = route("https://Public.test:8443/x");
        assert_eq!(https.settings, ["http.curloptResolve=public.test:8443:8.8.8.8,[2606:4700::1111]"]);
        assert_eq!(https.scheme, "https");
        let ssh = route("git@public.test:x");
        let begin = "core.sshCommand=ssh -o HostName=8.8.8.8 -o HostKeyAlias=public.test -o BatchMode=yes ";
        assert!(ssh.settings[0].starts_with(begin), "{:?}", ssh.settings);
        // What `known_hosts` has for another port than the usual one.
        for (url, alias) in [
            ("ssh://git@public.test:2222/x", "-o 'HostKeyAlias=[public.test]:2222' -o BatchMode=yes "),
            ("ssh://git@public.test:22/x", "-o HostKeyAlias=public.test -o BatchMode=yes "),
            ("ssh://git@8.8.8.8:2222/x", "-o HostName=8.8.8.8 -o BatchMode=yes "),
        ] {
            let ssh = route(url);
            assert!(ssh.settings[0].contains(alias), "{url}: {:?}", ssh.settings);
        }
        let git = route("git://public.test/x");
        assert_eq!((git.url.as_str(), git.virtual_host.as_deref()), ("git://8.8.8.8:9418/x", Some("public.test")));
        // One that cannot be held to an address is not used.
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("git");
        std::fs::write(&old, "#!/bin/sh\necho git version 2.36.6\n").unwrap();
        #[cfg(unix)]
        {
            std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let refused = policy.route(&Git::new(&old), &CloneUrl::parse("https://public.test/x").unwrap());
            assert!(matches!(refused, Err(GitError::TooOld { .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_token_in_a_url_is_refused_and_never_told() {
        let open = policy(|policy| policy.allow_http = true);
        let strict = policy(|_| {});
        for (policy, url) in [
            (&open, "https://ghp_secret@public.test/x"),
            (&open, "http://ghp_secret@public.test/x"),
            (&strict, "http://ghp_secret@public.test/x"),
            (&open, "https://ghp_secret@public.test:0/x"),
            (&open, "https://ghp_secret@public.test/x y"),
            (&open, "https://ghp_secret@public.test"),
        ] {
            let url = CloneUrl::parse(url).unwrap();
            let told = [policy.check(&url).unwrap_err(), policy.route(&Git::default(), &url).unwrap_err()];
            for error in told.map(|error| format!("{error} {error:?}")) {
                assert!(!error.contains("secret") && error.contains("public.test"), "{error}");
            }
        }
        let url = CloneUrl::parse("https://ghp_secret@public.test/x").unwrap();
        assert!(open.check(&url).unwrap_err().to_string().contains("--git-config"));
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_allowed_by_names_and_where_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["git/a", "git-evil/b"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("git-evil/b"), root.join("git/link")).unwrap();
        let policy = policy(|policy| policy.allow_local = vec![root.join("git")]);
        let fares = |path: &str| fares(&policy, &format!("file://{}/{path}", root.display()));
        assert_eq!(fares("git/a"), "allowed");
        assert_eq!(fares("git/../git/a"), "allowed");
        for no in ["git-evil/b", "git/link", "git/../git-evil/b", "git/%2e%2e/git-evil/b", "git/none", ""] {
            assert_eq!(fares(no), "--allow-local", "{no}");
        }
    }
}
