//! The number of pairs that would tell two runs apart.

use super::estimate::{Estimate, power_z};
use super::reach::widest;
use super::values::Direction;
use compass_stats::pairs_needed;

/// The number of pairs with which the interval is expected to lie on one side of minus the margin, with the power of 80 %: the
/// interval that this estimate would have with as many pairs of the same kind, and the error of its middle. `None` where the
/// difference is the margin itself, where no pair tells of any spread, or where more than 10^12 pairs would be needed.
pub(crate) fn pairs_that_tell(estimate: &Estimate, direction: Direction, margin: f64, confidence: f64) -> Option<u64> {
    let distance = direction.sign() * estimate.difference + margin;
    let is_down = (distance > 0.0) == (direction == Direction::Higher);
    let reach = |pairs: u64| {
        let growth = pairs as f64 / estimate.pairs as f64;
        let (down, up) = widest(&estimate.reach, estimate.pairs, growth, confidence);
        let end = if is_down { down } else { up };
        end + power_z() * estimate.stderr / growth.sqrt()
    };
    let next = estimate.pairs + 1;
    if distance == 0.0 || reach(next) <= 0.0 {
        return None;
    }
    pairs_needed(next, |pairs| reach(pairs) < distance.abs())
}
