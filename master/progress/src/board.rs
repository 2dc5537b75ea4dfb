//! Board on which a stage writes its progress, and what workers reported of its scores.

use super::live_metric::{LiveMetric, scores};
use super::snapshot::Snapshot;
use compass_plan::Plan;
use compass_proto::{intervals_from_wire, v1};
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Board on which the driver writes the progress. Cheap: only the latest counts.
#[derive(Clone, Debug)]
pub struct ProgressBoard {
    pub plan: Arc<Plan>,
    pub snapshots: watch::Sender<Snapshot>,
    pub(super) live: Arc<Mutex<BTreeMap<UnitId, Live>>>,
}

/// Reports on a unit, added up. Its first metric is the mean over reports, by their samples. For a metric that is no
/// mean, only scoring tells what it is of them all together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Live {
    name: String,
    sum: f64,
    samples: f64,
    failed: u64,
    /// Samples that earlier leaders recorded and no worker has reported a score of.
    unreported: IntervalSet,
    /// Samples that earlier leaders recorded with the result of another.
    copied: u64,
}

impl Live {
    fn add(&mut self, report: &v1::ShardReport) {
        if !self.unreported.is_empty() {
            self.unreported = self.unreported.minus(&intervals_from_wire(&report.samples));
        }
        self.failed += u64::from(report.failed);
        let Some(first) = report.first.as_ref().filter(|first| first.value.is_finite() && report.scored > 0) else {
            return;
        };
        if self.name.is_empty() {
            self.name.clone_from(&first.name);
        }
        // Of another name: a worker of another version, which is shown nowhere.
        if self.name == first.name {
            let samples = f64::from(report.scored);
            (self.sum, self.samples) = (self.sum + first.value * samples, self.samples + samples);
        }
    }

    /// A mean without samples that were kept is another number than the table's.
    fn value(&self) -> Option<f64> {
        (self.samples > 0.0 && self.unreported.is_empty()).then(|| self.sum / self.samples)
    }
}

impl ProgressBoard {
    /// A board without watchers yet.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { plan, snapshots: watch::Sender::new(Snapshot::default()), live: Arc::default() }
    }

    /// Earlier leaders recorded these samples of a unit of which no worker has reported a score, and so many with the result of
    /// another.
    pub fn kept(&self, unit: UnitId, unreported: IntervalSet, copied: u64) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let unit = live.entry(unit).or_default();
        (unit.unreported, unit.copied) = (unreported, copied);
    }

    /// So many failures of a unit that were reported count no more: their samples are run again.
    pub fn forgive(&self, unit: UnitId, failures: u64) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let unit = live.entry(unit).or_default();
        unit.failed = unit.failed.saturating_sub(failures);
    }

    /// Puts up a snapshot.
    pub fn publish(&self, snapshot: Snapshot) {
        self.snapshots.send_if_modified(|held| std::mem::replace(held, snapshot) != snapshot);
    }

    /// Adds a worker's shard metrics to the live ones. They are shown, never believed: the ledger makes the table.
    pub fn report(&self, report: &v1::ShardReport) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.entry(UnitId(report.unit)).or_default().add(report);
    }

    /// Samples of the job.
    pub fn expected(&self) -> u64 {
        self.plan.expected()
    }

    /// Every unit, in the plan's order: with how many of its samples are `recorded`, of these `copied` from another's result, and what
    /// was reported of it.
    pub fn live(
        &self,
        recorded: impl Iterator<Item = (UnitId, u64)>,
        copied: &BTreeMap<UnitId, u64>,
    ) -> Vec<LiveMetric> {
        let recorded: BTreeMap<UnitId, u64> = recorded.collect();
        let reported = self.live.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let metrics = self.plan.units().map(|unit| {
            let live = reported.get(&unit.id).cloned().unwrap_or_default();
            let metric = LiveMetric {
                model: unit.model.abbr.clone(),
                dataset: unit.dataset.abbr.clone(),
                recorded: recorded.get(&unit.id).copied().unwrap_or_default(),
                expected: unit.dataset.samples.into(),
                copied: live.copied + copied.get(&unit.id).copied().unwrap_or_default(),
                scored: live.samples as u64,
                failed: live.failed,
                value: live.value(),
                metric: live.name,
                interval: None,
            };
            metric.with_interval()
        });
        metrics.collect()
    }

    /// Returns names and values as they are shown: `sums_gen`, `93.2`.
    pub(super) fn live_scores(&self) -> Vec<(String, String)> {
        scores(&self.live(std::iter::empty(), &BTreeMap::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_common::job_log::{JobLog, LogLine};
    use compass_common::status_output::with_log;
    use compass_proto::intervals_to_wire;

    #[test]
    fn what_was_kept_is_shown_before_anything_is_put_up() {
        assert_eq!(Snapshot::default().with_kept(152).recorded, 152);
        assert_eq!(Snapshot { recorded: 160, ..Snapshot::default() }.with_kept(152).recorded, 160);
    }

    /// Formerly told as a line in between where it stood for half a minute before the stage ended: a client that draws a bar
    /// saw the stage go without a word.
    #[tokio::test]
    async fn the_complete_count_is_told_once_as_the_closing_line() {
        let board = ProgressBoard::new(Arc::new(compass_plans::planned().plan));
        let total = board.expected();
        let log = Arc::new(JobLog::ended());
        let shown = tokio::spawn(with_log(log.clone(), board.show("infer", 0)));
        board.publish(Snapshot { recorded: total, slots: 2, ..Snapshot::default() });
        while board.snapshots.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        // The first line is due at once.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(log.read(0).0, []);
        drop(board);
        shown.await.unwrap();
        let (lines, _) = log.read(0);
        let [LogLine::Status(line)] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(
            line.contains(&format!("infer  {total}/{total} samples  ")) && line.ends_with("  done  2 slots"),
            "{line}"
        );
    }

    #[test]
    fn live_metrics_are_means_over_the_samples_of_reports() {
        let report = |scored: u32, name: &str, value: f64| {
            let first = Some(v1::ShownMetric { name: name.into(), value });
            v1::ShardReport { scored, first, ..Default::default() }
        };
        let plan = compass_plans::planned().plan;
        let board = ProgressBoard::new(Arc::new(plan));
        for report in [
            report(30, "accuracy", 50.0),
            report(10, "accuracy", 90.0),
            report(7, "other", 0.0),
            report(5, "accuracy", f64::NAN),
            v1::ShardReport { scored: 9, failed: 4, ..Default::default() },
        ] {
            board.report(&report);
        }
        assert_eq!(board.live_scores(), [("d".to_owned(), "60.0".to_owned())]);
        let live = board.live([(UnitId(0), 51)].into_iter(), &BTreeMap::from([(UnitId(0), 7)]));
        let [metric] = live.as_slice() else { panic!("{live:?}") };
        assert_eq!((metric.recorded, metric.scored, metric.failed, metric.value), (51, 40, 4, Some(60.0)));
        assert!(metric.copied == 7 && metric.interval.is_some(), "{metric:?}");
    }

    #[test]
    fn every_unit_is_listed_before_it_has_begun() {
        let plan = Arc::new(compass_plans::planned().plan);
        let board = ProgressBoard::new(plan);
        let live = board.live(std::iter::empty(), &BTreeMap::new());
        let [metric] = live.as_slice() else { panic!("{live:?}") };
        assert_eq!((metric.dataset.as_str(), metric.recorded, metric.expected), ("d", 0, 2));
        assert_eq!((metric.value, metric.interval), (None, None));
        assert!(board.live_scores().is_empty());
    }

    #[test]
    fn a_unit_with_kept_samples_shows_no_score_of_the_others_alone() {
        let plan = Arc::new(compass_plans::planned().plan);
        let samples = plan.unit(UnitId(0)).unwrap().dataset.samples;
        let report = |first: u32, end: u32, value: f64| {
            let samples = intervals_to_wire(&IntervalSet::range(first, end));
            let shown = Some(v1::ShownMetric { name: "accuracy".into(), value });
            v1::ShardReport { scored: end - first, samples, first: shown, ..Default::default() }
        };
        let resumed = ProgressBoard::new(plan.clone());
        resumed.kept(UnitId(0), IntervalSet::range(0, 1), 0);
        resumed.report(&report(1, samples, 50.0));
        assert_eq!(resumed.live_scores(), []);
        let live = resumed.live([(UnitId(0), samples.into())].into_iter(), &BTreeMap::new());
        assert_eq!((live[0].recorded, live[0].value), (samples.into(), None), "neither on the page");
        // Its worker reports it to this leader, or it is computed once more.
        resumed.report(&report(0, 1, 50.0));
        assert_eq!(resumed.live_scores(), [("d".to_owned(), "50.0".to_owned())]);
        let begun = ProgressBoard::new(plan);
        begun.kept(UnitId(0), IntervalSet::new(), 3);
        begun.report(&report(1, samples, 50.0));
        assert_eq!(begun.live_scores().len(), 1, "what was kept was reported, or copied");
        assert_eq!(begun.live(std::iter::empty(), &BTreeMap::from([(UnitId(0), 2)]))[0].copied, 5);
    }
}
