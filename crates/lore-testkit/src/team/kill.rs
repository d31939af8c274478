//! Kills a team server again and again while it is used, and looks whether it keeps what it promised.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Child,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    Client, Corpus, Running, Server, Size, add_commit,
    model::{Aliases, Jobs, Names, State},
    pause,
    traffic::{Admin, Golden, Member},
};
use crate::Random;

/// How long jobs may take to be over at the end.
const ENDING: Duration = Duration::from_mins(5);
/// The most rows that the server lists at once.
const ROWS: usize = 1000;

/// How to disturb.
#[derive(Debug, Clone, Copy)]
pub struct Kills {
    /// How often the server is killed.
    pub times: usize,
    /// The longest time between its start and its death.
    pub most: Duration,
    /// How many users there are beside the admin.
    pub users: usize,
    /// Lines of each repository.
    pub lines: usize,
    /// Decides about moments and acts.
    pub seed: u64,
}

/// What happened.
#[derive(Debug, Default)]
pub struct Report {
    /// Kills.
    pub kills: usize,
    /// Jobs that were acknowledged.
    pub jobs: usize,
    /// Acts whose answer never came.
    pub unsure: usize,
    /// Users that were acknowledged.
    pub users: usize,
    /// Tokens that were acknowledged.
    pub tokens: usize,
    /// Aliases that were asked for.
    pub activations: usize,
    /// Questions that were asked while it ran.
    pub questions: usize,
    /// Answers that were compared with those of a fresh index.
    pub compared: usize,
    /// What was acknowledged and is not there.
    pub lost: Vec<String>,
    /// What was done twice, or by nobody.
    pub twice: Vec<String>,
    /// What is otherwise not as it must be.
    pub inconsistent: Vec<String>,
    /// Questions and acts that failed and should not have.
    pub errors: Vec<String>,
}

impl Report {
    /// Whether everything is as it must be.
    pub fn is_clean(&self) -> bool {
        [&self.lost, &self.twice, &self.inconsistent, &self.errors].iter().all(|list| list.is_empty())
    }

    /// One line.
    pub fn summary(&self) -> String {
        format!(
            "kills: {}, jobs: {}, lost: {}, twice: {}, users: {}, tokens: {}, activations: {}, questions: {}, unsure: {}, \
             compared: {}, errors: {}, inconsistent: {}",
            self.kills,
            self.jobs,
            self.lost.len(),
            self.twice.len(),
            self.users,
            self.tokens,
            self.activations,
            self.questions,
            self.unsure,
            self.compared,
            self.errors.len(),
            self.inconsistent.len(),
        )
    }
}

/// Everything that is used in all rounds.
struct Drive {
    server: Server,
    sources: Vec<Corpus>,
    golden: Vec<Golden>,
    admin: Admin,
    members: Vec<Member>,
    report: Report,
}

/// Uses a server, kills it, starts it again on the same data and compares, so many times.
pub fn kill_and_compare(binary: &Path, kills: Kills, kill: &mut dyn FnMut(&mut Child) -> Result<()>) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    // As the server sees it.
    let folder = dir.path().canonicalize()?;
    let mut random = Random::new(kills.seed);
    let (mut drive, mut running) = prepare(binary, &folder, kills, &mut random)?;
    for round in 0..kills.times {
        let moment = random.within(kills.most);
        let address = running.address();
        std::thread::scope(|scope| -> Result<()> {
            let golden = drive.golden.as_slice();
            for member in &mut drive.members {
                scope.spawn(move || member.act(&mut Client::new(address, Some(&member.token.clone())), golden));
            }
            let admin = &mut drive.admin;
            scope.spawn(move || admin.act(&mut Client::new(address, Some(&admin.token.clone())), golden));
            add_commit(&drive.sources[round % drive.sources.len()].repo, round, &mut random);
            pause(moment);
            kill(running.child())
        })?;
        drop(running);
        drive.report.kills += 1;
        let found = drive.server.diagnosis()?;
        drive.report.inconsistent.extend(found.map(|found| format!("after kill {}: {found}", round + 1)));
        running = drive.server.start().with_context(|| format!("after kill {}", round + 1))?;
        drive.check(&running)?;
    }
    drive.finish(binary, &folder, running)?;
    Ok(drive.report)
}

fn prepare(binary: &Path, folder: &Path, kills: Kills, random: &mut Random) -> Result<(Drive, Running)> {
    let size = Size { lines: kills.lines, commits: 6, branches: 5 };
    let sources: Vec<Corpus> =
        (0..3).map(|number| Corpus::make(&folder.join(format!("source{number}")), kills.seed + number, size)).collect();
    let server = Server::new(binary, &[folder]);
    let running = server.start()?;
    let token = running.admin_token()?;
    let mut client = running.client_of(&token);
    let mut golden = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let alias = format!("base{number}");
        running.add_golden(&mut client, source.repo.path(), &alias, ENDING)?;
        golden.push((alias, source.branches.clone()));
    }
    let mut users = Names::default();
    users.sure.insert("admin".to_owned());
    let mut members = Vec::new();
    for number in 0..kills.users {
        let name = format!("member{number}");
        let asked = json!({"username": name, "password": "a long password 1", "role": "power_user"});
        client.rest("POST", "/api/users", Some(&asked))?;
        let token = running.token_of(&name, "a long password 1", "own")?;
        users.sure.insert(name.clone());
        members.push(Member {
            name,
            token,
            aliases: Aliases::default(),
            jobs: Jobs::default(),
            random: Random::new(random.number()),
            made: 0,
            asked: 0,
            faults: Vec::new(),
        });
    }
    let mut tokens = Names::default();
    tokens.sure.insert("driver".to_owned());
    let admin = Admin {
        token,
        users,
        tokens,
        secrets: Vec::new(),
        added: Names::default(),
        golden: Aliases::default(),
        jobs: Jobs { known: BTreeMap::new(), unsure: 0 },
        random: Random::new(random.number()),
        made: 0,
        source: sources[0].repo.path().to_path_buf(),
        faults: Vec::new(),
    };
    Ok((Drive { server, sources, golden, admin, members, report: Report::default() }, running))
}

impl Drive {
    /// Compares everything that was promised with what the server says.
    fn check(&mut self, running: &Running) -> Result<()> {
        let mut client = running.client_of(&self.admin.token);
        let report = &mut self.report;
        let mut all_jobs = vec![&mut self.admin.jobs];
        all_jobs.extend(self.members.iter_mut().map(|member| &mut member.jobs));
        let (mut known, mut unsure) = (BTreeSet::new(), 0);
        for jobs in all_jobs {
            let (lost, twice) = jobs.look(&mut client)?;
            report.lost.extend(lost);
            report.twice.extend(twice);
            known.extend(jobs.known.keys().cloned());
            unsure += jobs.unsure;
        }
        // The repositories that were added at the beginning.
        let total = client.rest("GET", "/api/jobs?limit=1", None)?["total"].as_u64().context("no total")?;
        let (least, most) = (known.len() + self.golden.len(), known.len() + self.golden.len() + unsure);
        if !(least..=most).contains(&usize::try_from(total)?) {
            report.twice.push(format!("there are {total} jobs, and must be {least} to {most}"));
        }
        report.jobs = known.len();
        report.unsure = unsure;

        for member in &mut self.members {
            let rows = running.client_of(&member.token).tool("list_repositories", &json!({}))?;
            let rows = rows["repositories"].as_array().cloned().unwrap_or_default();
            let found: BTreeMap<String, State> = rows.iter().map(activation).collect();
            if found.len() < rows.len() {
                report.twice.push(format!("{} has an alias twice", member.name));
            }
            let jobs = &member.jobs;
            report.lost.extend(member.aliases.compare(&member.name, &found, &|id| jobs.over(id)));
            report.errors.append(&mut member.faults);
        }
        report.activations = self.members.iter().map(|member| member.aliases.0.len()).sum();
        report.questions = self.members.iter().map(|member| member.asked).sum();
        check_admin(&mut self.admin, &self.golden, &mut client, running, report)
    }

    /// Lets all jobs end, and compares answers with those of a fresh index of the same repositories.
    fn finish(&mut self, binary: &Path, folder: &Path, running: Running) -> Result<()> {
        let started = Instant::now();
        loop {
            self.check(&running)?;
            if self.admin.jobs.are_over() && self.members.iter().all(|member| member.jobs.are_over()) {
                break;
            }
            ensure!(started.elapsed() < ENDING, "jobs are not over after {ENDING:?}: {}", self.report.summary());
            pause(Duration::from_millis(300));
        }
        let fresh = Server::new(binary, &[folder]);
        let other = fresh.start()?;
        let mut clients = [running.client_of(&self.admin.token), other.client_of(&other.admin_token()?)];
        let listed = clients[0].rest("GET", &format!("/api/golden?limit={ROWS}"), None)?;
        for row in listed["repositories"].as_array().into_iter().flatten() {
            let alias = row["alias"].as_str().unwrap_or_default();
            let at = self.golden.iter().position(|(base, _)| base == alias).unwrap_or(0);
            other.add_golden(&mut clients[1], self.sources[at].repo.path(), alias, ENDING)?;
            let asked = clients[0].rest("POST", &format!("/api/golden/{alias}/refresh"), None)?;
            end_well(&running, &mut clients[0], &asked)?;
        }
        // Every branch is wanted in both: what is read besides weighs words.
        let mut aliases: Vec<String> = Vec::new();
        for (alias, branches) in &self.golden {
            aliases.push(alias.clone());
            for branch in branches {
                let own = format!("compared-{alias}-{branch}");
                let asked = json!({"golden_repo_alias": alias, "branch_name": branch, "user_alias": own});
                for (server, client) in [&running, &other].into_iter().zip(&mut clients) {
                    let answer = client.tool("activate_repository", &asked)?;
                    end_well(server, client, &answer)?;
                }
                aliases.push(own);
            }
        }
        for (tool, asked) in aliases.iter().flat_map(|alias| questions(alias)) {
            let [after, fresh] =
                clients.each_mut().map(|client| client.tool(tool, &asked).map(|answer| results(&answer)));
            let (after, fresh) = (after?, fresh?);
            self.report.compared += 1;
            if after != fresh {
                let at = (0..ROWS).find(|at| row(&after, *at) != row(&fresh, *at));
                let rows = match at {
                    Some(at) => format!("row {at} is {} instead of {}", row(&after, at), row(&fresh, at)),
                    None => format!("{after} instead of {fresh}"),
                };
                self.report.inconsistent.push(format!("{tool} {asked}: {rows}"));
            }
        }
        drop(running);
        self.report.inconsistent.extend(self.server.diagnosis()?);
        Ok(())
    }
}

fn check_admin(
    admin: &mut Admin,
    golden: &[Golden],
    client: &mut Client,
    running: &Running,
    report: &mut Report,
) -> Result<()> {
    let list = |client: &mut Client, path: &str, rows: &str, key: &str| -> Result<Vec<String>> {
        let answer = client.rest("GET", &format!("{path}?limit={ROWS}"), None)?;
        let rows = answer[rows].as_array().cloned().unwrap_or_default();
        Ok(rows.iter().map(|row| row[key].as_str().unwrap_or_default().to_owned()).collect())
    };
    for (names, path, rows, key) in
        [(&admin.users, "/api/users", "users", "username"), (&admin.tokens, "/api/tokens", "tokens", "name")]
    {
        let (lost, twice) = names.compare(key, &list(client, path, rows, key)?);
        report.lost.extend(lost);
        report.twice.extend(twice);
    }
    for (name, secret) in &admin.secrets {
        if let Err(fault) = running.client_of(secret).rest("GET", "/auth/me", None) {
            report.lost.push(format!("the token `{name}` does not work any more: {fault}"));
        }
    }
    let rows = client.rest("GET", &format!("/api/golden?limit={ROWS}"), None)?;
    let mut found = BTreeMap::new();
    for row in rows["repositories"].as_array().into_iter().flatten() {
        let alias = row["alias"].as_str().unwrap_or_default().to_owned();
        // What is being added or removed is neither there nor not: only what is ready counts.
        if row["state"] == "ready" && !golden.iter().any(|(base, _)| *base == alias) {
            found.insert(alias.clone(), State::Single(alias, "ready".to_owned()));
        }
    }
    let jobs = &admin.jobs;
    report.lost.extend(admin.golden.compare("the server", &found, &|id| jobs.over(id)));
    let audit = client.rest("GET", &format!("/api/audit?limit={ROWS}"), None)?;
    let entries = audit["entries"].as_array().cloned().unwrap_or_default();
    let complete = audit["total"].as_u64() == u64::try_from(entries.len()).ok();
    let mut acts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for entry in &entries {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        *acts.entry((text("act"), text("subject"))).or_default() += 1;
    }
    for (names, act, rest) in [
        (&admin.users, "create_user", ""),
        (&admin.tokens, "create_token", " of admin"),
        (&admin.added, "add_golden_repo", ""),
    ] {
        for (name, sure) in
            names.sure.iter().map(|name| (name, true)).chain(names.maybe.iter().map(|name| (name, false)))
        {
            let count = acts.get(&(act.to_owned(), format!("{name}{rest}"))).copied().unwrap_or_default();
            if count > 1 {
                report.twice.push(format!("{act} `{name}` is {count} times in the audit log"));
            } else if count == 0 && sure && complete && name != "admin" {
                report.lost.push(format!("{act} `{name}` is not in the audit log"));
            }
        }
    }
    report.users = admin.users.sure.len();
    report.tokens = admin.tokens.sure.len();
    report.errors.append(&mut admin.faults);
    Ok(())
}

/// A row of `list_repositories`.
fn activation(row: &Value) -> (String, State) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let state = match row["golden_repo_aliases"].as_array() {
        Some(names) => State::Composite(names.iter().map(text).collect()),
        None => State::Single(text(&row["golden_repo_alias"]), text(&row["current_branch"])),
    };
    (text(&row["user_alias"]), state)
}

/// The same questions for every index.
fn questions(alias: &str) -> Vec<(&'static str, Value)> {
    let words =
        ["parse the token", "refresh each branch", "segment_count", "schedule ledger", "topic", "each", "format step"];
    let mut all = Vec::new();
    for query in words {
        for mode in ["fts", "semantic", "hybrid"] {
            let asked = json!({"query_text": query, "search_mode": mode, "repository_alias": alias, "limit": 20});
            all.push(("search_code", asked));
        }
        all.push(("commitmux_search", json!({"query": query, "repos": [alias]})));
    }
    all.push((
        "search_code",
        json!({"query_text": "pub fn [a-m]+_key_", "search_mode": "fts", "regex": true, "repository_alias": alias}),
    ));
    all.push(("list_files", json!({"repository_alias": alias})));
    all
}

/// What of an answer is the same for the same repository.
fn results(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(told) = answer.pointer_mut("/results/query_metadata").and_then(Value::as_object_mut) {
        told.remove("execution_time_ms");
    }
    for repo in answer.pointer_mut("/freshness/repos").and_then(Value::as_array_mut).into_iter().flatten() {
        repo["last_synced_at"] = Value::Null;
    }
    answer
}

/// A row of an answer, whichever tool it is of.
fn row(answer: &Value, at: usize) -> &Value {
    let rows = answer.pointer("/results/results").or_else(|| answer.get("results")).unwrap_or(answer);
    rows.get(at).unwrap_or(&Value::Null)
}

/// Waits for the job of an answer, which must be completed.
fn end_well(server: &Running, client: &mut Client, answer: &Value) -> Result<()> {
    let job = server.wait_for(client, answer["job_id"].as_str().context("there is no job")?, ENDING)?;
    ensure!(job["status"] == "completed", "a job that nobody disturbed failed: {job}");
    Ok(())
}
