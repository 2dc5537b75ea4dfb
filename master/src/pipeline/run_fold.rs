//! What a new leader takes in of the ledger: in one pass, entry by entry, so that no ledger is ever in memory whole.

use super::facts::RunFacts;
use super::opening::Opening;
use super::pins::recorded_pin;
use super::progress::ProgressBoard;
use crate::leader::{Costs, FailedSamples, Pins};
use compass_launch::is_local;
use compass_ledger::{Kind, LedgerEntry, LedgerSummary, Reopened};
use compass_plan::Plan;
use compass_plan::weights::Pin;
use compass_proto::{FailureMark, intervals_from_wire, v1};
use compass_scheduler::DeviceType;
use compass_types::ids::{ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};

/// Leaders count from 1: what is of none was imported.
const IMPORTED: u64 = 0;

/// The record of a run while the ledger is read.
#[derive(Debug)]
pub(super) struct RunFold<'p> {
    plan: &'p Plan,
    /// Whether samples that failed for their engine's reason are run again.
    reopens: bool,
    /// Whether workers on other hosts may still report what they sent.
    others_report: bool,
    opening: Opening,
    facts: RunFacts,
    board: ProgressBoard,
    pins: BTreeMap<ModelId, Pin>,
    computed_on: BTreeMap<ModelId, DeviceType>,
    costs: Costs,
    failed: FailedSamples,
    reopened: BTreeMap<UnitId, Vec<u32>>,
    /// How many failures of each unit were reported that count no more.
    forgiven: BTreeMap<UnitId, u64>,
    /// Samples of which a worker has reported a score.
    reported: BTreeMap<UnitId, Vec<(u32, u32)>>,
    /// Recorded samples of workers that report no more.
    settled: BTreeMap<UnitId, Vec<u32>>,
    /// The group of each sample whose request others repeat, and the groups of which a result was counted.
    groups: BTreeMap<(UnitId, u32), usize>,
    counted: BTreeSet<usize>,
}

/// What a leader knows once it has read the ledger.
#[derive(Debug)]
pub(super) struct Inherited {
    pub(super) opening: Opening,
    pub(super) facts: RunFacts,
    pub(super) board: ProgressBoard,
    pub(super) pins: Pins,
    pub(super) costs: Costs,
    pub(super) failed: FailedSamples,
    /// Samples that failed, and are run again from now on.
    pub(super) reopened: Reopened,
    /// Samples of which an engine died before, and that have no result.
    pub(super) suspects: BTreeMap<UnitId, IntervalSet>,
    /// Samples that are recorded, and that no worker will report.
    pub(super) unreported: BTreeMap<UnitId, IntervalSet>,
}

impl<'p> RunFold<'p> {
    /// Nothing is read yet; `groups` are the samples that repeat one another's requests.
    pub(super) fn new(
        plan: &'p Plan,
        groups: impl Iterator<Item = Vec<(UnitId, u32)>>,
        opening: Opening,
        (facts, board): (RunFacts, ProgressBoard),
        (reopens, others_report): (bool, bool),
    ) -> Self {
        let groups = groups.enumerate().flat_map(|(at, group)| group.into_iter().map(move |sample| (sample, at)));
        Self {
            plan,
            reopens,
            others_report,
            opening,
            facts,
            board,
            pins: BTreeMap::new(),
            computed_on: BTreeMap::new(),
            costs: Costs::new(plan),
            failed: FailedSamples::default(),
            reopened: BTreeMap::new(),
            forgiven: BTreeMap::new(),
            reported: BTreeMap::new(),
            settled: BTreeMap::new(),
            groups: groups.collect(),
            counted: BTreeSet::new(),
        }
    }

    /// Recorded lengths of the ledger's segments.
    pub(super) fn lengths(&self) -> &BTreeMap<String, u64> {
        self.opening.lengths()
    }

    /// Takes in the next entry.
    pub(super) fn take(&mut self, entry: &LedgerEntry) {
        let unit = UnitId(entry.unit);
        match entry.kind() {
            Kind::Sample => self.sample(unit, entry),
            Kind::Pin => {
                if let Some((model, pin)) = recorded_pin(entry) {
                    self.pins.entry(model).or_insert(pin);
                }
            }
            Kind::Report => {
                if let Ok(report) = v1::ShardReport::decode(entry.payload.as_slice()) {
                    let unit = UnitId(report.unit);
                    let samples = intervals_from_wire(&report.samples);
                    self.reported.entry(unit).or_default().extend_from_slice(samples.pairs());
                    self.board.report(unit, &entry.payload);
                }
            }
            Kind::Reopened => {
                if let Some((unit, samples)) = Reopened::of(entry) {
                    *self.forgiven.entry(unit).or_default() += u64::from(samples.len());
                }
            }
            _ => {}
        }
        self.facts.fold(entry);
    }

    fn sample(&mut self, unit: UnitId, entry: &LedgerEntry) {
        let (model, device) = (self.plan.model_of(unit), DeviceType::from_number(entry.device));
        if device != DeviceType::Unknown {
            self.computed_on.entry(model).or_insert(device);
        }
        let Ok(mark) = FailureMark::decode(entry.payload.as_slice()) else { return };
        if self.reopens && mark.engine_failed && mark.failed.is_some() {
            self.reopened.entry(unit).or_default().push(mark.index);
            *self.forgiven.entry(unit).or_default() += 1;
            return;
        }
        if mark.failed.is_some() {
            self.failed.add(entry.epoch, entry.task);
        }
        if self.costs.counts(model)
            && let Ok(result) = v1::SampleResult::decode(entry.payload.as_slice())
        {
            self.costs.add(model, &result);
        }
        self.opening.result(unit, mark.index, &entry.payload, device);
        // Of equal requests one was computed.
        let is_copy = self.groups.get(&(unit, mark.index)).is_some_and(|group| !self.counted.insert(*group));
        let worker = WorkerId(entry.worker.clone());
        if entry.epoch == IMPORTED || is_local(&worker) || !self.others_report {
            self.settled.entry(unit).or_default().push(mark.index);
        }
        if entry.epoch != IMPORTED && !is_copy {
            self.facts.recorded(&worker);
        }
    }

    /// Everything is read.
    pub(super) fn end(mut self, summary: LedgerSummary, now: String) -> Inherited {
        let recorded = self.opening.recorded();
        let indices = |indices: Vec<u32>| IntervalSet::from_pairs(indices.into_iter().map(|at| (at, at + 1)));
        let reopened = self.reopened.into_iter().map(|(unit, samples)| (unit, indices(samples))).collect();
        let reopened = Reopened(reopened);
        let suspects = Reopened(summary.reopened).and(reopened.clone()).0.into_iter();
        let suspects = suspects.map(|(unit, samples)| (unit, samples.minus(&recorded.done(unit))));
        let suspects = suspects.filter(|(_, samples)| !samples.is_empty()).collect();
        let reported: BTreeMap<UnitId, IntervalSet> =
            self.reported.into_iter().map(|(unit, pairs)| (unit, IntervalSet::from_pairs(pairs))).collect();
        let is_reported =
            |(unit, index): &(UnitId, u32)| reported.get(unit).is_some_and(|samples| samples.contains(*index));
        // No worker reports what was copied: of a group that is recorded, all but the one that was reported.
        let reported_groups: BTreeSet<usize> =
            self.groups.iter().filter(|(sample, _)| is_reported(sample)).map(|(_, group)| *group).collect();
        let mut copies: BTreeMap<UnitId, Vec<u32>> = BTreeMap::new();
        for (sample, group) in &self.groups {
            let (unit, index) = *sample;
            if reported_groups.contains(group) && !is_reported(sample) && recorded.contains(unit, index) {
                copies.entry(unit).or_default().push(index);
            }
        }
        let none = IntervalSet::new();
        let mut without_report = BTreeMap::new();
        for (unit, _) in recorded.by_unit() {
            let copied = indices(copies.remove(&unit).unwrap_or_default());
            let unreported = recorded.done(unit).minus(reported.get(&unit).unwrap_or(&none)).minus(&copied);
            let settled = indices(self.settled.remove(&unit).unwrap_or_default());
            without_report.insert(unit, settled.minus(&settled.minus(&unreported)));
            self.board.kept(unit, unreported, copied.len().into());
        }
        self.forgiven.into_iter().for_each(|(unit, samples)| self.board.forgive(unit, samples));
        let mut pins = Pins::new(self.plan, self.pins);
        self.computed_on.into_iter().for_each(|(model, device)| pins.computed(model, device));
        self.facts.resumed_samples = recorded.len();
        self.facts.begin(now);
        Inherited {
            opening: self.opening,
            facts: self.facts,
            board: self.board,
            pins,
            costs: self.costs,
            failed: self.failed,
            reopened,
            suspects,
            unreported: without_report,
        }
    }
}
