//! OpenCompass's `MATHVerifyEvaluator` (0.5.4): a whole answer and a gold one, read and compared as math-verify 0.9.0 does.
//!
//! `extract` finds in a text what math-verify would parse, by its patterns (`patterns`) and its rule for boxes (`boxes`).
//! [`equal`](super::equal::equal) compares, by the peer's rules. `docs/src/evaluators.md` lists what differs.

mod boxes;
mod decision;
mod extract;
mod patterns;

pub use decision::math_verify;
