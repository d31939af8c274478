//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

/// Whom a token names that is signed with this key, and until when.
pub fn subject_of(token: &str, key: &[u8]) -> Option<(String, i64)> {
    super::access::subject_of(token, key)
}

/// A token that is signed with this key.
pub fn sign(subject: &str, expires: i64, key: &[u8]) -> Option<String> {
    super::access::sign(subject, expires, key)
}
