//! A master that answers commands before it has jobs: a run while its job is planned, a server while it stands by.

use super::registry::JobRegistry;
use super::service::ControlService;
use super::socket::open;
use super::usual::usual_state_dir;
use crate::job::now;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Time below which planning needs no answer.
const SOON: Duration = Duration::from_secs(1);

/// Lets `status` find this master until the guard is dropped. Planning does not depend on it.
pub fn announce_planning(state_dir: &Path) -> DropGuard {
    let (over, since, usual) = (CancellationToken::new(), now(), usual_state_dir().unwrap_or_default());
    let guard = over.clone().drop_guard();
    let folder = place(state_dir, &usual);
    // Of a user without a home.
    if folder.as_os_str().is_empty() {
        return guard;
    }
    tokio::spawn(over.clone().run_until_cancelled_owned(async move {
        tokio::time::sleep(SOON).await;
        match open(&folder, &format!("planning-{}", std::process::id())) {
            Ok(socket) => {
                let service = ControlService::new(Arc::new(JobRegistry::planning(since)));
                socket.announced_in(&usual).serve(service, over).await;
            }
            Err(error) => tracing::debug!(%error, "this run answers no commands while it is planned"),
        }
    }));
    guard
}

/// Lets `status` find a server that stands by, until the guard is dropped; `for_whom` says what it waits for.
pub fn announce_standby(state_dir: &Path, for_whom: String) -> DropGuard {
    let (over, usual) = (CancellationToken::new(), usual_state_dir().unwrap_or_default());
    let guard = over.clone().drop_guard();
    match open(state_dir, &format!("standby-{}", std::process::id())) {
        Ok(socket) => {
            let service = ControlService::new(Arc::new(JobRegistry::standing_by(for_whom)));
            tokio::spawn(socket.announced_in(&usual).serve(service, over));
        }
        Err(error) => tracing::debug!(%error, "this server answers no commands while it stands by"),
    }
    guard
}

/// Returns the folder of the socket: a state folder that is not there yet is not made for a job that may be refused.
fn place(state_dir: &Path, usual: &Path) -> PathBuf {
    if state_dir.is_dir() { state_dir.to_owned() } else { usual.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_state_folder_is_made() {
        let there = tempfile::tempdir().unwrap();
        let (usual, missing) = (Path::new("/home/me/state"), there.path().join("missing"));
        assert_eq!(place(there.path(), usual), there.path());
        assert_eq!(place(&missing, usual), usual);
    }
}
