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
