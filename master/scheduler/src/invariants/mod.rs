//! The invariants by id, defined once.
//!
//! [`check`] asks the state for the invariants of the state. [`crate::Watch`] keeps the invariants of a history (G2, C1,
//! C2): it is fed with effects and is cheap enough to run in production. In every run, `standstill` finds what breaks I1 or
//! P1 by its duration. The simulation asserts the invariants that span processes (L1, B1, C3, C4, H1, H2, N1, S1, W1),
//! under the same ids.

mod check;
mod ids;

pub use check::check;
pub use ids::{B1, C1, C2, C3, C4, G1, G2, H1, H2, I1, L1, N1, P1, R1, S1, Violation, W1, X1};
