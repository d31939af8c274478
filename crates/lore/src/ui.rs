//! What a person sees: colour only on a terminal, nothing that steers it, and a quiet end when the reader has gone.
#![expect(clippy::print_stderr, reason = "this is the one place that prints")]

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
};

use anstyle::{AnsiColor, Style};
use lore_model::{Code, Failure, escape_controls, escape_for_terminal};
use serde_json::{Value, json};

use crate::{columns, environment};

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
/// Words of a question where they were found.
pub(crate) const MATCH: Style = AnsiColor::Yellow.on_default().bold();

/// Prints for people and for programs.
pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    terminal: bool,
    color: bool,
    color_on_stderr: bool,
    /// What has been printed so far, shown at once (or through the pager) at the end.
    page: Mutex<Vec<u8>>,
}

impl Ui {
    pub(crate) fn new(json: bool, quiet: bool, color: Color) -> Self {
        let plain = environment::variable("NO_COLOR").is_some()
            || environment::variable("TERM").is_some_and(|term| term == "dumb");
        let wanted = |terminal: bool| match color {
            Color::Auto => terminal && !plain,
            Color::Always => true,
            Color::Never => false,
        };
        let terminal = io::stdout().is_terminal();
        Self {
            json,
            quiet,
            terminal,
            color: wanted(terminal) && !json,
            color_on_stderr: wanted(io::stderr().is_terminal()),
            page: Mutex::default(),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The columns of the terminal; none where standard output is no terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        self.size().map(|(width, _)| width)
    }

    fn size(&self) -> Option<(usize, usize)> {
        if !self.terminal {
            return None;
        }
        let size = terminal_size::terminal_size_of(io::stdout());
        let of = |value: u16, usual: usize| if value == 0 { usual } else { usize::from(value) };
        // What every terminal has that does not say how large it is.
        Some(size.map_or((80, 24), |(width, height)| (of(width.0, 80).max(NARROWEST), of(height.0, 24))))
    }

    pub(crate) fn colored(&self) -> bool {
        self.color
    }

    /// The text in a style, where colour is used.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A remark as lines of its own, broken between words where the terminal is narrower, with so many blanks before each.
    pub(crate) fn prose(&self, text: &str, indent: usize) -> String {
        let room = self.width().map_or(usize::MAX, |width| width.saturating_sub(indent));
        columns::rows(text, room).into_iter().fold(String::new(), |mut lines, row| {
            writeln!(lines, "{:indent$}{}", "", self.paint(DIM, &text[row])).expect("writing to a string cannot fail");
            lines
        })
    }

    /// One line of an answer.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// An answer as JSON, on lines of its own.
    pub(crate) fn value(&self, value: &Value) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        self.line(&text)
    }

    /// Bytes of an answer, exactly.
    #[expect(clippy::unused_self, reason = "everything is printed through this one surface")]
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        written(out.write_all(bytes).and_then(|()| out.flush()))
    }

    /// Adds to what [`Self::show_page`] will show.
    pub(crate) fn to_page(&self, bytes: &[u8]) {
        self.page.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }

    /// Shows the page: through the pager on a terminal, as it is otherwise.
    pub(crate) fn show_page(&self, pager: &str) -> Result<(), Failure> {
        let page = std::mem::take(&mut *self.page.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some((width, height)) = self.size().filter(|_| !self.json) {
            // The prompt of the shell takes a row as well.
            let has_room = screen_rows(&page, width) < height;
            if crate::pager::show(pager, &page, has_room) {
                return Ok(());
            }
        }
        self.bytes(&page)
    }

    /// Something about what is going on, on standard error.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("{}", one_line(text));
        }
    }

    /// Something that must be told, on standard error.
    #[expect(clippy::unused_self, reason = "whoever prints does it through this")]
    pub(crate) fn tell(&self, text: &str) {
        eprintln!("{}", one_line(text));
    }

    /// Something that needs attention.
    pub(crate) fn warn(&self, text: &str) {
        let (style, label, text) = (YELLOW.bold(), "warning:", one_line(text));
        if self.color_on_stderr { eprintln!("{style}{label}{style:#} {text}") } else { eprintln!("{label} {text}") }
    }

    /// What went wrong and what to do.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            eprintln!(
                "{}",
                json!({"error": {"code": failure.code.name(), "message": failure.message, "hint": failure.hint}})
            );
            return;
        }
        let style = |style: Style, text: &str| {
            if self.color_on_stderr { format!("{style}{text}{style:#}") } else { text.to_owned() }
        };
        eprintln!("{} {}", style(RED.bold(), "error:"), escape_for_terminal(&failure.message));
        if let Some(hint) = &failure.hint {
            eprintln!("{} {}", style(CYAN.bold(), "hint:"), escape_for_terminal(hint));
        }
    }
}

/// How many rows of a terminal a page takes.
fn screen_rows(page: &[u8], width: usize) -> usize {
    let text = String::from_utf8_lossy(page);
    text.lines().map(|line| columns::width(&without_styles(line)).div_ceil(width).max(1)).sum()
}

/// A line without what [`Ui::paint`] puts into it.
fn without_styles(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let plain = parts.next().unwrap_or_default().to_owned();
    parts.fold(plain, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}

/// A reader that has gone (`| head`) is the reader's choice, not an error.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::new(Code::Interrupted, BROKEN_PIPE)),
        Err(error) => Err(Failure::new(Code::NoAccess, format!("the output cannot be written: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// The message of the failure that means: nobody reads any more.
pub(crate) const BROKEN_PIPE: &str = "the reader of the output has gone";

/// On a terminal that is narrower nothing can be laid out.
const NARROWEST: usize = 20;

/// No line is longer: git takes subjects of any length, and no path that a system opens has so many characters.
const LONGEST_LINE: usize = 5_000;

/// Text of one line that cannot steer a terminal or pretend to be another line, nor fill it.
pub(crate) fn one_line(text: &str) -> String {
    let (text, cut) = match text.char_indices().nth(LONGEST_LINE) {
        None => (text, ""),
        Some((end, _)) => (&text[..end], "…"),
    };
    (escape_controls(text) + cut).replace(['\n', '\r'], "⏎").replace('\t', " ")
}

/// A word that the shells of Unix take as one argument, and as it is.
pub(crate) fn shell_word(text: &str) -> String {
    // Neither what stands for a home, nor what stands for names of files.
    let is_plain = |c: char| c.is_alphanumeric() || "/.:_-+@%,=".contains(c);
    if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_the_rows_that_its_lines_take() {
        let painted = format!("{BOLD}{}{BOLD:#}", "a".repeat(80));
        for (page, rows) in [("", 0), ("a\n", 1), ("a\n\nb\n", 3), (&painted, 1), (&"a".repeat(81), 2), ("日本語", 1)]
        {
            assert_eq!(screen_rows(page.as_bytes(), 80), rows, "{page}");
        }
        assert_eq!(screen_rows("日本語".as_bytes(), 4), 2);
    }

    #[test]
    fn a_shell_takes_a_word_as_it_is() {
        for plain in ["/home/me/a.db", "https://lore.example:8443", "größe", "a=b"] {
            assert_eq!(shell_word(plain), plain);
        }
        for (text, word) in [
            ("", "''"),
            ("two words", "'two words'"),
            ("=lore", "'=lore'"),
            ("~/lore", "'~/lore'"),
            ("http://[::1]:80", "'http://[::1]:80'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
