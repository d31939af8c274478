//! The one algorithm that access tokens are signed with, HMAC with SHA-256.
//!
//! jsonwebtoken can bring all algorithms that there are for tokens, RSA among them, whose implementation is known to be weak.
//! It brings none of them here: a token that names another one is refused before anything is computed.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
    signature::{Error, Signer, Verifier},
};
use ring::hmac;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| signer(*algorithm, key),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    // They are for keys that others publish: there are none.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has the tokens of this process signed and checked by it.
pub(super) fn install() {
    // One that is installed already is this one.
    PROVIDER.install_default().ok();
}

/// A key.
struct Hs256(hmac::Key);

fn signer(algorithm: Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    check(algorithm, key.family())?;
    Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))))
}

fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    check(algorithm, key.family())?;
    Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.try_get_as_bytes()?))))
}

fn check(algorithm: Algorithm, family: AlgorithmFamily) -> Result<()> {
    if algorithm == Algorithm::HS256 && family == AlgorithmFamily::Hmac {
        return Ok(());
    }
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    /// Takes as long wherever the signatures differ.
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.0, message, signature).map_err(|_| Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_standard() {
        // RFC 7515, appendix A.1.
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let token = concat!(
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.",
            "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt",
            "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.",
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        );
        let (message, signature) = token.rsplit_once('.').unwrap();
        install();
        let sign = EncodingKey::from_urlsafe_base64_secret(&format!("{key}==")).unwrap();
        let signed = jsonwebtoken::crypto::sign(message.as_bytes(), &sign, Algorithm::HS256).unwrap();
        assert_eq!(signed, signature);
        let check = DecodingKey::from_secret(sign.as_bytes());
        let is_right = |message: &str, signature: &str| {
            jsonwebtoken::crypto::verify(signature, message.as_bytes(), &check, Algorithm::HS256).unwrap()
        };
        assert!(is_right(message, signature));
        assert!(!is_right(&message.replace('e', "f"), signature) && !is_right(message, ""));
    }

    #[test]
    fn there_is_no_other_algorithm() {
        install();
        let (sign, check) = (EncodingKey::from_secret(b"x"), DecodingKey::from_secret(b"x"));
        for other in [Algorithm::HS384, Algorithm::HS512, Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA] {
            assert!(jsonwebtoken::crypto::sign(b"", &sign, other).is_err(), "{other:?}");
            assert!(jsonwebtoken::crypto::verify("", b"", &check, other).is_err(), "{other:?}");
        }
    }
}
