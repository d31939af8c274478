//! Access tokens that somebody made up.

use http::StatusCode;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use lore_server::ServerOptions;
use lore_store::TeamStore as _;
use ring::hmac;
use serde_json::{Value, json};

use crate::support::{NOW, ask, server};

/// What somebody would sign with, without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            text.push(char::from(DIGITS[(number >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}

#[tokio::test]
async fn forged_tokens_open_nothing() {
    let server = server(ServerOptions::default()).await;
    let login = server.login("admin").await;
    let real = login["access_token"].as_str().unwrap().to_owned();
    let key = server.store.signing_key([0; 32]).unwrap();
    let id = server.user("admin").id.0.to_string();
    let claims = |change: &dyn Fn(&mut Value)| {
        let mut claims =
            json!({"iss": "lore", "aud": "lore-server", "sub": id, "login": 1, "iat": NOW, "exp": NOW + 600});
        change(&mut claims);
        claims
    };
    let sign = |key: &[u8], claims: &Value| {
        encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(key)).unwrap()
    };
    let good = |change: &dyn Fn(&mut Value)| sign(&key, &claims(change));
    let as_is = |_: &mut Value| {};
    // What is forged below differs from this in one thing each.
    let payload = real.split('.').nth(1).unwrap();
    let without = |name: &'static str| move |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove(name));
    let with = |name: &'static str, value: Value| move |claims: &mut Value| claims[name] = value.clone();
    for token in [good(&as_is), real.clone(), good(&with("nbf", json!(NOW)))] {
        assert_eq!(ask("GET /auth/me").token(&token).of(&server).await.status, StatusCode::OK);
    }
    let another = {
        let header = base64(json!({"alg": "HS512", "typ": "JWT"}).to_string().as_bytes());
        let message = format!("{header}.{payload}");
        let key = hmac::Key::new(hmac::HMAC_SHA512, &key);
        format!("{message}.{}", base64(hmac::sign(&key, message.as_bytes()).as_ref()))
    };
    let none = |word: &str| format!("{}.{payload}.", base64(json!({"alg": word, "typ": "JWT"}).to_string().as_bytes()));
    let forged = [
        ("alg none", none("none")),
        ("alg None", none("None")),
        ("alg nonsense", none("x")),
        ("alg none with a signature", format!("{}{}", none("none"), real.rsplit('.').next().unwrap())),
        ("another algorithm", another),
        ("another key", sign(&[7; 32], &claims(&as_is))),
        ("an empty key", sign(b"", &claims(&as_is))),
        ("expired", good(&with("exp", json!(NOW)))),
        ("expired long ago", good(&with("exp", json!(-1)))),
        ("not valid yet", good(&with("nbf", json!(NOW + 1)))),
        ("a beginning that is no number", good(&with("nbf", json!("now")))),
        ("no expiry", good(&without("exp"))),
        ("an expiry that is no number", good(&with("exp", json!("never")))),
        ("another audience", good(&with("aud", json!("other")))),
        ("no audience", good(&without("aud"))),
        ("another issuer", good(&with("iss", json!("other")))),
        ("no issuer", good(&without("iss"))),
        ("no subject", good(&without("sub"))),
        ("another subject", good(&with("sub", json!("2")))),
        ("a login that never was", good(&with("login", json!(999)))),
        ("no login", good(&without("login"))),
        ("cut", real[..real.len() - 2].to_owned()),
        ("no signature", real.rsplit_once('.').unwrap().0.to_owned()),
        ("an empty signature", format!("{}.", real.rsplit_once('.').unwrap().0)),
        ("one part more", format!("{real}.x")),
        ("another payload", real.replacen(&payload[..8], "eyJpc3Mi", 1).replace(payload, &payload.replace('J', "K"))),
        ("nothing", String::new()),
        ("dots", "..".to_owned()),
        ("garbage", "\u{7f}garbage!".replace('\u{7f}', "%")),
        ("a personal token that never was", format!("lore_pat_{}", "0".repeat(64))),
        ("a refresh token", login["refresh_token"].as_str().unwrap().to_owned()),
        ("huge", "a".repeat(60_000)),
        ("huge and personal", format!("lore_pat_{}", "0".repeat(60_000))),
    ];
    for (what, token) in forged {
        let told = ask("GET /auth/me").token(&token).of(&server).await;
        assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{what}");
        assert_eq!(told.header("www-authenticate"), Some(r#"Bearer realm="lore", error="invalid_token""#), "{what}");
    }
}
