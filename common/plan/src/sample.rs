//! A rendered sample and the content-addressed parts that hold them.
//!
//! A part is one JSON document. What many samples share (the shots) stands in it once and are named by position.

use super::Program;
use crate::prompt::{AnswerPrefix, Prompt, Shot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run of consecutive samples with the shots that they name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Rendered shots; samples name them by position.
    pub shots: Vec<Shot>,
    /// Samples in order of index, without gaps.
    pub samples: Vec<Sample>,
}

/// One question, structured, with its gold answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Position in the data set after its range was applied.
    pub index: u32,
    /// The gold answer, with the type that the data gave it; with an evaluator that runs programs, see
    /// [`crate::evaluation::EvaluatorSpec::reference`].
    pub gold: Value,
    /// Positions in [`Part::shots`], first shown first. Dropped from the end when the prompt is too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shots: Vec<u32>,
    /// The prompt or prompts.
    pub body: Body,
}

/// The prompts of a sample by kind of inference; read in [`super::body`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// One whole text per option.
    Ppl { options: Vec<OptionPrompt> },
    /// One context, several continuations encoded jointly with it.
    Loglikelihood { context: Prompt, options: Vec<OptionText> },
    /// One text to continue.
    Gen { prompt: Prompt },
    /// One text and the answers whose first token may come next.
    Clp { prompt: Prompt, choices: Vec<String> },
    /// One text, scored whole, with what the perplexities per word and per byte divide by.
    Rolling {
        text: Prompt,
        /// Pieces between runs of white space, as `len(re.split(r"\s+", text))` counts them.
        words: u32,
        /// UTF-8 bytes.
        bytes: u32,
    },
    /// One of `slices` equal runs of the windows over the texts that the only shot holds, one segment each.
    Windows {
        slice: u32,
        slices: u32,
        /// Unicode code points: this slice's share of those of all texts. Shares differ by one at most.
        characters: u64,
    },
    /// A conversation; the answers of the assistant are the data's own.
    Chat { turns: Vec<ChatTurn> },
    /// Programs to run, one per answer that was given; none where the sample has no answer.
    Execute { programs: Vec<Program> },
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatTurn {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

/// An option of a `ppl` question: the whole prompt that claims it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionPrompt {
    /// Name of a prediction of this option; compared with the gold answer.
    pub label: Value,
    pub prompt: Prompt,
    /// With `normalizing_str`: the end of the prompt that is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// An option of a `loglikelihood` question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionText {
    /// Name of a prediction of this option; compared with the gold answer.
    pub label: Value,
    /// Delimiter and answer: what is appended to the context.
    pub continuation: String,
    /// In place of the shared context, where options differ in it (Winogrande).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Prompt>,
    /// Bytes of `continuation` that part it from the context, which a chat template does instead.
    #[serde(default, skip_serializing_if = "no_bytes")]
    pub delimiter: u32,
    /// Unicode code points of the answer itself, without the delimiter: what `acc_norm` divides by.
    pub length: u32,
    /// Set if this asks how likely an answer is with nothing before it. These options follow all others, in their order, and
    /// are never chosen: `acc_mutual_info` takes their scores off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconditional: bool,
}

fn no_bytes(bytes: &u32) -> bool {
    *bytes == 0
}

impl OptionText {
    /// The continuation as a chat model says it: without the delimiter, unless the answer has been begun with words that
    /// are parted from it (lm-eval's rule for `target_delimiter`).
    pub fn said(&self, begun: Option<&AnswerPrefix>) -> &str {
        match begun {
            Some(AnswerPrefix { parted: true, .. }) => &self.continuation,
            _ => self.continuation.get(self.delimiter as usize..).unwrap_or(&self.continuation),
        }
    }

    /// The same continuation after nothing (lm-eval's auxiliary request for `acc_mutual_info`).
    pub fn alone(&self) -> Self {
        Self { context: Some(Prompt::default()), unconditional: true, ..self.clone() }
    }
}

impl Part {
    /// The sample at `index`, found by its distance from the first.
    pub fn sample(&self, index: u32) -> Option<&Sample> {
        let first = self.samples.first()?.index;
        self.samples.get(index.checked_sub(first)? as usize).filter(|sample| sample.index == index)
    }

    /// A sample's shots; positions that the part lacks are skipped (a digest-checked part has none).
    pub fn shots_of(&self, sample: &Sample) -> Vec<&Shot> {
        sample.shots.iter().filter_map(|&at| self.shots.get(at as usize)).collect()
    }
}
