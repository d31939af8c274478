//! Signed tokens: what they say, how they are made and how they are checked.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// What a token says about its holder.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    pub subject: String,
    pub scopes: Vec<String>,
    pub expires_at: u64,
}

/// Why a token was refused.
#[derive(Debug, PartialEq)]
pub enum TokenError {
    Missing,
    Malformed,
    BadSignature,
    Expired,
    Forbidden,
}

/// The key that signs, and older ones that are still accepted.
#[derive(Debug, Clone)]
pub struct KeyRing {
    current: Vec<u8>,
    former: Vec<Vec<u8>>,
}

impl KeyRing {
    pub fn new(current: Vec<u8>) -> Self {
        Self { current, former: Vec::new() }
    }

    /// Signs with a new key from now on; tokens of the old one stay valid until they expire.
    pub fn rotate(&mut self, key: Vec<u8>) {
        self.former.insert(0, std::mem::replace(&mut self.current, key));
        self.former.truncate(2);
    }
}

/// Makes a token: the claims and their signature, joined by a dot.
pub fn issue_token(claims: &Claims, keys: &KeyRing) -> String {
    let body = format!("{};{};{}", claims.subject, claims.scopes.join(","), claims.expires_at);
    let signature = sign(&body, &keys.current);
    format!("{}.{}", hex(body.as_bytes()), hex(&signature))
}

/// Checks signature and expiry of a token and gives what it says.
pub fn verify_token(token: &str, keys: &KeyRing, now: u64) -> Result<Claims, TokenError> {
    let (body, signature) = token.split_once('.').ok_or(TokenError::Malformed)?;
    let body = String::from_utf8(unhex(body).ok_or(TokenError::Malformed)?).map_err(|_| TokenError::Malformed)?;
    let signature = unhex(signature).ok_or(TokenError::Malformed)?;
    let accepted = std::iter::once(&keys.current).chain(&keys.former).any(|key| sign(&body, key) == signature);
    if !accepted {
        return Err(TokenError::BadSignature);
    }
    let mut fields = body.split(';');
    let (Some(subject), Some(scopes), Some(expires_at)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(TokenError::Malformed);
    };
    let expires_at = expires_at.parse().map_err(|_| TokenError::Malformed)?;
    if expires_at <= now {
        return Err(TokenError::Expired);
    }
    let scopes = scopes.split(',').map(str::to_owned).collect();
    Ok(Claims { subject: subject.to_owned(), scopes, expires_at })
}

fn sign(body: &str, key: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length will do");
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
