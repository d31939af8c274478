//! `lore bridge`: lets a host that starts programs use a team server.

use std::{
    io::{BufReader, IsTerminal as _},
    sync::mpsc,
    thread,
    time::Duration,
};

use lore_model::{Code, Failure};
use lore_remote::{Bridge, BridgeOptions};

use super::{
    Context,
    remote::{self, ConnectArgs, NameArgs},
};
use crate::runtime;

/// How long the end may take: a session is ended at the server.
const ENDING: Duration = Duration::from_secs(5);

/// Pass an agent's MCP messages on to a team server
///
/// Agents start this themselves: `lore setup HOST --server URL --bridge` tells them how. It reads JSON-RPC from standard
/// input, asks the server, and writes the answers to standard output. Log in once with `lore login URL`, or put a personal
/// token into the variable `LORE_TOKEN`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore bridge --url https://lore.example.com\n  lore bridge --url https://lore.example.com --toolset code --token-env TEAM_TOKEN"
)]
pub(crate) struct Args {
    /// The server [default: the only one that you are logged in at]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Offer the tools of this toolset alone
    #[arg(long, value_name = "NAME")]
    toolset: Option<String>,
    /// How many seconds a request waits for a word from the server
    #[arg(long, value_name = "S", default_value_t = 330, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(flatten)]
    name: NameArgs,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let url = remote::server_url(context, args.url.as_deref(), &args.connect)?;
    let connection = remote::connection(context, &url, &args.connect)?;
    let authority = remote::authority(context, &connection, &args.name)?;
    if std::io::stdin().is_terminal() {
        context.ui.note(&format!("passing MCP messages on to {url} (`lore setup HOST --server {url} --bridge` lets an agent start this); Ctrl-C ends it"));
    }
    let options = BridgeOptions { toolset: args.toolset, timeout: Duration::from_secs(args.timeout) };
    let bridge = Bridge::new(connection, authority, &options, Box::new(std::io::stdout()))?;
    let stop = bridge.stop();
    // The host may close its side, or the system may ask the program to end.
    let (sender, done) = mpsc::channel();
    let ended = sender.clone();
    thread::spawn(move || {
        // Nothing waits for it once the program was asked to end.
        drop(ended.send(Some(bridge.run(Box::new(BufReader::new(std::io::stdin()))))));
    });
    runtime::on_shutdown(move || drop(sender.send(None)));
    let failed = || Err(Failure::new(Code::Internal, "the bridge ended by itself"));
    match done.recv() {
        Ok(Some(done)) => done,
        Err(_) => failed(),
        Ok(None) => {
            stop.stop();
            let in_time = done.recv_timeout(ENDING).is_ok();
            tracing::debug!(in_time, "the bridge stopped");
            Ok(())
        }
    }
}
