//! Continuous batching: many sequences in one pass, each leaving when it ends and the next one entering in its place.
//!
//! Here are token ids alone: prompts are cut, admitted to slots with as much of them in place as another slot
//! holds ([`Slots`]), and continued step by step ([`continue_all`]). What a token means (an end, a stop string, a draw) and
//! what a sample is are the listener's business.

mod budget;
mod prompt;
mod queue;
mod run;
#[cfg(test)]
mod run_tests;
mod slots;
mod trace;

pub(crate) use queue::Ask;
pub(crate) use run::{Heard, Listener, continue_all};
pub(crate) use slots::Slots;
pub(crate) use trace::trace;
pub use trace::{Trace, Traced};
