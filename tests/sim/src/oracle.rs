//! Sees everything, and knows the rules: what is believed, which worker may begin what, what was ever told to whom.

use super::disk::Disk;
use super::job::{Job, JobSample, SampleKey};
use compass_ledger::parse_result;
use compass_plan::Misfit;
use compass_proto::{intervals_from_wire, v1};
use compass_rpc::UnitTerms;
use compass_scheduler::Recorded;
use compass_scheduler::invariants::{B1, C1, C2, C3, C4, G1, G2, H1, H2, L1, Violation, W1};
use compass_store::{AssignmentPage, AssignmentRecord, Op};
use compass_types::ids::{Attempt, Epoch, GrantId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The oracle's knowledge of one job.
#[derive(Debug)]
struct JobHistory {
    /// Samples within recorded lengths: unit and index, with the result's bytes.
    believed: BTreeMap<(u32, u32), Vec<u8>>,
    /// Bytes of each segment that were looked at.
    lengths: BTreeMap<String, u64>,
    /// Worker that was granted a sample last, durably.
    holders: BTreeMap<(u32, u32), String>,
    /// The durable attempt of each sample's task, with its epoch.
    attempts: BTreeMap<(u32, u32), BTreeMap<Epoch, Attempt>>,
    epoch: Epoch,
    /// Workers that were ever granted a sample, durably.
    ever: BTreeMap<(u32, u32), BTreeSet<String>>,
    /// Workers that were ever granted a sample that asks this.
    askers: BTreeMap<(usize, u32), BTreeSet<String>>,
    /// Grants that workers know of.
    grants: BTreeSet<(String, GrantId)>,
    job: Arc<Job>,
    /// By what is asked: samples on which engines died, and how often.
    deaths: BTreeMap<(usize, u32), u32>,
    /// Models that processes of workers have said they cannot load, to the leader of an epoch.
    barred: BTreeSet<(Epoch, String, u64, u32)>,
    /// Samples that get the result of another.
    duplicates: BTreeSet<(u32, u32)>,
    /// Terms of the units: they tell what results look like.
    units: BTreeMap<UnitId, UnitTerms>,
}

/// Checks of a history, and what it has shown.
#[derive(Debug)]
pub(super) struct Oracle {
    jobs: Vec<JobHistory>,
    pub(super) violations: Vec<Violation>,
    /// Number of times that each thing worth seeing happened.
    pub(super) seen: BTreeMap<&'static str, u64>,
    /// The history in words, when it is wanted.
    pub(super) trace: Option<Vec<String>>,
}

impl JobHistory {
    fn new(job: Arc<Job>) -> Self {
        let duplicates = job.duplicates(&Recorded::default()).by_unit();
        let duplicates = duplicates.iter().flat_map(|(unit, samples)| samples.iter().map(|index| (unit.0, index)));
        Self {
            believed: BTreeMap::new(),
            lengths: BTreeMap::new(),
            holders: BTreeMap::new(),
            attempts: BTreeMap::new(),
            epoch: Epoch(0),
            ever: BTreeMap::new(),
            askers: BTreeMap::new(),
            grants: BTreeSet::new(),
            deaths: BTreeMap::new(),
            barred: BTreeSet::new(),
            duplicates: duplicates.collect(),
            units: job.terms(),
            job,
        }
    }

    /// Returns whether a worker was ever granted a sample.
    fn ever_had(&self, worker: &str, unit: u32, index: u32) -> bool {
        self.ever.get(&(unit, index)).is_some_and(|workers| workers.contains(worker))
    }
}

impl Oracle {
    /// An oracle that keeps the history in words if `traces`.
    pub(super) fn new(jobs: &[Arc<Job>], traces: bool) -> Self {
        Self {
            jobs: jobs.iter().cloned().map(JobHistory::new).collect(),
            violations: Vec::new(),
            seen: BTreeMap::new(),
            trace: traces.then(Vec::new),
        }
    }

    /// Returns whether a sample is recorded, as the store tells.
    pub(super) fn believes(&self, (job, unit, index): JobSample) -> bool {
        self.jobs[job].believed.contains_key(&(unit, index))
    }

    /// Number of recorded samples of a job.
    pub(super) fn recorded(&self, job: usize) -> usize {
        self.jobs[job].believed.len()
    }

    pub(super) fn violation(&mut self, id: &'static str, detail: String) {
        self.violations.push(Violation { id, detail });
    }

    pub(super) fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    pub(super) fn note(&mut self, now: u64, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now:>6} {}", text()));
        }
    }

    /// A transaction of `epoch` took effect.
    pub(super) fn committed(&mut self, now: u64, job: usize, (epoch, latest): (Epoch, Epoch), ops: &[Op], disk: &Disk) {
        if epoch < latest || epoch < self.jobs[job].epoch {
            self.violation(L1, format!("epoch {epoch} committed after epoch {latest} had begun"));
        }
        let history = &mut self.jobs[job];
        history.epoch = history.epoch.max(epoch);
        let (segments, assignments) = (history.job.keys.segments(), history.job.keys.assignments());
        for op in ops {
            let Op::Put { key, value } = op else { continue };
            if let Some(name) = key.strip_prefix(&segments) {
                let length = value.as_slice().try_into().map_or(0, u64::from_le_bytes);
                self.believe(job, name, length, disk);
            } else if key.starts_with(&assignments)
                && let Some(page) = AssignmentPage::decode(value)
            {
                if page.replaces.is_some() {
                    self.saw("all that is out was recorded");
                }
                let all = if page.replaces.is_some() { "all that is out, " } else { "" };
                for assignment in page.assignments {
                    self.note(now, || {
                        let AssignmentRecord { worker, unit, attempt, samples } = &assignment;
                        format!("{all}durable: {worker} has {:?} of unit {unit}, attempt {attempt}", samples.pairs())
                    });
                    let history = &mut self.jobs[job];
                    for index in assignment.samples.iter() {
                        let attempts = history.attempts.entry((assignment.unit.0, index)).or_default();
                        attempts.insert(epoch, assignment.attempt);
                        history.holders.insert((assignment.unit.0, index), assignment.worker.0.clone());
                        history.ever.entry((assignment.unit.0, index)).or_default().insert(assignment.worker.0.clone());
                        let asked = history.job.asked((assignment.unit.0, index));
                        history.askers.entry(asked).or_default().insert(assignment.worker.0.clone());
                    }
                }
            }
        }
    }

    /// Notes that this many bytes of a segment exist from now on.
    fn believe(&mut self, job: usize, name: &str, length: u64, disk: &Disk) {
        let before = self.jobs[job].lengths.insert(name.to_owned(), length).unwrap_or(0);
        if length < before {
            self.violation(C1, format!("segment {name} was {before} bytes long and is {length}"));
        }
        if disk.synced(name) < length {
            self.violation(C3, format!("{length} bytes of {name} are recorded, {} are synced", disk.synced(name)));
        }
        if length == before {
            return;
        }
        // What was believed before is read again at the end of a history alone: a read of all with every commit took a third of it.
        match disk.read_between(name, before, length) {
            Err(error) => self.violation(C3, error.to_string()),
            Ok(found) => {
                for (unit, index, result, worker) in found {
                    self.was_entitled(job, (unit, index), &result, &worker);
                    if self.jobs[job].believed.insert((unit, index), result).is_some() {
                        self.violation(C2, format!("sample {index} of unit {unit} is committed twice"));
                    }
                }
            }
        }
    }

    /// Returns whether a worker was ever granted a sample.
    pub(super) fn ever_had(&self, worker: &str, (job, unit, index): JobSample) -> bool {
        self.jobs[job].ever_had(worker, unit, index)
    }

    /// A result is recorded: its worker was granted the sample, and it looks like a result of it.
    fn was_entitled(&mut self, job: usize, (unit, index): SampleKey, result: &[u8], worker: &str) {
        let history = &self.jobs[job];
        if !history.ever_had(worker, unit, index) {
            let askers = history.askers.get(&history.job.asked((unit, index)));
            match askers.is_some_and(|workers| workers.contains(worker)) {
                true => self.saw("a sample got the result of another that asks the same"),
                false => {
                    let detail = format!("sample {index} of unit {unit} is recorded from {worker}, which never had it");
                    self.violation(H1, detail);
                }
            }
        }
        let result = parse_result(result);
        let shape = self.jobs[job].units.get(&UnitId(unit)).map(|unit| &unit.shape);
        let misfit = match (result, shape) {
            (Some(result), Some(shape)) => shape.misfit(index, &result.outcome),
            _ => Some(Misfit::Malformed("no result of the plan".into())),
        };
        if let Some(misfit) = misfit {
            self.violation(H2, format!("sample {index} of unit {unit} is recorded with {misfit}"));
        }
    }

    /// Checks what a new leader, or the report, makes of store and disk.
    pub(super) fn loaded(&mut self, job: usize, found: &BTreeMap<(u32, u32), Vec<u8>>) {
        let believed = &self.jobs[job].believed;
        let lost = believed.keys().find(|key| !found.contains_key(key)).copied();
        let changed = found.iter().find(|(key, result)| believed.get(key) != Some(result)).map(|(key, _)| *key);
        if let Some((unit, index)) = lost {
            self.violation(C1, format!("sample {index} of unit {unit} was committed and is not there"));
        }
        if let Some(key) = changed {
            self.violation(C4, format!("{key:?} is read otherwise than it was committed"));
        }
    }

    /// A frame for a worker leaves a master.
    pub(super) fn told(&mut self, job: usize, (worker, life): (&str, u64), leads: Epoch, frame: &v1::MasterFrame) {
        use v1::master_frame::Body;
        match &frame.body {
            Some(Body::Grant(grant)) => {
                let samples = intervals_from_wire(&grant.samples);
                let id = GrantId::from(grant.id.unwrap_or_default());
                self.jobs[job].grants.insert((worker.to_owned(), id));
                self.granted((job, worker), id, grant.unit, &samples);
                let model = self.jobs[job].job.model(grant.unit);
                if self.jobs[job].barred.contains(&(leads, worker.to_owned(), life, model)) {
                    let detail = format!("{worker} is granted {id:?} of model {model}, which it cannot load");
                    self.violation(B1, detail);
                }
            }
            Some(Body::Welcome(welcome)) => {
                for kept in &welcome.kept {
                    let Some(now) = kept.now.as_ref() else { continue };
                    let id = GrantId::from(now.id.unwrap_or_default());
                    let held = (worker.to_owned(), kept.held.unwrap_or_default().into());
                    if !self.jobs[job].grants.contains(&held) {
                        self.violation(H1, format!("{held:?} is kept and was never granted"));
                    }
                    self.jobs[job].grants.insert((worker.to_owned(), id));
                    if now.id != kept.held {
                        self.granted((job, worker), id, now.unit, &intervals_from_wire(&now.samples));
                    }
                }
            }
            _ => {}
        }
    }

    fn granted(
        &mut self,
        (job, worker): (usize, &str),
        GrantId { epoch, attempt, .. }: GrantId,
        unit: u32,
        samples: &IntervalSet,
    ) {
        let history = &mut self.jobs[job];
        // Of its own epoch: a leader that was stopped may send what became durable under it after another has led.
        let is_durable = |known: &BTreeMap<Epoch, Attempt>| known.get(&epoch).is_some_and(|known| *known >= attempt);
        // A sample may have been recorded meanwhile: the record of all that is out, which replaces that of its grant where
        // the two are of one group, then names it no more.
        let stands = |index: u32| {
            let key = (unit, index);
            history.attempts.get(&key).is_some_and(is_durable) || history.believed.contains_key(&key)
        };
        let is_durable = samples.iter().all(stands);
        if epoch >= history.epoch {
            let recorded = samples.iter().map(|index| (unit, index)).filter(|key| history.believed.contains_key(key));
            for key in recorded.collect::<Vec<_>>() {
                history.holders.insert(key, worker.to_owned());
            }
        }
        if !is_durable {
            self.violation(G2, format!("attempt {attempt} of {samples:?} of unit {unit} is granted and not durable"));
        }
    }

    /// Somebody relies on a sample's being committed.
    pub(super) fn is_believed(&mut self, key: JobSample, why: &str) {
        if !self.believes(key) {
            let (job, unit, index) = key;
            self.violation(C3, format!("{why}: sample {index} of unit {unit} of job {job}, which is not recorded"));
        }
    }

    /// A process of a worker has told the leader that it cannot load the model of a unit.
    pub(super) fn is_unable(&mut self, job: usize, leads: Epoch, (worker, life): (&str, u64), unit: u32) {
        let history = &mut self.jobs[job];
        history.barred.insert((leads, worker.to_owned(), life, history.job.model(unit)));
    }

    /// An engine died with these samples before it.
    pub(super) fn engine_died(&mut self, job: usize, unit: u32, samples: impl Iterator<Item = u32>) {
        let history = &mut self.jobs[job];
        for index in samples {
            *history.deaths.entry(history.job.asked((unit, index))).or_default() += 1;
        }
    }

    /// Returns whether a sample's result may be that it failed: it cannot be run, or engines died on it again and again.
    pub(super) fn may_fail(&self, job: usize, key: SampleKey) -> bool {
        let history = &self.jobs[job];
        history.job.is_poison(key) || history.deaths.get(&history.job.asked(key)).is_some_and(|deaths| *deaths >= 2)
    }

    /// A worker begins a sample. One with an `excuse` may begin what another has by now: what is done twice counts once.
    pub(super) fn begins(&mut self, now: u64, (worker, excuse): (&str, Option<&'static str>), key: JobSample) {
        let (job, unit, index) = key;
        self.note(now, || format!("{worker} begins sample {index} of unit {unit} of job {job}"));
        let history = &self.jobs[job];
        let is_duplicate = history.duplicates.contains(&(unit, index));
        let holder = history.holders.get(&(unit, index)).filter(|holder| *holder != worker);
        if let Some(excuse) = excuse.filter(|_| holder.is_some()) {
            self.saw(excuse);
        } else if let Some(holder) = holder {
            let detail = format!("{worker} begins sample {index} of unit {unit}, which {holder} has by now");
            self.violation(W1, detail);
        }
        if is_duplicate {
            self.violation(G1, format!("{worker} begins sample {index} of unit {unit}, which another one stands for"));
        }
        if self.believes(key) {
            self.saw("a committed sample was run again");
        }
    }
}
