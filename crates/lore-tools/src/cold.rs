//! What an answer says where the index that it comes from is not complete: absence of an index must not look like absence of
//! code or history.

use lore_core::{
    history::{FreshState, Freshness},
    search::{CodeFreshness, CodeState},
};

use crate::{Context, Tool, Toolset};

/// What of a project's index a call is answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct IndexNeed {
    /// That it is registered.
    pub registration: bool,
    /// Its code.
    pub code: bool,
    /// Its history.
    pub history: bool,
}

impl IndexNeed {
    /// Whether a call needs no index at all.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Tool {
    /// What of the index its calls are answered from.
    pub fn index_need(&self) -> IndexNeed {
        let registration = matches!(
            self.toolset,
            Toolset::History | Toolset::Context | Toolset::Why | Toolset::Code | Toolset::Repos | Toolset::Insight
        );
        let (code, history) = match (self.toolset, self.name) {
            (Toolset::History, "commitmux_list_repos") => (false, false),
            (Toolset::History, _) | (Toolset::Why, "explain_lines" | "co_changed") => (false, true),
            (Toolset::Context, _) | (Toolset::Code, "search_code") | (Toolset::Why, "find_related") => (true, false),
            (Toolset::Why, _) => (true, true),
            _ => (false, false),
        };
        IndexNeed { registration, code, history }
    }
}

/// What a reader must know of repositories whose history is not read, or not all of it.
pub(crate) fn history_notice(freshness: &Freshness) -> Option<String> {
    if freshness.repos.is_empty() {
        return Some("no history is indexed yet, so an empty result says nothing".to_owned());
    }
    let of = |state: FreshState| freshness.repos.iter().filter(move |repo| repo.state == state);
    let row = |repo: &lore_core::history::RepoFreshness| (repo.name.clone(), repo.progress);
    notice(
        of(FreshState::NeverSynced).map(row).collect(),
        of(FreshState::Partial).map(row).collect(),
        ["the history of", "has not been read yet", "has been read only in part"],
    )
}

/// The same for code.
pub(crate) fn code_notice<'a>(freshness: impl Iterator<Item = &'a CodeFreshness>) -> Option<String> {
    let repos: Vec<&CodeFreshness> = freshness.collect();
    let failed: Vec<String> = repos.iter().filter_map(|repo| code_failure(repo)).collect();
    let of = |state: CodeState| repos.iter().filter(move |repo| repo.state == state && repo.error.is_none());
    let row = |repo: &&CodeFreshness| (repo.repo.clone(), repo.progress);
    let incomplete = notice(
        of(CodeState::NeverIndexed).map(row).collect(),
        of(CodeState::Partial).map(row).collect(),
        ["the code of", "has not been indexed yet", "has been indexed only in part"],
    );
    let notices: Vec<String> = failed.into_iter().chain(incomplete).collect();
    (!notices.is_empty()).then(|| notices.join("; "))
}

/// Why nothing of a repository is indexed, where its sync failed.
pub(crate) fn code_failure(repo: &CodeFreshness) -> Option<String> {
    let error = repo.error.as_ref()?;
    Some(format!("the code of {} could not be indexed, so nothing of it is found: {error}", repo.repo))
}

/// A repository and how much of its sync is done.
type Row = (String, Option<u8>);

fn notice(absent: Vec<Row>, partial: Vec<Row>, [what, not_yet, in_part]: [&str; 3]) -> Option<String> {
    /// The others are only counted.
    const NAMED: usize = 5;
    let named = |rows: &[Row]| {
        let name = |(name, percent): &Row| match percent {
            Some(percent) => format!("{name} (indexing, {percent} %)"),
            None => name.clone(),
        };
        let more = rows.len().saturating_sub(NAMED);
        let names = rows.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{names} and {more} more") } else { names }
    };
    let mut parts = Vec::new();
    for (rows, state) in [(absent, not_yet), (partial, in_part)] {
        if !rows.is_empty() {
            parts.push(format!("{what} {} {state}", named(&rows)));
        }
    }
    (!parts.is_empty()).then(|| format!("{}: what is missing here may still exist", parts.join("; ")))
}

impl Context {
    /// Waits until there is something to answer a call from, where that is on its way.
    pub fn wait_until_indexed(&self, need: IndexNeed, repos: Vec<String>) {
        if !need.is_none() {
            self.project.wait_until_indexed(need, repos, self.asked.progress.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_indexed_is_named_with_its_progress() {
        let words = ["the code of", "has not been indexed yet", "has been indexed only in part"];
        let row = |name: &str, percent| (name.to_owned(), percent);
        assert_eq!(notice(Vec::new(), Vec::new(), words), None);
        let text =
            notice(vec![row("api", None)], vec![row("web", Some(40))], words).expect("there is something to say");
        assert_eq!(
            text,
            "the code of api has not been indexed yet; the code of web (indexing, 40 %) has been indexed only in part: what is missing here may still exist"
        );
        let many = (0..7).map(|number| row(&number.to_string(), None)).collect();
        let text = notice(many, Vec::new(), words).expect("there is something to say");
        assert!(text.starts_with("the code of 0, 1, 2, 3, 4 and 2 more has not"), "{text}");
    }
}
