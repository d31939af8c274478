//! What is in the program and is no package of its own: C code that packages bring along, the model, and what the compiler
//! and the system add.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, bail};
use regex::Regex;
use sha2::{Digest as _, Sha256};

use super::graph::{Graph, Key, Package};
use crate::program::{output, program, root};

/// Another project's code inside a package.
#[derive(Debug)]
pub(crate) struct Vendored {
    pub(crate) name: &'static str,
    /// None where single files were taken at different times.
    pub(crate) version: Option<String>,
    pub(crate) licence: &'static str,
    pub(crate) home: &'static str,
}

/// How a package that asks for a C compiler came by its C code.
struct Row {
    package: &'static str,
    code: Code,
}

enum Code {
    /// It is the package's own, or made from its own grammar: its version and licence are those of the package.
    Own,
    /// Another project's, whose version is found by these expressions in this file, one part each. Without a version where
    /// single files were taken at different times.
    Other {
        name: &'static str,
        licence: &'static str,
        home: &'static str,
        file: &'static str,
        version: Option<Version>,
    },
}

enum Version {
    /// The first group of each, joined by dots.
    Parts(&'static [&'static str]),
    /// A number of which the last four digits are two parts.
    Packed(&'static str),
}

/// Every package that asks for a C compiler; the rest of the grammars are `Own` by their name.
const ROWS: &[Row] = &[
    Row { package: "blake3", code: Code::Own },
    Row { package: "tree-sitter", code: Code::Own },
    Row {
        package: "libmimalloc-sys",
        code: Code::Other {
            name: "mimalloc",
            licence: "MIT",
            home: "https://github.com/microsoft/mimalloc",
            // The package holds two versions; its build script takes this one unless the feature `v2` is on.
            file: "c_src/mimalloc/v3/include/mimalloc.h",
            version: Some(Version::Packed(r"define MI_MALLOC_VERSION\s+(\d+)")),
        },
    },
    Row {
        package: "libsqlite3-sys",
        code: Code::Other {
            name: "sqlite",
            licence: "blessing",
            home: "https://sqlite.org",
            file: "sqlite3/sqlite3.h",
            version: Some(Version::Parts(&["define SQLITE_VERSION\\s+\"([^\"]+)\""])),
        },
    },
    Row {
        package: "ring",
        code: Code::Other {
            name: "boringssl",
            licence: "Apache-2.0 AND ISC",
            home: "https://boringssl.googlesource.com/boringssl",
            file: "LICENSE-BoringSSL",
            version: None,
        },
    },
    Row {
        package: "zstd-sys",
        code: Code::Other {
            name: "zstd",
            licence: "BSD-3-Clause",
            home: "https://github.com/facebook/zstd",
            file: "zstd/lib/zstd.h",
            version: Some(Version::Parts(&[
                r"define ZSTD_VERSION_MAJOR\s+(\d+)",
                r"define ZSTD_VERSION_MINOR\s+(\d+)",
                r"define ZSTD_VERSION_RELEASE\s+(\d+)",
            ])),
        },
    },
];

/// The other project's code inside this package, where there is any; fails for one that nobody has looked into.
pub(crate) fn vendored(key: &Key, package: &Package) -> Result<Option<Vendored>> {
    if !package.has_c {
        return Ok(None);
    }
    let row = ROWS.iter().find(|row| row.package == key.name);
    match row.map(|row| &row.code) {
        Some(Code::Own) => Ok(None),
        Some(Code::Other { name, licence, home, file, version }) => {
            let text =
                fs::read_to_string(package.folder.join(file)).with_context(|| format!("{} has no {file}", key.name))?;
            let find = |version: &Version| {
                version.find(&text).with_context(|| format!("no version of {name} in {file} of {}", key.name))
            };
            let version = version.as_ref().map(find).transpose()?;
            Ok(Some(Vendored { name, version, licence, home }))
        }
        None if key.name.starts_with("tree-sitter-") => Ok(None),
        None => bail!("{} asks for a C compiler: say in {} whose code it compiles", key.name, file!()),
    }
}

impl Version {
    fn find(&self, text: &str) -> Option<String> {
        let first = |pattern: &str| Some(Regex::new(pattern).ok()?.captures(text)?[1].to_owned());
        match self {
            Self::Parts(patterns) => {
                Some(patterns.iter().map(|pattern| first(pattern)).collect::<Option<Vec<_>>>()?.join("."))
            }
            Self::Packed(pattern) => {
                let number: u32 = first(pattern)?.parse().ok()?;
                Some(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
            }
        }
    }
}

/// The built-in model and what it was made from.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    /// SHA-256 of the table.
    pub(crate) table: String,
    /// SHA-256 of the list of packages that it was trained on.
    pub(crate) list: String,
    /// How many packages declare which licence, most first.
    pub(crate) licences: Vec<(String, usize)>,
}

/// Reads the model's card, its table and the list of its training packages.
pub(crate) fn model() -> Result<Model> {
    let read = |path: &str| fs::read(root().join(path)).with_context(|| format!("cannot read {path}"));
    let card = String::from_utf8(read("crates/lore-embed/model/MODEL_CARD.md")?)?;
    let name =
        card.lines().next().and_then(|line| line.strip_prefix("# ")).context("the model's card has no heading")?;
    let list = read("tools/model/packages.jsonl")?;
    Ok(Model {
        name: name.to_owned(),
        table: sha256(&read("crates/lore-embed/model/static.bin")?),
        licences: licences_of(std::str::from_utf8(&list)?)?,
        list: sha256(&list),
    })
}

fn licences_of(list: &str) -> Result<Vec<(String, usize)>> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for line in list.lines() {
        let package: serde_json::Value = serde_json::from_str(line).context("a training package is an object")?;
        let licence =
            package["licence"].as_str().with_context(|| format!("{} declares no licence", package["name"]))?;
        *counts.entry(licence.to_owned()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(counts)
}

/// A library that the compiler or the system adds to a static program.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub(crate) name: &'static str,
    pub(crate) version: Option<String>,
    pub(crate) licence: &'static str,
    pub(crate) home: &'static str,
}

/// What is linked without being in any manifest, on this machine.
pub(crate) fn runtimes(target: &str) -> Result<Vec<Runtime>> {
    let rustc = output(program("rustc").arg("--version"))?;
    let rust = rustc.split_whitespace().nth(1).context("rustc did not tell its version")?;
    let std = Runtime {
        name: "rust-std",
        version: Some(rust.to_owned()),
        licence: "MIT OR Apache-2.0",
        home: "https://github.com/rust-lang/rust",
    };
    if target.ends_with("-musl") {
        // It comes with the Rust target, which does not tell its version.
        let musl = Runtime { name: "musl", version: None, licence: "MIT", home: "https://musl.libc.org" };
        return Ok(vec![std, musl]);
    }
    let libc = output(program("getconf").arg("GNU_LIBC_VERSION"))?;
    let glibc = libc.strip_prefix("glibc ").context("this system's C library is not the GNU one")?;
    let gcc = output(program("gcc").arg("-dumpfullversion"))?;
    Ok(vec![
        std,
        Runtime {
            name: "glibc",
            version: Some(glibc.to_owned()),
            licence: "LGPL-2.1-or-later",
            home: "https://sourceware.org/glibc",
        },
        Runtime {
            name: "libgcc",
            version: Some(gcc),
            licence: "GPL-3.0-or-later WITH GCC-exception-3.1",
            home: "https://gcc.gnu.org",
        },
    ])
}

/// The licence of a C library that is linked in and wants its text beside the program.
pub(crate) fn text_for_libc(target: &str) -> Result<Option<String>> {
    const PLACES: [&str; 3] = [
        "/usr/share/common-licenses/LGPL-2.1",
        "/usr/share/licenses/glibc/COPYING.LIB",
        "/usr/share/licenses/spdx/LGPL-2.1-or-later.txt",
    ];
    if target.ends_with("-musl") {
        return Ok(None);
    }
    let text = PLACES.iter().find_map(|place| fs::read_to_string(Path::new(place)).ok());
    text.map(Some).with_context(|| format!("the licence of the C library is not in {}", PLACES.join(" or ")))
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// Fails for a linked package whose C code nobody has looked into.
pub(crate) fn check(graph: &Graph) -> Vec<String> {
    graph.linked().filter_map(|(key, package)| vendored(key, package).err()).map(|error| format!("{error:#}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::graph::tests::sample;

    #[test]
    fn c_code_that_nobody_looked_into_is_told() {
        let problems = check(&sample());
        assert!(problems.len() == 1 && problems[0].starts_with("z-sys asks for a C compiler"), "{problems:?}");
    }

    #[test]
    fn versions_are_read_from_the_code() {
        let parts = Version::Parts(&[r"MAJOR\s+(\d+)", r"MINOR\s+(\d+)"]);
        assert_eq!(parts.find("#define MAJOR 1\n#define MINOR   5\n").as_deref(), Some("1.5"));
        assert_eq!(parts.find("#define MAJOR 1\n"), None);
        assert_eq!(Version::Packed(r"V (\d+)").find("V 30302 // text").as_deref(), Some("3.3.2"));
    }

    #[test]
    fn licences_of_training_packages_are_counted_and_none_may_lack() {
        let list = "{\"name\":\"a\",\"licence\":\"ISC\"}\n{\"name\":\"b\",\"licence\":\"MIT\"}\n{\"name\":\"c\",\"licence\":\"MIT\"}\n";
        assert_eq!(licences_of(list).unwrap(), [("MIT".to_owned(), 2), ("ISC".to_owned(), 1)]);
        assert!(licences_of("{\"name\":\"a\"}").is_err());
    }
}
