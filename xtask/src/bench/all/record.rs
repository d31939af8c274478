//! What a run measured, as `docs/benchmarks.json` keeps it: the pages are made from this and from nothing else.

use serde::{Deserialize, Serialize};

use super::super::table::{Figure, shown};

/// More processors than this in the hands of others, and a part's figures are not fair.
pub(crate) const OTHERS: f64 = 0.15;

/// One run of everything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The day, in UTC.
    pub(crate) date: String,
    /// What to type, with the names of files instead of their paths.
    pub(crate) command: String,
    /// Whether it was only tried at small sizes.
    pub(crate) quick: bool,
    pub(crate) machine: Machine,
    /// What was measured: its version and commit.
    pub(crate) lore: String,
    /// What it was compared with.
    pub(crate) peers: Vec<Peer>,
    pub(crate) parts: Vec<Part>,
}

/// Where it was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gb: f64,
    pub(crate) system: String,
    /// The load average before the first part.
    pub(crate) load: Option<f64>,
}

/// Another program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// Its version and how it was used; or why it was not.
    pub(crate) about: String,
}

/// Figures that were taken one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Which kind of part: what a page picks its figures by.
    pub(crate) kind: Kind,
    pub(crate) title: String,
    /// What was done, in a sentence or two.
    pub(crate) about: String,
    pub(crate) seconds: f64,
    pub(crate) load_before: Option<f64>,
    pub(crate) load_after: Option<f64>,
    /// How many processors others used meanwhile.
    pub(crate) others: Option<f64>,
    pub(crate) rows: Vec<Row>,
}

/// The kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    History,
    Code,
    Lines,
    Quality,
    Server,
    Growth,
    Large,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Better {
    #[default]
    Less,
    More,
}

/// One figure.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// Nothing where it was not measured; `note` says why.
    pub(crate) lore: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Reference>,
    /// The 95 % interval of the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "is_less")]
    pub(crate) better: Better,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) met: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_less(better: &Better) -> bool {
    *better == Better::Less
}

/// What a figure is compared with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) value: f64,
}

impl From<&Figure> for Row {
    fn from(figure: &Figure) -> Self {
        let reference = figure.reference.map(|(name, value)| Reference { name: name.to_owned(), value: kept(value) });
        Self {
            name: figure.name.to_owned(),
            unit: figure.unit.to_owned(),
            lore: Some(kept(figure.measured)),
            reference,
            interval: None,
            better: Better::Less,
            aim: Some(figure.aim_text()).filter(|text| !text.is_empty()),
            met: figure.is_met(),
            note: None,
        }
    }
}

impl Row {
    /// A figure against another one.
    pub(crate) fn against(name: &str, unit: &str, lore: f64, reference: (&str, f64)) -> Self {
        let reference = Reference { name: reference.0.to_owned(), value: kept(reference.1) };
        Self { reference: Some(reference), ..Self::alone(name, unit, lore) }
    }

    /// A figure that nothing is compared with.
    pub(crate) fn alone(name: &str, unit: &str, lore: f64) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), lore: Some(kept(lore)), ..Self::default() }
    }

    /// The same with the interval of its ratio.
    pub(crate) fn within(self, interval: [f64; 2]) -> Self {
        Self { interval: Some(interval.map(kept)), ..self }
    }

    /// What was not measured, and why.
    pub(crate) fn missing(name: &str, why: &str) -> Self {
        Self { name: name.to_owned(), note: Some(why.to_owned()), ..Self::default() }
    }

    /// Lore's figure divided by the other.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let reference = self.reference.as_ref().filter(|reference| reference.value > 0.0)?;
        Some(self.lore? / reference.value)
    }

    /// Whether it is behind what it is compared with; where there is an interval, all of it has to be. Counts have no unit, and
    /// more of them is neither better nor worse.
    pub(crate) fn is_behind(&self) -> bool {
        let [low, high] = self.interval.unwrap_or([self.ratio().unwrap_or(1.0); 2]);
        match self.better {
            Better::Less => low > 1.0 && !self.unit.is_empty(),
            Better::More => high < 1.0,
        }
    }

    /// Name, ratio, figure, reference, aim, and what is to be said about it.
    pub(crate) fn cells(&self) -> [String; 6] {
        let with_unit = |value: f64| format!("{} {}", shown(value), self.unit).trim_end().to_owned();
        let interval =
            self.interval.map(|[low, high]| format!(" [{}, {}]", shown(low), shown(high))).unwrap_or_default();
        let verdict = match (self.met, &self.note) {
            (Some(true), None) => "met".to_owned(),
            (Some(false), None) => "missed".to_owned(),
            (None, None) => String::new(),
            (Some(met), Some(note)) => format!("{}; {note}", if met { "met" } else { "missed" }),
            (None, Some(note)) => note.clone(),
        };
        [
            self.name.clone(),
            self.ratio().map(|ratio| format!("{}×{interval}", shown(ratio))).unwrap_or_default(),
            self.lore.map(with_unit).unwrap_or_default(),
            self.reference
                .as_ref()
                .map(|reference| format!("{} ({})", with_unit(reference.value), reference.name))
                .unwrap_or_default(),
            self.aim.clone().unwrap_or_default(),
            verdict,
        ]
    }
}

/// The names of [`Row::cells`].
pub(crate) const HEAD: [&str; 6] = ["", "ratio", "Lore", "against", "aim", ""];

impl Part {
    /// A sentence where somebody else was using the machine.
    pub(crate) fn busy(&self) -> Option<String> {
        let others = self.others.filter(|others| *others > OTHERS)?;
        Some(format!("The machine was not quiet: others used {} processors meanwhile.", shown(others)))
    }
}

/// As many digits as are ever shown, and one more.
fn kept(value: f64) -> f64 {
    let text = format!("{value:.3e}");
    text.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::{super::super::table::Aim, *};

    #[test]
    fn a_row_says_the_ratio_first() {
        let figure = Figure {
            name: "sync",
            unit: "s",
            measured: 1.8,
            reference: Some(("git", 2.25)),
            aim: Aim::RatioAtMost(0.9),
        };
        let row = Row::from(&figure);
        assert_eq!(row.cells(), ["sync", "0.800×", "1.80 s", "2.25 s (git)", "≤ 0.9×", "met"]);
        assert!(!row.is_behind());
    }

    #[test]
    fn what_was_not_measured_stays_in_the_table() {
        let row = Row::missing("against probe", "not measured: no peer given");
        assert_eq!(row.cells(), ["against probe", "", "", "", "", "not measured: no peer given"]);
        assert!(!row.is_behind());
    }

    #[test]
    fn behind_depends_on_which_way_is_better() {
        let quality = Row { better: Better::More, ..Row::against("NDCG@10", "", 0.8, ("semble", 0.9)) };
        assert!(quality.is_behind());
        assert!(!Row::against("time", "s", 0.8, ("semble", 0.9)).is_behind());
        assert!(Row::against("time", "s", 0.95, ("semble", 0.9)).is_behind());
        assert!(!Row::against("time", "s", 0.95, ("semble", 0.0)).is_behind());
        assert!(!Row::against("files", "", 3.0, ("semble", 2.0)).is_behind());
        let interval = |low| Row { interval: Some([low, 1.3]), ..Row::against("time", "s", 1.1, ("baseline", 1.0)) };
        assert!(interval(1.02).is_behind() && !interval(0.98).is_behind());
        assert_eq!(interval(0.98).cells()[1], "1.10× [0.980, 1.30]");
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = Row { better: Better::More, ..Row::against("NDCG@10", "", 0.123_456_789, ("semble", 12_345.678)) };
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains("0.1235") && text.contains("12350"), "{text}");
        let read: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(read.cells(), row.cells());
        assert_eq!(read.better, Better::More);
    }
}
