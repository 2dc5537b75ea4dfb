//! Which samples are recorded, and with what: the memory behind "the first recorded wins".

use super::sample_set::SampleSet;
use compass_common::ids::{Digest, UnitId};
use compass_common::intervals::IntervalSet;
use std::collections::BTreeMap;

/// What became of a result that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Nothing was recorded for the sample: this is its result.
    First,
    /// The same bytes were recorded before.
    Repeat,
    /// Other bytes were recorded before; the first stand.
    Divergent,
}

/// The samples recorded so far, by unit.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    units: BTreeMap<UnitId, Unit>,
}

#[derive(Clone, Debug, Default)]
struct Unit {
    done: SampleSet,
    fingerprints: BTreeMap<u32, u64>,
}

fn fingerprint(result: &[u8]) -> u64 {
    let digest = Digest::of(result).0;
    u64::from_le_bytes([digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7]])
}

impl Recorded {
    /// Judges a result and remembers it when it is the first.
    pub fn arrive(&mut self, unit: UnitId, index: u32, result: &[u8]) -> Arrival {
        let unit = self.units.entry(unit).or_default();
        let fingerprint = fingerprint(result);
        match unit.fingerprints.get(&index) {
            None => {
                unit.fingerprints.insert(index, fingerprint);
                unit.done.insert(index);
                Arrival::First
            }
            Some(&known) if known == fingerprint => Arrival::Repeat,
            Some(_) => Arrival::Divergent,
        }
    }

    /// The recorded samples of a unit.
    pub fn done(&self, unit: UnitId) -> IntervalSet {
        self.units.get(&unit).map(|unit| unit.done.intervals()).unwrap_or_default()
    }

    /// Whether a sample is recorded.
    pub fn contains(&self, unit: UnitId, index: u32) -> bool {
        self.units.get(&unit).is_some_and(|unit| unit.done.contains(index))
    }

    /// How many samples are recorded.
    pub fn len(&self) -> u64 {
        self.units.values().map(|unit| unit.done.len()).sum()
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
