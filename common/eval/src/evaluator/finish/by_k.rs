//! Rates of k answers by the votes on each question: pass@k, maj@k, all@k.
//!
//! pass@k has the bits of the metric of that name. Standard errors and intervals are over questions, whose values are independent:
//! answers to one question are not.

use super::numpy;
use super::pass_rate::tasks;
use crate::evaluator::metric_contribution::{Aggregation, SampleValue};
use crate::evaluator::series::AllSeries;
use crate::evaluator::{AtK, ByK, Metric};
use compass_metrics::statistics::{all_at_k, draws_stderr, maj_at_k, mean_stderr, pass_at_k};
use compass_stats::question_mean;

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// Answers to one question.
#[derive(Clone, Debug)]
pub(super) struct Question {
    right: u64,
    answers: u64,
    /// Votes of each class of wrong answers; `None` where answers do not vote.
    rivals: Option<Vec<u64>>,
}

/// Returns the rates of the line that counts right answers by question; `None` where the line is missing, or a question with fewer
/// than two answers.
pub(in crate::evaluator) fn by_k(lines: &AllSeries) -> Option<ByK> {
    lines.iter().find_map(|line| match &line.rule {
        Aggregation::Replicas { k } => rates(&line.column.read(question), k),
        Aggregation::PassAtK { k, .. } => {
            let tasks = tasks(&line.column);
            let tasks: Vec<Question> =
                tasks.values().map(|&(right, answers)| Question { right, answers, rivals: None }).collect();
            rates(&tasks, k)
        }
        _ => None,
    })
}

fn question(item: &SampleValue) -> Option<Question> {
    let SampleValue::Counts(counts) = item else { return None };
    match counts.as_slice() {
        &[right, answers] => Some(Question { right, answers, rivals: None }),
        [right, answers, _, rivals @ ..] => {
            Some(Question { right: *right, answers: *answers, rivals: Some(rivals.to_vec()) })
        }
        _ => None,
    }
}

/// Returns the rates of powers of two, of the number of answers that every question has, and of each of `asked` that is not more.
pub(super) fn rates(questions: &[Question], asked: &[u32]) -> Option<ByK> {
    let fewest = questions.iter().map(|question| question.answers).min().filter(|fewest| *fewest > 1)?;
    let most = questions.iter().map(|question| question.answers).max()?;
    let powers = std::iter::successors(Some(1_u64), |k| k.checked_mul(2)).take_while(|k| *k < fewest);
    let asked = asked.iter().map(|k| u64::from(*k)).filter(|k| (1..=fewest).contains(k));
    let mut k: Vec<u64> = powers.chain([fewest]).chain(asked).collect();
    k.sort_unstable();
    k.dedup();
    let counts: Vec<(u64, u64)> = questions.iter().map(|question| (question.answers, question.right)).collect();
    let votes = |question: &Question| maj_at_k(question.answers, question.right, question.rivals.as_ref()?, &k);
    let votes: Option<Vec<Vec<f64>>> = questions.iter().map(votes).collect();
    let at = |(place, &k): (usize, &u64)| AtK {
        k,
        pass: rate("pass", k, counts.iter().map(|&(n, c)| pass_at_k(n, c, k)).collect()),
        maj: votes.as_ref().map(|votes| rate("maj", k, votes.iter().map(|by_k| by_k[place]).collect())),
        all: rate("all", k, counts.iter().map(|&(n, c)| all_at_k(n, c, k)).collect()),
    };
    Some(ByK {
        questions: questions.len() as u64,
        answers: (fewest, most),
        unsettled: counts.iter().filter(|(n, c)| *c > 0 && c < n).count() as u64,
        draws_stderr: draws_stderr(&counts).map(|stderr| 100.0 * stderr),
        rates: k.iter().enumerate().map(at).collect(),
    })
}

/// The mean over questions.
fn rate(name: &str, k: u64, values: Vec<f64>) -> Metric {
    let interval = question_mean(&values, CONFIDENCE);
    Metric {
        name: format!("{name}@{k}"),
        value: 100.0 * numpy::mean(&values),
        stderr: mean_stderr(&values).map(|stderr| 100.0 * stderr),
        ci95: interval.map(|interval| (100.0 * interval.low, 100.0 * interval.high)),
    }
}

#[cfg(test)]
#[path = "by_k_tests.rs"]
mod tests;
