//! Dependencies that no source of their crate names: they cost everybody time and trust, and give nothing.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// What our crates depend on without naming it.
pub(super) fn check(root: &Path, files: &[PathBuf], packages: &[Value]) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let manifest = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
        let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok()).unwrap_or(Path::new(""));
        let mut words = HashSet::new();
        let sources = files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs"));
        for file in sources.filter(|file| file.starts_with(folder)) {
            let text =
                fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {}", file.display()))?;
            words.extend(words_of(&text).map(str::to_owned));
        }
        problems.extend(unnamed(package, &words));
    }
    Ok(problems)
}

/// The words of the code; a crate that is only spoken of is not used.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

fn unnamed(package: &Value, words: &HashSet<String>) -> Vec<String> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let names = dependencies.filter_map(|dependency| dependency["rename"].as_str().or(dependency["name"].as_str()));
    let unnamed = names.filter(|name| !words.contains(&name.replace('-', "_")));
    unnamed
        .map(|name| {
            format!("`{}` depends on `{name}`, which no source of it names", package["name"].as_str().unwrap_or("?"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_only_spoken_of_is_not_used() {
        let package = json!({"name": "a", "dependencies": [
            {"name": "some-crate"}, {"name": "b", "rename": "bee"}, {"name": "spoken"}, {"name": "some"},
        ]});
        let code = "// spoken::of\nuse some_crate::{bee};\n    /// `spoken`\nlet x = bee::new();";
        let words = words_of(code).map(str::to_owned).collect();
        let said = |name: &str| format!("`a` depends on `{name}`, which no source of it names");
        assert_eq!(unnamed(&package, &words), [said("spoken"), said("some")]);
    }
}
