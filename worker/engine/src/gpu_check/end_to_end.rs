//! Two data sets as jobs have them, through the engine's interface: questions with options, and answers to be written.

use super::busy::Busy;
use super::finding::Finding;
use super::setup::{CheckSetup, run_timed};
use super::workload::{generation, to_continue, to_score, words};
use crate::device::DeviceChoice;
use compass_plan::InferSpec;
use compass_plan::engine::{EngineFault, TokenCounters};

const SECTION: &str = "end-to-end";

/// Samples that an agent hands to an engine at once, on a GPU and on the CPU.
const BATCH: (usize, usize) = (512, 64);

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let mut engine = setup.load()?;
    let (count, header) = (setup.amount(1024, 12), words(4, setup.amount(600, 30)));
    let questions = to_score(&header, count, setup.amount(80, 8), 4, setup.amount(12, 3), 4000);
    let answers = to_continue(&header, setup.amount(512, 8), setup.amount(100, 8), 5000);
    for (name, infer, samples) in [
        ("questions of 4 options, header shared", InferSpec::Ppl, questions),
        ("answers, header shared", generation(setup.amount(64, 6), false), answers),
    ] {
        let (mut tokens, mut seconds) = (TokenCounters::default(), 0.0);
        let busy = match setup.device {
            DeviceChoice::Cuda(ordinal) => Busy::of(ordinal as usize),
            DeviceChoice::Auto | DeviceChoice::Cpu => None,
        };
        for batch in samples.chunks(setup.amount(BATCH.0, BATCH.1)) {
            let (_, counters, took) = run_timed(engine.as_mut(), &infer, batch)?;
            tokens.add(&counters);
            seconds += took;
        }
        if let Some(share) = busy.and_then(Busy::mean) {
            report(Finding::measured(SECTION, format!("{name}: time that the GPU computes"), share, "%"));
        }
        let per_second = |count: f64| count / f64::max(seconds, 1e-9);
        report(Finding::measured(SECTION, name, per_second(samples.len() as f64), "samples/s"));
        if tokens.generated > 0 {
            let speed = per_second(tokens.generated as f64);
            report(Finding::measured(SECTION, format!("{name}: generated"), speed, "tokens/s"));
        }
        let submitted = tokens.submitted as f64 / tokens.computed.max(1) as f64;
        report(Finding::measured(SECTION, format!("{name}: submitted / computed"), submitted, ""));
    }
    Ok(())
}
