//! Input of scoring: one text as tokens, and which of them to score.

use crate::executor::score::TokenScore;

/// A text to score, as tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::executor) struct ScoringInput {
    /// Tokens that go through the model.
    pub(in crate::executor) fed: Vec<u32>,
    /// Index of the first fed token to score; at least 1, since the first token has no predecessor.
    pub(in crate::executor) first: usize,
    /// Tokens to score at the position after the last fed token.
    pub(in crate::executor) next: Vec<u32>,
    /// Positions at which the text may be cut: between its first and its last token fed, in order.
    pub(in crate::executor) cuts: Vec<usize>,
}

/// Scores of `fed[first..]`, then of `next`.
pub(in crate::executor) type Scored = Vec<TokenScore>;

impl ScoringInput {
    /// Returns an input that scores `tokens[first..]`. The last token is predicted, never fed.
    pub(in crate::executor) fn scores(mut tokens: Vec<u32>, first: usize) -> Self {
        let first = first.max(1);
        if tokens.len() <= first {
            return Self::default();
        }
        let next = tokens.pop().into_iter().collect();
        Self { fed: tokens, first, next, cuts: Vec::new() }
    }

    /// Returns an input that scores each of `next` right after `tokens`.
    pub(in crate::executor) fn next_of(tokens: Vec<u32>, next: Vec<u32>) -> Self {
        Self { first: tokens.len(), fed: tokens, next, cuts: Vec::new() }
    }
}
