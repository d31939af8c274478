//! What can be administered, over whatever it is done: a server, or its data on this machine.

use std::path::PathBuf;

use lore_model::{Code, Failure, JobStatus, Role, UserName};
use lore_remote::{
    AuditEntry, Client, Golden, GoldenChange, Job, JobDetails, Listed, NewGolden, NewToken, Secret, ServerUrl, Started,
    Token, User,
};

use super::{
    Context, local,
    remote::{self, ServerArgs},
};
use crate::wire;

/// Whose tokens are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    /// One's own.
    Own,
    /// Everybody's.
    Everybodys,
    /// That user's; only where the data is on this machine and nobody is logged in.
    Of(UserName),
}

/// Whether a repository goes even if somebody uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// Only if nobody does.
    IfUnused,
    /// In any case.
    Forced,
}

/// What becomes of data that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// It is an error.
    Fails,
    /// It is made.
    IsMade,
}

/// How somebody names a repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Named<'a> {
    /// By where it comes from.
    From(&'a str),
    /// By what it is called.
    Alias(&'a str),
    /// By the job that is about it.
    Job(&'a str),
}

/// One method for each act.
pub(super) trait Administration: Send + Sync {
    /// Sees to it that somebody does the jobs, where somebody waits for them: a server does by itself.
    fn attend(&self) -> Result<(), Failure>;
    /// Fails where whoever does the jobs on this machine cannot go on. A server tells so with the job.
    fn check(&self) -> Result<(), Failure>;
    /// Leaves the jobs to others.
    fn leave(&self);
    /// Everybody who may use the server.
    fn users(&self) -> Result<Listed<User>, Failure>;
    /// Lets somebody in.
    fn add_user(&self, name: &UserName, role: Role, password: &Secret) -> Result<User, Failure>;
    /// Makes somebody something else.
    fn set_role(&self, name: &UserName, role: Role) -> Result<User, Failure>;
    /// Gives somebody another password.
    fn set_password(&self, name: &UserName, password: &Secret) -> Result<User, Failure>;
    /// Lets somebody in no longer.
    fn remove_user(&self, name: &UserName) -> Result<(), Failure>;
    /// What was done and tried, the newest first.
    fn audit(&self, limit: usize) -> Result<Listed<AuditEntry>, Failure>;
    /// Personal tokens.
    fn tokens(&self, whose: &Whose) -> Result<Listed<Token>, Failure>;
    /// Makes a personal token.
    fn create_token(&self, whose: &Whose, name: &str, days: Option<u32>) -> Result<NewToken, Failure>;
    /// Takes a personal token back.
    fn revoke_token(&self, id: &str) -> Result<(), Failure>;
    /// The repositories that the server keeps.
    fn golden(&self) -> Result<Listed<Golden>, Failure>;
    /// Lets the server keep a repository.
    fn add_golden(&self, new: &NewGolden) -> Result<Started, Failure>;
    /// Changes how a repository is kept.
    fn set_golden(&self, alias: &str, change: GoldenChange) -> Result<Started, Failure>;
    /// Brings a repository up to date.
    fn refresh_golden(&self, alias: &str) -> Result<Started, Failure>;
    /// Lets the server keep a repository no longer.
    fn remove_golden(&self, alias: &str, removal: Removal) -> Result<Started, Failure>;
    /// Jobs, the newest first.
    fn jobs(&self, status: Option<JobStatus>, limit: usize) -> Result<Listed<Job>, Failure>;
    /// A job and its notes.
    fn job(&self, id: &str) -> Result<JobDetails, Failure>;
    /// Stops a job; what is to be said about it.
    fn cancel_job(&self, id: &str) -> Result<String, Failure>;
}

/// What the arguments name.
pub(super) fn open(context: &Context<'_>, args: &ServerArgs) -> Result<Box<dyn Administration>, Failure> {
    open_as(context, args, Absent::Fails)
}

/// The same, where the data of a server is made if there is none.
pub(super) fn open_or_make(context: &Context<'_>, args: &ServerArgs) -> Result<Box<dyn Administration>, Failure> {
    open_as(context, args, Absent::IsMade)
}

/// The same, where a repository is named: on this machine that decides what may be cloned.
pub(super) fn open_for(
    context: &Context<'_>,
    args: &ServerArgs,
    named: Named<'_>,
) -> Result<Box<dyn Administration>, Failure> {
    match place(context, args, Absent::Fails)? {
        Place::Folder(folder) => Ok(Box::new(local::open_for(context, &folder, named)?)),
        Place::Server(url) => remote(context, args, &url),
    }
}

fn open_as(context: &Context<'_>, args: &ServerArgs, absent: Absent) -> Result<Box<dyn Administration>, Failure> {
    match place(context, args, absent)? {
        Place::Folder(folder) => Ok(Box::new(local::open(context, &folder, absent)?)),
        Place::Server(url) => remote(context, args, &url),
    }
}

fn remote(context: &Context<'_>, args: &ServerArgs, url: &ServerUrl) -> Result<Box<dyn Administration>, Failure> {
    let connection = remote::connection(context, url, &args.connect)?;
    let authority = remote::authority(context, &connection, &args.name)?;
    Ok(Box::new(Remote(Client::new(connection, authority))))
}

/// What is administered.
enum Place {
    /// The data of a server on this machine.
    Folder(PathBuf),
    /// A server.
    Server(ServerUrl),
}

/// What is meant: what the arguments name, else the only login, else the folder that `lore server` takes by itself.
fn place(context: &Context<'_>, args: &ServerArgs, absent: Absent) -> Result<Place, Failure> {
    match (&args.data, &args.url) {
        (Some(_), Some(_)) => Err(Failure::new(Code::InvalidArgument, "`--url` and `--data` exclude each other")
            .hint("a server is asked over the network, its data directory is opened on this machine")),
        (Some(folder), None) => Ok(Place::Folder(folder.clone())),
        (None, None) if remote::logins(context).list()?.is_empty() => {
            let folder = wire::server_folder(&context.loaded.home);
            if absent == Absent::Fails && !local::is_there(&folder) {
                return Err(nowhere());
            }
            context.ui.note(&format!("in the server's folder {}", folder.display()));
            Ok(Place::Folder(folder))
        }
        (None, url) => remote::server_url(context, url.as_deref(), &args.connect).map(Place::Server),
    }
}

fn nowhere() -> Failure {
    let message = "no server is named, you are logged in at none, and there is none on this machine";
    Failure::new(Code::InvalidArgument, message).hint(
        "give `--data DIR` for the folder of a server on this machine, `--url URL` for a server, or log in once: `lore login URL`",
    )
}

/// A server, asked over the network.
struct Remote(Client);

impl Administration for Remote {
    fn attend(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn leave(&self) {}

    fn users(&self) -> Result<Listed<User>, Failure> {
        self.0.users()
    }

    fn add_user(&self, name: &UserName, role: Role, password: &Secret) -> Result<User, Failure> {
        self.0.add_user(name.as_str(), password, role.as_str())
    }

    fn set_role(&self, name: &UserName, role: Role) -> Result<User, Failure> {
        self.0.set_role(name.as_str(), role.as_str())
    }

    fn set_password(&self, name: &UserName, password: &Secret) -> Result<User, Failure> {
        self.0.set_password(name.as_str(), password)
    }

    fn remove_user(&self, name: &UserName) -> Result<(), Failure> {
        self.0.remove_user(name.as_str())
    }

    fn audit(&self, limit: usize) -> Result<Listed<AuditEntry>, Failure> {
        self.0.audit(limit)
    }

    fn tokens(&self, whose: &Whose) -> Result<Listed<Token>, Failure> {
        match whose {
            Whose::Of(_) => Err(only_own()),
            whose => {
                let all = *whose == Whose::Everybodys;
                self.0.tokens(all)
            }
        }
    }

    fn create_token(&self, whose: &Whose, name: &str, days: Option<u32>) -> Result<NewToken, Failure> {
        if *whose != Whose::Own {
            return Err(only_own());
        }
        self.0.create_token(name, days)
    }

    fn revoke_token(&self, id: &str) -> Result<(), Failure> {
        self.0.revoke_token(id)
    }

    fn golden(&self) -> Result<Listed<Golden>, Failure> {
        self.0.golden()
    }

    fn add_golden(&self, new: &NewGolden) -> Result<Started, Failure> {
        self.0.add_golden(new)
    }

    fn set_golden(&self, alias: &str, change: GoldenChange) -> Result<Started, Failure> {
        self.0.set_golden(alias, change)
    }

    fn refresh_golden(&self, alias: &str) -> Result<Started, Failure> {
        self.0.refresh_golden(alias)
    }

    fn remove_golden(&self, alias: &str, removal: Removal) -> Result<Started, Failure> {
        self.0.remove_golden(alias, removal == Removal::Forced)
    }

    fn jobs(&self, status: Option<JobStatus>, limit: usize) -> Result<Listed<Job>, Failure> {
        self.0.jobs(status.map(JobStatus::as_str), limit)
    }

    fn job(&self, id: &str) -> Result<JobDetails, Failure> {
        self.0.job(id)
    }

    fn cancel_job(&self, id: &str) -> Result<String, Failure> {
        self.0.cancel_job(id)
    }
}

fn only_own() -> Failure {
    Failure::new(Code::InvalidArgument, "on a server everybody makes their own tokens")
        .hint("leave out `--user`, or give `--data DIR` where the data is on this machine")
}
