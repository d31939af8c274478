//! `lore-dev recall`: how surely each accuracy finds the nearest vectors.

use std::{fmt::Write as _, path::Path};

use lore_testkit::{Lore, Repo};

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
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let lore = Lore::new(Path::new(env!("CARGO_BIN_EXE_lore-dev")));
    let repo = Repo::init(dir.path().join("many"));
    write_many(&repo);
    let questions: Vec<String> =
        THINGS.iter().zip(VERBS).map(|(thing, verb)| format!("how to {verb} a {thing} later")).collect();
    let file = dir.path().join("questions");
    std::fs::write(&file, questions.join("\n")).expect("the folder takes files");
    let told = lore.json(&["recall".as_ref(), repo.path(), "--queries".as_ref(), &file]);
    assert!(told["vectors"].as_u64().is_some_and(|count| count >= 200), "{told}");
    let of = |accuracy: &str, figure: &str| told["accuracy"][accuracy][figure].as_f64().expect("a number");
    assert!(of("high", "recall_at_10") >= 1.0, "{told}");
    // The vectors are those that were there before they were stored with fewer bits.
    assert!(of("high", "mean_error_of_cosine") < 1e-6, "{told}");
    assert!(of("balanced", "mean_error_of_cosine") > 1e-5, "otherwise there was nothing to make exact: {told}");
    assert!(of("balanced", "recall_at_10") >= 0.9 && of("fast", "recall_at_10") >= 0.9, "{told}");
}
