//! Facts of a run for `logs/run.json`: who worked, how long, how many tokens. Never in `results/` or `summary/`.

use super::recent::RecentMinutes;
use super::refusals::Refusals;
use super::view::{RunView, ShardTotals, WorkerView};
use compass_common::status_output;
use compass_common::words::grouped;
use compass_diagnostic::Diagnostic;
use compass_ledger::{Kind, LedgerEntry, Tally, WorkerEvent};
use compass_plan::Plan;
use compass_plan::engine::TokenCounters;
use compass_proto::v1;
use compass_scheduler::{Barred, DeviceType, Progress};
use compass_settings::LeftOut;
use compass_types::ids::{ModelId, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

/// Prefix segments remembered at most, some dozens of megabytes; those beyond count as distinct wherever they are.
const MAX_PREFIX_SEGMENTS: usize = 1 << 20;

/// Names of devices that are kept of a worker or a model, and the characters of one: workers may say anything.
const MOST_DEVICES: usize = 64;
const DEVICE_CHARACTERS: usize = 200;

/// Answers of an endpoint in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointFacts {
    pub url: String,
    /// The name of the model there.
    pub model: String,
    /// Samples whose answers are recorded.
    pub samples: u64,
    /// Tokens that the endpoint has read for them, by its own count where it gives one.
    pub prompt_tokens: u64,
    pub generated_tokens: u64,
    /// In the currency of the price; `None` without one. What was asked for again after a death is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The record of a run, over all masters that led it.
///
/// An event of it is in the ledger before the next master reads it there: [`RunFacts::fold`] takes in those of earlier masters, and
/// what a master hears itself goes the same way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunFacts {
    /// Reasons for which workers cannot begin yet, by the workers' names.
    #[serde(skip)]
    pub waiting: BTreeMap<String, String>,
    /// Set while events of earlier masters are taken in: a person has been told of them.
    #[serde(skip)]
    pub folds: bool,
    /// Name of the run folder.
    pub run: String,
    pub plan: String,
    pub epoch: u64,
    pub started: String,
    /// Seconds that masters have led, as of the last count.
    pub seconds: f64,
    /// Samples that earlier masters of this run had recorded.
    pub resumed_samples: u64,
    /// Samples recorded by now.
    pub recorded_samples: u64,
    pub expected_samples: u64,
    /// Samples that repeat the request of another: recorded with its result, not computed.
    #[serde(default)]
    pub duplicate_samples: u64,
    pub partitioner: Value,
    pub summarizer: String,
    pub runner: String,
    pub tasks: u32,
    /// Requested parts that the job does not run, with the reasons.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Grants that followed a failed or lost one, of all terms.
    pub retries: u64,
    /// Results that came again, equal, to this master.
    pub repeats: u64,
    /// Results that came again and differed.
    pub divergences: u64,
    /// Results that differ from the recorded one although both come from devices of one type, of all terms: by model and
    /// data set. Any of them makes the exit code 1.
    #[serde(default)]
    pub diverged: BTreeMap<String, Vec<Diverged>>,
    /// Results that do not fit the plan: another kind of request, missing options, numbers that are not finite.
    #[serde(default)]
    pub misfits: u64,
    /// Refusals, by worker.
    #[serde(default)]
    pub refused: BTreeMap<String, Refusals>,
    /// Workers that were barred from the job, and why.
    #[serde(default)]
    pub barred_from_job: BTreeMap<String, String>,
    /// Grants that workers kept from an older master, or from before they were given up.
    #[serde(default)]
    pub adopted: u64,
    /// Times that samples went over from a busy worker to an idle one.
    #[serde(default)]
    pub stolen: u64,
    /// Models that slots loaded.
    #[serde(default)]
    pub loads: u64,
    /// Workers that could not load a model, and why.
    #[serde(default)]
    pub barred: Vec<BarredFacts>,
    /// Invariants of the scheduler that were found broken: always 0, or there is a fault in it.
    #[serde(default)]
    pub violations: u64,
    /// Reports of workers on what they made of their own results, of all terms.
    #[serde(default)]
    pub reports: u64,
    /// Reports that were made with another version of the evaluators: they are not held against the results.
    #[serde(default)]
    pub reports_not_compared: u64,
    /// Notes, and shared prefix segments that count as distinct, that workers left out of their reports, which are bounded.
    #[serde(default)]
    pub notes_left_out: u64,
    #[serde(default, rename = "stretches_left_out")]
    pub prefix_segments_left_out: u64,
    pub tokens: TokenCounters,
    /// Computed tokens at the prefixes of texts that more than one engine computed: each engine beyond the first
    /// computes a beginning once more at most.
    #[serde(default)]
    pub computed_by_several: u64,
    /// `computed / submitted` tokens of the whole job.
    pub computed_per_submitted: f64,
    /// `computed / distinct` tokens of the whole job: 1 where nothing was computed twice, by whomever.
    #[serde(default)]
    pub computed_per_distinct: f64,
    pub workers: BTreeMap<String, WorkerFacts>,
    /// Events of the run under earlier masters, added up.
    #[serde(skip)]
    pub before: Tally,
    /// Data sets of the plan: units of one model stand side by side.
    #[serde(skip)]
    pub datasets: u32,
    /// Names of the models.
    #[serde(skip)]
    pub model_names: Vec<String>,
    /// Reports on each model, by its position.
    #[serde(skip)]
    pub by_model: BTreeMap<u32, ShardTotals>,
    /// Reports on each unit.
    #[serde(skip)]
    pub by_unit: BTreeMap<u32, ShardTotals>,
    /// Prefix segments that an engine of the model, by its position, counted as distinct.
    #[serde(skip)]
    pub known: HashSet<(u32, u64)>,
    /// Samples whose results counted, of all terms: by worker, then by model and data set, `0..5,9..10`.
    #[serde(default)]
    pub samples: BTreeMap<String, BTreeMap<String, String>>,
    /// Requests to endpoints, and their cost, by the name of the model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, EndpointFacts>,
    /// Remarks of engines while running, each once.
    pub notes: Vec<String>,
    /// Remarks of engines when loading that were said aloud.
    #[serde(skip)]
    pub told: BTreeSet<String>,
    /// Devices onto which each model was loaded: `cpu`, or GPUs by their names.
    #[serde(default)]
    pub devices: BTreeMap<String, BTreeSet<String>>,
    /// Findings of engines when loading, by position of the model.
    pub models: BTreeMap<u32, Value>,
}

/// A result that came again and differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diverged {
    pub sample: u32,
    /// Worker whose result is recorded.
    pub recorded: String,
    /// Worker whose result differs.
    pub differs: String,
}

/// A worker that could not load a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarredFacts {
    pub worker: String,
    pub host: String,
    pub model: String,
    /// `missing`, `content` or `device`.
    pub kind: String,
    pub reason: String,
}

/// One worker's share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkerFacts {
    pub slots: u32,
    /// `cpu` or `cuda`, or both: what its engines compute on, and until one has said that what the worker was started for.
    pub device: String,
    /// Devices on which its engines compute, as they found them: `cpu`, or GPUs by their names.
    #[serde(default)]
    pub engines_on: BTreeSet<String>,
    /// The pool that it works for; empty where none was named.
    #[serde(default)]
    pub pool: String,
    /// Results received by this master, repeats counted, and recorded by those before.
    pub results: u64,
    /// Times that its process, or an engine of it, ended in mid-run, of all terms.
    pub deaths: u32,
    /// Seconds that its engines spent on tasks.
    pub busy_seconds: f64,
    /// Results of the last minutes.
    #[serde(skip)]
    pub recent: RecentMinutes,
    /// Seconds into the run at which it came.
    #[serde(skip)]
    pub came_after: f64,
}

impl WorkerFacts {
    /// The types of device that its engines compute on, in words; empty where none has said so.
    fn device_kinds(&self) -> String {
        let has = |kind| self.engines_on.iter().any(|name| DeviceType::of_engine(name) == kind);
        match (has(DeviceType::Cpu), has(DeviceType::Cuda)) {
            (false, false) => String::new(),
            (true, false) => "cpu".into(),
            (false, true) => "cuda".into(),
            (true, true) => "cpu, cuda".into(),
        }
    }
}

impl RunFacts {
    /// The record of a run of which nothing has happened.
    pub fn of_plan(plan: &Plan) -> Self {
        Self {
            expected_samples: plan.expected(),
            datasets: plan.datasets.len() as u32,
            model_names: plan.models.iter().map(|model| model.abbr.clone()).collect(),
            ..Self::default()
        }
    }

    fn worker(&mut self, worker: &WorkerId) -> &mut WorkerFacts {
        self.workers.entry(worker.0.clone()).or_default()
    }

    /// Takes in what an entry of an earlier master says.
    pub fn fold(&mut self, entry: &LedgerEntry) {
        self.folds = true;
        let worker = || WorkerId(entry.worker.clone());
        match entry.kind() {
            Kind::Report => {
                if let Some(report) = entry.report() {
                    self.report(&worker(), report);
                }
            }
            Kind::Tally => self.before = Tally::of(entry).unwrap_or_else(|| std::mem::take(&mut self.before)),
            Kind::Worker => match WorkerEvent::of(entry) {
                Some(WorkerEvent::Attached { slots, device, pool, after }) => {
                    self.seconds = after;
                    let _ = self.attached(&worker(), slots, &device, &pool);
                }
                Some(WorkerEvent::Loaded { model, facts }) => drop(self.loaded(&worker(), model, facts)),
                None => {}
            },
            _ => {}
        }
        self.folds = false;
    }

    /// A result of a worker was recorded under an earlier master.
    pub fn recorded(&mut self, worker: &WorkerId) {
        self.worker(worker).results += 1;
    }

    /// Begins a term, once everything of earlier ones is taken in.
    pub fn begin(&mut self, now: String) {
        if self.before.started.is_empty() {
            self.before.started = now;
        }
        self.started.clone_from(&self.before.started);
        self.seconds = seconds(self.before.milliseconds);
        for (worker, deaths) in self.before.deaths.clone() {
            self.worker(&WorkerId(worker)).deaths = deaths;
        }
    }

    /// Counts what befell the run by now, `elapsed` into this term.
    pub fn count(&mut self, progress: &Progress, violations: u64, elapsed: Duration) {
        let before = &self.before;
        self.seconds = seconds(before.milliseconds + elapsed.as_millis() as u64);
        (self.recorded_samples, self.repeats) = (progress.recorded, progress.repeats);
        self.retries = before.retries + progress.retries;
        self.divergences = before.divergences + progress.divergences;
        self.misfits = before.misfits + progress.misfits;
        self.adopted = before.adopted + progress.adopted;
        self.stolen = before.stolen + progress.stolen;
        self.loads = before.loads + progress.loads;
        self.violations = before.violations + violations;
    }

    /// Returns what the next master reads of the last count.
    pub fn tally(&self) -> Tally {
        let died = self.workers.iter().filter(|(_, worker)| worker.deaths > 0);
        Tally {
            started: self.started.clone(),
            milliseconds: (self.seconds * 1000.0).round() as u64,
            retries: self.retries,
            deaths: died.map(|(name, worker)| (name.clone(), worker.deaths)).collect(),
            divergences: self.divergences,
            misfits: self.misfits,
            adopted: self.adopted,
            stolen: self.stolen,
            loads: self.loads,
            violations: self.violations,
        }
    }

    /// A worker came; the event, where something of it is new.
    #[must_use]
    pub fn attached(&mut self, worker: &WorkerId, slots: u32, device: &str, pool: &str) -> Option<WorkerEvent> {
        let after = self.seconds;
        let is_new = !self.workers.contains_key(&worker.0);
        let facts = self.worker(worker);
        if is_new {
            facts.came_after = after;
        }
        let is_known = !is_new && (facts.slots, facts.pool.as_str()) == (slots, pool);
        facts.slots = slots;
        pool.clone_into(&mut facts.pool);
        match facts.device_kinds() {
            // A guess without a tensor library.
            kinds if kinds.is_empty() => device.clone_into(&mut facts.device),
            kinds => facts.device = kinds,
        }
        let (device, pool) = (device.to_owned(), pool.to_owned());
        (!is_known).then_some(WorkerEvent::Attached { slots, device, pool, after })
    }

    /// These samples of a unit came from a worker.
    pub fn ran(&mut self, worker: &WorkerId, unit: String, samples: String) {
        self.samples.entry(worker.0.clone()).or_default().insert(unit, samples);
    }

    /// A worker's process ended.
    pub fn ended(&mut self, worker: &WorkerId) {
        self.worker(worker).deaths += 1;
    }

    /// A worker sent results.
    pub fn results(&mut self, worker: &WorkerId, count: u64) {
        // By far the most frequent: no name is copied for it.
        let minute = self.minute();
        let known = match self.workers.get_mut(&worker.0) {
            Some(known) => known,
            None => self.worker(worker),
        };
        known.results += count;
        known.recent.add(minute, count);
    }

    /// A worker reported a shard: of how many samples, and the seconds that these took.
    pub fn report(&mut self, worker: &WorkerId, report: v1::ShardReport) -> (u64, f64) {
        let ran = (u64::from(report.scored) + u64::from(report.failed), report.seconds);
        let of_worker = self.worker(worker);
        of_worker.busy_seconds += report.seconds;
        of_worker.deaths = of_worker.deaths.saturating_add(report.engine_deaths);
        let model = report.unit / self.datasets.max(1);
        let name = self.model_name(ModelId(model));
        let tokens: TokenCounters = report.tokens.unwrap_or_default().into();
        for totals in [self.by_model.entry(model).or_default(), self.by_unit.entry(report.unit).or_default()] {
            totals.model.clone_from(&name);
            totals.samples += ran.0;
            totals.busy_seconds += ran.1;
            totals.tokens.add(&tokens);
        }
        self.tokens.add(&tokens);
        self.notes_left_out += u64::from(report.notes_left_out);
        self.prefix_segments_left_out += report.prefix_segments_left_out;
        for segment in report.prefix_segments {
            let is_full = self.known.len() >= MAX_PREFIX_SEGMENTS && !self.known.contains(&(model, segment.path));
            if !is_full && !self.known.insert((model, segment.path)) {
                let again = u64::from(segment.tokens);
                self.tokens.distinct = self.tokens.distinct.saturating_sub(again);
                if let Some(of_unit) = self.by_unit.get_mut(&report.unit) {
                    of_unit.tokens.distinct = of_unit.tokens.distinct.saturating_sub(again);
                }
                self.computed_by_several = self.computed_by_several.saturating_add(u64::from(segment.tokens));
            }
        }
        for note in report.notes {
            if !self.notes.contains(&note) {
                self.tell(ModelId(model), &note);
                self.notes.push(note);
            }
        }
        let per = |tokens: u64| self.tokens.computed as f64 / tokens.max(1) as f64;
        (self.computed_per_submitted, self.computed_per_distinct) =
            (per(self.tokens.submitted), per(self.tokens.distinct));
        ran
    }

    /// Returns what a person is told at the end of samples that were not computed; nothing where there were none.
    pub fn duplicates_line(&self) -> Option<String> {
        let (duplicates, all) = (grouped(self.duplicate_samples), grouped(self.expected_samples));
        let text = || {
            format!(
                "equal requests: {duplicates} of {all} samples repeat the request of another, and are recorded with its result"
            )
        };
        (self.duplicate_samples > 0).then(text)
    }

    /// Returns what a person is told of the tokens at the end; nothing when no engine reported any.
    pub fn tokens_line(&self) -> Option<String> {
        let TokenCounters { submitted, distinct, computed, padded, generated } = self.tokens;
        if computed == 0 {
            return None;
        }
        let mut line = format!(
            "tokens: submitted {submitted}, computed {computed}, distinct {distinct} (computed/distinct = {:.3}, \
             submitted/computed = {:.1})",
            self.computed_per_distinct,
            submitted as f64 / computed as f64
        );
        if padded > 0 {
            line += &format!(", rows of padding {padded}");
        }
        if generated > 0 {
            line += &format!(", generated {generated}");
        }
        if self.computed_by_several > 0 {
            line += &format!(
                "; {} tokens of shared prefixes were computed again, since several slots worked on one data set: each \
                 further slot computes its beginning once at most",
                self.computed_by_several
            );
        }
        Some(line)
    }

    /// Returns the name by which a person calls a model.
    fn model_name(&self, model: ModelId) -> String {
        self.model_names.get(model.0 as usize).cloned().unwrap_or_else(|| format!("model {model}"))
    }

    /// A worker could not load a model.
    pub fn barred(&mut self, bar: &Barred) {
        let Barred { worker, host, model, kind, text, .. } = bar;
        let model = self.model_name(*model);
        let (worker, host, reason) = (worker.0.clone(), host.clone(), text.clone());
        self.barred.push(BarredFacts { worker, host, model, kind: format!("{kind:?}").to_lowercase(), reason });
    }

    /// Returns what a person is told of loads at the end; nothing where there were none.
    pub fn loads_line(&self) -> Option<String> {
        let (loads, models) = (self.loads, self.models.len());
        let times = if loads == 1 { "once".to_owned() } else { format!("{loads} times") };
        (loads > 0).then(|| format!("models: {models}, loaded {times}"))
    }

    /// A worker cannot begin yet, for this reason; an empty one where it can. Every reason is told once.
    pub fn waiting(&mut self, worker: &WorkerId, reason: String) {
        if reason.is_empty() {
            self.waiting.remove(&worker.0);
        } else if self.waiting.get(&worker.0) != Some(&reason) {
            tracing::warn!(%worker, "cannot load its model yet, and tries again: {reason}");
            self.waiting.insert(worker.0.clone(), reason);
        }
    }

    /// An engine of a worker loaded a model; the event, where something of it is new.
    #[must_use]
    pub fn model(&mut self, worker: &WorkerId, model: ModelId, facts: &[u8]) -> Option<WorkerEvent> {
        self.loaded(worker, model, serde_json::from_slice(facts).ok()?)
    }

    fn loaded(&mut self, worker: &WorkerId, model: ModelId, facts: Value) -> Option<WorkerEvent> {
        let mut is_new = false;
        if let Some(device) = facts.get("device").and_then(Value::as_str).filter(|device| !device.is_empty()) {
            let name = self.model_name(model);
            is_new = self.loaded_onto(worker, &name, device);
        }
        let notes = facts.get("notes").and_then(Value::as_array).into_iter().flatten();
        let is_known = self.models.contains_key(&model.0);
        for note in notes.filter_map(Value::as_str).filter(|_| !is_known) {
            self.tell(model, note);
        }
        is_new |= self.models.insert(model.0, facts.clone()).as_ref() != Some(&facts);
        is_new.then_some(WorkerEvent::Loaded { model, facts })
    }

    /// Shows what an engine notes of a model: nothing that a person must act upon. Of many models that say the same, the first
    /// says it aloud.
    fn tell(&mut self, model: ModelId, note: &str) {
        let name = self.model_name(model);
        match self.told.insert(note.to_owned()) && !self.folds {
            true => status_output::report(Diagnostic::note(format!("{name}: {note}"))),
            false => tracing::info!(model = name, "{note}"),
        }
    }

    /// Takes note of a device, and returns whether the worker had none of the name; a second type of GPU is said aloud.
    fn loaded_onto(&mut self, worker: &WorkerId, model: &str, device: &str) -> bool {
        let device: String = device.chars().take(DEVICE_CHARACTERS).collect();
        let is_gpu = |device: &&String| DeviceType::of_engine(device) == DeviceType::Cuda;
        let of_worker = self.worker(worker);
        let is_new = of_worker.engines_on.len() < MOST_DEVICES && of_worker.engines_on.insert(device.clone());
        match of_worker.device_kinds() {
            // The engine computes on no device.
            kinds if kinds.is_empty() => {}
            kinds => of_worker.device = kinds,
        }
        let devices = self.devices.entry(model.to_owned()).or_default();
        let before = devices.iter().filter(is_gpu).count();
        if devices.len() < MOST_DEVICES {
            devices.insert(device);
        }
        let types: Vec<&str> = devices.iter().filter(is_gpu).map(String::as_str).collect();
        if before == 1 && types.len() == 2 {
            let note = format!(
                "{model} runs on several types of GPU ({}): a sample's last bits depend on which of them computes it",
                types.join(", ")
            );
            if !self.folds {
                tracing::warn!("{note}");
            }
            self.notes.push(note);
        }
        is_new
    }

    /// Returns the running minute of the run.
    fn minute(&self) -> u64 {
        (self.seconds / 60.0) as u64
    }

    /// Returns the view of the run as of the last count; `is_connected` tells of a worker by its name. Only the driver knows what
    /// else is in a view.
    pub fn view(&self, is_connected: impl Fn(&str) -> bool) -> RunView {
        let workers = self.workers.iter().map(|(name, worker)| WorkerView {
            name: name.clone(),
            connected: is_connected(name),
            pool: worker.pool.clone(),
            slots: worker.slots,
            device: worker.device.clone(),
            results: worker.results,
            busy_seconds: worker.busy_seconds,
            deaths: worker.deaths,
            seconds: (self.seconds - worker.came_after).max(0.0),
            by_minute: worker.recent.at(self.minute()).to_vec(),
        });
        RunView {
            run: self.run.clone(),
            job: self.plan.clone(),
            epoch: self.epoch,
            seconds: self.seconds,
            expected_samples: self.expected_samples,
            recorded_samples: self.recorded_samples,
            resumed_samples: self.resumed_samples,
            retries: self.retries,
            repeats: self.repeats,
            divergences: self.divergences,
            violations: self.violations,
            tokens: self.tokens,
            workers: workers.collect(),
            models: self.by_model.values().cloned().collect(),
            ..RunView::default()
        }
    }

    /// Notes the refused results and the barred workers, at the end.
    pub fn sent_away<'a>(
        &mut self,
        refused: impl Iterator<Item = (&'a WorkerId, &'a Refusals)>,
        barred: impl Iterator<Item = (&'a WorkerId, &'a str)>,
    ) {
        self.refused = refused.map(|(worker, refusals)| (worker.0.clone(), refusals.clone())).collect();
        self.barred_from_job = barred.map(|(worker, reason)| (worker.0.clone(), reason.to_owned())).collect();
    }
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
