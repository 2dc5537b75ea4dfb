//! Answers in text that are right or wrong by one data set's own comparison.

use super::Unscored;
use super::equality::python_eq;
use super::metric_contribution::{Aggregation, SampleValue};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use super::theorem::theorem_answer;
use compass_metrics::math::equal::{Rules, Verdict, equal};
use compass_metrics::math::{
    MathVersion, MinervaResult, TheoremResult, agieval_equivalent, hendrycks_math, math_equivalent, math_verify,
    mgsm_equal, minerva_math, parse_math_answer,
};
use compass_metrics::option::{
    bbeh_choice_equal, bbeh_freeform_equal, bbh_freeform_equal, lambada_equal, mmlu_pro_equal,
};
use compass_metrics::overlap::{drop_fuzzy, natural_questions, needle_found, squad20, trivia_qa};
use compass_plan::evaluation::TextCheck;
use compass_pyfmt::python_str;

/// In which order the peer multiplies.
fn rule(check: TextCheck) -> Aggregation {
    match check {
        TextCheck::MathV1
        | TextCheck::MathV2
        | TextCheck::Lambada
        | TextCheck::Drop
        | TextCheck::Gpqa
        | TextCheck::MathVerify
        | TextCheck::MmluPro => Aggregation::ProportionScaledFirst,
        _ => Aggregation::Proportion,
    }
}

/// Compares an answer with each gold one by our rules: equal where one is, undecided where none is and one may be. An answer
/// without text equals nothing.
pub(super) fn equal_to_any(golds: &[&str], answer: &str) -> Verdict {
    if answer.trim().is_empty() {
        return Verdict::Unequal;
    }
    let decisions = golds.iter().map(|gold| equal(gold, answer, Rules::Ours));
    decisions
        .reduce(|best, one| match (best, one) {
            (best, _) if best.is_equal() => best,
            (best, Verdict::Unequal) => best,
            (_, one) => one,
        })
        .unwrap_or(Verdict::Unequal)
}

/// Compares one answer; `undecided` is a second line where a peer would have asked a computer algebra system.
///
/// # Errors
/// The gold answer is not of the form that the evaluator takes.
pub(super) fn judge(check: TextCheck, question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let output = question.text();
    let answers = question.gold_texts();
    let texts: Vec<&str> = answers.iter().map(String::as_str).collect();
    let gold = python_str(question.gold);
    let any = |right: &dyn Fn(&str) -> bool| texts.iter().any(|answer| right(answer));
    let mut undecided = None;
    let correct = match check {
        TextCheck::TriviaQa => trivia_qa(&output, &texts),
        TextCheck::Nq => natural_questions(&output, &texts),
        TextCheck::Squad20 => squad20(&output, &texts),
        TextCheck::Bbh => bbh_freeform_equal(&output, &gold),
        TextCheck::BbhMcq | TextCheck::AgiEvalMcq | TextCheck::Gpqa => python_eq(&question.prediction, question.gold),
        TextCheck::AgiEval => agieval_equivalent(parse_math_answer(&output).as_deref(), &gold),
        TextCheck::Mgsm => mgsm_equal(&output, &gold),
        TextCheck::MathV1 => math_equivalent(&output, &gold, MathVersion::V1),
        TextCheck::MathV2 => math_equivalent(&output, &gold, MathVersion::V2),
        TextCheck::Equal => {
            let decision = equal_to_any(&texts, &output);
            undecided = Some(matches!(decision, Verdict::Undecided(_)));
            decision.is_equal()
        }
        TextCheck::MathVerify => {
            let decision = math_verify(&output, &gold);
            undecided = Some(matches!(decision, Verdict::Undecided(_)));
            decision.is_equal()
        }
        TextCheck::HendrycksMath => any(&|answer| hendrycks_math(&output, answer)),
        TextCheck::MinervaMath => {
            let result = minerva_math(&output, &gold);
            undecided = Some(result == MinervaResult::Undecided);
            result == MinervaResult::Equal
        }
        TextCheck::TheoremQa => {
            let result = theorem_answer(&output, question.gold)?;
            undecided = Some(result == TheoremResult::Undecided);
            result == TheoremResult::Correct
        }
        TextCheck::Lambada => any(&|answer| lambada_equal(&output, answer)),
        TextCheck::Bbeh => bbeh_freeform_equal(&output, &gold),
        TextCheck::BbehMcq => bbeh_choice_equal(&output, &gold),
        TextCheck::MmluPro => mmlu_pro_equal(&output, &gold),
        TextCheck::NeedleBench => {
            let malformed = || Unscored(format!("the gold answer `{gold}` is not of the form text*keyword"));
            needle_found(&output, &gold).ok_or_else(malformed)?
        }
        TextCheck::Drop => drop_fuzzy(&output, &texts.join("|")),
    };
    let score = AnswerScore::proportion(check.metric(), rule(check), correct, answers);
    Ok(match undecided {
        Some(undecided) => score.series("undecided", Aggregation::Proportion, SampleValue::Hit(undecided)),
        None => score,
    })
}
