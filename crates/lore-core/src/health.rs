//! How Lore itself fares: each part is used once, and how long that took is measured.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
    time::{Duration, Instant},
};

use lore_model::{Code, Failure};

use crate::{Cancel, Lore};

/// So long the use of the processors is measured.
const CPU_SAMPLE: Duration = Duration::from_millis(100);

/// Of so many repositories the index is read.
const READ_MAX: usize = 20;

/// What using a part gave.
#[derive(Debug, Clone)]
pub struct Probe {
    /// How long it took.
    pub took: Duration,
    /// Why it failed.
    pub error: Option<String>,
}

impl Probe {
    fn of(work: impl FnOnce() -> Result<(), String>) -> Self {
        let started = Instant::now();
        let error = work().err();
        Self { took: started.elapsed(), error }
    }
}

/// How Lore fares.
#[derive(Debug, Clone)]
pub struct Health {
    /// When it was looked at (seconds since 1970).
    pub at: i64,
    /// Repositories and their history.
    pub database: Probe,
    /// Chunks of code and their vectors.
    pub vector_store: Probe,
    /// The folder that all of it is in.
    pub storage: Probe,
    /// How much of the machine's memory is in use; `None` where the system does not tell.
    pub memory_percent: Option<f64>,
    /// How busy its processors are; `None` where the system does not tell.
    pub cpu_percent: Option<f64>,
    /// Bytes that are free where Lore keeps its own; `None` where the system does not tell.
    pub free_bytes: Option<u64>,
}

impl Health {
    /// In one word: the database is needed for every answer, the rest for some.
    pub fn status(&self) -> &'static str {
        match (&self.database.error, &self.vector_store.error, &self.storage.error) {
            (None, None, None) => "healthy",
            (Some(_), _, _) => "unhealthy",
            _ => "degraded",
        }
    }
}

impl Lore {
    /// Looks how Lore fares. Nothing is written.
    pub fn health(&self) -> Health {
        let database = Probe::of(|| self.history.store().size().map(drop).map_err(|error| error.to_string()));
        let vector_store = Probe::of(|| self.read_code().map_err(|failure| failure.message));
        let home = self.home();
        let storage = Probe::of(|| home.as_deref().map_or(Ok(()), read_some).map_err(|error| error.to_string()));
        let before = cpu_times();
        Cancel::current().sleep(CPU_SAMPLE);
        let (after, memory_percent) = (cpu_times(), memory());
        let free_bytes = home.and_then(|home| free_bytes(&home));
        let cpu_percent = before.zip(after).and_then(|(before, after)| busy(before, after));
        Health { at: self.history.now(), database, vector_store, storage, memory_percent, cpu_percent, free_bytes }
    }

    fn read_code(&self) -> Result<(), Failure> {
        for repo in self.history.repos()?.iter().take(READ_MAX) {
            if let Some(snapshot) = self.search.reader.state(repo.id)?.snapshots.last() {
                self.search.reader.try_reading(snapshot.id)?;
            }
        }
        let damage = self.search.reader.check(false)?.into_iter().next();
        damage.map_or(Ok(()), |damage| Err(Failure::new(Code::IndexDamaged, damage)))
    }
}

/// Lists a folder and reads the beginning of a file in it. One that is not there yet is nothing to complain about.
fn read_some(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            File::open(entry.path())?.take(4096).read_to_end(&mut Vec::new())?;
            break;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    // Where it is to be, before it is there.
    let there = folder.ancestors().find(|folder| folder.is_dir())?;
    let system = rustix::fs::statvfs(there).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// The share of memory that nothing new could have.
fn memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    memory_of(&text)
}

fn memory_of(text: &str) -> Option<f64> {
    let field = |name: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
    };
    let (total, available) = (field("MemTotal:")?, field("MemAvailable:")?);
    (total > 0.0).then(|| (1.0 - available / total) * 100.0)
}

/// What the processors did so far: all of it, and nothing.
fn cpu_times() -> Option<(u64, u64)> {
    cpu_times_of(&fs::read_to_string("/proc/stat").ok()?)
}

fn cpu_times_of(text: &str) -> Option<(u64, u64)> {
    let numbers: Vec<u64> =
        text.strip_prefix("cpu ")?.lines().next()?.split_whitespace().map_while(|word| word.parse().ok()).collect();
    // Idle, and idle while a disk was waited for. What guests use is in the first two already.
    let idle = numbers.get(3)? + numbers.get(4).copied().unwrap_or(0);
    Some((numbers.iter().take(8).sum(), idle))
}

#[expect(clippy::cast_precision_loss, reason = "a percentage of some hundred steps")]
fn busy(before: (u64, u64), after: (u64, u64)) -> Option<f64> {
    let (all, idle) = (after.0.checked_sub(before.0)?, after.1.checked_sub(before.1)?);
    (all > 0).then(|| (1.0 - idle as f64 / all as f64).clamp(0.0, 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_understood() {
        assert_eq!(memory_of("MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 250 kB\n"), Some(75.0));
        assert_eq!(memory_of("nothing of the kind"), None);
        assert_eq!(cpu_times_of("cpu  10 0 10 70 10 0 0 0 5 0\ncpu0 1\n"), Some((100, 80)));
        assert_eq!(cpu_times_of("intr 5"), None);
        assert_eq!(busy((100, 80), (200, 130)), Some(50.0));
        assert_eq!(busy((100, 80), (100, 80)), None, "no time went by");
    }
}
