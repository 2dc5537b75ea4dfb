//! Progress for people: a bar per stage on a terminal, plain lines otherwise; on standard error.

use super::view::LiveMetric;
use compass_common::status_output::{is_terminal, print_status};
use compass_plan::Plan;
use compass_proto::v1;
use compass_types::ids::UnitId;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

const LINE_EVERY: Duration = Duration::from_secs(2);
const BAR_EVERY: Duration = Duration::from_millis(500);

/// How far a stage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub recorded: u64,
    pub workers: u32,
    pub slots: u32,
}

/// Where the driver writes how far it is. Cheap: only the latest counts.
#[derive(Clone, Debug)]
pub struct ProgressBoard {
    plan: Arc<Plan>,
    snapshots: watch::Sender<Snapshot>,
    live: Arc<Mutex<BTreeMap<UnitId, Live>>>,
}

/// The first metric of the samples reported so far: the mean over reports, by their samples. What it is of them all together
/// only scoring tells, for a metric that is no mean.
#[derive(Clone, Debug, PartialEq)]
struct Live {
    name: String,
    sum: f64,
    samples: f64,
}

impl Live {
    /// Adds a report that has a metric.
    fn add(&mut self, report: &v1::ShardReport, first: &v1::ShownMetric) {
        // Of another name: a worker of another version, which is shown nowhere.
        if self.name == first.name {
            let samples = f64::from(report.scored);
            (self.sum, self.samples) = (self.sum + first.value * samples, self.samples + samples);
        }
    }
}

impl ProgressBoard {
    /// A board without watchers yet.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { plan, snapshots: watch::Sender::new(Snapshot::default()), live: Arc::default() }
    }

    /// Puts up a snapshot.
    pub fn publish(&self, snapshot: Snapshot) {
        self.snapshots.send_if_modified(|held| std::mem::replace(held, snapshot) != snapshot);
    }

    /// Adds a worker's shard metrics to the live ones. They are shown, never believed: the ledger makes the table.
    pub fn report(&self, unit: UnitId, report: &[u8]) {
        let Ok(report) = v1::ShardReport::decode(report) else { return };
        let first = report.first.as_ref().filter(|first| first.value.is_finite() && report.scored > 0);
        let Some(first) = first else { return };
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let none = || Live { name: first.name.clone(), sum: 0.0, samples: 0.0 };
        live.entry(unit).or_insert_with(none).add(&report, first);
    }

    /// Samples of the job.
    pub fn expected(&self) -> u64 {
        self.plan.expected()
    }

    /// The first metric of each unit that has reports.
    pub fn live(&self) -> Vec<LiveMetric> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = live.iter().filter_map(|(unit, live)| {
            let unit = self.plan.unit(*unit)?;
            Some(LiveMetric {
                model: unit.model.abbr.clone(),
                dataset: unit.dataset.abbr.clone(),
                metric: live.name.clone(),
                value: live.sum / live.samples,
            })
        });
        metrics.collect()
    }

    /// `sums_gen 93.2, stories_ppl 95.0`.
    fn live_metrics(&self) -> String {
        let several = self.plan.models.len() > 1;
        let cells = self.live().into_iter().map(|metric| {
            let model = if several { format!("{}/", metric.model) } else { String::new() };
            format!("{model}{} {:.1}", metric.dataset, metric.value)
        });
        cells.collect::<Vec<_>>().join(", ")
    }

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
            if is_terminal() {
                show_bar(stage, total, already, receiver, &board).await;
            } else {
                show_lines(stage, total, already, receiver, &board).await;
            }
        }
    }
}

/// A stage that runs in one go, on the thread that calls it.
#[derive(Debug)]
pub struct StageBar {
    stage: &'static str,
    bar: ProgressBar,
    started: Instant,
    shown: Instant,
}

impl StageBar {
    /// A bar on a terminal; elsewhere a line every two seconds and at the end.
    pub fn new(stage: &'static str, total: u64) -> Self {
        let target = if is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style());
        bar.set_prefix(stage);
        Self { stage, bar, started: Instant::now(), shown: Instant::now() }
    }

    /// So many samples more are through.
    pub fn advance(&mut self, samples: u64) {
        self.bar.inc(samples);
        self.bar.set_message(self.status());
        let ends = Some(self.bar.position()) == self.bar.length();
        if self.bar.is_hidden() && !ends && self.shown.elapsed() >= LINE_EVERY {
            print_status(format!("{:5}  {}", self.stage, self.status()));
            self.shown = Instant::now();
        }
    }

    /// The stage is over.
    pub fn finish(self) {
        let status = self.status();
        let hidden = self.bar.is_hidden();
        self.bar.abandon();
        if hidden {
            print_status(format!("{:5}  {status}", self.stage));
        } else {
            print_status("");
        }
    }

    fn status(&self) -> String {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = done as f64 / seconds.max(1e-3);
        match total.saturating_sub(done) {
            0 => format!("{done}/{total} samples  {rate:.1} samples/s  done"),
            _ if done == 0 => format!("{done}/{total} samples  {rate:.1} samples/s  eta unknown"),
            left => format!("{done}/{total} samples  {rate:.1} samples/s  eta {:.0} s", left as f64 / rate.max(1e-3)),
        }
    }
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{prefix:5}  [{bar:24}]  {wide_msg}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

async fn show_bar(
    stage: &'static str,
    total: u64,
    already: u64,
    mut receiver: watch::Receiver<Snapshot>,
    board: &ProgressBoard,
) {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style());
    bar.set_prefix(stage);
    bar.set_position(already);
    let started = Instant::now();
    let mut timer = tokio::time::interval(BAR_EVERY);
    loop {
        let ended = tokio::select! {
            _ = timer.tick() => false,
            changed = receiver.changed() => changed.is_err(),
        };
        let now = *receiver.borrow();
        bar.set_position(now.recorded);
        bar.set_message(status(total, already, now, started.elapsed(), &board.live_metrics()));
        if ended {
            break;
        }
    }
    bar.abandon();
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
    let started = Instant::now();
    let mut shown = None;
    let mut timer = tokio::time::interval(LINE_EVERY);
    loop {
        let ended = tokio::select! {
            _ = timer.tick() => false,
            changed = receiver.changed() => changed.is_err(),
        };
        let now = *receiver.borrow();
        let due = ended || shown.is_none_or(|(_, at): (Snapshot, Instant)| at.elapsed() >= LINE_EVERY);
        if due && shown.is_none_or(|(before, _)| before != now) {
            print_status(line(stage, total, already, now, started.elapsed(), &board.live_metrics()));
            shown = Some((now, Instant::now()));
        }
        if ended {
            return;
        }
    }
}

/// `infer  120/600 samples  45.2 samples/s  eta 11 s  2 slots  sums_gen 93.2`.
fn line(stage: &str, total: u64, already: u64, now: Snapshot, elapsed: Duration, live: &str) -> String {
    format!("{stage:5}  {}", status(total, already, now, elapsed, live))
}

/// How far, how fast, how long, on what, with which live metrics.
fn status(total: u64, already: u64, now: Snapshot, elapsed: Duration, live: &str) -> String {
    let rate = now.recorded.saturating_sub(already) as f64 / elapsed.as_secs_f64().max(1e-3);
    let eta = match total.saturating_sub(now.recorded) {
        0 => "done".to_owned(),
        left if rate > 0.0 => format!("eta {:.0} s", left as f64 / rate),
        _ => "eta unknown".to_owned(),
    };
    let slots = match now.slots {
        0 if now.recorded == total => String::new(),
        0 => "waiting for workers".to_owned(),
        1 => "1 slot".to_owned(),
        many => format!("{many} slots"),
    };
    let recorded = now.recorded;
    let words = [format!("{recorded}/{total} samples"), format!("{rate:.1} samples/s"), eta, slots, live.to_owned()];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_metrics_are_means_over_the_samples_of_reports() {
        let report = |scored: u32, name: &str, value: f64| {
            let first = Some(v1::ShownMetric { name: name.into(), value });
            v1::ShardReport { scored, first, ..Default::default() }
        };
        let plan = crate::pipeline::score_tests::planned().plan;
        let board = ProgressBoard::new(Arc::new(plan));
        for report in [
            report(30, "accuracy", 50.0),
            report(10, "accuracy", 90.0),
            report(7, "other", 0.0),
            report(5, "accuracy", f64::NAN),
            v1::ShardReport { scored: 9, ..Default::default() },
        ] {
            board.report(UnitId(0), &report.encode_to_vec());
        }
        assert_eq!(board.live_metrics(), "d 60.0");
    }

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let now = Snapshot { recorded: 120, workers: 1, slots: 2 };
        let text = line("infer", 600, 20, now, Duration::from_secs(10), "sums_gen 93.2");
        assert_eq!(text, "infer  120/600 samples  10.0 samples/s  eta 48 s  2 slots  sums_gen 93.2");
        let waiting = line("infer", 600, 0, Snapshot::default(), Duration::from_secs(1), "");
        assert_eq!(waiting, "infer  0/600 samples  0.0 samples/s  eta unknown  waiting for workers");
    }
}
