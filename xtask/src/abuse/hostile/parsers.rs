//! Files that break parsers, in every language, and expressions that explode: nothing ends the process or takes for ever.

use std::time::Duration;

use anyhow::Result;
use lore_testkit::Repo;
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, seconds},
};

/// One file name for each language that is cut by its syntax, and for those that are not.
const FILES: &[&str] = &[
    "a.rs",
    "a.py",
    "a.js",
    "a.ts",
    "a.tsx",
    "a.jsx",
    "a.go",
    "a.java",
    "a.c",
    "a.h",
    "a.cpp",
    "a.cs",
    "a.rb",
    "a.php",
    "a.kt",
    "a.swift",
    "a.scala",
    "a.lua",
    "a.sh",
    "a.sql",
    "a.html",
    "a.css",
    "a.scss",
    "a.json",
    "a.yaml",
    "a.toml",
    "a.xml",
    "a.md",
    "a.rst",
    "a.adoc",
    "a.vue",
    "a.svelte",
    "a.proto",
    "a.tf",
    "a.hs",
    "a.ex",
    "a.zig",
    "a.dart",
    "a.jl",
    "a.ml",
    "a.pl",
    "a.r",
    "Makefile",
    "Dockerfile",
    "CMakeLists.txt",
    "a.graphql",
    "a.ps1",
    "a.txt",
];

/// What opens and closes something somewhere.
const NESTING: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<", ">"),
    ("<a>", "</a>"),
    ("a(", ")"),
    ("a{\n", "}\n"),
    ("if x:\n ", ""),
    ("- ", ""),
    ("> ", ""),
    ("* ", ""),
    ("#if A\n", "#endif\n"),
    ("/*", "*/"),
    ("\"", "\""),
    ("${", "}"),
    ("begin\n", "end\n"),
    ("a.", "b"),
    ("!", "x"),
    ("a?b:", "c"),
    ("fn a() {\n", "}\n"),
    ("class A {\n", "}\n"),
    ("def a():\n\t", "pass"),
    ("template<", ">"),
    ("a=>", "b"),
    ("\\", ""),
    ("`", "`"),
    ("'''", "'''"),
    ("<!--", "-->"),
    ("|", "|"),
    ("#", ""),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(1_500_000_000);
    let repo = Repo::init(trial.path("parsers"));
    let mut files = 0;
    for (number, (open, close)) in NESTING.iter().enumerate() {
        // About 20 KB of each, balanced, unbalanced and the wrong way round.
        let times = 20_000 / open.len();
        let texts = [
            [open.repeat(times), close.repeat(times)].concat(),
            open.repeat(times),
            [close.repeat(times), open.repeat(times)].concat(),
        ];
        for (kind, text) in texts.iter().enumerate() {
            for name in FILES {
                repo.write(format!("n{number}/k{kind}/{name}"), text);
                files += 1;
            }
        }
    }
    for name in FILES {
        repo.write(format!("token/{name}"), "x".repeat(500_000));
        repo.write(format!("string/{name}"), format!("a = \"{}\"\n", "y".repeat(500_000)));
        repo.write(format!("deep/{name}"), "{[(".repeat(60_000));
        repo.write(format!("many/{name}"), "a b c\n".repeat(40_000));
        repo.write(format!("bytes/{name}"), (0..=255_u8).filter(|byte| *byte != 0).collect::<Vec<u8>>().repeat(400));
        repo.write(format!("ok/{name}"), "pub fn found_beside_broken_files() {}\n");
        files += 6;
    }
    repo.commit("Break parsers");
    let path = repo.path().to_string_lossy().into_owned();
    let added = trial.ok(&["add", &path, "--name", "parsers"])?;
    trial.tell(format!("{files} files in {}", seconds(added.cost.wall)));
    let found = trial.json(&["search", "found_beside_broken_files", "--repo", "parsers"])?;
    trial.check(found["results"].as_array().is_some_and(|found| !found.is_empty()), || "nothing is found".to_owned());
    let said = trial.run(&["status", "--left-out"])?;
    trial.check(!said.stdout.is_empty(), || "status says nothing".to_owned());
    expressions(&mut trial)?;
    Ok(trial.end())
}

/// Regular expressions that take others for ever, and globs.
fn expressions(trial: &mut Trial) -> Result<()> {
    let mut longest = Duration::ZERO;
    let expressions = [
        "(a+)+$".to_owned(),
        "(a|aa)+$".to_owned(),
        "(.*)*x".to_owned(),
        "((a{1,100}){1,100}){1,100}".to_owned(),
        "(?:x+x+)+y".to_owned(),
        "a{1000000}".to_owned(),
        "[\\p{L}\\p{N}]{1,500}[\\p{L}\\p{N}]{1,500}".to_owned(),
        "(".repeat(5000),
        "(".repeat(250) + "a" + &")".repeat(250),
        "a|".repeat(4000) + "b",
        "\\b\\w{1,200}\\b\\w{1,200}\\b".to_owned(),
        "(?i)".to_owned() + &"[a-z]*".repeat(200),
        "^(([a-z])+.)+[A-Z]([a-z])+$".to_owned(),
        ".{0,5000}x.{0,5000}".to_owned(),
        "(?s).*.*.*.*.*.*z".to_owned(),
        "x".repeat(1_000_000),
    ];
    let project = trial.path("parsers");
    let mut session = trial.serve(&project, &["--no-refresh", "--toolsets", "code,context"])?;
    for expression in &expressions {
        for arguments in [
            json!({"query_text": expression, "search_mode": "fts", "regex": true}),
            json!({"query_text": expression, "search_mode": "fts", "fuzzy": true, "edit_distance": 3}),
            json!({"query_text": "found", "path_filter": expression}),
            json!({"query_text": "found", "exclude_path": format!("**/{{{expression},x}}/**")}),
        ] {
            let started = std::time::Instant::now();
            trial.call(&mut session, "search_code", &arguments)?;
            longest = longest.max(started.elapsed());
        }
    }
    trial.check(longest < Duration::from_mins(1), || format!("an expression took {}", seconds(longest)));
    trial.tell(format!("{} expressions, the slowest answer {}", expressions.len(), seconds(longest)));
    for expression in expressions.iter().filter(|expression| expression.len() < 100_000) {
        trial.run(&["search", "--no-sync", "--regex", "--repo", "parsers", "--", expression])?;
    }
    let ended = session.end()?;
    trial.check(ended.status.success(), || format!("the server ended with {}: {}", ended.status, ended.log));
    Ok(())
}
