//! A team over real repositories: who sees what, what is shared, and what becomes of jobs.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lore_core::LoreOptions;
use lore_core::{Cancel, Clock, Lore, search::CodeRequest};
use lore_model::{Actor, Caller, Code, GoldenState, Job, JobId, JobStatus, JobTask, Operation, RepoName, Role};
use lore_store::{JobEnd, NewJob, TeamChange, TeamStore};
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore, EmbeddedTeam};
use lore_team::{Activate, AddGolden, Asker, Cancelled, CompositeChange, GoldenChange, Missing, Team, TeamSettings};
use lore_testkit::Repo as Folder;

/// A clock that tests set.
#[derive(Clone)]
struct SetClock(Arc<AtomicI64>);

impl Clock for SetClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Case {
    team: Arc<Team>,
    store: Arc<EmbeddedTeam>,
    clock: SetClock,
    /// The next job that looks at the clock dies of it.
    fault: Arc<AtomicBool>,
    meanwhile: Arc<Meanwhile>,
    dir: tempfile::TempDir,
}

/// What happens when somebody looks at the clock for so many more times.
type Meanwhile = Mutex<Option<(usize, Box<dyn FnOnce() + Send>)>>;

/// A clock that tests set, that can break a job, and at which something can happen in the middle of a call.
struct FaultyClock(SetClock, Arc<AtomicBool>, Arc<Meanwhile>);

impl Clock for FaultyClock {
    fn now(&self) -> i64 {
        let breaks = thread::current().name() == Some(lore_team::JOB_THREAD) && self.1.swap(false, Ordering::Relaxed);
        assert!(!breaks, "a fault that a test wants");
        let now = self.0.now();
        let mut meanwhile = self.2.lock().expect("nobody failed with it");
        match meanwhile.take() {
            Some((1, happen)) => happen(),
            Some((looks, happen)) => *meanwhile = Some((looks - 1, happen)),
            None => {}
        }
        now
    }
}

fn lore(home: &Path) -> Arc<Lore> {
    let messages = Arc::new(EmbeddedMessages::new(home));
    Arc::new(Lore::new(home, Arc::new(EmbeddedStore::new(home)), messages, LoreOptions::default()))
}

impl Case {
    fn new() -> Self {
        Self::with(TeamSettings { back_off: 10, ..TeamSettings::default() })
    }

    fn with(settings: TeamSettings) -> Self {
        let dir = tempfile::tempdir().expect("it goes well");
        let home = dir.path().join("data");
        let store = Arc::new(EmbeddedTeam::new(&home));
        let clock = SetClock(Arc::new(AtomicI64::new(1_000_000)));
        let fault = Arc::new(AtomicBool::new(false));
        let meanwhile = Arc::new(Meanwhile::default());
        let faulty = FaultyClock(clock.clone(), Arc::clone(&fault), Arc::clone(&meanwhile));
        let team = Team::new(Arc::clone(&store) as _, lore(&home), Arc::new(faulty), settings);
        Self { team: Arc::new(team), store, clock, fault, meanwhile, dir }
    }

    fn user(&self, name: &str, role: Role) -> Asker {
        let user = self.team.create_user(&Asker::local(), name, "tall green river 7", role).expect("it goes well");
        Asker::user(Caller::from(&user), Some("192.0.2.1".to_owned()))
    }

    /// A repository with two branches.
    fn folder(&self, name: &str) -> Folder {
        let folder = Folder::init(self.dir.path().join(name));
        folder.write("src/bird.rs", format!("/// The heron of {name}.\npub fn heron_{name}() {{}}\n"));
        folder.commit("Begin");
        folder.git(&["checkout", "-q", "-b", "dev"]);
        folder.write("src/fish.rs", format!("/// The salmon of {name}.\npub fn salmon_{name}() {{}}\n"));
        folder.commit("Fish");
        folder.git(&["checkout", "-q", "main"]);
        folder
    }

    fn add(&self, by: &Asker, folder: &Folder, alias: &str) -> Job {
        let request = AddGolden {
            url: folder.path().to_string_lossy().into_owned(),
            alias: alias.to_owned(),
            branch: None,
            temporal: false,
            refresh_every: None,
        };
        self.done(by, &self.team.add_golden(by, &request).expect("it goes well"))
    }

    /// Does jobs until this one is over.
    fn done(&self, by: &Asker, job: &Job) -> Job {
        self.done_with(by, job, |_, _| {})
    }

    /// The same, where something is done each time that the job has moved.
    fn done_with(&self, by: &Asker, job: &Job, each: impl Fn(Job, usize)) -> Job {
        self.run_until("a job ends", || {
            let report = self.team.job(by, job.id.as_str()).expect("it goes well");
            if report.job.status.is_over() {
                return Some(report.job);
            }
            each(report.job, report.lines.len());
            None
        })
    }

    /// Does jobs until there is what is waited for.
    fn run_until<T>(&self, what: &str, ready: impl Fn() -> Option<T>) -> T {
        let stop = Cancel::default();
        thread::scope(|threads| {
            threads.spawn(|| self.team.run(&stop));
            // Whatever comes of it: a test that waits for ever has not failed.
            let _stop = stop.on_drop();
            let until = Instant::now() + Duration::from_mins(1);
            loop {
                if let Some(found) = ready() {
                    return found;
                }
                assert!(Instant::now() < until, "{what}");
                self.team.job_moved();
            }
        })
    }

    fn activate(&self, by: &Asker, golden: &str, alias: &str, branch: Option<&str>) -> Job {
        let request = Activate {
            golden: vec![golden.to_owned()],
            composite: false,
            branch: branch.map(str::to_owned),
            alias: Some(alias.to_owned()),
        };
        self.team.activate(by, &request).expect("it goes well")
    }

    fn finds(&self, by: &Asker, alias: &str, word: &str) -> bool {
        let visible = self.team.visible(by.caller.as_ref().expect("it goes well"), alias).expect("it goes well");
        let repos = visible.repos.into_iter().map(|shown| (shown.repo, None)).collect();
        let answer = self
            .team
            .lore()
            .search
            .query
            .search(&CodeRequest::new(format!("\"{word}\""), repos))
            .expect("it goes well");
        answer.hits.iter().any(|hit| hit.snippet.text.contains(word))
    }

    fn index_bytes(&self) -> u64 {
        let folder = self.dir.path().join("data/segments");
        std::fs::read_dir(folder)
            .expect("it goes well")
            .map(|entry| entry.expect("it goes well").metadata().expect("it goes well").len())
            .sum()
    }
}

#[test]
fn each_user_asks_about_the_branch_of_their_choice() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    let folder = case.folder("api");
    let added = case.add(&ada, &folder, "api");
    assert_eq!(added.status, JobStatus::Completed, "{added:?}");
    assert!(case.finds(&bob, "api", "heron_api") && !case.finds(&bob, "api", "salmon_api"));
    let job = case.activate(&ada, "api", "mine", Some("dev"));
    assert_eq!(job.status, JobStatus::Pending, "the branch has to be read");
    let soon = case.team.visible(ada.caller.as_ref().unwrap(), "mine").unwrap_err();
    assert!(soon.message.contains("is being activated") && soon.hint.unwrap().contains(job.id.as_str()));
    let others = case.team.visible(bob.caller.as_ref().unwrap(), "mine").unwrap_err();
    assert!(others.message.contains("no repository is called"), "{others:?}");
    let job = case.done(&ada, &job);
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    assert!(case.finds(&ada, "mine", "salmon_api"));
    assert!(!case.finds(&bob, "api", "salmon_api"), "the golden repository is on its main branch");
    // The second user's activation of a branch that is read is done at once and adds no index.
    let before = case.index_bytes();
    let second = case.activate(&bob, "api", "api-dev", Some("dev"));
    assert_eq!((second.status, case.index_bytes()), (JobStatus::Completed, before));
    assert!(case.finds(&bob, "api-dev", "salmon_api"));
    let switched = case.team.switch_branch(&bob, "api-dev", "main").unwrap();
    assert_eq!(switched.status, JobStatus::Completed);
    assert!(!case.finds(&bob, "api-dev", "salmon_api"));
    assert!(case.finds(&ada, "mine", "salmon_api"), "ada is not concerned");
    // A branch that nobody has is neither kept nor invented.
    let ghost = Activate {
        golden: vec!["api".to_owned()],
        composite: false,
        branch: Some("none".to_owned()),
        alias: Some("ghost".to_owned()),
    };
    let refused = case.team.activate(&bob, &ghost).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (Code::InvalidArgument, "`api` has no branch `none`"));
    assert_eq!(refused.hint.as_deref(), Some("its branches are: dev, main"));
    assert_eq!(case.team.activations(bob.caller.as_ref().unwrap()).unwrap().len(), 1);
}

#[test]
fn a_branch_or_repository_that_is_nowhere_is_refused_at_once() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    case.activate(&ada, "api", "mine", None);
    let jobs = || case.team.jobs(&ada, None, 100).unwrap().1;
    let before = jobs();
    let told = |failure: lore_model::Failure| format!("{failure} / {}", failure.hint.clone().unwrap_or_default());

    // A branch that was never there, nor is it upstream.
    for (branch, hint) in [
        ("mian", "did you mean `main`? Its branches are: dev, main"),
        ("Dev", "did you mean `dev`? Its branches are: dev, main"),
        ("something-else", "its branches are: dev, main"),
    ] {
        let expected = format!("`api` has no branch `{branch}` / {hint}");
        assert_eq!(told(case.team.switch_branch(&ada, "mine", branch).unwrap_err()), expected);
        let change = GoldenChange { branch: Some(Some(branch.to_owned())), ..GoldenChange::default() };
        assert_eq!(told(case.team.change_golden(&ada, "api", &change).unwrap_err()), expected);
        let other = Activate { golden: vec!["api".to_owned()], branch: Some(branch.to_owned()), ..Activate::default() };
        assert_eq!(told(case.team.activate(&ada, &other).unwrap_err()), expected);
        let mut new = request(&folder.path().to_string_lossy());
        (new.alias, new.branch) = ("again".to_owned(), Some(branch.to_owned()));
        let expected = format!("`again` has no branch `{branch}` / {hint}");
        assert_eq!(told(case.team.add_golden(&ada, &new).unwrap_err()), expected);
    }
    // A repository that is not there.
    let nowhere = case.dir.path().join("nowhere");
    let mut new = request(&nowhere.to_string_lossy());
    new.alias = "again".to_owned();
    let refused = case.team.add_golden(&ada, &new).unwrap_err();
    assert_eq!(refused.code, Code::InvalidArgument, "{refused:?}");
    assert!(refused.message.starts_with(&format!("file://{} cannot be cloned: ", nowhere.display())), "{refused}");
    for golden in [vec!["apo"], vec!["api", "apo"]] {
        let names: Vec<String> = golden.iter().map(|name| (*name).to_owned()).collect();
        let other = Activate { golden: names.clone(), composite: names.len() > 1, ..Activate::default() };
        let refused = case.team.activate(&ada, &Activate { alias: Some("all".to_owned()), ..other }).unwrap_err();
        assert!(told(refused).contains("did you mean `api`?"));
        let refused = case.team.change_composite(&ada, CompositeChange::Create, "all", &names).unwrap_err();
        assert!(told(refused).contains("did you mean `api`?"));
    }
    assert_eq!(jobs(), before, "nothing was asked for");
    assert_eq!(case.team.golden().unwrap().len(), 1);

    // What is new upstream is there, and what has gone since is not.
    folder.git(&["checkout", "-q", "-b", "fresh", "dev"]);
    folder.write("src/owl.rs", "pub fn owl() {}\n").commit("Owl");
    folder.git(&["checkout", "-q", "main"]);
    let job = case.team.switch_branch(&ada, "mine", "fresh").unwrap();
    assert_eq!(case.done(&ada, &job).status, JobStatus::Completed);
    assert!(case.finds(&ada, "mine", "salmon_api"));
    folder.git(&["branch", "-m", "dev", "trunk"]);
    let refused = case.team.switch_branch(&ada, "mine", "dev").unwrap_err();
    assert_eq!(told(refused), "`api` has no branch `dev` / its branches are: fresh, main, trunk");
}

#[test]
fn a_branch_that_goes_before_its_job_is_done_is_told_by_the_job() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    let job = case.activate(&bob, "api", "mine", Some("dev"));
    folder.git(&["branch", "-D", "dev"]);
    let job = case.done(&bob, &job);
    assert_eq!(job.status, JobStatus::Failed);
    assert!(job.error.as_deref().unwrap().contains("`api` has no branch `dev` (its branches are: main)"), "{job:?}");
    // Whether there is a branch of a remote that cannot be asked is found out by the job as well.
    std::fs::rename(folder.path(), case.dir.path().join("elsewhere")).unwrap();
    let job = case.activate(&bob, "api", "mine", Some("next"));
    assert_eq!(job.status, JobStatus::Pending);
    assert_eq!(case.done(&bob, &job).status, JobStatus::Failed);
}

#[test]
fn what_is_pushed_is_there_after_a_sync_and_what_nobody_wants_leaves() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    case.done(&ada, &case.activate(&ada, "api", "mine", Some("dev")));
    folder.git(&["checkout", "-q", "dev"]);
    folder.write("src/owl.rs", "pub fn owl() {}\n");
    folder.commit("Owl");
    folder.git(&["checkout", "-q", "main"]);
    let job = case.done(&ada, &case.team.sync_alias(&ada, "mine").unwrap());
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    assert!(case.finds(&ada, "mine", "owl"));
    case.team.deactivate(&ada, "mine").unwrap();
    case.done(&ada, &case.team.refresh_golden(&ada, "api").unwrap());
    let repo = case.team.lore().history.repo("api").unwrap();
    let state = case.team.lore().search.reader.state(repo.id).unwrap();
    assert_eq!(state.snapshots.len(), 1, "the branch that nobody has any more is gone: {state:?}");
}

#[test]
fn a_composite_is_asked_as_one_and_is_its_owners_alone() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name);
    }
    let both = ["api".to_owned(), "web".to_owned()];
    let job = case.team.change_composite(&ada, CompositeChange::Create, "all", &both).unwrap();
    assert_eq!(job.status, JobStatus::Completed);
    assert!(case.finds(&ada, "all", "heron_api") && case.finds(&ada, "all", "heron_web"));
    let (others, missing) = (
        case.team.visible(bob.caller.as_ref().unwrap(), "all").unwrap_err(),
        case.team.visible(bob.caller.as_ref().unwrap(), "alx").unwrap_err(),
    );
    let plain = |text: &str| text.replace("alx", "all");
    assert_eq!(plain(&others.message), plain(&missing.message), "what is another's is as little there as nothing");
    assert_eq!(plain(others.hint.as_deref().unwrap()), plain(missing.hint.as_deref().unwrap()));
    let again = case.team.change_composite(&ada, CompositeChange::Create, "all", &both).unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    case.team.change_composite(&ada, CompositeChange::Update, "all", &both[..1]).unwrap();
    assert!(!case.finds(&ada, "all", "heron_web"));
    case.team.change_composite(&ada, CompositeChange::Delete, "all", &[]).unwrap();
    assert!(case.team.visible(ada.caller.as_ref().unwrap(), "all").is_err());
}

#[test]
fn an_alias_that_means_something_already_is_not_given_again() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name);
    }
    let activate = |golden: &[&str], alias: Option<&str>, branch: Option<&str>| {
        let request = Activate {
            golden: golden.iter().map(|name| (*name).to_owned()).collect(),
            composite: golden.len() > 1,
            branch: branch.map(str::to_owned),
            alias: alias.map(str::to_owned),
        };
        case.team.activate(&ada, &request).map(|_| ()).map_err(|failure| failure.code)
    };
    assert_eq!(activate(&["api"], Some("mine"), None), Ok(()));
    assert_eq!(activate(&["api"], Some("mine"), None), Ok(()), "the same once more changes nothing");
    assert_eq!(activate(&["web"], Some("mine"), None), Err(Code::Conflict));
    assert_eq!(activate(&["api", "web"], Some("mine"), None), Err(Code::Conflict));
    assert_eq!(activate(&["api"], Some("WEB"), None), Err(Code::Conflict), "it is another golden repository");
    assert_eq!(activate(&["web"], None, None), Ok(()));
    // Where a branch has to be read first, nobody waits for that to be refused.
    assert_eq!(activate(&["web"], Some("mine"), Some("dev")), Err(Code::Conflict));
    assert_eq!(activate(&["api"], Some("web"), Some("dev")), Err(Code::Conflict));
    assert_eq!(activate(&["api"], Some("mine"), Some("dev")), Ok(()), "another branch of the same");
    assert_eq!(activate(&["api", "web"], None, None), Err(Code::InvalidArgument), "a composite needs a name");
    assert_eq!(activate(&["api", "web"], Some("all"), Some("main")), Err(Code::InvalidArgument));
    assert_eq!(activate(&["api", "web"], Some("all"), None), Ok(()));
}

#[test]
fn a_golden_repository_that_users_have_is_removed_only_by_force() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    case.add(&ada, &case.folder("api"), "api");
    case.activate(&bob, "api", "mine", None);
    let refused = case.team.remove_golden(&ada, "api", false).unwrap_err();
    assert!(refused.code == Code::Conflict && refused.message.contains("1 activation of 1 user"), "{refused:?}");
    let (job, concerned) = case.team.remove_golden(&ada, "api", true).unwrap();
    assert_eq!((concerned.activations, concerned.composites), (1, 0));
    let job = case.done(&ada, &job);
    assert_eq!(job.status, JobStatus::Completed);
    assert!(case.team.golden().unwrap().is_empty());
    assert!(case.team.lore().history.repos().unwrap().is_empty());
    assert!(case.team.activations(bob.caller.as_ref().unwrap()).unwrap().is_empty());
    assert!(!case.dir.path().join("data/clones/api.git").exists());
    let again = case.add(&ada, &case.folder("api2"), "api");
    assert_eq!(again.status, JobStatus::Completed, "the alias is free again");
}

#[test]
fn what_cannot_be_cloned_leaves_nothing_behind() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let request = |url: &str| AddGolden {
        url: url.to_owned(),
        alias: "api".to_owned(),
        branch: None,
        temporal: false,
        refresh_every: None,
    };
    let nowhere = case.dir.path().join("nowhere").to_string_lossy().into_owned();
    assert_eq!(case.team.add_golden(&ada, &request(&nowhere)).unwrap_err().code, Code::InvalidArgument);
    assert!(case.team.golden().unwrap().is_empty());
    assert!(case.team.lore().history.repos().unwrap().is_empty());
    for bad in ["ext::sh -c touch% x", "--upload-pack=x", "ssh://-oProxyCommand=x/y"] {
        let refused = case.team.add_golden(&ada, &request(bad)).unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument, "{bad}");
    }
    let mut with_branch = request("https://example.com/x.git");
    with_branch.branch = Some("--upload-pack=x".to_owned());
    assert_eq!(case.team.add_golden(&ada, &with_branch).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn a_job_that_died_with_its_server_is_taken_up_again() {
    let case = Case::with(TeamSettings { attempts: 2, ..TeamSettings::default() });
    let ada = case.user("ada", Role::Admin);
    let request = AddGolden {
        url: case.folder("api").path().to_string_lossy().into_owned(),
        alias: "api".to_owned(),
        branch: None,
        temporal: true,
        refresh_every: None,
    };
    let job = case.team.add_golden(&ada, &request).unwrap();
    // A server begins it and dies.
    let limits = TeamSettings::default().limits;
    assert!(case.store.claim_job(&limits, 2_000_000).unwrap().is_some());
    case.team.recover().unwrap();
    let job = case.done(&ada, &job);
    assert_eq!((job.status, job.attempts), (JobStatus::Completed, 2), "{job:?}");
    assert_eq!(case.team.golden().unwrap()[0].state, GoldenState::Ready);
    // One that kills every server is given up, and says so.
    let job = case.team.refresh_golden(&ada, "api").unwrap();
    for _ in 0..2 {
        assert!(case.store.claim_job(&limits, 2_000_000).unwrap().is_some());
        case.team.recover().unwrap();
    }
    let job = case.team.job(&ada, job.id.as_str()).unwrap().job;
    assert!(job.status == JobStatus::Failed && job.error.unwrap().contains("begun 2 times"));
}

#[test]
fn golden_repositories_are_fetched_when_it_is_time() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
    assert!(case.team.change_golden(&ada, "api", &change).unwrap().is_none());
    let too_often = GoldenChange { refresh_every: Some(Some(1)), ..GoldenChange::default() };
    assert!(case.team.change_golden(&ada, "api", &too_often).is_err());
    folder.write("src/owl.rs", "pub fn owl() {}\n");
    folder.commit("Owl");
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    case.until("it is fetched by itself", || case.finds(&ada, "api", "owl"));
    let (jobs, _) = case.team.jobs(&ada, None, 10).unwrap();
    assert_eq!(jobs.iter().filter(|job| job.username == "(schedule)").count(), 1, "once, not again and again");
}

#[test]
fn jobs_are_seen_by_their_owners_and_those_who_manage_repositories() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    let eve = case.user("eve", Role::PowerUser);
    case.add(&ada, &case.folder("api"), "api");
    let job = case.activate(&bob, "api", "mine", None);
    assert!(case.team.job(&ada, job.id.as_str()).is_ok());
    assert!(case.team.job(&bob, job.id.as_str()).is_ok());
    for refused in [
        case.team.job(&eve, job.id.as_str()).map(|_| ()),
        case.team.cancel_job(&eve, job.id.as_str()).map(|_| ()),
        case.team.job(&eve, &"0".repeat(32)).map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().code, Code::JobNotFound);
    }
    assert_eq!(case.team.jobs(&eve, None, 10).unwrap().1, 0);
    assert_eq!(case.team.jobs(&bob, None, 10).unwrap().1, 1);
    assert_eq!(case.team.jobs(&ada, None, 10).unwrap().1, 2);
}

/// A URL at which nobody answers, and one at which there is a repository.
fn request(url: &str) -> AddGolden {
    AddGolden { url: url.to_owned(), alias: "api".to_owned(), branch: None, temporal: false, refresh_every: None }
}

impl Case {
    /// Does jobs until something is so.
    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        self.run_until(what, || is_so().then_some(()));
    }

    fn job(&self, by: &Asker, job: &Job) -> Job {
        self.team.job(by, job.id.as_str()).expect("it goes well").job
    }
}

#[test]
fn a_fault_of_the_network_is_tried_again_later_and_not_for_ever() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let job = case.team.add_golden(&ada, &request("http://127.0.0.1:1/api.git")).unwrap();
    let mut waits = Vec::new();
    for attempt in 1..=4 {
        case.until("it is tried", || case.job(&ada, &job).not_before.is_some());
        let now = case.job(&ada, &job);
        assert_eq!((now.status, now.attempts), (JobStatus::Pending, attempt), "{now:?}");
        let wait = now.not_before.unwrap() - case.clock.now();
        waits.push(wait);
        case.clock.0.fetch_add(wait, Ordering::Relaxed);
        if attempt < 4 {
            case.until("it is begun", || case.job(&ada, &job).attempts > attempt);
        }
    }
    assert_eq!(waits, [10, 20, 40, 80]);
    let job = case.done(&ada, &job);
    assert_eq!((job.status, job.attempts), (JobStatus::Failed, 5), "{job:?}");
    let lines = case.team.job(&ada, job.id.as_str()).unwrap().lines;
    let again = lines.iter().filter(|line| line.text.starts_with("waits to be tried again")).count();
    assert_eq!(again, 4, "{lines:?}");
    assert!(case.team.golden().unwrap().is_empty());
}

#[test]
fn what_is_cancelled_while_it_waits_leaves_nothing_to_the_next_of_its_name() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let job = case.team.add_golden(&ada, &request("http://127.0.0.1:1/api.git")).unwrap();
    case.until("it is tried", || case.job(&ada, &job).not_before.is_some());
    assert_eq!(case.team.cancel_job(&ada, job.id.as_str()).unwrap(), Cancelled::Asked);
    let job = case.done(&ada, &job);
    assert_eq!(job.status, JobStatus::Cancelled, "{job:?}");
    assert!(case.team.golden().unwrap().is_empty());
    assert!(case.team.lore().history.repos().unwrap().is_empty());
    assert_eq!(case.add(&ada, &case.folder("api"), "api").status, JobStatus::Completed);
    assert!(case.finds(&ada, "api", "heron_api"));
}

#[test]
fn a_job_says_what_it_did_to_the_last_line() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let job = case.add(&ada, &case.folder("api"), "api");
    let lines = case.team.job(&ada, job.id.as_str()).unwrap().lines;
    assert!(lines.last().is_some_and(|line| line.text.contains("in the index")), "{lines:?}");
}

#[test]
fn what_cannot_be_asked_keeps_the_rest_back_no_more_than_it_must() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    let api = case.folder("api");
    case.add(&ada, &api, "api");
    case.add(&ada, &case.folder("web"), "web");
    case.done(&bob, &case.activate(&bob, "api", "mine", Some("dev")));
    case.activate(&bob, "web", "web", None);
    let visible = || case.team.all_visible(bob.caller.as_ref().unwrap()).unwrap();
    assert_eq!(visible().repos.len(), 2);
    // Of one repository only one branch is asked.
    case.activate(&bob, "api", "api", None);
    let both = visible();
    assert_eq!(both.repos.len(), 2);
    assert!(both.notes[0].contains("`api` and `mine` are branches of one repository"), "{:?}", both.notes);
    case.team.deactivate(&bob, " api ").unwrap();
    // The branch is merged and removed.
    api.git(&["branch", "-q", "-D", "dev"]);
    let job = case.done(&ada, &case.team.refresh_golden(&ada, "api").unwrap());
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    let rest = visible();
    assert_eq!(rest.repos.iter().map(|shown| shown.alias.as_str()).collect::<Vec<_>>(), ["web"]);
    assert!(rest.notes[0].contains("`dev` is not there any more"), "{:?}", rest.notes);
    // What is about to be removed is not asked, and what is left is.
    case.team.remove_golden(&ada, "web", true).unwrap();
    let failure = case.team.all_visible(bob.caller.as_ref().unwrap()).unwrap_err();
    assert!(failure.message.contains("`web`") && failure.message.contains("being removed"), "{failure:?}");
}

#[test]
fn another_main_branch_is_read() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let api = case.folder("api");
    case.add(&ada, &api, "api");
    let change = GoldenChange { branch: Some(Some("dev".to_owned())), ..GoldenChange::default() };
    let job = case.team.change_golden(&ada, "api", &change).unwrap().unwrap();
    assert_eq!(case.done(&ada, &job).status, JobStatus::Completed);
    assert!(case.finds(&ada, "api", "salmon_api"));
    assert!(case.team.change_golden(&ada, "api", &change).unwrap().is_none(), "it is so already");
}

#[test]
fn a_main_branch_that_is_not_there_changes_nothing() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    let main = |branch: &str| GoldenChange { branch: Some(Some(branch.to_owned())), ..GoldenChange::default() };
    let golden = || case.team.find_golden("api").unwrap();
    folder.git(&["branch", "soon-gone"]);
    let job = case.team.change_golden(&ada, "api", &main("soon-gone")).unwrap().unwrap();
    folder.git(&["branch", "-D", "soon-gone"]);
    let job = case.done(&ada, &job);
    let error = job.error.unwrap();
    assert!(job.status == JobStatus::Failed && error.contains("has no branch `soon-gone`"), "{error}");
    assert_eq!((golden().branch, golden().last_error), (None, None));
    let job = case.done(&ada, &case.team.refresh_golden(&ada, "api").unwrap());
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    // Who changes their mind before it is done gets what they said last, though that is how it is.
    let dev = case.team.change_golden(&ada, "api", &main("dev")).unwrap().unwrap();
    assert_eq!(case.done(&ada, &dev).status, JobStatus::Completed);
    case.team.change_golden(&ada, "api", &main("main")).unwrap().unwrap();
    let back = case.team.change_golden(&ada, "api", &main("dev")).unwrap().expect("another job");
    assert_eq!(case.done(&ada, &back).status, JobStatus::Completed);
    assert_eq!(golden().branch.as_deref(), Some("dev"));
    case.team.change_golden(&ada, "api", &main("main")).unwrap().unwrap();
    let choice = GoldenChange { branch: Some(None), ..GoldenChange::default() };
    let job = case.team.change_golden(&ada, "api", &choice).unwrap().unwrap();
    assert_eq!(case.done(&ada, &job).status, JobStatus::Completed);
    assert_eq!(golden().branch, None);
}

#[test]
fn what_git_says_is_for_those_who_manage_repositories() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    case.activate(&bob, "api", "mine", None);
    std::fs::rename(folder.path(), case.dir.path().join("elsewhere")).unwrap();
    let job = case.done(&bob, &case.team.sync_alias(&bob, "mine").unwrap());
    let secret = folder.path().to_string_lossy().into_owned();
    let told = "The remote of a repository is not there, lets Lore not in, or gives more than is taken \
                (an admin sees more of this job)";
    assert_eq!((job.status, job.error.as_deref()), (JobStatus::Failed, Some(told)));
    let (listed, _) = case.team.jobs(&bob, None, 1).unwrap();
    assert_eq!(listed[0].error.as_deref(), Some(told));
    let report = case.team.job(&bob, job.id.as_str()).unwrap();
    // What a job did is the same text for everybody: why it failed is told in its error, to each as they may know it.
    assert!(report.lines.iter().any(|line| line.text == "api could not be read"), "{:?}", report.lines);
    assert!(!report.lines.iter().any(|line| line.text.contains("an admin sees more")), "{:?}", report.lines);
    assert!(!report.lines.iter().any(|line| line.text.contains(&secret)), "{:?}", report.lines);
    let whole = case.job(&ada, &job).error.unwrap();
    assert!(whole.contains(&secret), "{whole}");
}

#[test]
fn a_restored_team_reads_its_repositories_again() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folders = ["api", "web"].map(|name| case.folder(name));
    for (folder, name) in folders.iter().zip(["api", "web"]) {
        case.add(&ada, folder, name);
    }
    assert_eq!((case.team.read_again().unwrap(), case.team.missing()), ((0, 2), None));
    // The team's records are there, and the index is not.
    let store = Arc::clone(&case.store) as Arc<dyn TeamStore>;
    let home = case.dir.path().join("restored");
    let team = Team::new(store, lore(&home), Arc::new(case.clock.clone()), TeamSettings::default());
    let case = Case { team: Arc::new(team), ..case };
    let missing = |waiting, failed, all| Some(Missing { waiting, failed, all });
    assert_eq!((case.team.read_again().unwrap(), case.team.missing()), ((2, 2), missing(2, 0, true)));
    let elsewhere = case.dir.path().join("elsewhere");
    std::fs::rename(folders[1].path(), &elsewhere).unwrap();
    let waits = || case.team.missing().is_some_and(|missing| missing.waiting > 0);
    assert!(case.team.missing().unwrap().keeps_from_answering());
    case.until("both were tried", || !waits());
    assert_eq!(case.team.missing(), missing(0, 1, false));
    assert!(!case.team.missing().unwrap().keeps_from_answering(), "the other one can be asked");
    assert!(case.finds(&ada, "api", "heron_api"));
    std::fs::rename(&elsewhere, folders[1].path()).unwrap();
    case.done(&ada, &case.team.refresh_golden(&ada, "web").unwrap());
    assert_eq!(case.team.missing(), None);
    assert!(case.finds(&ada, "web", "heron_web"));
}

#[test]
fn a_restored_team_of_which_nothing_can_be_read_does_not_answer() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    let store = Arc::clone(&case.store) as Arc<dyn TeamStore>;
    let home = case.dir.path().join("restored");
    let team = Team::new(store, lore(&home), Arc::new(case.clock.clone()), TeamSettings::default());
    let case = Case { team: Arc::new(team), ..case };
    case.team.read_again().unwrap();
    // Who stops the job has to see to it.
    let (jobs, _) = case.team.jobs(&ada, Some(JobStatus::Pending), 10).unwrap();
    case.team.cancel_job(&ada, jobs[0].id.as_str()).unwrap();
    assert_eq!(case.team.missing(), Some(Missing { waiting: 0, failed: 1, all: true }), "no job will read it");
    std::fs::remove_dir_all(folder.path()).unwrap();
    let failed = case.done(&ada, &case.team.refresh_golden(&ada, "api").unwrap());
    assert_eq!(failed.status, JobStatus::Failed, "{failed:?}");
    let missing = case.team.missing().unwrap();
    assert_eq!((missing, missing.keeps_from_answering()), (Missing { waiting: 0, failed: 1, all: true }, true));
    let job = case.team.remove_golden(&ada, "api", false).unwrap().0;
    case.done(&ada, &job);
    assert_eq!(case.team.missing(), None, "nothing is to be there");
}

#[test]
fn a_clock_that_was_set_back_does_not_stop_refreshes() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name);
    }
    let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
    case.team.change_golden(&ada, "api", &change).unwrap();
    case.clock.0.fetch_sub(500_000, Ordering::Relaxed);
    let ended = || {
        let (jobs, _) = case.team.jobs(&ada, Some(JobStatus::Completed), 100).unwrap();
        jobs.iter().filter(|job| job.username == "(schedule)").count()
    };
    case.until("it is refreshed", || ended() == 1);
    case.done(&ada, &case.team.refresh_golden(&ada, "web").unwrap());
    assert_eq!(ended(), 1, "it waits for its time by the new clock");
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    case.until("it is refreshed when it is time", || ended() == 2);
}

#[test]
fn a_refresh_that_ends_while_it_is_looked_at_what_is_due_is_not_due_again() {
    for waited in [0, 3601] {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin);
        for name in ["api", "web"] {
            case.add(&ada, &case.folder(name), name);
        }
        let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
        case.team.change_golden(&ada, "api", &change).unwrap();
        case.clock.0.fetch_add(waited, Ordering::Relaxed);
        let (running, now) = (refresh_by("(test)"), case.clock.now());
        case.store.add_job(&running, &[], &actor(now)).unwrap();
        let begun = case.store.claim_job(&TeamSettings::default().limits, now).unwrap();
        assert_eq!(begun.map(|job| job.id), Some(running.id.clone()));
        let other = case.team.refresh_golden(&ada, "web").unwrap();
        let (store, clock) = (Arc::clone(&case.store), case.clock.clone());
        let ends = move || {
            let at = clock.0.fetch_add(1, Ordering::Relaxed) + 1;
            let end = JobEnd { status: JobStatus::Completed, at, result: None, error: None, error_told: None };
            assert!(store.end_job(&running.id, &end, &[], &actor(at)).expect("it goes well"), "it was running");
        };
        // The first look is for old jobs, the second for what is due: nothing can happen between the two lists here.
        *case.meanwhile.lock().unwrap() = Some((2, Box::new(ends)));
        case.done(&ada, &other);
        assert_eq!(case.store.find_golden(&alias("api")).unwrap().unwrap().tried_at, Some(now + 1));
        let (jobs, _) = case.team.jobs(&ada, None, 100).unwrap();
        assert!(jobs.iter().all(|job| job.username != "(schedule)"), "{waited}: {jobs:?}");
    }
}

fn alias(text: &str) -> RepoName {
    RepoName::parse(text).expect("it goes well")
}

fn actor(at: i64) -> Actor {
    Actor { name: "(test)".to_owned(), address: None, at }
}

/// A refresh of `api` as the store takes it.
fn refresh_by(username: &str) -> NewJob {
    NewJob {
        id: JobId::new([7; 16]),
        task: JobTask { operation: Operation::RefreshGolden, alias: None, golden: vec![alias("api")], branch: None },
        user: None,
        username: username.to_owned(),
        user_max: 10,
        done: None,
        audited: false,
    }
}

impl Case {
    /// Takes a repository out of the index, as the first half of its removal does.
    fn take_from_index(&self, name: &str) {
        let history = &self.team.lore().history;
        let repo = history.repo(name).expect("it goes well");
        let writer = history.writer(|| {}).expect("it goes well");
        history.remove(&*writer, &repo).expect("it goes well");
    }

    fn golden_state(&self, name: &str) -> Option<GoldenState> {
        self.store.find_golden(&alias(name)).expect("it goes well").map(|golden| golden.state)
    }
}

#[test]
fn a_scheduled_refresh_that_is_cancelled_waits_for_its_next_time() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name);
    }
    let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
    case.team.change_golden(&ada, "api", &change).unwrap();
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    // The server has asked for what is due, and somebody does not want it.
    let scheduled = refresh_by("(schedule)");
    case.store.add_job(&scheduled, &[], &actor(case.clock.now())).unwrap();
    assert_eq!(case.team.cancel_job(&ada, scheduled.id.as_str()).unwrap(), Cancelled::Now);
    case.done(&ada, &case.team.refresh_golden(&ada, "web").unwrap());
    let count = || {
        let (jobs, _) = case.team.jobs(&ada, None, 100).unwrap();
        jobs.iter().filter(|job| job.username == "(schedule)").count()
    };
    assert_eq!(count(), 1, "it is not asked for again at once");
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    case.until("it is asked for when it is time", || count() == 2);
}

#[test]
fn what_answers_outlives_the_job_that_was_to_add_it() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let job = case.team.add_golden(&ada, &request("http://127.0.0.1:1/api.git")).unwrap();
    case.until("it is tried", || case.job(&ada, &job).not_before.is_some());
    let refused = case.team.refresh_golden(&ada, "api").unwrap_err();
    assert!(refused.code == Code::Conflict && refused.message.contains("is not ready: it is adding"), "{refused:?}");
    let past = GoldenChange { temporal: Some(true), ..GoldenChange::default() };
    assert_eq!(case.team.change_golden(&ada, "api", &past).unwrap_err().code, Code::Conflict);
    // It was read all the same.
    case.store.change(&[TeamChange::Refreshed { alias: alias("api"), at: 5 }], &actor(5)).unwrap();
    case.activate(&ada, "api", "mine", None);
    case.team.cancel_job(&ada, job.id.as_str()).unwrap();
    assert_eq!(case.done(&ada, &job).status, JobStatus::Cancelled);
    assert_eq!(case.golden_state("api"), Some(GoldenState::Ready));
    assert_eq!(case.team.activations(ada.caller.as_ref().unwrap()).unwrap().len(), 1);
    assert_eq!(case.team.lore().history.repos().unwrap().len(), 1, "what was read stays read");
}

#[test]
fn a_composite_goes_on_without_what_is_removed_by_force() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::PowerUser));
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name);
    }
    let both = ["api".to_owned(), "web".to_owned()];
    case.team.change_composite(&bob, CompositeChange::Create, "all", &both).unwrap();
    case.team.change_composite(&bob, CompositeChange::Create, "one", &both[..1]).unwrap();
    case.activate(&bob, "api", "mine", None);
    let refused = case.team.remove_golden(&ada, "api", false).unwrap_err();
    assert!(refused.message.contains("1 activation and 2 composites of 1 user"), "{refused:?}");
    let (job, concerned) = case.team.remove_golden(&ada, "api", true).unwrap();
    assert_eq!(concerned.to_string(), ", with 1 activation and from 2 composites");
    let job = case.done(&ada, &job);
    let told = "`api` is removed, with 1 activation and from 2 composites";
    assert_eq!((job.status, job.result.as_deref()), (JobStatus::Completed, Some(told)));
    let left = case.team.activations(bob.caller.as_ref().unwrap()).unwrap();
    assert_eq!(
        left.iter().map(|own| (own.alias.as_str(), own.golden.clone())).collect::<Vec<_>>(),
        [("all", vec![alias("web")])]
    );
    assert!(case.finds(&bob, "all", "heron_web"));
}

#[test]
fn a_repository_that_is_not_in_the_index_keeps_the_others_back_no_more() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::NormalUser));
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name);
    }
    case.take_from_index("api");
    let all = case.team.all_visible(bob.caller.as_ref().unwrap()).unwrap();
    assert_eq!(all.repos.iter().map(|shown| shown.alias.as_str()).collect::<Vec<_>>(), ["web"]);
    assert!(all.notes[0].contains("`api` was not asked"), "{:?}", all.notes);
    let each = case.team.each_visible(bob.caller.as_ref().unwrap()).unwrap();
    assert_eq!(
        each.iter().map(|one| (one.alias.as_str(), one.repos[0].1.is_ok())).collect::<Vec<_>>(),
        [("api", false), ("web", true)]
    );
    // Whoever refreshes it has it back.
    let job = case.done(&ada, &case.team.refresh_golden(&ada, "api").unwrap());
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    assert!(case.finds(&bob, "api", "heron_api"));
}

#[test]
fn a_removal_that_has_begun_is_not_taken_back() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    case.add(&ada, &case.folder("api"), "api");
    let clone = case.dir.path().join("data/clones/api.git");
    let (job, _) = case.team.remove_golden(&ada, "api", false).unwrap();
    // A server begins it and dies when the first half is done.
    assert!(case.store.claim_job(&TeamSettings::default().limits, case.clock.now()).unwrap().is_some());
    case.take_from_index("api");
    std::fs::create_dir_all(clone.join("objects")).unwrap();
    case.team.recover().unwrap();
    assert_eq!(case.team.cancel_job(&ada, job.id.as_str()).unwrap(), Cancelled::Asked);
    let job = case.done(&ada, &job);
    assert_eq!((job.status, job.result.as_deref()), (JobStatus::Completed, Some("`api` is removed")), "{job:?}");
    assert_eq!(case.golden_state("api"), None);
    assert!(!clone.exists(), "nor is its clone left");
    // One that had not got so far stays.
    case.add(&ada, &case.folder("web"), "web");
    let (job, _) = case.team.remove_golden(&ada, "web", false).unwrap();
    assert!(case.store.claim_job(&TeamSettings::default().limits, case.clock.now()).unwrap().is_some());
    case.team.recover().unwrap();
    assert_eq!(case.team.cancel_job(&ada, job.id.as_str()).unwrap(), Cancelled::Asked);
    assert_eq!(case.done(&ada, &job).status, JobStatus::Cancelled);
    assert_eq!(case.golden_state("web"), Some(GoldenState::Ready));
    assert!(case.finds(&ada, "web", "heron_web"));
}

#[test]
fn a_removal_that_waits_for_the_index_can_be_cancelled() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    case.add(&ada, &case.folder("api"), "api");
    // Somebody else writes, and goes on.
    let writer = std::fs::File::open(case.dir.path().join("data/writer.lock")).unwrap();
    writer.lock().unwrap();
    let (job, _) = case.team.remove_golden(&ada, "api", false).unwrap();
    let ended = case.done_with(&ada, &job, |now, lines| {
        // It has said what it removes, and waits.
        if now.status == JobStatus::Running && lines > 0 {
            assert_eq!(case.team.cancel_job(&ada, now.id.as_str()).unwrap(), Cancelled::Asked);
        }
    });
    assert_eq!(ended.status, JobStatus::Cancelled, "{ended:?}");
    assert_eq!(case.golden_state("api"), Some(GoldenState::Ready));
    assert!(case.finds(&ada, "api", "heron_api"), "it is as it was");
    drop(writer);
    let (job, _) = case.team.remove_golden(&ada, "api", false).unwrap();
    assert_eq!(case.done(&ada, &job).status, JobStatus::Completed);
}

#[test]
fn a_branch_that_is_let_go_of_while_somebody_activates_it_is_read_again() {
    let case = Case::with(TeamSettings { user_jobs: 1, ..TeamSettings::default() });
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api");
    case.done(&ada, &case.activate(&ada, "api", "first", Some("dev")));
    folder.git(&["checkout", "-q", "dev"]);
    folder.write("src/owl.rs", "/// The owl.\npub fn owl() {}\n");
    folder.commit("Owl");
    folder.git(&["checkout", "-q", "main"]);
    let (clone, url) = (case.dir.path().join("data/clones/api.git"), folder.path().to_string_lossy().into_owned());
    let refresh = move || {
        let fetch = ["fetch", "-q", url.as_str(), "+refs/heads/*:refs/heads/*"];
        lore_testkit::Git::at(clone).text(&fetch).expect("it goes well");
    };
    // As many wait as may wait: what was given is read all the same.
    let waits = case.team.sync_alias(&ada, "first").unwrap();
    // The first look is for the time of the activation, the second after the index was found to have the branch.
    *case.meanwhile.lock().unwrap() = Some((2, Box::new(refresh)));
    let job = case.activate(&ada, "api", "second", Some("dev"));
    assert_eq!((job.task.operation, job.status), (Operation::Sync, JobStatus::Pending), "{job:?}");
    for job in [waits, job] {
        assert_eq!(case.done(&ada, &job).status, JobStatus::Completed);
    }
    assert!(case.finds(&ada, "second", "owl"));
}

#[test]
fn what_was_gone_already_was_not_removed() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::Admin));
    case.add(&ada, &case.folder("api"), "api");
    let (first, _) = case.team.remove_golden(&ada, "api", false).unwrap();
    let (second, _) = case.team.remove_golden(&bob, "api", false).unwrap();
    let first = case.done(&ada, &first);
    let second = case.done(&bob, &second);
    // Whose turn it is first does not matter.
    let mut told = [first.result.unwrap(), second.result.unwrap()];
    told.sort();
    assert_eq!(told, ["`api` is removed", "`api` was gone already"]);
}

#[test]
fn one_repository_that_fails_does_not_keep_a_composite_from_its_others() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let (api, web) = (case.folder("api"), case.folder("web"));
    case.add(&ada, &api, "api");
    case.add(&ada, &web, "web");
    let both = ["api".to_owned(), "web".to_owned()];
    case.team.change_composite(&ada, CompositeChange::Create, "all", &both).unwrap();
    std::fs::remove_dir_all(api.path()).unwrap();
    web.write("src/owl.rs", "pub fn owl_web() {}\n");
    web.commit("Owl");
    let job = case.team.sync_alias(&ada, "all").unwrap();
    assert_eq!(case.team.active_jobs(&ada).unwrap(), 0, "one that waits is not active");
    let job = case.done(&ada, &job);
    let error = job.error.unwrap();
    assert!(job.status == JobStatus::Failed && error.contains("1 of 2 repositories failed: `api`:"), "{error}");
    assert!(case.finds(&ada, "all", "owl_web"));
    let golden = case.team.golden().unwrap();
    assert_eq!(golden.iter().map(|golden| golden.last_error.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_job_that_dies_of_a_fault_is_begun_again() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    case.add(&ada, &case.folder("api"), "api");
    let (job, _) = case.team.remove_golden(&ada, "api", false).unwrap();
    case.fault.store(true, Ordering::Relaxed);
    let job = case.done(&ada, &job);
    assert_eq!((job.status, job.attempts), (JobStatus::Completed, 2), "{job:?}");
    assert_eq!(case.golden_state("api"), None);
}

#[test]
fn what_cannot_be_written_down_is_told_to_whoever_waits() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin);
    let folder = case.folder("api");
    let job = case.team.add_golden(&ada, &request(&folder.path().to_string_lossy())).unwrap();
    assert!(case.team.unwritten(None, Duration::ZERO).is_none());
    // Something else stands where the records were.
    let (file, aside) = (case.dir.path().join("data/team.db"), case.dir.path().join("aside.db"));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    case.until("it is told", || case.team.unwritten(None, Duration::ZERO).is_some());
    let told = case.team.unwritten(None, Duration::ZERO).unwrap();
    assert_eq!(told.code, Code::NoAccess, "{told}");
    assert!(told.message.starts_with("what becomes of jobs cannot be written down: the team's records at "), "{told}");
    assert!(case.team.unwritten(None, Duration::from_hours(1)).is_none(), "it may pass");
    let beside = case.team.check_writing().unwrap_err();
    assert_eq!(beside.code, Code::NoAccess, "whoever waits beside is told so too: {beside}");
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(case.done(&ada, &job).status, JobStatus::Completed);
    assert!(case.team.unwritten(None, Duration::ZERO).is_none());
    case.team.check_writing().unwrap();
}

mod access {
    use super::*;

    #[test]
    fn many_attempts_at_the_same_time_are_as_many_attempts() {
        let case = Case::new();
        case.user("ada", Role::Admin);
        let attempts = (0..40).map(|_| {
            let team = Arc::clone(&case.team);
            thread::spawn(move || team.login("ada", "wrong password 1", Some("192.0.2.9")).unwrap_err())
        });
        let mut verified = 0;
        for attempt in attempts.collect::<Vec<_>>() {
            let refused = attempt.join().unwrap();
            match refused.failure.code {
                Code::Unauthenticated => verified += 1,
                code => assert_eq!(code, Code::TooManyRequests),
            }
        }
        assert_eq!(verified, 6, "no password is looked at after that");
    }

    #[test]
    fn a_login_is_renewed_and_ends_where_a_refresh_token_comes_twice() {
        let case = Case::new();
        case.user("ada", Role::Admin);
        let first = case.team.login("Ada", "tall green river 7", None).unwrap();
        let known = case.team.authenticate(&first.access_token).unwrap();
        assert_eq!(known.caller.name.as_str(), "ada");
        let second = case.team.refresh(&first.refresh_token, None).unwrap();
        assert!(case.team.authenticate(&second.access_token).is_ok());
        let again = case.team.refresh(&first.refresh_token, None).unwrap_err();
        assert_eq!(again.failure.code, Code::Unauthenticated);
        for token in [&first.access_token, &second.access_token] {
            assert!(case.team.authenticate(token).is_err(), "the whole login is over");
        }
        assert!(case.team.refresh(&second.refresh_token, None).is_err());
        let third = case.team.login("ada", "tall green river 7", None).unwrap();
        case.clock.0.fetch_add(901, Ordering::Relaxed);
        assert!(case.team.authenticate(&third.access_token).is_err(), "its time is over");
        let fourth = case.team.refresh(&third.refresh_token, None).unwrap();
        let known = case.team.authenticate(&fourth.access_token).unwrap();
        case.team.logout(&known, Some(&fourth.refresh_token), None).unwrap();
        assert!(case.team.authenticate(&fourth.access_token).is_err());
        assert!(case.team.refresh(&fourth.refresh_token, None).is_err());
    }

    #[test]
    fn a_login_that_is_renewed_without_end_is_held_back() {
        let case = Case::with(TeamSettings { renewals: 3, ..TeamSettings::default() });
        case.user("ada", Role::Admin);
        let first = case.team.login("ada", "tall green river 7", None).unwrap();
        let mut last = first.refresh_token.clone();
        for _ in 0..3 {
            last = case.team.refresh(&last, Some("192.0.2.9")).unwrap().refresh_token;
        }
        for _ in 0..2 {
            let held = case.team.refresh(&last, Some("192.0.2.9")).unwrap_err();
            assert_eq!((held.failure.code, held.retry_after), (Code::TooManyRequests, Some(4)));
        }
        let (acts, _) = case.team.acts(9).unwrap();
        let held: Vec<_> = acts.iter().filter(|act| act.act == "refresh_held_back").collect();
        assert_eq!(held.len(), 1, "once a minute");
        assert_eq!((held[0].username.as_str(), held[0].address.as_deref()), ("ada", Some("192.0.2.9")));
        case.clock.0.fetch_add(4, Ordering::Relaxed);
        let next = case.team.refresh(&last, None).expect("it was not used up").refresh_token;
        let stolen = case.team.refresh(&first.refresh_token, None).unwrap_err();
        assert_eq!(stolen.failure.code, Code::Unauthenticated);
        assert_eq!(case.team.refresh(&next, None).unwrap_err().failure.code, Code::Unauthenticated, "it is over");
    }

    #[test]
    fn those_who_try_passwords_are_held_back() {
        let case = Case::new();
        case.user("ada", Role::Admin);
        for name in ["ada", "nobody"] {
            let mut last = None;
            for _ in 0..7 {
                last = Some(case.team.login(name, "wrong password 1", Some("192.0.2.9")).unwrap_err());
            }
            let last = last.unwrap();
            assert_eq!(last.failure.code, Code::TooManyRequests, "{name}");
            assert!(last.retry_after.is_some_and(|seconds| seconds > 0));
        }
        let held = case.team.login("ada", "tall green river 7", Some("192.0.2.9")).unwrap_err();
        assert_eq!(held.failure.code, Code::TooManyRequests, "not even the right one, for a moment");
        assert!(case.team.login("ada", "tall green river 7", Some("192.0.2.10")).is_ok(), "ada is elsewhere");
        case.clock.0.fetch_add(60, Ordering::Relaxed);
        assert!(case.team.login("ada", "tall green river 7", Some("192.0.2.9")).is_ok());
    }

    #[test]
    fn a_password_that_could_not_be_looked_at_is_no_wrong_one() {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin);
        let (old, new) = ("tall green river 7", "short brown canal 8");
        let login = || case.team.login("ada", old, Some("192.0.2.9"));
        let change = || case.team.change_password(&ada, Some("192.0.2.8"), old, new);
        // Something else stands where the records were.
        let (file, aside) = (case.dir.path().join("data/team.db"), case.dir.path().join("aside.db"));
        std::fs::rename(&file, &aside).unwrap();
        std::fs::create_dir(&file).unwrap();
        for _ in 0..10 {
            assert_eq!(login().unwrap_err().failure.code, Code::NoAccess);
            assert_eq!(change().unwrap_err().failure.code, Code::NoAccess);
        }
        std::fs::remove_dir(&file).unwrap();
        std::fs::rename(&aside, &file).unwrap();
        login().expect("nothing was wrong");
        change().expect("nothing was wrong");
    }

    #[test]
    fn personal_tokens_end_when_they_expire_or_are_revoked() {
        let case = Case::new();
        let (ada, bob) = (case.user("ada", Role::Admin), case.user("bob", Role::NormalUser));
        let owner = bob.caller.as_ref().unwrap().id;
        let made = case.team.create_token(&bob, owner, "laptop", Some(1)).unwrap();
        assert!(made.secret.starts_with("lore_pat_") && made.secret.len() > 60);
        assert!(!format!("{made:?}").contains(&made.secret));
        for (days, fits) in [(0, false), (3650, true), (3651, false)] {
            let longest = case.team.create_token(&bob, owner, "other", Some(days));
            assert_eq!(longest.is_ok(), fits, "{days} days");
        }
        assert_eq!(case.team.authenticate(&made.secret).unwrap().caller.name.as_str(), "bob");
        case.team.set_role(&ada, "bob", Role::PowerUser).unwrap();
        assert_eq!(case.team.authenticate(&made.secret).unwrap().caller.role, Role::PowerUser, "at once");
        case.clock.0.fetch_add(86_400, Ordering::Relaxed);
        assert!(case.team.authenticate(&made.secret).is_err(), "it has expired");
        let made = case.team.create_token(&bob, owner, "desk", None).unwrap();
        let eve = case.user("eve", Role::PowerUser);
        assert_eq!(case.team.revoke_token(&eve, made.token.id).unwrap_err().code, Code::TokenNotFound);
        case.team.revoke_token(&bob, made.token.id).unwrap();
        assert!(case.team.authenticate(&made.secret).is_err());
        let stored = std::fs::read(case.dir.path().join("data/team.db")).unwrap();
        let log = std::fs::read(case.dir.path().join("data/team.db-wal")).unwrap_or_default();
        let holds = |bytes: &[u8]| bytes.windows(20).any(|window| window == &made.secret.as_bytes()[..20]);
        assert!(!holds(&stored) && !holds(&log), "only hashes are kept");
    }

    #[test]
    fn the_first_start_makes_one_admin() {
        let case = Case::new();
        let (name, password) = case.team.bootstrap().unwrap().unwrap();
        assert!(case.team.login(name.as_str(), &password, None).is_ok());
        assert!(case.team.bootstrap().unwrap().is_none());
    }

    #[test]
    fn an_old_password_leaves_no_login_behind() {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin);
        let login = |number: usize| {
            let team = Arc::clone(&case.team);
            thread::spawn(move || team.login("ada", "tall green river 7", Some(&format!("192.0.2.{number}"))))
        };
        // Those who come later stand in line while the password is changed, and have read the old one.
        let before: Vec<_> = (0..6).map(login).collect();
        let changed = thread::scope(|threads| {
            let changing = threads.spawn(|| case.team.set_password(&ada, "ada", "short brown canal 8"));
            let after: Vec<_> = (6..16).map(login).collect();
            (changing.join().unwrap(), after)
        });
        let (changed, after) = changed;
        changed.unwrap();
        for session in before.into_iter().chain(after).filter_map(|login| login.join().unwrap().ok()) {
            assert!(case.team.authenticate(&session.access_token).is_err(), "another password ends all logins");
            assert!(case.team.refresh(&session.refresh_token, None).is_err());
        }
        assert!(case.team.login("ada", "short brown canal 8", Some("192.0.2.99")).is_ok());
    }

    #[test]
    fn who_is_not_let_in_is_written_down() {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin);
        case.add(&ada, &case.folder("api"), "api");
        for name in ["ada", "tall green river 7"] {
            case.team.login(name, "wrong password 1", Some("192.0.2.9")).unwrap_err();
        }
        case.team.refresh_golden(&ada, "api").unwrap();
        let (acts, _) = case.team.acts(3).unwrap();
        let told: Vec<_> =
            acts.iter().map(|act| (act.username.as_str(), act.act.as_str(), act.subject.as_str())).collect();
        // What nobody is called may be a password.
        assert_eq!(
            told,
            [
                ("ada", "refresh_golden_repo", "api"),
                ("(unknown)", "login_refused", "(unknown)"),
                ("ada", "login_refused", "ada")
            ]
        );
        assert_eq!(acts[1].address.as_deref(), Some("192.0.2.9"));
    }
}
