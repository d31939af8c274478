//! `lore server`: answers a whole team over HTTP.

use std::{
    fs::File,
    io::IsTerminal as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use lore_core::{Cancel, SystemClock};
use lore_git::RemotePolicy;
use lore_mcp::{Server, ServerText, SessionLimits, Sessions};
use lore_model::{Code, Failure, Signal, closest};
use lore_server::{App, Bound, Limits, McpSetup, Network, ServerOptions, ServerSetup, TlsFiles};
use lore_store::JobLimits;
use lore_team::{Team, TeamSettings};
use lore_tools::{Context as ToolContext, Toolset};

use super::Context;
use crate::{
    config::Loaded,
    instructions::server_instructions,
    policy::Allowed,
    quiet::spawn_quiet,
    runtime,
    wire::{self, TeamOptions},
};

/// The toolsets that a server can offer: those that are about repositories. The others are about somebody's own machine.
const TOOLSETS: [Toolset; 6] =
    [Toolset::Code, Toolset::Repos, Toolset::Insight, Toolset::Admin, Toolset::History, Toolset::Why];

/// Where the password of the first user is left, where nobody sees what is printed.
const FIRST_PASSWORD: &str = "first-admin-password";

/// How long a server that is ending may keep its folder, and how often it is looked whether it still does.
const LEAVING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// How long jobs that are under way may take to stop.
const STOPPING: Duration = Duration::from_secs(10);

/// Answer a whole team over HTTP
///
/// One server keeps the repositories and their index; agents ask it over MCP at `/mcp`, each user with a token of their own.
/// At the first start it makes the user `admin` and prints the password once, or leaves it in a file where standard error is
/// no terminal. It listens on this machine alone unless you say
/// otherwise; for other machines, give it a certificate or put it behind a proxy that has one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// The folder of the server: its index, its clones, its users [default: `server` in Lore's home]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A name that clients reach it by, such as `lore.example` (repeatable; `localhost` and the address work anyway)
    #[arg(long = "host", value_name = "NAME", value_delimiter = ',')]
    hosts: Vec<String>,
    /// A web page that may use it, such as `https://app.example` (repeatable)
    #[arg(long = "origin", value_name = "URL", value_delimiter = ',')]
    origins: Vec<String>,
    /// A proxy that says truly for whom it asks: an address, or a network such as `10.0.0.0/8` (repeatable)
    #[arg(long = "trusted-proxy", value_name = "CIDR", value_delimiter = ',')]
    trusted_proxies: Vec<Network>,
    /// The certificate for TLS, with those that vouch for it, in PEM; it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// An authorization server that MCP clients are told about (RFC 9728)
    #[arg(long, value_name = "URL")]
    oauth_issuer: Option<String>,
    /// How clients reach it, where a proxy stands in between: `https://lore.example`
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Toolsets to offer, separated by commas [default: code, repos, insight, admin, history, why]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    toolsets: Vec<String>,
    /// A folder beneath which repositories of this machine may be cloned (repeatable)
    #[arg(long = "allow-local", value_name = "DIR", value_delimiter = ',', help_heading = "What may be cloned")]
    allow_local: Vec<PathBuf>,
    /// A host or network that may be cloned from although it is not public: `git.intern`, `10.0.0.0/8` (repeatable)
    #[arg(long = "allow-host", value_name = "HOST", value_delimiter = ',', help_heading = "What may be cloned")]
    allow_hosts: Vec<String>,
    /// Allow cloning over plain http
    #[arg(long, help_heading = "What may be cloned")]
    allow_http: bool,
    /// A file of git configuration for clones: credentials, certificates [default: none]
    #[arg(long, value_name = "FILE", help_heading = "What may be cloned")]
    git_config: Option<PathBuf>,
    /// Give up a repository whose clone gets larger than this, in GiB
    #[arg(long, value_name = "GIB", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=100_000), help_heading = "What may be cloned")]
    max_clone: u64,
    /// Jobs that run side by side
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Jobs of one user that run side by side [default: all but one, so that a place is left for the others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs_per_user: Option<u32>,
    /// Calls of tools that run at a time [default: four for each core, and at least 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    workers: Option<u32>,
    /// Calls of one user that run at a time [default: a quarter of the workers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    workers_per_user: Option<u32>,
    /// Connections that are served at a time; fewer where the system does not allow as many open files
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
}

impl Args {
    /// From now on everything is about the server's own folder.
    pub(super) fn take_data(&self, loaded: &mut Loaded) {
        let folder = self.data.clone().unwrap_or_else(|| wire::server_folder(&loaded.home));
        loaded.home = std::path::absolute(&folder).unwrap_or(folder);
    }

    /// What the server clones: what is public, and what is allowed here.
    fn allowed(&self) -> Allowed {
        Allowed {
            local: self.allow_local.clone(),
            hosts: self.allow_hosts.clone(),
            http: self.allow_http,
            git_config: self.git_config.clone(),
        }
    }

    fn session_limits(&self) -> SessionLimits {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let usual = SessionLimits::default();
        SessionLimits {
            working: self.workers.map_or(usual.working, count),
            working_per_user: self.workers_per_user.map(count),
            ..usual
        }
    }

    fn options(&self) -> ServerOptions {
        let connections = usize::try_from(self.connections).unwrap_or(usize::MAX).min(files().saturating_sub(RESERVE));
        let connections = connections.max(1);
        // Nobody alone can take all of them.
        let limits = Limits { connections, per_address: connections.div_ceil(4), ..Limits::default() };
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        ServerOptions {
            listen: self.listen,
            hosts: self.hosts.clone(),
            origins: self.origins.clone(),
            trusted_proxies: self.trusted_proxies.clone(),
            tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
            oauth_issuer: self.oauth_issuer.clone(),
            public_url: self.public_url.clone(),
            limits,
        }
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let toolsets = toolsets(&args.toolsets)?;
    let options = args.options();
    let allowed = args.allowed();
    let policy = allowed.policy()?;
    if options.limits.connections < usize::try_from(args.connections).unwrap_or(usize::MAX) {
        let (served, asked) = (options.limits.connections, args.connections);
        context.ui.warn(&format!(
            "{served} connections are served and not {asked}: the system allows no more open files (`ulimit -Hn`)"
        ));
    }
    let data = &context.loaded.home;
    let _lock = take_data(context, data)?;
    runtime::block_on(serve(context, args, &toolsets, options, policy))?
}

async fn serve(
    context: &Context<'_>,
    args: &Args,
    toolsets: &[Toolset],
    options: ServerOptions,
    policy: RemotePolicy,
) -> Result<(), Failure> {
    let (data, allowed) = (&context.loaded.home, args.allowed());
    // From here on nobody has to kill it.
    let signal = runtime::shutdown_signal();
    let fetch_bytes = Some(args.max_clone << 30);
    let settings =
        TeamSettings { limits: limits(args.jobs, args.jobs_per_user), fetch_bytes, ..TeamSettings::default() };
    let team = wire::team(&context.loaded, data, TeamOptions { policy, settings });
    team.recover()?;
    let is_open = options.is_open();
    let mcp = mcp(&team, toolsets, args.session_limits());
    let app = App::new(ServerSetup { team: Arc::clone(&team), clock: Arc::new(SystemClock), mcp, options })?;
    // Where the address is taken or the certificate cannot be read, nothing has been made yet.
    let bound = Bound::open(Arc::clone(&app)).await?;
    // Commands that do jobs in this folder while no server runs keep to it.
    allowed.keep(data)?;
    if let Some((name, password)) = team.bootstrap()? {
        tell_first(context, data, name.as_str(), &password)?;
    }
    match team.read_again() {
        Ok((0, _)) => {}
        Ok((missing, of)) => context.ui.warn(&format!(
            "{missing} of {of} golden repositories have no index, as after a restore: they are read again, and until then \
             /readyz answers 503"
        )),
        // What is wrong with the index keeps the server from being ready, and not from starting.
        Err(failure) => tracing::error!(%failure, "golden repositories without an index cannot be found"),
    }
    if is_open {
        context.ui.warn("other machines can reach the server, which does not encrypt: give it `--tls-cert` and `--tls-key`, or see to it that only your proxy can reach it");
    }
    let provider = context.loaded.config.embedding_provider.trim();
    if !matches!(provider, "" | "local") {
        context.ui.warn(&format!(
            "a team server answers with the built-in model: `embedding_provider = \"{provider}\"` is not used"
        ));
    }
    context.ui.tell(&format!("lore server is listening on {}", bound.url()));
    lore_store::serve_several_users();
    let cancel = Cancel::default();
    let ended = Signal::default();
    spawn_quiet({
        let (team, cancel, ended) = (Arc::clone(&team), cancel.clone(), ended.clone());
        move || {
            app.supervise(|| do_jobs(&team, &cancel), &cancel);
            ended.notify();
        }
    })
    .map_err(|error| Failure::new(Code::Internal, format!("the thread of jobs did not start: {error}")))?;
    let stopping = async {
        signal.await;
        // Jobs stop while requests finish.
        cancel.cancel();
    };
    bound.serve(stopping).await;
    let in_time = ended.wait(0, Some(STOPPING), &Cancel::default()) > 0;
    tracing::info!(in_time, "the server stopped");
    Ok(())
}

/// Takes the server's folder, where it is not free at once after a moment.
///
/// A server that was killed may have it for a little longer than it lives: until the system has taken away all that was its own,
/// and until a program that it was just starting runs, which has its files up to then.
fn take_data(context: &Context<'_>, data: &Path) -> Result<File, Failure> {
    let mut lock = wire::lock_data(data)?;
    let until = Instant::now() + LEAVING;
    if lock.is_none() {
        let seconds = LEAVING.as_secs();
        context
            .ui
            .tell(&format!("another process has the folder {}: waiting up to {seconds} s for its end", data.display()));
    }
    while lock.is_none() && Instant::now() < until {
        Cancel::default().sleep(LOOK);
        lock = wire::lock_data(data)?;
    }
    lock.ok_or_else(|| {
        Failure::new(Code::Busy, format!("another server has the folder {}", data.display()))
            .hint("stop it, or choose another folder with `--data DIR`")
    })
}

/// Tells whoever started the server how to get in: once, and never into a log.
fn tell_first(context: &Context<'_>, data: &Path, name: &str, password: &str) -> Result<(), Failure> {
    if std::io::stderr().is_terminal() {
        context.ui.tell(&format!("the first user is `{name}` with the password {password}"));
        context.ui.tell("it is not shown again; change it with `lore login URL` and `lore password`");
        return Ok(());
    }
    let file = data.join(FIRST_PASSWORD);
    crate::private::write(&file, format!("{password}\n").as_bytes()).map_err(|failure| {
        let hint = format!("`lore users set-password {name} --data {}` gives it another password", data.display());
        Failure::new(failure.code, format!("the password of the first user is lost: {}", failure.message)).hint(hint)
    })?;
    context.ui.tell(&format!("the first user is `{name}`, and its password is in {}", file.display()));
    context
        .ui
        .tell("change it with `lore login URL` and `lore password`, then remove the file: nothing reads it again");
    Ok(())
}

/// Does jobs until it is cancelled. What an attempt before this one has begun is taken up.
fn do_jobs(team: &Arc<Team>, cancel: &Cancel) {
    if let Err(failure) = team.recover() {
        tracing::error!(%failure, "jobs that were begun cannot be taken up");
    }
    team.run(cancel);
}

/// Files that are open besides connections: the index, clones, git.
const RESERVE: usize = 256;

/// How many files may be open, after having asked for as many as the system gives.
#[cfg(unix)]
fn files() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return usize::MAX };
    let most = if soft < hard {
        match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
            Ok(()) => hard,
            Err(error) => {
                tracing::warn!(%error, soft, "the number of open files cannot be raised");
                soft
            }
        }
    } else {
        soft
    };
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// How many files may be open: nobody says.
#[cfg(not(unix))]
fn files() -> usize {
    usize::MAX
}

fn limits(jobs: u32, per_user: Option<u32>) -> JobLimits {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    JobLimits::new(count(jobs), per_user.map(count))
}

/// The MCP servers: all toolsets together, and each by itself.
fn mcp(team: &Arc<Team>, toolsets: &[Toolset], limits: SessionLimits) -> McpSetup {
    let tools = ToolContext::for_team(Arc::clone(team));
    let server = |sets: &[Toolset]| {
        let text =
            ServerText { version: env!("CARGO_PKG_VERSION").to_owned(), instructions: server_instructions(sets) };
        Server::new(lore_tools::server_tools(sets), &tools, text)
    };
    McpSetup {
        all: server(toolsets),
        toolsets: toolsets.iter().map(|set| (set.name().to_owned(), server(&[*set]))).collect(),
        sessions: Sessions::new(limits),
    }
}

/// The toolsets of these names; all that a server has where none is named.
fn toolsets(names: &[String]) -> Result<Vec<Toolset>, Failure> {
    if names.is_empty() {
        return Ok(TOOLSETS.to_vec());
    }
    let known = TOOLSETS.map(Toolset::name);
    names
        .iter()
        .map(|name| {
            TOOLSETS.into_iter().find(|set| set.name() == name).ok_or_else(|| {
                let meant = closest(name, known).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
                Failure::new(Code::InvalidArgument, format!("a server has no toolset `{name}`"))
                    .hint(format!("{meant}the toolsets are: {}", known.join(", ")))
            })
        })
        .collect()
}
