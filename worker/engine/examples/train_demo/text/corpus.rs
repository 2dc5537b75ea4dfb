//! The training text: documents of four kinds in fixed proportions.

use super::random::Random;
use super::{facts, larger, stories, sums};

/// Returns one document; of a hundred, 60 are sums, 14 comparisons, 20 stories and 6 facts.
fn document(random: &mut Random) -> String {
    match random.below(100) {
        0..60 => sums::document(random),
        60..74 => larger::document(random),
        74..94 => stories::document(random),
        _ => facts::document(random),
    }
}

/// Returns the endless training text of a seed, in training order.
pub(crate) fn documents(seed: u64) -> impl Iterator<Item = String> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || document(&mut random))
}
