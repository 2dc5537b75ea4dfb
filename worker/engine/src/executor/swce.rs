//! OpenCompass's `SWCELossInferencer`: the cross entropy of all texts of a data set, read as one, in windows that slide.
//!
//! Its formula is that of batches of more than one window; with `batch_size = 1` the inferencer slices the axis of the batch in
//! place of the tokens, and `cross_entropy` raises. Texts are tokenised one by one, each with its special tokens. Windows of
//! `block_size + 1` tokens begin every `stride` tokens. The first counts all its targets, each later one the last `stride`, which no
//! window before it has. Tokens after the last whole window are not scored, and their characters count all the same.

use super::answer::RunError;
use super::score::{Precision, sum};
use super::scoring::{Scored, ScoringInput};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use compass_plan::engine::Request;
use compass_plan::prompt::{Segment, Shot};
use compass_types::result::{Outcome, PromptFit, RollingScore};
use std::ops::Range;

/// Windows of `block_size + 1` tokens that begin every `stride` tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) block_size: usize,
    pub(super) stride: usize,
}

/// One of the `slices` into which the windows of a corpus are cut, counted from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) slice: usize,
    pub(super) slices: usize,
}

/// Returns the request for the sum of log p over the targets that one slice's windows count.
pub(super) fn build<'r>(
    builder: &ScoringRequestBuilder<'_>,
    request: &Request<'_>,
    windows: Windows,
    slice: Slice,
) -> Result<ScoringRequest<'r>, RunError> {
    let (block_size, limit) = (windows.block_size, builder.texts.limit);
    if block_size > limit {
        return Err(RunError::Sample(format!(
            "a window of block_size {block_size} does not fit into the model's {limit} tokens: write `block_size = {limit}` or less"
        )));
    }
    let tokens = builder.corpus_tokens.of(&builder.texts, &texts_of(request))?;
    let count = windows.count(tokens.len());
    if count == 0 {
        let tokens = tokens.len();
        return Err(RunError::Sample(format!(
            "all texts together have {tokens} tokens, fewer than the {} of one window: write `block_size = {}` or less",
            block_size + 1,
            tokens.saturating_sub(1)
        )));
    }
    let inputs: Vec<ScoringInput> = slice.of(count).map(|window| windows.input(&tokens, window)).collect();
    let counted = inputs.iter().map(|input| input.fed.len() + 1 - input.first).sum::<usize>() as u32;
    let fit =
        PromptFit { shots_kept: request.shots.len() as u32, tokens: block_size as u32 + 1, ..PromptFit::default() };
    let finish = move |scores: &[Scored]| {
        let mut total = 0.0;
        for window in scores {
            total += sum(window, Precision::Full)?;
        }
        Ok(Outcome::Rolling(RollingScore { sum: total, tokens: counted }))
    };
    Ok(ScoringRequest { fit, texts: inputs, finish: Box::new(finish) })
}

/// The texts of all rows, in order.
fn texts_of<'a>(request: &Request<'a>) -> Vec<&'a str> {
    let segments = request.shots.iter().flat_map(|shot| match shot {
        Shot::Turns(texts) => texts.as_slice(),
        Shot::Text(_) | Shot::Answered(_) => &[],
    });
    segments
        .filter_map(|segment| match segment {
            Segment::Question(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

impl Windows {
    /// Number of whole windows in `tokens` tokens: `floor((tokens - (block_size + 1)) / stride + 1)`.
    fn count(self, tokens: usize) -> usize {
        tokens.checked_sub(self.block_size + 1).map_or(0, |left| left / self.stride.max(1) + 1)
    }

    /// A window, with the targets that count.
    fn input(self, tokens: &[u32], window: usize) -> ScoringInput {
        let begin = window * self.stride;
        let counted = if window == 0 { self.block_size } else { self.stride.min(self.block_size) };
        ScoringInput::scores(tokens[begin..=begin + self.block_size].to_vec(), self.block_size + 1 - counted)
    }
}

impl Slice {
    /// The windows of this slice, of `windows`: every window is in one slice.
    fn of(self, windows: usize) -> Range<usize> {
        let slices = self.slices.max(1);
        self.slice * windows / slices..(self.slice + 1) * windows / slices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets that count, window by window.
    fn counted(tokens: u32, windows: Windows) -> Vec<Vec<u32>> {
        let ids: Vec<u32> = (0..tokens).collect();
        let targets = |window| {
            let input = windows.input(&ids, window);
            assert_eq!(input.fed.len(), windows.block_size);
            input.fed[input.first..].iter().chain(&input.next).copied().collect()
        };
        (0..windows.count(ids.len())).map(targets).collect()
    }

    /// Targets that the mask of OpenCompass 0.5.4's `SlidingWindowEvalDataset` leaves, printed under its own code.
    #[test]
    fn targets_are_those_of_opencompass() {
        let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("swce_vectors.json")).unwrap();
        assert!(cases.len() > 50);
        for case in &cases {
            let number = |key: &str| case[key].as_u64().unwrap();
            let theirs: Vec<Vec<u32>> = serde_json::from_value(case["targets"].clone()).unwrap();
            let windows = Windows { block_size: number("block") as usize, stride: number("stride") as usize };
            let ours = counted(number("tokens") as u32, windows);
            assert_eq!(ours, theirs, "{case}");
        }
    }

    #[test]
    fn every_window_is_in_one_slice() {
        for windows in 0..30 {
            for slices in 1..9 {
                let all: Vec<usize> = (0..slices).flat_map(|slice| Slice { slice, slices }.of(windows)).collect();
                assert_eq!(all, (0..windows).collect::<Vec<_>>());
            }
        }
    }
}
