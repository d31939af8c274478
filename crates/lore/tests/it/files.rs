//! Files, branches and repositories over `lore serve`, compared with what git says of them.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, path::Path};

use lore_testkit::{Git, Repo, odd};
use serde_json::{Value, json};

use crate::{
    place::Place,
    stdio::{Answer, Server},
};

const TOOLSETS: &str = "code,repos,insight";

/// A registered repository with some of everything.
struct Desk {
    place: Place,
    repo: Repo,
}

impl Desk {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        repo.write("README.md", "# Shop\n\nSells things.\n")
            .write("src/main.rs", "fn main() {\n    sell();\n}\n")
            .write("src/deep/er/mod.rs", "pub fn sell() {}\n")
            .write("notes/crlf.txt", "one\r\ntwo\r\nthree\r\n")
            .write("empty.txt", "")
            .write("logo.png", b"\x89PNG\0\0binary")
            .write(".gitignore", "*.log\ntarget/\n");
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        Self { place, repo }
    }

    fn serve(&self) -> Server {
        serve(&self.place, self.repo.path())
    }
}

fn serve(place: &Place, project: &Path) -> Server {
    let project = project.to_str().expect("temporary paths are UTF-8");
    place.serve(&["--no-refresh", "--toolsets", TOOLSETS, "--project", project])
}

/// The answer of a call that succeeds.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn ask(server: &mut Server, tool: &str, arguments: Value) -> Value {
    let answer = server.call(tool, &arguments);
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
    assert_eq!(answer.value["success"], true, "{tool}");
    answer.value
}

/// What a call that fails says, together with its hint.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn refused(server: &mut Server, tool: &str, arguments: Value) -> String {
    let Answer { is_error, text, .. } = server.call(tool, &arguments);
    assert!(is_error, "{tool} {arguments}: {text}");
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(value["success"], false);
    let error = value["error"].as_str().expect("an error is a text");
    format!("{error} / {}", value["hint"].as_str().unwrap_or_default())
}

fn read(server: &mut Server, path: &str) -> Value {
    ask(server, "get_file_content", json!({"file_path": path}))
}

fn text(answer: &Value) -> &str {
    assert_eq!(answer["content"][0]["type"], "text");
    answer["content"][0]["text"].as_str().expect("content is a text")
}

fn paths(files: &Value) -> Vec<&str> {
    let files = files.as_array().unwrap_or_else(|| panic!("files are a list: {files}"));
    files.iter().map(|file| file["path"].as_str().expect("a file has a path")).collect()
}

fn entry<'a>(files: &'a Value, path: &str) -> &'a Value {
    let found = files.as_array().and_then(|files| files.iter().find(|file| file["path"] == path));
    found.unwrap_or_else(|| panic!("{path} is not in {files}"))
}

fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() == 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T')
}

#[test]
fn the_tools_are_listed_only_where_they_are_chosen() {
    let place = Place::new();
    let names = |server: &mut Server| -> Vec<String> {
        let listed = server.request("tools/list", &json!({}));
        let tools = listed["tools"].as_array().expect("tools are listed").iter();
        tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let chosen = names(&mut place.serve(&["--no-refresh", "--toolsets", TOOLSETS]));
    let usual = names(&mut place.serve(&["--no-refresh"]));
    for tool in [
        "list_files",
        "get_file_content",
        "browse_directory",
        "get_branches",
        "check_health",
        "discover_repositories",
        "list_repositories",
        "get_repository_status",
        "get_repository_statistics",
        "get_all_repositories_status",
    ] {
        assert!(chosen.iter().any(|name| name == tool), "{tool}");
        assert!(usual.iter().all(|name| name != tool), "{tool}");
    }
}

#[test]
fn a_directory_is_listed_with_its_subdirectories_beside_it() {
    let desk = Desk::new();
    let mut server = desk.serve();
    let root = ask(&mut server, "list_files", json!({"repository_alias": "shop"}));
    assert_eq!(paths(&root["files"]), [".gitignore", "README.md", "empty.txt", "logo.png"]);
    assert_eq!(root["directories"], json!([{"path": "notes", "files": 1}, {"path": "src", "files": 2}]));
    let file = entry(&root["files"], "README.md");
    assert_eq!(
        (&file["size_bytes"], &file["language"], &file["is_indexed"]),
        (&json!(22), &json!("markdown"), &json!(true))
    );
    assert!(is_time(&file["modified_at"]), "{file}");
    // A bare name, and the same in other words.
    for path in ["src", "src/", "./src"] {
        let listed = ask(&mut server, "list_files", json!({"repository_alias": "shop", "path": path}));
        assert_eq!(paths(&listed["files"]), ["src/main.rs"], "{path}");
        assert_eq!(listed["directories"], json!([{"path": "src/deep", "files": 1}]));
    }
    let one = ask(&mut server, "list_files", json!({"path": "src/main.rs"}));
    assert_eq!(paths(&one["files"]), ["src/main.rs"]);
    let said = refused(&mut server, "list_files", json!({"path": "srcs"}));
    assert!(said.contains("no folder `srcs`") && said.contains("`src`"), "{said}");
}

#[test]
fn browsing_goes_down_unless_told_not_to() {
    let desk = Desk::new();
    let mut server = desk.serve();
    let all = ask(&mut server, "browse_directory", json!({"repository_alias": "shop", "path": "src"}));
    let structure = &all["structure"];
    assert_eq!((&structure["path"], &structure["total"]), (&json!("src"), &json!(2)));
    assert_eq!(paths(&structure["files"]), ["src/deep/er/mod.rs", "src/main.rs"]);
    let flat = ask(&mut server, "browse_directory", json!({"path": "src", "recursive": false}));
    assert_eq!(paths(&flat["structure"]["files"]), ["src/main.rs"]);
    assert_eq!(flat["structure"]["directories"][0]["path"], "src/deep");
}

#[test]
fn the_working_tree_is_what_is_shown_and_ignored_files_are_not() {
    let desk = Desk::new();
    desk.repo
        .write("src/main.rs", "fn main() {\n    give_away();\n}\n")
        .write("src/new.rs", "fn new() {}\n")
        .write("debug.log", "secret")
        .write("target/out.rs", "fn built() {}\n")
        .remove("README.md");
    let mut server = desk.serve();
    let all = ask(&mut server, "browse_directory", json!({}));
    let listed = paths(&all["structure"]["files"]);
    assert!(listed.contains(&"src/new.rs") && !listed.contains(&"README.md"), "{listed:?}");
    assert!(!listed.iter().any(|path| *path == "debug.log" || path.starts_with("target")), "{listed:?}");
    assert_eq!(all["source"]["read_from"], "working_tree");
    let new = entry(&all["structure"]["files"], "src/new.rs");
    assert_eq!((&new["uncommitted"], &new["is_indexed"]), (&json!(true), &json!(true)));
    assert_eq!(entry(&all["structure"]["files"], "empty.txt").get("uncommitted"), None);
    let edited = read(&mut server, "src/main.rs");
    assert!(text(&edited).contains("give_away"));
    let metadata = &edited["metadata"];
    let head = desk.repo.git(&["rev-parse", "HEAD"]);
    assert_eq!((&metadata["read_from"], &metadata["uncommitted"]), (&json!("working_tree"), &json!(true)));
    assert_eq!((&metadata["commit"], &metadata["branch"]), (&json!(head.trim()), &json!("main")));
    assert_eq!(read(&mut server, "empty.txt")["metadata"]["uncommitted"], false);
    for (path, word) in [("README.md", "deleted"), ("debug.log", "ignores"), ("target/out.rs", "ignores")] {
        let said = refused(&mut server, "get_file_content", json!({"file_path": path}));
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn a_mirror_is_read_from_its_main_branch() {
    let desk = Desk::new();
    desk.repo.write("src/main.rs", "uncommitted\n");
    let url = format!("file://{}", desk.repo.path().display());
    desk.place.add(&url, &["--name", "mirror"]);
    let mut server = desk.serve();
    let asked = json!({"repository_alias": "mirror", "file_path": "src/main.rs"});
    let file = ask(&mut server, "get_file_content", asked);
    assert_eq!(text(&file), format!("{}\n", desk.repo.git(&["show", "HEAD:src/main.rs"])));
    assert_eq!((&file["metadata"]["read_from"], &file["metadata"]["uncommitted"]), (&json!("commit"), &json!(false)));
    let listed = ask(&mut server, "browse_directory", json!({"repository_alias": "mirror"}));
    assert_eq!(listed["structure"]["total"], 7);
    assert_eq!(listed["source"]["read_from"], "commit");
}

#[test]
fn lines_are_asked_for_from_one_and_the_answer_says_which_they_are() {
    let desk = Desk::new();
    let mut server = desk.serve();
    let whole = read(&mut server, "notes/crlf.txt");
    assert_eq!(text(&whole), "one\r\ntwo\r\nthree\r\n", "line ends are kept");
    assert_eq!((&whole["metadata"]["shown_lines"], &whole["metadata"]["total_lines"]), (&json!([1, 3]), &json!(3)));
    assert_eq!(whole["metadata"]["size"], 17);
    let part = ask(&mut server, "get_file_content", json!({"file_path": "notes/crlf.txt", "offset": 2, "limit": 1}));
    assert_eq!((text(&part), &part["metadata"]["shown_lines"]), ("two\r\n", &json!([2, 2])));
    let least = json!({"file_path": "notes/crlf.txt", "offset": 0, "limit": -5});
    let least = server.call("get_file_content", &least);
    assert_eq!((text(&least.value), &least.value["metadata"]["shown_lines"]), ("one\r\n", &json!([1, 1])));
    assert_eq!(least.notes(), ["offset is at least 1: 1 was taken", "limit is at least 1: 1 was taken"]);
    let empty = read(&mut server, "empty.txt");
    assert_eq!((text(&empty), &empty["metadata"]["total_lines"]), ("", &json!(0)));
    for (arguments, word) in [
        (json!({"file_path": "notes/crlf.txt", "offset": 4}), "has 3 lines"),
        (json!({"file_path": "logo.png"}), "is binary (12 bytes)"),
        (json!({"file_path": "src"}), "is a folder"),
        (json!({"file_path": ""}), "is a folder"),
        (json!({"file_path": "src/mian.rs"}), "did you mean `src/main.rs`"),
        (json!({"file_path": "src/main.rs/x"}), "there is no file"),
        (json!({"file_path": "main.rs"}), "did you mean `src/main.rs`"),
        (json!({}), "`file_path` is missing"),
        (json!({"path": "x"}), "no argument `path`"),
    ] {
        let said = refused(&mut server, "get_file_content", arguments);
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn large_files_are_read_in_parts_and_nothing_is_cut_silently() {
    let desk = Desk::new();
    let large = "0123456789\n".repeat(200_000);
    desk.repo.write("large.txt", &large).write("committed.txt", &large);
    desk.repo.commit("Large");
    desk.repo.write("large.txt", format!("{large}more\n"));
    let mut server = desk.serve();
    for (path, lines) in [("committed.txt", 200_000), ("large.txt", 200_001)] {
        let said = refused(&mut server, "get_file_content", json!({"file_path": path}));
        assert!(said.contains(&format!("in {lines} lines")) && said.contains("`offset`"), "{said}");
        let arguments = json!({"file_path": path, "offset": lines - 1, "limit": 10});
        let end = ask(&mut server, "get_file_content", arguments);
        assert_eq!(end["metadata"]["shown_lines"], json!([lines - 1, lines]));
        assert_eq!(end["metadata"].get("truncated"), None);
        let much = ask(&mut server, "get_file_content", json!({"file_path": path, "offset": 1}));
        assert_eq!(much["metadata"]["truncated"], true);
        let last = text(&much).lines().count();
        let note = much["metadata"]["note"].as_str().unwrap_or_default();
        assert!(note.ends_with(&format!("`offset` {}", last + 1)), "{note}");
    }
    fs::File::create(desk.repo.path().join("huge.bin")).and_then(|file| file.set_len(100 << 20)).expect("room");
    let said = refused(&mut server, "get_file_content", json!({"file_path": "huge.bin", "offset": 1}));
    assert!(said.contains("104857600 bytes"), "{said}");
    let listed = ask(&mut server, "list_files", json!({}));
    let huge = entry(&listed["files"], "huge.bin");
    assert_eq!((&huge["size_bytes"], &huge["is_indexed"]), (&json!(104_857_600), &json!(false)));
}

#[test]
fn long_lists_say_how_many_there_are() {
    let desk = Desk::new();
    for number in 0..10_001 {
        desk.repo.write(format!("many/{number:05}.txt"), "");
    }
    let mut server = desk.serve();
    for (tool, recursive) in [("browse_directory", json!({"path": "many"})), ("list_files", json!({"path": "many"}))] {
        let listed = ask(&mut server, tool, recursive);
        let (files, total) = match tool {
            "list_files" => (&listed["files"], &listed["total"]),
            _ => (&listed["structure"]["files"], &listed["structure"]["total"]),
        };
        assert_eq!((paths(files).len(), total, &listed["truncated"]), (10_000, &json!(10_001), &json!(true)), "{tool}");
        assert!(listed["note"].as_str().is_some_and(|note| note.contains("10000 of 10001 files")), "{tool}");
    }
}

#[test]
fn is_indexed_is_what_searches_see() {
    let desk = Desk::new();
    desk.repo
        .write(".loreignore", "secret/\n")
        .write("secret/a.rs", "fn hidden() {}\n")
        .write("vendored.rs", "fn v() {}\n");
    desk.repo.commit("More");
    let mut server = desk.serve();
    let all = ask(&mut server, "browse_directory", json!({}));
    let is_indexed = |path: &str| entry(&all["structure"]["files"], path)["is_indexed"].clone();
    // What was committed since is seen as work on what is indexed.
    assert_eq!(is_indexed("vendored.rs"), true);
    assert_eq!(is_indexed("src/main.rs"), true);
    assert_eq!(is_indexed("empty.txt"), true);
    assert_eq!(is_indexed("logo.png"), false, "it is binary");
    assert_eq!(is_indexed("secret/a.rs"), false, "it is left out");
    let unseen = desk.place.repo("unseen");
    unseen.write("a.rs", "fn a() {}\n").commit("a");
    desk.place.lore.ok(&["add", "--no-sync", unseen.path().to_str().expect("UTF-8")]);
    let listed = ask(&mut server, "list_files", json!({"repository_alias": "unseen"}));
    assert_eq!(entry(&listed["files"], "a.rs")["is_indexed"], false, "it was never read");
}

#[test]
fn files_are_dated_by_the_commit_that_changed_them_last() {
    let desk = Desk::new();
    desk.repo.write("src/main.rs", "fn main() {}\n");
    desk.repo.commit("Later");
    desk.place.sync();
    let mut server = desk.serve();
    let all = ask(&mut server, "browse_directory", json!({}));
    for path in ["src/main.rs", "README.md"] {
        let seconds: i64 = desk.repo.git(&["log", "-1", "--format=%ct", "--", path]).trim().parse().expect("seconds");
        let told = entry(&all["structure"]["files"], path)["modified_at"].as_str().expect("a time").to_owned();
        let told: jiff::Timestamp = told.parse().expect("a time of RFC 3339");
        assert_eq!(told.as_second(), seconds, "{path}");
    }
}

#[test]
fn branches_are_those_of_git_with_how_the_index_knows_them() {
    let desk = Desk::new();
    desk.repo.git(&["branch", "old"]);
    desk.repo.git(&["remote", "add", "origin", "/nowhere"]);
    desk.repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    desk.repo.git(&["branch", "--set-upstream-to=origin/main", "main"]);
    desk.repo.write("a.rs", "fn a() {}\n").commit("Newer");
    desk.place.sync();
    desk.repo.git(&["branch", "feature"]);
    desk.repo.write("b.rs", "fn b() {}\n").commit("Newest");
    let mut server = desk.serve();
    let found = ask(&mut server, "get_branches", json!({"repository_alias": "shop"}));
    let rows = found["branches"].as_array().expect("branches are a list");
    let told: Vec<(&str, bool, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap_or_default(),
                row["is_current"] == true,
                row["index_status"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(told, [("feature", false, "indexed"), ("main", true, "stale"), ("old", false, "not_indexed")]);
    for row in rows {
        let name = row["name"].as_str().unwrap_or_default();
        let last = &row["last_commit"];
        let said = desk.repo.git(&["log", "-1", "--format=%H|%s|%an", name]);
        let mine = [&last["sha"], &last["message"], &last["author"]].map(|value| value.as_str().unwrap_or_default());
        assert_eq!(mine.join("|"), said.trim());
        assert!(is_time(&last["date"]), "{last}");
    }
    assert_eq!(rows[1]["remote_tracking"], json!({"name": "origin/main", "ahead": 2, "behind": 0}));
    assert_eq!(rows[0]["remote_tracking"], Value::Null);
}

#[test]
fn repositories_are_listed_and_told_of_as_the_contract_has_it() {
    let desk = Desk::new();
    let mut server = desk.serve();
    for arguments in [json!({}), json!({"source_type": "local"})] {
        let found = ask(&mut server, "discover_repositories", arguments);
        let row = &found["repositories"][0];
        assert_eq!(row["alias"], "shop");
        for field in ["repo_url", "default_branch", "clone_path", "created_at", "enable_temporal", "temporal_options"] {
            assert!(row.get(field).is_some(), "{field}");
        }
    }
    assert_eq!(ask(&mut server, "discover_repositories", json!({"source_type": "golden"}))["repositories"], json!([]));
    let said = refused(&mut server, "discover_repositories", json!({"source_type": "github"}));
    assert!(said.contains("`golden` or `local`"), "{said}");
    let listed = ask(&mut server, "list_repositories", json!({}));
    let row = &listed["repositories"][0];
    assert_eq!(
        (&row["user_alias"], &row["golden_repo_alias"], &row["current_branch"]),
        (&json!("shop"), &json!("shop"), &json!("main"))
    );
    assert!(is_time(&row["activated_at"]) && row.get("last_accessed").is_some(), "{row}");
    for arguments in [json!({"user_alias": "shop"}), json!({})] {
        let status = &ask(&mut server, "get_repository_status", arguments)["status"];
        assert_eq!((&status["alias"], &status["branches_list"]), (&json!("shop"), &json!(["main"])));
        assert_eq!((&status["activation_status"], &status["file_count"]), (&json!("activated"), &json!(7)));
        assert!(status["index_size"].as_u64().is_some_and(|bytes| bytes > 0), "{status}");
        assert!(is_time(&status["last_updated"]) && is_time(&status["created_at"]), "{status}");
        for field in ["repo_url", "default_branch", "clone_path", "created_at", "enable_temporal", "temporal_status"] {
            assert!(status.get(field).is_some(), "{field}");
        }
    }
    for (tool, argument) in [
        ("get_repository_status", "user_alias"),
        ("list_files", "repository_alias"),
        ("get_branches", "repository_alias"),
        ("get_repository_statistics", "repository_alias"),
    ] {
        let said = refused(&mut server, tool, json!({argument: "shpo"}));
        assert!(said.contains("no repository is called `shpo`") && said.contains("did you mean `shop`"), "{said}");
        assert!(said.contains("`lore add PATH`"), "{said}");
    }
}

#[test]
fn statistics_count_what_is_there_and_say_what_is_wrong() {
    let desk = Desk::new();
    let mut server = desk.serve();
    let told = ask(&mut server, "get_repository_statistics", json!({"repository_alias": "shop"}));
    let numbers = &told["statistics"];
    assert_eq!(numbers["repository_id"], "shop");
    assert_eq!((&numbers["files"]["total"], &numbers["files"]["indexed"]), (&json!(7), &json!(6)));
    assert_eq!(numbers["files"]["by_language"]["rust"], 2);
    let bytes: u64 =
        ["README.md", "src/main.rs", "src/deep/er/mod.rs", "notes/crlf.txt", "empty.txt", "logo.png", ".gitignore"]
            .map(|path| fs::metadata(desk.repo.path().join(path)).expect("it is there").len())
            .iter()
            .sum();
    assert_eq!(numbers["storage"]["repository_size_bytes"], bytes);
    assert!(numbers["storage"]["embedding_count"].as_u64().is_some_and(|count| count > 0), "{numbers}");
    assert!(is_time(&numbers["activity"]["last_sync_at"]), "{numbers}");
    assert!(is_time(&numbers["activity"]["created_at"]), "{numbers}");
    assert!(numbers["activity"].get("last_accessed_at").is_some(), "{numbers}");
    assert!(numbers["activity"]["sync_count"].as_u64().is_some_and(|count| count > 0), "{numbers}");
    let issues = numbers["health"]["issues"].to_string();
    assert_eq!(numbers["health"]["score"], 1.0, "{issues}");
    assert!(issues.contains("1 file without vectors or not searched: binary"), "{issues}");
    desk.repo.write("a.rs", "fn a() {}\n").commit("Newer");
    let all = ask(&mut server, "get_all_repositories_status", json!({}));
    assert_eq!((&all["total"], &all["repositories"][0]["history_state"]), (&json!(1), &json!("stale")));
    let health = &all["repositories"][0]["health"];
    assert!(health["score"].as_f64().is_some_and(|score| score < 1.0), "{health}");
    assert!(health["issues"].to_string().contains("lore sync --repo shop"), "{health}");
    drop(server);
    fs::rename(desk.repo.path(), desk.place.path("elsewhere")).expect("it can be moved");
    let mut server = desk.place.serve(&["--no-refresh", "--toolsets", TOOLSETS]);
    let told = ask(&mut server, "get_repository_statistics", json!({"repository_alias": "shop"}));
    let health = told["statistics"]["health"].to_string();
    assert!(health.contains("is no repository any more"), "{health}");
    assert_eq!(told["statistics"]["files"]["indexed"], 6, "what was indexed is still known");
    let said = refused(&mut server, "list_files", json!({"repository_alias": "shop"}));
    assert!(said.contains("lore add"), "{said}");
}

#[test]
fn health_is_measured() {
    let desk = Desk::new();
    let mut server = desk.serve();
    let health = ask(&mut server, "check_health", json!({}))["health"].clone();
    assert_eq!(health["status"], "healthy", "{health}");
    assert!(is_time(&health["timestamp"]), "{health}");
    for service in ["database", "vector_store", "storage"] {
        let service = &health["services"][service];
        assert_eq!(service["status"], "healthy", "{health}");
        assert!(service["response_time_ms"].is_f64() && service.get("error_message").is_none(), "{health}");
    }
    assert_eq!(health["system"]["active_jobs"], 0);
    if cfg!(target_os = "linux") {
        let percent = |name: &str| health["system"][name].as_f64().unwrap_or(-1.0);
        assert!((0.0..=100.0).contains(&percent("memory_usage_percent")), "{health}");
        assert!((0.0..=100.0).contains(&percent("cpu_usage_percent")), "{health}");
        assert!(percent("disk_free_space_gb") > 0.0, "{health}");
    }
    for entry in fs::read_dir(desk.place.lore.home().join("segments")).expect("segments are there").flatten() {
        fs::write(entry.path(), "damaged").expect("it can be damaged");
    }
    let health = ask(&mut desk.serve(), "check_health", json!({}))["health"].clone();
    assert_eq!((&health["status"], &health["services"]["database"]["status"]), (&json!("degraded"), &json!("healthy")));
    assert!(health["services"]["vector_store"]["error_message"].is_string(), "{health}");
}

/// The paths of a commit's files as git lists them, links included, submodules not.
fn ls_tree(repo: &Path) -> Vec<Vec<u8>> {
    let listed = Git::at(repo).bytes(&["ls-tree", "-r", "-z", "HEAD"]).expect("git lists");
    let entries = listed.split(|byte| *byte == 0).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let is_file = line[..tab].windows(6).any(|word| word == b" blob ");
        is_file.then(|| line[tab + 1..].to_vec())
    });
    entries.collect()
}

#[test]
fn odd_repositories_are_listed_and_read_as_git_has_them() {
    for variant in
        [odd::Variant::Main, odd::Variant::Bare, odd::Variant::Shallow, odd::Variant::Sha256, odd::Variant::Empty]
    {
        let place = Place::new();
        let made = odd::build(variant, Path::new(&place.path("odd"))).expect("git makes it");
        place.lore.ok(&["add", "--no-sync", "--name", "odd", made.path.to_str().expect("UTF-8")]);
        let mut server = place.serve(&["--no-refresh", "--toolsets", TOOLSETS]);
        let listed = ask(&mut server, "browse_directory", json!({"repository_alias": "odd"}));
        let expected = if variant == odd::Variant::Empty { Vec::new() } else { ls_tree(&made.path) };
        let escaped = |path: &[u8]| lore_model::escape_controls(&String::from_utf8_lossy(path)).into_owned();
        let names: Vec<String> = expected.iter().map(|path| escaped(path)).collect();
        assert_eq!(paths(&listed["structure"]["files"]), names, "{variant:?}");
        for (number, path) in expected.iter().enumerate() {
            let told = &listed["structure"]["files"][number];
            let content = content(&made.path, path);
            assert_eq!(told["size_bytes"], content.len(), "{variant:?} {}", escaped(path));
            let Ok(name) = std::str::from_utf8(path) else { continue };
            let arguments = json!({"repository_alias": "odd", "file_path": name});
            let answer = server.call("get_file_content", &arguments);
            let binary = content.iter().take(8000).any(|byte| *byte == 0);
            assert_eq!(answer.is_error, binary || content.len() > 1 << 20, "{variant:?} {name}: {}", answer.text);
            if !answer.is_error {
                let shown = lore_model::escape_controls(&String::from_utf8_lossy(&content)).into_owned();
                assert_eq!(text(&answer.value), shown, "{variant:?} {name}");
            }
        }
    }
}

/// What a file holds: on disk, where filters may have changed it, or in git where there is no work tree.
fn content(repo: &Path, path: &[u8]) -> Vec<u8> {
    let place = repo.join(std::ffi::OsStr::from_bytes(path));
    match fs::symlink_metadata(&place) {
        Ok(about) if about.is_symlink() => {
            fs::read_link(&place).expect("a link can be read").as_os_str().as_bytes().to_vec()
        }
        Ok(_) => fs::read(&place).expect("a file can be read"),
        Err(_) => {
            let name = [b"HEAD:", path].concat();
            let args = ["cat-file".as_ref(), "blob".as_ref(), std::ffi::OsStr::from_bytes(&name)];
            Git::at(repo).bytes(&args).expect("git shows")
        }
    }
}

#[test]
fn names_that_are_no_text_can_be_read_as_they_are_shown() {
    let desk = Desk::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(desk.repo.path().join(name), "found\n").expect("any bytes can be a name");
    desk.repo.write("odd\u{200b}name.txt", "found too\n");
    let mut server = desk.serve();
    let listed = ask(&mut server, "list_files", json!({}));
    let shown = entry(&listed["files"], "caf\u{fffd}.txt");
    assert_eq!(shown["replaced_invalid_utf8"], true);
    assert_eq!(text(&read(&mut server, "caf\u{fffd}.txt")), "found\n");
    assert_eq!(text(&read(&mut server, "odd<U+200B>name.txt")), "found too\n");
}

#[test]
fn a_question_about_files_writes_nothing() {
    let desk = Desk::new();
    let state = |path: &Path| {
        let mut files = Vec::new();
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it can be listed").flatten() {
                let about = entry.metadata().expect("it is there");
                if about.is_dir() {
                    folders.push(entry.path());
                } else {
                    files.push((entry.path(), about.len(), about.modified().ok()));
                }
            }
        }
        files.sort();
        files
    };
    let before = state(desk.repo.path());
    let mut server = desk.serve();
    for tool in ["list_files", "browse_directory", "get_branches", "get_repository_status", "get_repository_statistics"]
    {
        ask(&mut server, tool, json!({}));
    }
    read(&mut server, "src/main.rs");
    assert_eq!(state(desk.repo.path()), before);
}

#[test]
fn another_work_tree_of_a_repository_is_seen_as_it_is() {
    let desk = Desk::new();
    let other = desk.place.path("other");
    desk.repo.git(&["worktree", "add", "--quiet", "-b", "topic", &other]);
    fs::write(Path::new(&other).join("only-here.txt"), "x\n").expect("a file can be written");
    let mut server = serve(&desk.place, Path::new(&other));
    for arguments in [json!({}), json!({"repository_alias": "shop"})] {
        let listed = ask(&mut server, "list_files", arguments);
        assert!(paths(&listed["files"]).contains(&"only-here.txt"), "{listed}");
        assert_eq!(listed["source"]["branch"], "topic");
    }
    let listed = ask(&mut desk.serve(), "list_files", json!({}));
    assert!(!paths(&listed["files"]).contains(&"only-here.txt"), "{listed}");
}

#[test]
fn a_project_that_is_not_registered_is_not_read() {
    let desk = Desk::new();
    let stranger = desk.place.repo("stranger");
    stranger.write("a.txt", "the canary\n").commit("a");
    let mut server = serve(&desk.place, stranger.path());
    for tool in ["list_files", "get_branches", "get_repository_status"] {
        let said = refused(&mut server, tool, json!({}));
        assert!(said.contains("is not registered") && said.contains("shop") && said.contains("lore add"), "{said}");
    }
    let said = refused(&mut server, "get_file_content", json!({"file_path": "a.txt"}));
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn nothing_that_a_repository_configures_is_run() {
    let place = Place::new();
    let hostile = odd::hostile(Path::new(&place.path("trap"))).expect("git makes the repository");
    place.lore.ok(&["add", "--name", "trap", hostile.path.to_str().expect("UTF-8")]);
    let mut server = serve(&place, &hostile.path);
    let listed = ask(&mut server, "browse_directory", json!({}));
    for path in paths(&listed["structure"]["files"]) {
        server.call("get_file_content", &json!({"file_path": path}));
    }
    for tool in ["get_branches", "get_repository_status", "get_repository_statistics", "list_repositories"] {
        ask(&mut server, tool, json!({}));
    }
    assert!(!hostile.canary.exists(), "{}", fs::read_to_string(&hostile.canary).unwrap_or_default());
}

mod upstream_gets_this_wrong {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Whatever is asked, nothing outside the repository and nothing of a git directory is shown.
    #[test]
    fn a_path_with_dot_dot_cannot_escape_the_repository() {
        let desk = Desk::new();
        let secret = "the canary outside";
        fs::write(desk.place.path("outside.txt"), secret).expect("a file beside the repository");
        fs::create_dir(desk.place.path("shop-evil")).expect("a folder whose name begins the same");
        fs::write(desk.place.path("shop-evil/x.txt"), secret).expect("a file in it");
        let root = desk.repo.path();
        symlink(desk.place.path("outside.txt"), root.join("link.txt")).expect("a link to a file");
        symlink(desk.place.path("shop-evil"), root.join("linked")).expect("a link to a folder");
        symlink("linked", root.join("twice")).expect("a link to a link");
        symlink(".git", root.join("sneaky")).expect("a link to the git directory");
        desk.repo.commit("Links");
        symlink(desk.place.path("shop-evil"), root.join("src/uncommitted")).expect("a link that is not committed");
        let mut server = desk.serve();
        let absolute = desk.place.path("outside.txt");
        let inside = root.join("README.md").display().to_string();
        for path in [
            "../outside.txt",
            "src/../../outside.txt",
            "./../outside.txt",
            "src/..",
            "..",
            "..\\outside.txt",
            "../shop-evil/x.txt",
            &absolute,
            &inside,
            "/etc/passwd",
            "C:\\Windows\\win.ini",
            ".git/config",
            ".git",
            ".GIT/config",
            ".git/../.git/config",
            "src/../.git/config",
            ".git./config",
            ".git /config",
            "git~1/config",
            "GIT~1/config",
            ".git::$INDEX_ALLOCATION/config",
            ".g\u{200c}it/config",
            "README.md\0.txt",
            "link.txt/x",
            "linked/x.txt",
            "twice/x.txt",
            "sneaky/config",
            "src/uncommitted/x.txt",
        ] {
            for (tool, argument) in
                [("get_file_content", "file_path"), ("list_files", "path"), ("browse_directory", "path")]
            {
                let said = refused(&mut server, tool, json!({"repository_alias": "shop", argument: path}));
                assert!(!said.contains("canary") && !said.contains("repositoryformatversion"), "{tool} {path}: {said}");
            }
        }
        for link in ["link.txt", "linked", "twice", "src/uncommitted"] {
            let shown = read(&mut server, link);
            assert_eq!(shown["metadata"]["kind"], "symlink", "{link}");
            let target = fs::read_link(root.join(link)).expect("it is a link");
            assert_eq!(text(&shown), target.to_str().expect("UTF-8"), "its target is shown, not what is there");
        }
        let all = ask(&mut server, "browse_directory", json!({}));
        assert!(!all.to_string().contains("x.txt"), "no link is walked into: {all}");
        assert_eq!(entry(&all["structure"]["files"], "twice")["link_target"], "linked");
    }

    /// Neither does its text break the answer.
    #[test]
    fn a_non_utf8_file_does_not_crash_the_index() {
        let desk = Desk::new();
        desk.repo
            .write("latin1.py", b"# caf\xe9\ndef waiter():\n    return '\xe9'\n")
            .write("broken.rs", b"fn f() { \xff\xfe\xfd }\n");
        desk.repo.commit("Other encodings");
        assert_eq!(desk.place.status("shop")["code"]["state"], "stale");
        desk.place.sync();
        assert_eq!(desk.place.status("shop")["code"]["state"], "current");
        let mut server = desk.serve();
        for (path, begin) in [("latin1.py", "# caf\u{fffd}\n"), ("broken.rs", "fn f() { \u{fffd}\u{fffd}\u{fffd} }")] {
            let file = read(&mut server, path);
            assert!(text(&file).starts_with(begin), "{path}");
            assert_eq!(file["metadata"]["replaced_invalid_utf8"], true, "{path}");
        }
        let listed = ask(&mut server, "list_files", json!({}));
        assert_eq!(entry(&listed["files"], "latin1.py")["is_indexed"], true);
        assert_eq!(entry(&listed["files"], "broken.rs")["is_indexed"], true);
    }

    /// Files that cannot be read are told by whoever reads, each time, and are not counted as read.
    #[test]
    fn indexing_does_not_print_complete_when_every_file_had_failed() {
        let place = Place::new();
        let repo = place.repo("shop");
        repo.write("a.rs", "pub fn one() {}\n").write("b.rs", "pub fn two() {}\n").commit("Begin");
        for name in ["a.rs", "b.rs"] {
            let blob = repo.git(&["rev-parse", &format!("HEAD:{name}")]);
            let (folder, rest) = blob.trim().split_at(2);
            fs::remove_file(repo.path().join(".git/objects").join(folder).join(rest)).expect("a loose object");
        }
        let added = place.lore.run(&[OsStr::new("add"), repo.path().as_os_str()]);
        let synced = place.lore.run(&["sync"]);
        for output in [added, synced] {
            assert!(output.stderr.contains("2 files of shop cannot be read"), "{}", output.stderr);
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(told.contains("0 files in the index") && !told.contains("files read"), "{told}");
        }
        let told = place.sync();
        assert_eq!((&told["code"]["read"], &told["code"]["lost"]), (&json!(0), &json!(2)));
    }
}

#[test]
fn a_git_directory_of_another_name_is_neither_listed_nor_read_nor_searched() {
    let desk = Desk::new();
    let root = desk.repo.path();
    desk.repo.git(&["init", "-q", "--separate-git-dir=data"]);
    assert!(root.join(".git").is_file() && root.join("data/config").is_file());
    fs::write(root.join("data/token.rs"), "pub const SECRET_TOKEN: u32 = 1;\n").expect("the folder can be written");
    desk.repo.write("database/seen.rs", "pub fn seen() {}\n");
    let mut server = desk.serve();
    let listed = ask(&mut server, "browse_directory", json!({"repository_alias": "shop"}));
    let listed = paths(&listed["structure"]["files"]);
    assert!(listed.contains(&"database/seen.rs"), "{listed:?}");
    assert!(!listed.iter().any(|path| path.starts_with("data/")), "{listed:?}");
    for path in ["data/config", "data/token.rs", "data"] {
        refused(&mut server, "get_file_content", json!({"repository_alias": "shop", "file_path": path}));
    }
    for text in ["SECRET_TOKEN", "repositoryformatversion"] {
        let found = ask(&mut server, "search_code", json!({"query_text": text, "search_mode": "fts"}));
        assert_eq!(found["results"]["total_results"], 0, "{found}");
    }
    let seen = ask(&mut server, "search_code", json!({"query_text": "seen", "search_mode": "fts"}));
    assert_eq!(seen["results"]["results"][0]["file_path"], "database/seen.rs");
}

/// The most memory that a process ever had, in megabytes.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it is running");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_takes_no_memory_for_the_lines_that_are_not_asked_for() {
    let desk = Desk::new();
    desk.repo.write("lines.txt", vec![b'\n'; 64 << 20]);
    let mut server = desk.serve();
    read(&mut server, "README.md");
    let before = peak(server.process_id());
    let answer = ask(&mut server, "get_file_content", json!({"file_path": "lines.txt", "offset": 1, "limit": 1}));
    assert_eq!(text(&answer), "\n");
    let last = ask(&mut server, "get_file_content", json!({"file_path": "lines.txt", "offset": 64 << 20, "limit": 9}));
    assert_eq!(text(&last), "\n");
    let more = peak(server.process_id()) - before;
    assert!(more < 200, "{more} MB for a file of 64");
    assert!(server.end().status.success());
}
