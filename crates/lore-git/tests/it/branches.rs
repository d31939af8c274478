//! Branches, compared with what git says of them; and what stands at a path, links included.

use std::{fs, os::unix::fs::symlink};

use lore_git::{Branch, FileKind, Repository, WorkPlace};
use lore_model::{Person, RepoPath};

use crate::repo::{Repo, git};

fn listed(repo: &Repo) -> Vec<Branch> {
    Repository::open(&repo.path).unwrap().local_branches(100, None).unwrap().0
}

fn said(repo: &Repo, args: &[&str]) -> String {
    String::from_utf8(repo.git(args)).unwrap().trim().to_owned()
}

/// What git says a branch has that its upstream has not, and the other way round.
fn left_right(repo: &Repo, left: &str, right: &str) -> (u64, u64) {
    let said = said(repo, &["rev-list", "--left-right", "--count", &format!("{left}...{right}")]);
    let (ours, theirs) = said.split_once('\t').unwrap();
    (ours.parse().unwrap(), theirs.parse().unwrap())
}

#[test]
fn branches_stand_where_git_says() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    repo.git(&["branch", "topic/ünder"]);
    repo.write("a", "2");
    repo.git(&["add", "a"]);
    repo.git(&["-c", "user.name=Ann Example", "commit", "--quiet", "-m", "Second\n\nwith a body"]);
    let found = listed(&repo);
    let names: Vec<(&str, bool)> = found.iter().map(|branch| (branch.name.as_str(), branch.is_current)).collect();
    assert_eq!(names, [("main", true), ("topic/ünder", false)]);
    for branch in &found {
        let tip = branch.tip.as_ref().unwrap();
        let full = format!("refs/heads/{}", branch.name);
        let told = said(&repo, &["log", "-1", "--format=%H %s %an %ct", &full]);
        assert_eq!(told, format!("{} {} {} {}", tip.commit.to_hex(), tip.subject, tip.author, tip.time));
        assert_eq!(branch.upstream, None);
    }
    let (cut, total) = Repository::open(&repo.path).unwrap().local_branches(1, None).unwrap();
    assert_eq!((cut.len(), total), (1, 2));
}

#[test]
fn a_mailmap_is_a_file_that_people_can_have_written() {
    let repo = Repo::new();
    let person = Person { name: "Ann".to_owned(), email: "old@example.com".to_owned() };
    let line = "Ann <new@example.com> <old@example.com>\n";
    let resolved = || repo.open().mailmap().resolve(&person).map(|person| person.email);
    assert_eq!(resolved(), None, "no commit yet");
    repo.write(".mailmap", line).commit();
    assert_eq!(resolved().as_deref(), Some("new@example.com"));
    repo.write(".mailmap", format!("{line}{}", "# no one\n".repeat(2 << 20))).commit();
    assert_eq!(resolved(), None, "too large");
    repo.write("elsewhere", line).remove(".mailmap");
    symlink("elsewhere", repo.path.join(".mailmap")).unwrap();
    repo.commit();
    assert_eq!(resolved(), None, "a link");
}

#[test]
fn a_file_whose_folder_cannot_be_read_is_not_told_to_be_gone() {
    let repo = Repo::new();
    let commit = repo.write("a/file", "x").commit();
    let has = |path: &str| repo.open().has_file(commit, &RepoPath::from(path));
    assert_eq!([has("a/file"), has("a"), has("b")], [Some(true), Some(false), Some(false)]);
    let tree = said(&repo, &["rev-parse", "HEAD:a"]);
    fs::remove_file(repo.path.join(".git/objects").join(&tree[..2]).join(&tree[2..])).unwrap();
    assert_eq!([has("a/file"), has("b")], [None, Some(false)]);
}

#[test]
fn no_object_stands_for_another() {
    let repo = Repo::new();
    let commit = repo.write("a", "1").commit();
    let time = || repo.open().commit_time(commit).unwrap();
    let before = time();
    let other = said(&repo, &["cat-file", "commit", "HEAD"]).replace(&format!(" {before} "), " 1000000000 ");
    let other = git(&repo.path, &["hash-object", "-t", "commit", "-w", "--stdin"], other.as_bytes());
    repo.git(&["replace", &commit.to_hex(), std::str::from_utf8(&other).unwrap().trim()]);
    assert_eq!(said(&repo, &["log", "-1", "--format=%ct"]), "1000000000", "so it is for git");
    assert_eq!(time(), before);
}

#[test]
fn a_branch_may_be_called_like_a_ref() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    repo.git(&["update-ref", "refs/heads/refs/heads/main", "HEAD"]);
    let names = repo.open().branch_names().unwrap();
    assert_eq!(names, ["main", "refs/heads/main"]);
    for name in names {
        assert_eq!(repo.open().get_branch(&name).unwrap().name, format!("refs/heads/{name}"));
    }
}

#[test]
fn ahead_and_behind_are_counted_as_git_counts() {
    let repo = Repo::new();
    for number in 0..3 {
        repo.write("a", number.to_string()).commit();
    }
    repo.git(&["remote", "add", "origin", "/nowhere"]);
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    repo.git(&["branch", "--set-upstream-to=origin/main", "main"]);
    let relation = |name: &str| listed(&repo).into_iter().find(|branch| branch.name == name).unwrap().upstream.unwrap();
    assert_eq!((relation("main").name.as_str(), relation("main").ahead_behind), ("origin/main", Some((1, 0))));

    // Both sides go on, and one of them merges an older state of the other.
    repo.git(&["switch", "--quiet", "--detach", "origin/main"]);
    repo.write("b", "b").commit();
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-edit", "origin/main"]);
    repo.write("c", "c").commit();
    repo.git(&["switch", "--quiet", "--detach", "origin/main"]);
    for number in 0..4 {
        repo.write("b", number.to_string()).commit();
    }
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    repo.git(&["switch", "--quiet", "main"]);
    assert_eq!(relation("main").ahead_behind, Some(left_right(&repo, "main", "origin/main")));
    assert_eq!(relation("main").ahead_behind, Some((3, 4)));

    // A branch that was never fetched has a name and no more.
    repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    assert_eq!((relation("main").name.as_str(), relation("main").ahead_behind), ("origin/main", None));
}

#[test]
fn a_branch_that_cannot_be_read_keeps_no_other_from_being_listed() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    fs::write(repo.path.join(".git/refs/heads/broken"), format!("{}\n", "1".repeat(40))).unwrap();
    let found: Vec<(String, bool)> =
        listed(&repo).into_iter().map(|branch| (branch.name, branch.tip.is_some())).collect();
    assert_eq!(found, [("broken".to_owned(), false), ("main".to_owned(), true)]);
}

#[test]
fn what_stands_at_a_path_is_told_without_following_links() {
    let repo = Repo::new();
    repo.write("src/a.txt", "four");
    symlink("/etc", repo.path.join("out")).unwrap();
    symlink("src", repo.path.join("in")).unwrap();
    let repository = Repository::open(&repo.path).unwrap();
    let at = |path: &str| repository.work_place(&RepoPath::from(path)).unwrap();
    assert_eq!(at(""), WorkPlace::Folder);
    assert_eq!(at("src"), WorkPlace::Folder);
    assert!(matches!(at("src/a.txt"), WorkPlace::File { kind: FileKind::Regular, size: 4, .. }));
    assert!(matches!(at("out"), WorkPlace::File { kind: FileKind::Symlink, .. }));
    assert_eq!(at("out/passwd"), WorkPlace::BehindLink(RepoPath::from("out")));
    assert_eq!(at("in/a.txt"), WorkPlace::BehindLink(RepoPath::from("in")));
    assert_eq!(at("src/a.txt/b"), WorkPlace::Gone);
    for outside in ["..", "../x", ".git/HEAD", "a//b"] {
        assert_eq!(at(outside), WorkPlace::Gone, "{outside}");
    }
}

#[test]
fn the_boundary_of_a_shallow_clone_of_a_shallow_clone_is_told_once() {
    let repo = Repo::new();
    for text in ["1", "2", "3"] {
        repo.write("a", text).commit();
    }
    let place = |name: &str| repo.folder.path().join(name);
    let clone = |options: &[&str], from: &std::path::Path, to: &str| {
        let url = format!("file://{}", from.to_str().unwrap());
        repo.git(&[&["clone", "--quiet"], options, &[&url, place(to).to_str().unwrap()]].concat());
    };
    clone(&["--depth", "2"], &repo.path, "first");
    clone(&["--bare"], &place("first"), "second");
    let boundary = lore_git::Repository::open(&place("first")).unwrap().shallow();
    assert_eq!(boundary.len(), 1);
    // What git has been seen to write there.
    let said = std::fs::read_to_string(place("second/shallow")).unwrap();
    std::fs::write(place("second/shallow"), said.repeat(3)).unwrap();
    assert_eq!(lore_git::Repository::open(&place("second")).unwrap().shallow(), boundary);
}

#[test]
fn names_of_branches_are_no_options_and_no_expressions() {
    for bad in ["", "HEAD", "-x", "--output=f", "a..b", "a b", "a~1", "a^", "a:b", "a\nb", "x.lock", "@{-1}"] {
        assert!(!lore_git::is_branch_name(bad), "{bad:?}");
    }
    assert!(lore_git::is_branch_name("main") && lore_git::is_branch_name("feature/a-b"));
}
