//! A batch of token sequences of different lengths, padded to the longest.

use tch::{Device, Kind, TchError, Tensor};

/// Padded side: right for scoring, left for generation, as in both peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pad {
    Left,
    Right,
}

/// Tensors of a batch's forward pass.
#[derive(Debug)]
pub(super) struct PaddedBatch {
    /// `[batch, time]`, 0 for padding.
    pub(super) ids: Tensor,
    /// `[batch, time]`: positions within the text.
    pub(super) positions: Tensor,
    /// `[batch, 1, time, keys]` of booleans; absent if all rows have one length, where attention is plainly causal.
    pub(super) visible: Option<Tensor>,
    pub(super) time: i64,
    batch: i64,
    /// `[batch, keys]`: which keys are not padding.
    real: Tensor,
}

impl PaddedBatch {
    /// Pads `texts` to the longest of them.
    pub(super) fn new(texts: &[&[u32]], side: Pad) -> Result<Self, TchError> {
        let time = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let mut ids = vec![0i64; texts.len() * time];
        let mut real = vec![false; texts.len() * time];
        let mut positions = vec![0i64; texts.len() * time];
        for (row, text) in texts.iter().enumerate() {
            let begin = row * time + if side == Pad::Left { time - text.len() } else { 0 };
            for (place, &id) in text.iter().enumerate() {
                ids[begin + place] = i64::from(id);
                real[begin + place] = true;
                positions[begin + place] = place as i64;
            }
        }
        let (batch, time) = (texts.len() as i64, time as i64);
        let tensor = |numbers: &[i64]| Tensor::f_from_slice(numbers)?.f_view([batch, time]);
        let padded = texts.iter().any(|text| (text.len() as i64) < time);
        let real = Tensor::f_from_slice(&real)?.f_view([batch, time])?;
        let visible = if padded { Some(visible(&real, time)?) } else { None };
        Ok(Self { ids: tensor(&ids)?, positions: tensor(&positions)?, visible, time, batch, real })
    }

    /// Number of rows of the first pass over the batch.
    pub(super) fn rows(&self) -> u64 {
        (self.batch * self.time) as u64
    }

    /// Advances to the next single token of each text.
    pub(super) fn step(&mut self) -> Result<(), TchError> {
        let (_, time) = self.positions.size2()?;
        self.positions = self.positions.f_narrow(1, time - 1, 1)?.f_add_scalar(1)?;
        self.real = Tensor::f_cat(&[&self.real, &Tensor::f_ones([self.batch, 1], (Kind::Bool, Device::Cpu))?], 1)?;
        self.visible = match self.visible {
            None => None,
            Some(_) => Some(self.real.f_unsqueeze(1)?.f_unsqueeze(1)?),
        };
        Ok(())
    }
}

/// Causal mask over real keys. A padding query sees itself, so that its output is a number; the output is never used.
fn visible(real: &Tensor, time: i64) -> Result<Tensor, TchError> {
    let all = Tensor::f_ones([time, time], (Kind::Bool, Device::Cpu))?;
    let causal = all.f_tril(0)?.f_unsqueeze(0)?.f_unsqueeze(0)?;
    let itself = Tensor::f_eye(time, (Kind::Bool, Device::Cpu))?;
    causal.f_logical_and(&real.f_unsqueeze(1)?.f_unsqueeze(1)?)?.f_logical_or(&itself)
}
