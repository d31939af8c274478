//! Kills a team server again and again while it starts programs, and starts it again at once: every start must succeed.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::{Client, Corpus, Running, Server, Size, pause};
use crate::{Random, descendants};

/// The golden repositories, which are refreshed all the time.
const REPOSITORIES: usize = 3;
const SIZE: Size = Size { lines: 300, commits: 4, branches: 2 };

/// How long adding one of them may take.
const ADDING: Duration = Duration::from_mins(5);

/// After a refused start the folder is free by then.
const FREE: Duration = Duration::from_secs(1);

/// What is done.
#[derive(Debug, Clone, Copy)]
pub struct Restarts {
    /// How often the server is killed.
    pub times: usize,
    /// The longest time between a start and the next kill.
    pub most: Duration,
    /// Decides about the moments.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Restarted {
    /// Kills.
    pub kills: usize,
    /// Kills at which the server had programs running.
    pub with_programs: usize,
    /// Starts that waited for the folder.
    pub waited: usize,
    /// What starts that failed said.
    pub refused: Vec<String>,
}

impl Restarted {
    /// One line.
    pub fn summary(&self) -> String {
        let Self { kills, with_programs, waited, refused } = self;
        let refused = refused.len();
        format!(
            "kills: {kills} ({with_programs} with programs running), waited for the folder: {waited}, refused: {refused}"
        )
    }
}

/// Kills and starts a server so many times.
pub fn restart_at_once(binary: &Path, restarts: Restarts) -> Result<Restarted> {
    let dir = tempfile::tempdir()?;
    // As the server sees it.
    let folder = dir.path().canonicalize()?;
    let server = Server::new(binary, &[&folder]);
    let mut running = server.start()?;
    let token = running.admin_token()?;
    let mut client = running.client_of(&token);
    for number in 0..REPOSITORIES {
        let source = Corpus::make(&folder.join(format!("source{number}")), restarts.seed, SIZE);
        running.add_golden(&mut client, source.repo.path(), &format!("base{number}"), ADDING)?;
    }
    let (mut random, mut report) = (Random::new(restarts.seed), Restarted::default());
    while report.kills < restarts.times {
        let address = running.address();
        let moment = random.within(restarts.most);
        let killed = std::thread::scope(|scope| -> Result<Running> {
            for number in 0..REPOSITORIES {
                let mut client = Client::new(address, Some(&token));
                let path = format!("/api/golden/base{number}/refresh");
                // Until the connection breaks.
                scope.spawn(move || while client.rest("POST", &path, Some(&json!({}))).is_ok() {});
            }
            pause(moment);
            report.with_programs += usize::from(!descendants(running.id()).is_empty());
            running.child().kill()?;
            Ok(running)
        })?;
        report.kills += 1;
        // In turn: who starts it again waits for the end of the process, or does not.
        let killed = (report.kills % 2 == 0).then_some(killed);
        running = match server.start() {
            Ok(running) => running,
            Err(error) => {
                report.refused.push(format!("after kill {}: {error:#}", report.kills));
                pause(FREE);
                server.start().with_context(|| format!("once more after kill {}", report.kills))?
            }
        };
        drop(killed);
        report.waited += usize::from(running.log().iter().any(|line| line.contains("another process has the folder")));
    }
    Ok(report)
}
