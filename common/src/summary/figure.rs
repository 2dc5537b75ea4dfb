//! One number of the table or why there is none, with the samples that it stands on.

use crate::evaluator::Counts;

/// A number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// The number, or in words why there is none.
    pub(super) value: Result<f64, String>,
    /// Samples that it should stand on.
    pub(super) expected: u64,
    /// What became of them.
    pub(super) counts: Counts,
}

impl Figure {
    /// Two decimals as OpenCompass prints a number, or the reason.
    pub(super) fn text(&self) -> String {
        match &self.value {
            Ok(value) => format!("{value:.2}"),
            Err(reason) => reason.clone(),
        }
    }

    /// The number with its counts for a person: `93.50 (198/200, 2 failed)`.
    pub(super) fn with_counts(&self) -> String {
        let text = self.text();
        if self.value.is_err() {
            return text;
        }
        let Counts { scored, failed, .. } = self.counts;
        let mut shares = format!("{scored}/{}", self.expected);
        for (count, what) in [(failed, "failed"), (self.counts.missing(self.expected), "missing")] {
            if count > 0 {
                shares += &format!(", {count} {what}");
            }
        }
        format!("{text} ({shares})")
    }

    /// Whether there is a number and it stands on every sample.
    pub(super) fn is_complete(&self) -> bool {
        self.value.is_ok() && self.counts.scored == self.expected
    }
}
