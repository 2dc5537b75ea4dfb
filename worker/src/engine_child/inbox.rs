//! What the agent sends, read on a thread of its own, so that the agent's end is noticed in the middle of a computation.
//!
//! Invariant: the agent has one batch under way at a time, so the channel never fills and the reader never stops reading.

use compass_proto::{delimited, v1};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, sync_channel};

/// Messages that may wait: many times what an agent sends ahead.
const WAITING_MESSAGES: usize = 64;

/// Starts the reader. When the stream ends, or makes no sense, the whole process dies on the spot: nobody is left to
/// take a result, and a computation cannot be interrupted in any other way.
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
    // No destructor of a library that is busy on another thread may run, so this is no `exit`.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}
