//! Several repositories under one name: what one tool says of a file, every other one understands.

use std::{collections::BTreeSet, path::Path};

use lore_testkit::TeamServer;
use serde_json::{Value, json};

/// `full` is a composite of `web` and `api`, whose paths are the same: files of today that change together, a copy, one that
/// was renamed and one that is gone.
fn server() -> TeamServer {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    server.add_user("ada", "power_user");
    for name in ["web", "api"] {
        let repo = server.repo(name);
        let code = |verb: &str| {
            format!(
                "// The heron of {name}.\nexport function {verb}Heron{name}(wing) {{\n  return wing.flap('{name}');\n}}\n"
            )
        };
        repo.write("src/a.js", code("fly"))
            .write("src/b.js", code("land"))
            .write("src/old.js", code("swim"))
            .write("src/gone.js", code("dive"))
            .commit("Herons arrive");
        repo.git(&["mv", "src/old.js", "src/new.js"]);
        repo.write("src/a.js", code("fly") + "// Far.\n").write("src/b.js", code("land") + "// Softly.\n");
        repo.write("src/copy.js", code("fly") + "// Far.\n");
        repo.remove("src/gone.js").commit("Herons dive no more");
        server.add_golden("root", &repo, name, &json!({"enable_temporal": true}));
    }
    let asked = json!({"operation": "create", "user_alias": "full", "golden_repo_aliases": ["web", "api"]});
    server.done("ada", &server.ask("ada", "manage_composite_repository", &asked));
    server
}

/// Every path in an answer.
fn paths_of(value: &Value) -> BTreeSet<String> {
    // With a line behind it, where an answer names a place.
    let path = |text: &str| text.rsplit_once(':').map_or(text, |(path, _)| path).to_owned();
    let mut found = BTreeSet::new();
    match value {
        Value::Array(values) => found.extend(values.iter().flat_map(paths_of)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let texts = match key.as_str() {
                    "file_path" | "path" | "file" | "old_path" => value.as_str().into_iter().collect(),
                    "matched_paths" | "files" | "copies" | "also_at" | "then" | "earlier_names" => {
                        value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
                    }
                    _ => Vec::new(),
                };
                found.extend(texts.into_iter().filter(|text| !text.is_empty()).map(path));
                found.extend(paths_of(value));
            }
        }
        _ => {}
    }
    found
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// The files of each repository, and what they were called before.
fn all(names: &[&str]) -> BTreeSet<String> {
    ["web", "api"].iter().flat_map(|repo| names.iter().map(move |name| format!("{repo}/src/{name}"))).collect()
}

#[test]
fn a_path_that_a_tool_gives_for_a_composite_is_taken_by_every_other() {
    let server = server();
    let ask = |tool: &str, asked: Value| server.ask("ada", tool, &asked);
    let search = |more: Value| {
        let mut asked = json!({"query_text": "heron", "repository_alias": "full", "min_score": 0, "limit": 50});
        asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        ask("search_code", asked)
    };
    let today = all(&["a.js", "b.js", "copy.js", "new.js"]);
    let ever = all(&["a.js", "b.js", "copy.js", "new.js", "old.js", "gone.js"]);

    // What each tool says.
    for more in [
        json!({"search_mode": "semantic"}),
        json!({"search_mode": "fts"}),
        json!({"search_mode": "fts", "snippet_lines": 0}),
        json!({"search_mode": "fts", "regex": true, "query_text": "Heron(web|api)"}),
        json!({"search_mode": "hybrid"}),
        json!({"search_mode": "fts", "at_commit": "HEAD"}),
    ] {
        let answer = search(more.clone());
        assert!(paths_of(&answer).is_subset(&today), "{more}: {answer}");
        let repos: BTreeSet<&str> = answer["results"]["results"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|hit| {
                let text = |name: &str| hit[name].as_str().expect("a text");
                assert_eq!(hit["repository_alias"], "full", "{hit}");
                assert!(text("file_path").starts_with(&format!("{}/", text("source_repo"))), "{hit}");
                text("source_repo")
            })
            .collect();
        assert_eq!(repos.len(), 2, "{more}: {answer}");
    }
    let lines = search(json!({"search_mode": "fts"}));
    assert_eq!(paths_of(&lines), today);
    let past = search(json!({
        "search_mode": "fts", "time_range_all": true, "include_removed": true, "show_evolution": true,
    }));
    assert_eq!(paths_of(&past), ever, "{past}");
    let diffs = search(json!({"search_mode": "fts", "chunk_type": "commit_diff"}));
    assert!(paths_of(&diffs).is_superset(&all(&["a.js", "gone.js"])), "{diffs}");
    let explained = ask("explain_lines", json!({"repo": "full", "file": "api/src/new.js", "lines": "2"}));
    assert_eq!(paths_of(&explained), set(&["api/src/new.js", "api/src/old.js"]), "{explained}");
    let related = ask("find_related", json!({"repo": "full", "file": "web/src/a.js", "line": 2}));
    let found = paths_of(&related);
    assert!(found.contains("web/src/copy.js") && found.iter().all(|path| path.starts_with("web/")), "{related}");
    let together = ask("co_changed", json!({"repo": "full", "files": ["web/src/a.js", "web/src/b.js"]}));
    assert!(paths_of(&together).is_superset(&set(&["web/src/a.js", "web/src/b.js", "web/src/copy.js"])), "{together}");
    let tried = ask("was_tried", json!({"repo": "full", "text": "dive heron wing flap"}));
    assert_eq!(paths_of(&tried), all(&["gone.js"]), "{tried}");
    let touched = ask("commitmux_touches", json!({"repos": ["full"], "path_glob": "src/"}));
    assert_eq!(paths_of(&touched), all(&["a.js", "b.js", "copy.js", "new.js", "old.js", "gone.js"]), "{touched}");
    let commits = ask("commitmux_search", json!({"repos": ["full"], "query": "herons"}));
    assert_eq!(paths_of(&commits), paths_of(&touched), "{commits}");
    for answer in [&explained, &related, &together, &tried] {
        assert_eq!(answer["repo"], "full", "{answer}");
    }

    // What a commit is called there.
    for row in touched.as_array().into_iter().chain(commits.as_array()).flatten() {
        let commit = ask("commitmux_get_commit", json!({"repo": row["repo"], "sha": row["sha"]}));
        assert_eq!((&commit["repo"], &commit["sha"]), (&json!("full"), &row["sha"]));
        assert!(paths_of(&commit).is_subset(&ever), "{commit}");
        let patch = ask("commitmux_get_patch", json!({"repo": row["repo"], "sha": row["sha"]}));
        assert_eq!((&patch["repo"], &patch["sha"]), (&json!("full"), &row["sha"]));
    }

    // What every tool takes.
    for path in &today {
        let read = ask("get_file_content", json!({"repository_alias": "full", "file_path": path}));
        assert_eq!(read["metadata"]["path"], **path);
        let folder = path.rsplit_once('/').expect("it is in a folder").0;
        for tool in ["list_files", "browse_directory"] {
            let listed = ask(tool, json!({"repository_alias": "full", "path": folder}));
            assert!(paths_of(&listed).contains(path), "{tool}: {listed}");
        }
        for mode in ["semantic", "fts", "hybrid"] {
            let only = search(json!({"search_mode": mode, "path_filter": path}));
            assert_eq!(paths_of(&only), set(&[path]), "{mode}: {only}");
            let others = search(json!({"search_mode": mode, "exclude_path": path}));
            assert!(!paths_of(&others).contains(path) && !paths_of(&others).is_empty(), "{mode}: {others}");
        }
        let diff = search(json!({"search_mode": "fts", "chunk_type": "commit_diff", "path_filter": path}));
        assert!(paths_of(&diff).is_subset(&set(&[path])), "{diff}");
        let why = ask("explain_lines", json!({"repo": "full", "file": path, "lines": "1-2"}));
        assert_eq!(why["file"], **path);
        let like = ask("find_related", json!({"repo": "full", "file": path, "line": 2}));
        assert_eq!(like["file"], **path);
        let together = ask("co_changed", json!({"repo": "full", "files": [path]}));
        assert_eq!(together["files"], json!([path]));
    }
    for path in &ever {
        let touched = ask("commitmux_touches", json!({"repos": ["full"], "path_glob": path}));
        assert!(!touched.as_array().expect("a list").is_empty(), "{path}");
        assert!(touched.as_array().expect("a list").iter().all(|row| row["path"] == **path), "{touched}");
        let commits = ask("commitmux_search", json!({"repos": ["full"], "query": "herons", "paths": [path]}));
        assert_eq!(paths_of(&commits), set(&[path]), "{commits}");
    }
}

#[test]
fn a_path_filter_of_a_composite_is_about_whole_paths() {
    let server = server();
    let search = |glob: &str| {
        let asked =
            json!({"query_text": "heron", "repository_alias": "full", "search_mode": "fts", "path_filter": glob});
        server.ask("ada", "search_code", &asked)["results"].clone()
    };
    for (glob, expected) in [("web/*", "web"), ("api", "api"), ("*/src/*", ""), ("**/a.js", "")] {
        let found = paths_of(&search(glob));
        let of = |repo: &str| found.iter().any(|path| path.starts_with(repo));
        assert_eq!((of("web/"), of("api/")), (expected != "api", expected != "web"), "{glob}");
    }
    // What fits nothing is no silence.
    let none = search("src/*");
    let warning = none["warning"].as_str().unwrap_or_default();
    assert_eq!(none["total_results"], 0);
    assert!(warning.contains("`src/*` fits no file") && warning.contains("web/, api/"), "{none}");
}

#[test]
fn without_its_name_the_repositories_of_a_composite_stand_by_themselves() {
    let server = server();
    let answer = server.ask("ada", "search_code", &json!({"query_text": "heron", "search_mode": "fts", "limit": 50}));
    for hit in answer["results"]["results"].as_array().expect("a list") {
        assert_eq!(hit["repository_alias"], hit["source_repo"]);
        let asked = json!({"repository_alias": hit["repository_alias"], "file_path": hit["file_path"]});
        assert_eq!(server.ask("ada", "get_file_content", &asked)["metadata"]["path"], hit["file_path"]);
    }
    let touched = server.ask("ada", "commitmux_touches", &json!({"path_glob": "src/a.js"}));
    for row in touched.as_array().expect("a list") {
        let asked = json!({"repo": row["repo"], "file": row["path"], "lines": "1"});
        assert_eq!(server.ask("ada", "explain_lines", &asked)["file"], row["path"]);
    }
}

#[test]
fn what_a_composite_cannot_answer_says_what_to_do() {
    let server = server();
    let refused = |tool: &str, asked: Value| server.refused("ada", tool, &asked);
    let both = refused("co_changed", json!({"repo": "full", "files": ["web/src/a.js", "api/src/a.js"]}));
    assert!(both.contains("two repositories, web and api"), "{both}");
    for (tool, asked) in [
        ("explain_lines", json!({"repo": "full", "file": "src/a.js", "lines": "1"})),
        ("find_related", json!({"repo": "full", "file": "src/a.js", "line": 1})),
        ("co_changed", json!({"repo": "full", "files": ["src/a.js"]})),
    ] {
        let refused = refused(tool, asked);
        assert!(refused.contains("web/, api/") || refused.contains("api/, web/"), "{tool}: {refused}");
    }
    let root = refused("explain_lines", json!({"repo": "full", "file": "."}));
    assert!(root.contains("names no file"), "{root}");
    for tool in ["commitmux_get_commit", "commitmux_get_patch"] {
        let missing = refused(tool, json!({"repo": "full", "sha": "0123456789"}));
        assert!(missing.contains("full:0123456789 not found"), "{missing}");
        let several = refused(tool, json!({"repo": "full", "sha": "HEAD"}));
        assert!(several.contains("of web") && several.contains("of api"), "{several}");
    }
}
