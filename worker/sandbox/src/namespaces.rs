//! The namespaces of one program, identified by their first process: when it ends, so do all others.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

const PERIOD: Duration = Duration::from_millis(2);

pub(crate) struct Namespaces {
    pub first: Pid,
    handle: OwnedFd,
}

impl Namespaces {
    /// Reads the output of `bwrap --info-fd`, a JSON object with `child-pid`.
    ///
    /// # Errors
    /// The output lacks it, or the process has ended.
    pub(crate) async fn read(info: PipeReader) -> io::Result<Self> {
        let mut output = Vec::new();
        let mut info = Receiver::from_owned_fd(info.into())?;
        while !output.contains(&b'}') && info.read_buf(&mut output).await? > 0 {}
        let parsed: serde_json::Value = serde_json::from_slice(&output)?;
        let first = parsed["child-pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let first = first.ok_or_else(|| io::Error::other("bwrap did not name its child process"))?;
        Ok(Self { first, handle: pidfd_open(first, PidfdFlags::empty())? })
    }

    /// Kills the first process, and with it all others.
    pub(crate) fn kill(&self) {
        // The process may have ended on its own.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Returns once no process is left: the first one ends after all others.
    pub(crate) async fn gone(&self) -> io::Result<()> {
        while poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&Timespec::default()))? == 0 {
            tokio::time::sleep(PERIOD).await;
        }
        Ok(())
    }
}
