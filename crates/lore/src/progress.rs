//! Shows how a sync goes on: a bar on a terminal, plain lines elsewhere.

use std::{
    io::IsTerminal,
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use lore_core::history::SyncEvent;

use crate::ui::Ui;

/// The bar of a sync under way.
fn bar_style() -> ProgressStyle {
    let template = "{prefix} {bar:30} {human_pos}/{human_len} commits, {rate}, {eta} left";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).with_key(
        "rate",
        |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            write!(out, "{:.0}/s", state.per_sec()).expect("the bar is drawn into memory first");
        },
    )
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
    started: Instant,
    said: Instant,
}

impl<'a> SyncProgress<'a> {
    pub(crate) fn new(ui: &'a Ui, name: &'a str) -> Self {
        let shown = std::io::stderr().is_terminal() && !ui.is_quiet();
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            bar.with_style(bar_style()).with_prefix(name.to_owned())
        });
        let now = Instant::now();
        Self { ui, name, bar, plain: Mutex::new(Plain { total: 0, started: now, said: now }) }
    }

    /// Takes one event.
    pub(crate) fn event(&self, event: SyncEvent) {
        match (&self.bar, event) {
            (Some(bar), SyncEvent::Fetching(url)) => {
                bar.set_style(
                    ProgressStyle::with_template("{spinner} {prefix} {msg} ({elapsed})")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                bar.set_message(format!("fetching {url}"));
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            (Some(bar), SyncEvent::Started(total)) => {
                bar.disable_steady_tick();
                bar.set_style(bar_style());
                bar.set_message("");
                bar.reset();
                bar.set_length(total);
            }
            (Some(bar), SyncEvent::Advanced(done)) => bar.set_position(done),
            (None, event) => self.line(&event),
        }
    }

    fn line(&self, event: &SyncEvent) {
        let mut plain = self.plain.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            SyncEvent::Fetching(url) => self.ui.note(&format!("{}: fetching {url}", self.name)),
            SyncEvent::Started(total) => {
                plain.total = *total;
                plain.started = Instant::now();
                plain.said = plain.started;
            }
            SyncEvent::Advanced(done) if plain.said.elapsed() >= LINE_EVERY => {
                plain.said = Instant::now();
                let seconds = plain.started.elapsed().as_secs().max(1);
                let rate = (done / seconds).max(1);
                let left = plain.total.saturating_sub(*done) / rate;
                self.ui.note(&format!("{}: {done} of {} commits, {rate}/s, {left} s left", self.name, plain.total));
            }
            SyncEvent::Advanced(_) => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
