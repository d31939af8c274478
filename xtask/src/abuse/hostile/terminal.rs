//! Escape sequences and line ends in everything that is printed: on a terminal nothing of it steers anything.

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::Repo;

use crate::{
    abuse::{
        Bench, Outcome,
        trial::{Trial, clipped},
    },
    bench::run_to_the_end,
    program::program,
};

/// Clears the screen, sets the title, hides, moves up, answers, goes back: in both spellings.
const EVIL: &str = "ev\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{1b}[8m\u{8}\u{8}\u{1b}[6n\u{90}x\u{9c}\rover";

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    let repo = Repo::init(trial.path("evil\u{1b}[2J\nrepo"));
    let name = format!("src/{}\nM fake.rs", EVIL.replace('/', "_"));
    repo.write(&name, format!("// {EVIL}\npub fn steering_words() {{}}\n"));
    repo.write(".agent/climpt/registry.json", "{\"version\": \"1\", \"commands\": [{\"c1\": \"e\\u001b[2Jv\"}]}");
    repo.git(&["add", "--all"]);
    let message = format!("Subject {EVIL}\n\nBody {EVIL}\n\u{1b}[1A\u{1b}[2Kcommit 0000");
    let author = format!("--author={} <e\u{1b}[2J@e>", EVIL.replace('\r', ""));
    repo.git(&["commit", "--quiet", "--cleanup=verbatim", &author, "-m", &message]);
    let sha = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["branch", "e\u{9b}31mv\u{202e}"]);
    repo.write("uncommitted\u{1b}[31m.rs", format!("// {EVIL}\npub fn uncommitted_steering() {{}}\n"));
    let path = repo.path().to_str().context("UTF-8")?.to_owned();
    let comment = format!("Look {EVIL}\n\u{1b}[1A at this");
    let place = format!("{name}:1");
    let out = trial.path("out").to_string_lossy().into_owned();
    let commands: Vec<Vec<&str>> = vec![
        vec!["add", &path, "--name", "evil", "--all-branches"],
        vec!["add", &path, "--name", "e\u{1b}[2Jv"],
        vec!["add", "/nonexistent\u{1b}[2J\u{9b}31m"],
        vec!["add", "https://e\u{1b}[2J/x"],
        vec!["sync"],
        vec!["sync", "--repo", "e\u{1b}[2J"],
        vec!["repos"],
        vec!["status", "--left-out"],
        vec!["status", "-v"],
        vec!["search", "steering_words"],
        vec!["search", "steering_words", "--explain"],
        vec!["search", "uncommitted_steering"],
        vec!["search", EVIL],
        vec!["search", "--literal", "steering", "-C", "3"],
        vec!["search", "--regex", "\u{1b}["],
        vec!["search", "steering", "--evolution"],
        vec!["search", "steering", "--path", EVIL],
        vec!["search", "steering", "--at", "e\u{9b}31mv\u{202e}"],
        vec!["search", "steering", "--lang", EVIL],
        vec!["log", "subject"],
        vec!["log", EVIL],
        vec!["log", "subject", "--since", EVIL],
        vec!["log", "subject", "--author", EVIL],
        vec!["touches", "src"],
        vec!["touches", EVIL],
        vec!["show", "evil", &sha],
        vec!["show", "evil", "\u{1b}[2J"],
        vec!["patch", "evil", &sha],
        vec!["patch", EVIL, &sha],
        vec!["why", &place],
        vec!["why", "\u{1b}[2J:1"],
        vec!["related", &place],
        vec!["comment", "--file", &name, "--line", "1", &comment],
        vec!["comments", "list"],
        vec!["comments", "search", "look"],
        vec!["comments", "show", "1"],
        vec!["comments", "show", EVIL],
        vec!["commands", "list"],
        vec!["commands", "check"],
        vec!["commands", "search", EVIL],
        vec!["commands", "run", EVIL, EVIL, EVIL],
        vec!["doctor", "--deep"],
        vec!["export", "chunks", &out],
        vec!["reindex"],
        vec!["config", "show"],
        vec!["setup", "cursor", "--project", "--print"],
        vec!["setup", EVIL],
        vec!["import", "commitmux", "--db", EVIL],
        vec!["jobs", "list", "--data", EVIL],
        vec!["login", "--url", EVIL],
        vec!["remove", EVIL],
        vec!["remove", "evil"],
        vec![EVIL],
        vec!["search", EVIL, "--nonsense\u{1b}[2J"],
    ];
    ensure!(program("script").arg("--version").stdout(Stdio::null()).status().is_ok(), "`script` makes the terminal");
    for args in &commands {
        on_terminal(&mut trial, repo.path(), args)?;
        let piped = trial.run_in(repo.path(), args)?;
        // Only the exact bytes of a diff, which were asked for, go through as they are.
        let exact = ["patch", "show"].contains(&args[0]);
        let shown = String::from_utf8_lossy(&piped.stdout).into_owned();
        trial.check(exact || !steers(&shown, Steering::None), || format!("piped {args:?}: {:?}", clipped(&shown, 300)));
        trial.check(!shown.contains("\nM fake.rs") || exact, || format!("{args:?} prints a forged line"));
    }
    trial.tell(format!("{} commands on a terminal and in a pipe", commands.len()));
    Ok(trial.end())
}

/// Runs a command on a terminal of its own and looks at every byte that reaches it.
fn on_terminal(trial: &mut Trial, folder: &Path, args: &[&str]) -> Result<()> {
    let inner = trial.lore.command(args);
    let words: Vec<String> = std::iter::once(inner.get_program().to_string_lossy().into_owned())
        .chain(args.iter().map(|&arg| arg.to_owned()))
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    let mut command = program("script");
    command.args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"]).current_dir(folder);
    for (key, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(key, value);
        }
    }
    // Nothing pages, and colours are wanted: they are the only sequences that may come.
    command.env("TERM", "xterm").env("PAGER", "cat").env("SHELL", "/bin/sh");
    let ran = run_to_the_end(&command, Duration::from_mins(2))?;
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    trial.check(!ran.late, || format!("on a terminal {args:?} never ends"));
    trial.check(!steers(&shown, Steering::Own), || format!("on a terminal {args:?}: {:?}", clipped(&shown, 400)));
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Steering {
    /// Colours, and what a line of progress needs.
    Own,
    /// Nothing at all.
    None,
}

/// Whether a text holds a sequence that Lore itself does not print.
fn steers(text: &str, allowed: Steering) -> bool {
    let mut rest = text.to_owned();
    if allowed == Steering::Own {
        // Colours and weights, but not invisible text; the end of a line; the line of progress and its cursor.
        let own = regex::Regex::new("\u{1b}\\[([0-7]|[0-7];[0-9;]*|[34][0-9]|9[0-9]|22|39|49|)m|\r\n|\u{1b}\\[(K|2K|0K|J|\\?25[lh]|[0-9]*A|[0-9]*G)|\r")
            .expect("the expression is valid");
        // What was planted has words behind it that own sequences have not.
        if text.contains("\u{1b}]0;owned") || text.contains("\rover") || text.contains("\u{1b}[2Jv") {
            return true;
        }
        rest = own.replace_all(text, "").into_owned();
    }
    rest.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
}
