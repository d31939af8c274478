//! A team over real repositories: who sees what, what is shared, and what becomes of jobs.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use lore_core::{
    Cancel, Clock, Lore, SystemClock,
    commands::Commands,
    history::{History, Places},
    messages::Messages,
    search::{CodeRequest, Search, Settings},
    team::{Activate, AddGolden, Asker, Cancelled, CompositeChange, GoldenChange, Missing, Team, TeamSettings},
};
use lore_embed::StaticModel;
use lore_git::Git;
use lore_model::{Actor, Caller, Code, GoldenState, Job, JobId, JobStatus, JobTask, Operation, RepoName, Role};
use lore_store::{JobEnd, NewJob, TeamChange, TeamStore};
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore, EmbeddedTeam};
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
        // Only jobs are tasks of their own.
        let breaks = tokio::task::try_id().is_some() && self.1.swap(false, Ordering::Relaxed);
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
    let store = Arc::new(EmbeddedStore::new(home));
    let places = Places { clones: home.join("clones"), git: home.join("git") };
    let history = History::new(Arc::clone(&store) as _, Git::new("git"), places, Arc::new(SystemClock));
    let search = Search::new(store, Arc::new(StaticModel::built_in()), Arc::new(SystemClock), Settings::default());
    let messages = Messages::new(Arc::new(EmbeddedMessages::new(home)), Arc::new(SystemClock), None);
    Arc::new(Lore {
        history: Arc::new(history),
        search: Arc::new(search),
        messages: Arc::new(messages),
        commands: Arc::new(Commands::new(None)),
    })
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

    async fn user(&self, name: &str, role: Role) -> Asker {
        let user =
            self.team.create_user(&Asker::local(), name, "tall green river 7", role).await.expect("it goes well");
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

    async fn add(&self, by: &Asker, folder: &Folder, alias: &str) -> Job {
        let request = AddGolden {
            url: folder.path().to_string_lossy().into_owned(),
            alias: alias.to_owned(),
            branch: None,
            temporal: false,
            refresh_every: None,
        };
        self.done(by, self.team.add_golden(by, request).await.expect("it goes well")).await
    }

    /// Does jobs until this one is over.
    async fn done(&self, by: &Asker, job: Job) -> Job {
        self.done_with(by, &job, |_, _| async {}).await
    }

    /// The same, where something is done each time that the job has moved.
    async fn done_with<F: Future<Output = ()>>(&self, by: &Asker, job: &Job, each: impl Fn(Job, usize) -> F) -> Job {
        let stop = Cancel::default();
        let run = self.team.run(&stop);
        let wait = async {
            loop {
                let report = self.team.job(by, job.id.as_str()).await.expect("it goes well");
                if report.job.status.is_over() {
                    return report.job;
                }
                each(report.job, report.lines.len()).await;
                self.team.job_moved().await;
            }
        };
        let wait = async {
            let found = tokio::time::timeout(Duration::from_mins(1), wait).await;
            // Whatever came of it: a test that waits for ever has not failed.
            stop.cancel();
            found
        };
        let (found, ()) = tokio::join!(wait, run);
        found.expect("a job ends")
    }

    async fn activate(&self, by: &Asker, golden: &str, alias: &str, branch: Option<&str>) -> Job {
        let request = Activate {
            golden: vec![golden.to_owned()],
            composite: false,
            branch: branch.map(str::to_owned),
            alias: Some(alias.to_owned()),
        };
        self.team.activate(by, request).await.expect("it goes well")
    }

    async fn finds(&self, by: &Asker, alias: &str, word: &str) -> bool {
        let visible = self.team.visible(by.caller.as_ref().expect("it goes well"), alias).await.expect("it goes well");
        let repos = visible.repos.into_iter().map(|shown| (shown.repo, None)).collect();
        let answer = self
            .team
            .lore()
            .search
            .search(&CodeRequest::new(format!("\"{word}\""), repos))
            .await
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

#[tokio::test(flavor = "multi_thread")]
async fn each_user_asks_about_the_branch_of_their_choice() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    let folder = case.folder("api");
    let added = case.add(&ada, &folder, "api").await;
    assert_eq!(added.status, JobStatus::Completed, "{added:?}");
    assert!(case.finds(&bob, "api", "heron_api").await && !case.finds(&bob, "api", "salmon_api").await);
    let job = case.activate(&ada, "api", "mine", Some("dev")).await;
    assert_eq!(job.status, JobStatus::Pending, "the branch has to be read");
    let soon = case.team.visible(ada.caller.as_ref().unwrap(), "mine").await.unwrap_err();
    assert!(soon.message.contains("is being activated") && soon.hint.unwrap().contains(job.id.as_str()));
    let others = case.team.visible(bob.caller.as_ref().unwrap(), "mine").await.unwrap_err();
    assert!(others.message.contains("no repository is called"), "{others:?}");
    let job = case.done(&ada, job).await;
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    assert!(case.finds(&ada, "mine", "salmon_api").await);
    assert!(!case.finds(&bob, "api", "salmon_api").await, "the golden repository is on its main branch");
    // The second user's activation of a branch that is read is done at once and adds no index.
    let before = case.index_bytes();
    let second = case.activate(&bob, "api", "api-dev", Some("dev")).await;
    assert_eq!((second.status, case.index_bytes()), (JobStatus::Completed, before));
    assert!(case.finds(&bob, "api-dev", "salmon_api").await);
    let switched = case.team.switch_branch(&bob, "api-dev", "main").await.unwrap();
    assert_eq!(switched.status, JobStatus::Completed);
    assert!(!case.finds(&bob, "api-dev", "salmon_api").await);
    assert!(case.finds(&ada, "mine", "salmon_api").await, "ada is not concerned");
    // A branch that nobody has is neither kept nor invented.
    let ghost = Activate {
        golden: vec!["api".to_owned()],
        composite: false,
        branch: Some("none".to_owned()),
        alias: Some("ghost".to_owned()),
    };
    let refused = case.team.activate(&bob, ghost).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (Code::InvalidArgument, "`api` has no branch `none`"));
    assert_eq!(refused.hint.as_deref(), Some("its branches are: dev, main"));
    assert_eq!(case.team.activations(bob.caller.as_ref().unwrap()).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_or_repository_that_is_nowhere_is_refused_at_once() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    case.activate(&ada, "api", "mine", None).await;
    let jobs = async || case.team.jobs(&ada, None, 100).await.unwrap().1;
    let before = jobs().await;
    let told = |failure: lore_model::Failure| format!("{failure} / {}", failure.hint.clone().unwrap_or_default());

    // A branch that was never there, nor is it upstream.
    for (branch, hint) in [
        ("mian", "did you mean `main`? Its branches are: dev, main"),
        ("Dev", "did you mean `dev`? Its branches are: dev, main"),
        ("something-else", "its branches are: dev, main"),
    ] {
        let expected = format!("`api` has no branch `{branch}` / {hint}");
        assert_eq!(told(case.team.switch_branch(&ada, "mine", branch).await.unwrap_err()), expected);
        let change = GoldenChange { branch: Some(Some(branch.to_owned())), ..GoldenChange::default() };
        assert_eq!(told(case.team.change_golden(&ada, "api", &change).await.unwrap_err()), expected);
        let other = Activate { golden: vec!["api".to_owned()], branch: Some(branch.to_owned()), ..Activate::default() };
        assert_eq!(told(case.team.activate(&ada, other).await.unwrap_err()), expected);
        let mut new = request(&folder.path().to_string_lossy());
        (new.alias, new.branch) = ("again".to_owned(), Some(branch.to_owned()));
        let expected = format!("`again` has no branch `{branch}` / {hint}");
        assert_eq!(told(case.team.add_golden(&ada, new).await.unwrap_err()), expected);
    }
    // A repository that is not there.
    let nowhere = case.dir.path().join("nowhere");
    let mut new = request(&nowhere.to_string_lossy());
    new.alias = "again".to_owned();
    let refused = case.team.add_golden(&ada, new).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidArgument, "{refused:?}");
    assert!(refused.message.starts_with(&format!("file://{} cannot be cloned: ", nowhere.display())), "{refused}");
    for golden in [vec!["apo"], vec!["api", "apo"]] {
        let names: Vec<String> = golden.iter().map(|name| (*name).to_owned()).collect();
        let other = Activate { golden: names.clone(), composite: names.len() > 1, ..Activate::default() };
        let refused = case.team.activate(&ada, Activate { alias: Some("all".to_owned()), ..other }).await.unwrap_err();
        assert!(told(refused).contains("did you mean `api`?"));
        let refused = case.team.change_composite(&ada, CompositeChange::Create, "all", &names).await.unwrap_err();
        assert!(told(refused).contains("did you mean `api`?"));
    }
    assert_eq!(jobs().await, before, "nothing was asked for");
    assert_eq!(case.team.golden().await.unwrap().len(), 1);

    // What is new upstream is there, and what has gone since is not.
    folder.git(&["checkout", "-q", "-b", "fresh", "dev"]);
    folder.write("src/owl.rs", "pub fn owl() {}\n").commit("Owl");
    folder.git(&["checkout", "-q", "main"]);
    let job = case.team.switch_branch(&ada, "mine", "fresh").await.unwrap();
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Completed);
    assert!(case.finds(&ada, "mine", "salmon_api").await);
    folder.git(&["branch", "-m", "dev", "trunk"]);
    let refused = case.team.switch_branch(&ada, "mine", "dev").await.unwrap_err();
    assert_eq!(told(refused), "`api` has no branch `dev` / its branches are: fresh, main, trunk");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_goes_before_its_job_is_done_is_told_by_the_job() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    let job = case.activate(&bob, "api", "mine", Some("dev")).await;
    folder.git(&["branch", "-D", "dev"]);
    let job = case.done(&bob, job).await;
    assert_eq!(job.status, JobStatus::Failed);
    assert!(job.error.as_deref().unwrap().contains("`api` has no branch `dev` (its branches are: main)"), "{job:?}");
    // Whether there is a branch of a remote that cannot be asked is found out by the job as well.
    std::fs::rename(folder.path(), case.dir.path().join("elsewhere")).unwrap();
    let job = case.activate(&bob, "api", "mine", Some("next")).await;
    assert_eq!(job.status, JobStatus::Pending);
    assert_eq!(case.done(&bob, job).await.status, JobStatus::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pushed_is_there_after_a_sync_and_what_nobody_wants_leaves() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    case.done(&ada, case.activate(&ada, "api", "mine", Some("dev")).await).await;
    folder.git(&["checkout", "-q", "dev"]);
    folder.write("src/owl.rs", "pub fn owl() {}\n");
    folder.commit("Owl");
    folder.git(&["checkout", "-q", "main"]);
    let job = case.done(&ada, case.team.sync_alias(&ada, "mine").await.unwrap()).await;
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    assert!(case.finds(&ada, "mine", "owl").await);
    case.team.deactivate(&ada, "mine").await.unwrap();
    case.done(&ada, case.team.refresh_golden(&ada, "api").await.unwrap()).await;
    let repo = case.team.lore().history.repo("api").await.unwrap();
    let state = case.team.lore().search.state(repo.id).await.unwrap();
    assert_eq!(state.snapshots.len(), 1, "the branch that nobody has any more is gone: {state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_composite_is_asked_as_one_and_is_its_owners_alone() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name).await;
    }
    let both = ["api".to_owned(), "web".to_owned()];
    let job = case.team.change_composite(&ada, CompositeChange::Create, "all", &both).await.unwrap();
    assert_eq!(job.status, JobStatus::Completed);
    assert!(case.finds(&ada, "all", "heron_api").await && case.finds(&ada, "all", "heron_web").await);
    let (others, missing) = (
        case.team.visible(bob.caller.as_ref().unwrap(), "all").await.unwrap_err(),
        case.team.visible(bob.caller.as_ref().unwrap(), "alx").await.unwrap_err(),
    );
    let plain = |text: &str| text.replace("alx", "all");
    assert_eq!(plain(&others.message), plain(&missing.message), "what is another's is as little there as nothing");
    assert_eq!(plain(others.hint.as_deref().unwrap()), plain(missing.hint.as_deref().unwrap()));
    let again = case.team.change_composite(&ada, CompositeChange::Create, "all", &both).await.unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    case.team.change_composite(&ada, CompositeChange::Update, "all", &both[..1]).await.unwrap();
    assert!(!case.finds(&ada, "all", "heron_web").await);
    case.team.change_composite(&ada, CompositeChange::Delete, "all", &[]).await.unwrap();
    assert!(case.team.visible(ada.caller.as_ref().unwrap(), "all").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_means_something_already_is_not_given_again() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name).await;
    }
    let activate = async |golden: &[&str], alias: Option<&str>, branch: Option<&str>| {
        let request = Activate {
            golden: golden.iter().map(|name| (*name).to_owned()).collect(),
            composite: golden.len() > 1,
            branch: branch.map(str::to_owned),
            alias: alias.map(str::to_owned),
        };
        case.team.activate(&ada, request).await.map(|_| ()).map_err(|failure| failure.code)
    };
    assert_eq!(activate(&["api"], Some("mine"), None).await, Ok(()));
    assert_eq!(activate(&["api"], Some("mine"), None).await, Ok(()), "the same once more changes nothing");
    assert_eq!(activate(&["web"], Some("mine"), None).await, Err(Code::Conflict));
    assert_eq!(activate(&["api", "web"], Some("mine"), None).await, Err(Code::Conflict));
    assert_eq!(activate(&["api"], Some("WEB"), None).await, Err(Code::Conflict), "it is another golden repository");
    assert_eq!(activate(&["web"], None, None).await, Ok(()));
    // Where a branch has to be read first, nobody waits for that to be refused.
    assert_eq!(activate(&["web"], Some("mine"), Some("dev")).await, Err(Code::Conflict));
    assert_eq!(activate(&["api"], Some("web"), Some("dev")).await, Err(Code::Conflict));
    assert_eq!(activate(&["api"], Some("mine"), Some("dev")).await, Ok(()), "another branch of the same");
    assert_eq!(activate(&["api", "web"], None, None).await, Err(Code::InvalidArgument), "a composite needs a name");
    assert_eq!(activate(&["api", "web"], Some("all"), Some("main")).await, Err(Code::InvalidArgument));
    assert_eq!(activate(&["api", "web"], Some("all"), None).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_golden_repository_that_users_have_is_removed_only_by_force() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    case.add(&ada, &case.folder("api"), "api").await;
    case.activate(&bob, "api", "mine", None).await;
    let refused = case.team.remove_golden(&ada, "api", false).await.unwrap_err();
    assert!(refused.code == Code::Conflict && refused.message.contains("1 activation of 1 user"), "{refused:?}");
    let (job, concerned) = case.team.remove_golden(&ada, "api", true).await.unwrap();
    assert_eq!((concerned.activations, concerned.composites), (1, 0));
    let job = case.done(&ada, job).await;
    assert_eq!(job.status, JobStatus::Completed);
    assert!(case.team.golden().await.unwrap().is_empty());
    assert!(case.team.lore().history.repos().await.unwrap().is_empty());
    assert!(case.team.activations(bob.caller.as_ref().unwrap()).await.unwrap().is_empty());
    assert!(!case.dir.path().join("data/clones/api.git").exists());
    let again = case.add(&ada, &case.folder("api2"), "api").await;
    assert_eq!(again.status, JobStatus::Completed, "the alias is free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_cloned_leaves_nothing_behind() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let request = |url: &str| AddGolden {
        url: url.to_owned(),
        alias: "api".to_owned(),
        branch: None,
        temporal: false,
        refresh_every: None,
    };
    let nowhere = case.dir.path().join("nowhere").to_string_lossy().into_owned();
    assert_eq!(case.team.add_golden(&ada, request(&nowhere)).await.unwrap_err().code, Code::InvalidArgument);
    assert!(case.team.golden().await.unwrap().is_empty());
    assert!(case.team.lore().history.repos().await.unwrap().is_empty());
    for bad in ["ext::sh -c touch% x", "--upload-pack=x", "ssh://-oProxyCommand=x/y"] {
        let refused = case.team.add_golden(&ada, request(bad)).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument, "{bad}");
    }
    let mut with_branch = request("https://example.com/x.git");
    with_branch.branch = Some("--upload-pack=x".to_owned());
    assert_eq!(case.team.add_golden(&ada, with_branch).await.unwrap_err().code, Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_died_with_its_server_is_taken_up_again() {
    let case = Case::with(TeamSettings { attempts: 2, ..TeamSettings::default() });
    let ada = case.user("ada", Role::Admin).await;
    let request = AddGolden {
        url: case.folder("api").path().to_string_lossy().into_owned(),
        alias: "api".to_owned(),
        branch: None,
        temporal: true,
        refresh_every: None,
    };
    let job = case.team.add_golden(&ada, request).await.unwrap();
    // A server begins it and dies.
    let limits = TeamSettings::default().limits;
    assert!(case.store.claim_job(&limits, 2_000_000).await.unwrap().is_some());
    case.team.recover().await.unwrap();
    let job = case.done(&ada, job).await;
    assert_eq!((job.status, job.attempts), (JobStatus::Completed, 2), "{job:?}");
    assert_eq!(case.team.golden().await.unwrap()[0].state, GoldenState::Ready);
    // One that kills every server is given up, and says so.
    let job = case.team.refresh_golden(&ada, "api").await.unwrap();
    for _ in 0..2 {
        assert!(case.store.claim_job(&limits, 2_000_000).await.unwrap().is_some());
        case.team.recover().await.unwrap();
    }
    let job = case.team.job(&ada, job.id.as_str()).await.unwrap().job;
    assert!(job.status == JobStatus::Failed && job.error.unwrap().contains("begun 2 times"));
}

#[tokio::test(flavor = "multi_thread")]
async fn golden_repositories_are_fetched_when_it_is_time() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
    assert!(case.team.change_golden(&ada, "api", &change).await.unwrap().is_none());
    let too_often = GoldenChange { refresh_every: Some(Some(1)), ..GoldenChange::default() };
    assert!(case.team.change_golden(&ada, "api", &too_often).await.is_err());
    folder.write("src/owl.rs", "pub fn owl() {}\n");
    folder.commit("Owl");
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    let stop = Cancel::default();
    let wait = async {
        while !case.finds(&ada, "api", "owl").await {
            case.team.job_moved().await;
        }
        stop.cancel();
    };
    let (found, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(30), wait), case.team.run(&stop));
    found.expect("it is fetched by itself");
    let (jobs, _) = case.team.jobs(&ada, None, 10).await.unwrap();
    assert_eq!(jobs.iter().filter(|job| job.username == "(schedule)").count(), 1, "once, not again and again");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_seen_by_their_owners_and_those_who_manage_repositories() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    let eve = case.user("eve", Role::PowerUser).await;
    case.add(&ada, &case.folder("api"), "api").await;
    let job = case.activate(&bob, "api", "mine", None).await;
    assert!(case.team.job(&ada, job.id.as_str()).await.is_ok());
    assert!(case.team.job(&bob, job.id.as_str()).await.is_ok());
    for refused in [
        case.team.job(&eve, job.id.as_str()).await.map(|_| ()),
        case.team.cancel_job(&eve, job.id.as_str()).await.map(|_| ()),
        case.team.job(&eve, &"0".repeat(32)).await.map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().code, Code::JobNotFound);
    }
    assert_eq!(case.team.jobs(&eve, None, 10).await.unwrap().1, 0);
    assert_eq!(case.team.jobs(&bob, None, 10).await.unwrap().1, 1);
    assert_eq!(case.team.jobs(&ada, None, 10).await.unwrap().1, 2);
}

/// A URL at which nobody answers, and one at which there is a repository.
fn request(url: &str) -> AddGolden {
    AddGolden { url: url.to_owned(), alias: "api".to_owned(), branch: None, temporal: false, refresh_every: None }
}

impl Case {
    /// Does jobs until something is so.
    async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let stop = Cancel::default();
        let wait = async {
            while !is_so().await {
                self.team.job_moved().await;
            }
        };
        let wait = async {
            let found = tokio::time::timeout(Duration::from_mins(1), wait).await;
            stop.cancel();
            found
        };
        let (found, ()) = tokio::join!(wait, self.team.run(&stop));
        found.expect(what);
    }

    async fn job(&self, by: &Asker, job: &Job) -> Job {
        self.team.job(by, job.id.as_str()).await.expect("it goes well").job
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_the_network_is_tried_again_later_and_not_for_ever() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let job = case.team.add_golden(&ada, request("http://127.0.0.1:1/api.git")).await.unwrap();
    let mut waits = Vec::new();
    for attempt in 1..=4 {
        case.until("it is tried", async || case.job(&ada, &job).await.not_before.is_some()).await;
        let now = case.job(&ada, &job).await;
        assert_eq!((now.status, now.attempts), (JobStatus::Pending, attempt), "{now:?}");
        let wait = now.not_before.unwrap() - case.clock.now();
        waits.push(wait);
        case.clock.0.fetch_add(wait, Ordering::Relaxed);
        if attempt < 4 {
            case.until("it is begun", async || case.job(&ada, &job).await.attempts > attempt).await;
        }
    }
    assert_eq!(waits, [10, 20, 40, 80]);
    let job = case.done(&ada, job).await;
    assert_eq!((job.status, job.attempts), (JobStatus::Failed, 5), "{job:?}");
    let lines = case.team.job(&ada, job.id.as_str()).await.unwrap().lines;
    let again = lines.iter().filter(|line| line.text.starts_with("waits to be tried again")).count();
    assert_eq!(again, 4, "{lines:?}");
    assert!(case.team.golden().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_while_it_waits_leaves_nothing_to_the_next_of_its_name() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let job = case.team.add_golden(&ada, request("http://127.0.0.1:1/api.git")).await.unwrap();
    case.until("it is tried", async || case.job(&ada, &job).await.not_before.is_some()).await;
    assert_eq!(case.team.cancel_job(&ada, job.id.as_str()).await.unwrap(), Cancelled::Asked);
    let job = case.done(&ada, job).await;
    assert_eq!(job.status, JobStatus::Cancelled, "{job:?}");
    assert!(case.team.golden().await.unwrap().is_empty());
    assert!(case.team.lore().history.repos().await.unwrap().is_empty());
    assert_eq!(case.add(&ada, &case.folder("api"), "api").await.status, JobStatus::Completed);
    assert!(case.finds(&ada, "api", "heron_api").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_says_what_it_did_to_the_last_line() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let job = case.add(&ada, &case.folder("api"), "api").await;
    let lines = case.team.job(&ada, job.id.as_str()).await.unwrap().lines;
    assert!(lines.last().is_some_and(|line| line.text.contains("in the index")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_keeps_the_rest_back_no_more_than_it_must() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    let api = case.folder("api");
    case.add(&ada, &api, "api").await;
    case.add(&ada, &case.folder("web"), "web").await;
    case.done(&bob, case.activate(&bob, "api", "mine", Some("dev")).await).await;
    case.activate(&bob, "web", "web", None).await;
    let visible = async || case.team.all_visible(bob.caller.as_ref().unwrap()).await.unwrap();
    assert_eq!(visible().await.repos.len(), 2);
    // Of one repository only one branch is asked.
    case.activate(&bob, "api", "api", None).await;
    let both = visible().await;
    assert_eq!(both.repos.len(), 2);
    assert!(both.notes[0].contains("`api` and `mine` are branches of one repository"), "{:?}", both.notes);
    case.team.deactivate(&bob, " api ").await.unwrap();
    // The branch is merged and removed.
    api.git(&["branch", "-q", "-D", "dev"]);
    let job = case.done(&ada, case.team.refresh_golden(&ada, "api").await.unwrap()).await;
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    let rest = visible().await;
    assert_eq!(rest.repos.iter().map(|shown| shown.alias.as_str()).collect::<Vec<_>>(), ["web"]);
    assert!(rest.notes[0].contains("`dev` is not there any more"), "{:?}", rest.notes);
    // What is about to be removed is not asked, and what is left is.
    case.team.remove_golden(&ada, "web", true).await.unwrap();
    let failure = case.team.all_visible(bob.caller.as_ref().unwrap()).await.unwrap_err();
    assert!(failure.message.contains("`web`") && failure.message.contains("being removed"), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_main_branch_is_read() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let api = case.folder("api");
    case.add(&ada, &api, "api").await;
    let change = GoldenChange { branch: Some(Some("dev".to_owned())), ..GoldenChange::default() };
    let job = case.team.change_golden(&ada, "api", &change).await.unwrap().unwrap();
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Completed);
    assert!(case.finds(&ada, "api", "salmon_api").await);
    assert!(case.team.change_golden(&ada, "api", &change).await.unwrap().is_none(), "it is so already");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_main_branch_that_is_not_there_changes_nothing() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    let main = |branch: &str| GoldenChange { branch: Some(Some(branch.to_owned())), ..GoldenChange::default() };
    let golden = async || case.team.find_golden("api").await.unwrap();
    folder.git(&["branch", "soon-gone"]);
    let job = case.team.change_golden(&ada, "api", &main("soon-gone")).await.unwrap().unwrap();
    folder.git(&["branch", "-D", "soon-gone"]);
    let job = case.done(&ada, job).await;
    let error = job.error.unwrap();
    assert!(job.status == JobStatus::Failed && error.contains("has no branch `soon-gone`"), "{error}");
    assert_eq!((golden().await.branch, golden().await.last_error), (None, None));
    let job = case.done(&ada, case.team.refresh_golden(&ada, "api").await.unwrap()).await;
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    // Who changes their mind before it is done gets what they said last, though that is how it is.
    let dev = case.team.change_golden(&ada, "api", &main("dev")).await.unwrap().unwrap();
    assert_eq!(case.done(&ada, dev).await.status, JobStatus::Completed);
    case.team.change_golden(&ada, "api", &main("main")).await.unwrap().unwrap();
    let back = case.team.change_golden(&ada, "api", &main("dev")).await.unwrap().expect("another job");
    assert_eq!(case.done(&ada, back).await.status, JobStatus::Completed);
    assert_eq!(golden().await.branch.as_deref(), Some("dev"));
    case.team.change_golden(&ada, "api", &main("main")).await.unwrap().unwrap();
    let choice = GoldenChange { branch: Some(None), ..GoldenChange::default() };
    let job = case.team.change_golden(&ada, "api", &choice).await.unwrap().unwrap();
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Completed);
    assert_eq!(golden().await.branch, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_git_says_is_for_those_who_manage_repositories() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    case.activate(&bob, "api", "mine", None).await;
    std::fs::rename(folder.path(), case.dir.path().join("elsewhere")).unwrap();
    let job = case.done(&bob, case.team.sync_alias(&bob, "mine").await.unwrap()).await;
    let secret = folder.path().to_string_lossy().into_owned();
    let told = "The remote of a repository is not there, lets Lore not in, or gives more than is taken \
                (an admin sees more of this job)";
    assert_eq!((job.status, job.error.as_deref()), (JobStatus::Failed, Some(told)));
    let (listed, _) = case.team.jobs(&bob, None, 1).await.unwrap();
    assert_eq!(listed[0].error.as_deref(), Some(told));
    let report = case.team.job(&bob, job.id.as_str()).await.unwrap();
    // What a job did is the same text for everybody: why it failed is told in its error, to each as they may know it.
    assert!(report.lines.iter().any(|line| line.text == "api could not be read"), "{:?}", report.lines);
    assert!(!report.lines.iter().any(|line| line.text.contains("an admin sees more")), "{:?}", report.lines);
    assert!(!report.lines.iter().any(|line| line.text.contains(&secret)), "{:?}", report.lines);
    let whole = case.job(&ada, &job).await.error.unwrap();
    assert!(whole.contains(&secret), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_team_reads_its_repositories_again() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folders = ["api", "web"].map(|name| case.folder(name));
    for (folder, name) in folders.iter().zip(["api", "web"]) {
        case.add(&ada, folder, name).await;
    }
    assert_eq!((case.team.read_again().await.unwrap(), case.team.missing()), ((0, 2), None));
    // The team's records are there, and the index is not.
    let store = Arc::clone(&case.store) as Arc<dyn TeamStore>;
    let home = case.dir.path().join("restored");
    let team = Team::new(store, lore(&home), Arc::new(case.clock.clone()), TeamSettings::default());
    let case = Case { team: Arc::new(team), ..case };
    let missing = |waiting, failed, all| Some(Missing { waiting, failed, all });
    assert_eq!((case.team.read_again().await.unwrap(), case.team.missing()), ((2, 2), missing(2, 0, true)));
    let elsewhere = case.dir.path().join("elsewhere");
    std::fs::rename(folders[1].path(), &elsewhere).unwrap();
    let waits = || case.team.missing().is_some_and(|missing| missing.waiting > 0);
    assert!(case.team.missing().unwrap().keeps_from_answering());
    case.until("both were tried", async || !waits()).await;
    assert_eq!(case.team.missing(), missing(0, 1, false));
    assert!(!case.team.missing().unwrap().keeps_from_answering(), "the other one can be asked");
    assert!(case.finds(&ada, "api", "heron_api").await);
    std::fs::rename(&elsewhere, folders[1].path()).unwrap();
    case.done(&ada, case.team.refresh_golden(&ada, "web").await.unwrap()).await;
    assert_eq!(case.team.missing(), None);
    assert!(case.finds(&ada, "web", "heron_web").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_team_of_which_nothing_can_be_read_does_not_answer() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    let store = Arc::clone(&case.store) as Arc<dyn TeamStore>;
    let home = case.dir.path().join("restored");
    let team = Team::new(store, lore(&home), Arc::new(case.clock.clone()), TeamSettings::default());
    let case = Case { team: Arc::new(team), ..case };
    case.team.read_again().await.unwrap();
    // Who stops the job has to see to it.
    let (jobs, _) = case.team.jobs(&ada, Some(JobStatus::Pending), 10).await.unwrap();
    case.team.cancel_job(&ada, jobs[0].id.as_str()).await.unwrap();
    assert_eq!(case.team.missing(), Some(Missing { waiting: 0, failed: 1, all: true }), "no job will read it");
    std::fs::remove_dir_all(folder.path()).unwrap();
    let failed = case.done(&ada, case.team.refresh_golden(&ada, "api").await.unwrap()).await;
    assert_eq!(failed.status, JobStatus::Failed, "{failed:?}");
    let missing = case.team.missing().unwrap();
    assert_eq!((missing, missing.keeps_from_answering()), (Missing { waiting: 0, failed: 1, all: true }, true));
    let job = case.team.remove_golden(&ada, "api", false).await.unwrap().0;
    case.done(&ada, job).await;
    assert_eq!(case.team.missing(), None, "nothing is to be there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_set_back_does_not_stop_refreshes() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name).await;
    }
    let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
    case.team.change_golden(&ada, "api", &change).await.unwrap();
    case.clock.0.fetch_sub(500_000, Ordering::Relaxed);
    let ended = async || {
        let (jobs, _) = case.team.jobs(&ada, Some(JobStatus::Completed), 100).await.unwrap();
        jobs.iter().filter(|job| job.username == "(schedule)").count()
    };
    case.until("it is refreshed", async || ended().await == 1).await;
    case.done(&ada, case.team.refresh_golden(&ada, "web").await.unwrap()).await;
    assert_eq!(ended().await, 1, "it waits for its time by the new clock");
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    case.until("it is refreshed when it is time", async || ended().await == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_that_ends_while_it_is_looked_at_what_is_due_is_not_due_again() {
    for waited in [0, 3601] {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin).await;
        for name in ["api", "web"] {
            case.add(&ada, &case.folder(name), name).await;
        }
        let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
        case.team.change_golden(&ada, "api", &change).await.unwrap();
        case.clock.0.fetch_add(waited, Ordering::Relaxed);
        let (running, now) = (refresh_by("(test)"), case.clock.now());
        case.store.add_job(&running, &[], &actor(now)).await.unwrap();
        let begun = case.store.claim_job(&TeamSettings::default().limits, now).await.unwrap();
        assert_eq!(begun.map(|job| job.id), Some(running.id.clone()));
        let other = case.team.refresh_golden(&ada, "web").await.unwrap();
        let (store, clock, runtime) = (Arc::clone(&case.store), case.clock.clone(), tokio::runtime::Handle::current());
        let ends = move || {
            let at = clock.0.fetch_add(1, Ordering::Relaxed) + 1;
            let end = JobEnd { status: JobStatus::Completed, at, result: None, error: None, error_told: None };
            let ended = async move { store.end_job(&running.id, &end, &[], &actor(at)).await };
            let ended = std::thread::spawn(move || runtime.block_on(ended)).join();
            assert!(ended.expect("it goes well").expect("it goes well"), "it was running");
        };
        // The first look is for old jobs, the second for what is due: nothing can happen between the two lists here.
        *case.meanwhile.lock().unwrap() = Some((2, Box::new(ends)));
        case.done(&ada, other).await;
        assert_eq!(case.store.find_golden(&alias("api")).await.unwrap().unwrap().tried_at, Some(now + 1));
        let (jobs, _) = case.team.jobs(&ada, None, 100).await.unwrap();
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
    async fn take_from_index(&self, name: &str) {
        let history = &self.team.lore().history;
        let repo = history.repo(name).await.expect("it goes well");
        let writer = history.writer(|| {}).await.expect("it goes well");
        history.remove(&*writer, &repo).await.expect("it goes well");
    }

    async fn golden_state(&self, name: &str) -> Option<GoldenState> {
        self.store.find_golden(&alias(name)).await.expect("it goes well").map(|golden| golden.state)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_refresh_that_is_cancelled_waits_for_its_next_time() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name).await;
    }
    let change = GoldenChange { refresh_every: Some(Some(3600)), ..GoldenChange::default() };
    case.team.change_golden(&ada, "api", &change).await.unwrap();
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    // The server has asked for what is due, and somebody does not want it.
    let scheduled = refresh_by("(schedule)");
    case.store.add_job(&scheduled, &[], &actor(case.clock.now())).await.unwrap();
    assert_eq!(case.team.cancel_job(&ada, scheduled.id.as_str()).await.unwrap(), Cancelled::Now);
    case.done(&ada, case.team.refresh_golden(&ada, "web").await.unwrap()).await;
    let count = async || {
        let (jobs, _) = case.team.jobs(&ada, None, 100).await.unwrap();
        jobs.iter().filter(|job| job.username == "(schedule)").count()
    };
    assert_eq!(count().await, 1, "it is not asked for again at once");
    case.clock.0.fetch_add(3601, Ordering::Relaxed);
    case.until("it is asked for when it is time", async || count().await == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_outlives_the_job_that_was_to_add_it() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let job = case.team.add_golden(&ada, request("http://127.0.0.1:1/api.git")).await.unwrap();
    case.until("it is tried", async || case.job(&ada, &job).await.not_before.is_some()).await;
    let refused = case.team.refresh_golden(&ada, "api").await.unwrap_err();
    assert!(refused.code == Code::Conflict && refused.message.contains("is not ready: it is adding"), "{refused:?}");
    let past = GoldenChange { temporal: Some(true), ..GoldenChange::default() };
    assert_eq!(case.team.change_golden(&ada, "api", &past).await.unwrap_err().code, Code::Conflict);
    // It was read all the same.
    case.store.change(&[TeamChange::Refreshed { alias: alias("api"), at: 5 }], &actor(5)).await.unwrap();
    case.activate(&ada, "api", "mine", None).await;
    case.team.cancel_job(&ada, job.id.as_str()).await.unwrap();
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Cancelled);
    assert_eq!(case.golden_state("api").await, Some(GoldenState::Ready));
    assert_eq!(case.team.activations(ada.caller.as_ref().unwrap()).await.unwrap().len(), 1);
    assert_eq!(case.team.lore().history.repos().await.unwrap().len(), 1, "what was read stays read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_composite_goes_on_without_what_is_removed_by_force() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::PowerUser).await);
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name).await;
    }
    let both = ["api".to_owned(), "web".to_owned()];
    case.team.change_composite(&bob, CompositeChange::Create, "all", &both).await.unwrap();
    case.team.change_composite(&bob, CompositeChange::Create, "one", &both[..1]).await.unwrap();
    case.activate(&bob, "api", "mine", None).await;
    let refused = case.team.remove_golden(&ada, "api", false).await.unwrap_err();
    assert!(refused.message.contains("1 activation and 2 composites of 1 user"), "{refused:?}");
    let (job, concerned) = case.team.remove_golden(&ada, "api", true).await.unwrap();
    assert_eq!(concerned.to_string(), ", with 1 activation and from 2 composites");
    let job = case.done(&ada, job).await;
    let told = "`api` is removed, with 1 activation and from 2 composites";
    assert_eq!((job.status, job.result.as_deref()), (JobStatus::Completed, Some(told)));
    let left = case.team.activations(bob.caller.as_ref().unwrap()).await.unwrap();
    assert_eq!(
        left.iter().map(|own| (own.alias.as_str(), own.golden.clone())).collect::<Vec<_>>(),
        [("all", vec![alias("web")])]
    );
    assert!(case.finds(&bob, "all", "heron_web").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_in_the_index_keeps_the_others_back_no_more() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::NormalUser).await);
    for name in ["api", "web"] {
        case.add(&ada, &case.folder(name), name).await;
    }
    case.take_from_index("api").await;
    let all = case.team.all_visible(bob.caller.as_ref().unwrap()).await.unwrap();
    assert_eq!(all.repos.iter().map(|shown| shown.alias.as_str()).collect::<Vec<_>>(), ["web"]);
    assert!(all.notes[0].contains("`api` was not asked"), "{:?}", all.notes);
    let each = case.team.each_visible(bob.caller.as_ref().unwrap()).await.unwrap();
    assert_eq!(
        each.iter().map(|one| (one.alias.as_str(), one.repos[0].1.is_ok())).collect::<Vec<_>>(),
        [("api", false), ("web", true)]
    );
    // Whoever refreshes it has it back.
    let job = case.done(&ada, case.team.refresh_golden(&ada, "api").await.unwrap()).await;
    assert_eq!(job.status, JobStatus::Completed, "{job:?}");
    assert!(case.finds(&bob, "api", "heron_api").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_has_begun_is_not_taken_back() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    case.add(&ada, &case.folder("api"), "api").await;
    let clone = case.dir.path().join("data/clones/api.git");
    let (job, _) = case.team.remove_golden(&ada, "api", false).await.unwrap();
    // A server begins it and dies when the first half is done.
    assert!(case.store.claim_job(&TeamSettings::default().limits, case.clock.now()).await.unwrap().is_some());
    case.take_from_index("api").await;
    std::fs::create_dir_all(clone.join("objects")).unwrap();
    case.team.recover().await.unwrap();
    assert_eq!(case.team.cancel_job(&ada, job.id.as_str()).await.unwrap(), Cancelled::Asked);
    let job = case.done(&ada, job).await;
    assert_eq!((job.status, job.result.as_deref()), (JobStatus::Completed, Some("`api` is removed")), "{job:?}");
    assert_eq!(case.golden_state("api").await, None);
    assert!(!clone.exists(), "nor is its clone left");
    // One that had not got so far stays.
    case.add(&ada, &case.folder("web"), "web").await;
    let (job, _) = case.team.remove_golden(&ada, "web", false).await.unwrap();
    assert!(case.store.claim_job(&TeamSettings::default().limits, case.clock.now()).await.unwrap().is_some());
    case.team.recover().await.unwrap();
    assert_eq!(case.team.cancel_job(&ada, job.id.as_str()).await.unwrap(), Cancelled::Asked);
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Cancelled);
    assert_eq!(case.golden_state("web").await, Some(GoldenState::Ready));
    assert!(case.finds(&ada, "web", "heron_web").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_waits_for_the_index_can_be_cancelled() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    case.add(&ada, &case.folder("api"), "api").await;
    // Somebody else writes, and goes on.
    let writer = std::fs::File::open(case.dir.path().join("data/writer.lock")).unwrap();
    writer.lock().unwrap();
    let (job, _) = case.team.remove_golden(&ada, "api", false).await.unwrap();
    let ended = case
        .done_with(&ada, &job, |now, lines| {
            let (team, ada) = (Arc::clone(&case.team), ada.clone());
            async move {
                // It has said what it removes, and waits.
                if now.status == JobStatus::Running && lines > 0 {
                    assert_eq!(team.cancel_job(&ada, now.id.as_str()).await.unwrap(), Cancelled::Asked);
                }
            }
        })
        .await;
    assert_eq!(ended.status, JobStatus::Cancelled, "{ended:?}");
    assert_eq!(case.golden_state("api").await, Some(GoldenState::Ready));
    assert!(case.finds(&ada, "api", "heron_api").await, "it is as it was");
    drop(writer);
    let (job, _) = case.team.remove_golden(&ada, "api", false).await.unwrap();
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_let_go_of_while_somebody_activates_it_is_read_again() {
    let case = Case::with(TeamSettings { user_jobs: 1, ..TeamSettings::default() });
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    case.add(&ada, &folder, "api").await;
    case.done(&ada, case.activate(&ada, "api", "first", Some("dev")).await).await;
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
    let waits = case.team.sync_alias(&ada, "first").await.unwrap();
    // The first look is for the time of the activation, the second after the index was found to have the branch.
    *case.meanwhile.lock().unwrap() = Some((2, Box::new(refresh)));
    let job = case.activate(&ada, "api", "second", Some("dev")).await;
    assert_eq!((job.task.operation, job.status), (Operation::Sync, JobStatus::Pending), "{job:?}");
    for job in [waits, job] {
        assert_eq!(case.done(&ada, job).await.status, JobStatus::Completed);
    }
    assert!(case.finds(&ada, "second", "owl").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_gone_already_was_not_removed() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::Admin).await);
    case.add(&ada, &case.folder("api"), "api").await;
    let (first, _) = case.team.remove_golden(&ada, "api", false).await.unwrap();
    let (second, _) = case.team.remove_golden(&bob, "api", false).await.unwrap();
    let first = case.done(&ada, first).await;
    let second = case.done(&bob, second).await;
    // Whose turn it is first does not matter.
    let mut told = [first.result.unwrap(), second.result.unwrap()];
    told.sort();
    assert_eq!(told, ["`api` is removed", "`api` was gone already"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_repository_that_fails_does_not_keep_a_composite_from_its_others() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let (api, web) = (case.folder("api"), case.folder("web"));
    case.add(&ada, &api, "api").await;
    case.add(&ada, &web, "web").await;
    let both = ["api".to_owned(), "web".to_owned()];
    case.team.change_composite(&ada, CompositeChange::Create, "all", &both).await.unwrap();
    std::fs::remove_dir_all(api.path()).unwrap();
    web.write("src/owl.rs", "pub fn owl_web() {}\n");
    web.commit("Owl");
    let job = case.team.sync_alias(&ada, "all").await.unwrap();
    assert_eq!(case.team.active_jobs(&ada).await.unwrap(), 0, "one that waits is not active");
    let job = case.done(&ada, job).await;
    let error = job.error.unwrap();
    assert!(job.status == JobStatus::Failed && error.contains("1 of 2 repositories failed: `api`:"), "{error}");
    assert!(case.finds(&ada, "all", "owl_web").await);
    let golden = case.team.golden().await.unwrap();
    assert_eq!(golden.iter().map(|golden| golden.last_error.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_dies_of_a_fault_is_begun_again() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    case.add(&ada, &case.folder("api"), "api").await;
    let (job, _) = case.team.remove_golden(&ada, "api", false).await.unwrap();
    case.fault.store(true, Ordering::Relaxed);
    let job = case.done(&ada, job).await;
    assert_eq!((job.status, job.attempts), (JobStatus::Completed, 2), "{job:?}");
    assert_eq!(case.golden_state("api").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_down_is_told_to_whoever_waits() {
    let case = Case::new();
    let ada = case.user("ada", Role::Admin).await;
    let folder = case.folder("api");
    let job = case.team.add_golden(&ada, request(&folder.path().to_string_lossy())).await.unwrap();
    assert!(case.team.unwritten(None, Duration::ZERO).is_none());
    // Something else stands where the records were.
    let (file, aside) = (case.dir.path().join("data/team.db"), case.dir.path().join("aside.db"));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    case.until("it is told", async || case.team.unwritten(None, Duration::ZERO).is_some()).await;
    let told = case.team.unwritten(None, Duration::ZERO).unwrap();
    assert_eq!(told.code, Code::NoAccess, "{told}");
    assert!(told.message.starts_with("what becomes of jobs cannot be written down: the team's records at "), "{told}");
    assert!(case.team.unwritten(None, Duration::from_hours(1)).is_none(), "it may pass");
    let beside = case.team.check_writing().await.unwrap_err();
    assert_eq!(beside.code, Code::NoAccess, "whoever waits beside is told so too: {beside}");
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(case.done(&ada, job).await.status, JobStatus::Completed);
    assert!(case.team.unwritten(None, Duration::ZERO).is_none());
    case.team.check_writing().await.unwrap();
}

mod access {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn many_attempts_at_the_same_time_are_as_many_attempts() {
        let case = Case::new();
        case.user("ada", Role::Admin).await;
        let attempts = (0..40).map(|_| {
            let team = Arc::clone(&case.team);
            tokio::spawn(async move { team.login("ada", "wrong password 1", Some("192.0.2.9")).await.unwrap_err() })
        });
        let mut verified = 0;
        for attempt in attempts.collect::<Vec<_>>() {
            let refused = attempt.await.unwrap();
            match refused.failure.code {
                Code::Unauthenticated => verified += 1,
                code => assert_eq!(code, Code::TooManyRequests),
            }
        }
        assert_eq!(verified, 6, "no password is looked at after that");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_login_is_renewed_and_ends_where_a_refresh_token_comes_twice() {
        let case = Case::new();
        case.user("ada", Role::Admin).await;
        let first = case.team.login("Ada", "tall green river 7", None).await.unwrap();
        let known = case.team.authenticate(&first.access_token).await.unwrap();
        assert_eq!(known.caller.name.as_str(), "ada");
        let second = case.team.refresh(&first.refresh_token, None).await.unwrap();
        assert!(case.team.authenticate(&second.access_token).await.is_ok());
        let again = case.team.refresh(&first.refresh_token, None).await.unwrap_err();
        assert_eq!(again.failure.code, Code::Unauthenticated);
        for token in [&first.access_token, &second.access_token] {
            assert!(case.team.authenticate(token).await.is_err(), "the whole login is over");
        }
        assert!(case.team.refresh(&second.refresh_token, None).await.is_err());
        let third = case.team.login("ada", "tall green river 7", None).await.unwrap();
        case.clock.0.fetch_add(901, Ordering::Relaxed);
        assert!(case.team.authenticate(&third.access_token).await.is_err(), "its time is over");
        let fourth = case.team.refresh(&third.refresh_token, None).await.unwrap();
        let known = case.team.authenticate(&fourth.access_token).await.unwrap();
        case.team.logout(&known, Some(&fourth.refresh_token), None).await.unwrap();
        assert!(case.team.authenticate(&fourth.access_token).await.is_err());
        assert!(case.team.refresh(&fourth.refresh_token, None).await.is_err());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_login_that_is_renewed_without_end_is_held_back() {
        let case = Case::with(TeamSettings { renewals: 3, ..TeamSettings::default() });
        case.user("ada", Role::Admin).await;
        let first = case.team.login("ada", "tall green river 7", None).await.unwrap();
        let mut last = first.refresh_token.clone();
        for _ in 0..3 {
            last = case.team.refresh(&last, Some("192.0.2.9")).await.unwrap().refresh_token;
        }
        for _ in 0..2 {
            let held = case.team.refresh(&last, Some("192.0.2.9")).await.unwrap_err();
            assert_eq!((held.failure.code, held.retry_after), (Code::TooManyRequests, Some(4)));
        }
        let (acts, _) = case.team.acts(9).await.unwrap();
        let held: Vec<_> = acts.iter().filter(|act| act.act == "refresh_held_back").collect();
        assert_eq!(held.len(), 1, "once a minute");
        assert_eq!((held[0].username.as_str(), held[0].address.as_deref()), ("ada", Some("192.0.2.9")));
        case.clock.0.fetch_add(4, Ordering::Relaxed);
        let next = case.team.refresh(&last, None).await.expect("it was not used up").refresh_token;
        let stolen = case.team.refresh(&first.refresh_token, None).await.unwrap_err();
        assert_eq!(stolen.failure.code, Code::Unauthenticated);
        assert_eq!(case.team.refresh(&next, None).await.unwrap_err().failure.code, Code::Unauthenticated, "it is over");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn those_who_try_passwords_are_held_back() {
        let case = Case::new();
        case.user("ada", Role::Admin).await;
        for name in ["ada", "nobody"] {
            let mut last = None;
            for _ in 0..7 {
                last = Some(case.team.login(name, "wrong password 1", Some("192.0.2.9")).await.unwrap_err());
            }
            let last = last.unwrap();
            assert_eq!(last.failure.code, Code::TooManyRequests, "{name}");
            assert!(last.retry_after.is_some_and(|seconds| seconds > 0));
        }
        let held = case.team.login("ada", "tall green river 7", Some("192.0.2.9")).await.unwrap_err();
        assert_eq!(held.failure.code, Code::TooManyRequests, "not even the right one, for a moment");
        assert!(case.team.login("ada", "tall green river 7", Some("192.0.2.10")).await.is_ok(), "ada is elsewhere");
        case.clock.0.fetch_add(60, Ordering::Relaxed);
        assert!(case.team.login("ada", "tall green river 7", Some("192.0.2.9")).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_password_that_could_not_be_looked_at_is_no_wrong_one() {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin).await;
        let (old, new) = ("tall green river 7", "short brown canal 8");
        let login = || case.team.login("ada", old, Some("192.0.2.9"));
        let change = || case.team.change_password(&ada, Some("192.0.2.8"), old, new);
        // Something else stands where the records were.
        let (file, aside) = (case.dir.path().join("data/team.db"), case.dir.path().join("aside.db"));
        std::fs::rename(&file, &aside).unwrap();
        std::fs::create_dir(&file).unwrap();
        for _ in 0..10 {
            assert_eq!(login().await.unwrap_err().failure.code, Code::NoAccess);
            assert_eq!(change().await.unwrap_err().failure.code, Code::NoAccess);
        }
        std::fs::remove_dir(&file).unwrap();
        std::fs::rename(&aside, &file).unwrap();
        login().await.expect("nothing was wrong");
        change().await.expect("nothing was wrong");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn personal_tokens_end_when_they_expire_or_are_revoked() {
        let case = Case::new();
        let (ada, bob) = (case.user("ada", Role::Admin).await, case.user("bob", Role::NormalUser).await);
        let owner = bob.caller.as_ref().unwrap().id;
        let made = case.team.create_token(&bob, owner, "laptop", Some(1)).await.unwrap();
        assert!(made.secret.starts_with("lore_pat_") && made.secret.len() > 60);
        assert!(!format!("{made:?}").contains(&made.secret));
        for (days, fits) in [(0, false), (3650, true), (3651, false)] {
            let longest = case.team.create_token(&bob, owner, "other", Some(days)).await;
            assert_eq!(longest.is_ok(), fits, "{days} days");
        }
        assert_eq!(case.team.authenticate(&made.secret).await.unwrap().caller.name.as_str(), "bob");
        case.team.set_role(&ada, "bob", Role::PowerUser).await.unwrap();
        assert_eq!(case.team.authenticate(&made.secret).await.unwrap().caller.role, Role::PowerUser, "at once");
        case.clock.0.fetch_add(86_400, Ordering::Relaxed);
        assert!(case.team.authenticate(&made.secret).await.is_err(), "it has expired");
        let made = case.team.create_token(&bob, owner, "desk", None).await.unwrap();
        let eve = case.user("eve", Role::PowerUser).await;
        assert_eq!(case.team.revoke_token(&eve, made.token.id).await.unwrap_err().code, Code::TokenNotFound);
        case.team.revoke_token(&bob, made.token.id).await.unwrap();
        assert!(case.team.authenticate(&made.secret).await.is_err());
        let stored = std::fs::read(case.dir.path().join("data/team.db")).unwrap();
        let log = std::fs::read(case.dir.path().join("data/team.db-wal")).unwrap_or_default();
        let holds = |bytes: &[u8]| bytes.windows(20).any(|window| window == &made.secret.as_bytes()[..20]);
        assert!(!holds(&stored) && !holds(&log), "only hashes are kept");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_first_start_makes_one_admin() {
        let case = Case::new();
        let (name, password) = case.team.bootstrap().await.unwrap().unwrap();
        assert!(case.team.login(name.as_str(), &password, None).await.is_ok());
        assert!(case.team.bootstrap().await.unwrap().is_none());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_old_password_leaves_no_login_behind() {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin).await;
        let login = |number: usize| {
            let team = Arc::clone(&case.team);
            async move { team.login("ada", "tall green river 7", Some(&format!("192.0.2.{number}"))).await }
        };
        // Those who come later stand in line while the password is changed, and have read the old one.
        let before = futures::future::join_all((0..6).map(login));
        let changed = case.team.set_password(&ada, "ada", "short brown canal 8");
        let after = futures::future::join_all((6..16).map(login));
        let (before, changed, after) = tokio::join!(before, changed, after);
        changed.unwrap();
        for session in before.into_iter().chain(after).flatten() {
            assert!(case.team.authenticate(&session.access_token).await.is_err(), "another password ends all logins");
            assert!(case.team.refresh(&session.refresh_token, None).await.is_err());
        }
        assert!(case.team.login("ada", "short brown canal 8", Some("192.0.2.99")).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_not_let_in_is_written_down() {
        let case = Case::new();
        let ada = case.user("ada", Role::Admin).await;
        case.add(&ada, &case.folder("api"), "api").await;
        for name in ["ada", "tall green river 7"] {
            case.team.login(name, "wrong password 1", Some("192.0.2.9")).await.unwrap_err();
        }
        case.team.refresh_golden(&ada, "api").await.unwrap();
        let (acts, _) = case.team.acts(3).await.unwrap();
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
