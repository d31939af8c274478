//! Repositories as they are found on real machines, and what becomes of the index when they change.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::ffi::OsStringExt as _,
    path::Path,
    process::Stdio,
};

use lore_testkit::{Git, Repo, dump, odd};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{place::Place, tiny_disk::TinyDisk};

impl Place {
    /// Everything in the index, as text.
    #[track_caller]
    fn contents(&self) -> String {
        dump::contents(&self.lore.home().join("lore.db")).expect("the index is sound")
    }

    /// Whether the index equals that of a fresh home into which the same repository is read in one go.
    #[track_caller]
    fn check_from_scratch(&self, target: &str, flags: &[&str]) {
        let fresh = Self::new();
        fresh.add(target, flags);
        if let Some(difference) = dump::difference(&fresh.contents(), &self.contents()) {
            panic!("incremental (+) differs from scratch (-):\n{difference}");
        }
    }
}

/// A repository with a few commits: `One`, `Two`, `Three`.
fn three(place: &Place, name: &str) -> Repo {
    let repo = place.repo(name);
    for (number, subject) in ["One", "Two", "Three"].into_iter().enumerate() {
        repo.write("a.txt", format!("{number}\n"));
        repo.commit(subject);
    }
    repo
}

#[test]
fn an_empty_repository_can_be_registered_and_grows() {
    let place = Place::new();
    let repo = place.repo("empty");
    assert_eq!(place.add(repo.path(), &[])["commits"], 0);
    assert_eq!(place.status("empty")["state"], "current");
    repo.commit("One");
    assert_eq!(place.status("empty")["state"], "stale");
    assert_eq!(place.sync()["added"], 1);
    place.check_from_scratch(&place.path("empty"), &[]);
}

#[test]
fn every_way_in_which_a_repository_lies_on_disk_is_read() {
    for variant in [odd::Variant::Bare, odd::Variant::LinkedWorktree, odd::Variant::Shared, odd::Variant::Sha256] {
        let place = Place::new();
        let odd = odd::build(variant, Path::new(&place.path("odd"))).expect("git makes the repository");
        place.add(&odd.path, &["--name", "odd"]);
        let count = Git::at(&odd.path).text(&["rev-list", "--count", "HEAD"]).expect("git counts");
        assert_eq!(place.status("odd")["commits"].to_string(), count, "{variant:?}");
        assert_eq!(place.status("odd")["state"], "current", "{variant:?}");
    }
}

#[test]
fn a_folder_inside_a_work_tree_means_its_repository() {
    let place = Place::new();
    let repo = three(&place, "r");
    repo.write("deep/er/file", "");
    place.add(&place.path("r/deep/er"), &[]);
    assert_eq!(place.status("r")["path"], place.path("r"));
    // The same repository twice, under whatever name, is told.
    let said = place.refused(4, &["add", &place.path("r"), "--name", "again"]);
    assert!(said.contains("`r` is registered already"), "{said}");
}

#[test]
fn what_is_no_repository_is_refused() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("a folder can be made");
    fs::write(place.path("file"), "").expect("a file can be written");
    fs::create_dir_all(place.path("broken/.git")).expect("a folder can be made");
    for (target, said) in
        [("folder", "is not a git repository"), ("broken", "is not a git repository"), ("nowhere", "does not exist")]
    {
        let told = place.refused(3, &["add", &place.path(target)]);
        assert!(told.contains(said) && told.contains("hint: "), "{target}: {told}");
    }
    place.refused(3, &["add", &place.path("file")]);
    assert_eq!(place.lore.json(&["repos", "--json"])["repos"], json!([]));
}

#[test]
fn a_repository_that_vanished_still_answers_and_does_not_stop_the_others() {
    let place = Place::new();
    let (gone, kept) = (three(&place, "gone"), three(&place, "kept"));
    place.add(gone.path(), &[]);
    place.add(kept.path(), &[]);
    kept.commit("Four");
    fs::rename(gone.path(), place.path("moved")).expect("a repository can be moved");
    assert_eq!(place.status("gone")["state"], "missing");
    let found = place.lore.run(&["log", "three", "--repo", "gone"]);
    assert!(
        String::from_utf8_lossy(&found.stdout).contains("Three") && found.stderr.contains("no longer where it was")
    );
    let synced = place.lore.run(&["sync", "--json"]);
    assert_eq!(synced.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&synced.stdout).expect("the report is JSON");
    let message = report["repos"][0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("gone does not exist"), "{report}");
    assert_eq!((&report["repos"][1]["repo"], &report["repos"][1]["added"]), (&json!("kept"), &json!(1)));
    assert!(place.status("gone")["last_error"].as_str().is_some_and(|error| error.contains("does not exist")));
    // Back again, everything is as before.
    fs::rename(place.path("moved"), gone.path()).expect("a repository can be moved");
    place.sync();
    assert_eq!(
        (&place.status("gone")["state"], &place.status("gone")["last_error"]),
        (&json!("current"), &json!(null))
    );
}

#[test]
fn a_rebase_removes_what_no_branch_reaches() {
    let place = Place::new();
    let repo = three(&place, "r");
    place.add(repo.path(), &[]);
    repo.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    repo.write("a.txt", "other\n");
    repo.commit("Instead");
    let report = place.sync();
    assert_eq!((&report["added"], &report["removed"]), (&json!(1), &json!(2)));
    assert_eq!(place.subjects(), ["Instead", "One"]);
    assert_eq!(place.lore.json(&["log", "two", "--json"])["results"], json!([]));
    place.check_from_scratch(&place.path("r"), &[]);
    // Even where git has already thrown the old commits away.
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    place.sync();
    assert_eq!(place.subjects(), ["One"]);
}

#[test]
fn branches_are_indexed_as_chosen() {
    let place = Place::new();
    let repo = three(&place, "r");
    repo.git(&["checkout", "--quiet", "-b", "feature", "HEAD~1"]);
    repo.commit("Feature");
    repo.git(&["checkout", "--quiet", "-b", "other", "main"]);
    repo.commit("Other");
    repo.git(&["checkout", "--quiet", "main"]);
    let indexed = |flags: &[&str]| {
        let place = Place::new();
        place.add(repo.path(), flags);
        place.subjects()
    };
    assert_eq!(indexed(&[]), ["One", "Three", "Two"]);
    assert_eq!(indexed(&["--branch", "feature"]), ["Feature", "One", "Two"]);
    assert_eq!(indexed(&["--branch", "feature", "--branch", "other"]), ["Feature", "One", "Other", "Three", "Two"]);
    assert_eq!(indexed(&["--all-branches"]), ["Feature", "One", "Other", "Three", "Two"]);
    let said = place.refused(2, &["add", &place.path("r"), "--branch", "nope"]);
    assert!(said.contains("no branch `nope`") && said.contains("feature, main, other"), "{said}");
    // The default branch stays indexed when another one is checked out, and HEAD is indexed too.
    place.add(repo.path(), &[]);
    repo.git(&["checkout", "--quiet", "feature"]);
    place.sync();
    assert_eq!(place.subjects(), ["Feature", "One", "Three", "Two"]);
}

#[test]
fn branches_that_come_and_go_come_and_go_in_the_index() {
    let place = Place::new();
    let repo = three(&place, "r");
    place.add(repo.path(), &["--all-branches"]);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.commit("Feature");
    repo.git(&["checkout", "--quiet", "main"]);
    assert_eq!(place.sync()["added"], 1);
    repo.git(&["branch", "--quiet", "-D", "feature"]);
    assert_eq!(place.sync()["removed"], 1);
    assert_eq!(place.subjects(), ["One", "Three", "Two"]);
    // A branch that was chosen by name and has gone is told, and what is left is indexed.
    let named = Place::new();
    repo.git(&["branch", "passing", "HEAD~1"]);
    named.add(repo.path(), &["--branch", "main", "--branch", "passing"]);
    repo.git(&["branch", "--quiet", "-D", "passing"]);
    let left_out = named.sync()["left_out"].to_string();
    assert!(left_out.contains("passing"), "{left_out}");
}

#[test]
fn incremental_equals_from_scratch_and_twice_equals_once() {
    let place = Place::new();
    let repo = three(&place, "r");
    place.add(repo.path(), &["--exclude", "gen"]);
    repo.write("gen/x", "left out")
        .write("b.txt", "b\n")
        .write(".mailmap", "New Name <new@example.com> <ada@example.com>\n");
    repo.commit("Four");
    place.sync();
    repo.git(&["mv", "b.txt", "c.txt"]);
    repo.commit("Five");
    repo.git(&["checkout", "--quiet", "-b", "side", "HEAD~2"]);
    repo.write("side.txt", "side\n");
    repo.commit("Side");
    place.sync();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "Merge side", "side"]);
    let report = place.sync();
    assert_eq!(report["commits"], 7, "{report}");
    place.check_from_scratch(&place.path("r"), &["--exclude", "gen"]);
    let before = place.contents();
    let again = place.sync();
    assert_eq!((&again["added"], &again["removed"]), (&json!(0), &json!(0)));
    assert_eq!(dump::difference(&before, &place.contents()), None);
}

#[test]
fn a_shallow_clone_grows_when_it_is_unshallowed() {
    let place = Place::new();
    let source = three(&place, "source");
    source.git(&["clone", "--quiet", "--depth=2", &format!("file://{}", place.path("source")), &place.path("clone")]);
    place.add(&place.path("clone"), &[]);
    assert_eq!(place.subjects(), ["Three", "Two"]);
    let files =
        || place.sql("SELECT status AS one FROM commit_files JOIN commits USING (repo_id, sha) WHERE subject = 'Two'");
    // At the boundary everything looks new.
    assert_eq!(files(), ["A"]);
    Git::at(place.path("clone")).bytes(&["fetch", "--quiet", "--unshallow"]).expect("git fetches");
    place.sync();
    assert_eq!(place.subjects(), ["One", "Three", "Two"]);
    assert_eq!(files(), ["M"]);
    place.check_from_scratch(&place.path("clone"), &[]);
}

#[test]
fn a_partial_clone_is_indexed_as_far_as_it_goes_and_completed_later() {
    let place = Place::new();
    let source = three(&place, "source");
    source.git(&["config", "uploadpack.allowFilter", "true"]);
    source.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let url = format!("file://{}", place.path("source"));
    source.git(&["clone", "--quiet", "--bare", "--filter=blob:none", &url, &place.path("clone.git")]);
    let report = place.add(&place.path("clone.git"), &["--name", "clone"]);
    assert_eq!(report["commits"], 3);
    let left_out = report["left_out"].to_string();
    assert!(left_out.contains("\"count\":3") && left_out.contains("lacks objects"), "{left_out}");
    let head = source.git(&["rev-parse", "HEAD"]);
    let said = place.refused(3, &["patch", "clone", &head]);
    assert!(said.contains(&format!("Patch clone:{head} not found")) && said.contains("lacks objects"), "{said}");
    // Git gets what it needs; Lore reads those commits again when it is told to.
    let clone = Git::at(place.path("clone.git")).with("GIT_NO_LAZY_FETCH", "0");
    clone.bytes(&["log", "-p"]).expect("git fetches what is missing");
    assert_eq!(place.sync()["added"], 0);
    let report = place.lore.json(&["sync", "--retry-missing", "--json"]);
    assert_eq!((&report["repos"][0]["added"], &report["repos"][0]["left_out"]), (&json!(3), &json!([])));
    assert!(!place.lore.ok(&["patch", "clone", &head]).is_empty());
    place.check_from_scratch(&place.path("clone.git"), &["--name", "clone"]);
}

#[test]
fn excluded_prefixes_leave_lists_patches_and_full_text() {
    let place = Place::new();
    let repo = place.repo("r");
    let files = [
        "node_modules/m.js",
        "vendor/v.c",
        "dist/d.js",
        "generated/g.rs",
        "generated.rs",
        "gen[1]*/x.rs",
        "gen1x/y.rs",
        "src/vendor/s.c",
        "src/keep.rs",
    ];
    for path in files {
        repo.write(path, format!("word {path}\n"));
    }
    let both = repo.commit("Everything");
    repo.write("vendor/v.c", "changed\n");
    let vendored = repo.commit("Only vendored");
    let indexed = |flags: &[&str]| -> Vec<String> {
        let place = Place::new();
        place.add(repo.path(), flags);
        let paths = place.sql("SELECT path AS one FROM commit_files JOIN commits USING (repo_id, sha) WHERE subject = 'Everything' ORDER BY path");
        // The patch holds exactly the same files, and a commit of which nothing is left keeps its message.
        let patch = String::from_utf8(place.lore.ok(&["patch", "r", &both])).expect("the patch is UTF-8");
        assert_eq!(patch.matches("diff --git").count(), paths.len(), "{flags:?}: {patch}");
        assert_eq!(place.lore.json(&["show", "r", &vendored, "--json"])["subject"], "Only vendored");
        paths
    };
    let rest = ["gen1x/y.rs", "gen[1]*/x.rs", "generated.rs", "generated/g.rs", "src/keep.rs", "src/vendor/s.c"];
    assert_eq!(indexed(&[]), rest);
    assert_eq!(indexed(&["--exclude", "generated/"]), [rest[0], rest[1], rest[2], rest[4], rest[5]]);
    // A prefix is a prefix of the text, and its characters mean themselves.
    assert_eq!(indexed(&["--exclude", "generated"]), [rest[0], rest[1], rest[4], rest[5]]);
    assert_eq!(indexed(&["--exclude", "gen[1]*"]), [rest[0], rest[2], rest[3], rest[4], rest[5]]);
    assert_eq!(indexed(&["--exclude", "./src/", "--exclude", "/gen"]), [""; 0]);
    assert_eq!(indexed(&["--no-default-excludes"]).len(), files.len());
    assert_eq!(indexed(&["--no-default-excludes", "--exclude", "vendor/"]).len(), files.len() - 1);
    let said = place.refused(2, &["add", &place.path("r"), "--exclude", "./"]);
    assert!(said.contains("would leave out everything"), "{said}");
}

#[test]
fn author_keeps_commits_of_either_name() {
    let place = Place::new();
    let repo = three(&place, "r");
    repo.git(&["commit", "--quiet", "--allow-empty", "--author=Bo Bell <bo@old.example>", "-m", "By Bo"]);
    let indexed = |author: &str| {
        let place = Place::new();
        place.add(repo.path(), &["--author", author]);
        place.subjects()
    };
    assert_eq!(indexed("bo@old"), ["By Bo"]);
    assert_eq!(indexed("BELL"), ["By Bo"]);
    assert_eq!(indexed("bo@new.example"), [""; 0]);
    assert_eq!(indexed("%"), [""; 0]);
    place.add(repo.path(), &["--author", "bo@new.example"]);
    // The mailmap makes the two one person, in both directions, and changes what is kept at the next sync.
    repo.write(".mailmap", "Bo Bell <bo@new.example> <bo@old.example>\n");
    repo.commit("Add a mailmap");
    place.sync();
    assert_eq!(place.subjects(), ["By Bo"]);
    assert_eq!(indexed("bo@old.example"), ["By Bo"]);
    let found = place.lore.json(&["log", "by", "--author", "bo@new", "--json"]);
    assert_eq!(found["results"][0]["author"], "Bo Bell");
}

#[test]
fn two_syncs_at_once_take_turns() {
    let place = Place::new();
    let repo = three(&place, "r");
    place.add(repo.path(), &[]);
    repo.commit("Four");
    // Somebody else is writing.
    let lock =
        fs::OpenOptions::new().write(true).open(place.lore.home().join("writer.lock")).expect("the lock is there");
    lock.lock().expect("nobody holds it");
    let mut second =
        place.lore.command(&["sync"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = String::new();
    let mut errors = BufReader::new(second.stderr.take().expect("piped"));
    errors.read_line(&mut said).expect("it says something");
    assert!(said.contains("waiting for another lore process"), "{said}");
    // Questions do not wait.
    assert_eq!(place.status("r")["state"], "stale");
    drop(lock);
    let mut printed = String::new();
    second.stdout.take().expect("piped").read_to_string(&mut printed).expect("it prints UTF-8");
    assert!(second.wait().expect("it ends").success());
    assert_eq!(printed, "r: 1 commit read; 4 commits and 1 file in the index\n");
}

#[test]
fn a_home_that_cannot_be_written_is_told() {
    let place = Place::new();
    let repo = three(&place, "r");
    fs::write(place.path("file"), "").expect("a file can be written");
    let below = place.path("file/home");
    let said = place.refused(7, &["--home", &below, "add", repo.path().to_str().expect("UTF-8")]);
    assert!(said.contains("cannot access the index at") && said.contains("LORE_HOME"), "{said}");
    // Asking needs no index.
    assert_eq!(place.lore.json(&["--home", &below, "repos", "--json"])["repos"], json!([]));
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let place = Place::new();
    let Some(disk) = TinyDisk::mount(&place.path("disk")) else { return };
    let repo = three(&place, "r");
    let home = disk.home();
    place.lore.ok(&["--home", &home, "add", &place.path("r")]);
    // What hardly compresses fills the disk.
    let mut random = lore_testkit::Random::new(1);
    for file in ["a", "b", "c"] {
        let noise: Vec<String> = (0..50_000).map(|_| format!("{:016x}", random.number())).collect();
        repo.write(file, noise.join("\n"));
        repo.commit("Noise");
    }
    let said = place.refused(7, &["--home", &home, "sync"]);
    assert!(said.contains("no space is left") && said.contains("free some space"), "{said}");
    let found = place.lore.json(&["--home", &home, "log", "three", "--json"]);
    assert_eq!(found["results"][0]["subject"], "Three");
}

#[test]
fn a_read_only_home_still_answers() {
    let place = Place::new();
    let Some(disk) = TinyDisk::mount(&place.path("disk")) else { return };
    three(&place, "r");
    let home = disk.home();
    place.lore.ok(&["--home", &home, "add", &place.path("r")]);
    disk.remount("ro");
    let found = place.lore.json(&["--home", &home, "log", "three", "--json"]);
    assert_eq!(found["results"][0]["subject"], "Three");
    let said = place.refused(7, &["--home", &home, "sync"]);
    assert!(said.contains("cannot access") && said.contains("LORE_HOME"), "{said}");
    let doctor = place.lore.ok(&["--home", &home, "doctor"]);
    assert!(String::from_utf8_lossy(&doctor).contains("cannot be written"));
}

#[test]
fn the_repositories_of_commitmux_are_taken_over() {
    let place = Place::new();
    let repo = three(&place, "mine");
    repo.write("gen/x", "x").write("keep", "y");
    repo.commit("Four");
    let managed = place.lore.user_home().join(".commitmux/clones/theirs");
    three(&place, "origin").git(&["clone", "--quiet", ".", managed.to_str().expect("UTF-8")]);
    Repo::init(place.path("origin")).commit("Fetched by nobody");
    let db = place.lore.user_home().join(".commitmux/db.sqlite3");
    let connection = Connection::open(&db).expect("a database can be made");
    connection
        .execute_batch(&format!(
            "CREATE TABLE repos (repo_id INTEGER PRIMARY KEY, name TEXT UNIQUE, local_path TEXT, remote_url TEXT, default_branch TEXT,
                                 fork_of TEXT, author_filter TEXT, exclude_prefixes TEXT);
             INSERT INTO repos VALUES (1, 'my repo', '{}', NULL, 'main', 'up/stream', 'ada@', '[\"gen/\"]'),
                                      (2, 'theirs', '{}', 'file://{}', NULL, NULL, NULL, NULL),
                                      (3, 'lost', '/nowhere/at/all', NULL, NULL, NULL, NULL, NULL)",
            place.path("mine"),
            managed.display(),
            place.path("origin"),
        ))
        .expect("the database can be filled");
    let imported = place.lore.run(&["import", "commitmux"]);
    assert!(imported.status.success(), "{}", imported.stderr);
    assert!(imported.stderr.contains("lost was left alone: /nowhere/at/all does not exist"), "{}", imported.stderr);
    let repos = place.lore.json(&["repos", "--json"]);
    let (mine, theirs) = (&repos["repos"][0], &repos["repos"][1]);
    assert_eq!(
        (&mine["name"], &mine["commits"], &mine["fork_of"], &mine["author"]),
        (&json!("my-repo"), &json!(4), &json!("up/stream"), &json!("ada@"))
    );
    assert!(mine["excludes"].as_array().is_some_and(|excludes| excludes.contains(&json!("gen/"))), "{mine}");
    // A clone that it never moved forward is cloned anew.
    assert_eq!((&theirs["name"], &theirs["commits"]), (&json!("theirs"), &json!(4)));
    assert_eq!(theirs["url"], format!("file://{}", place.path("origin")));
    // Again: everything is there already.
    let again = place.lore.json(&["import", "commitmux", "--db", db.to_str().expect("UTF-8"), "--json"]);
    assert_eq!((&again["added"], again["skipped"].as_array().map(Vec::len)), (&json!([]), Some(3)));
    let said = place.refused(7, &["import", "commitmux", "--db", &place.path("nothing")]);
    assert!(said.contains("--db PATH"), "{said}");
}

#[test]
fn two_names_of_commitmux_for_one_repository_both_keep_working() {
    let place = Place::new();
    three(&place, "api");
    let db = place.path("db.sqlite3");
    let connection = Connection::open(&db).expect("a database can be made");
    connection
        .execute_batch(&format!(
            "CREATE TABLE repos (repo_id INTEGER PRIMARY KEY, name TEXT UNIQUE, local_path TEXT, remote_url TEXT, default_branch TEXT,
                                 fork_of TEXT, author_filter TEXT, exclude_prefixes TEXT);
             INSERT INTO repos VALUES (1, 'api', '{0}', NULL, 'main', NULL, NULL, '[\"gen/\"]'),
                                      (2, 'server', '{0}/', NULL, 'main', NULL, NULL, '[\"gen/\"]'),
                                      (3, 'server-by-ada', '{0}', NULL, 'main', NULL, 'ada@', NULL)",
            place.path("api"),
        ))
        .expect("the database can be filled");
    let imported = place.lore.run(&["import", "commitmux", "--db", &db]);
    assert!(imported.status.success(), "{}", imported.stderr);
    for said in [
        "server is the same repository as api, which answers to both names",
        "server-by-ada had other settings: the exclude prefixes and author filter of api counts for both names",
    ] {
        assert!(imported.stderr.contains(said), "{}", imported.stderr);
    }
    assert!(!imported.stderr.contains("server had other settings"), "{}", imported.stderr);
    let repos = || place.lore.json(&["repos", "--json"])["repos"].clone();
    assert_eq!(repos()[0]["aliases"], json!(["server", "server-by-ada"]));
    assert_eq!(repos().as_array().map(Vec::len), Some(1));
    let mut server = place.serve(&["--no-refresh"]);
    for name in ["api", "server", "server-by-ada"] {
        let found = server.call("commitmux_search", &json!({"query": "three", "repos": [name]})).value;
        assert_eq!((&found[0]["repo"], &found[0]["subject"]), (&json!("api"), &json!("Three")), "{name}");
        let asked = json!({"repo": name, "sha": found[0]["sha"]});
        for tool in ["commitmux_get_commit", "commitmux_get_patch"] {
            assert_eq!(server.call(tool, &asked).value["sha"], found[0]["sha"], "{tool} {name}");
        }
        let touched = server.call("commitmux_touches", &json!({"path_glob": "file", "repos": [name]}));
        assert!(touched.value.is_array(), "{}", touched.text);
        assert_eq!(place.lore.json(&["log", "three", "--repo", name, "--json"])["results"][0]["repo"], "api");
    }
    drop(server);
    // Again: everything is there already.
    let again = place.lore.json(&["import", "commitmux", "--db", &db, "--json"]);
    assert_eq!((&again["added"], &again["aliases"]), (&json!([]), &json!([])));
    // A name that is in use is not given away, and may be taken back.
    let other = three(&place, "other");
    let path = other.path().to_str().expect("UTF-8");
    assert!(place.refused(4, &["add", path, "--name", "server"]).contains("registered already"));
    place.lore.ok(&["remove", "server"]);
    assert_eq!(repos()[0]["aliases"], json!(["server-by-ada"]));
    assert!(place.refused(3, &["log", "three", "--repo", "server"]).contains("not found"));
}

#[test]
fn remove_leaves_nothing_behind() {
    let place = Place::new();
    let (one, kept) = (three(&place, "one"), three(&place, "kept"));
    one.write("only/here", "x");
    one.commit("Only here");
    place.add(kept.path(), &[]);
    let before = place.contents();
    place.add(&format!("file://{}", place.path("one")), &[]);
    place.add(one.path(), &["--name", "local"]);
    assert!(place.lore.home().join("clones/one.git/HEAD").exists());
    for name in ["one", "local"] {
        place.lore.ok(&["remove", name]);
    }
    assert_eq!(dump::difference(&before, &place.contents()), None);
    let left = |folder: &str| fs::read_dir(place.lore.home().join(folder)).map_or(0, Iterator::count);
    assert_eq!((left("clones"), left("git")), (0, 1));
    assert!(one.path().join("only/here").exists(), "the user's repository is not touched");
    assert!(place.refused(3, &["remove", "one"]).contains("Registered repositories: kept"));
}

#[test]
fn names_are_made_or_checked() {
    let place = Place::new();
    let repo = three(&place, "my repo: ü?");
    assert_eq!(place.add(repo.path(), &[])["repo"], "my-repo--ü-");
    fs::create_dir(place.path("deeper")).expect("a folder can be made");
    repo.git(&["clone", "--quiet", "--bare", ".", &place.path("deeper/my-repo--ü-.git")]);
    assert_eq!(place.add(&place.path("deeper/my-repo--ü-.git"), &[])["repo"], "my-repo--ü--2");
    let other = three(&place, "other");
    for bad in ["", "-x", "a/b", "a b", "..", "a\nb", "x'; DROP TABLE repos; --"] {
        let said = place.refused(2, &["add", other.path().to_str().expect("UTF-8"), &format!("--name={bad}")]);
        assert!(said.contains("cannot name a repository"), "{bad}: {said}");
    }
    assert!(place.refused(4, &["add", &place.path("other"), "--name", "my-repo--ü-"]).contains("--name"));
}

#[test]
fn urls_that_could_run_or_steer_something_are_refused() {
    let place = Place::new();
    let canary = place.path("canary");
    for (url, said) in [
        (format!("ext::sh -c touch% {canary}"), "cannot be cloned"),
        (format!("--upload-pack=touch {canary}"), ""),
        ("ssh://-oProxyCommand=touch/x".to_owned(), "could be taken for an option"),
        ("-oProxyCommand=x@host:path".to_owned(), ""),
        ("https://user:s3cret@example.com/x.git".to_owned(), "it holds a password"),
        ("gopher://example.com/x".to_owned(), "only https, http, ssh, git and file URLs are fetched"),
        ("https:///x".to_owned(), "it names no host"),
    ] {
        let output = place.lore.run(&["add", "--", &url]);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{url}: {}", output.stderr);
        assert!(output.stderr.contains(said) && !output.stderr.contains("s3cret"), "{url}: {}", output.stderr);
    }
    for branch in ["--output=x", "-x", "a..b", "@{-1}"] {
        three(&place, "r");
        let output = place.lore.run(&["add", &place.path("r"), &format!("--branch={branch}")]);
        assert_eq!(output.status.code(), Some(2), "{branch}: {}", output.stderr);
    }
    assert!(!Path::new(&canary).exists());
    assert_eq!(place.lore.json(&["repos", "--json"])["repos"], json!([]));
}

#[test]
fn a_url_that_cannot_be_cloned_is_forgotten() {
    let place = Place::new();
    let said = place.refused(8, &["add", &format!("file://{}", place.path("nowhere"))]);
    assert!(said.contains("`git clone` failed"), "{said}");
    assert_eq!(place.lore.json(&["repos", "--json"])["repos"], json!([]));
}

#[test]
fn a_path_that_is_not_utf8_is_a_path() {
    let place = Place::new();
    let path = Path::new(&place.path("")).join(OsString::from_vec(b"caf\xe9".to_vec()));
    let repo = Repo::init(&path);
    repo.write("a", "a");
    repo.commit("One");
    let name = place.add(&path, &[])["repo"].as_str().expect("a name").to_owned();
    repo.commit("Two");
    assert_eq!(place.status(&name)["state"], "stale");
    assert_eq!(place.sync()["added"], 1);
    place.lore.ok(&["repos"]);
}

#[test]
fn the_index_is_made_in_the_home_directory_by_default() {
    let place = Place::new();
    three(&place, "r");
    let output = place.lore.command(&["add", &place.path("r")]).env_remove("LORE_HOME").output().expect("it starts");
    assert!(output.status.success());
    let home = place.lore.user_home().join(".lore");
    assert!(home.join("lore.db").exists());
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&home).expect("it is there").permissions());
    assert_eq!(mode & 0o777, 0o700, "nobody else has business there");
    let nowhere = place.lore.command(&["repos"]).env_remove("LORE_HOME").env("HOME", "").output().expect("it starts");
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(nowhere.status.success() || said.contains("set LORE_HOME"), "{said}");
}

#[test]
fn an_index_that_is_no_index_any_more_is_told() {
    let place = Place::new();
    three(&place, "r");
    place.add(&place.path("r"), &[]);
    let file = place.lore.home().join("lore.db");
    let sound = fs::read(&file).expect("the index is there");
    let half = sound.len() / 2;
    let mut garbled = sound.clone();
    for page in garbled.chunks_mut(8192).skip(1) {
        page.fill(0xa5);
    }
    for (what, content) in [
        ("not a database", b"hello, I am a text file".repeat(100)),
        ("garbled", garbled),
        ("truncated", sound[..half].to_vec()),
    ] {
        fs::write(&file, content).expect("the file can be written");
        for args in [&["log", "one"][..], &["sync"], &["status"]] {
            let said = place.refused(6, args);
            assert!(said.contains("is damaged") && said.contains("can be rebuilt from git"), "{what} {args:?}: {said}");
        }
        let doctor = place.lore.run(&["doctor"]);
        assert_eq!(doctor.status.code(), Some(1), "{what}");
        assert!(String::from_utf8_lossy(&doctor.stdout).contains("bad  index"), "{what}");
    }
    fs::write(&file, sound).expect("the file can be written");
    assert_eq!(place.status("r")["commits"], 3);
}

#[test]
fn an_index_of_a_newer_lore_is_left_alone() {
    let place = Place::new();
    three(&place, "r");
    place.add(&place.path("r"), &[]);
    let file = place.lore.home().join("lore.db");
    let connection = Connection::open(&file).expect("the index opens");
    connection.pragma_update(None, "user_version", 999).expect("it can be written");
    drop(connection);
    let before = fs::read(&file).expect("the index is there");
    for args in [&["log", "one"][..], &["sync"], &["add", &place.path("r")]] {
        let said = place.refused(6, args);
        assert!(said.contains("schema version 999") && said.contains("upgrade Lore"), "{args:?}: {said}");
    }
    assert!(fs::read(&file).expect("the index is there") == before);
}
