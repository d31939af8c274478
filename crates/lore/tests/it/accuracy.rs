//! `accuracy`: how surely the nearest by meaning are found, over `search_code` and `lore search`.

use std::fmt::Write as _;

use lore_testkit::Repo;
use serde_json::{Value, json};

use crate::place::Place;

const VERBS: &[&str] = &["open", "close", "read", "write", "send", "parse", "check", "merge", "drop", "count"];
const THINGS: &[&str] =
    &["socket", "account", "ledger", "token", "packet", "window", "cursor", "index", "report", "queue"];
const MANNERS: &[&str] = &["quickly", "twice", "later", "in_order", "at_night", "by_name", "with_care", "from_disk"];

/// Functions that differ little from each other, so that small errors of a vector change the order.
fn write_many(repo: &Repo) {
    for (number, verb) in VERBS.iter().enumerate() {
        let mut text = String::new();
        for thing in THINGS {
            for manner in MANNERS {
                writeln!(
                    text,
                    "def {verb}_{thing}_{manner}(first, second):\n    \"\"\"{verb} the {thing} {manner}.\"\"\"\n    return first.{thing}.{verb}(second)\n\n"
                )
                .expect("memory takes it");
            }
        }
        repo.write(format!("src/part_{number}.py"), text);
    }
    repo.commit("Many");
}

#[test]
fn high_accuracy_finds_exactly_the_nearest() {
    let place = Place::new();
    let repo = place.repo("many");
    write_many(&repo);
    let questions: Vec<String> =
        THINGS.iter().zip(VERBS).map(|(thing, verb)| format!("how to {verb} a {thing} later")).collect();
    let file = place.path("questions");
    std::fs::write(&file, questions.join("\n")).expect("the folder takes files");
    let path = repo.path().to_str().expect("temporary paths are UTF-8");
    let printed = place.lore.command(&["debug", "recall", path, "--queries", &file]).output().expect("it starts");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let told: Value = serde_json::from_slice(&printed.stdout).expect("the answer is JSON");
    assert!(told["vectors"].as_u64().is_some_and(|count| count >= 200), "{told}");
    let of = |accuracy: &str, figure: &str| told["accuracy"][accuracy][figure].as_f64().expect("a number");
    assert!(of("high", "recall_at_10") >= 1.0, "{told}");
    // The vectors are those that were there before they were stored with fewer bits.
    assert!(of("high", "mean_error_of_cosine") < 1e-6, "{told}");
    assert!(of("balanced", "mean_error_of_cosine") > 1e-5, "otherwise there was nothing to make exact: {told}");
    assert!(of("balanced", "recall_at_10") >= 0.9 && of("fast", "recall_at_10") >= 0.9, "{told}");
}

#[test]
fn an_accuracy_is_one_of_three() {
    let place = Place::new();
    let repo = place.repo("shop");
    repo.write("src/auth.py", "def authenticate(user):\n    \"\"\"Checks the password.\"\"\"\n    return user.ok\n")
        .commit("Begin");
    place.add(repo.path(), &[]);
    let project = repo.path().to_str().expect("temporary paths are UTF-8");
    let mut server = place.serve(&["--no-refresh", "--toolsets", "code", "--project", project]);
    for accuracy in ["fast", "balanced", "high", "High", ""] {
        let answer = server
            .call("search_code", &json!({"query_text": "check the password", "accuracy": accuracy, "min_score": 0.0}));
        assert!(!answer.is_error, "{accuracy}: {}", answer.text);
        assert_eq!(answer.value["results"]["results"][0]["file_path"], "src/auth.py", "{accuracy}: {}", answer.text);
    }
    let answer = server.call("search_code", &json!({"query_text": "check", "accuracy": "perfect"}));
    assert!(answer.is_error && answer.text.contains("there is no accuracy `perfect`"), "{}", answer.text);
    assert!([&answer.text, &answer.more].iter().any(|said| said.contains("fast, balanced or high")), "{}", answer.text);
    let mut command = place.lore.command(&["search", "check the password", "--accuracy", "high", "--json"]);
    let printed = command.current_dir(repo.path()).output().expect("it starts");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let mut command = place.lore.command(&["search", "x", "--accuracy", "perfect"]);
    let printed = command.current_dir(repo.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(!printed.status.success() && said.contains("fast") && said.contains("high"), "{said}");
}
