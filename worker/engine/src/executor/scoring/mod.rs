//! Scoring: every distinct beginning of the texts of a pack goes through the model once.
//!
//! A kind of inference says which texts it wants scored ([`Asked`]); texts become a trie that is cut at the plan's borders
//! and where a sample's own texts part ([`Trie`]); the trie is walked in depth-first order, over key-value stacks that stay
//! between packs ([`Resident`]).

mod asked;
mod compute;
#[cfg(test)]
mod compute_tests;
mod cuts;
mod passes;
mod resident;
mod trie;

pub(super) use asked::{Asked, Scored};
pub(super) use compute::{Scorer, Work};
pub(super) use cuts::cut_after;
