//! Messages of the agent, read in a thread of its own, so that the agent's end is noticed during a computation.
//!
//! Invariant: an agent sends ahead what an engine computes at once and some more, so the channel never fills and the
//! reader never blocks.

use compass_proto::{delimited, v1};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, sync_channel};

/// Capacity of the channel: more than an agent sends ahead, if each sample came in a message of its own with its part.
const WAITING_MESSAGES: usize = 2048;

/// Starts the reader. When the stream ends or is malformed, the process exits at once: no agent is left to receive
/// results, and a computation cannot be interrupted otherwise.
pub(super) fn read_on_a_thread(mut stream: UnixStream) -> std::io::Result<Receiver<v1::ToEngine>> {
    let (sender, receiver) = sync_channel(WAITING_MESSAGES);
    std::thread::Builder::new().name("inbox".into()).spawn(move || {
        loop {
            match delimited::read::<v1::ToEngine>(&mut stream) {
                Ok(Some(message)) => {
                    if sender.send(message).is_err() {
                        return;
                    }
                }
                Ok(None) => die(),
                Err(error) => {
                    tracing::error!(%error, "the link to the agent is broken");
                    die();
                }
            }
        }
    })?;
    Ok(receiver)
}

fn die() {
    // Destructors of a library that is busy in another thread must not run, so this is not `exit`.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}
