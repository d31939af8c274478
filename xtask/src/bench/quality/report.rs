//! What is printed and written of a run.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::{
    super::{
        bootstrap::{Estimate, difference, estimate},
        table::grid,
    },
    Answered, Answers,
    ask::Asked,
    metric::{DEPTH, Outcome, Score},
    with::{all_column, no_model_column},
};

/// How many changed questions are shown.
const SHOWN: usize = 30;

/// Questions that are looked at together.
pub(crate) struct Group<'a> {
    pub(crate) name: String,
    /// The questions of each set; every set counts the same.
    pub(crate) sets: Vec<Vec<&'a Asked>>,
    /// Whether they ask for documents.
    pub(crate) documents: bool,
}

impl<'a> Group<'a> {
    pub(crate) fn of(set: &'a Answered) -> Self {
        Self { name: set.name.clone(), sets: vec![set.asked.iter().collect()], documents: false }
    }

    fn asked(&self) -> impl Iterator<Item = &'a Asked> {
        self.sets.iter().flatten().copied()
    }

    /// The numbers of a column; none where it was not asked all of the questions.
    fn values(&self, column: usize, measure: Measure) -> Option<Vec<Vec<f64>>> {
        let of = |asked: &&Asked| asked.scores.get(column)?.as_ref().map(measure);
        self.sets.iter().map(|set| set.iter().map(of).collect()).collect()
    }

    fn estimate(&self, column: usize, measure: Measure) -> Option<Estimate> {
        self.values(column, measure).map(|values| estimate(&values))
    }

    /// What a column has more than another.
    fn difference(&self, of: usize, than: usize, measure: Measure) -> Option<Estimate> {
        Some(difference(&self.values(of, measure)?, &self.values(than, measure)?))
    }
}

/// A number for each question in each column.
type Measure = fn(&Score) -> f64;

const MEASURES: [(&str, Measure); 3] = [
    ("NDCG@10", |score| score.ndcg),
    ("NDCG@10 of results", |score| score.shown),
    ("MRR@10", |score| score.reciprocal),
];

/// Everything that was measured.
pub(crate) struct Report<'a> {
    pub(crate) columns: Vec<String>,
    pub(crate) groups: Vec<Group<'a>>,
}

impl Report<'_> {
    /// For each measure the figures and what the columns have more or less than all parts; then what beat documents.
    pub(crate) fn text(&self) -> String {
        let mut tables = Vec::new();
        for (name, measure) in MEASURES {
            tables.push(self.figures(name, measure));
            tables.push(self.differences(name, measure));
        }
        tables.extend(self.outcomes());
        tables.join("\n\n")
    }

    fn figures(&self, name: &str, measure: Measure) -> String {
        let mut rows = vec![Self::head(name, self.columns.clone())];
        rows.extend(self.groups.iter().map(|group| {
            let cell = |column: usize| group.estimate(column, measure).map_or_else(String::new, figure);
            row(group, (0..self.columns.len()).map(cell))
        }));
        grid(&rows)
    }

    fn differences(&self, name: &str, measure: Measure) -> String {
        let all = all_column();
        let others: Vec<usize> = (0..self.columns.len()).filter(|column| *column != all).collect();
        let mut names: Vec<String> = others.iter().map(|column| format!("{} − all", self.columns[*column])).collect();
        names.push(format!("all − {}", self.columns[no_model_column()]));
        let mut rows = vec![Self::head(&format!("{name}, differences"), names)];
        rows.extend(self.groups.iter().map(|group| {
            let cell = |estimate: Option<Estimate>| estimate.map_or_else(String::new, change);
            let cells = others.iter().map(|column| cell(group.difference(*column, all, measure)));
            row(group, cells.chain([cell(group.difference(all, no_model_column(), measure))]))
        }));
        grid(&rows)
    }

    fn head(name: &str, columns: Vec<String>) -> Vec<String> {
        [name.to_owned(), "questions".to_owned()].into_iter().chain(columns).collect()
    }

    /// What stood before the right document, with all parts.
    fn outcomes(&self) -> Option<String> {
        let names =
            ["right document", "questions", "first", "beaten by code", "by documents", "by both", "not among ten"];
        let mut rows = vec![names.map(str::to_owned).to_vec()];
        for group in self.groups.iter().filter(|group| group.documents) {
            let counts = outcomes(group.asked());
            rows.push(row(group, counts.into_iter().map(|(_, count)| count.to_string())));
        }
        (rows.len() > 1).then(|| grid(&rows))
    }

    /// The same for programs.
    pub(crate) fn as_json(&self) -> Value {
        let group = |group: &Group<'_>| {
            let column = |column: usize| {
                let values = MEASURES.map(|(name, measure)| {
                    let difference = group.difference(column, all_column(), measure);
                    let value = group.estimate(column, measure).map(|estimate| {
                        let [figure, to_all] =
                            [Some(estimate), difference].map(|one| one.map(|estimate| estimate.as_json()));
                        json!({"figure": figure, "to_all": to_all})
                    });
                    (name.to_owned(), value.unwrap_or_default())
                });
                (self.columns[column].clone(), Value::Object(values.into_iter().collect()))
            };
            let columns: Map<String, Value> = (0..self.columns.len()).map(column).collect();
            let mut value = json!({"name": group.name, "questions": group.asked().count(), "columns": columns});
            if group.documents {
                let counts = outcomes(group.asked()).map(|(name, count)| (name.to_owned(), Value::from(count)));
                value["outcomes"] = Map::from_iter(counts).into();
            }
            value
        };
        self.groups.iter().map(group).collect()
    }
}

/// The mean of results' NDCG@10 of each group with all parts, and that of the last column where it is a peer's.
pub(crate) fn answers(groups: &[Group<'_>], last: usize, is_peer: bool) -> Vec<Answers> {
    let (_, measure) = MEASURES[1];
    let answer = |group: &Group<'_>| {
        Some(Answers {
            set: group.name.clone(),
            questions: group.asked().count(),
            ndcg: group.estimate(all_column(), measure)?.mean,
            peer: group.estimate(last, measure).filter(|_| is_peer).map(|estimate| estimate.mean),
        })
    };
    groups.iter().filter_map(answer).collect()
}

fn row(group: &Group<'_>, cells: impl Iterator<Item = String>) -> Vec<String> {
    [group.name.clone(), group.asked().count().to_string()].into_iter().chain(cells).collect()
}

fn figure(of: Estimate) -> String {
    format!("{:.3} [{:.2}, {:.2}]", of.mean, of.low, of.high)
}

/// A star says that it is more than chance.
fn change(of: Estimate) -> String {
    format!("{:+.3} [{:+.3}, {:+.3}]{}", of.mean, of.low, of.high, if of.is_clear() { "*" } else { "" })
}

/// What came first, with all parts.
fn outcomes<'a>(asked: impl Iterator<Item = &'a Asked>) -> [(&'static str, usize); 5] {
    Outcome::counts(asked.filter_map(|asked| Some(asked.scores.get(all_column())?.as_ref()?.outcome)))
}

/// Writes a line for each question, so that two runs can be compared.
pub(crate) fn dump(all: &[&Asked], columns: &[String], file: &Path) -> Result<()> {
    let line = |asked: &&Asked| {
        let ways = asked.scores.iter().zip(columns).filter_map(|(score, name)| {
            let score = score.as_ref()?;
            Some((name.clone(), json!({"ndcg": rounded(score.ndcg), "ranks": score.ranks, "files": score.files})))
        });
        json!({
            "set": asked.set,
            "query": asked.question.query,
            "category": asked.question.category,
            "relevant": asked.question.relevant.iter().map(|target| &target.path).collect::<Vec<_>>(),
            "ways": ways.collect::<Map<_, _>>(),
            "tokens": asked.tokens.as_ref().map(|tokens| tokens.read.tokens),
        })
        .to_string()
    };
    let lines: Vec<String> = all.iter().map(line).collect();
    fs::write(file, lines.join("\n") + "\n").with_context(|| format!("cannot write {}", file.display()))
}

/// Says which questions are answered better or worse than in a run that was dumped.
pub(crate) fn compare(all: &[&Asked], file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut before: HashMap<(String, String), f64> = HashMap::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line)?;
        let part = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        if let Some(ndcg) = value["ways"]["all"]["ndcg"].as_f64() {
            before.insert((part("set"), part("query")), ndcg);
        }
    }
    let changed = |asked: &&Asked| {
        let before = *before.get(&(asked.set.clone(), asked.question.query.clone()))?;
        let change = rounded(asked.scores.get(all_column())?.as_ref()?.ndcg) - before;
        (change.abs() > 1e-9).then(|| (change, asked.set.clone(), asked.question.query.clone()))
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

#[cfg(test)]
mod tests {
    use super::{
        super::{
            metric::{Found, Question, Target, score},
            ways::WAYS,
        },
        *,
    };

    /// A question whose right file comes at these ranks, one for each column; 0 for a column that was not asked.
    fn asked(set: &str, query: &str, ranks: &[usize]) -> Asked {
        let relevant = vec![Target { path: "right.md".to_owned(), lines: None }];
        let question = Question { query: query.to_owned(), category: String::new(), relevant };
        let found = |path: String| Found { path, also_at: Vec::new(), lines: (1, 1) };
        let scored = |rank: &usize| {
            let before = (1..*rank).map(|number| found(format!("{number}.rs")));
            let results: Vec<Found> = before.chain([found("right.md".to_owned())]).collect();
            (*rank > 0).then(|| score(&results, &question))
        };
        Asked {
            set: set.to_owned(),
            scores: ranks.iter().map(scored).collect(),
            question: question.clone(),
            tokens: None,
        }
    }

    fn ranks(all: usize, peer: usize) -> Vec<usize> {
        WAYS.iter().map(|_| all).chain([peer]).collect()
    }

    #[test]
    fn a_column_without_all_answers_has_no_figure() {
        let one = asked("a", "x", &ranks(1, 2));
        let two = asked("a", "y", &ranks(2, 0));
        let columns: Vec<String> = WAYS.iter().map(|way| way.name.to_owned()).chain(["peer".to_owned()]).collect();
        let report = |set| {
            let group = Group { name: "g".to_owned(), sets: vec![set], documents: true };
            Report { columns: columns.clone(), groups: vec![group] }
        };
        let (whole, partly) = (report(vec![&one]), report(vec![&one, &two]));
        assert_eq!(whole.as_json()[0]["columns"]["peer"]["MRR@10"]["figure"]["mean"], 0.5);
        assert_eq!(whole.as_json()[0]["columns"]["peer"]["MRR@10"]["to_all"]["mean"], -0.5);
        assert!(partly.as_json()[0]["columns"]["peer"]["MRR@10"].is_null());
        assert_eq!(partly.as_json()[0]["columns"]["all"]["MRR@10"]["figure"]["mean"], 0.75);
        assert_eq!(partly.as_json()[0]["outcomes"]["beaten_by_code"], 1);
        let text = whole.text();
        assert!(text.contains("-0.500 [-0.500, -0.500]*"), "{text}");
        assert!(text.contains("right document"), "{text}");
    }

    #[test]
    fn every_repository_counts_the_same() {
        let (a, b) = (asked("a", "x", &ranks(1, 1)), asked("b", "y", &ranks(2, 1)));
        let group = Group { name: String::new(), sets: vec![vec![&a, &a, &a], vec![&b]], documents: false };
        assert!((group.estimate(0, MEASURES[2].1).unwrap().mean - 0.75).abs() < 1e-9);
    }

    #[test]
    fn a_run_is_compared_with_what_was_dumped() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("dump");
        let columns: Vec<String> = WAYS.iter().map(|way| way.name.to_owned()).collect();
        let (before, same) = (asked("a", "x", &ranks(2, 0)), asked("a", "y", &ranks(1, 0)));
        dump(&[&before, &same], &columns, &file).unwrap();
        let now = asked("a", "x", &ranks(1, 0));
        let told = compare(&[&now, &same], &file).unwrap();
        assert_eq!(told, "1 questions are answered better than before, 0 worse (NDCG@10, all parts)\n  +0.369  a  x");
    }
}
