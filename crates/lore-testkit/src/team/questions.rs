//! What users of a team server ask: words, names and paths of the repositories themselves.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Git, Random, Words};

/// Files whose names are taken.
const FILES: usize = 200;

/// Names have so many letters at least, and no more are taken of longer ones.
const NAMES: (usize, usize) = (6, 41);

/// The kinds of questions, each with its share of a hundred.
pub const KINDS: [(&str, usize); 7] =
    [("hybrid", 40), ("semantic", 20), ("words", 10), ("regex", 10), ("files", 10), ("history", 5), ("status", 5)];

/// What questions about one repository are made of.
#[derive(Debug)]
pub struct Material {
    /// What the golden repository is called.
    pub alias: String,
    /// Its branches.
    pub branches: Vec<String>,
    words: Words,
    names: Vec<String>,
    files: Vec<String>,
}

impl Material {
    /// Reads HEAD of a repository, bare or not.
    pub fn of(repo: &Path, alias: &str, random: &mut Random) -> Result<Self> {
        let git = Git::at(repo);
        let listed = String::from_utf8_lossy(&git.bytes(&["ls-tree", "-r", "-z", "--name-only", "HEAD"])?).into_owned();
        let all: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        ensure!(!all.is_empty(), "the repository has no files");
        let picked: Vec<&str> = (0..FILES).map(|_| *random.pick(&all)).collect();
        let (mut files, mut names) = (Vec::new(), BTreeSet::new());
        for file in picked {
            let content = git.bytes(&["show", &format!("HEAD:{file}")]).unwrap_or_default();
            // `get_file_content` refuses binary files.
            if content.contains(&0) {
                continue;
            }
            files.push(file.to_owned());
            let text = String::from_utf8_lossy(&content[..content.len().min(100_000)]).into_owned();
            names.extend(names_in(&text).map(str::to_owned));
        }
        ensure!(!names.is_empty(), "the repository has no text with names");
        let branches = git.text(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
        let branches = branches.lines().map(str::to_owned).collect();
        let (words, names) = (Words::of(repo)?, names.into_iter().collect());
        Ok(Self { alias: alias.to_owned(), branches, words, names, files })
    }

    /// A question: the number of its kind, the tool, and its arguments. `alias` is what the user calls the repository; files
    /// are those of the golden one.
    pub fn question(&self, alias: &str, random: &mut Random) -> (usize, &'static str, Value) {
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

/// What looks like the name of something.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit()));
    names.filter(|name| name.len() >= NAMES.0).map(|name| &name[..name.len().min(NAMES.1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_long_enough_to_be_asked_for() {
        let long = "x".repeat(50);
        let text = format!("fn parse_token(a: u8) -> 1234567abcdef é_ {long}");
        let names: Vec<&str> = names_in(&text).collect();
        assert_eq!(names, ["parse_token", "abcdef", &long[..41]]);
    }
}
