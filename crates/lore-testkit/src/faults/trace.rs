//! Runs a program and strikes it at its N-th change of a file, or writes down all of them.
//!
//! The changes of all threads and of all processes that it starts are counted together, in the order in which they happen,
//! and only those below one folder: what goes to pipes and terminals is no point. `strace` counts for each thread alone.

use std::{
    collections::HashMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use nix::{
    errno::Errno,
    libc::user_regs_struct,
    sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::calls::{Kind, Place, Process, kind};

/// What happens to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The call is not made any more: the program and all that it has started are killed.
    Kill,
    /// The call fails, once.
    Fail(Errno),
    /// This call and all that come after it fail.
    FailFromNowOn(Errno),
}

/// Whose changes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of the program and of what it starts.
    Everybodys,
    /// Those of the program itself.
    Its,
    /// Those of what it starts. A kill is for the one that makes the change, and the program lives on.
    Others,
}

/// How to run a program.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What happens.
    pub fault: Fault,
    /// At which change, counted from 1.
    pub at: usize,
    /// Whose changes count.
    pub whose: Whose,
    /// Only changes below this folder count.
    pub inside: PathBuf,
    /// Whether what was changed is written down.
    pub record: bool,
}

impl Plan {
    /// Counts the changes below a folder.
    pub fn count(inside: impl Into<PathBuf>) -> Self {
        Self { fault: Fault::None, at: 0, whose: Whose::Everybodys, inside: inside.into(), record: false }
    }
}

/// What happened.
#[derive(Debug, Default)]
pub struct Traced {
    /// The exit code; nothing where it was killed.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
    /// How many changes there were.
    pub points: usize,
    /// The file of each, seen from the folder that was asked for.
    pub changed: Vec<PathBuf>,
    /// What was struck.
    pub struck: Option<String>,
    /// Whether it was killed because it did not end.
    pub too_slow: bool,
    /// What was changed, in its order.
    pub(crate) steps: Vec<Step>,
}

/// A change of files. Paths are seen from the folder that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A file was made or emptied.
    Create { path: PathBuf, inode: u64 },
    /// Bytes were written.
    Write { inode: u64, at: u64, bytes: Vec<u8> },
    /// The whole content of a file is this now.
    Content { inode: u64, bytes: Vec<u8> },
    /// A file has this length now.
    Truncate { inode: u64, length: u64 },
    /// The content of a file is durable.
    SyncFile { inode: u64 },
    /// The names in a folder are durable.
    SyncFolder { path: PathBuf },
    /// A name became another.
    Rename { from: PathBuf, to: PathBuf },
    /// A file has a second name.
    Link { from: PathBuf, to: PathBuf },
    /// A name is gone.
    Remove { path: PathBuf },
    /// A folder was made.
    Folder { path: PathBuf },
}

/// Whatever takes longer does not end.
const LIMIT: Duration = Duration::from_secs(30);

/// Stops before anything is done, so that it can be watched from its first call on.
const WAIT: &str = r#"kill -STOP $$; exec "$0" "$@""#;

/// Whether programs can be watched here.
pub fn can_trace() -> bool {
    let place = std::env::temp_dir();
    let tried = run(&crate::process::isolated("true"), None, &Plan::count(place));
    tried.is_ok_and(|traced| traced.code == Some(0))
}

/// Runs a command under a plan, with this standard input.
pub fn run(command: &Command, input: Option<&[u8]>, plan: &Plan) -> Result<Traced> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    let mut started = crate::process::isolated("/bin/sh");
    started.args(["-c", WAIT]).arg(command.get_program()).args(command.get_args());
    started.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(dir) = command.get_current_dir() {
        started.current_dir(dir);
    }
    fs::write(place("in"), input.unwrap_or_default())?;
    started.stdin(File::open(place("in"))?);
    started.stdout(File::create(place("out"))?).stderr(File::create(place("err"))?);
    let child = started.spawn().context("cannot start a shell")?;
    let pid = Pid::from_raw(i32::try_from(child.id())?);
    let mut watch = Watch::new(plan, pid);
    let too_slow = AtomicBool::new(false);
    let watched = std::thread::scope(|scope| {
        let (over, told) = mpsc::channel::<()>();
        let too_slow = &too_slow;
        scope.spawn(move || {
            if told.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                too_slow.store(true, Ordering::Relaxed);
                end(pid);
            }
        });
        let watched = watch.seize().and_then(|()| watch.run());
        drop(over);
        watched
    });
    if let Err(error) = watched {
        // Nothing that was started may go on.
        end(pid);
        return Err(error);
    }
    let mut traced = watch.traced;
    traced.too_slow = too_slow.into_inner();
    traced.stdout = fs::read(place("out"))?;
    traced.stderr = String::from_utf8_lossy(&fs::read(place("err"))?).into_owned();
    Ok(traced)
}

/// Kills a process; one that has ended needs no more.
fn end(pid: Pid) {
    kill(pid, Signal::SIGKILL).unwrap_or_default();
}

struct Watch<'a> {
    plan: &'a Plan,
    main: Pid,
    /// The process of each thread.
    groups: HashMap<Pid, i32>,
    /// What is to be done when a thread's call is over.
    pending: HashMap<Pid, Pending>,
    traced: Traced,
}

/// A call that is under way.
enum Pending {
    Fail(Errno),
    Record(Kind, Before),
}

/// What was so before a call.
#[derive(Default)]
struct Before {
    paths: Vec<PathBuf>,
    existed: bool,
    position: Option<u64>,
    bytes: Option<Vec<u8>>,
}

impl<'a> Watch<'a> {
    fn new(plan: &'a Plan, main: Pid) -> Self {
        Self { plan, main, groups: HashMap::new(), pending: HashMap::new(), traced: Traced::default() }
    }

    fn seize(&self) -> Result<()> {
        match waitpid(self.main, Some(WaitPidFlag::WUNTRACED))? {
            WaitStatus::Stopped(..) => {}
            other => bail!("a shell did not wait: {other:?}"),
        }
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::seize(self.main, options).context("this process may not watch others")?;
        kill(self.main, Signal::SIGCONT)?;
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        // Children of other threads are nobody's business here.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(flags)) {
                Err(Errno::ECHILD) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error).context("cannot wait for what was started"),
                Ok(WaitStatus::PtraceSyscall(pid)) => {
                    self.call(pid)?;
                    go_on(pid, None)?;
                }
                Ok(WaitStatus::PtraceEvent(pid, ..)) => {
                    // The stop of the shell is over before it is watched, and nothing else stops itself.
                    go_on(pid, None)?;
                }
                Ok(WaitStatus::Stopped(pid, signal)) => go_on(pid, Some(signal))?,
                Ok(WaitStatus::Exited(pid, code)) => {
                    self.forget(pid);
                    if pid == self.main {
                        self.traced.code = Some(code);
                    }
                }
                Ok(WaitStatus::Signaled(pid, ..)) => self.forget(pid),
                Ok(_) => {}
            }
        }
    }

    /// Its number may soon be another's.
    fn forget(&mut self, pid: Pid) {
        self.pending.remove(&pid);
        self.groups.remove(&pid);
    }

    fn group(&mut self, pid: Pid) -> i32 {
        *self.groups.entry(pid).or_insert_with(|| Process(pid.as_raw()).group().unwrap_or(pid.as_raw()))
    }

    /// A thread begins or ends a call.
    fn call(&mut self, pid: Pid) -> Result<()> {
        const ENTRY: u8 = 1;
        // One that was killed in the meantime tells nothing.
        let Some(mut registers) = unless_gone(ptrace::getregs(pid))? else { return Ok(()) };
        let Some(info) = unless_gone(ptrace::syscall_info(pid))? else { return Ok(()) };
        if info.op != ENTRY {
            return self.end(pid, &mut registers);
        }
        let arguments = [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9];
        let Some((name, kind)) = kind(registers.orig_rax, arguments) else { return Ok(()) };
        let process = Process(pid.as_raw());
        let Some(before) = self.before(process, &kind) else { return Ok(()) };
        let is_its = self.group(pid) == self.main.as_raw();
        let counts = match self.plan.whose {
            Whose::Everybodys => true,
            Whose::Its => is_its,
            Whose::Others => !is_its,
        };
        if counts {
            self.traced.points += 1;
            let changed = self.shown(&before).to_owned();
            self.traced.changed.push(changed);
            if self.strikes() {
                self.strike(pid, name, &before, &mut registers)?;
                return Ok(());
            }
        }
        if self.plan.record {
            self.pending.insert(pid, Pending::Record(kind, before));
        }
        Ok(())
    }

    /// What a call is about; nothing where it changes nothing below the folder.
    fn before(&self, process: Process, kind: &Kind) -> Option<Before> {
        let inside = |path: &PathBuf| path.starts_with(&self.plan.inside);
        let mut before = Before::default();
        match kind {
            Kind::Write { file, .. } | Kind::Copy { file } | Kind::Truncate { file, .. } | Kind::Sync { file } => {
                before.paths.push(process.open_file(*file)?);
                if let (true, Kind::Write { place, buffer, length, .. }) = (self.plan.record, kind) {
                    before.position = match place {
                        Place::Here => process.position(*file),
                        Place::At(at) => Some(*at),
                    };
                    before.bytes = process.bytes(*buffer, *length);
                }
            }
            Kind::Create { folder, path, empties } => {
                let path = process.path(*folder, *path)?;
                before.existed = path.symlink_metadata().is_ok();
                if before.existed && !empties {
                    return None;
                }
                before.paths.push(path);
            }
            Kind::Remove { folder, path } | Kind::Folder { folder, path } => {
                let path = process.path(*folder, *path)?;
                before.existed = path.symlink_metadata().is_ok();
                // What fails changes nothing.
                if before.existed != matches!(kind, Kind::Remove { .. }) {
                    return None;
                }
                before.paths.push(path);
            }
            Kind::Rename { folders, paths } | Kind::Link { folders, paths } => {
                for (folder, path) in folders.iter().zip(paths) {
                    before.paths.push(process.path(*folder, *path)?);
                }
            }
        }
        before.paths.iter().any(inside).then_some(before)
    }

    /// The first file that a call is about, seen from the folder.
    fn shown<'b>(&self, before: &'b Before) -> &'b Path {
        before.paths[0].strip_prefix(&self.plan.inside).unwrap_or(&before.paths[0])
    }

    fn strikes(&self) -> bool {
        let Traced { points, .. } = self.traced;
        match self.plan.fault {
            Fault::None => false,
            Fault::Kill | Fault::Fail(_) => points == self.plan.at,
            Fault::FailFromNowOn(_) => points >= self.plan.at,
        }
    }

    fn strike(&mut self, pid: Pid, name: &str, before: &Before, registers: &mut user_regs_struct) -> Result<()> {
        if self.traced.struck.is_none() {
            self.traced.struck = Some(format!("{name} {}", self.shown(before).display()));
        }
        match self.plan.fault {
            Fault::None => Ok(()),
            Fault::Kill => {
                let of = self.group(pid);
                let mut killed: Vec<i32> = if self.plan.whose == Whose::Others {
                    vec![of]
                } else {
                    // The program first, so that it starts nothing more.
                    [self.main.as_raw()].into_iter().chain(self.groups.values().copied()).collect()
                };
                killed.dedup();
                for process in killed {
                    match kill(Pid::from_raw(process), Signal::SIGKILL) {
                        Ok(()) | Err(Errno::ESRCH) => {}
                        Err(error) => return Err(error).context("what was started cannot be killed"),
                    }
                }
                Ok(())
            }
            Fault::Fail(errno) | Fault::FailFromNowOn(errno) => {
                // No call has this number: the system does nothing, and the answer is replaced at its end.
                registers.orig_rax = u64::MAX;
                if unless_gone(ptrace::setregs(pid, *registers))?.is_some() {
                    self.pending.insert(pid, Pending::Fail(errno));
                }
                Ok(())
            }
        }
    }

    /// A call is over.
    fn end(&mut self, pid: Pid, registers: &mut user_regs_struct) -> Result<()> {
        match self.pending.remove(&pid) {
            None => Ok(()),
            Some(Pending::Fail(errno)) => {
                registers.rax = (-i64::from(errno as i32)).cast_unsigned();
                unless_gone(ptrace::setregs(pid, *registers)).map(drop)
            }
            Some(Pending::Record(kind, before)) => {
                let answer = registers.rax.cast_signed();
                if answer >= 0 {
                    let step = self.step(Process(pid.as_raw()), &kind, before, answer.cast_unsigned());
                    let step = step.with_context(|| format!("{kind:?} could not be written down"))?;
                    self.traced.steps.push(step);
                }
                Ok(())
            }
        }
    }

    fn step(&self, process: Process, kind: &Kind, before: Before, answer: u64) -> Option<Step> {
        let inside =
            |path: &Path| path.strip_prefix(&self.plan.inside).map_or_else(|_| path.to_owned(), Path::to_owned);
        let Before { paths, position, bytes, existed } = before;
        Some(match kind {
            Kind::Write { file, .. } => {
                let mut bytes = bytes?;
                bytes.truncate(usize::try_from(answer).ok()?);
                Step::Write { inode: process.inode(*file)?, at: position?, bytes }
            }
            Kind::Copy { file } => Step::Content { inode: process.inode(*file)?, bytes: process.content(*file)? },
            Kind::Truncate { file, length } => Step::Truncate { inode: process.inode(*file)?, length: *length },
            Kind::Sync { .. } if paths[0].is_dir() => Step::SyncFolder { path: inside(&paths[0]) },
            Kind::Sync { file } => Step::SyncFile { inode: process.inode(*file)? },
            Kind::Create { .. } if existed => Step::Truncate { inode: process.inode(answer)?, length: 0 },
            Kind::Create { .. } => Step::Create { path: inside(&paths[0]), inode: process.inode(answer)? },
            Kind::Rename { .. } => Step::Rename { from: inside(&paths[0]), to: inside(&paths[1]) },
            Kind::Link { .. } => Step::Link { from: inside(&paths[0]), to: inside(&paths[1]) },
            Kind::Remove { .. } => Step::Remove { path: inside(&paths[0]) },
            Kind::Folder { .. } => Step::Folder { path: inside(&paths[0]) },
        })
    }
}

fn go_on(pid: Pid, signal: Option<Signal>) -> Result<()> {
    unless_gone(ptrace::syscall(pid, signal)).map(drop)
}

/// A thread may be killed at any moment.
fn unless_gone<T>(answer: nix::Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Errno::ESRCH) => Ok(None),
        Err(error) => Err(error).context("a program cannot be watched any more"),
    }
}
