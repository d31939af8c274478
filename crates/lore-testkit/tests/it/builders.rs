//! The small repository and the driver of the binary.

use std::path::Path;

use lore_testkit::{Lore, Repo};

fn three_commits(dir: &Path) -> Vec<String> {
    let repo = Repo::init(dir);
    repo.write("src/a.rs", "fn a() {}\n").write("old.txt", "old\n");
    let first = repo.commit("Add a");
    repo.git(&["mv", "old.txt", "new.txt"]);
    let second = repo.commit("Rename\n\nWith a body\n");
    repo.remove("new.txt");
    vec![first, second, repo.commit(""), repo.commit("Nothing changed")]
}

#[test]
fn small_repositories_are_the_same_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = three_commits(&dir.path().join("one"));
    assert_eq!(first, three_commits(&dir.path().join("two")));
    let repo = Repo::init(dir.path().join("one"));
    assert_eq!(
        repo.git(&["log", "--format=%at|%s|%an", "--reverse"]).lines().collect::<Vec<_>>(),
        [
            "1700000000|Add a|Ada Author",
            "1700000060|Rename|Ada Author",
            "1700000120||Ada Author",
            "1700000180|Nothing changed|Ada Author",
        ]
    );
    assert_eq!(repo.git(&["show", "--format=", "--name-status", "-M", &first[1]]), "R100\told.txt\tnew.txt");
    assert_eq!(repo.git(&["branch", "--show-current"]), "main");
}

#[test]
fn the_binary_sees_nothing_but_its_homes_the_path_and_a_time_zone() {
    let lore = Lore::new(Path::new("env"));
    let printed = String::from_utf8(lore.ok(&["-u", "NOTHING"])).unwrap();
    let mut names: Vec<&str> = printed.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LORE_HOME", "PATH", "TZ"]);
    assert!(lore.home().is_dir() && lore.user_home().is_dir());
    assert_eq!(lore.json(&["printf", "[1]"]), serde_json::json!([1]));
    let failed = lore.run(&["sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(
        (failed.status.code(), failed.stdout.as_slice(), failed.stderr.as_str()),
        (Some(7), b"out\n".as_slice(), "err\n")
    );
}
