//! Greedy generation with a key-value cache.

use super::answer::{RunError, text};
use super::fit::{drop_shots, report, truncate_left};
use super::plain::Texts;
use super::stop::StopStrings;
use crate::blocks::added_rows;
use crate::models::CausalLm;
use compass_common::engine::{PackSpec, Request, TokenCounters};
use compass_common::prompt::Prompt;
use compass_common::result::{Finish, Generation, Outcome, PromptFit};
use tch::{TchError, Tensor};

/// When a generation ends.
pub(super) struct Limits<'a> {
    pub(super) max_out_len: usize,
    pub(super) stop: &'a StopStrings,
    pub(super) eos: &'a [u32],
}

/// Continues the prompt. It is cut to the model's limit; what is generated may go beyond, as with transformers.
pub(super) fn run(
    model: &mut dyn CausalLm,
    texts: &Texts<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    prompt: &Prompt,
    limits: &Limits<'_>,
    counters: &mut TokenCounters,
) -> Result<(PromptFit, Outcome), RunError> {
    let limit = texts.limit;
    let (kept, mut ids) = drop_shots(request.shots.len(), limit, |kept| {
        let ids = texts.encode(&text(request.render(prompt, kept, pack))?)?;
        let length = ids.len();
        Ok((ids, length))
    })?;
    if ids.is_empty() {
        let none = || "the prompt is empty, and the model names neither BOS nor EOS to begin with".to_owned();
        ids.push(texts.tokenizer.prefix().map(|(id, _)| id).ok_or_else(none)?);
    }
    let fit = report(kept, ids.len(), limit);
    truncate_left(&mut ids, limit);
    let (generated, finish) = continue_greedily(model, texts, &ids, limits, counters)?;
    let text = texts.tokenizer.decode(&generated)?;
    let cut = limits.stop.cut(&text);
    let finish = if cut.len() < text.len() { Finish::Stop } else { finish };
    Ok((fit, Outcome::Generated(vec![Generation { text: cut.to_owned(), tokens: generated.len() as u32, finish }])))
}

fn continue_greedily(
    model: &mut dyn CausalLm,
    texts: &Texts<'_>,
    prompt: &[u32],
    limits: &Limits<'_>,
    counters: &mut TokenCounters,
) -> Result<(Vec<u32>, Finish), RunError> {
    let mut generated = Vec::new();
    // Learnt positions end; the last token generated needs none.
    let room = model.most_positions().map_or(usize::MAX, |most| (most + 1).saturating_sub(prompt.len()));
    let max_out_len = limits.max_out_len.min(room);
    if max_out_len == 0 {
        return Ok((generated, Finish::Length));
    }
    let mut count = |rows: usize| {
        counters.submitted += rows as u64;
        counters.computed += rows as u64;
        counters.padded += added_rows(rows as i64) as u64;
    };
    // The last token generated is never fed back.
    let mut cache = model.cache(prompt.len() + max_out_len - 1)?;
    count(prompt.len());
    let hidden = model.hidden(prompt, 0, Some(&mut cache))?;
    let mut next = most_probable(model, &hidden.f_narrow(0, prompt.len() as i64 - 1, 1)?)?;
    let finish = loop {
        generated.push(next);
        if limits.eos.contains(&next) {
            break Finish::Eos;
        }
        if !limits.stop.is_empty() {
            let window = generated.len().saturating_sub(limits.stop.window());
            // Decoders drop a space at the very start, so the window is only a hint; the whole text decides.
            let hint = texts.tokenizer.decode(&generated[window..])?;
            if limits.stop.occur_in(&hint)
                && (window == 0 || limits.stop.occur_in(&texts.tokenizer.decode(&generated)?))
            {
                break Finish::Stop;
            }
        }
        if generated.len() == max_out_len {
            break Finish::Length;
        }
        count(1);
        let hidden = model.hidden(&[next], prompt.len() + generated.len() - 1, Some(&mut cache))?;
        next = most_probable(model, &hidden)?;
    };
    counters.generated += generated.len() as u64;
    Ok((generated, finish))
}

/// The most probable token after one hidden state, `[1, hidden]`; ties go to the lowest id.
fn most_probable(model: &dyn CausalLm, hidden: &Tensor) -> Result<u32, TchError> {
    let best = Vec::<i64>::try_from(&model.logits(hidden)?.f_argmax(-1, false)?)?;
    let first = best.first().and_then(|&id| u32::try_from(id).ok());
    first.ok_or_else(|| TchError::Shape("argmax over the vocabulary gave no id".into()))
}
