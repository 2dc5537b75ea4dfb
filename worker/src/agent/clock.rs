//! The agent's monotonic clock in milliseconds, the unit of leases and heartbeats.

use std::time::{Duration, Instant};

/// Milliseconds since the agent started: the only clock that its decisions use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    pub(super) fn instant(&self, ms: u64) -> tokio::time::Instant {
        (self.0 + Duration::from_millis(ms)).into()
    }
}
