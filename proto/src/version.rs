//! Protocol versions of a build, and the one that two builds have in common.

use crate::v1;
use std::fmt;

/// Increased by every change that an older peer would misread.
pub const PROTOCOL_VERSION: u32 = 6;
/// The first version in which samples that have no room in a worker's memory go back to the master.
pub const PROTOCOL_OF_NO_ROOM: u32 = 6;
/// The oldest version that this build speaks.
pub const OLDEST_PROTOCOL: u32 = 5;

/// The release that both programs of a build belong to.
pub(crate) const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// A range of protocol versions that a build speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocols {
    oldest: u32,
    latest: u32,
}

impl Protocols {
    /// The versions of this build.
    pub const OURS: Self = Self { oldest: OLDEST_PROTOCOL, latest: PROTOCOL_VERSION };

    /// The versions that a peer announces. Builds before protocol 5 announce one version, and 0 as the oldest.
    pub fn of(latest: u32, oldest: u32) -> Self {
        let oldest = if oldest == 0 { latest } else { oldest };
        Self { oldest, latest }
    }

    /// Returns a master's message to a worker with which it has no version in common.
    pub fn refusal_of(worker: Self) -> String {
        let (ours, release) = (Self::OURS, RELEASE);
        format!("it speaks protocol {worker}, this master speaks {ours}; install compass-worker {release} on its host")
    }

    /// Returns the latest version that both ends speak.
    pub fn common(self, other: Self) -> Option<u32> {
        let latest = self.latest.min(other.latest);
        (latest >= self.oldest.max(other.oldest)).then_some(latest)
    }
}

impl From<&v1::Hello> for Protocols {
    fn from(hello: &v1::Hello) -> Self {
        Self::of(hello.protocol, hello.oldest_protocol)
    }
}

impl From<&v1::EnrolRequest> for Protocols {
    fn from(request: &v1::EnrolRequest) -> Self {
        Self::of(request.protocol, request.oldest_protocol)
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.latest {
            return write!(f, "{}", self.latest);
        }
        write!(f, "{} to {}", self.oldest, self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_that_both_speak_is_spoken() {
        for (one, other, common) in [
            ((5, 5), (5, 5), Some(5)),
            ((7, 5), (6, 4), Some(6)),
            ((7, 5), (4, 2), None),
            ((7, 5), (5, 0), Some(5)),
            ((7, 5), (4, 0), None),
            ((5, 9), (5, 5), None),
        ] {
            let (one, other) = (Protocols::of(one.0, one.1), Protocols::of(other.0, other.1));
            assert_eq!((one.common(other), other.common(one)), (common, common), "{one} and {other}");
        }
        assert_eq!((Protocols::of(4, 0).to_string(), Protocols::of(6, 5).to_string()), ("4".into(), "5 to 6".into()));
    }
}
