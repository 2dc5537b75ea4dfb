//! Numbers by which workers go inside.

/// Number of a worker's name within one job; never given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkerIx(pub(super) u32);

/// Rank among attached workers that are loaded alike: the lowest that was free when the worker attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(pub(super) u32);
