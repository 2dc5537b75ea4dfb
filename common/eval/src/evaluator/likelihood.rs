//! How likely a text is, without right or wrong: lm-eval's perplexities, OpenCompass's average and bits per character.

use super::Unscored;
use super::metric_contribution::{Aggregation, Bounds, SampleValue, Scale};
use super::parsed_output::{Likelihood, ParsedOutput};
use super::scored_answer::{AnswerScore, ScoredAnswer};

/// lm-eval's perplexities. Of one continuation: `perplexity` of its log-likelihood, and `acc`, whether the model would say
/// it. Of a whole text: word_perplexity, byte_perplexity and bits_per_byte.
///
/// # Errors
/// The sample is neither.
pub(super) fn perplexity(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    match question.output {
        ParsedOutput::Options(options) => match (options.scores.as_slice(), &options.texts) {
            (&[sum], Some(texts)) => Ok(AnswerScore::default()
                .series("perplexity", Aggregation::Perplexity, SampleValue::Score(sum))
                .series("acc", Aggregation::Proportion, SampleValue::Hit(texts.greedy == [true]))),
            _ => Err(Unscored("perplexity needs exactly one continuation with its log-likelihood".into())),
        },
        &ParsedOutput::Likelihood(Likelihood::Sum { sum, words, bytes, .. }) if sum.is_finite() => {
            Ok(AnswerScore::default()
                .series("word_perplexity", Aggregation::WeightedPerplexity, SampleValue::Weighted(sum, words))
                .series("byte_perplexity", Aggregation::WeightedPerplexity, SampleValue::Weighted(sum, bytes))
                .series("bits_per_byte", Aggregation::BitsPerWeight, SampleValue::Weighted(sum, bytes)))
        }
        output => Err(unlikely(output, "perplexity", "loglikelihood` or `rolling")),
    }
}

/// OpenCompass's `AveragePPLEvaluator`: the mean of the texts' scores, without exponential.
///
/// # Errors
/// The sample is not one text with such a score.
pub(super) fn average_ppl(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let mean = match question.output {
        &ParsedOutput::Likelihood(Likelihood::Mean(mean)) => mean,
        ParsedOutput::Options(options) if options.scores.len() == 1 && options.texts.is_none() => -options.scores[0],
        output => return Err(unlikely(output, "average_ppl", "ppl_only")),
    };
    if !mean.is_finite() {
        return Err(not_finite());
    }
    let rule = Aggregation::Mean { scale: Scale::One, bounds: Bounds::Positive };
    Ok(AnswerScore::default().series("average_ppl", rule, SampleValue::Score(mean)))
}

/// OpenCompass's `AverageInferencePPLEvaluator`: the NLL of the marked tokens of all texts over their number.
///
/// # Errors
/// The sample is not one text with marked tokens.
pub(super) fn average_inference_ppl(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    match question.output {
        &ParsedOutput::Likelihood(Likelihood::Marked { nll, tokens }) if nll.is_finite() => {
            let item = SampleValue::Weighted(nll, tokens);
            Ok(AnswerScore::default().series("average_ppl", Aggregation::MeanPerWeight, item))
        }
        ParsedOutput::Likelihood(Likelihood::Marked { .. }) => Err(not_finite()),
        output => Err(unlikely(output, "average_inference_ppl", "inference_ppl_only")),
    }
}

/// Bits per character, OpenCompass's `BPCEvaluator`, over the windows of `rolling`: -(sum of log p) / (characters ln 2).
///
/// # Errors
/// The sample is not one whole text with its log-probability.
pub(super) fn bpc(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    match question.output {
        &ParsedOutput::Likelihood(Likelihood::Sum { sum, characters, .. }) if sum.is_finite() => {
            Ok(AnswerScore::default().series("bpc", Aggregation::BitsPerWeight, SampleValue::Weighted(sum, characters)))
        }
        output => Err(unlikely(output, "bpc", "rolling")),
    }
}

fn unlikely(output: &ParsedOutput<'_>, evaluator: &str, inferencer: &str) -> Unscored {
    match output {
        ParsedOutput::Likelihood(Likelihood::Sum { sum, .. }) if !sum.is_finite() => not_finite(),
        _ => Unscored(format!("`{evaluator}` needs `inferencer = \"{inferencer}\"`")),
    }
}

fn not_finite() -> Unscored {
    Unscored("the text has no finite score".into())
}

#[cfg(test)]
mod tests {
    use crate::evaluator::Accumulator;
    use crate::evaluator::fixture::*;
    use compass_plan::EvalSpec;
    use compass_plan::evaluation::EvaluatorSpec;
    use serde_json::{Value, json};

    #[test]
    fn marked_tokens_weigh_alike_whatever_their_text() {
        let mut accumulator = Accumulator::new(&EvalSpec::new(EvaluatorSpec::AverageInferencePpl));
        for (index, (nll, tokens)) in [(3.5, 2), (0.0, 0), (1.25, 6)].into_iter().enumerate() {
            let index = index as u32;
            let sample = ppl(index, Value::Null, &[json!([[0, 2, 1]])]);
            assert!(accumulator.observe(&sample, &ppl_result(index, &[(nll, tokens)])));
        }
        let metrics = accumulator.finish();
        // sum([3.5, 0.0, 1.25]) / sum([2, 0, 6])
        assert_eq!((metrics.get("average_ppl").unwrap().value, metrics.counts.scored), (0.59375, 3));
        let mut other = Accumulator::new(&EvalSpec::new(EvaluatorSpec::AverageInferencePpl));
        other.observe(&ppl(0, Value::Null, &[json!("A")]), &ppl_result(0, &[(1.0, 2)]));
        assert_eq!(other.counts().failed, 1);
    }
}
