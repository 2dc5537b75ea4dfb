//! Share of a job, in numbers that are compared.

/// The slots of a job beside those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FairShare {
    /// Slots of its workers, those on their way to it included and those that leave it not.
    pub slots: u32,
    pub weight: u32,
    /// Slot-microseconds by weight so far.
    pub service: u64,
}

impl FairShare {
    /// With so many slots more.
    pub(super) fn with(self, slots: u32) -> Self {
        Self { slots: self.slots.saturating_add(slots), ..self }
    }

    /// With so many slots fewer.
    pub(super) fn without(self, slots: u32) -> Self {
        Self { slots: self.slots.saturating_sub(slots), ..self }
    }

    /// Returns whether it has more slots by weight than the other.
    pub(super) fn exceeds(self, other: Self) -> bool {
        u64::from(self.slots) * u64::from(other.weight.max(1)) > u64::from(other.slots) * u64::from(self.weight.max(1))
    }

    /// Slots by weight, in thousandths.
    pub(super) fn ratio(self) -> u64 {
        u64::from(self.slots) * 1000 / u64::from(self.weight.max(1))
    }
}
