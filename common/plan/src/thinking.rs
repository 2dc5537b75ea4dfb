//! Thinking of a model: how it is switched, marked, bounded, and what an answer without an end of it counts.

use compass_postprocess::thinking::Marks;
use serde::{Deserialize, Serialize};

/// Sentence with which Qwen's models are told to end their thinking, before the end mark.
pub const FORCED_END: &str = "\n\nConsidering the limited time by the user, I have to give the solution based on the thinking directly \
                              now.\n";

/// Text in the place of an end mark that comes too early (s1).
pub const EXTENSION: &str = "Wait";

/// Settings of a model's thinking. The default is `auto`: what the chat template says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thinking {
    pub mode: ThinkingMode,
    /// Marks of the family, or as written; `None` takes the chat template's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<Marks>,
    /// Most tokens of thinking. Without it thinking and answer share `max_out_len`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Most tokens of the answer, in place of the data set's `max_out_len`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_tokens: Option<u32>,
    pub at_budget: AtBudget,
    /// Number of end marks that come before the budget and give way to [`EXTENSION`].
    #[serde(skip_serializing_if = "is_zero")]
    pub extend: u32,
    /// Part of the evaluation, not of the inference.
    #[serde(skip_serializing_if = "Unfinished::is_default")]
    pub unfinished: Unfinished,
    /// Most characters of a thinking that `predictions/` keep, half of them from each end; part of the evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<u32>,
}

/// Switch of thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingMode {
    /// As the chat template has it by itself. Answers are told apart from thinking under the canonical profile.
    #[default]
    Auto,
    On,
    Off,
}

/// End of thinking at the budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtBudget {
    /// This text and the end mark are put behind the thinking, and the model answers.
    Force { text: String },
    /// The generation ends.
    Cut,
}

impl Default for AtBudget {
    fn default() -> Self {
        Self::Force { text: FORCED_END.to_owned() }
    }
}

/// Score of an answer whose thinking did not end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// It is wrong.
    #[default]
    Wrong,
    /// It has no score.
    Unscored,
}

impl Unfinished {
    /// Returns whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Thinking {
    /// Returns whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what the inference depends on.
    #[must_use]
    pub fn inferred(&self) -> Self {
        Self { unfinished: Unfinished::default(), keep: None, ..self.clone() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_judged_later_is_no_part_of_the_inference() {
        let thinking = Thinking { budget: Some(5), ..Thinking::default() };
        let judged = Thinking { unfinished: Unfinished::Unscored, keep: Some(40), ..thinking.clone() };
        assert!(judged != thinking && judged.inferred() == thinking);
        let text = serde_json::to_string(&judged).unwrap();
        assert_eq!(serde_json::from_str::<Thinking>(&text).unwrap(), judged);
        assert_eq!(serde_json::from_str::<Thinking>("{}").unwrap(), Thinking::default());
    }
}
