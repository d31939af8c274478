//! What users and admins ask for. What is soon done is done at once; the rest becomes a job.

use lore_model::{
    Activation, Code, Failure, Golden, GoldenState, Job, JobId, JobStatus, JobTask, Operation, RepoName, brief,
};
use lore_store::{JobQuery, NewJob, TeamChange};

use super::{Asker, Concerned, Team, access::random_id};
use crate::failure::team_failure;

/// The most golden repositories that a composite has.
const COMPOSITE_MAX: usize = 50;

/// Golden repositories are not fetched more often than this by themselves, in seconds.
const REFRESH_MIN: i64 = 60;

/// A golden repository that is to be added.
#[derive(Debug, Clone)]
pub struct AddGolden {
    /// Where it is cloned from: a URL, or a folder of the server's.
    pub url: String,
    /// Its alias.
    pub alias: String,
    /// The branch that counts as its main one; `None` for the remote's own choice.
    pub branch: Option<String>,
    /// Whether its past is kept.
    pub temporal: bool,
    /// How often it is fetched by itself, in seconds.
    pub refresh_every: Option<i64>,
}

/// What is to be different about a golden repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoldenChange {
    /// How often it is fetched by itself, in seconds; `Some(None)` for never.
    pub refresh_every: Option<Option<i64>>,
    /// Whether its past is kept.
    pub temporal: Option<bool>,
    /// The branch that counts as its main one; `Some(None)` for the remote's own choice.
    pub branch: Option<Option<String>>,
}

/// What a user wants to have.
#[derive(Debug, Clone, Default)]
pub struct Activate {
    /// Golden repositories: one, or those of a composite.
    pub golden: Vec<String>,
    /// Whether it is to be a composite.
    pub composite: bool,
    /// The branch; `None` for the main one.
    pub branch: Option<String>,
    /// What to call it; `None` for the golden alias.
    pub alias: Option<String>,
}

/// What is to happen to a composite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompositeChange {
    /// It is new.
    Create,
    /// It has other repositories from now on.
    Update,
    /// It goes.
    Delete,
}

impl Team {
    /// Asks for a golden repository.
    pub fn add_golden(&self, by: &Asker, request: &AddGolden) -> Result<Job, Failure> {
        let alias = parse_alias(&request.alias)?;
        let url = url(&request.url);
        self.lore.history.check_url(&url)?;
        let branch = branch(request.branch.as_deref())?;
        // An alias that is taken is told of below, whatever the remote has.
        if self.store.find_golden(&alias).map_err(team_failure)?.is_none() {
            self.check_remote(&url, &alias, branch.as_deref())?;
        }
        let golden = Golden {
            alias: alias.clone(),
            url,
            branch: branch.clone(),
            temporal: request.temporal,
            refresh_every: request.refresh_every.map(check_interval).transpose()?,
            state: GoldenState::Adding,
            created_at: self.clock.now(),
            refreshed_at: None,
            tried_at: None,
            last_error: None,
        };
        let task = JobTask { operation: Operation::AddGolden, alias: None, golden: vec![alias], branch };
        self.ask(by, task, &[TeamChange::AddGolden(golden)], None)
    }

    /// Asks for a golden repository to be fetched and read.
    pub fn refresh_golden(&self, by: &Asker, alias: &str) -> Result<Job, Failure> {
        let golden = self.find_ready(alias)?;
        self.ask(by, task(Operation::RefreshGolden, &[golden.alias]), &[], None)
    }

    /// The golden repository of that alias, where it was read and is to stay. What is being added is the business of the job
    /// that adds it.
    fn find_ready(&self, alias: &str) -> Result<Golden, Failure> {
        let golden = self.find_golden(alias)?;
        if golden.state != GoldenState::Ready {
            return Err(not_ready(&golden));
        }
        Ok(golden)
    }

    /// Asks for a golden repository to be removed; where users have activated it, only with `force`. Tells what they lose.
    pub fn remove_golden(&self, by: &Asker, alias: &str, force: bool) -> Result<(Job, Concerned), Failure> {
        let golden = self.find_golden(alias)?;
        let concerned = self.concerned(&golden.alias)?;
        let removing = TeamChange::RemovingGolden { alias: golden.alias.clone(), force };
        let asked = self.ask(by, task(Operation::RemoveGolden, &[golden.alias]), &[removing], None);
        let job = asked.map_err(|failure| match failure.code {
            Code::Conflict if !force => {
                failure.hint("pass `force` to take it away from everybody, or ask them to deactivate it")
            }
            _ => failure,
        })?;
        Ok((job, concerned))
    }

    /// Changes what is kept of a golden repository, and how often it is fetched.
    pub fn change_golden(&self, by: &Asker, alias: &str, change: &GoldenChange) -> Result<Option<Job>, Failure> {
        let golden = self.find_golden(alias)?;
        let mut changes = Vec::new();
        if let Some(every) = change.refresh_every {
            let every = every.map(check_interval).transpose()?;
            changes.push(TeamChange::RefreshEvery(golden.alias.clone(), every));
        }
        let temporal = change.temporal.filter(|temporal| *temporal != golden.temporal);
        changes.extend(temporal.map(|temporal| TeamChange::Temporal(golden.alias.clone(), temporal)));
        let main = match &change.branch {
            Some(wanted) => {
                let wanted = branch(wanted.as_deref())?;
                let is_so = wanted == golden.branch && !self.changes_main_branch(&golden.alias)?;
                Some(wanted).filter(|_| !is_so)
            }
            None => None,
        };
        let mut refresh = task(Operation::RefreshGolden, std::slice::from_ref(&golden.alias));
        match &main {
            // It becomes the main one when the job has read it.
            Some(Some(branch)) => {
                self.check_remote_branch(&golden, branch)?;
                refresh.branch = Some(branch.clone());
            }
            Some(None) => changes.push(TeamChange::MainBranch(golden.alias, None)),
            None => {}
        }
        if temporal.is_some() || main.is_some() {
            // What the job that adds it has read already it would not read again.
            self.find_ready(alias)?;
            return self.ask(by, refresh, &changes, None).map(Some);
        }
        if changes.is_empty() {
            return Ok(None);
        }
        self.store.change(&changes, &self.actor(by)).map_err(team_failure)?;
        self.wake.notify();
        Ok(None)
    }

    /// Whether a job is still to give a golden repository another main branch.
    fn changes_main_branch(&self, alias: &RepoName) -> Result<bool, Failure> {
        for status in [JobStatus::Pending, JobStatus::Running] {
            let query = JobQuery { user: None, status: Some(status), limit: usize::MAX };
            let (jobs, _) = self.store.list_jobs(&query).map_err(team_failure)?;
            if jobs.iter().any(|job| job.task.main_branch().is_some() && job.task.golden.contains(alias)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks for golden repositories under a name of the user's own. Where the branch is read already, that is done at once.
    pub fn activate(&self, by: &Asker, request: &Activate) -> Result<Job, Failure> {
        let caller = by.caller()?;
        let golden = self.members_named(&request.golden, request.composite)?;
        let wanted = branch(request.branch.as_deref())?;
        if request.composite && wanted.is_some() {
            return Err(Failure::new(Code::InvalidArgument, "a composite has no branch of its own")
                .hint("leave `branch_name` out, or activate one repository with `golden_repo_alias`"));
        }
        let alias = match (&request.alias, golden.as_slice()) {
            (Some(alias), _) => parse_alias(alias)?,
            (None, [one]) if !request.composite => one.alias.clone(),
            (None, _) => {
                return Err(Failure::new(Code::InvalidArgument, "a composite needs a name")
                    .hint("give it one with `user_alias`"));
            }
        };
        let names: Vec<RepoName> = golden.iter().map(|golden| golden.alias.clone()).collect();
        let activation = Activation {
            user: caller.id,
            alias: alias.clone(),
            golden: names.clone(),
            composite: request.composite,
            branch: wanted.clone(),
            activated_at: self.clock.now(),
            accessed_at: None,
        };
        let task = JobTask { operation: Operation::Activate, alias: Some(alias), golden: names, branch: wanted };
        self.give(by, task, activation)
    }

    /// Gives a user an activation: at once where nothing has to be read for it.
    fn give(&self, by: &Asker, task: JobTask, activation: Activation) -> Result<Job, Failure> {
        if self.is_read(&activation.golden, activation.branch.as_deref())? {
            let done = match &activation.branch {
                Some(branch) => format!("`{}` is ready on branch `{branch}`", activation.alias),
                None => format!("`{}` is ready", activation.alias),
            };
            let again = sync_of(&activation);
            let job = self.ask(by, task, &[TeamChange::Activate(activation)], Some(done))?;
            return self.if_still_read(by, job, again);
        }
        self.refuse_taken(&activation)?;
        self.check_remote_branches(&activation.golden, activation.branch.as_deref())?;
        self.ask(by, task, &[], None)
    }

    /// Fails where the remote of one of these says that it has no such branch.
    fn check_remote_branches(&self, golden: &[RepoName], branch: Option<&str>) -> Result<(), Failure> {
        let Some(branch) = branch else { return Ok(()) };
        for alias in golden {
            self.check_remote_branch(&self.find_golden(alias.as_str())?, branch)?;
        }
        Ok(())
    }

    /// The job that was done at once; or one more that reads the branch, where a refresh has let go of it just before somebody
    /// got it.
    fn if_still_read(&self, by: &Asker, job: Job, again: JobTask) -> Result<Job, Failure> {
        if again.branch.is_none() || self.is_read(&again.golden, again.branch.as_deref()).unwrap_or(true) {
            return Ok(job);
        }
        // However many jobs they have: what they asked for is theirs by now, and only lacks this.
        self.add_job(by, again, &[], None, usize::MAX)
    }

    /// Fails now where an activation would fail at the end of its job.
    fn refuse_taken(&self, new: &Activation) -> Result<(), Failure> {
        let taken = |what: String| Err(Failure::new(Code::Conflict, what));
        let known = self.store.find_activation(new.user, &new.alias).map_err(team_failure)?;
        if known.is_some_and(|known| known.composite || known.golden != new.golden) {
            return taken(format!("you have a repository called `{}` already: choose another alias", new.alias));
        }
        let is_golden = |golden: &Golden| golden.alias.folded() == new.alias.folded();
        if new.golden != [new.alias.clone()] && self.golden()?.iter().any(is_golden) {
            return taken(format!("`{}` is the alias of a golden repository: choose another one", new.alias));
        }
        Ok(())
    }

    /// Whether the branch of each of these is read already.
    fn is_read(&self, golden: &[RepoName], branch: Option<&str>) -> Result<bool, Failure> {
        let indexed = self.lore.history.repos()?;
        for alias in golden {
            let golden = self.find_ready(alias.as_str())?;
            let repo = self.repo_of(&golden, None, &indexed)?;
            if let Some(branch) = branch
                && !self.lore.branch_indexed(&repo, branch)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes a repository or composite away from a user.
    pub fn deactivate(&self, by: &Asker, alias: &str) -> Result<Job, Failure> {
        let caller = by.caller()?;
        let own = self.activation(caller, alias)?;
        let done = format!("`{}` is deactivated", own.alias);
        let change = TeamChange::Deactivate(caller.id, own.alias.clone());
        let task =
            JobTask { operation: Operation::Deactivate, alias: Some(own.alias), golden: own.golden, branch: None };
        self.ask(by, task, &[change], Some(done))
    }

    /// Asks for what is behind a user's name to be fetched and read.
    pub fn sync_alias(&self, by: &Asker, alias: &str) -> Result<Job, Failure> {
        let own = self.activation(by.caller()?, alias)?;
        self.ask(by, sync_of(&own), &[], None)
    }

    /// Points a user's name to another branch: at once where that is read already.
    pub fn switch_branch(&self, by: &Asker, alias: &str, wanted: &str) -> Result<Job, Failure> {
        let caller = by.caller()?;
        let own = self.activation(caller, alias)?;
        if own.composite {
            return Err(Failure::new(
                Code::InvalidArgument,
                format!("`{}` is a composite, which has no branch", own.alias),
            )
            .hint("switch one of its repositories, activated by itself"));
        }
        let wanted = branch(Some(wanted))?.ok_or_else(|| Failure::new(Code::InvalidArgument, "no branch is named"))?;
        let is_read = self.is_read(&own.golden, Some(&wanted))?;
        if !is_read {
            self.check_remote_branches(&own.golden, Some(&wanted))?;
        }
        let (alias, golden) = (Some(own.alias.clone()), own.golden);
        let task = JobTask { operation: Operation::SwitchBranch, alias, golden, branch: Some(wanted.clone()) };
        if is_read {
            let done = format!("`{}` is on branch `{wanted}`", own.alias);
            let again = JobTask { operation: Operation::Sync, ..task.clone() };
            let change = TeamChange::SetBranch(caller.id, own.alias, Some(wanted));
            let job = self.ask(by, task, &[change], Some(done))?;
            return self.if_still_read(by, job, again);
        }
        self.ask(by, task, &[], None)
    }

    /// Makes, changes or removes a composite.
    pub fn change_composite(
        &self,
        by: &Asker,
        change: CompositeChange,
        alias: &str,
        golden: &[String],
    ) -> Result<Job, Failure> {
        let caller = by.caller()?;
        let name = parse_alias(alias)?;
        let known = self.store.find_activation(caller.id, &name).map_err(team_failure)?;
        if let Some(known) = known.as_ref().filter(|known| !known.composite) {
            let what = format!("`{}` is no composite", known.alias);
            return Err(Failure::new(Code::Conflict, what)
                .hint("`deactivate_repository` and `switch_branch` are for single repositories"));
        }
        match (change, &known) {
            (CompositeChange::Create, Some(_)) => {
                return Err(Failure::new(Code::Conflict, format!("you have a composite called `{name}` already"))
                    .hint("use the operation `update`, or another alias"));
            }
            (CompositeChange::Update | CompositeChange::Delete, None) => {
                self.activation(caller, alias)?;
            }
            _ => {}
        }
        if change == CompositeChange::Delete {
            let own = self.activation(caller, alias)?;
            let task = JobTask {
                operation: Operation::ManageComposite,
                alias: Some(name.clone()),
                golden: own.golden,
                branch: None,
            };
            let done = format!("composite `{name}` is removed");
            return self.ask(by, task, &[TeamChange::Deactivate(caller.id, name)], Some(done));
        }
        let members = self.members_named(golden, true)?;
        let names: Vec<RepoName> = members.into_iter().map(|golden| golden.alias).collect();
        let activation = Activation {
            user: caller.id,
            alias: name.clone(),
            golden: names.clone(),
            composite: true,
            branch: None,
            activated_at: known.map_or_else(|| self.clock.now(), |known| known.activated_at),
            accessed_at: None,
        };
        let task = JobTask { operation: Operation::ManageComposite, alias: Some(name), golden: names, branch: None };
        self.give(by, task, activation)
    }

    /// The golden repositories of these names, each once.
    fn members_named(&self, names: &[String], composite: bool) -> Result<Vec<Golden>, Failure> {
        let invalid = |what: String| Failure::new(Code::InvalidArgument, what);
        if names.is_empty() {
            return Err(invalid("no golden repository is named".to_owned()).hint("`discover_repositories` lists them"));
        }
        if names.len() > COMPOSITE_MAX {
            return Err(invalid(format!("a composite has at most {COMPOSITE_MAX} repositories, not {}", names.len())));
        }
        if !composite && names.len() > 1 {
            return Err(invalid("one golden repository is activated at a time; several are a composite".to_owned()));
        }
        let mut found: Vec<Golden> = Vec::new();
        for name in names {
            let golden = self.find_golden(name.trim())?;
            if found.iter().any(|known| known.alias == golden.alias) {
                return Err(invalid(format!("`{}` is named twice", golden.alias)));
            }
            found.push(golden);
        }
        Ok(found)
    }

    /// Adds a job that somebody asked for, done or to be done.
    fn ask(&self, by: &Asker, task: JobTask, changes: &[TeamChange], done: Option<String>) -> Result<Job, Failure> {
        // Who is on the machine itself may ask for anything.
        let user_max = if by.caller.is_some() { self.settings.user_jobs } else { usize::MAX };
        self.add_job(by, task, changes, done, user_max)
    }

    fn add_job(
        &self,
        by: &Asker,
        task: JobTask,
        changes: &[TeamChange],
        done: Option<String>,
        user_max: usize,
    ) -> Result<Job, Failure> {
        let new = NewJob {
            id: JobId::new(random_id()?),
            // What is changed of a golden repository is written down by itself.
            audited: task.operation == Operation::RefreshGolden && changes.is_empty(),
            task,
            user: by.caller.as_ref().map(|caller| caller.id),
            username: self.actor(by).name,
            user_max,
            done,
        };
        let job = self.store.add_job(&new, changes, &self.actor(by)).map_err(team_failure)?;
        self.wake.notify();
        Ok(job)
    }
}

/// A task that is about golden repositories alone.
pub(super) fn task(operation: Operation, golden: &[RepoName]) -> JobTask {
    JobTask { operation, alias: None, golden: golden.to_vec(), branch: None }
}

/// The task of fetching what is behind a user's name.
fn sync_of(own: &Activation) -> JobTask {
    let Activation { alias, golden, branch, .. } = own.clone();
    JobTask { operation: Operation::Sync, alias: Some(alias), golden, branch }
}

/// Why nothing can be done with a golden repository at the moment.
pub(super) fn not_ready(golden: &Golden) -> Failure {
    let what = format!("golden repository `{}` is not ready: it is {}", golden.alias, golden.state.as_str());
    Failure::new(Code::Conflict, what).hint("`get_job_details` tells how far the job is")
}

fn parse_alias(text: &str) -> Result<RepoName, Failure> {
    RepoName::parse(text.trim()).map_err(|why| Failure::new(Code::InvalidArgument, why))
}

/// A folder is cloned from like a URL.
fn url(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('/') { format!("file://{text}") } else { text.to_owned() }
}

/// A branch as git would take it; none where it is left out.
fn branch(text: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let bad = text.len() > 255 || !lore_git::is_branch_name(text);
    if bad {
        return Err(Failure::new(Code::InvalidArgument, format!("`{}` cannot name a branch", brief(text)))
            .hint("`get_branches` lists the branches of a repository"));
    }
    Ok(Some(text.to_owned()))
}

fn check_interval(seconds: i64) -> Result<i64, Failure> {
    if (REFRESH_MIN..=31 * 86_400).contains(&seconds) {
        return Ok(seconds);
    }
    Err(Failure::new(Code::InvalidArgument, format!("{seconds} seconds are no interval for a refresh"))
        .hint("use a minute to 31 days, such as `15m`, `6h` or `1d`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_named_as_git_names_them() {
        for good in ["main", "feature/x-1", "release/1.0", "日本"] {
            assert_eq!(branch(Some(good)).unwrap().as_deref(), Some(good));
        }
        assert_eq!(branch(Some("  ")).unwrap(), None);
        for bad in
            ["-x", "--upload-pack=x", "a b", "a..b", "/a", "a/", "a.lock", "a\nb", "a~1", "a@{1}", "a\\b", ".a", "HEAD"]
        {
            assert!(branch(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn folders_are_cloned_like_urls() {
        assert_eq!(url(" /srv/git/x.git "), "file:///srv/git/x.git");
        assert_eq!(url("https://example.com/x"), "https://example.com/x");
    }
}
