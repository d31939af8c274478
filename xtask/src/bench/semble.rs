//! semble, another code search: installed from `PyPI` below the target directory and driven through its Python interface.
//!
//! Its model is no part of its package; it comes from a hub at first use. Nothing is downloaded here: where the model is
//! not on the machine already, semble is measured without it, and the output says so.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    latency::Times,
    measure::{Cost, measure},
    quality::metric::Found,
};
use crate::program::{output, program, run, say, target_dir, variable};

/// The version that is compared with.
const VERSION: &str = "0.7.0";

/// What drives it.
const DRIVER: &str = include_str!("semble.py");

/// Another code search.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Peer {
    /// From `PyPI`.
    Semble,
}

/// What it takes into its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// What it takes by default.
    Code,
    /// Documents and configuration too.
    All,
}

impl Content {
    fn word(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::All => "all",
        }
    }
}

/// An installed semble.
pub(crate) struct Semble {
    python: PathBuf,
    driver: PathBuf,
    model: Option<String>,
    /// What it is, for the output.
    pub(crate) about: String,
    _dir: TempDir,
}

/// A place for one index of semble.
pub(crate) struct Cache(TempDir);

impl Cache {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Semble {
    /// Installs it where it is not, and finds out whether its model is there.
    pub(crate) fn install(model: Option<&Path>) -> Result<Self> {
        let venv = target_dir()?.join("peers").join(format!("semble-{VERSION}"));
        let python = venv.join("bin/python");
        if !venv.join("whole").exists() {
            say(&format!("installing semble {VERSION} below the target directory (once)"));
            run(program("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
            let pip = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
            run(program(&python).args(pip).arg(format!("semble=={VERSION}")))
                .context("semble could not be installed from PyPI")?;
            fs::write(venv.join("whole"), "")?;
        }
        Self::at(python, model)
    }

    /// One that is installed already: the python of its environment, or the environment.
    pub(crate) fn given(place: &Path) -> Result<Self> {
        let python = if place.is_dir() { place.join("bin/python") } else { place.to_owned() };
        anyhow::ensure!(python.exists(), "there is no python at {}", python.display());
        // Not canonical: the link tells python which environment it belongs to.
        Self::at(std::path::absolute(&python)?, None)
    }

    fn at(python: PathBuf, model: Option<&Path>) -> Result<Self> {
        let ask = "import importlib.metadata as m; print(m.version('semble'))";
        let version = output(program(&python).args(["-c", ask])).context("this python has no semble")?;
        let dir = tempfile::tempdir()?;
        let driver = dir.path().join("semble_driver.py");
        fs::write(&driver, DRIVER)?;
        let model = model.map(|model| model.to_string_lossy().into_owned());
        let mut semble = Self { python, driver, model, about: String::new(), _dir: dir };
        let probe = Cache::new()?;
        semble.about = match output(&mut semble.command(&probe, &["probe"], true)) {
            Ok(_) => format!("semble {version} with {}", semble.model.as_deref().unwrap_or("its own model")),
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
                semble.model = None;
                format!(
                    "semble {version} WITHOUT its model, which is not in its package: nothing is embedded, BM25 and its \
                     reranking answer. Its times are lower bounds, and its answers are not those of its model. ({reason})"
                )
            }
        };
        Ok(semble)
    }

    /// Whether it has its model.
    pub(crate) fn is_whole(&self) -> bool {
        self.about.is_empty() || !self.about.contains("WITHOUT")
    }

    fn command(&self, cache: &Cache, args: &[&str], whole: bool) -> Command {
        let mut command = program(&self.python);
        command.arg(&self.driver).args(args);
        command.env("SEMBLE_CACHE_LOCATION", cache.path()).env("HOME", cache.path());
        // What the user has downloaded may be used; nothing is downloaded.
        command.env("HF_HUB_OFFLINE", "1");
        let hub = variable("HF_HOME").or_else(|| Some(format!("{}/.cache/huggingface", variable("HOME")?)));
        if let Some(hub) = hub {
            command.env("HF_HOME", hub);
        }
        if !whole {
            command.env("WITHOUT_MODEL", "1").env("SEMBLE_MODEL_NAME", "none");
        } else if let Some(model) = &self.model {
            command.env("SEMBLE_MODEL_NAME", model);
        }
        command
    }

    /// Builds an index from nothing.
    pub(crate) fn index(&self, cache: &Cache, path: &str) -> Result<Cost> {
        measure(&self.command(cache, &["index", path], self.is_whole()))
    }

    /// Files and chunks of what was indexed.
    pub(crate) fn counts(&self, cache: &Cache, path: &str) -> Result<(u64, u64)> {
        let told = self.json(cache, &["index", path])?;
        let number = |key: &str| told[key].as_u64().with_context(|| format!("semble did not tell {key}"));
        Ok((number("files")?, number("chunks")?))
    }

    /// A search from the start of the process to its end.
    pub(crate) fn cold(&self, cache: &Cache, path: &str, query: &str) -> Result<Duration> {
        Ok(measure(&self.command(cache, &["one", path, query], self.is_whole()))?.wall)
    }

    /// The files that a search gives.
    pub(crate) fn files(&self, cache: &Cache, path: &str, query: &str) -> Result<Vec<String>> {
        let told = self.json(cache, &["one", path, query])?;
        let paths = told["paths"].as_array().into_iter().flatten();
        Ok(paths.filter_map(|path| path.as_str().map(str::to_owned)).collect())
    }

    /// Searches in one process.
    pub(crate) fn warm(&self, cache: &Cache, path: &str, queries: &Path) -> Result<Times> {
        let told = self.json(cache, &["ask", path, &queries.to_string_lossy()])?;
        let times = told["times_us"].as_array().context("semble did not tell its times")?;
        Ok(Times::new(times.iter().filter_map(Value::as_u64).map(Duration::from_micros).collect()))
    }

    /// The ten results of every line of a file, which is what it publishes figures of. More would change their order.
    pub(crate) fn results(&self, path: &Path, queries: &Path, content: Content) -> Result<Vec<Vec<Found>>> {
        let (cache, path) = (Cache::new()?, path.to_string_lossy());
        let told = self.json(&cache, &["results", &path, &queries.to_string_lossy(), content.word()])?;
        let answers = told["answers"].as_array().context("semble did not tell its results")?;
        let found = |value: &Value| {
            let line = |at: usize| value["lines"][at].as_u64().context("a result of semble without lines");
            let file = value["path"].as_str().context("a result of semble without a path")?;
            let file = file.strip_prefix(&*path).unwrap_or(file).trim_start_matches('/').to_owned();
            Ok(Found { path: file, also_at: Vec::new(), lines: (line(0)?, line(1)?) })
        };
        let answer = |value: &Value| value.as_array().into_iter().flatten().map(found).collect();
        answers.iter().map(answer).collect()
    }

    fn json(&self, cache: &Cache, args: &[&str]) -> Result<Value> {
        let text = output(&mut self.command(cache, args, self.is_whole()))?;
        serde_json::from_str(&text).with_context(|| format!("semble printed {text}"))
    }
}
