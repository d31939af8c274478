//! Which addresses are on the public internet, whatever form they have.
//!
//! An address is taken for public only where it is known to be: everything else could be the server's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads an address with or without the number of bits that count; none where the text is neither.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address.parse().ok()?, Some(bits.parse::<u32>().ok()?)),
            None => (text.parse().ok()?, None),
        };
        let most = if matches!(address, IpAddr::V4(_)) { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits })
    }

    /// Whether an address is in it.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let same = |ours: u128, theirs: u128, width: u32| {
            let shift = width - self.bits;
            ours.checked_shr(shift).unwrap_or(0) == theirs.checked_shr(shift).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                same(u128::from(ours.to_bits()), u128::from(theirs.to_bits()), 32)
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => same(ours.to_bits(), theirs.to_bits(), 128),
            _ => false,
        }
    }
}

/// Networks of IPv4 that are not public: this one, private ones, those of carriers, loopback, link-local, protocols,
/// documentation, benchmarks, relays of 6to4, multicast, reserved and broadcast.
const NOT_PUBLIC_V4: [&str; 15] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// Networks in the public range of IPv6 (`2000::/3`) that are not public: protocols with Teredo and benchmarks in them, and
/// documentation.
const NOT_PUBLIC_V6: [&str; 3] = ["2001::/23", "2001:db8::/32", "3fff::/20"];

/// Whether an address is on the public internet. What carries another address is what that one is.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let in_one = |networks: &[&str], address| {
        networks.iter().filter_map(|network| Network::parse(network)).any(|network| network.contains(address))
    };
    match (carried(address), address) {
        (Some(inner), _) => is_public(IpAddr::V4(inner)),
        (None, IpAddr::V4(_)) => !in_one(&NOT_PUBLIC_V4, address),
        (None, IpAddr::V6(_)) => in_one(&["2000::/3"], address) && !in_one(&NOT_PUBLIC_V6, address),
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped (`::ffff:0:0/96`), NAT64 (`64:ff9b::/96`) or 6to4 (`2002::/16`).
pub(crate) fn carried(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else { return None };
    let last = |address: Ipv6Addr| {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last(address)),
        [0x2002, a, b, ..] => Some(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_public_is_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::808:808",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:7f00:1::1",
            "2001:0:808:808::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
            "4000::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_like_it() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.9.9.9", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.5", "10.0.0.5", true),
            ("10.0.0.5", "10.0.0.4", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "fe80::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe00::1", false),
        ] {
            assert_eq!(
                Network::parse(network).unwrap().contains(address.parse().unwrap()),
                expected,
                "{network} {address}"
            );
        }
        for bad in ["10.0.0.0/33", "10.0.0/8", "::/129", "x", "", "10.0.0.0/", "010.0.0.1"] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }
}
