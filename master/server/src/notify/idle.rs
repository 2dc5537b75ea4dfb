//! Watches whether anything comes in, and tells where a night would be lost otherwise.

use super::notifier::Notifier;
use compass_common::words::counted;
use compass_plan::engine::TokenCounters;
use compass_progress::RunView;
use compass_settings::NotifyEvent;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// Since when nothing has come in.
#[derive(Debug)]
struct Idleness {
    seen: (&'static str, u64, TokenCounters),
    since: Instant,
    told: bool,
}

impl Idleness {
    fn new(now: Instant) -> Self {
        Self { seen: Default::default(), since: now, told: false }
    }

    /// Takes a look. Gives the time for which nothing has come in where that is to be told: once, until something comes.
    fn look(&mut self, doing: &'static str, view: &RunView, after: Duration, now: Instant) -> Option<Duration> {
        let seen = (doing, view.recorded_samples, view.tokens);
        let is_whole = view.recorded_samples >= view.expected_samples;
        if seen != self.seen || is_whole {
            *self = Self { seen, since: now, told: false };
            return None;
        }
        let idle = now.duration_since(self.since);
        let is_due = idle >= after && !self.told;
        self.told |= is_due;
        is_due.then_some(idle)
    }
}

impl Notifier {
    /// Tells when nothing has come in for a while, until the handle is dropped.
    pub(crate) fn watch(&self) -> Option<AbortOnDropHandle<()>> {
        let wanted = self.config.on.contains(&NotifyEvent::Idle);
        wanted.then(|| AbortOnDropHandle::new(tokio::spawn(watch(self.clone()))))
    }
}

/// Looks until it is stopped.
async fn watch(notifier: Notifier) {
    let mut idleness = Idleness::new(Instant::now());
    let mut timer = tokio::time::interval(LOOK);
    loop {
        timer.tick().await;
        let (doing, view) = notifier.job_handle().view();
        let Some(idle) = idleness.look(doing, &view, notifier.idle_after(), Instant::now()) else { continue };
        let reasons = notifier.reasons().await;
        let words = format!("has got nothing for {}", counted(idle.as_secs() / 60, "minute"));
        notifier.tell(&notifier.notice(NotifyEvent::Idle, None, &words, reasons.join("\n"))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_until_something_comes() {
        let start = Instant::now();
        let after = Duration::from_secs(60);
        let mut idleness = Idleness::new(start);
        let mut look = |seconds: u64, recorded: u64| {
            let view = RunView { recorded_samples: recorded, expected_samples: 100, ..RunView::default() };
            idleness.look("infer", &view, after, start + Duration::from_secs(seconds))
        };
        assert_eq!(look(0, 0), None);
        assert_eq!(look(59, 0), None);
        assert_eq!(look(60, 0), Some(after));
        assert_eq!(look(300, 0), None, "it has been told");
        assert_eq!(look(301, 7), None, "something came");
        assert_eq!(look(360, 7), None);
        assert_eq!(look(361, 7), Some(after));
        assert_eq!(look(400, 100), None);
        assert_eq!(look(4_000, 100), None, "everything is here: it is being scored");
    }
}
