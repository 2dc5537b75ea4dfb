//! From the name of an evaluator to its function.

use super::question::{Judgement, Question};
use super::share::{Rule, Scale};
use super::{
    EvaluatorSpec, Unscored, bbq, circular, corpus, equality, exact_match, execution, instruction, labels, likelihood,
    multiple_choice, option_similarity, truthful,
};

impl EvaluatorSpec {
    /// Judges one answer.
    ///
    /// # Errors
    /// The answer is not of the kind that the evaluator judges.
    pub(super) fn judge(&self, question: &Question<'_>) -> Result<Judgement, Unscored> {
        Ok(match self {
            Self::Acc => equality::acc(question)?,
            Self::AccWithDetails => equality::acc_with_details(question),
            Self::Em => equality::em(question),
            Self::Gsm8k => equality::gsm8k(question),
            Self::Check { check } => check.judge(question)?,
            Self::Score { score } => score.judge(question)?,
            Self::ExactMatch(ignored) => exact_match::judge(question, ignored)?,
            Self::EdAcc => labels::edit_distance(question)?,
            Self::Mcc => labels::classes(question, "matthews_correlation", Rule::Matthews { scale: Scale::Percent }),
            Self::F1 { average } => labels::classes(question, "f1", Rule::F1 { average: *average }),
            Self::AucRoc => labels::auc_roc(question)?,
            Self::CrowsPairs => labels::classes(question, "accuracy", Rule::CrowsPairs),
            Self::Bbq => bbq::judge(question)?,
            Self::SentencePair => labels::sentence_pair(question)?,
            Self::OptionSimAcc { options } => option_similarity::judge(question, options)?,
            Self::Gaokao { question: kind } => labels::gaokao(question, *kind),
            Self::Rouge { stemming } => corpus::rouge(question, *stemming)?,
            Self::Bleu { tokenizer } => corpus::bleu(question, *tokenizer),
            Self::Ter => corpus::ter(question),
            Self::Ifeval => instruction::judge(question)?,
            Self::TruthfulGeneration => truthful::judge(question)?,
            Self::Chrf { word_order } => corpus::chrf(question, *word_order),
            Self::Circular => circular::judge(question)?,
            Self::MultipleChoice { metrics } => multiple_choice::judge(question, metrics)?,
            Self::Perplexity => likelihood::perplexity(question)?,
            Self::AveragePpl => likelihood::average_ppl(question)?,
            Self::Bpc => likelihood::bpc(question)?,
            Self::HumanEval { .. } | Self::Mbpp { .. } | Self::MbppPassK { .. } => return Err(execution::not_run()),
        })
    }
}
