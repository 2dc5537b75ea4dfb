//! Why samples have no score, in words: beside the number in the table, and once on the screen.
//!
//! The whole list, sample by sample, stands in `results/`.

use compass_diagnostic::Diagnostic;
use compass_eval::evaluator::Metrics;
use compass_eval::report::Findings;
use compass_eval::summary::TableCell;
use compass_plan::{ModelPlan, Unit};
use std::collections::BTreeMap;

/// Characters of a reason that a cell of the table shows.
const CELL_CHARACTERS: usize = 100;
/// Samples, and places, that a line on the screen names.
const NAMED: usize = 10;

/// The cell of a unit: its metrics, or the one reason for which every sample failed.
pub(super) fn cell(unit: &Unit<'_>, metrics: Metrics, findings: &Findings) -> TableCell {
    let mut reasons = findings.failed().values();
    match reasons.next() {
        Some(first) if metrics.values.is_empty() && reasons.all(|reason| reason == first) => {
            TableCell::Failed { counts: metrics.counts, reason: short(first, unit.model) }
        }
        _ => TableCell::Evaluated(metrics),
    }
}

/// The reason without the model's folder, which the heading of the column stands for, and not longer than a cell may be.
fn short(reason: &str, model: &ModelPlan) -> String {
    let folders = [&model.path, &model.tokenizer_path].into_iter().filter(|folder| !folder.is_empty());
    let bare = folders.fold(reason.to_owned(), |text, folder| text.replace(&format!("{folder}/"), ""));
    match bare.char_indices().nth(CELL_CHARACTERS) {
        Some((end, _)) => format!("{}...", &bare[..end]),
        None => bare,
    }
}

/// The reasons of a whole job, each with the places where it struck.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<String, Vec<String>>);

impl Reasons {
    /// Takes note of what failed in the unit called `name`.
    pub(crate) fn observe(&mut self, name: &str, findings: &Findings) {
        let mut by_reason: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (index, reason) in findings.failed() {
            by_reason.entry(reason).or_default().push(*index);
        }
        for (reason, samples) in by_reason {
            let noun = if samples.len() == 1 { "sample" } else { "samples" };
            let place = format!("{name} ({} {noun}: {})", samples.len(), some(&samples));
            self.0.entry(reason.to_owned()).or_default().push(place);
        }
    }

    /// Each reason once, and where it was given.
    pub(crate) fn notices(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        let said = |(reason, places): (&String, &Vec<String>)| {
            Diagnostic::error(reason).with_fact("without a score", some(places))
        };
        self.0.iter().map(said)
    }
}

/// The first of them, and how many more there are.
pub(super) fn some<T: ToString>(items: &[T]) -> String {
    let listed = items.iter().take(NAMED).map(T::to_string).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(NAMED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_end() {
        assert_eq!(some(&[1, 2, 3]), "1, 2, 3");
        assert_eq!(some(&(0..13).collect::<Vec<_>>()), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more");
    }
}
