//! OpenCompass's `ChatInferencer`: the assistant's answers in a conversation of several turns.

use super::answer::RunError;
use super::prompting::{Prompted, Prompting, message};
use compass_plan::engine::Caller;
use compass_plan::prompt::{Message, MetaItem, MetaRole, MetaStyle, MetaTemplate, chat_role};
use compass_plan::{ChatMode, ChatTurn};

/// Conversation with the turns that the model answers: only the last one of the assistant, or every one. Each answer
/// draws as its own sequence.
pub(super) struct Conversation {
    turns: Vec<ChatTurn>,
    /// Indices of the turns to answer.
    answer_turns: Vec<usize>,
    mode: ChatMode,
}

impl Conversation {
    /// # Errors
    /// [`RunError::Sample`] when the conversation has no turn to answer in.
    pub(super) fn new(turns: Vec<ChatTurn>, mode: ChatMode) -> Result<Self, RunError> {
        let mut answer_turns: Vec<usize> = (0..turns.len()).filter(|&at| turns[at].role == "assistant").collect();
        if mode == ChatMode::Last {
            answer_turns.drain(..answer_turns.len().saturating_sub(1));
        }
        if answer_turns.is_empty() {
            return Err(RunError::Sample("the conversation has no turn of the assistant to answer in".into()));
        }
        Ok(Self { turns, answer_turns, mode })
    }

    /// Returns the number of answers.
    pub(super) fn answers(&self) -> usize {
        self.answer_turns.len()
    }

    /// Returns the prompt of answer number `which`: the history before its turn.
    ///
    /// # Errors
    /// [`RunError::Sample`] when template or tokenizer fail.
    pub(super) fn prompt(
        &self,
        prompting: &Prompting<'_>,
        which: usize,
        caller: Option<&Caller>,
    ) -> Result<Prompted, RunError> {
        let turn = self.answer_turns.get(which).copied().unwrap_or(self.turns.len());
        let (history, meta) = (&self.turns[..turn], prompting.meta());
        match prompting.chat {
            Some(chat) => prompting.messages(chat, &messages(history, meta), caller),
            None => prompting.text(&joined(history, meta)),
        }
    }

    /// Puts answer number `which` into the conversation, where later turns may see it.
    pub(super) fn record_answer(&mut self, which: usize, answer: &str) {
        if let (ChatMode::Every, Some(&turn)) = (self.mode, self.answer_turns.get(which)) {
            answer.clone_into(&mut self.turns[turn].content);
        }
    }
}

/// Converts a history as `HuggingFacewithChatTemplate` does: roles are mapped to the meta template's roles (without
/// one, the system's turns are the user's), empty turns are dropped, and turns of the same role are joined line by
/// line.
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

/// Converts a history for a model without a chat template (`LMTemplateParser` of the chat inferencer): every turn
/// wrapped by the meta template, and the start of the answer; without a meta template, the contents line by line.
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

/// Returns the role of a meta template for a role of a chat.
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
