//! Generation from one prompt.

use super::answer::RunError;
use super::chat_format::ChatFormat;
use super::decode::answers;
use super::fit::{drop_shots, report};
use super::runner::Runner;
use super::settings::Settings;
use super::texts::as_text;
use compass_common::engine::{PackSpec, Request};
use compass_common::plan::NumericProfile;
use compass_common::prompt::{Message, Prompt, RenderedPrompt};
use compass_common::result::{Generation, Outcome, PromptFit};

/// Continues the prompt, which goes through the chat template where the model has one to obey.
pub(super) fn run(
    runner: &mut Runner<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    prompt: &Prompt,
    settings: &Settings,
    chat: Option<&ChatFormat>,
) -> Result<(PromptFit, Outcome), RunError> {
    let (kept, ids) = drop_shots(request.shots.len(), settings.limit, |kept| {
        let ids = match (request.render(prompt, kept, pack), chat) {
            (RenderedPrompt::Messages(messages), Some(chat)) => runner.texts.encode_plain(&chat.text(&messages)?)?,
            // A text alone is what the user says (`_convert_chat_messages`).
            (RenderedPrompt::Text(text), Some(chat)) => {
                runner.texts.encode_plain(&chat.text(&[message("user", text)])?)?
            }
            (prompt, None) => encode(runner, &as_text(prompt))?,
        };
        let length = ids.len();
        Ok((ids, length))
    })?;
    let (fit, generations) = from_ids(runner, (ids, chat.is_none()), kept, settings, request.sample.index, 0)?;
    Ok((fit, Outcome::Generated(generations)))
}

/// A message of a chat.
pub(super) fn message(role: &str, content: String) -> Message {
    Message { role: role.to_owned(), content }
}

/// Ids of a prompt that is text alone.
pub(super) fn encode(runner: &Runner<'_>, text: &str) -> Result<Vec<u32>, RunError> {
    match runner.profile {
        NumericProfile::LmEvalHf => runner.texts.encode_unless_prefixed(text),
        _ => runner.texts.encode(text),
    }
}

/// Continues a prompt with `kept` shots, encoded with special tokens around it (`framed`) or not. It is cut to the limit;
/// what is generated may go beyond, as with transformers.
pub(super) fn from_ids(
    runner: &mut Runner<'_>,
    (mut ids, framed): (Vec<u32>, bool),
    kept: usize,
    settings: &Settings,
    sample: u32,
    first: u32,
) -> Result<(PromptFit, Vec<Generation>), RunError> {
    if ids.is_empty() {
        ids.push(runner.texts.prefix("the prompt is empty")?);
    }
    let fit = report(kept, ids.len(), settings.limit);
    // lm-eval takes the last tokens as they are.
    let framed = framed && runner.profile != NumericProfile::LmEvalHf;
    runner.texts.truncate(&mut ids, settings.limit, framed);
    Ok((fit, answers(runner, &ids, settings, sample, first)?))
}
