//! Scores of texts that are averaged over the samples.

use super::Language;
use serde::{Deserialize, Serialize};

/// The scores, by OpenCompass's evaluators; lm-eval's tasks where it has none. In percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextScore {
    /// `SquadEvaluator`: token F1 of the first line, and exact match.
    Squad,
    /// lm-eval's DROP: em and f1; golds are answers, each a list of spans.
    DropBags,
    /// `JiebaRougeEvaluator`: rouge1, rouge2 and rougeL over Chinese words.
    JiebaRouge,
    /// `LongBenchF1Evaluator`.
    LongbenchF1(Language),
    /// `LongBenchRougeEvaluator`.
    LongbenchRouge(Language),
    /// `LongBenchRetrievalEvaluator`.
    LongbenchRetrieval(Language),
    /// `LongBenchCountEvaluator`.
    LongbenchCount,
    /// `LongBenchCodeSimEvaluator`.
    LongbenchCodeSim,
    /// `LongBenchClassificationEvaluator`; golds are `{ answers, all_classes }`.
    LongbenchClassification,
    /// OpenCompass's evaluators of RULER but for question answering: the share of the answers that are in the output.
    Ruler,
    /// `RulerQaEvaluator`: whether any answer is in the output.
    RulerQa,
    /// `TydiQAEvaluator`.
    TydiQa,
}

impl TextScore {
    /// The name of the first metric, the peer's.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Squad => "f1",
            Self::DropBags => "em",
            Self::TydiQa => "exact_match",
            Self::JiebaRouge => "rouge1",
            _ => "score",
        }
    }
}
