//! Kills a team server again and again while it is used, and looks whether it keeps what it promised.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Child,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    Client, Corpus, Material, Running, Server, Size, add_commit,
    load::{Measured, PASSWORD, Plan, User, ask, kind_name, let_in},
    logins::{Found, Login, log_in},
    model::{Aliases, Jobs, Names, State},
    pause,
    traffic::{Admin, Golden, Member},
};
use crate::Random;

/// How long a job may take whatever there is to read, and for so many lines one more second.
const ENDING: Duration = Duration::from_mins(5);
const LINES_PER_SECOND: usize = 500;
/// Of so many kills, one falls before the server listens, and one comes before anybody has looked at it.
const TURN: usize = 5;
/// How many users keep a login.
const LOGINS: usize = 3;
/// What the server does besides where it let go of a branch just before somebody got it.
const SYNC: &str = "sync_repository";
/// The most rows that the server lists at once.
const ROWS: usize = 1000;

/// How to disturb.
#[derive(Debug, Clone, Copy)]
pub struct Kills {
    /// How often the server is killed, at least.
    pub times: usize,
    /// The longest time between its start and its death.
    pub most: Duration,
    /// How many users there are beside the admin.
    pub users: usize,
    /// Lines of each repository that is acted on.
    pub lines: usize,
    /// Users who only ask.
    pub load: Option<Load>,
    /// Decides about moments and acts.
    pub seed: u64,
}

/// Users who ask at times of their own, and what about.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many there are.
    pub users: usize,
    /// Questions of each in a second.
    pub rate: f64,
    /// Lines of the repository that they ask about, which is acted on besides.
    pub lines: usize,
}

impl Kills {
    /// How long a job may take.
    fn patience(&self) -> Duration {
        let lines = self.load.map_or(0, |load| load.lines) + 3 * self.lines;
        ENDING + Duration::from_secs(u64::try_from(lines / LINES_PER_SECOND).unwrap_or(u64::MAX))
    }
}

/// What happened.
#[derive(Debug, Default)]
pub struct Report {
    /// Kills.
    pub kills: usize,
    /// Those of them that came before the server listened.
    pub starts: usize,
    /// Logins with a password that was given before a kill.
    pub logins: usize,
    /// Refresh tokens that were taken.
    pub rotations: usize,
    /// Questions of those who only ask.
    pub load: usize,
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
            "kills: {} ({} before it listened), jobs: {}, lost: {}, twice: {}, users: {}, tokens: {}, logins: {}, \
             rotations: {}, activations: {}, questions: {} and {}, unsure: {}, compared: {}, errors: {}, inconsistent: {}",
            self.kills,
            self.starts,
            self.jobs,
            self.lost.len(),
            self.twice.len(),
            self.users,
            self.tokens,
            self.logins,
            self.rotations,
            self.activations,
            self.questions,
            self.load,
            self.unsure,
            self.compared,
            self.errors.len(),
            self.inconsistent.len(),
        )
    }
}

/// Everything that is used in all rounds.
struct Drive {
    kills: Kills,
    server: Server,
    sources: Vec<Corpus>,
    golden: Vec<Golden>,
    admin: Admin,
    members: Vec<Member>,
    logins: Vec<Login>,
    /// Those who only ask, and what their questions are made of.
    users: Vec<User>,
    materials: Vec<Material>,
    /// Jobs that were over before the first kill.
    before: BTreeSet<String>,
    /// Jobs that no act is: nobody here asks for one, so each follows on an act of its own job.
    syncs: BTreeSet<String>,
    random: Random,
    report: Report,
}

/// How the server is killed.
type Killer<'a> = dyn FnMut(&mut Child) -> Result<()> + 'a;

/// Uses a server, kills it, starts it again on the same data and compares, so many times.
pub fn kill_and_compare(binary: &Path, kills: Kills, kill: &mut Killer<'_>) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    // As the server sees it.
    let folder = dir.path().canonicalize()?;
    let (mut drive, mut running) = prepare(binary, &folder, kills)?;
    while drive.report.kills < kills.times {
        let starts_in = running.took();
        drive.kill_at_work(running, kill)?;
        if drive.report.kills < kills.times && drive.report.kills % TURN == 2 {
            drive.kill_at_start(starts_in, kill)?;
        }
        running = drive.server.start().with_context(|| format!("after kill {}", drive.report.kills))?;
        // Now and then the next kill comes while it still takes up what the last one left.
        if drive.report.kills % TURN != 4 {
            drive.check(&running)?;
        }
    }
    drive.finish(binary, &folder, running)?;
    Ok(drive.report)
}

fn prepare(binary: &Path, folder: &Path, kills: Kills) -> Result<(Drive, Running)> {
    let mut random = Random::new(kills.seed);
    let small = Size { lines: kills.lines, commits: 6, branches: 5 };
    let mut sizes = [small; 3];
    sizes[0].lines = kills.load.map_or(kills.lines, |load| load.lines);
    let sources: Vec<Corpus> = sizes
        .into_iter()
        .zip(0..)
        .map(|(size, number)| Corpus::make(&folder.join(format!("source{number}")), kills.seed + number, size))
        .collect();
    let server = Server::new(binary, &[folder]);
    let running = server.start()?;
    let token = running.admin_token()?;
    let mut client = running.client_of(&token);
    let mut golden = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let alias = format!("base{number}");
        running.add_golden(&mut client, source.repo.path(), &alias, kills.patience())?;
        golden.push((alias, source.branches.clone()));
    }
    let mut names = Names::default();
    names.sure.insert("admin".to_owned());
    let mut members = Vec::new();
    for number in 0..kills.users {
        let name = format!("member{number}");
        let asked = json!({"username": name, "password": PASSWORD, "role": "power_user"});
        client.rest("POST", "/api/users", Some(&asked))?;
        let token = running.token_of(&name, PASSWORD, "own")?;
        names.sure.insert(name.clone());
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
    let (mut materials, mut users) = (Vec::new(), Vec::new());
    if let Some(load) = kills.load {
        materials.push(Material::of(sources[0].repo.path(), &golden[0].0, &mut random)?);
        users = let_in(&running, &mut client, load.users, &materials, &golden[1].0, kills.patience())?;
        names.sure.extend(users.iter().map(|user| user.name.clone()));
    }
    let logins = names.sure.iter().filter(|name| *name != "admin").take(LOGINS);
    let logins = logins.map(|name| Login::new(&running, name)).collect::<Result<_>>()?;
    let mut tokens = Names::default();
    tokens.sure.insert("driver".to_owned());
    let admin = Admin {
        token,
        users: names,
        tokens,
        secrets: Vec::new(),
        added: Names::default(),
        golden: Aliases::default(),
        jobs: Jobs::default(),
        random: Random::new(random.number()),
        made: 0,
        // A small one: it is read anew each time.
        source: sources[2].repo.path().to_path_buf(),
        faults: Vec::new(),
    };
    let (before, total) = jobs(&mut client)?;
    ensure!(before.len() == total, "{total} jobs are more than can be listed");
    let before = before.into_keys().collect();
    let (syncs, report) = (BTreeSet::new(), Report::default());
    let drive = Drive {
        kills,
        server,
        sources,
        golden,
        admin,
        members,
        logins,
        users,
        materials,
        before,
        syncs,
        random,
        report,
    };
    Ok((drive, running))
}

/// The newest jobs with what they do, and how many there are.
fn jobs(client: &mut Client) -> Result<(BTreeMap<String, String>, usize)> {
    let listed = client.rest("GET", &format!("/api/jobs?limit={ROWS}"), None)?;
    let total = usize::try_from(listed["total"].as_u64().context("no total")?)?;
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = listed["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    Ok((rows.iter().map(|row| (text(row, "job_id"), text(row, "operation_type"))).collect(), total))
}

impl Drive {
    /// Lets everybody use the server, and kills it at some moment.
    fn kill_at_work(&mut self, mut running: Running, kill: &mut Killer<'_>) -> Result<()> {
        let moment = self.random.within(self.kills.most);
        let address = running.address();
        // Nobody is to run out of questions before the kill.
        let time = self.kills.most + self.kills.patience();
        let rate = self.kills.load.map_or(1.0, |load| load.rate);
        let plan = Plan { address, start: Instant::now(), time, rate };
        let over = AtomicBool::new(false);
        let measured = std::thread::scope(|scope| -> Result<Measured> {
            let (golden, materials, over) = (self.golden.as_slice(), self.materials.as_slice(), &over);
            for member in &mut self.members {
                scope.spawn(move || member.act(&mut Client::new(address, Some(&member.token.clone())), golden));
            }
            let admin = &mut self.admin;
            scope.spawn(move || admin.act(&mut Client::new(address, Some(&admin.token.clone())), golden));
            for login in &mut self.logins {
                scope.spawn(move || login.act(&mut Client::new(address, None), over));
            }
            let asking: Vec<_> = self
                .users
                .iter()
                .map(|user| {
                    let random = Random::new(self.random.number());
                    scope.spawn(move || ask(plan, user, materials, random, over))
                })
                .collect();
            pause(moment.saturating_sub(plan.start.elapsed()));
            over.store(true, Ordering::Relaxed);
            kill(running.child())?;
            let mut measured = Measured::default();
            for user in asking {
                measured.add(user.join().map_err(|_| anyhow::anyhow!("a user panicked"))?);
            }
            Ok(measured)
        })?;
        self.report.load += measured.asked();
        let faults = measured.faults.iter();
        self.report
            .errors
            .extend(faults.map(|((kind, what), count)| format!("{}, {count} times: {what}", kind_name(*kind))));
        drop(running);
        self.note_kill()
    }

    /// Kills the server before it listens. One that was faster than the last time is killed as well, and the next one sooner.
    fn kill_at_start(&mut self, mut starts_in: Duration, kill: &mut Killer<'_>) -> Result<()> {
        loop {
            let moment = self.random.within(starts_in);
            let listened = self.server.spawn()?.cut(moment, kill)?;
            self.note_kill()?;
            if !listened {
                self.report.starts += 1;
                return Ok(());
            }
            starts_in = moment;
        }
    }

    /// After a kill: the index is whole, and there is something new to fetch.
    fn note_kill(&mut self) -> Result<()> {
        let kills = self.report.kills + 1;
        self.report.kills = kills;
        self.admin.jobs.kills = kills;
        for member in &mut self.members {
            member.jobs.kills = kills;
        }
        let found = self.server.diagnosis()?;
        self.report.inconsistent.extend(found.map(|found| format!("after kill {kills}: {found}")));
        add_commit(&self.sources[kills % self.sources.len()].repo, kills, &mut self.random);
        Ok(())
    }

    /// Everybody gets in as before: with a password, and with what a login gave.
    fn check_logins(&mut self, running: &Running) -> Result<()> {
        let known: Vec<&String> = self.admin.users.sure.iter().filter(|name| *name != "admin").collect();
        if !known.is_empty() {
            let name = *self.random.pick(&known);
            match log_in(running, name) {
                Ok(_) => self.report.logins += 1,
                Err(fault) => self.report.lost.push(format!("{name} cannot log in: {fault}")),
            }
        }
        let mut found = Found::default();
        let thorough = self.report.kills % self.logins.len().max(1);
        for (number, login) in self.logins.iter_mut().enumerate() {
            login.check(running, number == thorough, &mut found)?;
            self.report.errors.append(&mut login.faults);
        }
        self.report.rotations = self.logins.iter().map(|login| login.rotations).sum();
        self.report.lost.append(&mut found.lost);
        self.report.twice.append(&mut found.twice);
        Ok(())
    }

    /// Compares everything that was promised with what the server says.
    fn check(&mut self, running: &Running) -> Result<()> {
        self.check_logins(running)?;
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
        let (newest, total) = jobs(&mut client)?;
        self.syncs.extend(newest.iter().filter(|(_, operation)| *operation == SYNC).map(|(id, _)| id.clone()));
        let total = total.checked_sub(self.syncs.len()).context("jobs were forgotten")?;
        let least = known.len() + self.before.len();
        let most = least + unsure;
        let unknown = |id: &&String| !known.contains(*id) && !self.before.contains(*id);
        if !(least..=most).contains(&total) || self.syncs.iter().filter(unknown).count() > unsure {
            let unknown: Vec<(&String, &String)> = newest.iter().filter(|(id, _)| unknown(id)).collect();
            report.twice.push(format!(
                "there are {total} jobs and {} syncs, and must be {least} to {most}; nobody knows {unknown:?}",
                self.syncs.len()
            ));
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
        let (started, patience) = (Instant::now(), self.kills.patience());
        loop {
            self.check(&running)?;
            if self.admin.jobs.are_over() && self.members.iter().all(|member| member.jobs.are_over()) {
                break;
            }
            ensure!(started.elapsed() < patience, "jobs are not over after {patience:?}: {}", self.report.summary());
            pause(Duration::from_millis(300));
        }
        let fresh = Server::new(binary, &[folder]);
        let other = fresh.start()?;
        let mut clients = [running.client_of(&self.admin.token), other.client_of(&other.admin_token()?)];
        let listed = clients[0].rest("GET", &format!("/api/golden?limit={ROWS}"), None)?;
        for row in listed["repositories"].as_array().into_iter().flatten() {
            let alias = row["alias"].as_str().unwrap_or_default();
            let at = self.golden.iter().position(|(base, _)| base == alias).unwrap_or(2);
            other.add_golden(&mut clients[1], self.sources[at].repo.path(), alias, patience)?;
            let asked = clients[0].rest("POST", &format!("/api/golden/{alias}/refresh"), None)?;
            end_well(&running, &mut clients[0], &asked, patience)?;
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
                    end_well(server, client, &answer, patience)?;
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
fn end_well(server: &Running, client: &mut Client, answer: &Value, patience: Duration) -> Result<()> {
    let job = server.wait_for(client, answer["job_id"].as_str().context("there is no job")?, patience)?;
    ensure!(job["status"] == "completed", "a job that nobody disturbed failed: {job}");
    Ok(())
}
