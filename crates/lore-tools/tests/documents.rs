//! The arguments of the contract tools, as the documents of the five systems list them: names, types, which are required,
//! defaults, ranges and options.

use std::collections::BTreeMap;

use lore_tools::{Toolset, server_tools};
use serde_json::{Value, json};

/// An argument as a document has it.
struct Argument {
    name: &'static str,
    kind: &'static str,
    required: bool,
    default: Value,
    minimum: Value,
    maximum: Value,
    options: Value,
}

fn optional(name: &'static str, kind: &'static str) -> Argument {
    let none = || Value::Null;
    Argument { name, kind, required: false, default: none(), minimum: none(), maximum: none(), options: none() }
}

fn required(name: &'static str, kind: &'static str) -> Argument {
    Argument { required: true, ..optional(name, kind) }
}

impl Argument {
    fn default(self, default: impl Into<Value>) -> Self {
        Self { default: default.into(), ..self }
    }

    fn from(self, minimum: impl Into<Value>) -> Self {
        Self { minimum: minimum.into(), ..self }
    }

    fn to(self, maximum: impl Into<Value>) -> Self {
        Self { maximum: maximum.into(), ..self }
    }

    fn one_of(self, options: &[&str]) -> Self {
        Self { options: json!(options), ..self }
    }
}

/// The tables of the documents. `history` has its limits' defaults in descriptions: its schemas are told as they are there.
#[expect(clippy::too_many_lines, reason = "a table")]
fn documents() -> Vec<(&'static str, Vec<Argument>)> {
    let list = "array of string";
    vec![
        (
            "commitmux_search",
            vec![
                required("query", "string"),
                optional("since", "integer"),
                optional("repos", list),
                optional("paths", list),
                optional("limit", "integer"),
            ],
        ),
        (
            "commitmux_touches",
            vec![
                required("path_glob", "string"),
                optional("since", "integer"),
                optional("repos", list),
                optional("limit", "integer"),
            ],
        ),
        ("commitmux_get_commit", vec![required("repo", "string"), required("sha", "string")]),
        (
            "commitmux_get_patch",
            vec![required("repo", "string"), required("sha", "string"), optional("max_bytes", "integer")],
        ),
        (
            "cortex_search",
            vec![
                required("query", "string"),
                optional("limit", "integer").default(15).from(1).to(100),
                optional("tags", list),
                optional("chunk_types", list),
            ],
        ),
        ("search", vec![required("query", "string"), optional("agent", "string").default("climpt")]),
        (
            "describe",
            vec![
                optional("agent", "string").default("climpt"),
                required("c1", "string"),
                required("c2", "string"),
                required("c3", "string"),
            ],
        ),
        (
            "execute",
            vec![
                required("agent", "string"),
                required("c1", "string"),
                required("c2", "string"),
                required("c3", "string"),
                optional("options", "object").default(json!({})),
            ],
        ),
        ("reload", vec![optional("agent", "string").default("climpt")]),
        (
            "search_code",
            vec![
                required("query_text", "string"),
                optional("repository_alias", "string"),
                optional("limit", "integer").default(10).from(1).to(100),
                optional("min_score", "number").default(0.5).from(0).to(1),
                optional("search_mode", "string").default("semantic").one_of(&["semantic", "fts", "hybrid"]),
                optional("language", "string"),
                optional("exclude_language", "string"),
                optional("path_filter", "string"),
                optional("exclude_path", "string"),
                optional("file_extensions", list),
                optional("accuracy", "string").default("balanced").one_of(&["fast", "balanced", "high"]),
                optional("time_range", "string"),
                optional("time_range_all", "boolean").default(false),
                optional("at_commit", "string"),
                optional("include_removed", "boolean").default(false),
                optional("show_evolution", "boolean").default(false),
                optional("evolution_limit", "integer").from(1),
                optional("case_sensitive", "boolean").default(false),
                optional("fuzzy", "boolean").default(false),
                optional("edit_distance", "integer").default(0).from(0).to(3),
                optional("snippet_lines", "integer").default(5).from(0).to(50),
                optional("regex", "boolean").default(false),
                // Several of its options may be named, with commas between them.
                optional("diff_type", "string"),
                optional("author", "string"),
                optional("chunk_type", "string").one_of(&["commit_message", "commit_diff"]),
            ],
        ),
        ("discover_repositories", vec![optional("source_type", "string")]),
        ("list_repositories", vec![]),
        (
            "activate_repository",
            vec![
                optional("golden_repo_alias", "string"),
                optional("golden_repo_aliases", list),
                optional("branch_name", "string"),
                optional("user_alias", "string"),
            ],
        ),
        ("deactivate_repository", vec![required("user_alias", "string")]),
        ("get_repository_status", vec![required("user_alias", "string")]),
        ("sync_repository", vec![required("user_alias", "string")]),
        ("switch_branch", vec![required("user_alias", "string"), required("branch_name", "string")]),
        ("list_files", vec![required("repository_alias", "string"), optional("path", "string")]),
        ("get_file_content", vec![required("repository_alias", "string"), required("file_path", "string")]),
        (
            "browse_directory",
            vec![
                required("repository_alias", "string"),
                optional("path", "string"),
                optional("recursive", "boolean").default(true),
            ],
        ),
        ("get_branches", vec![required("repository_alias", "string")]),
        ("check_health", vec![]),
        ("add_golden_repo", vec![required("url", "string"), required("alias", "string"), optional("branch", "string")]),
        ("remove_golden_repo", vec![required("alias", "string")]),
        ("refresh_golden_repo", vec![required("alias", "string")]),
        ("list_users", vec![]),
        (
            "create_user",
            vec![
                required("username", "string"),
                required("password", "string"),
                required("role", "string").one_of(&["admin", "power_user", "normal_user"]),
            ],
        ),
        ("get_repository_statistics", vec![required("repository_alias", "string")]),
        ("get_job_statistics", vec![]),
        ("get_all_repositories_status", vec![]),
        (
            "manage_composite_repository",
            vec![
                required("operation", "string").one_of(&["create", "update", "delete"]),
                required("user_alias", "string"),
                optional("golden_repo_aliases", list),
            ],
        ),
        ("check_lazygit_messages", vec![]),
    ]
}

/// Arguments that the documents do not have. None of them is required, and none changes what a call without it does.
const MORE: [(&str, &[&str]); 6] = [
    ("cortex_search", &["full", "max_tokens", "repo", "path"]),
    ("get_file_content", &["offset", "limit"]),
    ("add_golden_repo", &["enable_temporal", "refresh_every"]),
    ("remove_golden_repo", &["force"]),
    ("get_job_details", &["job_id", "wait_seconds"]),
    ("cancel_job", &["job_id"]),
];

/// What is required in a document and optional here: without it the project is meant, or the only repository that there is.
fn may_be_left_out(tool: &str, argument: &Argument) -> bool {
    argument.name == "repository_alias" || tool == "get_repository_status"
}

fn schemas() -> BTreeMap<&'static str, Value> {
    let tools = server_tools(&Toolset::ALL).into_iter();
    tools.map(|tool| (tool.name, Value::Object((*(tool.input)()).clone()))).collect()
}

fn kind(property: &Value) -> String {
    let kind = property["type"].as_str().unwrap_or("nothing");
    property["items"]["type"].as_str().map_or_else(|| kind.to_owned(), |item| format!("{kind} of {item}"))
}

#[test]
fn every_argument_is_told_as_its_document_has_it() {
    let schemas = schemas();
    let mut wrong = Vec::new();
    for (tool, arguments) in documents() {
        let Some(schema) = schemas.get(tool) else {
            wrong.push(format!("{tool} is not there"));
            continue;
        };
        for argument in &arguments {
            let property = &schema["properties"][argument.name];
            let name = format!("{tool}.{}", argument.name);
            let mut check = |what: &str, found: Value, expected: Value| {
                // 1 and 1.0 are one number.
                let is_same = found == expected
                    || found.as_f64().zip(expected.as_f64()).is_some_and(|(a, b)| (a - b).abs() < 1e-9);
                if !is_same {
                    wrong.push(format!("{name}: {what} is {found}, not {expected}"));
                }
            };
            check("type", kind(property).into(), argument.kind.into());
            check("default", property["default"].clone(), argument.default.clone());
            check("minimum", property["minimum"].clone(), argument.minimum.clone());
            check("maximum", property["maximum"].clone(), argument.maximum.clone());
            check("enum", property["enum"].clone(), argument.options.clone());
            let is_required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(argument.name)));
            if !may_be_left_out(tool, argument) {
                check("required", is_required.into(), argument.required.into());
            }
        }
        let known = |name: &str| {
            let more = MORE.iter().find(|(of, _)| *of == tool).map_or(&[][..], |(_, more)| more);
            arguments.iter().any(|argument| argument.name == name) || more.contains(&name)
        };
        for name in schema["properties"].as_object().expect("an object").keys().filter(|name| !known(name)) {
            wrong.push(format!("{tool}.{name} is in no document"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A number that has bounds says so where a program reads it, and what is out of them is taken for the nearest.
#[test]
fn every_number_has_its_bounds_in_the_schema() {
    // Times have none. What is negative as a number of bytes or tokens is refused: it may mean that there is no bound. The
    // limits of `history` are as its document has them, which puts them in words.
    let without = [
        "commitmux_search.since",
        "commitmux_search.limit",
        "commitmux_touches.since",
        "commitmux_touches.limit",
        "commitmux_get_patch.max_bytes",
        "cortex_search.max_tokens",
        "explain_lines.max_tokens",
        "was_tried.max_tokens",
    ];
    for (tool, schema) in schemas() {
        for (name, property) in schema["properties"].as_object().expect("an object") {
            let name = format!("{tool}.{name}");
            if !["integer", "number"].contains(&property["type"].as_str().unwrap_or_default()) {
                continue;
            }
            assert_eq!(property["minimum"].is_number(), !without.contains(&name.as_str()), "{name}: {property}");
            let about = property["description"].as_str().expect("a description");
            for bound in ["default", "maximum"].map(|key| &property[key]).into_iter().filter(|bound| !bound.is_null()) {
                assert!(about.contains(&bound.to_string()), "{name}: {bound} is not in `{about}`");
            }
        }
    }
}
