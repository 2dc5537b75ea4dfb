//! OpenCompass's `ppl` at batch size 1: per option the whole text, the NLL of t2..tn; the division by n is the reader's.

use super::answer::{RunError, text};
use super::fit::{drop_shots, report, truncate_left};
use super::plain::Texts;
use super::score::{score_from, sum};
use crate::models::CausalLm;
use compass_common::engine::{PackSpec, Request, TokenCounters};
use compass_common::plan::OptionPrompt;
use compass_common::result::{Outcome, PplScore, PromptFit};

/// Scores every option.
///
/// A text of one token has nothing to predict: its sum is 0, as OpenCompass computes it. A text of no token, for which
/// OpenCompass divides 0 by 0, fails the sample.
pub(super) fn run(
    model: &mut dyn CausalLm,
    texts: &Texts<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    options: &[OptionPrompt],
    counters: &mut TokenCounters,
) -> Result<(PromptFit, Outcome), RunError> {
    let limit = texts.limit;
    let (kept, encoded) = drop_shots(request.shots.len(), limit, |kept| {
        let ids = options.iter().map(|option| texts.encode(&text(request.render(&option.prompt, kept, pack))?));
        let ids: Vec<Vec<u32>> = ids.collect::<Result<_, _>>()?;
        let longest = ids.iter().map(Vec::len).max().unwrap_or(0);
        Ok((ids, longest))
    })?;
    let fit = report(kept, encoded.iter().map(Vec::len).max().unwrap_or(0), limit);
    let mut scores = Vec::with_capacity(encoded.len());
    for (option, mut ids) in options.iter().zip(encoded) {
        truncate_left(&mut ids, limit);
        if ids.is_empty() {
            let label = &option.label;
            return Err(RunError::Sample(format!("option {label}: the text has no tokens, so it has no score")));
        }
        let nll_sum = -sum(&score_from(model, &ids, 1, counters)?);
        scores.push(PplScore { nll_sum: nll_sum + 0.0, tokens: ids.len() as u32, normalizer: None });
    }
    Ok((fit, Outcome::Ppl(scores)))
}
