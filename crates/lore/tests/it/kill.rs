//! A sync that is killed loses nothing: the next one goes on, and the index is that of an undisturbed sync.

use std::path::Path;

use lore_testkit::{
    Repo,
    crash::{Kills, kill_and_compare},
};

use crate::{growing, switches};

#[test]
fn a_killed_sync_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let repo = Repo::init(dir.path().join("repo"));
    growing::grow(&repo, 0..if switches::slow_tests() { 1_500 } else { 400 });
    let kills = Kills { times: 4, attempts: 12, seed: 2 };
    // Only lore itself is killed: what it has started may still run when the next sync begins.
    let report =
        kill_and_compare(Path::new(env!("CARGO_BIN_EXE_lore")), repo.path(), kills, &mut |child| Ok(child.kill()?))
            .expect("every sync starts, and every index opens");
    // Whether a kill came in time is up to the machine, so it is not asserted.
    assert!(report.differences.is_empty(), "{report:#?}");
    assert!(report.rows > 400 && report.indexes > 0, "{report:#?}");
}
