//! Names of the server, pages, proxies.

use http::StatusCode;
use lore_server::ServerOptions;
use serde_json::json;

use crate::support::{ask, login, server};

fn options() -> ServerOptions {
    ServerOptions {
        hosts: vec!["lore.example".to_owned()],
        origins: vec!["https://app.example".to_owned()],
        listen: "10.1.2.3:8000".parse().unwrap(),
        ..ServerOptions::default()
    }
}

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_path() {
    let server = server(options()).await;
    let token = server.token_of("admin");
    for row in server.app.rows() {
        let line = format!("{} {}", row.method, crate::support::filled(row.path));
        if ["/healthz", "/readyz"].contains(&row.path) {
            continue;
        }
        let told = ask(&line).without("host").header("host", "evil.example").token(&token).of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{line}");
    }
    for host in ["evil.example", "lore.example.evil", "localhost.evil", "lore.example@evil", "0.0.0.0", "", "10.1.2.4"]
    {
        let told = ask("GET /auth/me").without("host").header("host", host).of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{host}");
    }
    assert_eq!(ask("GET /auth/me").without("host").of(&server).await.status, StatusCode::FORBIDDEN);
    let twice = ask("GET /auth/me").header("host", "evil.example").of(&server).await;
    assert_eq!(twice.status, StatusCode::FORBIDDEN);
    let told = ask("GET http://evil.example/auth/me").of(&server).await;
    assert_eq!(told.status, StatusCode::FORBIDDEN, "HTTP/2 and proxies name the host in the address");
    for host in ["localhost", "127.0.0.1:8000", "[::1]:8000", "lore.example", "LORE.example:443", "10.1.2.3:8000"] {
        let told = ask("GET /auth/me").without("host").header("host", host).of(&server).await;
        assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{host}");
    }
}

#[tokio::test]
async fn probes_may_call_the_server_what_they_like_and_pages_may_not() {
    let server = server(options()).await;
    for path in ["/healthz", "/readyz"] {
        for host in ["10.9.8.7:8000", "evil.example", ""] {
            let told = ask(&format!("GET {path}")).without("host").header("host", host).of(&server).await;
            assert_eq!(told.status, StatusCode::OK, "{path} {host}");
        }
        let page = ask(&format!("GET {path}")).without("host").header("host", "evil.example");
        let told = page.header("origin", "http://evil.example").of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{path}");
        let told = ask(&format!("POST {path}")).without("host").header("host", "evil.example").of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn what_a_proxy_says_about_the_host_is_not_looked_at() {
    let options = ServerOptions { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()], ..options() };
    let server = server(options).await;
    let told = ask("GET /auth/me").without("host").header("host", "evil.example");
    let told = told.header("x-forwarded-host", "lore.example").from("10.0.0.1").of(&server).await;
    assert_eq!(told.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn foreign_pages_are_refused_on_every_path() {
    let server = server(options()).await;
    let token = server.token_of("admin");
    for row in server.app.rows() {
        let line = format!("{} {}", row.method, crate::support::filled(row.path));
        let told = ask(&line).header("origin", "https://evil.example").token(&token).of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{line}");
        assert_eq!(told.header("access-control-allow-origin"), None);
    }
    for origin in [
        "null",
        "",
        "https://evil.example",
        "http://app.example",
        "https://app.example.evil",
        "https://app.example/",
        "app.example",
        "nonsense",
        "http://localhost:3000",
        "https://localhost:8000",
        "file://",
    ] {
        let told = ask("GET /healthz").header("origin", origin).of(&server).await;
        assert_eq!(told.status, StatusCode::FORBIDDEN, "{origin}");
    }
    let both = ask("GET /healthz").header("origin", "https://app.example").header("origin", "null").of(&server).await;
    assert_eq!(both.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_page_that_is_allowed_by_name_may_read_answers() {
    let server = server(options()).await;
    let told = ask("GET /healthz").header("origin", "https://app.example").of(&server).await;
    assert_eq!(told.status, StatusCode::OK);
    assert_eq!(told.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(told.header("access-control-allow-credentials"), None);
    assert_eq!(told.header("vary"), Some("origin"));
    let preflight =
        |origin| ask("OPTIONS /api/golden").header("origin", origin).header("access-control-request-method", "POST");
    let told = preflight("https://app.example").of(&server).await;
    assert_eq!(told.status, StatusCode::NO_CONTENT);
    assert!(told.header("access-control-allow-headers").unwrap().contains("authorization"));
    assert_eq!(preflight("https://evil.example").of(&server).await.status, StatusCode::FORBIDDEN);
    let own = ask("GET /healthz").header("origin", "http://localhost:8000").of(&server).await;
    assert_eq!((own.status, own.header("access-control-allow-origin")), (StatusCode::OK, None));
    let none = ask("GET /healthz").of(&server).await;
    assert_eq!(none.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn wrong_passwords_from_one_address_make_it_wait() {
    let server = server(options()).await;
    let attempt = |from: String, header: Option<String>| {
        let ask = login("power", "wrong password").from(&from);
        header.into_iter().fold(ask, |ask, value| ask.header("x-forwarded-for", &value))
    };
    // Whoever invents addresses is counted all the same.
    for number in 0..6 {
        let told = attempt("9.9.9.9".to_owned(), Some(format!("1.1.1.{number}"))).of(&server).await;
        assert_eq!((told.status, told.code().as_str()), (StatusCode::UNAUTHORIZED, "unauthenticated"));
    }
    let told = attempt("9.9.9.9".to_owned(), Some("1.1.1.99".to_owned())).of(&server).await;
    assert_eq!((told.status, told.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, Some("1")));
    assert_eq!(told.code(), "too_many_requests");
    let right = login("power", crate::support::PASSWORD).from("9.9.9.9").of(&server).await;
    assert_eq!(right.status, StatusCode::TOO_MANY_REQUESTS, "who waits is not told whether a password is right");
    let elsewhere = login("power", crate::support::PASSWORD).from("8.8.8.8").of(&server).await;
    assert_eq!(elsewhere.status, StatusCode::OK, "the owner of the account is elsewhere");
    server.clock.pass(1);
    let later = login("power", crate::support::PASSWORD).from("9.9.9.9").of(&server).await;
    assert_eq!(later.status, StatusCode::OK);
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_is_counted_for_itself() {
    let options = ServerOptions { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()], ..options() };
    let server = server(options).await;
    let attempt = |password: &str, client: &str| {
        login("power", password).from("10.0.0.1").header("x-forwarded-for", &format!("6.6.6.6, {client}"))
    };
    for _ in 0..6 {
        attempt("wrong password", "1.1.1.1").of(&server).await;
    }
    let status = async |client| attempt(crate::support::PASSWORD, client).of(&server).await.status;
    assert_eq!(status("1.1.1.1").await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(status("2.2.2.2").await, StatusCode::OK);
    // One IPv6 network is one client.
    for number in 0..6 {
        attempt("wrong password", &format!("2001:db8::{number}")).of(&server).await;
    }
    assert_eq!(status("2001:db8::ffff").await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(status("2001:db8:1::1").await, StatusCode::OK);
    // The audit log tells the same address.
    let token = server.token_of("admin");
    let new = json!({"username": "eve", "password": crate::support::PASSWORD, "role": "normal_user"});
    let ask_from = ask("POST /api/users").token(&token).json(&new).from("10.0.0.1");
    assert_eq!(ask_from.header("x-forwarded-for", "6.6.6.6, 4.4.4.4").of(&server).await.status, StatusCode::OK);
    let audit = ask("GET /api/audit?limit=1").token(&token).of(&server).await.json();
    assert_eq!(audit["entries"][0]["address"], "4.4.4.4", "{audit}");
    assert!(audit["total"].as_u64().unwrap() > 1);
}

#[tokio::test]
async fn an_authorization_server_is_told_of_where_there_is_one() {
    let without = server(options()).await;
    let paths = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];
    for path in paths {
        assert_eq!(ask(&format!("GET {path}")).of(&without).await.status, StatusCode::NOT_FOUND);
    }
    let issuer = Some("https://login.example/".to_owned());
    let with = server(ServerOptions { oauth_issuer: issuer.clone(), ..options() }).await;
    for (path, resource) in paths.into_iter().zip(["http://localhost:8000", "http://localhost:8000/mcp"]) {
        let told = ask(&format!("GET {path}")).of(&with).await.json();
        assert_eq!(told["resource"], resource);
        assert_eq!(told["authorization_servers"], json!(["https://login.example/"]), "an issuer is named to the byte");
    }
    let told = ask("POST /mcp").of(&with).await;
    let metadata = r#"resource_metadata="http://localhost:8000/.well-known/oauth-protected-resource/mcp""#;
    assert_eq!(told.header("www-authenticate").unwrap(), format!(r#"Bearer realm="lore", {metadata}"#));
    let toolset = ask(&format!("GET {}/history", paths[1])).of(&with).await;
    assert_eq!(toolset.json()["resource"], "http://localhost:8000/mcp/history");
    assert_eq!(ask(&format!("GET {}/nothing", paths[1])).of(&with).await.status, StatusCode::NOT_FOUND);
    let told = ask("POST /mcp/history").of(&with).await;
    let metadata = told.header("www-authenticate").unwrap().to_owned();
    assert!(metadata.ends_with(r#"oauth-protected-resource/mcp/history""#), "{metadata}");
    let public = Some("https://lore.example/".to_owned());
    let options = ServerOptions { oauth_issuer: issuer.clone(), public_url: public, ..ServerOptions::default() };
    let public = server(options).await;
    let told = ask(&format!("GET {}", paths[1])).without("host").header("host", "lore.example").of(&public).await;
    assert_eq!(told.json()["resource"], "https://lore.example/mcp");
    // A path of the public URL stands after the well-known part.
    let below = Some("https://lore.example/team/lore".to_owned());
    let below = server(ServerOptions { oauth_issuer: issuer, public_url: below, ..ServerOptions::default() }).await;
    let told = ask("POST /mcp").without("host").header("host", "lore.example").of(&below).await;
    let metadata = "https://lore.example/.well-known/oauth-protected-resource/team/lore/mcp";
    assert!(told.header("www-authenticate").unwrap().contains(metadata), "{:?}", told.headers);
    let path = metadata.strip_prefix("https://lore.example").unwrap();
    let told = ask(&format!("GET {path}")).without("host").header("host", "lore.example").of(&below).await;
    assert_eq!(told.json()["resource"], "https://lore.example/team/lore/mcp");
}

#[tokio::test]
async fn browsers_are_told_to_stay_with_tls_where_the_client_speaks_it() {
    let options = ServerOptions { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()], ..options() };
    let server = server(options).await;
    for (peer, scheme, expected) in
        [("10.0.0.1", "https", Some("max-age=31536000")), ("10.0.0.1", "http", None), ("9.9.9.9", "https", None)]
    {
        let told = ask("GET /auth/me").from(peer).header("x-forwarded-proto", scheme).of(&server).await;
        assert_eq!(told.header("strict-transport-security"), expected, "{peer} {scheme}");
    }
}

#[tokio::test]
async fn what_is_not_well_known_is_not_there() {
    let server = server(options()).await;
    for path in [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/oauth-protected-resource/mcp/history",
        "/.well-known/oauth-protected-resource/other",
    ] {
        let told = ask(&format!("GET {path}")).of(&server).await;
        assert_eq!((told.status, told.header("www-authenticate")), (StatusCode::NOT_FOUND, None), "{path}");
    }
}
