//! OpenCompass's `clp`: how probable each choice's token is right after the prompt.

use super::answer::RunError;
use super::fit::{drop_shots, report};
use super::runner::Runner;
use super::score::{count, log_softmax};
use super::texts::as_text;
use crate::blocks::Segment;
use compass_common::engine::{PackSpec, Request};
use compass_common::prompt::Prompt;
use compass_common::result::{Outcome, PromptFit};

/// Log-probabilities of the choices' first tokens at the last position of the prompt.
///
/// OpenCompass takes the softmax over them afterwards; that, and the best one, are the reader's. One token is left free for
/// the choice when shots are dropped, as there.
pub(super) fn run(
    runner: &mut Runner<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    (prompt, choices): (&Prompt, &[String]),
) -> Result<(PromptFit, Outcome), RunError> {
    let limit = runner.texts.limit;
    let (kept, mut ids) = drop_shots(request.shots.len(), limit - 1, |kept| {
        let ids = runner.texts.encode(&as_text(request.render(prompt, kept, pack)))?;
        let length = ids.len();
        Ok((ids, length))
    })?;
    if ids.is_empty() {
        ids.push(runner.texts.prefix("the prompt is empty")?);
    }
    let fit = report(kept, ids.len(), limit);
    runner.texts.truncate(&mut ids, limit, true);
    let tokens = choices.iter().map(|choice| token_of(runner, choice));
    let tokens: Vec<i64> = tokens.collect::<Result<_, _>>()?;
    count(ids.len(), runner.counters);
    let whole = Segment { cache: 0, position: 0, rows: ids.len() };
    let hidden = runner.model.hidden(&ids, &[whole], &mut [runner.model.cache(ids.len())?])?;
    let logits = runner.model.logits(&hidden.f_narrow(0, ids.len() as i64 - 1, 1)?)?;
    let log_probs = log_softmax(&logits, runner.precision)?;
    let wanted = tch::Tensor::f_from_slice(&tokens)?.f_to_device(log_probs.device())?.f_unsqueeze(0)?;
    let taken = Vec::<f32>::try_from(&log_probs.f_gather(1, &wanted, false)?.f_squeeze_dim(0)?)?;
    Ok((fit, Outcome::Clp(taken.into_iter().map(f64::from).collect())))
}

/// The token that stands for a choice: the first of it, without what the tokenizer adds around texts.
fn token_of(runner: &mut Runner<'_>, choice: &str) -> Result<i64, RunError> {
    let ids = runner.texts.encode_plain(choice)?;
    let &first = ids.first().ok_or_else(|| format!("choice \"{choice}\" has no tokens"))?;
    if ids.len() > 1 {
        runner.notes.say(format!(
            "clp: choice \"{choice}\" is {} tokens to this tokenizer; only the first is scored",
            ids.len()
        ));
    }
    let spaced = runner.texts.encode_plain(&format!(" {choice}"))?;
    if spaced.first() != Some(&first) {
        runner.notes.say(format!(
            "clp: choice \"{choice}\" is another token with a space before it; it is scored as written, as OpenCompass \
             does: write the space into the choices where the model would write one"
        ));
    }
    Ok(i64::from(first))
}
