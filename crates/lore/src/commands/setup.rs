//! `lore setup`: registers Lore in the configuration of an agent's host, and gives lazygit its key.

use lore_model::{Code, Failure};
use serde_json::json;

use super::{
    Context,
    remote::{self, ConnectArgs},
};
use crate::{
    config::DEFAULT_HOME,
    environment,
    setup::{self, Change, Host, Os, Place, Registration, STAND_INS, Scope, Snippet, TeamServer, lazygit},
    ui::{DIM, GREEN, RED},
};

/// Let an agent's host start Lore
///
/// Writes one entry into the host's own configuration file, shows the change and keeps everything else in that file.
/// Hosts: claude-code, claude-desktop, cursor, zed, vscode, codex.
/// With `--server` the host asks a team server: by itself where it can, else by `lore bridge`.
/// `lore setup lazygit` gives lazygit a key for comments: `lore comment` keeps them for the agent.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore setup claude-code\n  lore setup cursor --project\n  lore setup claude-desktop --as commitmux\n  lore setup zed --print\n  lore setup claude-code --undo\n  lore setup claude-code --server https://lore.example.com\n  lore setup zed --server https://lore.example.com --toolset code\n  lore setup lazygit --key '<c-k>'"
)]
pub(crate) struct Args {
    /// The host
    #[arg(value_name = "HOST", value_parser = host_names())]
    host: String,
    /// Stand in for this old server, under its name and with its tools alone
    #[arg(long = "as", value_name = "NAME", value_parser = STAND_INS.map(|(name, _)| name))]
    stand_in: Option<String>,
    /// Write the project's file instead of your own
    #[arg(long)]
    project: bool,
    /// Only print what to paste where
    #[arg(long, conflicts_with = "undo")]
    print: bool,
    /// Take the entry out again and restore what was there
    #[arg(long)]
    undo: bool,
    /// Ask this team server instead of the index on this machine
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Only the tools of this toolset of the server
    #[arg(long, value_name = "NAME", requires = "server")]
    toolset: Option<String>,
    /// Ask the server by `lore bridge`, with your login, even if the host could itself
    #[arg(long, requires = "server")]
    bridge: bool,
    #[command(flatten)]
    connect: ConnectArgs,
    /// The key in lazygit; by default Ctrl-Y, or the one it has
    #[arg(long, value_name = "KEY", conflicts_with = "undo")]
    key: Option<String>,
}

fn host_names() -> Vec<&'static str> {
    Host::ALL.iter().map(|host| host.name()).chain([lazygit::NAME]).collect()
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    if args.host == lazygit::NAME {
        return run_lazygit(context, args);
    }
    if args.key.is_some() {
        return Err(does_not_apply("--key", &args.host));
    }
    let host = Host::parse(&args.host)?;
    let scope = if args.project { Scope::Project } else { Scope::User };
    let place = place(context)?;
    let executable = environment::executable();
    let mut registration = match &args.stand_in {
        Some(name) => Registration::standing_in(name, executable)?,
        None => Registration::lore(executable),
    };
    let team = args.server.as_deref().map(|url| team_server(context, args, url)).transpose()?;
    if let Some((server, needs_bridge)) = &team {
        registration = registration.of_server(server, host.asks_by_itself() && !args.bridge && !needs_bridge);
    }
    // The host does not have this shell's variables.
    if registration.address.is_none() && context.loaded.home_source != DEFAULT_HOME {
        registration.args.extend(["--home".to_owned(), context.loaded.home.to_string_lossy().into_owned()]);
    }
    if args.print {
        return print(context, args, &setup::snippet(host, scope, &place, &registration)?);
    }
    let change = if args.undo {
        setup::plan_undo(host, scope, &place, &registration.name)?
    } else {
        setup::plan(host, scope, &place, &registration)?
    };
    let done = match (args.undo, &registration.address) {
        (true, _) => "no longer starts Lore",
        (false, Some(_)) => "will ask the server",
        (false, None) => "will start Lore",
    };
    make(context, args, &change, &format!("{} {done}", host.title()))
}

/// The server that is meant, and whether only the bridge can reach it.
fn team_server(context: &Context<'_>, args: &Args, url: &str) -> Result<(TeamServer, bool), Failure> {
    let url = remote::server_url(context, Some(url), &args.connect)?;
    // The server offers a toolset or all; who stands in for a server of several toolsets asks for all.
    let stand_in = STAND_INS.iter().find(|(name, _)| args.stand_in.as_deref() == Some(name));
    let toolset = args
        .toolset
        .clone()
        .or_else(|| stand_in.map(|(_, toolsets)| (*toolsets).to_owned()).filter(|toolsets| !toolsets.contains(',')));
    let ca_file = args.connect.ca_file.as_ref().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    let mut options = Vec::new();
    if let Some(file) = &ca_file {
        options.extend(["--ca-file".to_owned(), file.to_string_lossy().into_owned()]);
    }
    if args.connect.insecure {
        options.push("--insecure".to_owned());
    }
    let endpoint = url.mcp(toolset.as_deref())?;
    // A host does not know an authority that is named here, or was named at the login, where the bridge finds it.
    let kept = remote::logins(context).find(&url)?.and_then(|login| login.ca_file);
    Ok((TeamServer { url: url.to_string(), endpoint, toolset, options }, ca_file.or(kept).is_some()))
}

fn run_lazygit(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    if args.server.is_some() {
        return Err(does_not_apply("--server", lazygit::NAME));
    }
    if args.stand_in.is_some() {
        return Err(does_not_apply("--as", lazygit::NAME));
    }
    if args.project {
        return Err(does_not_apply("--project", lazygit::NAME));
    }
    let place = place(context)?;
    let key = args.key.as_deref();
    // lazygit does not have this shell's variables.
    let home = (context.loaded.home_source != DEFAULT_HOME).then_some(context.loaded.home.as_path());
    let commenter = lazygit::Commenter::new(&environment::executable(), home)?;
    if args.print {
        return print(context, args, &lazygit::snippet(&place, &commenter, key)?);
    }
    let change = if args.undo { lazygit::plan_undo(&place)? } else { lazygit::plan(&place, &commenter, key)? };
    let done = if args.undo { "no longer has a key for comments" } else { "has a key for comments" };
    make(context, args, &change, &format!("lazygit {done}"))
}

fn does_not_apply(option: &str, host: &str) -> Failure {
    Failure::new(Code::InvalidArgument, format!("`{option}` does not apply to {host}"))
        .hint(format!("leave it out: `lore setup {host}`"))
}

/// Shows what to paste where.
fn print(context: &Context<'_>, args: &Args, snippet: &Snippet) -> Result<(), Failure> {
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({"host": args.host, "file": snippet.file.to_string_lossy(), "text": snippet.text}));
    }
    ui.note(&format!("put this into {}:", snippet.file.display()));
    ui.bytes(snippet.text.as_bytes())
}

/// Makes the change and shows it.
fn make(context: &Context<'_>, args: &Args, change: &Change, done: &str) -> Result<(), Failure> {
    let ui = context.ui;
    setup::apply(change)?;
    if ui.is_json() {
        return ui.value(&json!({
            "host": args.host, "file": change.file.to_string_lossy(), "changed": !change.is_noop(), "diff": change.diff(), "notes": change.notes,
        }));
    }
    if change.is_noop() {
        let state = if args.undo { "holds no entry of Lore's" } else { "already has this entry" };
        ui.line(&format!("{} {state}; nothing was changed", change.file.display()))?;
    } else {
        for line in change.diff().lines() {
            let painted = match line.as_bytes().first() {
                Some(b'+') => ui.paint(GREEN, line),
                Some(b'-') => ui.paint(RED, line),
                _ => ui.paint(DIM, line),
            };
            ui.line(&painted)?;
        }
        ui.line(done)?;
    }
    for note in &change.notes {
        ui.note(&format!("note: {note}"));
    }
    Ok(())
}

/// The root of the repository the user stands in, or the folder itself.
fn project_root() -> std::path::PathBuf {
    let here = environment::working_directory();
    lore_git::Repository::discover(&here).map_or(here, |repository| repository.path().to_owned())
}

/// Where the hosts keep their files.
pub(super) fn place(context: &Context<'_>) -> Result<Place, Failure> {
    let home = environment::home()
        .ok_or_else(|| Failure::new(Code::InvalidConfig, "there is no home directory").hint("set HOME"))?;
    Ok(Place {
        home,
        config_home: environment::folder("XDG_CONFIG_HOME"),
        app_data: environment::folder("APPDATA"),
        local_app_data: environment::folder("LOCALAPPDATA"),
        claude_config_dir: environment::folder("CLAUDE_CONFIG_DIR"),
        codex_home: environment::folder("CODEX_HOME"),
        lazygit: lazygit::Variables {
            files: environment::folder("LG_CONFIG_FILE"),
            folder: environment::folder("CONFIG_DIR"),
            shared: environment::folder("XDG_CONFIG_DIRS"),
        },
        project: project_root(),
        state_dir: context.loaded.home.join("setup"),
        os: Os::HERE,
    })
}
