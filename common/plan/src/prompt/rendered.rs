//! Input of a model: a text, or messages for its chat template.

use super::flat;
use super::lm_text;
use super::messages;
use super::meta_template::{MetaStyle, MetaTemplate};
use super::shot::Shot;
use super::structured::{Prompt, ShotFormat};
use serde::{Deserialize, Serialize};

/// A prompt as one model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedPrompt {
    /// To be tokenised as it stands, special tokens added by the tokenizer's own rule.
    Text(String),
    /// For the model's chat template, or a service.
    Messages(Vec<Message>),
}

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

/// Purpose of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To be scored: all of it.
    Ppl,
    /// To be continued: it ends where the role that generates would begin to speak.
    Gen,
}

impl Prompt {
    /// The prompt for a model: OpenCompass's `parse_template` with the given shots in place.
    ///
    /// Without a meta template it is text. Never fails: what [`MetaTemplate::misfit`] would refuse is rendered as far as
    /// it can be.
    pub fn render_for(
        &self,
        shots: &[&Shot],
        format: &ShotFormat,
        meta: Option<&MetaTemplate>,
        mode: Mode,
    ) -> RenderedPrompt {
        self.render_with_borders(shots, format, meta, mode).0
    }

    /// As [`Prompt::render_for`], with the borders of a text: byte offsets, in order, at which a header or a shot ends and
    /// up to which other samples may be equal. What only this sample says begins after the last one. Messages have none:
    /// a chat template is yet to come around them.
    pub fn render_with_borders(
        &self,
        shots: &[&Shot],
        format: &ShotFormat,
        meta: Option<&MetaTemplate>,
        mode: Mode,
    ) -> (RenderedPrompt, Vec<usize>) {
        let plain = |(text, borders)| (RenderedPrompt::Text(text), borders);
        let Some(meta) = meta else { return plain(self.text_with_borders(shots, format)) };
        let in_rounds = self.is_rounds();
        match meta.style {
            MetaStyle::Text if in_rounds => {
                let (list, shared) = flat::flatten_counting(self, shots, format);
                let (text, ends) = lm_text::parse_with_ends(&list, meta, mode);
                plain(borders(text, std::iter::once(meta.begin.len()).chain(ends.into_iter().take(shared))))
            }
            MetaStyle::Text => plain(self.text_with_borders(shots, format)),
            MetaStyle::Messages if in_rounds && meta.is_one_message() => {
                let (content, _) = self.text_with_borders(shots, format);
                (RenderedPrompt::Messages(vec![Message { role: "user".into(), content }]), Vec::new())
            }
            MetaStyle::Messages if in_rounds => {
                (RenderedPrompt::Messages(messages::parse(&flat::flatten(self, shots, format), meta, mode)), Vec::new())
            }
            MetaStyle::Messages => {
                (RenderedPrompt::Messages(messages::of_plain(self, shots, format, meta.one_turn)), Vec::new())
            }
        }
    }

    /// Returns what a model without a meta template reads, see [`Prompt::render`].
    fn text_with_borders(&self, shots: &[&Shot], format: &ShotFormat) -> (String, Vec<usize>) {
        if self.is_rounds() || shots.iter().any(|shot| matches!(shot, Shot::Turns(_))) {
            let (list, shared) = flat::flatten_counting(self, shots, format);
            let (text, ends) = flat::joined_with_ends(&list);
            return borders(text, ends.into_iter().take(shared));
        }
        let mut ends = Vec::new();
        let text = self.inline_with_ends(shots, format, &mut ends);
        borders(text, ends.into_iter())
    }
}

/// Borders that cut something off, each once.
fn borders(text: String, ends: impl Iterator<Item = usize>) -> (String, Vec<usize>) {
    let mut borders: Vec<usize> = ends.filter(|&end| end > 0 && end < text.len()).collect();
    borders.dedup();
    (text, borders)
}

/// The shots alone, as OpenCompass shows "in-context examples": what ends them stays, and a meta template wraps them.
pub fn render_shots(shots: &[&Shot], format: &ShotFormat, meta: Option<&MetaTemplate>) -> RenderedPrompt {
    if shots.iter().all(|shot| matches!(shot, Shot::Text(_) | Shot::Answered(_))) {
        return RenderedPrompt::Text(flat::inline_shots(shots, format));
    }
    let list = flat::flatten_shots(shots, format);
    match meta {
        None => RenderedPrompt::Text(flat::joined(&list)),
        Some(meta) if meta.is_one_message() => RenderedPrompt::Text(flat::joined(&list)),
        Some(meta) if meta.style == MetaStyle::Text => RenderedPrompt::Text(lm_text::parse(&list, meta, Mode::Ppl)),
        Some(meta) => RenderedPrompt::Messages(messages::parse(&list, meta, Mode::Ppl)),
    }
}

impl RenderedPrompt {
    /// The text; of messages that no chat template renders, what they say one after the other (`_convert_base_messages`).
    pub fn joined(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Messages(messages) => messages.into_iter().map(|message| message.content).collect(),
        }
    }

    /// As OpenCompass prints it: the text, or its own list of `{role, prompt}` with `HUMAN`, `BOT` and `SYSTEM`.
    pub fn printed(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Messages(messages) => messages
                .iter()
                .map(
                    |message| serde_json::json!({"role": messages::api_role(&message.role), "prompt": message.content}),
                )
                .collect(),
        }
    }

    /// The prompt with a continuation: of a chat, as what the assistant says, or goes on to say.
    #[must_use]
    pub fn continued(self, continuation: &str) -> Self {
        match self {
            Self::Text(text) => Self::Text(text + continuation),
            Self::Messages(mut messages) => {
                match messages.last_mut().filter(|last| last.role == "assistant") {
                    Some(begun) => begun.content.push_str(continuation),
                    None => messages.push(Message { role: "assistant".into(), content: continuation.into() }),
                }
                Self::Messages(messages)
            }
        }
    }

    /// UTF-8 bytes of its words.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Messages(messages) => messages.iter().map(|message| message.content.len()).sum(),
        }
    }

    /// Unicode code points of its words.
    pub fn characters(&self) -> u64 {
        match self {
            Self::Text(text) => text.chars().count() as u64,
            Self::Messages(messages) => messages.iter().map(|message| message.content.chars().count() as u64).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MetaItem, MetaRole, Section, Segment, Turn};
    use super::*;

    fn pieces(rendered: (RenderedPrompt, Vec<usize>)) -> Vec<String> {
        let (RenderedPrompt::Text(text), borders) = rendered else { panic!("a text") };
        let (mut pieces, mut start) = (Vec::new(), 0);
        for end in borders.into_iter().chain([text.len()]) {
            pieces.push(text[start..end].to_owned());
            start = end;
        }
        pieces
    }

    fn format() -> ShotFormat {
        ShotFormat { separator: "|".into(), end: "!".into() }
    }

    #[test]
    fn texts_have_borders_after_headers_and_shots() {
        let prompt = Prompt(vec![
            Segment::Header("h ".into()),
            Segment::Shots,
            Segment::Question("q".into()),
            Segment::Option("o".into()),
        ]);
        let (one, two) = (Shot::Text("s1".into()), Shot::Text("s2".into()));
        let of = |shots: &[&Shot]| pieces(prompt.render_with_borders(shots, &format(), None, Mode::Ppl));
        assert_eq!(of(&[&one, &two]), ["h ", "s1|", "s2!", "qo"]);
        assert_eq!(of(&[]), ["h ", "!", "qo"]);
        assert_eq!(pieces(Prompt::question("q").render_with_borders(&[], &format(), None, Mode::Ppl)), ["q"]);
    }

    #[test]
    fn rounds_have_borders_after_shots() {
        let say = |role: &str, words: &str| {
            Segment::Turn(Turn {
                role: role.into(),
                prompt: Some(Prompt(vec![Segment::Question(words.into())])),
                ..Turn::default()
            })
        };
        let shot = |words: &str| {
            Shot::Turns(vec![
                Segment::Open(Section::Ice),
                say("HUMAN", words),
                say("BOT", "a"),
                Segment::Close(Section::Ice),
            ])
        };
        let prompt = Prompt(vec![
            Segment::Open(Section::Begin),
            Segment::Item(Prompt(vec![Segment::Header("h".into()), Segment::Shots])),
            Segment::Close(Section::Begin),
            Segment::Open(Section::Round),
            say("HUMAN", "q"),
            say("BOT", "o"),
            Segment::Close(Section::Round),
        ]);
        let role = |name: &str, begin: &str| {
            MetaItem::Role(MetaRole { role: name.into(), begin: begin.into(), end: "\n".into(), ..MetaRole::default() })
        };
        let meta = MetaTemplate {
            begin: "<s>".into(),
            round: vec![role("HUMAN", "H:"), role("BOT", "B:")],
            ..MetaTemplate::default()
        };
        let (one, two) = (shot("1"), shot("2"));
        let shots = [&one, &two];
        let of = |meta| pieces(prompt.render_with_borders(&shots, &ShotFormat::default(), meta, Mode::Ppl));
        assert_eq!(of(Some(&meta)), ["<s>", "h", "H:1\nB:a\n", "H:2\nB:a\n", "H:q\nB:o\n"]);
        assert_eq!(of(None), ["h", "\n1", "\na", "\n2", "\na", "\nq\no"]);
        // APITemplateParser without a meta template: one text, and no newline behind it.
        let service = prompt.render_for(&shots, &ShotFormat::default(), Some(&MetaTemplate::service()), Mode::Gen);
        let content = "h\n1\na\n2\na\nq\no".to_owned();
        assert_eq!(service, RenderedPrompt::Messages(vec![Message { role: "user".into(), content }]));
    }
}
