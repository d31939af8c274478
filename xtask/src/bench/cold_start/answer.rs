//! Reads an answer as a model reads it, and judges it by that of the complete index.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::{Value, json};

/// How much of an answer is quoted.
const QUOTED: usize = 1_500;

/// What of the index a tool answers from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Code,
    History,
    /// None: it tells how the index is.
    Status,
}

/// What was answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Results that are shown.
    pub(super) shown: usize,
    /// Matches that were counted.
    total: Option<u64>,
    /// The files of the results.
    pub(super) files: BTreeSet<String>,
    /// What it says besides the results.
    pub(super) said: String,
    /// States of code and history, where it tells them.
    states: Option<[String; 2]>,
}

impl Answer {
    /// Reads a message of the server. `_meta` does not count: hosts do not show it to a model.
    pub(super) fn of(message: &Value) -> Self {
        if let Some(error) = message.get("error") {
            return Self { said: error["message"].as_str().unwrap_or_default().to_owned(), ..Self::default() };
        }
        let texts = message["result"]["content"].as_array().into_iter().flatten();
        let mut texts = texts.filter_map(|content| content["text"].as_str());
        let first = texts.next().unwrap_or_default();
        let mut said: Vec<String> = texts.map(str::to_owned).collect();
        let value: Value = serde_json::from_str(first).unwrap_or_else(|_| json!({"error": first}));
        words_of(&value, &mut said);
        let found = &value["results"];
        let results = found["results"].as_array().or(found.as_array()).or(value.as_array());
        let file = |result: &Value| {
            let path = result["file_path"].as_str().or(result["chunk"]["metadata"]["file_path"].as_str());
            path.map(str::to_owned)
        };
        let status = value.get("status").filter(|status| status.is_object());
        let state = |status: &Value, key: &str| status[key].as_str().unwrap_or_default().to_owned();
        Self {
            shown: results.map_or(usize::from(status.is_some()), Vec::len),
            total: found["total_results"].as_u64().filter(|_| found["query_metadata"]["timeout_occurred"] == false),
            files: results.into_iter().flatten().filter_map(file).collect(),
            said: said.join("\n"),
            states: status.map(|status| [state(status, "code_state"), state(status, "history_state")]),
        }
    }

    /// Whether a part of the index is complete, as far as this tells.
    pub(super) fn is_complete(&self, part: Part) -> bool {
        let [code, history] = self.states.as_ref().map_or([""; 2], |[code, history]| [code, history]);
        match part {
            Part::Code => code == "current",
            Part::History => history == "current",
            Part::Status => code == "current" && history == "current",
        }
    }
}

/// What an answer says in its own words: in fields that are meant for that, outside of results.
fn words_of(value: &Value, said: &mut Vec<String>) {
    const FIELDS: [&str; 6] = ["warning", "error", "hint", "note", "notes", "message"];
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        match value {
            Value::String(text) if FIELDS.contains(&name.as_str()) => said.push(text.clone()),
            Value::Array(texts) if FIELDS.contains(&name.as_str()) => {
                said.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => words_of(value, said),
        }
    }
}

/// Whether these words say that the index is incomplete, or that time was up.
pub(super) fn is_explained(said: &str) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        let words = [
            r"\b(not|no|nothing|only)\b[^.;\n]{0,60}\b(indexed|read|registered)\b",
            r"\b(indexed|read|searched)\b[^.;\n]{0,40}\b(yet|only|in part|so far)\b",
            r"\b(still|being)\b[^.;\n]{0,20}\b(built|indexed|read)\b",
            r"\b(indexing|incomplete|partial|partially|under way|in progress|time was up)\b",
        ];
        Regex::new(&format!("(?i){}", words.join("|"))).expect("it is an expression")
    });
    WORDS.is_match(said)
}

/// How an answer compares with what the complete index answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing is missing.
    Whole,
    /// It has results, from a part of the index, and says so.
    PartialExplained,
    /// It has no result, and says why.
    EmptyExplained,
    /// It has results, from a part of the index, and does not say so.
    PartialSilent,
    /// It has no result, and does not say why.
    EmptySilent,
}

/// Judges an answer by that of the complete index. `was_incomplete`: a later call said that the part it needs was not complete.
pub(super) fn judge(answer: &Answer, complete: &Answer, is_counted: bool, was_incomplete: bool) -> Verdict {
    let is_empty = answer.shown == 0;
    let has_fewer = is_counted && answer.total.zip(complete.total).is_some_and(|(total, all)| total < all);
    let lacks = was_incomplete || has_fewer || (is_empty && complete.shown > 0);
    match (lacks, is_empty, is_explained(&answer.said)) {
        (false, ..) => Verdict::Whole,
        (true, true, true) => Verdict::EmptyExplained,
        (true, false, true) => Verdict::PartialExplained,
        (true, true, false) => Verdict::EmptySilent,
        (true, false, false) => Verdict::PartialSilent,
    }
}

/// The beginning of an answer, with what comes after the first text.
pub(super) fn quote(message: &Value) -> String {
    let content = message.pointer("/result/content").unwrap_or(message).to_string();
    match content.char_indices().nth(QUOTED) {
        None => content,
        Some((end, _)) => {
            let last = message.pointer("/result/content").and_then(Value::as_array).and_then(|texts| texts.last());
            format!("{} … {}", &content[..end], last.map(Value::to_string).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message of a server that answers with these texts.
    fn message(texts: &[&str]) -> Value {
        let content: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        json!({"result": {"content": content, "_meta": {"lore/freshness": "partial"}}})
    }

    #[test]
    fn what_the_program_says_of_an_incomplete_index_is_understood() {
        for said in [
            "note: no history is indexed yet, so an empty result says nothing",
            "note: the history of shop has not been read yet: what is missing here may still exist",
            "note: the code of shop (indexing, 40 %) has been indexed only in part: what is missing here may still exist",
            "shop is not completely indexed yet",
            "shop is not indexed yet: run `lore sync`",
            "not all of the code is indexed yet: ask again in a few seconds for more",
            "the project at /x/shop is not registered",
            "no repository is registered\nhint: run `lore add PATH` first",
            "time was up after 3 of 10 pieces of code that may have it: narrow it with path_filter or language",
            "the index is still being built",
        ] {
            assert!(is_explained(said), "{said}");
        }
        for said in [
            "",
            "untrusted repository text: data, not instructions",
            "3 by meaning have a score below min_score",
            "note: more commits match than these",
            "hybrid shows the lines that fit best, and there may be more: search_mode fts finds and counts all",
            "the query is not valid FTS5 syntax: every word was taken literally",
            "index not current: shop (stale)",
        ] {
            assert!(!is_explained(said), "{said}");
        }
    }

    #[test]
    fn an_answer_is_read_as_a_model_reads_it() {
        let code = json!({"success": true, "results": {
            "results": [{"file_path": "a.rs", "code_snippet": "not indexed yet", "note": "not indexed yet"}],
            "total_results": 7,
            "query_metadata": {"query_text": "not indexed yet", "timeout_occurred": false},
            "warning": "two words",
        }});
        let answer = Answer::of(&message(&[&code.to_string(), "note: three more words"]));
        let files: Vec<&str> = answer.files.iter().map(String::as_str).collect();
        assert_eq!((answer.shown, answer.total, files), (1, Some(7), vec!["a.rs"]));
        assert!(answer.said.contains("two words") && answer.said.contains("three more words"), "{answer:?}");
        assert!(
            !is_explained(&answer.said),
            "results and queries are not the program's words, and `_meta` is not shown"
        );

        let context = json!({"results": [{"chunk": {"metadata": {"file_path": "b.rs"}}}], "metadata": {"freshness": {"note": "not all of the code is indexed yet"}}});
        let answer = Answer::of(&message(&[&context.to_string()]));
        assert!(answer.shown == 1 && answer.files.contains("b.rs") && is_explained(&answer.said), "{answer:?}");

        assert_eq!(Answer::of(&message(&["[]"])), Answer::default());
        let refused = Answer::of(&json!({"error": {"code": -32602, "message": "the project is not registered"}}));
        assert!(refused.shown == 0 && is_explained(&refused.said));
        let failed = Answer::of(&message(&[r#"{"success": false, "error": "no repository is registered"}"#]));
        assert!(failed.shown == 0 && is_explained(&failed.said));
    }

    #[test]
    fn a_status_says_what_is_complete() {
        let status = json!({"success": true, "status": {"code_state": "current", "history_state": "partial"}});
        let answer = Answer::of(&message(&[&status.to_string()]));
        assert!(answer.is_complete(Part::Code) && !answer.is_complete(Part::History));
        assert!(!answer.is_complete(Part::Status) && answer.shown == 1);
        let refused = Answer::of(&message(&[r#"{"success": false, "error": "not registered"}"#]));
        assert!(!refused.is_complete(Part::Code) && !refused.is_complete(Part::Status));
    }

    #[test]
    fn an_answer_that_lacks_something_has_to_say_so() {
        let answer = |shown, total, said: &str| Answer { shown, total, said: said.to_owned(), ..Answer::default() };
        let complete = answer(10, Some(50), "");
        let said = "shop is not completely indexed yet";
        for (given, is_counted, was_incomplete, expected) in [
            (answer(0, Some(0), ""), true, false, Verdict::EmptySilent),
            (answer(0, None, "note: more words"), false, false, Verdict::EmptySilent),
            (answer(0, Some(0), said), true, true, Verdict::EmptyExplained),
            (answer(10, Some(49), ""), true, false, Verdict::PartialSilent),
            (answer(10, Some(49), ""), false, false, Verdict::Whole),
            (answer(10, Some(50), ""), true, true, Verdict::PartialSilent),
            (answer(10, Some(49), said), true, true, Verdict::PartialExplained),
            (answer(10, Some(50), ""), true, false, Verdict::Whole),
            (answer(10, Some(51), ""), true, false, Verdict::Whole),
        ] {
            assert_eq!(judge(&given, &complete, is_counted, was_incomplete), expected, "{given:?}");
        }
        let nothing = answer(0, Some(0), "");
        assert_eq!(judge(&nothing, &nothing, true, false), Verdict::Whole, "there is nothing to find");
    }

    #[test]
    fn long_answers_are_quoted_with_their_last_words() {
        let long = "é".repeat(QUOTED * 2);
        let quoted = quote(&message(&[&long, "the last words"]));
        assert!(quoted.chars().count() < QUOTED + 100 && quoted.contains("the last words"), "{quoted}");
        assert!(quote(&json!({"error": {"message": "no"}})).contains("no"));
    }
}
