//! OpenCompass's `ChatInferencer`: the assistant's answers in a conversation of several turns.

use super::answer::RunError;
use super::chat_format::ChatFormat;
use super::generate::{encode, from_ids, message};
use super::runner::Runner;
use super::settings::Settings;
use compass_common::engine::Request;
use compass_common::plan::{ChatMode, ChatTurn};
use compass_common::prompt::{Message, MetaItem, MetaRole, MetaStyle, MetaTemplate, chat_role};
use compass_common::result::{Outcome, PromptFit};

/// Answers in the places of the assistant's turns, in their order: the last one alone, or every one.
///
/// Each answer draws as a sequence of its own. The fit is that of the longest history.
pub(super) fn run(
    runner: &mut Runner<'_>,
    request: &Request<'_>,
    (turns, mode): (&[ChatTurn], ChatMode),
    meta: Option<&MetaTemplate>,
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
            Some(chat) => runner.texts.encode_plain(&chat.text(&messages(history, meta))?)?,
            None => encode(runner, &joined(history, meta))?,
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

/// What `HuggingFacewithChatTemplate` makes of a history: roles are spoken by those of the meta template (without one the
/// system speaks as the user), empty turns vanish, and turns of the same role become one, line after line.
fn messages(history: &[ChatTurn], meta: Option<&MetaTemplate>) -> Vec<Message> {
    let chat = MetaTemplate::chat();
    let meta = meta.filter(|meta| meta.style == MetaStyle::Messages).unwrap_or(&chat);
    let mut messages: Vec<Message> = Vec::new();
    for turn in history.iter().filter(|turn| !turn.content.is_empty()) {
        let known = spoken_by(meta, &turn.role);
        let role = chat_role(known.and_then(|role| role.api_role.as_deref()).unwrap_or(&turn.role));
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => {
                last.content.push('\n');
                last.content.push_str(&turn.content);
            }
            None => messages.push(message(role, turn.content.clone())),
        }
    }
    messages
}

/// What a model without a chat template is given (`LMTemplateParser` of the chat inferencer): every turn as the meta
/// template wraps it and the beginning of the answer; without one, the contents line after line.
fn joined(history: &[ChatTurn], meta: Option<&MetaTemplate>) -> String {
    let Some(meta) = meta.filter(|meta| meta.style == MetaStyle::Text) else {
        return history.iter().map(|turn| turn.content.as_str()).collect::<Vec<_>>().join("\n");
    };
    let mut text = String::new();
    for turn in history {
        let role = spoken_by(meta, &turn.role);
        text.push_str(role.map_or("", |role| &role.begin));
        text.push_str(&turn.content);
        text.push_str(role.map_or("", |role| &role.end));
    }
    text.push_str(spoken_by(meta, "assistant").map_or("", |role| &role.begin));
    text
}

/// The role of a meta template that speaks for a role of a chat.
fn spoken_by<'a>(meta: &'a MetaTemplate, role: &str) -> Option<&'a MetaRole> {
    let of_round = meta.round.iter().filter_map(|item| match item {
        MetaItem::Role(role) => Some(role),
        MetaItem::Text(_) => None,
    });
    of_round.chain(&meta.reserved_roles).find(|known| chat_role(&known.role) == role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> Vec<ChatTurn> {
        let turns =
            [("system", "be kind"), ("user", "a"), ("assistant", ""), ("assistant", "b"), ("user", "c"), ("user", "d")];
        turns.map(|(role, content)| ChatTurn { role: role.into(), content: content.into() }).into()
    }

    fn role(name: &str, begin: &str, end: &str) -> MetaRole {
        MetaRole { role: name.into(), begin: begin.into(), end: end.into(), ..MetaRole::default() }
    }

    #[test]
    fn histories_become_messages() {
        let expected = |messages: &[(&str, &str)]| {
            messages.iter().map(|(role, content)| message(role, (*content).into())).collect::<Vec<_>>()
        };
        let plain = expected(&[("user", "be kind\na"), ("assistant", "b"), ("user", "c\nd")]);
        assert_eq!(messages(&history(), None), plain);
        let mut meta = MetaTemplate::chat();
        for item in &mut meta.round {
            let MetaItem::Role(role) = item else { continue };
            if role.role == "SYSTEM" {
                role.api_role = Some("SYSTEM".into());
            }
        }
        let own = expected(&[("system", "be kind"), ("user", "a"), ("assistant", "b"), ("user", "c\nd")]);
        assert_eq!(messages(&history(), Some(&meta)), own);
    }

    #[test]
    fn histories_become_texts() {
        assert_eq!(joined(&history()[..3], None), "be kind\na\n");
        let round = vec![MetaItem::Role(role("HUMAN", "<H>", "\n")), MetaItem::Role(role("BOT", "<B>", "</B>"))];
        let meta = MetaTemplate { round, reserved_roles: vec![role("SYSTEM", "<S>", "")], ..MetaTemplate::default() };
        assert_eq!(joined(&history()[..4], Some(&meta)), "<S>be kind<H>a\n<B></B><B>b</B><B>");
    }
}
