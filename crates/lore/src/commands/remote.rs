//! Which server a command is about, and in whose name it is asked.

use std::path::PathBuf;

use lore_core::{Clock as _, SystemClock};
use lore_model::{Code, Failure};
use lore_remote::{Authority, Connection, ConnectionOptions, Login, Logins, PlainHttp, Secret, ServerUrl};

use super::Context;
use crate::{environment, ui};

/// The variable that holds a personal token.
pub(crate) const TOKEN_VARIABLE: &str = "LORE_TOKEN";

/// How a server is reached.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ConnectArgs {
    /// Trust the certificates in this file besides those of the system
    #[arg(long, value_name = "FILE", global = true, help_heading = "Server options")]
    pub(super) ca_file: Option<PathBuf>,
    /// Allow plain http to another machine: tokens travel in the clear
    #[arg(long, global = true, help_heading = "Server options")]
    pub(super) insecure: bool,
}

/// In whose name it is asked.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct NameArgs {
    /// Take a personal token from this variable [default: your login at that server, else `LORE_TOKEN`]
    #[arg(long, value_name = "NAME", global = true, help_heading = "Server options")]
    pub(super) token_env: Option<String>,
}

/// A server, or its data on this machine.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ServerArgs {
    /// The server [default: the only one that you are logged in at, else the one on this machine]
    #[arg(long, value_name = "URL", global = true, help_heading = "Server options")]
    pub(super) url: Option<String>,
    /// The data directory of a server on this machine, instead of a server [default without a login: `server` in Lore's home]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Server options")]
    pub(super) data: Option<PathBuf>,
    #[command(flatten)]
    pub(super) connect: ConnectArgs,
    #[command(flatten)]
    pub(super) name: NameArgs,
}

impl ServerArgs {
    /// The options with which another command is about the same server, each after a blank.
    pub(super) fn repeated(&self) -> String {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let given = [
            ("--data", self.data.as_ref().map(path)),
            ("--url", self.url.clone()),
            ("--ca-file", self.connect.ca_file.as_ref().map(path)),
            ("--token-env", self.name.token_env.clone()),
        ];
        let mut text = String::new();
        for (option, value) in given {
            if let Some(value) = value {
                text.extend([" ", option, " ", &ui::shell_word(&value)]);
            }
        }
        if self.connect.insecure {
            text.push_str(" --insecure");
        }
        text
    }
}

/// The logins of this user.
pub(super) fn logins(context: &Context<'_>) -> Logins {
    Logins::new(&context.loaded.home, || SystemClock.now())
}

/// The server that is meant: the one named, or the only one with a login.
pub(super) fn server_url(
    context: &Context<'_>,
    given: Option<&str>,
    connect: &ConnectArgs,
) -> Result<ServerUrl, Failure> {
    let logins = logins(context).list()?;
    let Some(given) = given else { return only(&logins) };
    if connect.insecure {
        return ServerUrl::parse(given, PlainHttp::Allowed);
    }
    ServerUrl::parse(given, PlainHttp::ThisMachineOnly).or_else(|failure| {
        // Whoever has logged in there has allowed it then.
        let url = ServerUrl::parse(given, PlainHttp::Allowed)
            .map_err(|_| ())
            .ok()
            .filter(|url| logins.iter().any(|login| login.url().is_ok_and(|other| other == *url)));
        url.ok_or(failure)
    })
}

fn only(logins: &[Login]) -> Result<ServerUrl, Failure> {
    match logins {
        [login] => login.url(),
        [] => Err(Failure::new(Code::InvalidArgument, "no server is named, and you are logged in at none")
            .hint("name one, or log in once: `lore login URL`")),
        several => {
            let urls: Vec<String> = several.iter().filter_map(|login| Some(login.url().ok()?.to_string())).collect();
            Err(Failure::new(Code::InvalidArgument, "no server is named, and you are logged in at several")
                .hint(format!("give `--url` with one of {}", urls.join(", "))))
        }
    }
}

/// The way to a server: with the certificates that were named now, or at the login.
pub(super) fn connection(context: &Context<'_>, url: &ServerUrl, connect: &ConnectArgs) -> Result<Connection, Failure> {
    let kept = logins(context).find(url)?.and_then(|login| login.ca_file);
    let ca_file = connect.ca_file.clone().or(kept);
    Connection::new(&ConnectionOptions { url: url.clone(), ca_file })
}

/// In whose name a server is asked: the token of the variable that is named, else the login there, else `LORE_TOKEN`.
///
/// A login belongs to one server. The variable names none: where there is a login, its token may be for another server, which
/// this one need not see.
pub(super) fn authority(context: &Context<'_>, connection: &Connection, name: &NameArgs) -> Result<Authority, Failure> {
    let logins = logins(context);
    let token = match &name.token_env {
        Some(variable) => Some(environment::variable(variable).ok_or_else(|| {
            Failure::new(Code::Unauthenticated, format!("the variable {variable} is not set"))
                .hint("put a personal token into it; `lore tokens create NAME` makes one")
        })?),
        None if logins.find(connection.url())?.is_some_and(|login| is_good(&login)) => None,
        None => environment::variable(TOKEN_VARIABLE),
    };
    Ok(match token {
        Some(token) => Authority::Token(Secret::new(token.trim())),
        None => Authority::kept(logins, connection.clone()),
    })
}

/// Whether a login may still be renewed, as far as can be told from here.
fn is_good(login: &Login) -> bool {
    login.tokens.refresh_expires_at.is_none_or(|end| end > SystemClock.now())
}
