//! Storage of what a team server knows: users and how they show who they are, its repositories, its jobs.
//!
//! All of it is truth that exists nowhere else. Every call that changes something is one step that is on disk before it
//! returns, and administrative acts are written to the audit log in the same step.

use lore_model::{
    Activation, Actor, AuditEntry, Golden, Job, JobId, JobLine, JobStatus, JobTask, LoginId, RepoName, Role, Token,
    TokenId, User, UserId, UserName,
};

use crate::Result;

/// What is kept in place of a secret.
pub type SecretHash = [u8; 32];

/// What a team server knows.
pub trait TeamStore: Send + Sync {
    /// Adds a user with the hash of their password. Fails with `Exists` where there is one of that name.
    fn add_user(&self, name: &UserName, role: Role, password: &str, by: &Actor) -> Result<User>;

    /// Every user, by name.
    fn list_users(&self) -> Result<Vec<User>>;

    /// The user of that name.
    fn find_user(&self, name: &UserName) -> Result<Option<User>>;

    /// The hash of a user's password.
    fn password_of(&self, user: UserId) -> Result<Option<String>>;

    /// Gives a user another password, where one is named only in place of this one; all their logins end. Tells whether it was
    /// done.
    fn set_password(&self, user: UserId, old: Option<&str>, password: &str, by: &Actor) -> Result<bool>;

    /// Replaces the hash of a password that stays the same, if it is still the old one.
    fn rehash_password(&self, user: UserId, old: &str, new: &str) -> Result<()>;

    /// Gives a user another role. Fails with `Refused` where no admin would be left.
    fn set_role(&self, user: UserId, role: Role, by: &Actor) -> Result<User>;

    /// Removes a user with all that is theirs; waiting jobs are cancelled. Fails with `Refused` where no admin would be left.
    fn remove_user(&self, user: UserId, by: &Actor) -> Result<()>;

    /// The key that access tokens are signed with: this one, unless there was one before.
    fn signing_key(&self, fresh: [u8; 32]) -> Result<[u8; 32]>;

    /// Begins a login with its first refresh token, for somebody who knew the password of which this hash is kept. `None` where
    /// it is no longer the user's: another password ends all logins, and so it must end those that are just being made. A user
    /// has a bounded number of logins; one more ends the one that was renewed longest ago.
    fn add_login(
        &self,
        user: UserId,
        verified: &str,
        refresh: SecretHash,
        at: i64,
        expires_at: i64,
    ) -> Result<Option<LoginId>>;

    /// The refresh token with this hash, taken or not, as long as its login has not ended.
    fn find_refresh(&self, secret: SecretHash, at: i64) -> Result<Option<RefreshToken>>;

    /// Takes a refresh token and puts another in its place. One that was taken before ends its whole login.
    fn rotate_login(&self, renewal: &Renewal) -> Result<Rotation>;

    /// Ends a login.
    fn end_login(&self, login: LoginId) -> Result<()>;

    /// The user of a login that has not ended.
    fn user_of_login(&self, login: LoginId, at: i64) -> Result<Option<User>>;

    /// Adds a personal token.
    fn add_token(&self, new: &NewToken, by: &Actor) -> Result<Token>;

    /// The personal tokens of a user, or of all, the newest first.
    fn list_tokens(&self, user: Option<UserId>) -> Result<Vec<Token>>;

    /// Ends a personal token, of this user where one is named; tells whether there was one.
    fn revoke_token(&self, token: TokenId, user: Option<UserId>, by: &Actor) -> Result<bool>;

    /// The token with this hash and its owner, expired or not.
    fn find_token(&self, secret: SecretHash) -> Result<Option<(Token, User)>>;

    /// Notes when tokens were used and aliases asked about.
    fn note_uses(&self, tokens: &[(TokenId, i64)], aliases: &[(UserId, RepoName, i64)]) -> Result<()>;

    /// Every golden repository, by alias.
    fn list_golden(&self) -> Result<Vec<Golden>>;

    /// The golden repository of that alias.
    fn find_golden(&self, alias: &RepoName) -> Result<Option<Golden>>;

    /// Activations of a user, or of all, by alias.
    fn list_activations(&self, user: Option<UserId>) -> Result<Vec<Activation>>;

    /// What a user calls so.
    fn find_activation(&self, user: UserId, alias: &RepoName) -> Result<Option<Activation>>;

    /// The branches of a golden repository that are wanted beside its main one: by activations, and by jobs that are not over.
    fn wanted_branches(&self, alias: &RepoName) -> Result<Vec<String>>;

    /// Makes changes as one step.
    fn change(&self, changes: &[TeamChange], by: &Actor) -> Result<()>;

    /// Adds a job and makes these changes as one step; where the same is waiting already for the same user and there is nothing
    /// to change, that one is returned. Unfinished jobs of the user that decide what the same alias stands for are stopped, and
    /// those of anybody that are to give the same golden repository another main branch: who asks last is right. Fails with `Refused` where the user has as many unfinished jobs as they may have.
    fn add_job(&self, new: &NewJob, changes: &[TeamChange], by: &Actor) -> Result<Job>;

    /// Begins the job whose turn it is: users take turns, and those for whom less is being done come first. Two that are about
    /// one repository are never begun together; one that has waited for its repositories for five minutes keeps younger ones
    /// from them. One that is to wait for longer than [`JOB_WAIT_MAX`] does not wait.
    fn claim_job(&self, limits: &JobLimits, at: i64) -> Result<Option<Job>>;

    /// Notes how far a job is.
    fn note_progress(&self, job: &JobId, progress: u8) -> Result<()>;

    /// Adds a line to what is told of a job.
    fn log_job(&self, job: &JobId, at: i64, text: &str) -> Result<()>;

    /// Ends a running job and makes these changes as one step; tells whether it was running. One that was to give a user
    /// something and was cancelled meanwhile ends as cancelled, and gives nothing. However a refresh ends, its repositories
    /// were tried then.
    fn end_job(&self, job: &JobId, end: &JobEnd, changes: &[TeamChange], by: &Actor) -> Result<bool>;

    /// Puts a running job back among those that wait.
    fn requeue_job(&self, job: &JobId, again: &Requeue) -> Result<()>;

    /// Cancels a job that waits, and asks one that runs to stop, or one that has left something behind and waits to be tried
    /// again.
    fn cancel_job(&self, job: &JobId, by: &Actor) -> Result<Option<Cancelled>>;

    /// The jobs that are marked as running.
    fn running_jobs(&self) -> Result<Vec<Job>>;

    /// One job.
    fn find_job(&self, job: &JobId) -> Result<Option<Job>>;

    /// Jobs, the newest first, and how many there are.
    fn list_jobs(&self, query: &JobQuery) -> Result<(Vec<Job>, usize)>;

    /// What is told of a job, oldest first.
    fn job_log(&self, job: &JobId) -> Result<Vec<JobLine>>;

    /// How many jobs of a user, or of all, stand how.
    fn count_jobs(&self, user: Option<UserId>) -> Result<Vec<(JobStatus, u64)>>;

    /// Forgets jobs that were over before this moment, and of each user's all but the newest thousand. Of acts the newest ten
    /// thousand of each kind are kept of each actor: whatever somebody does, what others did stays.
    fn forget_jobs(&self, before: i64) -> Result<u64>;

    /// Writes an act down that changes nothing here.
    fn note_act(&self, by: &Actor, act: &str, subject: &str, outcome: &str) -> Result<()>;

    /// The newest acts, and how many there are.
    fn list_acts(&self, limit: usize) -> Result<(Vec<AuditEntry>, usize)>;

    /// Reads something, to see that it can be read.
    fn check(&self) -> Result<()>;

    /// Writes something that changes nothing, to see that it can be written.
    fn check_writing(&self) -> Result<()>;

    /// Looks for damage; each finding is one line.
    fn check_all(&self) -> Result<Vec<String>>;
}

/// A personal token that is to be added.
pub struct NewToken {
    /// Whose it is.
    pub user: UserId,
    /// What they call it.
    pub name: String,
    /// The hash of its secret.
    pub secret: SecretHash,
    /// Until when (seconds since 1970); `None` for ever.
    pub expires_at: Option<i64>,
}

/// A refresh token that somebody was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshToken {
    /// The login that it renews.
    pub login: LoginId,
    /// Whether it was taken before.
    pub is_taken: bool,
}

/// A refresh token that is shown, and what is to be in its place.
#[derive(Debug, Clone)]
pub struct Renewal {
    /// The hash of the token.
    pub old: SecretHash,
    /// The hash of the next one.
    pub new: SecretHash,
    /// When (seconds since 1970).
    pub at: i64,
    /// Until when the next one is valid.
    pub expires_at: i64,
    /// Where the request came from.
    pub address: Option<String>,
}

/// What came of a refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// It was taken, and the other one counts now.
    Rotated(LoginId, User),
    /// It had been taken before: somebody else has it. The login is over.
    Reused(User),
    /// It is not known, or its time is over.
    Unknown,
}

/// A job that is to be done.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Its id.
    pub id: JobId,
    /// What it is about.
    pub task: JobTask,
    /// For whom.
    pub user: Option<UserId>,
    /// Their name.
    pub username: String,
    /// How many unfinished jobs the user may have, this one included.
    pub user_max: usize,
    /// Where it is done already: what came of it. It is kept as completed then.
    pub done: Option<String>,
    /// Whether it is written into the audit log that somebody asked for it.
    pub audited: bool,
}

/// The longest wait before a job is tried again, in seconds. One that would wait for longer was put back by a clock that has
/// been set back since.
pub const JOB_WAIT_MAX: i64 = 15 * 60;

/// How many jobs run at a time.
#[derive(Debug, Clone, Copy)]
pub struct JobLimits {
    /// Of all users.
    pub running: usize,
    /// Of one.
    pub per_user: usize,
}

impl JobLimits {
    /// So many of all users. Where nothing is said of one user, a place is kept for the others.
    pub fn new(running: usize, per_user: Option<usize>) -> Self {
        let running = running.max(1);
        Self { running, per_user: per_user.unwrap_or(running - 1).clamp(1, running) }
    }
}

/// How a job ended.
#[derive(Debug, Clone)]
pub struct JobEnd {
    /// Completed, failed or cancelled.
    pub status: JobStatus,
    /// When (seconds since 1970).
    pub at: i64,
    /// What came of it.
    pub result: Option<String>,
    /// Why it failed, for those who manage repositories.
    pub error: Option<String>,
    /// The same for everybody else.
    pub error_told: Option<String>,
}

/// How a job is to be tried again.
#[derive(Debug, Clone)]
pub struct Requeue {
    /// The moment (seconds since 1970).
    pub at: i64,
    /// It is not begun before this one.
    pub not_before: i64,
    /// Why it was not done, for those who manage repositories.
    pub why: String,
    /// The same for everybody else, and for what is told of the job.
    pub why_told: String,
    /// Whether the attempt counts: not where the server merely stopped.
    pub counts: bool,
}

/// What came of a wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It had not begun, and never will.
    Now,
    /// It is being done; it was told to stop.
    Asked,
    /// It was over already, like this.
    Over(JobStatus),
}

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Of this user; `None` for all.
    pub user: Option<UserId>,
    /// That stand so; `None` for any.
    pub status: Option<JobStatus>,
    /// At most so many.
    pub limit: usize,
}

/// One change of what the team has.
#[derive(Debug, Clone)]
pub enum TeamChange {
    /// A golden repository is to be there. Fails with `Exists` where there is one of that alias.
    AddGolden(Golden),
    /// A golden repository was fetched and read; it answers from now on.
    Refreshed {
        /// Which.
        alias: RepoName,
        /// When (seconds since 1970).
        at: i64,
    },
    /// A golden repository could not be fetched or read.
    RefreshFailed {
        /// Which.
        alias: RepoName,
        /// When it was tried (seconds since 1970).
        at: i64,
        /// Why not.
        error: String,
    },
    /// Sets how often a golden repository is fetched.
    RefreshEvery(RepoName, Option<i64>),
    /// Sets whether the past of a golden repository is kept.
    Temporal(RepoName, bool),
    /// A golden repository is about to be removed. Fails with `Refused` where it is activated, unless that goes too.
    RemovingGolden {
        /// Which.
        alias: RepoName,
        /// Whether what users have activated of it goes too.
        force: bool,
    },
    /// A golden repository that was to be removed stays after all, unless another job is to remove it.
    KeepGolden(RepoName),
    /// Sets the main branch of a golden repository; `None` for the remote's own choice.
    MainBranch(RepoName, Option<String>),
    /// A golden repository is gone, and with it what users had activated of it. Composites go on without it, unless nothing is
    /// left of them.
    RemoveGolden(RepoName),
    /// A golden repository could not be added: it is gone, unless it was read meanwhile.
    NotAdded(RepoName),
    /// A user has this from now on, in place of what they called so where it is the same golden repository or composite;
    /// fails with `Exists` where they call something else so, and with `Absent` where a golden repository is not there.
    Activate(Activation),
    /// A user has it no longer; fails with `Absent` where they had not.
    Deactivate(UserId, RepoName),
    /// A user's alias stands for another branch from now on; fails with `Absent` where they have no such alias.
    SetBranch(UserId, RepoName, Option<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_leaves_a_place_for_the_others() {
        let limits = |running, per_user| {
            let JobLimits { running, per_user } = JobLimits::new(running, per_user);
            (running, per_user)
        };
        assert_eq!([1, 2, 8].map(|running| limits(running, None)), [(1, 1), (2, 1), (8, 7)]);
        assert_eq!([limits(2, Some(2)), limits(2, Some(9)), limits(0, Some(0))], [(2, 2), (2, 2), (1, 1)]);
    }
}
