//! Builds the program so that neither the folder nor the machine shows in it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{
    program::{cargo, output, program, variable, variables},
    supply::graph::Graph,
};

/// What is built.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) folder: PathBuf,
    /// The version of the manifest.
    pub(super) release: String,
    pub(super) commit: String,
    /// The day of the commit, and its second since 1970.
    day: String,
    pub(super) time: u64,
    dirty: bool,
}

impl Source {
    /// Asks git and cargo; uncommitted changes are refused unless they are allowed.
    pub(super) fn of(folder: &Path, dirty_allowed: bool) -> Result<Self> {
        let git = |arguments: &[&str]| {
            output(program("git").env("TZ", "UTC").args(arguments)).context("a release is built from a commit")
        };
        let dirty = !git(&["status", "--porcelain"])?.is_empty();
        ensure!(!dirty || dirty_allowed, "there are changes that are not committed; --dirty takes them along");
        let metadata = output(cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let lore = metadata["packages"].as_array().into_iter().flatten().find(|package| package["name"] == "lore");
        let release =
            lore.and_then(|package| package["version"].as_str()).context("cargo did not tell the version of lore")?;
        Ok(Self {
            folder: folder.to_owned(),
            release: release.to_owned(),
            commit: git(&["rev-parse", "HEAD"])?,
            day: git(&["log", "-1", "--date=format-local:%Y-%m-%d", "--format=%cd"])?,
            time: git(&["log", "-1", "--format=%ct"])?.parse().context("git told no time")?,
            dirty,
        })
    }

    /// The same commit in another place.
    pub(super) fn in_folder(&self, folder: PathBuf) -> Self {
        Self { folder, ..self.clone() }
    }

    /// What `lore --version` is to say.
    pub(super) fn version(&self) -> String {
        let mark = if self.dirty { " with changes" } else { "" };
        format!("{} ({} {}{mark})", self.release, self.commit.get(..12).unwrap_or(&self.commit), self.day)
    }
}

/// Places of this machine, and what stands for each in the program. A later one goes before an earlier one.
pub(super) fn places(source: &Source, target_dir: &Path) -> Result<Vec<(String, String)>> {
    let home = variable("CARGO_HOME").or_else(|| variable("HOME").map(|home| format!("{home}/.cargo")));
    let sysroot = output(program("rustc").args(["--print", "sysroot"]))?;
    let rustc = output(program("rustc").arg("-vV"))?;
    let hash =
        rustc.lines().find_map(|line| line.strip_prefix("commit-hash: ")).context("rustc did not tell its commit")?;
    Ok(vec![
        (format!("{sysroot}/lib/rustlib/src/rust"), format!("/rustc/{hash}")),
        (home.context("neither CARGO_HOME nor HOME is set")?, "/cargo".to_owned()),
        (source.folder.display().to_string(), "/lore".to_owned()),
        (target_dir.display().to_string(), "/target".to_owned()),
    ])
}

/// Builds, compares what was linked with what the graph says, and tells where the program is.
pub(super) fn build(source: &Source, target: &str, target_dir: &Path, graph: &Graph) -> Result<PathBuf> {
    let places = places(source, target_dir)?;
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    if target.ends_with("-gnu") {
        // Rust's library takes this function where it finds it, and a static program has only what somebody asks for. Without
        // it every git that is started in a folder of its own is a fork, which copies the tables of all memory of a server.
        flags.push("-Clink-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np".to_owned());
    }
    flags.extend(places.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")));
    let c_flags: Vec<String> = places.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();

    let mut command = cargo();
    for name in variables().filter(|name| is_influence(name)) {
        command.env_remove(name);
    }
    command
        .current_dir(&source.folder)
        .args(["build", "--release", "--locked", "--package", "lore", "--message-format=json-render-diagnostics"])
        // With a target, macros and build scripts are built without these flags: a static macro cannot be loaded.
        .args(["--target", target])
        .arg("--target-dir")
        .arg(target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env(format!("CFLAGS_{}", target.replace('-', "_")), c_flags.join(" "))
        .env(format!("CXXFLAGS_{}", target.replace('-', "_")), c_flags.join(" "))
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", source.time.to_string())
        .env("LORE_BUILD_VERSION", source.version())
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    let built = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(built.status.success(), "the release build failed");
    let messages: Vec<Value> =
        String::from_utf8(built.stdout)?.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();

    let differ = difference(
        &linked(&messages, target),
        &graph.linked().map(|(key, _)| format!("{} {}", key.name, key.version)).collect(),
    );
    ensure!(differ.is_empty(), "what was compiled and what the list of parts says differ: {}", differ.join(", "));
    let mut of_lore = messages.iter().filter(|message| message["target"]["name"] == "lore");
    let binary = of_lore.find_map(|message| message["executable"].as_str());
    binary.map(PathBuf::from).context("cargo did not say where the binary is")
}

/// Settings of whoever builds, which others do not have.
fn is_influence(name: &str) -> bool {
    let beginnings =
        ["CARGO_PROFILE_", "CARGO_BUILD_", "CARGO_TARGET_", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LORE_"];
    let names =
        ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "SOURCE_DATE_EPOCH", "CARGO_ENCODED_RUSTFLAGS"];
    names.contains(&name) || beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// The packages of which cargo compiled a library or program for the target, as `name version`.
fn linked(messages: &[Value], target: &str) -> BTreeSet<String> {
    let folder = format!("/{target}/release/");
    let of_target = |message: &&Value| {
        message["reason"] == "compiler-artifact"
            && message["filenames"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|name| name.as_str().is_some_and(|name| name.contains(&folder)))
    };
    messages.iter().filter(of_target).filter_map(|message| package(message["package_id"].as_str()?)).collect()
}

/// `registry+URL#name@version`, or `path+URL/name#version` where the folder has the package's name.
fn package(id: &str) -> Option<String> {
    let (url, fragment) = id.rsplit_once('#')?;
    let (name, version) = fragment.split_once('@').unwrap_or((url.rsplit('/').next()?, fragment));
    Some(format!("{name} {version}"))
}

fn difference(compiled: &BTreeSet<String>, listed: &BTreeSet<String>) -> Vec<String> {
    let extra = compiled.difference(listed).map(|name| format!("{name} is not listed"));
    let missing = listed.difference(compiled).map(|name| format!("{name} was not compiled"));
    extra.chain(missing).collect()
}

/// A program that needs no other file, and that does not tell where it was built.
pub(super) fn check(program: &[u8], places: &[(String, String)]) -> Result<()> {
    ensure!(!has_interpreter(program)?, "the program is linked dynamically");
    for (place, _) in places {
        let found = memchr::memmem::find(program, place.as_bytes());
        ensure!(found.is_none(), "the program tells the place `{place}` at byte {}", found.unwrap_or_default());
    }
    Ok(())
}

/// Whether an ELF file of 64 bits asks for a dynamic linker.
fn has_interpreter(file: &[u8]) -> Result<bool> {
    const INTERPRETER: u64 = 3;
    let number = |at: usize, length: usize| -> Result<u64> {
        let bytes = file.get(at..at + length).context("the program ends too early")?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    ensure!(file.starts_with(b"\x7fELF\x02\x01"), "the program is no ELF file of 64 bits");
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        if number(usize::try_from(start + index * size)?, 4)? == INTERPRETER {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_program_is_dynamic_and_tells_its_place() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        if cfg!(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")) {
            assert!(check(&own, &[]).unwrap_err().to_string().contains("dynamically"));
        }
        // A header with one entry, which loads.
        let mut small = b"\x7fELF\x02\x01".to_vec();
        small.resize(64, 0);
        (small[32], small[54], small[56]) = (64, 56, 1);
        small.extend(1_u32.to_le_bytes());
        small.extend(b"  /home/ada/src/lore/main.c");
        assert!(check(&small, &[("/home/bob".to_owned(), String::new())]).is_ok());
        assert!(check(&small, &[("/home/ada/src".to_owned(), String::new())]).is_err());
        small[64] = 3;
        assert!(check(&small, &[]).is_err());
        assert!(check(&small[..60], &[]).is_err() && check(b"#!/bin/sh", &[]).is_err());
    }

    #[test]
    fn what_was_compiled_for_the_target_is_compared_with_the_list() {
        let message =
            |id: &str, file: &str| json!({"reason": "compiler-artifact", "package_id": id, "filenames": [file]});
        let messages = [
            message("registry+https://example.com#a@1.0.0", "/t/x-y-z/release/deps/liba.rlib"),
            message("registry+https://example.com#derive@1.0.0", "/t/release/deps/libderive.so"),
            message("path+file:///src/crates/lore-core#0.1.0", "/t/x-y-z/release/deps/liblore_core.rlib"),
            json!({"reason": "build-script-executed", "package_id": "registry+https://example.com#b@1.0.0"}),
        ];
        let compiled = linked(&messages, "x-y-z");
        assert_eq!(compiled, BTreeSet::from(["a 1.0.0".to_owned(), "lore-core 0.1.0".to_owned()]));
        let listed = BTreeSet::from(["a 1.0.0".to_owned(), "c 1.0.0".to_owned()]);
        assert_eq!(difference(&compiled, &listed), ["lore-core 0.1.0 is not listed", "c 1.0.0 was not compiled"]);
        assert!(difference(&compiled, &compiled).is_empty());
    }
}
