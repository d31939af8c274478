//! What a team does in its first hour, with other people's clients over HTTP and with the bridge: one story for all of them.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use lore_testkit::{Lore, PASSWORD, Repo, Session, TeamServer};
use serde_json::{Value, json};

use crate::{
    clients::{node, python, script},
    switches,
};

/// How a user speaks to the server.
enum Speaker {
    /// A script around an SDK: lines in, lines out.
    Script { child: Child, input: ChildStdin, output: BufReader<ChildStdout> },
    /// `lore bridge`, as a host starts it. Its home has the login.
    Bridge(Session, #[expect(dead_code, reason = "the folder is there as long as this is")] Lore),
}

/// What came of a call.
#[derive(Debug)]
enum Told {
    Answer(Value),
    Failure(String),
    /// An error of the protocol.
    Refusal(i64, String),
}

impl Speaker {
    fn script(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the client starts");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Self::Script { child, input, output: BufReader::new(output) }
    }

    /// What a script prints next.
    #[track_caller]
    fn line(output: &mut BufReader<ChildStdout>) -> Value {
        let mut line = String::new();
        output.read_line(&mut line).expect("the client prints text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Told {
        let told = match self {
            Self::Script { input, output, .. } => {
                writeln!(input, "{}", json!({"name": tool, "arguments": arguments})).expect("the client reads");
                Self::line(output)
            }
            Self::Bridge(session, _) => {
                let message = json!({"name": tool, "arguments": arguments});
                let answer = session.answer("tools/call", &message).expect("the bridge answers");
                let (error, result) = (&answer["error"], &answer["result"]);
                if error.is_object() {
                    error.clone()
                } else {
                    json!({"is_error": result["isError"] == true, "text": result["content"][0]["text"]})
                }
            }
        };
        if let Some(code) = told["code"].as_i64() {
            return Told::Refusal(code, told["message"].as_str().unwrap_or_default().to_owned());
        }
        let text = told["text"].as_str().unwrap_or_else(|| panic!("{tool} {arguments}: {told}"));
        if told["is_error"] == true {
            return Told::Failure(text.to_owned());
        }
        Told::Answer(serde_json::from_str(text).unwrap_or_else(|error| panic!("{tool}: {error}: {text}")))
    }

    #[track_caller]
    fn tools(&mut self) -> usize {
        let list = match self {
            Self::Script { input, output, .. } => {
                writeln!(input, "{{}}").expect("the client reads");
                Self::line(output)
            }
            Self::Bridge(session, _) => session.request("tools/list", &json!({})).expect("the bridge answers"),
        };
        list["tools"].as_array().unwrap_or_else(|| panic!("no list: {list}")).len()
    }

    /// Ends as a host ends it; whatever it still had to say was said.
    fn end(self) {
        match self {
            Self::Script { mut child, input, .. } => {
                drop(input);
                assert!(child.wait().expect("it ends").success());
            }
            Self::Bridge(session, _) => {
                let ended = session.end().expect("it ends");
                assert!(ended.status.success(), "{}", ended.log);
            }
        }
    }
}

/// Which client, and which era of the protocol.
#[derive(Clone, Copy)]
enum Kind {
    Python(&'static str),
    TypeScript(&'static str),
    Bridge,
}

/// The team: a server, and how each user speaks to it.
struct Story {
    server: TeamServer,
    kind: Kind,
    clients: PathBuf,
    protocol: &'static str,
    users: BTreeMap<&'static str, Speaker>,
}

impl Story {
    /// Logs in with a password, and connects with what that gives.
    #[track_caller]
    fn log_in(&mut self, user: &'static str, password: &str) {
        let speaker = match self.kind {
            Kind::Bridge => self.bridge(user, password),
            Kind::Python(mode) => {
                let mut command = python(&self.clients);
                command.arg(script("python_http.py")).arg(self.plan(user, password, mode));
                self.connected(command)
            }
            Kind::TypeScript(mode) => {
                let mut command = node(&self.clients);
                // As an argument: then Node looks for packages where it runs, not where the script lies.
                let text = std::fs::read_to_string(script("typescript_http.mjs")).expect("the script is there");
                command.args(["--input-type=module", "--eval", &text]).arg("--").arg(self.plan(user, password, mode));
                self.connected(command)
            }
        };
        self.users.insert(user, speaker);
    }

    /// What a script is told: the server, and the access token of a login.
    #[track_caller]
    fn plan(&self, user: &str, password: &str, mode: &str) -> String {
        let asked = json!({"username": user, "password": password}).to_string();
        let login = self.server.http("POST", "/auth/login", &[], asked.as_bytes()).expect("the server answers");
        let told = login.json();
        assert_eq!(
            (login.status, &told["token_type"], &told["user"]["username"]),
            (200, &"bearer".into(), &user.into())
        );
        json!({"url": format!("{}/mcp", self.server.url()), "mode": mode, "token": told["access_token"]}).to_string()
    }

    #[track_caller]
    fn connected(&self, mut command: Command) -> Speaker {
        command.env("HOME", self.server.lore().user_home());
        let mut speaker = Speaker::script(command);
        let Speaker::Script { output, .. } = &mut speaker else { unreachable!("it is a script") };
        assert_eq!(Speaker::line(output)["protocol"], self.protocol);
        speaker
    }

    /// A bridge in a home of its own, where the user has logged in.
    #[track_caller]
    fn bridge(&self, user: &str, password: &str) -> Speaker {
        let lore = Lore::new(Path::new(env!("CARGO_BIN_EXE_lore")));
        let url = self.server.url();
        let mut command = lore.command(&["login", &url, "--username", user, "--password-stdin"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(password.as_bytes()).expect("it reads the password");
        assert!(child.wait().expect("it ends").success());
        let mut session = Session::start(lore.command(&["bridge", "--url", &url])).expect("it starts");
        let begun = session.initialize().expect("the bridge answers");
        assert_eq!(begun["serverInfo"]["name"], "lore");
        Speaker::Bridge(session, lore)
    }

    #[track_caller]
    fn call(&mut self, user: &str, tool: &str, arguments: &Value) -> Told {
        self.users.get_mut(user).expect("they have logged in").call(tool, arguments)
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    fn ask(&mut self, user: &str, tool: &str, arguments: &Value) -> Value {
        match self.call(user, tool, arguments) {
            Told::Answer(answer) => answer,
            other => panic!("{user} {tool} {arguments}: {other:?}"),
        }
    }

    /// Calls a tool that the user's role does not have.
    #[track_caller]
    fn denied(&mut self, user: &str, tool: &str, permission: &str, arguments: &Value) {
        let Told::Refusal(code, message) = self.call(user, tool, arguments) else { panic!("{user} may call {tool}") };
        assert_eq!(code, -32602);
        let denied = format!("Permission denied: {permission} required for tool {tool}");
        assert!(message.ends_with(&denied), "{message}");
    }

    /// Calls a tool that fails, and gives what is told.
    #[track_caller]
    fn fails(&mut self, user: &str, tool: &str, arguments: &Value) -> String {
        match self.call(user, tool, arguments) {
            Told::Failure(text) => text,
            other => panic!("{user} {tool} {arguments}: {other:?}"),
        }
    }

    /// Calls a tool that begins a job, and polls it until it is done.
    #[track_caller]
    fn work(&mut self, user: &str, tool: &str, arguments: &Value) -> Value {
        let job = self.job(user, tool, arguments);
        assert_eq!(job["status"], "completed", "{user} {tool} {arguments}: {job}");
        job
    }

    /// The same, however it ends.
    #[track_caller]
    fn job(&mut self, user: &str, tool: &str, arguments: &Value) -> Value {
        let begun = self.ask(user, tool, arguments);
        assert!(begun["success"] == true && begun["message"].is_string(), "{begun}");
        loop {
            let told = self.ask(user, "get_job_details", &json!({"job_id": begun["job_id"], "wait_seconds": 1}));
            let job = &told["job"];
            assert_eq!((&job["operation_type"], &job["username"]), (&tool.into(), &user.into()));
            if !matches!(job["status"].as_str(), Some("pending" | "running")) {
                return job.clone();
            }
        }
    }

    /// The files in which a text is found.
    #[track_caller]
    fn files(&mut self, user: &str, text: &str, more: &Value) -> Vec<String> {
        let mut asked = json!({"query_text": text, "search_mode": "fts"});
        asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let told = self.ask(user, "search_code", &asked);
        let results = told["results"]["results"].as_array().unwrap_or_else(|| panic!("{told}"));
        let mut files: Vec<String> = results
            .iter()
            .map(|hit| {
                format!("{}:{}", hit["source_repo"].as_str().unwrap_or("?"), hit["file_path"].as_str().unwrap_or("?"))
            })
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

/// A shop with a former till, and a branch `next` with a voucher.
fn shop(server: &TeamServer) -> (Repo, String) {
    let shop = server.repo("shop");
    shop.write("src/till.rs", "pub fn ring_the_bell() {}\n").write("src/sell.rs", "pub fn sell_heron() {}\n");
    let first = shop.commit("A till");
    shop.remove("src/till.rs").commit("Nobody pays with coins");
    shop.git(&["switch", "--create", "next"]);
    shop.write("src/voucher.rs", "pub fn redeem_voucher() {}\n").commit("Vouchers");
    shop.git(&["switch", "main"]);
    (shop, first)
}

fn tell(kind: Kind, protocol: &'static str) {
    let Some(clients) = switches::clients() else { return };
    let server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    let (shop, first) = shop(&server);
    let web = server.repo("web");
    web.write("src/page.rs", "pub fn show_heron() {}\n").commit("A page");
    let admin_password = server.admin_password().to_owned();
    let mut story = Story { server, kind, clients, protocol, users: BTreeMap::new() };

    // The admin lets everybody in, and each logs in.
    story.log_in("admin", &admin_password);
    for (name, role) in [("ada", "power_user"), ("ben", "power_user"), ("nor", "normal_user")] {
        let asked = json!({"username": name, "password": PASSWORD, "role": role});
        let made = story.ask("admin", "create_user", &asked);
        assert_eq!((&made["user"]["username"], &made["user"]["role"]), (&name.into(), &role.into()));
        assert!(!made.to_string().contains(PASSWORD), "{made}");
        story.log_in(name, PASSWORD);
    }
    let listed = story.ask("admin", "list_users", &json!({}));
    assert_eq!(listed["total"], 4, "{listed}");
    let counts = ["admin", "ada", "nor"].map(|user| story.users.get_mut(user).expect("logged in").tools());
    assert!(counts[0] > counts[1] && counts[1] > counts[2] && counts[2] > 10, "{counts:?}");

    // Two repositories, one of them with its past.
    for (repo, alias, temporal) in [(&shop, "shop", true), (&web, "web", false)] {
        let asked = json!({"url": repo.path(), "alias": alias, "enable_temporal": temporal});
        let job = story.work("admin", "add_golden_repo", &asked);
        assert_eq!(job["progress"], 100);
    }
    let found = story.ask("nor", "discover_repositories", &json!({}));
    assert_eq!((&found["total"], &found["repositories"][0]["enable_temporal"]), (&json!(2), &json!(true)), "{found}");

    // Two users, each on a branch of their own.
    let asked = json!({"golden_repo_alias": "shop", "user_alias": "mine"});
    story.work("ada", "activate_repository", &asked);
    let asked = json!({"golden_repo_alias": "shop", "user_alias": "mine", "branch_name": "next"});
    story.work("ben", "activate_repository", &asked);
    let mine = json!({"repository_alias": "mine"});
    assert_eq!(story.files("ada", "redeem_voucher", &mine), Vec::<String>::new());
    assert_eq!(story.files("ben", "redeem_voucher", &mine), ["shop:src/voucher.rs"]);
    for (user, branch) in [("ada", "main"), ("ben", "next")] {
        let own = story.ask(user, "list_repositories", &json!({}));
        let row = &own["repositories"][0];
        assert_eq!(
            (&own["total"], &row["user_alias"], &row["current_branch"]),
            (&json!(1), &"mine".into(), &branch.into())
        );
    }

    // Several as one.
    let asked = json!({"operation": "create", "user_alias": "all", "golden_repo_aliases": ["shop", "web"]});
    story.work("ada", "manage_composite_repository", &asked);
    let all = json!({"repository_alias": "all"});
    assert_eq!(story.files("ada", "*heron", &all), Vec::<String>::new(), "a star stands at the end of a word");
    let regex = json!({"repository_alias": "all", "regex": true});
    assert_eq!(story.files("ada", "(sell|show)_heron", &regex), ["shop:shop/src/sell.rs", "web:web/src/page.rs"]);
    assert!(story.fails("ben", "search_code", &json!({"query_text": "x", "repository_alias": "all"})).contains("all"));

    // What was there once.
    assert_eq!(story.files("ada", "ring_the_bell", &mine), Vec::<String>::new());
    let ever = json!({"repository_alias": "mine", "time_range_all": true, "include_removed": true});
    assert_eq!(story.files("ada", "ring_the_bell", &ever), ["shop:src/till.rs"]);
    let then = json!({"repository_alias": "mine", "at_commit": first});
    assert_eq!(story.files("ada", "ring_the_bell", &then), ["shop:src/till.rs"]);
    let asked =
        json!({"query_text": "ring_the_bell", "search_mode": "fts", "repository_alias": "web", "time_range_all": true});
    let told = story.ask("ada", "search_code", &asked);
    assert!(
        told["results"]["warning"].as_str().is_some_and(|text| text.contains("Temporal index not available")),
        "{told}"
    );

    // Another branch.
    let switched = story.ask("ada", "switch_branch", &json!({"user_alias": "mine", "branch_name": "next"}));
    assert_eq!(switched["success"], true);
    assert_eq!(story.files("ada", "redeem_voucher", &mine), ["shop:src/voucher.rs"]);
    let refused = story.fails("ada", "switch_branch", &json!({"user_alias": "mine", "branch_name": "nxt"}));
    assert!(refused.contains("`shop` has no branch `nxt`") && refused.contains("did you mean `next`?"), "{refused}");
    assert_eq!(story.files("ada", "redeem_voucher", &mine), ["shop:src/voucher.rs"], "it is as it was");

    // News.
    web.write("src/page.rs", "pub fn show_heron() {}\npub fn hide_heron() {}\n").commit("Hide it");
    story.work("admin", "refresh_golden_repo", &json!({"alias": "web"}));
    assert_eq!(story.files("ada", "hide_heron", &all), ["web:web/src/page.rs"]);

    // What is not theirs to do.
    let golden = json!({"golden_repo_alias": "web"});
    story.denied("nor", "activate_repository", "activate_repos", &golden);
    story.denied("ada", "add_golden_repo", "manage_golden_repos", &json!({"url": web.path(), "alias": "again"}));
    story.denied("ada", "list_users", "manage_users", &json!({}));
    story.denied("nor", "remove_golden_repo", "manage_golden_repos", &json!({"alias": "web"}));

    // What is in use is not removed, unless somebody insists.
    let told = story.fails("admin", "remove_golden_repo", &json!({"alias": "shop"}));
    assert!(told.contains("in use: 2 activations and 1 composite of 2 users"), "{told}");
    let whole = json!({"operation": "delete", "user_alias": "all", "golden_repo_aliases": ["web"]});
    story.work("ada", "manage_composite_repository", &whole);
    story.work("ada", "deactivate_repository", &json!({"user_alias": "mine"}));
    story.work("admin", "remove_golden_repo", &json!({"alias": "shop", "force": true}));
    let own = story.ask("ben", "list_repositories", &json!({}));
    assert_eq!((&own["total"], &own["repositories"]), (&json!(0), &json!([])));
    assert!(
        story.fails("ben", "search_code", &json!({"query_text": "x", "repository_alias": "mine"})).contains("mine")
    );
    let found = story.ask("nor", "discover_repositories", &json!({}));
    assert_eq!((&found["total"], &found["repositories"][0]["alias"]), (&json!(1), &json!("web")));
    assert_eq!(story.files("nor", "show_heron", &json!({})), ["web:src/page.rs"]);

    for speaker in std::mem::take(&mut story.users).into_values() {
        speaker.end();
    }
}

#[test]
fn a_team_works_with_the_python_sdk() {
    tell(Kind::Python("legacy"), "2025-11-25");
}

#[test]
fn a_team_works_with_the_python_sdk_without_sessions() {
    tell(Kind::Python("auto"), "2026-07-28");
}

#[test]
fn a_team_works_with_the_first_typescript_sdk() {
    tell(Kind::TypeScript("v1"), "2025-11-25");
}

#[test]
fn a_team_works_with_the_typescript_sdk() {
    tell(Kind::TypeScript("legacy"), "2025-11-25");
}

#[test]
fn a_team_works_with_the_typescript_sdk_without_sessions() {
    tell(Kind::TypeScript("modern"), "2026-07-28");
}

#[test]
fn a_team_works_over_the_bridge() {
    tell(Kind::Bridge, "2025-06-18");
}
