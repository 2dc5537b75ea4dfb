//! Log-probabilities of tokens, from final hidden states.

use crate::kernels::Kernels;
use crate::models::CausalLm;
use tch::{Device, Kind, TchError, Tensor};

/// Score of one token, given those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenScore {
    /// Natural logarithm.
    pub(super) log_prob: f32,
    /// Whether no other token is more probable; of equals the lowest id counts.
    pub(super) is_argmax: bool,
}

/// Number format in which log-probabilities are computed and summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// log-softmax in f32, sums in f64: the canonical numbers.
    Full,
    /// Both in the model's own format, as by default in lm-eval's HF backend: in bfloat16 a sum near 20 has a
    /// resolution of 0.125.
    Model(Kind),
}

/// Number of elements in a block of logits: 16 MiB in f32 on a CPU, which caches hold and allocators keep, 256 MiB on a
/// GPU.
const CPU_BLOCK: usize = 1 << 22;
const GPU_BLOCK: usize = 1 << 26;

/// Tokens to score at a row of hidden states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowTokens {
    /// The row.
    pub(super) row: i64,
    /// Tokens to score at the position after the row.
    pub(super) tokens: Vec<u32>,
}

/// Returns the requested scores of `hidden`, `[rows, hidden]`, in the order of `wanted`.
///
/// Logits are computed only for the requested rows, one block at a time.
pub(super) fn rows_scores(
    model: &dyn CausalLm,
    hidden: &Tensor,
    wanted: &[RowTokens],
    precision: Precision,
) -> Result<Vec<TokenScore>, TchError> {
    let block = if hidden.device() == Device::Cpu { CPU_BLOCK } else { GPU_BLOCK };
    let rows = (block / model.vocabulary().max(1)).clamp(32, 1024);
    let kernels = model.kernels();
    let mut scores = Vec::with_capacity(wanted.len());
    for block in wanted.chunks(rows) {
        let indices: Vec<i64> = block.iter().map(|wanted| wanted.row).collect();
        let indices = model.kernels().to_device(&indices, hidden.device())?;
        let logits = model.logits(&hidden.f_index_select(0, &indices)?)?;
        let targets: Vec<&[u32]> = block.iter().map(|wanted| wanted.tokens.as_slice()).collect();
        scores.extend(block_scores(kernels, &logits, &targets, precision)?);
    }
    Ok(scores)
}

/// Returns log-softmax of f32 logits, `[rows, vocabulary]`, in the format of `precision`.
pub(super) fn log_softmax(logits: &Tensor, precision: Precision) -> Result<Tensor, TchError> {
    match precision {
        Precision::Full | Precision::Model(Kind::Float) => logits.f_log_softmax(-1, Kind::Float),
        // The logits came from this format, so that the conversion back loses nothing.
        Precision::Model(kind) => logits.f_to_kind(kind)?.f_log_softmax(-1, kind)?.f_to_kind(Kind::Float),
    }
}

/// Returns scores of each row's targets under `logits`, `[rows, vocabulary]`, row by row.
fn block_scores(
    kernels: &dyn Kernels,
    logits: &Tensor,
    targets: &[&[u32]],
    precision: Precision,
) -> Result<Vec<TokenScore>, TchError> {
    let log_probs = log_softmax(logits, precision)?;
    let (_, vocabulary) = log_probs.size2()?;
    let pairs = targets.iter().enumerate().flat_map(|(row, tokens)| tokens.iter().map(move |&token| (row, token)));
    let indices: Vec<i64> = pairs.clone().map(|(row, token)| row as i64 * vocabulary + i64::from(token)).collect();
    let indices = kernels.to_device(&indices, logits.device())?;
    let taken = log_probs.f_reshape([-1])?.f_index_select(0, &indices)?;
    // One copy for both: f32 holds every id of a vocabulary below 2^24.
    let best = kernels.best(&log_probs)?.f_to_kind(Kind::Float)?;
    let read = kernels.floats_to_host(&Tensor::f_cat(&[taken, best], 0)?)?;
    let (taken, best) = read.split_at(read.len().saturating_sub(targets.len()));
    let scores = taken.iter().zip(pairs);
    Ok(scores.map(|(&log_prob, (row, token))| TokenScore { log_prob, is_argmax: best[row] == token as f32 }).collect())
}

/// Returns the sum of the log-probabilities: in token order in f64, or as by `torch.sum` in the model's format.
pub(super) fn sum(scores: &[TokenScore], precision: Precision) -> Result<f64, TchError> {
    match precision {
        Precision::Full => Ok(scores.iter().fold(0.0, |sum, score| sum + f64::from(score.log_prob))),
        Precision::Model(kind) => {
            let log_probs: Vec<f32> = scores.iter().map(|score| score.log_prob).collect();
            let sum = Tensor::f_from_slice(&log_probs)?.f_to_kind(kind)?.f_sum(kind)?;
            f64::try_from(&sum.f_to_kind(Kind::Double)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Reference;

    #[test]
    fn log_softmax_of_known_logits() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        let logits = Tensor::from_slice2(&[[0f32, 2f32.ln()], [3.0, 3.0]]);
        let scores = block_scores(&Reference, &logits, &[&[1], &[1]], Precision::Full).unwrap();
        assert!((scores[0].log_prob - (2f32 / 3.0).ln()).abs() < 1e-6 && scores[0].is_argmax);
        assert!((scores[1].log_prob - 0.5f32.ln()).abs() < 1e-6 && !scores[1].is_argmax, "ties go to the first");
        assert!((sum(&scores, Precision::Full).unwrap() - (1f64 / 3.0).ln()).abs() < 1e-6);
        assert!((sum(&scores, Precision::Model(Kind::Float)).unwrap() - (1f64 / 3.0).ln()).abs() < 1e-6);
    }

    /// Values from torch 2.11 for `x.bfloat16().log_softmax(-1)`, and for the sum of the chosen ones.
    #[test]
    fn sums_in_the_models_format_are_coarse() {
        let logits = Tensor::from_slice2(&[[0f32, 1.0, 2.0], [0.5, 0.25, 8.0]]);
        let precision = Precision::Model(Kind::BFloat16);
        let scores = block_scores(&Reference, &logits, &[&[0], &[1]], precision).unwrap();
        assert_eq!(scores.iter().map(|score| score.log_prob).collect::<Vec<_>>(), [-2.40625, -7.75]);
        assert_eq!(sum(&scores, precision).unwrap(), -10.125, "between -10.125 and -10.1875 to even");
    }
}
