//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//!
//! A counter-based generator: a number is a function of key and counter alone, so that a sample's draws depend neither
//! on the batch composition nor on the order of samples. libtorch's global generator is never used.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Returns four random words for a key and a counter.
pub(super) fn philox(mut key: [u32; 2], mut counter: [u32; 4]) -> [u32; 4] {
    for round in 0..ROUNDS {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let first = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let second = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        let high = |product: u64| (product >> 32) as u32;
        counter = [high(second) ^ counter[1] ^ key[0], second as u32, high(first) ^ counter[3] ^ key[1], first as u32];
    }
    counter
}

/// Returns a number in [0, 1) with 53 random bits.
pub(super) fn uniform(key: [u32; 2], counter: [u32; 4]) -> f64 {
    let [high, low, ..] = philox(key, counter);
    ((u64::from(high) << 32 | u64::from(low)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the authors' library, Random123 (`kat_vectors`).
    #[test]
    fn known_answers() {
        let all = u32::MAX;
        let cases = [
            ([0, 0], [0, 0, 0, 0], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([all, all], [all, all, all, all], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0xa409_3822, 0x299f_31d0],
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (key, counter, expected) in cases {
            assert_eq!(philox(key, counter), expected);
        }
    }

    #[test]
    fn numbers_are_below_one_and_uniform() {
        let draws: Vec<f64> = (0..10_000).map(|i| uniform([7, 0], [i, 0, 0, 0])).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.5).abs() < 0.012, "{mean}");
    }
}
