//! The `commitmux_*` tools over `lore serve`, as their document describes them.

use std::{fmt::Write as _, path::Path};

use expect_test::{Expect, expect};
use lore_testkit::Repo;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    growing,
    place::Place,
    stdio::{Answer, Server},
};

/// A small repository `shop` with commits of every kind, a second one `other`, and a server over both.
struct Shop {
    place: Place,
    repo: Repo,
    server: Server,
    /// Full names with what they are called here.
    names: Vec<(String, &'static str)>,
}

impl Shop {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        repo.write("src/limit.rs", "pub struct Limit;\n").write("src/lib.rs", "pub mod limit;\n");
        let add = repo.commit(
            "Add a rate limiter\n\nFixes #482. One bucket for each caller.\n\nCo-authored-by: Jo <jo@example.com>\n",
        );
        repo.git(&["mv", "src/limit.rs", "src/bucket.rs"]);
        let rename = repo.commit("Call it what it is");
        repo.write("docs/guide.md", "How to use the limiter\n");
        let document = repo.commit("Document the bucket");
        let other = place.repo("other");
        other.write("README.md", "Nothing to see\n");
        let else_ = other.commit("Begin something else");
        place.add(repo.path(), &[]);
        place.add(other.path(), &[]);
        let names = vec![(add, "«add»"), (rename, "«rename»"), (document, "«document»"), (else_, "«else»")];
        let server = place.serve(&["--no-refresh"]);
        Self { place, repo, server, names }
    }

    fn sha(&self, name: &str) -> &str {
        self.names.iter().find(|(_, known)| *known == name).map(|(sha, _)| sha.as_str()).expect("a known name")
    }

    /// The text of an answer, and below it what `_meta` says beside freshness and provenance.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
    fn check(&mut self, tool: &str, arguments: Value, expected: &Expect) -> Answer {
        let answer = self.server.call(tool, &arguments);
        let mut shown =
            if answer.is_error { format!("error: {}\n{}", answer.text, answer.more) } else { pretty(&answer.value) };
        for (key, value) in answer.meta.as_object().expect("every answer has `_meta`") {
            if !["lore/freshness", "lore/content", "lore/error"].contains(&key.as_str()) {
                write!(shown, "\n{key}: {value}").expect("writing to a string cannot fail");
            }
        }
        for (sha, name) in &self.names {
            shown = shown.replace(sha, name);
        }
        expected.assert_eq(&(shown + "\n"));
        assert_eq!(answer.is_error, answer.meta["lore/error"].is_object(), "{:?}", answer.meta);
        assert!(answer.is_error || answer.meta["lore/freshness"].is_object(), "{:?}", answer.meta);
        answer
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value can be written")
}

/// One field of every row of a list.
fn column(rows: &Value, field: &str) -> Vec<String> {
    let rows = rows.as_array().unwrap_or_else(|| panic!("not a list: {rows}"));
    rows.iter().map(|row| row[field].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_tools_have_the_schemas_of_the_document() {
    let listed = Place::new().serve(&["--no-refresh"]).request("tools/list", &json!({}));
    let mut shown = String::new();
    for tool in listed["tools"].as_array().expect("tools are listed") {
        let schema = &tool["inputSchema"];
        writeln!(shown, "{} required {}", tool["name"], schema["required"]).expect("writing to a string cannot fail");
        for (name, property) in schema["properties"].as_object().expect("a tool has properties") {
            let items = property.get("items").map_or_else(String::new, |items| format!(" of {}", items["type"]));
            writeln!(shown, "  {name}: {}{items}, {}", property["type"], property["description"])
                .expect("writing to a string cannot fail");
        }
        assert_eq!(schema["type"], "object");
        // What it gave once it does not give again.
        let delivers = tool["name"] == "check_lazygit_messages";
        assert_eq!(tool["annotations"]["readOnlyHint"], !delivers, "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
    }
    expect![[r#"
        "commitmux_search" required ["query"]
          query: "string", "FTS5 query string: words (all must occur), \"a phrase\", prefix*, OR, NOT"
          since: "integer", "Unix timestamp lower bound on author date"
          repos: "array" of "string", "Filter by repo names"
          paths: "array" of "string", "Filter by path substrings"
          limit: "integer", "Max results (default 20, at most 500)"
        "commitmux_touches" required ["path_glob"]
          path_glob: "string", "Substring to match against file paths"
          since: "integer", "Unix timestamp lower bound on author date"
          repos: "array" of "string", "Filter by repo names"
          limit: "integer", "Max results (default 50, at most 500)"
        "commitmux_get_commit" required ["repo","sha"]
          repo: "string", "Repo name as registered"
          sha: "string", "Commit SHA or its first digits (at least 4), tag, branch or HEAD~5"
        "commitmux_get_patch" required ["repo","sha"]
          repo: "string", "Repo name"
          sha: "string", "Commit SHA"
          max_bytes: "integer", "Truncate patch text to this many bytes"
        "commitmux_list_repos" required null
        "cortex_search" required ["query"]
          query: "string", "A question, words, an identifier or a path"
          limit: "integer", "1-100, default 15"
          tags: "array" of "string", "Only results with ALL these tags: a language (go), code or documentation, a folder, a document's own"
          chunk_types: "array" of "string", "Only these types: documentation (guides, READMEs), symbols (outline of a file), definitions (functions, types), data (constants, configs). Empty: all"
          full: "boolean", "Whole texts (default false)"
          max_tokens: "integer", "Budget of the whole answer"
          repo: "string", "Instead of the project"
          path: "string", "Only files whose path matches: a glob (src/**/*.rs) or a part of the path"
        "explain_lines" required ["file"]
          file: "string", "Path from the repository's root"
          lines: "string", "10 or 10-20, as on disk; without: the whole file, no hunks"
          repo: "string", "Instead of the project"
          max_tokens: "integer", "Default 1500"
        "co_changed" required ["files"]
          files: "array" of "string", "Paths from the repository's root"
          repo: "string", "Instead of the project"
          limit: "integer", "1-200, default 10"
        "find_related" required ["file","line"]
          file: "string", "Path from the repository's root"
          line: "integer", "The line, from 1"
          repo: "string", "Instead of the project"
          limit: "integer", "1-100, default 8"
        "was_tried" required ["text"]
          text: "string", "Words or code"
          repo: "string", "Instead of the project"
          limit: "integer", "1-100, default 5"
          max_tokens: "integer", "Default 1500"
        "check_lazygit_messages" required null
    "#]]
    .assert_eq(&shown);
}

#[test]
fn search_answers_as_the_document_says() {
    Shop::new().check("commitmux_search", json!({"query": "rate limiter"}), &expect![[r#"
        [
          {
            "repo": "shop",
            "sha": "«add»",
            "subject": "Add a rate limiter",
            "author": "Ada Author",
            "date": 1700000000,
            "matched_paths": [
              "src/lib.rs",
              "src/limit.rs"
            ],
            "patch_excerpt": "diff --git a/src/lib.rs b/src/lib.rs\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..8f27b7df2aba3df82d0de9d0cb6de54f703ffafa\n--- /dev/null\n+++ b/src/lib.rs\n@@ -0,0 +1 @@\n+pub mod limit;\ndiff --git a/src/limit.rs b/src/limit.rs\nnew file mode 100644\nindex 000000000000000000000000"
          }
        ]
    "#]]);
}

#[test]
fn touches_answers_as_the_document_says() {
    Shop::new().check(
        "commitmux_touches",
        json!({"path_glob": "src/"}),
        &expect![[r#"
        [
          {
            "repo": "shop",
            "sha": "«rename»",
            "subject": "Call it what it is",
            "date": 1700000060,
            "path": "src/bucket.rs",
            "status": "R"
          },
          {
            "repo": "shop",
            "sha": "«add»",
            "subject": "Add a rate limiter",
            "date": 1700000000,
            "path": "src/lib.rs",
            "status": "A"
          },
          {
            "repo": "shop",
            "sha": "«add»",
            "subject": "Add a rate limiter",
            "date": 1700000000,
            "path": "src/limit.rs",
            "status": "A"
          }
        ]
    "#]],
    );
}

#[test]
fn get_commit_answers_as_the_document_says() {
    let mut shop = Shop::new();
    let sha = shop.sha("«add»").to_owned();
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": sha}),
        &expect![[r#"
        {
          "repo": "shop",
          "sha": "«add»",
          "subject": "Add a rate limiter",
          "body": "Fixes #482. One bucket for each caller.\n\nCo-authored-by: Jo <jo@example.com>",
          "author": "Ada Author",
          "date": 1700000000,
          "changed_files": [
            {
              "path": "src/lib.rs",
              "status": "A",
              "old_path": null
            },
            {
              "path": "src/limit.rs",
              "status": "A",
              "old_path": null
            }
          ]
        }
    "#]],
    );
    let prefix = shop.sha("«rename»")[..7].to_uppercase();
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": prefix}),
        &expect![[r#"
        {
          "repo": "shop",
          "sha": "«rename»",
          "subject": "Call it what it is",
          "body": null,
          "author": "Ada Author",
          "date": 1700000060,
          "changed_files": [
            {
              "path": "src/bucket.rs",
              "status": "R",
              "old_path": "src/limit.rs"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn get_patch_answers_as_the_document_says() {
    let mut shop = Shop::new();
    let sha = shop.sha("«rename»").to_owned();
    shop.check("commitmux_get_patch", json!({"repo": "shop", "sha": sha}), &expect![[r#"
        {
          "repo": "shop",
          "sha": "«rename»",
          "patch_text": "diff --git a/src/limit.rs b/src/bucket.rs\nsimilarity index 100%\nrename from src/limit.rs\nrename to src/bucket.rs\n"
        }
    "#]]);
    shop.check(
        "commitmux_get_patch",
        json!({"repo": "shop", "sha": sha, "max_bytes": 20}),
        &expect![[r#"
        {
          "repo": "shop",
          "sha": "«rename»",
          "patch_text": "diff --git a/src/lim"
        }
        lore/truncated_from_bytes: 113
    "#]],
    );
    shop.check(
        "commitmux_get_patch",
        json!({"repo": "shop", "sha": sha, "max_bytes": -1}),
        &expect![[r#"
            error: `max_bytes` is negative
            hint: leave it out for the whole patch, or give the number of bytes to see
        "#]],
    );
}

#[test]
fn what_is_not_there_is_told_in_the_words_of_the_document() {
    let mut shop = Shop::new();
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": "abc123"}),
        &expect![[r#"
            error: Commit shop:abc123 not found
            hint: no commit of shop begins with these digits: a search or touches result names it, and `lore status` shows how fresh the index is
        "#]],
    );
    shop.check(
        "commitmux_get_patch",
        json!({"repo": "shop", "sha": "abc123"}),
        &expect![[r#"
            error: Patch shop:abc123 not found
            hint: no commit of shop begins with these digits: a search or touches result names it, and `lore status` shows how fresh the index is
        "#]],
    );
    // A commit of another repository is not in this one.
    let sha = shop.sha("«else»").to_owned();
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": sha}),
        &expect![[r#"
            error: Commit shop:«else» not found
            hint: no commit of shop begins with these digits: a search or touches result names it, and `lore status` shows how fresh the index is
        "#]],
    );
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": "abc"}),
        &expect![[r#"
            error: `abc` is too short for a commit SHA: give at least 4 digits
            hint: take the `sha` of a search or touches result
        "#]],
    );
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": "nosuch"}),
        &expect![[r#"
            error: Commit shop:nosuch not found
            hint: shop has no commit, tag or branch of that name: a search or touches result has the `sha`
        "#]],
    );
    std::fs::rename(shop.repo.path(), shop.place.path("elsewhere")).expect("it can be moved");
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop", "sha": "HEAD"}),
        &expect![[r#"
            error: Commit shop:HEAD not found
            hint: shop cannot be asked for names now: give the `sha` of a search or touches result
        "#]],
    );
}

#[test]
fn a_commit_is_found_by_the_names_that_git_has_for_it() {
    let mut shop = Shop::new();
    let (rename, document) = (shop.sha("«rename»").to_owned(), shop.sha("«document»").to_owned());
    // Of digits, a tag is meant where one is called so, as git takes it, unless they are all that a commit has.
    shop.repo.git(&["tag", "beef", "HEAD~2"]);
    shop.repo.git(&["tag", &document[..6], "HEAD~2"]);
    shop.repo.git(&["update-ref", &format!("refs/tags/{rename}"), "HEAD"]);
    for (name, expected) in [
        ("main", "«document»"),
        ("HEAD~1", "«rename»"),
        ("beef", "«add»"),
        (&document[..6], "«add»"),
        (&document[..7], "«document»"),
        (&rename, "«rename»"),
    ] {
        for tool in ["commitmux_get_commit", "commitmux_get_patch"] {
            let answer = shop.server.call(tool, &json!({"repo": "shop", "sha": name}));
            assert_eq!(answer.value["sha"], shop.sha(expected), "{tool} {name}: {}", answer.text);
        }
    }
    // What was made since is known to git alone, and hides nothing that is called alike.
    let new = shop.repo.write("new.txt", "new\n").commit("Not indexed yet");
    shop.repo.git(&["tag", &document[..8], "HEAD"]);
    let answer = shop.server.call("commitmux_get_commit", &json!({"repo": "shop", "sha": document[..8]}));
    assert_eq!(answer.value["sha"], document, "{}", answer.text);
    let answer = shop.server.call("commitmux_get_commit", &json!({"repo": "shop", "sha": "HEAD"}));
    assert!(answer.is_error && answer.text == "Commit shop:HEAD not found", "{}", answer.text);
    assert!(answer.more.contains(&format!("`HEAD` is {new}, which is not indexed")), "{}", answer.more);
}

#[test]
fn an_unknown_repository_is_answered_with_the_registered_ones() {
    let mut shop = Shop::new();
    for (tool, arguments) in [
        ("commitmux_get_commit", json!({"repo": "shp", "sha": "abc123"})),
        ("commitmux_get_patch", json!({"repo": "shp", "sha": "abc123"})),
        ("commitmux_search", json!({"query": "x", "repos": ["shop", "shp"]})),
        ("commitmux_touches", json!({"path_glob": "x", "repos": "shp"})),
    ] {
        let answer = shop.server.call(tool, &arguments);
        let expected = "Repository shp not found. Registered repositories: other, shop";
        assert_eq!((answer.is_error, answer.text.as_str()), (true, expected), "{tool}");
    }
    let mut empty = Place::new().serve(&["--no-refresh"]);
    let answer = empty.call("commitmux_get_commit", &json!({"repo": "x", "sha": "abc123"}));
    assert_eq!(answer.text, "Repository x not found: none is registered");
    assert_eq!(empty.call("commitmux_search", &json!({"query": "x"})).value, json!([]));
}

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let place = Place::new();
    let repo = place.repo("r");
    // Of so many commits some begin alike.
    growing::grow(&repo, 0..500);
    place.add(repo.path(), &[]);
    let all = place.sql("SELECT sha AS one FROM commits ORDER BY sha");
    let twins = all.windows(2).find(|pair| pair[0][..4] == pair[1][..4]).expect("two commits begin alike");
    let mut server = place.serve(&["--no-refresh"]);
    let prefix = &twins[0][..4];
    let answer = server.call("commitmux_get_commit", &json!({"repo": "r", "sha": prefix}));
    assert_eq!(answer.text, format!("The prefix {prefix} is ambiguous in r. Candidates: {}, {}", twins[0], twins[1]));
    assert_eq!(answer.meta["lore/error"]["code"], "ambiguous_commit");
}

#[test]
fn lists_are_bounded_and_say_when_they_were_cut() {
    let place = Place::new();
    let repo = place.repo("r");
    growing::grow(&repo, 0..60);
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let mut check = |limit: Value, (found, touched): (usize, usize), clamped: Value| {
        let all = [("commitmux_search", "query", "growth", found), ("commitmux_touches", "path_glob", "part", touched)];
        for (tool, field, text, count) in all {
            let answer = server.call(tool, &json!({field: text, "limit": limit}));
            assert_eq!(answer.value.as_array().map(Vec::len), Some(count), "{tool} {limit}");
            assert_eq!(answer.meta["lore/more"], if count < 60 { json!(true) } else { json!(null) }, "{tool} {limit}");
            assert_eq!(answer.meta["lore/limit_clamped"], clamped, "{tool} {limit}");
            assert_eq!(answer.more.contains("more commits match"), count < 60, "{tool} {limit}: {}", answer.more);
            let said = format!("note: limit is 1 to 500: {clamped} was taken");
            assert_eq!(answer.more.contains(&said), !clamped.is_null(), "{tool} {limit}: {}", answer.more);
        }
    };
    check(json!(null), (20, 50), json!(null));
    check(json!(7), (7, 7), json!(null));
    check(json!("7"), (7, 7), json!(null));
    check(json!(500), (60, 60), json!(null));
    check(json!(501), (60, 60), json!(500));
    check(json!(i64::MAX), (60, 60), json!(500));
    check(json!(0), (1, 1), json!(1));
    check(json!(-3), (1, 1), json!(1));
}

#[test]
fn a_glob_in_place_of_a_part_of_a_path_is_answered_with_what_to_pass() {
    let mut shop = Shop::new();
    for (path, parts) in [
        ("src/**/*.rs", "`src/` or `.rs`"),
        ("*.rs", "`.rs`"),
        ("docs/g?ide.md", "`docs/g` or `ide.md`"),
        ("src/{bucket,limit}.rs", "`src/`, `bucket`, `limit` or `.rs`"),
        ("src/[bl]*", "`src/`"),
    ] {
        let said =
            format!("note: `{path}` matched no path: a path is matched by a part of it, not by a glob; pass {parts}");
        let answer = shop.server.call("commitmux_touches", &json!({"path_glob": path}));
        assert_eq!((&answer.value, answer.more.as_str()), (&json!([]), said.as_str()));
        let answer = shop.server.call("commitmux_search", &json!({"query": "bucket OR limiter", "paths": [path]}));
        assert_eq!((&answer.value, answer.more.as_str()), (&json!([]), said.as_str()));
    }
    // Beside one that fits it is named as well.
    let answer =
        shop.server.call("commitmux_search", &json!({"query": "bucket OR limiter", "paths": ["docs/", "src/*.rs"]}));
    assert_eq!(column(&answer.value, "subject"), ["Document the bucket"]);
    assert!(answer.more.starts_with("note: `src/*.rs` matched no path"), "{}", answer.more);
    // A star may be the letter of a name, and what has none of these signs is no glob.
    shop.repo.write("odd/a*b[1].txt", "stars\n").commit("Stars in a name");
    shop.place.sync();
    for path in ["a*b", "b[1]", "nowhere"] {
        let answer = shop.server.call("commitmux_touches", &json!({"path_glob": path}));
        assert_eq!(answer.value.as_array().map(Vec::len), Some(usize::from(path != "nowhere")), "{path}");
        let nothing = "no commit changes a path that contains `nowhere` in the history of other, shop";
        let said = if path == "nowhere" { vec![nothing] } else { Vec::new() };
        assert_eq!(answer.notes(), said, "{path}");
    }
    let output = shop.place.lore.run(&["touches", "src/*.rs", "--no-sync"]);
    assert!(output.stderr.contains("pass `src/` or `.rs`"), "{}", output.stderr);
    let output = shop.place.lore.run(&["log", "bucket", "--path", "src/*.rs", "--no-sync"]);
    assert!(output.stderr.contains("pass `src/` or `.rs`"), "{}", output.stderr);
}

#[test]
fn the_registered_repositories_are_listed() {
    let mut shop = Shop::new();
    let listed = shop.server.call("commitmux_list_repos", &json!({}));
    let mut rows = listed.value.clone();
    for row in rows.as_array_mut().expect("a list") {
        assert!(row["last_synced_at"].as_i64().is_some_and(|at| at > 1_700_000_000), "{row}");
        row["last_synced_at"] = json!("«then»");
        let place = row["path"].as_str().expect("a path").to_owned();
        row["path"] = json!(place.rsplit('/').next());
    }
    expect![[r#"
        [
          {
            "name": "other",
            "path": "other",
            "url": null,
            "default_branch": "main",
            "branches": [
              "main"
            ],
            "commit_count": 1,
            "last_synced_at": "«then»",
            "state": "current"
          },
          {
            "name": "shop",
            "path": "shop",
            "url": null,
            "default_branch": "main",
            "branches": [
              "main"
            ],
            "commit_count": 3,
            "last_synced_at": "«then»",
            "state": "current"
          }
        ]"#]]
    .assert_eq(&pretty(&rows));
    // Each name is what the other tools take, and the state is what it is now.
    for row in listed.value.as_array().expect("a list") {
        let asked = json!({"path_glob": "src", "repos": [row["name"]]});
        assert!(!shop.server.call("commitmux_touches", &asked).is_error, "{row}");
    }
    let state = |shop: &mut Shop, name: &str| {
        let listed = shop.server.call("commitmux_list_repos", &json!({})).value;
        let row = listed.as_array().expect("a list").iter().find(|row| row["name"] == name).cloned();
        row.unwrap_or_else(|| panic!("{name}: {listed}"))
    };
    shop.repo.write("new.txt", "new\n").commit("Not indexed yet");
    assert_eq!(state(&mut shop, "shop")["state"], "stale");
    shop.place.sync();
    shop.repo.git(&["branch", "next"]);
    shop.place.lore.ok(&["remove", "shop"]);
    shop.place.add(shop.repo.path(), &["--all-branches"]);
    let row = state(&mut shop, "shop");
    assert_eq!((&row["state"], &row["branches"]), (&json!("current"), &json!(["main", "next"])));
    std::fs::rename(shop.repo.path(), shop.place.path("elsewhere")).expect("it can be moved");
    let row = state(&mut shop, "shop");
    assert_eq!((&row["state"], &row["commit_count"]), (&json!("missing"), &json!(4)));
    let nothing = Place::new().serve(&["--no-refresh"]).call("commitmux_list_repos", &json!({}));
    assert_eq!(nothing.value, json!([]));
    assert!(nothing.more.contains("no repository is registered: `lore add PATH`"), "{}", nothing.more);
}

#[test]
fn a_repository_by_url_is_listed_with_its_url_and_without_a_commit_as_never_synced() {
    let shop = Shop::new();
    let place = Place::new();
    let empty = place.repo("empty");
    let url = format!("file://{}", shop.repo.path().display());
    place.add(&url, &["--name", "clone"]);
    place.lore.ok(&["add", empty.path().to_str().expect("temporary paths are UTF-8"), "--no-sync"]);
    let rows = place.serve(&["--no-refresh"]).call("commitmux_list_repos", &json!({})).value;
    assert_eq!(
        (&rows[0]["name"], &rows[0]["url"], &rows[0]["state"]),
        (&json!("clone"), &json!(url), &json!("current"))
    );
    assert_eq!((&rows[1]["name"], &rows[1]["state"]), (&json!("empty"), &json!("never_synced")));
    assert_eq!((&rows[1]["commit_count"], &rows[1]["last_synced_at"]), (&json!(0), &Value::Null));
}

#[test]
fn arguments_are_read_leniently_and_wrong_ones_answered_with_the_right_ones() {
    let mut shop = Shop::new();
    let subjects = |answer: &Answer| column(&answer.value, "subject");
    let lists = [json!(["shop", "other"]), json!("shop,other"), json!(" shop , other "), json!(r#"["shop","other"]"#)];
    for repos in lists {
        let answer = shop.server.call("commitmux_search", &json!({"query": "fixes OR something", "repos": repos}));
        assert_eq!(subjects(&answer), ["Begin something else", "Add a rate limiter"], "{repos}");
    }
    let answer =
        shop.server.call("commitmux_search", &json!({"query": "bucket", "paths": "docs,nowhere", "since": "1"}));
    assert_eq!(subjects(&answer), ["Document the bucket"]);
    shop.check(
        "commitmux_search",
        json!({"query": "x", "repo": "shop"}),
        &expect![[r#"
            error: `commitmux_search` has no argument `repo`
            hint: did you mean `repos`? It takes `query`, `since`, `repos`, `paths`, `limit`
        "#]],
    );
    shop.check(
        "commitmux_touches",
        json!({"path": "x"}),
        &expect![[r#"
            error: `commitmux_touches` has no argument `path`
            hint: did you mean `path_glob`? It takes `path_glob`, `since`, `repos`, `limit`
        "#]],
    );
    shop.check(
        "commitmux_touches",
        json!({}),
        &expect![[r#"
            error: `path_glob` is missing
            hint: `commitmux_touches` needs `path_glob` (string): Substring to match against file paths
        "#]],
    );
    shop.check(
        "commitmux_get_commit",
        json!({"repo": "shop"}),
        &expect![[r#"
            error: `sha` is missing
            hint: `commitmux_get_commit` needs `sha` (string): Commit SHA or its first digits (at least 4), tag, branch or HEAD~5
        "#]],
    );
    shop.check(
        "commitmux_search",
        json!({"query": "x", "limit": "many"}),
        &expect![[r#"
            error: `limit` cannot be "many"
            hint: `limit` (integer): Max results (default 20, at most 500)
        "#]],
    );
    shop.check(
        "commitmux_search",
        json!({"query": " "}),
        &expect![[r#"
            error: `query` is empty
            hint: say in `query` what to look for
        "#]],
    );
}

#[test]
fn max_bytes_cuts_at_a_character_boundary() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "ä€😀\n");
    let sha = repo.commit("Add letters of two, three and four bytes");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let mut patch =
        |max: Value| server.call("commitmux_get_patch", &json!({"repo": "r", "sha": sha, "max_bytes": max}));
    let whole = patch(json!(null));
    let text = whole.value["patch_text"].as_str().expect("a patch is text").to_owned();
    assert!(whole.meta["lore/truncated_from_bytes"].is_null());
    for max in (0..3).chain(text.len() - 12..text.len() + 2) {
        let answer = patch(json!(max));
        assert_eq!(answer.value["patch_text"], text[..text.floor_char_boundary(max)], "{max}");
        let cut = if max < text.len() { json!(text.len()) } else { json!(null) };
        assert_eq!(answer.meta["lore/truncated_from_bytes"], cut, "{max}");
    }
}

#[test]
fn since_is_a_lower_bound_on_the_author_date() {
    let mut shop = Shop::new();
    let date = shop.server.call("commitmux_search", &json!({"query": "document"})).value[0]["date"].clone();
    let date = date.as_i64().expect("a date is an integer");
    for (since, found) in [(date, 1), (date + 1, 0), (0, 1), (i64::MIN, 1)] {
        let all = [("commitmux_search", "query", "document"), ("commitmux_touches", "path_glob", "guide.md")];
        for (tool, field, text) in all {
            let answer = shop.server.call(tool, &json!({field: text, "since": since}));
            assert_eq!(answer.value.as_array().map(Vec::len), Some(found), "{tool} {since}");
        }
    }
}

#[test]
fn percent_and_underscore_are_literal_in_paths() {
    let place = Place::new();
    let repo = place.repo("r");
    for path in ["a_b.txt", "axb.txt", "100%.txt", "100x.txt", "back\\slash.txt", "Ünï.txt"] {
        repo.write(path, path);
    }
    repo.commit("Add files");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    for (text, found) in [
        ("a_b", vec!["a_b.txt"]),
        ("0%", vec!["100%.txt"]),
        ("k\\s", vec!["back\\slash.txt"]),
        ("%", vec!["100%.txt"]),
        ("Ünï", vec!["Ünï.txt"]),
    ] {
        let touches = server.call("commitmux_touches", &json!({"path_glob": text}));
        assert_eq!(column(&touches.value, "path"), found, "{text}");
        let search = server.call("commitmux_search", &json!({"query": "files", "paths": [text]}));
        assert_eq!(search.value[0]["matched_paths"], json!(found), "{text}");
    }
}

#[test]
fn subject_beats_body_beats_diff_and_the_newest_comes_first_on_ties() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.commit("The zebra came");
    repo.commit("Same words\n\nzebra");
    repo.commit("Same words\n\nzebra");
    repo.write("a.txt", "zebra\n");
    repo.commit("The diff alone");
    place.add(repo.path(), &[]);
    let found = place.serve(&["--no-refresh"]).call("commitmux_search", &json!({"query": "zebra"})).value;
    assert_eq!(column(&found, "subject"), ["The zebra came", "Same words", "Same words", "The diff alone"]);
    assert!(found[1]["date"].as_i64() > found[2]["date"].as_i64(), "{found}");
}

#[test]
fn touches_are_newest_first_with_one_row_for_each_file() {
    let mut shop = Shop::new();
    shop.repo.write("src/one.rs", "1").write("src/two.rs", "2");
    shop.repo.commit("Two at once");
    shop.place.sync();
    let found = shop.server.call("commitmux_touches", &json!({"path_glob": "src/"})).value;
    assert_eq!(column(&found, "path"), ["src/one.rs", "src/two.rs", "src/bucket.rs", "src/lib.rs", "src/limit.rs"]);
    assert_eq!(column(&found, "status"), ["A", "A", "R", "A", "A"]);
}

#[test]
fn matched_paths_are_those_that_matched_or_all_without_a_filter() {
    let mut shop = Shop::new();
    let mut paths = |paths: Value| -> Value {
        let answer = shop.server.call("commitmux_search", &json!({"query": "limiter fixes", "paths": paths}));
        answer.value[0]["matched_paths"].clone()
    };
    assert_eq!(paths(json!([])), json!(["src/lib.rs", "src/limit.rs"]));
    assert_eq!(paths(json!(["limit"])), json!(["src/limit.rs"]));
    assert_eq!(paths(json!(["limit", "lib"])), json!(["src/lib.rs", "src/limit.rs"]));
    assert_eq!(paths(json!(["docs"])), json!(null));
}

#[test]
fn a_repository_that_moved_on_is_named_stale_until_another_process_syncs_it() {
    let mut shop = Shop::new();
    let question = json!({"query": "novelty"});
    let fresh = |answer: &Answer| answer.meta["lore/freshness"]["stale"].clone();
    assert_eq!(fresh(&shop.server.call("commitmux_search", &question)), json!(null));
    shop.repo.commit("A novelty");
    let answer = shop.server.call("commitmux_search", &question);
    assert_eq!((&answer.value, fresh(&answer)), (&json!([]), json!(["shop"])));
    assert_eq!(answer.more, "note: index not current: shop (stale)");
    // The same server sees what another process has read.
    shop.place.sync();
    let answer = shop.server.call("commitmux_search", &question);
    assert_eq!((column(&answer.value, "subject"), fresh(&answer)), (vec!["A novelty".to_owned()], json!(null)));
    // A repository that is not asked is not mentioned.
    shop.repo.commit("Another");
    let answer = shop.server.call("commitmux_search", &json!({"query": "begin", "repos": ["other"]}));
    assert_eq!(fresh(&answer), json!(null));
}

#[test]
fn a_server_registers_and_indexes_its_project_by_itself_and_picks_up_new_commits() {
    let place = Place::new();
    let repo = place.repo("project");
    repo.commit("The first word");
    let mut server = place.serve(&["--project", &place.path("project")]);
    let found = |answer: &Answer| !answer.value[0].is_null();
    let answer = server.wait_for("commitmux_search", &json!({"query": "first"}), found);
    assert_eq!(answer.value[0]["repo"], "project");
    repo.commit("The second word");
    server.wait_for("commitmux_search", &json!({"query": "second"}), found);
    assert_eq!(place.status("project")["state"], "current");
    // Without refreshing it only reads.
    let mut still = place.serve(&["--project", &place.path("project"), "--no-refresh"]);
    assert!(server.end().status.success());
    repo.commit("The third word");
    assert_eq!(still.call("commitmux_search", &json!({"query": "third"})).value, json!([]));
}

#[test]
fn a_server_that_may_not_register_its_project_leaves_it_alone() {
    let place = Place::new();
    place.repo("project").commit("One");
    std::fs::write(place.lore.home().join("config.toml"), "register_project = false\n").expect("the home is writable");
    let mut server = place.serve(&["--project", &place.path("project")]);
    server.call("commitmux_search", &json!({"query": "one"}));
    assert!(server.end().status.success());
    assert_eq!(place.lore.json(&["repos", "--json"])["repos"], json!([]));
}

#[test]
fn a_server_outside_any_repository_answers() {
    let mut server = Place::new().serve(&[]);
    assert_eq!(server.call("commitmux_touches", &json!({"path_glob": "x"})).value, json!([]));
    let ended = server.end();
    assert!(ended.status.success() && ended.log.is_empty(), "{}", ended.log);
}

#[test]
fn a_server_ends_when_asked_to() {
    let place = Place::new();
    let ended = place.serve(&[]).end();
    assert!(ended.status.success(), "closed input: {ended:?}");
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let server = place.serve(&[]);
        let id = Pid::from_raw(server.process_id().try_into().expect("process ids are small"));
        kill(id, signal).expect("the server runs");
        let ended = server.ended();
        assert!(ended.status.success(), "{signal}: {ended:?}");
    }
}

#[test]
fn standard_output_carries_protocol_only() {
    let place = Place::new();
    let repo = place.repo("noisy");
    repo.commit("One");
    let requests = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"commitmux_search","arguments":{"query":"one"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"commitmux_search","arguments":{}}}"#,
        "not even JSON",
    ];
    let input = Path::new(&place.path("input")).to_owned();
    std::fs::write(&input, requests.join("\n")).expect("a file can be written");
    let mut command = place.lore.command(&["serve", "-vv", "--db", "/tmp/old", "--project", &place.path("noisy")]);
    let output = command.stdin(std::fs::File::open(&input).expect("it is there")).output().expect("the server starts");
    assert!(output.status.success() && !output.stderr.is_empty());
    let lines = String::from_utf8(output.stdout).expect("the protocol is UTF-8");
    let answers: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(answers.len(), requests.len(), "{lines}");
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"), "{lines}");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("lore import commitmux --db /tmp/old"), "{log}");
}

#[test]
fn invalid_utf8_is_replaced_and_said() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("latin.txt", b"caf\xe9\n");
    let latin = repo.commit("Add latin");
    repo.write("plain.txt", "plain\n");
    let plain = repo.commit("Add plain");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let mut check = |sha: &str, replaced: Value| {
        let answer = server.call("commitmux_get_patch", &json!({"repo": "r", "sha": sha}));
        assert_eq!(answer.meta["lore/replaced_invalid_utf8"], replaced);
        answer.text
    };
    assert!(check(&latin, json!(true)).contains("+caf\u{fffd}"));
    check(&plain, json!(null));
}

#[test]
fn invisible_characters_are_shown_escaped() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "if admin\u{202e} {\u{2066}\n");
    let sha = repo.commit("Trust\u{200b} me\u{202e} \u{1b}[31m");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let commit = server.call("commitmux_get_commit", &json!({"repo": "r", "sha": sha}));
    assert_eq!(commit.value["subject"], "Trust<U+200B> me<U+202E> <U+001B>[31m");
    assert_eq!(commit.meta["lore/escaped"], true);
    let patch = server.call("commitmux_get_patch", &json!({"repo": "r", "sha": sha}));
    assert!(patch.text.contains("+if admin<U+202E> {<U+2066>"), "{}", patch.text);
}

#[test]
fn a_patch_with_emoji_byte_order_marks_and_joiners_applies_as_it_is_given() {
    let place = Place::new();
    let repo = place.repo("r");
    let files = |more: &str| {
        [
            ("marked.cs", format!("\u{feff}using System;\n{more}")),
            ("emoji.md", format!("\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f} 1\u{fe0f}\u{20e3}\n{more}")),
            ("persian.txt", format!("\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}\n{more}")),
            ("malayalam.txt", format!("\u{d05}\u{d35}\u{d28}\u{d4d}\u{200d}\n{more}")),
            ("names.txt", format!("\u{845b}\u{e0100}\u{57ce}\n{more}")),
        ]
    };
    let mut commits = Vec::new();
    for more in ["", "more\n"] {
        for (path, text) in files(more) {
            repo.write(path, text);
        }
        commits.push(repo.commit("Say more"));
    }
    for (path, _) in files("") {
        repo.write(path, "plain\n");
    }
    commits.push(repo.commit("Say less"));
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let copy = place.repo("copy");
    copy.write("README.md", "empty\n").commit("Begin");
    for sha in &commits {
        let answer = server.call("commitmux_get_patch", &json!({"repo": "r", "sha": sha}));
        assert_eq!(answer.meta["lore/escaped"], json!(null), "{}", answer.text);
        std::fs::write(copy.path().join(".git/patch"), answer.value["patch_text"].as_str().expect("a patch is a text"))
            .expect("the patch is written");
        copy.git(&["apply", "--index", ".git/patch"]);
        for (path, _) in files("") {
            let object = format!("{sha}:{path}");
            assert_eq!(
                copy.git(&["hash-object", path]),
                repo.git(&["rev-parse", &object]),
                "{path} after {sha}: {}",
                answer.text
            );
        }
    }
}

#[test]
fn binary_and_oversized_patches_are_not_there_and_the_commit_is() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("image.bin", [0, 1, 2, 255].repeat(50));
    let binary = repo.commit("Add an image");
    repo.write("big.txt", "0123456789abcdef\n".repeat(70_000));
    let big = repo.commit("Add much");
    repo.write("image.bin", [0, 9]).write("text.txt", "text\n");
    let mixed = repo.commit("Change both");
    let empty = repo.commit("Change nothing");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let mut ask = |tool: &str, sha: &str| server.call(tool, &json!({"repo": "r", "sha": sha}));
    for (sha, reason) in [(binary, "binary"), (big, "1 MB")] {
        let answer = ask("commitmux_get_patch", &sha);
        assert_eq!((answer.is_error, answer.text), (true, format!("Patch r:{sha} not found")));
        let hint = answer.meta["lore/error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.contains(reason), "{hint}");
        let commit = ask("commitmux_get_commit", &sha);
        assert_eq!(commit.value["changed_files"].as_array().map(Vec::len), Some(1));
        assert!(commit.meta["lore/no_patch"].as_str().is_some_and(|why| why.contains(reason)), "{:?}", commit.meta);
    }
    let patch = ask("commitmux_get_patch", &mixed);
    assert!(patch.text.contains("Binary files a/image.bin and b/image.bin differ"), "{}", patch.text);
    assert_eq!(ask("commitmux_get_patch", &empty).value["patch_text"], "");
}

#[test]
fn a_query_never_writes() {
    let mut shop = Shop::new();
    // The very files of the index, without those that SQLite makes for readers.
    let files = |shop: &Shop| -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(shop.place.lore.home()).expect("the home is there");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("the home can be listed"))
            .filter(|entry| entry.path().is_file())
            .map(|entry| {
                (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("readable"))
            })
            .filter(|(name, content)| name != "lore.db-shm" && !(name == "lore.db-wal" && content.is_empty()))
            .collect();
        files.sort();
        files
    };
    let before = files(&shop);
    assert!(before.iter().any(|(name, _)| name == "lore.db"));
    let sha = shop.sha("«add»").to_owned();
    for (tool, arguments) in [
        ("commitmux_search", json!({"query": "limiter"})),
        ("commitmux_search", json!({"query": "foo("})),
        ("commitmux_touches", json!({"path_glob": "src"})),
        ("commitmux_get_commit", json!({"repo": "shop", "sha": sha})),
        ("commitmux_get_patch", json!({"repo": "shop", "sha": sha})),
        ("commitmux_get_patch", json!({"repo": "shop", "sha": "ffff"})),
    ] {
        shop.server.call(tool, &arguments);
        assert!(files(&shop) == before, "{tool} {arguments}");
    }
}

#[test]
fn the_handshake_tells_who_answers_and_how_to_ask() {
    let place = Place::new();
    let mut session = lore_testkit::Session::start(place.lore.command(&["serve"])).expect("the server starts");
    let told = session.request("initialize", &json!({})).expect("the seeds' form is served");
    assert_eq!(told["protocolVersion"], "2024-11-05");
    assert_eq!(told["serverInfo"]["name"], "lore");
    assert!(told["capabilities"]["tools"].is_object(), "{told}");
    let instructions = told["instructions"].as_str().expect("instructions are given");
    assert!(instructions.len() < 2000, "{} characters", instructions.len());
    for tool in ["commitmux_search", "commitmux_touches", "commitmux_get_commit", "commitmux_get_patch"] {
        assert!(instructions.contains(tool), "{tool}");
    }
}
