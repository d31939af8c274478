//! The answer for programs.

use std::time::Duration;

use lore_core::search::{
    CodeAnswer, CodeFreshness, CodeHit, CodeRequest, Effect, Explanation, LIMIT_MAX, PastGaps, estimate_tokens,
};
use serde_json::{Map, Value, json};

use super::past;
use crate::commands::{path_json, second_json};

pub(super) fn answer(request: &CodeRequest, answer: &CodeAnswer, took: Duration, explain: bool) -> Value {
    let limit = request.limit.clamp(1, LIMIT_MAX);
    json!({
        "query": request.query,
        "kind": answer.kind.as_str(),
        "results": answer.hits.iter().map(|found| hit(found, explain)).collect::<Vec<_>>(),
        "more": answer.more,
        "no_room": answer.no_room,
        "too_low": answer.too_low,
        "query_cut": answer.query_cut,
        "limit_clamped": (limit != request.limit).then_some(limit),
        "freshness": answer.freshness.iter().map(freshness).collect::<Vec<_>>(),
        "embedding": answer.second.as_ref().map(second_json),
        "past": gaps(&answer.gaps),
        "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// What of the past was asked for and is not there; nothing where nothing is missing.
pub(super) fn gaps(gaps: &PastGaps) -> Value {
    if *gaps == PastGaps::default() {
        return Value::Null;
    }
    // No command asks about another branch than the one that is checked out.
    let PastGaps { not_kept, no_commit, beside, behind, other_line: _, lacking } = gaps;
    json!({"not_kept": not_kept, "no_commit": no_commit, "beside": beside, "behind": behind, "lacking": lacking})
}

/// A count that is not known yet, and the end of the line.
const NUMBERS: usize = 20;

/// Cuts texts so that the answer as it is printed takes at most so many tokens.
pub(super) fn fit(answer: &mut CodeAnswer, tokens: usize, shown: &dyn Fn(&CodeAnswer) -> Value) {
    let length =
        |answer: &CodeAnswer| serde_json::to_string_pretty(&shown(answer)).map_or(0, |text| estimate_tokens(&text));
    let empty = CodeAnswer { hits: Vec::new(), ..answer.clone() };
    let frame = length(&empty);
    answer.fit(tokens.saturating_sub(frame + NUMBERS), &|hit| {
        let one = CodeAnswer { hits: vec![hit.clone()], ..empty.clone() };
        // And a comma.
        length(&one).saturating_sub(frame) + 1
    });
}

pub(super) fn hit(hit: &CodeHit, explain: bool) -> Value {
    let mut object = Map::new();
    object.insert("repo".to_owned(), hit.repo.as_str().into());
    path_json(&mut object, "path", Some(&hit.path));
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("lines", json!([hit.lines.0, hit.lines.1]));
    put("kind", hit.kind.as_str().into());
    put("symbol", hit.symbol.map(lore_model::SymbolKind::as_str).into());
    put("name", hit.name.clone().into());
    put("container", hit.container.clone().into());
    put("part", hit.part.map_or(Value::Null, |(part, of)| json!([part, of])));
    put("language", hit.language.as_str().into());
    put("role", hit.role.as_str().into());
    put("uncommitted", hit.uncommitted.into());
    put("score", rounded(hit.score));
    put("title", hit.title.as_str().into());
    put("id", hit.id.as_str().into());
    put("tags", hit.tags.clone().into());
    put("text", hit.snippet.text.as_str().into());
    put("text_lines", json!([hit.snippet.first_line, hit.snippet.last_line]));
    put("text_cut", hit.snippet.cut.into());
    put("also_at", hit.also_at.iter().map(|path| path.to_text().into_owned()).collect::<Vec<_>>().into());
    put("also_at_more", hit.also_at_more.into());
    if hit.other_versions > 0 {
        put("other_versions", hit.other_versions.into());
    }
    put("past", hit.told.as_deref().map(past::told_json).into());
    if explain {
        put("explanation", explanation(&hit.explanation));
    }
    Value::Object(object)
}

fn explanation(why: &Explanation) -> Value {
    json!({
        "text": rounded(why.text),
        "meaning": rounded(why.meaning),
        "cosine": why.cosine.map(rounded),
        "second_cosine": why.second.map(rounded),
        "matched": why.matched,
        "rules": why.rules.iter().map(|(rule, effect)| match effect {
            Effect::Adds(value) => json!({"rule": rule, "adds": rounded(*value)}),
            Effect::Times(factor) => json!({"rule": rule, "times": rounded(*factor)}),
        }).collect::<Vec<_>>(),
    })
}

pub(super) fn freshness(fresh: &CodeFreshness) -> Value {
    json!({
        "repo": fresh.repo,
        "state": fresh.state.as_str(),
        "commit": fresh.commit.map(|commit| commit.to_hex()),
        "indexed_at": fresh.indexed_at,
        "uncommitted": fresh.uncommitted,
        "uncommitted_error": fresh.uncommitted_error,
        "ignore_error": fresh.ignore_error,
    })
}

/// Four digits say all that a score can.
fn rounded(value: f32) -> Value {
    ((f64::from(value) * 1e4).round() / 1e4).into()
}
