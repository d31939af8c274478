//! Plays commands one after the other, as a person types them: the folder and exported variables stay from one to the next.

use std::{
    fs, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use regex::Regex;

use super::{
    terminal::{Reader, Terminal, Typed},
    world::World,
};
use crate::program::program;

/// How long a command may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_mins(2);

/// What came of a command.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) code: i32,
    /// Both outputs as they came, as the page would show them.
    pub(super) output: String,
    pub(super) took: Duration,
}

/// A person at a shell, on a machine of their own.
#[derive(Debug)]
pub(super) struct Session<'a> {
    world: &'a World,
    dir: PathBuf,
    /// What pages show, and what is played instead.
    replaced: Vec<(String, String)>,
    server: Option<Terminal>,
}

impl<'a> Session<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        let dir = world.home();
        let mut replaced: Vec<(String, String)> = ["/home/ada", "/srv/", "/etc/lore/"]
            .map(|place| (place.to_owned(), format!("{}{place}", world.root().display())))
            .into();
        replaced.push(("127.0.0.1:8000".to_owned(), format!("127.0.0.1:{}", world.port())));
        Self { world, dir, replaced, server: None }
    }

    /// Goes to a folder; `~` is the home.
    pub(super) fn go(&mut self, folder: &str) -> Result<()> {
        self.dir = PathBuf::from(self.value(folder)?);
        ensure!(self.dir.is_dir(), "{folder} is not there");
        Ok(())
    }

    /// From now on, this is played where the page shows that.
    pub(super) fn replace(&mut self, shown: &str, played: &str) -> Result<()> {
        let played = self.value(played)?;
        ensure!(!played.is_empty(), "nothing is there to replace `{shown}` by");
        self.replaced.push((shown.to_owned(), played));
        Ok(())
    }

    /// What a shell makes of a text.
    pub(super) fn value(&mut self, text: &str) -> Result<String> {
        let text = text.strip_prefix('~').map_or_else(|| text.to_owned(), |rest| format!("$HOME{rest}"));
        let played = self.run(&format!("printf %s \"{text}\""))?;
        ensure!(played.code == 0, "no shell understands `{text}`: {}", played.output);
        Ok(self.as_played(&played.output))
    }

    /// Keeps a variable for the commands that follow.
    pub(super) fn keep(&mut self, name: &str, value: &str) -> Result<()> {
        let played = self.run(&format!("export {name}='{value}'"))?;
        ensure!(played.code == 0, "`{name}` is no variable");
        Ok(())
    }

    /// Whether this program is installed.
    pub(super) fn has(&mut self, name: &str) -> Result<bool> {
        Ok(self.run(&format!("command -v {name}"))?.code == 0)
    }

    /// Plays a command to its end, without a terminal.
    pub(super) fn run(&mut self, command: &str) -> Result<Played> {
        let started = Instant::now();
        let (reader, writer) = io::pipe().context("cannot make a pipe")?;
        let mut shell = self.shell(command, "");
        shell.stdout(writer.try_clone()?).stderr(writer).process_group(0);
        let mut child = shell.spawn().context("cannot start sh")?;
        // It holds the other end of the pipe, which would never end.
        drop(shell);
        let mut reader = Reader::new(reader);
        let ended = reader.read_until(started + PATIENCE, &|_| false);
        if ended.is_err() {
            let group = i32::try_from(child.id()).context("a process has a number")?;
            killpg(Pid::from_raw(group), Signal::SIGKILL).context("cannot end what hangs")?;
        }
        let status = child.wait().context("cannot wait for sh")?;
        ended.with_context(|| format!("`{command}`"))?;
        self.played(status.code().unwrap_or(-1), &reader.seen, started)
    }

    /// Plays a command to its end in a terminal and types these lines at its prompts.
    pub(super) fn run_typing(&mut self, command: &str, typed: &[Typed]) -> Result<Played> {
        let started = Instant::now();
        let mut terminal = Terminal::start(&self.shell(command, ""))?;
        for typed in typed {
            let told = terminal.answer(typed, started + PATIENCE);
            told.with_context(|| String::from_utf8_lossy(&terminal.reader.seen).into_owned())?;
        }
        terminal.reader.read_until(started + PATIENCE, &|_| false).with_context(|| format!("`{command}`"))?;
        let status = terminal.child.wait().context("cannot wait for sh")?;
        let seen = std::mem::take(&mut terminal.reader.seen);
        self.played(status.code().unwrap_or(-1), &seen, started)
    }

    /// Plays a command to its end in a terminal and gives how it ended and every byte that came, as the page would show it.
    pub(super) fn run_raw(&mut self, command: &str) -> Result<(i32, String)> {
        let mut terminal = Terminal::start(&self.shell(command, ""))?;
        terminal.reader.read_until(Instant::now() + PATIENCE, &|_| false).with_context(|| format!("`{command}`"))?;
        let status = terminal.child.wait().context("cannot wait for sh")?;
        let text = String::from_utf8_lossy(&terminal.reader.seen).into_owned();
        Ok((status.code().unwrap_or(-1), self.as_shown(&text)))
    }

    /// Starts a server in a terminal, in place of the one that runs, and waits until it listens.
    pub(super) fn start(&mut self, command: &str) -> Result<Played> {
        self.stop()?;
        let started = Instant::now();
        let command = if command.contains("--listen") {
            command.to_owned()
        } else {
            format!("{command} --listen 127.0.0.1:{}", self.world.port())
        };
        let mut terminal = Terminal::start(&self.shell(&command, "exec "))?;
        let listens = |seen: &str| seen.lines().any(|line| line.contains(" is listening on ")) && seen.ends_with('\n');
        let there = terminal.reader.read_until(started + PATIENCE, &listens);
        let seen = terminal.reader.seen.clone();
        let said = || format!("`{command}`: {}", String::from_utf8_lossy(&seen));
        ensure!(there.with_context(said)?, "`{command}` ended: {}", String::from_utf8_lossy(&seen));
        self.server = Some(terminal);
        self.played(0, &seen, started)
    }

    /// Ends the server that runs, if one does, as a person would.
    pub(super) fn stop(&mut self) -> Result<()> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let code = server.interrupt()?;
        ensure!(code == 0, "the server ended with {code}");
        Ok(())
    }

    /// The command as it is played.
    pub(super) fn as_played(&self, text: &str) -> String {
        self.replaced.iter().rev().fold(text.to_owned(), |text, (shown, played)| replace_once(&text, shown, played))
    }

    fn as_shown(&self, text: &str) -> String {
        self.replaced.iter().rev().fold(text.to_owned(), |text, (shown, played)| text.replace(played, shown))
    }

    /// A shell that knows what the earlier commands left.
    fn shell(&self, command: &str, before: &str) -> Command {
        let state = self.world.state();
        let (variables, folder) = (state.join("variables"), state.join("folder"));
        let command = self.as_played(command);
        let script = format!(
            "[ ! -e '{variables}' ] || . '{variables}'\n{before}{command}\nended=$?\npwd >'{folder}'\nexport -p >'{variables}'\nexit $ended\n",
            variables = variables.display(),
            folder = folder.display(),
        );
        let mut shell = program("sh");
        shell.arg("-c").arg(script).current_dir(&self.dir).env_clear();
        shell.envs(self.world.environment());
        shell
    }

    fn played(&mut self, code: i32, seen: &[u8], started: Instant) -> Result<Played> {
        let took = started.elapsed();
        let folder = self.world.state().join("folder");
        if folder.exists() {
            let text = fs::read_to_string(&folder).context("a folder has a name")?;
            self.dir = PathBuf::from(text.trim_end_matches('\n'));
        }
        let output = self.as_shown(&plain(&String::from_utf8_lossy(seen)));
        Ok(Played { code, output, took })
    }
}

/// Whether a shell would run this, or wait for more lines.
pub(super) fn is_whole(command: &str) -> Result<bool> {
    let mut shell = program("sh");
    shell.args(["-n", "-c", command]).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    Ok(shell.status().context("cannot start sh")?.success())
}

/// Replaces where the played text is not there already: `/srv/` is in it.
fn replace_once(text: &str, shown: &str, played: &str) -> String {
    text.split(played).map(|part| part.replace(shown, played)).collect::<Vec<_>>().join(played)
}

/// What is on the screen at the end: without colours, and of a line that was written over, what was written last.
fn plain(text: &str) -> String {
    static CONTROL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]").expect("this is a regular expression")
    });
    let text = CONTROL.replace_all(text, "").replace("\r\n", "\n");
    let shown = |line: &str| line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default().to_owned();
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// Where a program is found, for those who put one there.
pub(super) fn place(path: &Path, target: &Path) -> Result<()> {
    if fs::hard_link(path, target).is_err() {
        // Another disk.
        fs::copy(path, target).with_context(|| format!("cannot copy {} to {}", path.display(), target.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_written_over_shows_what_was_written_last() {
        assert_eq!(plain("a 1\ra 2\r\n\x1b[1mbold\x1b[0m\n"), "a 2\nbold\n");
    }

    #[test]
    fn a_place_is_replaced_once() {
        assert_eq!(replace_once("cat /srv/a /tmp/x/srv/b", "/srv/", "/tmp/x/srv/"), "cat /tmp/x/srv/a /tmp/x/srv/b");
    }

    #[test]
    fn a_shell_tells_what_is_a_whole_command() {
        assert!(is_whole("lore add .").unwrap());
        assert!(!is_whole("for a in b; do").unwrap());
        assert!(!is_whole("echo '").unwrap());
    }
}
