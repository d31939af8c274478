//! Manifests and crate roots: which versions they take, which lints hold, no unsafe code.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

/// Dependencies of our crates that take any version.
pub(super) fn check_dependencies(packages: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        if !package["source"].is_null() {
            continue;
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let from_registry = dependency["path"].is_null();
            if from_registry && dependency["req"].as_str().is_some_and(|req| req.contains('*')) {
                problems
                    .push(format!("`{name}` takes any version of `{}`", dependency["name"].as_str().unwrap_or("?")));
            }
        }
    }
    problems
}

/// Our crates: their manifests take the lints, and their roots forbid unsafe code.
pub(super) fn check_crates(packages: &[Value]) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
        let text = fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        problems.extend(manifest_problem(name, &text)?);
        for target in package["targets"].as_array().into_iter().flatten() {
            let is_root =
                target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib" || kind == "bin"));
            let source = target["src_path"].as_str().filter(|_| is_root);
            if let Some(source) = source {
                let code = fs::read_to_string(source).with_context(|| format!("cannot read {source}"))?;
                problems.extend(root_problem(name, &code));
            }
        }
    }
    Ok(problems)
}

fn manifest_problem(name: &str, text: &str) -> Result<Option<String>> {
    let document: DocumentMut = text.parse().with_context(|| format!("the manifest of `{name}` is not TOML"))?;
    let inherits = document.get("lints").and_then(|lints| lints.get("workspace")).and_then(Item::as_bool);
    Ok((inherits != Some(true)).then(|| format!("the manifest of `{name}` lacks `[lints] workspace = true`")))
}

/// Crates with a few lines that the compiler cannot check: they deny such code, and each place that needs it says why.
const DENIES: [&str; 2] = [
    // It tells the allocator to return freed memory.
    "lore",
    // It maps files into memory and compares vectors with the processor's vector instructions.
    "lore-segments",
];

fn root_problem(name: &str, code: &str) -> Option<String> {
    let wanted = if DENIES.contains(&name) { "#![deny(unsafe_code)]" } else { "#![forbid(unsafe_code)]" };
    let has = code.lines().any(|line| line.trim() == wanted);
    (!has).then(|| format!("`{name}` lacks `{wanted}` in its root"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wildcards_are_told() {
        let package =
            |source: Value, dependency: Value| json!({"name": "a", "source": source, "dependencies": [dependency]});
        let ours = |dependency| check_dependencies(&[package(Value::Null, dependency)]).len();
        assert_eq!(ours(json!({"name": "b", "req": "^1", "path": null})), 0);
        assert_eq!(ours(json!({"name": "b", "req": "*", "path": null})), 1);
        assert_eq!(ours(json!({"name": "b", "req": "1.*", "path": null})), 1);
        assert_eq!(ours(json!({"name": "b", "req": "*", "path": "crates/b"})), 0);
        let theirs = package(json!("registry+https://example.com/index"), json!({"name": "b", "req": "*"}));
        assert_eq!(check_dependencies(&[theirs]).len(), 0, "what others do is theirs");
    }

    #[test]
    fn lints_are_inherited() {
        for (text, problems) in [
            ("[lints]\nworkspace = true", 0),
            ("lints.workspace = true", 0),
            ("[lints]\nworkspace = false", 1),
            ("[package]", 1),
        ] {
            assert_eq!(manifest_problem("a", text).unwrap().into_iter().count(), problems, "{text}");
        }
    }

    #[test]
    fn unsafe_code_is_forbidden_in_the_root() {
        assert_eq!(root_problem("a", "//! Text.\n#![forbid(unsafe_code)]\n"), None);
        assert!(root_problem("a", "//! #![forbid(unsafe_code)] is missing\n").is_some());
    }
}
