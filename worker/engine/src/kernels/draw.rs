//! Draws of tokens where the logits are: temperature, top-k, top-p, and the first token whose cumulative probability
//! exceeds a number, as the host does it.
//!
//! Sums are f64, so that a token differs from the host's only where a sum meets its border to 1e-15. On a GPU the kernel of
//! fused.cu does the same in one operation, by sums that do not depend on their order: there the border is met to 1e-10.

use tch::{Kind, TchError, Tensor};

/// Transformation of a distribution before a draw, as in transformers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Warp {
    /// Divisor of the logits; above 0.
    pub(crate) temperature: f32,
    /// Number of most probable tokens that stay, with ties of the last one; 0 keeps all.
    pub(crate) top_k: usize,
    /// The fewest most probable tokens whose probabilities sum to at least this stay; 1 keeps all.
    pub(crate) top_p: f64,
}

/// Rows that are drawn at once: bounds the memory of the sums.
const ROWS: i64 = 64;

/// Returns the token drawn for each row of `logits`, `[rows, vocabulary]` in f32, by its number in [0, 1) of `uniforms`,
/// `[rows]` in f64: `[rows]`, -1 for a row that is not a distribution.
pub(super) fn draw(logits: &Tensor, rule: &Warp, uniforms: &Tensor) -> Result<Tensor, TchError> {
    let (rows, _) = logits.size2()?;
    let blocks = (0..rows).step_by(ROWS as usize).map(|first| {
        let count = ROWS.min(rows - first);
        draw_rows(&logits.f_narrow(0, first, count)?, rule, &uniforms.f_narrow(0, first, count)?)
    });
    Tensor::f_cat(&blocks.collect::<Result<Vec<_>, TchError>>()?, 0)
}

fn draw_rows(logits: &Tensor, rule: &Warp, uniforms: &Tensor) -> Result<Tensor, TchError> {
    let (_, vocabulary) = logits.size2()?;
    let is_number = logits.f_isnan()?.f_any_dim(-1, true)?.f_logical_not()?;
    // A scalar divisor may be multiplied by its reciprocal, which rounds otherwise.
    let divisor = Tensor::f_full([1i64], f64::from(rule.temperature), (Kind::Float, logits.device()))?;
    let mut x = if rule.temperature == 1.0 { logits.shallow_clone() } else { logits.f_div(&divisor)? };
    if rule.top_k > 0 && (rule.top_k as i64) < vocabulary {
        let (most, _) = x.f_topk(rule.top_k as i64, -1, true, true)?;
        let least = most.f_narrow(1, rule.top_k as i64 - 1, 1)?;
        x = x.f_masked_fill(&x.f_lt_tensor(&least)?, f64::NEG_INFINITY)?;
    }
    if rule.top_p < 1.0 {
        x = keep_top_p(&x, rule.top_p)?;
    }
    let most = x.f_amax([-1i64].as_slice(), true)?;
    let weights = x.f_sub(&most)?.f_to_kind(Kind::Double)?.f_exp()?;
    let probabilities = weights.f_div(&weights.f_sum_dim_intlist([-1i64].as_slice(), true, Kind::Double)?)?;
    let possible = probabilities.f_gt(0.0)?;
    let beyond = probabilities.f_cumsum(-1, Kind::Double)?.f_gt_tensor(&uniforms.f_unsqueeze(-1)?)?;
    let beyond = beyond.f_logical_and(&possible)?.f_to_kind(Kind::Uint8)?;
    let first = beyond.f_argmax(-1, true)?;
    let last =
        possible.f_to_kind(Kind::Uint8)?.f_flip([-1i64])?.f_argmax(-1, true)?.f_neg()?.f_add_scalar(vocabulary - 1)?;
    let chosen = first.f_where_self(&beyond.f_any_dim(-1, true)?.f_to_kind(Kind::Bool)?, &last)?;
    let valid = is_number.f_logical_and(&most.f_isfinite()?)?;
    chosen.f_masked_fill(&valid.f_logical_not()?, -1)?.f_squeeze_dim(-1)
}

/// Removes the least probable tokens whose probabilities sum to at most `1 - p`; one always stays. Of equal ones the
/// higher ids are removed first.
fn keep_top_p(x: &Tensor, p: f64) -> Result<Tensor, TchError> {
    let (sorted, ids) = x.f_sort_stable(true, -1, true)?;
    let weights = sorted.f_sub(&sorted.f_narrow(1, 0, 1)?)?.f_to_kind(Kind::Double)?.f_exp()?;
    // Sums of the tokens that are at most as probable, from the least on.
    let from_least = weights.f_flip([-1i64])?.f_cumsum(-1, Kind::Double)?;
    let border = from_least.f_narrow(1, from_least.size()[1] - 1, 1)?.f_mul_scalar(1.0 - p)?;
    let gone = from_least.f_le_tensor(&border)?.f_flip([-1i64])?;
    let _ = gone.f_narrow(1, 0, 1)?.f_fill_(0)?;
    let gone = gone.f_zeros_like()?.f_scatter(-1, &ids, &gone)?;
    x.f_masked_fill(&gone, f64::NEG_INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Draw, choose};
    use tch::Device;

    #[test]
    fn draws_are_those_of_the_host() {
        tch::manual_seed(5);
        let (rows, vocabulary) = (150i64, 900i64);
        let mut equal = 0;
        for (temperature, top_k, top_p) in [
            (1.0, 0, 1.0),
            (0.7, 0, 1.0),
            (1.3, 20, 1.0),
            (1.0, 0, 0.9),
            (0.8, 50, 0.5),
            (1.0, 1, 0.3),
            (2.0, 899, 0.999),
        ] {
            let logits = Tensor::randn([rows, vocabulary], (Kind::Float, Device::Cpu)) * 3.0;
            // Ties, and forbidden tokens.
            let logits = if top_k == 50 { logits.round() } else { logits };
            let _ = logits.narrow(1, 7, 5).fill_(f64::NEG_INFINITY);
            let draws: Vec<(Draw, usize)> =
                (0..rows).map(|row| (Draw { seed: 3, sample: row as u32, sequence: 1 }, row as usize % 9)).collect();
            let uniforms: Vec<f64> = draws.iter().map(|(draw, step)| draw.at(*step)).collect();
            let rule = Warp { temperature, top_k, top_p };
            let drawn = draw(&logits, &rule, &Tensor::from_slice(&uniforms)).unwrap();
            let drawn = Vec::<i64>::try_from(&drawn).unwrap();
            for (row, (&token, &at)) in drawn.iter().zip(&draws).enumerate() {
                let mut host = Vec::<f32>::try_from(&logits.get(row as i64)).unwrap();
                rule.apply(&mut host);
                assert_eq!(Some(token as u32), choose(&host, Some(at)), "row {row}, {rule:?}");
                equal += 1;
            }
        }
        assert_eq!(equal, 7 * 150);
    }

    #[test]
    fn rows_that_are_no_distributions_have_no_token() {
        let none = f32::NEG_INFINITY;
        let logits = Tensor::from_slice2(&[
            [1.0, f32::NAN, 0.0],
            [none, none, none],
            [none, -1e30, none],
            [f32::INFINITY, 0.0, 0.0],
        ]);
        for top_p in [1.0, 0.5] {
            let rule = Warp { temperature: 1.0, top_k: 2, top_p };
            let drawn = draw(&logits, &rule, &Tensor::from_slice(&[0.5f64; 4])).unwrap();
            assert_eq!(Vec::<i64>::try_from(&drawn).unwrap(), [-1, -1, 1, -1], "{top_p}");
        }
    }
}
