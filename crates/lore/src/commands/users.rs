//! `lore users`: who may use a team server.

use clap::Subcommand;
use lore_model::{Code, Failure, Role, UserName};
use lore_remote::User;
use serde_json::json;

use super::{
    Context, administration,
    password::PasswordArgs,
    remote::ServerArgs,
    table::{self, or_dash},
};

/// Decide who may use a team server
///
/// Roles: `admin` may do everything, `power_user` asks and activates repositories, `normal_user` asks.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore users list --url https://lore.example.com\n  lore users add grace --role power_user\n  lore users set-password grace --password-stdin < password\n  lore users audit --limit 50"
)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List everybody
    List,
    /// Let somebody in
    Add {
        /// Their name
        #[arg(value_name = "NAME")]
        user: String,
        /// What they are
        #[arg(long, value_name = "ROLE", value_parser = roles())]
        role: String,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Make somebody something else
    SetRole {
        /// Their name
        #[arg(value_name = "NAME")]
        user: String,
        /// What they will be
        #[arg(value_name = "ROLE", value_parser = roles())]
        role: String,
    },
    /// Give somebody another password; their logins end
    SetPassword {
        /// Their name
        #[arg(value_name = "NAME")]
        user: String,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Let somebody in no longer
    Remove {
        /// Their name
        #[arg(value_name = "NAME")]
        user: String,
    },
    /// Show what was administered and who was refused, newest first
    Audit {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
}

fn roles() -> Vec<&'static str> {
    Role::ALL.map(Role::as_str).to_vec()
}

fn role(word: &str) -> Result<Role, Failure> {
    Role::parse(word).ok_or_else(|| Failure::new(Code::InvalidArgument, format!("`{word}` is not a role")))
}

fn user_name(text: &str) -> Result<UserName, Failure> {
    UserName::parse(text).map_err(|what| Failure::new(Code::InvalidArgument, what))
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let there = match args.action {
        Action::Add { .. } => administration::open_or_make(context, &args.server)?,
        _ => administration::open(context, &args.server)?,
    };
    let ui = context.ui;
    match args.action {
        Action::List => {
            let users = there.users()?;
            if ui.is_json() {
                return ui.value(&json!({"users": users.entries, "total": users.total}));
            }
            let rows: Vec<Vec<String>> = users
                .entries
                .iter()
                .map(|user| vec![user.username.clone(), user.role.clone(), or_dash(user.created_at.as_deref())])
                .collect();
            table::show(ui, &["user", "role", "since"], &rows, "there are no users")?;
            table::note_rest(ui, rows.len(), users.total, None);
            Ok(())
        }
        Action::Add { user, role: word, password } => {
            let (name, role) = (user_name(&user)?, role(&word)?);
            let password = password.new_one(&format!("Password for {name}: "))?;
            show(context, &there.add_user(&name, role, &password)?, "may use the server now")
        }
        Action::SetRole { user, role: word } => {
            show(context, &there.set_role(&user_name(&user)?, role(&word)?)?, "is set")
        }
        Action::SetPassword { user, password } => {
            let name = user_name(&user)?;
            let password = password.new_one(&format!("New password for {name}: "))?;
            show(context, &there.set_password(&name, &password)?, "has another password")
        }
        Action::Remove { user } => {
            let name = user_name(&user)?;
            there.remove_user(&name)?;
            if ui.is_json() {
                return ui.value(&json!({"removed": name.as_str()}));
            }
            ui.line(&format!("{name} may not use the server any more"))
        }
        Action::Audit { limit } => audit(context, there.as_ref(), limit),
    }
}

fn show(context: &Context<'_>, user: &User, what: &str) -> Result<(), Failure> {
    if context.ui.is_json() {
        return context.ui.value(&json!({"user": user}));
    }
    context.ui.line(&format!("{} ({}) {what}", user.username, user.role))
}

fn audit(context: &Context<'_>, there: &dyn administration::Administration, limit: usize) -> Result<(), Failure> {
    let acts = there.audit(limit)?;
    if context.ui.is_json() {
        return context.ui.value(&json!({"entries": acts.entries, "total": acts.total}));
    }
    let rows: Vec<Vec<String>> = acts
        .entries
        .iter()
        .map(|entry| {
            let known = |text: &Option<String>| or_dash(text.as_deref());
            let (who, from) = (known(&entry.username), known(&entry.address));
            vec![known(&entry.at), who, from, entry.act.clone(), known(&entry.subject), known(&entry.outcome)]
        })
        .collect();
    table::show(context.ui, &["when", "who", "from", "act", "about", "outcome"], &rows, "nothing was done yet")?;
    table::note_rest(context.ui, rows.len(), acts.total, Some(limit));
    Ok(())
}
