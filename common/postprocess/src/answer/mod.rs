//! The one reader of answers: from what a model wrote to its letter, number, formula or words, in English and in Chinese.
//!
//! [`answer`] follows no peer. The page `docs/src/answers.md` documents its tiers; `docs/src/inherited-faults.md` sets it beside the
//! peers' functions, which stay as they are.

mod boxes;
mod candidate;
mod conclusions;
mod dress;
mod exclusions;
mod folded;
mod found;
mod kinds;
mod letters;
mod markers;
mod math;
mod number;
mod options_list;
mod resort;
mod select;
mod text;
mod tiers;

pub use found::{AnswerKind, FoundAnswer, FoundBy};
pub use tiers::answer;
