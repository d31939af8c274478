//! Where packages come from: the one registry or this workspace, not withdrawn, and how many times each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::program::variable;

/// How the lock file names the registry.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that come from elsewhere.
pub(super) fn check(metadata: &Value) -> Vec<String> {
    let ours: BTreeSet<&str> =
        metadata["workspace_members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap_or("?");
            match package["source"].as_str() {
                Some(REGISTRY) => None,
                Some(source) => Some(format!(
                    "`{name}` comes from {source}: only what the registry published can be audited and rebuilt"
                )),
                None if package["id"].as_str().is_some_and(|id| ours.contains(id)) => None,
                None => Some(format!("`{name}` comes from a folder that is no member of this workspace")),
            }
        })
        .collect()
}

/// Packages of which the graph has more than one version. Some are there for long, as libraries move at their own pace.
pub(super) fn duplicates(packages: &[Value]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let version = package["version"].as_str().unwrap_or("?");
        versions.entry(package["name"].as_str().unwrap_or("?")).or_default().push(version);
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    several.map(|(name, versions)| format!("{name} {}", versions.join(" and "))).collect()
}

/// What cargo keeps of the registry's index on this machine. It is as old as cargo's last look at each package, and there
/// may be none: `cargo xtask audit` asks for news.
pub(super) struct Index {
    folders: Vec<PathBuf>,
}

impl Index {
    /// The one of whoever runs this.
    pub(super) fn of_user() -> Self {
        let home = variable("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cargo")));
        let indexes = home.and_then(|home| fs::read_dir(home.join("registry/index")).ok());
        let folders = indexes.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path().join(".cache"));
        Self { folders: folders.filter(|folder| folder.is_dir()).collect() }
    }

    /// Whether the version was withdrawn; `None` where the index does not have it.
    fn is_yanked(&self, name: &str, version: &str) -> Option<bool> {
        let lower = name.to_lowercase();
        let place = match lower.len() {
            1 => format!("1/{lower}"),
            2 => format!("2/{lower}"),
            3 => format!("3/{}/{lower}", lower.get(..1)?),
            _ => format!("{}/{}/{lower}", lower.get(..2)?, lower.get(2..4)?),
        };
        self.folders.iter().find_map(|folder| yanked_in(&fs::read(folder.join(&place)).ok()?, version))
    }
}

/// A file of the index has a few bytes of cargo's own, then versions and what was published, each ended by a NUL.
fn yanked_in(file: &[u8], version: &str) -> Option<bool> {
    let records = file.split(|byte| *byte == 0).filter_map(|record| serde_json::from_slice::<Value>(record).ok());
    let mut records = records.filter(|record| record["vers"] == version);
    records.next().and_then(|record| record["yanked"].as_bool())
}

/// Packages that were withdrawn, as far as this machine knows.
pub(super) fn check_yanked(packages: &[Value], index: &Index) -> Vec<String> {
    let published = packages.iter().filter(|package| !package["source"].is_null());
    published
        .filter_map(|package| {
            let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
            let told = format!("{name} {version} was withdrawn by its authors (yanked): `cargo update -p {name}`");
            (index.is_yanked(name, version) == Some(true)).then_some(told)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_registry_and_the_workspace_are_sources() {
        let problems = |source: Value, id: &str| {
            let package = json!({"name": "a", "source": source, "id": id});
            check(&json!({"packages": [package], "workspace_members": ["path+file:///src/lore#0.1.0"]})).len()
        };
        assert_eq!(problems(json!(REGISTRY), "x"), 0);
        assert_eq!(problems(Value::Null, "path+file:///src/lore#0.1.0"), 0);
        assert_eq!(problems(Value::Null, "path+file:///elsewhere#0.1.0"), 1);
        assert_eq!(problems(json!("git+https://example.com/a#0123"), "x"), 1);
        assert_eq!(problems(json!("registry+https://example.com/index"), "x"), 1);
        assert_eq!(problems(json!("sparse+https://example.com/index/"), "x"), 1);
    }

    #[test]
    fn withdrawn_versions_are_told_where_the_index_knows_them() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ex/am");
        fs::create_dir_all(&place).unwrap();
        let file = b"\x03\x02\0\0\0etag: x\0\
            1.0.0\0{\"name\":\"example\",\"vers\":\"1.0.0\",\"yanked\":true}\0\
            1.0.1\0{\"name\":\"example\",\"vers\":\"1.0.1\",\"yanked\":false}\0";
        fs::write(place.join("example"), file).unwrap();
        let index = Index { folders: vec![folder.path().to_owned()] };
        let problems = |name: &str, version: &str, source: Value| {
            check_yanked(&[json!({"name": name, "version": version, "source": source})], &index)
        };
        let told = problems("Example", "1.0.0", json!(REGISTRY));
        assert!(told.len() == 1 && told[0].contains("Example 1.0.0 was withdrawn"), "{told:?}");
        assert_eq!(problems("example", "1.0.1", json!(REGISTRY)).len(), 0);
        assert_eq!(problems("example", "1.0.2", json!(REGISTRY)).len(), 0, "unknown is no fault");
        assert_eq!(problems("other", "1.0.0", json!(REGISTRY)).len(), 0);
        assert_eq!(problems("example", "1.0.0", Value::Null).len(), 0, "ours was never published");
    }

    #[test]
    fn versions_beside_each_other_are_listed() {
        let package = |name: &str, version: &str| json!({"name": name, "version": version});
        let packages = [package("a", "1.0.0"), package("b", "1.0.0"), package("a", "2.0.0")];
        assert_eq!(duplicates(&packages), ["a 1.0.0 and 2.0.0"]);
    }
}
