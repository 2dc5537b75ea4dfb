//! OpenCompass's `ChatInferencer`: the assistant's answers in a conversation of several turns.

use super::answer::RunError;
use super::chat_format::ChatFormat;
use super::generate::{encode, from_ids};
use super::runner::Runner;
use super::settings::Settings;
use compass_common::engine::Request;
use compass_common::plan::{ChatMode, ChatTurn};
use compass_common::result::{Outcome, PromptFit};

/// Answers in the places of the assistant's turns, in their order: the last one alone, or every one.
///
/// Each answer draws as a sequence of its own. The fit is that of the longest history.
pub(super) fn run(
    runner: &mut Runner<'_>,
    request: &Request<'_>,
    (turns, mode): (&[ChatTurn], ChatMode),
    settings: &Settings,
    chat: Option<&ChatFormat>,
) -> Result<(PromptFit, Outcome), RunError> {
    let mut turns = turns.to_vec();
    let mut places: Vec<usize> = (0..turns.len()).filter(|&at| turns[at].role == "assistant").collect();
    if mode == ChatMode::Last {
        places.drain(..places.len().saturating_sub(1));
    }
    if places.is_empty() {
        return Err(RunError::Sample("the conversation has no turn of the assistant to answer in".into()));
    }
    let one = Settings { sequences: 1, ..settings.clone() };
    let mut longest = PromptFit::default();
    let mut answers = Vec::with_capacity(places.len());
    for (which, place) in places.into_iter().enumerate() {
        let history = &turns[..place];
        let ids = match chat {
            Some(chat) => runner.texts.encode_plain(&chat.text(&messages(history))?)?,
            None => encode(runner, &joined(history))?,
        };
        let (fit, mut answer) = from_ids(runner, (ids, chat.is_none()), 0, &one, request.sample.index, which as u32)?;
        if fit.tokens.max(fit.truncated_from) > longest.tokens.max(longest.truncated_from) {
            longest = fit;
        }
        if let (ChatMode::Every, Some(answer)) = (mode, answer.first()) {
            turns[place].content.clone_from(&answer.text);
        }
        answers.append(&mut answer);
    }
    Ok((longest, Outcome::Generated(answers)))
}

/// What `HuggingFacewithChatTemplate` makes of a history: the system speaks as the user, empty turns vanish, and turns of
/// the same role become one, line after line.
fn messages(history: &[ChatTurn]) -> Vec<ChatTurn> {
    let mut messages: Vec<ChatTurn> = Vec::new();
    for turn in history.iter().filter(|turn| !turn.content.is_empty()) {
        let role = if turn.role == "system" { "user" } else { turn.role.as_str() };
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => {
                last.content.push('\n');
                last.content.push_str(&turn.content);
            }
            None => messages.push(ChatTurn { role: role.to_owned(), content: turn.content.clone() }),
        }
    }
    messages
}

/// What a model without a chat template is given: the contents line after line (`LMTemplateParser`).
fn joined(history: &[ChatTurn]) -> String {
    history.iter().map(|turn| turn.content.as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::generate::turn;
    use super::*;

    #[test]
    fn histories_become_messages() {
        let history =
            [("system", "be kind"), ("user", "a"), ("assistant", ""), ("assistant", "b"), ("user", "c"), ("user", "d")];
        let history = history.map(|(role, content)| turn(role, content.to_owned()));
        let expected = [("user", "be kind\na"), ("assistant", "b"), ("user", "c\nd")];
        assert_eq!(messages(&history), expected.map(|(role, content)| turn(role, content.to_owned())));
        assert_eq!(joined(&history[..3]), "be kind\na\n");
    }
}
