//! The request of a data set for a second reading of its answers, by `answer` and `equal`, beside the peer's.

use compass_postprocess::AnswerKind;
use serde::{Deserialize, Serialize};

/// Request of a data set for the second reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Answers are read where their kind follows from the evaluator and its postprocessors.
    #[default]
    Auto,
    /// As `Auto`, and it is the first metric.
    First,
    Off,
    /// Answers are of this kind.
    As(AnswerKind),
}

impl Reading {
    /// Returns whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
