//! The invariants by id, defined once.
//!
//! Those of the state are asked of the state, by [`check`]. Those of a history (G2, C1, C2) are kept by
//! [`crate::Watch`], which is fed with effects and is cheap enough to run in production; what breaks I1 or P1 by its
//! duration is found by `standstill` in every run. Those that span processes (L1, B1, C3, C4, H1, H2, N1, S1, W1)
//! are asserted by the simulation, under the same ids.

mod check;
mod ids;

pub use check::check;
pub use ids::{B1, C1, C2, C3, C4, G1, G2, H1, H2, I1, L1, N1, P1, R1, S1, Violation, W1, X1};
