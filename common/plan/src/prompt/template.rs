//! Templates as the configuration writes them, before any row is put in.

use super::rounds::Rounds;
use super::template_text::TemplateText;
use serde::{Deserialize, Serialize};

/// OpenCompass's default for the place where shots go.
pub const ICE_TOKEN: &str = "</E>";

/// One text or dialogue, or one per label in the order written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    Text(String),
    Labels(Vec<(String, String)>),
    Rounds(Rounds),
    LabelRounds(Vec<(String, Rounds)>),
    /// One text in Jinja.
    Jinja(String),
    /// One text per label, some in Jinja.
    #[serde(rename = "wordings")]
    TemplateTexts(Vec<(String, TemplateText)>),
}

/// The answers of a question when they are not spelled out in a label map of whole prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Options {
    /// A column that holds a list of answers, of any length; labels are 0, 1, 2, ...
    Column(String),
    /// One answer template per label in the order written.
    Labels(Vec<(String, String)>),
    /// Jinja that gives a list; labels are 0, 1, 2, ...
    Jinja(String),
    /// Answers in order; labels are 0, 1, 2, ...
    List(Vec<String>),
    /// One answer per label, some in Jinja.
    #[serde(rename = "wordings")]
    TemplateTexts(Vec<(String, TemplateText)>),
}

/// The type that labels have in a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelType {
    Text,
    Integer,
    Boolean,
}

/// All that shapes the prompts of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptConfig {
    /// Template of a shot; `None` takes the prompt template.
    pub ice_template: Option<Template>,
    /// Template of the question; `None` takes the shot template, which then holds the ice token.
    pub prompt_template: Option<Template>,
    /// Answers appended to a text template.
    pub options: Option<Options>,
    /// Token in the place of the shots in the prompt template.
    pub ice_token: String,
    /// Between two shots.
    pub ice_separator: String,
    /// After the last shot.
    pub ice_eos_token: String,
    /// Between context and answer when `options` is used, in the question and in the shots.
    pub target_delimiter: String,
    /// After each shot that has no ice token to go to, lm-eval's way.
    pub fewshot_delimiter: String,
    /// Token at the beginning of an answer: `normalizing_str` parts prompts there. It is taken out of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sep_token: Option<String>,
    /// Before everything (lm-eval's `description`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<TemplateText>,
    /// Beginning of every answer, in shots and in the question (lm-eval's `gen_prefix`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gen_prefix: Option<TemplateText>,
    /// The text to be said, one text for all options, which then differ in their contexts (lm-eval's tasks with several
    /// inputs). Without options it is the only continuation, and in a generation the answer that shots show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TemplateText>,
    /// Set if the labels' texts end with the target themselves, as the texts of OpenCompass's `LLInferencer` do: the text
    /// before it is the context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target_within: bool,
    /// The gold answer, in place of the output column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<TemplateText>,
    /// The column that holds a conversation, a list of `{ role, content }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<String>,
    /// Set if each answer is scored once more with nothing before it, which a metric of mutual information needs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconditional: bool,
    /// The type of the labels, as a template in Python has it in its keys; `None` gives them that of the gold answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_type: Option<LabelType>,
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self {
            ice_template: None,
            prompt_template: None,
            options: None,
            ice_token: ICE_TOKEN.into(),
            ice_separator: "\n".into(),
            ice_eos_token: "\n".into(),
            target_delimiter: " ".into(),
            fewshot_delimiter: "\n\n".into(),
            sep_token: None,
            description: None,
            gen_prefix: None,
            target: None,
            target_within: false,
            gold: None,
            dialogue: None,
            unconditional: false,
            label_type: None,
        }
    }
}

impl Template {
    /// Returns whether some of it is in Jinja.
    pub(super) fn has_jinja(&self) -> bool {
        match self {
            Self::Jinja(_) => true,
            Self::TemplateTexts(map) => {
                map.iter().any(|(_, text_template)| matches!(text_template, TemplateText::Jinja(_)))
            }
            Self::Text(_) | Self::Labels(_) | Self::Rounds(_) | Self::LabelRounds(_) => false,
        }
    }

    /// Returns whether there is one for each label.
    pub fn is_by_label(&self) -> bool {
        matches!(self, Self::Labels(_) | Self::LabelRounds(_) | Self::TemplateTexts(_))
    }
}

impl PromptConfig {
    /// Returns whether the target is the one thing to be said, with nothing to choose between.
    pub fn says_target(&self) -> bool {
        let template = self.prompt_template.as_ref().or(self.ice_template.as_ref());
        self.target.is_some() && self.options.is_none() && !template.is_some_and(Template::is_by_label)
    }
}
