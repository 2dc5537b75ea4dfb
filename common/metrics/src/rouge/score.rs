//! Precision, recall and F-measure.

use serde::{Deserialize, Serialize};

/// One ROUGE score; each in 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RougeScore {
    /// The share of the prediction that is in the reference.
    pub precision: f64,
    /// The share of the reference that is in the prediction.
    pub recall: f64,
    /// Their harmonic mean.
    pub fmeasure: f64,
}

impl RougeScore {
    /// `rouge_score`'s F-measure: exactly harmonic, 0 when both are 0.
    pub(super) fn harmonic(precision: f64, recall: f64) -> Self {
        let both = precision + recall;
        let fmeasure = if both > 0.0 { 2.0 * precision * recall / both } else { 0.0 };
        Self { precision, recall, fmeasure }
    }

    /// The `rouge` package's F-measure: the denominator is enlarged by 1e-8 against division by zero.
    pub(super) fn padded(precision: f64, recall: f64) -> Self {
        let fmeasure = 2.0 * ((precision * recall) / (precision + recall + 1e-8));
        Self { precision, recall, fmeasure }
    }
}
