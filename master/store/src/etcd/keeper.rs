//! The keeper: keeps the leader's lease alive from a thread, a runtime and connections of its own, so that no load of the
//! master's can starve it. A lease that is gone all the same is replaced, if no other master has led meanwhile.

use super::backend::EtcdBackend;
use crate::backend::{Backend, Trouble};
use crate::error::StoreError;
use crate::shared_term::SharedTerm;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Beats within the life of a lease.
const BEATS: u32 = 3;
/// Pause after a beat that failed.
const AGAIN: Duration = Duration::from_millis(200);

/// Starts the thread; it ends when the other end of `alive` is dropped.
///
/// # Errors
/// The system gives no thread.
pub(super) fn start(
    backend: EtcdBackend,
    shared: Arc<SharedTerm>,
    ttl: Duration,
    alive: watch::Receiver<()>,
) -> Result<(), StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StoreError::Thread)?;
    let keep = move || runtime.block_on(keep(backend, shared, ttl, alive));
    std::thread::Builder::new().name("lease-keeper".into()).spawn(keep).map(drop).map_err(StoreError::Thread)
}

async fn keep(backend: EtcdBackend, shared: Arc<SharedTerm>, ttl: Duration, mut alive: watch::Receiver<()>) {
    loop {
        let pause = beat(&backend, &shared, ttl).await;
        tokio::select! {
            _ = alive.changed() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One beat; returns the pause until the next.
async fn beat(backend: &EtcdBackend, shared: &SharedTerm, ttl: Duration) -> Duration {
    let Some(term) = shared.current() else { return ttl / BEATS / 4 };
    let kept = match backend.keep_alive(term.lease()).await {
        // By now the term may hang on a younger lease, or be given up.
        Ok(false) if shared.current().is_some_and(|now| now.lease() == term.lease()) => {
            shared.reassert(backend, ttl).await
        }
        Ok(_) => Ok(()),
        Err(trouble) => Err(trouble),
    };
    match kept {
        Ok(()) => ttl / BEATS,
        Err(Trouble::NoReply(error) | Trouble::Final(error)) => {
            tracing::debug!(%error, "could not keep the lease alive");
            AGAIN
        }
        Err(Trouble::LeaseGone) => AGAIN,
    }
}
