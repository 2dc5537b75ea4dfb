//! What a model answered, read off the raw scores of a sample.

use super::Unscored;
use super::choice::{Choice, highest};
use crate::plan::{Body, OptionText, Sample};
use crate::result::{Outcome, SampleResult};
use serde_json::Value;

/// An answer by the kind of question.
#[derive(Debug)]
pub(super) enum Reading<'a> {
    /// One of several options.
    Options(Options<'a>),
    /// Generated texts, one unless several were asked for.
    Texts(Vec<&'a str>),
}

/// Scored options; the highest score wins, the first of equals. A score that is not finite never wins.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) labels: Vec<&'a Value>,
    /// Minus the mean NLL for `ppl`, the sum of log-probabilities for `loglikelihood`.
    pub(super) scores: Vec<f64>,
    pub(super) choice: Choice,
    /// What only `loglikelihood` knows.
    pub(super) texts: Option<OptionTexts<'a>>,
}

/// The answers' own texts, and whether each is what the model would say.
#[derive(Debug)]
pub(super) struct OptionTexts<'a> {
    pub(super) answers: Vec<Answer<'a>>,
    pub(super) greedy: Vec<bool>,
}

/// An answer without the delimiter before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) text: &'a str,
    /// Unicode code points.
    pub(super) length: u32,
}

impl<'a> Reading<'a> {
    /// Reads the answer.
    ///
    /// # Errors
    /// The sample failed, or has no finite score, or the result does not answer what the sample asks.
    pub(super) fn new(sample: &'a Sample, result: &'a SampleResult) -> Result<Self, Unscored> {
        match (&sample.body, &result.outcome) {
            (_, Outcome::Failed { reason }) => Err(Unscored(reason.clone())),
            (Body::Gen { .. }, Outcome::Generated(generation)) => Ok(Self::Texts(vec![&generation.text])),
            (Body::Ppl { options }, Outcome::Ppl(scores)) => {
                same_number(options.len(), scores.len())?;
                let labels = options.iter().map(|option| &option.label).collect();
                Ok(Self::Options(Options::new(labels, scores.iter().map(|score| -score.mean()).collect(), None)?))
            }
            (Body::Loglikelihood { options, .. }, Outcome::Loglikelihood(scores)) => {
                same_number(options.len(), scores.len())?;
                let labels = options.iter().map(|option| &option.label).collect();
                let greedy = scores.iter().map(|score| score.is_greedy).collect();
                let texts = OptionTexts { answers: options.iter().map(Answer::new).collect(), greedy };
                let sums = scores.iter().map(|score| score.sum).collect();
                Ok(Self::Options(Options::new(labels, sums, Some(texts))?))
            }
            _ => Err(Unscored("the result is of another kind than the question".into())),
        }
    }
}

impl<'a> Options<'a> {
    fn new(labels: Vec<&'a Value>, scores: Vec<f64>, texts: Option<OptionTexts<'a>>) -> Result<Self, Unscored> {
        let choice = highest(scores.iter().copied());
        let choice = choice.ok_or_else(|| Unscored("no option has a finite score".into()))?;
        Ok(Self { labels, scores, choice, texts })
    }

    /// The label of the winner.
    pub(super) fn chosen(&self) -> &'a Value {
        self.labels[self.choice.at]
    }

    /// The label of the highest score per `length` of the answer; `None` without texts or without a finite quotient.
    pub(super) fn chosen_per(&self, length: impl Fn(Answer<'a>) -> f64) -> Option<&'a Value> {
        let answers = &self.texts.as_ref()?.answers;
        let quotients = self.scores.iter().zip(answers).map(|(score, answer)| score / length(*answer));
        highest(quotients).map(|choice| self.labels[choice.at])
    }
}

impl<'a> Answer<'a> {
    /// The continuation's last code points are the answer; what precedes them is the delimiter.
    fn new(option: &'a OptionText) -> Self {
        let text = &option.continuation;
        let from = match option.length {
            0 => text.len(),
            length => text.char_indices().rev().nth(length as usize - 1).map_or(0, |(at, _)| at),
        };
        Self { text: &text[from..], length: option.length }
    }

    /// lm-eval's length for `acc_norm`.
    pub(super) fn code_points(self) -> f64 {
        f64::from(self.length)
    }

    /// lm-eval's length for `acc_bytes`.
    pub(super) fn bytes(self) -> f64 {
        self.text.len() as f64
    }
}

fn same_number(options: usize, scores: usize) -> Result<(), Unscored> {
    if options == scores {
        return Ok(());
    }
    Err(Unscored(format!("the result holds {scores} scores for {options} options")))
}
