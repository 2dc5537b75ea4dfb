//! What the store knows of a grant: the attempt, and who has which samples, for the leader that comes next.
//!
//! Integers little-endian: attempt `u32`, epoch `u64`, number of the record within the epoch `u64`, count of intervals
//! `u32`, the intervals as pairs of `u32`, the worker's name in UTF-8.

use compass_common::ids::{Attempt, Epoch, WorkerId};
use compass_common::intervals::IntervalSet;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub attempt: Attempt,
    pub epoch: Epoch,
    /// Orders the grants of an epoch.
    pub seq: u64,
    pub worker: WorkerId,
    pub samples: IntervalSet,
}

impl Holding {
    /// The value of the attempt's key.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.attempt.0.to_le_bytes().to_vec();
        bytes.extend(self.epoch.0.to_le_bytes());
        bytes.extend(self.seq.to_le_bytes());
        bytes.extend((self.samples.pairs().len() as u32).to_le_bytes());
        for (first, end) in self.samples.pairs() {
            bytes.extend(first.to_le_bytes());
            bytes.extend(end.to_le_bytes());
        }
        bytes.extend(self.worker.0.as_bytes());
        bytes
    }

    /// Reads a value; `None` for one of another making.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at_checked(count)?;
            rest = after;
            Some(taken)
        };
        let attempt = Attempt(u32::from_le_bytes(take(4)?.try_into().ok()?));
        let epoch = Epoch(u64::from_le_bytes(take(8)?.try_into().ok()?));
        let seq = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let count = u32::from_le_bytes(take(4)?.try_into().ok()?);
        let mut pairs = Vec::new();
        for _ in 0..count {
            let first = u32::from_le_bytes(take(4)?.try_into().ok()?);
            pairs.push((first, u32::from_le_bytes(take(4)?.try_into().ok()?)));
        }
        let worker = WorkerId(String::from_utf8(rest.to_vec()).ok()?);
        Some(Self { attempt, epoch, seq, worker, samples: IntervalSet::from_pairs(pairs) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holding_comes_back_as_it_was_and_no_part_of_it_does() {
        let samples = IntervalSet::from_pairs([(3, 9), (12, 13)]);
        let holding =
            Holding { attempt: Attempt(2), epoch: Epoch(7), seq: 41, worker: WorkerId("w-1".into()), samples };
        let bytes = holding.encode();
        assert_eq!(Holding::decode(&bytes), Some(holding));
        assert!((0..bytes.len() - 3).all(|cut| Holding::decode(&bytes[..cut]).is_none()));
    }
}
