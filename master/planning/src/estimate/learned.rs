//! Speeds of earlier runs: a record for each architecture, by device and data set.
//!
//! Checkpoints of a training share an architecture, and with it their speed: a record's name is the digest of `config.json`, else
//! that of the weights, else of where they lie. [`super::SpeedStore`] keeps the records.

use compass_common::host::cores;
use compass_launch::is_local;
use compass_plan::{DatasetPlan, DeviceRequest, ModelPlan, Plan};
use compass_progress::RunFacts;
use compass_scheduler::DeviceType;
use compass_types::ids::{Digest, ModelId, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Runs of a data set that are remembered.
const RUNS: usize = 5;
/// Size of a record at which the data sets that ran longest ago give way, in bytes: etcd takes no value above 1.5 MB.
const LARGEST: usize = 1 << 20;

/// Time and tokens that the samples of a data set took in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Took {
    /// Time of the run, in seconds since 1970.
    pub at: i64,
    /// Samples that were computed: equal requests count once.
    pub samples: u64,
    /// Seconds of slots, added up; of slots that shared cores, as if each had had one.
    pub seconds: f64,
    pub submitted: u64,
    /// Tokens of these that no text before had in the same place, including texts of the job's other data sets; `None` in files of
    /// older versions.
    #[serde(default)]
    pub distinct: Option<u64>,
    pub computed: u64,
    pub generated: u64,
    /// Characters of these samples by the plan, each prefix once.
    pub characters: f64,
    /// Tokens that their answers might have had at most.
    pub(super) most_generated: u64,
}

/// Knowledge of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OnDevice {
    /// Time when it was seen last, in seconds since 1970.
    pub latest: i64,
    /// By name and version, the latest run last.
    pub datasets: BTreeMap<String, Vec<Took>>,
}

/// Knowledge of an architecture, by device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Learned {
    pub devices: BTreeMap<String, OnDevice>,
}

/// Returns the name of a data set in a file.
pub(super) fn name(dataset: &DatasetPlan) -> String {
    format!("{} {}", dataset.abbr, dataset.version)
}

/// The name of an architecture's record.
pub(super) fn record_name(model: &ModelPlan) -> String {
    let config = model.pin.as_ref().and_then(|pin| pin.weights.files.get("config/config.json"));
    let digest = match (config, &model.pin) {
        (Some(config), _) => config.digest.short(),
        (None, Some(pin)) => pin.weights.digest.short(),
        (None, None) => {
            let behind = model.endpoint.as_ref().map(|endpoint| (&endpoint.url, &endpoint.model));
            Digest::of(format!("{:?} {} {behind:?}", model.kind, model.path).as_bytes()).short()
        }
    };
    format!("{digest}-{:?}.json", model.dtype).to_lowercase()
}

impl Learned {
    /// A record as it is kept; nothing where it is missing or another version's.
    pub(super) fn decode(record: Option<&[u8]>) -> Self {
        record.and_then(|record| serde_json::from_slice(record).ok()).unwrap_or_default()
    }

    /// The record, no larger than [`LARGEST`]: the data sets that ran longest ago are forgotten.
    pub(super) fn encode(&mut self) -> Vec<u8> {
        loop {
            let bytes = serde_json::to_vec(&self).unwrap_or_default();
            let mut ran: Vec<i64> = self.datasets().map(|(_, runs)| latest_run(runs)).collect();
            if bytes.len() <= LARGEST || ran.is_empty() {
                return bytes;
            }
            ran.sort_unstable();
            // An eighth at a time: the record is not encoded once for each of thousands.
            let (oldest, mut left) = (ran[ran.len() / 8], ran.len() / 8 + 1);
            for on in self.devices.values_mut() {
                on.datasets.retain(|_, runs| {
                    let goes = left > 0 && latest_run(runs) <= oldest;
                    left -= usize::from(goes);
                    !goes
                });
            }
        }
    }

    fn datasets(&self) -> impl Iterator<Item = (&String, &Vec<Took>)> {
        self.devices.values().flat_map(|on| &on.datasets)
    }

    /// Adds what the units of the model `at` took on `device` in the run that `facts` tell of; false where it computed none of them.
    pub(super) fn add(&mut self, plan: &Plan, at: ModelId, device: &str, facts: &RunFacts, now: i64) -> bool {
        let share_of_core = share_of_core(facts, device, cores());
        let on = self.devices.entry(device.to_owned()).or_default();
        let mut is_changed = false;
        for unit in plan.units().filter(|unit| plan.model_of(unit.id) == at) {
            let Some(seen) = facts.by_unit.get(&unit.id.0).filter(|seen| seen.samples > 0) else { continue };
            let share = seen.samples as f64 / f64::from(unit.dataset.samples.max(1));
            let took = Took {
                at: now,
                samples: seen.samples,
                seconds: seen.busy_seconds * share_of_core,
                submitted: seen.tokens.submitted,
                distinct: Some(seen.tokens.distinct),
                computed: seen.tokens.computed,
                generated: seen.tokens.generated,
                characters: distinct_characters(unit.dataset) as f64 * share,
                most_generated: most_generated(unit.model, unit.dataset) * seen.samples,
            };
            let runs = on.datasets.entry(name(unit.dataset)).or_default();
            runs.push(took);
            let old = runs.len().saturating_sub(RUNS);
            runs.drain(..old);
            is_changed = true;
        }
        if is_changed {
            on.latest = now;
        }
        is_changed
    }

    /// The device that was seen last, with its name: of a type where one is asked for.
    pub(super) fn latest(&self, asked: Option<DeviceType>) -> Option<(&String, &OnDevice)> {
        self.of_type(asked).max_by_key(|(_, on)| on.latest)
    }

    /// The devices of a type, or all of them.
    pub(super) fn of_type(&self, asked: Option<DeviceType>) -> impl Iterator<Item = (&String, &OnDevice)> {
        let is_asked = move |name: &str| asked.is_none_or(|asked| DeviceType::of_engine(name) == asked);
        self.devices.iter().filter(move |(name, _)| is_asked(name))
    }

    /// The latest run of a data set, on whatever device: its tokens are the same on all of them.
    pub(super) fn tokens_of(&self, dataset: &DatasetPlan) -> Option<&Took> {
        let name = name(dataset);
        let runs = self.devices.values().filter_map(|on| on.datasets.get(&name)?.last());
        runs.max_by_key(|took| took.at)
    }

    /// Returns whether these data sets ran at that time and no others: their distinct tokens are then the tokens of one job.
    pub(super) fn are_all(&self, at: i64, names: &BTreeSet<String>) -> bool {
        let datasets = self.devices.values().flat_map(|on| &on.datasets);
        let ran = datasets.filter(|(_, runs)| runs.iter().any(|took| took.at == at));
        ran.map(|(name, _)| name).collect::<BTreeSet<_>>() == names.iter().collect::<BTreeSet<_>>()
    }
}

/// The type of device that a model's configuration asks for; `None` where any will do, or it has no weights.
pub(super) fn asked_device(model: &ModelPlan) -> Option<DeviceType> {
    if !model.needs_libtorch() {
        return None;
    }
    match model.device {
        DeviceRequest::Cpu => Some(DeviceType::Cpu),
        DeviceRequest::Cuda => Some(DeviceType::Cuda),
        DeviceRequest::Auto => (model.num_gpus > 0).then_some(DeviceType::Cuda),
    }
}

/// Characters of a data set, each shared prefix counted once.
pub(super) fn distinct_characters(dataset: &DatasetPlan) -> u64 {
    dataset.characters + dataset.prefix_runs.iter().map(|run| run.characters).sum::<u64>()
}

/// Tokens that the answers of a sample may have at most.
pub(super) fn most_generated(model: &ModelPlan, dataset: &DatasetPlan) -> u64 {
    let compass_plan::InferSpec::Gen(spec) = &dataset.infer else { return 0 };
    let answers = u64::from(spec.decoding.over(&model.decoding).sequences());
    u64::from(model.longest_answer(spec)) * answers
}

/// The share of a core that a slot had: slots that compute on a CPU, more of them on this host than it has cores, wait for one another.
fn share_of_core(facts: &RunFacts, device: &str, cores: u32) -> f64 {
    let at_work = || facts.workers.iter().filter(|(_, worker)| worker.busy_seconds > 0.0);
    // A host has one agent of a master at a time: others are of earlier masters, or have ended.
    let slots: u32 = at_work().map(|(_, worker)| worker.slots).max().unwrap_or(0);
    let are_here = at_work().all(|(name, _)| is_local(&WorkerId(name.clone())));
    match DeviceType::of_engine(device) {
        DeviceType::Cpu if are_here && slots > cores => f64::from(cores) / f64::from(slots),
        _ => 1.0,
    }
}

/// Time of the latest run of a data set, in seconds since 1970.
fn latest_run(runs: &[Took]) -> i64 {
    runs.last().map_or(0, |took| took.at)
}

/// Characters of shared prefixes, counted for each sample that has them.
pub(super) fn shared_characters(dataset: &DatasetPlan) -> u64 {
    let mut begin = 0;
    let mut all = 0;
    for run in &dataset.prefix_runs {
        all += u64::from(run.end.saturating_sub(begin)) * run.characters;
        begin = run.end;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::speed_store::SpeedStore;
    use compass_progress::WorkerFacts;

    #[test]
    fn slots_that_shared_cores_are_not_taken_for_slow() {
        let worker = |slots: u32, busy_seconds: f64| WorkerFacts { slots, busy_seconds, ..WorkerFacts::default() };
        let facts = |name: &str| {
            let mut facts = RunFacts::default();
            facts.workers.extend([(name.to_owned(), worker(8, 80.0)), ("gone-1".to_owned(), worker(8, 0.0))]);
            facts
        };
        assert_eq!(share_of_core(&facts("local-17"), "cpu", 2), 0.25);
        assert_eq!(share_of_core(&facts("local-17"), "cpu", 8), 1.0);
        assert_eq!(share_of_core(&facts("local-17"), "NVIDIA H100", 2), 1.0, "a GPU computes");
        assert_eq!(share_of_core(&facts("local-17"), "echo", 2), 1.0, "nothing computes");
        assert_eq!(share_of_core(&facts("node7-17"), "cpu", 2), 1.0, "the cores are another host's");
    }

    #[test]
    fn a_record_forgets_the_data_sets_that_ran_longest_ago() {
        let mut learned = Learned::default();
        let on = learned.devices.entry("cpu".to_owned()).or_default();
        for at in 0..9_000 {
            on.datasets.insert(format!("d{at} 000000"), vec![Took { at, ..Took::default() }]);
        }
        let record = learned.encode();
        assert!(record.len() <= LARGEST && record.len() > LARGEST / 2, "{} bytes", record.len());
        let read = Learned::decode(Some(&record));
        assert_eq!(read, learned);
        let left: Vec<i64> = read.datasets().map(|(_, runs)| latest_run(runs)).collect();
        assert_eq!(left.iter().min(), Some(&(9_000 - left.len() as i64)), "the latest are left");
        // All at the same moment: some go all the same.
        let runs = learned.devices.values_mut().flat_map(|on| on.datasets.values_mut()).flatten();
        runs.for_each(|took| took.at = 7);
        let on = learned.devices.entry("gpu".to_owned()).or_default();
        on.datasets.extend((0..9_000).map(|at| (format!("d{at} 000000"), vec![Took { at: 7, ..Took::default() }])));
        assert!(learned.encode().len() <= LARGEST);
    }

    #[tokio::test]
    async fn what_masters_learn_at_the_same_moment_is_kept_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = SpeedStore::of(&compass_settings::StoreConfig::Embedded, folder.path());
        assert_eq!((store.read("r").await.unwrap(), store.read("../r").await.unwrap()), (None, None));
        assert!(!folder.path().join("speeds").exists(), "reading makes no folder");
        let learn = |at: i64| {
            let store = store.clone();
            tokio::spawn(async move {
                let changed = |record: Option<&[u8]>| {
                    let mut learned = Learned::decode(record);
                    let on = learned.devices.entry("cpu".to_owned()).or_default();
                    on.datasets.insert(format!("d{at}"), vec![Took { at, ..Took::default() }]);
                    Some(learned.encode())
                };
                store.change("r", changed).await
            })
        };
        for learnt in (0..8).map(learn).collect::<Vec<_>>() {
            learnt.await.unwrap().unwrap();
        }
        let kept = Learned::decode(store.read("r").await.unwrap().as_deref());
        assert_eq!(kept.datasets().count(), 8);
    }
}
