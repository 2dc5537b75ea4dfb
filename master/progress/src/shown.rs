//! Display of a stage while it runs: by a bar on a terminal, by lines in a log.

use super::board::ProgressBoard;
use super::fitted::{self, WAITING};
use super::pace::Pace;
use super::snapshot::Snapshot;
use super::text::{eta, speed};
use compass_common::log_time::timed;
use compass_common::status_output::{BarLine, is_terminal, print_progress, print_status};
use compass_common::words::grouped;
use indicatif::ProgressDrawTarget;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Between two lines of a log.
pub(super) const LINE_EVERY: Duration = Duration::from_secs(30);
/// Interval at which a bar is drawn, also while nothing moves.
pub(super) const DRAWN_EVERY: Duration = Duration::from_millis(500);
/// Longest line of a log, its time stamp included.
const LONGEST: usize = 200;

impl ProgressBoard {
    /// Shows the stage until the board is dropped: the future ends then.
    pub fn show(&self, stage: &'static str, already: u64) -> impl Future<Output = ()> + Send + use<> {
        let receiver = self.snapshots.subscribe();
        let board = Self {
            plan: self.plan.clone(),
            snapshots: watch::Sender::new(Snapshot::default()),
            live: self.live.clone(),
        };
        let total = self.plan.expected();
        async move {
            if already > 0 {
                print_status(format!("{stage:5}  {} of {} samples kept", grouped(already), grouped(total)));
            }
            if is_terminal() {
                show_bar(stage, total, already, receiver, &board).await;
            } else {
                show_lines(stage, total, already, receiver, &board).await;
            }
        }
    }
}

async fn show_bar(
    stage: &'static str,
    total: u64,
    already: u64,
    mut receiver: watch::Receiver<Snapshot>,
    board: &ProgressBoard,
) {
    let bar = fitted::bar(total, ProgressDrawTarget::stderr());
    bar.set_prefix(stage);
    bar.set_position(already);
    let line = BarLine::begin();
    let mut pace = Pace::new(Instant::now(), already);
    let mut timer = tokio::time::interval(DRAWN_EVERY);
    loop {
        let ended = tokio::select! {
            _ = timer.tick() => false,
            changed = receiver.changed() => changed.is_err(),
        };
        let (snapshot, now) = (receiver.borrow().with_kept(already), Instant::now());
        observe(&mut pace, now, snapshot, total);
        let scores: Vec<String> =
            board.live_scores().into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        bar.set_position(snapshot.recorded);
        fitted::show(&bar, status_words(total, snapshot, pace.rate(now, snapshot.recorded)), &scores);
        if ended {
            break;
        }
    }
    bar.abandon();
    drop(line);
    // The bar leaves the cursor behind its last character.
    print_status("");
}

async fn show_lines(
    stage: &'static str,
    total: u64,
    already: u64,
    mut receiver: watch::Receiver<Snapshot>,
    board: &ProgressBoard,
) {
    let mut lines = Lines { stage, total, pace: Pace::new(Instant::now(), already), told: BTreeMap::new() };
    let mut timer = tokio::time::interval(LINE_EVERY);
    loop {
        let (is_time, ended) = tokio::select! {
            _ = timer.tick() => (true, false),
            changed = receiver.changed() => (false, changed.is_err()),
        };
        let (snapshot, now) = (receiver.borrow().with_kept(already), Instant::now());
        observe(&mut lines.pace, now, snapshot, total);
        // The complete count is told once, as the line that closes the stage: a client with a bar gets no other.
        if ended || is_time && snapshot.recorded + snapshot.given_up < total {
            let stamp = timed("");
            let line = format!("{stamp}{}", lines.line(snapshot, now, board.live_scores(), LONGEST - stamp.len()));
            // The last line stays on the screen of one who saw a bar.
            if ended {
                print_status(line)
            } else {
                print_progress(line)
            };
        }
        if ended {
            return;
        }
    }
}

/// Takes note of how far the stage is, or that it waits.
fn observe(pace: &mut Pace, now: Instant, snapshot: Snapshot, total: u64) {
    match snapshot.is_waiting(total) {
        true => pace.wait(now, snapshot.recorded),
        false => pace.count(now, snapshot.recorded),
    }
}

/// State of a stage's lines, with what they have told.
struct Lines {
    stage: &'static str,
    total: u64,
    pace: Pace,
    /// Scores by name, as they were last shown.
    told: BTreeMap<String, String>,
}

impl Lines {
    /// `infer  120/600 samples  45.2 samples/s  eta 11s  2 slots  sums_gen 93.2`, with the scores that have changed, as many as
    /// `most` characters hold.
    fn line(&mut self, snapshot: Snapshot, now: Instant, scores: Vec<(String, String)>, most: usize) -> String {
        let rate = self.pace.rate(now, snapshot.recorded);
        let mut line = format!("{:5}  {}", self.stage, status(self.total, snapshot, rate));
        let changed: Vec<(String, String)> =
            scores.into_iter().filter(|(name, value)| self.told.get(name) != Some(value)).collect();
        // Room for what says how many are left out.
        let room = most.saturating_sub(", 1000 more".len());
        let mut left = changed.len();
        let mut separator = "  ";
        for (name, value) in changed {
            let score = format!("{separator}{name} {value}");
            if line.chars().count() + score.chars().count() > room {
                continue;
            }
            line.push_str(&score);
            self.told.insert(name, value);
            left -= 1;
            separator = ", ";
        }
        if left > 0 {
            // Writing to a String cannot fail.
            let _ = write!(line, "{separator}{left} more");
        }
        line
    }
}

/// Says how far, how fast, how long, on what, in one line.
fn status(total: u64, now: Snapshot, rate: f64) -> String {
    let words = status_words(total, now, rate);
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("  ")
}

/// Says how far, how fast, how long, on what; empty where nothing is to be said.
pub(super) fn status_words(total: u64, now: Snapshot, rate: f64) -> Vec<String> {
    let slots = match now.slots {
        0 if now.is_waiting(total) => WAITING.to_owned(),
        0 => String::new(),
        1 => "1 slot".to_owned(),
        many => format!("{many} slots"),
    };
    let (recorded, all) = (grouped(now.recorded), grouped(total));
    // What ran of late says nothing while nothing runs.
    let rate = if now.is_waiting(total) { 0.0 } else { rate };
    let eta = eta(total.saturating_sub(now.recorded + now.given_up), rate);
    let failed = if now.failed > 0 { format!(", {} failed", grouped(now.failed)) } else { String::new() };
    vec![format!("{recorded}/{all} samples{failed}"), speed(rate), eta, slots]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let start = Instant::now();
        let mut lines = Lines { stage: "infer", total: 60_000, pace: Pace::new(start, 20), told: BTreeMap::new() };
        let now = start + Duration::from_secs(10);
        let snapshot = Snapshot { recorded: 1_120, slots: 2, ..Snapshot::default() };
        let first = lines.line(snapshot, now, scores(&[("sums_gen", "93.2"), ("piqa", "50.0")]), 180);
        let known = "infer  1,120/60,000 samples  110.0 samples/s  eta 8m 55s  2 slots";
        assert_eq!(first, format!("{known}  sums_gen 93.2, piqa 50.0"));
        // Only what has changed is said once more.
        let second = lines.line(snapshot, now, scores(&[("sums_gen", "93.3"), ("piqa", "50.0")]), 180);
        assert_eq!(second, format!("{known}  sums_gen 93.3"));
        let waiting = lines.line(Snapshot::default(), now, Vec::new(), 180);
        assert_eq!(waiting, "infer  0/60,000 samples  0.0 samples/s  eta unknown  waiting for a slot");
    }

    #[test]
    fn no_time_is_foretold_while_no_slot_works() {
        let waiting = Snapshot { recorded: 100, ..Snapshot::default() };
        assert_eq!(status(240, waiting, 2.0), "100/240 samples  0.0 samples/s  eta unknown  waiting for a slot");
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start, 0);
        observe(&mut pace, after(60), Snapshot::default(), 240);
        let joined = Snapshot { recorded: 20, slots: 1, ..Snapshot::default() };
        observe(&mut pace, after(62), joined, 240);
        assert_eq!(pace.rate(after(62), 20), 10.0, "since the worker joined");
        let done = Snapshot { recorded: 240, ..Snapshot::default() };
        observe(&mut pace, after(84), done, 240);
        assert_eq!(pace.rate(after(84), 240), 10.0, "what is over does not wait");
    }

    #[test]
    fn failed_samples_are_counted_and_not_waited_for() {
        let all = Snapshot { failed: 1_240, given_up: 1_240, slots: 1, ..Snapshot::default() };
        assert_eq!(status(1_240, all, 0.0), "0/1,240 samples, 1,240 failed  0.0 samples/s  done  1 slot");
        let gone = Snapshot { recorded: 200, failed: 40, given_up: 40, ..Snapshot::default() };
        assert_eq!(status(240, gone, 2.0), "200/240 samples, 40 failed  2.0 samples/s  done");
        let some = Snapshot { recorded: 100, failed: 40, given_up: 40, slots: 2 };
        assert_eq!(status(240, some, 2.0), "100/240 samples, 40 failed  2.0 samples/s  eta 50s  2 slots");
        // What is recorded as failed is among the recorded.
        let poison = Snapshot { recorded: 140, failed: 3, given_up: 0, slots: 2 };
        assert_eq!(status(240, poison, 2.0), "140/240 samples, 3 failed  2.0 samples/s  eta 50s  2 slots");
    }

    #[test]
    fn a_line_is_never_longer_than_a_log_has_room_for() {
        let start = Instant::now();
        let mut lines = Lines { stage: "infer", total: 6_000, pace: Pace::new(start, 0), told: BTreeMap::new() };
        let many: Vec<(String, String)> =
            (0..60).map(|at| (format!("model-{at}/dataset"), "12.5".to_owned())).collect();
        let snapshot = Snapshot { recorded: 100, slots: 2, ..Snapshot::default() };
        let mut told = 0;
        for _ in 0..60 {
            let line = lines.line(snapshot, start + Duration::from_secs(1), many.clone(), 180);
            assert!(line.chars().count() <= 180, "{line}");
            told += line.matches("12.5").count();
        }
        // Every score has its turn.
        assert_eq!(told, 60);
    }
}
