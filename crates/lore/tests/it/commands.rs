//! The tools `search`, `describe`, `execute` and `reload` over `lore serve`, as their document describes them, and the same
//! commands as prompts.

use std::{fs, path::Path};

use expect_test::expect;
use lore_testkit::{DOCUMENT, Repo};
use serde_json::{Value, json};

use crate::{place::Place, stdio::Server};

const REGISTRY: &str = ".agent/climpt/registry.json";

const PROMPT: &str = ".agent/climpt/prompts/git/group-commit/unstaged-changes/f_default.md";

/// A team that has the commands of the document.
pub(crate) struct Team {
    pub(crate) place: Place,
    pub(crate) repo: Repo,
}

/// What a tool answered: its text, whether it is an error, and the rest of the result.
struct Said {
    text: String,
    is_error: bool,
    result: Value,
}

impl Team {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("team");
        let team = Self { place, repo };
        team.describe_in(false);
        team.repo
            .write(".agent/climpt/config/registry_config.json", json!({"registries": {"climpt": REGISTRY}}).to_string())
            .write(
                ".agent/climpt/config/climpt-git-app.yml",
                "working_dir: \".agent/climpt\"\napp_prompt:\n  base_dir: \"prompts/git\"\napp_schema:\n  base_dir: \"schema/git\"\n",
            )
            .write(
                PROMPT,
                "---\nc1: climpt-git\nc2: group-commit\nc3: unstaged-changes\ntitle: Group commits\ndescription: Group file changes by semantic proximity and execute multiple commits sequentially\n---\n\n# Group commits\n\nCommit what belongs together.\n\nTopic: {uv-topic}\nFile: {input_text_file}\nText: {input_text}\nTo: {destination_path}\n",
            )
            .write(
                ".agent/climpt/prompts/git/group-commit/unstaged-changes/f_hotfix.md",
                "Commit the hotfix first.\n",
            );
        team
    }

    /// Writes the registry with the descriptions of one language.
    fn describe_in(&self, japanese: bool) {
        let commands = DOCUMENT.map(|(c1, c2, c3, ja, en)| {
            let mut entry = json!({"c1": c1, "c2": c2, "c3": c3, "description": if japanese { ja } else { en }});
            if c2 == "group-commit" {
                entry["usage"] = json!("climpt-git group-commit unstaged-changes");
                entry["options"] = json!({"edition": ["default", "hotfix"], "adaptation": ["default"], "file": true, "stdin": true, "destination": true});
                entry["uv"] = json!([{"topic": "What the changes are about"}]);
            }
            entry
        });
        let registry = json!({"version": "1.0.0", "description": "Team", "tools": {"availableConfigs": ["climpt-git", "climpt-meta"], "commands": commands}});
        self.repo.write(REGISTRY, registry.to_string());
    }

    fn serve(&self) -> Server {
        self.place.serve(&["--no-refresh", "--project", self.folder()])
    }

    pub(crate) fn folder(&self) -> &str {
        self.repo.path().to_str().expect("temporary paths are UTF-8")
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn call(server: &mut Server, tool: &str, arguments: Value) -> Said {
    let result = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
    let text = result["content"][0]["text"].as_str().expect("an answer has a text").to_owned();
    Said { text, is_error: result["isError"] == true, result }
}

/// The value of an answer that is no error.
#[track_caller]
fn value(server: &mut Server, tool: &str, arguments: Value) -> Value {
    let said = call(server, tool, arguments);
    assert!(!said.is_error, "{}", said.text);
    serde_json::from_str(&said.text).expect("the text is JSON")
}

/// The object of an answer that is an error.
#[track_caller]
fn error(server: &mut Server, tool: &str, arguments: Value) -> Value {
    let said = call(server, tool, arguments);
    assert!(said.is_error, "{}", said.text);
    serde_json::from_str(&said.text).unwrap_or_else(|_| panic!("not JSON: {}", said.text))
}

fn group_commit(options: &Value) -> Value {
    json!({"agent": "climpt", "c1": "climpt-git", "c2": "group-commit", "c3": "unstaged-changes", "options": options})
}

/// Every file of a project, but for what git keeps.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() && path.file_name() != Some(".git".as_ref()) {
            names.extend(files(&path));
        }
        names.push(path.display().to_string());
    }
    names.sort();
    names
}

#[test]
fn the_tools_are_listed_as_the_document_says() {
    let team = Team::new();
    let listed = team.serve().request("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("tools are listed");
    for (name, required, properties) in [
        ("search", json!(["query"]), &["query", "agent"][..]),
        ("describe", json!(["c1", "c2", "c3"]), &["agent", "c1", "c2", "c3"]),
        ("execute", json!(["agent", "c1", "c2", "c3"]), &["agent", "c1", "c2", "c3", "options"]),
        ("reload", Value::Null, &["agent"]),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is listed"));
        assert_eq!(tool["inputSchema"]["required"], required, "{name}");
        for property in properties {
            let kind = if *property == "options" { "object" } else { "string" };
            assert_eq!(tool["inputSchema"]["properties"][property]["type"], kind, "{name}.{property}");
        }
        let default = if name == "execute" { Value::Null } else { json!("climpt") };
        assert_eq!(tool["inputSchema"]["properties"]["agent"]["default"], default, "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
    }
    let search = tools.iter().find(|tool| tool["name"] == "search").expect("it is listed");
    assert!(search["description"].as_str().is_some_and(|about| about.starts_with("Team commands, not code")));
}

mod the_document {
    use super::*;

    #[test]
    fn search() {
        let team = Team::new();
        let mut server = team.serve();
        for japanese in [false, true] {
            team.describe_in(japanese);
            let found =
                value(&mut server, "search", json!({"query": "変更をグループ化してコミット", "agent": "climpt"}));
            let found = found.as_array().expect("the answer is an array");
            assert!((1..=10).contains(&found.len()));
            let first = found[0].as_object().expect("of objects");
            assert_eq!(first.keys().collect::<Vec<_>>(), ["c1", "c2", "c3", "description", "score"]);
            assert_eq!(
                (&first["c1"], &first["c2"], &first["c3"]),
                (&json!("climpt-git"), &json!("group-commit"), &json!("unstaged-changes"))
            );
            let scores: Vec<f64> = found.iter().filter_map(|hit| hit["score"].as_f64()).collect();
            assert!(scores.iter().all(|score| *score > 0.0 && *score <= 1.0), "{scores:?}");
            assert!(scores.is_sorted_by(|a, b| a >= b) && scores[0] > 0.5, "{scores:?}");
        }
    }

    #[test]
    fn describe() {
        let team = Team::new();
        let arguments = json!({"agent": "climpt", "c1": "climpt-git", "c2": "group-commit", "c3": "unstaged-changes"});
        let command = value(&mut team.serve(), "describe", arguments);
        expect![[r#"
            {
              "c1": "climpt-git",
              "c2": "group-commit",
              "c3": "unstaged-changes",
              "description": "Group file changes by semantic proximity and execute multiple commits sequentially",
              "usage": "climpt-git group-commit unstaged-changes",
              "options": {
                "edition": [
                  "default",
                  "hotfix"
                ],
                "adaptation": [
                  "default"
                ],
                "file": true,
                "stdin": true,
                "destination": true
              },
              "uv": [
                {
                  "topic": "What the changes are about"
                }
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&command).expect("a value can be written"));
        let plain = json!({"c1": "climpt-meta", "c2": "build", "c3": "frontmatter"});
        let command = value(&mut team.serve(), "describe", plain);
        assert_eq!(
            command,
            json!({"c1": "climpt-meta", "c2": "build", "c3": "frontmatter", "description": "Generate C3L v0.5 compliant frontmatter for Climpt instruction files"})
        );
    }

    #[test]
    fn execute() {
        let team = Team::new();
        let mut server = team.serve();
        let said = call(&mut server, "execute", group_commit(&json!({})));
        assert!(!said.is_error, "{}", said.text);
        assert_eq!(
            said.text,
            "# Group commits\n\nCommit what belongs together.\n\nTopic: {uv-topic}\nFile: {input_text_file}\nText: {input_text}\nTo: {destination_path}\n"
        );
        let meta = &said.result["_meta"];
        assert_eq!(meta["lore/prompt_file"], PROMPT);
        assert_eq!(meta["lore/registry"], REGISTRY);
        assert_eq!(
            meta["lore/open_variables"],
            json!(["uv-topic", "input_text_file", "input_text", "destination_path"])
        );
    }

    #[test]
    fn reload() {
        let team = Team::new();
        let mut server = team.serve();
        let done = value(&mut server, "reload", json!({"agent": "climpt"}));
        assert_eq!(
            done,
            json!({"success": true, "agent": "climpt", "commandCount": 7, "message": "Successfully reloaded 7 commands for agent 'climpt'"})
        );
        assert_eq!(value(&mut server, "reload", json!({})), done);
    }

    #[test]
    fn command_not_found() {
        let arguments = json!({"agent": "climpt", "c1": "climpt-git", "c2": "invalid-command", "c3": "target"});
        let expected =
            json!({"error": "Command not found", "c1": "climpt-git", "c2": "invalid-command", "c3": "target"});
        let team = Team::new();
        let mut server = team.serve();
        for tool in ["describe", "execute"] {
            assert_eq!(error(&mut server, tool, arguments.clone()), expected, "{tool}");
        }
    }

    #[test]
    fn failed_to_load_registry() {
        let place = Place::new();
        let repo = place.repo("empty");
        let folder = repo.path().to_str().expect("temporary paths are UTF-8");
        let mut server = place.serve(&["--no-refresh", "--toolsets", "commands", "--project", folder]);
        let expected = json!({"error": "Failed to load registry", "path": REGISTRY, "details": "File not found"});
        for (tool, arguments) in [
            ("search", json!({"query": "x"})),
            ("describe", json!({"c1": "a", "c2": "b", "c3": "c"})),
            ("execute", json!({"agent": "climpt", "c1": "a", "c2": "b", "c3": "c"})),
            ("reload", json!({})),
        ] {
            assert_eq!(error(&mut server, tool, arguments.clone()), expected, "{tool}");
            let said = call(&mut server, tool, arguments);
            assert!(said.result.to_string().contains("lore commands new"), "{}", said.result);
        }
        repo.write(REGISTRY, "{\n  \"tools\": }\n");
        let broken = error(&mut server, "search", json!({"query": "x"}));
        assert_eq!(broken["details"], "line 2, column 12: expected value");
    }

    #[test]
    fn reload_of_a_broken_registry_fails_and_the_old_one_stays_in_use() {
        let team = Team::new();
        let mut server = team.serve();
        let before = value(&mut server, "search", json!({"query": "group commit"}));
        team.repo.write(REGISTRY, "{\n  \"tools\": }\n");
        let said = call(&mut server, "reload", json!({"agent": "climpt"}));
        assert!(said.is_error, "{}", said.text);
        let object: Value = serde_json::from_str(&said.text).expect("the text is JSON");
        let expected = json!({"error": "Failed to load registry", "path": REGISTRY, "details": "line 2, column 12: expected value"});
        assert_eq!(object, expected);
        let hint = said.result["content"][1]["text"].as_str().expect("a second text says what to do");
        assert!(hint.contains("the 7 commands read from it before stay in use"), "{hint}");
        assert_eq!(value(&mut server, "search", json!({"query": "group commit"})), before);
        team.describe_in(false);
        assert_eq!(value(&mut server, "reload", json!({}))["commandCount"], 7);
    }

    #[test]
    fn execution_failed() {
        let team = Team::new();
        fs::remove_dir_all(team.repo.path().join(".agent/climpt/prompts")).expect("it is there");
        let failed = error(&mut team.serve(), "execute", group_commit(&json!({"edition": "bug"})));
        let folder = ".agent/climpt/prompts/git/group-commit/unstaged-changes";
        assert_eq!(
            failed,
            json!({
                "error": "Execution failed",
                "command": "climpt-git group-commit unstaged-changes",
                "stderr": format!("no prompt file; tried {folder}/f_bug.md, {folder}/f_default.md"),
            })
        );
    }
}

#[test]
fn options_are_an_object_or_the_words_of_a_command_line() {
    let team = Team::new();
    let mut server = team.serve();
    let expected =
        "# Group commits\n\nCommit what belongs together.\n\nTopic: auth\nFile: a.txt\nText: text\nTo: out/\n";
    let object =
        json!({"file": "a.txt", "destination": "out/", "stdin": "text", "uv": {"topic": "auth"}, "adaptation": "y"});
    for options in [
        object.clone(),
        json!(["-f=a.txt", "-o=out/", "--stdin=text", "--uv-topic=auth"]),
        json!(["--from=a.txt", "--destination=out/", "--stdin=text", "--uv-topic=auth", "--edition=default"]),
        Value::from(object.to_string()),
    ] {
        assert_eq!(call(&mut server, "execute", group_commit(&options)).text, expected, "{options}");
    }
    for options in [json!({"edition": "hotfix"}), json!(["-e=hotfix"]), json!(["--edition=hotfix"])] {
        assert_eq!(call(&mut server, "execute", group_commit(&options)).text, "Commit the hotfix first.\n");
    }
    let wrong = call(&mut server, "execute", group_commit(&json!({"editon": "x"})));
    assert!(wrong.is_error && wrong.text.contains("`options` has no `editon`"), "{}", wrong.text);
    let mut without = group_commit(&json!(null));
    without.as_object_mut().expect("an object").remove("agent");
    assert!(!call(&mut server, "execute", without).is_error, "the one agent there is need not be named");
}

#[test]
fn changes_on_disk_count_at_once_and_a_broken_registry_keeps_the_last_good_one() {
    let team = Team::new();
    let mut server = team.serve();
    let search = json!({"query": "group commit"});
    assert_eq!(value(&mut server, "search", search.clone())[0]["c2"], "group-commit");
    team.repo.write(REGISTRY, "{\n  \"tools\": {\n");
    let said = call(&mut server, "search", search.clone());
    assert!(!said.is_error && said.text.contains("group-commit"), "{}", said.text);
    let notes = said.result["_meta"]["lore/notes"].to_string();
    assert!(notes.contains(REGISTRY) && notes.contains("line 3"), "{notes}");
    let entry = json!({"c1": "new", "c2": "group", "c3": "commit", "description": "Other"});
    team.repo.write(REGISTRY, json!({"tools": {"commands": [entry]}}).to_string());
    assert_eq!(value(&mut server, "search", search)[0]["c1"], "new");
}

#[test]
fn the_commands_are_prompts_with_arguments_and_completion() {
    let team = Team::new();
    team.repo
        .write(
            ".agent/reviewer/registry.json",
            json!({"tools": {"commands": [{"c1": "dev", "c2": "start", "c3": "default", "description": "Review"}]}})
                .to_string(),
        )
        .write("src/main.rs", "fn main() {}\n");
    let mut server = team.serve();
    let listed = server.request("prompts/list", &json!({}));
    let prompts = listed["prompts"].as_array().expect("prompts are listed");
    let names: Vec<&str> = prompts.iter().filter_map(|prompt| prompt["name"].as_str()).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(names[2], "climpt-git_group-commit_unstaged-changes");
    assert_eq!(names[7], "reviewer_dev_start_default");
    let arguments = prompts[2]["arguments"].as_array().expect("it takes arguments").iter();
    let arguments: Vec<&str> = arguments.filter_map(|argument| argument["name"].as_str()).collect();
    assert_eq!(arguments, ["edition", "file", "input", "destination", "topic"]);
    let prompt =
        json!({"name": names[2], "arguments": {"topic": "auth", "input": "text", "file": "", "edition": "default"}});
    let got = server.request("prompts/get", &prompt);
    let text = got["messages"][0]["content"]["text"].as_str().expect("a prompt has a text");
    assert!(text.contains("Topic: auth\nFile: {input_text_file}\nText: text\n"), "{text}");
    let complete = |server: &mut Server, argument: &str, typed: &str| {
        let reference = json!({"type": "ref/prompt", "name": names[2]});
        let params = json!({"ref": reference, "argument": {"name": argument, "value": typed}});
        server.request("completion/complete", &params)["completion"]["values"].clone()
    };
    assert_eq!(complete(&mut server, "edition", ""), json!(["default", "hotfix"]));
    assert_eq!(complete(&mut server, "edition", "h"), json!(["hotfix"]));
    assert_eq!(complete(&mut server, "file", "sr"), json!(["src/"]));
    assert_eq!(complete(&mut server, "file", "src/"), json!(["src/main.rs"]));
    assert_eq!(complete(&mut server, "file", "../"), json!([]));
    assert_eq!(complete(&mut server, "file", "./sr"), json!(["./src/"]));
    assert_eq!(complete(&mut server, "topic", "a"), json!([]));
    assert_eq!(prompts[7]["title"], "reviewer: dev start default");
    let argument = |prompt: &str, argument: &str| json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": argument, "value": ""}});
    for (id, (method, params)) in [
        ("completion/complete", argument("no_such_prompt", "edition")),
        ("completion/complete", argument(names[2], "no-such-argument")),
        ("prompts/get", json!({"name": names[2], "arguments": {"edition": "../x"}})),
    ]
    .into_iter()
    .enumerate()
    {
        let line = json!({"jsonrpc": "2.0", "id": 900 + id, "method": method, "params": params}).to_string();
        assert_eq!(server.raw(&line)["error"]["code"], -32602, "{line}");
    }
}

#[test]
fn editions_that_only_lie_there_are_offered() {
    let team = Team::new();
    team.repo.write(".agent/climpt/prompts/git/merge-up/base-branch/f_default.md", "Merge.\n");
    team.repo.write(".agent/climpt/prompts/git/merge-up/base-branch/f_quick_silent.md", "Merge.\n");
    let listed = team.serve().request("prompts/list", &json!({}));
    let arguments = listed["prompts"][4]["arguments"].as_array().expect("it takes arguments").iter();
    let told: Vec<&str> = arguments.filter_map(|argument| argument["description"].as_str()).collect();
    assert_eq!(told[..2], ["One of: default, quick", "One of: silent"]);
}

mod upstream_gets_this_wrong {
    use super::*;

    #[test]
    fn a_call_needs_no_network_and_no_new_process() {
        if !crate::messages_faults::can_trace() {
            return;
        }
        let team = Team::new();
        let flags = ["serve", "--no-refresh", "--toolsets", "commands", "--project", team.folder()];
        let trace = team.place.path("trace");
        let mut server = Server::start(traced(&team.place.lore.command(&flags), &trace));
        for (tool, arguments) in [
            ("search", json!({"query": "commit"})),
            ("describe", json!({"c1": "climpt-git", "c2": "group-commit", "c3": "unstaged-changes"})),
            ("execute", group_commit(&json!({}))),
            ("reload", json!({})),
        ] {
            let said = call(&mut server, tool, arguments);
            assert!(!said.is_error, "{tool}: {}", said.text);
        }
        server.end();
        let trace = fs::read_to_string(trace).expect("strace wrote its trace");
        let started = trace.lines().filter(|line| line.contains("execve(")).count();
        assert_eq!(started, 1, "only the server itself was started: {trace}");
        for line in trace.lines() {
            assert!(!line.contains("AF_INET"), "the network was asked: {line}");
            let makes_process = ["fork(", "clone(", "clone3("].iter().any(|call| line.contains(call));
            assert!(!makes_process || line.contains("CLONE_THREAD") || line.contains("resumed"), "{line}");
        }
    }

    /// The same under the eyes of strace, which writes down whatever starts a process or speaks to a network.
    #[expect(clippy::disallowed_methods, reason = "strace starts lore here, in the environment that it was given")]
    fn traced(lore: &std::process::Command, trace: &str) -> std::process::Command {
        let mut command = std::process::Command::new("strace");
        command.args(["-f", "-qq", "-o", trace, "-e", "trace=%network,%process"]);
        command.arg(lore.get_program()).args(lore.get_args()).env_clear();
        command.envs(lore.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = lore.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }

    #[test]
    fn the_japanese_example_finds_its_command() {
        let team = Team::new();
        let mut server = team.serve();
        for japanese in [true, false] {
            team.describe_in(japanese);
            for query in ["変更をグループ化してコミット", "ｺﾐｯﾄ", "group changes and commit"] {
                let found = value(&mut server, "search", json!({"query": query}));
                assert_eq!(found[0]["c2"], "group-commit", "{query}: {found}");
            }
        }
    }

    #[test]
    fn a_value_with_dollar_signs_stays_as_it_is() {
        let team = Team::new();
        let mut server = team.serve();
        let odd = "$& $1 $$ $` $' \\1 {uv-topic} {input_text}";
        let said = call(&mut server, "execute", group_commit(&json!({"stdin": odd, "uv": {"topic": "$&"}})));
        assert!(said.text.contains(&format!("Topic: $&\nFile: {{input_text_file}}\nText: {odd}\n")), "{}", said.text);
    }

    #[test]
    fn a_rule_later_in_a_prompt_eats_no_text() {
        let team = Team::new();
        team.repo.write(PROMPT, "---\nc1: climpt-git\n---\n\nFirst.\n\n---\n\nSecond.\n\n---\n\nThird.\n");
        let mut server = team.serve();
        let text = "First.\n\n---\n\nSecond.\n\n---\n\nThird.\n";
        assert_eq!(call(&mut server, "execute", group_commit(&json!({}))).text, text);
        team.repo.write(PROMPT, text);
        assert_eq!(call(&mut server, "execute", group_commit(&json!({}))).text, text);
    }

    #[test]
    fn reload_reads_registry_config_json_again() {
        let team = Team::new();
        let mut server = team.serve();
        assert_eq!(value(&mut server, "reload", json!({}))["commandCount"], 7);
        let entry = json!({"c1": "a", "c2": "b", "c3": "c", "description": "d"});
        let config = json!({"registries": {"climpt": ".agent/other.json", "inspector": ".agent/other.json"}});
        team.repo
            .write(".agent/other.json", json!({"tools": {"commands": [entry]}}).to_string())
            .write(".agent/climpt/config/registry_config.json", config.to_string());
        assert_eq!(value(&mut server, "reload", json!({}))["commandCount"], 1);
        assert_eq!(value(&mut server, "reload", json!({"agent": "inspector"}))["commandCount"], 1);
    }

    #[test]
    fn no_missing_config_file_is_created() {
        let place = Place::new();
        let repo = place.repo("bare");
        repo.write(
            REGISTRY,
            json!({"tools": {"commands": [{"c1": "a", "c2": "b", "c3": "c", "description": "d"}]}}).to_string(),
        );
        repo.write(".agent/climpt/prompts/a/b/c/f_default.md", "Do it.\n");
        let folder = repo.path().to_str().expect("temporary paths are UTF-8");
        let before = (files(repo.path()), files(place.lore.user_home()));
        let mut command = place.lore.command(&["serve", "--no-refresh", "--project", folder]);
        command.current_dir(repo.path());
        let mut server = Server::start(command);
        call(&mut server, "search", json!({"query": "d"}));
        call(&mut server, "search", json!({"query": "d", "agent": "inspector"}));
        call(&mut server, "describe", json!({"c1": "a", "c2": "b", "c3": "c"}));
        let said = call(&mut server, "execute", json!({"agent": "climpt", "c1": "a", "c2": "b", "c3": "c"}));
        assert_eq!(said.text, "Do it.\n");
        call(&mut server, "reload", json!({}));
        server.request("prompts/list", &json!({}));
        assert_eq!((files(repo.path()), files(place.lore.user_home())), before);
    }

    #[cfg(unix)]
    #[test]
    fn a_prompt_path_cannot_leave_its_base_directory() {
        use std::os::unix::fs::symlink;

        const SECRET: &str = "a secret of somebody else";
        let team = Team::new();
        let outside = team.place.path("outside");
        fs::create_dir_all(format!("{outside}/x/y")).expect("it can be made");
        for name in ["f_default.md", "x/y/f_default.md"] {
            fs::write(format!("{outside}/{name}"), SECRET).expect("it can be written");
        }
        let prompts = team.repo.path().join(".agent/climpt/prompts/git");
        fs::create_dir_all(prompts.join("merge-up")).expect("it can be made");
        symlink(&outside, prompts.join("merge-up/base-branch")).expect("links can be made");
        let evil = |base: &str| format!("working_dir: \"/\"\napp_prompt:\n  base_dir: \"{base}\"\n");
        team.repo.write(".agent/climpt/config/climpt-meta-app.yml", evil(&outside));
        // Nor for another file of the same project.
        let inside = ".agent/climpt/prompts/git/list-select/pr-branch";
        team.repo.write(".env", SECRET).write(format!("{inside}/f_other.md"), "Other.\n");
        symlink("../../../../../../.env", team.repo.path().join(inside).join("f_default.md")).expect("it can be made");
        let mut server = team.serve();
        let up = "../../../../../../outside";
        for arguments in [
            json!({"agent": "climpt", "c1": "climpt-git", "c2": up, "c3": "x"}),
            json!({"agent": "climpt", "c1": "climpt-git", "c2": "..", "c3": ".."}),
            json!({"agent": "climpt", "c1": up, "c2": "x", "c3": "y"}),
            json!({"agent": up, "c1": "climpt-git", "c2": "x", "c3": "y"}),
            json!({"agent": "climpt", "c1": "climpt-git", "c2": "group-commit\u{0}", "c3": "y"}),
            json!({"agent": "climpt", "c1": "climpt-git", "c2": "merge-up", "c3": "base-branch"}),
            json!({"agent": "climpt", "c1": "climpt-git", "c2": "list-select", "c3": "pr-branch"}),
            json!({"agent": "climpt", "c1": "climpt-meta", "c2": "build", "c3": "frontmatter"}),
            group_commit(&json!({"edition": format!("../{up}/f_default")})),
            group_commit(&json!({"adaptation": format!("/../../{up}/f_default")})),
            group_commit(&json!([format!("--edition={outside}/f_default")])),
        ] {
            let said = call(&mut server, "execute", arguments.clone());
            assert!(said.is_error && !said.result.to_string().contains(SECRET), "{arguments}: {}", said.result);
        }
    }
}
