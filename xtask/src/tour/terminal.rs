//! A terminal of the tour's own: prompts, colours and Ctrl-C are there for the program as they are for a person.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Child, Command},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use nix::{
    pty::{Winsize, openpty},
    sys::termios::{LocalFlags, Termios, tcgetattr},
    unistd::{setsid, ttyname},
};

use crate::program::program;

/// Starts a program in a session of its own whose terminal is standard input; `tour` starts itself so.
#[derive(Debug, clap::Args)]
pub(crate) struct InTerminal {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

/// Becomes the program; comes back only where that fails.
pub(crate) fn run(args: &InTerminal) -> Result<()> {
    let name = ttyname(io::stdin()).context("standard input is no terminal")?;
    setsid().context("cannot begin a session")?;
    // The first terminal that the head of a session opens is the one that it has.
    let terminal = OpenOptions::new().read(true).write(true).open(&name);
    let terminal = terminal.with_context(|| format!("cannot open {}", name.display()))?;
    let mut command = program(&args.command[0]);
    let here = std::env::current_dir().context("xtask does not know where it is")?;
    command.args(&args.command[1..]).current_dir(here).stdin(terminal);
    Err(command.exec()).with_context(|| format!("cannot start {}", args.command[0]))
}

/// What is typed at a prompt.
#[derive(Debug)]
pub(super) struct Typed {
    pub(super) text: String,
    /// It must not be seen on the screen.
    pub(super) is_hidden: bool,
}

/// What a program prints, as it comes.
#[derive(Debug)]
pub(super) struct Reader {
    chunks: Receiver<Vec<u8>>,
    pub(super) seen: Vec<u8>,
}

impl Reader {
    /// Reads on a thread of its own, until nobody can write any more.
    pub(super) fn new(mut source: impl io::Read + Send + 'static) -> Self {
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            // A terminal that nobody has open any more is an error to read from, and the end.
            while let Ok(count @ 1..) = source.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { chunks, seen: Vec::new() }
    }

    /// Reads until this holds for what came, which is told by `true`, or until the end.
    pub(super) fn read_until(&mut self, deadline: Instant, holds: &dyn Fn(&str) -> bool) -> Result<bool> {
        loop {
            if holds(&String::from_utf8_lossy(&self.seen)) {
                return Ok(true);
            }
            match self.chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
                Err(RecvTimeoutError::Timeout) => bail!("it took too long"),
            }
        }
    }
}

/// A program in a terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) child: Child,
    pub(super) reader: Reader,
    keyboard: File,
}

impl Terminal {
    /// Starts what is given in a terminal of 100 columns; its environment and folder are those of `like`.
    pub(super) fn start(like: &Command) -> Result<Self> {
        let size = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None::<&Termios>).context("cannot open a terminal")?;
        let screen = |end: &OwnedFd| end.try_clone().context("cannot share a terminal");
        let mut command = program(std::env::current_exe().context("xtask does not know where it is")?);
        command.arg("in-terminal").arg(like.get_program()).args(like.get_args()).env_clear();
        for (name, value) in like.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        if let Some(dir) = like.get_current_dir() {
            command.current_dir(dir);
        }
        command.stdin(screen(&ends.slave)?).stdout(screen(&ends.slave)?).stderr(ends.slave);
        let child = command.spawn().context("cannot start xtask again")?;
        let reader = Reader::new(File::from(screen(&ends.master)?));
        Ok(Self { child, reader, keyboard: File::from(ends.master) })
    }

    /// Types at the next prompt: a line that is not at its end, `Password: `.
    pub(super) fn answer(&mut self, typed: &Typed, deadline: Instant) -> Result<()> {
        let before = self.reader.seen.len();
        let asks = |seen: &str| seen.len() > before && seen.ends_with(": ");
        let asked = self.reader.read_until(deadline, &asks).context("no prompt came")?;
        if !asked {
            bail!("it ended before it asked");
        }
        // A prompt is there a moment before the terminal stops to show what is typed; nobody types that fast.
        while typed.is_hidden && tcgetattr(&self.keyboard)?.local_flags.contains(LocalFlags::ECHO) {
            ensure!(Instant::now() < deadline, "what is typed would be seen");
            drop(self.reader.read_until(Instant::now() + Duration::from_millis(10), &|_| false));
        }
        self.write(format!("{}\n", typed.text).as_bytes())
    }

    /// Presses Ctrl-C and waits for the end.
    pub(super) fn interrupt(mut self) -> Result<i32> {
        self.write(b"\x03")?;
        let deadline = Instant::now() + Duration::from_secs(30);
        let ended = self.reader.read_until(deadline, &|_| false);
        if ended.is_err() {
            self.child.kill().context("cannot end what stays")?;
        }
        let status = self.child.wait().context("cannot wait")?;
        ended.context("it did not end after Ctrl-C")?;
        Ok(status.code().unwrap_or(-1))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.keyboard.write_all(bytes).context("nobody reads what is typed")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Only where something went wrong is it still there.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
