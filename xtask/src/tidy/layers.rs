//! Who may depend on whom, and which crate alone may name a heavy dependency.

use serde_json::Value;

/// One crate's place in the layers.
struct Row {
    name: &'static str,
    /// Crates of ours that it may use.
    may_use: &'static [&'static str],
    /// Crates of ours that its tests may use besides.
    tests_may_use: &'static [&'static str],
    /// What it must not know, and why.
    reason: &'static str,
}

/// The layers, lowest first. A new edge is a new word here, with its reason in the commit.
const LAYERS: &[Row] = &[
    Row {
        name: "lore-model",
        may_use: &[],
        tests_may_use: &[],
        reason: "it must not know anything that can fail at run time: everyone depends on it",
    },
    Row { name: "lore-git", may_use: &["lore-model"], tests_may_use: &[], reason: APART },
    Row { name: "lore-chunk", may_use: &["lore-model"], tests_may_use: &[], reason: APART },
    Row { name: "lore-embed", may_use: &["lore-model"], tests_may_use: &[], reason: APART },
    Row { name: "lore-store", may_use: &["lore-model"], tests_may_use: &[], reason: APART },
    Row {
        name: "lore-commands",
        may_use: &["lore-model"],
        tests_may_use: &["lore-testkit"],
        reason: "prompt commands are files of the team: they must not know the index",
    },
    Row {
        name: "lore-messages",
        may_use: &["lore-model", "lore-git", "lore-chunk", "lore-store"],
        tests_may_use: &["lore-store-embedded"],
        reason: "review comments must work without an index",
    },
    Row {
        name: "lore-core",
        may_use: &["lore-model", "lore-git", "lore-chunk", "lore-embed", "lore-store", "lore-messages"],
        tests_may_use: &["lore-store-embedded", "lore-testkit"],
        reason: "it must not know SQL, HTTP, MCP, clap, environment or home directory: it serves a CLI, a server and tests alike",
    },
    Row {
        name: "lore-team",
        may_use: &["lore-model", "lore-git", "lore-store", "lore-core"],
        tests_may_use: &["lore-embed", "lore-messages", "lore-store-embedded", "lore-testkit"],
        reason: "it must not know HTTP, MCP, SQL, environment or home directory",
    },
    Row {
        name: "lore-segments",
        may_use: &["lore-model", "lore-store"],
        tests_may_use: &[],
        reason: "segment files are read and searched without SQL, by every backend",
    },
    Row {
        name: "lore-store-embedded",
        may_use: &["lore-model", "lore-store", "lore-segments"],
        tests_may_use: &[],
        reason: BACKEND,
    },
    Row { name: "lore-store-postgres", may_use: &["lore-model", "lore-store"], tests_may_use: &[], reason: BACKEND },
    Row {
        name: "lore-tools",
        may_use: &["lore-model", "lore-commands", "lore-messages", "lore-core", "lore-team"],
        tests_may_use: &["lore-git", "lore-store", "lore-store-embedded", "lore-testkit"],
        reason: "it must not know transports: a tool behaves the same over stdio, HTTP and in a test",
    },
    Row {
        name: "lore-mcp",
        may_use: &["lore-model", "lore-tools"],
        tests_may_use: &["lore-git", "lore-store", "lore-store-embedded", "lore-testkit"],
        reason: "it must not know sockets and storage",
    },
    Row {
        name: "lore-server",
        may_use: &["lore-model", "lore-store", "lore-core", "lore-team", "lore-tools", "lore-mcp"],
        tests_may_use: &["lore-messages", "lore-git", "lore-embed", "lore-store-embedded", "lore-testkit"],
        reason: "it must not know which backend it runs on",
    },
    Row {
        name: "lore-remote",
        may_use: &["lore-model"],
        tests_may_use: &["lore-testkit"],
        reason: "it must not know storage and core: it is a client",
    },
    Row {
        name: "lore",
        may_use: &[
            "lore-model",
            "lore-git",
            "lore-embed",
            "lore-store",
            "lore-store-embedded",
            "lore-store-postgres",
            "lore-commands",
            "lore-messages",
            "lore-core",
            "lore-team",
            "lore-tools",
            "lore-mcp",
            "lore-server",
            "lore-remote",
        ],
        tests_may_use: &["lore-testkit"],
        reason: "the program is built without anything that is made for tests",
    },
    Row {
        name: "lore-dev",
        may_use: &["lore", "lore-model", "lore-chunk", "lore-embed", "lore-store", "lore-core", "lore-tools"],
        tests_may_use: &["lore-testkit"],
        reason: "it opens what the program opens, and only xtask runs it",
    },
    Row {
        name: "lore-fuzz",
        may_use: &[
            "lore-model",
            "lore-git",
            "lore-chunk",
            "lore-store",
            "lore-store-embedded",
            "lore-commands",
            "lore-messages",
            "lore-core",
            "lore-team",
            "lore-mcp",
            "lore-server",
            "lore-remote",
        ],
        tests_may_use: &[],
        reason: "it knows every parser, and nothing uses it but fuzzers and its own tests",
    },
    Row {
        name: "lore-testkit",
        may_use: &["lore-model", "lore-git", "lore-store", "lore-store-embedded"],
        tests_may_use: &[],
        reason: "the tests of the crates above use it",
    },
    Row {
        name: "xtask",
        may_use: &["lore-testkit"],
        tests_may_use: &[],
        reason: "it drives the program from outside, and must build while a crate does not",
    },
];

const APART: &str =
    "git, chunk, embed and store must not know each other: heavy dependency trees that build and are tested apart";
const BACKEND: &str = "a backend must not know core or another backend: it is replaceable only if it implements a contract and nothing more";

/// Heavy dependencies, each with the crates that may name it.
const FENCES: &[(&str, &[&str])] = &[
    ("gix", &["lore-git"]),
    ("tree-sitter", &["lore-chunk"]),
    ("rusqlite", &["lore-store-embedded", "lore-testkit"]),
    ("memmap2", &["lore-segments"]),
    ("tantivy", &["lore-store-embedded"]),
    ("tokio-postgres", &["lore-store-postgres"]),
    ("sqlx", &["lore-store-postgres"]),
    ("rmcp", &["lore-mcp"]),
    ("axum", &["lore-server"]),
    ("reqwest", &["lore-remote", "lore-embed"]),
    ("ureq", &["lore-embed", "lore-remote"]),
    ("ndarray", &["lore-embed"]),
    ("clap", &["lore", "lore-dev", "xtask"]),
    ("figment", &["lore"]),
    ("tiktoken-rs", &["xtask"]),
    ("anyhow", &["xtask", "lore-testkit"]),
];

/// Edges that the tables do not have.
pub(super) fn check(packages: &[Value]) -> Vec<String> {
    let ours: Vec<&Value> = packages.iter().filter(|package| package["source"].is_null()).collect();
    let is_ours = |name: &str| ours.iter().any(|package| package["name"] == name);
    let mut problems = Vec::new();
    for package in &ours {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(row) = LAYERS.iter().find(|row| row.name == name) else {
            problems.push(format!("`{name}` is in no layer: give it a row in xtask/src/tidy/layers.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let in_tests = dependency["kind"] == "dev";
            let allowed = row.may_use.contains(&used) || (in_tests && row.tests_may_use.contains(&used));
            if is_ours(used) && !allowed {
                problems.push(format!(
                    "`{name}` uses `{used}`: {}. If that is to change, add the edge in xtask/src/tidy/layers.rs and give the reason in the commit",
                    row.reason
                ));
            }
            let fence = FENCES.iter().find(|(fenced, _)| *fenced == used);
            if let Some((_, insiders)) = fence.filter(|(_, insiders)| !in_tests && !insiders.contains(&name)) {
                problems.push(format!("`{name}` names `{used}`, which only {} may", insiders.join(", ")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_edges(edges: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let mut packages: Vec<Value> = Vec::new();
        for (from, to, kind) in edges {
            packages.push(json!({"name": from, "source": null, "dependencies": [{"name": to, "kind": kind}]}));
            if to.starts_with("lore") {
                packages.push(json!({"name": to, "source": null, "dependencies": []}));
            }
        }
        check(&packages)
    }

    #[test]
    fn edges_of_the_table_are_in_order() {
        let edges =
            [("lore-core", "lore-git", None), ("lore-core", "lore-testkit", Some("dev")), ("lore-git", "gix", None)];
        assert_eq!(check_edges(&edges), [""; 0]);
    }

    #[test]
    fn a_new_edge_is_told_with_its_reason() {
        let problems = check_edges(&[("lore-core", "lore-store-embedded", None)]);
        assert!(problems.len() == 1 && problems[0].contains("must not know SQL"), "{problems:?}");
        assert_eq!(check_edges(&[("lore-tools", "lore-mcp", Some("dev"))]).len(), 1, "tests have their own column");
        assert_eq!(
            check_edges(&[("lore-core", "lore-testkit", None)]).len(),
            1,
            "what tests may use, the crate may not"
        );
    }

    #[test]
    fn a_crate_without_a_row_is_told() {
        assert_eq!(check_edges(&[("lore-extra", "serde", None)]).len(), 1);
    }

    #[test]
    fn heavy_dependencies_stay_behind_their_fence() {
        assert_eq!(
            check_edges(&[("lore-tools", "rusqlite", None)]),
            ["`lore-tools` names `rusqlite`, which only lore-store-embedded, lore-testkit may"]
        );
        assert_eq!(check_edges(&[("lore-tools", "rusqlite", Some("dev"))]), [""; 0]);
    }

    #[test]
    fn rows_name_only_crates_that_have_rows() {
        for row in LAYERS {
            for name in row.may_use.iter().chain(row.tests_may_use) {
                assert!(LAYERS.iter().any(|row| row.name == *name), "{} -> {name}", row.name);
            }
        }
    }
}
