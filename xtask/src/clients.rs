//! Installs what of other people the tests drive: MCP's Python SDK, TypeScript SDKs, Inspector and conformance suite.
//!
//! Everything goes below the target directory and nothing else of the machine changes. What is installed is pinned in
//! `crates/lore/tests/clients`; a stamp with the same pins means that there is nothing to do.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::program::{output, program, root, run, say};

/// The Inspector needs this Node; the conformance suite would do with an earlier 22, the rest with less.
const NODE: (u32, u32) = (22, 19);
/// The pinned packages around the Python SDK need this Python.
const PYTHON: (u32, u32) = (3, 11);

/// Names of the pinned lists.
const REQUIREMENTS: &str = "requirements.txt";
const NODE_REQUIREMENTS: &str = "requirements-node.txt";
const PACKAGES: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs what is not there yet and gives the directory that holds it.
pub(crate) fn install(target: &Path) -> Result<PathBuf> {
    let clients = Clients { dir: target.join("clients"), pins: root().join("crates/lore/tests/clients") };
    let wanted = clients.wanted()?;
    if clients.is_ready(&wanted) {
        return Ok(clients.dir);
    }
    say("installing the MCP clients that the tests drive (once, below the target directory)");
    clients.install(&wanted).context(
        "the MCP clients of the tests could not be installed. They come from PyPI and from the npm registry: is the \
         network reachable? `cargo xtask test --no-clients` runs all tests that do without them",
    )?;
    Ok(clients.dir)
}

struct Clients {
    dir: PathBuf,
    pins: PathBuf,
}

impl Clients {
    /// All pins as one text.
    fn wanted(&self) -> Result<String> {
        [REQUIREMENTS, NODE_REQUIREMENTS].into_iter().chain(PACKAGES).try_fold(String::new(), |text, name| {
            let file = self.pins.join(name);
            Ok(text + &fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?)
        })
    }

    /// Whether these pins are installed, and still start: an upgrade of the system can take their interpreter away.
    fn is_ready(&self, wanted: &str) -> bool {
        let node = fs::read_to_string(self.node_path()).unwrap_or_default();
        fs::read_to_string(self.stamp()).is_ok_and(|stamp| stamp == wanted)
            && output(program(self.in_venv("python")).arg("--version")).is_ok()
            && output(program(node).arg("--version")).is_ok()
    }

    fn install(&self, wanted: &str) -> Result<()> {
        if self.dir.exists() {
            fs::remove_dir_all(&self.dir)?;
        }
        let node_dir = self.dir.join("node");
        fs::create_dir_all(&node_dir)?;
        let python = find_python()?;
        run(program(python).args(["-m", "venv"]).arg(self.dir.join("venv")))
            .context("a Python environment could not be made (Debian and Ubuntu keep that in `python3-venv`)")?;
        self.pip(REQUIREMENTS)?;
        let (node, npm) = if let Some(node) = find_node() {
            (node, PathBuf::from("npm"))
        } else {
            say(&format!("no Node {}.{} or newer with npm here: it comes from PyPI", NODE.0, NODE.1));
            self.pip(NODE_REQUIREMENTS)?;
            (real_node(program(self.in_venv("node")))?, self.in_venv("npm"))
        };
        for name in PACKAGES {
            fs::copy(self.pins.join(name), node_dir.join(name))?;
        }
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(program(npm).args(install).current_dir(&node_dir))?;
        fs::write(self.node_path(), node.to_str().context("the path of node is not UTF-8")?)?;
        // Last, so that an interrupted installation is begun again.
        fs::write(self.stamp(), wanted)?;
        Ok(())
    }

    fn pip(&self, requirements: &str) -> Result<()> {
        let pip = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--requirement"];
        run(program(self.in_venv("python")).args(pip).arg(self.pins.join(requirements)))
    }

    fn in_venv(&self, name: &str) -> PathBuf {
        self.dir.join(if cfg!(windows) { "venv/Scripts" } else { "venv/bin" }).join(name)
    }

    /// Holds the path of the Node that was found or installed; the tests read it.
    fn node_path(&self) -> PathBuf {
        self.dir.join("node-path")
    }

    fn stamp(&self) -> PathBuf {
        self.dir.join("stamp")
    }
}

fn find_python() -> Result<&'static str> {
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    for name in ["python3", "python"] {
        if output(program(name).args(["-c", version])).is_ok_and(|found| at_least(&found, PYTHON)) {
            return Ok(name);
        }
    }
    bail!("Python {}.{} or newer is needed, and neither `python3` nor `python` is one", PYTHON.0, PYTHON.1)
}

/// The machine's own Node, where it is new enough and has npm.
fn find_node() -> Option<PathBuf> {
    let version = output(program("node").arg("--version")).ok()?;
    let npm = output(program("npm").arg("--version"));
    if !at_least(&version, NODE) || npm.is_err() {
        return None;
    }
    real_node(program("node")).ok()
}

/// The program itself, not a wrapper or a link that depends on the environment.
fn real_node(mut node: Command) -> Result<PathBuf> {
    Ok(output(node.args(["-p", "process.execPath"]))?.into())
}

/// Whether a version such as `v24.19.0` is this one or newer.
fn at_least(version: &str, (major, minor): (u32, u32)) -> bool {
    let mut parts = version.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    found >= (major, minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, enough) in [
            ("v22.19.0", true),
            ("v24.1.0\n", true),
            ("22.9.0", false),
            ("v9.30.1", false),
            ("", false),
            ("new", false),
        ] {
            assert_eq!(at_least(version, (22, 19)), enough, "{version}");
        }
    }
}
