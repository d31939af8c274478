//! The packages that a build of `lore` takes, as cargo resolves them for one target, with what the lock file says of each.
//!
//! `cargo metadata` knows licences and sources, but resolves features for the whole workspace at once, tests included;
//! `cargo tree` resolves those of the program alone. So the edges come from the latter and the rest from the former.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::program::{cargo, output, root};

/// Name and version: no two packages of one graph share both, as all come from one registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// Whether a package is in the program or only made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Its code is linked.
    Linked,
    /// It ran while the program was compiled: a macro, a build script, or something that they use.
    BuildOnly,
}

/// One package of the graph.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) role: Role,
    /// As its manifest declares it; empty where it declares none.
    pub(crate) licence: String,
    pub(crate) authors: Vec<String>,
    /// What the lock file has for it; none for our own.
    pub(crate) checksum: Option<String>,
    pub(crate) is_ours: bool,
    /// Where its source lies on this machine.
    pub(crate) folder: PathBuf,
    /// Whether its build script asks for a C compiler.
    pub(crate) has_c: bool,
    pub(crate) dependencies: BTreeSet<Key>,
}

/// Every package that takes part in the program.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The program itself.
    pub(crate) root: Key,
    pub(crate) packages: BTreeMap<Key, Package>,
}

impl Graph {
    /// Asks cargo; the lock file decides and is not changed.
    pub(crate) fn of_lore(target: &str) -> Result<Self> {
        let metadata =
            output(cargo().args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]))?;
        let metadata = serde_json::from_str(&metadata)?;
        let tree = |edges: &str| {
            let shape = ["--prefix", "depth", "--format", "{p}"];
            output(
                cargo()
                    .args(["tree", "--locked", "--package", "lore", "--target", target, "--edges", edges])
                    .args(shape),
            )
        };
        let lock = fs::read_to_string(root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
        Self::read(&tree("normal")?, &tree("normal,build")?, &metadata, &lock)
    }

    fn read(normal: &str, all: &str, metadata: &Value, lock: &str) -> Result<Self> {
        let linked = Tree::read(normal)?.linked();
        let tree = Tree::read(all)?;
        let checksums = checksums(lock)?;
        let mut known = BTreeMap::new();
        for package in metadata["packages"].as_array().into_iter().flatten() {
            known.insert(key_of(package)?, package);
        }
        let mut packages = BTreeMap::new();
        for (key, dependencies) in tree.edges {
            let package = known
                .get(&key)
                .with_context(|| format!("cargo metadata does not know {} {}", key.name, key.version))?;
            let role = if linked.contains(&key) { Role::Linked } else { Role::BuildOnly };
            let checksum = checksums.get(&key).cloned();
            let read = read_package(package, role, checksum, dependencies)?;
            ensure!(
                read.is_ours || read.checksum.is_some(),
                "Cargo.lock has no checksum of {} {}",
                key.name,
                key.version
            );
            packages.insert(key, read);
        }
        Ok(Self { root: tree.root, packages })
    }

    /// Those whose code is in the program.
    pub(crate) fn linked(&self) -> impl Iterator<Item = (&Key, &Package)> {
        self.packages.iter().filter(|(_, package)| package.role == Role::Linked)
    }
}

fn read_package(package: &Value, role: Role, checksum: Option<String>, dependencies: BTreeSet<Key>) -> Result<Package> {
    let manifest = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
    let authors = package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let compilers = ["cc", "cmake"];
    let has_c = package["dependencies"].as_array().into_iter().flatten().any(|dependency| {
        dependency["kind"] == "build" && dependency["name"].as_str().is_some_and(|name| compilers.contains(&name))
    });
    Ok(Package {
        role,
        licence: package["license"].as_str().unwrap_or_default().to_owned(),
        authors: authors.collect(),
        checksum,
        is_ours: package["source"].is_null(),
        folder: manifest.parent().context("a manifest lies in a folder")?.to_owned(),
        has_c,
        dependencies,
    })
}

fn key_of(package: &Value) -> Result<Key> {
    let text =
        |field: &str| package[field].as_str().map(str::to_owned).with_context(|| format!("a package without {field}"));
    Ok(Key { name: text("name")?, version: text("version")? })
}

/// SHA-256 of each package of a registry.
fn checksums(lock: &str) -> Result<BTreeMap<Key, String>> {
    let lock: DocumentMut = lock.parse().context("Cargo.lock is not TOML")?;
    let packages =
        lock.get("package").and_then(|item| item.as_array_of_tables()).context("Cargo.lock lists no packages")?;
    let mut sums = BTreeMap::new();
    for package in packages {
        let text = |field: &str| package.get(field).and_then(|item| item.as_str()).map(str::to_owned);
        if let (Some(name), Some(version), Some(sum)) = (text("name"), text("version"), text("checksum")) {
            sums.insert(Key { name, version }, sum);
        }
    }
    Ok(sums)
}

/// What `cargo tree` printed.
struct Tree {
    root: Key,
    edges: BTreeMap<Key, BTreeSet<Key>>,
    macros: BTreeSet<Key>,
}

impl Tree {
    /// Reads lines of the form `2name v1.2.3 (proc-macro) (*)`: depth, package, marks. What was shown before is not shown
    /// again, so the children of a package are those of all its lines together.
    fn read(text: &str) -> Result<Self> {
        let mut edges: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
        let mut macros = BTreeSet::new();
        let mut above: Vec<Key> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let unreadable = || format!("cargo tree printed `{line}`");
            let name_at = line.find(|c: char| !c.is_ascii_digit()).with_context(unreadable)?;
            let depth: usize = line[..name_at].parse().with_context(unreadable)?;
            let mut words = line[name_at..].split_whitespace();
            let name = words.next().with_context(unreadable)?.to_owned();
            let version = words.next().and_then(|word| word.strip_prefix('v')).with_context(unreadable)?.to_owned();
            let key = Key { name, version };
            if words.any(|word| word == "(proc-macro)") {
                macros.insert(key.clone());
            }
            ensure!(depth <= above.len(), unreadable());
            above.truncate(depth);
            if let Some(parent) = above.last() {
                edges.entry(parent.clone()).or_default().insert(key.clone());
            }
            edges.entry(key.clone()).or_default();
            above.push(key);
        }
        let root = above.into_iter().next().context("cargo tree printed nothing")?;
        Ok(Self { root, edges, macros })
    }

    /// What is reached from the root without passing through a macro, which runs in the compiler.
    fn linked(&self) -> BTreeSet<Key> {
        let mut linked = BTreeSet::new();
        let mut open = vec![&self.root];
        while let Some(key) = open.pop() {
            if !self.macros.contains(key) && linked.insert(key.clone()) {
                open.extend(self.edges.get(key).into_iter().flatten());
            }
        }
        linked
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn key(name: &str, version: &str) -> Key {
        Key { name: name.to_owned(), version: version.to_owned() }
    }

    /// `lore` links `z-sys`, which was built with `cc`, and uses the macro `derive`, which uses `syn`; both use `both`.
    pub(crate) fn sample() -> Graph {
        let normal = "0lore v0.1.0 (/src/lore)\n1both v1.0.0\n1derive v2.0.0 (proc-macro)\n2both v1.0.0\n2syn v3.0.0\n1z-sys v1.2.0+z.5\n";
        let all = "0lore v0.1.0 (/src/lore)\n1both v1.0.0\n1derive v2.0.0 (proc-macro)\n2both v1.0.0\n2syn v3.0.0\n1z-sys v1.2.0+z.5\n2cc v1.0.1\n";
        let package = |name: &str, version: &str, licence: &str, ours: bool, build: &[&str]| {
            let build: Vec<Value> = build.iter().map(|name| json!({"name": name, "kind": "build"})).collect();
            let source = if ours { Value::Null } else { json!("registry+https://example.com/index") };
            json!({"name": name, "version": version, "license": licence, "source": source, "dependencies": build,
                   "authors": ["Ada"], "manifest_path": format!("/src/{name}/Cargo.toml")})
        };
        let metadata = json!({"packages": [
            package("lore", "0.1.0", "MIT OR Apache-2.0", true, &[]),
            package("both", "1.0.0", "MIT/Apache-2.0", false, &[]),
            package("both", "0.9.0", "MIT", false, &[]),
            package("derive", "2.0.0", "MIT", false, &[]),
            package("syn", "3.0.0", "MIT", false, &[]),
            package("z-sys", "1.2.0+z.5", "BSD-3-Clause", false, &["cc"]),
            package("cc", "1.0.1", "MIT", false, &[]),
            package("only-in-tests", "1.0.0", "MIT", false, &[]),
        ]});
        let sum = "0123456789abcdef".repeat(4);
        let locked = |name: &str, version: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nchecksum = \"{sum}\"\n")
        };
        let lock = [("both", "1.0.0"), ("derive", "2.0.0"), ("syn", "3.0.0"), ("z-sys", "1.2.0+z.5"), ("cc", "1.0.1")];
        let lock: String = lock.iter().map(|(name, version)| locked(name, version)).collect();
        Graph::read(normal, all, &metadata, &lock).unwrap()
    }

    #[test]
    fn what_only_made_the_program_is_told_from_what_is_in_it() {
        let graph = sample();
        let linked: Vec<&str> = graph.linked().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(linked, ["both", "lore", "z-sys"]);
        let all: Vec<&str> = graph.packages.keys().map(|key| key.name.as_str()).collect();
        assert_eq!(all, ["both", "cc", "derive", "lore", "syn", "z-sys"], "tests are no part of it");
        assert!(graph.packages[&key("z-sys", "1.2.0+z.5")].has_c && !graph.packages[&key("both", "1.0.0")].has_c);
        assert_eq!(graph.packages[&key("derive", "2.0.0")].dependencies.len(), 2);
    }

    #[test]
    fn a_package_without_a_checksum_is_refused() {
        let metadata = json!({"packages": [
            {"name": "a", "version": "1.0.0", "source": null, "manifest_path": "/src/a/Cargo.toml"},
            {"name": "b", "version": "1.0.0", "source": "registry+x", "manifest_path": "/src/b/Cargo.toml"}]});
        let tree = "0a v1.0.0 (/src/a)\n1b v1.0.0\n";
        let error = Graph::read(tree, tree, &metadata, "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\n").unwrap_err();
        assert!(error.to_string().contains("no checksum of b"), "{error}");
    }
}
