//! The bar of a job that another process runs, drawn from what that one says.

use super::fitted::{self, WAITING_FOR_TURN};
use super::shown::status_words;
use super::snapshot::Snapshot;
use compass_common::status_output::BarLine;
use compass_proto::v1::JobProgress;
use indicatif::{ProgressBar, ProgressDrawTarget};

/// A bar while a stage runs; the line that the job says at the end of the stage takes its place.
#[derive(Debug, Default)]
pub struct FollowedBar(Option<(String, ProgressBar, BarLine)>);

impl FollowedBar {
    /// Draws how far the job is.
    pub fn show(&mut self, progress: &JobProgress) {
        if self.0.as_ref().is_some_and(|(stage, ..)| *stage != progress.stage) {
            self.clear();
        }
        if progress.stage.is_empty() || progress.expected_samples == 0 {
            return;
        }
        let (_, bar, _) = self.0.get_or_insert_with(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = fitted::bar(progress.expected_samples, target);
            bar.set_prefix(progress.stage.clone());
            (progress.stage.clone(), bar, BarLine::begin())
        });
        bar.set_length(progress.expected_samples);
        bar.set_position(progress.recorded_samples);
        fitted::show(bar, words(progress), &progress.scores);
    }

    /// Nothing is left of it on the screen.
    pub fn clear(&mut self) {
        if let Some((_, bar, _)) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for FollowedBar {
    fn drop(&mut self) {
        self.clear();
    }
}

fn words(progress: &JobProgress) -> Vec<String> {
    let snapshot = Snapshot {
        recorded: progress.recorded_samples,
        failed: progress.all_failed_samples.max(progress.failed_samples),
        given_up: progress.failed_samples,
        slots: progress.slots,
    };
    let mut words = status_words(progress.expected_samples, snapshot, progress.samples_per_second);
    if let Some(slots) = words.last_mut().filter(|_| progress.waits_for_turn) {
        *slots = WAITING_FOR_TURN.to_owned();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_that_of_a_run_of_its_own_would() {
        let mut progress = JobProgress {
            stage: "infer".into(),
            recorded_samples: 1_120,
            expected_samples: 60_000,
            slots: 2,
            samples_per_second: 110.0,
            scores: vec!["piqa 81.2".into(), "sums_gen 93.2".into()],
            failed_samples: 0,
            waits_for_turn: false,
            all_failed_samples: 0,
        };
        assert_eq!(words(&progress), ["1,120/60,000 samples", "110.0 samples/s", "eta 8m 55s", "2 slots"]);
        // What was given up is not waited for.
        let failing = JobProgress { failed_samples: 55_580, ..progress.clone() };
        assert_eq!(words(&failing)[..3], ["1,120/60,000 samples, 55,580 failed", "110.0 samples/s", "eta 30s"]);
        let behind = JobProgress { slots: 0, waits_for_turn: true, ..progress.clone() };
        assert_eq!(words(&behind)[3], "waiting for its turn");
        let mut bar = FollowedBar::default();
        bar.show(&JobProgress::default());
        assert!(bar.0.is_none(), "nothing is known yet");
        bar.show(&progress);
        assert!(bar.0.as_ref().is_some_and(|(stage, bar, _)| stage == "infer" && bar.position() == 1_120));
        progress.stage = "execute".into();
        progress.expected_samples = 30;
        progress.recorded_samples = 3;
        bar.show(&progress);
        assert!(bar.0.as_ref().is_some_and(|(stage, bar, _)| stage == "execute" && bar.length() == Some(30)));
        // While it is scored there is no bar.
        bar.show(&JobProgress::default());
        assert!(bar.0.is_none());
    }
}
