//! The licence texts of what is linked, collected from the sources of the packages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::{
    graph::{Graph, Key, Package},
    inside::{self, Runtime},
    licence::spdx,
};

/// A longer file is no licence, whatever its name.
const LONGEST: u64 = 200_000;

/// The notices for a static program of a target: each text once, with the packages that carry it.
pub(crate) fn text(graph: &Graph, target: &str) -> Result<String> {
    let mut carried = Carried::default();
    for (key, package) in graph.linked().filter(|(_, package)| !package.is_ours) {
        carried.add(key, package)?;
    }
    let mut page = page(&inside::runtimes(target)?, &carried);
    if let Some(text) = inside::text_for_libc(target)? {
        add_text(&mut page, "glibc", &text);
    }
    Ok(page)
}

#[derive(Default)]
struct Carried {
    /// Every package: name and version, declared licence.
    packages: Vec<(String, String)>,
    /// Text to the packages that carry it.
    texts: BTreeMap<String, BTreeSet<String>>,
    /// Packages that carry none, with their authors.
    without: Vec<(String, String)>,
}

impl Carried {
    fn add(&mut self, key: &Key, package: &Package) -> Result<()> {
        let name = format!("{} {}", key.name, key.version);
        self.packages.push((name.clone(), spdx(&package.licence)));
        let files = licence_files(&package.folder)?;
        if files.is_empty() {
            self.without.push((name, package.authors.join(", ")));
            return Ok(());
        }
        for file in files {
            let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let text = String::from_utf8_lossy(&bytes);
            // Line ends and what surrounds a text make it no other text.
            let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
            self.texts.entry(lines.join("\n")).or_default().insert(name.clone());
        }
        Ok(())
    }
}

/// Files that are named like licences, in the whole package: code of others keeps its own beside it.
fn licence_files(folder: &Path) -> Result<Vec<PathBuf>> {
    const BEGINNINGS: [&str; 6] = ["licence", "license", "copying", "copyright", "notice", "unlicense"];
    const CODE: [&str; 7] = ["rs", "c", "h", "py", "js", "json", "toml"];
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = entry.file_name().to_string_lossy().to_lowercase();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file()
                && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
                && !path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code))
                && entry.metadata()?.len() <= LONGEST
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn page(runtimes: &[Runtime], carried: &Carried) -> String {
    let mut page = String::from(
        "Third-party notices\n\nThis program contains the packages below. Their licences follow, each text once.\n\n",
    );
    for (name, licence) in &carried.packages {
        line(&mut page, &format!("{name}: {licence}"));
    }
    line(&mut page, "\nAnd from the compiler and the system that it was built with:\n");
    for runtime in runtimes {
        let version = runtime.version.as_deref().unwrap_or_default();
        line(&mut page, &format!("{} {version}: {} ({})", runtime.name, runtime.licence, runtime.home));
    }
    line(
        &mut page,
        "\nThe program's own source and `cargo xtask dist` are all that is needed to link it again with another version of \
         these.",
    );
    if !carried.without.is_empty() {
        line(
            &mut page,
            "\nThese packages carry no licence text; they declare the licence above, and their authors are:\n",
        );
        for (name, authors) in &carried.without {
            line(&mut page, &format!("{name}: {authors}"));
        }
    }
    for (text, packages) in &carried.texts {
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        add_text(&mut page, &packages.join(", "), text);
    }
    page
}

fn add_text(page: &mut String, whose: &str, text: &str) {
    line(page, &format!("\n{}\n{whose}\n{}\n\n{}", "=".repeat(80), "-".repeat(80), text.trim_end()));
}

fn line(page: &mut String, text: &str) {
    writeln!(page, "{text}").expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::graph::tests::{key, sample};

    #[test]
    fn each_text_is_there_once_with_all_who_carry_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::create_dir_all(place("a/c_src")).unwrap();
        fs::create_dir_all(place("b")).unwrap();
        fs::create_dir_all(place("c")).unwrap();
        fs::write(place("a/LICENSE-MIT"), "The text.\r\nIts end.\r\n").unwrap();
        fs::write(place("a/c_src/COPYING"), "Of the C code.").unwrap();
        fs::write(place("a/license.rs"), "fn main() {}").unwrap();
        fs::write(place("b/License.txt"), "\nThe text.\nIts end.").unwrap();
        let sample = sample();
        let mut carried = Carried::default();
        for name in ["a", "b", "c"] {
            let package = Package { folder: place(name), ..sample.packages[&key("both", "1.0.0")].clone() };
            carried.add(&key(name, "1.0.0"), &package).unwrap();
        }
        let page = page(&[], &carried);
        assert_eq!(page.matches("The text.").count(), 1, "{page}");
        assert!(page.contains("\na 1.0.0, b 1.0.0\n---") && page.contains("Of the C code."), "{page}");
        assert!(page.contains("carry no licence text") && page.contains("\nc 1.0.0: Ada\n"), "{page}");
        assert!(page.contains("\na 1.0.0: MIT OR Apache-2.0\n") && !page.contains("fn main"), "{page}");
    }
}
