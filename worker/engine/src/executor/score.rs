//! Log-probabilities of the tokens of one text.

use crate::blocks::added_rows;
use crate::models::CausalLm;
use compass_common::engine::TokenCounters;
use tch::{Kind, TchError, Tensor};

/// What the model made of one token, given those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenScore {
    /// Natural logarithm, from an fp32 log-softmax.
    pub(super) log_prob: f32,
    /// Whether no other token was more probable.
    pub(super) is_argmax: bool,
}

/// Elements of one block of logits: 64 MiB in f32.
const BLOCK: usize = 1 << 24;

/// Scores `tokens[first..]`; `first` is at least 1, since nothing stands before the first token.
///
/// Logits exist only for those positions, and of them only a block at a time. The last token is predicted, never fed.
pub(super) fn score_from(
    model: &mut dyn CausalLm,
    tokens: &[u32],
    first: usize,
    counters: &mut TokenCounters,
) -> Result<Vec<TokenScore>, TchError> {
    let first = first.max(1);
    let Some((_, input)) = tokens.split_last().filter(|_| tokens.len() > first) else {
        return Ok(Vec::new());
    };
    counters.submitted += input.len() as u64;
    counters.computed += input.len() as u64;
    counters.padded += added_rows(input.len() as i64) as u64;
    let hidden = model.hidden(input, 0, None)?;
    let rows = (BLOCK / model.vocabulary().max(1)).clamp(16, 1024);
    let mut scores = Vec::with_capacity(tokens.len() - first);
    for (block, targets) in tokens[first..].chunks(rows).enumerate() {
        let start = first - 1 + block * rows;
        let logits = model.logits(&hidden.f_narrow(0, start as i64, targets.len() as i64)?)?;
        scores.extend(block_scores(&logits, targets)?);
    }
    Ok(scores)
}

/// Scores of `targets` under `logits`, `[targets, vocabulary]`.
fn block_scores(logits: &Tensor, targets: &[u32]) -> Result<Vec<TokenScore>, TchError> {
    let log_probs = logits.f_log_softmax(-1, Kind::Float)?;
    let ids: Vec<i64> = targets.iter().map(|&target| i64::from(target)).collect();
    let wanted = Tensor::f_from_slice(&ids)?.f_to_device(logits.device())?.f_unsqueeze(1)?;
    let taken = Vec::<f32>::try_from(&log_probs.f_gather(1, &wanted, false)?.f_squeeze_dim(1)?)?;
    let best = Vec::<i64>::try_from(&log_probs.f_argmax(-1, false)?)?;
    let scores = taken.into_iter().zip(best.into_iter().zip(&ids));
    Ok(scores.map(|(log_prob, (best, id))| TokenScore { log_prob, is_argmax: best == *id }).collect())
}

/// The sum of the log-probabilities in token order, in f64.
pub(super) fn sum(scores: &[TokenScore]) -> f64 {
    scores.iter().fold(0.0, |sum, score| sum + f64::from(score.log_prob))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_softmax_of_known_logits() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        let logits = Tensor::from_slice2(&[[0f32, 2f32.ln()], [3.0, 3.0]]);
        let scores = block_scores(&logits, &[1, 1]).unwrap();
        assert!((scores[0].log_prob - (2f32 / 3.0).ln()).abs() < 1e-6 && scores[0].is_argmax);
        assert!((scores[1].log_prob - 0.5f32.ln()).abs() < 1e-6 && !scores[1].is_argmax, "ties go to the first");
        assert!((sum(&scores) - (1f64 / 3.0).ln()).abs() < 1e-6);
    }
}
