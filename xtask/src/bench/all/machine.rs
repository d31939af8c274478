//! The machine: what it is, and whether somebody else was using it.

use std::{fs, time::Instant};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};

use super::{
    super::history::load,
    record::{Kind, Machine, Part, Row},
};

/// What the kernel counts processor time in, for those who ask `/proc`.
const TICKS: f64 = 100.0;

impl Machine {
    /// This one; nothing that tells whose it is.
    pub(in crate::bench) fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (processor, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
        let field = |text: &str, name: &str| -> Option<String> {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let kilobytes = field(&memory, "MemTotal")
            .and_then(|told| told.trim_end_matches("kB").trim().parse::<f64>().ok())
            .unwrap_or_default();
        let model = field(&processor, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let is_virtual =
            field(&processor, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        let kernel = read("/proc/sys/kernel/osrelease");
        let kernel = kernel.trim().split('-').next().unwrap_or_default().to_owned();
        Self {
            processor: if is_virtual { format!("{model}, in a virtual machine") } else { model },
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gb: (kilobytes * 1024.0 / 1e8).round() / 10.0,
            system: format!("{} {kernel}", std::env::consts::OS).trim().to_owned(),
            load: load(),
        }
    }
}

/// Watches one part.
pub(in crate::bench) struct Meter {
    started: Instant,
    load: Option<f64>,
    /// Seconds that all processors worked since the start of the machine, and that this process and its children did.
    worked: Option<(f64, f64)>,
}

impl Meter {
    pub(in crate::bench) fn start() -> Self {
        Self { started: Instant::now(), load: load(), worked: worked() }
    }

    /// The part that was measured meanwhile.
    pub(in crate::bench) fn part(self, kind: Kind, title: String, about: String, rows: Vec<Row>) -> Part {
        let seconds = self.started.elapsed().as_secs_f64();
        let others = self.worked.zip(worked()).map(|(before, after)| {
            let (all, own) = (after.0 - before.0, after.1 - before.1);
            ((all - own) / seconds.max(0.001)).max(0.0)
        });
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        Part {
            kind,
            title,
            about,
            seconds: rounded(seconds),
            load_before: self.load,
            load_after: load(),
            others: others.map(rounded),
            rows,
        }
    }
}

/// What all processors did, that which a host took from a virtual one included; and what we did.
fn worked() -> Option<(f64, f64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let all = busy(stat.lines().next()?)?;
    let mut own = 0.0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who).ok()?;
        #[expect(clippy::cast_precision_loss, reason = "a run has far fewer microseconds than a float can count")]
        let micros = (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64;
        own += micros / 1e6;
    }
    Some((all, own))
}

/// Seconds of work in the first line of `/proc/stat`: not idle, not waiting for a disk. Guests are in it already.
fn busy(line: &str) -> Option<f64> {
    let numbers: Vec<f64> = line.strip_prefix("cpu ")?.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [user, nice, system, _idle, _waiting, interrupts, soft, stolen, ..] = numbers[..] else { return None };
    Some((user + nice + system + interrupts + soft + stolen) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_are_no_work() {
        assert_eq!(busy("cpu  100 200 300 99999 88888 10 20 70 5 6"), Some(7.0));
        assert_eq!(busy("cpu0 1 2 3"), None);
        assert_eq!(busy("cpu  1 2 3"), None);
    }

    #[test]
    fn a_part_tells_what_it_took() {
        let part = Meter::start().part(Kind::Code, "t".to_owned(), "a".to_owned(), Vec::new());
        assert!(part.seconds < 60.0 && part.rows.is_empty());
        assert!(Machine::this().cores > 0);
    }
}
