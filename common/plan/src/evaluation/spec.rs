//! The evaluator that a data set names, with its parameters: plain data that the plan pins.

use super::{BleuTokenizer, GaokaoQuestion, Orders, Stemming, TextCheck, TextScore};
use compass_postprocess::FirstOption;
use serde::{Deserialize, Serialize};

/// The evaluators, by OpenCompass's names; lm-eval's where it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EvaluatorSpec {
    /// `AccEvaluator`: string equality of prediction and gold, in percent; with `loglikelihood`, not with `ll`, lm-eval's `acc_norm` too.
    Acc,
    /// `AccwithDetailsEvaluator`: Python's `==` of prediction and gold, types included, in percent.
    AccWithDetails,
    /// `EMEvaluator`: equality after the general postprocess, any of several golds.
    Em,
    /// `Gsm8kEvaluator`: equal text, or numbers closer than 1e-6.
    Gsm8k,
    /// Right or wrong by comparing texts as one data set's evaluator does.
    Check { check: TextCheck },
    /// A score per sample, averaged.
    Score { score: TextScore },
    /// lm-eval's `exact_match`, with what to ignore on both sides.
    ExactMatch(ExactMatchSpec),
    /// `EDAccEvaluator`: the candidate of the least edit distance; golds are `{ candidates, label }`.
    EdAcc,
    /// `MccEvaluator`: Matthews correlation of predictions and golds, times 100.
    Mcc,
    /// scikit-learn's F1 of predictions and golds over all labels, in percent.
    F1 { average: F1Average },
    /// `AUCROCEvaluator`: the area under the ROC curve of the second option's probability, and accuracy.
    AucRoc,
    /// `RougeEvaluator`: medians of bootstrap means, in percent.
    Rouge { stemming: Stemming },
    /// `BleuEvaluator`: sacrebleu's BLEU of the corpus.
    Bleu { tokenizer: BleuTokenizer },
    /// sacrebleu's chrF of the corpus; chrF++ with `word_order` 2.
    Chrf { word_order: usize },
    /// sacrebleu's TER of the corpus.
    Ter,
    /// `IFEvaluator`: instructions followed; golds are rows of IFEval.
    Ifeval,
    /// lm-eval's TruthfulQA, generated: golds are `{ correct_answers, incorrect_answers }`.
    TruthfulGeneration,
    /// `GaokaoBenchEvaluator`: points of the possible points, in percent.
    Gaokao { question: GaokaoQuestion },
    /// `OptionSimAccEvaluator`: the option that the output is most like; golds are rows with `answer` and the options.
    OptionSimAcc { options: FirstOption },
    /// `CrowspairsEvaluator`: choices named in generated text.
    CrowsPairs,
    /// lm-eval's BBQ, generated: golds are rows of BBQ.
    Bbq,
    /// lm-eval's CrowS-Pairs: how much, and how often, the first sentence of a pair is the likelier one.
    SentencePair,
    /// `CircularEvaluator` of MathBench: golds are `index--letter--pattern`.
    Circular,
    /// `opencompass.datasets.circular.CircularEvaluator`: rows have `qid` and `circular_pattern`.
    CircularEval { pattern: Orders },
    /// lm-eval's `multiple_choice` metrics, in the order given.
    MultipleChoice { metrics: Vec<ChoiceMetric> },
    /// lm-eval's perplexities: of one continuation, or per word and byte of whole texts.
    Perplexity,
    /// `AveragePPLEvaluator`: the mean score of texts.
    AveragePpl,
    /// `AverageInferencePPLEvaluator`: the NLL of all marked tokens over their number.
    AverageInferencePpl,
    /// `BPCEvaluator`: bits per character of whole texts.
    Bpc,
    /// `HumanEvalEvaluator`: programs that complete a function; golds are `{ task_id, prompt, test, entry_point }`.
    HumanEval {
        /// The k of pass@k, where no task has fewer answers.
        k: Vec<u32>,
    },
    /// `MBPPEvaluator` and `MBPPEvaluator2`: programs that pass tests; golds are the tests.
    Mbpp { answer: MbppAnswer },
    /// `MBPPPassKEvaluator`: golds are `{ test_list_2, task_id }`.
    MbppPassK {
        /// The k of pass@k, where no task has fewer answers.
        k: Vec<u32>,
    },
}

/// Way to find MBPP's program in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MbppAnswer {
    /// `MBPPEvaluator`: between `[BEGIN]` and `[DONE]`, or in a code block.
    #[default]
    Marked,
    /// `MBPPEvaluator2`: a code block without its tests.
    Block,
}

/// Text that lm-eval's `exact_match` ignores on both sides, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactMatchSpec {
    /// Patterns whose matches are deleted.
    pub regexes_to_ignore: Vec<String>,
    pub ignore_case: bool,
    /// ASCII punctuation.
    pub ignore_punctuation: bool,
    /// ASCII digits.
    pub ignore_numbers: bool,
}

/// One of scikit-learn's averages over labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum F1Average {
    #[default]
    Macro,
    Micro,
    Weighted,
    /// The score of the class `1` alone, against `0`: lm-eval's `f1` of two options.
    Binary,
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
    /// The probability of the right options among all (TruthfulQA's MC2); the gold answer is the list of right labels.
    Mc2,
    /// Matthews correlation of gold and chosen options, between -1 and 1.
    Mcc,
    /// scikit-learn's binary F1 of the second of two options, in percent.
    F1,
    /// The option whose sum the context raises most over what it is with nothing before it is the gold one.
    AccMutualInfo,
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
            Self::Mc2 => "mc2",
            Self::Mcc => "mcc",
            Self::F1 => "f1",
            Self::AccMutualInfo => "acc_mutual_info",
        }
    }
}

impl EvaluatorSpec {
    /// The name of the metric that it shows first, the peer's.
    pub fn metric(&self) -> &'static str {
        match self {
            Self::Acc | Self::AccWithDetails | Self::Gsm8k | Self::EdAcc | Self::CrowsPairs => "accuracy",
            Self::OptionSimAcc { .. } => "accuracy",
            Self::Em | Self::Bleu { .. } | Self::Gaokao { .. } => "score",
            Self::Check { check } => check.metric(),
            Self::Score { score } => score.metric(),
            Self::ExactMatch(_) => "exact_match",
            Self::Mcc => "matthews_correlation",
            Self::F1 { .. } => "f1",
            Self::AucRoc => "auc_score",
            Self::Rouge { .. } => "rouge1",
            Self::Chrf { word_order: 0 } => "chrf",
            Self::Chrf { .. } => "chrf++",
            Self::Ter => "ter",
            Self::Ifeval => "Prompt-level-strict-accuracy",
            Self::TruthfulGeneration => "bleu_max",
            Self::Bbq => "acc",
            Self::SentencePair => "likelihood_diff",
            Self::Circular => "acc_4",
            Self::CircularEval { .. } => "acc_origin",
            Self::MultipleChoice { metrics } => metrics.first().map_or("acc", |metric| metric.name()),
            Self::Perplexity => "perplexity",
            Self::AveragePpl | Self::AverageInferencePpl => "average_ppl",
            Self::Bpc => "bpc",
            Self::HumanEval { .. } => "humaneval_pass@1",
            Self::Mbpp { .. } => "score",
            Self::MbppPassK { .. } => "pass@1",
        }
    }

    /// Returns whether options are scored once more with nothing before them.
    pub fn needs_unconditional(&self) -> bool {
        matches!(self, Self::MultipleChoice { metrics } if metrics.contains(&ChoiceMetric::AccMutualInfo))
    }

    /// Returns whether it compares with a gold answer; a sample without one cannot be scored then.
    pub fn needs_gold(&self) -> bool {
        !matches!(
            self,
            Self::Perplexity | Self::AveragePpl | Self::AverageInferencePpl | Self::Bpc | Self::SentencePair
        )
    }
}
