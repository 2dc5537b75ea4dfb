//! Why an agent ends, and what its exit code says of it.

use std::fmt;
use std::time::Duration;

/// Reason for which an agent ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The master has no more work.
    Shutdown { reason: String },
    /// The master told this worker to finish what it had begun and go.
    Drained,
    /// The launcher's time for this worker was up.
    TimeIsUp,
    /// Another process of this node does what this one was started for.
    StoodBack { reason: String },
    /// The launcher at the other end of standard input is gone.
    ParentGone,
    /// No master answered for so long.
    MasterLost { after: Duration },
    /// The master will not have this worker.
    Refused { reason: String },
    /// No master lets this worker in; the reason is a whole sentence.
    NotAdmitted { reason: String },
    /// SIGINT (2) or SIGTERM (15).
    Signal(u8),
    /// The agent could not so much as start.
    Broken { reason: String },
}

impl Ending {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Shutdown { .. } | Self::Drained | Self::ParentGone | Self::TimeIsUp | Self::StoodBack { .. } => 0,
            Self::Broken { .. } => 1,
            Self::MasterLost { .. } => 3,
            Self::Refused { .. } | Self::NotAdmitted { .. } => 4,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown { reason } => write!(f, "shut down by the master: {reason}"),
            Self::Drained => f.write_str("drained by the master"),
            Self::TimeIsUp => f.write_str("its time is up: what had begun is handed in"),
            Self::StoodBack { reason } => f.write_str(reason),
            Self::ParentGone => f.write_str("the launcher is gone"),
            Self::MasterLost { after } => {
                let seconds = after.as_secs();
                write!(f, "no master answered for {seconds} s; is it running, and is --master its address?")
            }
            Self::Refused { reason } => write!(f, "refused by the master: {reason}"),
            Self::NotAdmitted { reason } => f.write_str(reason),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::Broken { reason } => write!(f, "cannot start: {reason}"),
        }
    }
}
