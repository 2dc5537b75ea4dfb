//! The work that an uncertainty may cost.

/// Work that an uncertainty may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluator) enum Effort {
    /// Only what a formula gives.
    ClosedForm,
    /// Bootstraps too.
    Full,
}
