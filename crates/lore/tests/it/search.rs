//! The code on the command line: `search`, `status`, `reindex`, `export` and `sync --watch`.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use expect_test::{Expect, expect};
use lore_testkit::{Output, Repo};
use serde_json::{Value, json};

use crate::place::Place;

/// A repository with code in several languages, documents, and what is not to be read.
struct Shop {
    place: Place,
    repo: Repo,
    head: String,
}

impl Shop {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        repo.write("src/limit.rs", LIMIT)
            .write("src/retry.rs", RETRY)
            .write(
                "tools/report.py",
                "def render_report(rows):\n    \"\"\"Renders the monthly report.\"\"\"\n    return rows\n",
            )
            .write("docs/limits.md", "# Limits\n\n## Token bucket\n\nEach client has a token bucket. #quota\n")
            .write("config.toml", "[limits]\nburst = 20\n")
            .write("image.bin", [0, 159, 146, 150, 0])
            .write(".gitignore", "ignored/\n")
            .write(".loreignore", "secret/\n")
            .write("secret/keys.rs", "pub fn secret_bucket() {}\n");
        let head = repo.commit("Add a shop");
        Self { place, repo, head }
    }

    /// A command in the repository.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.lore.command(args);
        command.current_dir(self.repo.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        run(&mut self.command(args))
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", output.stderr);
        serde_json::from_slice(&output.stdout).expect("the answer is JSON")
    }

    /// `path:line` of what a question finds, best first.
    #[track_caller]
    fn found(&self, args: &[&str]) -> Vec<String> {
        let answer = self.json(&[&["search"], args].concat());
        let rows = answer["results"].as_array().expect("results are listed").iter();
        rows.map(|row| format!("{}:{}", row["path"].as_str().unwrap_or_default(), row["lines"][0])).collect()
    }

    /// What a person sees: standard output, then standard error, then the exit code where it is not 0.
    /// Times and scores are not what these tests are about.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
    fn check(&self, args: &[&str], expected: Expect) {
        expected.assert_eq(&self.shown(&self.run(args)));
    }

    fn shown(&self, output: &Output) -> String {
        let mut shown = String::from_utf8_lossy(&output.stdout).into_owned() + &output.stderr;
        if !output.status.success() {
            shown = format!("{shown}{}\n", output.status);
        }
        shown = shown.replace(&self.head, "«head»").replace(&self.head[..10], "«head»");
        shown = shown.replace(&self.place.path(""), "«place»/");
        let words = shown.split_inclusive(char::is_whitespace).collect::<Vec<_>>();
        let mut text = String::new();
        for (at, word) in words.iter().enumerate() {
            let is_time = words.get(at + 1).is_some_and(|next| next.trim().trim_end_matches(';') == "ms");
            let is_score = word.trim().len() == 4 && word.starts_with("0.");
            let moving = if is_time { Some("N") } else { is_score.then_some("0.NN") };
            text.push_str(&moving.map_or_else(|| (*word).to_owned(), |moving| word.replace(word.trim(), moving)));
        }
        text
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("lore can be started");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Output { status: output.status, stdout: output.stdout, stderr }
}

const LIMIT: &str = "\
/// Limits how often a client may call.
pub struct TokenBucket {
    tokens: u32,
}

impl TokenBucket {
    /// Takes one token, if there is one.
    pub fn take(&mut self) -> bool {
        if self.tokens == 0 {
            return false;
        }
        self.tokens -= 1;
        true
    }
}
";

const RETRY: &str = "\
/// Calls again with exponential backoff until it works.
pub fn retry_with_backoff(mut call: impl FnMut() -> bool) {
    let mut pause = 1;
    while !call() {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        pause *= 2;
    }
}
";

#[test]
fn a_repository_without_a_commit_is_not_told_to_be_synced() {
    let place = Place::new();
    let repo = place.repo("new");
    let run = |args: &[&str]| place.lore.command(args).current_dir(repo.path()).output().expect("it starts");
    let searched = run(&["search", "heron"]);
    let told = String::from_utf8_lossy(&searched.stderr).into_owned();
    assert!(searched.status.success() && told.contains("no branch that is indexed has a commit yet"), "{told}");
    assert!(!told.contains("lore sync"), "{told}");
    let status = run(&["status"]);
    let told = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(told.contains("code     nothing: no branch that is indexed has a commit"), "{told}");
    let exported = String::from_utf8_lossy(&run(&["export", "chunks", "out"]).stderr).into_owned();
    assert!(exported.contains("there is nothing of `new`") && !exported.contains("lore sync"), "{exported}");
    repo.write("heron.rs", "pub fn heron() {}\n").commit("Begin");
    let found = String::from_utf8_lossy(&run(&["search", "heron"]).stdout).into_owned();
    assert!(found.contains("heron.rs:1"), "{found}");
}

#[test]
fn a_first_search_registers_and_answers() {
    let shop = Shop::new();
    shop.check(
        &["search", "retry_with_backoff", "--limit", "1"],
        expect![[r#"
            src/retry.rs:1
              1 function retry_with_backoff  1.00
                   1 /// Calls again with exponential backoff until it works.
                   2 pub fn retry_with_backoff(mut call: impl FnMut() -> bool) {
                   3     let mut pause = 1;
                   4     while !call() {
                   5         std::thread::sleep(std::time::Duration::from_millis(pause));
                   6         pause *= 2;
                   7     }
                   8 }

            1 result in shop at «head», N ms; --limit shows more
            registered «place»/shop as `shop` (first use here)
        "#]],
    );
    shop.check(
        &["search", "token bucket", "--limit", "3"],
        expect![[r#"
            src/limit.rs:1
              1 struct TokenBucket  1.00
                   1 /// Limits how often a client may call.
                   2 pub struct TokenBucket {
                   3     tokens: u32,
                   4 }
              3 impl TokenBucket  0.NN  src/limit.rs:6
                   6 impl TokenBucket {
                   7     /// Takes one token, if there is one.
                   8     pub fn take(&mut self) -> bool {
                   9         if self.tokens == 0 {
                  10             return false;
                  11         }
                  12         self.tokens -= 1;

            docs/limits.md:1
              2 heading Limits › Token bucket  0.NN
                   1 # Limits
                   2
                   3 ## Token bucket
                   4
                   5 Each client has a token bucket. #quota

            3 results in shop at «head», N ms; --limit shows more
        "#]],
    );
    // The history is left to those who ask about it.
    assert_eq!(shop.place.status("shop")["state"], "never_synced");
    let log = shop.run(&["log", "shop"]);
    assert!(String::from_utf8_lossy(&log.stdout).contains("Add a shop"), "{log:?}");
}

#[test]
fn results_can_be_opened_from_where_one_stands() {
    let shop = Shop::new();
    shop.run(&["search", "backoff"]);
    let mut command = shop.command(&["search", "retry_with_backoff", "--limit", "1"]);
    let shown = shop.shown(&run(command.current_dir(shop.repo.path().join("docs"))));
    assert!(shown.starts_with("../src/retry.rs:1\n"), "{shown}");
    // Outside, everything that is registered is searched, and paths are whole.
    let shown = shop.shown(&shop.place.lore.run(&["search", "retry_with_backoff", "--limit", "1"]));
    assert!(shown.starts_with("«place»/shop/src/retry.rs:1\n"), "{shown}");
}

#[test]
fn uncommitted_edits_are_seen_at_once() {
    let shop = Shop::new();
    assert!(!shop.found(&["settle_invoice"]).iter().any(|path| path.starts_with("src/invoice.rs")));
    shop.repo.write("src/invoice.rs", "pub fn settle_invoice() {}\n");
    assert_eq!(shop.found(&["settle_invoice", "--limit", "1"]), ["src/invoice.rs:1"]);
    let answer = shop.json(&["search", "settle_invoice", "--limit", "1"]);
    assert_eq!(answer["results"][0]["uncommitted"], true);
    assert_eq!(answer["freshness"][0]["uncommitted"], 1);
    let shown = shop.shown(&shop.run(&["search", "settle_invoice", "--limit", "1"]));
    assert!(shown.contains("uncommitted\n") && shown.contains("with 1 uncommitted file"), "{shown}");
    shop.repo.write("src/retry.rs", "// nothing here\n");
    let shown = shop.shown(&shop.run(&["search", "retry_with_backoff", "--limit", "1"]));
    assert!(!shown.contains("FnMut"), "{shown}");
    shop.repo.commit("Settle invoices");
    let answer = shop.json(&["search", "settle_invoice", "--limit", "1"]);
    assert_eq!(answer["results"][0]["uncommitted"], false);
    assert_eq!(answer["freshness"][0]["state"], "current");
}

#[test]
fn json_answers_are_stable() {
    let shop = Shop::new();
    shop.json(&["search", "x"]);
    let mut answer = shop.json(&["search", "retry_with_backoff", "--limit", "1", "--explain"]);
    assert!(answer["took_ms"].is_u64());
    answer["took_ms"] = 0.into();
    let result = &mut answer["results"][0];
    assert!(result["score"].as_f64().is_some_and(|score| score > 0.0 && score <= 1.0));
    result["score"] = json!("a number");
    let why = &mut result["explanation"];
    for field in ["text", "meaning", "cosine"] {
        assert!(why[field].is_number(), "{field}");
        why[field] = json!("a number");
    }
    let is_rule = |rule: &Value| rule["rule"].is_string() && (rule["adds"].is_number() != rule["times"].is_number());
    assert!(why["rules"].as_array().is_some_and(|rules| rules.iter().all(is_rule)), "{why}");
    why["rules"] = json!("a list");
    assert!(answer["freshness"][0]["indexed_at"].is_i64());
    answer["freshness"][0]["indexed_at"] = 0.into();
    let shown = serde_json::to_string_pretty(&answer).expect("it is JSON").replace(&shop.head, "«head»");
    expect![[r#"
        {
          "query": "retry_with_backoff",
          "kind": "name",
          "results": [
            {
              "repo": "shop",
              "path": "src/retry.rs",
              "lines": [
                1,
                8
              ],
              "kind": "definitions",
              "symbol": "function",
              "name": "retry_with_backoff",
              "container": null,
              "part": null,
              "language": "rust",
              "role": "source",
              "uncommitted": false,
              "score": "a number",
              "title": "retry_with_backoff",
              "id": "code-definitions-src/retry.rs-L1",
              "tags": [
                "code",
                "rust",
                "definitions",
                "src"
              ],
              "text": "/// Calls again with exponential backoff until it works.\npub fn retry_with_backoff(mut call: impl FnMut() -> bool) {\n    let mut pause = 1;\n    while !call() {\n        std::thread::sleep(std::time::Duration::from_millis(pause));\n        pause *= 2;\n    }\n}\n",
              "text_lines": [
                1,
                8
              ],
              "text_cut": false,
              "also_at": [],
              "also_at_more": 0,
              "past": null,
              "explanation": {
                "text": "a number",
                "meaning": "a number",
                "cosine": "a number",
                "second_cosine": null,
                "matched": [
                  "retry_with_backoff",
                  "retry",
                  "with",
                  "backoff"
                ],
                "rules": "a list"
              }
            }
          ],
          "more": true,
          "no_room": 0,
          "too_low": 0,
          "query_cut": false,
          "limit_clamped": null,
          "freshness": [
            {
              "repo": "shop",
              "state": "current",
              "commit": "«head»",
              "indexed_at": 0,
              "uncommitted": 0,
              "uncommitted_error": null,
              "ignore_error": null
            }
          ],
          "embedding": null,
          "past": null,
          "took_ms": 0
        }"#]].assert_eq(&shown);
    let plain = shop.json(&["search", "retry_with_backoff", "--limit", "1"]);
    assert!(plain["results"][0].get("explanation").is_none());
}

#[test]
fn filters_narrow_what_is_found() {
    let shop = Shop::new();
    let all = |args: &[&str], expected: &dyn Fn(&str) -> bool| {
        let found = shop.found(args);
        assert!(!found.is_empty() && found.iter().all(|path| expected(path)), "{args:?}: {found:?}");
    };
    all(&["bucket report", "--lang", "python"], &|path| path.starts_with("tools/report.py:"));
    all(&["bucket report", "--lang", "py"], &|path| path.starts_with("tools/report.py:"));
    all(&["bucket", "--path", "docs/"], &|path| path.starts_with("docs/"));
    all(&["bucket", "--path", "src/**/*.rs"], &|path| path.starts_with("src/"));
    all(&["bucket", "--kind", "struct"], &|path| path == "src/limit.rs:1");
    all(&["bucket", "--type", "documentation"], &|path| path.starts_with("docs/"));
    all(&["bucket", "--tag", "quota"], &|path| path.starts_with("docs/limits.md:"));
    assert_eq!(shop.found(&["bucket", "--lang", "rust", "--kind", "heading"]), Vec::<String>::new());
    shop.check(
        &["search", "bucket", "--lang", "rust", "--kind", "heading"],
        expect![[r#"
        nothing found; try it without --lang, --path, --kind, --type or --tag
    "#]],
    );
    shop.check(
        &["search", "bucket", "--lang", "rsut"],
        expect![[r#"
        error: `rsut` is no language that Lore knows
        hint: did you mean `rust`?
        exit status: 2
    "#]],
    );
    assert_eq!(shop.run(&["search", "bucket", "--kind", "nonsense"]).status.code(), Some(2));
}

#[test]
fn wrong_filters_are_told_before_anything_is_read() {
    let shop = Shop::new();
    for args in [&["--lang", "rsut"][..], &["--path", "src/[a"], &["--path", &"{".repeat(50)]] {
        let output = shop.run(&[&["search", "bucket"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(!shop.place.lore.home().join("lore.db").exists(), "{args:?}: {output:?}");
    }
}

#[test]
fn of_a_very_long_question_the_beginning_counts() {
    let shop = Shop::new();
    let long = (0..200).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" ");
    let answer = shop.json(&["search", &format!("bucket {long}")]);
    let found =
        answer["results"].as_array().is_some_and(|all| all.iter().take(2).any(|one| one["path"] == "src/limit.rs"));
    assert!(answer["query_cut"] == true && found, "{answer}");
    let output = shop.run(&["search", &format!("bucket {long}")]);
    assert!(output.stderr.contains("only its first 64 words"), "{output:?}");
}

#[test]
fn languages_have_several_names_and_dialects() {
    let shop = Shop::new();
    shop.repo.write("web/page.tsx", "export function BucketPage() {\n  return <p>bucket</p>;\n}\n");
    shop.repo.write("app/[slug]/page.tsx", "export function SlugBucket() {\n  return <p>bucket</p>;\n}\n");
    let has = |args: &[&str]| shop.found(&[&["bucket"], args].concat()).iter().any(|path| path.starts_with("web/page"));
    for args in [&["--lang", "tsx"][..], &["--lang", "typescript"], &["--lang", "ts"]] {
        assert!(has(args), "{args:?}");
    }
    for tag in ["tsx", "typescript", "ts", "TypeScript"] {
        assert!(has(&["--tag", tag]), "{tag}");
    }
    assert!(!has(&["--lang", "rs"]) && !has(&["--tag", "golang"]));
    assert!(has(&["--tag", "tsx", "--tag", "", "--tag", "#"]), "an empty tag is none");
    let found = shop.found(&["bucket", "--path", "app/[slug]/page.tsx"]);
    assert!(!found.is_empty() && found.iter().all(|path| path.starts_with("app/[slug]/")), "{found:?}");
}

#[test]
fn the_same_text_elsewhere_is_told_once_and_counted() {
    let place = Place::new();
    let (one, two) = (place.repo("one"), place.repo("two"));
    let function =
        |name: &str| format!("pub fn {name}() {{\n{}}}\n", "    let wheel = turn(spring, gear);\n".repeat(15));
    let (other, copied) = (function("other_thing"), function("wind_copied_clock"));
    for at in 0..30 {
        // Twice in each file.
        one.write(format!("lib/part{at:02}/clock.rs"), format!("{other}\n{copied}\n{copied}"));
    }
    one.write("bin/clock.rs", format!("{other}\n{copied}"));
    two.write("clock.rs", format!("{other}\n{copied}"));
    for repo in [&one, &two] {
        repo.commit("Begin");
        place.add(repo.path(), &[]);
    }
    let ask = |args: &[&str]| {
        let answer =
            place.lore.json(&[&["search", "wind_copied_clock", "--kind", "function", "--json"], args].concat());
        let hits = answer["results"].as_array().expect("a list").clone();
        hits.into_iter()
            .find(|hit| hit["also_at"].as_array().is_some_and(|paths| !paths.is_empty()))
            .expect("there is one")
    };
    let hit = ask(&["--all-repos"]);
    let mut paths: Vec<String> = hit["also_at"].as_array().expect("a list").iter().map(Value::to_string).collect();
    assert!(!paths.contains(&"\"clock.rs\"".to_owned()) && paths.len() == 20, "only of its own repository: {hit}");
    paths.dedup();
    assert_eq!(paths.len(), 20, "each once: {hit}");
    assert_eq!(hit["also_at_more"], 10, "{hit}");
    let hit = ask(&["--repo", "one", "--path", "lib/part0"]);
    let paths = hit["also_at"].as_array().expect("a list");
    assert!(paths.len() == 9 && hit["also_at_more"] == 0, "{hit}");
    assert!(paths.iter().all(|path| path.as_str().is_some_and(|path| path.starts_with("lib/part0"))), "{hit}");
    let hit = ask(&["--repo", "one", "--tag", "lib"]);
    let paths = hit["also_at"].as_array().expect("a list");
    assert!(paths.iter().all(|path| path.as_str().is_some_and(|path| path.starts_with("lib/"))), "{hit}");
}

#[test]
fn a_work_tree_that_cannot_be_read_is_told() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    shop.repo.write("src/new.rs", "pub fn new_bucket() {}\n");
    let tree = shop.repo.git(&["rev-parse", "HEAD^{tree}"]);
    let object = shop.repo.path().join(".git/objects").join(&tree[..2]).join(&tree[2..]);
    fs::remove_file(object).expect("an object can be lost");
    let answer = shop.json(&["search", "bucket"]);
    let fresh = &answer["freshness"][0];
    assert!(fresh["state"] == "stale" && fresh["uncommitted_error"].is_string(), "{fresh}");
    assert!(!answer["results"].as_array().expect("a list").is_empty(), "what is indexed answers");
    let output = shop.run(&["search", "bucket"]);
    assert!(output.stderr.contains("warning: uncommitted work of shop could not be read"), "{output:?}");
    assert!(!output.stderr.contains("has moved since"), "{output:?}");
    let code = shop.json(&["status"])["repos"][0]["code"].clone();
    assert!(code["uncommitted_error"].is_string(), "{code}");
    let output = shop.run(&["export", "chunks", &shop.place.path("out")]);
    assert_eq!(output.status.code(), Some(8), "{output:?}");
}

#[test]
fn a_slip_in_a_project_s_ignore_list_lets_nothing_in() {
    let shop = Shop::new();
    shop.repo.write(".cortex/config.yml", "paths:\n  ignore: ['tools/**']\n");
    shop.repo.commit("Leave tools out");
    let has = |answer: &Value| answer["results"].to_string().contains("tools/report.py");
    assert!(!has(&shop.json(&["search", "render_report"])));
    shop.repo.write(".cortex/config.yml", "paths:\n  ignore: ['tools/**'\n");
    let output = shop.run(&["sync"]);
    assert!(output.status.code() == Some(2) && output.stderr.contains("cannot be understood"), "{output:?}");
    // What is uncommitted has no earlier state at all.
    shop.repo.write("tools/new.py", "def render_report_of_secrets():\n    pass\n");
    let answer = shop.json(&["search", "render_report"]);
    assert!(!has(&answer) && answer["freshness"][0]["ignore_error"].is_string(), "{answer}");
    assert!(!answer["results"].to_string().contains("tools/new.py"), "{answer}");
    assert!(answer["freshness"][0]["uncommitted_error"].is_string(), "{answer}");
    shop.repo.write(".cortex/config.yml", "paths:\n  ignore: []\n");
    assert!(has(&shop.json(&["search", "render_report"])));
}

#[test]
fn the_provider_of_a_project_is_for_that_project_alone() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    // Nobody listens there.
    shop.repo
        .write(".cortex/config.yml", "embedding: {provider: cortex-embed, endpoint: 'http://127.0.0.1:9/embed'}\n");
    let model = |args: &[&str]| shop.json(args)["embedding"]["model"].clone();
    for args in [&["search", "bucket"][..], &["search", "bucket", "--repo", "."]] {
        let model = model(args);
        assert!(model.as_str().is_some_and(|model| model.starts_with("cortex-embed:default#")), "{model}");
    }
    assert_eq!(model(&["search", "bucket", "--all-repos"]), Value::Null);
    let output = shop.run(&["sync", "--repo", "."]);
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    for args in [&["sync"][..], &["search", "bucket", "--all-repos"], &["sync", "--repo", "shop"], &["reindex"]] {
        let output = shop.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
}

#[test]
fn several_repositories_are_searched_together() {
    let shop = Shop::new();
    shop.json(&["search", "bucket"]);
    let other = shop.place.repo("other");
    other.write("lib/bucket.go", "package bucket\n\n// Fill fills the bucket.\nfunc Fill() {}\n");
    other.commit("Add a bucket");
    shop.json(&["add", other.path().to_str().expect("temporary paths are UTF-8"), "--no-sync"]);
    let repos = |args: &[&str]| {
        let answer = shop.json(&[&["search", "bucket"], args].concat());
        let mut repos: Vec<String> =
            answer["results"].as_array().expect("a list").iter().map(|row| row["repo"].to_string()).collect();
        repos.sort();
        repos.dedup();
        repos
    };
    assert_eq!(repos(&[]), ["\"shop\""]);
    // Only what is named is read for a question; the others are told of.
    assert_eq!(repos(&["--all-repos"]), ["\"shop\""]);
    let told = shop.run(&["search", "bucket", "--all-repos"]).stderr;
    assert!(told.contains("other has not been indexed yet: run `lore sync`"), "{told}");
    assert_eq!(repos(&["--repo", "other"]), ["\"other\""]);
    assert_eq!(repos(&["--repo", "other", "--repo", "."]), ["\"other\"", "\"shop\""]);
    assert_eq!(repos(&["--all-repos"]), ["\"other\"", "\"shop\""]);
    assert_eq!(shop.run(&["search", "bucket", "--repo", "nope"]).status.code(), Some(3));
}

#[test]
fn what_is_ignored_is_not_found() {
    let shop = Shop::new();
    shop.repo.write("ignored/made.rs", "pub fn made_bucket() {}\n");
    let found = shop.found(&["secret_bucket made_bucket", "--limit", "50"]);
    assert!(found.iter().all(|path| !path.starts_with("secret/") && !path.starts_with("ignored/")), "{found:?}");
    let status = shop.json(&["status", "--left-out"]);
    let files = status["repos"][0]["code"]["left_out_files"].as_array().expect("a list").clone();
    let paths: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    assert!(paths.contains(&"secret/keys.rs") && paths.contains(&"image.bin"), "{paths:?}");
}

#[test]
fn a_question_needs_words_and_leaves_no_trace_elsewhere() {
    let shop = Shop::new();
    for empty in ["", "  "] {
        let output = shop.run(&["search", empty]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    assert!(!shop.place.lore.home().join("lore.db").exists());
    let home = shop.place.path("fresh");
    let output = shop.place.lore.run(&["--home", &home, "search", "bucket"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!Path::new(&home).exists());
    assert_eq!(shop.run(&["search", "bucket", "--no-sync"]).status.code(), Some(3));
    assert!(!shop.place.lore.home().join("lore.db").exists());
    // Looking does not write into the repository.
    shop.run(&["search", "bucket"]);
    assert_eq!(shop.repo.git(&["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn stale_and_missing_answers_say_so() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    shop.repo.commit("Nothing new");
    let output = shop.run(&["search", "bucket", "--no-sync"]);
    assert!(
        output.stderr.contains("warning: shop has moved since its code was indexed: run `lore sync`"),
        "{output:?}"
    );
    let gone = shop.place.path("elsewhere");
    fs::rename(shop.repo.path(), &gone).expect("a folder can be moved");
    let output = shop.place.lore.run(&["search", "bucket"]);
    assert!(output.status.success() && output.stderr.contains("is no longer where it was"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("src/limit.rs"));
}

#[cfg(unix)]
#[test]
fn a_result_opens_in_the_editor() {
    use std::os::unix::fs::PermissionsExt;
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    let (editor, said) = (shop.place.path("vim"), shop.place.path("said"));
    fs::write(&editor, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{said}'\n")).expect("a script can be written");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).expect("it can be made a program");
    let open = |number: &str, variable: &str| {
        let mut command = shop.command(&["search", "retry_with_backoff", "--kind", "function", "--open", number]);
        run(command.env("EDITOR", variable).env_remove("VISUAL"))
    };
    let output = open("1", &format!("{editor} -n"));
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let file = shop.place.path("shop/src/retry.rs");
    assert_eq!(fs::read_to_string(&said).expect("the editor was started"), format!("-n\n+1\n{file}\n"));
    let output = open("9", &editor);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stderr.contains("there is no result 9"), "{output:?}");
    // No shell reads the variable.
    let trap = shop.place.path("trap");
    let output = open("1", &format!("no-such-editor;touch {trap}"));
    assert!(!output.status.success() && !Path::new(&trap).exists(), "{output:?}");
}

#[test]
fn text_cannot_steer_a_terminal() {
    let shop = Shop::new();
    shop.repo
        .write("src/evil\u{1b}[31m.rs", "// hostile \u{1b}]0;title\u{7} \u{202e}words\r\npub fn hostile_words() {}\n");
    shop.repo.write("long.txt", format!("hostile_words {}\n", "x".repeat(5000)));
    shop.repo.commit("Add something hostile");
    for args in [&["search", "hostile_words", "--explain"][..], &["status", "--left-out"]] {
        let output = shop.run(args);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']), "{shown:?}");
        assert!(shown.lines().all(|line| line.chars().count() < 200), "{shown}");
    }
    assert!(String::from_utf8_lossy(&shop.run(&["search", "hostile_words"]).stdout).contains("hostile_words"));
}

#[test]
fn max_tokens_and_limits_are_kept() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    for (tokens, some) in [("90", false), ("600", true), ("900", true)] {
        // What is said about the answer is there in any case.
        let most = (4 * tokens.parse::<usize>().expect("a number")).max(600);
        for form in [&["--json"][..], &["--json", "--explain"], &[], &["--explain"]] {
            let args = [&["search", "bucket retry report", "--max-tokens", tokens], form].concat();
            let output = shop.run(&args);
            assert!(output.stdout.len() <= most, "{args:?}: {} bytes: {output:?}", output.stdout.len());
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(!some || shown.contains("src/") || shown.contains("tools/"), "{args:?}: {shown}");
        }
    }
    let answer = shop.json(&["search", "bucket retry report", "--max-tokens", "600"]);
    assert!(answer["no_room"].as_u64().is_some_and(|count| count > 0), "{answer}");
    let answer = shop.json(&["search", "bucket", "--limit", "1000"]);
    assert_eq!(answer["limit_clamped"], 100);
    let answer = shop.json(&["search", "bucket", "--limit", "1"]);
    assert_eq!((&answer["limit_clamped"], &answer["more"]), (&Value::Null, &json!(true)));
}

#[test]
fn status_tells_what_is_indexed() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    shop.repo.write("src/new.rs", "fn new() {}\n");
    let code = shop.json(&["status"])["repos"][0]["code"].clone();
    assert_eq!(code["state"], "current");
    assert_eq!((&code["files"], &code["uncommitted"]), (&json!(8), &json!(1)));
    let languages: Vec<&str> =
        code["languages"].as_array().expect("a list").iter().filter_map(|row| row["language"].as_str()).collect();
    assert!(["rust", "python", "markdown", "toml"].iter().all(|name| languages.contains(name)), "{languages:?}");
    let reasons = code["left_out"].as_array().expect("a list");
    assert!(reasons.iter().any(|row| row["reason"] == "binary" && row["count"] == 1), "{reasons:?}");
    let shown = shop.shown(&shop.run(&["status"]));
    assert!(shown.contains("8 files") && shown.contains("1 uncommitted file") && shown.contains("1 binary"), "{shown}");
}

#[test]
fn reindexing_gives_the_same_answers() {
    let shop = Shop::new();
    let ask = || {
        let mut answers = Vec::new();
        for question in ["token bucket", "retry_with_backoff", "render the report", "limits"] {
            let mut answer = shop.json(&["search", question, "--explain"]);
            answer["took_ms"] = Value::Null;
            answer["freshness"][0]["indexed_at"] = Value::Null;
            answers.push(answer);
        }
        answers
    };
    let before = ask();
    let report = shop.json(&["reindex"]);
    assert_eq!(report["repos"][0]["repo"], "shop");
    assert!(report["repos"][0]["read"].as_u64().is_some_and(|read| read > 5), "{report}");
    assert_eq!(ask(), before);
    // What is damaged says what to do, and doing that mends it.
    let segment = segment(&shop.place);
    let mut bytes = fs::read(&segment).expect("a segment can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&segment, bytes).expect("a segment can be written");
    let output = shop.run(&["doctor", "--deep"]);
    let shown = shop.shown(&output);
    assert!(!output.status.success() && shown.contains("lore reindex"), "{shown}");
    fs::write(&segment, b"no segment at all").expect("a segment can be written");
    let output = shop.run(&["search", "bucket"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(output.stderr.contains("hint: run `lore reindex`"), "{output:?}");
    shop.json(&["reindex"]);
    assert_eq!(ask(), before);
    assert!(!segment.exists(), "what was damaged is gone");
    fs::remove_file(self::segment(&shop.place)).expect("a file can be deleted");
    let output = shop.run(&["search", "bucket"]);
    assert!(output.stderr.contains("hint: run `lore reindex`"), "{output:?}");
    shop.json(&["reindex", "--repo", "."]);
    assert_eq!(ask(), before);
    let doctor = shop.json(&["doctor", "--deep"]);
    assert!(
        doctor["findings"].as_array().is_some_and(|rows| rows.iter().all(|row| row["level"] != "broken")),
        "{doctor}"
    );
}

fn segment(place: &Place) -> std::path::PathBuf {
    let mut files = fs::read_dir(place.lore.home().join("segments")).expect("there are segments");
    files.next().expect("there is one").expect("it can be listed").path()
}

#[test]
fn chunks_are_exported_with_vectors() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    shop.repo.write("src/new.rs", "pub fn brand_new() {}\n");
    let folder = shop.place.path("out/chunks");
    let report = shop.json(&["export", "chunks", &folder]);
    let mut ids = std::collections::HashSet::new();
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        names.push(path.file_name().expect("it has a name").to_string_lossy().into_owned());
        let file: Value = serde_json::from_slice(&fs::read(&path).expect("it can be read")).expect("it is JSON");
        let about = &file["_metadata"];
        assert_eq!((&about["dimensions"], &about["version"]), (&json!(384), &json!("2.0.0")));
        assert!(about["generated"].as_str().is_some_and(|moment| moment.ends_with('Z')), "{about}");
        for chunk in file["chunks"].as_array().expect("chunks are listed") {
            assert_eq!(chunk["chunk_type"], about["chunk_type"]);
            assert_eq!(chunk["embedding"].as_array().map(Vec::len), Some(384));
            assert!(chunk["title"].is_string() && chunk["text"].is_string() && chunk["tags"].is_array(), "{chunk}");
            let is_new = chunk["metadata"]["uncommitted"] == true;
            assert!(is_new || chunk["created_at"] == "2023-11-14T22:13:20Z", "{chunk}");
            assert!(ids.insert(chunk["id"].to_string()), "{} twice", chunk["id"]);
        }
    }
    names.sort();
    assert_eq!(names, ["code-data.json", "code-definitions.json", "code-symbols.json", "doc-chunks.json"]);
    assert!(ids.contains("\"code-symbols-src/new.rs\""), "{ids:?}");
    let counted: u64 =
        report["files"].as_array().expect("a list").iter().filter_map(|file| file["chunks"].as_u64()).sum();
    assert_eq!(counted, ids.len() as u64);
    assert_eq!(shop.run(&["export", "chunks", "/dev/null/x"]).status.code(), Some(7));
}

#[test]
fn a_part_is_not_exported_for_the_whole() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    let database = shop.place.lore.home().join("lore.db");
    let connection = rusqlite::Connection::open(database).expect("the index can be opened");
    // As a first index leaves it that was cut off.
    connection.execute("UPDATE code_state SET partial = 1, complete = 0", []).expect("it can be written");
    drop(connection);
    let folder = shop.place.path("out");
    let output = shop.run(&["export", "chunks", &folder]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(output.stderr.contains("only a part of `shop`") && output.stderr.contains("lore sync"), "{output:?}");
    assert!(!Path::new(&folder).exists());
    shop.run(&["sync"]);
    assert!(shop.run(&["export", "chunks", &folder]).status.success());
}

#[test]
fn in_a_linked_work_tree_that_tree_is_exported() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    shop.repo.write("src/main_only.rs", "pub fn main_only() {}\n");
    let linked = shop.place.path("linked");
    shop.repo.git(&["worktree", "add", "--quiet", "--detach", &linked]);
    fs::write(Path::new(&linked).join("src/linked_only.rs"), "pub fn linked_only() {}\n").expect("it can be written");
    let folder = shop.place.path("out");
    let output = run(shop.place.lore.command(&["export", "chunks", &folder]).current_dir(&linked));
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(Path::new(&folder).join("code-symbols.json")).expect("it can be read");
    assert!(text.contains("linked_only") && !text.contains("main_only"), "{text}");
}

/// What Ctrl-C does.
#[expect(clippy::disallowed_methods, reason = "not git: a signal needs a program or unsafe code")]
fn interrupt(process: u32) {
    let sent = Command::new("kill").args(["-INT", &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

#[test]
fn watching_syncs_what_moves() {
    let shop = Shop::new();
    shop.run(&["search", "bucket"]);
    let mut command = shop.command(&["sync", "--watch"]);
    let mut watching = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lore can be started");
    let mut lines = BufReader::new(watching.stdout.take().expect("it is piped")).lines();
    let mut next = || lines.next().expect("a line follows").expect("it is text");
    let first = next();
    assert!(first.starts_with("shop: 1 commit read"), "{first}");
    shop.repo.write("src/later.rs", "pub fn written_later() {}\n");
    shop.repo.commit("Add later");
    let second = next();
    assert!(second.contains("shop: 1 commit read, 1 file read; 2 commits"), "{second}");
    assert_eq!(shop.found(&["written_later", "--no-sync", "--limit", "1"]), ["src/later.rs:1"]);
    interrupt(watching.id());
    assert!(watching.wait().expect("it ends").success());
}

#[test]
fn an_embedding_service_that_is_down_stops_nobody_from_asking() {
    let shop = Shop::new();
    let with = |args: &[&str]| {
        let mut command = shop.command(args);
        command.env("LORE_EMBEDDING_PROVIDER", "openai").env("LORE_EMBEDDING_ENDPOINT", "http://127.0.0.1:9/v1");
        run(command.env("LORE_EMBEDDING_API_KEY", "12345"))
    };
    let output = with(&["search", "bucket"]);
    assert_eq!(output.status.code(), Some(8), "without a model that is no configuration: {output:?}");
    let with = |args: &[&str]| {
        let mut command = shop.command(args);
        command.env("LORE_EMBEDDING_PROVIDER", "openai").env("LORE_EMBEDDING_ENDPOINT", "http://127.0.0.1:9/v1");
        command.env("LORE_EMBEDDING_MODEL", "small");
        run(command.env("LORE_EMBEDDING_API_KEY", "12345"))
    };
    let output = with(&["sync"]);
    let said = &output.stderr;
    assert!(output.status.code() == Some(8) || said.contains("no repository"), "{said}");
    for args in [&["search", "bucket"][..], &["log", "shop"], &["repos"], &["status"], &["config", "show"]] {
        let output = with(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("12345"), "{output:?}");
    }
    let shown: Value = serde_json::from_slice(&with(&["config", "show", "--json"]).stdout).expect("it is JSON");
    assert_eq!(shown["embedding_api_key"]["value"], "set");
    assert!(!with(&["doctor"]).status.success());
}

/// A service that knows apples from beans, in 16 dimensions.
fn taste_service() -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let endpoint = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
            for line in head.to_lowercase().lines() {
                length =
                    line.strip_prefix("content-length:").and_then(|text| text.trim().parse().ok()).unwrap_or(length);
            }
            let mut body = vec![0; length];
            let Ok(asked) = reader.read_exact(&mut body).map(|()| serde_json::from_slice::<Value>(&body)) else {
                continue;
            };
            let texts = asked.expect("it is JSON")["input"].as_array().cloned().unwrap_or_default();
            let vector = |text: &Value| {
                let text = text.as_str().unwrap_or_default();
                let mut vector = vec![0.01; 16];
                vector[0] = f32::from(u8::from(text.contains("apple") || text.contains("りんご")));
                vector[1] = f32::from(u8::from(text.contains("bean") || text.contains("豆")));
                vector
            };
            let data: Vec<Value> = texts.iter().map(|text| serde_json::json!({"embedding": vector(text)})).collect();
            let body = serde_json::json!({"data": data}).to_string();
            let head = format!("HTTP/1.1 200 x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            drop((&stream).write_all((head + &body).as_bytes()));
        }
    });
    endpoint
}

#[test]
fn a_service_is_a_second_model() {
    let shop = Shop::new();
    shop.repo
        .write("src/a.rs", "/// Peels an apple.\npub fn peel() {}\n")
        .write("src/b.rs", "/// Boils a bean.\npub fn boil() {}\n");
    shop.repo.commit("Food");
    let endpoint = taste_service();
    let with = |args: &[&str]| {
        let mut command = shop.command(args);
        command.env("LORE_EMBEDDING_PROVIDER", "openai").env("LORE_EMBEDDING_MODEL", "taste");
        run(command.env("LORE_EMBEDDING_ENDPOINT", &endpoint))
    };
    let json = |args: &[&str]| -> Value {
        let output = with(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    };
    // A first search does not wait for the service.
    let before = json(&["search", "りんご"]);
    let is_it = |model: &serde_json::Value| model.as_str().is_some_and(|name| name.starts_with("openai:taste#"));
    assert!(is_it(&before["embedding"]["model"]) && before["embedding"]["covered"] == 0, "{before}");
    let synced = json(&["sync"]);
    let done = &synced["repos"][0]["embedding"];
    assert!(done["embedded"].as_u64() > Some(2) && done["error"].is_null(), "{synced}");
    assert_eq!(json(&["sync"])["repos"][0]["embedding"]["embedded"], 0);
    for (question, path) in [("りんご", "src/a.rs"), ("豆", "src/b.rs")] {
        let found = json(&["search", question, "--explain"]);
        assert_eq!(found["results"][0]["path"], path, "{found}");
        assert!(found["results"][0]["explanation"]["second_cosine"].as_f64() > Some(0.9), "{found}");
        assert_eq!(found["embedding"]["covered"], found["embedding"]["chunks"]);
    }
    let status = json(&["status"]);
    let covered = &status["repos"][0]["code"]["embedding"];
    assert!(is_it(&covered["model"]) && covered["covered"] == covered["chunks"], "{status}");
    let said = String::from_utf8_lossy(&with(&["status"]).stdout).into_owned();
    assert!(said.contains("meaning  openai:taste#") && said.contains("(100 %)"), "{said}");
    let said = String::from_utf8_lossy(&with(&["search", "apple", "--explain"]).stdout).into_owned();
    assert!(said.contains(", second 1.00)"), "{said}");
    // Without it everything is as before.
    assert!(shop.json(&["search", "apple"])["embedding"].is_null());
}
