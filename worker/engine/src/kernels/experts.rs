//! Pairs of a row and one of its experts, sorted by expert so that each expert computes its rows at once, by libtorch's operations:
//! on the device, without a copy to the host.

use crate::kernels::Routes;
use tch::{Device, Kind, TchError, Tensor};

/// Least number of rows of a grouped product on CUDA: libtorch takes other tiles for up to 128, and a row's bits must not depend on
/// how many there are.
const LEAST_ON_CUDA: i64 = 256;

/// The pairs of a pass.
pub(crate) struct Pairs {
    /// The row of each pair, sorted by expert, `[pairs]`; more entries may follow, which belong to no expert.
    pub(crate) rows: Tensor,
    /// Number of pairs up to and with each expert's, `[experts]`.
    pub(crate) ends: Tensor,
    /// Places of the pairs of a row, in the order of their experts, `[rows, top_k]`.
    places: Tensor,
    /// The shares of the same pairs.
    shares: Tensor,
}

impl Pairs {
    /// Number of experts of a row.
    pub(super) fn top_k(&self) -> u64 {
        self.places.size().last().map_or(0, |&top_k| top_k.unsigned_abs())
    }
}

/// Sorts the pairs of `routes` by expert, over this many experts.
pub(super) fn sort_pairs(routes: &Routes, experts: i64) -> Result<Pairs, TchError> {
    let (_, top_k) = routes.experts.size2()?;
    let (chosen, ranks) = routes.experts.f_sort(-1, false)?;
    let shares = routes.shares.f_gather(1, &ranks, false)?;
    let (sorted, order) = chosen.f_reshape([-1])?.f_sort_stable(true, 0, false)?;
    let least = if matches!(sorted.device(), Device::Cuda(_)) { LEAST_ON_CUDA } else { 0 };
    let rows = filled(&order.f_div_scalar_mode(top_k, "floor")?, least)?;
    let places = order.f_argsort(0, false)?.f_view_as(&chosen)?;
    let numbers = Tensor::f_arange(experts, (Kind::Int64, sorted.device()))?;
    let ends = numbers.f_searchsorted(&sorted, false, true, "right", None::<&Tensor>)?;
    Ok(Pairs { rows, ends, places, shares })
}

/// Appends zeros up to `least` entries.
fn filled(rows: &Tensor, least: i64) -> Result<Tensor, TchError> {
    match least - rows.size1()? {
        missing if missing > 0 => rows.f_constant_pad_nd([0, missing]),
        _ => Ok(rows.shallow_clone()),
    }
}

/// Adds the outputs of each row's experts, `[pairs, hidden]`, times their shares, in the order of the experts' numbers.
pub(super) fn mix(outputs: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
    let (rows, top_k) = pairs.places.size2()?;
    let width = outputs.size().last().copied().unwrap_or(0);
    let of_rows = outputs.f_index_select(0, &pairs.places.f_reshape([-1])?)?.f_view([rows, top_k, width])?;
    let weighted = of_rows.f_mul(&pairs.shares.f_unsqueeze(-1)?)?;
    let mut mixed = weighted.f_select(1, 0)?;
    for rank in 1..top_k {
        mixed = mixed.f_add(&weighted.f_select(1, rank)?)?;
    }
    mixed.f_to_kind(outputs.kind())
}

/// Maps the pairs `[pairs, in]` of each expert by its weight, of `[experts, out, in]`.
pub(super) fn grouped_linear(x: &Tensor, weight: &Tensor, pairs: &Pairs) -> Result<Tensor, TchError> {
    let ends = pairs.ends.f_to_kind(Kind::Int)?;
    x.f_internal_grouped_mm(&weight.f_transpose(1, 2)?, Some(&ends), None, None::<Kind>)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five rows of two experts each among four, of which one has none.
    fn routes() -> Routes {
        let experts = [[2i64, 0], [3, 2], [0, 2], [2, 3], [0, 3]].concat();
        let shares = [[0.5f32, 0.25], [1.0, 2.0], [3.0, 4.0], [0.125, 8.0], [1.5, 0.75]].concat();
        Routes { experts: Tensor::from_slice(&experts).view([5, 2]), shares: Tensor::from_slice(&shares).view([5, 2]) }
    }

    #[test]
    fn pairs_are_sorted_by_expert_and_mixed_by_share() {
        let pairs = sort_pairs(&routes(), 4).unwrap();
        assert_eq!(Vec::<i64>::try_from(&pairs.rows).unwrap(), [0, 2, 4, 0, 1, 2, 3, 1, 3, 4]);
        assert_eq!(Vec::<i64>::try_from(&pairs.ends).unwrap(), [3, 3, 7, 10]);
        // An expert's output is its number and the row that it is of.
        let outputs = [[0f32, 0.0], [0.0, 2.0], [0.0, 4.0], [2.0, 0.0], [2.0, 1.0], [2.0, 2.0], [2.0, 3.0], [3.0, 1.0]];
        let outputs = [outputs.concat(), vec![3.0, 3.0, 3.0, 4.0]].concat();
        let mixed = mix(&Tensor::from_slice(&outputs).view([10, 2]), &pairs).unwrap();
        let wanted = [1.0f32, 0.0, 7.0, 3.0, 8.0, 14.0, 24.25, 24.375, 2.25, 9.0];
        assert_eq!(Vec::<f32>::try_from(&mixed.view([-1])).unwrap(), wanted);
    }

    #[test]
    fn a_grouped_product_is_that_of_each_expert() {
        tch::manual_seed(7);
        let pairs = sort_pairs(&routes(), 4).unwrap();
        let options = (Kind::Float, Device::Cpu);
        let (x, weight) = (Tensor::randn([10, 8], options), Tensor::randn([4, 12, 8], options));
        let got = grouped_linear(&x, &weight, &pairs).unwrap();
        for (expert, first, count) in [(0, 0, 3), (2, 3, 4), (3, 7, 3)] {
            let wanted = x.narrow(0, first, count).matmul(&weight.get(expert).transpose(0, 1));
            assert!(got.narrow(0, first, count).allclose(&wanted, 1e-5, 1e-5, false), "expert {expert}");
        }
        // Rows that belong to no expert change no other row.
        let more = grouped_linear(&x.constant_pad_nd([0, 0, 0, 6]), &weight, &pairs).unwrap();
        assert!(more.narrow(0, 0, 10).equal(&got));
        assert_eq!(filled(&pairs.rows, 16).unwrap().size(), [16]);
        assert!(filled(&pairs.rows, 7).unwrap().equal(&pairs.rows));
    }
}
