//! Few bytes that stand for more than any machine can hold: what can be read is, and the rest is told.

use anyhow::Result;
use lore_testkit::odd::{Bomb, ORDINARY, Place, bomb};
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, clipped, megabytes, seconds},
};

/// No process may take more, git included. But a binary file that is added git unpacks as a whole, to say that it is binary.
const MEMORY: u64 = 1_300_000_000;

/// A bomb, and whether it leaves the code of its commit readable.
const BOMBS: &[(&str, Bomb, bool)] = &[
    ("10^10 paths", Bomb::Paths(10), false),
    ("10^5 paths", Bomb::Paths(5), true),
    ("10,000 folders deep", Bomb::Deep(10_000), false),
    ("3,000 folders deep", Bomb::Deep(3_000), false),
    ("900 folders deep", Bomb::Deep(900), true),
    ("10^11 paths of 2 MB", Bomb::LongNames(200_000), false),
    ("100,000 parents", Bomb::Parents(100_000), true),
    ("1,000 parents", Bomb::Parents(1_000), true),
    ("10,000 tags of tags", Bomb::Tags(10_000), true),
    ("4,000 deltas", Bomb::Deltas(4_000), true),
    ("a line of 100 MB", Bomb::Line(100_000_000), true),
    ("a line of 60 MB", Bomb::Line(60_000_000), true),
    ("2 GB of zeros", Bomb::Zeros(2 << 30), true),
    ("10 bytes that unpack to 1 GB", Bomb::Inflating(1 << 30), true),
    ("20,000 moved files", Bomb::Moves(20_000), true),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    trial.tell(format!("no process may take more than {}", megabytes(MEMORY)));
    for (name, what, readable) in BOMBS {
        trial = trial.bound_memory(MEMORY + if let Bomb::Zeros(bytes) = what { *bytes } else { 0 });
        for (place, at) in [(Place::Past, "past"), (Place::Tip, "tip")] {
            let folder = trial.path(&format!("{}-{at}", name.replace([' ', ',', '^'], "-")));
            let path = bomb(*what, place, &folder)?;
            let path = path.to_str().unwrap_or_default().to_owned();
            let added = trial.run(&["add", &path, "--name", "bomb"])?;
            let said = clipped(&added.stderr, 300);
            trial.tell(format!("{name} ({at}) {} {}", seconds(added.cost.wall), megabytes(added.cost.peak_bytes)));
            // The history is complete, whatever can be said of the one commit.
            let query = if place == Place::Past { "After" } else { "Bomb" };
            for query in [query, "Begin"] {
                let found = trial.json(&["log", query, "--no-sync"])?;
                let found = found["results"].as_array().map_or(0, Vec::len);
                trial.check(found > 0, || format!("{name} ({at}): no commit `{query}` is found: {said}"));
            }
            let code = trial.json(&["search", ORDINARY, "--no-sync", "--repo", "bomb"])?;
            let found =
                code.to_string().contains(ORDINARY) && code["results"].as_array().is_some_and(|r| !r.is_empty());
            if place == Place::Past || *readable {
                trial.check(found, || format!("{name} ({at}): the code is not found: {said}"));
            } else {
                let status = trial.run(&["status", "--left-out"])?;
                let told = String::from_utf8_lossy(&status.stdout).contains("too many folders");
                trial.check(told || !said.trim().is_empty(), || format!("{name} ({at}): nothing is said about it"));
            }
            // Once more gives the same, and takes no longer.
            let again = trial.run(&["sync", "--repo", "bomb"])?;
            trial.check(again.cost.wall <= added.cost.wall * 2 + std::time::Duration::from_secs(2), || {
                format!("{name} ({at}): the next sync took {}", seconds(again.cost.wall))
            });
            trial.run(&["sync", "--repo", "bomb", "--temporal"])?;
            trial.run(&["status", "--left-out"])?;
            trial.run(&["doctor"])?;
            ask_agent(&mut trial, &path)?;
            trial.ok(&["remove", "bomb"])?;
            std::fs::remove_dir_all(&folder)?;
        }
    }
    Ok(trial.end())
}

/// Every tool that reads trees and files answers something.
fn ask_agent(trial: &mut Trial, path: &str) -> Result<()> {
    let mut session = trial.serve(path.as_ref(), &["--no-refresh"])?;
    for (tool, arguments) in [
        ("commitmux_search", json!({"query": "bomb"})),
        ("commitmux_touches", json!({"path_glob": "lib"})),
        ("cortex_search", json!({"query": ORDINARY})),
        ("list_files", json!({"repository_alias": "bomb"})),
        ("browse_directory", json!({"repository_alias": "bomb", "recursive": true})),
    ] {
        trial.call(&mut session, tool, &arguments)?;
    }
    let ended = session.end()?;
    trial.check(ended.status.success(), || format!("the server ended with {}: {}", ended.status, ended.log));
    Ok(())
}
