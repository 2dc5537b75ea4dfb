//! From the name of an evaluator to its function.

use super::question::{Judgement, Question};
use super::{EvaluatorSpec, Unscored, circular, equality, likelihood, multiple_choice};

impl EvaluatorSpec {
    /// Judges one answer.
    ///
    /// # Errors
    /// The answer is not of the kind that the evaluator judges.
    pub(super) fn judge(&self, question: &Question<'_>) -> Result<Judgement, Unscored> {
        Ok(match self {
            Self::Acc => equality::acc(question),
            Self::AccWithDetails | Self::Mgsm => equality::acc_with_details(question),
            Self::Em => equality::em(question),
            Self::Gsm8k => equality::gsm8k(question),
            Self::Circular => circular::judge(question)?,
            Self::MultipleChoice { metrics } => multiple_choice::judge(question, metrics)?,
            Self::Perplexity => likelihood::perplexity(question)?,
            Self::AveragePpl => likelihood::average_ppl(question)?,
            Self::Bpc => likelihood::bpc(question)?,
        })
    }
}
