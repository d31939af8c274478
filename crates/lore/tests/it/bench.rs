//! `lore bench quality`: what a repository asks of itself, measured without leaving a trace.

use std::{collections::BTreeMap, fs, path::Path};

use lore_testkit::{Git, Output, Repo, odd};
use serde_json::{Value, json};

use crate::place::Place;

const WORDS: &str = "Every client has a bucket of tokens, and a request takes one of them. Where the bucket is empty, the request \
waits until a token drips into it, which happens at a steady rate that the configuration sets for each client on its own.";

/// A repository whose commits ask for files, with a branch that was merged.
fn shop(place: &Place) -> Repo {
    fill(place.repo("shop"))
}

fn fill(repo: Repo) -> Repo {
    repo.write("src/limit.rs", "pub fn take_token() -> bool {\n    true\n}\n")
        .write("src/retry.rs", "pub fn retry_request() -> u32 {\n    3\n}\n")
        .write("src/odd.rs", "pub fn unrelated() {}\n")
        .write(
            "docs/guide.md",
            format!("# The shop\n\n## Configuring token buckets\n\n{WORDS}\n\n## Short one\n\nfew\n"),
        );
    repo.commit("Begin the shop");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("src/retry.rs", "pub fn retry_request() -> u32 {\n    4\n}\n");
    repo.commit("Retry a request four times");
    repo.git(&["checkout", "--quiet", "main"]);
    // Nothing says these words before this commit; after it, this commit does.
    repo.write("src/odd.rs", "pub fn unrelated() {\n    zanzibar();\n}\n");
    repo.commit("Teach zanzibar to the quagga");
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "Merge the side", "side"]);
    repo.write("src/odd.rs", "pub fn unrelated() {\n    zanzibar();\n    done();\n}\n");
    repo.commit("Quagga no longer needs zanzibar");
    repo.git(&["mv", "src/odd.rs", "src/stable.rs"]);
    repo.commit("Move the quagga next door");
    repo.write("docs/guide.md", format!("# The shop\n\n## Configuring token buckets\n\n{WORDS} Slowly.\n"));
    repo.commit("docs: say how fast token buckets fill");
    repo
}

fn run(place: &Place, args: &[&str]) -> Output {
    place.lore.run(&[&["bench", "quality"], args].concat())
}

/// Every file below a folder with its bytes.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).expect("the file can be read"));
        }
    }
    found
}

fn question<'a>(answer: &'a Value, query: &str) -> &'a Value {
    let all = answer["questions"].as_array().expect("the questions are listed");
    all.iter().find(|one| one["query"] == query).unwrap_or_else(|| panic!("{query} was not asked: {answer}"))
}

#[test]
fn commits_ask_and_what_was_there_before_answers() {
    let place = Place::new();
    let repo = shop(&place);
    let (before, home) = (files(repo.path()), files(place.lore.home()));
    let answer = place.lore.json(&["bench", "quality", &place.path("shop"), "--json"]);
    let fields = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(fields(&answer), "repo about model planned asked shallow ways questions");
    assert_eq!(
        fields(&answer["ways"][0]),
        "name parts ndcg_at_10 mrr_at_10 ndcg_at_10_to_current mrr_at_10_to_current p50_us p95_us tokens_to_first_right answers_with_something_right tokens_of_answers_without"
    );
    let names: Vec<&Value> =
        answer["ways"].as_array().expect("ways are listed").iter().map(|way| &way["name"]).collect();
    assert_eq!(
        names,
        [
            "current settings",
            "without what commits say",
            "without rules",
            "without the model",
            "the model alone",
            "words alone"
        ]
    );
    assert_eq!(
        (&answer["repo"], &answer["about"], &answer["asked"], &answer["planned"]),
        (&json!("shop"), &json!("commits"), &json!(5), &json!(5))
    );
    // On its own branch, which the commit before it in time does not reach.
    let retry = question(&answer, "Retry a request four times");
    assert_eq!((&retry["ranks"], &retry["right"][0]["path"]), (&json!([1]), &json!("src/retry.rs")));
    let later = question(&answer, "Quagga no longer needs zanzibar");
    assert_eq!(later["ranks"], json!([1]));
    let moved = question(&answer, "Move the quagga next door");
    assert_eq!(moved["right"], json!([{"path": "src/odd.rs", "lines": null}]), "it was there under its old name");
    // What a commit brings is not there yet when it asks.
    let words = answer["ways"].as_array().and_then(|ways| ways.last()).expect("there are ways");
    assert_eq!(words["name"], "words alone");
    assert_eq!(
        words["answers_with_something_right"], 3,
        "zanzibar is not there when it is taught, nor is a quagga: {answer}"
    );
    assert!(answer["ways"][0]["tokens_to_first_right"].as_u64() > Some(20), "{answer}");
    assert_eq!(answer["ways"][0]["ndcg_at_10_to_current"], Value::Null);
    assert!(answer["ways"][1]["ndcg_at_10_to_current"]["low"].is_number());
    assert_eq!(files(repo.path()), before, "the repository was not touched");
    assert_eq!(files(place.lore.home()), home, "nor was the index");
}

#[test]
fn people_are_told_what_the_figures_mean() {
    let place = Place::new();
    shop(&place);
    let output =
        place.lore.command(&["bench", "quality", "--commits", "2"]).current_dir(place.path("shop/src")).output();
    let output = output.expect("lore starts");
    let text = String::from_utf8(output.stdout).expect("the output is text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("2 questions from the history of shop"));
    for expected in [
        "NDCG@10",
        "current settings ",
        "words alone ",
        "] itself",
        "With the current settings, ",
        "Each question is the subject of a commit",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn documents_ask_too() {
    let place = Place::new();
    shop(&place);
    let path = place.path("shop");
    let answer = place.lore.json(&["bench", "quality", &path, "--docs", "--json"]);
    assert_eq!((&answer["about"], &answer["asked"]), (&json!("documents"), &json!(2)));
    let section = question(&answer, "how do I configure token buckets");
    assert_eq!(section["right"], json!([{"path": "docs/guide.md", "lines": [3, 5]}]));
    assert_eq!((&section["kind"], &section["ranks"]), (&json!("section"), &json!([1])));
    assert_eq!(question(&answer, "say how fast token buckets fill")["kind"], "commit");
    assert_eq!(answer["outcomes"]["sections"]["first"], 1);
    let text = String::from_utf8(run(&place, &[&path, "--docs"]).stdout).expect("the output is text");
    assert!(text.contains("1 questions from sections: NDCG@10 1.000, MRR@10 1.000."), "{text}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("a folder can be made");
    let empty = place.repo("empty");
    let one = place.repo("one");
    one.write("a.rs", "fn a() {}\n").commit("the only commit there is");
    let shallow = odd::shallow(Path::new(&place.path("shallow"))).expect("git makes the repository");
    let refused = |args: &[&str], expected: &str| {
        let output = run(&place, args);
        assert!(!output.status.success() && output.stderr.contains(expected), "{expected}: {}", output.stderr);
    };
    refused(&[&place.path("folder")], "folder is not a git repository");
    refused(&[&place.path("nowhere")], "nowhere");
    refused(&[empty.path().to_str().expect("UTF-8")], "has no commit yet");
    refused(&[one.path().to_str().expect("UTF-8")], "one has no commit that asks anything");
    refused(&[one.path().to_str().expect("UTF-8"), "--docs"], "one has no document that asks anything");
    refused(&[one.path().to_str().expect("UTF-8"), "--commits", "0"], "--commits");
    // What there is of a shallow clone asks; where that is nothing, it is said why.
    let output = run(&place, &[shallow.path.to_str().expect("UTF-8")]);
    assert!(output.status.success() || output.stderr.contains("--unshallow"), "{}", output.stderr);
    assert!(output.stderr.contains("shallow clone"), "{}", output.stderr);
}

#[test]
fn bare_shared_and_linked_repositories_can_be_measured() {
    let place = Place::new();
    let repo = shop(&place);
    repo.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    repo.git(&["clone", "--quiet", "--shared", ".", "../shared"]);
    repo.git(&["worktree", "add", "--quiet", "../linked"]);
    for (name, called) in [("bare.git", "bare"), ("shared", "shared"), ("linked", "linked")] {
        let answer = place.lore.json(&["bench", "quality", &place.path(name), "--commits", "1", "--json"]);
        assert_eq!((&answer["repo"], &answer["asked"]), (&json!(called), &json!(1)));
    }
}

#[test]
fn other_hashes_and_partial_clones_can_be_measured() {
    let place = Place::new();
    let dir = place.path("long");
    fs::create_dir(&dir).expect("a folder can be made");
    Git::at(&dir).text(&["init", "--quiet", "--object-format=sha256"]).expect("git knows the format");
    let repo = fill(Repo::init(&dir));
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.git(&["clone", "--quiet", "--bare", "--filter=blob:none", &format!("file://{dir}"), "../without-blobs"]);
    for name in ["long", "without-blobs"] {
        let answer = place.lore.json(&["bench", "quality", &place.path(name), "--commits", "1", "--json"]);
        assert_eq!((&answer["repo"], &answer["asked"]), (&json!(name), &json!(1)));
    }
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    let place = Place::new();
    let repo = shop(&place);
    repo.write(".gitattributes", "* diff=evil filter=evil merge=evil\n");
    repo.commit("Leave attributes for somebody else");
    // What names programs, of a repository that is made of nothing else.
    let hostile = odd::hostile(Path::new(&place.path("trap"))).expect("git makes the repository");
    let (from, to) = (hostile.path.join(".git"), repo.path().join(".git"));
    fs::copy(from.join("config"), to.join("config")).expect("the configuration is copied");
    for hook in fs::read_dir(from.join("hooks")).expect("it has hooks") {
        let hook = hook.expect("hooks can be listed").path();
        fs::copy(&hook, to.join("hooks").join(hook.file_name().expect("a hook has a name"))).expect("a hook is copied");
    }
    for docs in [&[][..], &["--docs"]] {
        let output = run(&place, &[&[place.path("shop").as_str(), "--json"], docs].concat());
        assert!(output.status.success(), "{}", output.stderr);
        let ran = fs::read_to_string(&hostile.canary).unwrap_or_default();
        assert!(!hostile.canary.exists(), "it ran {ran}");
    }
    // The trap is a trap: git itself walks into it.
    let shown = Git::at(repo.path()).bytes(&["show", "--ext-diff", "HEAD~1"]);
    assert!(hostile.canary.exists(), "{shown:?}");
}
