//! How likely a text is, without right or wrong: lm-eval's perplexities.

use super::Unscored;
use super::question::{Judgement, Question};
use super::reading::Reading;
use super::share::{Item, Rule};

/// Of one continuation: `perplexity` of its log-likelihood, and `acc`, whether the model would say it.
///
/// # Errors
/// The sample has not exactly one scored continuation.
pub(super) fn perplexity(question: &Question<'_>) -> Result<Judgement, Unscored> {
    match question.reading {
        Reading::Options(options) => match (options.scores.as_slice(), &options.texts) {
            (&[sum], Some(texts)) => Ok(Judgement::default()
                .line("perplexity", Rule::Perplexity, Item::Score(sum))
                .line("acc", Rule::Share, Item::Hit(texts.greedy == [true]))),
            _ => Err(Unscored("perplexity needs exactly one continuation with its log-likelihood".into())),
        },
        Reading::Texts(_) => Err(Unscored("perplexity needs log-likelihoods, not generated text".into())),
    }
}
