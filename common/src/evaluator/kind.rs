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

impl EvaluatorKind {
    /// The name of the metric that it prints first, OpenCompass's.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Acc | Self::Gsm8k => "accuracy",
            Self::Em => "score",
        }
    }
}
