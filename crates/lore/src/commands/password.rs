//! `lore password`, and how any command gets a password: typed without echo, or from standard input; never as an argument,
//! which other users of a machine can see.

use std::io::{self, IsTerminal as _, Read as _};

use lore_core::{Clock as _, SystemClock};
use lore_model::{Code, Failure};
use lore_remote::{Client, Connection, Login, Logins, Secret, Tokens, User};
use serde_json::json;

use super::{
    Context,
    remote::{self, ConnectArgs, NameArgs},
};

/// A longer password is none.
const LONGEST: u64 = 4096;

/// Change your password at a team server
///
/// Asks for the password that you have and for another one. Your logins end everywhere; the one here is begun anew. Personal
/// tokens stay good.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore password\n  lore password --url https://lore.example.com\n  printf '%s\\n' \"$OLD\" \"$NEW\" | lore password --password-stdin"
)]
pub(crate) struct Args {
    /// The server [default: the only one that you are logged in at]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Read both from standard input instead of asking for them: two lines, the one that you have first
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(flatten)]
    name: NameArgs,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let url = remote::server_url(context, args.url.as_deref(), &args.connect)?;
    let connection = remote::connection(context, &url, &args.connect)?;
    let client = Client::new(connection.clone(), remote::authority(context, &connection, &args.name)?);
    let (current, new) = both(args.password_stdin, url.as_str())?;
    let logins = remote::logins(context);
    let user = client.me()?.user;
    client.change_password(&current, &new)?;
    if let Err(failure) = log_in_again(&logins, &connection, &user, &new) {
        context.ui.warn(&format!("the login here is over, and no other could be begun: {failure}"));
    }
    if context.ui.is_json() {
        return context.ui.value(&json!({"url": url.as_str(), "username": user.username}));
    }
    context.ui.line(&format!("{} has another password at {url}", user.username))
}

/// The server has ended all logins of the user: the one that is kept here is begun anew.
fn log_in_again(logins: &Logins, connection: &Connection, user: &User, password: &Secret) -> Result<(), Failure> {
    let Some(kept) = logins.find(connection.url())? else { return Ok(()) };
    if kept.username != user.username {
        return Ok(());
    }
    let issued = Client::login(connection, &user.username, password)?;
    let tokens = Tokens::new(issued, SystemClock.now());
    logins.put(Login::new(connection.url(), &user.username, kept.ca_file, tokens))
}

/// The password that somebody has and the next one.
fn both(password_stdin: bool, url: &str) -> Result<(Secret, Secret), Failure> {
    if !password_stdin {
        let current = typed(&format!("Your password at {url}: "))?;
        return Ok((current, PasswordArgs { password_stdin }.new_one("The new one: ")?));
    }
    let text = input()?;
    let mut lines = text.lines();
    let mut next = || lines.next().ok_or_else(|| Failure::new(Code::InvalidArgument, "two passwords are wanted"));
    Ok((fitting(next()?)?, fitting(next()?)?))
}

/// Where a password comes from.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct PasswordArgs {
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
}

impl PasswordArgs {
    /// The password of somebody who has one.
    pub(super) fn existing(self, prompt: &str) -> Result<Secret, Failure> {
        if self.password_stdin { from_input() } else { typed(prompt) }
    }

    /// A password that is to be: typed twice.
    pub(super) fn new_one(self, prompt: &str) -> Result<Secret, Failure> {
        if self.password_stdin {
            return from_input();
        }
        let password = typed(prompt)?;
        if typed("The same again: ")? != password {
            return Err(Failure::new(Code::InvalidArgument, "the two passwords differ").hint("try again"));
        }
        Ok(password)
    }
}

fn input() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .take(LONGEST)
        .read_to_string(&mut text)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("the password cannot be read: {error}")))?;
    Ok(text)
}

fn from_input() -> Result<Secret, Failure> {
    let text = input()?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    fitting(password.strip_suffix('\r').unwrap_or(password))
}

fn typed(prompt: &str) -> Result<Secret, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Code::InvalidArgument, "there is no terminal to ask for the password on")
            .hint("give it on standard input, with `--password-stdin`"));
    }
    let password = rpassword::prompt_password(prompt)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("the password cannot be read: {error}")))?;
    fitting(&password)
}

fn fitting(password: &str) -> Result<Secret, Failure> {
    if password.is_empty() {
        return Err(Failure::new(Code::InvalidArgument, "the password is empty"));
    }
    Ok(Secret::new(password))
}
