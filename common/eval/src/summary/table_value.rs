//! One number of the table or why there is none, with the samples that it stands on.

use super::notes::{MissingReason, Notes};
use crate::evaluator::{AnswerFigures, Counts};

/// A number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableValue {
    /// The number, or why there is none.
    pub(super) value: Result<f64, MissingReason>,
    /// Samples that it should stand on.
    pub(super) expected: u64,
    /// Numbers of samples by what became of them.
    pub(super) counts: Counts,
    /// Uncertainty of the number.
    pub(super) uncertainty: Uncertainty,
    /// Figures of the answers that it is of.
    pub(super) answers: Option<Box<AnswerFigures>>,
}

/// Standard error and interval of a number, in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Uncertainty {
    /// Standard error.
    pub(super) stderr: Option<f64>,
    /// Interval of 95 %.
    pub(super) ci95: Option<(f64, f64)>,
}

impl TableValue {
    /// Returns the value of something that was not asked.
    pub(super) fn not_asked() -> Self {
        let value = Err(MissingReason::not_asked(String::new()));
        Self { value, expected: 0, counts: Counts::default(), uncertainty: Uncertainty::default(), answers: None }
    }

    /// Returns whether there is a number.
    pub(super) fn is_number(&self) -> bool {
        self.value.is_ok()
    }

    /// Two decimals as OpenCompass prints a number, or the reason.
    pub(super) fn text(&self) -> String {
        match &self.value {
            Ok(value) => format!("{value:.2}"),
            Err(reason) => reason.to_string(),
        }
    }

    /// Returns the text with a star behind a number that is from a part of the samples: `93.50*`.
    pub(super) fn starred(&self) -> String {
        let star = if self.value.is_ok() && !self.is_complete() { "*" } else { "" };
        self.text() + star
    }

    /// The number for a person, with its counts where it stands on a part of the samples: `93.50 (198/200, 2 failed)`. Of
    /// what has none one word, and where in `notes` the reason stands: `withheld [1]`.
    pub(super) fn with_counts(&self, notes: &mut Notes) -> String {
        if let Err(reason) = &self.value {
            if reason.reason.is_empty() {
                return reason.kind.to_owned();
            }
            return format!("{} [{}]", reason.kind, notes.number(reason));
        }
        let text = self.text();
        let unfinished = self.unfinished();
        if self.is_complete() {
            return unfinished.map_or(text.clone(), |share| format!("{text} ({share} unfinished)"));
        }
        let Counts { scored, failed, cancelled, .. } = self.counts;
        let mut contributions = format!("{scored}/{}", self.expected);
        let (of_themselves, missing) = (failed.saturating_sub(cancelled), self.counts.missing(self.expected));
        for (count, what) in [(of_themselves, "failed"), (cancelled, "cancelled"), (missing, "missing")] {
            if count > 0 {
                contributions += &format!(", {count} {what}");
            }
        }
        if let Some(share) = unfinished {
            contributions += &format!(", {share} unfinished");
        }
        format!("{text} ({contributions})")
    }

    /// Share of the answers whose thinking did not end, in words; `None` where all did.
    fn unfinished(&self) -> Option<String> {
        let share = self.counts.unfinished as f64 / self.counts.answers.max(1) as f64 * 100.0;
        (self.counts.unfinished > 0).then(|| match share {
            ..1.0 => format!("{share:.1} %"),
            _ => format!("{share:.0} %"),
        })
    }

    /// [`TableValue::with_counts`] with the standard error behind the number: `50.43 ± 3.21`.
    pub(super) fn with_error(&self, notes: &mut Notes) -> String {
        let cell = self.with_counts(notes);
        let number = self.text();
        match (self.uncertainty.stderr, cell.strip_prefix(&number)) {
            (Some(error), Some(counts)) if self.is_number() => format!("{number} ± {error:.2}{counts}"),
            _ => cell,
        }
    }

    /// The number and its counts with as little as says that something is missing: `93.50 (198/200)`.
    pub(super) fn short(&self, notes: &mut Notes) -> String {
        match &self.value {
            Ok(_) if !self.is_complete() && self.counts.unfinished == 0 => {
                format!("{} ({}/{})", self.text(), self.counts.scored, self.expected)
            }
            _ => self.with_counts(notes),
        }
    }

    /// Returns whether there is a number and it is from every sample, or none was asked for.
    pub(super) fn is_complete(&self) -> bool {
        match &self.value {
            Ok(_) => self.counts.scored == self.expected,
            Err(reason) => !reason.is_asked(),
        }
    }
}
