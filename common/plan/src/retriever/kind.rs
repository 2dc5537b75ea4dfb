//! The retriever that a data set names.

use serde::{Deserialize, Serialize};

/// The retrievers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RetrieverKind {
    /// No shots.
    Zero,
    /// OpenCompass's `FixKRetriever`: these rows of the training split, in this order, for every question.
    FixK {
        ids: Vec<u32>,
        /// Set if rows equal to the question are left out, which then has fewer shots.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exclude_question: bool,
    },
    /// OpenCompass's `RandomRetriever`: `numpy.random.choice(pool, k, replace=False)` after one `numpy.random.seed(seed)`.
    Random {
        k: u32,
        seed: u32,
        /// Set if rows equal to the question are left out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exclude_question: bool,
    },
    /// OpenCompass's `BM25Retriever`: the `k` rows most like the question by Okapi BM25 over the words of `columns`, best
    /// first.
    Bm25 {
        k: u32,
        columns: Vec<String>,
        /// Set if rows equal to the question are left out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exclude_question: bool,
    },
    /// OpenCompass's `SlidingWindowRetriever`: the `k` rows before the question's own position; before the first of them
    /// the last rows of the pool.
    SlidingWindow { k: u32 },
    /// lm-eval's `first_n` sampler: the first `k` rows of the training split.
    FirstN {
        k: u32,
        /// Set if rows equal to the question are left out, as when the pool is the split that is asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exclude_question: bool,
    },
    /// lm-eval's `default` sampler: `random.Random(seed).sample(pool, k)`, one stateful stream over the questions.
    Sampled {
        k: u32,
        seed: u64,
        /// Set if rows equal to the question are left out; lm-eval then draws one more to drop.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exclude_question: bool,
    },
}
