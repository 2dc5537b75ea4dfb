//! lm-eval's `loglikelihood_rolling`: the log-probability of a whole text of any length, in windows.

use super::answer::RunError;
use super::runner::Runner;
use super::score::sum;
use super::texts::as_text;
use super::windows::windows;
use compass_common::engine::{PackSpec, Request};
use compass_common::prompt::Prompt;
use compass_common::result::{Outcome, PromptFit, RollingScore};

/// Scores every token of the text once. Nothing is dropped and nothing truncated.
///
/// A BOS that the tokenizer adds is itself scored after the prefix token, as lm-eval does. An empty text has a sum of 0.
pub(super) fn run(
    runner: &mut Runner<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    text: &Prompt,
) -> Result<(PromptFit, Outcome), RunError> {
    let text = as_text(request.render(text, request.shots.len(), pack));
    let ids = runner.texts.encode_unless_prefixed(&text)?;
    let prefix = runner.texts.prefix("the text has nothing before it")?;
    let mut total = 0.0;
    for mut window in windows(&ids, prefix, runner.texts.limit) {
        let first = window.context.len();
        window.context.append(&mut window.predicted);
        let scores = runner.score(&window.context, first)?;
        total += sum(&scores, runner.precision)?;
    }
    let fit = PromptFit { shots_kept: request.shots.len() as u32, tokens: ids.len() as u32, truncated_from: 0 };
    Ok((fit, Outcome::Rolling(RollingScore { sum: total, tokens: ids.len() as u32 })))
}
