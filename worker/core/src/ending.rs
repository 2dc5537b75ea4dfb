//! Reasons why an agent exits, and its exit code.

use std::fmt;
use std::time::Duration;

/// Reason why an agent exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The master has no more work.
    Shutdown { reason: String },
    /// The master told this worker to finish started samples and exit.
    Drained,
    /// The launcher's time for this worker is over.
    TimeIsUp,
    /// Another process of this node does the work.
    NotNeeded { reason: String },
    /// The launcher at the other end of stdin has exited.
    ParentGone,
    /// No master answered for this long.
    MasterLost { after: Duration },
    /// The master rejected the session.
    Refused { reason: String },
    /// No master accepts the worker; the reason is a whole sentence.
    NotAdmitted { reason: String },
    /// SIGINT (2) or SIGTERM (15).
    Signal(u8),
    /// The agent could not start, or lost results.
    Failed { reason: String },
}

impl ExitReason {
    /// Returns the process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Shutdown { .. } | Self::Drained | Self::ParentGone | Self::TimeIsUp | Self::NotNeeded { .. } => 0,
            Self::Failed { .. } => 1,
            Self::MasterLost { .. } => 3,
            Self::Refused { .. } | Self::NotAdmitted { .. } => 4,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown { reason } => write!(f, "shut down by the master: {reason}"),
            Self::Drained => f.write_str("drained by the master"),
            Self::TimeIsUp => f.write_str("its time is over; results of started samples were sent"),
            Self::NotNeeded { reason } => f.write_str(reason),
            Self::ParentGone => f.write_str("the launcher has exited"),
            Self::MasterLost { after } => {
                let seconds = after.as_secs();
                write!(f, "no master answered for {seconds} s; is it running, and is --master its address?")
            }
            Self::Refused { reason } => write!(f, "rejected by the master: {reason}"),
            Self::NotAdmitted { reason } => f.write_str(reason),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::Failed { reason } => f.write_str(reason),
        }
    }
}
