//! lm-eval's `loglikelihood_rolling`: the log-probability of a whole text of any length, in windows.

use super::answer::RunError;
use super::asker::{Asker, Question};
use super::score::sum;
use super::scoring::{Asked, Scored};
use super::texts::as_text;
use super::windows::windows;
use compass_plan::engine::{PackSpec, Request};
use compass_plan::prompt::Prompt;
use compass_types::result::{Outcome, PromptFit, RollingScore};

/// Wants the score of every token of the text, once. Nothing is dropped and nothing truncated.
///
/// A BOS that the tokenizer adds is itself scored after the prefix token, as lm-eval does. An empty text has a sum of 0.
pub(super) fn ask<'r>(
    asker: &mut Asker<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    text: &Prompt,
) -> Result<Question<'r>, RunError> {
    let text = as_text(request.render(text, request.shots.len(), pack));
    let ids = asker.texts.encode_unless_prefixed(&text)?;
    let prefix = asker.texts.prefix("the text has nothing before it")?;
    let windows = windows(&ids, prefix, asker.texts.limit).into_iter().map(|mut window| {
        let first = window.context.len();
        window.context.append(&mut window.predicted);
        Asked::scores(window.context, first)
    });
    let tokens = ids.len() as u32;
    let fit = PromptFit { shots_kept: request.shots.len() as u32, tokens, truncated_from: 0 };
    let precision = asker.precision;
    let finish = move |scores: &[Scored]| {
        let mut total = 0.0;
        for window in scores {
            total += sum(window, precision)?;
        }
        Ok(Outcome::Rolling(RollingScore { sum: total, tokens }))
    };
    Ok(Question { fit, texts: windows.collect(), finish: Box::new(finish) })
}
