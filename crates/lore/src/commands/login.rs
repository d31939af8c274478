//! `lore login`: keeps who you are at a server.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use lore_core::{Clock as _, SystemClock};
use lore_model::{Code, Failure, UserName};
use lore_remote::{Authority, Client, Connection, ConnectionOptions, Login, Tokens};
use serde_json::json;

use super::{
    Context,
    password::PasswordArgs,
    remote::{self, ConnectArgs},
};

/// Log in at a team server
///
/// Asks for name and password and keeps what the server gives for them, in a file that only you can read. The commands for
/// servers and the bridge use it from then on, and renew it as long as they are used.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore login https://lore.example.com\n  lore login https://lore.example.com --username ada --password-stdin < password"
)]
pub(crate) struct Args {
    /// The server
    #[arg(value_name = "URL")]
    url: String,
    /// Your name there
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    #[command(flatten)]
    password: PasswordArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let url = remote::server_url(context, Some(&args.url), &args.connect)?;
    let name = match args.username {
        Some(name) => name,
        None => asked_name()?,
    };
    let name = UserName::parse(&name).map_err(|what| Failure::new(Code::InvalidArgument, what))?;
    let password = args.password.existing(&format!("Password of {name} at {url}: "))?;
    let logins = remote::logins(context);
    let earlier = logins.find(&url)?;
    let given = args.connect.ca_file.map(|file| std::path::absolute(&file).unwrap_or(file));
    // What was said once counts until something else is said.
    let ca_file = given.or_else(|| earlier.as_ref().and_then(|login| login.ca_file.clone()));
    let connection = Connection::new(&ConnectionOptions { url: url.clone(), ca_file: ca_file.clone() })?;
    let log_in = || {
        let issued = Client::login(&connection, name.as_str(), &password)?;
        let user = issued.user.clone();
        let tokens = Tokens::new(issued, SystemClock.now());
        logins.put(Login::new(connection.url(), &user.username, ca_file, tokens))?;
        if let Some(earlier) = earlier {
            // It is of no use to anybody any more. Where it is over already, that is what was wanted.
            let client = Client::new(connection, Authority::Token(earlier.tokens.access_token));
            drop(client.logout(Some(&earlier.tokens.refresh_token)));
        }
        Ok::<_, Failure>(user)
    };
    let user = log_in()?;
    if context.ui.is_json() {
        return context.ui.value(&json!({"url": url.as_str(), "username": user.username, "role": user.role}));
    }
    context.ui.line(&format!("logged in at {url} as {} ({})", user.username, user.role))
}

fn asked_name() -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Code::InvalidArgument, "there is no terminal to ask for your name on")
            .hint("give it with `--username NAME`"));
    }
    let read = || -> io::Result<String> {
        let mut terminal = io::stderr().lock();
        write!(terminal, "Username: ")?;
        terminal.flush()?;
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        Ok(line.trim().to_owned())
    };
    read().map_err(|error| Failure::new(Code::InvalidArgument, format!("your name cannot be read: {error}")))
}
