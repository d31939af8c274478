//! Long output on a terminal goes through the user's pager.

use std::{
    io::{ErrorKind, Write},
    path::Path,
    process::{Command, Stdio},
};

use crate::{environment, runtime};

/// Shows the page; `false` where there is no pager to be had, or none is needed: what has room on the screen is not for `less`,
/// whatever options it has. Another pager may do more than to page.
#[expect(clippy::disallowed_methods, reason = "the user's own pager, not git")]
pub(crate) fn show(configured: &str, page: &[u8], has_room: bool) -> bool {
    let pager = Some(configured.to_owned())
        .filter(|pager| !pager.is_empty())
        .or_else(|| environment::variable("GIT_PAGER"))
        .or_else(|| environment::variable("PAGER"))
        .unwrap_or_else(|| "less".to_owned());
    if pager == "cat" || (has_room && is_less(&pager)) {
        return false;
    }
    let mut command = Command::new("sh");
    // As git does: quit where it fits one screen, keep colours, leave the screen as it is.
    if environment::variable("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    // Whoever presses Ctrl-C means the pager: it ends a search there, or the following of a file. A signal that somebody listens
    // to ends nothing here, and is what it always was to the pager.
    #[cfg(unix)]
    let _held = runtime::hold_interrupts();
    let line = if is_plain(&pager) { format!("exec {pager}") } else { pager };
    let Ok(mut child) = command.args(["-c", &line]).stdin(Stdio::piped()).spawn() else { return false };
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(page));
    let ended = child.wait();
    match (written, ended) {
        // Code 127: the shell did not find it.
        (_, Ok(status)) if status.code() == Some(127) => false,
        (Err(error), _) if error.kind() != ErrorKind::BrokenPipe => false,
        (_, ended) => ended.is_ok(),
    }
}

fn is_less(pager: &str) -> bool {
    let program = pager.split_whitespace().next().unwrap_or_default();
    is_plain(pager) && Path::new(program).file_name().is_some_and(|name| name == "less")
}

/// Whether this is one program with its arguments, which can take the place of the shell: that would end at Ctrl-C, and the pager
/// would go on with nobody to wait for it.
fn is_plain(pager: &str) -> bool {
    let program = pager.split_whitespace().next().unwrap_or_default();
    !program.is_empty() && !program.contains('=') && !pager.contains([';', '&', '|', '(', ')', '<', '>', '`', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_known_wherever_it_is() {
        assert!(["less", "less -R", "/usr/bin/less"].into_iter().all(is_less));
        assert!(["", "lesspipe", "bat", "less | cat", "LESS=R less"].into_iter().all(|pager| !is_less(pager)));
    }

    #[test]
    fn a_program_with_its_arguments_takes_the_place_of_the_shell() {
        for (pager, expected) in [
            ("less", true),
            ("less -R --use-color", true),
            ("LESS=R less", false),
            ("bat | less", false),
            ("less; true", false),
            ("", false),
        ] {
            assert_eq!(is_plain(pager), expected, "{pager}");
        }
    }
}
