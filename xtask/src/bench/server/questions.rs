//! What users of a team server ask: words, names and paths of the repositories themselves.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, ensure};
use lore_testkit::{Git, Random};
use regex::Regex;
use serde_json::{Value, json};

use crate::bench::latency::Words;

/// Files whose names are taken.
const FILES: usize = 200;

/// The kinds of questions, each with its share of a hundred.
pub(super) const KINDS: [(&str, usize); 7] =
    [("hybrid", 40), ("semantic", 20), ("words", 10), ("regex", 10), ("files", 10), ("history", 5), ("status", 5)];

/// What questions about one repository are made of.
pub(super) struct Material {
    pub(super) alias: String,
    words: Words,
    names: Vec<String>,
    files: Vec<String>,
}

impl Material {
    /// Reads HEAD of a repository, bare or not.
    pub(super) fn of(repo: &Path, alias: &str, random: &mut Random) -> Result<Self> {
        let git = Git::at(repo);
        let listed = String::from_utf8_lossy(&git.bytes(&["ls-tree", "-r", "-z", "--name-only", "HEAD"])?).into_owned();
        let all: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        ensure!(!all.is_empty(), "the repository has no files");
        let files: Vec<String> = (0..FILES).map(|_| (*random.pick(&all)).to_owned()).collect();
        let name = Regex::new("[A-Za-z_][A-Za-z0-9_]{5,40}")?;
        let mut names = BTreeSet::new();
        for file in &files {
            let content = git.bytes(&["show", &format!("HEAD:{file}")]).unwrap_or_default();
            let text = String::from_utf8_lossy(&content[..content.len().min(100_000)]).into_owned();
            names.extend(name.find_iter(&text).map(|found| found.as_str().to_owned()));
        }
        ensure!(!names.is_empty(), "the repository has no names");
        Ok(Self { alias: alias.to_owned(), words: Words::of(repo)?, names: names.into_iter().collect(), files })
    }

    /// A question: the number of its kind, the tool, and its arguments. `alias` is what the user calls the repository; files
    /// are those of the golden one.
    pub(super) fn question(&self, alias: &str, random: &mut Random) -> (usize, &'static str, Value) {
        let mut left = random.below(100);
        let mut kind = 0;
        while left >= KINDS[kind].1 {
            left -= KINDS[kind].1;
            kind += 1;
        }
        let text = if random.below(2) == 0 { self.words.some(random) } else { random.pick(&self.names).clone() };
        let code =
            |mode: &str, query: &str| json!({"query_text": query, "search_mode": mode, "repository_alias": alias});
        let (tool, asked) = match KINDS[kind].0 {
            "semantic" => ("search_code", code("semantic", &text)),
            "words" => ("search_code", code("fts", random.pick(&self.names).as_str())),
            "regex" => {
                let name = random.pick(&self.names);
                let cut = name.len() / 2;
                let mut asked = code("fts", &format!("{}[A-Za-z0-9_]*{}", &name[..cut], &name[cut + 1..]));
                asked["regex"] = json!(true);
                ("search_code", asked)
            }
            "files" => {
                let file = random.pick(&self.files);
                if random.below(2) == 0 {
                    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                    ("list_files", json!({"repository_alias": self.alias, "path": folder}))
                } else {
                    ("get_file_content", json!({"repository_alias": self.alias, "file_path": file, "limit": 200}))
                }
            }
            "history" => ("commitmux_search", json!({"query": self.words.some(random)})),
            "status" => match random.below(3) {
                0 => ("list_repositories", json!({})),
                1 => ("get_all_repositories_status", json!({})),
                _ => ("tools/list", json!({})),
            },
            _ => ("search_code", code("hybrid", &text)),
        };
        (kind, tool, asked)
    }
}
