//! A job of 60,000 samples in which every evaluator keeps an item per sample, or counts: right counts and scores, nothing run
//! twice, the same bytes under every partitioner. `scale` is the same with a million samples and up to 64 agents.

use compass_tests::{RealSize, RunFindings};

/// One job of 60,000 samples under two evaluators of each kind of item.
const SIZE: RealSize = RealSize { models: 1, data_sets: 12, rows: 5_000 };

#[test]
#[ignore = "nightly"]
fn sixty_thousand_samples_are_counted_and_scored_rightly_under_every_partitioner() {
    let mut first = None;
    for partitioner in ["balanced", "naive"] {
        let mut job = SIZE.job("", &format!("[infer.partitioner]\ntype = \"{partitioner}\""));
        let trace = job.path("trace");
        job.set_env("COMPASS_FAULT_TRACE", &trace.display().to_string());
        job.run(&["--max-num-workers", "2"]).expect(0);
        let outcome = RunFindings::read(&SIZE, &job, Some(&trace));
        assert!(outcome.faults.is_empty(), "{partitioner}: {:#?}", outcome.faults);
        assert_eq!((outcome.scored, outcome.run_again), (SIZE.samples(), 0), "{partitioner}");
        assert_eq!(*first.get_or_insert(outcome.results), outcome.results, "{partitioner}: results/ differ");
    }
}
