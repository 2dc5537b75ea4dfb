//! A flag that turns true once: how the end of a run reaches everything that runs.

use tokio::sync::watch;

/// Returns when the flag is up, or can no longer be raised.
pub async fn raised(flag: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it whatever was to be waited for.
    let _ = flag.wait_for(|up| *up).await;
}
