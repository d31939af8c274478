//! Renames, copies, merges, roots, modes and types.

use crate::Odd;

fn check(odd: &Odd, cases: &[(&str, &str)]) {
    for (label, expected) in cases {
        assert_eq!(&odd.status(label), expected, "{label}");
    }
}

#[test]
fn renames_and_copies_are_what_git_calls_so() {
    check(
        &Odd::shared(),
        &[
            ("rename", "R100 src/one.txt src/uno.txt"),
            ("rename-and-edit", "R096 src/two.txt src/dos.txt"),
            ("copy", "M src/three.txt | C100 src/three.txt src/tres.txt"),
            ("copy-and-edit", "C093 src/three.txt src/cuatro.txt | M src/three.txt"),
            ("copy-of-unchanged", "A src/uno-copy.txt"),
            ("rename-to-two", "C100 src/tres.txt src/tres-1.txt | R100 src/tres.txt src/tres-2.txt"),
            (
                "rename-directory",
                "R100 lib/a.txt library/a.txt | R100 lib/b.txt library/b.txt | R100 lib/sub/c.txt library/sub/c.txt",
            ),
            ("rename-empty-file", "R100 notes/empty notes/still-empty"),
            ("swap", "M src/dos.txt | M src/uno.txt"),
        ],
    );
}

#[test]
fn past_the_limit_git_gives_up_on_renames() {
    let odd = Odd::shared();
    let status = odd.status("renames-past-limit");
    let count = |letter: &str| status.split(" | ").filter(|entry| entry.starts_with(letter)).count();
    assert_eq!((count("D "), count("A "), count("R")), (1_001, 1_001, 0));
}

#[test]
fn merges_and_roots_have_the_parents_they_should() {
    let odd = Odd::shared();
    let parents = |label: &str| odd.text(label, "%P").split_whitespace().count();
    for (label, expected) in [
        ("root", 0),
        ("orphan-root", 0),
        ("empty-root", 0),
        ("edit", 1),
        ("merge-conflict", 2),
        ("octopus", 4),
        ("orphan-merge", 2),
        ("raw-parent-twice", 2),
    ] {
        assert_eq!(parents(label), expected, "{label}");
    }
    let roots = odd.git.text(&["rev-list", "--max-parents=0", "HEAD"]).unwrap();
    assert_eq!(roots.lines().count(), 3);
    let all = odd.git.text(&["rev-list", "--count", "HEAD"]).unwrap();
    assert_eq!(all, odd.repo.commits.len().to_string(), "every labelled commit is reachable");
}

#[test]
fn merges_are_shown_against_their_first_parent() {
    check(
        &Odd::shared(),
        &[
            ("merge-conflict", "M merge/shared.txt | A merge/theirs.txt"),
            ("merge-without-effect", ""),
            ("merge-of-rename", "R100 src/dos.txt src/moved.txt"),
            ("octopus", "A octopus/1.txt | A octopus/2.txt | A octopus/3.txt"),
            ("orphan-merge", "A orphan/a.txt"),
            ("empty-root", ""),
            ("empty-root-merge", ""),
            ("empty", ""),
            ("delete-everything", "D README.md | D notes/empty | D src/one.txt | D src/two.txt"),
        ],
    );
}

#[test]
fn a_conflict_was_really_resolved() {
    let odd = Odd::shared();
    let merge = odd.repo.id("merge-conflict");
    let versions: Vec<String> = ["", "^1", "^2"]
        .iter()
        .map(|parent| odd.git.text(&["rev-parse", &format!("{merge}{parent}:merge/shared.txt")]).unwrap())
        .collect();
    assert!(versions[0] != versions[1] && versions[0] != versions[2] && versions[1] != versions[2]);
}

#[test]
fn modes_and_types_change() {
    let odd = Odd::shared();
    check(
        &odd,
        &[
            ("mode-executable", "M run.sh"),
            ("mode-and-edit", "M run.sh"),
            ("mode-and-rename", "R100 run.sh go.sh"),
            ("symlink-added", "A broken-link | A link"),
            ("symlink-changed", "M link"),
            ("symlink-to-file", "T link"),
            ("file-to-symlink", "T link"),
            ("symlink-to-submodule", "T link"),
            ("submodule-to-file", "T link"),
            ("file-to-submodule", "T link"),
            ("submodule-to-symlink", "T link"),
            ("submodule-added", "A .gitmodules | A parts/part"),
            ("submodule-changed", "M parts/part"),
            ("submodule-renamed", "R100 parts/part parts/piece"),
            ("file-to-directory", "D go.sh | A go.sh/inside.txt"),
            ("directory-to-file", "A go.sh | D go.sh/inside.txt"),
        ],
    );
    let patch = |label: &str| String::from_utf8(odd.patch(label)).unwrap();
    assert_eq!(patch("mode-executable"), "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
    // One entry in the list is two in the patch.
    assert_eq!(patch("file-to-symlink").matches("diff --git a/link b/link\n").count(), 2);
    assert!(patch("submodule-changed").contains(&format!("-Subproject commit {}\n", "1".repeat(40))));
}
