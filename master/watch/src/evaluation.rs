//! State of the evaluation of one content.

use super::ending::Ending;

/// The evaluation of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The checkpoint by which it was first known.
    pub name: String,
    pub step: Option<u64>,
    pub state: EvaluationState,
    /// The name of its run folder, once one is made.
    pub folder: Option<String>,
    /// The id under which a server knows its job.
    pub job: Option<String>,
}

/// Progress of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationState {
    /// It waits for its turn.
    Queued,
    /// Too many waited.
    Skipped,
    /// Its job has begun. `active` is set if this process attends to it, which is false after a restart; it is not tried
    /// before `not_before`, and `postponed` counts how often it could not begin.
    Begun {
        active: bool,
        not_before: u64,
        postponed: u32,
    },
    Ended(Ending),
    /// Its checkpoint was removed or overwritten before it began.
    Gone,
}

impl Evaluation {
    /// One that waits.
    pub(super) fn queued(name: &str, step: Option<u64>) -> Self {
        Self { name: name.to_owned(), step, state: EvaluationState::Queued, folder: None, job: None }
    }

    /// Returns whether its job has begun and has not ended.
    pub(super) fn is_begun(&self) -> bool {
        matches!(self.state, EvaluationState::Begun { .. })
    }
}
