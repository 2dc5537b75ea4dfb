//! The classes of a sample's answers.

use super::class::{AnswerClass, Classes};
use crate::evaluator::{SampleScore, SampleValue, SecondAnswer};
use compass_types::result::Generation;

/// Returns the classes of each answer to a question; `second` are the same answers as they are read a second time, where they are, and
/// `score` is the evaluator's, where there is one.
pub fn classes(answers: &[Generation], second: Option<&[SecondAnswer]>, score: Option<&SampleScore>) -> Vec<Classes> {
    let undecided: Vec<u16> = score.map_or_else(Vec::new, undecided);
    // Replicas count from 1; the only answer is 0.
    let first = usize::from(answers.len() > 1);
    let classes = |(at, answer): (usize, &Generation)| {
        let is_undecided = undecided.iter().any(|replica| usize::from(*replica) == at + first);
        Classes::new(answer, second.and_then(|second| second.get(at)), is_undecided)
    };
    answers.iter().enumerate().map(classes).collect()
}

/// Returns the answers whose decision the evaluator leaves open.
fn undecided(score: &SampleScore) -> Vec<u16> {
    let is_open = score.contributions.iter().filter(|contribution| {
        contribution.name == AnswerClass::Undecided.name() && contribution.item == SampleValue::Hit(true)
    });
    is_open.map(|contribution| contribution.replica).collect()
}
