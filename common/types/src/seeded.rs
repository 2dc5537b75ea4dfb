//! Random numbers from a seed, for histories and inputs that can be made again: SplitMix64 (Steele, Lea and Flood 2014).

/// A stream of numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 for an `end` of 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number in `first..=last`.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last.saturating_sub(first) + 1)
    }

    /// A number in `first..=last`, as often between 1 and 10 as between 10 and 100; `first` is at least 1.
    pub fn log_uniform(&mut self, first: u64, last: u64) -> u64 {
        let (low, high) = ((first.max(1) as f64).ln(), ((last.max(1) + 1) as f64).ln());
        let drawn = (low + self.unit() * (high - low)).exp() as u64;
        drawn.clamp(first, last)
    }

    /// Returns true this many times in a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
