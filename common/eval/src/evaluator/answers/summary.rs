//! All answers to a data set: how many are of each class, how long they are, and what the score would be without those that are open.

use super::class::{AnswerClass, Classes};
use crate::evaluator::{Proportion, Z_95};
use compass_metrics::statistics::mean_stderr;
use compass_types::result::{Generation, Thought};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Median and 95th percentile of lengths in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    pub median: u32,
    pub p95: u32,
}

/// Bounds of the score of a data set some of whose answers are open, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenBounds {
    /// Accuracy if all open answers were right.
    pub if_right: f64,
    /// Low end of the interval with all of them wrong.
    pub low: f64,
    /// High end of the interval with all of them right.
    pub high: f64,
}

/// Figures of all answers to a data set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerFigures {
    /// Number of answers.
    pub answers: u64,
    /// Number of answers of each class, in the order of [`AnswerClass::ALL`].
    pub classes: [u64; AnswerClass::ALL.len()],
    /// Lengths of the thinking; `None` where no answer thinks.
    pub thinking: Option<Lengths>,
    /// Lengths of the answers.
    pub answer: Option<Lengths>,
    /// `None` where no answer is open, or there are no decisions.
    pub bounds: Option<OpenBounds>,
}

/// Answers of a data set by class and by length. Integers, so that any order of observation agrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerSummary {
    answers: u64,
    classes: BTreeMap<AnswerClass, u64>,
    thinking_tokens: BTreeMap<u32, u64>,
    answer_tokens: BTreeMap<u32, u64>,
    /// Questions by their right answers, their open ones, and all of them.
    questions: BTreeMap<(u64, u64, u64), u64>,
}

impl AnswerFigures {
    /// Returns the number of answers of a class.
    pub fn count(&self, class: AnswerClass) -> u64 {
        AnswerClass::ALL.into_iter().zip(self.classes).find(|(known, _)| *known == class).map_or(0, |(_, count)| count)
    }

    /// Returns the number of answers whose thinking did not end.
    pub fn unfinished(&self) -> u64 {
        self.count(AnswerClass::Unfinished) + self.count(AnswerClass::ThoughtOnly)
    }
}

impl AnswerSummary {
    /// Takes note of the answers to a question with their classes; `correct` are the evaluator's decisions, empty where it has none of each.
    pub fn observe(&mut self, answers: &[Generation], classes: &[Classes], correct: &[bool]) {
        for (answer, classes) in answers.iter().zip(classes) {
            self.answers += 1;
            for class in classes.iter() {
                *self.classes.entry(class).or_default() += 1;
            }
            *self.answer_tokens.entry(answer.tokens).or_default() += 1;
            if let Some(Thought { tokens, .. }) = answer.thinking {
                *self.thinking_tokens.entry(tokens).or_default() += 1;
            }
        }
        if correct.len() == answers.len() {
            let open = |classes: Classes| {
                [AnswerClass::Unfinished, AnswerClass::ThoughtOnly, AnswerClass::Undecided]
                    .into_iter()
                    .any(|class| classes.has(class))
            };
            let right = correct.iter().filter(|right| **right).count() as u64;
            let open =
                correct.iter().zip(classes).filter(|(right, classes)| !**right && open(**classes)).count() as u64;
            *self.questions.entry((right, open, correct.len() as u64)).or_default() += 1;
        }
    }

    /// Returns the figures; `None` where nothing was generated.
    pub fn figures(&self) -> Option<AnswerFigures> {
        let count = |class: AnswerClass| self.classes.get(&class).copied().unwrap_or(0);
        (self.answers > 0).then(|| AnswerFigures {
            answers: self.answers,
            classes: AnswerClass::ALL.map(count),
            thinking: lengths(&self.thinking_tokens),
            answer: lengths(&self.answer_tokens),
            bounds: self.bounds(),
        })
    }

    /// Open is a thinking that did not end, and a decision that is not decided. The interval is Wilson's, of several answers to a
    /// question that of the questions' means.
    fn bounds(&self) -> Option<OpenBounds> {
        self.questions.keys().any(|(_, open, _)| *open > 0).then_some(())?;
        let (_, (low, _)) = self.interval(|(right, _, _)| right)?;
        let (if_right, (_, high)) = self.interval(|(right, open, _)| right + open)?;
        Some(OpenBounds { if_right, low, high })
    }

    /// Returns the share of answers that `hits` counts in each question, with its interval, in percent.
    fn interval(&self, hits: fn((u64, u64, u64)) -> u64) -> Option<(f64, (f64, f64))> {
        let total = |count: &dyn Fn((u64, u64, u64)) -> u64| -> u64 {
            self.questions.iter().map(|(question, number)| count(*question) * number).sum()
        };
        let counts = Proportion { hits: total(&hits), total: total(&|(_, _, all)| all) };
        let share = 100.0 * counts.hits as f64 / counts.total as f64;
        if self.questions.keys().all(|(_, _, all)| *all == 1) {
            return Some((share, counts.wilson()?));
        }
        let mean = |(question, number): (&(u64, u64, u64), &u64)| {
            let mean = hits(*question) as f64 / question.2 as f64;
            std::iter::repeat_n(mean, usize::try_from(*number).unwrap_or(usize::MAX))
        };
        let means: Vec<f64> = self.questions.iter().flat_map(mean).collect();
        let half = 100.0 * Z_95 * mean_stderr(&means)?;
        Some((share, ((share - half).max(0.0), (share + half).min(100.0))))
    }
}

fn lengths(tokens: &BTreeMap<u32, u64>) -> Option<Lengths> {
    (!tokens.is_empty()).then(|| Lengths { median: quantile(tokens, 0.5), p95: quantile(tokens, 0.95) })
}

/// Returns the least length that at least a share of all lengths do not exceed.
fn quantile(lengths: &BTreeMap<u32, u64>, share: f64) -> u32 {
    let all: u64 = lengths.values().sum();
    let rank = (all as f64 * share).ceil().max(1.0) as u64;
    let mut before = 0;
    let reached = lengths.iter().find(|(_, count)| {
        before += **count;
        before >= rank
    });
    reached.map_or(0, |(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::result::{Finish, ThinkingEnd};

    fn answer(text: &str, tokens: u32, end: ThinkingEnd) -> Generation {
        let thought = Thought { text: "0123456789".into(), tokens, end };
        Generation { thinking: Some(thought), ..Generation::new(text, 2, Finish::Length) }
    }

    fn observe(summary: &mut AnswerSummary, answers: &[Generation], correct: &[bool]) {
        let classes: Vec<Classes> = answers.iter().map(|answer| Classes::new(answer, None, false)).collect();
        summary.observe(answers, &classes, correct);
    }

    #[test]
    fn answers_are_counted_by_class_and_length() {
        let mut summary = AnswerSummary::default();
        assert_eq!(summary.figures(), None);
        observe(&mut summary, &[Generation::new("4", 1, Finish::Length)], &[true]);
        assert_eq!(summary.figures().unwrap().thinking, None);
        let ends = [ThinkingEnd::Closed, ThinkingEnd::Forced, ThinkingEnd::Cut, ThinkingEnd::Ended];
        for (at, end) in (1..).zip(ends) {
            observe(&mut summary, &[answer(if at < 3 { "4" } else { "" }, at * 10, end)], &[at < 3]);
        }
        observe(&mut summary, &[answer(" ", 50, ThinkingEnd::Closed)], &[false]);
        let AnswerFigures { answers, classes, thinking, answer, .. } = summary.figures().unwrap();
        assert_eq!((answers, classes), (6, [1, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0]));
        assert_eq!(thinking, Some(Lengths { median: 30, p95: 50 }));
        assert_eq!(answer, Some(Lengths { median: 2, p95: 2 }));
    }

    #[test]
    fn bounds_leave_open_what_is_open() {
        let (right, wrong) = (Generation::new("4", 1, Finish::Eos), Generation::new("5", 1, Finish::Eos));
        let open = answer("", 9, ThinkingEnd::Cut);
        let mut summary = AnswerSummary::default();
        for (answer, correct) in [(&right, true), (&right, true), (&wrong, false)] {
            observe(&mut summary, std::slice::from_ref(answer), &[correct]);
        }
        assert_eq!(summary.bounds(), None, "none is open");
        observe(&mut summary, std::slice::from_ref(&open), &[false]);
        let wilson = |hits| Proportion { hits, total: 4 }.wilson().unwrap();
        let expected = OpenBounds { if_right: 75.0, low: wilson(2).0, high: wilson(3).1 };
        assert_eq!(summary.figures().unwrap().bounds, Some(expected));
        let mut several = AnswerSummary::default();
        observe(&mut several, &[right.clone(), open.clone()], &[true, false]);
        observe(&mut several, &[wrong.clone(), wrong], &[false, false]);
        // statistics.stdev([0.5, 0]) / sqrt(2) = 0.25; of [1, 0] it is 0.5
        assert_eq!(several.bounds(), Some(OpenBounds { if_right: 50.0, low: 0.0, high: 100.0 }));
    }
}
