//! Mirrors that are fetched again and again.

use std::{fs, path::Path};

use lore_git::{Cancel, CloneUrl, Git, Mirror};

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
