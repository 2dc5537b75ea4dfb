//! What earlier runs took, in `speeds/` of the state folder: a file for each architecture, by device and data set.
//!
//! Checkpoints of a training share an architecture, and with it their speed: a file's name is the digest of `config.json`, else that
//! of the weights, else of where they lie. What two masters learn at the same moment may be lost of one of them.

use crate::pipeline::{FolderError, RunFacts, cores, write_atomically};
use compass_common::regular_file;
use compass_launch::is_local;
use compass_plan::{DatasetPlan, DeviceRequest, ModelPlan, Plan};
use compass_scheduler::DeviceType;
use compass_types::ids::{Digest, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Runs of a data set that are remembered, and data sets of a device: the oldest give way.
const RUNS: usize = 5;
const DATA_SETS: usize = 4_096;

/// What the samples of a data set took in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Took {
    /// When, in seconds since 1970.
    pub(super) at: i64,
    /// Those that were computed: equal requests count once.
    pub(super) samples: u64,
    /// Of slots, added up; of those that shared cores, as if each had had one.
    pub(super) seconds: f64,
    pub(super) submitted: u64,
    /// Of these, tokens that no text before had in the same place, those of the job's other data sets included; `None` in files of
    /// older versions.
    #[serde(default)]
    pub(super) distinct: Option<u64>,
    pub(super) computed: u64,
    pub(super) generated: u64,
    /// Characters of these samples by the plan, each prefix once.
    pub(super) characters: f64,
    /// Tokens that their answers might have had at most.
    pub(super) most_generated: u64,
}

/// What is known of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OnDevice {
    /// When it was seen last, in seconds since 1970.
    pub(super) latest: i64,
    /// By name and version, the latest run last.
    pub(super) datasets: BTreeMap<String, Vec<Took>>,
}

/// What is known of an architecture, by device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Learned {
    pub(super) devices: BTreeMap<String, OnDevice>,
}

/// What a data set is called in a file.
pub(super) fn name(dataset: &DatasetPlan) -> String {
    format!("{} {}", dataset.abbr, dataset.version)
}

/// Where an architecture's file lies.
fn file(state: &Path, model: &ModelPlan) -> PathBuf {
    let config = model.pin.as_ref().and_then(|pin| pin.weights.files.get("config/config.json"));
    let digest = match (config, &model.pin) {
        (Some(config), _) => config.digest.short(),
        (None, Some(pin)) => pin.weights.digest.short(),
        (None, None) => {
            let behind = model.endpoint.as_ref().map(|endpoint| (&endpoint.url, &endpoint.model));
            Digest::of(format!("{:?} {} {behind:?}", model.kind, model.path).as_bytes()).short()
        }
    };
    state.join("speeds").join(format!("{digest}-{:?}.json", model.dtype).to_lowercase())
}

impl Learned {
    /// What is known; nothing where the file is missing or of another version.
    pub(super) fn read(state: &Path, model: &ModelPlan) -> Self {
        let bytes = regular_file::read(&file(state, model), regular_file::SMALL).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
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

    /// Whether these data sets ran at that time and no others: their distinct tokens are then those of one job.
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
    u64::from(spec.max_out_len.unwrap_or(model.max_out_len)) * answers
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

/// Remembers what a run took: of models that one kind of device computed.
///
/// # Errors
/// Those of the disk.
pub(crate) fn learn(state: &Path, plan: &Plan, facts: &RunFacts) -> Result<(), FolderError> {
    let now = jiff::Timestamp::now().as_second();
    for (at, model) in plan.models() {
        let devices = facts.devices.get(&model.abbr);
        let Some(device) = devices.filter(|devices| devices.len() == 1).and_then(|devices| devices.first()) else {
            continue;
        };
        let share_of_core = share_of_core(facts, device, cores());
        let mut learned = Learned::read(state, model);
        let on = learned.devices.entry(device.clone()).or_default();
        let before = on.clone();
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
                most_generated: most_generated(model, unit.dataset) * seen.samples,
            };
            let runs = on.datasets.entry(name(unit.dataset)).or_default();
            runs.push(took);
            let old = runs.len().saturating_sub(RUNS);
            runs.drain(..old);
        }
        while on.datasets.len() > DATA_SETS {
            let latest = |runs: &Vec<Took>| runs.last().map_or(0, |took| took.at);
            let oldest = on.datasets.iter().min_by_key(|(_, runs)| latest(runs)).map(|(name, _)| name.clone());
            oldest.map(|name| on.datasets.remove(&name));
        }
        if *on == before {
            continue;
        }
        on.latest = now;
        let bytes = serde_json::to_vec(&learned).unwrap_or_default();
        write_atomically(&file(state, model), &bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::WorkerFacts;

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
}
