//! Rows of an answer, in columns that fit.

use lore_model::Failure;

use crate::ui::{BOLD, DIM, Ui, one_line};

/// Prints rows under their headings, or says that there are none.
pub(super) fn show(ui: &Ui, headings: &[&str], rows: &[Vec<String>], none: &str) -> Result<(), Failure> {
    if rows.is_empty() {
        return ui.line(none);
    }
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(headings[column].chars().count())
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let padded = |cells: Vec<&str>| -> Vec<String> {
        cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect()
    };
    ui.line(&ui.paint(DIM, padded(headings.to_vec()).join("  ").trim_end()))?;
    for row in &rows {
        let mut cells = padded(row.iter().map(String::as_str).collect());
        if let Some(first) = cells.first_mut() {
            *first = ui.paint(BOLD, first);
        }
        ui.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Says that there is more than is shown. `asked` is how many were wanted, where somebody said so.
pub(super) fn note_rest(ui: &Ui, shown: usize, total: usize, asked: Option<usize>) {
    if shown >= total {
        return;
    }
    let why = match asked {
        Some(asked) if asked <= shown => "`--limit N` shows more",
        _ => "a server gives no more at a time",
    };
    ui.note(&format!("{shown} of {total} are shown; {why}"));
}

/// The line for people that says so below a page: `which` is "the best", "the newest".
pub(super) fn only(which: &str, shown: usize) -> String {
    match shown {
        1 => format!("({which} one is shown; --limit shows more)\n"),
        shown => format!("({which} {shown} are shown; --limit shows more)\n"),
    }
}

/// What stands where nothing is known.
pub(super) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}
