//! `collections.Counter` intersections and the F1 score made of them.

use std::collections::HashMap;
use std::hash::Hash;

/// The size of the multiset intersection of two lists.
pub(super) fn shared<T: Eq + Hash>(left: &[T], right: &[T]) -> usize {
    let mut counts: HashMap<&T, usize> = HashMap::new();
    for item in left {
        *counts.entry(item).or_default() += 1;
    }
    let mut shared = 0;
    for item in right {
        if let Some(count) = counts.get_mut(item).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    shared
}

/// Token F1: the harmonic mean of shared / predicted and shared / referenced, 0 when nothing is shared.
pub(super) fn token_f1<T: Eq + Hash>(prediction: &[T], reference: &[T]) -> f64 {
    let shared = shared(prediction, reference) as f64;
    if shared == 0.0 {
        return 0.0;
    }
    let precision = shared / prediction.len() as f64;
    let recall = shared / reference.len() as f64;
    (2.0 * precision * recall) / (precision + recall)
}
