//! How well a ranked list answers a question: NDCG and the reciprocal rank.
//!
//! A question has targets, each a file or some lines of one, and every target counts 1. Files are what is ranked: of the
//! results, the first in a file stands for it, and those after it take no rank.

use super::documents::is_document;

/// How many ranks count.
pub(super) const DEPTH: usize = 10;

/// So many results give ten files nearly always, and more would make the program look further than it does for a user.
pub(super) const RESULTS: usize = 49;

/// A question with its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// What is asked.
    pub(super) query: String,
    /// Any word; questions of one category are looked at together.
    pub(super) category: String,
    /// What answers it.
    pub(super) relevant: Vec<Target>,
}

/// What a question asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The file.
    pub(super) path: String,
    /// First and last line, where only these are meant.
    pub(super) lines: Option<(u64, u64)>,
}

/// One result, as the program gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file.
    pub(crate) path: String,
    /// Files with the same text, which the result names too.
    pub(crate) also_at: Vec<String>,
    /// First and last line.
    pub(crate) lines: (u64, u64),
}

impl Found {
    /// Whether it answers.
    pub(super) fn hits(&self, target: &Target) -> bool {
        let at = self.path == target.path || self.also_at.contains(&target.path);
        at && target.lines.is_none_or(|(first, last)| first <= self.lines.1 && self.lines.0 <= last)
    }
}

/// How one question was answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Score {
    /// The rank of each target among files.
    pub(super) ranks: Vec<Option<usize>>,
    /// NDCG of the first [`DEPTH`] files.
    pub(super) ndcg: f64,
    /// The same over the first results as they are, several of one file included.
    pub(super) shown: f64,
    /// The reciprocal rank among the first [`DEPTH`] files.
    pub(super) reciprocal: f64,
    /// The first files.
    pub(super) files: Vec<String>,
    /// What came before the first right answer.
    pub(super) outcome: Outcome,
}

/// What stood before the first right answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing: it came first.
    First,
    /// Code, and nothing else.
    BeatenByCode,
    /// Other documents, and nothing else.
    BeatenByDocuments,
    /// Both.
    BeatenByBoth,
    /// It was not among the first files.
    NotFound,
}

impl Outcome {
    /// How often each came, by name.
    pub(super) fn counts(outcomes: impl Iterator<Item = Self>) -> [(&'static str, usize); 5] {
        let mut counts = [
            ("first", Self::First, 0),
            ("beaten_by_code", Self::BeatenByCode, 0),
            ("beaten_by_documents", Self::BeatenByDocuments, 0),
            ("beaten_by_both", Self::BeatenByBoth, 0),
            ("not_found", Self::NotFound, 0),
        ];
        for outcome in outcomes {
            counts.iter_mut().filter(|(_, one, _)| *one == outcome).for_each(|(_, _, count)| *count += 1);
        }
        counts.map(|(name, _, count)| (name, count))
    }
}

/// Everything about one list of results.
pub(super) fn score(results: &[Found], question: &Question) -> Score {
    let ranks = file_ranks(results, &question.relevant);
    Score {
        ndcg: ndcg(&ranks, DEPTH),
        shown: ndcg(&result_ranks(results, &question.relevant), DEPTH),
        reciprocal: reciprocal_rank(&ranks, DEPTH),
        files: files(results).into_iter().take(DEPTH).map(str::to_owned).collect(),
        outcome: outcome(results, &ranks),
        ranks,
    }
}

/// The files of the results, in order.
fn files(results: &[Found]) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for found in results {
        if !files.contains(&found.path.as_str()) {
            files.push(&found.path);
        }
    }
    files
}

/// What stood before the first right answer.
pub(super) fn outcome(results: &[Found], ranks: &[Option<usize>]) -> Outcome {
    let Some(first) = ranks.iter().copied().flatten().min().filter(|rank| *rank <= DEPTH) else {
        return Outcome::NotFound;
    };
    let files = files(results);
    let before = files.iter().take(first - 1);
    let (documents, code): (Vec<&str>, Vec<&str>) = before.copied().partition(|path| is_document(path));
    match (code.is_empty(), documents.is_empty()) {
        (true, true) => Outcome::First,
        (false, true) => Outcome::BeatenByCode,
        (true, false) => Outcome::BeatenByDocuments,
        (false, false) => Outcome::BeatenByBoth,
    }
}

/// The rank of each target among the files of the results, from 1; `None` where it was not found.
fn file_ranks(results: &[Found], targets: &[Target]) -> Vec<Option<usize>> {
    let mut files: Vec<&str> = Vec::new();
    let mut ranks = vec![None; targets.len()];
    for found in results {
        if !files.contains(&found.path.as_str()) {
            files.push(&found.path);
        }
        for (rank, target) in ranks.iter_mut().zip(targets) {
            if rank.is_none() && found.hits(target) {
                *rank = Some(files.len());
            }
        }
    }
    ranks
}

/// The rank of each target among the results as they are, several of one file included.
fn result_ranks(results: &[Found], targets: &[Target]) -> Vec<Option<usize>> {
    let rank = |target: &Target| results.iter().position(|found| found.hits(target)).map(|at| at + 1);
    targets.iter().map(rank).collect()
}

/// NDCG of the first `depth` ranks: 1 where all targets come first, 0 where none is found.
///
/// Two targets in one file cannot both have its rank: the second takes the next.
pub(super) fn ndcg(ranks: &[Option<usize>], depth: usize) -> f64 {
    let mut found: Vec<usize> = ranks.iter().copied().flatten().collect();
    found.sort_unstable();
    let mut gain = 0.0;
    let mut last = 0;
    for rank in found {
        last = rank.max(last + 1);
        if last <= depth {
            gain += discount(last);
        }
    }
    let ideal: f64 = (1..=ranks.len().min(depth)).map(discount).sum();
    if ideal > 0.0 { gain / ideal } else { 0.0 }
}

/// One divided by the rank of the first target that was found; 0 where none was among the first `depth`.
#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
fn reciprocal_rank(ranks: &[Option<usize>], depth: usize) -> f64 {
    let first = ranks.iter().copied().flatten().min().filter(|rank| *rank <= depth);
    first.map_or(0.0, |rank| 1.0 / rank as f64)
}

#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 1.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, lines: (u64, u64)) -> Found {
        Found { path: path.to_owned(), also_at: Vec::new(), lines }
    }

    fn target(path: &str) -> Target {
        Target { path: path.to_owned(), lines: None }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-4, "{value} is not {expected}");
    }

    #[test]
    fn several_results_in_a_file_take_one_rank() {
        let results =
            [found("a", (1, 5)), found("a", (6, 9)), found("b", (1, 2)), found("a", (10, 11)), found("c", (1, 1))];
        let targets = [target("c"), target("b"), target("d")];
        assert_eq!(file_ranks(&results, &targets), [Some(3), Some(2), None]);
        assert_eq!(result_ranks(&results, &targets), [Some(5), Some(3), None]);
    }

    #[test]
    fn lines_must_overlap_where_they_are_given() {
        let results = [found("a", (1, 5)), found("b", (1, 9)), found("a", (6, 9))];
        let lines = |first, last| [Target { path: "a".to_owned(), lines: Some((first, last)) }];
        assert_eq!(file_ranks(&results, &lines(5, 6)), [Some(1)]);
        assert_eq!(file_ranks(&results, &lines(9, 20)), [Some(2)], "found with the second file");
        assert_eq!(file_ranks(&results, &lines(10, 20)), [None]);
    }

    #[test]
    fn a_copy_is_found_where_its_twin_is_shown() {
        let results = [Found { also_at: vec!["copy".to_owned()], ..found("a", (1, 5)) }];
        assert_eq!(file_ranks(&results, &[target("copy")]), [Some(1)]);
    }

    #[test]
    fn ndcg_is_that_of_the_books() {
        close(ndcg(&[Some(1)], 10), 1.0);
        close(ndcg(&[Some(2)], 10), 0.6309);
        close(ndcg(&[Some(3)], 10), 0.5);
        close(ndcg(&[Some(11)], 10), 0.0);
        close(ndcg(&[None], 10), 0.0);
        close(ndcg(&[Some(1), Some(2)], 10), 1.0);
        close(ndcg(&[Some(2), Some(1)], 10), 1.0);
        // (1 + 1/log2(4)) / (1 + 1/log2(3))
        close(ndcg(&[Some(1), Some(3)], 10), 0.9197);
        close(ndcg(&[Some(1), None, None], 10), 1.0 / (1.0 + 0.6309 + 0.5));
        close(ndcg(&[], 10), 0.0);
    }

    #[test]
    fn more_targets_than_ranks_can_still_be_all_right() {
        let ranks: Vec<Option<usize>> = (1..=12).map(Some).collect();
        close(ndcg(&ranks, 10), 1.0);
    }

    #[test]
    fn two_targets_in_one_file_are_not_worth_more_than_all() {
        close(ndcg(&[Some(1), Some(1)], 10), 1.0);
    }

    #[test]
    fn the_reciprocal_rank_is_that_of_the_first_target() {
        close(reciprocal_rank(&[Some(4), Some(2), None], 10), 0.5);
        close(reciprocal_rank(&[Some(11)], 10), 0.0);
        close(reciprocal_rank(&[None], 10), 0.0);
    }

    #[test]
    fn what_came_first_is_told_by_what_it_is() {
        let outcome_of = |before: &[&str]| {
            let mut results: Vec<Found> = before.iter().map(|path| found(path, (1, 1))).collect();
            results.push(found("docs/right.md", (1, 1)));
            let question =
                Question { query: String::new(), category: String::new(), relevant: vec![target("docs/right.md")] };
            score(&results, &question).outcome
        };
        assert_eq!(outcome_of(&[]), Outcome::First);
        assert_eq!(outcome_of(&["a.rs", "a.rs"]), Outcome::BeatenByCode);
        assert_eq!(outcome_of(&["b.md"]), Outcome::BeatenByDocuments);
        assert_eq!(outcome_of(&["b.md", "a.rs"]), Outcome::BeatenByBoth);
        let many: Vec<String> = (0..10).map(|at| format!("{at}.rs")).collect();
        assert_eq!(outcome_of(&many.iter().map(String::as_str).collect::<Vec<_>>()), Outcome::NotFound);
        let counts = Outcome::counts([Outcome::First, Outcome::NotFound, Outcome::First].into_iter());
        assert_eq!(counts.map(|(_, count)| count), [2, 0, 0, 0, 1]);
    }
}
