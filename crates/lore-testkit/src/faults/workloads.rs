//! Everything by which Lore writes, each small enough to be struck at every single write.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{Scene, Traced, old};
use crate::{Random, Repo, dump};

/// Something that Lore does, and what must be true of it whatever happens meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// What it is called.
    pub name: &'static str,
    /// Makes the beginning.
    pub prepare: fn(&Scene) -> Result<()>,
    /// What is done.
    pub act: fn(&Scene) -> Act,
    /// Does it once more, as a user would; it may have been done already. It is told how the first time ended.
    pub again: fn(&Scene, &Traced) -> Result<()>,
    /// All that can be asked afterwards.
    pub state: fn(&Scene) -> Result<String>,
    /// Whether its success says that all is done; that of a server says nothing.
    pub success_counts: bool,
}

/// A command and what it gets on standard input.
#[derive(Debug, Clone, Default)]
pub struct Act {
    /// Its arguments.
    pub args: Vec<String>,
    /// Its standard input.
    pub input: Vec<u8>,
}

/// Every workload.
pub const ALL: &[Workload] = &[
    workload("first-sync", first, sync, (sync_again, index)),
    workload("next-sync", next, sync, (sync_again, index)),
    workload("temporal", synced, temporal, (temporal_again, past)),
    workload("join", many_syncs, sync, (sync_again, index)),
    workload("remove", synced, remove, (remove_again, index)),
    workload("reindex", synced, reindex, (sync_again, index)),
    workload("migrate", of_the_first_schema, sync, (sync_again, index)),
    workload("migrate-late", of_a_later_schema, sync, (sync_again, index)),
    workload("clone", nothing, add_url, (add_url_again, index)),
    workload("fetch", cloned, sync, (sync_again, index)),
    workload("comment", commented, comment, (comment_again, comments)),
    workload("first-comment", nothing, comment, (comment_again, comments)),
    Workload { success_counts: false, ..workload("deliver", commented, deliver, (deliver_again, comments)) },
    workload("user", one_user, user, (user_again, team)),
    workload("first-user", nothing, user, (user_again, team)),
    workload("golden", one_user, golden, (golden_again, golden_state)),
    workload("setup", hosts, setup, (setup_again, host_files)),
];

type Prepare = fn(&Scene) -> Result<()>;
type Again = fn(&Scene, &Traced) -> Result<()>;
type State = fn(&Scene) -> Result<String>;

const fn workload(name: &'static str, prepare: Prepare, act: fn(&Scene) -> Act, after: (Again, State)) -> Workload {
    Workload { name, prepare, act, again: after.0, state: after.1, success_counts: true }
}

/// The workload of that name.
pub fn named(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|workload| workload.name == name)
}

const API: &str = "api";
const NOTES: &str = "notes";
const PASSWORD: &[u8] = b"tall green river 7\n";

fn args(words: &[&str]) -> Act {
    Act { args: words.iter().map(|word| (*word).to_owned()).collect(), input: Vec::new() }
}

/// A file of code about some birds.
fn code(random: &mut Random, name: &str) -> String {
    const BIRDS: [&str; 8] = ["heron", "plover", "avocet", "egret", "curlew", "dunlin", "godwit", "knot"];
    let functions = (0..3 + random.below(4)).map(|number| {
        let (bird, other) = (random.pick(&BIRDS), random.pick(&BIRDS));
        let (times, most) = (random.below(90), random.below(1000));
        format!(
            "/// Counts every {bird} near the {other}.\npub fn {name}_{bird}_{number}(limit: u32) -> u32 {{\n    \
             let {other} = limit * {times};\n    if {other} > {most} {{\n        return {bird}_of({other});\n    }}\n    \
             {other} + 1\n}}\n\n"
        )
    });
    std::iter::once(format!("//! What a {name} does.\n\n")).chain(functions).collect::<Vec<_>>().concat()
}

/// A repository with a dozen commits, a merge, a rename, a deletion and a file that is no text.
fn make_repo(scene: &Scene, name: &str, seed: u64) -> Repo {
    let repo = Repo::init(scene.repo(name));
    let mut random = Random::new(seed);
    repo.write("README.md", format!("# {name}\n\nWhere the heron stands.\n")).commit("Begin");
    for number in 0..8 {
        let file = format!("src/part{}.rs", number % 5);
        repo.write(&file, code(&mut random, &format!("part{number}")));
        repo.write(format!("docs/{number}.md"), format!("## Part {number}\n\nThe avocet wades {number} times.\n"));
        repo.commit(&format!("Count part {number} of the heron"));
    }
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("src/side.rs", code(&mut random, "side")).commit("Try the side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "Take the side", "side"]);
    repo.git(&["mv", "src/part1.rs", "src/moved.rs"]);
    repo.remove("docs/3.md").write("data.bin", [0, 1, 2, 255, 0]).commit("Move and forget");
    repo
}

fn registered(scene: &Scene) -> Result<()> {
    make_repo(scene, API, 1);
    make_repo(scene, NOTES, 2);
    for name in [API, NOTES] {
        scene.ok(&["add", &scene.repo_text(name), "--name", name, "--no-sync"])?;
    }
    Ok(())
}

fn first(scene: &Scene) -> Result<()> {
    registered(scene)
}

fn synced(scene: &Scene) -> Result<()> {
    registered(scene)?;
    scene.ok(&["sync"])?;
    Ok(())
}

fn sync(_: &Scene) -> Act {
    args(&["sync"])
}

fn sync_again(scene: &Scene, _: &Traced) -> Result<()> {
    scene.ok(&["sync"])?;
    Ok(())
}

/// New commits in one repository, a rewritten history in the other.
fn next(scene: &Scene) -> Result<()> {
    synced(scene)?;
    let mut random = Random::new(3);
    let api = Repo::init(scene.repo(API));
    api.write("src/new.rs", code(&mut random, "new")).commit("Add what is new");
    api.write("src/part2.rs", code(&mut random, "part2")).commit("Change a part");
    let notes = Repo::init(scene.repo(NOTES));
    notes.git(&["reset", "--quiet", "--hard", "HEAD~3"]);
    notes.git(&["branch", "--quiet", "-D", "side"]);
    notes.write("src/other.rs", code(&mut random, "other")).commit("Go another way");
    Ok(())
}

fn temporal(_: &Scene) -> Act {
    args(&["sync", "--temporal"])
}

fn temporal_again(scene: &Scene, _: &Traced) -> Result<()> {
    scene.ok(&["sync", "--temporal"])?;
    Ok(())
}

/// So many small syncs that the next one joins what they left.
fn many_syncs(scene: &Scene) -> Result<()> {
    let repo = make_repo(scene, API, 1);
    scene.ok(&["add", &scene.repo_text(API), "--name", API])?;
    let mut random = Random::new(4);
    for number in 0..7 {
        repo.write(format!("src/more{number}.rs"), code(&mut random, &format!("more{number}"))).commit("Add more");
        if number < 6 {
            scene.ok(&["sync"])?;
        }
    }
    Ok(())
}

fn remove(_: &Scene) -> Act {
    args(&["remove", NOTES])
}

fn remove_again(scene: &Scene, _: &Traced) -> Result<()> {
    if scene.ok(&["repos", "--json"])?.contains(&format!("\"{NOTES}\"")) {
        scene.ok(&["remove", NOTES])?;
    }
    scene.ok(&["sync"])?;
    Ok(())
}

fn reindex(_: &Scene) -> Act {
    args(&["reindex"])
}

fn of_the_first_schema(scene: &Scene) -> Result<()> {
    synced(scene)?;
    old::make(&scene.lore().home().join("lore.db"), 1)
}

fn of_a_later_schema(scene: &Scene) -> Result<()> {
    next(scene)?;
    old::make(&scene.lore().home().join("lore.db"), 4)
}

/// Repositories, and nothing that Lore knows.
#[expect(clippy::unnecessary_wraps, reason = "every workload prepares its scene, and the others can fail")]
fn nothing(scene: &Scene) -> Result<()> {
    make_repo(scene, API, 1);
    Ok(())
}

fn add_url(scene: &Scene) -> Act {
    args(&["add", &format!("file://{}", scene.repo_text(API)), "--name", API])
}

fn add_url_again(scene: &Scene, _: &Traced) -> Result<()> {
    if scene.ok(&["repos", "--json"])?.contains(&format!("\"{API}\"")) {
        scene.ok(&["sync"])?;
    } else {
        let Act { args, .. } = add_url(scene);
        scene.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn cloned(scene: &Scene) -> Result<()> {
    let repo = make_repo(scene, API, 1);
    let Act { args, .. } = add_url(scene);
    scene.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut random = Random::new(5);
    repo.write("src/later.rs", code(&mut random, "later")).commit("Add what comes later");
    repo.git(&["branch", "--quiet", "another", "HEAD~1"]);
    repo.git(&["branch", "--quiet", "-D", "side"]);
    Ok(())
}

/// The index and what it answers.
fn index(scene: &Scene) -> Result<String> {
    let mut state = dump::contents(&scene.lore().home().join("lore.db"))?;
    for question in [
        &["search", "where is every heron counted", "--all-repos", "--no-sync", "--json"][..],
        &["search", "-F", "avocet", "--all-repos", "--no-sync", "--json"],
        &["log", "heron", "--json"],
        &["touches", "src", "--json"],
    ] {
        state.push_str(&scene.answer(question)?);
    }
    Ok(state)
}

/// What the index answers, the past included.
pub(super) fn answers(scene: &Scene) -> Result<String> {
    scene.answer(&["search", "heron", "--removed", "--repo", API, "--no-sync", "--json"])
}

/// What exists nowhere else: comments and users.
pub(super) fn truth(scene: &Scene) -> Result<String> {
    Ok(format!("{}\n{}", comments(scene)?, team(scene)?))
}

/// The data of a server with a user.
pub(super) fn make_team(scene: &Scene) -> Result<()> {
    let made = scene
        .feed(&["users", "add", "root", "--role", "admin", "--password-stdin", "--data", &scene.team()], PASSWORD)?;
    ensure!(made.status.success(), "{}", made.stderr);
    Ok(())
}

/// The same, and what the past answers.
fn past(scene: &Scene) -> Result<String> {
    Ok(index(scene)? + &answers(scene)?)
}

const COMMENT: &str = "this has to be counted twice";

fn comment(scene: &Scene) -> Act {
    args(&["comment", "--project", &scene.repo_text(API), "--file", "src/part0.rs", "--line", "3", COMMENT])
}

fn commented(scene: &Scene) -> Result<()> {
    nothing(scene)?;
    let project = scene.repo_text(API);
    scene.ok(&["comment", "--project", &project, "--file", "README.md", "--line", "1", "what was said before"])?;
    Ok(())
}

fn said(scene: &Scene) -> Result<Vec<String>> {
    let printed = scene.ok(&["comments", "list", "--all", "--json"])?;
    let value: Value = serde_json::from_str(&printed)?;
    let rows = value["comments"].as_array().with_context(|| format!("no comments are listed: {value}"))?;
    Ok(rows.iter().map(|row| format!("{} {}", row["state"], row["comment"])).collect())
}

fn comment_again(scene: &Scene, first: &Traced) -> Result<()> {
    let kept = said(scene)?.iter().filter(|row| row.contains(COMMENT)).count();
    ensure!(first.code != Some(0) || kept == 1, "a comment that was acknowledged is there {kept} times");
    ensure!(first.code.is_none_or(|code| code == 0) || kept == 0, "a comment that was refused is there");
    if kept == 0 {
        let Act { args, .. } = comment(scene);
        scene.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn comments(scene: &Scene) -> Result<String> {
    Ok(said(scene)?.join("\n"))
}

/// A whole session: a handshake and a look for messages.
fn deliver(scene: &Scene) -> Act {
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
               "params": {"name": "check_lazygit_messages", "arguments": {}}}),
    ];
    let input = lines.map(|line| format!("{line}\n")).concat().into_bytes();
    Act { input, ..args(&["serve", "--toolsets", "messages", "--project", &scene.repo_text(API)]) }
}

fn is_given(output: &[u8]) -> bool {
    let answers = output.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut told = answers.filter(|answer| answer["id"] == 2 && answer["result"]["isError"] != true);
    told.any(|answer| answer.to_string().contains("what was said before"))
}

fn deliver_again(scene: &Scene, first: &Traced) -> Result<()> {
    let Act { args, input } = deliver(scene);
    let second = scene.feed(&args.iter().map(String::as_str).collect::<Vec<_>>(), &input)?;
    let (first, second) = (is_given(&first.stdout), is_given(&second.stdout));
    ensure!(first || second, "a comment was not delivered");
    Ok(())
}

fn one_user(scene: &Scene) -> Result<()> {
    nothing(scene)?;
    make_team(scene)
}

fn user(scene: &Scene) -> Act {
    let act = args(&["users", "add", "grace", "--role", "power_user", "--password-stdin", "--data", &scene.team()]);
    Act { input: PASSWORD.to_vec(), ..act }
}

fn users(scene: &Scene) -> Result<Vec<String>> {
    let team = scene.team();
    if !std::path::Path::new(&team).join("team.db").exists() {
        return Ok(Vec::new());
    }
    let value: Value = serde_json::from_str(&scene.ok(&["users", "list", "--data", &team, "--json"])?)?;
    let rows = value["users"].as_array().context("no users are listed")?;
    Ok(rows.iter().map(|row| format!("{} {}", row["username"], row["role"])).collect())
}

fn user_again(scene: &Scene, first: &Traced) -> Result<()> {
    let kept = users(scene)?.iter().any(|row| row.contains("grace"));
    ensure!(first.code != Some(0) || kept, "a user that was acknowledged is lost");
    ensure!(first.code.is_none_or(|code| code == 0) || !kept, "a user that was refused is there");
    if !kept {
        let Act { args, input } = user(scene);
        let made = scene.feed(&args.iter().map(String::as_str).collect::<Vec<_>>(), &input)?;
        ensure!(made.status.success(), "{}", made.stderr);
    }
    Ok(())
}

fn team(scene: &Scene) -> Result<String> {
    Ok(users(scene)?.join("\n"))
}

fn golden(scene: &Scene) -> Act {
    args(&["golden", "add", &scene.repo_text(API), API, "--wait", "--data", &scene.team()])
}

fn goldens(scene: &Scene) -> Result<Vec<String>> {
    let printed = scene.ok(&["golden", "list", "--data", &scene.team(), "--json"])?;
    let value: Value = serde_json::from_str(&printed)?;
    let rows = value.as_object().and_then(|fields| fields.values().find_map(Value::as_array));
    let rows = rows.with_context(|| format!("no golden repositories are listed: {value}"))?;
    Ok(rows.iter().map(ToString::to_string).collect())
}

fn golden_again(scene: &Scene, first: &Traced) -> Result<()> {
    let team = scene.team();
    let kept = goldens(scene)?.len();
    ensure!(first.code != Some(0) || kept == 1, "a repository that was acknowledged is lost");
    if kept == 0 {
        let Act { args, .. } = golden(scene);
        scene.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    let jobs: Value = serde_json::from_str(&scene.ok(&["jobs", "list", "--data", &team, "--json"])?)?;
    for job in jobs["jobs"].as_array().with_context(|| format!("no jobs are listed: {jobs}"))? {
        let id = job["job_id"].as_str().or(job["id"].as_str()).context("a job has an id")?;
        if ["pending", "running"].iter().any(|status| job["status"] == *status) {
            scene.ok(&["jobs", "wait", id, "--data", &team])?;
        }
    }
    // One that failed is tried again by whoever reads why.
    if goldens(scene)?.iter().all(|row| !row.contains("\"ready\"")) {
        let Act { args, .. } = golden(scene);
        scene.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn golden_state(scene: &Scene) -> Result<String> {
    let team = scene.team();
    let printed = scene.ok(&["golden", "list", "--data", &team, "--json"])?;
    ensure!(printed.contains("\"ready\""), "the repository is not ready: {printed}");
    let jobs = scene.ok(&["jobs", "list", "--data", &team, "--json"])?;
    for open in ["\"pending\"", "\"running\""] {
        ensure!(!jobs.contains(open), "a job is left: {jobs}");
    }
    Ok(users(scene)?.join("\n") + "\n" + &dump::contents(&scene.now().join("team/lore.db"))?)
}

const HOST_FILE: &str =
    "{\n  // what the user wrote\n  \"theme\": \"dark\",\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n";

fn hosts(scene: &Scene) -> Result<()> {
    let folder = scene.lore().user_home().join(".cursor");
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join("mcp.json"), HOST_FILE)?)
}

fn setup(_: &Scene) -> Act {
    args(&["setup", "cursor"])
}

fn setup_again(scene: &Scene, first: &Traced) -> Result<()> {
    let now = fs::read_to_string(scene.lore().user_home().join(".cursor/mcp.json"))?;
    let is_changed = now != HOST_FILE;
    ensure!(!is_changed || now.contains("\"lore\"") && now.contains("\"other\""), "half a file was left: {now}");
    ensure!(first.code != Some(0) || is_changed, "a change that was acknowledged is lost");
    scene.ok(&["setup", "cursor"])?;
    Ok(())
}

/// The file after the change, and that it can be taken back.
fn host_files(scene: &Scene) -> Result<String> {
    let file = scene.lore().user_home().join(".cursor/mcp.json");
    let changed = fs::read_to_string(&file)?;
    scene.ok(&["setup", "cursor", "--undo"])?;
    let undone = fs::read_to_string(&file)?;
    ensure!(undone == HOST_FILE, "what was there did not come back: {undone}");
    scene.ok(&["setup", "cursor"])?;
    Ok(changed)
}
