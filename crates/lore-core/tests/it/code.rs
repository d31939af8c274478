//! The index of code against a fresh one, on repositories that real git changes at random.

use std::path::Path;

use crate::{add, sync};
use lore_core::LoreOptions;
use lore_core::{
    Cancel, Lore,
    flows::FlowTask,
    history::SyncOptions,
    search::{CodeRequest, CodeState},
};
use lore_model::Repo as Registered;
use lore_testkit::{Random, Repo};

fn open(home: &Path) -> Lore {
    crate::open(home, LoreOptions::default())
}

/// Everything that an answer says, in one text for each hit. Equal texts are equal answers, bit for bit.
fn ask(lore: &Lore, repo: &Registered, query: &str) -> Vec<String> {
    let mut request = CodeRequest::new(query, vec![(repo.clone(), None)]);
    request.limit = 20;
    let answer = lore.search.query.search(&request).unwrap();
    let hits = answer.hits.iter();
    hits.map(|hit| {
        let (score, place) = (hit.score.to_bits(), (&hit.path, hit.lines, &hit.id, &hit.also_at, &hit.tags));
        format!("{score:08x} {place:?} {:?} {:?}", hit.explanation, hit.snippet.text)
    })
    .collect()
}

const QUERIES: [&str; 8] = [
    "parse the configuration file",
    "retry with backoff",
    "Server7",
    "handler_3",
    "where are connections closed?",
    "\"return total\" limit",
    "src/net",
    "guide installation",
];

const WORDS: [&str; 16] = [
    "parse",
    "config",
    "retry",
    "backoff",
    "connection",
    "close",
    "handler",
    "limit",
    "total",
    "server",
    "cache",
    "token",
    "user",
    "message",
    "queue",
    "timeout",
];

fn words(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| *random.pick(&WORDS)).collect::<Vec<_>>().join(" ")
}

/// A file of some language with a few definitions.
fn source(random: &mut Random, path: &str) -> String {
    let mut definitions = Vec::new();
    for number in 0..=random.below(5) {
        let (name, about) = (random.below(9), words(random, 5));
        let (a, b) = (*random.pick(&WORDS), *random.pick(&WORDS));
        definitions.push(match path.rsplit('.').next().unwrap() {
            "py" => format!(
                "def handler_{name}({a}, {b}):\n    \"\"\"Handles {about}.\"\"\"\n    {a}_{b} = {a}\n    {b} += {number}\n    return {a}_{b}\n\n\n"
            ),
            "rs" => format!(
                "/// {about}\npub struct Server{name} {{\n    {a}: u32,\n}}\n\nimpl Server{name} {{\n    /// {about}\n    pub fn {a}_{b}(&self) -> u32 {{\n        let total = self.{a} + {number};\n        return total;\n    }}\n}}\n\n"
            ),
            "md" => format!("# Guide {name}\n\nThe {about} of {a}. #{b}\n\n## Installation {number}\n\n{about}\n\n"),
            _ => format!("{about}\n{a} {b} {number}\n\n"),
        });
    }
    definitions.concat()
}

const PATHS: [&str; 9] = [
    "src/net/a.rs",
    "src/net/b.rs",
    "src/c.rs",
    "app/d.py",
    "app/e.py",
    "docs/f.md",
    "g.txt",
    "tests/test_h.py",
    "app/sub/i.rs",
];

/// One change to the work tree or the branches.
fn change(repo: &Repo, random: &mut Random, branches: &mut usize) -> String {
    let files: Vec<&str> = PATHS.into_iter().filter(|path| repo.path().join(path).is_file()).collect();
    let path = *random.pick(&PATHS);
    match random.below(12) {
        0..=4 => {
            let text = source(random, path);
            repo.write(path, text);
            format!("write {path}")
        }
        5 if files.len() > 2 => {
            let gone = *random.pick(&files);
            repo.remove(gone);
            format!("remove {gone}")
        }
        6 if !files.is_empty() => {
            let from = *random.pick(&files);
            let text = std::fs::read(repo.path().join(from)).unwrap();
            repo.remove(from).write(path, text);
            format!("rename {from} to {path}")
        }
        7 | 8 => {
            repo.git(&["add", "-A"]);
            let subject = words(random, 4);
            repo.git(&["commit", "-q", "--allow-empty", "-m", &subject]);
            "commit".to_owned()
        }
        9 => {
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "before a branch"]);
            *branches += 1;
            repo.git(&["switch", "-q", "-c", &format!("branch-{branches}")]);
            format!("new branch {branches}")
        }
        10 if *branches > 0 => {
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "before a switch"]);
            let target = format!("branch-{}", 1 + random.below(*branches));
            repo.git(&["switch", "-q", &target]);
            format!("switch to {target}")
        }
        11 => {
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "before a rewrite"]);
            // What a rebase does to the tip: other commits, partly other content.
            repo.git(&["reset", "-q", "--soft", "HEAD~1"]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "rewritten"]);
            "rewrite".to_owned()
        }
        _ => "nothing".to_owned(),
    }
}

#[test]
fn incremental_equals_from_scratch_after_200_random_changes() {
    for seed in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::init(folder.path().join("repo"));
        let mut random = Random::new(seed);
        for path in PATHS {
            let text = source(&mut random, path);
            repo.write(path, text);
        }
        repo.commit("the beginning");
        let grown = open(&folder.path().join("grown"));
        let registered = add(&grown, repo.path());
        let (mut branches, mut done) = (0, Vec::new());
        for step in 0..100 {
            done.push(change(&repo, &mut random, &mut branches));
            // Not every state is synced: uncommitted work lies over older snapshots too.
            if random.below(4) == 0 {
                sync(&grown, &registered);
            }
            // Looks at work trees are cached for a moment, as in a server; here every answer is to be of this very state.
            grown.search.reader.touch(&registered, repo.path(), None).unwrap();
            if step % 10 != 9 {
                continue;
            }
            sync(&grown, &registered);
            grown.search.reader.touch(&registered, repo.path(), None).unwrap();
            let fresh = open(&folder.path().join(format!("fresh-{step}")));
            let anew = add(&fresh, repo.path());
            sync(&fresh, &anew);
            for query in QUERIES {
                let (grown, fresh) = (ask(&grown, &registered, query), ask(&fresh, &anew, query));
                assert_eq!(grown, fresh, "seed {seed}, step {step}, `{query}`, after {done:?}");
            }
        }
    }
}

#[test]
fn what_commits_say_about_a_file_counts() {
    let folder = tempfile::tempdir().unwrap();
    let repo = Repo::init(folder.path().join("repo"));
    let text = |name: &str| format!("pub fn {name}(count: u32) -> u32 {{\n    count + 1\n}}\n");
    for name in ["alpha", "beta", "gamma", "delta"] {
        repo.write(format!("src/{name}.rs"), text(name));
    }
    repo.commit("the beginning");
    repo.write("src/gamma.rs", text("gamma") + "// changed\n");
    repo.commit("Throttle uploads of count when the network is slow");
    let lore = open(&folder.path().join("home"));
    let registered = add(&lore, repo.path());
    sync(&lore, &registered);
    let mut request = CodeRequest::new("throttle slow uploads by count", vec![(registered.clone(), None)]);
    let answer = lore.search.query.search(&request).unwrap();
    assert_eq!(answer.hits[0].path.to_text(), "src/gamma.rs");
    let says = |answer: &lore_core::search::CodeAnswer| {
        answer.hits.iter().any(|hit| hit.explanation.rules.iter().any(|(rule, _)| *rule == "its commits say so"))
    };
    assert!(says(&answer), "{:?}", answer.hits[0].explanation);
    request.parts.history = false;
    assert!(!says(&lore.search.query.search(&request).unwrap()));
    // A commit that comes later counts from the next sync on, in a process that has answered before.
    repo.write("src/beta.rs", text("beta") + "// changed\n");
    repo.commit("Compress archives of count");
    sync(&lore, &registered);
    let answer = lore.search.query.search(&CodeRequest::new("compress archives of count", vec![(registered, None)]));
    assert_eq!(answer.unwrap().hits[0].path.to_text(), "src/beta.rs");
}

#[test]
fn an_answer_does_not_change_when_other_repositories_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let lore = open(&folder.path().join("home"));
    let mut random = Random::new(7);
    let mut make = |name: &str| {
        let repo = Repo::init(folder.path().join(name));
        for path in PATHS {
            let text = source(&mut random, path);
            repo.write(path, text);
        }
        repo.commit("the beginning");
        repo
    };
    let first = make("first");
    let registered = add(&lore, first.path());
    sync(&lore, &registered);
    let mut before = Vec::new();
    for query in QUERIES {
        before.push(ask(&lore, &registered, query));
    }
    for number in 0..10 {
        let other = make(&format!("other-{number}"));
        let other = add(&lore, other.path());
        sync(&lore, &other);
    }
    let again = open(&folder.path().join("home"));
    for (query, before) in QUERIES.iter().zip(before) {
        assert_eq!(ask(&again, &registered, query), before, "{query}");
    }
}

#[test]
fn a_repository_that_was_never_indexed_takes_no_meaning_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let known = small(&folder.path().join("known"), &[("a.rs", "adds_apples"), ("b.rs", "boils_beans")]);
    let new = small(&folder.path().join("new"), &[("c.rs", "cuts_cucumbers")]);
    let lore = open(&folder.path().join("home"));
    let (known, new) = (add(&lore, known.path()), add(&lore, new.path()));
    sync(&lore, &known);
    let mut request = CodeRequest::new("how is fruit summed up", vec![(known.clone(), None)]);
    let alone = lore.search.query.search(&request).unwrap();
    assert!(alone.hits[0].explanation.cosine.is_some());
    request.repos.push((new, None));
    let both = lore.search.query.search(&request).unwrap();
    assert_eq!(both.freshness[1].state, CodeState::NeverIndexed);
    let said = |answer: &lore_core::search::CodeAnswer| {
        answer.hits.iter().map(|hit| (hit.path.clone(), hit.explanation.clone())).collect::<Vec<_>>()
    };
    assert_eq!(said(&both), said(&alone));
}

#[test]
fn an_edit_is_seen_at_once_and_a_second_work_tree_costs_only_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let repo = Repo::init(folder.path().join("repo"));
    repo.write("a.rs", "/// Adds.\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n");
    repo.commit("the beginning");
    let lore = open(&folder.path().join("home"));
    let registered = add(&lore, repo.path());
    sync(&lore, &registered);
    repo.write("b.rs", "/// Multiplies matrices of any size.\npub fn multiply_matrices() {}\n");
    let found = ask(&lore, &registered, "multiply_matrices");
    assert!(found.first().is_some_and(|hit| hit.contains("b.rs")), "{found:?}");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "matrices"]);
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "side"]);
    std::fs::write(folder.path().join("linked/c.rs"), "pub fn subtract_vectors() {}\n").unwrap();
    sync(&lore, &registered);
    let linked = folder.path().join("linked").canonicalize().unwrap();
    let request = CodeRequest::new("subtract_vectors", vec![(registered.clone(), Some(linked))]);
    let answer = lore.search.query.search(&request).unwrap();
    assert_eq!(answer.hits[0].path.to_text(), "c.rs");
    assert!(answer.hits[0].uncommitted);
    assert_eq!(answer.freshness[0].state, CodeState::Current);
    let state = lore.search.reader.state(registered.id).unwrap();
    assert_eq!(state.snapshots.len(), 1, "both work trees stand on one commit: {state:?}");
    // The work tree of the repository itself does not have it.
    let here = ask(&lore, &registered, "subtract_vectors");
    assert!(here.iter().all(|hit| !hit.contains("c.rs")), "{here:?}");
}

/// The work trees that agents make for themselves: beside the repository and inside it, some with commits of their own.
struct WorkTrees {
    folder: tempfile::TempDir,
    repo: Repo,
    lore: Lore,
    registered: Registered,
}

impl WorkTrees {
    const COUNT: usize = 50;

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..40).map(|number| format!("shared_{number}")).collect();
        let paths: Vec<String> = names.iter().map(|name| format!("src/{name}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(String::as_str).zip(names.iter().map(String::as_str)).collect();
        let repo = small(&folder.path().canonicalize().unwrap().join("repo"), &files);
        let lore = open(&folder.path().join("home"));
        let registered = add(&lore, repo.path());
        sync(&lore, &registered);
        Self { folder, repo, lore, registered }
    }

    fn path(&self, number: usize) -> std::path::PathBuf {
        let inside = self.repo.path().join(".claude/worktrees");
        let beside = self.folder.path().canonicalize().unwrap().join("trees");
        if number.is_multiple_of(2) { inside } else { beside }.join(number.to_string())
    }

    fn has_commit(number: usize) -> bool {
        number.is_multiple_of(5)
    }

    /// Makes all of them, each with an uncommitted file, every fifth with a commit of its own.
    fn make(&self) {
        for number in 0..Self::COUNT {
            let path = self.path(number);
            self.repo.git(&["worktree", "add", "-q", "-b", &format!("agent-{number}"), path.to_str().unwrap()]);
            if Self::has_commit(number) {
                std::fs::write(path.join("kept.rs"), format!("pub fn keeps_apples_{number}() {{}}\n")).unwrap();
                let inside = ["-C", path.to_str().unwrap()];
                self.repo.git(&[&inside[..], &["add", "kept.rs"]].concat());
                self.repo.git(&[&inside[..], &["commit", "-q", "-m", "Keep apples"]].concat());
            }
            std::fs::write(path.join("draft.rs"), format!("pub fn drafts_beans_{number}() {{}}\n")).unwrap();
        }
    }

    /// Brings the code up to date and says how many contents were read for that.
    fn sync_code(&self) -> u64 {
        let writer = self.lore.history.writer(|| {}).unwrap();
        let (options, cancel) = (SyncOptions::default(), Cancel::default());
        let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &|_| {} };
        self.lore.sync_code(&self.registered, &task).unwrap().read
    }

    /// Which of the functions that only one work tree has are found from this place, and how many files are uncommitted there.
    fn own_functions(&self, place: &Path) -> (Vec<String>, usize) {
        let mut found = Vec::new();
        let mut uncommitted = 0;
        for query in ["drafts beans", "keeps apples"] {
            let mut request = CodeRequest::new(query, vec![(self.registered.clone(), Some(place.to_owned()))]);
            request.limit = 20;
            let answer = self.lore.search.query.search(&request).unwrap();
            uncommitted = answer.freshness[0].uncommitted;
            let texts = answer.hits.iter().map(|hit| hit.snippet.text.as_str());
            found.extend(texts.filter_map(|text| {
                let name = text.split_once("pub fn ")?.1.split_once('(')?.0;
                (!name.starts_with("shared_")).then(|| name.to_owned())
            }));
        }
        (found, uncommitted)
    }

    fn expected(number: usize) -> Vec<String> {
        let draft = format!("drafts_beans_{number}");
        let kept = Self::has_commit(number).then(|| format!("keeps_apples_{number}"));
        let mut one = vec![draft];
        one.extend(kept);
        one
    }
}

fn sorted_and_unique(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn fifty_work_trees_cost_what_differs_and_each_answers_from_its_own_files() {
    let trees = WorkTrees::new();
    let before = trees.lore.search.reader.bytes().unwrap();
    trees.make();
    let commits = (0..WorkTrees::COUNT).filter(|number| WorkTrees::has_commit(*number)).count();
    assert_eq!(trees.sync_code(), commits as u64, "the new file of each commit is read, and nothing else");
    let state = trees.lore.search.reader.state(trees.registered.id).unwrap();
    assert_eq!(state.snapshots.len(), 1 + commits, "work trees over one commit share its snapshot");
    let bytes = trees.lore.search.reader.bytes().unwrap() - before;
    assert!(bytes < before, "{commits} commits of one small file took {bytes} bytes, the whole repository {before}");
    for number in 0..WorkTrees::COUNT {
        let (found, uncommitted) = trees.own_functions(&trees.path(number));
        assert_eq!(sorted_and_unique(found), WorkTrees::expected(number), "from work tree {number}");
        assert_eq!(uncommitted, 1, "only what differs in work tree {number} is read");
    }
    // The work trees inside it are none of its files, as git has it.
    assert_eq!(trees.own_functions(trees.repo.path()), (Vec::new(), 0));
    assert_eq!(trees.sync_code(), 0, "searching adds nothing to the index");
}

#[test]
fn removed_work_trees_disappear_from_the_index() {
    let trees = WorkTrees::new();
    trees.make();
    trees.sync_code();
    let is_current = || trees.lore.search.reader.is_indexed(&trees.registered).unwrap();
    let commit_of = |number: usize| trees.repo.git(&["rev-parse", &format!("agent-{number}")]).trim().to_owned();
    let snapshots = || {
        let state = trees.lore.search.reader.state(trees.registered.id).unwrap();
        state.snapshots.iter().map(|snapshot| snapshot.commit.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(is_current(), Some(true));
    // One is removed as git wants it, two by hand, and one of those is locked: it may be on a disk that is not mounted.
    let (by_git, by_hand, locked) = (0, 5, 10);
    trees.repo.git(&["worktree", "remove", "--force", trees.path(by_git).to_str().unwrap()]);
    assert_eq!(is_current(), Some(false), "a work tree that git removed is noticed");
    trees.sync_code();
    assert!(!snapshots().contains(&commit_of(by_git)));
    assert_eq!(is_current(), Some(true));
    trees.repo.git(&["worktree", "lock", trees.path(locked).to_str().unwrap()]);
    std::fs::remove_dir_all(trees.path(locked)).unwrap();
    std::fs::remove_dir_all(trees.path(by_hand)).unwrap();
    assert_eq!(is_current(), Some(false), "a work tree that was removed by hand is noticed");
    trees.sync_code();
    assert!(!snapshots().contains(&commit_of(by_hand)));
    assert!(snapshots().contains(&commit_of(locked)), "a locked work tree is kept, as git does");
    assert_eq!(is_current(), Some(true));
    let (found, _) = trees.own_functions(&trees.path(15));
    assert_eq!(sorted_and_unique(found), WorkTrees::expected(15), "the others answer as before");
}

/// A repository with one function in each of some files.
fn small(folder: &Path, files: &[(&str, &str)]) -> Repo {
    let repo = Repo::init(folder);
    for (path, name) in files {
        repo.write(path, format!("/// Does what {name} says.\npub fn {name}() {{}}\n"));
    }
    repo.commit("the beginning");
    repo
}

/// The file in which git keeps what is at `path`.
fn object(repo: &Repo, spec: &str) -> std::path::PathBuf {
    let id = repo.git(&["rev-parse", spec]);
    let (folder, name) = id.trim().split_at(2);
    repo.path().join(".git/objects").join(folder).join(name)
}

fn spoil(file: &Path) {
    let mut permissions = std::fs::metadata(file).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the folder is this test's own")]
    permissions.set_readonly(false);
    std::fs::set_permissions(file, permissions).unwrap();
    std::fs::write(file, b"no object of git").unwrap();
}

#[test]
fn one_damaged_object_does_not_keep_the_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let repo = small(&folder.path().join("repo"), &[("a.rs", "adds_apples"), ("b.rs", "boils_beans")]);
    spoil(&object(&repo, "HEAD:b.rs"));
    let lore = open(&folder.path().join("home"));
    let registered = add(&lore, repo.path());
    sync(&lore, &registered);
    assert!(ask(&lore, &registered, "adds_apples")[0].contains("a.rs"));
    let state = lore.search.reader.state(registered.id).unwrap();
    let left_out = lore.search.reader.summarise(state.snapshots[0].id).unwrap().left_out;
    assert_eq!(left_out[0].path.to_text(), "b.rs");
    assert!(left_out[0].reason.starts_with("its content cannot be read"), "{left_out:?}");
}

#[test]
fn a_branch_that_cannot_be_read_is_not_taken_for_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let repo = small(&folder.path().join("repo"), &[("a.rs", "adds_apples")]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("b.rs", "pub fn boils_beans() {}\n");
    repo.commit("beans");
    let tree = object(&repo, "HEAD^{tree}");
    let kept = std::fs::read(&tree).unwrap();
    spoil(&tree);
    let lore = open(&folder.path().join("home"));
    let registered = add(&lore, repo.path());
    sync(&lore, &registered);
    let side = repo.git(&["rev-parse", "side"]);
    let tips = |state: &lore_store::CodeState| state.tips.iter().map(|tip| tip.commit.to_hex()).collect::<Vec<_>>();
    let state = lore.search.reader.state(registered.id).unwrap();
    assert!(!tips(&state).contains(&side.trim().to_owned()), "{state:?}");
    assert_eq!(lore.search.reader.is_indexed(&registered).unwrap(), Some(false));
    // The object comes back, for example with `git fetch`: nothing else has changed.
    std::fs::write(&tree, kept).unwrap();
    sync(&lore, &registered);
    let state = lore.search.reader.state(registered.id).unwrap();
    assert!(tips(&state).contains(&side.trim().to_owned()), "{state:?}");
    assert!(ask(&lore, &registered, "boils_beans")[0].contains("b.rs"));
}

#[test]
fn an_index_that_was_made_anew_is_not_taken_for_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let old = small(&folder.path().join("old"), &[("a.rs", "adds_apples")]);
    let new = small(&folder.path().join("new"), &[("a.rs", "boils_beans")]);
    // The one that goes on running.
    let lore = open(&home);
    let registered = add(&lore, old.path());
    sync(&lore, &registered);
    assert!(ask(&lore, &registered, "adds_apples")[0].contains("adds_apples"));
    std::fs::remove_dir_all(&home).unwrap();
    let other = open(&home);
    let registered = add(&other, new.path());
    sync(&other, &registered);
    let found = ask(&lore, &registered, "boils_beans");
    assert!(found.first().is_some_and(|hit| hit.contains("boils_beans")), "{found:?}");
}

#[test]
fn damage_that_concerns_another_repository_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let first = small(&folder.path().join("first"), &[("a.rs", "adds_apples")]);
    let second = small(&folder.path().join("second"), &[("b.rs", "boils_beans")]);
    let lore = open(&home);
    let (first, second) = (add(&lore, first.path()), add(&lore, second.path()));
    sync(&lore, &first);
    let segments = || {
        let mut files: Vec<_> =
            std::fs::read_dir(home.join("segments")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let of_first = segments();
    sync(&lore, &second);
    drop(lore);
    for file in &of_first {
        std::fs::write(file, b"no segment").unwrap();
    }
    let lore = open(&home);
    assert!(ask(&lore, &second, "boils_beans")[0].contains("b.rs"));
    let request = CodeRequest::new("adds_apples", vec![(first.clone(), None)]);
    let failure = lore.search.query.search(&request).unwrap_err();
    assert!(failure.to_string().contains("segments"), "{failure}");
    // One that is not there at all is no other matter.
    std::fs::remove_file(&of_first[0]).unwrap();
    let lore = open(&home);
    assert!(ask(&lore, &second, "boils_beans")[0].contains("b.rs"));
    // What is damaged is read again although the other repository still shows what is older.
    let writer = lore.history.writer(|| {}).unwrap();
    writer.retire_code(vec![first.id]).unwrap();
    drop(writer);
    sync(&lore, &first);
    assert!(ask(&lore, &first, "adds_apples")[0].contains("a.rs"));
    assert!(ask(&lore, &second, "boils_beans")[0].contains("b.rs"));
}

#[test]
fn reading_one_repository_again_loses_nothing_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let first = small(&folder.path().join("first"), &[("a.rs", "adds_apples")]);
    let second = small(&folder.path().join("second"), &[("b.rs", "boils_beans")]);
    let main = second.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    second.git(&["checkout", "-q", "-b", "side"]);
    second.write("c.rs", "pub fn counts_cherries() {}\n");
    second.commit("cherries");
    let lore = open(&folder.path().join("home"));
    let (a, b) = (add(&lore, first.path()), add(&lore, second.path()));
    sync(&lore, &a);
    sync(&lore, &b);
    let writer = lore.history.writer(|| {}).unwrap();
    writer.retire_code(vec![a.id]).unwrap();
    drop(writer);
    sync(&lore, &a);
    // Only tips move: every commit is one that was indexed.
    second.git(&["checkout", "-q", main.trim()]);
    sync(&lore, &b);
    assert!(ask(&lore, &b, "boils_beans").first().is_some_and(|hit| hit.contains("b.rs")));
    assert!(ask(&lore, &a, "adds_apples")[0].contains("a.rs"));
}
