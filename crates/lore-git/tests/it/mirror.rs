//! Mirrors that are fetched again and again.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use lore_git::{Cancel, CloneUrl, Fetching, Git, GitError, Mirror, RemotePolicy};

use crate::repo::Repo;

fn packs(mirror: &Path) -> usize {
    let entries = fs::read_dir(mirror.join("objects/pack")).unwrap().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count()
}

#[test]
fn a_mirror_that_is_fetched_often_does_not_scatter() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::new();
    repo.write("a.txt", "begin").commit();
    let url = CloneUrl::parse(&format!("file://{}", repo.path.display())).unwrap();
    let (git, cancel, place) = (Git::new("git"), Cancel::default(), dir.path().join("m.git"));
    let update = || Mirror::new(&git, place.clone(), &url, &cancel).update().unwrap();
    update();
    let mut most = 0;
    for round in 0..30 {
        // So many objects that git keeps what it receives as a pack.
        for file in 0..101 {
            repo.write(format!("f{file}.txt"), format!("{round} {file}"));
        }
        repo.commit();
        repo.git(&["branch", &format!("topic-{round}")]);
        update();
        most = most.max(packs(&place));
    }
    assert!(most > 10 && most <= 21, "{most} packs at a time");
    let inside = |args: &[&str]| {
        let said = repo.git(&[&["--git-dir", place.to_str().unwrap()], args].concat());
        String::from_utf8(said).unwrap()
    };
    assert_eq!(inside(&["rev-list", "--all", "--count"]).trim(), "31");
    assert_eq!(inside(&["for-each-ref", "--format=%(refname)"]).lines().count(), 31);
    inside(&["fsck", "--full", "--strict"]);
}

/// A mirror with so many packs that the next update packs it.
struct Scattered {
    dir: tempfile::TempDir,
    repo: Repo,
    place: PathBuf,
}

impl Scattered {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (repo, place) = (Repo::new(), dir.path().join("m.git"));
        repo.write("a.txt", "begin").commit();
        let scattered = Self { dir, repo, place };
        scattered.update(&Git::new("git"));
        scattered.scatter();
        scattered
    }

    fn scatter(&self) {
        for round in 0..21 {
            self.repo.write("a.txt", format!("round {round}")).commit();
            // As a fetch of very many objects leaves it.
            let fetch = ["fetch", "--quiet", "origin", "+refs/heads/*:refs/heads/*"];
            self.inside(&[&["-c", "fetch.unpackLimit=1"], &fetch[..]].concat());
        }
        assert!(packs(&self.place) > 20);
    }

    fn update(&self, git: &Git) {
        let url = CloneUrl::parse(&format!("file://{}", self.repo.path.display())).unwrap();
        Mirror::new(git, self.place.clone(), &url, &Cancel::default()).update().unwrap();
    }

    fn inside(&self, args: &[&str]) -> String {
        String::from_utf8(self.repo.git(&[&["--git-dir", self.place.to_str().unwrap()], args].concat())).unwrap()
    }

    /// What is neither a whole pack nor part of one.
    fn left(&self) -> Vec<String> {
        let folder = self.place.join("objects/pack");
        let names = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        let mut left: Vec<_> = names
            .filter(|name| !name.starts_with("pack-") || !folder.join(name).with_extension("idx").exists())
            .collect();
        left.sort();
        left
    }

    #[track_caller]
    fn check(&self, commits: &str) {
        assert_eq!(self.inside(&["rev-list", "--all", "--count"]).trim(), commits);
        self.inside(&["fsck", "--full", "--strict"]);
    }
}

#[cfg(unix)]
fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a git that is killed is started like no other")]
fn what_a_killed_repack_leaves_goes_at_the_next_fetch() {
    let mirror = Scattered::new();
    let bin = mirror.dir.path().join("bin");
    // The git that a repack starts writes the new pack and then kills it, before the pack has its name. Its folder comes first
    // in the path, and is not wanted there any more.
    let inner = r#"unset GIT_EXEC_PATH; PATH="${PATH#*:}"; case " $* " in *" pack-objects "*) git "$@"; kill -9 $PPID; exit 1;; esac; exec git "$@""#;
    script(&bin.join("inner/git"), inner);
    let outer = r#"case " $* " in *" repack "*) export GIT_EXEC_PATH="${0%/*}/inner";; esac; exec git "$@""#;
    script(&bin.join("git"), outer);
    mirror.update(&Git::new(bin.join("git")));
    // It is cleared as soon as it is known to be dead. What follows is what the kill of Lore itself leaves.
    assert_eq!(mirror.left(), [""; 0]);
    mirror.check("22");
    assert!(packs(&mirror.place) > 20, "nothing was packed");
    let repack = ["repack", "-d", "-l", "-n", "-q", "--geometric=2"];
    let killed = std::process::Command::new("git")
        .args(repack)
        .env("GIT_DIR", &mirror.place)
        .env("GIT_EXEC_PATH", bin.join("inner"))
        .output();
    assert!(!killed.unwrap().status.success());
    assert!(mirror.left().iter().any(|name| name.starts_with(".tmp-")), "{:?}", mirror.left());
    mirror.update(&Git::new("git"));
    assert_eq!(mirror.left(), [""; 0]);
    assert!(packs(&mirror.place) < 5);
    mirror.check("22");
}

#[test]
fn what_the_dead_leave_goes_and_what_a_living_git_writes_stays() {
    let mirror = Scattered::new();
    let packs = mirror.place.join("objects/pack");
    let left = [".tmp-77-pack-1.idx", "pack-0123.pack", "pack-0123.rev", "tmp_idx_b", "tmp_pack_a"];
    for name in left {
        fs::write(packs.join(name), "half").unwrap();
    }
    let whole = fs::read_dir(&packs).unwrap().flatten().map(|entry| entry.path());
    let is_whole = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("pack-") && name.ends_with(".idx")
    };
    let whole = whole.filter(is_whole).min().unwrap();
    fs::write(whole.with_extension("keep"), "fetch-pack 77 on host").unwrap();
    let object = mirror.place.join("objects/17/tmp_obj_c");
    fs::create_dir_all(object.parent().unwrap()).unwrap();
    fs::write(&object, "half").unwrap();
    // So holds it who writes.
    let writing = File::open(&packs).unwrap();
    writing.lock_shared().unwrap();
    mirror.update(&Git::new("git"));
    assert_eq!(mirror.left(), left);
    assert!(whole.with_extension("keep").exists() && object.exists());
    drop(writing);
    mirror.scatter();
    mirror.update(&Git::new("git"));
    assert_eq!(mirror.left(), [""; 0]);
    assert!(!whole.with_extension("keep").exists() && !object.exists());
    mirror.check("43");
}

#[test]
fn packed_refs_that_were_never_finished_keep_nobody_from_fetching() {
    let mirror = Scattered::new();
    mirror.repo.git(&["branch", "gone"]);
    mirror.update(&Git::new("git"));
    mirror.inside(&["pack-refs", "--all"]);
    fs::write(mirror.place.join("packed-refs.new"), "half").unwrap();
    mirror.repo.git(&["branch", "-D", "gone"]);
    mirror.update(&Git::new("git"));
    assert_eq!(mirror.inside(&["for-each-ref", "--format=%(refname)"]).trim(), "refs/heads/main");
}

#[test]
fn the_branches_of_a_remote_are_known_without_a_mirror() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::new();
    let url = CloneUrl::parse(&format!("file://{}", repo.path.display())).unwrap();
    let (git, cancel, place) = (Git::new("git"), Cancel::default(), dir.path().join("m.git"));
    let branches =
        |fetching: &Fetching| Mirror::new(&git, place.clone(), &url, &cancel).fetching(fetching).remote_branches();
    assert_eq!(branches(&Fetching::default()).unwrap(), [""; 0], "nothing is committed yet");
    repo.write("a.txt", "begin").commit();
    repo.git(&["branch", "feature/heads"]);
    repo.git(&["tag", "v1"]);
    repo.git(&["update-ref", "refs/other/heads/x", "HEAD"]);
    assert_eq!(branches(&Fetching::default()).unwrap(), ["feature/heads", "main"]);
    assert!(!place.exists());
    // Asking is bound by the same policy as fetching.
    let refused = branches(&Fetching { policy: Some(RemotePolicy::default()), ..Fetching::default() }).unwrap_err();
    assert!(matches!(refused, GitError::Refused { .. }), "{refused}");
    fs::rename(&repo.path, dir.path().join("elsewhere")).unwrap();
    let gone = branches(&Fetching::default()).unwrap_err();
    assert!(matches!(&gone, GitError::Failed { .. }) && !gone.is_transient(), "{gone}");
}

#[test]
fn only_what_the_remote_itself_has_checked_out_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::new();
    repo.write("a.txt", "begin").commit();
    repo.git(&["branch", "topic"]);
    repo.git(&["branch", "next"]);
    repo.git(&["symbolic-ref", "refs/other/HEAD", "refs/heads/topic"]);
    let url = CloneUrl::parse(&format!("file://{}", repo.path.display())).unwrap();
    let (git, cancel, place) = (Git::new("git"), Cancel::default(), dir.path().join("m.git"));
    let head = || {
        Mirror::new(&git, place.clone(), &url, &cancel).update().unwrap();
        fs::read_to_string(place.join("HEAD")).unwrap()
    };
    assert_eq!(head(), "ref: refs/heads/main\n");
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/next"]);
    assert_eq!(head(), "ref: refs/heads/next\n");
    repo.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(head(), "ref: refs/heads/next\n");
}

#[test]
fn a_mirror_that_is_damaged_is_cloned_again() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::new();
    repo.write("a.txt", "begin").commit();
    let url = CloneUrl::parse(&format!("file://{}", repo.path.display())).unwrap();
    let (git, cancel, place) = (Git::new("git"), Cancel::default(), dir.path().join("m.git"));
    let update = || Mirror::new(&git, place.clone(), &url, &cancel).update().unwrap();
    let empty = |file: &Path| {
        fs::remove_file(file).unwrap();
        fs::write(file, "").unwrap();
    };
    let objects = || {
        let entries = fs::read_dir(place.join("objects/pack")).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect::<Vec<_>>()
    };
    let damages: [&dyn Fn(); 5] = [
        &|| empty(&place.join("HEAD")),
        &|| empty(&place.join("config")),
        &|| fs::remove_file(place.join("config")).unwrap(),
        &|| objects().iter().for_each(|file| fs::remove_file(file).unwrap()),
        // What a git leaves that was killed while it wrote.
        &|| fs::write(place.join("packed-refs.new"), "").unwrap(),
    ];
    for (number, damage) in damages.iter().enumerate() {
        update();
        assert_eq!(Mirror::check(&git, &place).unwrap(), None, "{number}");
        damage();
        repo.write("a.txt", format!("{number}")).commit();
        repo.git(&["branch", "--force", "passing"]);
        update();
        assert_eq!(Mirror::check(&git, &place).unwrap(), None, "{number}");
        let tip = repo.git(&["rev-parse", "HEAD"]);
        assert_eq!(repo.git(&["--git-dir", place.to_str().unwrap(), "rev-parse", "HEAD"]), tip, "{number}");
        repo.git(&["branch", "-D", "passing"]);
    }
}
