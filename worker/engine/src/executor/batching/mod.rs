//! Continuous batching: many sequences in one pass; when one ends, the next pending one takes its slot.
//!
//! This module deals with token ids alone: prompts are cut, admitted to slots that reuse the prefixes of other slots
//! ([`Slots`]), and continued step by step ([`continue_all`]). The callback ([`DecodeCallback`]) knows the meaning of a token (an
//! end, a stop string, a draw), and of a sample.

mod callback;
#[cfg(test)]
mod growth_tests;
mod headers;
mod packed;
mod predictions;
mod prompt;
mod queue;
mod run;
#[cfg(test)]
mod run_tests;
mod running_sequence;
mod slots;
mod trace;

pub(crate) use callback::{Changes, Choice, DecodeCallback, Prediction, StepOutcome};
pub(crate) use queue::SequenceRequest;
pub(crate) use run::continue_all;
pub(crate) use slots::{Slots, sequences_at_once};
pub(crate) use trace::trace;
pub use trace::{Trace, Traced};
