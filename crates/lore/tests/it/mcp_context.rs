//! `cortex_search` over `lore serve`, as its document describes it, from the index and from chunk files.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use expect_test::expect;
use lore_testkit::{Repo, Session};
use serde_json::{Value, json};

use crate::{
    place::Place,
    stdio::{Answer, Server},
};

const TOOL: &str = "cortex_search";

/// How long something that happens by itself may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A project in several languages, indexed.
struct Shop {
    place: Place,
    repo: Repo,
}

impl Shop {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        write_project(&repo);
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        Self { place, repo }
    }

    fn serve(&self) -> Server {
        self.place.serve(&["--no-refresh", "--project", text(self.repo.path())])
    }
}

fn write_project(repo: &Repo) {
    repo.write(
        "internal/auth/handler.go",
        "package auth\n\nimport \"net/http\"\n\n// Handler checks the password of a user.\ntype Handler struct {\n\tusers Store\n}\n\n// Login checks the password and opens a session.\nfunc (h *Handler) Login(w http.ResponseWriter, r *http.Request) {\n\th.users.Check(r.FormValue(\"password\"))\n}\n",
    )
    .write("internal/auth/store.go", "package auth\n\n// Store keeps users and their password hashes.\ntype Store interface {\n\tCheck(password string) bool\n}\n")
    .write("web/login.ts", "/** Sends the password to the server. */\nexport function login(password: string): Promise<boolean> {\n  return post('/login', { password });\n}\n")
    .write("docs/auth.md", "---\ntags: [architecture, security]\n---\n# Authentication\n\nHow a password is checked. #login\n\n## Sessions\n\nA session lives for an hour.\n\n```sh\n## not a heading\n```\n")
    .write("config/app.toml", "[session]\nlifetime = 3600\npassword_rounds = 12\n");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// The results of a question that is answered.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn ask(server: &mut Server, arguments: Value) -> Vec<Value> {
    let answer = server.call(TOOL, &arguments);
    assert!(!answer.is_error, "{}", answer.text);
    let results = answer.value["results"].as_array().expect("there is a list of results").clone();
    assert_eq!(answer.value["total"], results.len());
    results
}

/// The code and message of the error that a question is answered with.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn refused(server: &mut Server, arguments: Value) -> (i64, String) {
    let call = json!({"jsonrpc": "2.0", "id": "refused", "method": "tools/call", "params": {"name": TOOL, "arguments": arguments}});
    let answer = server.raw(&call.to_string());
    let error = answer.get("error").unwrap_or_else(|| panic!("{call} gives {answer}"));
    (error["code"].as_i64().expect("a code is a number"), error["message"].as_str().unwrap_or_default().to_owned())
}

fn paths(results: &[Value]) -> Vec<&str> {
    results.iter().map(|result| result["chunk"]["metadata"]["file_path"].as_str().unwrap_or_default()).collect()
}

fn ids(results: &[Value]) -> Vec<&str> {
    results.iter().map(|result| result["chunk"]["id"].as_str().unwrap_or_default()).collect()
}

fn tags(result: &Value) -> Vec<&str> {
    result["chunk"]["tags"].as_array().expect("tags are a list").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_project_without_a_commit_is_told_to_have_none() {
    let place = Place::new();
    let repo = place.repo("new");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh", "--project", text(repo.path())]);
    let answer = server.call(TOOL, &json!({"query": "heron"}));
    let freshness = &answer.value["metadata"]["freshness"];
    assert_eq!((&freshness["state"], &answer.value["total"]), (&json!("current"), &json!(0)), "{}", answer.text);
    let note = freshness["note"].as_str().unwrap_or_default();
    assert_eq!(note, "no indexed branch of new has a commit: code is searched from the first commit on");
    assert!(server.end().status.success());
}

#[test]
fn the_tool_is_listed_as_the_document_says() {
    let listed = Place::new().serve(&["--no-refresh"]).request("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("tools are listed");
    let tool = tools.iter().find(|tool| tool["name"] == TOOL).expect("it is on by default");
    let about = tool["description"].as_str().expect("it has a description");
    assert!(about.starts_with("Search for relevant context in the project codebase and documentation"), "{about}");
    for (hint, value) in [("readOnlyHint", true), ("destructiveHint", false), ("openWorldHint", false)] {
        assert_eq!(tool["annotations"][hint], value, "{hint}");
    }
    let schema = &tool["inputSchema"];
    assert_eq!(schema["required"], json!(["query"]));
    let kinds = ["query", "limit", "tags", "chunk_types", "full", "max_tokens", "repo", "path"];
    let kinds = kinds.map(|name| schema["properties"][name]["type"].as_str().unwrap_or("missing"));
    assert_eq!(kinds, ["string", "integer", "array", "array", "boolean", "integer", "string", "string"]);
}

#[test]
fn the_answer_has_the_shape_of_the_document() {
    let shop = Shop::new();
    let mut server = shop.serve();
    let arguments = json!({"query": "Login", "chunk_types": ["definitions"], "tags": ["go"], "limit": 1});
    let answer = server.call(TOOL, &arguments);
    let mut value = answer.value.clone();
    assert!(value["metadata"]["took_ms"].is_u64(), "{value}");
    value["metadata"]["took_ms"] = json!("(time)");
    value["metadata"]["freshness"]["repos"][0]["indexed_at"] = json!("(time)");
    value["results"][0]["combined_score"] = json!("(score)");
    let shown = serde_json::to_string_pretty(&value).expect("a value can be written");
    let head = shop.repo.git(&["rev-parse", "HEAD"]);
    expect![[r#"
        {
          "results": [
            {
              "chunk": {
                "id": "code-definitions-internal/auth/handler.go-L9",
                "chunk_type": "definitions",
                "title": "Handler::Login",
                "text": "// Login checks the password and opens a session.\nfunc (h *Handler) Login(w http.ResponseWriter, r *http.Request) {\n\th.users.Check(r.FormValue(\"password\"))\n}\n",
                "tags": [
                  "code",
                  "go",
                  "definitions",
                  "internal",
                  "auth"
                ],
                "metadata": {
                  "source": "code",
                  "file_path": "internal/auth/handler.go",
                  "language": "go",
                  "package": "auth",
                  "start_line": 9,
                  "end_line": 13,
                  "repo": "shop",
                  "name": "Login",
                  "symbol": "method",
                  "container": "Handler"
                },
                "created_at": "2023-11-14T22:13:20Z",
                "updated_at": "2023-11-14T22:13:20Z"
              },
              "combined_score": "(score)"
            }
          ],
          "total": 1,
          "metadata": {
            "query_kind": "name",
            "freshness": {
              "state": "current",
              "repos": [
                {
                  "repo": "shop",
                  "state": "current",
                  "commit": "«head»",
                  "indexed_at": "(time)",
                  "uncommitted_files": 0
                }
              ]
            },
            "more": true,
            "took_ms": "(time)"
          }
        }
    "#]]
    .assert_eq(&(shown.replace(&head, "«head»") + "\n"));
    let results = &answer.value["results"];
    let score = results[0]["combined_score"].as_f64().expect("a score is a number");
    assert!((0.0..=1.0).contains(&score), "{score}");
    assert!(answer.meta["lore/content"].as_str().is_some_and(|label| label.contains("untrusted")), "{:?}", answer.meta);
    assert_eq!(answer.meta["lore/freshness"]["state"], "current");
    assert!(!answer.text.contains("\"embedding\""));
}

#[test]
fn the_same_question_has_the_same_answer() {
    let shop = Shop::new();
    let question = json!({"query": "how is a password checked"});
    let (first, again) = {
        let mut server = shop.serve();
        (ask(&mut server, question.clone()), ask(&mut server, question.clone()))
    };
    assert_eq!(first, again);
    assert_eq!(first, ask(&mut shop.serve(), question), "another process says the same");
    let scores: Vec<f64> = first.iter().filter_map(|result| result["combined_score"].as_f64()).collect();
    assert!(scores.len() > 3 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn limits_are_clamped_not_refused() {
    let place = Place::new();
    let repo = place.repo("many");
    for at in 0..130 {
        repo.write(format!("src/part{at}.py"), format!("def password_{at}(user):\n    return check(user, {at})\n"));
    }
    repo.commit("Begin");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh", "--project", text(repo.path())]);
    for (limit, expected) in [
        (json!(null), 15),
        (json!(0), 1),
        (json!(-7), 1),
        (json!(3), 3),
        (json!("4"), 4),
        (json!(4.9), 4),
        (json!(100_000), 100),
        (json!(1e20), 100),
        (json!("9".repeat(40)), 100),
    ] {
        let found = ask(&mut server, json!({"query": "password", "limit": limit}));
        assert_eq!(found.len(), expected, "{limit}");
    }
    for tokens in [0, 50, 200, 300, 1000, 5000] {
        let answer = server.call(TOOL, &json!({"query": "password", "limit": 50, "max_tokens": tokens}));
        // The metadata is there in any case.
        assert!(answer.text.len() <= 4 * tokens.max(150), "{tokens}: {} bytes", answer.text.len());
        assert!(tokens < 1000 || 2 * answer.text.len() > 3 * tokens, "{tokens}: {} bytes", answer.text.len());
    }
    let few = server.call(TOOL, &json!({"query": "password", "limit": 50, "max_tokens": 600}));
    let results = few.value["results"].as_array().expect("a list");
    assert!(!results.is_empty() && results.len() < 50, "{}", few.text);
    assert!(few.value["metadata"]["left_out_by_max_tokens"].as_u64() > Some(0), "{}", few.text);
}

#[test]
fn the_lines_that_say_most_are_shown_unless_all_are_wanted() {
    let shop = Shop::new();
    let body = |call: &str| format!("{}\t{call}\n", "\tprepare()\n".repeat(30));
    let text = format!("package auth\n\nfunc Sweep() {{\n{}{}}}\n", body("burnOldSessions()"), body("rest()"));
    shop.repo.write("internal/auth/sweep.go", &text);
    let mut server = shop.serve();
    let mut ask = |more: Value| {
        let mut arguments = json!({"query": "burn old sessions", "chunk_types": ["definitions"], "path": "sweep.go"});
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        server.call(TOOL, &arguments).value["results"][0]["chunk"].clone()
    };
    let [shown, whole] = [json!({}), json!({"full": true})].map(&mut ask);
    let lines = |chunk: &Value| chunk["text"].as_str().expect("a text").lines().count();
    assert_eq!((lines(&shown), shown["metadata"]["truncated"].clone()), (16, json!(true)), "{shown}");
    assert!(shown["text"].as_str().is_some_and(|text| text.contains("burnOldSessions()")), "{shown}");
    let line = |at: usize| shown["metadata"]["shown_lines"][at].as_u64().expect("a line");
    let shown_lines = (1..).zip(text.lines()).filter(|(number, _)| (line(0)..=line(1)).contains(number));
    let of_file: Vec<&str> = shown_lines.map(|(_, line)| line).collect();
    assert_eq!(shown["text"], json!(of_file.join("\n") + "\n"), "{shown}");
    assert!(lines(&whole) >= 60 && whole["metadata"]["truncated"].is_null(), "{whole}");
    for key in ["start_line", "end_line"] {
        assert_eq!(shown["metadata"][key], whole["metadata"][key], "the lines of the function are told all the same");
    }
}

#[test]
fn what_the_caller_can_mend_is_minus_32602() {
    let shop = Shop::new();
    let mut server = shop.serve();
    for (arguments, said) in [
        (json!({"query": ""}), "`query` is empty"),
        (json!({"query": "  \n"}), "`query` is empty"),
        (json!({}), "`query` is missing"),
        (json!({"query": 1.5, "limit": [1]}), "`limit` cannot be [1]"),
        (json!({"query": "x", "limit": "many"}), "`limit` cannot be \"many\""),
        (
            json!({"query": "x", "chunk_types": ["definition", "nonsense"]}),
            "may have documentation, symbols, definitions, data",
        ),
        (json!({"query": "x", "tag": ["go"]}), "did you mean `tags`?"),
        (json!({"query": "x", "repo": "shopp"}), "Registered repositories: shop"),
        (json!({"query": "x", "path": "src/[a"}), "not a valid glob"),
        (json!({"query": "x", "max_tokens": -1}), "`max_tokens` is negative"),
    ] {
        let (code, message) = refused(&mut server, arguments.clone());
        assert_eq!(code, -32602, "{arguments}: {message}");
        assert!(message.contains(said), "{arguments}: {message}");
    }
    assert_eq!(ask(&mut server, json!({"query": "password", "limit": 1})).len(), 1, "it goes on");
}

#[test]
fn outside_a_repository_the_names_are_told() {
    let shop = Shop::new();
    let mut server = shop.place.serve(&["--no-refresh"]);
    let (code, message) = refused(&mut server, json!({"query": "password"}));
    assert!(code == -32602 && message.contains("pass `repo`, one of: shop"), "{code} {message}");
    assert!(!ask(&mut server, json!({"query": "password", "repo": "shop"})).is_empty());
}

#[test]
fn an_uncommitted_edit_is_found() {
    let shop = Shop::new();
    for flags in [&["--no-refresh"][..], &[]] {
        let mut server = shop.place.serve(&[&["--project", text(shop.repo.path())], flags].concat());
        let question = json!({"query": "frobnicate_the_widget", "limit": 3});
        let name = format!("src/new{}.rs", flags.len());
        let uncommitted =
            |answer: &Answer| answer.value["metadata"]["freshness"]["repos"][0]["uncommitted_files"].as_u64();
        let has = |answer: &Answer| answer.value["results"].to_string().contains(&name);
        assert!(!has(&server.call(TOOL, &question)));
        shop.repo.write(&name, "/// Does it.\npub fn frobnicate_the_widget() {}\n");
        let found = server.wait_for(TOOL, &question, |answer| has(answer) && uncommitted(answer) == Some(1));
        let results = found.value["results"].as_array().expect("a list");
        let hit = results.iter().find(|hit| hit["chunk"]["metadata"]["file_path"] == name).expect("it was waited for");
        assert_eq!(hit["chunk"]["metadata"]["uncommitted"], true, "{hit}");
        fs::remove_file(shop.repo.path().join(&name)).expect("it can be removed");
        server.wait_for(TOOL, &question, |answer| !has(answer));
    }
}

#[test]
fn a_project_that_is_not_registered_yet_is_indexed_meanwhile() {
    let place = Place::new();
    let repo = place.repo("fresh");
    write_project(&repo);
    repo.commit("Begin");
    let mut server = place.serve(&["--project", text(repo.path())]);
    let question = json!({"query": "password"});
    let first = server.call(TOOL, &question);
    let state = &first.value["metadata"]["freshness"]["state"];
    assert!(state == "partial" || state == "current", "{}", first.text);
    let full = server.wait_for(TOOL, &question, |answer| answer.value["metadata"]["freshness"]["state"] == "current");
    assert!(full.value["total"].as_u64() > Some(2), "{}", full.text);

    let other = place.repo("other");
    write_project(&other);
    other.commit("Begin");
    let note = |answer: &Answer| answer.value["metadata"]["freshness"]["note"].as_str().unwrap_or_default().to_owned();
    let mut server = place.serve(&["--no-refresh", "--project", text(other.path())]);
    let answer = server.call(TOOL, &question);
    assert_eq!(answer.value["metadata"]["freshness"]["state"], "partial", "{}", answer.text);
    assert_eq!(answer.value["total"], 0, "nothing of another repository");
    assert!(note(&answer).contains("lore add "), "waiting does not help: {}", answer.text);
    place.lore.json(&["add", text(other.path()), "--no-sync", "--json"]);
    let answer = server.call(TOOL, &question);
    assert!(note(&answer).contains("lore sync --repo other"), "{}", answer.text);
    // What this server is not about is not brought up to date by it.
    let mut server = place.serve(&["--project", text(repo.path())]);
    let answer = server.call(TOOL, &json!({"query": "password", "repo": "other"}));
    assert!(note(&answer).contains("lore sync --repo other"), "{}", answer.text);
    let third = place.repo("third");
    third.write("a.go", "package a\n").commit("Begin");
    let mut command = place.lore.command(&["serve", "--project", text(third.path())]);
    command.env("LORE_REGISTER_PROJECT", "false");
    let answer = Server::start(command).call(TOOL, &question);
    assert!(note(&answer).contains("lore add "), "{}", answer.text);
}

#[test]
fn text_that_hides_something_is_shown() {
    let shop = Shop::new();
    shop.repo.write("src/evil.py", "def trojan_source():\n    return 'a\u{202e}b\u{200b}c'\n");
    let answer = shop.serve().call(TOOL, &json!({"query": "trojan_source", "limit": 1}));
    let shown = answer.value["results"][0]["chunk"]["text"].as_str().expect("a text");
    assert!(shown.contains("a<U+202E>b<U+200B>c"), "{shown}");
    assert_eq!(answer.meta["lore/escaped"], true);
}

#[test]
fn paths_narrow_as_globs_and_as_parts() {
    let shop = Shop::new();
    let mut server = shop.serve();
    for (path, prefix) in [("internal/**/*.go", "internal/auth/"), ("web/", "web/"), ("*.md", "docs/")] {
        let found = ask(&mut server, json!({"query": "password", "path": path}));
        assert!(
            !found.is_empty() && paths(&found).iter().all(|found| found.starts_with(prefix)),
            "{path}: {:?}",
            paths(&found)
        );
    }
}

mod upstream_gets_this_wrong {
    use super::*;

    #[test]
    fn tags_go_finds_go_code() {
        let shop = Shop::new();
        let mut server = shop.serve();
        let found = ask(&mut server, json!({"query": "password", "tags": ["go"]}));
        assert!(found.len() >= 3, "{:?}", paths(&found));
        assert!(
            paths(&found).iter().all(|path| Path::new(path).extension() == Some("go".as_ref())),
            "{:?}",
            paths(&found)
        );
        for wanted in [&["typescript", "definitions"][..], &["code", "go"], &["documentation", "architecture"], &["GO"]]
        {
            let found = ask(&mut server, json!({"query": "password", "tags": wanted}));
            assert!(!found.is_empty(), "{wanted:?}");
            for result in &found {
                let has = |wanted: &&str| tags(result).iter().any(|tag| tag.eq_ignore_ascii_case(wanted));
                assert!(wanted.iter().all(has), "{wanted:?}: {result}");
            }
        }
        assert!(ask(&mut server, json!({"query": "password", "tags": ["go", "typescript"]})).is_empty());
    }

    #[test]
    fn filtered_searches_return_as_many_as_exist() {
        let place = Place::new();
        let repo = place.repo("many");
        for at in 0..300 {
            repo.write(format!("src/part{at}.py"), format!("def password_{at}(user):\n    return check(user, {at})\n"));
        }
        for at in 0..12 {
            repo.write(format!("notes/note{at}.md"), format!("# Note {at}\n\nSomething else entirely, number {at}.\n"));
        }
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        let mut server = place.serve(&["--no-refresh", "--project", text(repo.path())]);
        let found =
            ask(&mut server, json!({"query": "password check user", "chunk_types": ["documentation"], "limit": 10}));
        assert_eq!(found.len(), 10, "{:?}", paths(&found));
        assert!(paths(&found).iter().all(|path| path.starts_with("notes/")));
        let found = ask(&mut server, json!({"query": "password check user", "tags": ["notes"], "limit": 100}));
        assert_eq!(found.len(), 12, "{:?}", paths(&found));
    }

    #[test]
    fn a_tag_of_any_of_many_places_finds_the_text_there() {
        let place = Place::new();
        let repo = place.repo("packages");
        for at in 0..20 {
            repo.write(format!("pkg{at}/login.go"), "package login\n\n// Login checks a password.\nfunc Login() {}\n");
        }
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        let mut server = place.serve(&["--no-refresh", "--project", text(repo.path())]);
        for at in [0, 7, 15, 19] {
            let tag = format!("pkg{at}");
            let found = ask(&mut server, json!({"query": "login password", "tags": [tag]}));
            let here = format!("{tag}/login.go");
            assert!(!found.is_empty() && paths(&found).iter().all(|path| *path == here), "{tag}: {:?}", paths(&found));
        }
    }

    #[test]
    fn the_server_needs_no_embedding_service() {
        let shop = Shop::new();
        // The document's own configuration names a service; without a provider it is not used.
        shop.repo
            .write(".cortex/config.yml", "embedding:\n  endpoint: \"http://127.0.0.1:1/embed\"\n  dimensions: 384\n");
        assert!(!ask(&mut shop.serve(), json!({"query": "how is a password checked"})).is_empty());
    }

    #[test]
    fn gitignore_is_respected() {
        let shop = Shop::new();
        shop.repo
            .write(".gitignore", "secrets/\n*.gen.go\n")
            .write("secrets/password.go", "package secrets\n\nconst PasswordOfAda = \"hunter2\"\n")
            .write("api.gen.go", "package gen\n\nfunc PasswordOfAda() {}\n")
            .write("api.go", "package api\n\nfunc PasswordOfAda() {}\n");
        let found = ask(&mut shop.serve(), json!({"query": "PasswordOfAda", "limit": 100}));
        assert!(paths(&found).contains(&"api.go"), "{:?}", paths(&found));
        assert!(
            !paths(&found).iter().any(|path| path.starts_with("secrets/") || *path == "api.gen.go"),
            "{:?}",
            paths(&found)
        );
    }

    #[test]
    fn a_large_file_is_many_chunks_not_one_truncated_vector() {
        let place = Place::new();
        let repo = place.repo("large");
        let step =
            |at: u32| format!("def step_{at}(state):\n    \"\"\"Does step {at}.\"\"\"\n    return state + {at}\n\n\n");
        let mut source: String = (0..400).map(step).collect();
        source.push_str(
            "def unlock_the_vault(key):\n    \"\"\"Opens the vault with a key.\"\"\"\n    return vault.open(key)\n",
        );
        repo.write("src/large.py", &source);
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        let mut server = place.serve(&["--no-refresh", "--project", text(repo.path())]);
        let found = ask(&mut server, json!({"query": "open the vault with a key", "limit": 3}));
        let first = &found[0]["chunk"];
        assert!(
            first["text"].as_str().is_some_and(|text| text.contains("unlock_the_vault") && text.len() < 2000),
            "{first}"
        );
        assert!(first["metadata"]["start_line"].as_u64() > Some(1900), "{first}");
    }

    #[test]
    fn frontmatter_and_hashtags_become_tags() {
        let shop = Shop::new();
        let mut server = shop.serve();
        for tag in ["architecture", "security", "login", "#login", "docs"] {
            let found = ask(&mut server, json!({"query": "authentication", "tags": [tag]}));
            assert!(paths(&found).contains(&"docs/auth.md"), "{tag}: {:?}", paths(&found));
        }
        let found = ask(&mut server, json!({"query": "session", "chunk_types": ["documentation"]}));
        let titles: Vec<&Value> = found.iter().map(|result| &result["chunk"]["title"]).collect();
        assert!(!titles.iter().any(|title| title.to_string().contains("not a heading")), "{titles:?}");
    }
}

/// A chunk as chunk files have it.
fn chunk(id: &str, kind: &str, text: &str, tags: &[&str]) -> Value {
    json!({
        "id": id, "chunk_type": kind, "title": format!("Title of {id}"), "text": text, "tags": tags,
        "metadata": {"source": "code", "file_path": format!("src/{id}.go"), "language": "go", "odd": [1, {"x": null}]},
        "embedding": [0.5, 0.5], "created_at": "2025-10-16T12:35:00Z", "updated_at": "2025-10-17T12:35:00Z",
    })
}

/// A folder of chunk files in both known forms, with all that may be wrong in them.
fn write_chunks(dir: &Path) {
    fs::create_dir_all(dir).expect("a folder can be made");
    let write = |name: &str, value: Value| fs::write(dir.join(name), value.to_string()).expect("a file can be written");
    let metadata = json!({"model": "bge-small", "dimensions": 384, "chunk_type": "symbols", "generated": "2025-10-16T12:00:00Z", "version": "2.0.0"});
    write(
        "code-symbols.json",
        json!({"_metadata": metadata, "chunks": [
            chunk("handler", "symbols", "Package: auth\n\nTypes:\n  - AuthHandler (struct)", &["code", "go", "symbols"]),
            {"id": 7, "text": "its id is no text"},
            chunk("mailer", "symbols", "Package: mail\n\nFunctions:\n  - SendMail", &["code", "go", "symbols"]),
        ]}),
    );
    let mut tagged = chunk("retry", "", "func Retry(times int) error { return backoff(times) }", &[]);
    tagged["metadata"]["tag_0"] = json!("resilience");
    tagged["metadata"]["tag_1"] = json!("go");
    write("code-definitions.json", json!([tagged]));
    write("generator-output.json", json!([chunk("never", "definitions", "func NeverShown() {}", &["go"])]));
    fs::write(dir.join("doc-chunks.json"), "{ not json").expect("a file can be written");
}

#[test]
fn chunk_files_are_read_in_both_forms() {
    let shop = Shop::new();
    let dir = shop.place.path("chunks");
    write_chunks(Path::new(&dir));
    let mut server = shop.place.serve(&["--no-refresh", "--project", text(shop.repo.path()), "--chunks-dir", &dir]);
    let found = ask(&mut server, json!({"query": "password auth handler"}));
    assert_eq!(ids(&found)[0], "handler", "{found:?}");
    assert!(
        ids(&found).iter().all(|id| ["handler", "mailer", "retry"].contains(id)),
        "from the files only: {:?}",
        ids(&found)
    );
    let mut expected =
        chunk("handler", "symbols", "Package: auth\n\nTypes:\n  - AuthHandler (struct)", &["code", "go", "symbols"]);
    expected.as_object_mut().expect("an object").remove("embedding");
    assert_eq!(found[0]["chunk"], expected, "a chunk is answered as its file has it, without its vector");
    let found = ask(
        &mut server,
        json!({"query": "retry with backoff", "tags": ["resilience", "go"], "chunk_types": ["definitions"]}),
    );
    assert_eq!(ids(&found), ["retry"]);
    assert_eq!(found[0]["chunk"]["tags"], json!(["resilience", "go"]));
    assert_eq!(found[0]["chunk"]["chunk_type"], "definitions", "its file says what it is");
    assert_eq!(ask(&mut server, json!({"query": "anything at all", "limit": 100})).len(), 3);
    let (code, message) = refused(&mut server, json!({"query": "x", "repo": "shop"}));
    assert!(code == -32602 && message.contains("chunk files"), "{message}");
    let answer = server.call(TOOL, &json!({"query": "mail"}));
    assert_eq!(
        answer.value["metadata"]["freshness"],
        json!({"state": "current", "source": "chunk files", "chunks": 3, "malformed_chunks": 1})
    );
    let log = server.end().log;
    assert!(log.contains("doc-chunks.json") && log.contains("a chunk is left out"), "{log}");
}

#[test]
fn chunk_files_are_chosen_by_flag_then_variable_then_file() {
    let shop = Shop::new();
    let own = shop.repo.path().join(".cortex/chunks");
    write_chunks(&own);
    shop.repo.write(".cortex/config.yml", "server:\n  chunks_dir: \".cortex/chunks\"\n");
    let started = |flags: &[&str], variable: Option<&str>| {
        let mut command =
            shop.place.lore.command(&[&["serve", "--no-refresh", "--project", text(shop.repo.path())], flags].concat());
        command.envs(variable.map(|dir| ("CORTEX_CHUNKS_DIR", dir)));
        let mut server = Server::start(command);
        let answer = server.call(TOOL, &json!({"query": "password retry handler", "limit": 100}));
        answer.value["metadata"]["freshness"]["chunks"].as_u64()
    };
    assert_eq!(started(&[], None), Some(3), "the project's file");
    let (one, two) = (shop.place.path("one"), shop.place.path("two"));
    for (dir, count) in [(&one, 1), (&two, 2)] {
        fs::create_dir(dir).expect("a folder can be made");
        let chunks: Vec<Value> =
            (0..count).map(|at| chunk(&format!("c{at}"), "data", "const X = 1", &["go"])).collect();
        fs::write(Path::new(dir).join("code-data.json"), json!(chunks).to_string()).expect("a file can be written");
    }
    assert_eq!(started(&[], Some(&one)), Some(1), "the variable");
    assert_eq!(started(&["--chunks-dir", &two], Some(&one)), Some(2), "the flag");
    fs::remove_file(shop.repo.path().join(".cortex/config.yml")).expect("it can be removed");
    assert_eq!(started(&[], None), None, "a folder alone chooses nothing: the index answers");
}

#[test]
fn chunk_files_that_cannot_be_used_keep_the_server_from_starting() {
    let shop = Shop::new();
    let project = text(shop.repo.path());
    let said = shop.place.refused(2, &["serve", "--chunks-dir", "/nonexistent/chunks"]);
    assert!(said.contains("the chunks directory /nonexistent/chunks does not exist"), "{said}");
    let empty = shop.place.path("empty");
    fs::create_dir(&empty).expect("a folder can be made");
    fs::write(Path::new(&empty).join("generator-output.json"), "[]").expect("a file can be written");
    let said = shop.place.refused(2, &["serve", "--chunks-dir", &empty]);
    assert!(said.contains("there is no chunk in"), "{said}");
    shop.repo.write(".cortex/config.yml", "server: {chunks_dir: ../empty}\n");
    let said = shop.place.refused(2, &["serve", "--project", project]);
    assert!(said.contains("outside the project"), "{said}");
    shop.repo.write(".cortex/config.yml", "server: [\n");
    let said = shop.place.refused(2, &["serve", "--project", project]);
    assert!(said.contains("cannot be understood"), "{said}");
    shop.repo
        .write(".cortex/config.yml", "embedding: {provider: cortex-embed, endpoint: 'https://example.com/embed'}\n");
    let said = shop.place.refused(2, &["serve", "--project", project]);
    assert!(said.contains("another machine"), "{said}");
}

#[test]
fn changed_chunk_files_are_read_again_and_bad_ones_are_not() {
    let place = Place::new();
    let dir = place.path("chunks");
    let dir = Path::new(&dir);
    fs::create_dir(dir).expect("a folder can be made");
    let write = |text: &str| fs::write(dir.join("code-data.json"), text).expect("a file can be written");
    let one = |name: &str| json!([chunk(name, "data", &format!("const {name} = 1"), &["go"])]).to_string();
    write(&one("Alpha"));
    let mut server = place.serve(&["--no-refresh", "--chunks-dir", text(dir)]);
    let question = json!({"query": "const", "limit": 5});
    assert_eq!(ids(&ask(&mut server, question.clone())), ["Alpha"]);
    write(&one("Beta"));
    server.wait_for(TOOL, &question, |answer| answer.value["results"][0]["chunk"]["id"] == "Beta");
    // A file that is half written: what was read before is kept.
    write("[{\"id\": \"Gam");
    let answer = server.wait_for(TOOL, &question, |answer| answer.value["metadata"]["freshness"]["state"] == "stale");
    assert_eq!(answer.value["results"][0]["chunk"]["id"], "Beta");
    assert_eq!(ids(&ask(&mut server, question.clone())), ["Beta"]);
    write(&one("Gamma"));
    server.wait_for(TOOL, &question, |answer| answer.value["results"][0]["chunk"]["id"] == "Gamma");
    // Another folder takes the place of this one, as some writers do.
    fs::rename(dir, dir.with_extension("old")).expect("it can be renamed");
    fs::create_dir(dir).expect("a folder can be made");
    write(&one("Delta"));
    server.wait_for(TOOL, &question, |answer| answer.value["results"][0]["chunk"]["id"] == "Delta");
    write(&one("Epsilon"));
    server.wait_for(TOOL, &question, |answer| answer.value["results"][0]["chunk"]["id"] == "Epsilon");
    let log = server.end().log;
    assert!(log.contains("what was read before is kept") && log.contains("code-data.json"), "{log}");
}

#[test]
fn a_chunk_file_that_cannot_be_read_is_told_and_holds_nothing_up() {
    let place = Place::new();
    let dir = place.path("chunks");
    let dir = Path::new(&dir);
    fs::create_dir(dir).expect("a folder can be made");
    let write = |file: &str, text: &str| fs::write(dir.join(file), text).expect("a file can be written");
    let one = |name: &str| json!([chunk(name, "data", &format!("const {name} = 1"), &["go"])]).to_string();
    write("code-data.json", &one("Alpha"));
    write("code-definitions.json", &one("Def"));
    // It never could be read.
    write("doc-chunks.json", "{ not json");
    let mut server = place.serve(&["--no-refresh", "--chunks-dir", text(dir)]);
    let question = json!({"query": "const", "limit": 5});
    let freshness = |answer: &Answer| answer.value["metadata"]["freshness"].clone();
    let has = |answer: &Answer, id: &str| answer.value["results"].to_string().contains(&format!("\"id\":\"{id}\""));
    assert_eq!(freshness(&server.call(TOOL, &question))["state"], "current");
    write("code-data.json", &one("Beta"));
    let answer = server.wait_for(TOOL, &question, |answer| has(answer, "Beta"));
    assert_eq!(freshness(&answer)["state"], "current");
    // One that could be read is gone: what it said is kept, and that is told.
    fs::remove_file(dir.join("code-definitions.json")).expect("it can be removed");
    let answer = server.wait_for(TOOL, &question, |answer| freshness(answer)["state"] == "stale");
    assert!(has(&answer, "Def") && has(&answer, "Beta"), "{}", answer.text);
    assert!(
        freshness(&answer)["note"].as_str().is_some_and(|note| note.contains("code-definitions.json")),
        "{}",
        answer.text
    );
    write("code-definitions.json", "[{\"id\": \"Gam");
    write("code-definitions.json", &one("Again"));
    let answer = server.wait_for(TOOL, &question, |answer| has(answer, "Again"));
    assert!(freshness(&answer)["state"] == "current" && !has(&answer, "Def"), "{}", answer.text);
}

#[cfg(unix)]
#[test]
fn chunk_files_are_not_read_through_links() {
    use std::os::unix::fs::symlink;
    let shop = Shop::new();
    let (own, outside) = (shop.repo.path().join(".cortex/chunks"), shop.place.path("outside"));
    let outside = Path::new(&outside);
    fs::create_dir_all(&own).expect("a folder can be made");
    fs::create_dir(outside).expect("a folder can be made");
    let secret = json!([chunk("secret", "data", "const Secret = 1", &["go"])]).to_string();
    fs::write(outside.join("code-data.json"), secret).expect("a file can be written");
    symlink(outside.join("code-data.json"), own.join("code-data.json")).expect("a link can be made");
    symlink("/dev/zero", own.join("doc-chunks.json")).expect("a link can be made");
    shop.repo.write(".cortex/config.yml", "server:\n  chunks_dir: \".cortex/chunks\"\n");
    let said = shop.place.refused(2, &["serve", "--project", text(shop.repo.path())]);
    assert!(said.contains("there is no chunk in") && said.contains("symbolic link"), "{said}");
    fs::write(own.join("code-symbols.json"), json!([chunk("own", "symbols", "const Own", &["go"])]).to_string())
        .expect("a file can be written");
    let mut server = shop.place.serve(&["--no-refresh", "--project", text(shop.repo.path())]);
    let question = json!({"query": "const", "limit": 5});
    assert_eq!(ids(&ask(&mut server, question.clone())), ["own"]);
    // The folder itself is replaced while the server runs.
    fs::rename(&own, shop.repo.path().join(".cortex/before")).expect("it can be renamed");
    symlink(outside, &own).expect("a link can be made");
    let stale = |answer: &Answer| answer.value["metadata"]["freshness"]["state"] == "stale";
    let answer = server.wait_for(TOOL, &question, stale);
    assert!(answer.text.contains("outside the project") && !answer.text.contains("const Secret"), "{}", answer.text);
}

/// A service that embeds every text in the same way, as long as it is up.
struct Service {
    endpoint: String,
    up: Arc<AtomicBool>,
    passages: Arc<AtomicUsize>,
    _thread: JoinHandle<()>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let endpoint = format!("http://{}/embed", listener.local_addr().expect("it has an address"));
        let up = Arc::new(AtomicBool::new(true));
        let passages = Arc::new(AtomicUsize::new(0));
        let (is_up, count) = (Arc::clone(&up), Arc::clone(&passages));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_up.load(Ordering::SeqCst) {
                    let (is_up, count) = (Arc::clone(&is_up), Arc::clone(&count));
                    std::thread::spawn(move || while answer(&stream, &is_up, &count).is_some() {});
                }
            }
        });
        Self { endpoint, up, passages, _thread: thread }
    }
}

fn answer(stream: &TcpStream, up: &AtomicBool, passages: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let asked: Value = serde_json::from_slice(&body).ok().filter(|_| up.load(Ordering::SeqCst))?;
    let texts = asked["texts"].as_array()?;
    if asked["mode"] == "passage" {
        passages.fetch_add(texts.len(), Ordering::SeqCst);
    }
    let vectors: Vec<Vec<f32>> =
        texts.iter().map(|_| (0..384).map(|at| if at == 0 { 1.0 } else { 0.0 }).collect()).collect();
    let body = json!({"embeddings": vectors}).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    (&*stream).write_all((head + &body).as_bytes()).ok()
}

#[test]
fn a_configured_service_that_is_down_is_told_at_the_start_and_with_each_question() {
    let service = Service::start();
    let place = Place::new();
    let dir = place.path("chunks");
    fs::create_dir(&dir).expect("a folder can be made");
    let mut known = chunk("known", "data", "const Known = 1", &["go"]);
    known["embedding"] = json!(vec![0.5; 384]);
    let file = json!({"_metadata": {"model": "mini", "dimensions": 384}, "chunks": [known]});
    fs::write(Path::new(&dir).join("code-symbols.json"), file.to_string()).expect("a file can be written");
    fs::write(Path::new(&dir).join("code-data.json"), json!([chunk("c", "data", "const C = 1", &["go"])]).to_string())
        .expect("a file can be written");
    let project = place.repo("project");
    project.write(".cortex/config.yml", "embedding: {provider: cortex-embed, model: mini}\n");
    project.commit("Begin");
    let command = |endpoint: &str| {
        let mut command =
            place.lore.command(&["serve", "--no-refresh", "--chunks-dir", &dir, "--project", text(project.path())]);
        command.env("CORTEX_EMBEDDING_ENDPOINT", endpoint);
        command
    };
    let mut server = Server::start(command(&service.endpoint));
    assert_eq!(ask(&mut server, json!({"query": "const"})).len(), 2);
    assert_eq!(service.passages.load(Ordering::SeqCst), 1, "only what the model in use has not embedded is embedded");
    service.up.store(false, Ordering::SeqCst);
    let (code, message) = refused(&mut server, json!({"query": "const"}));
    assert!(code == -32603 && message.contains("embedding service"), "{code} {message}");
    let output = command("http://127.0.0.1:1/embed").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(8) && said.contains("cannot be reached"), "{said}");
}

#[test]
fn uncommitted_work_is_found_while_a_service_is_configured() {
    let service = Service::start();
    let place = Place::new();
    let project = place.repo("project");
    project.write("src/a.rs", "pub fn adds_apples() {}\n");
    project.write(".cortex/config.yml", "embedding: {provider: cortex-embed, model: mini}\n");
    project.commit("Begin");
    project.write("src/b.rs", "pub fn boils_beans() {}\n");
    for query in ["boils_beans", "adds_apples", "boils_beans"] {
        let mut command = place.lore.command(&["search", "--json", query]);
        command.current_dir(project.path()).env("CORTEX_EMBEDDING_ENDPOINT", &service.endpoint);
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert!(found["results"][0]["text"].as_str().is_some_and(|text| text.contains(query)), "{found}");
        assert_eq!(found["freshness"][0]["uncommitted_error"], Value::Null, "{found}");
    }
}

#[test]
fn a_project_s_own_ignore_list_is_followed() {
    let place = Place::new();
    let repo = place.repo("ignoring");
    write_project(&repo);
    repo.write(".cortex/config.yml", "paths:\n  ignore:\n    - 'web/**'\n");
    repo.commit("Begin");
    place.add(repo.path(), &[]);
    repo.write("web/new.ts", "export function password() {}\n");
    let mut server = place.serve(&["--no-refresh", "--project", text(repo.path())]);
    let answer = server.call(TOOL, &json!({"query": "password", "limit": 100}));
    let results = answer.value["results"].as_array().expect("a list");
    assert!(!results.is_empty() && !paths(results).iter().any(|path| path.starts_with("web/")), "{:?}", paths(results));
    assert_eq!(answer.value["metadata"]["freshness"]["state"], "current");
    // The server sees that the list has changed, and what is not committed by it.
    let (question, list) = (json!({"query": "password", "limit": 100}), ".cortex/config.yml");
    let has = |answer: &Answer, path: &str| answer.value["results"].to_string().contains(path);
    repo.write(list, "paths:\n  ignore: ['web/**'\n");
    let error = |answer: &Answer| answer.value["metadata"]["freshness"]["repos"][0]["ignore_error"].is_string();
    let answer = server.wait_for(TOOL, &question, error);
    assert!(!has(&answer, "web/new.ts"), "the last list that could be read counts: {}", answer.text);
    assert_eq!(answer.value["metadata"]["freshness"]["state"], "current");
    repo.write(list, "paths:\n  ignore:\n    - 'docs/**'\n");
    let answer = server.wait_for(TOOL, &question, |answer| has(answer, "web/new.ts"));
    assert!(!error(&answer) && answer.value["metadata"]["freshness"]["state"] == "stale", "{}", answer.text);
}

mod roots {
    use super::*;

    /// A server whose client says where it works.
    struct Client(Session);

    impl Client {
        /// Shakes hands, and answers the question for the roots with these.
        fn new(place: &Place, flags: &[&str], roots: &[String]) -> Self {
            let mut session =
                Session::start(place.lore.command(&[&["serve"], flags].concat())).expect("the server starts");
            let client = json!({"name": "test", "version": "1"});
            let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {"listChanged": true}}, "clientInfo": client});
            session.request("initialize", &params).expect("it shakes hands");
            let mut client = Self(session);
            client.told("notifications/initialized", roots);
            client
        }

        /// Sends a notification that makes the server ask for the roots, and answers.
        fn told(&mut self, method: &str, roots: &[String]) {
            let asked = self.0.raw(&json!({"jsonrpc": "2.0", "method": method}).to_string()).expect("it asks");
            assert_eq!(asked["method"], "roots/list", "{asked}");
            let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri})).collect();
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}});
            let ping = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
            let pong = self.0.raw(&format!("{answer}\n{ping}")).expect("it goes on");
            assert_eq!(pong["id"], "ping", "{pong}");
        }

        /// The files of an answer, once it is complete.
        fn paths(&mut self, repo: &str) -> Vec<String> {
            for _ in 0..2_000 {
                let answer = self.0.call(TOOL, &json!({"query": "password", "limit": 100})).expect("it answers");
                let value = answer.value().expect("it is no failure");
                let freshness = &value["metadata"]["freshness"];
                if freshness["state"] == "current" && freshness["repos"][0]["repo"] == repo {
                    return paths(value["results"].as_array().expect("a list"))
                        .into_iter()
                        .map(str::to_owned)
                        .collect();
                }
                std::thread::yield_now();
            }
            panic!("{repo} is never current");
        }
    }

    fn uri(repo: &Repo) -> String {
        format!("file://{}", text(repo.path()).replace(' ', "%20"))
    }

    fn projects(place: &Place) -> (Repo, Repo) {
        let (one, two) = (place.repo("one with space"), place.repo("two"));
        one.write("one.go", "package one\n\nfunc PasswordOne() {}\n").commit("Begin");
        two.write("two.go", "package two\n\nfunc PasswordTwo() {}\n").commit("Begin");
        (one, two)
    }

    #[test]
    fn the_client_s_roots_are_the_project_and_may_change() {
        let place = Place::new();
        let (one, two) = projects(&place);
        let elsewhere = "https://example.com/x".to_owned();
        let mut client = Client::new(&place, &[], &[elsewhere.clone(), "file:///nonexistent".to_owned(), uri(&one)]);
        assert!(client.paths("one-with-space").iter().all(|path| path == "one.go"));
        client.told("notifications/roots/list_changed", &[uri(&two)]);
        assert!(client.paths("two").iter().all(|path| path == "two.go"));
        // Nothing that can be used: it stays as it was.
        client.told("notifications/roots/list_changed", &[elsewhere]);
        assert!(client.paths("two").iter().all(|path| path == "two.go"));
    }

    #[test]
    fn work_trees_beside_a_repository_and_inside_it_are_told_apart() {
        let place = Place::new();
        let (one, _) = projects(&place);
        one.write("main_tree.go", "package one\n\nfunc PasswordMain() {}\n");
        let mut trees = vec![("main_tree.go", uri(&one))];
        let inside = text(&one.path().join(".claude/worktrees/agent")).to_owned();
        for (name, linked) in [("beside.go", place.path("linked")), ("inside.go", inside)] {
            one.git(&["worktree", "add", "--quiet", "--detach", &linked]);
            fs::write(Path::new(&linked).join(name), "package one\n\nfunc PasswordLinked() {}\n")
                .expect("a file can be written");
            trees.push((name, format!("file://{}", linked.replace(' ', "%20"))));
        }
        place.add(one.path(), &[]);
        let mut client = Client::new(&place, &["--no-refresh"], &[uri(&one)]);
        for at in [0, 1, 0, 2, 1, 2, 0] {
            let (here, root) = &trees[at];
            client.told("notifications/roots/list_changed", std::slice::from_ref(root));
            // What the client said is taken note of beside the next call.
            let started = Instant::now();
            let paths = loop {
                let paths = client.paths("one-with-space");
                if paths.iter().any(|path| path == here) {
                    break paths;
                }
                assert!(started.elapsed() < PATIENCE, "{here} is not in {paths:?}");
            };
            let expected = ["one.go", here];
            assert!(paths.iter().all(|path| expected.contains(&path.as_str())), "{paths:?} in the tree of {here}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn chunk_files_of_a_project_that_was_left_are_not_watched_any_more() {
        let place = Place::new();
        let (one, two) = projects(&place);
        for repo in [&one, &two] {
            write_chunks(&repo.path().join(".cortex/chunks"));
            repo.write(".cortex/config.yml", "server: {chunks_dir: .cortex/chunks}\n");
        }
        let mut client = Client::new(&place, &["--no-refresh"], &[uri(&one)]);
        let watchers = |client: &mut Client| {
            client.0.call(TOOL, &json!({"query": "retry"})).expect("it answers");
            let open = fs::read_dir(format!("/proc/{}/fd", client.0.process_id())).expect("it is running");
            let is_watcher = |entry: &fs::DirEntry| {
                fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().contains("inotify"))
            };
            open.flatten().filter(is_watcher).count()
        };
        for repo in [&two, &one].into_iter().cycle().take(10) {
            client.told("notifications/roots/list_changed", &[uri(repo)]);
            // What is left is let go beside the answer.
            let started = Instant::now();
            loop {
                let count = watchers(&mut client);
                if count <= 2 {
                    break;
                }
                assert!(started.elapsed() < PATIENCE, "{count} are still open");
            }
        }
    }

    #[test]
    fn the_flag_beats_the_client() {
        let place = Place::new();
        let (one, two) = projects(&place);
        let mut client = Client::new(&place, &["--project", text(two.path())], &[uri(&one)]);
        assert!(client.paths("two").iter().all(|path| path == "two.go"));
    }

    #[test]
    fn a_client_that_does_not_answer_is_not_waited_for() {
        let place = Place::new();
        let (_, two) = projects(&place);
        place.add(two.path(), &[]);
        let mut command = place.lore.command(&["serve", "--no-refresh"]);
        let mut session = Session::start({
            command.current_dir(two.path());
            command
        })
        .expect("the server starts");
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": client});
        session.request("initialize", &params).expect("it shakes hands");
        session.raw(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).expect("it asks");
        let answer = session.call(TOOL, &json!({"query": "password"})).expect("it answers");
        assert!(answer.text.contains("two.go"), "{}", answer.text);
    }

    #[test]
    fn without_a_handshake_the_roots_come_with_the_call() {
        let place = Place::new();
        let (_, two) = projects(&place);
        place.add(two.path(), &[]);
        let mut session = Session::start(place.lore.command(&["serve", "--no-refresh"])).expect("the server starts");
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        });
        let params = json!({"name": TOOL, "arguments": {"query": "password"}, "_meta": meta});
        let asked = session.request("tools/call", &params).expect("it asks back");
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert_eq!(asked["inputRequests"]["roots"]["method"], "roots/list", "{asked}");
        let mut params = params;
        params["inputResponses"] = json!({"roots": {"roots": [{"uri": uri(&two)}]}});
        let answer = session.request("tools/call", &params).expect("it answers");
        assert!(answer["content"][0]["text"].as_str().is_some_and(|text| text.contains("two.go")), "{answer}");
    }
}
