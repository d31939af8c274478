//! Code as it was: `search_code` with its temporal parameters, `was_tried`, and `lore search --at` and the like.

use lore_testkit::{Git, Repo};
use serde_json::{Value, json};

use crate::{place::Place, stdio::Server};

/// A project with a past: a retry that was dropped, a cache that was renamed and removed.
struct Shop {
    place: Place,
    repo: Repo,
    commits: Vec<String>,
}

const RETRY: &str = "def retry_request(times):\n    \"\"\"Sends a request again after a failure.\"\"\"\n    for attempt in range(times):\n        send()\n";
const CACHE: &str = "def cache_answers(answers):\n    \"\"\"Keeps answers in memory for the next time.\"\"\"\n    return dict(answers)\n";

impl Shop {
    fn new(temporal: bool) -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        let mut commits = Vec::new();
        repo.write("net.py", RETRY).write("cache.py", CACHE);
        commits.push(commit(&repo, 1, "ann", "Begin"));
        repo.write("net.py", "def send_once():\n    send()\n");
        commits.push(commit(&repo, 5, "bob", "Do not retry\n\nIt hid faults of the network.\n"));
        repo.git(&["mv", "cache.py", "store.py"]);
        commits.push(commit(&repo, 8, "ann", "Rename the cache"));
        repo.remove("store.py");
        commits.push(commit(&repo, 10, "bob", "Revert \"Add a cache\"\n\nIt was never right.\n"));
        place.add(repo.path(), &[]);
        if temporal {
            let synced = place.lore.run(&["sync", "--temporal", "--json"]);
            assert!(synced.status.success(), "{}", synced.stderr);
        }
        Self { place, repo, commits }
    }

    fn serve(&self, toolsets: &str) -> Server {
        let project = self.repo.path().to_str().expect("temporary paths are UTF-8");
        self.place.serve(&["--no-refresh", "--toolsets", toolsets, "--project", project])
    }

    fn run(&self, args: &[&str]) -> (bool, String, String) {
        let mut command = self.place.lore.command(&[&["search", "--no-sync"], args].concat());
        let output = command.current_dir(self.repo.path()).output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }
}

fn commit(repo: &Repo, day: u32, author: &str, message: &str) -> String {
    repo.git(&["add", "-A"]);
    let (date, email) = (format!("2024-01-{day:02}T12:00:00Z"), format!("{author}@example.org"));
    let mut command = Git::at(repo.path()).command();
    command.env("GIT_COMMITTER_DATE", &date).env("GIT_AUTHOR_DATE", &date);
    command.env("GIT_AUTHOR_NAME", author).env("GIT_AUTHOR_EMAIL", &email);
    command.env("GIT_COMMITTER_NAME", author).env("GIT_COMMITTER_EMAIL", &email);
    let output = command.args(["commit", "-q", "-m", message]).output().expect("git starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Git::at(repo.path()).text(&["rev-parse", "HEAD"]).expect("there is a commit")
}

/// The `results` of a question that is answered.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn ask(server: &mut Server, arguments: Value) -> Value {
    let answer = server.call("search_code", &arguments);
    assert!(!answer.is_error && answer.value["success"] == true, "{}", answer.text);
    answer.value["results"].clone()
}

/// What a question is refused with.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "questions are written where they are asked")]
fn refused(server: &mut Server, arguments: Value) -> String {
    let answer = server.call("search_code", &arguments);
    assert!(answer.is_error, "{}", answer.text);
    answer.text
}

#[test]
fn reindexing_reads_the_past_anew_and_answers_the_same() {
    let shop = Shop::new(true);
    let question = ["retry_request", "--words", "--since", "2024-01-01", "--until", "2024-01-04"];
    let before = shop.run(&question);
    assert!(before.0 && before.1.contains("net.py"), "{before:?}");
    let again = shop.place.lore.run(&["reindex", "--json"]);
    assert!(again.status.success(), "{}", again.stderr);
    assert_eq!(shop.run(&question), before, "and nothing is said of a past that is behind");
    let mut server = shop.serve("repos");
    let status = server.call("get_repository_status", &json!({"user_alias": "shop"}));
    assert_eq!(status.value["status"]["temporal_status"]["status"], "current", "{}", status.text);
}

/// Paths and first lines of the results.
fn shown(results: &Value) -> Vec<(String, String)> {
    let text = |hit: &Value, key: &str| hit[key].as_str().unwrap_or_default().to_owned();
    let results = results["results"].as_array().expect("there is a list of results").iter();
    results
        .map(|hit| {
            let snippet = text(hit, "code_snippet");
            (text(hit, "file_path"), snippet.lines().next().unwrap_or_default().to_owned())
        })
        .collect()
}

#[test]
fn a_time_a_commit_and_what_is_gone_can_be_searched_in_every_mode() {
    let shop = Shop::new(true);
    let mut server = shop.serve("code");
    let retry = ("net.py".to_owned(), "def retry_request(times):".to_owned());
    // By meaning, at a commit and in a time; by line as well.
    let found = ask(
        &mut server,
        json!({"query_text": "send a request again after it failed", "at_commit": "HEAD~3", "limit": 1}),
    );
    assert_eq!(shown(&found), std::slice::from_ref(&retry));
    let found = ask(
        &mut server,
        json!({"query_text": "send a request again after it failed", "time_range": "2024-01-01..2024-01-03", "limit": 1}),
    );
    assert_eq!(shown(&found), std::slice::from_ref(&retry));
    let context = &found["results"][0]["temporal_context"];
    assert_eq!(context["first_seen"], "2024-01-01T12:00:00Z");
    assert_eq!(context["removed_by"]["commit_hash"], shop.commits[1].as_str());
    assert_eq!(context["removed_by"]["commit_message"], "Do not retry");
    assert_eq!(context["commits"][0]["author_name"], "bob");
    assert_eq!(context["commit_count"], 2);
    assert!(context.get("is_removed").is_none(), "the file is there: {context}");
    for mode in ["fts", "hybrid"] {
        let found = ask(
            &mut server,
            json!({"query_text": "retry_request", "search_mode": mode, "time_range_all": true, "snippet_lines": 1}),
        );
        assert_eq!(shown(&found)[0], retry, "{mode}");
    }
    let now = ask(&mut server, json!({"query_text": "retry_request", "search_mode": "fts"}));
    assert_eq!(now["total_results"], 0);

    // A file that is gone counts only where that is asked for, and says so.
    let asked = |removed: bool| json!({"query_text": "cache_answers", "search_mode": "fts", "time_range_all": true, "include_removed": removed, "snippet_lines": 1});
    assert_eq!(ask(&mut server, asked(false))["total_results"], 0);
    let found = ask(&mut server, asked(true));
    let paths: Vec<String> = shown(&found).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["cache.py", "store.py"]);
    assert_eq!(found["results"][1]["temporal_context"]["is_removed"], true);
    assert_eq!(found["results"][1]["temporal_context"]["removed_by"]["diff_type"], "deleted");

    // By who and how, and what is wrong is told.
    let by = |more: Value| {
        let mut asked = json!({"query_text": "def", "search_mode": "fts", "include_removed": true, "snippet_lines": 1, "limit": 50});
        asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        asked
    };
    let paths = |results: &Value| shown(results).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(paths(&ask(&mut server, by(json!({"author": "bob@example.org"})))), ["net.py", "store.py", "net.py"]);
    assert_eq!(paths(&ask(&mut server, by(json!({"diff_type": "renamed,deleted"})))), ["cache.py", "store.py"]);
    assert_eq!(
        ask(&mut server, by(json!({"author": "bob", "time_range": "2024-01-01..2024-01-04"})))["total_results"],
        0
    );
    for (wrong, said) in [
        (json!({"query_text": "x", "time_range": "last week"}), "is no time_range"),
        (json!({"query_text": "x", "time_range": "2024-02-30.."}), "is no time_range"),
        (json!({"query_text": "x", "time_range": "2024-02-01..2024-01-01"}), "ends before it begins"),
        (json!({"query_text": "x", "diff_type": "moved"}), "there is no diff_type"),
        (json!({"query_text": "x", "chunk_type": "poem"}), "there is no chunk_type"),
        (json!({"query_text": "x", "at_commit": "HEAD", "time_range_all": true}), "at_commit"),
        (json!({"query_text": "x", "at_commit": "no-such-tag"}), "has no commit"),
    ] {
        let text = refused(&mut server, wrong.clone());
        assert!(text.contains(said), "{wrong}: {text}");
    }
}

#[test]
fn what_commits_say_and_changed_can_be_searched() {
    let shop = Shop::new(true);
    let mut server = shop.serve("code");
    let hash =
        |results: &Value, at: usize| results["results"][at]["temporal_context"]["commits"][0]["commit_hash"].clone();
    let found = ask(
        &mut server,
        json!({"query_text": "faults of the network", "chunk_type": "commit_message", "time_range_all": true, "min_score": 0.2}),
    );
    assert_eq!(hash(&found, 0), shop.commits[1].as_str(), "{found}");
    let found =
        ask(&mut server, json!({"query_text": "hid faults", "chunk_type": "commit_message", "search_mode": "fts"}));
    assert_eq!((hash(&found, 0), found["total_results"].as_u64()), (shop.commits[1].as_str().into(), Some(1)));
    // Added and removed lines, with their signs, in the whole diff.
    let found = ask(
        &mut server,
        json!({"query_text": "for attempt", "chunk_type": "commit_diff", "search_mode": "fts", "snippet_lines": 1}),
    );
    assert_eq!(found["total_results"], 2, "{found}");
    assert_eq!(hash(&found, 0), shop.commits[1].as_str());
    let first = &found["results"][0];
    assert_eq!((first["file_path"].as_str(), first["line_number"].as_u64()), (Some("net.py"), Some(3)));
    assert!(
        first["code_snippet"].as_str().is_some_and(|text| text.contains("-    for attempt in range(times):")),
        "{first}"
    );
    let only = json!({"query_text": "^def cache", "regex": true, "chunk_type": "commit_diff", "search_mode": "fts", "path_filter": "store.py"});
    let found = ask(&mut server, only);
    assert_eq!(
        (hash(&found, 0), found["total_results"].as_u64()),
        (shop.commits[3].as_str().into(), Some(1)),
        "{found}"
    );
    // By meaning, changed code: of all times where none is named.
    let found = ask(
        &mut server,
        json!({"query_text": "send a request again after it failed", "chunk_type": "commit_diff", "limit": 1}),
    );
    assert_eq!(shown(&found)[0].1, "def retry_request(times):", "{found}");
    let idle = ask(
        &mut server,
        json!({"query_text": "x", "chunk_type": "commit_message", "show_evolution": true, "include_removed": true}),
    );
    let said = idle["warning"].as_str().unwrap_or_default();
    assert!(said.contains("show_evolution and include_removed count only for code"), "{idle}");
    let found = ask(
        &mut server,
        json!({"query_text": "keep answers in memory", "chunk_type": "commit_diff", "time_range": "2024-01-09..2024-01-11", "limit": 1}),
    );
    assert_eq!(found["results"][0]["file_path"], "store.py", "{found}");
    // Both ways: what says the words comes first.
    let both =
        json!({"query_text": "never right", "chunk_type": "commit_message", "search_mode": "hybrid", "min_score": 0.0});
    let found = ask(&mut server, both);
    assert_eq!(hash(&found, 0), shop.commits[3].as_str(), "{found}");
    let hashes: std::collections::BTreeSet<String> = (0..4).map(|at| hash(&found, at).to_string()).collect();
    assert_eq!((hashes.len(), found["total_results"].as_u64()), (4, Some(4)), "{found}");
    let wrong = json!({"query_text": "zzz(", "regex": true, "chunk_type": "commit_message", "search_mode": "hybrid"});
    assert!(refused(&mut server, wrong).contains("unclosed group"));
    let idle = ask(
        &mut server,
        json!({"query_text": "retry", "chunk_type": "commit_message", "search_mode": "fts", "path_filter": "nowhere/*"}),
    );
    assert!(idle["warning"].as_str().is_some_and(|said| said.contains("a commit message has no path")), "{idle}");
    // Somebody who commits meanwhile is told that this is not searched yet.
    shop.repo.write("new.py", "x = 1\n");
    commit(&shop.repo, 12, "ann", "Unheard of");
    let stale =
        ask(&mut server, json!({"query_text": "unheard", "chunk_type": "commit_message", "search_mode": "fts"}));
    assert!(stale["warning"].as_str().is_some_and(|said| said.contains("moved since it was indexed")), "{stale}");
}

/// Of an author, only what they touched is an answer, and what stands around it is shown all the same.
#[test]
fn lines_of_an_author_are_shown_with_what_stands_around_them() {
    let shop = Shop::new(true);
    let part = |name: &str, number: usize| {
        format!("def {name}_{number}():\n    \"\"\"Does {name}.\"\"\"\n    return {number}\n\n\n")
    };
    let whole = |changed: &str| {
        (0..20).map(|number| part(if number == 10 { changed } else { "kept" }, number)).collect::<String>()
    };
    shop.repo.write("parts.py", whole("kept"));
    commit(&shop.repo, 12, "ann", "Parts");
    shop.repo.write("parts.py", whole("other"));
    commit(&shop.repo, 14, "eve", "Another part");
    shop.place.sync();
    let mut server = shop.serve("code");
    for mode in ["fts", "hybrid"] {
        let asked = json!({"query_text": "other_10", "search_mode": mode, "author": "eve", "snippet_lines": 9});
        let found = ask(&mut server, asked);
        let snippet = found["results"][0]["code_snippet"].as_str().unwrap_or_default();
        assert!(snippet.contains("def kept_9()") && snippet.contains("def kept_11()"), "{found}");
    }
}

#[test]
fn times_that_cannot_be_are_refused_in_every_mode() {
    let shop = Shop::new(true);
    let mut server = shop.serve("code");
    for (range, said) in [
        ("2024-12-31..2024-01-01", "ends before it begins"),
        ("2024-01-05T12:00..2024-01-05T12:01", "is no time_range"),
        ("2024-01-05", "is no time_range"),
        ("..", "is no time_range"),
    ] {
        for mode in ["fts", "semantic", "hybrid"] {
            for chunk_type in ["", "commit_message", "commit_diff"] {
                let asked =
                    json!({"query_text": "retry", "search_mode": mode, "chunk_type": chunk_type, "time_range": range});
                let told = refused(&mut server, asked);
                assert!(told.contains(said), "{range} {mode} {chunk_type}: {told}");
            }
        }
    }
    let whole = ask(
        &mut server,
        json!({"query_text": "retry_request", "search_mode": "fts", "time_range": "0001-01-01..9999-12-31"}),
    );
    assert_eq!(whole["total_results"], 1, "{whole}");
    assert!(refused(&mut server, json!({"query_text": "retry", "at_commit": "HEAD^!"})).contains("no commit"));
}

#[test]
fn a_namesake_elsewhere_does_not_hide_what_was_removed() {
    let place = Place::new();
    let repo = place.repo("tools");
    let setup =
        "def setup(limit):\n    \"\"\"Starts a pool of worker threads.\"\"\"\n    return ThreadPool(limit).start()\n";
    repo.write("pool.py", setup).write("move.py", "def kept(a):\n    return a.everything_of_it()\n");
    commit(&repo, 1, "ann", "Begin");
    repo.write("other.py", "def setup(limit):\n    return open_log(limit)\n").remove("pool.py").remove("move.py");
    repo.write("moved.py", "def kept(a):\n    return a.everything_of_it()\n");
    let gone = commit(&repo, 2, "bob", "Use one thread\n\nThe pool starved.\n");
    place.add(repo.path(), &[]);
    assert!(place.lore.run(&["sync", "--temporal"]).status.success());
    let project = repo.path().to_str().expect("temporary paths are UTF-8");
    let mut server = place.serve(&["--no-refresh", "--toolsets", "why", "--project", project]);
    let answer = server.call("was_tried", &json!({"text": "start a pool of worker threads"}));
    let removed = answer.value["removed"].as_array().expect("a list");
    let of = |name: &str| removed.iter().find(|hit| hit["name"] == name);
    assert_eq!(of("setup").map(|hit| &hit["removed_by"]["commit"]), Some(&json!(gone)), "{}", answer.text);
    let answer = server.call("was_tried", &json!({"text": "kept everything of it"}));
    let removed = answer.value["removed"].as_array().expect("a list");
    assert!(removed.iter().all(|hit| hit["name"] != "kept"), "what was moved is still there: {}", answer.text);
}

#[test]
fn what_was_tried_is_told_with_the_reason() {
    let shop = Shop::new(true);
    let mut server = shop.serve("why");
    let answer = server.call("was_tried", &json!({"text": "retry failed requests"}));
    assert!(!answer.is_error, "{}", answer.text);
    let removed = &answer.value["removed"][0];
    assert_eq!(removed["name"], "retry_request", "{}", answer.text);
    assert_eq!(removed["removed_by"]["commit"], shop.commits[1].as_str());
    assert_eq!(removed["removed_by"]["reason"], "It hid faults of the network.");
    let answer = server.call("was_tried", &json!({"text": "a cache for answers"}));
    let names: Vec<&Value> =
        answer.value["removed"].as_array().expect("a list").iter().map(|hit| &hit["name"]).collect();
    assert!(names.contains(&&json!("cache_answers")), "{}", answer.text);
    assert!(!names.contains(&&json!("send_once")), "what is there was not taken away: {}", answer.text);
    assert_eq!(answer.value["reverted"][0]["commit"], shop.commits[3].as_str(), "{}", answer.text);
    assert_eq!(answer.value["reverted"][0]["reason"], "It was never right.");
    let short = server.call("was_tried", &json!({"text": "retry failed requests", "max_tokens": 60}));
    assert!(short.value["left_out_by_size"].as_u64() > Some(0), "{}", short.text);
    assert!(server.call("was_tried", &json!({"text": " "})).is_error);
}

#[test]
fn the_command_line_searches_the_past() {
    let shop = Shop::new(true);
    let (good, out, _) = shop.run(&["--literal", "def ", "--at", "HEAD~3"]);
    assert!(good);
    assert_eq!(out, "cache.py:1:def cache_answers(answers):\nnet.py:1:def retry_request(times):\n");
    let (_, out, _) = shop.run(&["--literal", "def ", "--since", "2024-01-06", "--until", "2024-01-07", "--removed"]);
    assert_eq!(out, "cache.py:1:def cache_answers(answers):\nnet.py:1:def send_once():\n");
    let (_, out, _) = shop.run(&["keep answers for the next time", "--removed", "--evolution", "-n", "1"]);
    for said in [
        "there from 2024-01-01",
        "the file was renamed by 2024-01-08",
        "renamed 2024-01-08",
        "added 2024-01-01",
        "+def cache_answers(answers):",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let (_, out, _) = shop.run(&["retry", "--author", "bob", "--change", "modified", "--json"]);
    let value: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(value["results"][0]["past"]["removed_by"]["subject"], "Do not retry", "{out}");
    let (_, out, _) = shop.run(&["retry_request", "--literal", "--evolution"]);
    assert_eq!(out, "", "what is not there is not found because its past is asked for");
    let (good, _, err) = shop.run(&["x", "--at", "nothing"]);
    assert!(!good && err.contains("has no commit `nothing`"), "{err}");
    let (good, _, err) = shop.run(&["x", "--since", "someday"]);
    assert!(!good && err.contains("is not a date"), "{err}");

    // It is kept by every sync, told, and can be given up.
    shop.repo.write("new.py", "def brand_new():\n    pass\n");
    let newest = commit(&shop.repo, 12, "ann", "Something new");
    shop.place.sync();
    let (_, out, _) = shop.run(&["--literal", "brand_new", "--at", &newest]);
    assert_eq!(out, "new.py:1:def brand_new():\n");
    let status = shop.place.status("shop");
    assert_eq!(status["temporal"]["commits"], 5, "{status}");
    // A release that was made beside the main branch.
    shop.repo.git(&["checkout", "-q", "-b", "side"]);
    shop.repo.write("side.py", "def only_here():\n    pass\n");
    commit(&shop.repo, 13, "ann", "A release");
    shop.repo.git(&["checkout", "-q", "main"]);
    let (_, out, err) = shop.run(&["--literal", "only_here", "--at", "side"]);
    assert_eq!(out, "side.py:1:def only_here():\n");
    expect_test::expect![[r#"
        note: the commit is not on the first-parent history of the indexed branch of shop: results do not say when their code was added or removed; to see that, name a commit of that branch
    "#]].assert_eq(&err);
    let given_up = shop.place.lore.run(&["sync", "--no-temporal"]);
    assert!(given_up.status.success());
    let (_, _, err) = shop.run(&["brand_new", "--at", &newest]);
    assert!(err.contains("lore sync --temporal"), "{err}");
}

/// A repository with one file that so many commits changed, each leaving it a line of so many bytes.
fn long_story(steps: usize, line: usize) -> Shop {
    let place = Place::new();
    let repo = place.repo("long");
    let mut commits = Vec::new();
    for step in 0..steps {
        let text = format!("{step} ").repeat(line / 3);
        repo.write("story.py", format!("def heron():\n    return 1\n\n\nSTEP = '{text}'\n"));
        commits.push(repo.commit(&format!("Step {step}")));
    }
    place.add(repo.path(), &[]);
    let synced = place.lore.run(&["sync", "--temporal", "--json"]);
    assert!(synced.status.success(), "{}", synced.stderr);
    Shop { place, repo, commits }
}

fn steps_of(result: &Value) -> &Vec<Value> {
    result["temporal_context"]["evolution"].as_array().expect("there is an evolution")
}

#[test]
fn the_number_of_steps_has_no_maximum() {
    let shop = long_story(70, 10);
    let mut server = shop.serve("code");
    let asked = |limit: Value| json!({"query_text": "heron", "search_mode": "fts", "regex": true, "show_evolution": true, "evolution_limit": limit});
    for limit in [json!(70), json!(1000), json!(i64::MAX), json!("1e30")] {
        let found = ask(&mut server, asked(limit.clone()));
        let steps = steps_of(&found["results"][0]);
        assert_eq!(steps.len(), 70, "{limit}");
        assert!(steps.iter().all(|step| step["diff"].is_string()), "{limit}: {found}");
        assert!(found["results"][0]["temporal_context"].get("evolution_has_more").is_none(), "{limit}");
        assert!(found.get("warning").is_none(), "{limit}: {}", found["warning"]);
    }
    let found = ask(&mut server, asked(json!(69)));
    assert_eq!(found["results"][0]["temporal_context"]["evolution_has_more"], true);
}

#[test]
fn diffs_beyond_a_megabyte_are_left_out_and_the_answer_says_how_to_get_them() {
    let shop = long_story(110, 6000);
    let mut server = shop.serve("code");
    let asked = json!({"query_text": "heron", "search_mode": "fts", "regex": true, "show_evolution": true, "evolution_limit": 1000});
    let found = ask(&mut server, asked.clone());
    let steps = steps_of(&found["results"][0]);
    assert_eq!(steps.len(), 110, "every step is named");
    let (shown, left_out): (Vec<&Value>, Vec<&Value>) = steps.iter().partition(|step| step["diff"].is_string());
    let bytes: usize = shown.iter().filter_map(|step| step["diff"].as_str()).map(str::len).sum();
    assert!((1 << 19..=1 << 20).contains(&bytes), "{bytes}");
    assert!(!left_out.is_empty(), "{}", shown.len());
    for step in &left_out {
        assert_eq!(step["not_compared"], "the answer has no room for more diffs", "{step}");
    }
    let warning = found["warning"].as_str().expect("it is announced");
    let expected = format!("{} diffs of the evolution were left out", left_out.len());
    assert!(warning.contains(&expected) && warning.contains("at_commit"), "{warning}");
    // As the answer says, the rest is there from the first step without a diff on.
    let mut rest = asked;
    rest["at_commit"] = left_out[0]["commit_hash"].clone();
    let found = ask(&mut server, rest);
    let steps = steps_of(&found["results"][0]);
    assert_eq!(steps.len(), left_out.len());
    assert!(steps.iter().all(|step| step["diff"].is_string()), "{}", found["warning"]);
}

#[test]
fn commits_are_filtered_by_what_they_changed() {
    let shop = Shop::new(true);
    shop.repo.write("logo.png", b"\x89PNG\0\0first");
    commit(&shop.repo, 12, "ann", "Add the logo");
    shop.repo.write("logo.png", b"\x89PNG\0\0second");
    shop.repo.write("net.py", "def send_twice():\n    send()\n    send()\n");
    commit(&shop.repo, 14, "bob", "Draw the logo again");
    shop.place.sync();
    let mut server = shop.serve("code");
    let subjects = |found: &Value| {
        let commit = |hit: &Value| hit["temporal_context"]["commits"][0]["commit_message"].clone();
        let mut subjects: Vec<String> = found["results"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|hit| commit(hit).as_str().expect("a subject").to_owned())
            .collect();
        subjects.sort();
        subjects
    };
    let revert = "Revert \"Add a cache\"";
    for (kinds, expected) in [
        ("added", vec!["Add the logo", "Begin"]),
        ("modified", vec!["Do not retry", "Draw the logo again"]),
        ("deleted", vec![revert]),
        ("renamed", vec!["Rename the cache"]),
        ("binary", vec!["Add the logo", "Draw the logo again"]),
        ("Added, deleted", vec!["Add the logo", "Begin", revert]),
        ("renamed,binary", vec!["Add the logo", "Draw the logo again", "Rename the cache"]),
        (
            "added,modified,deleted,renamed,binary",
            vec!["Add the logo", "Begin", "Do not retry", "Draw the logo again", "Rename the cache", revert],
        ),
    ] {
        for (mode, regex, text) in
            [("fts", true, "."), ("semantic", false, "begin retry cache logo"), ("hybrid", true, ".")]
        {
            let asked = json!({"query_text": text, "search_mode": mode, "regex": regex, "min_score": 0.0,
                "chunk_type": "commit_message", "diff_type": kinds});
            let found = ask(&mut server, asked);
            assert_eq!(subjects(&found), expected, "{kinds} {mode}: {found}");
            assert_eq!(found["total_results"], expected.len(), "{kinds} {mode}");
            assert!(mode == "semantic" || found.get("warning").is_none(), "{kinds} {mode}: {}", found["warning"]);
        }
    }
    // With an author it is the same commit that must be theirs.
    let asked = json!({"query_text": ".", "search_mode": "fts", "regex": true, "chunk_type": "commit_message",
        "diff_type": "binary", "author": "bob"});
    assert_eq!(subjects(&ask(&mut server, asked)), ["Draw the logo again"]);
    // Of diffs, lines of files that were changed so.
    for (kinds, expected) in [
        ("added", vec!["net.py Begin"]),
        ("modified", vec!["net.py Do not retry", "net.py Draw the logo again"]),
        ("renamed", vec![]),
        ("binary", vec![]),
    ] {
        let asked = json!({"query_text": "^def .*(retry|send)", "search_mode": "fts", "regex": true,
            "chunk_type": "commit_diff", "diff_type": kinds});
        let found = ask(&mut server, asked);
        let mut lines: Vec<String> = found["results"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|hit| {
                let subject = hit["temporal_context"]["commits"][0]["commit_message"].as_str().expect("a subject");
                format!("{} {subject}", hit["file_path"].as_str().expect("a path"))
            })
            .collect();
        lines.sort();
        lines.dedup();
        assert_eq!(lines, expected, "{kinds}: {found}");
        let said = found["warning"].as_str().unwrap_or_default();
        assert_eq!(said.contains("binary files have no text"), kinds == "binary", "{said}");
        assert!(!said.contains("count only for code"), "{said}");
    }
}

/// Each with what the system whose contract this is did.
mod upstream_gets_this_wrong {
    use super::*;

    #[test]
    fn time_range_all_is_not_dropped() {
        let shop = Shop::new(true);
        let mut server = shop.serve("code");
        let asked =
            |all: bool| json!({"query_text": "retry a request", "time_range_all": all, "min_score": 0.0, "limit": 1});
        assert_eq!(shown(&ask(&mut server, asked(true)))[0].1, "def retry_request(times):");
        assert_ne!(shown(&ask(&mut server, asked(false)))[0].1, "def retry_request(times):");
    }

    #[test]
    fn the_evolution_appears_with_its_diffs() {
        let shop = Shop::new(true);
        let mut server = shop.serve("code");
        let found = ask(
            &mut server,
            json!({"query_text": "send once", "show_evolution": true, "evolution_limit": 1, "limit": 1, "min_score": 0.0}),
        );
        let context = &found["results"][0]["temporal_context"];
        let steps = context["evolution"].as_array().expect("there is an evolution");
        assert_eq!(steps.len(), 1, "{context}");
        assert_eq!(steps[0]["commit_hash"], shop.commits[1].as_str());
        assert!(
            steps[0]["diff"].as_str().is_some_and(|diff| diff.contains("-def retry_request(times):\n")),
            "{context}"
        );
        assert_eq!(context["evolution_has_more"], true);
    }

    #[test]
    fn without_a_temporal_index_current_code_answers_with_the_warning() {
        let shop = Shop::new(false);
        let mut server = shop.serve("code");
        for more in [
            json!({"time_range": "2024-01-01..2024-01-03"}),
            json!({"at_commit": "HEAD~3"}),
            json!({"time_range_all": true}),
        ] {
            let mut asked = json!({"query_text": "send_once", "search_mode": "fts"});
            asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            let found = ask(&mut server, asked);
            assert_eq!(
                found["warning"],
                "Temporal index not available. Showing results from current code only. Run `lore sync --temporal` to build it."
            );
            assert_eq!(found["results"][0]["file_path"], "net.py");
        }
    }
}
