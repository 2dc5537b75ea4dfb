//! Recorded samples and fingerprints of their results: the memory behind "the first recorded wins".
//!
//! Invariant: a fingerprint is kept of exactly the recorded samples, that of the first result.

use super::sample_set::SampleSet;
use compass_types::ids::{Digest, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Outcome of a result that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Nothing was recorded for the sample: this is its result.
    First,
    /// The same bytes were recorded before.
    Repeat,
    /// Other bytes were recorded before; the first stand.
    Divergent {
        /// Set if both come from devices of one type, on which they should be equal.
        same_device: bool,
    },
}

/// Type of the device that computed a result: results of one type are equal to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum DeviceType {
    /// Not said, or no device computed it: equal to none.
    #[default]
    Unknown = 0,
    Cpu = 1,
    Cuda = 2,
}

impl DeviceType {
    /// As a worker names its device.
    pub fn named(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "cuda" => Self::Cuda,
            _ => Self::Unknown,
        }
    }

    /// As an engine names what it computes on: `cpu`, or a GPU's name; one without a device is `echo`.
    pub fn of_engine(name: &str) -> Self {
        match name {
            "" | "echo" | "endpoint" => Self::Unknown,
            "cpu" => Self::Cpu,
            _ => Self::Cuda,
        }
    }

    /// As the ledger keeps it.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Cpu,
            2 => Self::Cuda,
            _ => Self::Unknown,
        }
    }

    /// As the ledger keeps it.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns whether results of the two should be equal.
    pub fn agrees_with(self, other: Self) -> bool {
        self == other && self != Self::Unknown
    }
}

/// The samples recorded so far, by unit.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    units: BTreeMap<UnitId, Unit>,
}

#[derive(Clone, Debug, Default)]
struct Unit {
    done: SampleSet,
    /// With the device type in the lowest bits; by page.
    fingerprints: BTreeMap<u32, Box<[u64; PAGE as usize]>>,
}

/// Samples in a row whose fingerprints lie together.
const PAGE: u32 = 64;

/// Bits of a fingerprint that hold the device type.
const DEVICE_BITS: u64 = 3;

fn fingerprint(result: &[u8]) -> u64 {
    let digest = Digest::of(result).0;
    u64::from_le_bytes([digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7]])
}

impl Recorded {
    /// Judges a result and remembers it when it is the first.
    pub fn arrive(&mut self, unit: UnitId, index: u32, result: &[u8], device: DeviceType) -> Arrival {
        let unit = self.units.entry(unit).or_default();
        let fingerprint = fingerprint(result) & !DEVICE_BITS;
        let page = unit.fingerprints.entry(index / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
        let known = &mut page[(index % PAGE) as usize];
        if unit.done.insert(index) {
            *known = fingerprint | u64::from(device.number());
            Arrival::First
        } else if *known & !DEVICE_BITS == fingerprint {
            Arrival::Repeat
        } else {
            let first = DeviceType::from_number((*known & DEVICE_BITS) as u32);
            Arrival::Divergent { same_device: first.agrees_with(device) }
        }
    }

    /// Returns the number of recorded samples of each unit that has any.
    pub fn by_unit(&self) -> impl Iterator<Item = (UnitId, u64)> {
        self.units.iter().map(|(id, unit)| (*id, unit.done.len()))
    }

    /// The recorded samples of a unit.
    pub fn done(&self, unit: UnitId) -> IntervalSet {
        self.units.get(&unit).map(|unit| unit.done.intervals()).unwrap_or_default()
    }

    /// Returns whether a sample is recorded.
    pub fn contains(&self, unit: UnitId, index: u32) -> bool {
        self.units.get(&unit).is_some_and(|unit| unit.done.contains(index))
    }

    /// Returns the number of recorded samples.
    pub fn len(&self) -> u64 {
        self.units.values().map(|unit| unit.done.len()).sum()
    }

    /// Returns whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
