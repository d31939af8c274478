//! Personal tokens.

use http::StatusCode;
use lore_server::ServerOptions;
use serde_json::json;

use crate::support::{ask, server};

#[tokio::test]
async fn a_personal_token_works_until_it_expires_or_is_revoked() {
    let server = server(ServerOptions::default()).await;
    let login = server.login("normal").await;
    let access = login["access_token"].as_str().unwrap();
    let make = |body: serde_json::Value| ask("POST /api/tokens").token(access).json(&body);
    let short = make(json!({"name": "short", "expires_in_days": 1})).of(&server).await.json();
    let long = make(json!({"name": "long"})).of(&server).await.json();
    assert_eq!(short["expires_at"], "2027-01-16T08:00:00Z");
    assert_eq!(long["expires_at"], serde_json::Value::Null);
    let status = async |token: &serde_json::Value| {
        ask("GET /auth/me").token(token["token"].as_str().unwrap()).of(&server).await.status
    };
    assert!(short["token"].as_str().unwrap().starts_with("lore_pat_"));
    assert_eq!((status(&short).await, status(&long).await), (StatusCode::OK, StatusCode::OK));
    let list = ask("GET /api/tokens").token(access).of(&server).await;
    assert_eq!(list.json()["total"], 2);
    assert!(!list.text.contains("lore_pat_"), "secrets are not kept");
    server.clock.pass(86_400);
    assert_eq!((status(&short).await, status(&long).await), (StatusCode::UNAUTHORIZED, StatusCode::OK));
    let own = long["token"].as_str().unwrap();
    let revoke = || ask(&format!("DELETE /api/tokens/{}", long["id"])).token(own);
    assert_eq!(revoke().of(&server).await.json(), json!({"success": true}));
    assert_eq!(status(&long).await, StatusCode::UNAUTHORIZED);
    assert_eq!(revoke().of(&server).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn tokens_of_others_are_not_there() {
    let server = server(ServerOptions::default()).await;
    let (normal, power) = (server.token_of("normal"), server.token_of("power"));
    let admin = server.token_of("admin");
    let list = async |path: &str, token: &str| ask(&format!("GET {path}")).token(token).of(&server).await.json();
    let of_power = list("/api/tokens", &power).await;
    assert_eq!((&of_power["total"], &of_power["tokens"][0]["username"]), (&json!(1), &json!("power")));
    assert_eq!(list("/api/tokens?all=true", &admin).await["total"], 3);
    let cut = list("/api/tokens?all=true&limit=2", &admin).await;
    assert_eq!((cut["tokens"].as_array().unwrap().len(), &cut["total"]), (2, &json!(3)));
    let revoke = |token: &str| ask(&format!("DELETE /api/tokens/{}", of_power["tokens"][0]["id"])).token(token);
    let told = revoke(&normal).of(&server).await;
    assert_eq!((told.status, told.code().as_str()), (StatusCode::NOT_FOUND, "token_not_found"));
    assert_eq!(ask("GET /auth/me").token(&power).of(&server).await.status, StatusCode::OK);
    assert_eq!(revoke(&admin).of(&server).await.status, StatusCode::OK);
    assert_eq!(ask("GET /auth/me").token(&power).of(&server).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_made_with_a_token_does_not_outlive_it() {
    let server = server(ServerOptions::default()).await;
    let login = server.login("normal").await;
    let make = |token: &str, body: serde_json::Value| ask("POST /api/tokens").token(token).json(&body);
    let access = login["access_token"].as_str().unwrap();
    let parent = make(access, json!({"name": "parent", "expires_in_days": 10})).of(&server).await.json();
    let parent = parent["token"].as_str().unwrap();
    let lasting = make(access, json!({"name": "lasting"})).of(&server).await.json();
    server.clock.pass(3600);
    for body in [json!({"name": "ever"}), json!({"name": "long", "expires_in_days": 10})] {
        let told = make(parent, body).of(&server).await;
        assert_eq!((told.status, told.code().as_str()), (StatusCode::FORBIDDEN, "permission_denied"));
        assert!(told.text.contains("`expires_in_days` of 9 or less"), "{}", told.text);
    }
    let told = make(parent, json!({"name": "short", "expires_in_days": 9})).of(&server).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    let told = make(lasting["token"].as_str().unwrap(), json!({"name": "ever"})).of(&server).await;
    assert_eq!(told.status, StatusCode::OK, "a token without an end gives no more than it has");
    server.clock.pass(9 * 86_400);
    let told = make(parent, json!({"name": "last", "expires_in_days": 1})).of(&server).await;
    assert!(told.status == StatusCode::FORBIDDEN && told.text.contains("log in"), "{}", told.text);
}
