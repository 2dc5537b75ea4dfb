//! Exit codes: what a script can tell apart.

/// Every sample is scored.
pub const SCORED: u8 = 0;
/// Something failed, or a metric was withheld.
pub const INCOMPLETE: u8 = 1;
/// Bad input: nothing was started.
pub const BAD_INPUT: u8 = 2;
/// Infrastructure: store, disk, workers. The run can be resumed.
pub const INFRASTRUCTURE: u8 = 3;
/// Another master leads.
pub const LEADERSHIP_LOST: u8 = 4;
/// A conclusion is asked for, and the data do not give one.
pub const INCONCLUSIVE: u8 = 5;
/// Ctrl-C.
pub const INTERRUPTED: u8 = 130;
/// SIGTERM.
pub const TERMINATED: u8 = 143;
