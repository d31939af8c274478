//! Administration of a server's data on this machine, beside the server or while there is none.
//!
//! Jobs are the server's: where one runs on the data, it does them; where none does, they are done here as long as the
//! command waits, and the rest is left to the next start. They are those of everybody, so only that is cloned which the
//! server may clone, and what whoever uses the command has named.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lore_core::{Cancel, rfc3339};
use lore_model::{Code, Failure, JobStatus, Role, Signal, TokenId, User as CoreUser, UserName, brief};
use lore_remote::{
    AuditEntry, Golden, GoldenChange, Job, JobDetails, Listed, NewGolden, NewToken, RefreshEvery, Secret, Started,
    Token, User,
};
use lore_team::{AddGolden, Asker, Cancelled, GoldenChange as CoreChange, Team};
use lore_tools::shown::{AuditShown, GoldenShown, JobLog, JobShown, TokenShown, UserShown};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Context,
    administration::{Absent, Administration, Named, Removal, Whose},
};
use crate::{policy::Allowed, wire};

/// How long jobs that are under way may take to stop.
const STOPPING: Duration = Duration::from_secs(10);

/// How long it is tried to write down what becomes of jobs: a disk that is full stays so.
const UNWRITTEN: Duration = Duration::from_secs(5);

/// A team on this machine.
pub(super) struct Local {
    team: Arc<Team>,
    data: PathBuf,
    runner: Mutex<Option<Runner>>,
    looked: Mutex<Looked>,
}

/// What was found of late where a server does the jobs.
#[derive(Default)]
struct Looked {
    at: Option<Instant>,
    /// Nothing could be written.
    failed: bool,
}

/// What does the jobs here, while no server does.
struct Runner {
    stop: Cancel,
    task: JoinHandle<()>,
    /// Notifies when it has ended.
    over: Signal,
    _lock: File,
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Whether a folder has the data of a server.
pub(super) fn is_there(data: &Path) -> bool {
    data.join("team.db").exists()
}

/// Opens the data of a server. It must be there, so that a slip of the pen makes no second one.
pub(super) fn open(context: &Context<'_>, data: &Path, absent: Absent) -> Result<Local, Failure> {
    open_with(context, data, absent, &Allowed::of(data)?)
}

/// The same, where a repository is named. If it is a folder, whoever can open the data may have it cloned.
pub(super) fn open_for(context: &Context<'_>, data: &Path, named: Named<'_>) -> Result<Local, Failure> {
    let mut allowed = Allowed::of(data)?;
    let opened = open_with(context, data, Absent::Fails, &allowed)?;
    let aliases = match named {
        Named::From(_) => Vec::new(),
        Named::Alias(alias) => vec![alias.to_owned()],
        Named::Job(id) => {
            let job = opened.team.job(&Asker::local(), id)?.job;
            job.task.golden.iter().map(ToString::to_string).collect()
        }
    };
    let golden = opened.team.golden()?;
    let known = golden.iter().filter(|golden| aliases.iter().any(|alias| alias == golden.alias.as_str()));
    let mut from: Vec<&str> = known.map(|golden| golden.url.as_str()).collect();
    if let Named::From(url) = named {
        from.push(url);
    }
    let folders: Vec<PathBuf> = from.into_iter().filter_map(folder).collect();
    if folders.is_empty() {
        return Ok(opened);
    }
    allowed.local.extend(folders);
    open_with(context, data, Absent::Fails, &allowed)
}

/// The folder that a repository comes from, where it is one.
fn folder(from: &str) -> Option<PathBuf> {
    let path = Path::new(from.strip_prefix("file://").unwrap_or(from));
    path.is_absolute().then(|| path.to_owned())
}

fn open_with(context: &Context<'_>, data: &Path, absent: Absent, allowed: &Allowed) -> Result<Local, Failure> {
    if absent == Absent::Fails && !is_there(data) {
        return Err(Failure::new(Code::InvalidArgument, format!("there is no data of a server in {}", data.display()))
            .hint("`lore users add NAME --role admin --data DIR` makes it, and so does `lore server --data DIR`"));
    }
    let options = wire::TeamOptions { policy: allowed.policy()?, ..wire::TeamOptions::default() };
    let team = wire::team(&context.loaded, data, options);
    Ok(Local { team, data: data.to_owned(), runner: Mutex::default(), looked: Mutex::default() })
}

impl Local {
    fn owner(&self, whose: &Whose) -> Result<Option<CoreUser>, Failure> {
        match whose {
            Whose::Of(name) => self.team.user(name.as_str()).map(Some),
            Whose::Everybodys => Ok(None),
            Whose::Own => {
                Err(Failure::new(Code::InvalidArgument, "nobody is logged in where the data is opened directly")
                    .hint("say whose with `--user NAME`, or `--all`"))
            }
        }
    }

    /// Fails where nothing could be written twice in a row: the server that does the jobs tries it again for as long as it takes.
    fn check_beside(&self) -> Result<(), Failure> {
        let mut looked = lock(&self.looked);
        if looked.at.is_some_and(|at| at.elapsed() < UNWRITTEN) {
            return Ok(());
        }
        looked.at = Some(Instant::now());
        let checked = self.team.check_writing();
        let had_failed = std::mem::replace(&mut looked.failed, checked.is_err());
        if had_failed { checked } else { Ok(()) }
    }
}

impl Administration for Local {
    fn attend(&self) -> Result<(), Failure> {
        let mut runner = lock(&self.runner);
        if runner.is_some() {
            return Ok(());
        }
        let Some(held) = wire::lock_data(&self.data)? else { return Ok(()) };
        self.team.recover()?;
        let stop = Cancel::default();
        let (team, told) = (Arc::clone(&self.team), stop.clone());
        let over = Signal::default();
        let ended = over.clone();
        let task = thread::spawn(move || {
            team.run(&told);
            ended.notify();
        });
        *runner = Some(Runner { stop, task, over, _lock: held });
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        let runner = lock(&self.runner);
        let Some(runner) = runner.as_ref() else { return self.check_beside() };
        if runner.task.is_finished() {
            return Err(Failure::new(Code::Internal, "a fault of Lore's own ended the work on jobs"));
        }
        self.team.unwritten(None, UNWRITTEN).map_or(Ok(()), Err)
    }

    fn leave(&self) {
        let Some(runner) = lock(&self.runner).take() else { return };
        runner.stop.cancel();
        // What is not over by then is found by the next start, as after a crash.
        runner.over.wait(0, Some(STOPPING), &Cancel::default());
    }

    fn users(&self) -> Result<Listed<User>, Failure> {
        self.team.users()?.iter().map(user).collect()
    }

    fn add_user(&self, name: &UserName, role: Role, password: &Secret) -> Result<User, Failure> {
        let added = self.team.create_user(&Asker::local(), name.as_str(), password.expose(), role)?;
        user(&added)
    }

    fn set_role(&self, name: &UserName, role: Role) -> Result<User, Failure> {
        user(&self.team.set_role(&Asker::local(), name.as_str(), role)?)
    }

    fn set_password(&self, name: &UserName, password: &Secret) -> Result<User, Failure> {
        user(&self.team.set_password(&Asker::local(), name.as_str(), password.expose())?)
    }

    fn remove_user(&self, name: &UserName) -> Result<(), Failure> {
        self.team.remove_user(&Asker::local(), name.as_str()).map(|_| ())
    }

    fn audit(&self, limit: usize) -> Result<Listed<AuditEntry>, Failure> {
        let (acts, total) = self.team.acts(limit)?;
        let entries = acts.into_iter().map(|act| as_told(&AuditShown::from(act))).collect::<Result<_, _>>()?;
        Ok(Listed { entries, total })
    }

    fn tokens(&self, whose: &Whose) -> Result<Listed<Token>, Failure> {
        // Whoever can open the data sees all of it.
        let owner = if *whose == Whose::Own { None } else { self.owner(whose)? };
        let tokens = self.team.tokens(owner.map(|owner| owner.id))?;
        tokens.into_iter().map(|token| as_told(&TokenShown::from(token))).collect()
    }

    fn create_token(&self, whose: &Whose, name: &str, days: Option<u32>) -> Result<NewToken, Failure> {
        let owner = self.owner(whose)?.ok_or_else(|| {
            Failure::new(Code::InvalidArgument, "a token belongs to one user").hint("say whose with `--user NAME`")
        })?;
        let made = self.team.create_token(&Asker::local(), owner.id, name, days)?;
        Ok(NewToken {
            token: Secret::new(made.secret),
            id: made.token.id.0.to_string(),
            name: made.token.name,
            expires_at: made.token.expires_at.map(rfc3339),
        })
    }

    fn revoke_token(&self, id: &str) -> Result<(), Failure> {
        let number = id.trim().parse().map_err(|_| {
            Failure::new(Code::TokenNotFound, format!("there is no token {}", brief(id)))
                .hint("`lore tokens list` shows them")
        })?;
        self.team.revoke_token(&Asker::local(), TokenId(number))
    }

    fn golden(&self) -> Result<Listed<Golden>, Failure> {
        let repos = self.team.lore().history.repos()?;
        let told = |error: &str| Some(error.to_owned());
        let row = |golden: lore_model::Golden| as_told(&GoldenShown::new(&golden, &repos, told));
        self.team.golden()?.into_iter().map(row).collect()
    }

    fn add_golden(&self, new: &NewGolden) -> Result<Started, Failure> {
        let request = AddGolden {
            url: new.url.clone(),
            alias: new.alias.clone(),
            branch: new.branch.clone(),
            temporal: new.temporal,
            refresh_every: new.refresh_every.and_then(seconds),
        };
        let job = self.team.add_golden(&Asker::local(), &request)?;
        Ok(started(Some(&job), format!("golden repository `{}` is being added", new.alias)))
    }

    fn set_golden(&self, alias: &str, change: GoldenChange) -> Result<Started, Failure> {
        let branch = change.branch.map(|branch| Some(branch).filter(|branch| !branch.trim().is_empty()));
        let refresh_every = change.refresh_every.map(seconds);
        let change = CoreChange { refresh_every, temporal: change.temporal, branch };
        let job = self.team.change_golden(&Asker::local(), alias, &change)?;
        Ok(started(job.as_ref(), format!("golden repository `{alias}` is changed")))
    }

    fn refresh_golden(&self, alias: &str) -> Result<Started, Failure> {
        let job = self.team.refresh_golden(&Asker::local(), alias)?;
        Ok(started(Some(&job), format!("golden repository `{alias}` is being refreshed")))
    }

    fn remove_golden(&self, alias: &str, removal: Removal) -> Result<Started, Failure> {
        let (job, concerned) = self.team.remove_golden(&Asker::local(), alias, removal == Removal::Forced)?;
        Ok(started(Some(&job), format!("golden repository `{alias}` is being removed{concerned}")))
    }

    fn jobs(&self, status: Option<JobStatus>, limit: usize) -> Result<Listed<Job>, Failure> {
        let (jobs, total) = self.team.jobs(&Asker::local(), status, limit)?;
        let entries = jobs.into_iter().map(job).collect::<Result<_, _>>()?;
        Ok(Listed { entries, total })
    }

    fn job(&self, id: &str) -> Result<JobDetails, Failure> {
        let report = self.team.job(&Asker::local(), id)?;
        let logs = report.lines.iter().map(|line| as_told(&JobLog::new(line, str::to_owned)));
        Ok(JobDetails { logs: logs.collect::<Result<_, _>>()?, job: job(report.job)?, unwritten: None })
    }

    fn cancel_job(&self, id: &str) -> Result<String, Failure> {
        Ok(match self.team.cancel_job(&Asker::local(), id)? {
            Cancelled::Now => "it had not begun, and never will".to_owned(),
            Cancelled::Asked => "it is being stopped".to_owned(),
            Cancelled::Over(status) => format!("it was over already: {}", status.as_str()),
        })
    }
}

fn started(job: Option<&lore_model::Job>, message: String) -> Started {
    Started { job_id: job.map(|job| job.id.to_string()), message }
}

fn seconds(every: RefreshEvery) -> Option<i64> {
    match every {
        RefreshEvery::Seconds(seconds) => i64::try_from(seconds).ok(),
        RefreshEvery::Never => None,
    }
}

fn user(user: &CoreUser) -> Result<User, Failure> {
    as_told(&UserShown::from(user))
}

fn job(job: lore_model::Job) -> Result<Job, Failure> {
    as_told(&JobShown::new(job, str::to_owned))
}

/// What a server would tell of it, as it is read when one does: both ways show the same.
fn as_told<T: DeserializeOwned>(shown: &impl Serialize) -> Result<T, Failure> {
    let read = serde_json::to_value(shown).and_then(serde_json::from_value);
    read.map_err(|error| Failure::new(Code::Internal, "what is told of the team cannot be read").caused_by(error))
}
