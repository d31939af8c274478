//! Damages files one by one, and looks whether that is found, said and mended.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    Scene,
    workloads::{self, named},
};
use crate::{Random, dump};

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// One bit is another.
    Flip,
    /// It ends too early.
    Cut,
    /// A piece of it is empty.
    Blank,
    /// It is gone.
    Delete,
}

impl Damage {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Flip, Self::Cut, Self::Blank, Self::Delete];

    /// Damages a file, and says where.
    pub fn apply(self, file: &Path, random: &mut Random) -> Result<String> {
        /// As much as a disk forgets at least.
        const PIECE: usize = 4096;
        let mut bytes = fs::read(file)?;
        if bytes.is_empty() && self != Self::Delete {
            return Ok("nothing of an empty file".to_owned());
        }
        let told = match self {
            Self::Flip => {
                let (at, bit) = (random.below(bytes.len()), random.below(8));
                bytes[at] ^= 1 << bit;
                format!("bit {bit} of byte {at}")
            }
            Self::Cut => {
                let length = random.below(bytes.len());
                bytes.truncate(length);
                format!("all from byte {length} on")
            }
            Self::Blank => {
                let start = random.below(bytes.len().div_ceil(PIECE)) * PIECE;
                let end = (start + PIECE).min(bytes.len());
                bytes[start..end].fill(0);
                format!("bytes {start} to {end}")
            }
            Self::Delete => {
                fs::remove_file(file)?;
                return Ok("all".to_owned());
            }
        };
        // In its place: a file that can only be read is still there.
        let permissions = fs::metadata(file)?.permissions();
        fs::remove_file(file)?;
        fs::write(file, bytes)?;
        fs::set_permissions(file, permissions)?;
        Ok(told)
    }
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `lore.db`.
    Index,
    /// Segment files.
    Segments,
    /// Clones of repositories that were registered by URL.
    Clones,
    /// The folders in which git runs.
    OwnFolders,
    /// `messages.db`.
    Messages,
    /// `team.db`.
    Team,
    /// `policy.json` of a server.
    Policy,
    /// `servers.json`, the logins.
    Logins,
    /// What is remembered of a change of a host's file.
    Undo,
    /// `config.toml`.
    Config,
}

impl Kind {
    /// The files of this kind, from the top of the scene.
    fn files(self, scene: &Scene) -> Vec<PathBuf> {
        let is_ours = |file: &&String| match self {
            Self::Index => *file == "lore/lore.db",
            Self::Segments => file.starts_with("lore/segments/"),
            // Hooks and the like are git's, and nobody reads them.
            Self::Clones => file.starts_with("lore/clones/") && !has_end(file, "lock"),
            Self::OwnFolders => file.starts_with("lore/git/"),
            Self::Messages => *file == "lore/messages.db",
            Self::Team => *file == "team/team.db",
            Self::Policy => *file == "team/policy.json",
            Self::Logins => *file == "lore/servers.json",
            Self::Undo => file.starts_with("lore/setup/"),
            Self::Config => *file == "lore/config.toml",
        };
        scene.files().iter().filter(is_ours).map(|file| scene.now().join(file)).collect()
    }

    /// Whether it can be read anew from git.
    fn is_derived(self) -> bool {
        matches!(self, Self::Index | Self::Segments | Self::Clones | Self::OwnFolders)
    }
}

/// A place with files of every kind.
#[derive(Debug)]
pub struct Whole {
    scene: Scene,
    expected: String,
    said: String,
}

/// What a damage came to.
#[derive(Debug, Default)]
pub struct Noticed {
    /// Whether `lore doctor --deep` found it.
    pub found: bool,
    /// Whether all answers were those of before.
    pub harmless: bool,
    /// What it needed to be whole again.
    pub healed_by: &'static str,
}

impl Whole {
    /// Makes one.
    pub fn new(binary: &Path) -> Result<Self> {
        let scene = Scene::new(binary)?;
        let make = |name: &str| -> Result<()> { (named(name).context("there is such a workload")?.prepare)(&scene) };
        make("temporal")?;
        scene.ok(&["sync", "--temporal"])?;
        scene.ok(&["add", &format!("file://{}", scene.repo_text("api")), "--name", "clone"])?;
        let project = scene.repo_text("api");
        scene.ok(&[
            "comment",
            "--project",
            &project,
            "--file",
            "src/part0.rs",
            "--line",
            "3",
            "what was said before",
        ])?;
        workloads::make_team(&scene)?;
        make("setup")?;
        scene.ok(&["setup", "cursor"])?;
        fs::write(scene.lore().home().join("config.toml"), "# the user's\njobs = 1\n")
            .context("settings can be written")?;
        fs::write(scene.lore().home().join("servers.json"), LOGINS)?;
        fs::write(scene.now().join("team/policy.json"), POLICY)?;
        let mut whole = Self { scene, expected: String::new(), said: String::new() };
        whole.checkpoint()?;
        whole.expected = whole.index()?;
        whole.said = whole.truth()?;
        whole.scene.save()?;
        Ok(whole)
    }

    /// How many files of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        kind.files(&self.scene).len()
    }

    /// Everything is in the files themselves, not in logs beside them.
    fn checkpoint(&self) -> Result<()> {
        for file in ["lore/lore.db", "lore/messages.db", "team/team.db", "team/lore.db"] {
            let file = self.scene.now().join(file);
            if file.exists() {
                dump::checkpoint(&file)?;
            }
        }
        Ok(())
    }

    fn index(&self) -> Result<String> {
        Ok(dump::contents(&self.scene.lore().home().join("lore.db"))? + &workloads::answers(&self.scene)?)
    }

    fn truth(&self) -> Result<String> {
        workloads::truth(&self.scene)
    }

    /// Damages a file of this kind, and checks all that must hold.
    pub fn harm(&self, kind: Kind, damage: Damage, random: &mut Random) -> Result<Noticed> {
        self.scene.restore()?;
        let files = kind.files(&self.scene);
        ensure!(!files.is_empty(), "there is no file of the kind {kind:?}");
        let file = random.pick(&files).clone();
        let shown = file.strip_prefix(self.scene.now()).unwrap_or(&file).display().to_string();
        let told = damage.apply(&file, random)?;
        self.judge(kind, &file).with_context(|| format!("{damage:?} of {shown}: {told}"))
    }

    fn judge(&self, kind: Kind, file: &Path) -> Result<Noticed> {
        let damaged = fs::read(file).ok();
        self.nothing_panics()?;
        if matches!(kind, Kind::Config) {
            // Where the settings cannot be read nothing runs, and where they can all is well.
            return Ok(Noticed { found: self.scene.findings().is_err(), harmless: true, healed_by: "" });
        }
        let mut found = self.scene.broken().context("doctor")?;
        if matches!(kind, Kind::Team | Kind::Policy) {
            found.extend(self.broken_team()?);
        }
        if !kind.is_derived() {
            // What exists nowhere else may be unreadable, and is never written over.
            let now = fs::read(file).ok();
            ensure!(now == damaged || !found.is_empty() || kind == Kind::Messages, "what was damaged was changed");
            let same = self.truth().is_ok_and(|said| said == self.said);
            // Of a file that is gone nothing tells that it was there.
            let has_sums = matches!(kind, Kind::Messages | Kind::Team) && damaged.is_some();
            ensure!(same || !found.is_empty() || !has_sums, "it tells something else, and doctor finds nothing");
            return Ok(Noticed { found: !found.is_empty(), harmless: same, healed_by: "" });
        }
        if found.is_empty() {
            let harmless = self.index().is_ok_and(|index| index == self.expected);
            // Folders of Lore's own are made anew without a word.
            self.scene.ok(&["sync"])?;
            self.git_runs()?;
            self.same().context("doctor finds nothing")?;
            return Ok(Noticed { found: false, harmless, healed_by: if harmless { "" } else { "sync" } });
        }
        let healed_by = self.heal(&found)?;
        let left = self.scene.broken()?;
        ensure!(left.is_empty(), "after {healed_by} doctor finds: {}", left.join("; "));
        self.same().with_context(|| format!("after {healed_by}"))?;
        Ok(Noticed { found: true, harmless: false, healed_by })
    }

    /// Whether git still runs where Lore lets it run.
    fn git_runs(&self) -> Result<()> {
        let mut why = self.scene.command(&["why", "src/part0.rs:3"]);
        let output = why.current_dir(self.scene.repo("api")).output()?;
        ensure!(output.status.success(), "lore why: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }

    /// Does what doctor says.
    fn heal(&self, found: &[String]) -> Result<&'static str> {
        let said = found.join("\n");
        if said.contains("delete that folder") {
            fs::remove_dir_all(self.scene.lore().home().join("clones/clone.git"))?;
            self.scene.ok(&["sync"])?;
            return Ok("cloning again");
        }
        if said.contains("lore reindex") {
            let done = self.scene.run(&["reindex"]);
            if done.status.success() {
                self.scene.ok(&["sync"])?;
                return Ok("reindex");
            }
            ensure!(done.stderr.contains("aside"), "reindex fails and does not say what to do: {}", done.stderr.trim());
        }
        if said.contains("lore add") || said.contains("aside") {
            let home = self.scene.lore().home();
            for ending in ["", "-wal", "-shm"] {
                let file = home.join(format!("lore.db{ending}"));
                if file.exists() {
                    fs::rename(&file, home.join(format!("aside{ending}")))?;
                }
            }
            for name in ["api", "notes"] {
                self.scene.ok(&["add", &self.scene.repo_text(name), "--name", name, "--no-sync"])?;
            }
            self.scene.ok(&["sync", "--temporal"])?;
            self.scene.ok(&["add", &format!("file://{}", self.scene.repo_text("api")), "--name", "clone"])?;
            return Ok("adding again");
        }
        bail!("doctor does not say what to do: {said}")
    }

    fn same(&self) -> Result<()> {
        match dump::difference(&self.expected, &self.index()?) {
            None => Ok(()),
            Some(difference) => bail!("it is not what it was:\n{difference}"),
        }
    }

    fn broken_team(&self) -> Result<Vec<String>> {
        let team = self.scene.team();
        let output = self.scene.run(&["doctor", "--deep", "--json", "--home", &team]);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("lore doctor of the team: {}", output.stderr.trim()))?;
        let rows = value["findings"].as_array().context("lore doctor lists nothing")?;
        Ok(rows.iter().filter(|row| row["level"] == "broken").map(ToString::to_string).collect())
    }

    /// Whatever is asked, the program ends by itself and in words.
    fn nothing_panics(&self) -> Result<()> {
        let team = self.scene.team();
        for args in [
            &["search", "heron", "--all-repos", "--no-sync"][..],
            &["search", "-F", "avocet", "--all-repos", "--no-sync"],
            &["log", "heron"],
            &["status"],
            &["comments", "list", "--all"],
            &["users", "list", "--data", &team],
        ] {
            let output = self.scene.run(args);
            let code = output.status.code();
            ensure!(
                code.is_some() && code != Some(101),
                "lore {} dies ({:?}): {}",
                args.join(" "),
                output.status,
                output.stderr.trim()
            );
            ensure!(!output.stderr.contains("panicked"), "lore {} panics: {}", args.join(" "), output.stderr.trim());
        }
        Ok(())
    }
}

const LOGINS: &str = r#"{"version":1,"servers":[]}"#;
const POLICY: &str = "{\n  \"local\": [],\n  \"hosts\": [],\n  \"http\": false,\n  \"git_config\": null\n}\n";

/// Whether a file's name ends so.
pub(super) fn has_end(file: &str, end: &str) -> bool {
    Path::new(file).extension().is_some_and(|found| found == end)
}
