//! The README's picture of a terminal: what the program prints there, as SVG.
//!
//! Colours and weights are those that the program asked for; nothing is drawn that it did not print, but for the prompts.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, ensure};

use super::{play::Session, world::Template};
use crate::program::say;

/// What is typed, in a clone of tokio.
const COMMANDS: [&str; 3] = [
    "lore search \"how is work stolen from another worker\" --limit 1",
    "lore log \"fix deadlock\" --limit 2",
    "lore why tokio/src/sync/mutex.rs:430",
];

/// Room for a character, and around the text.
const WIDTH: f32 = 8.0;
const HEIGHT: usize = 18;
const MARGIN: usize = 16;

/// Columns; longer lines are broken as a terminal breaks them.
const COLUMNS: usize = 100;

/// Plays the commands in a terminal and writes the picture.
pub(super) fn make(template: &Template, file: &Path) -> Result<()> {
    let world = template.world()?;
    let mut session = Session::new(&world);
    session.go("~/src/tokio")?;
    session.keep("PAGER", "cat")?;
    // The picture shows answers; how long the first one takes is told elsewhere.
    let added = session.run("lore add . --quiet")?;
    ensure!(added.code == 0, "tokio cannot be read: {}", added.output);
    let mut screen = Vec::new();
    for command in COMMANDS {
        let (code, printed) = session.run_raw(command)?;
        ensure!(code == 0, "`{command}` ended with {code}: {printed}");
        screen.push(vec![Span { text: "$ ".to_owned(), style: Style::PROMPT }, Span::plain(command)]);
        for line in printed.trim_end().split('\n') {
            screen.extend(broken(spans(line.trim_end_matches('\r'))));
        }
        screen.push(Vec::new());
    }
    screen.push(vec![Span { text: "$ ".to_owned(), style: Style::PROMPT }, Span::plain("█")]);
    let picture = svg(&screen)?;
    fs::write(file, &picture).with_context(|| format!("cannot write {}", file.display()))?;
    say(&format!("{} lines, {} bytes in {}", screen.len(), picture.len(), file.display()));
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    /// Of the eight colours.
    color: Option<u8>,
    is_bold: bool,
    is_dim: bool,
}

impl Style {
    const PROMPT: Self = Self { color: Some(2), is_bold: true, is_dim: false };

    /// Does what the numbers between `ESC [` and `m` say.
    fn change(&mut self, codes: &str) {
        for code in codes.split(';') {
            match code.parse().unwrap_or(0) {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                code @ 30..=37 => self.color = Some(code - 30),
                code @ 90..=97 => self.color = Some(code - 90),
                39 => self.color = None,
                _ => {}
            }
        }
    }

    fn fill(self) -> &'static str {
        match self.color {
            Some(1) => "#f38ba8",
            Some(2) => "#a6e3a1",
            Some(3) => "#f9e2af",
            Some(4) => "#89b4fa",
            Some(5) => "#cba6f7",
            Some(6) => "#94e2d5",
            _ if self.is_dim => "#8b90a8",
            _ => "#d8dcec",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    text: String,
    style: Style,
}

impl Span {
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), style: Style::default() }
    }
}

/// A line in its colours. What was written over is not there any more.
fn spans(line: &str) -> Vec<Span> {
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut spans: Vec<Span> = Vec::new();
    let mut style = Style::default();
    let mut rest = line;
    while let Some((text, after)) = rest.split_once("\x1b[") {
        spans.push(Span { text: text.to_owned(), style });
        let end = after.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (codes, command) = after.split_at(end);
        if command.starts_with('m') {
            style.change(codes);
        } else if command.starts_with('K') {
            spans.clear();
        }
        rest = command.get(1..).unwrap_or_default();
    }
    spans.push(Span { text: rest.to_owned(), style });
    spans.retain(|span| !span.text.is_empty());
    spans
}

/// The line in as many as a terminal needs for it.
fn broken(spans: Vec<Span>) -> Vec<Vec<Span>> {
    let mut lines = vec![Vec::new()];
    let mut column = 0;
    for span in spans {
        let mut text = String::new();
        for c in span.text.chars() {
            if column == COLUMNS {
                let line = Span { text: std::mem::take(&mut text), style: span.style };
                lines.last_mut().expect("there is one").push(line);
                lines.push(Vec::new());
                column = 0;
            }
            text.push(c);
            column += 1;
        }
        lines.last_mut().expect("there is one").push(Span { text, style: span.style });
    }
    lines
}

#[expect(clippy::cast_precision_loss, reason = "columns are few")]
fn svg(screen: &[Vec<Span>]) -> Result<String> {
    let width = WIDTH * COLUMNS as f32 + 2.0 * MARGIN as f32;
    let height = HEIGHT * screen.len() + 2 * MARGIN;
    let mut out = String::new();
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"13.29\">"
    )?;
    writeln!(out, "<title>lore in a clone of tokio</title>")?;
    writeln!(out, "<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1e1f2b\"/>")?;
    for (row, line) in screen.iter().enumerate() {
        let y = MARGIN + HEIGHT * row + 13;
        let mut column = 0;
        for span in line {
            let length = span.text.chars().count();
            let blank = span.text.chars().take_while(|c| *c == ' ').count();
            let text = span.text.trim();
            if !text.is_empty() {
                let x = MARGIN as f32 + WIDTH * (column + blank) as f32;
                let room = WIDTH * text.chars().count() as f32;
                let weight = if span.style.is_bold { " font-weight=\"bold\"" } else { "" };
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{weight} textLength=\"{room}\" xml:space=\"preserve\">{}</text>",
                    span.style.fill(),
                    escaped(text)
                )?;
            }
            column += length;
        }
    }
    writeln!(out, "</svg>")?;
    Ok(out)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_program() {
        let line = spans("50 %\r\x1b[K\x1b[33mab\x1b[0m c\x1b[1;36md\x1b[0m");
        let style = |color, is_bold| Style { color, is_bold, is_dim: false };
        let expected = [("ab", style(Some(3), false)), (" c", Style::default()), ("d", style(Some(6), true))];
        assert_eq!(line, expected.map(|(text, style)| Span { text: text.to_owned(), style }));
    }

    #[test]
    fn long_lines_are_broken_and_markup_is_text() {
        let lines = broken(vec![Span::plain(&"x".repeat(COLUMNS + 5))]);
        assert_eq!(lines.iter().map(|line| line[0].text.len()).collect::<Vec<_>>(), [COLUMNS, 5]);
        let picture = svg(&[vec![Span::plain("  a <b> & c")]]).unwrap();
        assert!(picture.contains(">a &lt;b&gt; &amp; c<"), "{picture}");
        assert!(picture.contains("x=\"32\""), "{picture}");
    }
}
