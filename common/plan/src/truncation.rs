//! Ways to shorten a prompt that is too long, where that is not as OpenCompass's `HuggingFaceBaseModel` does it.

use serde::{Deserialize, Serialize};

/// Limits on a model's prompts beside `max_seq_len` and the side at which tokens go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Truncation {
    /// Most tokens of a text, where that is less than the model takes. Shots are dropped by `max_seq_len` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_prompt_len: Option<u32>,
    /// Set if `max_out_len` tokens must fit behind a prompt that is continued, as for `HuggingFaceCausalLM`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reserves_answer: bool,
    /// Set if the middle goes, not an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle: Option<DropMiddle>,
}

/// Way to join both ends of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropMiddle {
    /// Their tokens, with the special ones: `drop_middle` of `HuggingFaceBaseModel`.
    Tokens,
    /// The texts of equally many tokens of both, which are tokenised again; only where a prompt is continued. `mode = "mid"` of
    /// `HuggingFaceCausalLM` and `VLLM`.
    Texts,
}

impl Truncation {
    /// Returns `true` if nothing is asked.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
