//! Log-probabilities of tokens, from final hidden states.

use crate::kernels::{Kernels, ToHost};
use crate::models::CausalLm;
use tch::{Device, Kind, TchError, Tensor};

/// Score of one token, given those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenScore {
    /// Natural logarithm.
    pub(super) log_prob: f32,
    /// Set if no other token is more probable; of equals the lowest id counts.
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

/// Scores that a device computes.
pub(super) struct ScoresUnderWay {
    wanted: Vec<RowTokens>,
    /// Number of rows of a block.
    rows: usize,
    /// The lists of all blocks.
    lists: Option<ToHost>,
}

/// Returns the requested scores of `hidden`, `[rows, hidden]`, in the order of `wanted`.
pub(super) fn rows_scores(
    model: &dyn CausalLm,
    hidden: &Tensor,
    wanted: Vec<RowTokens>,
    precision: Precision,
) -> Result<Vec<TokenScore>, TchError> {
    begin_scores(model, hidden, wanted, precision)?.read()
}

/// Has the requested scores of `hidden` computed, for which the host does not wait.
///
/// Logits are computed only for the requested rows, one block at a time.
pub(super) fn begin_scores(
    model: &dyn CausalLm,
    hidden: &Tensor,
    wanted: Vec<RowTokens>,
    precision: Precision,
) -> Result<ScoresUnderWay, TchError> {
    let block = if hidden.device() == Device::Cpu { CPU_BLOCK } else { GPU_BLOCK };
    let rows = (block / model.vocabulary().max(1)).clamp(32, 1024);
    let kernels = model.kernels();
    let mut blocks = Vec::with_capacity(wanted.len() / rows + 1);
    for block in wanted.chunks(rows) {
        let indices: Vec<i64> = block.iter().map(|wanted| wanted.row).collect();
        let indices = kernels.to_device(&indices, hidden.device())?;
        let logits = model.logits(&hidden.f_index_select(0, &indices)?)?;
        let targets: Vec<&[u32]> = block.iter().map(|wanted| wanted.tokens.as_slice()).collect();
        blocks.push(block_scores(kernels, &logits, &targets, precision)?);
    }
    let lists = match blocks.as_slice() {
        [] => None,
        [one] => Some(kernels.begin_to_host(one)?),
        many => Some(kernels.begin_to_host(&Tensor::f_cat(many, 0)?)?),
    };
    Ok(ScoresUnderWay { wanted, rows, lists })
}

impl ScoresUnderWay {
    /// Returns whether the scores have arrived, so that reading them does not wait.
    pub(super) fn are_there(&self) -> bool {
        self.lists.as_ref().is_none_or(ToHost::is_there)
    }

    /// Returns the scores in the order in which they were wanted: the host waits for their copy, and for nothing that the
    /// device was asked for after them.
    pub(super) fn read(self) -> Result<Vec<TokenScore>, TchError> {
        let Self { wanted, rows, lists } = self;
        let Some(lists) = lists else { return Ok(Vec::new()) };
        Ok(in_order(&wanted, rows, &Vec::<f32>::try_from(&lists.wait()?)?))
    }
}

/// Returns the scores of blocks of this many rows, whose lists follow one another.
fn in_order(wanted: &[RowTokens], rows: usize, lists: &[f32]) -> Vec<TokenScore> {
    let (mut scores, mut rest) = (Vec::with_capacity(wanted.len()), lists);
    for block in wanted.chunks(rows) {
        let count = block.iter().map(|wanted| wanted.tokens.len()).sum::<usize>();
        let (taken, others) = rest.split_at(count.min(rest.len()));
        let (best, others) = others.split_at(block.len().min(others.len()));
        let pairs =
            block.iter().zip(best).flat_map(|(wanted, &best)| wanted.tokens.iter().map(move |&token| (token, best)));
        let score =
            |(&log_prob, (token, best)): (&f32, (u32, f32))| TokenScore { log_prob, is_argmax: best == token as f32 };
        scores.extend(taken.iter().zip(pairs).map(score));
        rest = others;
    }
    scores
}

/// Returns log-softmax of f32 logits, `[rows, vocabulary]`, in the format of `precision`.
pub(super) fn log_softmax(logits: &Tensor, precision: Precision) -> Result<Tensor, TchError> {
    match precision {
        Precision::Full | Precision::Model(Kind::Float) => logits.f_log_softmax(-1, Kind::Float),
        // The logits came from this format, so that the conversion back loses nothing.
        Precision::Model(kind) => logits.f_to_kind(kind)?.f_log_softmax(-1, kind)?.f_to_kind(Kind::Float),
    }
}

/// Returns log-probabilities of each row's targets under `logits`, `[rows, vocabulary]`, row by row, and then the id of the
/// largest logit of each row: one list in f32 on the device.
fn block_scores(
    kernels: &dyn Kernels,
    logits: &Tensor,
    targets: &[&[u32]],
    precision: Precision,
) -> Result<Tensor, TchError> {
    let kind = match precision {
        Precision::Full | Precision::Model(Kind::Float) => return kernels.token_scores(logits, targets),
        Precision::Model(kind) => kind,
    };
    let log_probs = log_softmax(&logits.f_to_kind(Kind::Float)?, Precision::Model(kind))?;
    let (_, vocabulary) = log_probs.size2()?;
    let rows = targets.iter().enumerate();
    let places =
        rows.flat_map(|(row, tokens)| tokens.iter().map(move |&token| row as i64 * vocabulary + i64::from(token)));
    let places = kernels.to_device(&places.collect::<Vec<_>>(), logits.device())?;
    let taken = log_probs.f_reshape([-1])?.f_index_select(0, &places)?;
    Tensor::f_cat(&[taken, kernels.best(&log_probs)?.f_to_kind(Kind::Float)?], 0)
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
        let found = block_scores(&Reference, &logits, &[&[1], &[1]], Precision::Full).unwrap();
        let found = Vec::<f32>::try_from(&found).unwrap();
        assert!((found[0] - (2f32 / 3.0).ln()).abs() < 1e-6 && (found[1] - 0.5f32.ln()).abs() < 1e-6);
        assert_eq!(found[2..], [1.0, 0.0], "ties go to the first");
        let scores = [found[0], found[1]].map(|log_prob| TokenScore { log_prob, is_argmax: true });
        assert!((sum(&scores, Precision::Full).unwrap() - (1f64 / 3.0).ln()).abs() < 1e-6);
        assert!((sum(&scores, Precision::Model(Kind::Float)).unwrap() - (1f64 / 3.0).ln()).abs() < 1e-6);
    }

    #[test]
    fn lists_of_blocks_are_read_in_order() {
        let wanted = [vec![7u32, 9], vec![], vec![3]].map(|tokens| RowTokens { row: 0, tokens });
        let scores = in_order(&wanted, 2, &[-1.0, -2.0, 9.0, 5.0, -3.0, 3.0]);
        let wanted = [(-1.0, false), (-2.0, true), (-3.0, true)];
        let wanted = wanted.map(|(log_prob, is_argmax)| TokenScore { log_prob, is_argmax });
        assert_eq!(scores, wanted);
        assert_eq!(in_order(&[], 2, &[]), []);
    }

    /// Values from torch 2.11 for `x.bfloat16().log_softmax(-1)`, and for the sum of the chosen ones.
    #[test]
    fn sums_in_the_models_format_are_coarse() {
        let logits = Tensor::from_slice2(&[[0f32, 1.0, 2.0], [0.5, 0.25, 8.0]]);
        let precision = Precision::Model(Kind::BFloat16);
        let found =
            Vec::<f32>::try_from(&block_scores(&Reference, &logits, &[&[0], &[1]], precision).unwrap()).unwrap();
        assert_eq!(found, [-2.40625, -7.75, 2.0, 2.0]);
        let scores = [found[0], found[1]].map(|log_prob| TokenScore { log_prob, is_argmax: false });
        assert_eq!(sum(&scores, precision).unwrap(), -10.125, "between -10.125 and -10.1875 to even");
    }
}
