//! A model's answer, read off the raw scores of a sample.

use super::Unscored;
use super::choice::{Choice, highest};
use compass_plan::prompt::ShotFormat;
use compass_plan::{Body, OptionPrompt, OptionText, Sample};
use compass_types::result::{Execution, Generation, Outcome, SampleResult};
use serde_json::Value;

/// An answer by the kind of question.
#[derive(Debug)]
pub(super) enum ParsedOutput<'a> {
    /// One of several options.
    Options(Options<'a>),
    /// Generated texts, one unless several were asked for.
    Texts(Vec<&'a str>),
    /// Texts of the assistant in a conversation, where more than one answer was asked for.
    Turns(Vec<&'a str>),
    /// Likelihood of a text.
    Likelihood(Likelihood),
    /// Outcomes of answers as programs.
    Programs(&'a [Execution]),
}

/// Scored options; the highest score wins, the first of equals. A score that is not finite never wins.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) labels: Vec<Value>,
    /// Minus the mean NLL for `ppl`, the sum of log-probabilities for `loglikelihood`, the log-probability for `clp`.
    pub(super) scores: Vec<f64>,
    pub(super) choice: Choice,
    /// Texts that only `loglikelihood` knows.
    pub(super) texts: Option<OptionTexts<'a>>,
}

/// The score of one whole text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Likelihood {
    /// OpenCompass's score: the sum of NLL divided by the number of tokens.
    Mean(f64),
    /// The sum of NLL of the tokens that count, and their number, which may be 0.
    Marked { nll: f64, tokens: u64 },
    /// The sum of log-probabilities, and what it may be divided by.
    Sum { sum: f64, words: u64, bytes: u64, characters: u64 },
    /// The sum of log-probabilities over a slice of the windows of all texts, and its share of their characters.
    Windows { sum: f64, characters: u64 },
}

/// The answers' own texts, and whether each is what the model would say.
#[derive(Debug)]
pub(super) struct OptionTexts<'a> {
    pub(super) answers: Vec<Answer<'a>>,
    pub(super) greedy: Vec<bool>,
    /// The sum of each answer with nothing before it, where that was asked.
    pub(super) unconditional: Option<Vec<f64>>,
}

/// An answer without the delimiter before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) text: &'a str,
    /// Unicode code points.
    pub(super) length: u32,
}

impl<'a> ParsedOutput<'a> {
    /// Reads the answer.
    ///
    /// # Errors
    /// The sample failed, or has no finite score, or the result does not answer what the sample asks.
    pub(super) fn new(sample: &'a Sample, result: &'a SampleResult) -> Result<Self, Unscored> {
        match (&sample.body, &result.outcome) {
            (_, Outcome::Failed { reason } | Outcome::NoRoom { reason }) => Err(Unscored(reason.clone())),
            (Body::Gen { .. }, Outcome::Generated(answers)) => some(texts(answers)).map(Self::Texts),
            (Body::Chat { .. }, Outcome::Generated(answers)) => {
                let texts = some(texts(answers))?;
                Ok(if texts.len() == 1 { Self::Texts(texts) } else { Self::Turns(texts) })
            }
            (Body::Ppl { options }, Outcome::Ppl(scores)) => {
                same_number(options.len(), scores.len())?;
                // The spans that count, where an option has its label.
                if let ([OptionPrompt { label: Value::Array(_), .. }], [score]) =
                    (options.as_slice(), scores.as_slice())
                {
                    let (nll, tokens) = (score.nll_sum, u64::from(score.tokens));
                    return Ok(Self::Likelihood(Likelihood::Marked { nll, tokens }));
                }
                let labels = options.iter().map(|option| option.label.clone()).collect();
                let scores = scores.iter().map(|score| -score.mean()).collect();
                Ok(Self::Options(Options::new(labels, scores, None)?))
            }
            (Body::Loglikelihood { options, .. }, Outcome::Loglikelihood(scores)) => {
                same_number(options.len(), scores.len())?;
                let asked = options.iter().position(|option| option.unconditional).unwrap_or(options.len());
                let (options, alone) = options.split_at(asked);
                let labels = options.iter().map(|option| option.label.clone()).collect();
                let mut sums: Vec<f64> = scores.iter().map(|score| score.sum).collect();
                let sums_alone = sums.split_off(asked);
                let texts = OptionTexts {
                    answers: options.iter().map(Answer::new).collect(),
                    greedy: scores.iter().take(asked).map(|score| score.is_greedy).collect(),
                    unconditional: (alone.len() == options.len()).then_some(sums_alone),
                };
                Ok(Self::Options(Options::new(labels, sums, Some(texts))?))
            }
            (Body::Clp { choices, .. }, Outcome::Clp(scores)) => {
                same_number(choices.len(), scores.len())?;
                Ok(Self::Options(Options::new(choice_labels(choices, &sample.gold), scores.clone(), None)?))
            }
            (Body::Gen { .. }, Outcome::Ppl(scores)) => match scores.as_slice() {
                [score] => Ok(Self::Likelihood(Likelihood::Mean(score.mean()))),
                _ => Err(Unscored(format!("the result holds {} scores for one text", scores.len()))),
            },
            (Body::Rolling { text, words, bytes }, Outcome::Rolling(score)) => {
                let characters = text.render(&[], &ShotFormat::default()).chars().count() as u64;
                let (words, bytes) = (u64::from(*words), u64::from(*bytes));
                Ok(Self::Likelihood(Likelihood::Sum { sum: score.sum, words, bytes, characters }))
            }
            (&Body::Windows { characters, .. }, Outcome::Rolling(score)) => {
                Ok(Self::Likelihood(Likelihood::Windows { sum: score.sum, characters }))
            }
            (Body::Gen { .. } | Body::Chat { .. } | Body::Execute { .. }, Outcome::Executed(executions)) => {
                if executions.is_empty() {
                    return Err(Unscored("the result holds no answer".into()));
                }
                Ok(Self::Programs(executions))
            }
            _ => Err(Unscored("the result is of another kind than the question".into())),
        }
    }
}

fn texts(answers: &[Generation]) -> Vec<&str> {
    answers.iter().map(|answer| answer.text.as_str()).collect()
}

fn some(texts: Vec<&str>) -> Result<Vec<&str>, Unscored> {
    if texts.is_empty() { Err(Unscored("the result holds no answer".into())) } else { Ok(texts) }
}

/// The choices themselves where the gold answer is one of them, else their positions, as OpenCompass labels them.
fn choice_labels(choices: &[String], gold: &Value) -> Vec<Value> {
    let named = gold.as_str().is_some_and(|gold| choices.iter().any(|choice| choice == gold));
    let label = |(at, choice): (usize, &String)| if named { choice.as_str().into() } else { at.into() };
    choices.iter().enumerate().map(label).collect()
}

impl<'a> Options<'a> {
    fn new(labels: Vec<Value>, scores: Vec<f64>, texts: Option<OptionTexts<'a>>) -> Result<Self, Unscored> {
        let choice = highest(scores.iter().copied());
        let choice = choice.ok_or_else(|| Unscored("no option has a finite score".into()))?;
        Ok(Self { labels, scores, choice, texts })
    }

    /// The label of the winner.
    pub(super) fn chosen(&self) -> &Value {
        &self.labels[self.choice.at]
    }

    /// The label of the highest score per `length` of the answer; `None` without texts or without a finite quotient.
    pub(super) fn chosen_per(&self, length: impl Fn(Answer<'a>) -> f64) -> Option<&Value> {
        let answers = &self.texts.as_ref()?.answers;
        let quotients = self.scores.iter().zip(answers).map(|(score, answer)| score / length(*answer));
        highest(quotients).map(|choice| &self.labels[choice.at])
    }

    /// The label of the answer that gains most over what it is with nothing before it; `None` where that was not asked, or
    /// no gain is finite.
    pub(super) fn chosen_by_gain(&self) -> Option<&Value> {
        let alone = self.texts.as_ref()?.unconditional.as_ref()?;
        let gains = self.scores.iter().zip(alone).map(|(sum, alone)| sum - alone);
        highest(gains).map(|choice| &self.labels[choice.at])
    }

    /// The softmax of the scores: probabilities of the options among themselves. Not finite where a score is not.
    pub(super) fn softmax(&self) -> Vec<f64> {
        let top = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = self.scores.iter().map(|score| (score - top).exp()).collect();
        let total: f64 = powers.iter().sum();
        powers.iter().map(|power| power / total).collect()
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
