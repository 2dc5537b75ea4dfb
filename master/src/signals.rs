//! Signals that ask a process to stop.

use compass_cli::exit;
use compass_common::status_output::print_status;
use compass_launch::emergency_cleanup;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Signals that come within this time after the first one are the same as it.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

/// Turns to the exit code of the first signal that asks the process to stop. The second one ends the process, unless it
/// comes at the same time as the first.
pub fn watch_signals() -> watch::Receiver<Option<u8>> {
    let (interrupt, interrupted) = watch::channel(None);
    tokio::spawn(forward(interrupt));
    interrupted
}

async fn forward(interrupt: watch::Sender<Option<u8>>) {
    let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return;
    };
    let mut first = None;
    loop {
        let code = tokio::select! {
            _ = int.recv() => exit::INTERRUPTED,
            _ = term.recv() => exit::TERMINATED,
        };
        match heard(&mut first, Instant::now()) {
            Heard::First => {
                print_status("stopping; once more to stop at once");
                let _ = interrupt.send(Some(code));
            }
            Heard::TheSame => {}
            Heard::Second => {
                emergency_cleanup();
                std::process::exit(i32::from(code));
            }
        }
    }
}

/// Request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// To stop.
    First,
    /// The first one's request again: `timeout` signals its child and then its process group.
    TheSame,
    /// To stop at once.
    Second,
}

fn heard(first: &mut Option<Instant>, now: Instant) -> Heard {
    match first {
        None => {
            *first = Some(now);
            Heard::First
        }
        Some(first) if now.duration_since(*first) < ONE_SIGNAL => Heard::TheSame,
        Some(_) => Heard::Second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_one_moment_are_one() {
        let (mut first, start) = (None, Instant::now());
        assert_eq!(heard(&mut first, start), Heard::First);
        assert_eq!(heard(&mut first, start + Duration::from_millis(1)), Heard::TheSame);
        assert_eq!(heard(&mut first, start + Duration::from_millis(499)), Heard::TheSame);
        assert_eq!(heard(&mut first, start + Duration::from_millis(500)), Heard::Second);
    }
}
