//! Links of Markdown files to files and headings of the project: each has to lead somewhere. Other sites are not asked.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use anyhow::{Context as _, Result};
use regex::Regex;

/// What is wrong with the links of the Markdown files among these.
pub(super) fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_markdown(file)) {
        let text = read(&root.join(file))?;
        for (line, target) in links(&text) {
            if let Some(problem) = problem_of(root, file, &target)? {
                problems.push(format!("{}: line {line}: {problem}", file.display()));
            }
        }
    }
    Ok(problems)
}

fn problem_of(root: &Path, file: &Path, target: &str) -> Result<Option<String>> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(None);
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let leads_to =
        if path.is_empty() { root.join(file) } else { root.join(file.parent().unwrap_or(Path::new(""))).join(path) };
    if !leads_to.exists() {
        return Ok(Some(format!("`{target}` leads nowhere")));
    }
    if anchor.is_empty() || !is_markdown(&leads_to) {
        return Ok(None);
    }
    let is_there = anchors(&read(&leads_to)?).contains(anchor);
    Ok((!is_there).then(|| format!("`{target}`: no heading there is called so")))
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Lines outside fenced blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let inner = line.trim_start();
        let ticks = &inner[..inner.len() - inner.trim_start_matches('`').len()];
        match fence {
            Some(open) if inner.trim_end() == open => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => return Some((index + 1, line)),
            Some(_) => {}
        }
        None
    })
}

/// Where links lead, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| regex("`[^`]*`"));
    static LINK: LazyLock<Regex> = LazyLock::new(|| regex(r"\]\(([^()\s]+)\)"));
    prose(text)
        .flat_map(|(number, line)| {
            let line = CODE.replace_all(line, "");
            LINK.captures_iter(&line).map(|found| (number, found[1].to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

/// What headings are called in links.
fn anchors(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let name = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let mut numbered = name.clone();
        let mut count = 0;
        while !anchors.insert(numbered) {
            count += 1;
            numbered = format!("{name}-{count}");
        }
    }
    anchors
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file is a regular expression")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        fs::write(dir.path().join("README.md"), "# Lore\n\n## What `lore add` does, twice\n\n## Same\n\n## Same\n")
            .unwrap();
        let page = "[a](../README.md) [b](../README.md#what-lore-add-does-twice) [c](#here) [d](https://x.org/y#z)\n\
                    [e](../README.md#same-1) `[code](nowhere.md)`\n\n# Here\n\n```sh\n[f](nowhere.md)\n```\n\n\
                    [g](nowhere.md)\n[h](../README.md#same-2) ![i](i.svg)\n";
        fs::write(dir.path().join("docs/a.md"), page).unwrap();
        let problems = check(dir.path(), &["README.md".into(), "docs/a.md".into()]).unwrap();
        let expected = [
            "docs/a.md: line 10: `nowhere.md` leads nowhere",
            "docs/a.md: line 11: `../README.md#same-2`: no heading there is called so",
            "docs/a.md: line 11: `i.svg` leads nowhere",
        ];
        assert_eq!(problems, expected);
    }
}
