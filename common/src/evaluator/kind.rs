//! Which evaluator a data set names.

use serde::{Deserialize, Serialize};

/// The evaluators by OpenCompass's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluatorKind {
    /// `AccEvaluator`: string equality of prediction and gold, in percent.
    Acc,
    /// `EMEvaluator`: equality after the general postprocess, any of several golds.
    Em,
    /// `Gsm8kEvaluator`: equal text, or numbers closer than 1e-6.
    Gsm8k,
}
