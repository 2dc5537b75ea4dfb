//! Pairing of samples of two runs that are the same question: by content, never by position.

use super::observed::{SampleFacts, UnitData};

/// Pairs of two runs of a data set, and the samples without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// Positions in both, in the order of the questions' digests: the order of the rows has no part in any number.
    pub pairs: Vec<(u32, u32)>,
    /// Indices of the samples that only one run asks.
    pub only_a: Vec<u32>,
    pub only_b: Vec<u32>,
}

/// The same question has one gold answer in one run, and another in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherGold {
    /// Indices in both runs.
    pub samples: Vec<(u32, u32)>,
}

impl Pairing {
    /// The share of the samples of the larger run that are paired; 1 of nothing.
    pub fn share(&self) -> f64 {
        let unpaired = self.only_a.len().max(self.only_b.len());
        let all = self.pairs.len() + unpaired;
        if all == 0 { 1.0 } else { self.pairs.len() as f64 / all as f64 }
    }
}

/// Pairs two runs of a data set. A question that is asked several times pairs as often as both ask it, in order of index.
///
/// # Errors
/// [`OtherGold`]: what is left over on both sides is the same question with different gold answers.
pub fn pair(a: &UnitData, b: &UnitData) -> Result<Pairing, OtherGold> {
    let (left, right) = (sorted(&a.samples), sorted(&b.samples));
    let key = |samples: &[SampleFacts], at: u32| {
        let facts = &samples[at as usize];
        (facts.question, facts.gold)
    };
    let mut found = Pairing::default();
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        match key(&a.samples, left[i]).cmp(&key(&b.samples, right[j])) {
            std::cmp::Ordering::Equal => {
                found.pairs.push((left[i], right[j]));
                (i, j) = (i + 1, j + 1);
            }
            std::cmp::Ordering::Less => {
                found.only_a.push(left[i]);
                i += 1;
            }
            std::cmp::Ordering::Greater => {
                found.only_b.push(right[j]);
                j += 1;
            }
        }
    }
    found.only_a.extend(&left[i..]);
    found.only_b.extend(&right[j..]);
    let conflicts = conflicts(a, b, &found);
    if !conflicts.is_empty() {
        return Err(OtherGold { samples: conflicts });
    }
    let indices = |samples: &[SampleFacts], positions: &[u32]| {
        let mut indices: Vec<u32> = positions.iter().map(|&at| samples[at as usize].index).collect();
        indices.sort_unstable();
        indices
    };
    found.only_a = indices(&a.samples, &found.only_a);
    found.only_b = indices(&b.samples, &found.only_b);
    Ok(found)
}

fn sorted(samples: &[SampleFacts]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..samples.len() as u32).collect();
    order.sort_by_key(|&at| {
        let facts = &samples[at as usize];
        (facts.question, facts.gold, facts.index)
    });
    order
}

/// Both sides are in the order of their questions.
fn conflicts(a: &UnitData, b: &UnitData, left_over: &Pairing) -> Vec<(u32, u32)> {
    let (left, right) = (&left_over.only_a, &left_over.only_b);
    let (mut conflicts, mut j) = (Vec::new(), 0);
    for one in left.iter().map(|&at| &a.samples[at as usize]) {
        while right.get(j).is_some_and(|&at| b.samples[at as usize].question < one.question) {
            j += 1;
        }
        if let Some(other) = right.get(j).map(|&at| &b.samples[at as usize])
            && other.question == one.question
        {
            conflicts.push((one.index, other.index));
            j += 1;
        }
    }
    conflicts.sort_unstable();
    conflicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(samples: &[(u128, u64)]) -> UnitData {
        let facts = |(at, &(question, gold)): (usize, &(u128, u64))| SampleFacts {
            index: at as u32,
            question,
            gold,
            has_result: true,
            column: 0,
            shared: 0,
            shared_end: 0,
            length: 1,
        };
        let samples = samples.iter().enumerate().map(facts).collect();
        UnitData { model: "m".into(), dataset: "d".into(), mode: "gen", samples, series: Vec::new() }
    }

    #[test]
    fn rows_pair_in_whatever_order_they_stand() {
        let a = unit(&[(5, 1), (3, 1), (9, 2), (3, 1)]);
        let b = unit(&[(3, 1), (9, 2), (3, 1), (7, 7), (3, 1)]);
        let found = pair(&a, &b).unwrap();
        assert_eq!(found.pairs, [(1, 0), (3, 2), (2, 1)]);
        assert_eq!((found.only_a, found.only_b), (vec![0], vec![3, 4]));
        assert_eq!(pair(&a, &a).unwrap().share(), 1.0);
        assert_eq!(pair(&a, &b).unwrap().share(), 0.6);
    }

    #[test]
    fn another_gold_answer_is_an_error_and_a_question_that_has_several_is_not() {
        let a = unit(&[(5, 1), (3, 1)]);
        assert_eq!(pair(&a, &unit(&[(3, 2), (5, 1)])).unwrap_err().samples, [(1, 0)]);
        let several = unit(&[(5, 1), (5, 2)]);
        assert!(pair(&several, &unit(&[(5, 2), (5, 1)])).unwrap().only_a.is_empty());
        assert_eq!(pair(&several, &unit(&[(5, 2)])).unwrap().only_a, [0], "one side has more, which is no conflict");
        assert_eq!(pair(&unit(&[]), &unit(&[])).unwrap().share(), 1.0);
    }
}
