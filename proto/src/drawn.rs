//! Samples of which some answers were drawn before, on the wire.

use crate::{intervals_from_wire, intervals_to_wire, v1};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Converts numbers of answers by sample to messages, each with the samples of one number.
pub fn drawn_to_wire(drawn: impl IntoIterator<Item = (u32, u32)>) -> Vec<v1::Drawn> {
    let mut samples: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    drawn.into_iter().for_each(|(index, answers)| samples.entry(answers).or_default().push(index));
    let wire = samples.into_iter().map(|(answers, samples)| {
        let samples = intervals_to_wire(&IntervalSet::from_indices(samples));
        v1::Drawn { answers, samples }
    });
    wire.collect()
}

/// Converts messages to the number of answers of each of these samples that has any.
pub fn drawn_from_wire(drawn: &[v1::Drawn], samples: &IntervalSet) -> BTreeMap<u32, u32> {
    let mut known = BTreeMap::new();
    for v1::Drawn { answers, samples: named } in drawn {
        let others = samples.minus(&intervals_from_wire(named));
        known.extend(samples.minus(&others).iter().map(|index| (index, *answers)));
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_number_travel_together() {
        let drawn = BTreeMap::from([(3, 8), (4, 8), (5, 2), (9, 8)]);
        let wire = drawn_to_wire(drawn.clone());
        assert_eq!(wire.iter().map(|drawn| (drawn.answers, drawn.samples.len())).collect::<Vec<_>>(), [(2, 1), (8, 2)]);
        assert_eq!(drawn_from_wire(&wire, &IntervalSet::range(0, 10)), drawn);
        let some = BTreeMap::from([(4, 8), (5, 2)]);
        assert_eq!(drawn_from_wire(&wire, &IntervalSet::range(4, 9)), some, "of these samples alone");
    }
}
