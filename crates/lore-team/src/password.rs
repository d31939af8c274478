//! Passwords: which are taken, and what is kept in their place.

use std::sync::OnceLock;

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use lore_model::{Code, Failure, UserName};

/// Shorter ones are guessed.
const SHORTEST: usize = 12;

/// Longer ones are no passwords but a way to keep the server busy.
const LONGEST: usize = 256;

/// Passwords of at least twelve characters that everybody tries first, and beginnings of such.
const COMMON: &[&str] = &[
    "password",
    "passw0rd",
    "p@ssw0rd",
    "p@ssword",
    "123456789012",
    "1234567890",
    "0123456789",
    "qwertyuiop",
    "qwerty123456",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "zaq12wsx",
    "iloveyou",
    "administrator",
    "admin123",
    "adminadmin",
    "letmein",
    "welcome",
    "changeme",
    "trustno1",
    "superman",
    "football",
    "baseball",
    "abcdefghijkl",
    "abcd1234",
    "abc123",
    "correcthorsebatterystaple",
    "correct horse battery staple",
    "secret",
];

/// Says what is wrong with a password that somebody chose.
pub(super) fn check(user: &UserName, password: &str) -> Result<(), Failure> {
    let refuse = |why: String| {
        Err(Failure::new(Code::InvalidArgument, why).hint(format!(
            "choose at least {SHORTEST} characters that nobody would try: a few unrelated words do well"
        )))
    };
    let length = password.chars().count();
    if length < SHORTEST {
        return refuse(format!("the password has {length} characters, and needs {SHORTEST} at least"));
    }
    if password.len() > LONGEST {
        return refuse(format!("the password is longer than {LONGEST} bytes"));
    }
    let plain = password.to_lowercase();
    if is_common(&plain) || plain.chars().all(|c| c.is_ascii_digit()) {
        return refuse("the password is one of those that everybody tries first".to_owned());
    }
    if plain.contains(user.as_str()) && length < user.as_str().len() + 8 {
        return refuse("the password is little more than the name of the user".to_owned());
    }
    let mut letters: Vec<char> = plain.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    if letters.len() < 5 {
        return refuse("the password is made of too few different characters".to_owned());
    }
    Ok(())
}

/// Whether it is a common one with nothing but digits and signs around it.
fn is_common(plain: &str) -> bool {
    let core = plain.trim_matches(|c: char| !c.is_alphabetic());
    COMMON.iter().any(|common| *common == plain || *common == core || repeats(plain, common))
}

/// Whether the text is nothing but this, over and over.
fn repeats(text: &str, piece: &str) -> bool {
    text.len() > piece.len() && text.split(piece).all(str::is_empty)
}

/// What is kept in place of a password. Takes tens of milliseconds and 19 MiB, on purpose.
pub(super) fn hash(password: &str) -> Result<String, Failure> {
    let hashed = Argon2::default().hash_password(password.as_bytes());
    let fault = |error| Failure::new(Code::Internal, format!("a password could not be hashed: {error}"));
    hashed.map(|hash: PasswordHash| hash.to_string()).map_err(fault)
}

/// Whether this is the password of which that was kept.
pub(super) fn verify(password: &str, hash: &str) -> bool {
    password.len() <= LONGEST
        && PasswordHash::new(hash)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

/// Whether what is kept was made with other settings than today's.
pub(super) fn is_outdated(hash: &str) -> bool {
    let settings = |hash: &str| hash.rsplitn(3, '$').nth(2).map(str::to_owned);
    settings(hash) != settings(nobodys())
}

/// The hash of a password that nobody has: checking one against it takes as long as against a user's.
pub(super) fn nobodys() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash("nobody has this password").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_passwords_are_taken_and_those_that_everybody_tries_are_not() {
        let user = UserName::parse("developer1").unwrap();
        for good in ["secure-password-here", "tall green river 7", "xK9$mQ2!vB7w", "日本語の長いパスワードです"]
        {
            assert!(check(&user, good).is_ok(), "{good}");
        }
        for bad in [
            "short",
            "elevenchars",
            "password1234",
            "Password!2026",
            "1234567890123",
            "qwertyuiop12",
            "aaaaaaaaaaaa",
            "abababababab",
            "developer1!!",
            "secretsecret",
            "administrator",
            &"x".repeat(300),
        ] {
            assert!(check(&user, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hash_tells_the_right_password_from_a_wrong_one() {
        let kept = hash("tall green river 7").unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(verify("tall green river 7", &kept));
        assert!(!verify("tall green river 8", &kept));
        assert!(!verify("tall green river 7", "garbage"));
        assert!(!is_outdated(&kept));
        assert!(is_outdated("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$aGFzaA"));
    }
}
