//! Samples that are not independent: questions about one passage, which stands before or after them, a question asked several
//! times, rows of one column's value.

use super::observed::{SampleFacts, UnitData};
use std::collections::HashMap;

/// So many bytes beyond what all samples share must two neighbours have in common to be of one passage, ...
const PASSAGE: u32 = 64;
/// ... and more of the shorter one's own words than a half.
const OF_WORDS: u32 = 2;
/// Clusters that are nearly as many as samples change no number: the usual formulas are kept.
const WORTH: f64 = 0.9;

/// By what samples are clustered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClusterBy {
    /// By passages that neighbours share, and by questions that are the same.
    #[default]
    Passage,
    /// By the value in a column of the gold answers or of the data.
    Column(String),
    /// Not at all.
    Nothing,
}

/// The clusters of pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clusters {
    /// By position among the pairs: a number below `count`.
    pub of: Vec<u32>,
    pub count: usize,
}

/// The cluster of every sample of a unit, as any number.
fn labels(unit: &UnitData, by: &ClusterBy) -> Option<Vec<u64>> {
    match by {
        ClusterBy::Nothing => None,
        ClusterBy::Column(_) => Some(unit.samples.iter().map(|facts| facts.column).collect()),
        ClusterBy::Passage => Some(passages(&unit.samples)),
    }
}

/// A passage is named by its first sample; what asks the same is of the passage of the first that asks it. Two neighbours are of
/// one passage where they share enough at their beginning, or at their end: the question may stand before its passage.
fn passages(samples: &[SampleFacts]) -> Vec<u64> {
    // What a template puts before and after everything is in common to all neighbours.
    let least = |shared: fn(&SampleFacts) -> u32| samples.iter().skip(1).map(shared).min().unwrap_or(0);
    let (before, after) = (least(|facts| facts.shared), least(|facts| facts.shared_end));
    let mut first_of: HashMap<u128, u64> = HashMap::with_capacity(samples.len());
    let mut labels: Vec<u64> = Vec::with_capacity(samples.len());
    for (at, facts) in samples.iter().enumerate() {
        let neighbour = at.checked_sub(1).map(|before| &samples[before]);
        let is_same = neighbour.is_some_and(|neighbour| {
            let words = neighbour.length.min(facts.length).saturating_sub(before.saturating_add(after));
            let is_passage = |shared: u32| shared >= PASSAGE && shared.saturating_mul(OF_WORDS) >= words;
            is_passage(facts.shared.saturating_sub(before)) || is_passage(facts.shared_end.saturating_sub(after))
        });
        let passage = if is_same { labels[at - 1] } else { at as u64 };
        labels.push(*first_of.entry(facts.question).or_insert(passage));
    }
    labels
}

/// The clusters of `pairs`, by the first run's samples; `None` where they would change nothing.
pub(crate) fn clusters(a: &UnitData, pairs: &[(u32, u32)], by: &ClusterBy) -> Option<Clusters> {
    let labels = labels(a, by)?;
    let clusters = Clusters::of(pairs.iter().map(|&(at, _)| labels[at as usize]));
    let by_choice = matches!(by, ClusterBy::Column(_));
    (by_choice || (clusters.count as f64) < WORTH * pairs.len() as f64).then_some(clusters)
}

impl Clusters {
    /// Groups labels, numbered as they first occur.
    pub(crate) fn of(labels: impl Iterator<Item = u64>) -> Self {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let of: Vec<u32> = labels
            .map(|label| {
                let next = numbers.len() as u32;
                *numbers.entry(label).or_insert(next)
            })
            .collect();
        Self { of, count: numbers.len() }
    }

    /// Returns the clusters of the pairs at these places.
    pub(crate) fn at(&self, places: &[u32]) -> Self {
        Self::of(places.iter().map(|&at| u64::from(self.of[at as usize])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(question: u128, shared: u32, length: u32) -> SampleFacts {
        let index = question as u32;
        SampleFacts { index, question, gold: 0, has_result: true, column: 0, shared, shared_end: 0, length }
    }

    #[test]
    fn questions_about_one_passage_and_questions_asked_twice() {
        // "Article: " is nine bytes of template; passages of 300 bytes with three questions each.
        let mut samples: Vec<SampleFacts> = Vec::new();
        for at in 0..9u128 {
            samples.push(facts(at, if at % 3 == 0 { 9 } else { 309 }, 340));
        }
        samples.push(facts(4, 9, 340));
        assert_eq!(passages(&samples), [0, 0, 0, 3, 3, 3, 6, 6, 6, 3]);
        let short: Vec<SampleFacts> = (0..6).map(|at| facts(at, 40 + at as u32, 120)).collect();
        assert_eq!(passages(&short), [0, 1, 2, 3, 4, 5], "a common template is no passage");
    }

    #[test]
    fn a_passage_may_stand_after_its_question() {
        // "Question: " before everything, "\nAnswer:" after it, and a passage of 300 bytes with three questions each.
        let mut samples: Vec<SampleFacts> = (0..9).map(|at| facts(at, 10, 350)).collect();
        for (at, facts) in samples.iter_mut().enumerate() {
            facts.shared_end = if at % 3 == 0 { 8 } else { 309 };
        }
        assert_eq!(passages(&samples), [0, 0, 0, 3, 3, 3, 6, 6, 6]);
        // Words that a template has after every question are no passage, however long they are.
        samples.iter_mut().for_each(|facts| facts.shared_end = 309);
        assert_eq!(passages(&samples), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
