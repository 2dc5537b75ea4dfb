//! OpenCompass's `CircularEvaluator`: one question asked in four rotations of its options.

use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, Proportion};
use compass_metrics::statistics::mean_stderr;
use std::collections::BTreeMap;

const ROTATIONS: [&str; 4] = ["ABCD", "BCDA", "CDAB", "DABC"];

/// One asking of a question.
struct Asked<'a> {
    pattern: &'a str,
    gold: &'a str,
    answer: &'a str,
}

impl Asked<'_> {
    /// Returns whether it belongs to the askings that `k` names: one rotation or all four.
    fn counts_for(&self, k: usize) -> bool {
        ROTATIONS[..k].contains(&self.pattern)
    }

    fn right(&self) -> bool {
        self.answer == self.gold
    }

    /// The letter that the rotated `letter` had in the original question; `-` for what is not a letter of an option.
    fn original(&self, letter: &str) -> char {
        let at = ["A", "B", "C", "D"].iter().position(|option| *option == letter);
        at.and_then(|at| self.pattern.chars().nth(at)).unwrap_or('-')
    }
}

/// acc_4, acc_1 (of single askings), more_k_j (questions with at least j of k right), perf_k (all right), vote_k (the most
/// frequent answer, rotated back, is right; the first of equals), prior_X (how often an answer was X). In percent.
pub(super) fn metrics(column: &Column) -> Vec<Metric> {
    let mut questions: BTreeMap<&str, Vec<Asked<'_>>> = BTreeMap::new();
    let mut asked = 0.0;
    for (group, one) in column.read(member) {
        questions.entry(group).or_default().push(one);
        asked += 1.0;
    }
    let questions: Vec<Vec<Asked<'_>>> = questions.into_values().collect();
    let all = || questions.iter().flatten();
    let mut metrics = Vec::new();
    for k in [4, 1] {
        let hits = |asked: &[Asked<'_>]| asked.iter().filter(|one| one.counts_for(k) && one.right()).count();
        let total: usize = questions.iter().map(|asked| hits(asked)).sum();
        let contributions: Vec<f64> = questions.iter().map(|asked| hits(asked) as f64 / k as f64).collect();
        let value = total as f64 / asked * 4.0 / k as f64 * 100.0;
        metrics.push(Metric::estimate(
            &format!("acc_{k}"),
            value,
            mean_stderr(&contributions).map(|error| 100.0 * error),
            Bounds::Percent,
        ));
    }
    let proportion = |name: String, hits: usize| {
        let proportion = Proportion { hits: hits as u64, total: questions.len() as u64 };
        Metric::proportion(&name, proportion, |hits, total| hits / total * 100.0)
    };
    let at_least = |k: usize, j: usize| {
        let right = |asked: &&Vec<Asked<'_>>| asked.iter().filter(|one| one.counts_for(k) && one.right()).count() >= j;
        questions.iter().filter(right).count()
    };
    let more = [1, 4].into_iter().flat_map(|k| (0..=k).map(move |j| (k, j)));
    metrics.extend(more.filter_map(|(k, j)| proportion(format!("more_{k}_{j}"), at_least(k, j))));
    metrics.extend([1, 4].into_iter().filter_map(|k| proportion(format!("perf_{k}"), at_least(k, k))));
    let voted = |k| questions.iter().filter(|asked| vote_is_right(asked, k)).count();
    metrics.extend([4, 1].into_iter().filter_map(|k| proportion(format!("vote_{k}"), voted(k))));
    let known = |answer: &str| ["A", "B", "C", "D"].contains(&answer);
    for letter in ["A", "B", "C", "D", "-"] {
        let said = |one: &&Asked<'_>| one.answer == letter || letter == "-" && !known(one.answer);
        let value = all().filter(said).count() as f64 / asked * 100.0;
        metrics.push(Metric::plain(&format!("prior_{letter}"), value));
    }
    metrics
}

fn member(item: &SampleValue) -> Option<(&str, Asked<'_>)> {
    match item {
        SampleValue::Member { group, member, gold, answer } => Some((group, Asked { pattern: member, gold, answer })),
        _ => None,
    }
}

fn vote_is_right(asked: &[Asked<'_>], k: usize) -> bool {
    let mut votes: Vec<(char, u32)> = Vec::new();
    for letter in asked.iter().filter(|one| one.counts_for(k)).map(|one| one.original(one.answer)) {
        match votes.iter_mut().find(|(voted, _)| *voted == letter) {
            Some((_, count)) => *count += 1,
            None => votes.push((letter, 1)),
        }
    }
    // The first of equals, as Counter.most_common gives it.
    let winner = votes.iter().rev().max_by_key(|(_, count)| *count);
    let gold = asked.first().map(|one| one.original(one.gold));
    winner.zip(gold).is_some_and(|((letter, _), gold)| *letter == gold)
}
