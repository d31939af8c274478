//! `lore config`: the configuration and where each value came from.

use std::path::Path;

use lore_model::Failure;
use serde_json::{Map, Value, json};

use super::Context;
use crate::{
    config::KEYS,
    ui::{BOLD, DIM, Ui},
};

/// Show the configuration
///
/// Defaults come first, then `config.toml` in Lore's home, then `LORE_*` variables, then flags.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Every value and where it came from
    Show,
    /// Every key and what it is for
    Keys,
    /// Where the configuration file is (or would be)
    Path,
}

impl Args {
    /// Whether what is asked for can be told whatever the values are.
    pub(super) fn needs_no_values(&self) -> bool {
        matches!(self.what, What::Keys | What::Path)
    }
}

/// The same for what needs no values: these may be wrong.
pub(super) fn run_without_values(ui: &Ui, home: Option<&Path>, args: &Args) -> Result<(), Failure> {
    match args.what {
        What::Keys => {
            if ui.is_json() {
                return ui.value(&KEYS.iter().map(|(key, about)| json!({"key": key, "about": about})).collect());
            }
            for (key, about) in KEYS {
                ui.line(&format!("{}  (LORE_{})\n    {about}", ui.paint(BOLD, key), key.to_uppercase()))?;
            }
            Ok(())
        }
        What::Path => {
            let file = crate::config::file(home)?;
            if ui.is_json() {
                return ui.value(&json!({"path": file.to_string_lossy(), "exists": file.exists()}));
            }
            ui.line(&file.display().to_string())
        }
        What::Show => Ok(()),
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let ui = context.ui;
    match args.what {
        What::Show => {
            let rows = context.loaded.rows();
            if ui.is_json() {
                let object: Map<String, Value> =
                    rows.into_iter().map(|(key, value, from)| (key, json!({"value": value, "from": from}))).collect();
                return ui.value(&Value::Object(object));
            }
            let width = rows.iter().map(|(key, _, _)| key.len()).max().unwrap_or(0);
            for (key, value, from) in rows {
                ui.line(&format!(
                    "{} = {value}  {}",
                    ui.paint(BOLD, &format!("{key:width$}")),
                    ui.paint(DIM, &format!("({from})"))
                ))?;
            }
        }
        What::Keys | What::Path => return run_without_values(ui, None, args),
    }
    Ok(())
}
