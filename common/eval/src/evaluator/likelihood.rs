//! Likelihood of a text, without right or wrong: lm-eval's perplexities, OpenCompass's average and bits per character.

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

/// Bits per character, OpenCompass's `BPCEvaluator`, over the windows of `swce_loss`, which are its own, or of `rolling`:
/// -(sum of log p) / (characters ln 2).
///
/// # Errors
/// The sample is neither one whole text with its log-probability nor a slice of such windows.
pub(super) fn bpc(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    match question.output {
        &ParsedOutput::Likelihood(
            Likelihood::Sum { sum, characters, .. } | Likelihood::Windows { sum, characters },
        ) if sum.is_finite() => {
            Ok(AnswerScore::default().series("bpc", Aggregation::BitsPerWeight, SampleValue::Weighted(sum, characters)))
        }
        output => Err(unlikely(output, "bpc", "swce_loss` or `rolling")),
    }
}

fn unlikely(output: &ParsedOutput<'_>, evaluator: &str, inferencer: &str) -> Unscored {
    match output {
        ParsedOutput::Likelihood(Likelihood::Sum { sum, .. } | Likelihood::Windows { sum, .. }) if !sum.is_finite() => {
            not_finite()
        }
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
    use compass_plan::evaluation::EvaluatorSpec;
    use compass_plan::{Body, EvalSpec, Sample};
    use compass_types::result::{Outcome, PromptFit, RollingScore, SampleResult};
    use serde_json::{Value, json};

    /// Losses of the windows of one corpus, and what OpenCompass 0.5.4's `BPCEvaluator` makes of them.
    #[test]
    fn slices_add_up_to_bits_per_character() {
        let (losses, characters) = (
            [
                1507.3841552734375,
                443.0820007324219,
                444.845458984375,
                548.0338134765625,
                476.0108947753906,
                484.48199462890625,
                476.3299560546875,
                443.6136169433594,
                472.21649169921875,
                516.3115234375,
                483.0367431640625,
                492.771240234375,
                416.9803771972656,
                440.872314453125,
                417.89532470703125,
                472.3426513671875,
                456.3201599121094,
                484.82672119140625,
                415.75946044921875,
                500.3134460449219,
                453.55023193359375,
                477.9796447753906,
                484.4211730957031,
                455.1065673828125,
                425.35675048828125,
                486.8691711425781,
                445.7005920410156,
            ],
            1941_u64,
        );
        let mut accumulator = Accumulator::new(&EvalSpec::new(EvaluatorSpec::Bpc));
        for (slice, loss) in losses.iter().enumerate() {
            let (slice, slices) = (slice as u64, losses.len() as u64);
            let share = (slice + 1) * characters / slices - slice * characters / slices;
            let (index, slices) = (slice as u32, slices as u32);
            let body = Body::Windows { slice: index, slices, characters: share };
            let sample = Sample { index, gold: Value::Null, shots: vec![0], body };
            let outcome = Outcome::Rolling(RollingScore { sum: -loss, tokens: 64 });
            let result = SampleResult { index, fit: PromptFit::default(), outcome };
            assert!(accumulator.observe(&sample, &result));
        }
        let metrics = accumulator.finish();
        let found = metrics.get("bpc").unwrap().value;
        assert!((found - 10.12518657579061).abs() < 1e-6, "{found}");
    }

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
