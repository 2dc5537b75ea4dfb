//! Planning: data is read, prompts are rendered, weights are looked at, on the thread that calls it.

use super::fitted::style_of_steps;
use super::shown::{DRAWN_EVERY, LINE_EVERY};
use compass_common::log_time::timed;
use compass_common::status_output::{BarLine, is_terminal, print_status};
use compass_common::words::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::time::Instant;

/// Progress bar of planning. Nothing is left of it once planning is over; in a log a line is written now and then.
#[derive(Debug)]
pub struct PlanBar {
    bar: ProgressBar,
    _line: BarLine,
    shown: Instant,
    samples: u64,
}

impl PlanBar {
    /// A bar of so many steps.
    pub fn new(steps: u64) -> Self {
        let target = if is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps), target).with_style(style_of_steps());
        bar.set_prefix("plan");
        if !bar.is_hidden() {
            bar.enable_steady_tick(DRAWN_EVERY);
        }
        Self { bar, _line: BarLine::begin(), shown: Instant::now(), samples: 0 }
    }

    /// The next step begins: `what` says which, such as `data set piqa`.
    pub fn begin(&mut self, what: &str) {
        let status = self.status(what);
        if self.bar.is_hidden() && self.shown.elapsed() >= LINE_EVERY {
            print_status(timed(&format!("plan   {status}")));
            self.shown = Instant::now();
        }
        self.bar.set_message(status);
    }

    /// The step is over; it brought so many samples.
    pub fn end(&mut self, samples: u64) {
        self.samples += samples;
        self.bar.inc(1);
    }

    fn status(&self, what: &str) -> String {
        let (step, steps) = (self.bar.position() + 1, self.bar.length().unwrap_or_default());
        match self.samples {
            0 => format!("{step} of {steps}: {what}"),
            samples => format!("{step} of {steps}: {what}; {} samples so far", grouped(samples)),
        }
    }
}

impl Drop for PlanBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_and_samples_counted() {
        let mut bar = PlanBar::new(3);
        assert_eq!(bar.status("data set a"), "1 of 3: data set a");
        bar.end(12_000);
        bar.begin("data set b");
        assert_eq!(bar.status("data set b"), "2 of 3: data set b; 12,000 samples so far");
    }
}
