//! The command line for people: `log`, `touches`, `show` and `patch`.

use std::{fmt::Write as _, path::Path};

use expect_test::{Expect, expect};
use lore_testkit::Repo;
use serde_json::{Value, json};

use crate::place::Place;

/// A repository whose commits differ in author, date, words and files.
struct Shop {
    place: Place,
    repo: Repo,
    names: Vec<(String, &'static str)>,
}

impl Shop {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        repo.write("src/limit.rs", "pub struct Limit;\n");
        let add = repo.commit("Add a rate limiter\n\nFixes #482.\n\n    indented\n");
        repo.git(&["mv", "src/limit.rs", "src/bucket.rs"]);
        repo.git(&[
            "commit",
            "--quiet",
            "--author=Bo Bell <bo@old.example>",
            "--date=2024-02-01T12:00:00Z",
            "-m",
            "Call the limiter a bucket",
        ]);
        let rename = repo.git(&["rev-parse", "HEAD"]);
        repo.write(".mailmap", "Bo Bell <bo@new.example> <bo@old.example>\n").write("image.bin", [0, 1, 2]);
        let both = repo.commit("Add a mailmap and an image");
        repo.git(&["checkout", "--quiet", "-b", "side", &add]);
        repo.write("docs/limit.md", "limits\n");
        repo.commit("Document limits");
        repo.git(&["checkout", "--quiet", "main"]);
        repo.git(&["merge", "--quiet", "--no-ff", "-m", "Merge the documents", "side"]);
        let merge = repo.git(&["rev-parse", "HEAD"]);
        place.add(repo.path(), &[]);
        Self { place, repo, names: vec![(add, "add"), (rename, "rename"), (both, "both"), (merge, "merge")] }
    }

    fn sha(&self, name: &str) -> &str {
        self.names.iter().find(|(_, known)| *known == name).map(|(sha, _)| sha.as_str()).expect("a known name")
    }

    /// What a person sees: standard output, then standard error, then the exit code where it is not 0.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
    fn check(&self, args: &[&str], expected: Expect) {
        let output = self.place.lore.run(args);
        let mut shown = String::from_utf8_lossy(&output.stdout).into_owned() + &output.stderr;
        if !output.status.success() {
            writeln!(shown, "{}", output.status).expect("writing to a string cannot fail");
        }
        for (sha, name) in &self.names {
            shown = shown.replace(sha, &format!("«{name}»")).replace(&sha[..12], &format!("«{name}»"));
        }
        expected.assert_eq(&shown);
    }

    /// The subjects that a question finds.
    #[track_caller]
    fn found(&self, args: &[&str]) -> Vec<String> {
        let answer = self.place.lore.json(&[args, &["--json"]].concat());
        let rows = answer["results"].as_array().expect("results are listed").iter();
        rows.map(|row| row["subject"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

#[test]
fn log_shows_commits_with_their_files() {
    let shop = Shop::new();
    shop.check(
        &["log", "limiter"],
        expect![[r#"
        «rename» shop 2024-02-01 Bo Bell
          Call the limiter a bucket
          src/bucket.rs
        «add» shop 2023-11-14 Ada Author
          Add a rate limiter
          src/limit.rs
    "#]],
    );
    shop.check(
        &["log", "rate", "limiter", "--limit", "1", "--path", "src"],
        expect![[r#"
        «add» shop 2023-11-14 Ada Author
          Add a rate limiter
          src/limit.rs
    "#]],
    );
    shop.check(
        &["log", "zebra"],
        expect![[r#"
        nothing found; try fewer words, a prefix* or OR between them
    "#]],
    );
    shop.check(
        &["log", "limit*", "--limit", "1"],
        expect![[r#"
        00590c61a6b8 shop 2023-11-14 Ada Author
          Document limits
          docs/limit.md
        (the best one is shown; --limit shows more)
    "#]],
    );
}

#[test]
fn log_filters() {
    let shop = Shop::new();
    let log = |flags: &[&str]| shop.found(&[&["log", "add OR call OR document*"], flags].concat());
    let all = log(&[]);
    assert_eq!(all.len(), 5, "{all:?}");
    let bo = ["Call the limiter a bucket"];
    assert_eq!(log(&["--since", "2024-01-01"]), bo);
    assert_eq!(log(&["--since", "2024-02-01", "--until", "2024-02-01"]), bo);
    assert_eq!(log(&["--since", "2024-02-02"]), [""; 0]);
    assert_eq!(log(&["--until", "2023"]).len(), 4);
    assert_eq!(log(&["--since", "1w"]), [""; 0]);
    assert_eq!(log(&["--author", "bell"]), bo);
    assert_eq!(log(&["--author", "bo@old"]), bo);
    assert_eq!(log(&["--author", "bo@new"]), bo);
    assert_eq!(log(&["--author", "%"]), [""; 0]);
    assert_eq!(log(&["--path", "docs/", "--path", "bucket"]).len(), 3);
    assert_eq!(log(&["--repo", "shop", "--limit", "2"]).len(), 2);
    shop.check(
        &["log", "x", "--since", "yesterday-ish"],
        expect![[r#"
        error: `yesterday-ish` is not a date
        hint: use 30m, 12h, 3d, 2w, 6mo or 1y for an age, or a date like 2025-03-01
        exit status: 2
    "#]],
    );
    shop.check(
        &["log", "x", "--repo", "shopp"],
        expect![[r#"
            error: Repository shopp not found. Registered repositories: shop
            hint: did you mean `shop`? `lore add PATH` registers another
            exit status: 3
        "#]],
    );
    shop.check(
        &["log", "x", "--limit", "many"],
        expect![[r#"
        error: invalid value 'many' for '--limit <NUMBER>': invalid digit found in string

        For more information, try '--help'.
        exit status: 2
    "#]],
    );
}

#[test]
fn touches_shows_what_happened_to_a_path() {
    let shop = Shop::new();
    shop.check(
        &["touches", "src/"],
        expect![[r#"
        «rename» shop 2024-02-01 R src/bucket.rs (from src/limit.rs)  Call the limiter a bucket
        «add» shop 2023-11-14 A src/limit.rs  Add a rate limiter
    "#]],
    );
    shop.check(
        &["touches", "limit", "--limit", "1", "--author", "ada"],
        expect![[r#"
        «merge» shop 2023-11-14 A docs/limit.md  Merge the documents
        (the newest one is shown; --limit shows more)
    "#]],
    );
    shop.check(
        &["touches", "zebra"],
        expect![[r#"
        nothing found: no indexed commit changed such a path
    "#]],
    );
    assert_eq!(shop.found(&["touches", "limit", "--since", "2024-01-01"]), [""; 0]);
}

#[test]
fn show_tells_everything_of_a_commit() {
    let shop = Shop::new();
    shop.check(
        &["show", "shop", &shop.sha("add")[..8]],
        expect![[r#"
        commit «add» (shop)
        Author:    Ada Author <ada@example.com>
        Date:      2023-11-14 22:13:20 +0000
        Committer: Cleo Committer <cleo@example.com>

            Add a rate limiter

            Fixes #482.

                indented

        A src/limit.rs

        diff --git a/src/limit.rs b/src/limit.rs
        new file mode 100644
        index 0000000000000000000000000000000000000000..c5f77e1895d883b2f8443306dafb68a59ead1e94
        --- /dev/null
        +++ b/src/limit.rs
        @@ -0,0 +1 @@
        +pub struct Limit;
    "#]],
    );
    shop.check(
        &["show", "shop", shop.sha("rename")],
        expect![[r#"
        commit «rename» (shop)
        Author:    Bo Bell <bo@old.example>
        Mailmap:   Bo Bell <bo@new.example>
        Date:      2024-02-01 12:00:00 +0000
        Committer: Cleo Committer <cleo@example.com>
        Committed: 2023-11-14 22:14:20 +0000

            Call the limiter a bucket

        R src/bucket.rs (from src/limit.rs)

        diff --git a/src/limit.rs b/src/bucket.rs
        similarity index 100%
        rename from src/limit.rs
        rename to src/bucket.rs
    "#]],
    );
    shop.check(
        &["show", "shop", shop.sha("merge")],
        expect![[r#"
        commit «merge» (shop)
        Author:    Ada Author <ada@example.com>
        Date:      2023-11-14 22:16:20 +0000
        Committer: Cleo Committer <cleo@example.com>
        Merge of 2 parents; files and diff are against the first

            Merge the documents

        A docs/limit.md

        diff --git a/docs/limit.md b/docs/limit.md
        new file mode 100644
        index 0000000000000000000000000000000000000000..3b345082ae4b2b0e0f12090c2731dcb2beaca548
        --- /dev/null
        +++ b/docs/limit.md
        @@ -0,0 +1 @@
        +limits
    "#]],
    );
    shop.check(&["show", "shop", "abcdef"], expect![[r#"
        error: Commit shop:abcdef not found
        hint: no commit of shop begins with these digits: a search or touches result names it, and `lore status` shows how fresh the index is
        exit status: 3
    "#]]);
}

#[test]
fn json_answers_are_stable() {
    let shop = Shop::new();
    let fields = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ");
    let log = shop.place.lore.json(&["log", "limiter", "--json"]);
    assert_eq!(fields(&log), "results more query_quoted limit_clamped freshness");
    assert_eq!(
        fields(&log["results"][0]),
        "repo sha subject author date matched_paths matched_paths_left_out patch_preview score"
    );
    let touches = shop.place.lore.json(&["touches", "src", "--json"]);
    assert_eq!(fields(&touches), "results more limit_clamped freshness");
    assert_eq!(fields(&touches["results"][0]), "repo sha subject date path status old_path");
    assert_eq!(fields(&touches["freshness"][0]), "repo state head last_synced_at");
    let show = shop.place.lore.json(&["show", "shop", shop.sha("rename"), "--json"]);
    assert_eq!(
        fields(&show),
        "repo sha subject body author mailmap_author committer date commit_date no_date parent_count changed_files changed_files_left_out patch replaced_invalid_utf8 freshness"
    );
    assert_eq!(
        (&show["author"]["email"], &show["mailmap_author"]["email"]),
        (&json!("bo@old.example"), &json!("bo@new.example"))
    );
    assert_eq!(show["changed_files"], json!([{"path": "src/bucket.rs", "status": "R", "old_path": "src/limit.rs"}]));
    let patch = shop.place.lore.json(&["patch", "shop", shop.sha("rename"), "--json"]);
    assert_eq!(fields(&patch), "repo sha patch_text bytes replaced_invalid_utf8 freshness");
}

#[test]
fn patch_prints_git_s_bytes_or_says_why_not() {
    let shop = Shop::new();
    shop.repo.write("image.bin", [9, 0, 9]);
    let binary = shop.repo.commit("Change the image alone");
    shop.place.sync();
    for name in ["add", "rename", "both", "merge"] {
        let args = ["show", "--format=", "--diff-merges=first-parent", "-M", "-C", "--full-index", shop.sha(name)];
        let expected = lore_testkit::Git::at(shop.repo.path()).bytes(&args).expect("git shows the commit");
        assert_eq!(shop.place.lore.ok(&["patch", "shop", shop.sha(name)]), expected, "{name}");
    }
    let said = shop.place.refused(3, &["patch", "shop", &binary]);
    assert!(said.contains(&format!("Patch shop:{binary} not found")) && said.contains("binary"), "{said}");
}

#[test]
fn the_repository_one_stands_in_is_registered_at_first_use_and_kept_fresh() {
    let place = Place::new();
    let repo = place.repo("here");
    repo.write("deep/file", "1\n");
    repo.commit("The first word");
    let run = |args: &[&str]| {
        let output =
            place.lore.command(args).current_dir(Path::new(&place.path("here/deep"))).output().expect("lore starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, shown, said) = run(&["log", "first"]);
    assert!(code == Some(0) && shown.contains("The first word"), "{shown}{said}");
    assert_eq!(said, format!("registered {} as `here` (first use here)\nindexed 1 commit\n", place.path("here")));
    repo.commit("The second word");
    // Told not to, it answers from what it has and says so.
    for args in [&["log", "second", "--no-sync"][..], &["log", "second", "--no-sync", "--repo", "."]] {
        let (_, shown, said) = run(args);
        assert_eq!(shown, "");
        assert!(said.starts_with("warning: here ") && said.contains("run `lore sync`"), "{said}");
    }
    let (_, shown, said) = run(&["touches", "deep", "--repo", "."]);
    assert!(shown.contains("deep/file") && said.is_empty(), "{said}");
    let (_, shown, _) = run(&["log", "second", "--repo", "."]);
    assert!(shown.contains("The second word"), "{shown}");
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(run(&["patch", ".", &head]).0, Some(0));
    // Where that is switched off, nothing is registered.
    let strict = Place::new();
    let output =
        strict.lore.command(&["log", "first"]).env("LORE_REGISTER_PROJECT", "false").current_dir(repo.path()).output();
    assert!(output.expect("lore starts").status.success());
    assert_eq!(strict.lore.json(&["repos", "--json"])["repos"], json!([]));
}
