//! OpenCompass's `clp`: how probable each choice's token is right after the prompt.

use super::answer::RunError;
use super::asker::{Asker, Bordered, Question};
use super::beginnings::Manner;
use super::fit::{drop_shots, report};
use super::scoring::{Asked, Scored};
use compass_plan::engine::{PackSpec, Request};
use compass_plan::prompt::Prompt;
use compass_types::result::Outcome;

/// Wants log-probabilities of the choices' first tokens at the last position of the prompt.
///
/// OpenCompass takes the softmax over them afterwards; that, and the best one, are the reader's. One token is left free for
/// the choice when shots are dropped, as there.
pub(super) fn ask<'r>(
    asker: &mut Asker<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    (prompt, choices): (&Prompt, &[String]),
) -> Result<Question<'r>, RunError> {
    let limit = asker.texts.limit;
    let (kept, (text, mut ids)) = drop_shots(request.shots.len(), limit - 1, |kept| {
        let text = Bordered::of(request, prompt, kept, pack);
        let ids = asker.encode(&text, Manner::Framed)?;
        let length = ids.len();
        Ok(((text, ids), length))
    })?;
    if ids.is_empty() {
        ids.push(asker.texts.prefix("the prompt is empty")?);
    }
    let fit = report(kept, ids.len(), limit);
    asker.texts.truncate(&mut ids, limit, true);
    let tokens = choices.iter().map(|choice| token_of(asker, choice));
    let mut asked = Asked::next_of(ids, tokens.collect::<Result<_, _>>()?);
    asker.cut(&mut asked, &text, Manner::Framed)?;
    let finish = |scores: &[Scored]| {
        let scores = scores.first().map(Vec::as_slice).unwrap_or_default();
        Ok(Outcome::Clp(scores.iter().map(|score| f64::from(score.log_prob)).collect()))
    };
    Ok(Question { fit, texts: vec![asked], finish: Box::new(finish) })
}

/// The token that stands for a choice: the first of it, without what the tokenizer adds around texts.
fn token_of(asker: &mut Asker<'_>, choice: &str) -> Result<u32, RunError> {
    let ids = asker.texts.encode_plain(choice)?;
    let &first = ids.first().ok_or_else(|| format!("choice \"{choice}\" has no tokens"))?;
    if ids.len() > 1 {
        asker.notes.say(format!(
            "clp: choice \"{choice}\" is {} tokens to this tokenizer; only the first is scored",
            ids.len()
        ));
    }
    let spaced = asker.texts.encode_plain(&format!(" {choice}"))?;
    if spaced.first() != Some(&first) {
        asker.notes.say(format!(
            "clp: choice \"{choice}\" is another token with a space before it; it is scored as written, as OpenCompass \
             does: write the space into the choices where the model would write one"
        ));
    }
    Ok(first)
}
