//! CPython's `random.Random` for integer seeds: shots and partial data sets are drawn exactly as the peers draw them.
//!
//! MT19937 (Matsumoto and Nishimura 1998) seeded by `init_by_array` as `Modules/_randommodule.c` does, and `shuffle` and
//! `sample` and `choices` as `Lib/random.py` of CPython 3.11 and later; and NumPy's legacy generator, the same twister under
//! another seeding.

use std::collections::HashSet;

const N: usize = 624;
const M: usize = 397;
const UPPER: u32 = 0x8000_0000;
const LOWER: u32 = 0x7fff_ffff;

/// The generator behind `random.Random(seed)`.
#[derive(Clone, Debug)]
pub struct PythonRandom {
    state: [u32; N],
    next: usize,
}

impl PythonRandom {
    /// `random.Random(seed)` for a non-negative integer.
    pub fn new(seed: u64) -> Self {
        let low = seed as u32;
        let high = (seed >> 32) as u32;
        // The key is the seed's 32-bit digits without leading zeros, and one digit for zero itself.
        if high == 0 { Self::from_key(&[low]) } else { Self::from_key(&[low, high]) }
    }

    /// The generator behind `numpy.random.seed(seed)`.
    pub fn from_numpy_seed(seed: u32) -> Self {
        Self { state: Self::fill(seed), next: N }
    }

    /// `init_genrand`.
    fn fill(seed: u32) -> [u32; N] {
        let mut state = [0u32; N];
        state[0] = seed;
        for i in 1..N {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        state
    }

    fn from_key(key: &[u32]) -> Self {
        let mut state = Self::fill(19_650_218);
        let mut i = 1;
        let mut j = 0;
        for _ in 0..N.max(key.len()) {
            let last = state[i - 1];
            state[i] = (state[i] ^ (last ^ (last >> 30)).wrapping_mul(1_664_525)).wrapping_add(key[j]);
            state[i] = state[i].wrapping_add(j as u32);
            (i, j) = (i + 1, (j + 1) % key.len());
            if i == N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        for _ in 1..N {
            let last = state[i - 1];
            state[i] = (state[i] ^ (last ^ (last >> 30)).wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            i += 1;
            if i == N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        state[0] = UPPER;
        Self { state, next: N }
    }

    fn word(&mut self) -> u32 {
        if self.next == N {
            for i in 0..N {
                let y = (self.state[i] & UPPER) | (self.state[(i + 1) % N] & LOWER);
                let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// `getrandbits(bits)`: an integer of this many random bits, at most 64; 0 for none.
    pub fn getrandbits(&mut self, bits: u32) -> u64 {
        match bits {
            0 => 0,
            1..=32 => u64::from(self.word() >> (32 - bits)),
            _ => {
                let low = u64::from(self.word());
                let high = u64::from(self.word() >> (64 - bits.min(64)));
                low | (high << 32)
            }
        }
    }

    /// `_randbelow(n)`: uniform in `0..n` by rejection; 0 when `n` is 0.
    pub fn randbelow(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let bits = u64::BITS - n.leading_zeros();
        loop {
            let draw = self.getrandbits(bits);
            if draw < n {
                return draw;
            }
        }
    }

    /// `random()`: uniform in [0, 1) with 53 bits.
    pub fn random(&mut self) -> f64 {
        let high = f64::from(self.word() >> 5);
        let low = f64::from(self.word() >> 6);
        (high * 67_108_864.0 + low) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// One index of `choices(range(n), k = ...)`: with replacement; 0 when `n` is 0.
    pub fn choice_index(&mut self, n: usize) -> usize {
        (self.random() * n as f64) as usize
    }

    /// One draw of NumPy's `random.randint(n)` or `random.choice(n)`: uniform in `0..n` by masked rejection, from 32 bits;
    /// 0, and no draw, when `n` is 0 or 1.
    pub fn numpy_below(&mut self, n: u32) -> u32 {
        let Some(greatest) = n.checked_sub(1).filter(|&greatest| greatest > 0) else { return 0 };
        let mask = u32::MAX >> greatest.leading_zeros();
        loop {
            let draw = self.word() & mask;
            if draw <= greatest {
                return draw;
            }
        }
    }

    /// `shuffle(items)`, in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.randbelow(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }

    /// `sample(range(n), k)`: `k` distinct numbers below `n` in the order drawn; `None` when `k > n`.
    ///
    /// CPython draws from a shrinking pool when the population is small beside `k`, and by rejection otherwise; the two
    /// consume the stream differently, so the switch is part of the result.
    pub fn sample(&mut self, n: u32, k: u32) -> Option<Vec<u32>> {
        if k > n {
            return None;
        }
        let mut set_size = 21u64;
        if k > 5 {
            // 4 ** ceil(log(3k, 4)); 3k is not a power of four, so rounding cannot matter.
            let mut power = 1u64;
            while power < u64::from(k) * 3 {
                power *= 4;
            }
            set_size += power;
        }
        let mut drawn = Vec::with_capacity(k as usize);
        if u64::from(n) <= set_size {
            let mut pool: Vec<u32> = (0..n).collect();
            for i in 0..k {
                let j = self.randbelow(u64::from(n - i)) as usize;
                drawn.push(pool[j]);
                pool[j] = pool[(n - i - 1) as usize];
            }
        } else {
            let mut seen = HashSet::with_capacity(k as usize);
            while drawn.len() < k as usize {
                let j = self.randbelow(u64::from(n)) as u32;
                if seen.insert(j) {
                    drawn.push(j);
                }
            }
        }
        Some(drawn)
    }
}

#[cfg(test)]
mod tests {
    //! Every vector was printed by CPython.
    use super::*;

    fn words(seed: u64) -> Vec<u64> {
        let mut random = PythonRandom::new(seed);
        (0..3).map(|_| random.getrandbits(32)).collect()
    }

    #[test]
    fn seeds_of_one_and_two_digits() {
        assert_eq!(words(0), [3626764237, 1654615998, 3255389356]);
        assert_eq!(words(1), [577090037, 2444712010, 3639700191]);
        assert_eq!(words(1234), [4150886329, 3342196574, 1892932127]);
        assert_eq!(words(1 << 32), [485306839, 1508871100, 1794561286]);
        assert_eq!(words((1 << 40) + 7), [2635837658, 3209733218, 3500038837]);
        assert_eq!(words((1 << 63) + 5), [1478493593, 736485321, 1981690036]);
    }

    #[test]
    fn bits_and_bounds() {
        let mut random = PythonRandom::new(9);
        let below: Vec<u64> =
            [1, 2, 3, 1 << 31, 1 << 33, 1_000_000_000_000].iter().map(|&n| random.randbelow(n)).collect();
        assert_eq!(below, [0, 1, 1, 595022250, 2906162014, 551208910902]);
        let bits: Vec<u64> = [1, 7, 33, 64].iter().map(|&k| random.getrandbits(k)).collect();
        assert_eq!(bits, [0, 114, 2597161677, 10224485376903518434]);
    }

    #[test]
    fn shuffles() {
        let mut ten: Vec<u32> = (0..10).collect();
        PythonRandom::new(5).shuffle(&mut ten);
        assert_eq!(ten, [2, 3, 1, 0, 8, 7, 6, 5, 4, 9]);
        let mut many: Vec<u32> = (0..1838).collect();
        PythonRandom::new(100).shuffle(&mut many);
        assert_eq!(many[..8], [631, 504, 1630, 1191, 1627, 1520, 991, 1767]);
    }

    #[test]
    fn samples_on_both_sides_of_the_switch() {
        let mut stream = PythonRandom::new(1234);
        assert_eq!(stream.sample(7473, 5), Some(vec![6374, 3610, 957, 61, 742]));
        assert_eq!(stream.sample(7473, 5), Some(vec![7462, 6610, 4769, 286, 5501]));
        let mut stream = PythonRandom::new(1234);
        assert_eq!(stream.sample(16, 5), Some(vec![14, 1, 0, 15, 9]));
        assert_eq!(stream.sample(100, 9), Some(vec![4, 85, 88, 10, 12, 98, 45, 30, 2]));
        for (n, k, expected) in [
            (22, 5, vec![10, 4, 12, 20, 1]),
            (21, 5, vec![10, 4, 12, 1, 2]),
            (85, 6, vec![41, 19, 50, 6, 9, 68]),
            (86, 6, vec![41, 19, 50, 83, 6, 9]),
            (5, 5, vec![2, 1, 3, 0, 4]),
            (3, 0, vec![]),
        ] {
            assert_eq!(PythonRandom::new(7).sample(n, k), Some(expected), "sample(range({n}), {k})");
        }
        assert_eq!(PythonRandom::new(7).sample(3, 4), None);
    }
}
