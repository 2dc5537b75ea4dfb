//! The prompt of a sample as it is sent, and the bound of the thinking behind it.

use compass_plan::prompt::RenderedPrompt;
use compass_plan::{AtBudget, REST, Thinking};
use compass_postprocess::thinking::{Marks, Opened};

/// Prompt tokens of a sample, over all its requests.
pub(crate) type Read = u64;

/// A prompt as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct SentPrompt {
    pub(crate) prompt: RenderedPrompt,
    /// Thinking at its end, where the prompt is rendered here.
    pub(crate) opened: Opened,
}

/// Bound of a model's thinking.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) budget: u32,
    /// Text behind a thinking that met its budget, the end mark included; `None` where the generation ends there.
    pub(crate) forced: Option<String>,
    /// Number of end marks that give way to another text.
    pub(crate) extend: u32,
    pub(crate) marks: Marks,
    /// Tokens that the answer must have behind the thinking.
    pub(crate) answer: u32,
    /// Tokens of prompt and answer together, as far as it is known.
    pub(crate) context: Option<u32>,
}

impl Bound {
    /// Returns the bound of a thinking that has a budget; `answer` is the length of the answer, and `context` the longest input.
    pub(crate) fn new(thinking: &Thinking, marks: &Marks, answer: u32, context: Option<u32>) -> Option<Self> {
        let forced = match &thinking.at_budget {
            AtBudget::Force { text } => Some(marks.forced_end(text)),
            AtBudget::Cut => None,
        };
        let budget = thinking.budget?;
        let answer = if answer == REST { 1 } else { answer };
        Some(Self { budget, forced, extend: thinking.extend, marks: marks.clone(), answer, context })
    }
}
