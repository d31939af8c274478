//! Changed inputs without a fuzzer: the same ones in every run, so that a test which fails fails again.

/// Makes inputs out of known ones.
pub struct Mutator {
    state: u64,
}

/// What turns up in the inputs of many parsers.
const PIECES: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\t",
    b"\"",
    b"\\",
    b"'",
    b"`",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"<",
    b">",
    b":",
    b";",
    b",",
    b".",
    b"..",
    b"/",
    b"//",
    b"*",
    b"**",
    b"?",
    b"!",
    b"-",
    b"--",
    b"---\n",
    b"+",
    b"=",
    b"|",
    b"&",
    b"%",
    b"%2F",
    b"%00",
    b"@",
    b"#",
    b"$",
    b"^",
    b"~",
    b"\\d",
    b"\\b",
    b"\\u0000",
    b"\\ud800",
    b"0",
    b"1",
    b"-1",
    b"255",
    b"65536",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e999",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xae",
    b"\xc4\xb0",
    b"\xe2\x84\xaa",
    b"://",
    b"::1",
];

/// No input grows longer.
const LONGEST: usize = 8 << 10;

impl Mutator {
    /// The same seed gives the same inputs.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// One of the known inputs with a few changes.
    pub fn next(&mut self, known: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.one_of(known).cloned().unwrap_or_default();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes, known);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, known: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below((bytes.len() - at).min(64) + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.random().to_le_bytes()[0],
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => bytes.truncate(at),
            5 => {
                let other = self.one_of(known).cloned().unwrap_or_default();
                let from = self.below(other.len() + 1);
                let to = from + self.below((other.len() - from).min(64) + 1);
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let piece = PIECES[self.below(PIECES.len())];
                let end = if self.below(2) == 0 { at } else { end };
                bytes.splice(at..end, piece.iter().copied());
            }
        }
    }

    fn one_of<'a>(&mut self, known: &'a [Vec<u8>]) -> Option<&'a Vec<u8>> {
        if known.is_empty() { None } else { known.get(self.below(known.len())) }
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.random() % limit.max(1) as u64).unwrap_or(0)
    }

    /// splitmix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.state;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }
}
