//! Who gets in where, for every row of the table.

use http::{Method, StatusCode};
use lore_model::Role;
use lore_server::{ServerOptions, Who};
use lore_team::Asker;

use crate::support::{ask, filled, is_in, server};

#[tokio::test]
async fn every_path_but_a_few_wants_a_token() {
    let server = server(ServerOptions::default()).await;
    let mut open = Vec::new();
    for row in server.app.rows() {
        let line = format!("{} {}", row.method, filled(row.path));
        let told = ask(&line).of(&server).await;
        if row.who == Who::Anyone {
            assert_ne!(told.header("www-authenticate"), Some(r#"Bearer realm="lore""#), "{line}");
            open.push(line);
            continue;
        }
        assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{line}");
        assert_eq!(told.header("www-authenticate"), Some(r#"Bearer realm="lore""#), "{line}");
        if row.path.starts_with("/mcp") {
            let expected = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Authentication failed: 401 Unauthorized"},"id":null}"#;
            assert_eq!(told.text, expected, "{line}");
        } else {
            assert_eq!(told.code(), "unauthenticated", "{line}");
        }
        let told = ask(&line).token("nonsense").of(&server).await;
        assert_eq!(told.header("www-authenticate"), Some(r#"Bearer realm="lore", error="invalid_token""#), "{line}");
    }
    assert_eq!(
        open,
        [
            "GET /healthz",
            "GET /readyz",
            "GET /.well-known/oauth-protected-resource",
            "GET /.well-known/oauth-protected-resource/mcp",
            "GET /.well-known/oauth-protected-resource/mcp/999",
            "POST /auth/login",
            "POST /auth/refresh",
        ]
    );
}

#[tokio::test]
async fn each_role_gets_where_its_permissions_lead() {
    let server = server(ServerOptions::default()).await;
    for (name, role) in [("admin", Role::Admin), ("power", Role::PowerUser), ("normal", Role::NormalUser)] {
        let token = server.token_of(name);
        for row in server.app.rows() {
            // These would take away what the next row needs.
            if ["/auth/logout", "/auth/password"].contains(&row.path) || row.path.starts_with("/mcp") {
                continue;
            }
            let Who::May(permission) = row.who else {
                if row.who == Who::AnyUser {
                    let told = ask(&format!("{} {}", row.method, filled(row.path))).token(&token).of(&server).await;
                    assert!(is_in(told.status), "{name} {} {}: {}", row.method, row.path, told.text);
                }
                continue;
            };
            let told = ask(&format!("{} {}", row.method, filled(row.path))).token(&token).of(&server).await;
            let expected = role.may(permission);
            assert_eq!(is_in(told.status), expected, "{name} {} {}: {}", row.method, row.path, told.text);
            if !expected {
                assert_eq!(told.code(), "permission_denied");
                assert!(told.text.contains(permission.as_str()), "{}", told.text);
            }
        }
    }
}

#[tokio::test]
async fn whoever_shows_no_token_does_not_learn_which_paths_there_are() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    for line in ["GET /nothing", "GET /api/users/", "GET //api/users", "GET /api", "GET /%2e%2e/api/users", "FOO /x"] {
        assert_eq!(ask(line).of(&server).await.status, StatusCode::UNAUTHORIZED, "{line}");
        assert_eq!(ask(line).token(&token).of(&server).await.status, StatusCode::NOT_FOUND, "{line}");
    }
    assert_eq!(ask("PUT /api/users").of(&server).await.status, StatusCode::UNAUTHORIZED);
    let told = ask("PUT /api/users").token(&token).of(&server).await;
    assert_eq!((told.status, told.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, Some("GET, POST, HEAD, OPTIONS")));
    let told = ask("OPTIONS /api/users").token(&token).of(&server).await;
    assert_eq!((told.status, told.header("allow")), (StatusCode::NO_CONTENT, Some("GET, POST, HEAD, OPTIONS")));
    assert_eq!(ask("POST /healthz").of(&server).await.status, StatusCode::METHOD_NOT_ALLOWED);
    let told = ask("HEAD /healthz").of(&server).await;
    assert_eq!((told.status, told.text.as_str()), (StatusCode::OK, ""));
}

#[tokio::test]
async fn a_role_that_changes_counts_at_once() {
    let server = server(ServerOptions::default()).await;
    let login = server.login("normal").await;
    let access = login["access_token"].as_str().unwrap();
    let look = || ask("GET /api/users").token(access);
    assert_eq!(look().of(&server).await.status, StatusCode::FORBIDDEN);
    server.team.set_role(&Asker::local(), "normal", Role::Admin).unwrap();
    assert_eq!(look().of(&server).await.status, StatusCode::OK);
    server.team.set_role(&Asker::local(), "normal", Role::NormalUser).unwrap();
    assert_eq!(look().of(&server).await.status, StatusCode::FORBIDDEN);
    server.team.remove_user(&Asker::local(), "normal").unwrap();
    assert_eq!(look().of(&server).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_is_taken_from_one_header_and_nowhere_else() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("admin");
    let unauthorized = |told: crate::support::Told| assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{}", told.text);
    for name in ["access_token", "token", "authorization"] {
        unauthorized(ask(&format!("GET /auth/me?{name}={token}")).of(&server).await);
        unauthorized(ask("GET /auth/me").header("cookie", &format!("{name}={token}")).of(&server).await);
    }
    unauthorized(ask("GET /auth/me").header("x-api-key", &token).of(&server).await);
    unauthorized(ask("GET /auth/me").header("proxy-authorization", &format!("Bearer {token}")).of(&server).await);
    unauthorized(ask("GET /auth/me").header("authorization", &format!("Basic {token}")).of(&server).await);
    unauthorized(ask("GET /auth/me").token(&token).token(&token).of(&server).await);
    unauthorized(ask("GET /auth/me").token("nonsense").token(&token).of(&server).await);
    assert_eq!(ask("GET /auth/me").token(&token).of(&server).await.status, StatusCode::OK);
}

#[tokio::test]
async fn nothing_in_a_request_widens_what_a_user_may_do() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    for (name, value) in [
        ("x-http-method-override", "GET"),
        ("x-original-url", "/healthz"),
        ("x-rewrite-url", "/healthz"),
        ("x-forwarded-user", "admin"),
        ("x-remote-user", "admin"),
        ("x-role", "admin"),
    ] {
        let told = ask("GET /api/users").token(&token).header(name, value).of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{name}");
    }
    assert_eq!(ask("GET /api/tokens?all=true").token(&token).of(&server).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_document_says_what_the_table_says() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let told = ask("GET /openapi.json").token(&token).of(&server).await;
    let document = told.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut listed = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let open = operation["security"].as_array().unwrap().is_empty();
            listed.push((
                path.clone(),
                method.to_string(),
                open,
                operation["x-permission"].as_str().map(str::to_owned),
            ));
        }
    }
    let mut rows: Vec<_> = server
        .app
        .rows()
        .into_iter()
        .map(|row| {
            let permission = match row.who {
                Who::May(permission) => Some(permission.as_str().to_owned()),
                _ => None,
            };
            (row.path.to_owned(), row.method.to_string(), row.who == Who::Anyone, permission)
        })
        .collect();
    listed.sort();
    rows.sort();
    assert_eq!(listed, rows);
    // Whatever is referred to is there.
    let text = document.to_string();
    for reference in text.split(r##""$ref":"#"##).skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
    assert!(text.contains(r##""$ref":"#/components/schemas/Job""##));
    let ids: Vec<&str> = text.split(r#""operationId":""#).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len()), (rows.len(), rows.len()));
}
