//! Repositories of any size that look like code and are the same on every machine.

use std::{fmt::Write as _, path::Path};

use crate::{Random, Repo};

const VERBS: [&str; 40] = [
    "parse", "read", "write", "merge", "split", "fetch", "store", "load", "index", "search", "rank", "score", "open",
    "close", "encode", "decode", "lock", "release", "retry", "cancel", "watch", "notify", "count", "collect",
    "compare", "resolve", "validate", "render", "schedule", "refresh", "compact", "verify", "insert", "remove",
    "rotate", "flush", "drain", "probe", "attach", "measure",
];
const NOUNS: [&str; 72] = [
    "token", "session", "commit", "branch", "segment", "vector", "query", "result", "cache", "buffer", "header",
    "request", "answer", "user", "role", "job", "queue", "timer", "path", "file", "folder", "line", "symbol", "scope",
    "graph", "node", "edge", "table", "column", "cursor", "page", "record", "schema", "field", "packet", "socket",
    "stream", "frame", "digest", "cipher", "key", "secret", "policy", "limit", "quota", "window", "bucket", "metric",
    "sample", "trace", "span", "config", "option", "flag", "version", "release", "patch", "diff", "blob", "tree",
    "tag", "remote", "mirror", "shard", "replica", "leader", "ballot", "ledger", "invoice", "account", "payment",
    "order",
];

/// How large a repository is made.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Lines of code, roughly.
    pub lines: usize,
    /// Commits on the main branch.
    pub commits: usize,
    /// Further branches, `topic-0` and so on, each with a commit of its own.
    pub branches: usize,
}

/// A repository that was made.
#[derive(Debug)]
pub struct Corpus {
    /// Where it is.
    pub repo: Repo,
    /// Its branches beside `main`.
    pub branches: Vec<String>,
}

impl Corpus {
    /// Makes one; the same seed and size give the same objects.
    pub fn make(path: &Path, seed: u64, size: Size) -> Self {
        let mut random = Random::new(seed);
        let repo = Repo::init(path);
        let (mut written, mut number) = (0, 0);
        for commit in 1..=size.commits.max(1) {
            while written < size.lines * commit / size.commits.max(1) {
                let (name, text) = file(number, &mut random);
                written += text.lines().count();
                number += 1;
                repo.write(name, text);
            }
            repo.commit(&subject(&mut random));
        }
        let mut branches = Vec::new();
        for number in 0..size.branches {
            let name = format!("topic-{number}");
            repo.git(&["checkout", "--quiet", "-b", &name, "main"]);
            repo.write(format!("src/topic_{number}.rs"), file(0, &mut random).1);
            repo.commit(&subject(&mut random));
            branches.push(name);
        }
        repo.git(&["checkout", "--quiet", "main"]);
        Self { repo, branches }
    }
}

/// So many files are added before they are written anew.
const ADDED: usize = 32;

/// Adds a commit that changes one file and adds another, or writes anew what an earlier one added: however many commits
/// there are, the code does not grow, so that memory which does cannot be excused by it.
pub(super) fn add_commit(repo: &Repo, number: usize, random: &mut Random) {
    repo.write("src/changing.rs", file(number, random).1);
    repo.write(format!("src/added/file_{}.rs", number % ADDED), file(number, random).1);
    repo.commit(&subject(random));
}

fn subject(random: &mut Random) -> String {
    let (verb, noun, other) = (random.pick(&VERBS), random.pick(&NOUNS), random.pick(&NOUNS));
    format!("{}{} the {noun} of each {other}", verb[..1].to_uppercase(), &verb[1..])
}

/// A file of some two hundred lines.
fn file(number: usize, random: &mut Random) -> (String, String) {
    let (area, noun) = (random.pick(&NOUNS), random.pick(&NOUNS));
    let mut text = format!("//! The {noun} of each {area}.\n\nuse crate::{area}::{noun};\n");
    for _ in 0..14 {
        let name =
            |random: &mut Random| format!("{}_{}_{}", random.pick(&VERBS), random.pick(&NOUNS), random.pick(&NOUNS));
        let (function, called, other) = (name(random), name(random), name(random));
        let (first, second, verb) = (random.pick(&NOUNS), random.pick(&NOUNS), random.pick(&VERBS));
        let most = random.below(10_000);
        write!(
            text,
            "\n/// Here we {verb} each {first} before the {second} is gone.\npub fn {function}({first}: &str, limit: usize) -> Option<String> {{\n    \
             let {second}_count = {first}.len().min(limit + {most});\n    if {second}_count == 0 {{\n        return None;\n    }}\n    \
             let found = {called}({first}, {second}_count);\n    for step in 0..{second}_count {{\n        if {other}(step) > {most} {{\n            \
             return Some(format!(\"{verb} {{step}}\"));\n        }}\n    }}\n    found.map(|{first}| {first}.to_string())\n}}\n",
        )
        .expect("writing to a string cannot fail");
    }
    (format!("src/{area}/{noun}_{number}.rs"), text)
}
