//! What is printed of a measurement.

use std::time::Duration;

use lore_bench::{Outcome, Score, Times, Way, difference, estimate, grid, median};
use lore_model::Failure;
use serde_json::{Value, json};

use super::{Kind, Measured, ask::Asked, ask::ways};
use crate::{
    commands::{Context, sync::count},
    ui::{BOLD, DIM},
};

/// A number for each question in one way.
type Measure = fn(&Score) -> f64;

const NDCG: Measure = |score| score.ndcg;
const MRR: Measure = |score| score.reciprocal;

/// What the figures mean.
const ABOUT_COMMITS: &str = "Each question is the subject of a commit; right are the files that it changed, searched as they were before it. \
Subjects name things that nobody would ask for, so the figures are low: compare the rows, and repositories only with themselves.";
const ABOUT_DOCUMENTS: &str = "Headings of sections ask, put as one would ask for them: right are the lines of the section. So do subjects of commits \
that changed documents only: right are the files that they changed, searched as they were before.";
const ABOUT_FIGURES: &str = "NDCG@10 is 1 where everything right comes first and 0 where nothing right is among the first ten files; MRR@10 is one \
divided by the rank of the first right file. A difference is more than chance where its interval (95 %, by drawing the questions 2,000 \
times) does not hold 0. Tokens are those that an agent reads of the answer of `cortex_search` up to the end of the first right result \
(as `--max-tokens` counts them, the median).";

pub(super) fn print(context: &Context<'_>, measured: &Measured) -> Result<(), Failure> {
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&as_json(context.lore.search.query.model(), measured));
    }
    let asked = measured.asked.len();
    let of = if asked < measured.planned {
        format!(" (interrupted; {} were planned)", measured.planned)
    } else {
        String::new()
    };
    let from = match measured.kind {
        Kind::Commits => "from the history",
        Kind::Documents => "about the documents",
    };
    ui.line(&ui.paint(BOLD, &format!("{} {from} of {}{of}", count(asked as u64, "question"), measured.name)))?;
    if measured.shallow {
        ui.note("note: it is a shallow clone; older commits are not there and could not ask");
    }
    ui.line("")?;
    ui.line(&table(measured))?;
    ui.line("")?;
    ui.line(&found_line(measured))?;
    if measured.kind == Kind::Documents {
        for (category, name) in [("section", "sections"), ("commit", "commits")] {
            if let Some(line) = outcomes_line(measured, category, name) {
                ui.line(&line)?;
            }
        }
    }
    let about = if measured.kind == Kind::Commits { ABOUT_COMMITS } else { ABOUT_DOCUMENTS };
    ui.line("")?;
    for line in wrapped(&format!("{about} {ABOUT_FIGURES}"), 100) {
        ui.line(&ui.paint(DIM, &line))?;
    }
    Ok(())
}

/// The current settings first.
fn shown_ways() -> Vec<(usize, &'static Way)> {
    ways().enumerate().collect::<Vec<_>>().into_iter().rev().collect()
}

fn current() -> usize {
    ways().count() - 1
}

fn values(asked: &[Asked], way: usize, measure: Measure) -> Vec<Vec<f64>> {
    vec![asked.iter().map(|asked| measure(&asked.answers[way].score)).collect()]
}

/// The times of one way.
fn times(asked: &[Asked], way: usize) -> Times {
    Times::new(asked.iter().map(|asked| asked.answers[way].took).collect())
}

/// Tokens of those questions that found something right, or of the others.
fn tokens(asked: &[Asked], way: usize, found: bool) -> Vec<usize> {
    let readings = asked.iter().map(|asked| asked.answers[way].reading);
    readings.filter(|reading| reading.found == found).map(|reading| reading.tokens).collect()
}

fn table(measured: &Measured) -> String {
    let asked = &measured.asked;
    let head = ["", "NDCG@10", "to current, 95 %", "MRR@10", "p50 ms", "p95 ms", "tokens to first right"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (way, about) in shown_ways() {
        let (ndcg, mrr) = (estimate(&values(asked, way, NDCG)), estimate(&values(asked, way, MRR)));
        let differs = if way == current() {
            format!("[{:.3}, {:.3}] itself", ndcg.low, ndcg.high)
        } else {
            let than = difference(&values(asked, way, NDCG), &values(asked, current(), NDCG));
            format!("{:+.3} [{:+.3}, {:+.3}]", than.mean, than.low, than.high)
        };
        let times = times(asked, way);
        let tokens = median(&tokens(asked, way, true)).map_or_else(|| "–".to_owned(), |tokens| tokens.to_string());
        rows.push(vec![
            about.about.unwrap_or(about.name).to_owned(),
            format!("{:.3}", ndcg.mean),
            differs,
            format!("{:.3}", mrr.mean),
            milliseconds(times.percentile(50)),
            milliseconds(times.percentile(95)),
            tokens,
        ]);
    }
    grid(&rows)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

/// How many questions had a right file in the answer that an agent gets.
fn found_line(measured: &Measured) -> String {
    let (found, lost) = (tokens(&measured.asked, current(), true), tokens(&measured.asked, current(), false));
    let all = found.len() + lost.len();
    let mut line = format!("With the current settings, {} of {all} answers held something right", found.len());
    if let Some(tokens) = median(&lost) {
        line = format!("{line}; the others cost {tokens} tokens each (median) in vain");
    }
    line + "."
}

fn outcome_counts<'a>(asked: impl Iterator<Item = &'a Asked>) -> [(&'static str, usize); 5] {
    Outcome::counts(asked.map(|asked| asked.answers[current()].score.outcome))
}

fn of_category<'a>(measured: &'a Measured, category: &'a str) -> impl Iterator<Item = &'a Asked> {
    measured.asked.iter().filter(move |asked| asked.question.category == category)
}

/// What stood before what is right, for people.
fn outcomes_line(measured: &Measured, category: &str, name: &str) -> Option<String> {
    let all: Vec<Vec<f64>> = [NDCG, MRR]
        .map(|measure| of_category(measured, category).map(|asked| measure(&asked.answers[current()].score)).collect())
        .to_vec();
    let count = all[0].len();
    if count == 0 {
        return None;
    }
    let [ndcg, mrr] = [&all[0], &all[1]].map(|values| estimate(std::slice::from_ref(values)).mean);
    let [first, code, documents, both, lost] = outcome_counts(of_category(measured, category)).map(|(_, count)| count);
    Some(format!(
        "{count} questions from {name}: NDCG@10 {ndcg:.3}, MRR@10 {mrr:.3}. What is right came first in {first}; before it stood only \
         code in {code}, only other documents in {documents}, both in {both}; {lost} did not have it among ten files."
    ))
}

fn as_json(model: &str, measured: &Measured) -> Value {
    let asked = &measured.asked;
    let way_json = |(way, about): (usize, &Way)| {
        let times = times(asked, way);
        let time = |percent: usize| u64::try_from(times.percentile(percent).as_micros()).unwrap_or(u64::MAX);
        let than = |measure: Measure| {
            (way != current())
                .then(|| difference(&values(asked, way, measure), &values(asked, current(), measure)).as_json())
        };
        json!({
            "name": about.about.unwrap_or(about.name),
            "parts": about.parts,
            "ndcg_at_10": estimate(&values(asked, way, NDCG)).as_json(),
            "mrr_at_10": estimate(&values(asked, way, MRR)).as_json(),
            "ndcg_at_10_to_current": than(NDCG),
            "mrr_at_10_to_current": than(MRR),
            "p50_us": time(50),
            "p95_us": time(95),
            "tokens_to_first_right": median(&tokens(asked, way, true)),
            "answers_with_something_right": tokens(asked, way, true).len(),
            "tokens_of_answers_without": median(&tokens(asked, way, false)),
        })
    };
    let question = |asked: &Asked| {
        let score = &asked.answers[current()].score;
        json!({
            "query": asked.question.query,
            "kind": if asked.question.category.is_empty() { "commit" } else { asked.question.category.as_str() },
            "right": asked.question.relevant.iter().map(|target| json!({"path": target.path, "lines": target.lines})).collect::<Vec<_>>(),
            "ranks": score.ranks,
            "ndcg_at_10": (score.ndcg * 1e4).round() / 1e4,
        })
    };
    let outcomes = |category: &str| -> Value {
        let counts = outcome_counts(of_category(measured, category));
        serde_json::Map::from_iter(counts.map(|(name, count)| (name.to_owned(), Value::from(count)))).into()
    };
    let mut value = json!({
        "repo": measured.name,
        "about": match measured.kind { Kind::Commits => "commits", Kind::Documents => "documents" },
        "model": model,
        "planned": measured.planned,
        "asked": asked.len(),
        "shallow": measured.shallow,
        "ways": shown_ways().into_iter().map(way_json).collect::<Vec<_>>(),
        "questions": asked.iter().map(question).collect::<Vec<_>>(),
    });
    if measured.kind == Kind::Documents {
        value["outcomes"] = json!({"sections": outcomes("section"), "commits": outcomes("commit")});
    }
    value
}

/// A text in lines of at most so many characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_settings_come_first() {
        let shown = shown_ways();
        assert_eq!(shown[0].1.name, lore_bench::ALL);
        assert_eq!(shown[0].0, current());
        assert!(shown.len() < lore_bench::WAYS.len(), "some are for those who change the ranking");
    }

    #[test]
    fn lines_are_wrapped_at_words() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
    }
}
