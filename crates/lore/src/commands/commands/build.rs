//! `lore commands build`: makes `registry.json` from the prompt files.

use lore_commands::{BuildOptions, Built, CommandName};
use lore_model::Failure;
use serde_json::{Value, json};

use super::{super::Context, Place, count};
use crate::ui::{BOLD, GREEN, RED, YELLOW, one_line};

/// Make registry.json from the frontmatter of the prompt files
///
/// What the frontmatter does not say is kept, and so are commands whose prompts have no frontmatter. A command without a
/// prompt file is removed. Nothing is written where a prompt of any agent cannot be understood.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  lore commands build --dry-run\n  lore commands build --agent reviewer")]
pub(crate) struct Args {
    /// Only the registry of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Say what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave out prompts that cannot be understood, and replace a broken registry; the old one is kept as `.bak`
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let folder = args.place.folder()?;
    let options = BuildOptions { dry_run: args.dry_run, force: args.force };
    let build = || match args.agent {
        Some(agent) => context.commands.build(&folder, &agent, options).map(|built| vec![built]),
        None => context.commands.build_all(&folder, options),
    };
    let built = build()?;
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({"dry_run": args.dry_run, "built": built.iter().map(built_json).collect::<Vec<_>>()}));
    }
    for one in &built {
        for problem in &one.problems {
            ui.warn(&format!("left out: {}: {}", problem.file, problem.message));
        }
        for (style, sign, names) in [(GREEN, '+', &one.added), (YELLOW, '~', &one.changed), (RED, '-', &one.removed)] {
            for name in names {
                ui.line(&ui.paint(style, &format!("{sign} {name}")))?;
            }
        }
        let done = match (one.written, args.dry_run) {
            (false, _) => "is as it should be",
            (true, true) => "would be written",
            (true, false) => "written",
        };
        if let Some(backup) = &one.backup {
            ui.note(&format!("what was there before is in {}", one_line(backup)));
        }
        ui.line(&format!("{} {done} ({})", ui.paint(BOLD, &one_line(&one.registry)), count(one.commands, "command")))?;
    }
    Ok(())
}

fn built_json(built: &Built) -> Value {
    let names = |names: &[CommandName]| names.iter().map(CommandName::to_string).collect::<Vec<_>>();
    let problems = built
        .problems
        .iter()
        .map(|problem| json!({"file": problem.file, "line": problem.line, "message": problem.message}));
    json!({
        "agent": built.agent,
        "registry": built.registry,
        "commands": built.commands,
        "added": names(&built.added),
        "changed": names(&built.changed),
        "removed": names(&built.removed),
        "written": built.written,
        "backup": built.backup,
        "problems": problems.collect::<Vec<_>>(),
    })
}
