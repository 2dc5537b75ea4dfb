//! A run that answers commands while its job is still planned.

use super::registry::JobRegistry;
use super::service::ControlService;
use super::socket::open;
use super::usual::usual_state_dir;
use crate::job::now;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What is planned sooner needs no answer, and leaves no trace where it is refused.
const SOON: Duration = Duration::from_secs(1);

/// Lets `status` find this master until the guard is dropped. Planning does not depend on it.
pub fn announce_planning(state_dir: &Path) -> DropGuard {
    let (over, state_dir, since) = (CancellationToken::new(), state_dir.to_owned(), now());
    let guard = over.clone().drop_guard();
    tokio::spawn(over.clone().run_until_cancelled_owned(async move {
        tokio::time::sleep(SOON).await;
        match open(&state_dir, &format!("planning-{}", std::process::id())) {
            Ok(socket) => {
                let service = ControlService::new(Arc::new(JobRegistry::planning(since)));
                let socket = socket.announced_in(&usual_state_dir().unwrap_or_default());
                socket.serve(service, over).await;
            }
            Err(error) => tracing::debug!(%error, "this run answers no commands while it is planned"),
        }
    }));
    guard
}
