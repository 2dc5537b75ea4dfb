//! lm-eval's `loglikelihood_rolling`: the log-probability of a whole text of any length, in windows.

use super::answer::RunError;
use super::score::sum;
use super::scoring::{Scored, ScoringInput};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use super::texts::as_text;
use super::windows::windows;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::Prompt;
use compass_types::result::{Outcome, PromptFit, RollingScore};

/// Returns the request for the score of every token of the text, once. Nothing is dropped and nothing truncated.
///
/// A BOS that the tokenizer adds is scored after the prefix token, as in lm-eval. An empty text has a sum of 0.
pub(super) fn build<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
    text: &Prompt,
) -> Result<ScoringRequest<'r>, RunError> {
    let text = as_text(request.render(text, request.shots.len(), spec));
    let ids = builder.texts.encode_unless_prefixed(&text)?;
    let prefix = builder.texts.prefix("the text has nothing before it")?;
    let windows = windows(&ids, prefix, builder.texts.limit).into_iter().map(|mut window| {
        let first = window.context.len();
        window.context.append(&mut window.predicted);
        ScoringInput::scores(window.context, first)
    });
    let tokens = ids.len() as u32;
    let fit = PromptFit { shots_kept: request.shots.len() as u32, tokens, ..PromptFit::default() };
    let precision = builder.precision;
    let finish = move |scores: &[Scored]| {
        let mut total = 0.0;
        for window in scores {
            total += sum(window, precision)?;
        }
        Ok(Outcome::Rolling(RollingScore { sum: total, tokens }))
    };
    Ok(ScoringRequest { fit, texts: windows.collect(), finish: Box::new(finish) })
}
