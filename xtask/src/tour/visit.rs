//! One page being played: what its notes ask for, what came of its commands, and what is counted.

use anyhow::{Context as _, Result, ensure};

use super::{
    compare,
    page::{Block, Note, Step},
    play::{Played, Session},
    terminal::Typed,
    world::World,
};
use crate::program::say;

/// What came of all pages.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) played: usize,
    pub(super) compared: usize,
    pub(super) excused: usize,
    pub(super) failures: Vec<String>,
}

/// What is printed, and kept for a file.
#[derive(Debug)]
pub(super) struct Transcript {
    brief: bool,
    pub(super) text: String,
}

impl Transcript {
    pub(super) fn new(brief: bool) -> Self {
        Self { brief, text: String::new() }
    }

    /// What only the whole transcript has.
    fn detail(&mut self, line: &str) {
        if !self.brief {
            say(line);
        }
        self.keep(line);
    }

    /// What is always printed.
    pub(super) fn line(&mut self, line: &str) {
        say(line);
        self.keep(line);
    }

    fn keep(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Somebody who does what a page says.
#[derive(Debug)]
pub(super) struct Visit<'a> {
    session: Session<'a>,
    page: &'a str,
    log: &'a mut Transcript,
    counts: &'a mut Counts,
    /// What the last command printed.
    printed: String,
}

/// What the notes of a block come to.
#[derive(Debug, Default)]
struct Wanted<'b> {
    typed: Vec<Typed>,
    kept: Vec<(&'b str, &'b str)>,
    then: Vec<&'b str>,
    stays: bool,
    ends_with: i32,
    not_compared: Option<&'b str>,
}

impl<'a> Visit<'a> {
    pub(super) fn new(world: &'a World, page: &'a str, log: &'a mut Transcript, counts: &'a mut Counts) -> Self {
        Self { session: Session::new(world), page, log, counts, printed: String::new() }
    }

    /// Plays a page to its end, whatever fails on the way.
    pub(super) fn play(mut self, blocks: &[Block]) {
        for block in blocks {
            if let Err(error) = self.play_block(block) {
                self.fail(block, &format!("{error:#}"));
            }
        }
        if let (Err(error), Some(block)) = (self.session.stop(), blocks.last()) {
            self.fail(block, &format!("{error:#}"));
        }
    }

    fn play_block(&mut self, block: &Block) -> Result<()> {
        if let Some(reason) = self.excuse(block)? {
            for command in block.steps.iter().filter_map(|step| step.command.as_deref()) {
                self.excuse_command(block, command, &reason);
            }
            return Ok(());
        }
        let wanted = self.prepare(block)?;
        for (index, step) in block.steps.iter().enumerate() {
            let is_last = index + 1 == block.steps.len();
            if let Some(command) = step.command.as_deref() {
                if command.starts_with("cargo ") {
                    self.excuse_command(block, command, "cargo builds and measures; what Lore does is played");
                    continue;
                }
                let code = if is_last { wanted.ends_with } else { 0 };
                self.play_command(block, command, is_last.then_some(&wanted), code)?;
            }
            self.compare(block, step, &wanted);
        }
        for (name, beginning) in wanted.kept {
            let found = self.printed.split(beginning).nth(1).and_then(|rest| rest.split_whitespace().next());
            let word = found.with_context(|| format!("`{beginning}` was not printed"))?.to_owned();
            self.session.keep(name, &word)?;
        }
        for command in wanted.then {
            self.aside("then", command)?;
        }
        Ok(())
    }

    /// Why a block is not played.
    fn excuse(&mut self, block: &Block) -> Result<Option<String>> {
        for note in &block.notes {
            match note {
                Note::NotPlayed(reason) => return Ok(Some(reason.clone())),
                Note::Needs(program) if !self.session.has(program)? => {
                    return Ok(Some(format!("{program} is not installed")));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Does what has to be done before a block.
    fn prepare<'b>(&mut self, block: &'b Block) -> Result<Wanted<'b>> {
        let mut wanted = Wanted::default();
        for note in &block.notes {
            match note {
                Note::In(folder) => self.session.go(folder)?,
                Note::First(command) => self.aside("first", command)?,
                Note::Then(command) => wanted.then.push(command),
                Note::Replace(shown, played) => self.session.replace(shown, played)?,
                Note::Types { text, is_hidden } => {
                    wanted.typed.push(Typed { text: self.session.value(text)?, is_hidden: *is_hidden });
                }
                Note::Keeps(name, beginning) => wanted.kept.push((name, beginning)),
                Note::Stays => wanted.stays = true,
                Note::FailsWith(code) => wanted.ends_with = *code,
                Note::NotCompared(reason) => wanted.not_compared = Some(reason),
                Note::Needs(_) | Note::NotPlayed(_) => {}
            }
        }
        Ok(wanted)
    }

    fn play_command(&mut self, block: &Block, command: &str, wanted: Option<&Wanted<'_>>, code: i32) -> Result<()> {
        self.show_command("$", command);
        let played = match wanted {
            Some(wanted) if wanted.stays => self.session.start(command),
            Some(wanted) if !wanted.typed.is_empty() => self.session.run_typing(command, &wanted.typed),
            _ => self.session.run(command),
        };
        self.counts.played += 1;
        let played = played?;
        self.show_output(&played);
        if played.code != code {
            self.fail(block, &format!("`{command}` ended with {}, not with {code}", played.code));
        }
        self.printed = played.output;
        Ok(())
    }

    /// A command that the page does not show.
    fn aside(&mut self, when: &str, command: &str) -> Result<()> {
        self.show_command(&format!("({when}) $"), command);
        let played = match command.strip_prefix("stays ") {
            Some(server) => self.session.start(server),
            None => self.session.run(command),
        }?;
        self.show_output(&played);
        ensure!(played.code == 0, "({when}) `{command}` ended with {}: {}", played.code, played.output);
        if when == "first" {
            self.printed = played.output;
        }
        Ok(())
    }

    fn compare(&mut self, block: &Block, step: &Step, wanted: &Wanted<'_>) {
        let Some(shown) = &step.output else { return };
        if let Some(reason) = wanted.not_compared {
            self.log.line(&format!("   not compared ({}:{}): {reason}", self.page, block.line));
            return;
        }
        self.counts.compared += 1;
        match compare::difference(shown, &self.printed) {
            None => self.log.detail("   = as the page shows it"),
            Some(difference) => {
                let command = step.command.as_deref().unwrap_or("the block before");
                self.fail(block, &format!("`{command}`: {difference}"));
            }
        }
    }

    fn excuse_command(&mut self, block: &Block, command: &str, reason: &str) {
        self.counts.excused += 1;
        let first = command.lines().next().unwrap_or_default();
        self.log.line(&format!("   excused ({}:{}): {first}: {reason}", self.page, block.line));
    }

    fn fail(&mut self, block: &Block, what: &str) {
        self.log.line(&format!("   FAILED ({}:{}): {what}", self.page, block.line));
        self.counts.failures.push(format!("{}:{}: {what}", self.page, block.line));
    }

    fn show_command(&mut self, prompt: &str, command: &str) {
        self.log.detail(&format!("{prompt} {}", self.session.as_played(command)));
    }

    fn show_output(&mut self, played: &Played) {
        for line in played.output.lines() {
            self.log.detail(&format!("  {line}"));
        }
        self.log.detail(&format!("   [{:.2} s, {}]", played.took.as_secs_f32(), played.code));
    }
}
