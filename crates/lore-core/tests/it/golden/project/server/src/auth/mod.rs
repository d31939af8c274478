//! Who may call: every request carries a bearer token.

mod tokens;

pub use tokens::{Claims, KeyRing, TokenError, issue_token, verify_token};

use axum::http::{HeaderMap, header::AUTHORIZATION};

/// Finds out who calls, from the headers of a request.
pub fn authenticate(headers: &HeaderMap, keys: &KeyRing, now: u64) -> Result<Claims, TokenError> {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).ok_or(TokenError::Missing)?;
    let token = value.strip_prefix("Bearer ").ok_or(TokenError::Malformed)?;
    verify_token(token, keys, now)
}

/// Whether the caller may do this.
pub fn authorize(claims: &Claims, scope: &str) -> Result<(), TokenError> {
    if claims.scopes.iter().any(|held| held == scope || held == "admin") { Ok(()) } else { Err(TokenError::Forbidden) }
}
