//! Users, repositories, jobs, and what the server tells about itself.

use std::time::Duration;

use http::StatusCode;
use lore_core::Cancel;
use lore_mcp::{BoundTool, Server, ServerText, SessionLimits};
use lore_model::Permission;
use lore_server::{Limits, ServerOptions};
use lore_tools::{Answer, Effect, Errors};
use serde_json::{Value, json};

use crate::support::{Fixture, PASSWORD, Told, ask, login, server, server_with};

async fn call(server: &Fixture, token: &str, line: &str, body: Value) -> Told {
    let asked = ask(line).token(token);
    if body.is_null() { asked.of(server).await } else { asked.json(&body).of(server).await }
}

#[tokio::test]
async fn users_are_added_changed_and_removed() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("admin");
    let new = json!({"username": "Ada", "password": PASSWORD, "role": "normal_user"});
    let told = call(&server, &token, "POST /api/users", new.clone()).await;
    let user = json!({"username": "ada", "role": "normal_user", "created_at": "2027-01-15T08:00:00Z"});
    assert_eq!(told.json(), json!({"success": true, "user": user, "message": "user `ada` is added"}));
    let again = call(&server, &token, "POST /api/users", new).await;
    assert_eq!((again.status, again.code().as_str()), (StatusCode::CONFLICT, "user_exists"));
    let weak = json!({"username": "bob", "password": "short", "role": "normal_user"});
    assert_eq!(call(&server, &token, "POST /api/users", weak).await.status, StatusCode::BAD_REQUEST);
    let role = json!({"username": "bob", "password": PASSWORD, "role": "king"});
    let told = call(&server, &token, "POST /api/users", role).await;
    assert!(told.status == StatusCode::BAD_REQUEST && told.text.contains("power_user"), "{}", told.text);
    let tokens = server.login("ada").await;
    let change = json!({"role": "power_user", "password": "quite another password"});
    let told = call(&server, &token, "PATCH /api/users/ada", change).await;
    assert_eq!(told.json()["user"]["role"], "power_user", "{}", told.text);
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(ask("GET /auth/me").token(access).of(&server).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(login("ada", "quite another password").of(&server).await.status, StatusCode::OK);
    assert_eq!(call(&server, &token, "PATCH /api/users/ada", json!({})).await.status, StatusCode::BAD_REQUEST);
    let list = call(&server, &token, "GET /api/users?limit=2", Value::Null).await.json();
    assert_eq!((list["users"].as_array().unwrap().len(), &list["total"]), (2, &json!(4)));
    let told = call(&server, &token, "DELETE /api/users/ada", Value::Null).await;
    assert_eq!(told.json(), json!({"success": true, "message": "user `ada` is removed"}));
    assert_eq!(call(&server, &token, "DELETE /api/users/ada", Value::Null).await.code(), "user_not_found");
    let last = call(&server, &token, "DELETE /api/users/admin", Value::Null).await;
    assert_eq!((last.status, last.code().as_str()), (StatusCode::CONFLICT, "conflict"), "an admin must be left");
}

#[tokio::test]
async fn repositories_are_kept_through_jobs() {
    let server = server(ServerOptions::default()).await;
    let (admin, normal) = (server.token_of("admin"), server.token_of("normal"));
    let new = json!({"url": "https://secret@git.example/api.git", "alias": "api", "refresh_every": "6h"});
    let told = call(&server, &admin, "POST /api/golden", new.clone()).await;
    let begun = told.json();
    assert_eq!((&begun["success"], &begun["message"]), (&json!(true), &json!("`api` is being added")), "{begun}");
    let id = begun["job_id"].as_str().unwrap();
    let list = call(&server, &normal, "GET /api/golden", Value::Null).await;
    assert!(!list.text.contains("secret"), "{}", list.text);
    let golden = &list.json()["repositories"][0];
    assert_eq!(golden["repo_url"], "https://git.example/api.git");
    assert_eq!((&golden["refresh_every"], &golden["state"]), (&json!(21_600), &json!("adding")));
    let job = call(&server, &admin, &format!("GET /api/jobs/{id}"), Value::Null).await.json();
    assert_eq!(job["job"]["operation_type"], "add_golden_repo");
    assert_eq!((&job["job"]["status"], &job["job"]["started_at"]), (&json!("pending"), &Value::Null));
    assert_eq!((&job["job"]["username"], &job["logs"]), (&json!("admin"), &json!([])));
    let told = call(&server, &normal, &format!("GET /api/jobs/{id}"), Value::Null).await;
    assert_eq!(told.code(), "job_not_found", "another's job is not there");
    let told = call(&server, &normal, &format!("POST /api/jobs/{id}/cancel"), Value::Null).await;
    assert_eq!(told.code(), "job_not_found");
    assert_eq!(call(&server, &normal, "GET /api/jobs", Value::Null).await.json(), json!({"jobs": [], "total": 0}));
    let pending = call(&server, &admin, "GET /api/jobs?status=pending&limit=1", Value::Null).await.json();
    assert_eq!(pending["total"], 1);
    assert_eq!(call(&server, &admin, "GET /api/jobs?status=odd", Value::Null).await.status, StatusCode::BAD_REQUEST);
    let told = call(&server, &admin, "PATCH /api/golden/api", json!({"refresh_every": null})).await;
    assert_eq!(told.json()["success"], true, "{}", told.text);
    let told = call(&server, &admin, "GET /api/golden", Value::Null).await.json();
    assert_eq!(told["repositories"][0]["refresh_every"], Value::Null);
    let short = call(&server, &admin, "PATCH /api/golden/api", json!({"refresh_every": 1})).await;
    assert_eq!(short.status, StatusCode::BAD_REQUEST);
    let told = call(&server, &admin, &format!("POST /api/jobs/{id}/cancel"), json!({})).await;
    assert_eq!(told.json(), json!({"success": true, "message": "the job is cancelled"}));
    assert_eq!(call(&server, &admin, "POST /api/golden/none/refresh", json!({})).await.code(), "repo_not_found");
    let told = call(&server, &admin, "DELETE /api/golden/none?force=true", Value::Null).await;
    assert_eq!(told.code(), "repo_not_found");
}

#[tokio::test]
async fn users_who_ask_side_by_side_get_their_own_answers() {
    let server = server(ServerOptions::default()).await;
    let mut asking = tokio::task::JoinSet::new();
    let server = std::sync::Arc::new(server);
    for name in ["admin", "power", "normal"] {
        let token = server.token_of(name);
        for _ in 0..4 {
            let (server, token) = (std::sync::Arc::clone(&server), token.clone());
            asking.spawn(async move {
                for _ in 0..100 {
                    let told = ask("GET /auth/me").token(&token).of(&server).await;
                    assert_eq!(told.json()["user"]["username"], name);
                    let told = ask("GET /api/tokens").token(&token).of(&server).await;
                    for other in ["admin", "power", "normal"].into_iter().filter(|other| *other != name) {
                        assert!(!told.text.contains(&format!("\"{other}\"")), "{}", told.text);
                    }
                }
            });
        }
    }
    while let Some(done) = asking.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn the_server_says_whether_it_is_ready() {
    let server = server(ServerOptions::default()).await;
    assert_eq!(ask("GET /readyz").of(&server).await.text, "ready");
    server.app.stop().await;
    let told = ask("GET /readyz").of(&server).await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(told.json()["error"]["message"], "the server is stopping");
    assert_eq!(ask("GET /healthz").of(&server).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_server_whose_records_are_damaged_is_not_ready_and_tells_no_path() {
    let server = server(ServerOptions::default()).await;
    let path = server.folder.path().join("team.db");
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    drop(std::fs::remove_file(server.folder.path().join("team.db-wal")));
    let told = ask("GET /readyz").of(&server).await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE, "{}", told.text);
    assert!(told.text.contains("the team's records cannot be read"), "{}", told.text);
    let folder = server.folder.path().to_str().unwrap();
    assert!(!told.text.contains(folder), "{}", told.text);
    let told = login("power", PASSWORD).of(&server).await;
    assert!(told.status.is_server_error() && !told.text.contains(folder), "{}", told.text);
}

#[tokio::test]
async fn numbers_are_told_without_names() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    for line in ["GET /auth/me", "GET /nothing", "GET /api/jobs/abc", "FOO /x", "GET /api/users/secret-path"] {
        ask(line).token(&token).of(&server).await;
    }
    let text = ask("GET /metrics").token(&server.token_of("admin")).of(&server).await.text;
    for line in [
        r#"lore_http_requests_total{method="GET",route="/auth/me",status="200"} 1"#,
        r#"lore_http_requests_total{method="GET",route="/api/jobs/{id}",status="404"} 1"#,
        r#"lore_http_requests_total{method="other",route="(none)",status="404"} 2"#,
        r#"lore_http_request_duration_seconds_count{method="GET",route="/auth/me"} 1"#,
        r#"lore_jobs{status="pending"} 0"#,
        "lore_mcp_sessions 0",
        "process_start_time_seconds 1800000000",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for word in ["normal", "nothing", "secret-path", "abc"] {
        assert!(!text.contains(word), "{word}\n{text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok() && !name.is_empty(), "{line}");
    }
}

#[tokio::test]
async fn a_server_whose_jobs_are_not_done_is_not_ready_and_does_them_again() {
    let server = server(ServerOptions::default()).await;
    let begun = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (app, count) = (std::sync::Arc::clone(&server.app), std::sync::Arc::clone(&begun));
    let supervised = std::thread::spawn(move || {
        let work = || assert!(count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0, "the first attempt fails");
        app.supervise(work, &Cancel::default());
    });
    let ready = async || ask("GET /readyz").of(&server).await;
    loop {
        let told = ready().await;
        if told.status == StatusCode::SERVICE_UNAVAILABLE {
            assert!(told.text.contains("no jobs are being done"), "{}", told.text);
            break;
        }
        assert!(!supervised.is_finished(), "it was ready all the time");
    }
    supervised.join().unwrap();
    assert_eq!(begun.load(std::sync::atomic::Ordering::SeqCst), 2);
    assert_eq!(ready().await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_server_whose_workers_are_all_held_says_so_and_recovers() {
    let released = std::sync::Arc::new(tokio::sync::Notify::new());
    let release = std::sync::Arc::clone(&released);
    let hold = BoundTool {
        name: "hold".to_owned(),
        title: "Hold".to_owned(),
        about: "Holds a worker.".to_owned(),
        permission: Permission::QueryRepos,
        effect: Effect::Reads,
        errors: Errors::Result,
        about_project: false,
        toolset: None,
        ready: None,
        input: std::sync::Arc::default(),
        call: Box::new(move |_, _| {
            let release = std::sync::Arc::clone(&release);
            Box::pin(async move {
                release.notified().await;
                Ok(Answer::json(json!("held")))
            })
        }),
    };
    let limits = SessionLimits { working: 2, ..SessionLimits::default() };
    let text = ServerText { version: "0".to_owned(), instructions: String::new() };
    let holding = vec![("hold".to_owned(), Server::of(vec![hold], text))];
    let server = std::sync::Arc::new(server_with(ServerOptions::default(), limits, holding).await);
    let metrics = server.token_of("admin");
    let starving = async || {
        let text = ask("GET /metrics").token(&metrics).of(&server).await.text;
        let line = text.lines().find_map(|line| line.strip_prefix("lore_mcp_starving_seconds "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let ready = async || ask("GET /readyz").of(&server).await;
    let mut calls = tokio::task::JoinSet::new();
    for token in [metrics.clone(), server.token_of("power"), server.token_of("normal")] {
        let server = std::sync::Arc::clone(&server);
        calls.spawn(async move {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hold"}});
            ask("POST /mcp/hold").token(&token).header("accept", "application/json").json(&message).of(&server).await
        });
    }
    while !ask("GET /metrics").token(&metrics).of(&server).await.text.contains("lore_mcp_calls_waiting 1\n") {
        tokio::task::yield_now().await;
    }
    assert_eq!((ready().await.status, starving().await), (StatusCode::OK, 0), "a short wait is not starvation");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(7)).await;
    let told = ready().await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
    let why = "every worker is busy, and a call has been waiting for one for 7 s";
    assert_eq!(told.json()["error"]["message"], why);
    assert_eq!(starving().await, 7);
    tokio::time::resume();
    while ready().await.status != StatusCode::OK {
        released.notify_one();
        tokio::task::yield_now().await;
    }
    assert_eq!(starving().await, 0);
    // In no order: which two of the calls began first is not determined.
    for _ in 0..calls.len() {
        released.notify_one();
        assert_eq!(calls.join_next().await.unwrap().unwrap().status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_job_reports_that_its_state_cannot_be_written() {
    let limits = Limits { failing_writes: Duration::ZERO, ..Limits::default() };
    let server = server(ServerOptions { limits, ..ServerOptions::default() }).await;
    let admin = server.token_of("admin");
    let new = json!({"url": "https://git.example/api.git", "alias": "api"});
    let begun = call(&server, &admin, "POST /api/golden", new).await.json();
    let show = format!("GET /api/jobs/{}", begun["job_id"].as_str().unwrap());
    // Something else stands where the records were.
    let (file, aside) = (server.folder.path().join("team.db"), server.folder.path().join("aside.db"));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    let stop = Cancel::default();
    std::thread::scope(|threads| {
        threads.spawn(|| server.team.run(&stop));
        while server.team.unwritten(None, Duration::ZERO).is_none() {
            stop.sleep(Duration::from_millis(5));
        }
        stop.cancel();
    });
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    let told = call(&server, &admin, &show, Value::Null).await;
    let value = told.json();
    let unwritten = &value["unwritten"];
    assert_eq!((&value["job"]["status"], &unwritten["code"]), (&json!("pending"), &json!("no_access")), "{value}");
    let why = "what becomes of jobs cannot be written down: the team's records at team.db cannot be accessed";
    assert!(unwritten["message"].as_str().unwrap().starts_with(why), "{}", told.text);
    assert!(!told.text.contains(server.folder.path().to_str().unwrap()), "{}", told.text);
}

#[tokio::test]
async fn the_document_tells_what_mcp_wants_and_gives() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let document = ask("GET /openapi.json").token(&token).of(&server).await.json();
    for path in ["/mcp", "/mcp/{toolset}"] {
        let (post, get) = (&document["paths"][path]["post"], &document["paths"][path]["get"]);
        for media in ["application/json", "text/event-stream"] {
            assert!(post["responses"]["200"]["content"][media].is_object(), "{post}");
        }
        for status in ["202", "400", "401", "404", "406", "413", "429", "503"] {
            assert!(post["responses"][status].is_object(), "{status}: {post}");
        }
        let headers = |operation: &Value| -> Vec<String> {
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let headers = parameters.filter(|parameter| parameter["in"] == "header");
            headers.map(|header| header["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(headers(post), ["Mcp-Session-Id", "MCP-Protocol-Version"]);
        assert_eq!(headers(get), ["Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID"]);
    }
}
