//! Check that all weights are finite numbers.

use tch::{Device, Kind, TchError, Tensor};

/// Number of elements checked together; the check needs as many bytes of memory.
const SLAB: i64 = 1 << 22;

/// Returns whether every element is finite, in one pass over memory: a sum is finite only if all its terms are, and only a
/// sum that is not finite (it may have overflowed) is examined.
pub(super) fn is_finite(x: &Tensor) -> Result<bool, TchError> {
    if x.f_sum(x.kind())?.f_to_kind(Kind::Double)?.f_to_device(Device::Cpu)?.f_double_value(&[])?.is_finite() {
        return Ok(true);
    }
    for (first, count) in slabs(&x.size()) {
        let all = x.f_narrow(0, first, count)?.f_isfinite()?.f_all()?;
        if all.f_int64_value(&[])? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns first row and number of rows of the parts of a tensor of `size`; none for a single number.
pub(super) fn slabs(size: &[i64]) -> impl Iterator<Item = (i64, i64)> + use<> {
    let rows = size.first().copied().unwrap_or(0);
    let row = size.iter().skip(1).product::<i64>().max(1);
    let count = (SLAB / row).max(1);
    (0..rows).step_by(usize::try_from(count).unwrap_or(1)).map(move |first| (first, count.min(rows - first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_sums_are_accepted() {
        let x = Tensor::full([3, 1000], 60_000.0, (Kind::Half, Device::Cpu));
        assert!(is_finite(&x).unwrap());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let _ = x.get(2).get(999).fill_(bad);
            assert!(!is_finite(&x).unwrap(), "{bad}");
        }
        assert!(is_finite(&Tensor::zeros([0, 4], (Kind::Float, Device::Cpu))).unwrap());
    }

    #[test]
    fn slabs_cover_every_row_once() {
        assert_eq!(slabs(&[5, SLAB / 2]).collect::<Vec<_>>(), [(0, 2), (2, 2), (4, 1)]);
        assert_eq!(slabs(&[2, 2 * SLAB]).collect::<Vec<_>>(), [(0, 1), (1, 1)]);
        assert_eq!(slabs(&[0, 7]).count(), 0);
    }
}
