//! Commit messages of 10 MB: stored whole, found, and told in bounded answers.

use anyhow::Result;
use lore_testkit::{Git, Repo};
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, megabytes, peak_of, seconds},
};

const SIZE: usize = 10 << 20;

/// What an answer to an agent may have.
const ANSWER: usize = 1 << 20;

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(1_000_000_000);
    let repo = Repo::init(trial.path("words"));
    repo.write("lib.rs", "pub fn a() {}\n").commit("Begin");
    let distinct = (0..SIZE / 9).map(|at| format!("w{at:07x}")).collect::<Vec<_>>().join(" ");
    let messages = [
        ("subject of one line", "s".repeat(SIZE)),
        ("a body of many lines", format!("Many lines\n\n{}", "needle in a line\n".repeat(SIZE / 17))),
        ("a body of one word", format!("One word\n\n{}", "x".repeat(SIZE))),
        ("a body of distinct words", format!("Distinct words\n\n{distinct}")),
        ("escapes", format!("Escapes\n\n{}", "\u{1b}[2J".repeat(SIZE / 4))),
    ];
    let mut commits = Vec::new();
    for (number, (name, message)) in messages.iter().enumerate() {
        repo.write("lib.rs", format!("pub fn a{number}() {{}}\n"));
        repo.git(&["add", "--all"]);
        let tree = repo.git(&["write-tree"]);
        let parent = repo.git(&["rev-parse", "HEAD"]);
        let person = "A <a@b> 1700000900 +0000";
        let object = format!("tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\n{message}\n");
        let id = Git::at(repo.path()).feed(&["hash-object", "-t", "commit", "-w", "--stdin"], object.as_bytes())?;
        let id = String::from_utf8(id)?.trim().to_owned();
        repo.git(&["reset", "--quiet", "--soft", &id]);
        commits.push((*name, id));
    }
    let path = repo.path().to_string_lossy().into_owned();
    let added = trial.ok(&["add", &path, "--name", "words"])?;
    trial.tell(format!("synced in {} ({})", seconds(added.cost.wall), megabytes(added.cost.peak_bytes)));
    let mut session = trial.serve(repo.path(), &["--toolsets", "history,context,why,code"])?;
    for (name, id) in &commits {
        let shown = trial.run(&["show", "words", id])?;
        trial.check(shown.code == Some(0), || format!("{name}: show fails: {}", shown.stderr));
        let whole = trial.json(&["show", "words", id])?;
        let kept = whole["subject"].as_str().map_or(0, str::len) + whole["body"].as_str().map_or(0, str::len);
        trial.check(kept > SIZE - 100, || format!("{name}: {kept} bytes are kept"));
        for (tool, arguments) in [
            ("commitmux_get_commit", json!({"repo": "words", "sha": id})),
            ("commitmux_get_patch", json!({"repo": "words", "sha": id})),
            ("commitmux_search", json!({"query": "lines OR words OR escapes OR ssss*"})),
            ("commitmux_touches", json!({"path_glob": "lib"})),
            ("explain_lines", json!({"file": "lib.rs"})),
            ("was_tried", json!({"text": "needle"})),
            ("get_branches", json!({})),
            ("search_code", json!({"query_text": "needle", "chunk_type": "commit_message"})),
            ("search_code", json!({"query_text": "a", "show_evolution": true, "time_range_all": true})),
        ] {
            let answer = trial.call(&mut session, tool, &arguments)?.to_string();
            trial.check(answer.len() < ANSWER, || format!("{name}: {tool} answers with {} bytes", answer.len()));
        }
    }
    let peak = peak_of(session.process_id()).unwrap_or(0);
    trial.tell(format!("serve {}", megabytes(peak)));
    session.end()?;
    for args in [
        &["log", "needle"][..],
        &["log", "w0000100"],
        &["touches", "lib"],
        &["why", "lib.rs:1"],
        &["status"],
        &["search", "a4", "--evolution"],
        &["sync", "--temporal"],
    ] {
        let ran = trial.run_in(repo.path(), args)?;
        trial.check(ran.code == Some(0), || format!("{args:?}: {}", ran.stderr));
        trial.check(ran.stdout.len() < 4 * ANSWER, || format!("{args:?} prints {} bytes", ran.stdout.len()));
    }
    let found = trial.json(&["log", "w0000100", "--no-sync"])?;
    trial.check(found["results"][0]["subject"] == "Distinct words", || "a word deep in a body is not found".to_owned());
    Ok(trial.end())
}
