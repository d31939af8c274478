//! Ids as types, so that a repository number is never mistaken for anything else.

use std::fmt;

use crate::brief;

/// Names one registered repository inside one index. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoId(pub i64);

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text was not the hexadecimal name of a git object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a full git object name (40 or 64 hexadecimal digits)")]
pub struct InvalidCommitId(pub String);

/// Object names of each kind of object are types of their own: a blob is never mistaken for a commit.
macro_rules! object_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            bytes: [u8; 32],
            len: u8,
        }

        impl $name {
            /// Reads 40 or 64 hexadecimal digits of either case.
            pub fn from_hex(hex: &[u8]) -> Result<Self, InvalidCommitId> {
                let (bytes, len) = read_hex(hex)?;
                Ok(Self { bytes, len })
            }

            /// Takes 20 or 32 raw bytes; `None` for any other number.
            pub fn from_bytes(raw: &[u8]) -> Option<Self> {
                let len = u8::try_from(raw.len()).ok().filter(|len| matches!(len, 20 | 32))?;
                let mut bytes = [0; 32];
                bytes[..raw.len()].copy_from_slice(raw);
                Some(Self { bytes, len })
            }

            /// The raw bytes, 20 or 32 of them.
            pub fn as_bytes(&self) -> &[u8] {
                &self.bytes[..usize::from(self.len)]
            }

            /// Lower-case hexadecimal digits, as git prints them.
            pub fn to_hex(&self) -> String {
                write_hex(self.as_bytes())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_hex())
            }
        }
    };
}

object_name! {
    /// The object name of a commit: SHA-1 (20 bytes) or SHA-256 (32 bytes).
    CommitId
}

object_name! {
    /// The object name of a file's content: SHA-1 (20 bytes) or SHA-256 (32 bytes).
    BlobId
}

/// One commit of a first-parent line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineCommit {
    /// The commit.
    pub id: CommitId,
    /// Its committer date (seconds since 1970).
    pub at: i64,
}

fn read_hex(hex: &[u8]) -> Result<([u8; 32], u8), InvalidCommitId> {
    let invalid = || InvalidCommitId(String::from_utf8_lossy(hex).into_owned());
    if !matches!(hex.len(), 40 | 64) {
        return Err(invalid());
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
        let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else {
            return Err(invalid());
        };
        *byte = high << 4 | low;
    }
    Ok((bytes, if hex.len() == 40 { 20 } else { 32 }))
}

fn write_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// What a person types to name a commit: all of its hexadecimal digits or the first few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPrefix(String);

impl CommitPrefix {
    /// The fewest digits that name a commit.
    pub const MIN: usize = 4;

    /// Accepts 4 to 64 hexadecimal digits of either case; says what is wrong otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the commit SHA is empty".to_owned());
        }
        let quoted = brief(text);
        if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("`{quoted}` is not a commit SHA: it may hold hexadecimal digits only"));
        }
        if text.len() < Self::MIN {
            return Err(format!("`{quoted}` is too short for a commit SHA: give at least {} digits", Self::MIN));
        }
        if text.len() > 64 {
            return Err(format!("`{quoted}` is too long for a commit SHA: at most 64 digits"));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// Whether it has all digits of a SHA.
    pub fn is_whole(&self) -> bool {
        matches!(self.0.len(), 40 | 64)
    }

    /// The digits in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_for_both_hash_kinds() {
        for hex in ["00ff".repeat(10), "0a1b".repeat(16)] {
            assert_eq!(CommitId::from_hex(hex.as_bytes()).unwrap().to_hex(), hex);
        }
        assert!(CommitId::from_hex(b"00ff").is_err());
        assert!(CommitId::from_hex(&[b'g'; 40]).is_err());
    }

    #[test]
    fn prefixes_are_checked_before_any_lookup() {
        assert_eq!(CommitPrefix::parse(" ABCD ").unwrap().as_str(), "abcd");
        assert!(CommitPrefix::parse(&"a".repeat(64)).is_ok(), "a whole one of SHA-256");
        for bad in ["", "   ", "abc", "xyz1", "-abcd", "abcd%", &"a".repeat(65)] {
            assert!(CommitPrefix::parse(bad).is_err(), "{bad}");
        }
    }
}
