//! Which evaluator a data set names, with its parameters: plain data that the plan pins.

use serde::{Deserialize, Serialize};

/// The evaluators, by OpenCompass's names; lm-eval's where it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EvaluatorSpec {
    /// `AccEvaluator`: string equality of prediction and gold, in percent; with `loglikelihood` lm-eval's `acc_norm` too.
    Acc,
    /// `AccwithDetailsEvaluator`: Python's `==` of prediction and gold, types included, in percent.
    AccWithDetails,
    /// `EMEvaluator`: equality after the general postprocess, any of several golds.
    Em,
    /// `Gsm8kEvaluator`: equal text, or numbers closer than 1e-6.
    Gsm8k,
    /// `MGSM_Evaluator`: the same text once postprocessed, in percent.
    Mgsm,
    /// `CircularEvaluator`: golds are `index--letter--pattern`.
    Circular,
    /// lm-eval's `multiple_choice` metrics, in the order given.
    MultipleChoice { metrics: Vec<ChoiceMetric> },
    /// lm-eval's perplexities: of one continuation, or per word and byte of whole texts.
    Perplexity,
    /// `AveragePPLEvaluator`: the mean score of texts.
    AveragePpl,
    /// `BPCEvaluator`: bits per character of whole texts.
    Bpc,
}

/// A metric of lm-eval's `multiple_choice` tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceMetric {
    /// The highest sum is the gold option's.
    Acc,
    /// The highest sum per Unicode code point of the answer is.
    AccNorm,
    /// The highest sum per UTF-8 byte of the answer is.
    AccBytes,
    /// The gold option is what the model would say.
    ExactMatch,
    /// Squared distance of the options' probabilities from the gold one's (Brier 1950), between 0 and 2.
    BrierScore,
}

impl ChoiceMetric {
    /// lm-eval's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acc => "acc",
            Self::AccNorm => "acc_norm",
            Self::AccBytes => "acc_bytes",
            Self::ExactMatch => "exact_match",
            Self::BrierScore => "brier_score",
        }
    }
}

impl EvaluatorSpec {
    /// The name of the metric that it shows first, the peer's.
    pub fn metric(&self) -> &'static str {
        match self {
            Self::Acc | Self::AccWithDetails | Self::Gsm8k | Self::Mgsm => "accuracy",
            Self::Em => "score",
            Self::Circular => "acc_4",
            Self::MultipleChoice { metrics } => metrics.first().map_or("acc", |metric| metric.name()),
            Self::Perplexity => "perplexity",
            Self::AveragePpl => "average_ppl",
            Self::Bpc => "bpc",
        }
    }

    /// Whether it compares with a gold answer; without one such a sample cannot be scored.
    pub fn needs_gold(&self) -> bool {
        !matches!(self, Self::Perplexity | Self::AveragePpl | Self::Bpc)
    }
}
