//! From the name of an evaluator to its function.

use super::metric_contribution::{Aggregation, Scale};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use super::{
    Unscored, bbq, circular, circular_eval, converted, corpus, equality, exact_match, execution, instruction, labels,
    likelihood, multiple_choice, option_similarity, text_check, text_score, truthful,
};
use compass_plan::evaluation::EvaluatorSpec;

/// Judges one answer by `evaluator`.
///
/// # Errors
/// The answer is not of the kind that the evaluator judges.
pub(super) fn judge(evaluator: &EvaluatorSpec, question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    Ok(match evaluator {
        EvaluatorSpec::Acc => equality::acc(question)?,
        EvaluatorSpec::AccWithDetails => equality::acc_with_details(question),
        EvaluatorSpec::Em => equality::em(question),
        EvaluatorSpec::Gsm8k => equality::gsm8k(question),
        EvaluatorSpec::Check { check } => text_check::judge(*check, question)?,
        EvaluatorSpec::Score { score } => text_score::judge(*score, question)?,
        EvaluatorSpec::ExactMatch(ignored) => exact_match::judge(question, ignored)?,
        EvaluatorSpec::EdAcc => labels::edit_distance(question)?,
        EvaluatorSpec::Mcc => {
            labels::classes(question, "matthews_correlation", Aggregation::Matthews { scale: Scale::Percent })
        }
        EvaluatorSpec::F1 { average } => labels::classes(question, "f1", Aggregation::F1 { average: *average }),
        EvaluatorSpec::AucRoc => labels::auc_roc(question)?,
        EvaluatorSpec::CrowsPairs => labels::classes(question, "accuracy", Aggregation::CrowsPairs),
        EvaluatorSpec::Bbq => bbq::judge(question)?,
        EvaluatorSpec::SentencePair => labels::sentence_pair(question)?,
        EvaluatorSpec::OptionSimAcc { options } => option_similarity::judge(question, options)?,
        EvaluatorSpec::Gaokao { question: kind } => labels::gaokao(question, converted::question(*kind)),
        EvaluatorSpec::Rouge { stemming } => corpus::rouge(question, converted::stemming(*stemming))?,
        EvaluatorSpec::Bleu { tokenizer } => corpus::bleu(question, *tokenizer),
        EvaluatorSpec::Ter => corpus::ter(question),
        EvaluatorSpec::Ifeval => instruction::judge(question)?,
        EvaluatorSpec::TruthfulGeneration => truthful::judge(question)?,
        EvaluatorSpec::Chrf { word_order } => corpus::chrf(question, *word_order),
        EvaluatorSpec::Circular => circular::judge(question)?,
        EvaluatorSpec::CircularEval { pattern } => circular_eval::judge(question, *pattern)?,
        EvaluatorSpec::MultipleChoice { metrics } => multiple_choice::judge(question, metrics)?,
        EvaluatorSpec::Perplexity => likelihood::perplexity(question)?,
        EvaluatorSpec::AveragePpl => likelihood::average_ppl(question)?,
        EvaluatorSpec::AverageInferencePpl => likelihood::average_inference_ppl(question)?,
        EvaluatorSpec::Bpc => likelihood::bpc(question)?,
        EvaluatorSpec::HumanEval { .. } | EvaluatorSpec::Mbpp { .. } | EvaluatorSpec::MbppPassK { .. } => {
            return Err(execution::not_run());
        }
    })
}
