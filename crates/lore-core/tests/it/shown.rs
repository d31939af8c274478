//! A repository that is asked about on a branch: everything is of that branch, and of no other one.

use std::{path::PathBuf, time::Duration};

use crate::open;
use lore_core::LoreOptions;
use lore_core::{
    Cancel, Lore,
    browse::BranchIndex,
    files::{Depth, Range, Shown},
    flows::{FlowEvent, FlowReport, FlowTask},
    history::{AddRequest, FreshState, Repos, SearchRequest, SyncEvent, SyncOptions, Target, TouchRequest},
    search::{
        CodeState, CommitText, CommitsRequest, FileFilter, LinesAnswer, LinesRequest, LinesWanted, Period, Settings,
        When,
    },
    why::{CoChangeRequest, ExplainRequest, FileRequest},
};
use lore_model::{BranchChoice, Code, Failure, Repo, RepoName, RepoPath};
use lore_testkit::Repo as Folder;

/// A remote, and an index over a mirror of it.
struct Case {
    lore: Lore,
    remote: Folder,
    _home: tempfile::TempDir,
}

impl Case {
    /// `main` and `dev` have a file each that says which branch it is of; `dev` is beside `main`.
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let settings = Settings { views: 2, ..Settings::default() };
        let lore = open(&home.path().join("index"), LoreOptions { settings, ..LoreOptions::default() });
        let remote = Folder::init(home.path().join("remote"));
        remote.write("a.rs", "pub fn begin() {}\n").commit("Begin");
        remote.git(&["tag", "v1.0.0"]);
        remote.write("a.rs", "pub fn of_main() {}\n").commit("Main goes on");
        remote.git(&["checkout", "--quiet", "-b", "dev", "HEAD~1"]);
        remote.write("a.rs", "pub fn of_dev_once() {}\n").commit("Dev begins");
        remote.write("a.rs", "pub fn of_dev() {}\n").write("dev.rs", "pub fn dev_alone() {}\n").commit("Dev goes on");
        remote.git(&["checkout", "--quiet", "main"]);
        Self { lore, remote, _home: home }
    }

    fn add(&self, branches: BranchChoice) -> Repo {
        let writer = self.lore.history.writer(|| {}).unwrap();
        let url = Target::Url(format!("file://{}", self.remote.path().display()));
        let request = AddRequest { branches, name: Some("golden".to_owned()), ..AddRequest::new(url) };
        self.lore.history.add(&*writer, request).unwrap();
        drop(writer);
        self.sync(&SyncOptions { past: Some(true), ..SyncOptions::default() }).unwrap();
        self.on(None)
    }

    fn sync(&self, options: &SyncOptions) -> Result<FlowReport, Failure> {
        let writer = self.lore.history.writer(|| {}).unwrap();
        let task = FlowTask { writer: &*writer, options, cancel: &Cancel::default(), progress: &|_| {} };
        self.lore.sync(&self.on(None), &task)
    }

    /// The repository as a user has it, under a name of their own.
    fn on(&self, branch: Option<&str>) -> Repo {
        let mut repo = self.lore.history.repos().unwrap().pop().unwrap();
        if let Some(branch) = branch {
            repo.shown = Some(branch.to_owned());
            repo.info.name = RepoName::parse(&format!("my-{}", branch.replace('/', "-"))).unwrap();
        }
        repo
    }

    fn ask(&self, repos: Vec<Repo>, pattern: &str, when: When) -> Result<LinesAnswer, Failure> {
        let request = LinesRequest {
            wanted: LinesWanted::Regex(pattern.to_owned()),
            case_sensitive: true,
            files: FileFilter::default(),
            repos: repos.into_iter().map(|repo| (repo, None)).collect(),
            when,
            limit: 0,
            context: 0,
            once: false,
            best: false,
            time: Duration::from_mins(1),
        };
        self.lore.search.query.find_lines(&request)
    }

    /// The functions that are found, with the state of the answer.
    fn functions(&self, branch: Option<&str>, when: When) -> (Vec<String>, CodeState) {
        let answer = self.ask(vec![self.on(branch)], "pub fn", when).unwrap();
        let mut names: Vec<String> =
            answer.hits.iter().map(|hit| hit.text.replace("pub fn ", "").replace("() {}", "")).collect();
        names.sort();
        (names, answer.freshness[0].state)
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn everything_is_of_the_branch_that_is_asked_about() {
    let case = Case::new();
    let repo = case.add(BranchChoice::DefaultAnd(names(&["dev"])));
    let place = repo.info.local_path.clone();
    assert_eq!(case.functions(None, When::Now), (names(&["of_main"]), CodeState::Current));
    assert_eq!(case.functions(Some("main"), When::Now), (names(&["of_main"]), CodeState::Current));
    assert_eq!(case.functions(Some("dev"), When::Now), (names(&["dev_alone", "of_dev"]), CodeState::Current));
    let dev = case.on(Some("dev"));
    let answer = case.ask(vec![dev.clone()], "of_dev", When::Now).unwrap();
    assert_eq!((answer.hits[0].repo.as_str(), answer.freshness[0].repo.as_str()), ("my-dev", "my-dev"));

    let tip = case.remote.git(&["rev-parse", "dev"]).trim().to_owned();
    let standing = case.lore.standing(&dev).unwrap();
    assert_eq!((standing.branch.as_deref(), standing.commit.unwrap().to_hex()), (Some("dev"), tip.clone()));
    let listed = case.lore.list_files(&dev, &place, &RepoPath::from(""), Depth::Everything).unwrap();
    let paths: Vec<String> = listed.listing.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(paths, ["a.rs", "dev.rs"]);
    assert_eq!(listed.indexed.len(), 2);
    let read = case.lore.read_file(&dev, &place, &RepoPath::from("a.rs"), Range::All).unwrap();
    assert!(matches!(&read.file.shown, Shown::Text { text, .. } if text.contains("of_dev")), "{:?}", read.file.shown);
    assert_eq!(case.lore.measure(&dev).unwrap().0, 2);
    let (branches, _) = case.lore.list_branches(&dev, &place).unwrap();
    let branches: Vec<_> = branches.iter().map(|(branch, index)| (&*branch.name, branch.is_current, *index)).collect();
    assert_eq!(branches, [("dev", true, BranchIndex::Indexed), ("main", false, BranchIndex::Indexed)]);
    let report = case.lore.report(vec![dev.clone()]).unwrap().pop().unwrap();
    assert_eq!((report.history.state, report.history.name.as_str()), (FreshState::Current, "my-dev"));
    assert_eq!(report.history.head.unwrap().to_hex(), tip);
    assert_eq!(report.code.unwrap().snapshot.unwrap().commit.to_hex(), tip);

    let file = FileRequest {
        folder: PathBuf::from("/"),
        repo: None,
        known: Some(dev.clone()),
        from: None,
        file: PathBuf::from("a.rs"),
    };
    let explained = case.lore.explain_lines(&ExplainRequest { at: file, lines: Some((1, 1)) }).unwrap();
    assert_eq!((explained.repo.as_str(), explained.commits[0].subject.as_str()), ("my-dev", "Dev goes on"));
}

#[test]
fn the_past_is_that_of_the_branch_or_says_whose_it_is() {
    let case = Case::new();
    case.add(BranchChoice::DefaultAnd(names(&["dev"])));
    let at = |name: &str| When::At(name.to_owned());
    for (branch, commit, expected) in [
        (None, "HEAD", &["of_main"][..]),
        (Some("dev"), "HEAD", &["dev_alone", "of_dev"]),
        (Some("dev"), "@", &["dev_alone", "of_dev"]),
        (Some("dev"), "HEAD~1", &["of_dev_once"]),
        (Some("dev"), "HEAD^", &["of_dev_once"]),
        (Some("dev"), "HEAD~2", &["begin"]),
        (Some("dev"), "main", &["of_main"]),
        (Some("dev"), "v1.0.0", &["begin"]),
        (None, "v1.0.0", &["begin"]),
    ] {
        assert_eq!(case.functions(branch, at(commit)).0, names(expected), "{branch:?} {commit}");
    }
    let reflog = case.ask(vec![case.on(Some("dev"))], "pub fn", at("HEAD@{0}")).unwrap_err();
    assert_eq!(reflog.code, Code::CommitNotFound, "HEAD is another branch's");
    let during = When::During(Period { removed: true, ..Period::default() });
    let answer = case.ask(vec![case.on(Some("dev"))], "pub fn", during.clone()).unwrap();
    assert_eq!(answer.gaps.other_line, [("my-dev".to_owned(), "main".to_owned())]);
    let answer = case.ask(vec![case.on(Some("main"))], "pub fn", during).unwrap();
    assert!(answer.gaps.other_line.is_empty());
}

#[test]
fn what_is_not_indexed_or_gone_is_never_another_branch() {
    let case = Case::new();
    case.add(BranchChoice::Default);
    assert_eq!(case.functions(Some("dev"), When::Now), (Vec::new(), CodeState::NeverIndexed));
    let dev = case.on(Some("dev"));
    let fresh = case.lore.history.freshness(std::slice::from_ref(&dev), None);
    assert_eq!((fresh.repos[0].state, fresh.repos[0].head), (FreshState::NeverSynced, None));
    for gone in ["other", "-x", "../x", "HEAD"] {
        let mut repo = case.on(None);
        repo.shown = Some(gone.to_owned());
        let failure = case.ask(vec![repo.clone()], "pub fn", When::Now).unwrap_err();
        assert_eq!(failure.code, Code::InvalidArgument, "{gone}");
        assert!(failure.hint.unwrap().contains("main"), "{gone}");
        assert!(case.lore.measure(&repo).is_err(), "{gone}");
    }
    let both = vec![case.on(None), dev];
    let failure = case.ask(both, "pub fn", When::Now).unwrap_err();
    assert!(failure.message.contains("one repository"), "{failure}");
}

/// What is asked about the history of a repository, each as subjects that are found.
fn history(case: &Case, repo: &Repo) -> Vec<Vec<String>> {
    let subjects = |mut subjects: Vec<String>| {
        subjects.sort();
        subjects.dedup();
        subjects
    };
    let lore = &case.lore;
    let known = || Repos::Known(vec![repo.clone()]);
    let asked =
        SearchRequest { query: "goes OR begin*".to_owned(), repos: known(), limit: 50, ..SearchRequest::default() };
    let found = lore.history.search(asked).unwrap();
    let touched = TouchRequest { path: "a.rs".to_owned(), repos: known(), limit: 50, ..TouchRequest::default() };
    let touched = lore.history.touches(touched).unwrap();
    let said = CommitsRequest {
        text: CommitText::Messages(LinesWanted::Regex("goes|[Bb]egin".to_owned())),
        case_sensitive: true,
        files: FileFilter::default(),
        period: Period::default(),
        repos: vec![(repo.clone(), None)],
        limit: 50,
        min_score: 0.0,
        context: 0,
        time: Duration::from_mins(1),
    };
    let said = lore.find_commits(&said).unwrap();
    let all = [
        found.hits.into_iter().map(|hit| hit.hit.subject).collect(),
        touched.touches.into_iter().map(|touched| touched.hit.subject).collect(),
        said.found.into_iter().map(|found| found.commit.subject).collect(),
    ];
    all.into_iter().map(subjects).collect()
}

#[test]
fn history_is_that_of_the_branch_that_is_asked_about() {
    let case = Case::new();
    let all = case.add(BranchChoice::DefaultAnd(names(&["dev"])));
    let (main, dev) = (case.on(Some("main")), case.on(Some("dev")));
    let alone = Repo { alone: true, ..all.clone() };
    let of_main = names(&["Begin", "Main goes on"]);
    let of_dev = names(&["Begin", "Dev begins", "Dev goes on"]);
    let everything = names(&["Begin", "Dev begins", "Dev goes on", "Main goes on"]);
    for (repo, expected) in [(&main, &of_main), (&alone, &of_main), (&dev, &of_dev), (&all, &everything)] {
        for found in history(&case, repo) {
            assert_eq!(found, *expected, "{:?}", repo.shown);
        }
        assert_eq!(case.lore.history.commit_count(repo).unwrap(), expected.len() as u64);
        assert_eq!(case.lore.report(vec![repo.clone()]).unwrap()[0].commits, expected.len() as u64);
    }
    let tip = |branch: &str| case.remote.git(&["rev-parse", branch]);
    for (repo, sha, there) in [
        (&main, tip("main"), true),
        (&main, tip("dev"), false),
        (&alone, tip("dev"), false),
        (&dev, tip("dev"), true),
        (&dev, tip("main"), false),
        (&dev, tip("main~1"), true),
        (&all, tip("main"), true),
        (&all, tip("dev"), true),
    ] {
        let commit = case.lore.history.commit(repo, None, &sha[..10]);
        let patch = case.lore.history.patch(repo, None, &sha);
        assert_eq!((commit.is_ok(), patch.is_ok()), (there, there), "{:?} {sha}", repo.shown);
        if let Ok(commit) = commit {
            assert_eq!(commit.repo, repo.name(), "under the name that the caller has");
        }
    }
    // Names are git's, and HEAD is the branch that is asked about. What would take long to follow is none.
    let steps = format!("HEAD{}", "~0".repeat(1000));
    for (repo, name, expected) in [
        (&main, "HEAD", Some("Main goes on")),
        (&dev, "HEAD", Some("Dev goes on")),
        (&dev, "@~1", Some("Dev begins")),
        (&dev, "dev", Some("Dev goes on")),
        (&dev, "main", None),
        (&main, "v1.0.0", Some("Begin")),
        (&all, " dev ", Some("Dev goes on")),
        (&all, "HEAD", Some("Main goes on")),
        (&all, ":/Dev", None),
        (&all, steps.as_str(), None),
    ] {
        let commit = case.lore.history.commit(repo, None, name);
        let patch = case.lore.history.patch(repo, None, name);
        assert_eq!(patch.is_ok(), expected.is_some(), "{:?} {name}", repo.shown);
        match commit {
            Ok(found) => assert_eq!(Some(found.commit.subject.as_str()), expected, "{:?} {name}", repo.shown),
            Err(failure) => {
                let why = failure.hint.unwrap();
                assert!(failure.code == Code::CommitNotFound && failure.message.len() < 200, "{}", failure.message);
                assert!(why.contains("has no commit, tag or branch of that name"), "{name}: {why}");
                assert!(expected.is_none(), "{name}: {why}");
            }
        }
    }
    // Each commit is a minute after the one before: the last change of the file is that of the branch.
    let place = all.info.local_path.clone();
    for (repo, minutes) in [(&main, 1), (&alone, 1), (&dev, 3), (&all, 3)] {
        let listed = case.lore.list_files(repo, &place, &RepoPath::from(""), Depth::Folder).unwrap();
        let read = case.lore.read_file(repo, &place, &RepoPath::from("a.rs"), Range::All).unwrap();
        assert_eq!((listed.modified[0], read.modified), (Some(1_700_000_000 + 60 * minutes), listed.modified[0]));
    }
    let together = |repo: &Repo| {
        let request = CoChangeRequest {
            folder: PathBuf::from("/"),
            repo: None,
            known: Some(repo.clone()),
            from: None,
            files: vec![PathBuf::from("a.rs")],
            others: Some(Vec::new()),
            limit: 10,
        };
        let found = case.lore.co_changed(&request).unwrap();
        (found.commits, found.files.into_iter().map(|file| (file.file.path.to_string(), file.gone)).collect::<Vec<_>>())
    };
    assert_eq!(together(&main), (2, Vec::new()));
    assert_eq!(together(&dev), (3, vec![("dev.rs".to_owned(), false)]));
    assert_eq!(together(&all), (4, vec![("dev.rs".to_owned(), true)]), "as the main branch has it");

    // The same commit twice, and a branch that another contains.
    case.remote.git(&["branch", "twin", "main"]);
    case.remote.git(&["branch", "earlier", "dev~1"]);
    choose(&case, &BranchChoice::DefaultAnd(names(&["dev", "twin", "earlier"]))).unwrap();
    case.sync(&SyncOptions::default()).unwrap();
    assert_eq!(history(&case, &case.on(Some("twin")))[0], of_main);
    assert_eq!(history(&case, &case.on(Some("earlier")))[0], names(&["Begin", "Dev begins"]));
    assert_eq!(history(&case, &case.on(Some("dev")))[0], of_dev);
}

#[test]
fn what_is_being_read_of_another_branch_is_not_told() {
    let case = Case::new();
    case.add(BranchChoice::Default);
    let of_main = names(&["Begin", "Main goes on"]);
    choose(&case, &BranchChoice::DefaultAnd(names(&["dev"]))).unwrap();
    let cancel = Cancel::default();
    let writer = case.lore.history.writer(|| {}).unwrap();
    // It ends after the commits are stored, and before that is noted.
    let progress = |event: FlowEvent| {
        if matches!(event, FlowEvent::History(SyncEvent::Advanced(_))) {
            cancel.cancel();
        }
    };
    let options = SyncOptions::default();
    let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &progress };
    let failure = case.lore.sync(&case.on(None), &task).unwrap_err();
    drop(writer);
    let all = case.on(None);
    assert_eq!((failure.code, all.sync.partial, all.sync.commit_count), (Code::Interrupted, true, 4));
    for repo in [case.on(Some("main")), Repo { alone: true, ..all }] {
        assert_eq!(history(&case, &repo)[0], of_main);
    }
    // What is there of it already is found on the branch itself.
    assert_eq!(history(&case, &case.on(Some("dev")))[0], names(&["Begin", "Dev begins", "Dev goes on"]));
    let mut gone = case.on(None);
    gone.shown = Some("other".to_owned());
    let asked = SearchRequest { query: "goes".to_owned(), repos: Repos::Known(vec![gone]), ..SearchRequest::default() };
    let failure = case.lore.history.search(asked).unwrap_err();
    assert!(failure.message.contains("no branch `other`"), "{failure}");
}

#[test]
fn what_was_forced_away_elsewhere_keeps_no_branch_from_being_asked_about() {
    let case = Case::new();
    let repo = case.add(BranchChoice::DefaultAnd(names(&["dev"])));
    // The branch is made anew from its first commit on, and the mirror is cloned again: its last one is nowhere any more.
    case.remote.git(&["checkout", "--quiet", "dev"]);
    case.remote.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    case.remote.write("a.rs", "pub fn of_dev_anew() {}\n").commit("Dev goes another way");
    case.remote.git(&["checkout", "--quiet", "main"]);
    let mirror = repo.info.local_path.clone();
    std::fs::remove_dir_all(&mirror).unwrap();
    let (from, to) = (format!("file://{}", case.remote.path().display()), mirror.to_str().unwrap());
    case.remote.git(&["clone", "--quiet", "--mirror", &from, to]);
    for (repo, expected) in [
        (case.on(Some("main")), names(&["Begin", "Main goes on"])),
        (Repo { alone: true, ..case.on(None) }, names(&["Begin", "Main goes on"])),
        // Of what it has now, the index knows so much.
        (case.on(Some("dev")), names(&["Begin", "Dev begins"])),
    ] {
        for found in history(&case, &repo) {
            assert_eq!(found, expected, "{:?}", repo.shown);
        }
        assert_eq!(case.lore.history.commit_count(&repo).unwrap(), expected.len() as u64);
    }
    case.sync(&SyncOptions::default()).unwrap();
    let anew = names(&["Begin", "Dev begins", "Dev goes another way"]);
    assert_eq!(history(&case, &case.on(Some("dev")))[0], anew);
}

fn choose(case: &Case, branches: &BranchChoice) -> Result<Repo, Failure> {
    let writer = case.lore.history.writer(|| {}).unwrap();
    case.lore.history.set_branches(&*writer, &case.on(None), branches)
}

#[test]
fn branches_come_and_go_as_they_are_chosen() {
    let case = Case::new();
    case.add(BranchChoice::Default);
    let indexed = |branch: &str| case.lore.branch_indexed(&case.on(None), branch).unwrap();
    let commits = || case.on(None).sync.commit_count;
    assert!(indexed("main") && !indexed("dev") && !indexed("gone"));
    assert_eq!(commits(), 2);

    choose(&case, &BranchChoice::DefaultAnd(names(&["dev", "gone"]))).unwrap();
    assert!(!indexed("dev"), "a sync comes first");
    let report = case.sync(&SyncOptions::default()).unwrap();
    assert_eq!(report.history.missing, ["gone"]);
    assert!(indexed("main") && indexed("dev"));
    assert_eq!(commits(), 4);
    assert_eq!(case.functions(Some("dev"), When::Now), (names(&["dev_alone", "of_dev"]), CodeState::Current));

    // What moves elsewhere is not fetched by a question, and a sync that does not fetch sees nothing of it.
    case.remote.git(&["checkout", "--quiet", "dev"]);
    case.remote.write("dev.rs", "pub fn dev_newer() {}\n").commit("Dev goes further");
    let quiet = SyncOptions { fetch: false, ..SyncOptions::default() };
    case.sync(&quiet).unwrap();
    assert!(indexed("dev"));
    // A fetch needs no writer: somebody else has it.
    let writer = case.lore.history.writer(|| {}).unwrap();
    case.lore.history.fetch(&case.on(None), &SyncOptions::default(), &Cancel::default()).unwrap();
    drop(writer);
    assert!(!indexed("dev") && indexed("main"));
    let stale = case.functions(Some("dev"), When::Now);
    assert_eq!(stale, (names(&["dev_alone", "of_dev"]), CodeState::Stale), "what was indexed of the branch");
    assert_eq!(case.functions(Some("main"), When::Now).1, CodeState::Current, "others do not matter");
    case.sync(&quiet).unwrap();
    assert_eq!(case.functions(Some("dev"), When::Now).0, names(&["dev_newer", "of_dev"]));

    // A branch that is deleted leaves, and says so; the others stay.
    case.remote.git(&["checkout", "--quiet", "main"]);
    case.remote.git(&["branch", "-D", "dev"]);
    let report = case.sync(&SyncOptions::default()).unwrap();
    assert_eq!(report.history.missing, ["dev", "gone"]);
    assert_eq!(commits(), 2);
    let failure = case.ask(vec![case.on(Some("dev"))], "pub fn", When::Now).unwrap_err();
    assert!(failure.message.contains("no branch `dev`"), "{failure}");
    assert_eq!(case.functions(Some("main"), When::Now), (names(&["of_main"]), CodeState::Current));
    choose(&case, &BranchChoice::Default).unwrap();
    assert!(case.sync(&SyncOptions::default()).unwrap().history.problems.is_empty());
}

#[test]
fn the_main_branch_and_names_are_checked() {
    let case = Case::new();
    case.add(BranchChoice::Default);
    for bad in ["-x", "--upload-pack=x", "", "a..b", "a b", "HEAD", "a\nb", "x.lock", "~"] {
        let failure = choose(&case, &BranchChoice::Named(names(&[bad]))).unwrap_err();
        assert_eq!(failure.code, Code::InvalidArgument, "{bad}");
        let options = SyncOptions { main_branch: Some(bad.to_owned()), ..SyncOptions::default() };
        assert_eq!(case.sync(&options).unwrap_err().code, Code::InvalidArgument, "{bad}");
    }
    let main = |branch: &str| SyncOptions { main_branch: Some(branch.to_owned()), ..SyncOptions::default() };
    let failure = case.sync(&main("nowhere")).unwrap_err();
    assert!(failure.hint.unwrap().contains("dev, main"));
    case.sync(&main("dev")).unwrap();
    assert_eq!(case.functions(None, When::Now).0, names(&["dev_alone", "of_dev"]));
    assert_eq!(case.on(None).info.default_branch.as_deref(), Some("dev"));
    case.sync(&SyncOptions::default()).unwrap();
    assert_eq!(case.functions(None, When::Now).0, names(&["of_main"]), "as the remote has it");
    // Tags that move or go do so here too.
    case.remote.git(&["tag", "--force", "v1.0.0", "main"]);
    case.sync(&SyncOptions::default()).unwrap();
    let at = || When::At("v1.0.0".to_owned());
    assert_eq!(case.functions(None, at()).0, names(&["of_main"]));
    case.remote.git(&["tag", "--delete", "v1.0.0"]);
    case.sync(&SyncOptions::default()).unwrap();
    let gone = case.ask(vec![case.on(None)], "pub fn", at()).unwrap_err();
    assert_eq!(gone.code, Code::CommitNotFound);
}
