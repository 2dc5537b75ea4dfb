//! A stage that runs in one go, on the thread that calls it.

use super::fitted;
use super::pace::Pace;
use super::shown::{DRAWN_EVERY, LINE_EVERY};
use super::text::{eta, speed};
use compass_common::log_time::timed;
use compass_common::status_output::{BarLine, is_terminal, print_progress, print_status};
use compass_common::words::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::time::Instant;

/// Progress bar of a stage.
#[derive(Debug)]
pub struct StageBar {
    stage: &'static str,
    bar: ProgressBar,
    line: BarLine,
    pace: Pace,
    started: Instant,
    shown: Instant,
}

impl StageBar {
    /// A bar on a terminal; elsewhere a line now and then, and one at the end.
    pub fn new(stage: &'static str, total: u64) -> Self {
        let target = if is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = fitted::bar(total, target);
        bar.set_prefix(stage);
        let now = Instant::now();
        let shown = Self { stage, bar, line: BarLine::begin(), pace: Pace::new(now, 0), started: now, shown: now };
        fitted::show_timed(&shown.bar, shown.words(0.0));
        if !shown.bar.is_hidden() {
            shown.bar.enable_steady_tick(DRAWN_EVERY);
        }
        shown
    }

    /// So many samples more are through.
    pub fn advance(&mut self, samples: u64) {
        self.bar.inc(samples);
        let now = Instant::now();
        self.pace.count(now, self.bar.position());
        fitted::show_timed(&self.bar, self.words(self.pace.rate(now, self.bar.position())));
        let ends = Some(self.bar.position()) == self.bar.length();
        if self.bar.is_hidden() && !ends && self.shown.elapsed() >= LINE_EVERY {
            print_progress(timed(&format!(
                "{:5}  {}",
                self.stage,
                self.status(self.pace.rate(now, self.bar.position()))
            )));
            self.shown = now;
        }
    }

    /// The stage is over.
    pub fn finish(self) {
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let status = self.status(self.bar.position() as f64 / seconds);
        let hidden = self.bar.is_hidden();
        self.bar.abandon();
        drop(self.line);
        if hidden {
            print_status(timed(&format!("{:5}  {status}", self.stage)));
        } else {
            print_status("");
        }
    }

    fn status(&self, rate: f64) -> String {
        self.words(rate).join("  ")
    }

    fn words(&self, rate: f64) -> Vec<String> {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let eta = eta(total.saturating_sub(done), rate);
        vec![format!("{}/{} samples", grouped(done), grouped(total)), speed(rate), eta]
    }
}
