//! `numpy.mean` of doubles, to the last bit: NumPy sums pairwise, which is neither in order nor by halves throughout.

/// Up to so many numbers are summed in eight lanes; more are cut in two.
const BLOCK: usize = 128;

/// `numpy.mean(values)`; not a number when there are none.
pub(super) fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

fn sum(values: &[f64]) -> f64 {
    match values.len() {
        0..8 => values.iter().sum(),
        8..=BLOCK => lanes(values),
        n => {
            let (left, right) = values.split_at(n / 2 - n / 2 % 8);
            sum(left) + sum(right)
        }
    }
}

fn lanes(values: &[f64]) -> f64 {
    let blocks = values.chunks_exact(8);
    let rest = blocks.remainder();
    let mut lanes = [0.0; 8];
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(lane, value)| *lane += value);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let whole = ((a + b) + (c + d)) + ((e + f) + (g + h));
    rest.iter().fold(whole, |sum, value| sum + value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numpy_adds() {
        let multiples = |n: u32, step: f64| (1..=n).map(|i| f64::from(i) * step).collect::<Vec<_>>();
        // printed by NumPy; adding in order gives another last digit for each
        for (n, step, expected) in
            [(9, 0.1, 0.5), (16, 0.7, 5.949999999999999), (33, 0.3, 5.1), (39, 0.3, 5.999999999999999)]
        {
            assert_eq!(mean(&multiples(n, step)), expected, "{n} {step}");
        }
        assert_eq!(mean(&[0.1, 0.2, 0.3]), 0.20000000000000004);
        assert!(mean(&[]).is_nan());
    }
}
