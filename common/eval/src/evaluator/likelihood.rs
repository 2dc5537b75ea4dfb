//! How likely a text is, without right or wrong: lm-eval's perplexities, OpenCompass's average and bits per character.

use super::Unscored;
use super::question::{Judgement, Question};
use super::reading::{Likelihood, Reading};
use super::share::{Item, Rule, Scale};

/// lm-eval's perplexities. Of one continuation: `perplexity` of its log-likelihood, and `acc`, whether the model would say
/// it. Of a whole text: word_perplexity, byte_perplexity and bits_per_byte.
///
/// # Errors
/// The sample is neither.
pub(super) fn perplexity(question: &Question<'_>) -> Result<Judgement, Unscored> {
    match question.reading {
        Reading::Options(options) => match (options.scores.as_slice(), &options.texts) {
            (&[sum], Some(texts)) => Ok(Judgement::default()
                .line("perplexity", Rule::Perplexity, Item::Score(sum))
                .line("acc", Rule::Share, Item::Hit(texts.greedy == [true]))),
            _ => Err(Unscored("perplexity needs exactly one continuation with its log-likelihood".into())),
        },
        &Reading::Likelihood(Likelihood::Sum { sum, words, bytes, .. }) if sum.is_finite() => Ok(Judgement::default()
            .line("word_perplexity", Rule::WeightedPerplexity, Item::Weighted(sum, words))
            .line("byte_perplexity", Rule::WeightedPerplexity, Item::Weighted(sum, bytes))
            .line("bits_per_byte", Rule::BitsPerWeight, Item::Weighted(sum, bytes))),
        reading => Err(unlikely(reading, "perplexity", "loglikelihood` or `rolling")),
    }
}

/// OpenCompass's `AveragePPLEvaluator`: the mean of the texts' scores, without exponential.
///
/// # Errors
/// The sample is not one text with such a score.
pub(super) fn average_ppl(question: &Question<'_>) -> Result<Judgement, Unscored> {
    let mean = match question.reading {
        &Reading::Likelihood(Likelihood::Mean(mean)) => mean,
        Reading::Options(options) if options.scores.len() == 1 && options.texts.is_none() => -options.scores[0],
        reading => return Err(unlikely(reading, "average_ppl", "ppl_only")),
    };
    if !mean.is_finite() {
        return Err(not_finite());
    }
    Ok(Judgement::default().line("average_ppl", Rule::Mean { scale: Scale::One }, Item::Score(mean)))
}

/// Bits per character, OpenCompass's `BPCEvaluator`, over the windows of `rolling`: -(sum of log p) / (characters ln 2).
///
/// # Errors
/// The sample is not one whole text with its log-probability.
pub(super) fn bpc(question: &Question<'_>) -> Result<Judgement, Unscored> {
    match question.reading {
        &Reading::Likelihood(Likelihood::Sum { sum, characters, .. }) if sum.is_finite() => {
            Ok(Judgement::default().line("bpc", Rule::BitsPerWeight, Item::Weighted(sum, characters)))
        }
        reading => Err(unlikely(reading, "bpc", "rolling")),
    }
}

fn unlikely(reading: &Reading<'_>, evaluator: &str, inferencer: &str) -> Unscored {
    match reading {
        Reading::Likelihood(Likelihood::Sum { sum, .. }) if !sum.is_finite() => not_finite(),
        _ => Unscored(format!("`{evaluator}` needs `inferencer = \"{inferencer}\"`")),
    }
}

fn not_finite() -> Unscored {
    Unscored("the text has no finite score".into())
}
