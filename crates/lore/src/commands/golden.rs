//! `lore golden`: the repositories that a team server keeps for everybody.

use clap::Subcommand;
use lore_model::{Code, Failure, parse_interval};
use lore_remote::{GoldenChange, NewGolden, RefreshEvery};
use serde_json::json;

use super::{
    Context,
    administration::{self, Administration, Named, Removal},
    jobs::{self, WaitArgs},
    remote::ServerArgs,
    table::{self, or_dash},
};

/// Decide which repositories a team server keeps
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore golden list --url https://lore.example.com\n  lore golden add https://git.example.com/shop.git shop --refresh-every 6h\n  lore golden set shop --temporal\n  lore golden refresh shop --wait\n  lore golden remove shop --force"
)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List them
    List,
    /// Let the server keep a repository
    Add {
        /// Where it comes from
        #[arg(value_name = "REPO-URL")]
        from: String,
        /// What it will be called
        #[arg(value_name = "ALIAS")]
        alias: String,
        /// Its branch [default: the repository's own]
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// Keep its former versions too
        #[arg(long)]
        temporal: bool,
        /// Bring it up to date by itself: 30m, 6h, 1d
        #[arg(long, value_name = "TIME", value_parser = seconds)]
        refresh_every: Option<u64>,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Change how a repository is kept
    Set {
        /// What it is called
        #[arg(value_name = "ALIAS")]
        alias: String,
        /// Bring it up to date by itself: 30m, 6h, 1d
        #[arg(long, value_name = "TIME", value_parser = seconds, conflicts_with = "no_refresh")]
        refresh_every: Option<u64>,
        /// Bring it up to date only when somebody asks for it
        #[arg(long)]
        no_refresh: bool,
        /// Keep its former versions too
        #[arg(long, conflicts_with = "no_temporal")]
        temporal: bool,
        /// Keep its former versions no longer
        #[arg(long)]
        no_temporal: bool,
        /// The branch that counts as its main one; '' for the remote's own choice
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Bring a repository up to date
    Refresh {
        /// What it is called
        #[arg(value_name = "ALIAS")]
        alias: String,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Let the server keep a repository no longer
    Remove {
        /// What it is called
        #[arg(value_name = "ALIAS")]
        alias: String,
        /// Even if somebody has activated it
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        wait: WaitArgs,
    },
}

/// `90`, `30m`, `6h`, `1d` in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let whole = parse_interval(text).and_then(|seconds| u64::try_from(seconds).ok());
    whole.filter(|seconds| *seconds > 0).ok_or_else(|| "use a time like 30m, 6h or 1d".to_owned())
}

/// Seconds as people write them.
fn shown(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let fitting = units.into_iter().find(|(each, _)| seconds >= *each && seconds.is_multiple_of(*each));
    fitting.map_or_else(|| format!("{seconds}s"), |(each, unit)| format!("{}{unit}", seconds / each))
}

/// What is administered. Which repository is meant decides what may be cloned where the data is on this machine.
fn open(context: &Context<'_>, args: &Args) -> Result<Box<dyn Administration>, Failure> {
    let named = match &args.action {
        Action::Add { from, .. } => Named::From(from),
        Action::Set { alias, .. } | Action::Refresh { alias, .. } => Named::Alias(alias),
        Action::List | Action::Remove { .. } => return administration::open(context, &args.server),
    };
    administration::open_for(context, &args.server, named)
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let there = open(context, &args)?;
    let ui = context.ui;
    let (started, wait) = match args.action {
        Action::List => {
            let golden = there.golden()?;
            if ui.is_json() {
                return ui.value(&json!({"repositories": golden.entries, "total": golden.total}));
            }
            let rows: Vec<Vec<String>> = golden
                .entries
                .iter()
                .map(|repo| {
                    let every = repo.refresh_every.map_or_else(|| "-".to_owned(), shown);
                    let temporal = if repo.enable_temporal { "yes" } else { "no" }.to_owned();
                    let (branch, from) = (or_dash(repo.default_branch.as_deref()), or_dash(repo.repo_url.as_deref()));
                    let state = or_dash(repo.more.get("state").and_then(|state| state.as_str()));
                    vec![repo.alias.clone(), branch, state, temporal, every, from]
                })
                .collect();
            let none = "the server keeps no repository; `lore golden add REPO-URL ALIAS` adds one";
            table::show(ui, &["alias", "branch", "state", "temporal", "refresh", "from"], &rows, none)?;
            table::note_rest(ui, rows.len(), golden.total, None);
            return Ok(());
        }
        Action::Add { from, alias, branch, temporal, refresh_every, wait } => {
            let refresh_every = refresh_every.map(RefreshEvery::Seconds);
            let new = NewGolden { url: from, alias, branch, temporal, refresh_every };
            (there.add_golden(&new)?, wait)
        }
        Action::Set { alias, refresh_every, no_refresh, temporal, no_temporal, branch, wait } => {
            let refresh_every =
                refresh_every.map(RefreshEvery::Seconds).or_else(|| no_refresh.then_some(RefreshEvery::Never));
            let temporal = temporal.then_some(true).or_else(|| no_temporal.then_some(false));
            let change = GoldenChange { refresh_every, temporal, branch };
            if change == GoldenChange::default() {
                return Err(Failure::new(Code::InvalidArgument, "nothing is to change").hint(
                    "give `--refresh-every TIME`, `--no-refresh`, `--temporal`, `--no-temporal` or `--branch NAME`",
                ));
            }
            (there.set_golden(&alias, change)?, wait)
        }
        Action::Refresh { alias, wait } => (there.refresh_golden(&alias)?, wait),
        Action::Remove { alias, force, wait } => {
            let removal = if force { Removal::Forced } else { Removal::IfUnused };
            (there.remove_golden(&alias, removal)?, wait)
        }
    };
    jobs::report(context, there.as_ref(), &started, wait, &args.server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, expected) in [("90", 90), ("30m", 1800), ("6h", 21_600), ("1d", 86_400), ("2w", 1_209_600)] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for bad in ["", "0", "h", "6 h", "-1h", "99999999999999999999d", "6months"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!([90, 1800, 21_600, 86_400].map(shown), ["90s", "30m", "6h", "1d"]);
    }
}
