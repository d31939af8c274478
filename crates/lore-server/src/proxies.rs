//! From where a request really comes.
//!
//! Anybody can write `X-Forwarded-For` into a request. Only what a proxy that is trusted says counts, and of a list only as
//! much as trusted proxies have written.

use std::{net::IpAddr, str::FromStr};

use http::{HeaderMap, HeaderName};
use lore_model::brief;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Addresses that begin alike: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether an address is one of them.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                ours.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                ours.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{}` is no address and no network such as `10.0.0.0/8`", brief(text));
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address = address.parse::<IpAddr>().map_err(|_| bad())?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse::<u8>().map_err(|_| bad()))?;
        if bits > most { Err(bad()) } else { Ok(Self { address, bits }) }
    }
}

/// Whether an address is that of a trusted proxy.
pub(crate) fn is_trusted(trusted: &[Network], address: IpAddr) -> bool {
    trusted.iter().any(|network| network.holds(address))
}

/// From where a request comes that reached us from `peer`: of what proxies wrote, the last address that is no trusted proxy.
pub(crate) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let mut from = peer.to_canonical();
    // Proxies append to the end. A proxy that writes `Forwarded` must remove `X-Forwarded-For`, which nearly all write.
    let chain = if headers.contains_key(&FORWARDED_FOR) {
        list(headers, &FORWARDED_FOR).map(|text| address(&text)).collect::<Vec<_>>()
    } else {
        list(headers, &http::header::FORWARDED).map(|text| forwarded_for(&text)).collect()
    };
    for said in chain.into_iter().rev() {
        if !is_trusted(trusted, from) {
            break;
        }
        match said {
            Some(address) => from = address,
            // The proxy that let this through is all that is known.
            None => break,
        }
    }
    from
}

/// Whether the client speaks TLS with a trusted proxy; `None` where no such proxy says anything.
pub(crate) fn client_tls(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> Option<bool> {
    if !is_trusted(trusted, peer) {
        return None;
    }
    if let Some(said) = list(headers, &FORWARDED_PROTO).last() {
        return Some(said.eq_ignore_ascii_case("https"));
    }
    let last = list(headers, &http::header::FORWARDED).last()?;
    field(&last, "proto").map(|said| said.eq_ignore_ascii_case("https"))
}

/// All entries of a header that is a list, in their order.
fn list(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let all = values.collect::<Vec<_>>().join(",");
    let entries: Vec<String> = all.split(',').map(|entry| entry.trim().to_owned()).collect();
    entries.into_iter().filter(|entry| !entry.is_empty())
}

/// An address with or without a port and brackets.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    if let Ok(address) = text.parse::<std::net::SocketAddr>() {
        return Some(address.ip().to_canonical());
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    inner.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The value of a field in an entry of `Forwarded`.
fn field<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    entry.split(';').find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
}

fn forwarded_for(entry: &str) -> Option<IpAddr> {
    address(field(entry, "for")?)
}

/// An address for counting attempts: whoever has an IPv6 address has the whole network of 64 bits. All of IPv4 is one such
/// network where it is written as IPv6.
pub(crate) fn counted(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let network = std::net::Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
            format!("{network}/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(peer: &str, headers: &[(&str, &str)], trusted: &[&str]) -> String {
        let trusted: Vec<Network> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        client_address(peer.parse().unwrap(), &map, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_say_where_a_request_comes_from() {
        let said = [("x-forwarded-for", "6.6.6.6, 1.2.3.4")];
        assert_eq!(from("9.9.9.9", &said, &[]), "9.9.9.9");
        assert_eq!(from("9.9.9.9", &said, &["10.0.0.0/8"]), "9.9.9.9");
        assert_eq!(from("10.1.1.1", &said, &["10.0.0.0/8"]), "1.2.3.4", "what the client wrote itself does not count");
        assert_eq!(from("10.1.1.1", &[], &["10.0.0.0/8"]), "10.1.1.1");
        assert_eq!(from("::ffff:10.1.1.1", &said, &["10.0.0.0/8"]), "1.2.3.4");
    }

    #[test]
    fn lists_are_read_from_their_end() {
        let trusted = &["10.0.0.0/8", "fd00::/8"];
        for (value, expected) in [
            ("6.6.6.6, 1.2.3.4, 10.0.0.7", "1.2.3.4"),
            ("10.0.0.9, 10.0.0.8", "10.0.0.9"),
            ("1.2.3.4:5678", "1.2.3.4"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1, fd00::1", "2001:db8::1"),
            ("1.2.3.4, unknown", "10.1.1.1"),
            ("1.2.3.4, nonsense, 10.0.0.8", "10.0.0.8"),
            ("", "10.1.1.1"),
        ] {
            assert_eq!(from("10.1.1.1", &[("x-forwarded-for", value)], trusted), expected, "{value}");
        }
        let twice = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "1.2.3.4")];
        assert_eq!(from("10.1.1.1", &twice, trusted), "1.2.3.4");
        let standard = [("forwarded", r#"for=6.6.6.6, For="[2001:db8::1]:80";proto=https"#)];
        assert_eq!(from("10.1.1.1", &standard, trusted), "2001:db8::1");
        let both = [("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "1.2.3.4")];
        assert_eq!(from("10.1.1.1", &both, trusted), "1.2.3.4");
    }

    #[test]
    fn networks_are_read_and_nonsense_is_told() {
        let holds = |network: &str, address: &str| network.parse::<Network>().unwrap().holds(address.parse().unwrap());
        assert!(holds("0.0.0.0/0", "1.2.3.4") && holds("::/0", "2001:db8::1"));
        assert!(holds("192.168.1.7", "192.168.1.7") && !holds("192.168.1.7", "192.168.1.8"));
        assert!(holds("192.168.1.7/31", "192.168.1.6") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(!holds("::/0", "1.2.3.4") && holds("::1", "::1"));
        for bad in ["", "x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "10.0.0.0/8/8"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn attempts_are_counted_for_whole_ipv6_networks() {
        assert_eq!(counted("1.2.3.4".parse().unwrap()), "1.2.3.4");
        assert_eq!(counted("::ffff:1.2.3.4".parse().unwrap()), "1.2.3.4");
        assert_eq!(counted("2001:db8:1:2:3:4:5:6".parse().unwrap()), "2001:db8:1:2::/64");
    }
}
