//! Scoring: every distinct prefix of the texts of a batch goes through the model once.
//!
//! An inference mode names the texts to score ([`ScoringInput`]); texts become a trie that is cut at the plan's borders and
//! where a sample's own texts diverge ([`Trie`]); the trie is computed in depth-first order, a prefix segment
//! to an extent of the arena, and segments that other batches may share stay ([`Resident`]).

mod compute;
#[cfg(test)]
mod compute_tests;
mod cuts;
mod input;
mod passes;
mod resident;
mod trie;

pub(super) use compute::{Scorer, Work};
pub(super) use cuts::cut_after;
pub(super) use input::{Scored, ScoringInput};
