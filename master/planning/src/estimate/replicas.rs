//! Time that whole replicas take on a number of GPUs, and the number of GPUs that a deadline needs.
//!
//! A GPU that makes no whole replica computes nothing. Where models take different numbers of GPUs, those of each number are run
//! one after the other.

use super::predict::{Seconds, UnitEstimate};
use std::collections::BTreeMap;

/// Most GPUs that are thought of.
const MOST: u32 = 1_000_000;

/// Seconds of slots by the GPUs of a slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Replicas(BTreeMap<u32, Seconds>);

impl Replicas {
    /// Adds up the units that take GPUs.
    pub(super) fn of<'u>(units: impl IntoIterator<Item = &'u UnitEstimate>) -> Self {
        let mut all: BTreeMap<u32, Seconds> = BTreeMap::new();
        for unit in units.into_iter().filter(|unit| unit.gpus > 0) {
            let of_slots = all.entry(unit.gpus).or_default();
            *of_slots = *of_slots + unit.seconds;
        }
        Self(all)
    }

    /// GPUs of the largest replica; `None` where no unit takes any.
    pub(super) fn largest(&self) -> Option<u32> {
        self.0.last_key_value().map(|(gpus, _)| *gpus)
    }

    /// Seconds of GPUs.
    pub(super) fn gpu_seconds(&self) -> Seconds {
        self.0.iter().fold(Seconds::default(), |sum, (gpus, seconds)| sum + seconds.times(f64::from(*gpus)))
    }

    /// Time on so many GPUs, of which there is at least one replica.
    pub(super) fn wall(&self, gpus: u32) -> Seconds {
        let at = |(takes, seconds): (&u32, &Seconds)| seconds.times(1.0 / f64::from((gpus / takes).max(1)));
        self.0.iter().map(at).fold(Seconds::default(), |sum, seconds| sum + seconds)
    }

    /// The fewest GPUs, in whole replicas of the largest model, on which everything is through in so many seconds even where it
    /// takes longest; `None` where no number is enough.
    pub(super) fn needed(&self, seconds: f64) -> Option<u32> {
        let largest = self.largest()?;
        let is_enough = |replicas: u32| self.wall(replicas * largest).high <= seconds;
        let (mut low, mut high) = (1, MOST / largest);
        if high == 0 || !is_enough(high) {
            return None;
        }
        while low < high {
            let middle = low.midpoint(high);
            if is_enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low * largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas(units: &[(u32, f64)]) -> Replicas {
        let of = |seconds: f64| Seconds { low: seconds, middle: seconds, high: seconds };
        Replicas(units.iter().map(|(gpus, seconds)| (*gpus, of(*seconds))).collect())
    }

    #[test]
    fn only_whole_replicas_count() {
        let pairs = replicas(&[(2, 10.0)]);
        let wall = |gpus| pairs.wall(gpus).middle;
        for (gpus, seconds) in [(1, 10.0), (2, 10.0), (3, 10.0), (4, 5.0), (7, 10.0 / 3.0), (8, 2.5)] {
            assert!((wall(gpus) - seconds).abs() < 1e-12, "{gpus}: {}", wall(gpus));
        }
        assert_eq!(pairs.gpu_seconds().middle, 20.0);
        let mixed = replicas(&[(1, 8.0), (4, 10.0)]);
        assert_eq!(mixed.wall(6).middle, 8.0 / 6.0 + 10.0);
        assert_eq!((mixed.largest(), replicas(&[]).largest()), (Some(4), None));
    }

    #[test]
    fn a_deadline_is_met_by_a_multiple_of_the_largest_replica() {
        let pairs = replicas(&[(2, 7_200.0)]);
        assert_eq!(pairs.needed(2_000.0), Some(8), "4 replicas take 1,800 s, 3 take 2,400");
        assert_eq!(pairs.needed(7_200.0), Some(2));
        let mixed = replicas(&[(3, 300.0), (4, 400.0)]);
        let gpus = mixed.needed(100.0).unwrap();
        assert!(
            gpus.is_multiple_of(4) && mixed.wall(gpus).high <= 100.0 && mixed.wall(gpus - 4).high > 100.0,
            "{gpus}"
        );
        assert_eq!(pairs.needed(0.0), None);
        assert_eq!(replicas(&[]).needed(1.0), None);
    }
}
