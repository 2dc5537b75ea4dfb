//! A model's meta template: how each role's words are wrapped. Plain data; the plan pins it with the model.

use super::form::Forms;
use super::rendered::Message;
use super::rounds::TemplateLine;
use super::template::PromptConfig;
use serde::{Deserialize, Serialize};

/// Contents of OpenCompass's `meta_template`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaTemplate {
    pub style: MetaStyle,
    /// Before everything, in [`MetaStyle::Text`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub begin: String,
    /// Before everything, in [`MetaStyle::Messages`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opening: Vec<Message>,
    /// One round of a dialogue; never without a role.
    pub round: Vec<MetaItem>,
    /// After everything, unless the prompt ends where a role begins to generate.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// Roles that speak outside rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserved_roles: Vec<MetaRole>,
    /// Set if lm-eval's shots are in the question's own message (`fewshot_as_multiturn = false`) and not in messages of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_turn: bool,
    /// The token that ends a generation, beside the tokenizer's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eos_token_id: Option<u32>,
}

/// Result of a prompt in rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetaStyle {
    /// One text (`LMTemplateParser`).
    #[default]
    Text,
    /// Messages for a chat template or a service (`APITemplateParser`).
    Messages,
}

/// A part of one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetaItem {
    /// Text between the roles; ignored in [`MetaStyle::Messages`].
    Text(String),
    Role(MetaRole),
}

/// Text around one role's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaRole {
    pub role: String,
    /// `user`, `assistant` or `system`, in [`MetaStyle::Messages`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_role: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub begin: String,
    /// Words of the role where the prompt leaves it silent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// Set if the model speaks from here on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generate: bool,
}

impl MetaTemplate {
    /// Returns what OpenCompass's `HuggingFacewithChatTemplate` assumes: the system role is the user's on purpose.
    pub fn chat() -> Self {
        let role = |role: &str, api_role: &str, generate| {
            let api_role = Some(api_role.to_owned());
            MetaItem::Role(MetaRole { role: role.into(), api_role, generate, ..MetaRole::default() })
        };
        let round = vec![role("HUMAN", "user", false), role("SYSTEM", "user", false), role("BOT", "assistant", true)];
        Self { style: MetaStyle::Messages, round, ..Self::default() }
    }

    /// Returns what OpenCompass's classes of services use without a meta template: all that is said is one message of the user.
    pub fn service() -> Self {
        Self { style: MetaStyle::Messages, ..Self::default() }
    }

    /// Returns `true` if it tells no roles apart.
    pub(super) fn is_one_message(&self) -> bool {
        self.style == MetaStyle::Messages && self.round.is_empty()
    }

    /// The roles of a round, in order.
    pub(super) fn round_roles(&self) -> impl Iterator<Item = &MetaRole> {
        self.round.iter().filter_map(|item| match item {
            MetaItem::Role(role) => Some(role),
            MetaItem::Text(_) => None,
        })
    }

    /// The role of that name, reserved ones included.
    pub(super) fn role(&self, name: &str) -> Option<&MetaRole> {
        self.round_roles().chain(&self.reserved_roles).find(|role| role.role == name)
    }

    /// Returns why a data set's templates cannot be rendered with it; `None` when they can.
    pub fn misfit(&self, config: &PromptConfig) -> Option<String> {
        for template in [&config.ice_template, &config.prompt_template].into_iter().flatten() {
            for rounds in Forms::of(template).all().iter().filter_map(super::form::Form::rounds) {
                for (lines, in_round) in [(&rounds.begin, false), (&rounds.round, true), (&rounds.end, false)] {
                    for line in lines {
                        let TemplateLine::Role(line) = line else { continue };
                        let name = self.spoken_by(&line.role, line.fallback_role.as_deref(), in_round);
                        if name.is_none() {
                            return Some(self.unknown(&line.role, in_round));
                        }
                    }
                }
            }
        }
        None
    }

    /// The role of the template that speaks for `role`: itself, or the fallback where it is not known.
    pub(super) fn spoken_by(&self, role: &str, fallback: Option<&str>, in_round: bool) -> Option<&MetaRole> {
        if in_round {
            // A reserved role has no place in a round: its words would be dropped.
            let of_round = |name: &str| self.round_roles().find(|known| known.role == name);
            return of_round(role).or_else(|| fallback.and_then(of_round));
        }
        self.role(role).or_else(|| fallback.and_then(|fallback| self.role(fallback)))
    }

    fn unknown(&self, role: &str, in_round: bool) -> String {
        let known: Vec<&str> = match in_round {
            true => self.round_roles().map(|known| known.role.as_str()).collect(),
            false => self.round_roles().chain(&self.reserved_roles).map(|known| known.role.as_str()).collect(),
        };
        let place = if in_round { "`round`" } else { "`begin` or `end`" };
        format!(
            "the role `{role}` in {place} of a template is none of the model's meta template, which knows {}: name one of \
             them, or give the line a `fallback_role`",
            known.join(", ")
        )
    }
}
