//! Progress of a transfer.

use compass_plan::weights::shown_size;
use std::time::{Duration, Instant};

/// Events while files are fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another process on this node fetches the same.
    Waiting,
    /// So many bytes of all are here. `from_before` were here when it began.
    Bytes { done: u64, all: u64, from_before: u64 },
}

/// Says at most every few seconds how far a transfer is.
#[derive(Debug)]
pub struct ProgressLog {
    what: String,
    began: Instant,
    said: Option<Instant>,
}

/// Interval at which progress is reported.
const PERIOD: Duration = Duration::from_secs(10);

impl ProgressLog {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), began: Instant::now(), said: None }
    }

    /// Returns the line to say now, if any.
    pub fn line(&mut self, progress: &Progress) -> Option<String> {
        let is_due = self.said.is_none_or(|said| said.elapsed() >= PERIOD);
        let what = &self.what;
        let line = match progress {
            Progress::Waiting => format!("waiting for {what}: another process on this node is fetching it"),
            Progress::Bytes { done, all, .. } if !is_due && done < all => return None,
            Progress::Bytes { done, all, from_before } => {
                let seconds = self.began.elapsed().as_secs_f64();
                let rate = (done - from_before) as f64 / seconds.max(0.001);
                let left = if rate > 0.0 && done < all {
                    format!(", {:.0} s left", (all - done) as f64 / rate)
                } else {
                    String::new()
                };
                let kept =
                    if *from_before > 0 { format!(" ({} were here)", shown_size(*from_before)) } else { String::new() };
                let (done, all, rate) = (shown_size(*done), shown_size(*all), shown_size(rate as u64));
                format!("fetching {what}: {done} of {all}{kept}, {rate}/s{left}")
            }
        };
        self.said = Some(Instant::now());
        Some(line)
    }
}
