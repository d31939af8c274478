//! Ends a program together with what it has started: asked first, killed where that does not help.
//!
//! Git takes away what it has begun when it is asked to end. What it has started need not listen, as an `ssh` that waits for
//! another machine, and would outlive it.

#[cfg(not(unix))]
pub(crate) use portable::{end, kill};
#[cfg(unix)]
pub(crate) use unix::{end, kill};

#[cfg(unix)]
mod unix {
    use std::{process::Child, sync::mpsc, time::Duration};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    /// How long whoever was asked to end has time for it.
    const GRACE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

    /// Ends a program, with its whole group where it has one of its own.
    ///
    /// `pipes` is closed as soon as nobody holds the pipes of the program any more. Nobody may have waited for the program yet:
    /// so its number is still its own.
    pub(crate) fn end(pid: u32, in_group: bool, pipes: &mpsc::Receiver<()>) {
        let Some(mut family) = Family::of(pid, in_group) else { return };
        family.send(Signal::TERM);
        if pipes.recv_timeout(GRACE) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::debug!(pid, "git does not end when it is asked to");
        }
        family.look_again();
        // Where the pipes are closed as well: who has others in their place may still be there.
        family.send(Signal::KILL);
    }

    /// Kills a program that nobody listens to any more, with its whole group where it has one of its own.
    pub(crate) fn kill(child: &mut Child, in_group: bool) {
        match Family::of(child.id(), true).filter(|_| in_group) {
            Some(group) => group.send(Signal::KILL),
            // It may have ended by itself already.
            None => drop(child.kill()),
        }
    }

    /// A program and what it has started.
    struct Family {
        first: Pid,
        in_group: bool,
        /// Where they are no group, the others: their numbers, and when each began, since numbers are used again.
        others: Vec<(Pid, u64)>,
    }

    impl Family {
        fn of(first: u32, in_group: bool) -> Option<Self> {
            let first = i32::try_from(first).ok().and_then(Pid::from_raw)?;
            let others = if in_group { Vec::new() } else { started_by(first) };
            Some(Self { first, in_group, others })
        }

        /// Finds what was started since.
        fn look_again(&mut self) {
            if !self.in_group {
                let known = std::iter::once(self.first).chain(self.others.iter().map(|(pid, _)| *pid));
                let now: Vec<_> = known.flat_map(started_by).collect();
                self.others.extend(now);
            }
        }

        fn send(&self, signal: Signal) {
            let send = if self.in_group { kill_process_group } else { kill_process };
            if let Err(error) = send(self.first, signal) {
                tracing::debug!(%error, "git had ended already");
            }
            for (pid, since) in &self.others {
                if began(*pid) == Some(*since)
                    && let Err(error) = kill_process(*pid, signal)
                {
                    tracing::debug!(%error, "what git has started had ended already");
                }
            }
        }
    }

    /// What a program has started, and what that has started.
    #[cfg(target_os = "linux")]
    fn started_by(first: Pid) -> Vec<(Pid, u64)> {
        let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let pids = numbers.filter_map(Pid::from_raw);
        let mut all: Vec<(Pid, Stat)> = pids.filter_map(|pid| Some((pid, stat(pid)?))).collect();
        let (mut found, mut parents) = (Vec::new(), vec![first]);
        while let Some(parent) = parents.pop() {
            all.retain(|(pid, stat)| {
                let is_child = stat.parent == Some(parent);
                if is_child {
                    parents.push(*pid);
                    found.push((*pid, stat.began));
                }
                !is_child
            });
        }
        found
    }

    /// When a process began; none where there is no such process.
    #[cfg(target_os = "linux")]
    fn began(pid: Pid) -> Option<u64> {
        stat(pid).map(|stat| stat.began)
    }

    /// What the system tells of a process.
    #[cfg(target_os = "linux")]
    struct Stat {
        parent: Option<Pid>,
        began: u64,
    }

    /// Reads `proc_pid_stat(5)`; none where there is no such process.
    #[cfg(target_os = "linux")]
    fn stat(pid: Pid) -> Option<Stat> {
        let line = std::fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
        // The name of the program stands in brackets, and may hold any bytes, brackets too.
        let rest = &line[memchr::memrchr(b')', &line)? + 1..];
        // The words begin with the third field. The parent is the fourth, the beginning the 22nd.
        let mut words = std::str::from_utf8(rest).ok()?.split_ascii_whitespace();
        let parent = Pid::from_raw(words.nth(1)?.parse().ok()?);
        let began = words.nth(17)?.parse().ok()?;
        Some(Stat { parent, began })
    }

    /// Elsewhere it is not asked which process has started which.
    #[cfg(not(target_os = "linux"))]
    fn started_by(_: Pid) -> Vec<(Pid, u64)> {
        Vec::new()
    }

    #[cfg(not(target_os = "linux"))]
    fn began(_: Pid) -> Option<u64> {
        None
    }

    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;

        #[test]
        fn a_process_is_known_by_who_started_it_and_when() {
            let own = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
            let Stat { parent, began: since } = stat(own).unwrap();
            assert_eq!(parent, rustix::process::getppid());
            assert!(since > 0 && began(own) == Some(since));
            assert!(parent.is_none_or(|parent| started_by(parent).contains(&(own, since))));
            assert_eq!(began(Pid::from_raw(i32::MAX).unwrap()), None);
        }
    }
}

/// Where a program cannot be asked to end, it is waited for.
#[cfg(not(unix))]
mod portable {
    use std::{process::Child, sync::mpsc};

    pub(crate) fn end(_: u32, _: bool, _: &mpsc::Receiver<()>) {}

    pub(crate) fn kill(child: &mut Child, _: bool) {
        // It may have ended by itself already.
        drop(child.kill());
    }
}
