//! The table that a benchmark prints: measured, reference, ratio, aim and verdict; and the same as JSON.

use serde_json::{Value, json};

/// What a figure is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    /// Nothing is promised.
    None,
    /// The measured value itself.
    AtMost(f64),
    /// The measured value itself.
    AtLeast(f64),
    /// The measured value divided by the reference.
    RatioAtMost(f64),
    /// The reference divided by the measured value.
    TimesFaster(f64),
}

/// One line.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) measured: f64,
    /// What it is compared with, and its value.
    pub(crate) reference: Option<(&'static str, f64)>,
    pub(crate) aim: Aim,
}

impl Figure {
    fn ratio(&self) -> Option<f64> {
        self.reference.map(|(_, value)| self.measured / value)
    }

    pub(crate) fn aim_text(&self) -> String {
        match self.aim {
            Aim::None => String::new(),
            Aim::AtMost(most) => format!("≤ {} {}", shown(most), self.unit).trim_end().to_owned(),
            Aim::AtLeast(least) => format!("≥ {} {}", shown(least), self.unit).trim_end().to_owned(),
            Aim::RatioAtMost(most) => format!("≤ {most}×"),
            Aim::TimesFaster(least) => format!("≥ {least}× faster"),
        }
    }

    /// Whether the aim is met; nothing where there is none.
    pub(crate) fn is_met(&self) -> Option<bool> {
        match self.aim {
            Aim::None => None,
            Aim::AtMost(most) => Some(self.measured <= most),
            Aim::AtLeast(least) => Some(self.measured >= least),
            Aim::RatioAtMost(most) => self.ratio().map(|ratio| ratio <= most),
            Aim::TimesFaster(least) => self.reference.map(|(_, value)| value / self.measured >= least),
        }
    }

    fn cells(&self) -> [String; 6] {
        let with_unit = |value: f64| format!("{} {}", shown(value), self.unit);
        [
            self.name.to_owned(),
            with_unit(self.measured),
            self.reference.map(|(name, value)| format!("{} ({name})", with_unit(value))).unwrap_or_default(),
            self.ratio().map(|ratio| format!("{}×", shown(ratio))).unwrap_or_default(),
            self.aim_text(),
            match self.is_met() {
                None => String::new(),
                Some(true) => "met".to_owned(),
                Some(false) => "MISSED".to_owned(),
            },
        ]
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit,
            "measured": self.measured,
            "reference": self.reference.map(|(name, value)| json!({"name": name, "value": value})),
            "ratio": self.ratio(),
            "aim": Some(self.aim_text()).filter(|text| !text.is_empty()),
            "met": self.is_met(),
        })
    }
}

/// Three digits that mean something.
pub(crate) fn shown(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// All figures, in columns.
pub(crate) fn render(figures: &[Figure]) -> String {
    let head = ["", "measured", "reference", "ratio", "aim", "verdict"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> =
        std::iter::once(head).chain(figures.iter().map(|figure| figure.cells().to_vec())).collect();
    grid(&rows)
}

/// Rows in columns that are as wide as they need to be.
pub(crate) fn grid(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_aims() {
        let figure = |measured, reference: Option<f64>, aim| {
            Figure { name: "x", unit: "s", measured, reference: reference.map(|value| ("git", value)), aim }.is_met()
        };
        assert_eq!(figure(2.0, Some(4.0), Aim::RatioAtMost(0.5)), Some(true));
        assert_eq!(figure(2.1, Some(4.0), Aim::RatioAtMost(0.5)), Some(false));
        assert_eq!(figure(2.0, Some(20.0), Aim::TimesFaster(10.0)), Some(true));
        assert_eq!(figure(2.0, Some(19.0), Aim::TimesFaster(10.0)), Some(false));
        assert_eq!(figure(2.0, None, Aim::AtMost(2.0)), Some(true));
        assert_eq!(figure(2.0, None, Aim::TimesFaster(10.0)), None);
        assert_eq!(figure(2.0, Some(1.0), Aim::None), None);
    }

    #[test]
    fn columns_are_aligned() {
        let figures = [
            Figure {
                name: "sync, wall",
                unit: "s",
                measured: 2.0,
                reference: Some(("git", 4.0)),
                aim: Aim::RatioAtMost(0.9),
            },
            Figure { name: "peak memory", unit: "MB", measured: 123.4, reference: None, aim: Aim::None },
        ];
        let expected = "             measured  reference     ratio   aim     verdict\n\
                        sync, wall   2.00 s    4.00 s (git)  0.500×  ≤ 0.9×  met\n\
                        peak memory  123 MB";
        assert_eq!(render(&figures), expected);
    }

    #[test]
    fn columns_of_any_rows_are_aligned() {
        let rows = [vec!["a", "bb", "c"], vec!["ää", "b"], vec!["", "", "c"]];
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        assert_eq!(grid(&rows), "a   bb  c\nää  b\n        c");
        assert_eq!(grid(&[]), "");
    }
}
