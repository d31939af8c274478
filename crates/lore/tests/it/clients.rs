//! Other people's MCP clients drive the real binary: each lists the tools, calls all of them, and sees what git says.
//!
//! The scripts that use the SDKs know nothing of Lore; what is asked and expected is here, once for all clients.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lore_testkit::{Lore, Repo};
use serde_json::{Value, json};

use crate::switches;

const TOOLS: [&str; 11] = [
    "commitmux_search",
    "commitmux_touches",
    "commitmux_get_commit",
    "commitmux_get_patch",
    "commitmux_list_repos",
    "cortex_search",
    "explain_lines",
    "co_changed",
    "find_related",
    "was_tried",
    "check_lazygit_messages",
];

/// The newest protocol versions of the two eras.
const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// An indexed repository, the calls that every client makes, and the answers they must see.
struct Fixture {
    lore: Lore,
    clients: PathBuf,
    calls: Vec<(&'static str, Value)>,
    expected: Vec<Result<Value, &'static str>>,
    _dir: tempfile::TempDir,
}

/// What a client says that it saw.
struct Seen {
    tools: Vec<Value>,
    answers: Vec<Value>,
}

impl Fixture {
    /// Nothing where the clients are not installed.
    fn new() -> Option<Self> {
        let clients = switches::clients()?;
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let repo = Repo::init(dir.path().join("shop"));
        repo.write("src/limiter.rs", "pub struct Limiter;\n\nimpl Limiter {\n    pub fn refill(&self) {}\n}\n");
        let added = repo.commit("Add a rate limiter\n\nTokens are refilled every second.\n");
        repo.git(&["mv", "src/limiter.rs", "src/bucket.rs"]);
        let moved = repo.commit("Name it what it is");
        repo.write("docs/grüße.md", "Größe \u{2192} “ok”\n\t\\ \"quoted\"\r\n");
        let greeted = repo.commit("Grüße \u{1f44b}");

        let lore = Lore::new(Path::new(env!("CARGO_BIN_EXE_lore")));
        lore.ok(&["add", repo.path().to_str().expect("the path is UTF-8"), "--name", "shop"]);
        let patch = |commit: &str| repo.git(&["show", "--format=", "-M", "-C", "--full-index", commit]) + "\n";
        let date = |commit: &str| -> i64 {
            repo.git(&["show", "--no-patch", "--format=%at", commit]).parse().expect("git prints a number")
        };
        let row = |commit: &str, subject: &str| json!({"repo": "shop", "sha": commit, "subject": subject, "date": date(commit)});
        let with = |mut row: Value, more: Value| {
            let (Some(row_fields), Value::Object(more)) = (row.as_object_mut(), more) else {
                unreachable!("both are objects")
            };
            row_fields.extend(more);
            row
        };
        let calls_and_answers = [
            (
                "commitmux_search",
                json!({"query": "refilled", "paths": ["limiter"], "limit": 5}),
                Ok(json!([with(
                    row(&added, "Add a rate limiter"),
                    json!({"author": "Ada Author", "matched_paths": ["src/limiter.rs"], "patch_excerpt": excerpt(&patch(&added))})
                )])),
            ),
            (
                "commitmux_touches",
                json!({"path_glob": "src/", "repos": ["shop"]}),
                Ok(json!([
                    with(row(&moved, "Name it what it is"), json!({"path": "src/bucket.rs", "status": "R"})),
                    with(row(&added, "Add a rate limiter"), json!({"path": "src/limiter.rs", "status": "A"})),
                ])),
            ),
            (
                "commitmux_get_commit",
                json!({"repo": "shop", "sha": moved[..8]}),
                Ok(with(
                    row(&moved, "Name it what it is"),
                    json!({
                        "body": null,
                        "author": "Ada Author",
                        "changed_files": [{"path": "src/bucket.rs", "status": "R", "old_path": "src/limiter.rs"}],
                    }),
                )),
            ),
            (
                "commitmux_get_patch",
                json!({"repo": "shop", "sha": greeted}),
                Ok(json!({"repo": "shop", "sha": greeted, "patch_text": patch(&greeted)})),
            ),
            ("commitmux_get_commit", json!({"repo": "shopp", "sha": added}), Err("shopp")),
            ("check_lazygit_messages", json!({}), Ok(json!("No new messages from lazygit"))),
        ];
        let (calls, expected) = calls_and_answers.into_iter().map(|(name, asked, told)| ((name, asked), told)).unzip();
        Some(Self { lore, clients, calls, expected, _dir: dir })
    }

    /// The only function that knows what an answer looks like.
    #[track_caller]
    fn check(&self, seen: &Seen) {
        let names: Vec<&Value> = seen.tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, TOOLS);
        let delivers = |tool: &Value| tool["name"] == "check_lazygit_messages";
        assert!(seen.tools.iter().all(|tool| tool["read_only"] == !delivers(tool)), "{:?}", seen.tools);
        assert_eq!(seen.answers.len(), self.expected.len());
        for ((answer, expected), (name, _)) in seen.answers.iter().zip(&self.expected).zip(&self.calls) {
            let text = answer["text"].as_str().expect("an answer has a text");
            match expected {
                Err(said) => {
                    assert_eq!(answer["is_error"], true, "{name}: {text}");
                    assert!(text.contains(said), "{name}: {text}");
                }
                Ok(Value::String(expected)) => assert_eq!((text, &answer["is_error"]), (&**expected, &json!(false))),
                Ok(expected) => {
                    assert_eq!(answer["is_error"], false, "{name}: {text}");
                    let told: Value = serde_json::from_str(text).expect("the text is JSON");
                    assert_eq!(&told, expected, "{name}");
                    let (structured, meta) = (&answer["structured"], &answer["meta"]);
                    assert!(structured.is_null(), "{name}: {structured}");
                    assert_eq!(meta["lore/freshness"]["repos"][0]["state"], "current", "{name}: {meta}");
                }
            }
        }
    }

    /// Runs the script of an SDK and checks everything that it saw.
    #[track_caller]
    fn check_sdk(&self, mut script: Command, mode: &str, protocol: &str) {
        let lore = self.lore.command(&["serve", "--no-refresh"]);
        let text = |value: Option<&std::ffi::OsStr>| value.and_then(|value| value.to_str()).map(str::to_owned);
        let plan = json!({
            "command": text(Some(lore.get_program())),
            "args": lore.get_args().map(|arg| text(Some(arg))).collect::<Vec<_>>(),
            "env": lore.get_envs().map(|(name, value)| (text(Some(name)).unwrap_or_default(), text(value).into())).collect::<serde_json::Map<_, _>>(),
            "mode": mode,
            "calls": self.calls.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments})).collect::<Vec<_>>(),
        });
        let seen = json_of(script.arg(plan.to_string()));
        assert_eq!(seen["protocol"], protocol);
        // Whoever pins the stateless protocol asks nobody who the server is.
        if !seen["server"].is_null() {
            assert_eq!(seen["server"], "lore");
            assert!(seen["instructions"].as_str().is_some_and(|text| text.contains("commitmux_search")), "{seen}");
        }
        let list = |key: &str| seen[key].as_array().expect("a list").clone();
        let tools = list("tools").into_iter().zip(list("read_only"));
        let tools = tools.map(|(name, read_only)| json!({"name": name, "read_only": read_only})).collect();
        self.check(&Seen { tools, answers: list("answers") });
    }

    fn python(&self) -> Command {
        let mut command = python(&self.clients);
        command.env("HOME", self.lore.user_home()).arg(script("python_sdk.py"));
        command
    }

    fn node(&self) -> Command {
        let mut command = node(&self.clients);
        command.env("HOME", self.lore.user_home());
        command
    }

    /// The script comes over standard input: then Node looks for packages where it runs, not where the script lies.
    fn typescript(&self) -> Command {
        let mut command = self.node();
        let script = File::open(script("typescript_sdk.mjs")).expect("the script is there");
        command.args(["--input-type=module", "-"]).stdin(script);
        command
    }

    /// The Inspector makes one request and ends; so it is started once for each.
    #[track_caller]
    fn check_inspector(&self, era: &str) {
        let lore = self.lore.command(&["serve", "--no-refresh"]);
        let ask = |args: &[&str]| {
            let mut command = self.node();
            command.arg("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
            command.args(["--cli", "--quiet", "--format", "json", "--protocol-era", era]);
            for (name, value) in lore.get_envs() {
                let value = value.unwrap_or_default();
                command.arg("-e").arg(format!("{}={}", name.display(), value.display()));
            }
            command.args(args).arg("--").arg(lore.get_program()).args(lore.get_args());
            command
        };
        // Strict: the Inspector knows what other hosts cannot read in a schema.
        let list = json_of(&mut ask(&["--method", "tools/list", "--strict"]));
        let tools = list["result"]["tools"].as_array().expect("a list of tools").iter();
        let tools = tools.map(|tool| json!({"name": tool["name"], "read_only": tool["annotations"]["readOnlyHint"]}));
        let answers = self.calls.iter().zip(&self.expected).map(|((name, arguments), expected)| {
            let mut command =
                ask(&["--method", "tools/call", "--tool-name", name, "--tool-args-json", &arguments.to_string()]);
            // It ends with 5 where the tool says that it failed.
            let result = json_and_code(&mut command, if expected.is_ok() { 0 } else { 5 });
            let result = &result["result"];
            json!({
                "is_error": result["isError"],
                "text": result["content"][0]["text"],
                "structured": result["structuredContent"],
                "meta": result["_meta"],
            })
        });
        self.check(&Seen { tools: tools.collect(), answers: answers.collect() });
    }
}

fn excerpt(patch: &str) -> String {
    patch.chars().take(300).collect()
}

/// The Python that has the SDK.
pub(crate) fn python(clients: &Path) -> Command {
    program(&clients.join(if cfg!(windows) { "venv/Scripts/python" } else { "venv/bin/python" }))
}

/// Node where its packages are.
pub(crate) fn node(clients: &Path) -> Command {
    let node = fs::read_to_string(clients.join("node-path")).expect("the clients are installed completely");
    let mut command = program(Path::new(&node));
    command.current_dir(clients.join("node"));
    command
}

/// A script of the tests.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

#[expect(
    clippy::disallowed_methods,
    reason = "other people's clients are started with the environment they are installed for"
)]
fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    command
}

#[track_caller]
fn json_of(command: &mut Command) -> Value {
    json_and_code(command, 0)
}

#[track_caller]
fn json_and_code(command: &mut Command, code: i32) -> Value {
    let output =
        command.output().unwrap_or_else(|error| panic!("cannot start {}: {error}", command.get_program().display()));
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{errors}\n{told}");
    serde_json::from_str(&told).unwrap_or_else(|error| panic!("not JSON ({error}): {told}\n{errors}"))
}

#[test]
fn python_sdk_speaks_the_stateless_protocol() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_sdk(fixture.python(), "auto", STATELESS);
}

#[test]
fn python_sdk_needs_no_discovery() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_sdk(fixture.python(), STATELESS, STATELESS);
}

#[test]
fn python_sdk_shakes_hands() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_sdk(fixture.python(), "legacy", HANDSHAKE);
}

#[test]
fn typescript_sdk_of_the_first_generation_shakes_hands() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_sdk(fixture.typescript(), "v1", HANDSHAKE);
}

#[test]
fn typescript_sdk_of_the_second_generation_shakes_hands() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_sdk(fixture.typescript(), "legacy", HANDSHAKE);
}

#[test]
fn typescript_sdk_speaks_the_stateless_protocol() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_sdk(fixture.typescript(), "modern", STATELESS);
}

#[test]
fn inspector_shakes_hands() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_inspector("legacy");
}

#[test]
fn inspector_speaks_the_stateless_protocol() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.check_inspector("modern");
}
