//! OpenCompass's `ppl` at batch size 1: the NLL of t2..tn for each option's whole text; scoring divides by n.
//!
//! With `normalizing_str` only the answer counts, after its context and again after that text.

use super::answer::RunError;
use super::bordered::Bordered;
use super::fit::{drop_shots, report};
use super::masked::{Masked, masked};
use super::prefix_tokens::EncodeMode;
use super::scoring::Scored;
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use crate::tokenizer::Side;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::Prompt;
use compass_plan::{NumericProfile, OptionPrompt};
use compass_types::result::{NormalizerScore, Outcome, PplScore};
use serde_json::Value;

/// Tokens of an option's text, and how many of them at the start do not count.
struct EncodedOption {
    label: Value,
    text: Bordered,
    ids: Vec<u32>,
    mask: usize,
    answer: Option<String>,
}

/// Returns the request for the scores of every option; `normalizing` is `normalizing_str`.
///
/// A text of one token has nothing to predict: its sum is 0, as in OpenCompass. A text without tokens, for which
/// OpenCompass divides 0 by 0, fails the sample.
pub(super) fn build<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
    options: &[OptionPrompt],
    normalizing: Option<&str>,
) -> Result<ScoringRequest<'r>, RunError> {
    let limit = builder.texts.limit;
    let (kept, rows) = drop_shots(request.shots.len(), builder.texts.shot_limit(limit), |kept| {
        let rows = options.iter().map(|option| {
            let text = Bordered::of(request, &option.prompt, kept, spec);
            row(builder, option, text, normalizing.is_some())
        });
        let rows: Vec<EncodedOption> = rows.collect::<Result<_, _>>()?;
        let longest = rows.iter().map(|row| row.ids.len()).max().unwrap_or(0);
        Ok((rows, longest))
    })?;
    let fit = report(kept, rows.iter().map(|row| row.ids.len()).max().unwrap_or(0), limit);
    let mut masks = Vec::with_capacity(rows.len());
    let mut texts = Vec::with_capacity(rows.len());
    let mut add = |mut masked: Masked| {
        texts.push(std::mem::take(&mut masked.input));
        masked
    };
    for row in rows {
        let what = format!("option {}: the text", row.label);
        let normalizer = match (normalizing, &row.answer) {
            (Some(text), Some(answer)) => Some(normalizer(builder, text, answer, &row.label)?),
            _ => None,
        };
        let mut own = truncated(builder, row.ids, row.mask, &what)?;
        builder.cut(&mut own.input, &row.text, EncodeMode::Framed)?;
        masks.push((add(own), normalizer.map(&mut add)));
    }
    let finish = move |scores: &[Scored]| {
        let mut scores = scores.iter();
        let mut of = |masked: &Masked| -> Result<(f64, u32), RunError> {
            Ok((masked.nll_sum(scores.next().map(Vec::as_slice).unwrap_or_default())?, masked.tokens))
        };
        let options = masks.iter().map(|(own, normalizer)| {
            let (nll_sum, tokens) = of(own)?;
            let normalizer = normalizer.as_ref().map(&mut of).transpose()?;
            let normalizer = normalizer.map(|(nll_sum, tokens)| NormalizerScore { nll_sum, tokens });
            Ok(PplScore { nll_sum, tokens, normalizer })
        });
        Ok(Outcome::Ppl(options.collect::<Result<_, RunError>>()?))
    };
    Ok(ScoringRequest { fit, texts, finish: Box::new(finish) })
}

/// Returns the request for the scores of one text: OpenCompass's `PPLOnlyInferencer`.
pub(super) fn build_ppl_only<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
    prompt: &Prompt,
) -> Result<ScoringRequest<'r>, RunError> {
    let limit = builder.texts.limit;
    let (kept, (text, ids)) = drop_shots(request.shots.len(), builder.texts.shot_limit(limit), |kept| {
        let text = Bordered::of(request, prompt, kept, spec);
        let ids = builder.encode(&text, EncodeMode::Framed)?;
        let length = ids.len();
        Ok(((text, ids), length))
    })?;
    let fit = report(kept, ids.len(), limit);
    let mut masked = truncated(builder, ids, 0, "the text")?;
    builder.cut(&mut masked.input, &text, EncodeMode::Framed)?;
    let texts = vec![std::mem::take(&mut masked.input)];
    let finish = move |scores: &[Scored]| {
        let nll_sum = masked.nll_sum(scores.first().map(Vec::as_slice).unwrap_or_default())?;
        Ok(Outcome::Ppl(vec![PplScore { nll_sum, tokens: masked.tokens, normalizer: None }]))
    };
    Ok(ScoringRequest { fit, texts, finish: Box::new(finish) })
}

/// Encodes an option. With a normaliser the answer is the end of the text, and the tokens before it are masked: as many
/// as the context alone has.
fn row(
    builder: &ScoringRequestBuilder<'_>,
    option: &OptionPrompt,
    text: Bordered,
    normalized: bool,
) -> Result<EncodedOption, RunError> {
    let label = option.label.clone();
    let ids = builder.encode(&text, EncodeMode::Framed)?;
    if !normalized {
        return Ok(EncodedOption { label, text, ids, mask: 0, answer: None });
    }
    let missing = || format!("option {label}: `normalizing_str` needs an answer, and the prompt has no separator");
    let answer = option.answer.as_deref().ok_or_else(missing)?;
    let context = text.text.strip_suffix(answer);
    let context = context.ok_or_else(|| format!("option {label}: the prompt does not end with its answer"))?;
    let mask = builder.texts.encode(context)?.len();
    Ok(EncodedOption { label, text, ids, mask, answer: Some(answer.to_owned()) })
}

fn normalizer(
    builder: &ScoringRequestBuilder<'_>,
    text: &str,
    answer: &str,
    label: &Value,
) -> Result<Masked, RunError> {
    let mask = builder.texts.encode(text)?.len();
    let ids = builder.texts.encode(&format!("{text}{answer}"))?;
    let what = format!("option {label}: the answer after `normalizing_str`");
    truncated(builder, ids, mask, &what)
}

/// Creates a row, truncated to the model's limit.
///
/// Tokens cut on the left reduce the mask, so that the answer is still scored; OpenCompass keeps the mask and then
/// masks the start of the answer too.
fn truncated(
    builder: &ScoringRequestBuilder<'_>,
    mut ids: Vec<u32>,
    mask: usize,
    what: &str,
) -> Result<Masked, RunError> {
    let (length, limit) = (ids.len(), builder.texts.limit);
    builder.texts.truncate(&mut ids, limit, true);
    let cut = length - ids.len();
    let moves = builder.texts.truncation_side == Side::Left && builder.profile != NumericProfile::Opencompass;
    let (before, _) = builder.texts.tokenizer.frame();
    let mask = if moves { mask.saturating_sub(cut).max(before.min(mask)) } else { mask };
    masked(builder, ids, mask, what)
}
