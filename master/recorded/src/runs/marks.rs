//! Properties of each sample at a glance: four bytes each, so that a million samples are filtered in memory.

use compass_eval::evaluator::{AnswerClass, Classes, classes, judge, second_answers};
use compass_plan::{EvalSpec, Sample};
use compass_types::result::{Finish, Outcome, SampleResult};
use serde::{Deserialize, Serialize};

/// Something that a sample may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Mark {
    Right = 1,
    Wrong = 2,
    /// It has a result and no score.
    Failed = 4,
    /// Another option had exactly the winning score.
    Tie = 8,
    /// The prompt did not fit, or the answer was cut off.
    Truncated = 16,
    /// It has no result.
    Missing = 32,
}

impl Mark {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [Self::Right, Self::Wrong, Self::Failed, Self::Tie, Self::Truncated, Self::Missing];

    /// Returns its name for a reader, and in a query.
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Failed => "failed",
            Self::Tie => "tie",
            Self::Truncated => "truncated",
            Self::Missing => "missing",
        }
    }
}

/// A mark, or a class of answers, by which samples are filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    Mark(Mark),
    /// One of the sample's answers is of it.
    Class(AnswerClass),
}

impl Filter {
    /// All of them, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Self> {
        Mark::ALL.into_iter().map(Self::Mark).chain(AnswerClass::ALL.into_iter().map(Self::Class))
    }

    /// Returns its name for a reader, and in a query.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mark(mark) => mark.name(),
            Self::Class(class) => class.name(),
        }
    }
}

/// The marks of a sample, and the classes of its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8, Classes);

impl Marks {
    /// Scores a sample and keeps what it is. Of several answers one that is wrong makes it wrong.
    pub(super) fn of(sample: &Sample, result: Option<&SampleResult>, spec: &EvalSpec) -> Self {
        let Some(result) = result else { return Self(Mark::Missing as u8, Classes::default()) };
        let judged = judge(sample, result, spec);
        let mut marks = match &judged {
            Err(_) => Mark::Failed as u8,
            Ok(score) => {
                let right = match score.correct.as_slice() {
                    [] => 0,
                    all if all.iter().all(|right| *right) => Mark::Right as u8,
                    _ => Mark::Wrong as u8,
                };
                right | if score.tie { Mark::Tie as u8 } else { 0 }
            }
        };
        let answers = match &result.outcome {
            Outcome::Generated(answers) => answers.as_slice(),
            _ => &[],
        };
        let is_cut = answers.iter().any(|answer| answer.finish == Finish::Length);
        let classes = classes(answers, second_answers(result, spec).as_deref(), judged.as_ref().ok())
            .into_iter()
            .fold(Classes::default(), Classes::with);
        if is_cut || result.fit.truncated_from > 0 {
            marks |= Mark::Truncated as u8;
        }
        Self(marks, classes)
    }

    /// Returns whether a filter takes the sample.
    pub(super) fn passes(self, filter: Filter) -> bool {
        match filter {
            Filter::Mark(mark) => self.has(mark),
            Filter::Class(class) => self.1.has(class),
        }
    }

    pub(super) fn has(self, mark: Mark) -> bool {
        self.0 & mark as u8 != 0
    }

    /// Their names.
    pub(super) fn names(self) -> Vec<&'static str> {
        Filter::all().filter(|filter| self.passes(*filter)).map(Filter::name).collect()
    }
}
