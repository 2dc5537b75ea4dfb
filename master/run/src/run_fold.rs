//! Reading of the ledger by a new leader: in one pass, entry by entry, so that no ledger is ever in memory whole.

use super::leader::{Costs, FailedSamples, Pins};
use super::opening::Opening;
use compass_launch::is_local;
use compass_ledger::{Kind, LedgerEntry, LedgerSummary, Reopened};
use compass_plan::Plan;
use compass_plan::weights::Pin;
use compass_planning::recorded_pin;
use compass_progress::{ProgressBoard, RunFacts};
use compass_proto::intervals_from_wire;
use compass_scheduler::DeviceType;
use compass_types::ids::{ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use compass_types::result::SampleResult;
use std::collections::{BTreeMap, BTreeSet};

/// Leaders count from 1: what is of none was imported.
const IMPORTED: u64 = 0;

/// The record of a run while the ledger is read.
#[derive(Debug)]
pub(super) struct RunFold<'p> {
    plan: &'p Plan,
    /// Set if samples that failed for their engine's reason are run again.
    reopens: bool,
    /// Set if workers on other hosts may still report what they sent.
    others_report: bool,
    opening: Opening,
    facts: RunFacts,
    board: ProgressBoard,
    pins: BTreeMap<ModelId, Pin>,
    computed_on: BTreeMap<ModelId, DeviceType>,
    costs: Costs,
    failed: FailedSamples,
    reopened: BTreeMap<UnitId, Vec<u32>>,
    /// Number of failures of each unit that were reported and count no more.
    forgiven: BTreeMap<UnitId, u64>,
    /// Samples of which a worker has reported a score.
    reported: BTreeMap<UnitId, Vec<(u32, u32)>>,
    /// First answers of samples that ask for more, by unit.
    drawn: BTreeMap<UnitId, BTreeMap<u32, SampleResult>>,
    /// Recorded samples of workers that report no more.
    settled: BTreeMap<UnitId, Vec<u32>>,
    /// The group of each sample whose request others repeat, and the groups of which a result was counted.
    groups: BTreeMap<(UnitId, u32), usize>,
    counted: BTreeSet<usize>,
}

/// Knowledge of a leader that has read the ledger.
#[derive(Debug)]
pub(super) struct Inherited {
    pub opening: Opening,
    pub facts: RunFacts,
    pub board: ProgressBoard,
    pub pins: Pins,
    pub(super) costs: Costs,
    pub failed: FailedSamples,
    /// Samples that failed, and are run again from now on.
    pub(super) reopened: Reopened,
    /// Samples of which an engine died before, and that have no result.
    pub suspects: BTreeMap<UnitId, IntervalSet>,
    /// First answers of samples that ask for more, drawn by an earlier run.
    pub drawn: BTreeMap<UnitId, BTreeMap<u32, SampleResult>>,
    /// Samples that are recorded, and that no worker will report.
    pub(super) unreported: BTreeMap<UnitId, IntervalSet>,
}

impl<'p> RunFold<'p> {
    /// Nothing is read yet; `groups` are the samples that repeat one another's requests.
    pub(crate) fn new(
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
            drawn: BTreeMap::new(),
            settled: BTreeMap::new(),
            groups: groups.collect(),
            counted: BTreeSet::new(),
        }
    }

    /// Recorded lengths of the ledger's segments.
    pub(crate) fn lengths(&self) -> &BTreeMap<String, u64> {
        self.opening.lengths()
    }

    /// Takes in the next entry.
    pub(crate) fn take(&mut self, entry: &LedgerEntry) {
        let unit = UnitId(entry.unit);
        match entry.kind() {
            Kind::Sample => self.sample(unit, entry),
            Kind::Pin => {
                if let Some((model, pin)) = recorded_pin(entry) {
                    self.pins.entry(model).or_insert(pin);
                }
            }
            Kind::Report => {
                if let Some(report) = entry.report() {
                    let unit = UnitId(report.unit);
                    let samples = intervals_from_wire(&report.samples);
                    self.reported.entry(unit).or_default().extend_from_slice(samples.pairs());
                    self.board.report(&report);
                }
            }
            Kind::Drawn => {
                if let Some(drawn) = entry.drawn() {
                    self.drawn.entry(unit).or_default().insert(drawn.index, drawn);
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
        let Some(mark) = entry.mark() else { return };
        if self.reopens && mark.engine_failed && mark.failed.is_some() {
            self.reopened.entry(unit).or_default().push(mark.index);
            *self.forgiven.entry(unit).or_default() += 1;
            return;
        }
        if mark.failed.is_some() {
            self.failed.add(entry.epoch, entry.task);
        }
        if self.costs.counts(model)
            && let Some(result) = entry.result()
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
    pub(crate) fn end(mut self, summary: LedgerSummary, now: String) -> Inherited {
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
            drawn: self.drawn,
            unreported: without_report,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_ledger::{Ledger, WorkerEvent};
    use compass_plan::engine::TokenCounters;
    use compass_plans::{damaged_run, planned, result};
    use compass_proto::{intervals_to_wire, v1};
    use compass_scheduler::Progress;
    use compass_store::Keys;
    use compass_types::ids::{Digest, Epoch};
    use compass_types::result::{Finish, Generation, Outcome};
    use prost::Message as _;
    use std::sync::Arc;
    use std::time::Duration;

    fn fold<'p>(plan: &'p Arc<Plan>, groups: Vec<Vec<(UnitId, u32)>>, reopens: bool) -> RunFold<'p> {
        let opening = Opening::observe(Keys::new(&Digest::of(b"plan")), &BTreeMap::new()).unwrap();
        let told = (RunFacts::of_plan(plan), ProgressBoard::new(plan.clone()));
        RunFold::new(plan, groups.into_iter(), opening, told, (reopens, true))
    }

    fn sample(worker: &str, result: v1::SampleResult) -> LedgerEntry {
        let payload = result.encode_to_vec();
        let kind = Kind::Sample.into();
        LedgerEntry { kind, worker: worker.into(), epoch: 1, payload, ..LedgerEntry::default() }
    }

    fn of(index: u32) -> v1::SampleResult {
        v1::SampleResult::from(&result(index, 0))
    }

    fn failed(index: u32, engine_failed: bool) -> v1::SampleResult {
        let outcome = Outcome::Failed { reason: "why".into() };
        let result = v1::SampleResult::from(&SampleResult { outcome, ..result(index, 0) });
        v1::SampleResult { engine_failed, ..result }
    }

    fn report(worker: &str, samples: &IntervalSet) -> LedgerEntry {
        let tokens = TokenCounters { submitted: 90, distinct: 50, computed: 60, ..TokenCounters::default() };
        let report = v1::ShardReport {
            samples: intervals_to_wire(samples),
            scored: samples.len(),
            seconds: 2.5,
            tokens: Some(tokens.into()),
            notes: vec!["a note".into()],
            first: Some(v1::ShownMetric { name: "accuracy".into(), value: 50.0 }),
            ..Default::default()
        };
        let (kind, payload) = (Kind::Report.into(), report.encode_to_vec());
        LedgerEntry { kind, worker: worker.into(), payload, ..LedgerEntry::default() }
    }

    /// Returns what a first master knows, and the entries that it leaves.
    fn first_term(plan: &Arc<Plan>) -> (RunFacts, Vec<LedgerEntry>) {
        let worker = WorkerId("w".into());
        let mut facts = RunFacts::of_plan(plan);
        facts.begin("then".into());
        let events = [
            facts.attached(&worker, 2, "cpu", "pool"),
            facts.attached(&worker, 2, "cpu", "pool"),
            facts.model(&worker, ModelId(0), br#"{"device": "cpu", "notes": ["loaded"]}"#),
            facts.model(&worker, ModelId(0), br#"{"device": "cpu", "notes": ["loaded"]}"#),
        ];
        let events: Vec<WorkerEvent> = events.into_iter().flatten().collect();
        assert_eq!(events.len(), 2, "what is known is no event");
        let mut entries: Vec<LedgerEntry> =
            events.iter().map(|event| event.entry(&worker, Epoch(1)).unwrap()).collect();
        entries.extend([sample("w", of(0)), sample("w", of(1)), report("w", &IntervalSet::range(0, 2))]);
        facts.results(&worker, 2);
        facts.report(&worker, entries.last().unwrap().report().unwrap());
        facts.ended(&worker);
        let progress = Progress { retries: 1, loads: 3, stolen: 4, recorded: 2, ..Progress::default() };
        facts.count(&progress, 0, Duration::from_millis(5_500));
        entries.push(facts.tally().entry(Epoch(1)).unwrap());
        (facts, entries)
    }

    #[test]
    fn the_record_of_a_run_is_that_of_all_its_masters() {
        let plan = Arc::new(planned().plan);
        let (first, entries) = first_term(&plan);
        let mut fold = fold(&plan, Vec::new(), true);
        entries.iter().for_each(|entry| fold.take(entry));
        let Inherited { mut facts, board, .. } = fold.end(LedgerSummary::default(), "now".into());
        let live = board.live([(UnitId(0), 2)].into_iter(), &BTreeMap::new());
        assert_eq!((live[0].value, live[0].scored), (Some(50.0), 2), "the page has the score of what was done");
        // A second master has nothing to do.
        facts.count(&Progress { recorded: 2, ..Progress::default() }, 0, Duration::from_millis(100));
        let view = facts.view(|_| false);
        assert_eq!((view.seconds, view.retries, view.workers[0].results), (5.6, 1, 2));
        assert_eq!(facts.tokens_line(), first.tokens_line());
        assert_eq!(facts.seconds, 5.6);
        let json = |facts: &RunFacts| {
            let mut json = serde_json::to_value(facts).unwrap();
            for of_term in ["seconds", "resumed_samples"] {
                json.as_object_mut().unwrap().remove(of_term);
            }
            json
        };
        assert_eq!(json(&facts), json(&first));
    }

    #[test]
    fn copies_are_no_work_of_a_worker_and_hide_no_score() {
        let plan = Arc::new(planned().plan);
        let mut fold = fold(&plan, vec![vec![(UnitId(0), 0), (UnitId(0), 1)]], true);
        // The copy is recorded before its original.
        for entry in [sample("w", of(1)), sample("w", of(0)), report("w", &IntervalSet::range(0, 1))] {
            fold.take(&entry);
        }
        let Inherited { facts, board, .. } = fold.end(LedgerSummary::default(), String::new());
        let live = board.live([(UnitId(0), 2)].into_iter(), &BTreeMap::new());
        assert_eq!((facts.workers["w"].results, live[0].copied, live[0].value), (1, 1, Some(50.0)));
    }

    #[test]
    fn samples_that_failed_for_their_engines_reason_are_run_again() {
        let plan = Arc::new(planned().plan);
        let entries = [sample("w", failed(0, true)), sample("w", failed(1, false))];
        let again = BTreeMap::from([(UnitId(0), IntervalSet::range(0, 1))]);
        for reopens in [true, false] {
            let mut fold = fold(&plan, Vec::new(), reopens);
            entries.iter().for_each(|entry| fold.take(entry));
            let inherited = fold.end(LedgerSummary::default(), String::new());
            let kept = if reopens { vec![1] } else { vec![0, 1] };
            let done: Vec<u32> = inherited.opening.recorded().done(UnitId(0)).iter().collect();
            assert_eq!((done, inherited.failed.samples), (kept.clone(), kept.len() as u64));
            let expected = if reopens { again.clone() } else { BTreeMap::new() };
            assert_eq!((inherited.reopened.0, inherited.suspects), (expected.clone(), expected));
        }
        // A leader that ended before it had run them again left them open.
        let mut fold = fold(&plan, Vec::new(), false);
        fold.take(&entries[1]);
        let summary = LedgerSummary { reopened: again.clone(), ..LedgerSummary::default() };
        let inherited = fold.end(summary, String::new());
        assert_eq!((inherited.reopened.0.len(), inherited.suspects), (0, again));
    }

    #[test]
    fn answers_that_were_drawn_before_are_no_results_and_every_leader_knows_them() {
        let plan = Arc::new(planned().plan);
        let answer = Generation::new("a", 1, Finish::Eos);
        let drawn = SampleResult { outcome: Outcome::Generated(vec![answer]), ..result(1, 0) };
        let kept = LedgerEntry { kind: Kind::Drawn.into(), epoch: 0, ..sample("run", v1::SampleResult::from(&drawn)) };
        // The first leader was killed before anything was recorded, the second after all was.
        for recorded in [vec![], vec![sample("w", of(1)), sample("w", of(0))]] {
            let mut fold = fold(&plan, Vec::new(), true);
            std::iter::once(&kept).chain(&recorded).for_each(|entry| fold.take(entry));
            let inherited = fold.end(LedgerSummary::default(), String::new());
            assert_eq!(inherited.opening.recorded().len(), recorded.len() as u64);
            assert_eq!(inherited.drawn, BTreeMap::from([(UnitId(0), BTreeMap::from([(1, drawn.clone())]))]));
            assert_eq!(
                (inherited.facts.resumed_samples, inherited.unreported.len()),
                (recorded.len() as u64, recorded.len().min(1))
            );
        }
    }

    #[test]
    fn damaged_entries_are_passed_over() {
        let work_dir = tempfile::tempdir().unwrap();
        let (folder, plan, digest) = damaged_run(work_dir.path());
        let plan = Arc::new(plan);
        let mut fold = fold(&plan, Vec::new(), true);
        let summary = Ledger::new(folder.ledger(), digest).read(&BTreeMap::new(), &mut |entry| fold.take(&entry));
        let inherited = fold.end(summary.unwrap(), String::new());
        assert_eq!(inherited.opening.recorded().done(UnitId(0)).pairs(), [(0, 2)]);
        assert_eq!((inherited.facts.workers["w"].results, inherited.failed.samples), (2, 0));
        assert_eq!(inherited.facts.workers["w"].busy_seconds, 0.0, "the report says nothing");
    }
}
