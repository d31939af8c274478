//! Bridges and commands that share one login: its refresh token is good for one use.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use lore_testkit::{Asked, Lore, Reply, StandIn};
use serde_json::{Value, json};

use crate::bridge::{Host, lore, request};

/// What a server knows of the tokens it gave: a refresh token that comes twice ends everything.
#[derive(Default)]
struct Tokens {
    given: u64,
    refresh: String,
    access: String,
    used: HashSet<String>,
    stolen: bool,
}

impl Tokens {
    fn issue(&mut self, expires_in: i64) -> Value {
        self.given += 1;
        self.refresh = format!("refresh-{}", self.given);
        self.access = format!("access-{}", self.given);
        let user = json!({"username": "ada", "role": "admin", "created_at": "2026-01-01T00:00:00Z"});
        json!({
            "access_token": self.access, "token_type": "bearer", "expires_in": expires_in, "user": user,
            "refresh_token": self.refresh, "refresh_token_expires_in": 2_592_000,
        })
    }
}

/// A server whose access tokens are good for so many seconds.
fn server(expires_in: i64) -> (StandIn, Arc<Mutex<Tokens>>) {
    let tokens = Arc::<Mutex<Tokens>>::default();
    let kept = Arc::clone(&tokens);
    let server = StandIn::start(move |asked: &Asked| {
        let mut tokens = kept.lock().expect("it goes well");
        match asked.path.as_str() {
            "/auth/login" => Reply::json(200, &tokens.issue(expires_in)),
            "/auth/refresh" => {
                let given = asked.body["refresh_token"].as_str().unwrap_or_default().to_owned();
                if given != tokens.refresh || !tokens.used.insert(given) {
                    tokens.stolen = true;
                    let error = json!({"code": "unauthenticated", "message": "used already", "hint": null});
                    return Reply::json(401, &json!({"error": error}));
                }
                // The next ones are good for long.
                Reply::json(200, &tokens.issue(900))
            }
            _ if asked.header("authorization") != Some(&format!("Bearer {}", tokens.access)) => Reply::status(401),
            "/api/users?limit=1000" => Reply::json(200, &json!({"users": [], "total": 0})),
            _ => Reply::json(200, &json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {}})),
        }
    });
    (server, tokens)
}

fn log_in(lore: &Lore, url: &str) {
    let mut command = lore.command(&["login", url, "--username", "ada", "--password-stdin"]);
    let folder = lore.user_home().join("password");
    std::fs::write(&folder, "correct horse battery\n").expect("it goes well");
    command.stdin(std::fs::File::open(&folder).expect("it goes well"));
    assert!(command.status().expect("it goes well").success());
}

#[test]
fn many_processes_renew_a_login_once() {
    // Over from the start, so that everybody must renew it.
    let (server, tokens) = server(0);
    let lore = lore();
    log_in(&lore, &server.url());
    let mut hosts: Vec<Host> = (0..4).map(|_| Host::start(lore.command(&["bridge", "--url", &server.url()]))).collect();
    let mut commands: Vec<_> = (0..4).map(|_| lore.command(&["users", "list"]).spawn().unwrap()).collect();
    for host in &mut hosts {
        for id in 1..=3 {
            host.send(&request(id, "tools/list", &json!({})));
        }
    }
    for host in &hosts {
        for _ in 1..=3 {
            let answer = host.next();
            assert_eq!(answer["result"], json!({}), "{answer}");
        }
    }
    for command in &mut commands {
        assert!(command.wait().unwrap().success());
    }
    let tokens = tokens.lock().unwrap();
    assert!(!tokens.stolen, "a refresh token was used twice");
    assert_eq!(tokens.given, 2, "one login, one renewal");
}

#[test]
fn a_token_that_is_refused_is_renewed() {
    let (server, tokens) = server(900);
    let lore = lore();
    log_in(&lore, &server.url());
    let mut host = Host::start(lore.command(&["bridge", "--url", &server.url()]));
    assert_eq!(host.ask(&request(1, "tools/call", &json!({})))["result"], json!({}));
    // The server forgets it, as after a restart with another key.
    tokens.lock().unwrap().access = "another".to_owned();
    assert_eq!(host.ask(&request(2, "tools/call", &json!({})))["result"], json!({}));
    assert_eq!(server.asked_for("POST", "/auth/refresh").len(), 1);
    // The login is over: the answer says so, and the file is no worse.
    tokens.lock().unwrap().access = "another".to_owned();
    tokens.lock().unwrap().refresh = "another".to_owned();
    let answer = host.ask(&request(3, "tools/call", &json!({})));
    assert_eq!(answer["error"]["message"], "Authentication failed: 401 Unauthorized");
    assert!(answer["error"]["data"]["detail"].as_str().unwrap().contains("is over"), "{answer}");
    // Somebody logs in again beside it, and it goes on.
    log_in(&lore, &server.url());
    assert_eq!(host.ask(&request(4, "tools/call", &json!({})))["result"], json!({}));
    let (_, log) = host.end();
    assert!(!log.contains("access-") && !log.contains("refresh-"), "{log}");
}
