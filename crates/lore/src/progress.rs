//! Shows how a sync goes on: a bar on a terminal, plain lines elsewhere.

use std::{
    io::IsTerminal,
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use lore_core::{
    flows::FlowEvent,
    history::SyncEvent,
    search::{CodeEvent, EmbedEvent},
};

use crate::ui::{self, Ui};

/// The bar of a sync under way.
fn bar_style(things: &str) -> ProgressStyle {
    let template = format!("{{prefix}} {{bar:30}} {{human_pos}}/{{human_len}} {things}, {{rate}}, {{eta}} left");
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()).with_key(
        "rate",
        |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            write!(out, "{:.0}/s", state.per_sec()).expect("the bar is drawn into memory first");
        },
    )
}

/// The progress of something that is counted in bytes: a bar on a terminal, nothing elsewhere.
#[cfg(feature = "transformer")]
pub(crate) struct Steps(Option<ProgressBar>);

#[cfg(feature = "transformer")]
impl Steps {
    pub(crate) fn new(ui: &Ui, what: &str) -> Self {
        let shown = std::io::stderr().is_terminal() && !ui.is_quiet();
        Self(shown.then(|| {
            let style = ProgressStyle::with_template("{prefix} {bar:30} {bytes}/{total_bytes}");
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_prefix(what.to_owned())
        }))
    }

    pub(crate) fn at(&self, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            bar.set_length(total);
            bar.set_position(done);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// The progress of something that is told in percent: a bar on a terminal, nothing elsewhere.
pub(crate) struct Percent(Option<ProgressBar>);

impl Percent {
    pub(crate) fn new(ui: &Ui, what: &str) -> Self {
        let shown = std::io::stderr().is_terminal() && !ui.is_quiet();
        Self(shown.then(|| {
            let style = ProgressStyle::with_template("{prefix} {bar:30} {pos} %");
            let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr());
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_prefix(ui::one_line(what))
        }))
    }

    pub(crate) fn at(&self, percent: f64) {
        if let Some(bar) = &self.0 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and 100")]
            bar.set_position(percent.clamp(0.0, 100.0) as u64);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What is counted.
fn things(event: &FlowEvent) -> &'static str {
    match event {
        FlowEvent::History(_) => "commits",
        FlowEvent::Code(_) => "files",
        FlowEvent::Past(_) => "former versions of files",
        FlowEvent::Embedding(_) => "chunks",
    }
}

/// How often a plain line is printed.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The progress of one repository's sync.
pub(crate) struct SyncProgress<'a> {
    ui: &'a Ui,
    name: &'a str,
    bar: Option<ProgressBar>,
    plain: Mutex<Plain>,
}

struct Plain {
    total: u64,
    /// What was done when it began.
    first: u64,
    started: Instant,
    said: Instant,
}

impl<'a> SyncProgress<'a> {
    pub(crate) fn new(ui: &'a Ui, name: &'a str) -> Self {
        let shown = std::io::stderr().is_terminal() && !ui.is_quiet();
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            // How much there is to do is not known yet, and a bar without an end looks like one that is full.
            let style =
                ProgressStyle::with_template("{spinner} {prefix}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            bar.with_style(style).with_prefix(name.to_owned())
        });
        let now = Instant::now();
        Self { ui, name, bar, plain: Mutex::new(Plain { total: 0, first: 0, started: now, said: now }) }
    }

    /// Takes one event.
    pub(crate) fn event(&self, event: FlowEvent) {
        let (bar, event) = (&self.bar, event);
        match (bar, event) {
            (Some(bar), FlowEvent::History(SyncEvent::Fetching(url))) => {
                bar.set_style(
                    ProgressStyle::with_template("{spinner} {prefix} {msg} ({elapsed})")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                bar.set_message(format!("fetching {url}"));
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            (
                Some(bar),
                ref event @ (FlowEvent::History(SyncEvent::Started(total))
                | FlowEvent::Code(CodeEvent::Started(total))
                | FlowEvent::Past(CodeEvent::Started(total))),
            ) => {
                bar.disable_steady_tick();
                bar.set_style(bar_style(things(event)));
                bar.set_message("");
                bar.reset();
                bar.set_length(total);
            }
            (
                Some(bar),
                FlowEvent::History(SyncEvent::Advanced(done))
                | FlowEvent::Code(CodeEvent::Advanced(done))
                | FlowEvent::Past(CodeEvent::Advanced(done)),
            ) => {
                bar.set_position(done);
            }
            (Some(_), FlowEvent::Code(CodeEvent::Published) | FlowEvent::Past(CodeEvent::Published)) => {}
            (Some(bar), FlowEvent::Embedding(EmbedEvent { model, done, total })) => {
                // The rate is that of what is embedded now.
                if bar.length() != Some(total) || bar.message() != *model {
                    bar.set_style(bar_style(&format!("chunks embedded with {}", ui::one_line(&model))));
                    bar.set_message(model.to_string());
                    bar.reset();
                    bar.set_length(total);
                    bar.set_position(done);
                    bar.reset_eta();
                }
                bar.set_position(done);
            }
            (None, event) => self.line(&event),
        }
    }

    fn line(&self, event: &FlowEvent) {
        let mut plain = self.plain.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            FlowEvent::History(SyncEvent::Fetching(url)) => self.ui.note(&format!("{}: fetching {url}", self.name)),
            FlowEvent::History(SyncEvent::Started(total))
            | FlowEvent::Code(CodeEvent::Started(total))
            | FlowEvent::Past(CodeEvent::Started(total)) => {
                plain.total = *total;
                plain.started = Instant::now();
                plain.said = plain.started;
            }
            FlowEvent::History(SyncEvent::Advanced(done))
            | FlowEvent::Code(CodeEvent::Advanced(done))
            | FlowEvent::Past(CodeEvent::Advanced(done))
                if plain.said.elapsed() >= LINE_EVERY =>
            {
                plain.said = Instant::now();
                let seconds = plain.started.elapsed().as_secs().max(1);
                let rate = (done / seconds).max(1);
                let left = plain.total.saturating_sub(*done) / rate;
                let (name, total, things) = (self.name, plain.total, things(event));
                self.ui.note(&format!("{name}: {done} of {total} {things}, {rate}/s, {left} s left"));
            }
            FlowEvent::Embedding(EmbedEvent { model, done, total }) => {
                if plain.total != *total {
                    (plain.total, plain.first, plain.started) = (*total, *done, Instant::now());
                    plain.said = plain.started;
                }
                if plain.said.elapsed() >= LINE_EVERY {
                    plain.said = Instant::now();
                    let rate = ((done - plain.first) / plain.started.elapsed().as_secs().max(1)).max(1);
                    let left = total.saturating_sub(*done) / rate;
                    let (name, model) = (self.name, ui::one_line(model));
                    let so_far = format!("{name}: embedding {done} of {total} chunks with {model}");
                    self.ui.note(&format!("{so_far}, {rate}/s, {left} s left"));
                }
            }
            FlowEvent::History(SyncEvent::Advanced(_)) | FlowEvent::Code(_) | FlowEvent::Past(_) => {}
        }
    }

    /// Prints something without the bar getting in its way.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
