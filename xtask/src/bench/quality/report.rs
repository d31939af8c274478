//! What is printed and written of a run.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    super::table::grid,
    ask::{Asked, DEPTH, Score, WAYS},
    metric::mean,
};

/// How many changed questions are shown.
const SHOWN: usize = 30;

/// Questions that are looked at together.
pub(crate) struct Group<'a> {
    pub(crate) name: String,
    pub(crate) asked: Vec<&'a Asked>,
}

/// A number for each question in each way.
type Measure = fn(&Score) -> f64;

const MEASURES: [(&str, Measure); 3] =
    [("NDCG@10", |score| score.ndcg), ("NDCG@10 of results", |score| score.shown), ("MRR", |score| score.reciprocal)];

/// One table for each measure: a row for each group, a column for each way.
pub(crate) fn tables(groups: &[Group<'_>]) -> String {
    let table = |(name, measure): (&str, Measure)| {
        let head = [name, "questions"].into_iter().chain(WAYS.map(|(_, name)| name));
        let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).collect()];
        rows.extend(groups.iter().map(|group| {
            let cells = (0..WAYS.len()).map(|way| format!("{:.3}", of(group, way, measure)));
            [group.name.clone(), group.asked.len().to_string()].into_iter().chain(cells).collect()
        }));
        grid(&rows)
    };
    MEASURES.map(table).join("\n\n")
}

/// The same for programs.
pub(crate) fn as_json(groups: &[Group<'_>]) -> Value {
    let group = |group: &Group<'_>| {
        let way = |way: usize| {
            let values = MEASURES.map(|(name, measure)| (name.to_owned(), of(group, way, measure).into()));
            (WAYS[way].0.to_owned(), Value::Object(values.into_iter().collect()))
        };
        let ways: serde_json::Map<String, Value> = (0..WAYS.len()).map(way).collect();
        json!({"name": group.name, "questions": group.asked.len(), "ways": ways})
    };
    groups.iter().map(group).collect()
}

fn of(group: &Group<'_>, way: usize, measure: Measure) -> f64 {
    mean(group.asked.iter().map(|asked| measure(&asked.scores[way])))
}

/// Writes a line for each question, so that two runs can be compared.
pub(crate) fn dump(all: &[Asked], file: &Path) -> Result<()> {
    let line = |asked: &Asked| {
        let ways = asked.scores.iter().zip(WAYS).map(|(score, (way, _))| {
            (way.to_owned(), json!({"ndcg": rounded(score.ndcg), "ranks": score.ranks, "files": score.files}))
        });
        json!({
            "set": asked.set,
            "query": asked.question.query,
            "category": asked.question.category,
            "relevant": asked.question.relevant.iter().map(|target| &target.path).collect::<Vec<_>>(),
            "ways": ways.collect::<serde_json::Map<_, _>>(),
        })
        .to_string()
    };
    let lines: Vec<String> = all.iter().map(line).collect();
    fs::write(file, lines.join("\n") + "\n").with_context(|| format!("cannot write {}", file.display()))
}

/// Says which questions are answered better or worse than in a run that was dumped.
pub(crate) fn compare(all: &[Asked], file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut before: HashMap<(String, String), f64> = HashMap::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line)?;
        let part = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        if let Some(ndcg) = value["ways"]["all"]["ndcg"].as_f64() {
            before.insert((part("set"), part("query")), ndcg);
        }
    }
    let now = |asked: &Asked| asked.scores.last().map_or(0.0, |score| rounded(score.ndcg));
    let changed = |asked: &Asked| {
        let before = *before.get(&(asked.set.clone(), asked.question.query.clone()))?;
        (now(asked) - before)
            .abs()
            .gt(&1e-9)
            .then(|| (now(asked) - before, asked.set.clone(), asked.question.query.clone()))
    };
    let mut changes: Vec<(f64, String, String)> = all.iter().filter_map(changed).collect();
    changes.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let better = changes.iter().filter(|change| change.0 > 0.0).count();
    let head = format!(
        "{better} questions are answered better than before, {} worse (NDCG@{DEPTH}, all parts)",
        changes.len() - better
    );
    let lines = changes.iter().take(SHOWN).map(|(change, set, query)| format!("  {change:+.3}  {set}  {query}"));
    Ok(std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n"))
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
