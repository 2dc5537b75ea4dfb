//! Check that memory does not grow over many batches.

use super::finding::Finding;
use super::setup::{CheckSetup, run_timed};
use super::workload::{generation, to_continue, to_score};
use crate::device::taken_bytes;
use compass_plan::InferSpec;
use compass_plan::engine::EngineFault;

const SECTION: &str = "memory";

/// Memory that may be taken in addition to the first half's.
const SLACK_MIB: i64 = 64;

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let mut engine = setup.load()?;
    let (batches, count) = (setup.amount(60, 12), setup.amount(16, 4));
    let mut taken = Vec::with_capacity(batches);
    for batch in 0..batches {
        // Lengths go up and down.
        let own = 8 + (batch * 37) % setup.amount(400, 40);
        let seed = 9000 + 100 * batch as u64;
        run_timed(engine.as_mut(), &InferSpec::Ppl, &to_score("", count, own, 2, 4, seed))?;
        run_timed(engine.as_mut(), &generation(4, false), &to_continue("", count, own, seed + 50))?;
        taken.push((taken_bytes(setup.device, 1) >> 20) as i64);
    }
    let (first, second) = taken.split_at(batches / 2);
    let most = |half: &[i64]| half.iter().copied().max().unwrap_or(0);
    let grown = most(second) - most(first);
    report(Finding::measured(SECTION, format!("taken after {batches} batches"), most(&taken), "MiB"));
    let row = Finding::measured(SECTION, "growth in the second half", grown, "MiB");
    report(row.judged(format!("at most {SLACK_MIB} MiB"), Some(grown <= SLACK_MIB)));
    Ok(())
}
