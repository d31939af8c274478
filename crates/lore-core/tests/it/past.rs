//! The past of code: whatever `git grep` finds in the tree of a commit is found at that commit, however it was synced.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lore_core::LoreOptions;
use lore_core::{
    Cancel, Lore,
    flows::FlowTask,
    history::{AddRequest, SyncOptions, Target},
    search::{ChangeKind, CodeRequest, FileFilter, LineHit, LinesRequest, LinesWanted, Period, StoryBudget, When},
};
use lore_embed::{EmbedError, Embedder, Mode, StaticModel};
use lore_model::RepoPath;
use lore_store::CodeStore as _;
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};
use lore_testkit::{Random, Repo};

/// An index and what it is of.
struct Index {
    lore: Lore,
    store: Arc<EmbeddedStore>,
    folder: std::path::PathBuf,
    _home: tempfile::TempDir,
}

impl Index {
    fn new(folder: &Path) -> Self {
        Self::with_model(folder, Arc::new(StaticModel::built_in()))
    }

    fn with_model(folder: &Path, model: Arc<dyn Embedder>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let place = home.path();
        let store = Arc::new(EmbeddedStore::new(place));
        let options = LoreOptions { embedder: model, ..LoreOptions::default() };
        let lore = Lore::new(place, Arc::clone(&store) as _, Arc::new(EmbeddedMessages::new(place)), options);
        Self { lore, store, folder: folder.to_owned(), _home: home }
    }

    fn repo(&self) -> lore_model::Repo {
        self.lore.history.repos().unwrap().pop().unwrap()
    }

    fn sync(&self, past: Option<bool>) {
        let writer = self.lore.history.writer(|| {}).unwrap();
        let known = self.lore.history.repos().unwrap().pop();
        let repo = if let Some(repo) = known {
            repo
        } else {
            let added = AddRequest::new(Target::Folder(self.folder.clone()));
            self.lore.history.add(&*writer, added).unwrap()
        };
        let (options, cancel) = (SyncOptions { past, ..SyncOptions::default() }, Cancel::default());
        let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &|_| {} };
        self.lore.sync(&repo, &task).unwrap();
    }

    fn lines(&self, wanted: LinesWanted, when: When) -> Vec<LineHit> {
        let request = LinesRequest {
            wanted,
            case_sensitive: true,
            files: FileFilter::default(),
            repos: vec![(self.repo(), None)],
            when,
            limit: 0,
            context: 0,
            once: false,
            best: false,
            time: Duration::from_mins(1),
        };
        let mut answer = self.lore.search.query.find_lines(&request).unwrap();
        assert!(answer.gaps.not_kept.is_empty() && answer.gaps.no_commit.is_empty() && answer.gaps.behind.is_empty());
        self.lore.search.temporal.tell_past(&request.repos, &mut answer.hits, None).unwrap();
        answer.hits
    }

    fn at(&self, commit: &str, pattern: &str) -> BTreeSet<(String, u32)> {
        let hits = self.lines(LinesWanted::Regex(pattern.to_owned()), When::At(commit.to_owned()));
        let found: BTreeSet<_> = hits.iter().map(|hit| (hit.path.to_text().into_owned(), hit.line)).collect();
        assert_eq!(found.len(), hits.len(), "each line is found once");
        assert!(hits.iter().all(|hit| !hit.uncommitted));
        found
    }

    /// Everything that is kept, by path.
    fn versions(&self, paths: &BTreeSet<String>) -> Vec<(String, Vec<lore_store::PathVersion>)> {
        let repo = self.repo();
        let (past, _) = self.store.past_commits(repo.id).unwrap().expect("it is kept");
        let mut all = Vec::new();
        for path in paths {
            let versions = self.store.path_versions(repo.id, past, &RepoPath::new(path.as_bytes())).unwrap();
            all.push((path.clone(), versions));
        }
        all
    }
}

fn git(folder: &Path) -> lore_testkit::Git {
    lore_testkit::Git::at(folder)
}

/// The lines that `git grep` names in the tree of a commit.
fn git_lines(folder: &Path, commit: &str, pattern: &str) -> BTreeSet<(String, u32)> {
    let mut command = git(folder).command();
    command.env("LC_ALL", "C.UTF-8").args(["grep", "--no-color", "-n", "-z", "-I", "-P", "-e", pattern, commit]);
    let out = command.output().unwrap();
    assert!(out.status.code() < Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines()
        .map(|line| {
            let mut parts = line.split('\0');
            let path = parts.next().unwrap().strip_prefix(&format!("{commit}:")).unwrap().to_owned();
            (path, parts.next().unwrap().parse().unwrap())
        })
        .collect()
}

/// A piece of code that is one of a few, so that texts come back.
fn code(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(4) {
        let number = random.below(12);
        writeln!(text, "/// Handles case {number}.\npub fn handle_{number}(value: u32) -> u32 {{").unwrap();
        writeln!(text, "    value + {number}\n}}\n").unwrap();
    }
    text
}

/// One random change of the work tree.
fn change(repo: &Repo, random: &mut Random) {
    const PATHS: [&str; 6] = ["a.rs", "src/b.rs", "src/c.rs", "d.md", "deep/er/e.rs", "f.py"];
    let path = PATHS[random.below(PATHS.len())];
    let place = repo.path().join(path);
    match random.below(6) {
        0 if place.exists() => drop(repo.remove(path)),
        1 if place.exists() => {
            let to = PATHS[random.below(PATHS.len())];
            let text = std::fs::read(&place).unwrap();
            repo.remove(path).write(to, text);
        }
        2 if place.is_file() => {
            let text = std::fs::read_to_string(&place).unwrap();
            repo.write(path, text + &code(random));
        }
        3 => drop(repo.write("bin.dat", [0, 1, u8::try_from(random.below(9)).unwrap()])),
        _ => drop(repo.write(path, code(random))),
    }
}

/// A history with merges that change something.
fn grow(repo: &Repo, commits: usize, random: &mut Random) {
    for number in 0..commits {
        if random.below(6) == 0 && number > 0 {
            repo.git(&["checkout", "-q", "-b", "side"]);
            change(repo, random);
            repo.commit("On the side");
            repo.git(&["checkout", "-q", "main"]);
            change(repo, random);
            repo.commit("Meanwhile");
            repo.git(&["merge", "-q", "--no-commit", "-s", "ours", "side"]);
            change(repo, random);
            repo.commit("Join");
            repo.git(&["branch", "-q", "-D", "side"]);
        } else {
            change(repo, random);
            repo.commit(&format!("Change {number}"));
        }
    }
}

fn line(folder: &Path) -> Vec<String> {
    let listed = git(folder).text(&["rev-list", "--first-parent", "--reverse", "HEAD"]).unwrap();
    listed.lines().map(str::to_owned).collect()
}

fn all_paths(folder: &Path) -> BTreeSet<String> {
    let listed =
        git(folder).text(&["log", "--first-parent", "-m", "--no-renames", "--name-only", "--format="]).unwrap();
    listed.lines().filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_commit_of_the_line_is_as_git_has_it_whenever_it_was_synced() {
    for seed in 0..2 {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("r"));
        repo.git(&["checkout", "-q", "-B", "main"]);
        let mut random = Random::new(seed);
        grow(&repo, 6, &mut random);
        let stepwise = Index::new(repo.path());
        stepwise.sync(Some(true));
        for _ in 0..3 {
            grow(&repo, 5, &mut random);
            stepwise.sync(None);
        }
        // What was pushed is taken back.
        repo.git(&["reset", "-q", "--hard", "HEAD~3"]);
        grow(&repo, 4, &mut random);
        stepwise.sync(None);
        let whole = Index::new(repo.path());
        whole.sync(Some(true));

        for commit in line(repo.path()) {
            for pattern in ["handle_1", "^\\s+value", "[0-9]\\."] {
                let expected = git_lines(repo.path(), &commit, pattern);
                assert_eq!(whole.at(&commit, pattern), expected, "seed {seed}, {commit}, {pattern}");
                assert_eq!(stepwise.at(&commit, pattern), expected, "seed {seed}, {commit}, {pattern}");
            }
        }
        let paths = all_paths(repo.path());
        assert_eq!(stepwise.versions(&paths), whole.versions(&paths), "seed {seed}");
    }
}

#[test]
fn a_commit_beside_the_line_is_read_from_git() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::init(dir.path().join("r"));
    repo.git(&["checkout", "-q", "-B", "main"]);
    repo.write("a.rs", "pub fn alpha() {}\n").commit("Begin");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("b.rs", "pub fn only_on_the_side() {}\n").write("secret.rs", "pub fn secret() {}\n").commit("Beside");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.rs", "pub fn beta() {}\n").commit("Go on");
    repo.git(&["merge", "-q", "--no-edit", "-m", "Take it in", "side"]);
    repo.write("a.rs", "pub fn gamma() {}\n").write(".loreignore", "secret.rs\n").commit("Go further");
    let index = Index::new(repo.path());
    index.sync(Some(true));
    let names =
        ["side", "HEAD", "HEAD~1", "main", "HEAD~2", "main~^", "HEAD^^^", "main~1^2", "HEAD^^2~1", "HEAD^0~3", "@~2"];
    for name in names {
        // What is left out now is left out of every commit.
        let mut expected = git_lines(repo.path(), name, "fn");
        expected.retain(|(path, _)| path != "secret.rs");
        assert_eq!(index.at(name, "fn"), expected, "{name}");
    }
    // HEAD is that of the work tree that is asked from.
    let other = dir.path().join("other");
    repo.git(&["worktree", "add", "-q", other.to_str().unwrap(), "side"]);
    let mut request = CodeRequest::new("only_on_the_side", vec![(index.repo(), Some(other))]);
    request.when = When::At("HEAD".to_owned());
    let answer = index.lore.search.query.search(&request).unwrap();
    assert_eq!(answer.hits[0].name.as_deref(), Some("only_on_the_side"));
    assert_eq!(answer.gaps.beside, ["r"]);
    for name in ["HEAD~4", "HEAD~99999999999", "~1", "HEAD^3", "side~2"] {
        request.when = When::At(name.to_owned());
        request.repos = vec![(index.repo(), None)];
        let failure = index.lore.search.query.search(&request).unwrap_err();
        assert_eq!(failure.code, lore_model::Code::CommitNotFound, "{name}: {failure:?}");
    }
}

/// The names that a question by meaning finds.
fn names(index: &Index, query: &str, when: When) -> Vec<String> {
    let mut request = CodeRequest::new(query, vec![(index.repo(), None)]);
    request.when = when;
    let answer = index.lore.search.query.search(&request).unwrap();
    answer.hits.iter().filter_map(|hit| hit.name.clone()).collect()
}

/// Commits with what is there, at a time.
fn commit_at(repo: &Repo, day: u32, author: &str, message: &str) -> String {
    let date = format!("2024-01-{day:02}T12:00:00Z");
    repo.git(&["add", "-A"]);
    let mut command = git(repo.path()).command();
    command.env("GIT_COMMITTER_DATE", &date).env("GIT_AUTHOR_DATE", &date);
    command.env("GIT_AUTHOR_NAME", author).env("GIT_AUTHOR_EMAIL", format!("{author}@example.org"));
    command.env("GIT_COMMITTER_NAME", author).env("GIT_COMMITTER_EMAIL", format!("{author}@example.org"));
    let out = command.args(["commit", "-q", "-m", message]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    git(repo.path()).text(&["rev-parse", "HEAD"]).unwrap()
}

fn day(day: u32) -> i64 {
    1_704_067_200 + i64::from(day - 1) * 86_400
}

fn during(from: u32, to: u32) -> Period {
    Period { from: Some(day(from)), to: Some(day(to) + 86_399), ..Period::default() }
}

#[test]
fn what_is_gone_is_found_with_the_commit_that_took_it_away() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::init(dir.path().join("r"));
    let retry = "/// Tries a request again after a failure.\npub fn retry_request(times: u32) {\n    for _ in 0..times { send(); }\n}\n";
    let cache = "/// Keeps answers.\npub fn cache_answers() {\n    store();\n}\n";
    repo.write("net.rs", retry).write("cache.rs", cache);
    let first = commit_at(&repo, 1, "ann", "Begin");
    repo.write("net.rs", "/// Sends.\npub fn send_once() {}\n");
    let dropped = commit_at(&repo, 5, "bob", "Do not retry: it hid faults");
    repo.git(&["mv", "cache.rs", "store.rs"]);
    let moved = commit_at(&repo, 8, "ann", "Rename the cache");
    repo.remove("store.rs");
    let removed = commit_at(&repo, 10, "bob", "Drop the cache");
    let index = Index::new(repo.path());
    index.sync(Some(true));

    // By meaning, although no tree has it any more.
    assert_eq!(names(&index, "retry a failed request", When::During(during(1, 3)))[0], "retry_request");
    assert!(!names(&index, "retry a failed request", When::During(during(6, 7))).contains(&"retry_request".to_owned()));
    assert!(!names(&index, "retry a failed request", When::Now).contains(&"retry_request".to_owned()));
    // A file that is gone counts only where that is asked for.
    let kept = names(&index, "keep answers in a cache", When::During(during(1, 3)));
    assert!(!kept.contains(&"cache_answers".to_owned()), "{kept:?}");
    let all = Period { removed: true, ..Period::default() };
    assert_eq!(names(&index, "keep answers in a cache", When::During(all.clone()))[0], "cache_answers");

    let hits = index.lines(LinesWanted::Literal("pub fn".to_owned()), When::During(all));
    let told: Vec<_> = hits
        .iter()
        .map(|hit| {
            let told = hit.told.as_ref().unwrap();
            let by = told.removed_by.as_ref();
            let by = by.map(|by| (by.commit.id.to_hex(), by.kind, by.subject.clone().unwrap()));
            (hit.path.to_text().into_owned(), told.standing.first.id.to_hex(), told.standing.file_is_gone, by)
        })
        .collect();
    let by = |commit: &str, kind, subject: &str| Some((commit.to_owned(), kind, subject.to_owned()));
    assert_eq!(
        told,
        [
            ("cache.rs".to_owned(), first.clone(), true, by(&moved, ChangeKind::Renamed, "Rename the cache")),
            (
                "net.rs".to_owned(),
                first.clone(),
                false,
                by(&dropped, ChangeKind::Modified, "Do not retry: it hid faults")
            ),
            ("net.rs".to_owned(), dropped.clone(), false, None),
            ("store.rs".to_owned(), moved.clone(), true, by(&removed, ChangeKind::Deleted, "Drop the cache")),
        ]
    );

    // By who brought it or took it away, and how.
    let found = |period: Period| {
        let hits = index.lines(LinesWanted::Literal("pub fn".to_owned()), When::During(period));
        hits.iter().map(|hit| (hit.path.to_text().into_owned(), hit.text.clone())).collect::<Vec<_>>()
    };
    let all = Period { removed: true, ..Period::default() };
    let (net, cached) = ("net.rs".to_owned(), "pub fn cache_answers() {".to_owned());
    let retried = (net.clone(), "pub fn retry_request(times: u32) {".to_owned());
    let sent = (net, "pub fn send_once() {}".to_owned());
    let (before, after) = (("cache.rs".to_owned(), cached.clone()), ("store.rs".to_owned(), cached));
    let by_bob = Period { author: Some("BOB@".to_owned()), ..all.clone() };
    assert_eq!(found(by_bob), [retried.clone(), sent.clone(), after.clone()]);
    let kinds = |kinds: &[ChangeKind]| Period { kinds: kinds.to_vec(), ..all.clone() };
    assert_eq!(found(kinds(&[ChangeKind::Renamed])), [before.clone(), after.clone()]);
    assert_eq!(found(kinds(&[ChangeKind::Deleted])), std::slice::from_ref(&after));
    assert_eq!(found(kinds(&[ChangeKind::Added])), [before, retried.clone()]);
    assert_eq!(found(kinds(&[ChangeKind::Modified])), [retried, sent]);
    let early = Period { author: Some("bob".to_owned()), to: Some(day(4)), ..all };
    assert_eq!(found(early), []);

    // What happened to a file, under both names.
    let story =
        index.lore.search.temporal.story(&index.repo(), &RepoPath::new(b"store.rs".as_slice()), None, 10).unwrap();
    let steps: Vec<_> = story
        .entries
        .iter()
        .map(|step| (step.happened.commit.id.to_hex(), step.happened.kind, step.path.to_text().into_owned()))
        .collect();
    assert_eq!(
        steps,
        [
            (removed, ChangeKind::Deleted, "store.rs".to_owned()),
            (moved, ChangeKind::Renamed, "store.rs".to_owned()),
            (first, ChangeKind::Added, "cache.rs".to_owned()),
        ]
    );
    assert!(story.entries[0].diff.as_ref().unwrap().contains("-pub fn cache_answers() {"));
    assert!(story.entries[1].diff.as_ref().unwrap().is_empty(), "nothing changed but the name");
    assert!(!story.more);
}

#[test]
fn all_hits_together_tell_so_many_steps() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::init(dir.path().join("r"));
    for step in 0..4 {
        repo.write("a.rs", format!("pub fn one() {{}}\npub fn two() {{}}\n// {step}\n")).commit("More");
    }
    repo.write("b.rs", "pub fn three() {}\n").commit("Other");
    let index = Index::new(repo.path());
    index.sync(Some(true));
    let repos = vec![(index.repo(), None)];
    // Two of them are of one file, whose story is known then, and told once more.
    let mut hits = index.lines(LinesWanted::Literal("pub fn".to_owned()), When::At("HEAD".to_owned()));
    assert_eq!(hits.len(), 3);
    for (room, expected, left) in [
        (100, [(3, true), (3, true), (1, false)], 93),
        (7, [(3, true), (3, true), (1, false)], 0),
        (5, [(3, true), (2, true), (0, true)], 0),
        (0, [(0, true), (0, true), (0, true)], 0),
    ] {
        let mut now = StoryBudget { steps: room, ..StoryBudget::UNLIMITED };
        index.lore.search.temporal.tell_past_within(&repos, &mut hits, Some(3), &mut now).unwrap();
        let told = hits.iter().map(|hit| hit.told.as_ref().unwrap().story.as_ref().unwrap());
        assert_eq!(told.map(|story| (story.entries.len(), story.more)).collect::<Vec<_>>(), expected, "{room}");
        assert_eq!((now.steps, now.steps_cut, now.diffs_cut), (left, room < 7, 0), "{room}");
    }
}

#[test]
fn without_a_past_what_is_there_answers_and_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::init(dir.path().join("r"));
    repo.write("a.rs", "pub fn alpha() {}\n").commit("Begin");
    repo.write("a.rs", "pub fn beta() {}\n").commit("Change");
    let index = Index::new(repo.path());
    index.sync(None);
    let mut request = CodeRequest::new("beta", vec![(index.repo(), None)]);
    request.when = When::During(Period::default());
    let answer = index.lore.search.query.search(&request).unwrap();
    assert_eq!(answer.gaps.not_kept, ["r"]);
    assert_eq!(answer.hits[0].name.as_deref(), Some("beta"));

    index.sync(Some(true));
    let answer = index.lore.search.query.search(&request).unwrap();
    assert_eq!(answer.gaps.not_kept, [""; 0]);
    assert!(answer.hits.iter().any(|hit| hit.name.as_deref() == Some("alpha")));
    // It is kept from then on, until somebody says otherwise.
    repo.write("a.rs", "pub fn gamma() {}\n").commit("Change again");
    index.sync(None);
    assert_eq!(names(&index, "gamma", When::At("HEAD".to_owned())), ["gamma"]);
    index.sync(Some(false));
    let answer = index.lore.search.query.search(&request).unwrap();
    assert_eq!(answer.gaps.not_kept, ["r"]);

    // Where it is kept or not, a commit that never was is no name for what is there now.
    for (past, kept) in [(false, &["r"][..]), (true, &[])] {
        index.sync(Some(past));
        request.when = When::At("no-such-thing".to_owned());
        let failure = index.lore.search.query.search(&request).unwrap_err();
        assert_eq!(failure.code, lore_model::Code::CommitNotFound);
        request.when = When::At("HEAD~1".to_owned());
        assert_eq!(index.lore.search.query.search(&request).unwrap().gaps.not_kept, kept);
    }
    // Of what has gone, what was indexed answers.
    index.sync(Some(false));
    std::fs::rename(repo.path(), dir.path().join("elsewhere")).unwrap();
    let answer = index.lore.search.query.search(&CodeRequest { query: "gamma".to_owned(), ..request }).unwrap();
    assert_eq!((answer.hits[0].name.as_deref(), answer.gaps.not_kept), (Some("gamma"), vec!["r".to_owned()]));
}

#[test]
fn a_past_that_is_wanted_and_not_there_yet_takes_no_meaning_from_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repo::init(dir.path().join("r"));
    repo.write("a.rs", "/// Adds apples.\npub fn alpha() {}\n").commit("Begin");
    let index = Index::new(repo.path());
    index.sync(None);
    let writer = index.lore.history.writer(|| {}).unwrap();
    writer.want_past(index.repo().id, true).unwrap();
    let mut request = CodeRequest::new("sum up fruit", vec![(index.repo(), None)]);
    request.when = When::During(Period::default());
    let answer = index.lore.search.query.search(&request).unwrap();
    assert_eq!(answer.gaps.not_kept, ["r"]);
    assert!(answer.hits[0].explanation.cosine.is_some(), "{:?}", answer.hits[0].explanation);
}

/// The built-in model, which counts the passages that it is given.
struct Counting {
    model: &'static StaticModel,
    passages: AtomicUsize,
}

impl Embedder for Counting {
    fn model(&self) -> &str {
        self.model.model()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn embed(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        if mode == Mode::Passage {
            self.passages.fetch_add(texts.len(), Ordering::Relaxed);
        }
        self.model.embed(texts, mode)
    }
}

/// A repository with a commit of three files that is on no branch.
fn with_a_commit_beside(folder: &Path) -> (Repo, String) {
    let repo = Repo::init(folder.join("r"));
    repo.git(&["checkout", "-q", "-B", "main"]);
    repo.write("a.rs", "pub fn alpha() {}\n").commit("Begin");
    repo.git(&["checkout", "-q", "--detach"]);
    repo.write("b.rs", "pub fn beside() {}\n").write("c.rs", "pub fn beneath() {}\n").commit("Beside");
    let beside = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repo.git(&["checkout", "-q", "main"]);
    (repo, beside)
}

/// The file in which git keeps an object.
fn object(repo: &Repo, spec: &str) -> std::path::PathBuf {
    let id = repo.git(&["rev-parse", spec]);
    let (folder, name) = id.trim().split_at(2);
    repo.path().join(".git/objects").join(folder).join(name)
}

/// Writes over an object, which git keeps for reading alone.
fn spoil(object: &Path) {
    std::fs::remove_file(object).unwrap();
    std::fs::write(object, b"no object of git").unwrap();
}

/// The functions that are found at a commit, and how many files are lacking.
fn functions_at(index: &Index, commit: &str) -> (BTreeSet<String>, usize) {
    let mut request = CodeRequest::new("alpha beside beneath", vec![(index.repo(), None)]);
    request.when = When::At(commit.to_owned());
    let answer = index.lore.search.query.search(&request).unwrap();
    (answer.hits.into_iter().filter_map(|hit| hit.name).collect(), answer.gaps.lacking)
}

fn all(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_commit_beside_the_line_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let (repo, beside) = with_a_commit_beside(dir.path());
    let model = Arc::new(Counting { model: StaticModel::built_in(), passages: AtomicUsize::new(0) });
    let index = Index::with_model(repo.path(), Arc::clone(&model) as _);
    index.sync(Some(true));
    let before = model.passages.load(Ordering::Relaxed);
    assert_eq!(functions_at(&index, &beside), (all(&["alpha", "beneath", "beside"]), 0));
    let read = model.passages.load(Ordering::Relaxed);
    assert!(read > before, "two files of it are not in the index");
    assert_eq!(functions_at(&index, &beside), (all(&["alpha", "beneath", "beside"]), 0));
    assert_eq!(index.at(&beside, "fn").len(), 3);
    assert_eq!(model.passages.load(Ordering::Relaxed), read, "it is at hand");
}

#[test]
fn what_a_commit_beside_the_line_lacks_is_told_until_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let (repo, beside) = with_a_commit_beside(dir.path());
    let index = Index::new(repo.path());
    index.sync(Some(true));
    let place = object(&repo, &format!("{beside}:b.rs"));
    let elsewhere = dir.path().join("object");
    std::fs::rename(&place, &elsewhere).unwrap();
    for _ in 0..2 {
        assert_eq!(functions_at(&index, &beside), (all(&["alpha", "beneath"]), 1));
    }
    std::fs::rename(&elsewhere, &place).unwrap();
    assert_eq!(functions_at(&index, &beside), (all(&["alpha", "beneath", "beside"]), 0));
}

#[test]
fn one_damaged_object_of_the_past_takes_nothing_else_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (repo, beside) = with_a_commit_beside(dir.path());
    let first = repo.git(&["rev-parse", "HEAD:a.rs"]).trim().to_owned();
    repo.write("a.rs", "pub fn alpha() {}\npub fn more() {}\n").commit("More");
    repo.write("a.rs", "pub fn alpha() {}\npub fn most() {}\n").commit("Most");
    let index = Index::new(repo.path());
    index.sync(Some(true));
    spoil(&object(&repo, &format!("{beside}:b.rs")));
    assert_eq!(functions_at(&index, &beside), (all(&["alpha", "beneath"]), 1));
    spoil(&object(&repo, &first));
    let story = index.lore.search.temporal.story(&index.repo(), &RepoPath::from("a.rs"), None, 10).unwrap();
    let diffs: Vec<_> = story.entries.iter().map(|entry| entry.diff.as_deref().map_err(|why| *why)).collect();
    let unread = Err("its content cannot be read");
    assert!(diffs[0].is_ok_and(|diff| diff.contains("+pub fn most() {}")), "{diffs:?}");
    assert_eq!(diffs[1..], [unread, unread]);
}
