//! OpenCompass's `ppl` at batch size 1: per option the whole text, the NLL of t2..tn; the division by n is the reader's.
//!
//! With `normalizing_str` only the answer counts, after its context and once more after that text.

use super::answer::RunError;
use super::fit::{drop_shots, report};
use super::masked::masked;
use super::runner::Runner;
use super::texts::as_text;
use crate::tokenizer::Side;
use compass_common::engine::{PackSpec, Request};
use compass_common::plan::{NumericProfile, OptionPrompt};
use compass_common::prompt::Prompt;
use compass_common::result::{NormalizerScore, Outcome, PplScore, PromptFit};
use serde_json::Value;

/// One text to score: its tokens, and how many of them at the beginning do not count.
struct Row {
    label: Value,
    ids: Vec<u32>,
    mask: usize,
    answer: Option<String>,
}

/// Scores every option; `normalizing` is `normalizing_str`.
///
/// A text of one token has nothing to predict: its sum is 0, as OpenCompass computes it. A text of no token, for which
/// OpenCompass divides 0 by 0, fails the sample.
pub(super) fn run(
    runner: &mut Runner<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    options: &[OptionPrompt],
    normalizing: Option<&str>,
) -> Result<(PromptFit, Outcome), RunError> {
    let limit = runner.texts.limit;
    let (kept, rows) = drop_shots(request.shots.len(), limit, |kept| {
        let rows = options.iter().map(|option| {
            let text = as_text(request.render(&option.prompt, kept, pack));
            row(runner, option, &text, normalizing.is_some())
        });
        let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
        let longest = rows.iter().map(|row| row.ids.len()).max().unwrap_or(0);
        Ok((rows, longest))
    })?;
    let fit = report(kept, rows.iter().map(|row| row.ids.len()).max().unwrap_or(0), limit);
    let mut scores = Vec::with_capacity(rows.len());
    for row in rows {
        let what = format!("option {}: the text", row.label);
        let normalizer = match (normalizing, &row.answer) {
            (Some(text), Some(answer)) => Some(normalizer(runner, text, answer, &row.label)?),
            _ => None,
        };
        let (nll_sum, tokens) = truncated(runner, row.ids, row.mask, &what)?;
        scores.push(PplScore { nll_sum, tokens, normalizer });
    }
    Ok((fit, Outcome::Ppl(scores)))
}

/// Scores one text: OpenCompass's `PPLOnlyInferencer`.
pub(super) fn run_only(
    runner: &mut Runner<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    prompt: &Prompt,
) -> Result<(PromptFit, Outcome), RunError> {
    let limit = runner.texts.limit;
    let (kept, ids) = drop_shots(request.shots.len(), limit, |kept| {
        let ids = runner.texts.encode(&as_text(request.render(prompt, kept, pack)))?;
        let length = ids.len();
        Ok((ids, length))
    })?;
    let fit = report(kept, ids.len(), limit);
    let (nll_sum, tokens) = truncated(runner, ids, 0, "the text")?;
    Ok((fit, Outcome::Ppl(vec![PplScore { nll_sum, tokens, normalizer: None }])))
}

/// Tokens of an option. With a normaliser the answer is the end of the text, and what stands before it is masked: so many
/// tokens as that beginning has alone.
fn row(runner: &Runner<'_>, option: &OptionPrompt, text: &str, normalized: bool) -> Result<Row, RunError> {
    let label = &option.label;
    let ids = runner.texts.encode(text)?;
    if !normalized {
        return Ok(Row { label: label.clone(), ids, mask: 0, answer: None });
    }
    let missing = || format!("option {label}: `normalizing_str` needs an answer, and the prompt has no separator");
    let answer = option.answer.as_deref().ok_or_else(missing)?;
    let context = text.strip_suffix(answer);
    let context = context.ok_or_else(|| format!("option {label}: the prompt does not end with its answer"))?;
    let mask = runner.texts.encode(context)?.len();
    Ok(Row { label: label.clone(), ids, mask, answer: Some(answer.to_owned()) })
}

fn normalizer(runner: &mut Runner<'_>, text: &str, answer: &str, label: &Value) -> Result<NormalizerScore, RunError> {
    let mask = runner.texts.encode(text)?.len();
    let ids = runner.texts.encode(&format!("{text}{answer}"))?;
    let what = format!("option {label}: the answer after `normalizing_str`");
    let (nll_sum, tokens) = truncated(runner, ids, mask, &what)?;
    Ok(NormalizerScore { nll_sum, tokens })
}

/// Sum and count of a row that is cut to the model's limit.
///
/// What was cut on the left is taken off the mask, so that the answer stays what is scored; OpenCompass leaves the mask as
/// it was and then masks the beginning of the answer too.
fn truncated(runner: &mut Runner<'_>, mut ids: Vec<u32>, mask: usize, what: &str) -> Result<(f64, u32), RunError> {
    let (length, limit) = (ids.len(), runner.texts.limit);
    runner.texts.truncate(&mut ids, limit, true);
    let cut = length - ids.len();
    let moves = runner.texts.truncation_side == Side::Left && runner.profile != NumericProfile::Opencompass;
    let (before, _) = runner.texts.tokenizer.frame();
    let mask = if moves { mask.saturating_sub(cut).max(before.min(mask)) } else { mask };
    let scored = masked(runner, &ids, mask, what)?;
    Ok((scored.nll_sum, scored.tokens))
}
