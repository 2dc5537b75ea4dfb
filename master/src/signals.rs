//! Signals that ask a process to stop.

use crate::exit;
use compass_common::status_output::print_status;
use compass_launch::emergency_cleanup;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Turns to the exit code of the first signal that asks the process to stop. The second one ends the process.
pub fn watch_signals() -> watch::Receiver<Option<u8>> {
    let (interrupt, interrupted) = watch::channel(None);
    tokio::spawn(forward(interrupt));
    interrupted
}

async fn forward(interrupt: watch::Sender<Option<u8>>) {
    let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return;
    };
    loop {
        let code = tokio::select! {
            _ = int.recv() => exit::INTERRUPTED,
            _ = term.recv() => exit::TERMINATED,
        };
        if interrupt.borrow().is_some() {
            emergency_cleanup();
            std::process::exit(i32::from(code));
        }
        print_status("stopping; once more to stop at once");
        let _ = interrupt.send(Some(code));
    }
}
