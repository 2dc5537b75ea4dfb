//! Whether the bits of a sample depend on what is computed beside it.

use super::finding::Finding;
use super::setup::{CheckSetup, run_timed};
use super::workload::{generation, to_continue, to_score};
use compass_plan::engine::{Engine, EngineFault};
use compass_plan::{InferSpec, Sample};
use compass_types::result::SampleResult;

const SECTION: &str = "invariance";

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let mut engine = setup.load()?;
    let (prompts, own, tokens) = (setup.amount(64, 10), setup.amount(96, 12), setup.amount(16, 6));
    let kinds = [
        ("scores", InferSpec::Ppl, to_score("w1 w2 w3 ", prompts, own, 2, 5, 11)),
        ("greedy tokens", generation(tokens, false), to_continue("w1 w2 w3 ", prompts, own, 12)),
        ("drawn tokens", generation(tokens, true), to_continue("w1 w2 w3 ", prompts, own, 13)),
    ];
    for (name, infer, samples) in kinds {
        // Lengths differ, so that neighbours do too.
        let (all, _, _) = run_timed(engine.as_mut(), &infer, &samples)?;
        let mut differing = Vec::new();
        for (composition, groups) in compositions(&samples) {
            let results = in_groups(engine.as_mut(), &infer, &groups)?;
            let count = all.iter().zip(&results).filter(|(one, other)| one != other).count();
            if count > 0 || results.len() != all.len() {
                differing.push(format!("{count} of {prompts} {composition}"));
            }
        }
        let value = if differing.is_empty() { "equal".to_owned() } else { differing.join(", ") };
        let row = Finding::measured(SECTION, format!("{name} of {prompts} prompts in 6 compositions"), value, "");
        report(row.judged("bit-equal", Some(differing.is_empty())));
    }
    Ok(())
}

/// Five compositions beside all at once: alone, with two and with six neighbours, in reverse, and all again.
fn compositions(samples: &[Sample]) -> Vec<(&'static str, Vec<Vec<Sample>>)> {
    let groups = |of: usize| samples.chunks(of).map(<[Sample]>::to_vec).collect::<Vec<_>>();
    let reversed = samples.iter().rev().cloned().collect::<Vec<_>>();
    vec![
        ("alone", groups(1)),
        ("with 2 neighbours", groups(3)),
        ("with 6 neighbours", groups(7)),
        ("in reverse order", vec![reversed]),
        ("a second time", vec![samples.to_vec()]),
    ]
}

/// Runs groups one after the other; returns the results in the order of their indices.
fn in_groups(
    engine: &mut dyn Engine,
    infer: &InferSpec,
    groups: &[Vec<Sample>],
) -> Result<Vec<SampleResult>, EngineFault> {
    let mut results = Vec::new();
    for group in groups {
        results.extend(run_timed(engine, infer, group)?.0);
    }
    results.sort_by_key(|result| result.index);
    Ok(results)
}
