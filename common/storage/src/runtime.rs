//! The threads on which requests run: their own, so that callers may wait from inside any other runtime.

use crate::fault::{FaultKind, StorageFault};
use std::future::Future;
use std::sync::mpsc;
use tokio::runtime::Runtime;

/// Threads for requests; a transfer waits for the network far more than it computes.
const THREADS: usize = 2;

#[derive(Debug)]
pub(crate) struct Requests(Option<Runtime>);

impl Requests {
    pub(crate) fn start() -> Result<Self, StorageFault> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("storage")
            .enable_all()
            .build();
        let failed = |error| {
            StorageFault::new(
                FaultKind::Cache,
                format!("cannot start threads for requests: {error}"),
                "raise `ulimit -u`",
            )
        };
        Ok(Self(Some(runtime.map_err(failed)?)))
    }

    /// Runs `future` and waits for it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, StorageFault>> + Send + 'static,
    ) -> Result<T, StorageFault> {
        let (done, result) = mpsc::channel();
        if let Some(runtime) = &self.0 {
            runtime.spawn(async move { done.send(future.await) });
        }
        let broken = || StorageFault::new(FaultKind::Unavailable, "a request was abandoned", "try again");
        result.recv().unwrap_or_else(|_| Err(broken()))
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // Dropping a runtime inside another one is not allowed; nothing of it is waited for here.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
