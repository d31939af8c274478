//! Licences of dependencies, from what their manifests declare.

use serde_json::Value;

/// Licences that a dependency may have.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages whose licence is not one of the list.
pub(crate) fn check(packages: &[Value]) -> Vec<String> {
    let unfit = packages.iter().filter(|package| !package["license"].as_str().is_some_and(is_allowed));
    unfit
        .map(|package| {
            let (name, version) = (package["name"].as_str().unwrap_or("?"), package["version"].as_str().unwrap_or("?"));
            let licence = package["license"].as_str().unwrap_or("(none declared)");
            format!(
                "{name} {version} has the licence {licence}, which is not on the list in xtask/src/supply/licence.rs"
            )
        })
        .collect()
}

/// Reads an SPDX expression: `OR` binds weaker than `AND`; a slash is an old way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = spdx(expression).replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words };
    parser.any() == Some(true) && parser.words.is_empty()
}

/// The expression as SPDX writes it today.
pub(crate) fn spdx(expression: &str) -> String {
    expression.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

struct Parser<'a> {
    words: &'a [&'a str],
}

/// Each gives whether what it read is allowed, and nothing where it cannot be read: half an expression allows nothing.
impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.take("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let allowed = self.any()?;
            return self.take(")").then_some(allowed);
        }
        let name = self.name()?;
        // "Or any later version" gives a choice more.
        let name = name.strip_suffix('+').unwrap_or(name);
        let exception = if self.take("WITH") { Some(self.name()?) } else { None };
        // An exception only adds to what the licence grants.
        let with = exception.is_some_and(|exception| ALLOWED.contains(&format!("{name} WITH {exception}").as_str()));
        Some(with || ALLOWED.contains(&name))
    }

    fn name(&mut self) -> Option<&'a str> {
        let (name, rest) = self.words.split_first()?;
        self.words = rest;
        (!["(", ")", "AND", "OR", "WITH"].contains(name)).then_some(name)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_read_as_spdx_has_them() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("Apache-2.0 / MIT", true),
            ("GPL-3.0/LGPL-2.1", false),
            ("Apache-2.0+", true),
            ("LGPL-2.1+", false),
            ("MIT OR", false),
            ("MIT OR (", false),
            ("MIT OR OR", false),
            ("MIT OR ) GPL-3.0", false),
            ("MIT AND", false),
            ("MIT WITH", false),
            ("MIT) OR (MIT", false),
            ("mit", false),
            ("LicenseRef-Ours OR MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(MIT OR GPL-3.0) AND GPL-2.0", false),
            ("MIT AND (GPL-3.0 OR Zlib) AND ISC", true),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
            ("GPL-2.0 WITH Classpath-exception-2.0", false),
            ("GPL-3.0 OR MIT AND GPL-2.0", false),
            ("(MIT", false),
            ("MIT Apache-2.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }

    #[test]
    fn a_package_without_a_licence_is_told() {
        let packages = [
            json!({"name": "a", "version": "1.0.0", "license": null}),
            json!({"name": "b", "version": "1.0.0", "license": "MIT"}),
        ];
        let problems = check(&packages);
        assert!(
            problems.len() == 1 && problems[0].starts_with("a 1.0.0 has the licence (none declared)"),
            "{problems:?}"
        );
    }
}
