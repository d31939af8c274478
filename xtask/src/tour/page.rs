//! Reads a page of Markdown: its blocks of commands, and what the tour has to know about them.
//!
//! A note is an HTML comment above a block, which readers of the page do not see: `<!-- tour: fails with 2 -->`, or several,
//! one on each line. It counts for the next block; what is replaced and the folder count until the end of the page.

use anyhow::{Context as _, Result, bail};

/// A fenced block of commands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line of its fence.
    pub(super) line: usize,
    /// What is played, in this order.
    pub(super) steps: Vec<Step>,
    pub(super) notes: Vec<Note>,
}

/// One command, and what the page says that it prints.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// `None`: the page shows what the command before it prints.
    pub(super) command: Option<String>,
    pub(super) output: Option<Vec<String>>,
}

/// What the tour has to know about a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    /// `in ~/src/tokio`: the folder one stands in.
    In(String),
    /// `first …`: played before the block; a reader has done so already, or does so elsewhere. `first stays …` is a server.
    First(String),
    /// `then …`: played after the block, to see what it did.
    Then(String),
    /// `replace A by B`: what a reader replaces by a value of their own. B is what a shell makes of it.
    Replace(String, String),
    /// `types …`: played in a terminal, where this is typed at the next prompt; `types hidden …` at one that shows nothing.
    Types { text: String, is_hidden: bool },
    /// `keeps NAME: BEGINNING`: the word behind this beginning in the output is a variable from now on.
    Keeps(String, String),
    /// `stays`: a server; it runs until the next one starts or the page ends.
    Stays,
    /// `fails with 2`: how the last command of the block ends.
    FailsWith(i32),
    /// `needs jq`: not played where this program is not installed.
    Needs(String),
    /// `not played: …`, and why.
    NotPlayed(String),
    /// `not compared: …`, and why.
    NotCompared(String),
}

/// The blocks of a page, in its order. `is_whole` tells whether a shell could run this text: where not, a command goes on in the
/// next line.
pub(super) fn read(text: &str, is_whole: &dyn Fn(&str) -> Result<bool>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut notes = Vec::new();
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((number, line)) = lines.next() {
        if let Some(begun) = line.trim_start().strip_prefix("<!-- tour:") {
            let mut comment = begun.to_owned();
            while !comment.contains("-->") {
                let (_, line) = lines.next().with_context(|| format!("line {number}: the note does not end"))?;
                comment.push('\n');
                comment.push_str(line);
            }
            let said = comment.replace("-->", "");
            for note in said.lines().map(str::trim).filter(|note| !note.is_empty()) {
                notes.push(note_of(note).with_context(|| format!("line {number}"))?);
            }
            continue;
        }
        let Some(fence) = fence_of(line) else { continue };
        let mut body = Vec::new();
        loop {
            let (_, line) = lines.next().with_context(|| format!("line {number}: the block does not end"))?;
            if line.trim() == fence.ticks {
                break;
            }
            body.push(line.strip_prefix(fence.indent).unwrap_or(line));
        }
        let steps = match fence.language {
            "sh" => commands(&body, is_whole)?,
            "console" => session(&body, is_whole)?,
            _ => continue,
        };
        blocks.push(Block { line: number, steps, notes: std::mem::take(&mut notes) });
    }
    if !notes.is_empty() {
        bail!("no block follows the last note: {:?}", notes[0]);
    }
    Ok(blocks)
}

struct Fence<'a> {
    indent: &'a str,
    ticks: &'a str,
    language: &'a str,
}

fn fence_of(line: &str) -> Option<Fence<'_>> {
    let inner = line.trim_start();
    let (ticks, language) = inner.split_at(inner.len() - inner.trim_start_matches('`').len());
    (ticks.len() >= 3).then(|| Fence { indent: &line[..line.len() - inner.len()], ticks, language: language.trim() })
}

fn note_of(text: &str) -> Result<Note> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim().to_owned();
    let behind_colon = |rest: &str| rest.split_once(": ").map(|(_, reason)| reason.to_owned());
    Ok(match word {
        "in" => Note::In(rest),
        "first" => Note::First(rest),
        "then" => Note::Then(rest),
        "types" => match rest.strip_prefix("hidden ") {
            Some(text) => Note::Types { text: text.to_owned(), is_hidden: true },
            None => Note::Types { text: rest, is_hidden: false },
        },
        "stays" => Note::Stays,
        "needs" => Note::Needs(rest),
        "replace" => {
            let (shown, played) = rest.split_once(" by ").context("`replace A by B` is wanted")?;
            Note::Replace(shown.to_owned(), played.to_owned())
        }
        "keeps" => {
            let (name, beginning) = rest.split_once(": ").context("`keeps NAME: BEGINNING` is wanted")?;
            Note::Keeps(name.to_owned(), beginning.to_owned())
        }
        "fails" => {
            let code = rest.strip_prefix("with ").context("`fails with N` is wanted")?;
            Note::FailsWith(code.parse().with_context(|| format!("`{code}` is no exit code"))?)
        }
        "not" if rest.starts_with("played") => {
            Note::NotPlayed(behind_colon(&rest).context("`not played: REASON` is wanted")?)
        }
        "not" if rest.starts_with("compared") => {
            Note::NotCompared(behind_colon(&rest).context("`not compared: REASON` is wanted")?)
        }
        _ => bail!("the tour knows no note `{text}`"),
    })
}

/// The commands of a block without output.
fn commands(body: &[&str], is_whole: &dyn Fn(&str) -> Result<bool>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut lines = body.iter().copied();
    while let Some(line) = lines.next() {
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            steps.push(Step { command: Some(whole(line, &mut lines, is_whole)?), output: None });
        }
    }
    Ok(steps)
}

/// Commands after `$ `, each with its output. What stands before the first one was printed by the block before.
fn session(body: &[&str], is_whole: &dyn Fn(&str) -> Result<bool>) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = body.iter().copied();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: Some(whole(command, &mut lines, is_whole)?), output: None });
            continue;
        }
        if steps.is_empty() {
            steps.push(Step { command: None, output: None });
        }
        if let Some(step) = steps.last_mut() {
            step.output.get_or_insert_default().push(line.to_owned());
        }
    }
    Ok(steps)
}

/// A command with the lines in which it goes on.
fn whole<'a>(
    first: &str,
    rest: &mut impl Iterator<Item = &'a str>,
    is_whole: &dyn Fn(&str) -> Result<bool>,
) -> Result<String> {
    let mut command = first.to_owned();
    while command.ends_with('\\') || !is_whole(&command)? {
        let next = rest.next().with_context(|| format!("no shell understands `{command}`"))?;
        command.push('\n');
        command.push_str(next);
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `for` needs its `done`; the tour asks a real shell.
    fn read_all(text: &str) -> Result<Vec<Block>> {
        read(text, &|command| Ok(!command.starts_with("for ") || command.contains("done")))
    }

    fn step(command: &str, output: Option<&[&str]>) -> Step {
        let output = output.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
        Step { command: Some(command.to_owned()), output }
    }

    #[test]
    fn commands_are_lines_and_go_on_where_a_shell_says_so() {
        let page =
            "Text\n\n```sh\n# said only\nlore add .\nlore server \\\n  --data x\nfor a in b; do\n  lore\ndone\n```\n";
        let blocks = read_all(page).unwrap();
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].line, 3);
        let commands = ["lore add .", "lore server \\\n  --data x", "for a in b; do\n  lore\ndone"];
        assert_eq!(blocks[0].steps, commands.map(|command| step(command, None)));
    }

    #[test]
    fn a_session_has_commands_with_what_they_print() {
        let blocks = read_all("```console\n$ lore a\none\n\ntwo\n$ lore b\n```\n```console\nthree\n```\n").unwrap();
        assert_eq!(blocks[0].steps, [step("lore a", Some(&["one", "", "two"])), step("lore b", None)]);
        assert_eq!(blocks[1].steps[0].command, None);
    }

    #[test]
    fn other_blocks_are_no_commands() {
        assert_eq!(read_all("```json\n{}\n```\n\n```\ntext\n```\n").unwrap(), []);
    }

    #[test]
    fn a_block_in_a_list_has_no_indent_and_longer_fences_hold_shorter_ones() {
        let blocks = read_all("- see\n\n  ```sh\n  lore a\n  ```\n\n````markdown\n```sh\nlore b\n```\n````\n").unwrap();
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].steps, [step("lore a", None)]);
    }

    #[test]
    fn notes_belong_to_the_next_block() {
        let page = "<!-- tour: in ~/src -->\n<!-- tour:\nfails with 2\nkeeps WORD: with the password \nreplace a b by $(c d)\n-->\n```sh\nlore\n```\n```sh\nlore\n```";
        let blocks = read_all(page).unwrap();
        let notes = [
            Note::In("~/src".to_owned()),
            Note::FailsWith(2),
            Note::Keeps("WORD".to_owned(), "with the password".to_owned()),
            Note::Replace("a b".to_owned(), "$(c d)".to_owned()),
        ];
        assert_eq!(blocks[0].notes, notes);
        assert_eq!(blocks[1].notes, []);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for page in [
            "<!-- tour: hopes for the best -->\n```sh\nlore\n```",
            "<!-- tour: fails -->\n```sh\nlore\n```",
            "<!-- tour: not played -->\n```sh\nlore\n```",
            "<!-- tour: in ~ -->",
            "<!-- tour: in ~",
            "```sh\nlore",
            "```sh\nfor a in b; do\n```",
        ] {
            assert!(read_all(page).is_err(), "{page}");
        }
    }
}
