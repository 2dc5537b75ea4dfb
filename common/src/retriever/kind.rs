//! Which retriever a data set names.

use serde::{Deserialize, Serialize};

/// The retrievers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RetrieverKind {
    /// No shots.
    Zero,
    /// OpenCompass's `FixKRetriever`: these rows of the training split, in this order, for every question.
    FixK { ids: Vec<u32> },
    /// lm-eval's `first_n` sampler: the first `k` rows of the training split.
    FirstN { k: u32 },
    /// lm-eval's `default` sampler: `random.Random(seed).sample(pool, k)`, one stateful stream over the questions.
    Sampled { k: u32, seed: u64 },
}
