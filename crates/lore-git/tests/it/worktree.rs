//! Looks at the work tree, compared with `git status` and `git hash-object`.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::Path,
};

use lore_git::{Ignores, Repository, SkipReason, StatCache, TreeLimits, WorkRead, WorktreeChanges, WorktreeOptions};
use lore_model::{BlobId, RepoPath};

use crate::repo::{Repo, git, ls_tree, try_git};

type Changes = BTreeMap<RepoPath, Option<BlobId>>;

fn place(folder: &Path, path: &RepoPath) -> std::path::PathBuf {
    folder.join(OsStr::from_bytes(path.as_bytes()))
}

fn hash(folder: &Path, path: &RepoPath) -> Option<BlobId> {
    let place = place(folder, path);
    if place.parent()?.canonicalize().ok()? != place.parent()? {
        return None;
    }
    let kind = place.symlink_metadata().ok()?.file_type();
    let bytes = if kind.is_symlink() {
        fs::read_link(&place).ok()?.as_os_str().as_bytes().to_vec()
    } else if kind.is_file() {
        fs::read(&place).ok()?
    } else {
        return None;
    };
    Some(BlobId::from_hex(git(folder, &["hash-object", "--stdin"], &bytes).trim_ascii()).unwrap())
}

/// What git says: every path that it mentions, with what is there, unless that is what HEAD has.
fn said_by_git(folder: &Path) -> Changes {
    let has_commit = try_git(folder, &["rev-parse", "HEAD"], b"").0;
    let head = if has_commit { ls_tree(folder, "HEAD") } else { BTreeMap::new() };
    let args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"];
    let text = git(folder, &args, b"");
    let paths = text.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    // A folder is told where it is a repository of its own, which is not entered.
    let paths = paths.map(|line| RepoPath::new(&line[3..])).filter(|path| !path.as_bytes().ends_with(b"/"));
    paths
        .map(|path| (hash(folder, &path), path))
        .filter(|(now, path)| *now != head.get(path).map(|(_, blob)| *blob))
        .map(|(now, path)| (path, now))
        .collect()
}

struct Looker {
    repository: Repository,
    base: Vec<(RepoPath, BlobId)>,
    cache: StatCache,
    options: WorktreeOptions,
    ignores: Ignores,
}

impl Looker {
    fn new(folder: &Path) -> Self {
        let repository = Repository::open(folder).unwrap();
        let head = repository.refs(&lore_model::BranchChoice::Default, None).unwrap().head;
        let base = head.map(|head| repository.tree_of(head, &TreeLimits::default()).unwrap().base());
        Self {
            repository,
            base: base.unwrap_or_default(),
            cache: StatCache::default(),
            options: WorktreeOptions::default(),
            ignores: Ignores::default(),
        }
    }

    fn look(&mut self) -> WorktreeChanges {
        self.repository.worktree_changes(&self.base, &self.ignores, &mut self.cache, &self.options).unwrap()
    }

    fn look_at(&mut self, paths: &[RepoPath]) -> WorktreeChanges {
        let Self { repository, base, cache, options, ignores } = self;
        repository.worktree_changes_at(paths, base, ignores, cache, options).unwrap()
    }
}

fn changes(found: &WorktreeChanges) -> Changes {
    assert!(found.changes.is_sorted_by(|a, b| a.path < b.path), "{:?}", found.changes);
    found.changes.iter().map(|change| (change.path.clone(), change.now.as_ref().map(|now| now.blob))).collect()
}

/// The paths that changed.
fn names(found: &WorktreeChanges) -> Vec<String> {
    changes(found).into_keys().map(|path| path.to_string()).collect()
}

/// Full looks with and without a cache, and a look at each path alone, all say what git says.
#[track_caller]
fn check(folder: &Path) -> Vec<String> {
    let mut looker = Looker::new(folder);
    check_with(&mut looker, folder)
}

#[track_caller]
fn check_with(looker: &mut Looker, folder: &Path) -> Vec<String> {
    // Git may write its index during a status; the first look must not depend on that.
    let before = looker.look();
    let expected = said_by_git(folder);
    assert_eq!(changes(&before), expected, "full look, skipped: {:?}", before.skipped);
    assert_eq!(changes(&looker.look()), expected, "second look");
    let all: BTreeSet<RepoPath> = expected.keys().chain(looker.base.iter().map(|(path, _)| path)).cloned().collect();
    let all: Vec<RepoPath> = all.into_iter().collect();
    assert_eq!(changes(&looker.look_at(&all)), expected, "look at all paths");
    let mut alone = Changes::new();
    for path in &all {
        alone.extend(changes(&looker.look_at(std::slice::from_ref(path))));
    }
    assert_eq!(alone, expected, "look at each path alone");
    let top: BTreeSet<RepoPath> =
        all.iter().map(|path| RepoPath::new(path.as_bytes().split(|byte| *byte == b'/').next().unwrap())).collect();
    assert_eq!(changes(&looker.look_at(&Vec::from_iter(top))), expected, "look at folders");
    for (path, now) in &expected {
        let mut bytes = Vec::new();
        let read = looker.repository.read_work_file(path, 1 << 30, &mut bytes).unwrap();
        match now {
            Some(now) => assert!(matches!(read, WorkRead::Read { blob, .. } if blob == *now), "{path}: {read:?}"),
            None => assert_eq!(read, WorkRead::Gone, "{path}"),
        }
    }
    expected.iter().map(|(path, now)| format!("{}{path}", if now.is_some() { "+" } else { "-" })).collect()
}

#[test]
fn edits_deletions_and_new_files_are_those_of_git() {
    let repo = Repo::new();
    for name in ["edited", "deleted", "renamed", "mode", "d/one", "d/two", "d-e", "same"] {
        repo.write(name, format!("content of {name}\n"));
    }
    repo.commit();
    assert_eq!(check(&repo.path), [""; 0]);
    repo.write("edited", "other").remove("deleted").write("new", "x").write("d/deep/er/new", "y").write(".hidden", "h");
    fs::rename(repo.path.join("renamed"), repo.path.join("moved")).unwrap();
    fs::rename(repo.path.join("d/one"), repo.path.join("e")).unwrap();
    fs::set_permissions(repo.path.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    let expected = ["+.hidden", "+d/deep/er/new", "-d/one", "-deleted", "+e", "+edited", "+moved", "+new", "-renamed"];
    assert_eq!(check(&repo.path), expected);
    // Staged or not makes no difference, and a file that was taken out of the index is there all the same.
    repo.git(&["add", "--all"]);
    repo.git(&["rm", "--quiet", "--cached", "same"]);
    assert_eq!(check(&repo.path), expected);
    repo.write("staged-then-edited", "1").git(&["add", "staged-then-edited"]);
    repo.write("staged-then-edited", "2").git(&["add", "--intent-to-add", "same"]);
    check(&repo.path);
    fs::remove_dir_all(repo.path.join("d")).unwrap();
    check(&repo.path);
}

#[test]
fn an_edit_of_equal_size_in_the_same_moment_is_seen() {
    let repo = Repo::new();
    repo.write("file", "0000").commit();
    let mut looker = Looker::new(&repo.path);
    for round in 1..60 {
        repo.write("file", format!("{round:04}"));
        assert_eq!(changes(&looker.look()).len(), 1, "round {round}");
        assert_eq!(changes(&looker.look()), said_by_git(&repo.path), "round {round}");
        repo.git(&["add", "file"]);
        repo.write("file", "abcd");
        let one = changes(&looker.look_at(&[RepoPath::from("file")]));
        assert_eq!(one, [(RepoPath::from("file"), hash(&repo.path, &RepoPath::from("file")))].into());
    }
}

#[test]
fn an_edit_whose_time_was_set_back_is_seen() {
    let repo = Repo::new();
    repo.write("file", "before").commit();
    let times = fs::metadata(repo.path.join("file")).unwrap().modified().unwrap();
    let mut looker = Looker::new(&repo.path);
    looker.look();
    repo.write("file", "behind");
    fs::File::options().write(true).open(repo.path.join("file")).unwrap().set_modified(times).unwrap();
    assert_eq!(changes(&looker.look()).len(), 1);
}

#[test]
fn what_git_ignores_is_not_there_but_tracked_files_always_are() {
    let repo = Repo::new();
    repo.write(
        ".gitignore",
        "*.log\n!keep.log\n/build/\nout\n!out/kept\n**/gen/*\n!**/gen/keep\n\\#x\ntrail \n[a-c]?.tmp\n",
    );
    repo.write("a/.gitignore", "!deep.log\n/only\nsub/*\n!sub/this\n").write("a/b/.gitignore", "*\n!.gitignore\n");
    repo.write("build/tracked", "t").write("out/tracked", "t").git(&["add", "-f", "build/tracked", "out/tracked"]);
    repo.git(&["add", ".gitignore", "a"]);
    repo.git(&["commit", "--quiet", "-m", "x"]);
    for name in [
        "x.log",
        "keep.log",
        "build/new",
        "build/tracked",
        "build/sub/new",
        "out/kept",
        "out/tracked",
        "a/deep.log",
        "a/x.log",
        "a/only",
        "a/c/only",
        "a/sub/this",
        "a/sub/that",
        "a/b/c",
        "a/b/d/e",
        "p/gen/x",
        "p/gen/keep",
        "gen/keep",
        "#x",
        "trail",
        "trail ",
        "ab.tmp",
        "zb.tmp",
        "abc.tmp",
        "deep/out/x",
        "excluded-here",
        "by-user",
    ] {
        repo.write(name, format!("new {name}"));
    }
    fs::write(repo.path.join(".git/info/exclude"), "excluded-here\n").unwrap();
    let mut looker = Looker::new(&repo.path);
    check_with(&mut looker, &repo.path);
    let user = repo.folder.path().join("user-ignore");
    fs::write(&user, "by-user\n!excluded-here\n").unwrap();
    repo.git(&["config", "core.excludesFile", user.to_str().unwrap()]);
    looker.options.user_excludes = Some(user);
    let seen = check_with(&mut looker, &repo.path);
    assert!(!seen.contains(&"+by-user".to_owned()) && !seen.contains(&"+excluded-here".to_owned()), "{seen:?}");
    assert!(seen.contains(&"+build/tracked".to_owned()), "{seen:?}");
    // The rules change: a watcher reports their file only.
    repo.write("a/.gitignore", "");
    let found = looker.look_at(&[RepoPath::from("a/.gitignore")]);
    assert_eq!(found.looked_at, [RepoPath::from("a")]);
    assert!(changes(&found).contains_key(&RepoPath::from("a/only")), "{found:?}");
    check_with(&mut looker, &repo.path);
}

#[test]
fn the_users_own_rules_may_be_a_link_and_those_of_a_repository_not() {
    let repo = Repo::new();
    repo.write("tracked", "x").commit();
    repo.write("by-user", "x").write("by-folder", "x");
    let (kept, link) = (repo.folder.path().join("kept"), repo.folder.path().join("link"));
    fs::write(&kept, "by-user\n").unwrap();
    symlink(&kept, &link).unwrap();
    repo.git(&["config", "core.excludesFile", link.to_str().unwrap()]);
    let mut looker = Looker::new(&repo.path);
    looker.options.user_excludes = Some(link);
    assert_eq!(check_with(&mut looker, &repo.path), ["+by-folder"]);
    let rules = repo.folder.path().join("rules");
    fs::write(&rules, "by-folder\n").unwrap();
    symlink(&rules, repo.path.join(".gitignore")).unwrap();
    assert!(names(&looker.look()).contains(&"by-folder".to_owned()));
}

#[test]
fn what_lies_too_deep_is_told_however_it_is_looked_at() {
    let repo = Repo::new();
    repo.write("a/b/c/file", "x").write("a/file", "x").commit();
    repo.write("a/b/c/file", "new").write("a/b/c/other", "new").write("a/file", "new");
    let mut looker = Looker::new(&repo.path);
    looker.options.max_depth = 2;
    let told = |found: &WorktreeChanges| {
        let skipped = found.skipped.iter().map(|skipped| (skipped.path.to_string(), skipped.why.clone()));
        (names(found), skipped.collect::<Vec<_>>())
    };
    let too_deep = vec![("a/b/c".to_owned(), SkipReason::TooDeep)];
    assert_eq!(told(&looker.look()), (vec!["a/file".to_owned()], too_deep.clone()));
    for path in ["a/b/c/file", "a/b/c/other", "a/b/c"] {
        assert_eq!(told(&looker.look_at(&[RepoPath::from(path)])), (Vec::new(), too_deep.clone()), "{path}");
    }
    // What is gone is gone, however deep it was.
    fs::remove_dir_all(repo.path.join("a/b/c")).unwrap();
    let gone = (vec!["a/b/c/file".to_owned()], Vec::new());
    assert_eq!(told(&looker.look_at(&[RepoPath::from("a/b/c/file")])), gone);
}

#[test]
fn line_ends_alone_are_no_change() {
    let repo = Repo::new();
    repo.write("lf", "a\nb\nc\n").write("crlf", "a\r\nb\r\n").write("mixed", "a\r\nb\n").write("cr", "a\rb\n").commit();
    repo.write("lf", "a\r\nb\r\nc\r\n").write("crlf", "a\nb\n").write("mixed", "a\nb\r\n").write("cr", "a\nb\n");
    let mut looker = Looker::new(&repo.path);
    for _ in 0..3 {
        assert_eq!(names(&looker.look()), ["cr"]);
    }
    // As a checkout with conversion leaves it: git calls this unchanged, and so do we.
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("x", "a\nb\n").commit();
    repo.remove("x").git(&["checkout", "--quiet", "--", "x"]);
    assert_eq!(fs::read(repo.path.join("x")).unwrap(), b"a\r\nb\r\n");
    assert_eq!(check(&repo.path), [""; 0]);
}

#[test]
fn links_are_compared_by_what_they_name_and_never_followed() {
    let repo = Repo::new();
    let outside = repo.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "secret").unwrap();
    repo.write("dir/file", "x").write("file", "x");
    symlink("file", repo.path.join("link")).unwrap();
    symlink("nowhere", repo.path.join("dangling")).unwrap();
    repo.commit();
    assert_eq!(check(&repo.path), [""; 0]);
    // A link becomes a file and a file a link; a folder becomes a link to a place outside.
    repo.remove("link").write("link", "now a file").remove("file");
    symlink("link", repo.path.join("file")).unwrap();
    fs::remove_dir_all(repo.path.join("dir")).unwrap();
    symlink(&outside, repo.path.join("dir")).unwrap();
    assert_eq!(check(&repo.path), ["+dir", "-dir/file", "+file", "+link"]);
    let mut bytes = Vec::new();
    let read = repo.open().read_work_file(&RepoPath::from("dir/file"), 100, &mut bytes).unwrap();
    assert_eq!((read, bytes.len()), (WorkRead::Gone, 0));
    // And back.
    repo.remove("link").remove("file").write("file", "x").remove("dir").write("dir/file", "x");
    symlink("file", repo.path.join("link")).unwrap();
    assert_eq!(check(&repo.path), [""; 0]);
}

#[test]
fn paths_that_lead_out_are_refused() {
    let repo = Repo::new();
    repo.write("file", "x").commit();
    fs::write(repo.folder.path().join("secret"), "s").unwrap();
    let mut looker = Looker::new(&repo.path);
    for path in
        ["../secret", "..", ".git/config", "a/../../secret", "/etc/passwd", "a//b", ".GIT/HEAD", "a/.git/x", "./file"]
    {
        let path = RepoPath::from(path);
        let found = looker.look_at(std::slice::from_ref(&path));
        assert_eq!((found.changes.len(), &found.skipped[0].why), (0, &SkipReason::NoPath), "{path}");
        let read = looker.repository.read_work_file(&path, 100, &mut Vec::new()).unwrap();
        assert_eq!(read, WorkRead::Skipped(SkipReason::NoPath), "{path}");
    }
}

#[test]
fn files_and_folders_change_places() {
    let repo = Repo::new();
    repo.write("f", "file").write("d/a", "a").write("d/b/c", "c").commit();
    repo.remove("f").write("f/inside", "x");
    fs::remove_dir_all(repo.path.join("d")).unwrap();
    repo.write("d", "a file now");
    assert_eq!(check(&repo.path), ["+d", "-d/a", "-d/b/c", "-f", "+f/inside"]);
}

#[test]
fn names_in_any_encoding_are_kept() {
    let repo = Repo::new();
    let odd = OsStr::from_bytes(b"no\xff\xfe-utf8/f\xc3");
    repo.write(odd, "x").write("ä\u{301}/ö", "x").write("quote\"and\\back", "x").write("new\nline", "x").commit();
    assert_eq!(check(&repo.path), [""; 0]);
    repo.write(odd, "y").write("ä\u{301}/new ", "x").write("new\nline", "y").remove("quote\"and\\back");
    assert_eq!(check(&repo.path).len(), 4);
}

#[test]
fn what_cannot_be_compared_is_told_and_not_called_deleted() {
    let repo = Repo::new();
    repo.write("large", "small at first").write("pipe", "x").write("secret", "x").write("locked/file", "x").commit();
    let mut looker = Looker::new(&repo.path);
    looker.options.max_file_bytes = 1000;
    repo.write("large", vec![b'x'; 1001]).write("also-large", vec![b'x'; 5000]).remove("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.path.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
    repo.write("secret", "changed");
    for (path, mode) in [("secret", 0), ("locked", 0)] {
        fs::set_permissions(repo.path.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let may_read_all = fs::read(repo.path.join("secret")).is_ok();
    let found = looker.look();
    for path in ["secret", "locked"] {
        fs::set_permissions(repo.path.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut skipped: Vec<(String, &SkipReason)> =
        found.skipped.iter().map(|skipped| (skipped.path.to_string(), &skipped.why)).collect();
    if !may_read_all {
        let unreadable = skipped.extract_if(.., |(_, why)| matches!(why, SkipReason::Unreadable(_)));
        assert_eq!(unreadable.map(|(path, _)| path).collect::<Vec<_>>(), ["locked", "secret"]);
    }
    let expected = [
        ("also-large".to_owned(), &SkipReason::TooLarge(5000)),
        ("large".to_owned(), &SkipReason::TooLarge(1001)),
        ("pipe".to_owned(), &SkipReason::NotAFile),
    ];
    assert_eq!(skipped, expected);
    assert_eq!(names(&found), if may_read_all { vec!["pipe", "secret"] } else { vec!["pipe"] });
}

#[test]
fn repositories_inside_are_not_entered() {
    let repo = Repo::new();
    let other = Repo::new();
    other.write("inner", "x").commit();
    repo.write("was-tracked/file", "x").commit();
    repo.git(&["submodule", "--quiet", "add", other.path.to_str().unwrap(), "sub"]);
    repo.git(&["commit", "--quiet", "-m", "sub"]);
    repo.write("sub/inner", "changed").write("sub/new", "new");
    for folder in ["nested", "was-tracked"] {
        repo.write(format!("{folder}/untracked"), "x");
        git(&repo.path.join(folder), &["init", "--quiet"], b"");
    }
    repo.write("was-tracked/file", "changed").write("not-a-repository/.git/x", "x").write("not-a-repository/y", "y");
    let mut looker = Looker::new(&repo.path);
    let mine = names(&looker.look());
    assert_eq!(mine, ["not-a-repository/y", "was-tracked/file", "was-tracked/untracked"]);
    let git_says: Vec<String> = said_by_git(&repo.path).into_keys().map(|path| path.to_string()).collect();
    assert_eq!(mine, git_says);
}

#[test]
fn what_was_where_a_submodule_is_now_is_gone() {
    let repo = Repo::new();
    let other = Repo::new();
    other.write("inner", "x").commit();
    repo.write("lib/file", "x").write("lib/deep/file", "x").write("kept", "x").commit();
    repo.git(&["rm", "-r", "--quiet", "lib"]);
    repo.git(&["submodule", "--quiet", "add", other.path.to_str().unwrap(), "lib"]);
    assert_eq!(check(&repo.path), ["+.gitmodules", "-lib/deep/file", "-lib/file"]);
}

#[test]
fn rules_that_cannot_be_followed_are_told() {
    let repo = Repo::new();
    repo.write("d/a.log", "x").write("b.log", "x").commit();
    repo.write("d/.gitignore", "*.log\n".repeat(100_000)).write("d/new.log", "x").write("e/.loreignore", "x\n");
    repo.write("f/.loreignore", vec![b'#'; 2 << 20]);
    let found = Looker::new(&repo.path).look();
    assert_eq!(names(&found), ["d/.gitignore", "e/.loreignore", "f/.loreignore"]);
    let told: Vec<&str> = found.notes.iter().filter_map(|note| note.split(':').next()).collect();
    assert_eq!(told, ["d/.gitignore", "f/.loreignore"], "{:?}", found.notes);
}

#[test]
fn a_file_of_rules_that_cannot_be_read_is_told_and_counts_as_empty() {
    let repo = Repo::new();
    repo.write(".loreignore", "*.a\n").write("d/.loreignore", "*.b\n").write("x.a", "x").write("d/x.b", "x");
    repo.write("large/.loreignore", vec![b'#'; 2 << 20]);
    let commit = repo.commit();
    let blob = String::from_utf8(repo.git(&["rev-parse", "HEAD:.loreignore"])).unwrap();
    let object = repo.path.join(".git/objects").join(&blob[..2]).join(blob[2..].trim_ascii());
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(object, "no object").unwrap();
    let repository = repo.open();
    let tree = repository.tree_of(commit, &TreeLimits::default()).unwrap();
    let ignores = repository.tree_ignores(&tree, &[]).unwrap();
    assert!(ignores.excludes(&RepoPath::from("x.a")).is_none());
    assert!(ignores.excludes(&RepoPath::from("d/x.b")).is_some());
    let told: Vec<&str> = ignores.notes().iter().filter_map(|note| note.split(':').next()).collect();
    assert_eq!(told, [".loreignore", "large/.loreignore"], "{:?}", ignores.notes());
    // An entry that claims to be a file and is a folder.
    let folder = String::from_utf8(repo.git(&["rev-parse", "HEAD:d"])).unwrap();
    let listing = format!("100644 blob {}\t.loreignore\n", folder.trim());
    let made = git(&repo.path, &["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &raw_tree(&listing));
    let made = String::from_utf8(made).unwrap();
    let commit = repo.git(&["commit-tree", "-m", "x", made.trim()]);
    let commit = lore_model::CommitId::from_hex(commit.trim_ascii()).unwrap();
    let tree = repository.tree_of(commit, &TreeLimits::default()).unwrap();
    let ignores = repository.tree_ignores(&tree, &[]).unwrap();
    assert_eq!(ignores.notes().len(), 1, "{:?}", ignores.notes());
}

/// A tree object with one entry, as `git ls-tree` would print it. Git makes no such tree of what is no file.
fn raw_tree(line: &str) -> Vec<u8> {
    let (head, name) = line.trim_end().split_once('\t').unwrap();
    let words: Vec<&str> = head.split(' ').collect();
    let id = BlobId::from_hex(words[2].as_bytes()).unwrap();
    [words[0].as_bytes(), b" ", name.as_bytes(), b"\0", id.as_bytes()].concat()
}

#[test]
fn many_folders_are_looked_at_by_several_threads_with_the_same_result() {
    let repo = Repo::new();
    for number in 0..400 {
        repo.write(format!("d{}/e{}/f{number}", number % 7, number % 90), format!("{number}\n"));
    }
    repo.write("d3/.gitignore", "*.log\n").commit();
    for number in (0..400).step_by(3) {
        let folder = format!("d{}/e{}", number % 7, number % 90);
        match number % 4 {
            0 => repo.write(format!("{folder}/f{number}"), "changed"),
            1 => repo.remove(format!("{folder}/f{number}")),
            2 => repo.write(format!("{folder}/new/deep/{number}.log"), "new"),
            _ => repo.write(format!("{folder}/f{number}"), format!("{number}\r\n")),
        };
    }
    let mut looker = Looker::new(&repo.path);
    let first = looker.look();
    assert!(first.changes.len() > 80, "{}", first.changes.len());
    for _ in 0..20 {
        assert_eq!(looker.look(), first);
        assert_eq!(Looker::new(&repo.path).look(), first);
    }
    looker.options.max_entries = 500;
    let Looker { repository, base, cache, options, ignores } = &mut looker;
    assert!(repository.worktree_changes(base, ignores, cache, options).is_err());
}

#[test]
fn files_outside_a_sparse_checkout_are_unchanged() {
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let repo = Repo::new();
        repo.write("in/file", "x").write("out/file", "x").write("out/deep/file", "x").write("top", "x").commit();
        repo.git(&["sparse-checkout", "set", "--cone", sparse_index, "in"]);
        assert!(!repo.path.join("out").exists());
        assert_eq!(check(&repo.path), [""; 0], "{sparse_index}");
        repo.write("in/file", "changed");
        assert_eq!(check(&repo.path), ["+in/file"], "{sparse_index}");
    }
    let repo = Repo::new();
    repo.write("assumed", "x").write("skipped", "x").commit();
    repo.git(&["update-index", "--assume-unchanged", "assumed"]);
    repo.git(&["update-index", "--skip-worktree", "skipped"]);
    repo.write("assumed", "changed").remove("skipped");
    assert_eq!(check(&repo.path), [""; 0]);
}

#[test]
fn files_in_conflict_are_what_the_work_tree_has() {
    let repo = Repo::new();
    repo.write("file", "base\n").write("gone", "base\n").commit();
    repo.git(&["switch", "--quiet", "-c", "side"]);
    repo.write("file", "side\n").write("gone", "side\n").write("both", "side\n").commit();
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("file", "main\n").remove("gone").write("both", "main\n").commit();
    assert!(!try_git(&repo.path, &["merge", "side"], b"").0);
    assert_eq!(check(&repo.path), ["+both", "+file", "+gone"]);
}

#[test]
fn linked_work_trees_bare_and_empty_repositories() {
    let repo = Repo::new();
    assert_eq!(check(&repo.path), [""; 0]);
    repo.write("new", "x");
    assert_eq!(check(&repo.path), ["+new"]);
    repo.write(".gitignore", "*.log\n").commit();
    let linked = repo.folder.path().join("linked");
    repo.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    fs::write(linked.join("new"), "changed").unwrap();
    fs::write(linked.join("x.log"), "ignored").unwrap();
    fs::write(linked.join("excluded"), "ignored").unwrap();
    fs::write(repo.path.join(".git/info/exclude"), "excluded\n").unwrap();
    assert_eq!(check(&linked.canonicalize().unwrap()), ["+new"]);
    assert_eq!(check(&repo.path), [""; 0]);
    let bare = repo.folder.path().join("bare");
    git(repo.folder.path(), &["clone", "--quiet", "--bare", "repo", "bare"], b"");
    fs::write(bare.join("new"), "not a work tree").unwrap();
    let mut looker = Looker::new(&bare);
    assert!(!looker.base.is_empty());
    assert_eq!(looker.look(), WorktreeChanges::default());
}

#[test]
fn nothing_that_the_repository_configures_runs_or_leads_elsewhere() {
    let repo = Repo::new();
    repo.write("file", "x").write(".gitattributes", "* filter=evil\n").commit();
    let canary = repo.folder.path().join("canary");
    let run = format!("touch {}", canary.display());
    let elsewhere = repo.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("secret"), "s").unwrap();
    let settings =
        ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external"];
    for key in settings {
        repo.git(&["config", key, &run]);
    }
    repo.write("file", "changed");
    repo.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let mut looker = Looker::new(&repo.path);
    let found = looker.look();
    assert_eq!(names(&found), ["file"]);
    assert!(!canary.exists());
}

#[test]
fn what_lore_ignores_is_neither_new_nor_changed_nor_deleted() {
    let repo = Repo::new();
    repo.write("vendor/a", "x").write("b.min", "x").write("keep", "x").write("gone.min", "x").write("local/t", "x");
    repo.commit();
    repo.write("vendor/a", "y").write("vendor/new", "y").write("b.min", "y").remove("gone.min").write("keep", "y");
    repo.write("local/.loreignore", "*\n!.loreignore\n").write("local/t", "y").write("local/u", "y");
    let mut looker = Looker::new(&repo.path);
    looker.ignores = Ignores::new([(RepoPath::from(".loreignore"), b"vendor/\n".to_vec())], &["*.min".to_owned()]);
    let expected = ["keep", "local/.loreignore"];
    assert_eq!(names(&looker.look()), expected);
    let all =
        ["vendor/a", "vendor/new", "b.min", "gone.min", "keep", "local/t", "local/.loreignore"].map(RepoPath::from);
    assert_eq!(names(&looker.look_at(&all)), expected);
}

#[test]
fn too_many_files_are_an_error() {
    let repo = Repo::new();
    for number in 0..30 {
        repo.write(format!("f{number}"), "x");
    }
    let mut looker = Looker::new(&repo.path);
    looker.options.max_entries = 20;
    let Looker { repository, base, cache, options, ignores } = &mut looker;
    let error = repository.worktree_changes(base, ignores, cache, options).unwrap_err().to_string();
    assert!(error.contains("more than 20 files"), "{error}");
}

/// A sequence of numbers that is the same on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.roll(list.len())]
    }
}

#[test]
fn whatever_happens_to_files_and_rules_the_answer_is_that_of_git() {
    const NAMES: [&str; 7] = ["a", "b", "a.b", "gen", "x.log", "keep.log", "ab"];
    const RULES: [&str; 14] = [
        "*.log",
        "!keep.log",
        "gen/",
        "/a",
        "a/*",
        "!a/b",
        "**/gen",
        "a/**/b",
        "?",
        "[ab]",
        "*",
        "!*/",
        "!*.b",
        "gen/**",
    ];
    let repo = Repo::new();
    repo.write("a.b", "x").commit();
    let mut dice = Dice(20_260_701);
    let mut looker = Looker::new(&repo.path);
    for round in 0..40 {
        for _ in 0..6 {
            let depth = dice.roll(3);
            let folder: String = (0..depth).map(|_| [dice.pick(&NAMES), "/"].concat()).collect();
            let place = repo.path.join(&folder).join(dice.pick(&NAMES));
            match dice.roll(8) {
                0 => drop(fs::remove_dir_all(&place)),
                1 => drop(fs::remove_file(&place)),
                2 => {
                    let rules: Vec<&str> = (0..dice.roll(4)).map(|_| dice.pick(&RULES)).collect();
                    drop(fs::write(repo.path.join(folder).join(".gitignore"), rules.join("\n")));
                }
                3 => drop(fs::rename(&place, repo.path.join(dice.pick(&NAMES)))),
                _ => {
                    // What is in the way stays there.
                    drop(place.parent().map(fs::create_dir_all));
                    drop(fs::write(&place, [b'0' + u8::try_from(dice.roll(3)).unwrap()]));
                }
            }
        }
        match dice.roll(6) {
            0 => {
                repo.commit();
                looker = Looker { cache: looker.cache, ..Looker::new(&repo.path) };
            }
            1 => drop(repo.git(&["add", "--all"])),
            _ => {}
        }
        let found = looker.look();
        assert_eq!(changes(&found), said_by_git(&repo.path), "round {round}, skipped: {:?}", found.skipped);
    }
}
