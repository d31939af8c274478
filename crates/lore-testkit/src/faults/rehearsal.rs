//! One workload, done in peace once and then under every fault, with what must hold after each.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use super::{
    Act, Errno, Fault, Plan, Scene, Step, Traced, Whose, Workload,
    damage::has_end,
    power::{Disk, Loss},
    run,
};
use crate::{Random, dump};

/// A workload whose end in peace is known.
#[derive(Debug)]
pub struct Rehearsal {
    workload: &'static Workload,
    scene: Scene,
    expected: String,
    files: BTreeSet<String>,
    /// How many changes of files there are: all, and those of the programs that Lore starts.
    points: [usize; 2],
    /// The file of each of them, as far as it went in peace.
    changed: Vec<PathBuf>,
}

/// What a point showed.
#[derive(Debug, Default)]
pub struct Seen {
    /// What was struck; nothing where the workload ended before.
    pub struck: Option<String>,
    /// Whether the program succeeded all the same.
    pub succeeded: bool,
    /// Files that nobody needs and that stay.
    pub left: Vec<String>,
}

impl Rehearsal {
    /// Prepares a workload and does it in peace.
    pub fn new(binary: &Path, workload: &'static Workload) -> Result<Self> {
        let scene = Scene::new(binary)?;
        (workload.prepare)(&scene).with_context(|| format!("{} cannot be prepared", workload.name))?;
        scene.save()?;
        let mut rehearsal = Self {
            workload,
            scene,
            expected: String::new(),
            files: BTreeSet::new(),
            points: [0; 2],
            changed: Vec::new(),
        };
        let done = rehearsal.act(&rehearsal.plan(Fault::None, 0, Whose::Others))?;
        rehearsal.points[1] = done.points;
        rehearsal.scene.restore()?;
        let done = rehearsal.act(&rehearsal.plan(Fault::None, 0, Whose::Everybodys))?;
        ensure!(done.code == Some(0), "{} fails in peace: {}", workload.name, done.stderr);
        rehearsal.points[0] = done.points;
        rehearsal.changed.clone_from(&done.changed);
        rehearsal.expected = (workload.state)(&rehearsal.scene)?;
        (workload.again)(&rehearsal.scene, &done)?;
        let twice = (workload.state)(&rehearsal.scene)?;
        rehearsal.same(&twice).context("done twice it is another")?;
        rehearsal.files = rehearsal.scene.files().into_iter().collect();
        Ok(rehearsal)
    }

    /// How many changes of files there are.
    pub fn points(&self, whose: Whose) -> usize {
        match whose {
            Whose::Everybodys => self.points[0],
            Whose::Others => self.points[1],
            Whose::Its => self.points[0] - self.points[1],
        }
    }

    /// The changes, of everybody's, of files whose names end so.
    pub fn points_on(&self, ending: &str) -> Vec<usize> {
        let all = (1..).zip(&self.changed);
        all.filter(|(_, file)| file.to_string_lossy().ends_with(ending)).map(|(at, _)| at).collect()
    }

    /// Its place.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    fn plan(&self, fault: Fault, at: usize, whose: Whose) -> Plan {
        Plan { fault, at, whose, inside: self.scene.now(), record: false }
    }

    fn act(&self, plan: &Plan) -> Result<Traced> {
        let Act { args, input } = (self.workload.act)(&self.scene);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        run(&self.scene.command(&args), Some(&input), plan)
    }

    /// Does it under a fault, and checks all that must hold.
    pub fn strike(&self, fault: Fault, at: usize, whose: Whose) -> Result<Seen> {
        self.scene.restore()?;
        let done = self.act(&self.plan(fault, at, whose))?;
        let struck = done.struck.clone().unwrap_or_else(|| "nothing".to_owned());
        self.judge(fault, whose, &done).with_context(|| format!("{fault:?} at {at} ({struck})"))?;
        let left = self.scene.files().into_iter().filter(|file| !self.is_expected(file)).collect();
        Ok(Seen { struck: done.struck, succeeded: done.code == Some(0), left })
    }

    fn judge(&self, fault: Fault, whose: Whose, done: &Traced) -> Result<()> {
        ensure!(!done.stderr.contains("panicked"), "it panics: {}", done.stderr.trim());
        // Whether anything is lost comes first, then what was said about it.
        self.ended(done)?;
        let (Fault::Fail(cause) | Fault::FailFromNowOn(cause)) = fault else {
            ensure!(!done.too_slow, "it does not end: {}", done.stderr.trim());
            let survives = whose != Whose::Others || done.code.is_some();
            ensure!(survives, "it died with what it had started: {}", done.stderr.trim());
            return Ok(());
        };
        let named = is_named(&done.stderr, cause.desc());
        ensure!(!done.too_slow, "it does not end: {}", done.stderr.trim());
        ensure!(done.code.is_some(), "an error killed it: {}", done.stderr.trim());
        let failed = done.code.is_some_and(|code| code != 0);
        ensure!(!failed || named, "the cause is not named: {}", done.stderr.trim());
        Ok(())
    }

    /// What must hold however it ended.
    fn ended(&self, done: &Traced) -> Result<()> {
        if done.code == Some(0) && self.workload.success_counts {
            let state = (self.workload.state)(&self.scene).context("it says that all is well")?;
            self.same(&state).context("it says that all is well")?;
        }
        self.recovers(done)
    }

    /// Whatever was left: it opens, nothing is found to be broken, and once more makes it what it should be.
    fn recovers(&self, done: &Traced) -> Result<()> {
        let mut broken = self.scene.broken()?;
        // A clone that lost something is cloned again by the next sync, without a word.
        broken.retain(|found| !found.contains("the clone of"));
        ensure!(broken.is_empty(), "doctor finds: {}", broken.join("; "));
        (self.workload.again)(&self.scene, done).context("once more")?;
        self.same(&(self.workload.state)(&self.scene)?)
    }

    fn same(&self, state: &str) -> Result<()> {
        match dump::difference(&self.expected, state) {
            None => Ok(()),
            Some(difference) => anyhow::bail!("it is not what it should be:\n{difference}"),
        }
    }

    /// Files of the index are numbered, and how often they were written differs.
    fn is_expected(&self, file: &str) -> bool {
        self.files.contains(file)
            || file.contains("/segments/") && has_end(file, "seg")
            || file.ends_with("-wal")
            || file.ends_with("-shm")
    }

    /// Does it in peace, and gives what `used` counts at the end of it.
    pub fn peak(&self, used: &mut dyn FnMut() -> Result<u64>) -> Result<u64> {
        self.act(&self.plan(Fault::None, 0, Whose::Everybodys))?;
        used()
    }

    /// Does it while `shrink` has made the disk small, and once more when `grow` has made it large again. Tells whether the
    /// disk was too small.
    pub fn fill(&self, shrink: &dyn Fn() -> Result<()>, grow: &dyn Fn() -> Result<()>) -> Result<bool> {
        self.scene.restore()?;
        shrink()?;
        let done = self.act(&self.plan(Fault::None, 0, Whose::Everybodys));
        // What can be asked has to be answered while the disk is full.
        let broken = self.scene.broken();
        grow()?;
        let (done, broken) = (done?, broken?);
        // An index that has to be upgraded needs room for that, and says so.
        let named = broken.iter().all(|found| is_named(found, Errno::ENOSPC.desc()));
        ensure!(named, "doctor finds on a full disk: {}", broken.join("; "));
        self.judge(Fault::FailFromNowOn(Errno::ENOSPC), Whose::Everybodys, &done)?;
        Ok(done.code != Some(0))
    }

    /// Does it in peace and writes every change down.
    pub fn record(&self) -> Result<Recording> {
        self.scene.restore()?;
        let disk = Disk::of(&self.scene.now())?;
        let done = self.act(&Plan { record: true, ..self.plan(Fault::None, 0, Whose::Everybodys) })?;
        ensure!(done.code == Some(0), "{} fails in peace: {}", self.workload.name, done.stderr);
        Ok(Recording { disk, steps: done.steps.clone(), done })
    }

    /// What the power cut leaves after so many steps must recover like everything else.
    pub fn cut(&self, recording: &Recording, after: usize, loss: Loss, random: &mut Random) -> Result<()> {
        let mut disk = recording.disk.clone();
        recording.steps[..after].iter().for_each(|step| disk.apply(step));
        self.scene.clear()?;
        disk.image(&self.scene.now(), loss, random)?;
        self.scene.complete()?;
        // Only at the end was anything said to anybody.
        let code = (after == recording.steps.len()).then_some(0);
        // A server has answered before it writes down that it did.
        let said = code.is_some() || !self.workload.success_counts;
        let stdout = if said { recording.done.stdout.clone() } else { Vec::new() };
        let done = Traced { code, stdout, ..Traced::default() };
        let last = after.checked_sub(1).and_then(|last| recording.steps.get(last));
        self.recovers(&done).with_context(|| format!("{loss:?} after {after} steps, the last {}", shown(last)))
    }
}

/// What a workload did to files.
#[derive(Debug)]
pub struct Recording {
    disk: Disk,
    steps: Vec<Step>,
    done: Traced,
}

impl Recording {
    /// How many changes there were.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

fn shown(step: Option<&Step>) -> String {
    match step {
        None => "none".to_owned(),
        Some(Step::Write { inode, at, bytes }) => format!("write of {} bytes at {at} of {inode}", bytes.len()),
        Some(Step::Content { inode, bytes }) => format!("copy of {} bytes to {inode}", bytes.len()),
        Some(step) => format!("{step:?}"),
    }
}

/// Whether a message says why: in the system's words or in plain ones.
fn is_named(said: &str, system: &str) -> bool {
    let said = said.to_lowercase();
    // SQLite does not tell why a file cannot be opened; the file is named then. Of git there is only what it says itself.
    let plain = [
        "i/o error",
        "input/output error",
        "no space",
        "disk full",
        "unable to open database file",
        "`git init` failed",
        "`git clone` failed",
        "`git fetch` failed",
    ];
    said.contains(&system.to_lowercase()) || plain.iter().any(|word| said.contains(word))
}

/// At most so many numbers from 1 on, evenly spread with a drawn beginning.
pub fn spread(points: usize, most: usize, random: &mut Random) -> Vec<usize> {
    if points <= most {
        return (1..=points).collect();
    }
    (0..most)
        .map(|number| {
            let (from, to) = (number * points / most, (number + 1) * points / most);
            1 + from + random.below(to - from)
        })
        .collect()
}
