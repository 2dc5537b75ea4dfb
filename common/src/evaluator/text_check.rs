//! Answers in text that are right or wrong by one data set's own comparison.

use super::Unscored;
use super::equality::python_eq;
use super::question::{Judgement, Question};
use super::share::{Item, Rule};
use super::theorem::theorem_answer;
use compass_metrics::math::{
    MathVersion, MinervaVerdict, TheoremVerdict, agieval_equivalent, hendrycks_math, math_equivalent, mgsm_equal,
    minerva_math, parse_math_answer,
};
use compass_metrics::option::{
    bbeh_choice_equal, bbeh_freeform_equal, bbh_freeform_equal, lambada_equal, mmlu_pro_equal,
};
use compass_metrics::overlap::{drop_fuzzy, natural_questions, needle_found, squad20, trivia_qa};
use compass_pyfmt::python_str;
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
            Self::Gpqa | Self::MmluPro => "accuracy",
            _ => "score",
        }
    }

    /// In which order the peer multiplies.
    fn rule(self) -> Rule {
        match self {
            Self::MathV1 | Self::MathV2 | Self::Lambada | Self::Drop | Self::Gpqa | Self::MmluPro => {
                Rule::ShareScaledFirst
            }
            _ => Rule::Share,
        }
    }

    /// Compares one answer; `undecided` is a second line where a peer would have asked a computer algebra system.
    ///
    /// # Errors
    /// The gold answer is not of the form that the evaluator takes.
    pub(super) fn judge(self, question: &Question<'_>) -> Result<Judgement, Unscored> {
        let output = question.text();
        let answers = question.gold_texts();
        let texts: Vec<&str> = answers.iter().map(String::as_str).collect();
        let gold = python_str(question.gold);
        let any = |right: &dyn Fn(&str) -> bool| texts.iter().any(|answer| right(answer));
        let mut undecided = None;
        let correct = match self {
            Self::TriviaQa => trivia_qa(&output, &texts),
            Self::Nq => natural_questions(&output, &texts),
            Self::Squad20 => squad20(&output, &texts),
            Self::Bbh => bbh_freeform_equal(&output, &gold),
            Self::BbhMcq | Self::AgiEvalMcq | Self::Gpqa => python_eq(&question.prediction, question.gold),
            Self::AgiEval => agieval_equivalent(parse_math_answer(&output).as_deref(), &gold),
            Self::Mgsm => mgsm_equal(&output, &gold),
            Self::MathV1 => math_equivalent(&output, &gold, MathVersion::V1),
            Self::MathV2 => math_equivalent(&output, &gold, MathVersion::V2),
            Self::HendrycksMath => any(&|answer| hendrycks_math(&output, answer)),
            Self::MinervaMath => {
                let verdict = minerva_math(&output, &gold);
                undecided = Some(verdict == MinervaVerdict::Undecided);
                verdict == MinervaVerdict::Equal
            }
            Self::TheoremQa => {
                let verdict = theorem_answer(&output, question.gold)?;
                undecided = Some(verdict == TheoremVerdict::Undecided);
                verdict == TheoremVerdict::Correct
            }
            Self::Lambada => any(&|answer| lambada_equal(&output, answer)),
            Self::Bbeh => bbeh_freeform_equal(&output, &gold),
            Self::BbehMcq => bbeh_choice_equal(&output, &gold),
            Self::MmluPro => mmlu_pro_equal(&output, &gold),
            Self::NeedleBench => {
                let malformed = || Unscored(format!("the gold answer `{gold}` is not of the form text*keyword"));
                needle_found(&output, &gold).ok_or_else(malformed)?
            }
            Self::Drop => drop_fuzzy(&output, &texts.join("|")),
        };
        let judgement = Judgement::share(self.metric(), self.rule(), correct, answers);
        Ok(match undecided {
            Some(undecided) => judgement.line("undecided", Rule::Share, Item::Hit(undecided)),
            None => judgement,
        })
    }
}
