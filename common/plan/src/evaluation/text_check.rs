//! Comparisons of texts that are right or wrong by one data set's own rules.

use serde::{Deserialize, Serialize};

/// The comparisons, by OpenCompass's evaluators; lm-eval's tasks where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextCheck {
    /// `TriviaQAEvaluator`: an answer is part of the output.
    TriviaQa,
    /// `NQEvaluator`: as TriviaQA with other marks of an answer.
    Nq,
    /// `SQuAD20Evaluator`.
    Squad20,
    /// `BBHEvaluator`: equal once postprocessed, in any case.
    Bbh,
    /// `BBHEvaluator_mcq`: equal.
    BbhMcq,
    /// `AGIEvalEvaluator`: the formula in the output is equivalent to the answer.
    AgiEval,
    /// `AGIEvalEvaluator_mcq`: equal.
    AgiEvalMcq,
    /// `MGSM_Evaluator`: equal once postprocessed.
    Mgsm,
    /// `MATHEvaluator`, by its normaliser.
    MathV1,
    /// `MATHEvaluator(version='v2')`.
    MathV2,
    /// Compass's own: the values are equal. What neither exact rules nor points show is wrong, and counted.
    Equal,
    /// `MATHVerifyEvaluator`: what math-verify finds in the whole output is equal. What only algebra could decide is wrong, and counted.
    MathVerify,
    /// lm-eval's `hendrycks_math`; golds are worked solutions.
    HendrycksMath,
    /// lm-eval's `minerva_math`; golds are worked solutions. What only algebra could decide is wrong, and counted.
    MinervaMath,
    /// `TheoremQAEvaluatorV3`; golds are `{ answer, answer_type }`. What only algebra could decide is wrong, and counted.
    TheoremQa,
    /// `LambadaEvaluator`: the first word.
    Lambada,
    /// `DropOpenAIEvaluator`: an answer and the output are part of one another; golds are joined by `|`.
    Drop,
    /// `GPQAEvaluator`: equal.
    Gpqa,
    /// `BBEHEvaluator`: equal once postprocessed, brackets and spaces in lists aside.
    Bbeh,
    /// `BBEHEvaluator_mcq`: the letter is equal.
    BbehMcq,
    /// `MMLUProBaseEvaluator`: the letter or the text of the answer; golds are `B. the text`.
    MmluPro,
    /// `NeedleBenchOriginEvaluator`: the keyword is part of the output; golds are `text*keyword`.
    NeedleBench,
}

impl TextCheck {
    /// The metric's name, the peer's.
    pub fn metric(self) -> &'static str {
        match self {
            Self::HendrycksMath | Self::MinervaMath => "exact_match",
            Self::Mgsm | Self::MathV1 | Self::MathV2 | Self::Lambada | Self::Drop => "accuracy",
            Self::Gpqa | Self::MmluPro | Self::Equal | Self::MathVerify => "accuracy",
            _ => "score",
        }
    }
}
