//! `lore logout`: ends a login, there and here.

use lore_model::{Code, Failure};
use lore_remote::{Authority, Client};
use serde_json::json;

use super::{
    Context,
    remote::{self, ConnectArgs},
};

/// Log out at a team server
///
/// Ends the login at the server and forgets it here. Personal tokens stay good: `lore tokens revoke` takes them back.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  lore logout https://lore.example.com")]
pub(crate) struct Args {
    /// The server [default: the only one that you are logged in at]
    #[arg(value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let url = remote::server_url(context, args.url.as_deref(), &args.connect)?;
    let connection = remote::connection(context, &url, &args.connect)?;
    let logins = remote::logins(context);
    if logins.find(&url)?.is_none() {
        return Err(Failure::new(Code::Unauthenticated, format!("nobody is logged in at {url}")));
    }
    let end = || {
        let authority = Authority::kept(logins.clone(), connection.clone());
        // Renewed where it must be, so that the server takes the request.
        let told = authority.bearer().and_then(|_| {
            let login = logins.find(connection.url())?;
            let token = login.map(|login| login.tokens.refresh_token);
            Client::new(connection.clone(), authority).logout(token.as_ref())
        });
        logins.remove(connection.url())?;
        Ok::<_, Failure>(told)
    };
    let told = end()?;
    if let Err(failure) = &told {
        context.ui.warn(&format!("the login is forgotten here, but the server did not end it: {failure}"));
    }
    if context.ui.is_json() {
        return context.ui.value(&json!({"url": url.as_str(), "ended": told.is_ok()}));
    }
    context.ui.line(&format!("logged out at {url}"))
}
