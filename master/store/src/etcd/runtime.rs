//! The runtime on which every client of etcd lives, for as long as the process does.
//!
//! A client's channel is a task of the runtime on which the client was made, and ends with it. Masters ask from several
//! runtimes (of the job, the committer, the lease keeper), some of which end in mid-run; so none of them makes a client.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use tokio::runtime::{Builder, Handle, Runtime};

static CLIENTS: OnceLock<Runtime> = OnceLock::new();
static MAKING: Mutex<()> = Mutex::new(());

/// Returns the handle of the runtime, which the first call starts.
///
/// # Errors
/// The system gives no threads.
pub(super) fn clients() -> io::Result<Handle> {
    // One at a time: a second runtime could not be dropped where this is called from.
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = CLIENTS.get() {
        return Ok(runtime.handle().clone());
    }
    // Two threads: a large reply on one must not keep a heartbeat of the lease waiting on the other.
    let made = Builder::new_multi_thread().worker_threads(2).thread_name("etcd-clients").enable_all().build()?;
    Ok(CLIENTS.get_or_init(|| made).handle().clone())
}
