//! Errors of the team's records as failures that say what to do.

use lore_model::Failure;
use lore_store::{Kept, StoreError, kept_failure};

/// What a fault in storing what a team has means to the user.
pub fn team_failure(error: StoreError) -> Failure {
    let kept = Kept {
        what: "the team's records",
        elsewhere: "choose another one with `--data DIR`",
        go_on: "Stop the server and put a backup in its place",
    };
    kept_failure(&kept, error)
}
