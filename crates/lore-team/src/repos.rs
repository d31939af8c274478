//! Which repositories a user sees: what they have activated, under their own names, and golden ones.
//!
//! What another user has activated is not there: asking for it is answered like asking for what nobody has.

use std::fmt;

use lore_model::{
    Activation, Caller, Code, Failure, Golden, GoldenState, Job, JobStatus, Operation, Repo, RepoName, brief, closest,
};
use lore_store::JobQuery;

use super::Team;
use crate::failure::team_failure;

/// So many names are told where one is not known.
const NAMES_MAX: usize = 20;

/// A repository as a user sees it.
#[derive(Debug, Clone)]
pub struct Shown {
    /// What the user calls it.
    pub alias: RepoName,
    /// The repository, on the branch that is meant. Its own name is its golden alias.
    pub repo: Repo,
    /// The branch that the user has chosen; none for the main one.
    pub branch: Option<String>,
    /// What the user has activated, where they did.
    pub activation: Option<Activation>,
    /// What the server keeps.
    pub golden: Golden,
}

impl Shown {
    /// The branch that is meant: the one that was chosen, or the main one.
    pub fn on(&self) -> Option<&str> {
        self.branch.as_deref().or(self.repo.info.default_branch.as_deref())
    }
}

/// What a question is about.
#[derive(Debug, Clone, Default)]
pub struct Visible {
    /// The repositories, each golden one once.
    pub repos: Vec<Shown>,
    /// What the user must know besides.
    pub notes: Vec<String>,
}

/// What a user calls a repository or a composite, and what there is behind it.
#[derive(Debug)]
pub struct Standing {
    /// What the user calls it.
    pub alias: RepoName,
    /// What the user has activated; none for a golden repository that they have not.
    pub activation: Option<Activation>,
    /// Each golden repository by its alias, or why it cannot be asked.
    pub repos: Vec<(RepoName, Result<Shown, Failure>)>,
}

/// What users lose with a golden repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Concerned {
    /// So many have it under a name of their own.
    pub activations: usize,
    /// So many composites are to go on without it.
    pub composites: usize,
}

/// Goes behind what is said of the repository: `, with 2 activations and from 1 composite`.
impl fmt::Display for Concerned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = |count: usize, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
        match (self.activations, self.composites) {
            (0, 0) => Ok(()),
            (own, 0) => write!(f, ", with {}", some(own, "activation")),
            (0, composites) => write!(f, ", and from {}", some(composites, "composite")),
            (own, composites) => {
                write!(f, ", with {} and from {}", some(own, "activation"), some(composites, "composite"))
            }
        }
    }
}

/// The branch that counts as the main one of a golden repository: the one that was chosen, or that of its clone.
pub fn main_branch(golden: &Golden, repos: &[Repo]) -> Option<String> {
    let repo = repos.iter().find(|repo| repo.name() == golden.alias.as_str());
    golden.branch.clone().or_else(|| repo?.info.default_branch.clone())
}

impl Team {
    /// Every golden repository, by alias.
    pub fn golden(&self) -> Result<Vec<Golden>, Failure> {
        self.store.list_golden().map_err(team_failure)
    }

    /// The golden repository of that alias.
    pub fn find_golden(&self, alias: &str) -> Result<Golden, Failure> {
        let name = RepoName::parse(alias).ok();
        let found = match &name {
            Some(name) => self.store.find_golden(name).map_err(team_failure)?,
            None => None,
        };
        if let Some(golden) = found {
            return Ok(golden);
        }
        let names = self.golden()?.into_iter().map(|golden| golden.alias.to_string()).collect();
        Err(unknown("no golden repository is called", alias, names))
    }

    /// What a user has activated, by alias.
    pub fn activations(&self, caller: &Caller) -> Result<Vec<Activation>, Failure> {
        self.store.list_activations(Some(caller.id)).map_err(team_failure)
    }

    /// What a user has activated under this name.
    pub fn activation(&self, caller: &Caller, alias: &str) -> Result<Activation, Failure> {
        let alias = alias.trim();
        let found = match RepoName::parse(alias) {
            Ok(name) => self.store.find_activation(caller.id, &name).map_err(team_failure)?,
            Err(_) => None,
        };
        if let Some(activation) = found {
            return Ok(activation);
        }
        if let Some(failure) = self.being_activated(caller, alias)? {
            return Err(failure);
        }
        let own = self.activations(caller)?.into_iter().map(|own| own.alias.to_string()).collect();
        Err(unknown("you have activated no repository called", alias, own))
    }

    /// What a user means by a name: what they have activated so, or a golden repository.
    pub fn visible(&self, caller: &Caller, alias: &str) -> Result<Visible, Failure> {
        let alias = alias.trim();
        let Ok(name) = RepoName::parse(alias) else { return Err(self.unknown_to(caller, alias)?) };
        if let Some(activation) = self.store.find_activation(caller.id, &name).map_err(team_failure)? {
            self.uses.note_alias(caller.id, name, self.clock.now());
            return self.members(&activation, &self.lore.history.repos()?);
        }
        match self.store.find_golden(&name).map_err(team_failure)? {
            Some(golden) => {
                let repo = self.repo_of(&golden, None, &self.lore.history.repos()?)?;
                Ok(Visible { repos: vec![shown_golden(golden, repo)], notes: Vec::new() })
            }
            None => Err(self.unknown_to(caller, alias)?),
        }
    }

    /// The same where it must be one repository.
    pub fn visible_one(&self, caller: &Caller, alias: &str) -> Result<Shown, Failure> {
        let mut visible = self.visible(caller, alias)?;
        let composite = visible.repos.iter().any(|shown| shown.activation.as_ref().is_some_and(|own| own.composite));
        match visible.repos.pop() {
            Some(shown) if !composite => Ok(shown),
            last => {
                let names: Vec<&str> = visible.repos.iter().chain(&last).map(|shown| shown.repo.name()).collect();
                Err(Failure::new(Code::InvalidArgument, format!("`{}` is a composite", brief(alias)))
                    .hint(format!("name one of its repositories: {}", names.join(", "))))
            }
        }
    }

    /// Everything a user has activated; where that is nothing, every golden repository. What cannot be asked at the moment
    /// keeps the rest back no more than a composite's member does.
    pub fn all_visible(&self, caller: &Caller) -> Result<Visible, Failure> {
        let mut all = Visible::default();
        let activations = self.activations(caller)?;
        let indexed = self.lore.history.repos()?;
        let now = self.clock.now();
        let has_some = !activations.is_empty();
        for activation in activations {
            self.uses.note_alias(caller.id, activation.alias.clone(), now);
            let alias = activation.alias.clone();
            let members = match self.members(&activation, &indexed) {
                Ok(members) => members,
                Err(failure) => {
                    let why = self.lore.without_home(&failure.message);
                    all.notes.push(format!("`{alias}` was not asked: {why}"));
                    continue;
                }
            };
            all.notes.extend(members.notes);
            for shown in members.repos {
                let known = all.repos.iter().find(|known| known.repo.id == shown.repo.id);
                match known {
                    None => match self.missing_branch(&shown) {
                        None => all.repos.push(shown),
                        Some(why) => all.notes.push(format!("`{}` was not asked: {why}", shown.alias)),
                    },
                    // Of one repository only one branch is asked about at a time.
                    Some(known) if known.on() != shown.on() => all.notes.push(format!(
                        "`{}` and `{}` are branches of one repository: `{}` was asked; name the other to ask it",
                        known.alias, shown.alias, known.alias
                    )),
                    Some(_) => {}
                }
            }
        }
        if has_some && all.repos.is_empty() {
            let what = format!("nothing that you have activated can be asked: {}", all.notes.join("; "));
            return Err(Failure::new(Code::RepoNotFound, what)
                .hint("name another repository, switch the branch with `switch_branch`, or `deactivate_repository`"));
        }
        if all.repos.is_empty() {
            for golden in self.golden()?.into_iter().filter(|golden| golden.state == GoldenState::Ready) {
                match self.repo_of(&golden, None, &indexed) {
                    Ok(repo) => all.repos.push(shown_golden(golden, repo)),
                    Err(failure) => {
                        let why = self.lore.without_home(&failure.message);
                        all.notes.push(format!("`{}` was not asked: {why}", golden.alias));
                    }
                }
            }
            if all.repos.is_empty() {
                let mut what = "the server has no repository that could be asked".to_owned();
                if !all.notes.is_empty() {
                    what = format!("{what}: {}", all.notes.join("; "));
                }
                return Err(Failure::new(Code::RepoNotFound, what)
                    .hint("an admin adds one with `add_golden_repo` or `lore golden add`"));
            }
        }
        Ok(all)
    }

    /// Everything a user has activated, each name once with its repositories; where that is nothing, every golden repository.
    /// Nothing is left out: what cannot be asked says why.
    pub fn each_visible(&self, caller: &Caller) -> Result<Vec<Standing>, Failure> {
        let golden = self.golden()?;
        let indexed = self.lore.history.repos()?;
        let mut all = Vec::new();
        let activations = self.activations(caller)?;
        if activations.is_empty() {
            for golden in golden {
                let alias = golden.alias.clone();
                let shown = self.repo_of(&golden, None, &indexed).map(|repo| shown_golden(golden, repo));
                all.push(Standing { alias: alias.clone(), activation: None, repos: vec![(alias, shown)] });
            }
            return Ok(all);
        }
        for activation in activations {
            let mut repos = Vec::new();
            for member in &activation.golden {
                let known = golden.iter().find(|golden| golden.alias == *member);
                let mut shown = match known {
                    Some(golden) => self.shown_member(&activation, golden, &indexed),
                    None => Err(gone(member)),
                };
                if let Ok(found) = &shown
                    && let Some(why) = self.missing_branch(found)
                {
                    shown = Err(Failure::new(Code::RepoNotFound, why));
                }
                repos.push((member.clone(), shown));
            }
            all.push(Standing { alias: activation.alias.clone(), activation: Some(activation), repos });
        }
        Ok(all)
    }

    /// What users would lose with a golden repository.
    pub(super) fn concerned(&self, alias: &RepoName) -> Result<Concerned, Failure> {
        let all = self.store.list_activations(None).map_err(team_failure)?;
        let having = || all.iter().filter(|own| own.golden.contains(alias));
        let composites = having().filter(|own| own.composite).count();
        Ok(Concerned { activations: having().count() - composites, composites })
    }

    /// What to tell where the branch that a user has chosen is not there any more.
    fn missing_branch(&self, shown: &Shown) -> Option<String> {
        let branch = shown.branch.as_ref()?;
        let is_there = self.lore.search.reader.has_branch(&shown.repo);
        (!is_there).then(|| format!("its branch `{branch}` is not there any more; choose another with `switch_branch`"))
    }

    /// The repositories of an activation. One that cannot be asked now does not keep the others of a composite back.
    fn members(&self, activation: &Activation, indexed: &[Repo]) -> Result<Visible, Failure> {
        let mut visible = Visible::default();
        for alias in &activation.golden {
            let found = match self.store.find_golden(alias).map_err(team_failure)? {
                Some(golden) => self.shown_member(activation, &golden, indexed),
                None => Err(gone(alias)),
            };
            match found {
                Ok(shown) => visible.repos.push(shown),
                Err(failure) if activation.composite => visible.notes.push(self.lore.without_home(&failure.message)),
                Err(failure) => return Err(failure),
            }
        }
        if visible.repos.is_empty() {
            let what = format!("nothing of `{}` can be asked: {}", activation.alias, visible.notes.join("; "));
            return Err(Failure::new(Code::RepoNotFound, what));
        }
        Ok(visible)
    }

    /// What is told of a name that will soon mean something to this user.
    fn being_activated(&self, caller: &Caller, alias: &str) -> Result<Option<Failure>, Failure> {
        for status in [JobStatus::Running, JobStatus::Pending] {
            let query = JobQuery { user: Some(caller.id), status: Some(status), limit: NAMES_MAX };
            let (jobs, _) = self.store.list_jobs(&query).map_err(team_failure)?;
            let is_it = |job: &&Job| {
                job.task.operation == Operation::Activate
                    && job.task.alias.as_ref().is_some_and(|own| own.as_str() == alias)
            };
            if let Some(job) = jobs.iter().find(is_it) {
                let what = format!("`{}` is being activated: its branch is not read yet", brief(alias));
                let hint = format!("wait for the job with `get_job_details`: job_id `{}`, wait_seconds 60", job.id);
                return Ok(Some(Failure::new(Code::RepoNotFound, what).hint(hint)));
            }
        }
        Ok(None)
    }

    /// What is told of a name that means nothing to this user.
    fn unknown_to(&self, caller: &Caller, alias: &str) -> Result<Failure, Failure> {
        if let Some(failure) = self.being_activated(caller, alias)? {
            return Ok(failure);
        }
        let mut names: Vec<String> = self.activations(caller)?.into_iter().map(|own| own.alias.to_string()).collect();
        names.extend(self.golden()?.into_iter().map(|golden| golden.alias.to_string()));
        names.sort_unstable();
        names.dedup();
        Ok(unknown("no repository is called", alias, names))
    }
}

/// A golden repository as somebody sees it who has not activated it.
fn shown_golden(golden: Golden, repo: Repo) -> Shown {
    Shown { alias: golden.alias.clone(), repo, branch: None, activation: None, golden }
}

impl Team {
    /// One golden repository of an activation.
    fn shown_member(&self, activation: &Activation, golden: &Golden, indexed: &[Repo]) -> Result<Shown, Failure> {
        Ok(Shown {
            alias: activation.alias.clone(),
            repo: self.repo_of(golden, activation.branch.as_deref(), indexed)?,
            branch: activation.branch.clone(),
            activation: Some(activation.clone()),
            golden: golden.clone(),
        })
    }

    /// The repository behind a golden one, on a branch, among those of the index.
    pub(super) fn repo_of(&self, golden: &Golden, branch: Option<&str>, indexed: &[Repo]) -> Result<Repo, Failure> {
        let alias = &golden.alias;
        let not_yet = |why: &str| {
            Failure::new(Code::RepoNotFound, format!("golden repository `{alias}` {why}"))
                .hint("`get_job_statistics` and `get_job_details` tell how far the server is")
        };
        match golden.state {
            GoldenState::Removing => return Err(not_yet("is being removed")),
            GoldenState::Adding => return Err(not_yet("is being added")),
            GoldenState::Ready if self.is_waited_for(alias) => {
                return Err(not_yet("has lost its index and is being read again"));
            }
            GoldenState::Ready => {}
        }
        let mut repo = indexed.iter().find(|repo| repo.name() == alias.as_str()).cloned().ok_or_else(|| {
            Failure::new(Code::RepoNotFound, format!("golden repository `{alias}` is not indexed"))
                .hint("an admin has it read again with `refresh_golden_repo`")
        })?;
        repo.shown = branch.map(str::to_owned);
        // Others choose what else is indexed.
        repo.alone = true;
        Ok(repo)
    }
}

fn gone(alias: &RepoName) -> Failure {
    Failure::new(Code::RepoNotFound, format!("golden repository `{alias}` is gone"))
}

fn unknown(what: &str, alias: &str, mut names: Vec<String>) -> Failure {
    let failure = Failure::new(Code::RepoNotFound, format!("{what} `{}`", brief(alias)));
    let near = closest(alias, names.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`? "));
    let near = near.unwrap_or_default();
    if names.is_empty() {
        return failure.hint("`discover_repositories` lists what there is");
    }
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    failure.hint(format!("{near}There are: {}{more}", names.join(", ")))
}
