//! Lines, as grep finds them: `search_code` over `lore serve`, and `lore search` with `--regex`, `--literal`, `--words` and
//! `--fuzzy`.

use lore_testkit::Repo;
use serde_json::{Value, json};

use crate::{place::Place, stdio::Server};

const TOOL: &str = "search_code";

/// A project in several languages, indexed.
struct Shop {
    place: Place,
    repo: Repo,
}

impl Shop {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        repo.write("src/search.py", "class SearchMode:\n    \"\"\"How code is searched.\"\"\"\n\n    def  apply(self):\n        return self.search_mode\n")
            .write("src/auth.py", "def authenticate(user):\n    # checks the password of a user\n    return user.password_ok\n")
            .write("web/app.js", "export function applyMode(SearchMode) {\n  return authenticate(SearchMode);\n}\n")
            .write("tests/test_auth.py", "def test_authenticate():\n    assert authenticate(None)\n")
            .write("docs/guide.md", "# Guide\n\nThe password is checked by authenticate.\n");
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        Self { place, repo }
    }

    fn serve(&self) -> Server {
        let project = self.repo.path().to_str().expect("temporary paths are UTF-8");
        self.place.serve(&["--no-refresh", "--toolsets", "code", "--project", project])
    }

    fn json(&self, args: &[&str]) -> Value {
        let mut command = self.place.lore.command(&[&["search"], args, &["--json"]].concat());
        let output = command.current_dir(self.repo.path()).output().expect("it starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("the answer is JSON")
    }
}

/// The results of a question.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn ask(server: &mut Server, arguments: Value) -> Vec<Value> {
    let answer = server.call(TOOL, &arguments);
    assert!(!answer.is_error && answer.value["success"] == true, "{}", answer.text);
    let results = &answer.value["results"];
    assert!(results["query_metadata"]["execution_time_ms"].is_u64(), "{}", answer.text);
    assert_eq!(results["query_metadata"]["query_text"], arguments["query_text"]);
    results["results"].as_array().expect("there is a list of results").clone()
}

/// Path and line of each.
fn places(results: &[Value]) -> Vec<String> {
    let mut places: Vec<String> = results
        .iter()
        .map(|hit| format!("{}:{}", hit["file_path"].as_str().unwrap_or_default(), hit["line_number"]))
        .collect();
    places.sort();
    places
}

/// Asks for lines, and gives their places.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn fts(server: &mut Server, text: &str, more: Value) -> Vec<String> {
    let mut arguments = json!({"query_text": text, "search_mode": "fts", "limit": 100});
    arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    places(&ask(server, arguments))
}

#[test]
fn every_mode_answers_with_the_fields_of_the_document() {
    let shop = Shop::new();
    let mut server = shop.serve();
    for mode in ["semantic", "fts", "hybrid"] {
        let results = ask(&mut server, json!({"query_text": "authenticate", "search_mode": mode, "min_score": 0.0}));
        assert!(!results.is_empty(), "{mode}");
        for hit in &results {
            assert!(
                hit["file_path"].is_string() && hit["line_number"].is_u64() && hit["code_snippet"].is_string(),
                "{hit}"
            );
            let score = hit["similarity_score"].as_f64().expect("a score is a number");
            assert!((0.0..=1.0).contains(&score), "{hit}");
            assert!(hit["repository_alias"] == "shop" && hit["source_repo"] == "shop", "{hit}");
        }
    }
    let few = ask(&mut server, json!({"query_text": "authenticate", "search_mode": "fts", "limit": 2}));
    assert_eq!(few.len(), 2);
}

#[test]
fn words_prefixes_and_phrases_are_found_in_lines() {
    let shop = Shop::new();
    let mut server = shop.serve();
    assert_eq!(fts(&mut server, "password", json!({})), ["docs/guide.md:3", "src/auth.py:2", "src/auth.py:3"]);
    assert_eq!(fts(&mut server, "passw*", json!({"language": "python"})), ["src/auth.py:2", "src/auth.py:3"]);
    assert_eq!(fts(&mut server, "passw", json!({})), Vec::<String>::new(), "the beginning of a word is no word");
    assert_eq!(fts(&mut server, "\"the  password of\"", json!({})), ["src/auth.py:2"]);
    assert_eq!(fts(&mut server, "password checks", json!({})), ["src/auth.py:2"], "all words, in any order");
    assert_eq!(fts(&mut server, "password nowhere", json!({})), Vec::<String>::new());
}

#[test]
fn filters_hold_in_every_mode_and_together() {
    let shop = Shop::new();
    let mut server = shop.serve();
    for (filter, expected) in [
        (json!({"language": "js"}), &["web/app.js"][..]),
        (json!({"exclude_language": "python", "exclude_path": "*/docs/*"}), &["web/app.js"]),
        (json!({"path_filter": "*/tests/*"}), &["tests/test_auth.py"]),
        (json!({"path_filter": "tests"}), &["tests/test_auth.py"]),
        (json!({"file_extensions": [".md"]}), &["docs/guide.md"]),
        (json!({"file_extensions": ["py"], "exclude_path": "*/tests/*"}), &["src/auth.py"]),
    ] {
        for mode in ["semantic", "fts", "hybrid"] {
            let mut arguments =
                json!({"query_text": "authenticate", "search_mode": mode, "min_score": 0.0, "limit": 50});
            arguments.as_object_mut().expect("an object").extend(filter.as_object().cloned().expect("an object"));
            let results = ask(&mut server, arguments);
            let mut files: Vec<&str> = results.iter().filter_map(|hit| hit["file_path"].as_str()).collect();
            files.sort_unstable();
            files.dedup();
            // By meaning, more of the same kind may be found.
            assert!(expected.iter().all(|path| files.contains(path)), "{filter} {mode} {files:?}");
            assert!(mode != "fts" || files == expected, "{filter} {mode} {files:?}");
            assert!(!files.iter().any(|path| is_left_out(path, &filter)), "{filter} {mode} {files:?}");
        }
    }
}

fn is_left_out(path: &str, filter: &Value) -> bool {
    let has = |key: &str, value: &str| filter[key] == value;
    let is = |end: &str| path.rsplit('.').next() == Some(end);
    (has("language", "js") && !is("js"))
        || (has("exclude_language", "python") && is("py"))
        || (has("exclude_path", "*/docs/*") && path.starts_with("docs/"))
        || (has("exclude_path", "*/tests/*") && path.starts_with("tests/"))
        || (filter["path_filter"].is_string() && !path.starts_with("tests/"))
        || (filter["file_extensions"] == json!([".md"]) && !is("md"))
}

#[test]
fn snippets_have_the_lines_around_and_none_lists_files() {
    let shop = Shop::new();
    let mut server = shop.serve();
    let one = ask(&mut server, json!({"query_text": "checks", "search_mode": "fts", "snippet_lines": 1}));
    assert_eq!(
        one[0]["code_snippet"],
        "def authenticate(user):\n    # checks the password of a user\n    return user.password_ok\n"
    );
    let files = ask(&mut server, json!({"query_text": "authenticate", "search_mode": "fts", "snippet_lines": 0}));
    let mut paths: Vec<&str> = files.iter().filter_map(|hit| hit["file_path"].as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["docs/guide.md", "src/auth.py", "tests/test_auth.py", "web/app.js"], "one hit for each file");
    assert!(files.iter().all(|hit| hit["code_snippet"] == ""), "{files:?}");
}

#[test]
fn uncommitted_edits_are_found() {
    let shop = Shop::new();
    shop.repo.write("src/new.py", "def brand_new_thing():\n    pass\n");
    let mut server = shop.serve();
    assert_eq!(fts(&mut server, "def \\w+_thing", json!({"regex": true})), ["src/new.py:1"]);
}

#[test]
fn what_cannot_be_is_told_with_what_to_do() {
    let shop = Shop::new();
    let mut server = shop.serve();
    for (arguments, said) in [
        (json!({"query_text": " "}), "`query_text` is empty"),
        (json!({"query_text": "a", "search_mode": "fts", "regex": true, "fuzzy": true}), "cannot be used together"),
        (json!({"query_text": "a(", "search_mode": "fts", "regex": true}), "unclosed group"),
        (json!({"query_text": "(?=a)", "search_mode": "fts", "regex": true}), "lookaround"),
        (json!({"query_text": "a", "search_mode": "magic"}), "semantic, fts or hybrid"),
        (json!({"query_text": "a", "language": "klingon"}), "is no language"),
        (json!({"query_text": "a", "repository_alias": "shpo"}), "shop"),
        (json!({"query_text": "a", "path_filter": "{{{{{{{{{{{{{{{{{{{{"}), "not a valid glob"),
    ] {
        let answer = server.call(TOOL, &arguments);
        let value: Value = serde_json::from_str(&answer.text).expect("it is JSON");
        assert!(answer.is_error && value["success"] == false, "{arguments}: {}", answer.text);
        let told = format!("{} {}", value["error"], value["hint"]);
        assert!(told.contains(said), "{arguments}: {}", answer.text);
    }
}

#[test]
fn only_fuzzy_searches_fuzzily() {
    let shop = Shop::new();
    let mut server = shop.serve();
    let mut ask = |more: Value| {
        let mut asked = json!({"query_text": "authentcate", "search_mode": "fts", "path_filter": "src/*"});
        asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let answer = server.call(TOOL, &asked);
        assert!(!answer.is_error, "{asked}: {}", answer.text);
        (answer.value["results"]["total_results"].clone(), format!("{} {}", answer.text, answer.more))
    };
    for (asked, count, said) in [
        (json!({"edit_distance": 2}), 0, "edit_distance counts only with fuzzy"),
        (json!({"edit_distance": 2, "fuzzy": false}), 0, "edit_distance counts only with fuzzy"),
        (json!({"edit_distance": 2, "regex": true}), 0, "edit_distance counts only with fuzzy"),
        (json!({"edit_distance": 0}), 0, ""),
        (json!({"edit_distance": 2, "fuzzy": true}), 1, ""),
        (json!({"edit_distance": 0, "fuzzy": true}), 1, "edit_distance 0 is taken for 1 with fuzzy"),
        (json!({"fuzzy": true}), 1, ""),
        (json!({"edit_distance": 4, "fuzzy": true}), 1, "note: edit_distance is 0 to 3: 3 was taken"),
        (json!({"edit_distance": -1, "fuzzy": true}), 1, "note: edit_distance is 0 to 3: 0 was taken"),
    ] {
        let (total, told) = ask(asked.clone());
        assert_eq!(total, count, "{asked}: {told}");
        assert!(told.contains(said) && (!said.is_empty() || !told.contains("edit_distance ")), "{asked}: {told}");
    }
}

#[test]
fn a_number_out_of_its_range_is_taken_for_the_nearest_and_that_is_told() {
    let shop = Shop::new();
    let project = shop.repo.path().to_str().expect("temporary paths are UTF-8");
    let mut server = shop.place.serve(&["--no-refresh", "--toolsets", "code,context,why", "--project", project]);
    for (tool, asked, said) in [
        ("cortex_search", json!({"query": "password", "limit": 1000}), "limit is 1 to 100: 100 was taken"),
        ("cortex_search", json!({"query": "password", "limit": 0}), "limit is 1 to 100: 1 was taken"),
        ("co_changed", json!({"files": ["src/auth.py"], "limit": 201}), "limit is 1 to 200: 200 was taken"),
        ("find_related", json!({"file": "src/auth.py", "line": 0}), "line is at least 1: 1 was taken"),
        ("find_related", json!({"file": "src/auth.py", "line": 1, "limit": -1}), "limit is 1 to 100: 1 was taken"),
        ("was_tried", json!({"text": "password", "limit": 101}), "limit is 1 to 100: 100 was taken"),
        ("search_code", json!({"query_text": "password", "limit": 101}), "limit is 1 to 100: 100 was taken"),
        ("search_code", json!({"query_text": "password", "min_score": 1.5}), "min_score is 0 to 1: 1 was taken"),
        ("search_code", json!({"query_text": "password", "min_score": -0.5}), "min_score is 0 to 1: 0 was taken"),
        (
            "search_code",
            json!({"query_text": "password", "search_mode": "fts", "snippet_lines": 51}),
            "snippet_lines is 0 to 50: 50 was taken",
        ),
        (
            "search_code",
            json!({"query_text": "password", "show_evolution": true, "evolution_limit": 0}),
            "evolution_limit is at least 1: 1 was taken",
        ),
    ] {
        let answer = server.call(tool, &asked);
        assert!(!answer.is_error, "{tool} {asked}: {}", answer.text);
        assert!(answer.notes().contains(&said), "{tool} {asked}: {}", answer.more);
    }
    for (args, said) in [
        (&["search", "password", "--limit", "101"][..], "the limit is 100; it may be 1 to 100"),
        (&["search", "password", "--min-score", "2"], "--min-score is 0 to 1: 1 was taken"),
        (&["search", "authentcate", "--fuzzy=9"], "--fuzzy is 1 to 3: 3 was taken"),
        (&["search", "authentcate", "--fuzzy=0"], "--fuzzy is 1 to 3: 1 was taken"),
        (&["search", "--words", "password", "-C", "5000"], "--context is 0 to 1000: 1000 was taken"),
        (&["related", "src/auth.py:1", "--limit", "101"], "--limit is 1 to 100: 100 was taken"),
        (&["comments", "list", "--limit", "501"], "--limit is 1 to 500: 500 was taken"),
        (&["log", "begin", "--limit", "501"], "the limit is 500; it may be 1 to 500"),
        (&["touches", "src", "--limit", "0"], "the limit is 1; it may be 1 to 500"),
    ] {
        let output = shop.place.lore.command(args).current_dir(shop.repo.path()).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains(said), "{args:?}: {told}");
    }
    let refused = shop.place.lore.run(&["search", "password", "--min-score", "nan"]);
    assert!(!refused.status.success() && refused.stderr.contains("NaN is no score"), "{}", refused.stderr);
}

#[test]
fn arguments_that_count_for_nothing_are_named() {
    let shop = Shop::new();
    let mut server = shop.serve();
    for (asked, said) in [
        (json!({"search_mode": "fts", "min_score": 0.9}), "min_score counts only for results by meaning"),
        (json!({"search_mode": "fts", "accuracy": "high"}), "accuracy counts only for results by meaning"),
        (json!({"snippet_lines": 3}), "snippet_lines counts only with search_mode fts or hybrid"),
        (json!({"edit_distance": 1}), "edit_distance counts only with fuzzy"),
        (json!({"fuzzy": true}), "fuzzy counts only with search_mode fts or hybrid"),
        (json!({"regex": true}), "regex counts only with search_mode fts or hybrid"),
        (json!({"case_sensitive": true}), "case_sensitive counts only with search_mode fts or hybrid"),
        (json!({"evolution_limit": 3}), "evolution_limit counts only with show_evolution"),
        (
            json!({"time_range": "2020-01-01..2020-12-31", "time_range_all": true}),
            "time_range_all counts only without time_range",
        ),
        (json!({"at_commit": "HEAD", "include_removed": true}), "include_removed counts only without at_commit"),
        (
            json!({"chunk_type": "commit_message", "search_mode": "fts", "snippet_lines": 3}),
            "a commit message is shown whole: snippet_lines counts only for code and commit_diff",
        ),
        (
            json!({"chunk_type": "commit_diff", "search_mode": "fts", "show_evolution": true}),
            "show_evolution counts only for code",
        ),
    ] {
        let mut asked = asked;
        asked["query_text"] = json!("authenticate");
        let answer = server.call(TOOL, &asked);
        let warning = answer.value["results"]["warning"].as_str().unwrap_or_default();
        assert!(warning.contains(said), "{asked}: {}", answer.text);
        // What is left at its default is not spoken of.
        let plain = server.call(TOOL, &json!({"query_text": "authenticate", "search_mode": "hybrid"}));
        assert!(!plain.text.contains("counts only"), "{}", plain.text);
    }
}

#[test]
fn a_pattern_that_is_made_to_hang_does_not() {
    let shop = Shop::new();
    shop.repo.write("a.txt", format!("{}\n", "a".repeat(20_000)));
    shop.repo.commit("Many of one letter");
    shop.place.lore.ok(&["sync"]);
    let mut server = shop.serve();
    assert_eq!(fts(&mut server, "(a+)+b", json!({"regex": true})), Vec::<String>::new());
    assert_eq!(fts(&mut server, "(a|aa)+$", json!({"regex": true, "path_filter": "a.txt"})), ["a.txt:1"]);
}

#[test]
fn the_command_line_finds_the_same() {
    let shop = Shop::new();
    let found = |args: &[&str]| {
        let answer = shop.json(args);
        let hits = answer["results"].as_array().expect("there is a list").iter();
        hits.map(|hit| format!("{}:{}", hit["path"].as_str().unwrap_or_default(), hit["line"])).collect::<Vec<_>>()
    };
    assert_eq!(found(&["--regex", r"def\s+\w+\("]), ["src/auth.py:1", "src/search.py:4", "tests/test_auth.py:1"]);
    assert_eq!(found(&["--literal", "-s", "self.search_mode"]), ["src/search.py:5"]);
    assert_eq!(found(&["--fuzzy=2", "authentcate", "--path", "src"]), ["src/auth.py:1"]);
    assert_eq!(found(&["--words", "password", "--exclude", "docs"]), ["src/auth.py:2", "src/auth.py:3"]);
    assert_eq!(found(&["--words", "authenticate", "--limit", "1"]).len(), 1);
    let mut command = shop.place.lore.command(&["search", "--regex", "-C1", "checks", "--lang", "py"]);
    let output = command.current_dir(shop.repo.path().join("src")).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let expected = "auth.py-1-def authenticate(user):\nauth.py:2:    # checks the password of a user\nauth.py-3-    return user.password_ok\n";
    assert_eq!(text, expected, "as grep prints it, with paths from where one stands");
}

#[test]
fn hybrid_shows_the_lines_that_fit_best_and_says_that_there_are_more() {
    let place = Place::new();
    let repo = place.repo("many");
    let call = |number: usize| {
        format!(
            "def test_{number}():\n    \"\"\"{}\"\"\"\n    assert frobnicate(frobnicate(frobnicate({number})))\n\n\n",
            "Some words of a test. ".repeat(20)
        )
    };
    repo.write("tests/test_many.py", (0..80).map(call).collect::<String>());
    for number in 0..30 {
        repo.write(
            format!("src/user_{number}.py"),
            format!("def use_{number}(value):\n    return frobnicate(value)\n"),
        );
    }
    repo.write("src/own.py", "def frobnicate(value):\n    \"\"\"Turns it around.\"\"\"\n    return value[::-1]\n")
        .commit("Begin");
    place.add(repo.path(), &[]);
    let project = repo.path().to_str().expect("temporary paths are UTF-8");
    let mut server = place.serve(&["--no-refresh", "--toolsets", "code", "--project", project]);
    let asked = |mode: &str, more: Value| {
        let mut asked = json!({"query_text": "frobnicate", "search_mode": mode, "limit": 5, "min_score": 1.0});
        asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        asked
    };
    let all = server.call(TOOL, &asked("fts", json!({}))).value;
    assert_eq!(all["results"]["total_results"], 111, "{all}");
    assert!(all["results"].get("more_results").is_none(), "{all}");
    let best = server.call(TOOL, &asked("hybrid", json!({}))).value;
    assert_eq!(best["results"]["results"][0]["file_path"], "src/own.py", "what defines it comes first: {best}");
    assert_eq!(best["results"]["more_results"], true, "{best}");
    assert!(best["results"]["warning"].as_str().is_some_and(|said| said.contains("there may be more")), "{best}");
    // Files are counted, not the pieces of one.
    let files = server.call(TOOL, &asked("hybrid", json!({"snippet_lines": 0}))).value;
    let listed = files["results"]["results"].as_array().expect("a list");
    let mut paths: Vec<&str> = listed.iter().filter_map(|hit| hit["file_path"].as_str()).collect();
    paths.dedup();
    assert_eq!(paths.len(), 5, "{files}");
    // A beginning is compared with no frequency of a word.
    let begun = server.call(TOOL, &asked("hybrid", json!({"query_text": "frobni*"}))).value;
    assert!(begun["results"]["total_results"].as_u64().is_some_and(|total| total >= 111), "{begun}");
}

/// Each result of a question: its path, and its line where it has one.
#[track_caller]
fn hybrid(server: &mut Server, text: &str, limit: usize) -> Vec<String> {
    places(&ask(server, json!({"query_text": text, "search_mode": "hybrid", "limit": limit, "min_score": 0.0})))
}

#[test]
fn hybrid_keeps_exact_lines_and_the_best_by_meaning() {
    let place = Place::new();
    let repo = place.repo("both");
    // Outlines say `function` and `lines`, and are no lines of a file.
    for number in 0..12 {
        repo.write(
            format!("src/part_{number}.rs"),
            format!("pub fn part_{number}() {{}}\npub fn other_{number}() {{}}\n"),
        );
    }
    repo.write("notes.txt", "what a function of lines is\n")
        .write("src/provider.rs", "/// Gives json.\npub struct JsonProvider;\n\nimpl JsonProvider {\n    pub fn json(&self) {}\n    pub fn provider(&self) {}\n    pub fn json_provider(&self) {}\n}\n")
        .commit("Begin");
    place.add(repo.path(), &[]);
    let project = repo.path().to_str().expect("temporary paths are UTF-8");
    let mut server = place.serve(&["--no-refresh", "--toolsets", "code", "--project", project]);
    for limit in [1, 5, 10] {
        assert_eq!(hybrid(&mut server, "function lines", limit)[0], "notes.txt:1");
    }
    // Whatever is not shown by a line is shown by meaning.
    let best = ask(&mut server, json!({"query_text": "json provider", "limit": 1, "min_score": 0.0}));
    let (path, line) = (&best[0]["file_path"], best[0]["line_number"].as_u64().expect("a line"));
    for limit in 2..8 {
        let both = ask(
            &mut server,
            json!({"query_text": "json provider", "search_mode": "hybrid", "limit": limit, "min_score": 0.0}),
        );
        let is_there = |one: &Value| {
            one["file_path"] == *path && one["line_number"].as_u64().is_some_and(|at| at.abs_diff(line) < 8)
        };
        assert!(both.iter().any(is_there), "{limit}: {both:?}");
        let mut places = places(&both);
        places.retain(|place| place.starts_with("src/provider.rs"));
        places.sort();
        let count = places.len();
        places.dedup();
        assert_eq!(places.len(), count, "each place is shown once: {both:?}");
    }
}

#[test]
fn a_misspelt_word_is_found_beside_signs_and_other_scripts_and_within_longer_names() {
    let shop = Shop::new();
    let texts =
        ["“configuration”", "→configuration", "word—configuration—x", "使用configuration登录", "größe_configuration"];
    for (number, text) in texts.iter().enumerate() {
        shop.repo.write(format!("texts/{number}.txt"), format!("{text}\n"));
    }
    shop.repo.write("texts/url.py", "test_url_for = fast_url_for_all\n").commit("Signs");
    shop.place.sync();
    let mut server = shop.serve();
    let found = fts(&mut server, "configuraton", json!({"fuzzy": true, "edit_distance": 1}));
    assert_eq!(found, ["texts/0.txt:1", "texts/1.txt:1", "texts/2.txt:1", "texts/3.txt:1", "texts/4.txt:1"]);
    // What is right is found as without `fuzzy`.
    assert_eq!(fts(&mut server, "url_for", json!({"fuzzy": true})), fts(&mut server, "url_for", json!({})));
    assert_eq!(fts(&mut server, "url_for", json!({"fuzzy": true})), ["texts/url.py:1"]);
}

#[test]
fn a_long_line_of_words_that_are_nearly_right_takes_no_time() {
    let shop = Shop::new();
    shop.repo.write("long.txt", "configuration_".repeat(60_000)).commit("A long line");
    shop.place.sync();
    let mut server = shop.serve();
    assert_eq!(fts(&mut server, "configuraton", json!({"fuzzy": true, "edit_distance": 1})), ["long.txt:1"]);
}

#[test]
fn a_long_word_that_is_misspelt_is_found_in_minified_files_too() {
    let shop = Shop::new();
    shop.repo
        .write("web/app.min.js", format!("var a={}authenticateEverybody();\n", "f(x,y),".repeat(2000)))
        .commit("Minified");
    shop.place.sync();
    let mut server = shop.serve();
    let found = fts(&mut server, "authenticatEverybody", json!({"fuzzy": true, "edit_distance": 1}));
    assert_eq!(found, ["web/app.min.js:1"]);
    assert_eq!(
        fts(&mut server, "authenticatEverybdy", json!({"fuzzy": true, "edit_distance": 1})),
        Vec::<String>::new()
    );
}

/// Each with the figure that the system whose contract this is gave.
mod upstream_gets_this_wrong {
    use super::*;

    #[test]
    fn a_case_sensitive_search_finds_only_what_is_written_so() {
        let shop = Shop::new();
        let mut server = shop.serve();
        assert_eq!(fts(&mut server, "searchmode", json!({"case_sensitive": true})), Vec::<String>::new());
        let exact = ["src/search.py:1", "web/app.js:1", "web/app.js:2"];
        assert_eq!(fts(&mut server, "SearchMode", json!({"case_sensitive": true})), exact);
        assert_eq!(fts(&mut server, "searchmode", json!({})), exact);
    }

    #[test]
    fn a_regular_expression_finds_every_line_it_matches() {
        let shop = Shop::new();
        let mut server = shop.serve();
        let found = fts(&mut server, "SearchM.*", json!({"regex": true, "case_sensitive": true}));
        assert_eq!(found, ["src/search.py:1", "web/app.js:1", "web/app.js:2"]);
    }

    #[test]
    fn white_space_in_a_regular_expression_is_white_space() {
        let shop = Shop::new();
        let mut server = shop.serve();
        assert_eq!(fts(&mut server, r"def\s\s+\w+", json!({"regex": true})), ["src/search.py:4"]);
    }

    #[test]
    fn fuzzy_finds_what_is_misspelt() {
        let shop = Shop::new();
        let mut server = shop.serve();
        let all = ["docs/guide.md:3", "src/auth.py:1", "tests/test_auth.py:1", "tests/test_auth.py:2", "web/app.js:2"];
        assert_eq!(fts(&mut server, "authentcate", json!({"fuzzy": true})), all, "a distance of 0 means 1");
        assert_eq!(fts(&mut server, "autentcate", json!({"fuzzy": true, "edit_distance": 1})), Vec::<String>::new());
        assert_eq!(fts(&mut server, "autentcate", json!({"fuzzy": true, "edit_distance": 2})), all);
    }

    #[test]
    fn the_search_mode_is_not_dropped() {
        let shop = Shop::new();
        let mut server = shop.serve();
        // By meaning something is always near; words are there or not.
        let by_meaning = ask(&mut server, json!({"query_text": "zebra crossing", "min_score": 0.0}));
        assert!(!by_meaning.is_empty());
        assert_eq!(fts(&mut server, "zebra crossing", json!({"min_score": 0.0})), Vec::<String>::new());
    }

    #[test]
    fn a_regular_expression_is_not_left_out_for_its_score() {
        let shop = Shop::new();
        let mut server = shop.serve();
        assert_eq!(fts(&mut server, "password_.k", json!({"regex": true, "min_score": 1.0})), ["src/auth.py:3"]);
    }
}
