//! OpenCompass's `clp`: the probability of each choice's token right after the prompt.

use super::answer::RunError;
use super::bordered::Bordered;
use super::fit::{drop_shots, report};
use super::prefix_tokens::EncodeMode;
use super::scoring::{Scored, ScoringInput};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::Prompt;
use compass_types::result::Outcome;

/// Returns the request for the log-probabilities of the choices' first tokens at the last position of the prompt.
///
/// OpenCompass takes the softmax and the best choice afterwards, as scoring does here. One token is left free for the
/// choice when shots are dropped, as there.
pub(super) fn build<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
    (prompt, choices): (&Prompt, &[String]),
) -> Result<ScoringRequest<'r>, RunError> {
    let limit = builder.texts.limit;
    let (kept, (text, mut ids)) = drop_shots(request.shots.len(), builder.texts.shot_limit(limit - 1), |kept| {
        let text = Bordered::of(request, prompt, kept, spec);
        let ids = builder.encode(&text, EncodeMode::Framed)?;
        let length = ids.len();
        Ok(((text, ids), length))
    })?;
    if ids.is_empty() {
        ids.push(builder.texts.prefix("the prompt is empty")?);
    }
    let fit = report(kept, ids.len(), limit);
    builder.texts.truncate(&mut ids, limit, true);
    let tokens = choices.iter().map(|choice| token_of(builder, choice));
    let mut input = ScoringInput::next_of(ids, tokens.collect::<Result<_, _>>()?);
    builder.cut(&mut input, &text, EncodeMode::Framed)?;
    let finish = |scores: &[Scored]| {
        let scores = scores.first().map(Vec::as_slice).unwrap_or_default();
        Ok(Outcome::Clp(scores.iter().map(|score| f64::from(score.log_prob)).collect()))
    };
    Ok(ScoringRequest { fit, texts: vec![input], finish: Box::new(finish) })
}

/// Returns the token of a choice: its first, without tokens that the tokenizer adds around texts.
fn token_of(builder: &mut ScoringRequestBuilder<'_>, choice: &str) -> Result<u32, RunError> {
    let ids = builder.texts.encode_plain(choice)?;
    let &first = ids.first().ok_or_else(|| format!("choice \"{choice}\" has no tokens"))?;
    if ids.len() > 1 {
        builder.notes.add(format!(
            "clp: choice \"{choice}\" is {} tokens to this tokenizer; only the first is scored",
            ids.len()
        ));
    }
    let spaced = builder.texts.encode_plain(&format!(" {choice}"))?;
    if spaced.first() != Some(&first) {
        builder.notes.add(format!(
            "clp: choice \"{choice}\" is another token with a space before it; it is scored as written, as OpenCompass \
             does: write the space into the choices where the model would write one"
        ));
    }
    Ok(first)
}
