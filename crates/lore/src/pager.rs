//! Long output on a terminal goes through the user's pager.

use std::{
    io::{ErrorKind, Write},
    process::{Command, Stdio},
};

use crate::environment;

/// Shows the page; `false` where there is no pager to be had.
#[expect(clippy::disallowed_methods, reason = "the user's own pager, not git")]
pub(crate) fn show(configured: &str, page: &[u8]) -> bool {
    let pager = Some(configured.to_owned())
        .filter(|pager| !pager.is_empty())
        .or_else(|| environment::variable("GIT_PAGER"))
        .or_else(|| environment::variable("PAGER"))
        .unwrap_or_else(|| "less".to_owned());
    if pager == "cat" {
        return false;
    }
    let mut command = Command::new("sh");
    // As git does: quit where it fits one screen, keep colours, leave the screen as it is.
    if environment::variable("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.args(["-c", &pager]).stdin(Stdio::piped()).spawn() else { return false };
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(page));
    let ended = child.wait();
    match (written, ended) {
        // Code 127: the shell did not find it.
        (_, Ok(status)) if status.code() == Some(127) => false,
        (Err(error), _) if error.kind() != ErrorKind::BrokenPipe => false,
        (_, ended) => ended.is_ok(),
    }
}
