//! The namespaces of one run, by their first process: when it has ended, so has everything in them.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

const PERIOD: Duration = Duration::from_millis(2);

pub(crate) struct Room {
    pub first: Pid,
    handle: OwnedFd,
}

impl Room {
    /// From what `bwrap --info-fd` says: a JSON object with `child-pid`.
    ///
    /// # Errors
    /// When that is not said, or the process is gone.
    pub(crate) async fn read(info: PipeReader) -> io::Result<Self> {
        let mut said = Vec::new();
        let mut info = Receiver::from_owned_fd(info.into())?;
        while !said.contains(&b'}') && info.read_buf(&mut said).await? > 0 {}
        let parsed: serde_json::Value = serde_json::from_slice(&said)?;
        let first = parsed["child-pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let first = first.ok_or_else(|| io::Error::other("bwrap does not say which process it started"))?;
        Ok(Self { first, handle: pidfd_open(first, PidfdFlags::empty())? })
    }

    /// Kills the first process, and so all.
    pub(crate) fn kill(&self) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Returns once nothing of the room is left: its first process ends after all others.
    pub(crate) async fn gone(&self) -> io::Result<()> {
        while poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&Timespec::default()))? == 0 {
            tokio::time::sleep(PERIOD).await;
        }
        Ok(())
    }
}
