//! The segments of one pass.

use super::predictions::PredictionsUnderWay;
use crate::kernels::added_rows;
use crate::kv::{Arena, Segment};
use crate::models::{CausalLm, LateTokens};
use compass_plan::engine::TokenCounters;
use tch::{TchError, Tensor};

/// Segments with their tokens, one after the other.
#[derive(Default)]
pub(super) struct Packed {
    tokens: Vec<u32>,
    segments: Vec<Segment>,
    /// Rows whose tokens the device has, and the place of each among the predictions of the step before.
    late: Vec<(i64, i64)>,
}

impl Packed {
    /// Adds the tokens of a segment. Returns the row of the last one.
    pub(super) fn push(&mut self, segment: Segment, tokens: &[u32]) -> i64 {
        self.segments.push(segment);
        self.tokens.extend_from_slice(tokens);
        self.tokens.len() as i64 - 1
    }

    /// Adds a segment of one token, which is prediction number `before` of the step before. Returns its row.
    pub(super) fn push_late(&mut self, segment: Segment, before: i64) -> i64 {
        let row = self.push(segment, &[0]);
        self.late.push((row, before));
        row
    }

    /// Returns whether there is nothing to compute.
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns hidden states, `[rows, hidden]`; `None` for a pass without rows.
    pub(super) fn compute(
        &self,
        model: &mut dyn CausalLm,
        arena: &mut Arena,
        before: Option<&PredictionsUnderWay>,
        counters: &mut TokenCounters,
    ) -> Result<Option<Tensor>, TchError> {
        if self.is_empty() {
            return Ok(None);
        }
        let hidden = match before.and_then(PredictionsUnderWay::tokens).filter(|_| !self.late.is_empty()) {
            None => model.hidden(&self.tokens, &self.segments, arena)?,
            Some(tokens) => {
                let (rows, places): (Vec<i64>, Vec<i64>) = self.late.iter().copied().unzip();
                let ids = tokens.f_index_select(0, &model.kernels().to_device(&places, tokens.device())?)?;
                model.hidden_after(&self.tokens, &LateTokens { rows, ids }, &self.segments, arena)?
            }
        };
        counters.computed += self.tokens.len() as u64;
        counters.padded += added_rows(self.tokens.len() as i64, hidden.device()) as u64;
        Ok(Some(hidden))
    }
}
