//! Which postprocessor a data set names.

use serde::{Deserialize, Serialize};

/// The postprocessors by OpenCompass's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Postprocessor {
    /// `general_postprocess`.
    General,
    /// `gsm8k_postprocess`: the last number before any further `Question:`.
    Gsm8k,
    /// `gsm8k_dataset_postprocess`: what follows `#### `, commas removed.
    Gsm8kDataset,
}
