//! Reads the files with questions; `docs/guides/measuring.md` describes them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::metric::{Question, Target};

/// Questions about one folder of one revision of a repository.
#[derive(Debug)]
pub(crate) struct RepoSet {
    pub(crate) repo: String,
    pub(crate) revision: String,
    /// Empty for all of it.
    pub(crate) root: String,
    pub(crate) questions: Vec<Question>,
}

/// Questions about functions that belong to no repository.
#[derive(Debug)]
pub(crate) struct FunctionSet {
    /// Ids and source texts.
    pub(crate) functions: Vec<(u64, String)>,
    pub(crate) questions: Vec<Question>,
}

const REPO_QUERIES: &str = "repo-queries.jsonl";
const FUNCTION_QUERIES: &str = "cosqa-dev-queries.jsonl";
const FUNCTIONS: &str = "cosqa-functions.jsonl";

/// The sets of `repo-queries.jsonl`, in its order; none where the file is absent.
pub(crate) fn read_repo_sets(dir: &Path) -> Result<Vec<RepoSet>> {
    let mut sets: Vec<RepoSet> = Vec::new();
    for value in lines_of(&dir.join(REPO_QUERIES))? {
        let text = |key: &str| value[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}`: {value}"));
        let (repo, revision) = (text("repo")?, text("revision")?);
        let root = value["root"].as_str().unwrap_or_default().trim_end_matches('/').to_owned();
        let targets = value["relevant"].as_array().with_context(|| format!("no `relevant`: {value}"))?;
        let question = Question {
            query: text("query")?,
            category: text("category").unwrap_or_default(),
            relevant: targets.iter().map(target).collect::<Result<_>>()?,
        };
        let same = |set: &&mut RepoSet| set.repo == repo && set.revision == revision && set.root == root;
        match sets.iter_mut().find(same) {
            Some(set) => set.questions.push(question),
            None => sets.push(RepoSet { repo, revision, root, questions: vec![question] }),
        }
    }
    Ok(sets)
}

fn target(value: &Value) -> Result<Target> {
    let path = value["path"].as_str().with_context(|| format!("a target without `path`: {value}"))?.to_owned();
    let line = |at: usize| value["lines"][at].as_u64();
    Ok(Target { path, lines: line(0).zip(line(1)) })
}

/// The set of the `cosqa` files; `None` where they are absent.
pub(crate) fn read_function_set(dir: &Path) -> Result<Option<FunctionSet>> {
    let (queries, functions) = (lines_of(&dir.join(FUNCTION_QUERIES))?, lines_of(&dir.join(FUNCTIONS))?);
    if queries.is_empty() || functions.is_empty() {
        return Ok(None);
    }
    let function = |value: &Value| {
        let id = value["id"].as_u64().with_context(|| format!("no `id`: {value}"))?;
        Ok((id, value["code"].as_str().with_context(|| format!("no `code`: {value}"))?.to_owned()))
    };
    let question = |value: &Value| {
        let query = value["query"].as_str().with_context(|| format!("no `query`: {value}"))?.to_owned();
        let id = value["relevant"].as_u64().with_context(|| format!("no `relevant`: {value}"))?;
        let relevant = vec![Target { path: function_path(id), lines: None }];
        Ok(Question { query, category: String::new(), relevant })
    };
    Ok(Some(FunctionSet {
        functions: functions.iter().map(function).collect::<Result<_>>()?,
        questions: queries.iter().map(question).collect::<Result<_>>()?,
    }))
}

/// The file in which a function is indexed.
pub(crate) fn function_path(id: u64) -> String {
    format!("f{id}.py")
}

fn lines_of(file: &Path) -> Result<Vec<Value>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let parse = |line: &str| serde_json::from_str(line).with_context(|| format!("{}: {line}", file.display()));
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// Where a repository is among the others: `owner+name/repo`, `owner+name`, `owner/name` or `name`.
pub(crate) fn find_repo(dir: &Path, repo: &str) -> Option<PathBuf> {
    let joined = repo.replace('/', "+");
    let name = repo.rsplit('/').next().unwrap_or(repo);
    let places = [dir.join(&joined).join("repo"), dir.join(&joined), dir.join(repo), dir.join(name)];
    let is_repo = |place: &PathBuf| place.join(".git").exists() || place.join("objects").exists();
    places.into_iter().find(is_repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_grouped_by_what_is_indexed() {
        let dir = tempfile::tempdir().unwrap();
        let line = |revision: &str, query: &str| {
            format!(
                r#"{{"repo": "a/b", "revision": "{revision}", "root": "src/", "query": "{query}", "category": "symbol", "relevant": [{{"path": "src/x.rs", "lines": [3, 9]}}, {{"path": "src/y.rs"}}]}}"#
            )
        };
        let text = [line("1", "one"), line("2", "two"), line("1", "three")].join("\n");
        fs::write(dir.path().join(REPO_QUERIES), text).unwrap();
        let sets = read_repo_sets(dir.path()).unwrap();
        let asked = |set: &RepoSet| set.questions.iter().map(|question| question.query.clone()).collect::<Vec<_>>();
        assert_eq!(sets.iter().map(asked).collect::<Vec<_>>(), [vec!["one", "three"], vec!["two"]]);
        assert_eq!(sets[0].root, "src");
        let relevant = &sets[0].questions[0].relevant;
        assert_eq!((relevant[0].lines, relevant[1].lines), (Some((3, 9)), None));
        assert!(read_function_set(dir.path()).unwrap().is_none());
    }
}
