//! The loop that continues a prompt token by token, over a key-value cache.

use super::answer::RunError;
use super::runner::Runner;
use super::sampling::{Draw, choose};
use super::score::count;
use super::settings::Settings;
use crate::blocks::{KvCache, Segment};
use compass_common::plan::NumericProfile;
use compass_common::result::{Finish, Generation};
use tch::{Kind, Tensor};

/// The answers to one prompt: [`Settings::sequences`] of them. `first` is the sequence number of the first one, by which it
/// draws.
pub(super) fn answers(
    runner: &mut Runner<'_>,
    prompt: &[u32],
    settings: &Settings,
    sample: u32,
    first: u32,
) -> Result<Vec<Generation>, RunError> {
    // Learnt positions end; the last token generated needs none.
    let room = runner.model.most_positions().map_or(usize::MAX, |most| (most + 1).saturating_sub(prompt.len()));
    let max_out_len = settings.max_out_len.min(room);
    if max_out_len == 0 {
        let none = Generation { text: String::new(), tokens: 0, finish: Finish::Length };
        return Ok(vec![none; settings.sequences as usize]);
    }
    let mut started = Started::new(runner, prompt, max_out_len)?;
    let mut answers = Vec::with_capacity(settings.sequences as usize);
    for sequence in 0..settings.sequences {
        if sequence > 0 && settings.rules.warp.is_none() {
            answers.extend(answers.first().cloned());
            continue;
        }
        let draw = Draw { seed: settings.seed, sample, sequence: first + sequence };
        let (tokens, finish) = continue_from(runner, &mut started, prompt, settings, draw, max_out_len)?;
        answers.push(finished(runner, &tokens, finish, settings)?);
    }
    Ok(answers)
}

/// A prompt that was read: what comes next, and the cache to go on with.
struct Started {
    /// `[1, vocabulary]`.
    logits: Tensor,
    caches: [KvCache; 1],
}

impl Started {
    fn new(runner: &mut Runner<'_>, prompt: &[u32], max_out_len: usize) -> Result<Self, RunError> {
        // The last token generated is never fed back.
        let mut caches = [runner.model.cache(prompt.len() + max_out_len - 1)?];
        count(prompt.len(), runner.counters);
        let whole = Segment { cache: 0, position: 0, rows: prompt.len() };
        let hidden = runner.model.hidden(prompt, &[whole], &mut caches)?;
        let logits = runner.model.logits(&hidden.f_narrow(0, prompt.len() as i64 - 1, 1)?)?;
        Ok(Self { logits, caches })
    }
}

fn continue_from(
    runner: &mut Runner<'_>,
    started: &mut Started,
    prompt: &[u32],
    settings: &Settings,
    draw: Draw,
    max_out_len: usize,
) -> Result<(Vec<u32>, Finish), RunError> {
    let mut seen = prompt.to_vec();
    let mut logits = started.logits.shallow_clone();
    let longest = settings.stop.longest(runner.texts.tokenizer)?;
    let finish = loop {
        let next = next_token(&logits, &seen, seen.len() - prompt.len(), settings, draw)?;
        seen.push(next);
        let generated = &seen[prompt.len()..];
        if settings.eos.contains(&next) {
            break Finish::Eos;
        }
        let stopped = match runner.profile {
            NumericProfile::Opencompass => settings.stop.occur_at_the_end(runner.texts.tokenizer, &seen, longest)?,
            _ => settings.stop.completed(runner.texts.tokenizer, generated)?,
        };
        if stopped {
            break Finish::Stop;
        }
        if generated.len() == max_out_len {
            break Finish::Length;
        }
        count(1, runner.counters);
        let last = Segment { cache: 0, position: seen.len() - 1, rows: 1 };
        let hidden = runner.model.hidden(&[next], &[last], &mut started.caches)?;
        logits = runner.model.logits(&hidden)?;
    };
    let generated = seen.split_off(prompt.len());
    runner.counters.generated += generated.len() as u64;
    Ok((generated, finish))
}

/// The token after logits, `[1, vocabulary]`, when `generated` of the `seen` tokens are not the prompt's.
fn next_token(
    logits: &Tensor,
    seen: &[u32],
    generated: usize,
    settings: &Settings,
    draw: Draw,
) -> Result<u32, RunError> {
    let none = || RunError::Sample("the model's logits are not numbers, so there is no next token".into());
    if settings.rules.are_plain() {
        // Ties go to the lowest id, on every device.
        let best = Vec::<i64>::try_from(&logits.f_argmax(-1, false)?)?;
        return best.first().and_then(|&id| u32::try_from(id).ok()).ok_or_else(none);
    }
    let mut row = Vec::<f32>::try_from(&logits.f_to_kind(Kind::Float)?.f_reshape([-1])?)?;
    settings.rules.apply(&mut row, seen, generated, &settings.eos);
    choose(&row, settings.rules.warp.map(|_| (draw, generated))).ok_or_else(none)
}

/// The answer as it is reported: decoded, and cut before the first stop string.
fn finished(runner: &Runner<'_>, tokens: &[u32], finish: Finish, settings: &Settings) -> Result<Generation, RunError> {
    let tokenizer = runner.texts.tokenizer;
    let text = if settings.keeps_special { tokenizer.decode_whole(tokens)? } else { tokenizer.decode(tokens)? };
    let cut = settings.stop.cut(&text);
    // With chat models the end token is a stop string too: the model ended the answer all the same.
    let finish = if cut.len() < text.len() && finish != Finish::Eos { Finish::Stop } else { finish };
    Ok(Generation { text: cut.to_owned(), tokens: tokens.len() as u32, finish })
}
