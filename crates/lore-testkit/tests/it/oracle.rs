//! The oracle against a `lore` that answers from files: the right answers pass, and each wrong one is named.

use std::path::{Path, PathBuf};

use lore_testkit::{
    Lore, Repo,
    oracle::{Report, Selection, compare},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Answers `show` and `patch` from `$LORE_HOME/<command>-<sha>`, everything else from `$LORE_HOME/<command>`.
const SCRIPT: &str = r#"#!/bin/sh
case $1 in
    show) exec cat "$LORE_HOME/show-$3" ;;
    patch)
        if [ -e "$LORE_HOME/patch-$3" ]; then exec cat "$LORE_HOME/patch-$3"; fi
        echo "error: no patch" >&2
        exit 3 ;;
    *) exec cat "$LORE_HOME/$1" ;;
esac
"#;

struct Fake {
    lore: Lore,
    repo: Repo,
    ids: Vec<String>,
    _dir: TempDir,
}

impl Fake {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let repo = Repo::init(dir.path().join("repo"));
        repo.write("a.txt", "one\ntwo\nthree\n").write("vendor/b.txt", "left out\n");
        let first = repo.commit("First\n\nBody\n");
        repo.git(&["mv", "a.txt", "b.txt"]);
        let second = repo.commit("Second");
        repo.write("image.bin", b"\0\x01\x02");
        let third = repo.commit("Third");
        let lore = Lore::new(&script(dir.path()));
        let fake = Self { lore, repo, ids: vec![first, second, third], _dir: dir };
        fake.answer("repos", &json!({ "repos": [{ "name": "r", "default_branch": "main" }] }));
        fake.answer("status", &json!({ "repos": [{ "name": "r", "commits": 3 }] }));
        let files = [
            json!([{ "path": "a.txt", "status": "A", "old_path": null }]),
            json!([{ "path": "b.txt", "status": "R", "old_path": "a.txt" }]),
            json!([{ "path": "image.bin", "status": "A", "old_path": null }]),
        ];
        for (number, files) in files.into_iter().enumerate() {
            fake.answer(&format!("show-{}", fake.ids[number]), &fake.shown(number, &files));
            if number < 2 {
                std::fs::write(fake.file("patch", number), fake.patch(number)).expect("a writable home");
            }
        }
        fake
    }

    fn shown(&self, number: usize, files: &Value) -> Value {
        let person = |name: &str, email: &str| json!({ "name": name, "email": email });
        let subjects = ["First", "Second", "Third"];
        json!({
            "repo": "r",
            "sha": self.ids[number],
            "subject": subjects[number],
            "body": if number == 0 { json!("Body") } else { Value::Null },
            "author": person("Ada Author", "ada@example.com"),
            "committer": person("Cleo Committer", "cleo@example.com"),
            "date": 1_700_000_000 + 60 * number,
            "commit_date": 1_700_000_000 + 60 * number,
            "parent_count": usize::from(number > 0),
            "changed_files": files,
            "patch": if number < 2 { "stored" } else { "binary_only" },
        })
    }

    fn patch(&self, number: usize) -> Vec<u8> {
        let mut patch = self
            .repo
            .git(&["show", "--format=", "-M", "-C", "--full-index", &self.ids[number], "--", ":!vendor"])
            .into_bytes();
        patch.push(b'\n');
        patch
    }

    fn file(&self, command: &str, number: usize) -> PathBuf {
        self.lore.home().join(format!("{command}-{}", self.ids[number]))
    }

    fn answer(&self, name: &str, value: &Value) {
        std::fs::write(self.lore.home().join(name), value.to_string()).expect("a writable home");
    }

    /// Changes one value of what is shown of a commit, compares, and puts it back.
    fn with(&self, number: usize, pointer: &str, value: Value) -> Vec<String> {
        let file = self.file("show", number);
        let before = std::fs::read_to_string(&file).expect("an answer");
        let mut changed: Value = serde_json::from_str(&before).expect("JSON");
        *changed.pointer_mut(pointer).expect("the value is there") = value;
        std::fs::write(&file, changed.to_string()).expect("a writable home");
        let differences = self.compare().differences;
        std::fs::write(&file, before).expect("a writable home");
        differences
    }

    fn compare(&self) -> Report {
        compare(&self.lore, "r", self.repo.path(), Selection::All).expect("git answers")
    }
}

fn script(dir: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;

    let file = dir.join("lore.sh");
    std::fs::write(&file, SCRIPT).expect("a writable directory");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a file of ours");
    file
}

#[test]
fn right_answers_pass_in_full_and_in_samples() {
    let fake = Fake::new();
    let report = fake.compare();
    assert_eq!(report.differences, [""; 0]);
    assert_eq!((report.commits, report.patches_compared, report.patches_absent, report.lists_compared), (3, 2, 1, 3));
    let sample = Selection::Sample { random: 0, seed: 1, renames_among_newest: 3_000 };
    let report = compare(&fake.lore, "r", fake.repo.path(), sample).unwrap();
    assert_eq!((report.commits, report.differences), (2, vec![]), "the root and the rename");
}

#[test]
fn every_wrong_answer_is_named() {
    let fake = Fake::new();
    for (number, pointer, value, expected) in [
        (0, "/subject", json!("Other"), "subject: git \"First\", lore \"Other\""),
        (0, "/body", json!("Body!"), "body, from byte 4: git 4 bytes, \"Body\", lore 5 bytes, \"Body!\""),
        (1, "/author/name", json!(""), "author/name: git \"Ada Author\", lore \"\""),
        (1, "/date", json!("1700000060"), "date: git 1700000060, lore \"1700000060\""),
        (1, "/parent_count", json!(2), "parent_count: git 1, lore 2"),
        (1, "/changed_files", json!([]), "number of changed files: git 1, lore 0"),
        (
            1,
            "/changed_files/0/old_path",
            json!(null),
            "changed file: git {\"path\":\"b.txt\",\"status\":\"R\",\"old_path\":\"a.txt\"}, lore {\"path\":\"b.txt\",\"status\":\"R\",\"old_path\":null}",
        ),
        (2, "/patch", json!("stored"), "kind of patch: git binary_only, lore \"stored\""),
    ] {
        assert_eq!(fake.with(number, pointer, value), [format!("{} {expected}", fake.ids[number])]);
    }
}

#[test]
fn wrong_patches_and_counts_are_named() {
    let fake = Fake::new();
    std::fs::write(fake.file("patch", 0), b"diff --git a/a.txt b/a.txt\nnew file mode 100755\n").unwrap();
    std::fs::remove_file(fake.file("patch", 1)).unwrap();
    std::fs::write(fake.file("patch", 2), b"").unwrap();
    fake.answer("status", &json!({ "repos": [{ "name": "r", "commits": 4 }] }));
    let differences = fake.compare().differences;
    assert_eq!(differences.len(), 4, "{differences:#?}");
    for part in [
        "patch, from byte 44: git ",
        "exit Some(3), error: no patch",
        "exit Some(0), 0 bytes",
        "count of commits: git 3, lore 4",
    ] {
        assert!(differences.iter().any(|difference| difference.contains(part)), "{part} in {differences:#?}");
    }
}
