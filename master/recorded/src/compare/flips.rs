//! The texts of samples that flipped, read again: they are kept nowhere while the numbers are made.

use super::reading::OpenRun;
use crate::runs::answer;
use compass_cli::exit;
use compass_compare::{Comparison, Flip, question_text};
use compass_jobs::Failure;
use compass_pyfmt::python_str;
use std::collections::BTreeMap;

/// Texts of a sample in one run.
struct Shown {
    question: String,
    gold: String,
    answer: String,
}

/// The flips of a comparison with their texts, in its order.
///
/// # Errors
/// A run is damaged.
pub(super) fn flips(comparison: &Comparison, a: &OpenRun, b: &OpenRun) -> Result<Vec<Flip>, Failure> {
    let mut found = Vec::new();
    for paired in &comparison.paired {
        let (of_a, of_b): (Vec<u32>, Vec<u32>) = paired.flips.iter().map(|&(a, b, _)| (a, b)).unzip();
        let mut first = texts(a, &paired.model_a, &paired.dataset, &of_a)?;
        let mut second = texts(b, &paired.model_b, &paired.dataset, &of_b)?;
        for &(index_a, index_b, gained) in &paired.flips {
            let (Some(one), Some(other)) = (first.remove(&index_a), second.remove(&index_b)) else { continue };
            found.push(Flip {
                dataset: paired.dataset.clone(),
                model_a: paired.model_a.clone(),
                model_b: paired.model_b.clone(),
                index_a,
                index_b,
                gained,
                question: one.question,
                gold: one.gold,
                answer_a: one.answer,
                answer_b: other.answer,
            });
        }
    }
    Ok(found)
}

fn texts(run: &OpenRun, model: &str, dataset: &str, wanted: &[u32]) -> Result<BTreeMap<u32, Shown>, Failure> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let units = run.recorded.plan.units().filter(|unit| unit.model.abbr == model && unit.dataset.abbr == dataset);
    for unit in units {
        let spec = unit.eval();
        let read = run.recorded.samples(unit, |_, sample, result| {
            if wanted.contains(&sample.index) {
                let answer = result.map(|result| answer(sample, result, &spec)).unwrap_or_default();
                let shown = Shown {
                    question: Flip::cut(&question_text(sample)),
                    gold: Flip::cut(&python_str(&sample.gold)),
                    answer: Flip::cut(&answer),
                };
                found.insert(sample.index, shown);
            }
        });
        read.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    }
    Ok(found)
}
