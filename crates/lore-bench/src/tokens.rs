//! How much of an answer an agent reads until it has what it needs.

use serde_json::Value;

use crate::metric::{Found, Target};

/// How far one had to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Tokens from the beginning to the end of the first right result; of the whole answer where there is none.
    pub tokens: usize,
    /// Whether there was a right one.
    pub found: bool,
}

/// Which result is the first that answers a question.
pub fn first_right(results: &[Found], targets: &[Target]) -> Option<usize> {
    results.iter().position(|found| targets.iter().any(|target| found.hits(target)))
}

/// Where each result ends in the text of a `cortex_search` answer, in bytes; nothing for any other text.
///
/// The results stand one after the other at the beginning, so each ends where the next begins.
pub fn results_end(text: &str) -> Option<Vec<usize>> {
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
