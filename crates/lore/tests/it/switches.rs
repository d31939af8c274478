//! What the environment asks of the tests.

use std::{ffi::OsString, io::Write as _, path::PathBuf};

/// Whether tests may take their time (`LORE_SLOW_TESTS=1`).
pub(crate) fn slow_tests() -> bool {
    variable("LORE_SLOW_TESTS").is_some_and(|value| value == "1")
}

/// Where other people's MCP clients are installed (`LORE_TEST_CLIENTS`); `cargo xtask test` installs them.
///
/// Without them a test says so and ends; in CI they have to be there.
pub(crate) fn clients() -> Option<PathBuf> {
    let dir = variable("LORE_TEST_CLIENTS");
    if dir.is_none() {
        assert!(variable("CI").is_none(), "CI drives real clients: run the tests with `cargo xtask test`");
        let said = writeln!(std::io::stderr(), "skipped: LORE_TEST_CLIENTS is not set (`cargo xtask test` sets it)");
        said.expect("standard error is open");
    }
    dir.map(PathBuf::from)
}

#[expect(clippy::disallowed_methods, reason = "the switches of the tests come from the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
