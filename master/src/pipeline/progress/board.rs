//! Where a stage writes how far it is, and what workers reported of its scores.

use super::shown::{show_bar, show_lines};
use super::text::grouped;
use crate::pipeline::view::LiveMetric;
use compass_common::status_output::{is_terminal, print_status};
use compass_plan::Plan;
use compass_proto::v1;
use compass_types::ids::UnitId;
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// How far a stage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub recorded: u64,
    pub workers: u32,
    pub slots: u32,
}

impl Snapshot {
    /// As it is shown: what was kept from before counts from the beginning on, when nothing is put up yet.
    pub(super) fn with_kept(self, already: u64) -> Self {
        Self { recorded: self.recorded.max(already), ..self }
    }
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

    /// Names and values as they are shown: `sums_gen`, `93.2`.
    pub(super) fn live_scores(&self) -> Vec<(String, String)> {
        let several = self.plan.models.len() > 1;
        let scores = self.live().into_iter().map(|metric| {
            let model = if several { format!("{}/", metric.model) } else { String::new() };
            (format!("{model}{}", metric.dataset), format!("{:.1}", metric.value))
        });
        scores.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_shown_before_anything_is_put_up() {
        assert_eq!(Snapshot::default().with_kept(152).recorded, 152);
        assert_eq!(Snapshot { recorded: 160, ..Snapshot::default() }.with_kept(152).recorded, 160);
    }

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
        assert_eq!(board.live_scores(), [("d".to_owned(), "60.0".to_owned())]);
    }
}
