//! The same history as it can lie on disk, and the hostile repository.

use lore_testkit::{
    Git,
    odd::{self, OddRepo, Variant},
    oracle::{ExpectedPatch, Truth},
};
use tempfile::TempDir;

fn built(variant: Variant) -> (OddRepo, Git, TempDir) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let repo = odd::build(variant, &dir.path().join("odd")).expect("git makes the repository");
    (repo.clone(), Git::at(repo.path), dir)
}

#[test]
fn the_same_calls_make_the_same_objects() {
    let (first, ..) = built(Variant::Main);
    let (second, ..) = built(Variant::Main);
    assert_eq!(first.commits, second.commits);
    // The same on every machine; changes with every change of the history.
    assert_eq!(first.id("last"), "a63623f49673014062dfc62849205c8bde613d34");
}

#[test]
fn a_bare_clone_has_no_working_tree() {
    let (repo, git, _dir) = built(Variant::Bare);
    assert_eq!(git.text(&["rev-parse", "--is-bare-repository"]).unwrap(), "true");
    assert_eq!(git.text(&["rev-parse", "HEAD"]).unwrap(), repo.id("last"));
}

#[test]
fn a_linked_worktree_has_a_head_of_its_own() {
    let (repo, git, _dir) = built(Variant::LinkedWorktree);
    assert!(repo.path.join(".git").is_file());
    assert_eq!(
        git.text(&["rev-parse", "HEAD", "main"]).unwrap(),
        format!("{}\n{}", repo.id("linked"), repo.id("last"))
    );
}

#[test]
fn a_shallow_clone_ends_at_several_commits_one_of_them_a_merge() {
    let (repo, git, _dir) = built(Variant::Shallow);
    let boundary = std::fs::read_to_string(repo.path.join(".git/shallow")).unwrap();
    let boundary: Vec<&str> = boundary.lines().collect();
    assert!(boundary.len() >= 2 && boundary.contains(&repo.id("merge-conflict")), "{boundary:?}");
    let truth = Truth::open(&repo.path, None).unwrap();
    assert_eq!(truth.count().unwrap().to_string(), git.text(&["rev-list", "--count", "HEAD"]).unwrap());
    assert_eq!(truth.details(repo.id("merge-conflict")).unwrap().parent_count, 0);
    assert!(
        matches!(truth.patch(repo.id("merge-conflict")).unwrap(), ExpectedPatch::Stored(patch) if patch.len() > 1_000)
    );
}

#[test]
fn a_blobless_clone_lacks_some_files_and_a_treeless_one_all_trees() {
    let (repo, git, _dir) = built(Variant::Blobless);
    let missing = git.text(&["rev-list", "--objects", "--no-object-names", "--missing=print", "HEAD"]).unwrap();
    assert!(missing.lines().filter(|line| line.starts_with('?')).count() > 100);
    let truth = Truth::open(&repo.path, None).unwrap();
    let patch = |label: &str| truth.patch(repo.id(label)).unwrap();
    assert_eq!(patch("edit"), ExpectedPatch::MissingObjects);
    assert_eq!(patch("rename-and-edit"), ExpectedPatch::MissingObjects);
    assert!(matches!(patch("attributes"), ExpectedPatch::Stored(_)), "its file is still in the working tree");
    assert_eq!(patch("empty"), ExpectedPatch::Stored(Vec::new()));
    let files = truth.files_without_renames(repo.id("rename-and-edit")).unwrap();
    assert_eq!(files.iter().map(|file| file.status).collect::<String>(), "AD", "without the files git sees no rename");
    // The list of exact renames needs no file, but even an empty patch of them does.
    assert!(truth.files(repo.id("odd-paths-renamed")).unwrap().iter().all(|file| file.status == 'R'));
    assert_eq!(patch("odd-paths-renamed"), ExpectedPatch::MissingObjects);

    let (repo, _, _dir) = built(Variant::Treeless);
    let truth = Truth::open(&repo.path, None).unwrap();
    assert_eq!(truth.count().unwrap(), repo.commits.len() as u64);
    assert_eq!(truth.patch(repo.id("edit")).unwrap(), ExpectedPatch::MissingObjects);
    assert_eq!(truth.files_without_renames(repo.id("edit")).unwrap(), []);
    assert_eq!(truth.details(repo.id("edit")).unwrap().subject, b"Commit edit");
}

#[test]
fn other_places_and_hashes_hold_the_same_history() {
    let (repo, _, _dir) = built(Variant::Shared);
    assert!(repo.path.join(".git/objects/info/alternates").is_file());
    assert_eq!(Truth::open(&repo.path, Some("main")).unwrap().count().unwrap(), repo.commits.len() as u64);

    let (repo, git, _dir) = built(Variant::Sha256);
    assert_eq!(repo.id("last").len(), 64);
    assert_eq!(git.text(&["rev-list", "--count", "HEAD"]).unwrap(), repo.commits.len().to_string());
    let truth = Truth::open(&repo.path, None).unwrap();
    let patch = |label: &str| truth.patch(repo.id(label)).unwrap();
    assert!(matches!(patch("patch-at-cap"), ExpectedPatch::Stored(patch) if patch.len() == odd::PATCH_CAP));
    assert_eq!(patch("patch-over-cap"), ExpectedPatch::TooLarge);

    let (repo, git, _dir) = built(Variant::Empty);
    assert!(git.text(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_err());
    let truth = Truth::open(&repo.path, Some("main")).unwrap();
    assert_eq!((truth.count().unwrap(), truth.commits().unwrap().len()), (0, 0));
}

#[test]
fn the_hostile_repository_bites_and_the_oracle_is_not_bitten() {
    let dir = tempfile::tempdir().unwrap();
    let trap = odd::hostile(dir.path()).unwrap();
    assert!(!trap.canary.exists());
    let truth = Truth::open(&trap.path, Some("main")).unwrap();
    for commit in &trap.commits {
        truth.patch(commit).unwrap();
        truth.files(commit).unwrap();
        truth.details(commit).unwrap();
    }
    assert_eq!(truth.count().unwrap(), 4);
    assert!(!trap.canary.exists(), "{:?}", std::fs::read_to_string(&trap.canary));
    let careless: [&[&str]; 5] = [
        &["log", "-p", "--ext-diff"],
        &["show", "--no-ext-diff", "HEAD~2"],
        &["log", "-1", "HEAD"],
        &["status"],
        &["fetch"],
    ];
    for args in careless {
        // Most of these fail when their helper says nothing; that it was asked is what counts.
        let failed = Git::at(&trap.path).bytes(args).is_err();
        assert!(trap.canary.exists(), "git {} did not run anything (failed: {failed})", args.join(" "));
        std::fs::remove_file(&trap.canary).unwrap();
    }
}
