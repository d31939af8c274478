//! `lore commands check`: registries and prompt files against each other.

use std::process::ExitCode;

use lore_commands::{Checked, Problem, Severity};
use lore_model::{Code, Failure};
use serde_json::{Value, json};

use super::{super::Context, Place, count};
use crate::ui::{BOLD, GREEN, RED, YELLOW, one_line};

/// Check registries, profiles and prompt files against each other
///
/// It ends with 2 where a command does not work.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<ExitCode, Failure> {
    let folder = args.place.folder()?;
    let checked = context.commands.check(&folder, args.agent.as_deref())?;
    let ui = context.ui;
    if ui.is_json() {
        ui.value(&checked_json(&checked))?;
    } else {
        for problem in &checked.problems {
            ui.line(&line(context, problem))?;
        }
        let (errors, warnings) = (checked.errors(), checked.problems.len() - checked.errors());
        let found = format!(
            "{}, {}: {}, {}",
            count(checked.commands, "command"),
            count(checked.prompts, "prompt file"),
            count(errors, "error"),
            count(warnings, "warning")
        );
        ui.line(&ui.paint(if errors > 0 { RED } else { GREEN }, &found))?;
    }
    let code = if checked.errors() > 0 { ExitCode::from(Code::InvalidConfig.row().exit) } else { ExitCode::SUCCESS };
    Ok(code)
}

fn line(context: &Context<'_>, problem: &Problem) -> String {
    let (style, word) = match problem.severity {
        Severity::Error => (RED, "error"),
        Severity::Warning => (YELLOW, "warning"),
    };
    let ui = context.ui;
    let at = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = ui.paint(BOLD, &one_line(&format!("{}{at}", problem.file)));
    format!("{place}: {}: {}", ui.paint(style, word), one_line(&problem.message))
}

fn checked_json(checked: &Checked) -> Value {
    let problem = |problem: &Problem| {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        json!({"severity": severity, "file": problem.file, "line": problem.line, "message": problem.message})
    };
    json!({
        "agents": checked.agents,
        "commands": checked.commands,
        "prompts": checked.prompts,
        "errors": checked.errors(),
        "problems": checked.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
