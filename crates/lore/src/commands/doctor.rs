//! `lore doctor`: looks whether everything is as it should be, and says what to do where it is not.

use std::{path::Path, process::ExitCode};

use lore_core::history::FreshState;
use lore_model::{Code, Failure, brief};
use lore_store::store_failure;
use serde_json::{Value, json};

use super::{Context, sync::count};
use crate::{
    policy::Allowed,
    setup::{Host, lazygit, registered},
    ui::{GREEN, RED, YELLOW, one_line},
};

/// The oldest git whose flags Lore uses (`--diff-merges`, `GIT_CONFIG_GLOBAL`, `--no-auto-maintenance`).
const GIT_MIN: (u32, u32) = (2, 36);

/// Less free space than this is worth a word.
const DISK_LOW: u64 = 1 << 30;

/// Check git, the index, the disk and the hosts, and say what to do
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Read everything in the index, not only its structure
    #[arg(long)]
    deep: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Fine,
    Attention,
    Broken,
}

struct Finding {
    level: Level,
    about: &'static str,
    text: String,
    hint: Option<String>,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<ExitCode, Failure> {
    let mut findings = vec![git(context), home(context)];
    findings.extend(disk(context));
    findings.extend(index(context, args.deep));
    findings.extend(code(context, args.deep));
    findings.extend(comments(context));
    findings.extend(team(context));
    findings.extend(logins(context));
    findings.extend(embedding(context));
    findings.extend(hosts(context));
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Fine);
    print(context, &findings)?;
    Ok(if worst == Level::Broken { ExitCode::from(Code::Internal.row().exit) } else { ExitCode::SUCCESS })
}

fn print(context: &Context<'_>, findings: &[Finding]) -> Result<(), Failure> {
    let ui = context.ui;
    if ui.is_json() {
        let rows: Vec<Value> = findings
            .iter()
            .map(|finding| {
                let level = match finding.level {
                    Level::Fine => "ok",
                    Level::Attention => "attention",
                    Level::Broken => "broken",
                };
                json!({"about": finding.about, "level": level, "text": finding.text, "hint": finding.hint})
            })
            .collect();
        return ui.value(&json!({"findings": rows}));
    }
    for finding in findings {
        let (style, mark) = match finding.level {
            Level::Fine => (GREEN, "ok  "),
            Level::Attention => (YELLOW, "look"),
            Level::Broken => (RED, "bad "),
        };
        ui.line(&format!("{} {:8} {}", ui.paint(style, mark), finding.about, finding.text))?;
        if let Some(hint) = &finding.hint {
            ui.line(&format!("              → {hint}"))?;
        }
    }
    Ok(())
}

fn finding(level: Level, about: &'static str, text: impl Into<String>) -> Finding {
    Finding { level, about, text: text.into(), hint: None }
}

fn with_hint(mut finding: Finding, hint: impl Into<String>) -> Finding {
    finding.hint = Some(hint.into());
    finding
}

fn git(context: &Context<'_>) -> Finding {
    match context.lore.history.git().version() {
        Ok((version, text)) if version >= GIT_MIN => finding(Level::Fine, "git", text),
        Ok((_, text)) => with_hint(
            finding(Level::Broken, "git", format!("{text} is too old")),
            format!(
                "install git {}.{} or later, or name one with `git = \"…\"` in {}",
                GIT_MIN.0,
                GIT_MIN.1,
                context.loaded.file().display()
            ),
        ),
        Err(error) => {
            with_hint(finding(Level::Broken, "git", error.to_string()), "install git and make sure that it is in PATH")
        }
    }
}

fn home(context: &Context<'_>) -> Finding {
    let home = &context.loaded.home;
    let unmade = !home.exists();
    // Where there is none yet, it will be made in what there is.
    let Some(place) = home.ancestors().find(|place| place.exists()) else {
        return finding(Level::Attention, "home", format!("{} cannot be made", home.display()));
    };
    let probe = place.join(".lore-doctor");
    let written = std::fs::write(&probe, b"").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) if unmade => with_hint(
            finding(Level::Fine, "home", format!("{} does not exist yet", home.display())),
            "`lore add PATH` makes it",
        ),
        Err(error) if unmade => with_hint(
            finding(Level::Attention, "home", format!("{} cannot be made: {error}", home.display())),
            "set LORE_HOME to a folder that you can write, or correct the permissions",
        ),
        Ok(()) => finding(Level::Fine, "home", home.display().to_string()),
        Err(error) => with_hint(
            finding(Level::Attention, "home", format!("{} cannot be written: {error}", home.display())),
            "what is indexed can be asked; nothing new can be read. Set LORE_HOME to another folder, or correct its permissions",
        ),
    }
}

fn disk(context: &Context<'_>) -> Option<Finding> {
    let mut place = context.loaded.home.as_path();
    while !place.exists() {
        place = place.parent()?;
    }
    let free = fs4::available_space(place).ok()?;
    let text = format!("{:.1} GB free", gigabytes(free));
    Some(if free < DISK_LOW {
        with_hint(finding(Level::Attention, "disk", text), "an index takes about as much room as the repository's .git")
    } else {
        finding(Level::Fine, "disk", text)
    })
}

#[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn index(context: &Context<'_>, deep: bool) -> Vec<Finding> {
    let history = &context.lore.history;
    let broken = |failure: Failure| {
        let found = finding(Level::Broken, "index", failure.message.clone());
        vec![Finding { hint: failure.hint, ..found }]
    };
    let repos = match history.repos() {
        Ok(repos) => repos,
        Err(failure) => return broken(failure),
    };
    let damage = match history.store().check(deep).map_err(store_failure) {
        Ok(damage) => damage,
        Err(failure) => return broken(failure),
    };
    if !damage.is_empty() {
        let text = format!("{} findings, first: {}", damage.len(), damage[0]);
        let hint = format!(
            "run `lore reindex`: the index can be rebuilt from git. Where it cannot even tell its repositories, move {} aside and \
             `lore add` them again",
            context.loaded.home.join("lore.db").display()
        );
        return vec![with_hint(finding(Level::Broken, "index", text), hint)];
    }
    if let Some(lost) = lost_index(&context.loaded.home) {
        return vec![lost];
    }
    let size = history.store().size().unwrap_or_default();
    let depth = if deep { "everything was read" } else { "structure is sound; --deep reads everything" };
    let mut findings = vec![finding(
        Level::Fine,
        "index",
        format!(
            "{}, {}, {:.1} MB ({depth})",
            if repos.len() == 1 { "1 repository".to_owned() } else { format!("{} repositories", repos.len()) },
            count(size.commits, "commit"),
            gigabytes(size.bytes) * 1e3
        ),
    )];
    if deep {
        for (name, place, what) in history.check_mirrors(&repos) {
            let text = format!("the clone of {name} in {} is damaged: {}", place.display(), brief(&what));
            let hint = format!("delete that folder and run `lore sync --repo {name}`: it is cloned again");
            findings.push(with_hint(finding(Level::Broken, "repo", text), hint));
        }
    }
    let freshness = history.freshness(&repos, None);
    for fresh in freshness.repos.iter().filter(|fresh| fresh.state != FreshState::Current) {
        let hint = match fresh.state {
            FreshState::Missing => {
                format!("if it moved: `lore remove {0}` and `lore add NEW-PATH --name {0}`", fresh.name)
            }
            _ => format!("run `lore sync --repo {}`", fresh.name),
        };
        findings.push(with_hint(
            finding(Level::Attention, "repo", format!("{} is {}", fresh.name, fresh.state.as_str().replace('_', " "))),
            hint,
        ));
    }
    for repo in repos.iter().filter(|repo| repo.sync.last_error.is_some()) {
        let error = repo.sync.last_error.clone().unwrap_or_default();
        findings.push(with_hint(
            finding(Level::Attention, "repo", format!("{}: the last sync failed: {error}", repo.name())),
            format!("run `lore sync --repo {}`", repo.name()),
        ));
    }
    findings
}

/// Files that an index names, where there is none.
fn lost_index(home: &Path) -> Option<Finding> {
    let is_used = |name: &str| std::fs::read_dir(home.join(name)).is_ok_and(|mut entries| entries.next().is_some());
    if home.join("lore.db").exists() || !(is_used("segments") || is_used("clones")) {
        return None;
    }
    let text = format!("{} is not there, and what it named is", home.join("lore.db").display());
    Some(with_hint(finding(Level::Broken, "index", text), "`lore add` your repositories again"))
}

/// The logins at team servers.
fn logins(context: &Context<'_>) -> Option<Finding> {
    super::remote::logins(context).list().err().map(|failure| broken("logins", failure))
}

fn broken(about: &'static str, failure: Failure) -> Finding {
    let found = finding(Level::Broken, about, failure.message);
    Finding { hint: failure.hint, ..found }
}

/// What a team server keeps in this home, or below it.
fn team(context: &Context<'_>) -> Vec<Finding> {
    let home = &context.loaded.home;
    let mut findings = Vec::new();
    for data in [home.clone(), home.join("server")] {
        let file = data.join("team.db");
        if !file.exists() {
            continue;
        }
        findings.extend(Allowed::of(&data).err().map(|failure| broken("team", failure)));
        let text = match crate::wire::check_team(&data) {
            Ok(damage) if damage.is_empty() => continue,
            Ok(damage) => format!("{} has {} findings, first: {}", file.display(), damage.len(), damage[0]),
            Err(failure) => {
                findings.push(broken("team", failure));
                continue;
            }
        };
        let hint = format!(
            "stop the server and put a backup in its place; `sqlite3 {} .recover` may save what it holds. Nothing was changed",
            file.display()
        );
        findings.push(with_hint(finding(Level::Broken, "team", text), hint));
    }
    findings
}

fn code(context: &Context<'_>, deep: bool) -> Option<Finding> {
    let damage = match context.lore.search.reader.check(deep) {
        Ok(damage) => damage,
        Err(failure) => return Some(broken("code", failure)),
    };
    let hint = "run `lore reindex`: it reads the code anew from git";
    let Some(first) = damage.first() else {
        let bytes = context.lore.search.reader.bytes().ok().filter(|bytes| *bytes > 0)?;
        let depth = if deep { "everything was read" } else { "--deep reads everything" };
        return Some(finding(Level::Fine, "code", format!("{:.1} MB ({depth})", gigabytes(bytes) * 1e3)));
    };
    Some(with_hint(finding(Level::Broken, "code", format!("{} findings, first: {first}", damage.len())), hint))
}

fn comments(context: &Context<'_>) -> Vec<Finding> {
    let messages = &context.lore.messages;
    let mut findings = Vec::new();
    match messages.check_store() {
        Err(failure) => {
            let found = finding(Level::Broken, "comments", failure.message.clone());
            findings.push(Finding { hint: failure.hint, ..found });
        }
        Ok(damage) if !damage.is_empty() => {
            let text = format!("{} findings, first: {}", damage.len(), damage[0]);
            let file = context.loaded.home.join("messages.db");
            let hint = format!("`sqlite3 {} .recover` may save what it holds", file.display());
            findings.push(with_hint(finding(Level::Broken, "comments", text), hint));
        }
        Ok(_) => {}
    }
    for (path, why) in messages.unreadable() {
        let text = format!("{} {why}", path.display());
        findings.push(with_hint(finding(Level::Attention, "comments", text), "correct or remove the file"));
    }
    findings
}

/// The configured model, and whether it answers.
fn embedding(context: &Context<'_>) -> Option<Finding> {
    if let Some(failure) = &context.no_embedder {
        let found = finding(Level::Broken, "embedding", failure.message.clone());
        return Some(Finding { hint: failure.hint.clone(), ..found });
    }
    let second = context.lore.search.query.second()?;
    Some(match second.probe() {
        Ok(dimensions) => {
            let text = format!("{} gives vectors of {dimensions} dimensions", second.model());
            finding(Level::Fine, "embedding", text)
        }
        Err(failure) => {
            let found = finding(Level::Broken, "embedding", failure.message.clone());
            Finding { hint: failure.hint.clone(), ..found }
        }
    })
}

/// What is remembered of setups and cannot be read.
fn records(folder: &Path) -> Vec<Finding> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|file| file.extension().is_some_and(|end| end == "json"));
    let unreadable = files.filter_map(|file| {
        let bytes = std::fs::read(&file).ok()?;
        let error = serde_json::from_slice::<Value>(&bytes).err()?;
        let text = format!("cannot read {}: {error}", file.display());
        Some(with_hint(finding(Level::Broken, "host", text), "delete it to forget how to undo that setup"))
    });
    unreadable.collect()
}

fn hosts(context: &Context<'_>) -> Vec<Finding> {
    let Ok(place) = super::setup::place(context) else { return Vec::new() };
    let mut findings = Vec::new();
    for host in Host::ALL {
        let Some(entry) = registered(host, &place) else { continue };
        let words = [entry.command.clone()].into_iter().chain(entry.args.iter().cloned()).collect::<Vec<_>>().join(" ");
        let does = if entry.is_address { "asks" } else { "starts" };
        let text = format!("{} {does} {} as `{}`", host.title(), one_line(&words), one_line(&entry.name));
        findings.push(if entry.command_exists == Some(false) {
            with_hint(
                finding(Level::Broken, "host", format!("{text}, which is not there")),
                format!("run `lore setup {}` again", host.name()),
            )
        } else {
            finding(Level::Fine, "host", text)
        });
    }
    if findings.is_empty() {
        let names: Vec<&str> = Host::ALL.iter().map(|host| host.name()).collect();
        findings.push(with_hint(
            finding(Level::Attention, "host", "no agent's host knows Lore"),
            format!("run `lore setup HOST`: {}", names.join(", ")),
        ));
    }
    findings.extend(records(&place.state_dir));
    findings.extend(lazygit::registered(&place).map(|entry| {
        let text = format!("lazygit runs {} comment on {}", entry.program, entry.keys.join(", "));
        if entry.program_exists == Some(false) {
            with_hint(
                finding(Level::Broken, "key", format!("{text}, which is not there")),
                "run `lore setup lazygit` again",
            )
        } else {
            finding(Level::Fine, "key", text)
        }
    }));
    findings
}
