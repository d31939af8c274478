//! `lore tokens`: personal tokens, for hosts and programs.

use clap::Subcommand;
use lore_model::{Code, Failure, UserName};
use serde_json::json;

use super::{
    Context,
    administration::{self, Whose},
    remote::{ServerArgs, TOKEN_VARIABLE},
    table::{self, or_dash},
};

/// Make and revoke personal tokens for a team server
///
/// A personal token lets a host or a program in under your name until you revoke it. It is shown once, when it is made.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore tokens create laptop --expires-in-days 90 --url https://lore.example.com\n  lore tokens list\n  lore tokens revoke 3"
)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List your tokens
    List {
        /// Everybody's
        #[arg(long, conflicts_with = "user")]
        all: bool,
        /// That user's, with `--data`
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// Make a token and show it, once
    Create {
        /// What you call it
        #[arg(value_name = "NAME")]
        label: String,
        /// How long it is good [default: until it is revoked]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        expires_in_days: Option<u32>,
        /// For that user, with `--data`
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// Take a token back
    Revoke {
        /// Its id, as `lore tokens list` shows it
        #[arg(value_name = "ID")]
        id: String,
    },
}

fn whose(user: Option<&str>) -> Result<Whose, Failure> {
    user.map_or(Ok(Whose::Own), |name| {
        UserName::parse(name).map(Whose::Of).map_err(|what| Failure::new(Code::InvalidArgument, what))
    })
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let there = administration::open(context, &args.server)?;
    let ui = context.ui;
    match args.action {
        Action::List { all, user } => {
            let whose = if all { Whose::Everybodys } else { whose(user.as_deref())? };
            let tokens = there.tokens(&whose)?;
            if ui.is_json() {
                return ui.value(&json!({"tokens": tokens.entries, "total": tokens.total}));
            }
            let rows: Vec<Vec<String>> = tokens
                .entries
                .iter()
                .map(|token| {
                    let known = |text: &Option<String>| or_dash(text.as_deref());
                    let ends = token.expires_at.clone().unwrap_or_else(|| "never".to_owned());
                    let owner = known(&token.username);
                    vec![token.id.clone(), token.name.clone(), owner, known(&token.last_used_at), ends]
                })
                .collect();
            table::show(ui, &["id", "name", "of", "last used", "ends"], &rows, "there are no tokens")?;
            table::note_rest(ui, rows.len(), tokens.total, None);
            Ok(())
        }
        Action::Create { label, expires_in_days, user } => {
            let made = there.create_token(&whose(user.as_deref())?, &label, expires_in_days)?;
            if ui.is_json() {
                let token = made.token.expose();
                return ui
                    .value(&json!({"token": token, "id": made.id, "name": made.name, "expires_at": made.expires_at}));
            }
            ui.line(made.token.expose())?;
            ui.note(&format!(
                "this is shown once: put it into the variable {TOKEN_VARIABLE}; `lore tokens revoke {}` takes it back",
                made.id
            ));
            Ok(())
        }
        Action::Revoke { id } => {
            there.revoke_token(&id)?;
            if ui.is_json() {
                return ui.value(&json!({"revoked": id}));
            }
            ui.line(&format!("the token {id} is of no use any more"))
        }
    }
}
