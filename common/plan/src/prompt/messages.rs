//! Messages for a chat template or a service, by the rules of OpenCompass's `APITemplateParser` and
//! `HuggingFacewithChatTemplate`.
//!
//! Strings among the turns are dropped, as the original does with a warning. Where it stops with an error, this goes on:
//! the role that generates may speak before the dialogue.

use super::flat::{Flat, FlatTurn};
use super::lm_text::{Words, rounds, said, turns};
use super::meta_template::{MetaRole, MetaTemplate};
use super::rendered::{Message, Mode};
use super::shot::Shot;
use super::structured::{Prompt, Section, Segment, ShotFormat};

/// A prompt without roles is what the user says. lm-eval's parts are messages of their own: the description is the system's,
/// a shot is a question and the assistant's answer (unless `one_turn` wants them in the question's message), and what the
/// answer begins with is the assistant's (`fewshot_context`, `multiturn_to_singleturn`).
pub(super) fn of_plain(prompt: &Prompt, shots: &[&Shot], format: &ShotFormat, one_turn: bool) -> Vec<Message> {
    let message = |role: &str, content: String| Message { role: role.into(), content };
    if shots.iter().any(|shot| matches!(shot, Shot::Turns(_))) {
        return vec![message("user", prompt.render(shots, format))];
    }
    let in_text = |shot: &&Shot| one_turn || !matches!(shot, Shot::Answered(_));
    let mut messages = Vec::new();
    let mut question = String::new();
    let mut begun = None;
    for segment in &prompt.0 {
        match segment {
            Segment::System(text) => messages.push(message("system", text.clone())),
            Segment::Prefix(prefix) => begun = Some(message("assistant", prefix.text.clone())),
            Segment::Shots if !shots.is_empty() && !shots.iter().any(in_text) => {
                for shot in shots {
                    if let Shot::Answered(shot) = shot {
                        messages.push(message("user", shot.question.clone()));
                        messages.push(message("assistant", shot.answer.clone()));
                    }
                }
            }
            other => question.push_str(&Prompt(vec![other.clone()]).render(shots, format)),
        }
    }
    messages.push(message("user", question));
    messages.extend(begun);
    messages
}

/// The messages without the system's: what it says is put before the user's next message, parted by an empty line, as the templates
/// of Gemma 3 and llama.cpp's for Gemma do; where none follows, it is a message of the user's.
pub fn system_as_user(messages: &[Message]) -> Vec<Message> {
    const PARTED: &str = "\n\n";
    let mut placed: Vec<Message> = Vec::with_capacity(messages.len());
    let mut said: Vec<&str> = Vec::new();
    let user = |content: String| Message { role: "user".into(), content };
    for message in messages {
        match message.role.as_str() {
            "system" => said.extend((!message.content.is_empty()).then_some(message.content.as_str())),
            "user" => {
                let texts: Vec<&str> = said.drain(..).chain([message.content.as_str()]).collect();
                placed.push(user(texts.join(PARTED)));
            }
            _ => {
                if !said.is_empty() {
                    placed.push(user(std::mem::take(&mut said).join(PARTED)));
                }
                placed.push(message.clone());
            }
        }
    }
    if !said.is_empty() {
        placed.push(user(said.join(PARTED)));
    }
    placed
}

/// The whole chat: neighbours of one role merged by a newline, empty messages left out.
pub(super) fn parse(list: &[Flat<'_>], meta: &MetaTemplate, mode: Mode) -> Vec<Message> {
    let merged = merge(walk(list, meta, mode));
    let kept = meta.opening.iter().cloned().chain(merged).filter(|message| !message.content.is_empty());
    merge(kept.collect())
}

fn walk(list: &[Flat<'_>], meta: &MetaTemplate, mode: Mode) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut open: Vec<(Section, usize)> = Vec::new();
    for (at, element) in list.iter().enumerate() {
        match element {
            Flat::Text(_) => {}
            Flat::Open(section) => open.push((*section, at + 1)),
            Flat::Turn(turn) => {
                if matches!(open.last(), Some((Section::Begin | Section::End, _)) | None) {
                    messages.extend(said_outside(turn, meta));
                }
            }
            Flat::Close(_) => {
                let Some((section @ (Section::Round | Section::Ice), start)) = open.pop() else { continue };
                let dialogue = turns(list.get(start..at).unwrap_or_default());
                // OpenCompass hands messages of services on untouched: no silent role comes between them.
                let raw: Option<Vec<Message>> = dialogue.iter().map(|turn| raw(turn, meta)).collect();
                if let Some(raw) = raw.filter(|raw| !raw.is_empty()) {
                    messages.extend(raw);
                    continue;
                }
                let rounds = rounds(&dialogue, meta);
                for (number, round) in rounds.iter().enumerate() {
                    let generates = mode == Mode::Gen && section == Section::Round && number + 1 == rounds.len();
                    for role in meta.round_roles() {
                        if generates && role.generate {
                            return messages;
                        }
                        messages.push(message(role, &said(role, round, meta)));
                    }
                }
            }
        }
    }
    messages
}

/// The message, where the turn is one as services take it.
fn raw(turn: &FlatTurn<'_>, meta: &MetaTemplate) -> Option<Message> {
    let name = turn.turn.role.as_str();
    let is_raw = api_role(name) != name && turn.turn.fallback_role.as_deref() == Some(api_role(name));
    let message = || Message { role: name.into(), content: turn.prompt.clone().unwrap_or_default() };
    (is_raw && meta.role(name).is_none()).then(message)
}

fn said_outside(turn: &FlatTurn<'_>, meta: &MetaTemplate) -> Option<Message> {
    if let Some(message) = raw(turn, meta) {
        return Some(message);
    }
    let role = meta.spoken_by(&turn.turn.role, turn.turn.fallback_role.as_deref(), false)?;
    let mut words = Words { begin: &role.begin, prompt: &role.prompt, end: &role.end };
    words.take(turn);
    Some(message(role, &words))
}

fn message(role: &MetaRole, words: &Words<'_>) -> Message {
    let chat = chat_role(role.api_role.as_deref().unwrap_or(&role.role));
    Message { role: chat.into(), content: format!("{}{}{}", words.begin, words.prompt, words.end) }
}

fn merge(messages: Vec<Message>) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match merged.last_mut() {
            Some(last) if last.role == message.role => {
                last.content.push('\n');
                last.content.push_str(&message.content);
            }
            _ => merged.push(message),
        }
    }
    merged
}

/// The chat's name of a role of OpenCompass's; any other name stands for itself.
pub fn chat_role(role: &str) -> &str {
    match role {
        "HUMAN" => "user",
        "BOT" => "assistant",
        "SYSTEM" => "system",
        other => other,
    }
}

/// The reverse of [`chat_role`].
pub(super) fn api_role(role: &str) -> &str {
    match role {
        "user" => "HUMAN",
        "assistant" => "BOT",
        "system" => "SYSTEM",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_stands_before_the_users_words() {
        let messages = |turns: &[(&str, &str)]| -> Vec<Message> {
            turns.iter().map(|(role, content)| Message { role: (*role).into(), content: (*content).into() }).collect()
        };
        for (asked, placed) in [
            (vec![("system", "Be kind."), ("user", "Hi")], vec![("user", "Be kind.\n\nHi")]),
            (vec![("user", "Hi")], vec![("user", "Hi")]),
            (vec![("system", "a"), ("system", "b"), ("user", "Hi")], vec![("user", "a\n\nb\n\nHi")]),
            (vec![("system", ""), ("user", "Hi")], vec![("user", "Hi")]),
            (
                vec![("system", "a"), ("user", "1"), ("assistant", "2"), ("user", "3"), ("assistant", "4")],
                vec![("user", "a\n\n1"), ("assistant", "2"), ("user", "3"), ("assistant", "4")],
            ),
            (vec![("system", "a"), ("assistant", "b")], vec![("user", "a"), ("assistant", "b")]),
            (vec![("user", "1"), ("system", "late")], vec![("user", "1"), ("user", "late")]),
        ] {
            assert_eq!(system_as_user(&messages(&asked)), messages(&placed), "{asked:?}");
        }
    }
}
