//! What an agent reads, counted by a real tokenizer: up to the first right result, and against the room it asked for.

use anyhow::{Context as _, Result};
use serde_json::Value;
use tiktoken_rs::CoreBPE;

use super::{
    super::{table::grid, times::median},
    ask::Asked,
    metric::{Found, Question, Target},
};

/// The rooms in which answers are asked for; the first is everything.
pub(crate) const ROOMS: [usize; 4] = [0, 500, 1_000, 2_000];

/// A tokenizer with its vocabulary.
pub(crate) struct Counter(CoreBPE);

/// What one question costs an agent.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    /// Up to the first right result, by the tokenizer.
    pub(crate) read: Reading,
    /// Tokens by the tokenizer divided by those that were asked for, for each room but the first.
    pub(crate) used: Vec<f64>,
}

impl Counter {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(tiktoken_rs::o200k_base().context("the tokenizer's vocabulary cannot be read")?))
    }

    fn tokens(&self, text: &str) -> usize {
        self.0.encode_ordinary(text).len()
    }

    /// Counts the texts of all rooms.
    pub(crate) fn count(&self, texts: &[&str], question: &Question) -> Result<Tokens> {
        let (whole, rest) = texts.split_first().context("there is a text for every room")?;
        let ends = results_end(whole).context("the answer of `cortex_search` is not what it was")?;
        let right = first_right(&results(whole)?, &question.relevant);
        let read = right.and_then(|right| ends.get(right)).map_or(*whole, |end| &whole[..*end]);
        let found = right.is_some();
        Ok(Tokens {
            read: Reading { tokens: self.tokens(read), found },
            used: rest.iter().zip(&ROOMS[1..]).map(|(text, room)| ratio(self.tokens(text), *room)).collect(),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are small")]
fn ratio(of: usize, than: usize) -> f64 {
    of as f64 / than as f64
}

/// The results as an agent sees them.
fn results(text: &str) -> Result<Vec<Found>> {
    let value: Value = serde_json::from_str(text)?;
    let found = |result: &Value| {
        let metadata = &result["chunk"]["metadata"];
        let line = |key: &str| metadata[key].as_u64().with_context(|| format!("a result without `{key}`"));
        let also_at = metadata["also_at"].as_array().into_iter().flatten();
        Ok(Found {
            path: metadata["file_path"].as_str().context("a result without `file_path`")?.to_owned(),
            also_at: also_at.filter_map(|path| path.as_str().map(str::to_owned)).collect(),
            lines: (line("start_line")?, line("end_line")?),
        })
    };
    value["results"].as_array().into_iter().flatten().map(found).collect()
}

/// What all questions of a set cost: a row for each set, and the worst answer to a wish for less.
pub(crate) fn table(sets: &[(String, Vec<&Asked>)]) -> Option<String> {
    let head = [
        "tokens",
        "questions",
        "with something right",
        "to the first right, mean",
        "median",
        "whole, nothing right, median",
    ];
    let head = head.iter().map(|text| (*text).to_owned());
    let rooms = ROOMS[1..].iter().map(|room| format!("worst at {room}"));
    let mut rows = vec![head.chain(rooms).collect::<Vec<_>>()];
    for (name, asked) in sets {
        let tokens: Vec<&Tokens> = asked.iter().filter_map(|asked| asked.tokens.as_ref()).collect();
        let of = |found: bool| -> Vec<usize> {
            tokens.iter().filter(|one| one.read.found == found).map(|one| one.read.tokens).collect()
        };
        let (right, nothing) = (of(true), of(false));
        let shown = |figure: Option<usize>| figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string());
        let mut row = vec![
            name.clone(),
            tokens.len().to_string(),
            right.len().to_string(),
            shown(right.iter().sum::<usize>().checked_div(right.len())),
            shown(median(&right)),
            shown(median(&nothing)),
        ];
        row.extend(worst(&tokens).map(|worst| format!("{worst:.2}×{}", if worst > 1.0 { " OVER" } else { "" })));
        rows.push(row);
    }
    (rows.len() > 1 && sets.iter().any(|(_, asked)| asked.iter().any(|asked| asked.tokens.is_some())))
        .then(|| grid(&rows))
}

/// The most that any answer took of each room.
fn worst<'a>(tokens: &'a [&Tokens]) -> impl Iterator<Item = f64> + 'a {
    (0..ROOMS.len() - 1)
        .map(|room| tokens.iter().filter_map(|one| one.used.get(room)).fold(0.0, |most, one| one.max(most)))
}

/// How far one had to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// Tokens from the beginning to the end of the first right result; of the whole answer where there is none.
    pub(super) tokens: usize,
    /// Whether there was a right one.
    pub(super) found: bool,
}

/// Which result is the first that answers a question.
pub(super) fn first_right(results: &[Found], targets: &[Target]) -> Option<usize> {
    results.iter().position(|found| targets.iter().any(|target| found.hits(target)))
}

/// Where each result ends in the text of a `cortex_search` answer, in bytes; nothing for any other text.
///
/// The results stand one after the other at the beginning, so each ends where the next begins.
pub(super) fn results_end(text: &str) -> Option<Vec<usize>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let (mut ends, mut at) = (Vec::new(), text.find('[')? + 1);
    for result in value["results"].as_array()? {
        at += result.to_string().len();
        ends.push(at);
        // The comma.
        at += 1;
    }
    // What was read is written the same way again, or the places mean nothing.
    (ends.last().is_none_or(|end| text.get(*end..*end + 1) == Some("]"))).then_some(ends)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(paths: &[&str]) -> String {
        let result = |path: &&str| json!({"chunk": {"text": "fn main() {}", "metadata": {"file_path": path, "start_line": 1, "end_line": 2}}});
        json!({"results": paths.iter().map(result).collect::<Vec<_>>(), "total": paths.len()}).to_string()
    }

    #[test]
    fn reading_ends_with_the_first_right_result() {
        let counter = Counter::new().unwrap();
        let target = |path: &str| vec![Target { path: path.to_owned(), lines: None }];
        let question = |path: &str| Question { query: String::new(), category: String::new(), relevant: target(path) };
        let text = answer(&["a", "b", "c"]);
        let texts = [text.as_str(), "one two", "one two three", ""];
        let [first, second, none] = ["a", "b", "x"].map(|path| counter.count(&texts, &question(path)).unwrap());
        assert!(first.read.found && second.read.found && !none.read.found);
        assert!(first.read.tokens < second.read.tokens && second.read.tokens < none.read.tokens);
        assert_eq!(none.read.tokens, counter.tokens(&text));
        assert_eq!(first.used, [2.0 / 500.0, 3.0 / 1000.0, 0.0]);
        assert_eq!(worst(&[&first, &none]).collect::<Vec<_>>(), first.used);
        assert!(counter.count(&["no answer", "", "", ""], &question("a")).is_err());
    }

    #[test]
    fn a_result_ends_where_the_next_begins() {
        let results = [json!({"chunk": {"text": "a \"b\" ] \u{e9}\n"}, "combined_score": 0.5}), json!({"chunk": 1})];
        let text = json!({"results": results, "total": 2, "metadata": {}}).to_string();
        let ends = results_end(&text).unwrap();
        assert_eq!(&text[..ends[0]], format!("{{\"results\":[{}", results[0]));
        assert_eq!(&text[ends[0] + 1..ends[1]], results[1].to_string());
        assert_eq!(results_end(&json!({"results": [], "total": 0}).to_string()), Some(vec![]));
    }

    #[test]
    fn other_texts_have_no_results() {
        assert_eq!(results_end("no JSON"), None);
        assert_eq!(results_end("{\"total\": 1}"), None);
        assert_eq!(results_end("{\"results\": [ {\"a\":  1} ]}"), None, "written in another way");
    }

    #[test]
    fn the_first_right_result_is_the_first_that_hits_any_target() {
        let found = |path: &str| Found { path: path.to_owned(), also_at: Vec::new(), lines: (1, 9) };
        let target = |path: &str| Target { path: path.to_owned(), lines: None };
        let results = [found("a"), found("b"), found("c")];
        assert_eq!(first_right(&results, &[target("c"), target("b")]), Some(1));
        assert_eq!(first_right(&results, &[target("d")]), None);
    }
}
