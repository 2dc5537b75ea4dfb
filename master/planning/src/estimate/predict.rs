//! From the plan and what was learnt to tokens and seconds, as intervals.
//!
//! Only one of equal requests is computed. A data set that an earlier run had takes per computed sample what it took then. Another
//! one takes `a` seconds for a token that is computed and `b` for one that is generated, as the data sets did that are known of
//! this architecture on a device of the type that is asked for. Where nothing is known of that type, a roofline: computing is bound
//! by arithmetic (2 operations for each parameter and token), generating by reading the weights once a step for a batch. Tokens are
//! the same on every device: a run on any of them tells the tokens of its data set.

use super::learned::{
    Learned, OnDevice, Took, asked_device, distinct_characters, most_generated, name, shared_characters,
};
use super::rates::{Rates, roofline};
use super::speed_store::Speeds;
use super::tokens::{Measured, Tokenizers};
use compass_plan::{DatasetPlan, DeviceRequest, ModelPlan};
use compass_run_folder::Planned;
use compass_scheduler::{DeviceType, Duplicates, Recorded};
use compass_settings::{Config, ModelConfig};
use std::collections::BTreeSet;
use std::ops::Add;

/// Characters of a token where nothing was learnt.
const CHARACTERS_PER_TOKEN: f64 = 4.0;
/// Factors by which a data set may be off its earlier runs, and off what others of its model say.
const SEEN: (f64, f64) = (0.85, 1.2);
const LIKE: (f64, f64) = (0.5, 2.0);
/// Factors by which a device may be off its roofline.
const ROOFLINE: (f64, f64) = (0.4, 4.0);
/// Share of the longest answers that answers have, where nothing was learnt: low, middle, high.
const ANSWERED: [f64; 3] = [0.05, 0.4, 1.0];

/// Seconds of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

impl Seconds {
    /// All of them by a factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, middle: self.middle * factor, high: self.high * factor }
    }
}

impl Add for Seconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, middle: self.middle + other.middle, high: self.high + other.high }
    }
}

/// Basis of the time of an estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// So many runs of the same data set, on this device.
    Runs {
        runs: usize,
        device: String,
    },
    /// Other data sets, on this device.
    Others {
        device: String,
    },
    Roofline,
    /// The weights cannot be read here and no run was seen.
    Unknown,
}

/// Basis of the tokens of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// An earlier run of the same data set.
    Run,
    /// The model's tokenizer, on a sample of the prompts.
    Tokenizer,
    Characters,
}

/// Tokens and time that one data set takes of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitEstimate {
    pub model: String,
    pub dataset: String,
    pub samples: u64,
    pub submitted: u64,
    /// Never more than `submitted`.
    pub distinct: u64,
    /// Set if these are distinct in the whole job; else only within the data set.
    pub is_distinct_in_job: bool,
    pub generated: u64,
    pub tokens_by: TokenSource,
    /// Seconds of slots.
    pub seconds: Seconds,
    /// GPUs of a slot; 0 on a CPU, and behind an endpoint.
    pub gpus: u32,
    /// Slots that ask the model's endpoint at once; `None` for a model that is computed.
    pub endpoint_slots: Option<u32>,
    pub source: Source,
}

/// Estimate of everything that a job takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    pub units: Vec<UnitEstimate>,
    /// Notes on which of the speeds that were learnt are used and which are not, where there was a choice.
    pub notes: Vec<String>,
}

/// Knowledge of a model from earlier runs.
struct Known<'l> {
    /// Speeds on the latest device of the type that is asked for.
    speeds: Option<(&'l String, &'l OnDevice)>,
    /// The latest device of any type, whose tokens count.
    any: Option<&'l OnDevice>,
    learned: &'l Learned,
    /// The data sets of the job by their names in a file.
    datasets: &'l BTreeSet<String>,
}

/// Estimates a job by the speeds of earlier runs and by the tokenizers that this host has. Of a run that is resumed, `kept` are the
/// samples that are not run again.
pub fn estimate(planned: &Planned, config: &Config, speeds: &Speeds, kept: Option<&Recorded>) -> Estimate {
    let plan = &planned.plan;
    let nothing = Recorded::default();
    let recorded = kept.unwrap_or(&nothing);
    let equal = Duplicates::beside(planned.duplicates.of_units(plan), recorded).by_unit();
    let learned: Vec<Learned> = plan.models.iter().map(|model| speeds.of_model(model)).collect();
    let datasets: BTreeSet<String> = plan.datasets.iter().map(name).collect();
    let mut tokenizers = Tokenizers::default();
    let mut found = Estimate::default();
    if kept.is_some() {
        found.notes.push(format!("{} of {} samples kept: they are not run again", recorded.len(), plan.expected()));
    }
    for (model, learned) in plan.models.iter().zip(&learned) {
        found.notes.extend(choice(model, learned));
    }
    for unit in plan.units() {
        let at = plan.model_of(unit.id).0 as usize;
        let Some(learned) = learned.get(at) else { continue };
        let known = Known {
            speeds: learned.latest(asked_device(unit.model)),
            any: learned.latest(None).map(|(_, on)| on),
            learned,
            datasets: &datasets,
        };
        let measured = || {
            let dataset = unit.id.0 as usize % plan.datasets.len().max(1);
            tokenizers.measure(&tokenizer_folder(config.models.get(at)?)?, planned, unit.model, dataset)
        };
        let equal = equal.get(&unit.id).map_or(0, |samples| u64::from(samples.len()));
        let done = u64::from(recorded.done(unit.id).len());
        let remaining = u64::from(unit.dataset.samples).saturating_sub(done);
        let samples = (remaining, remaining.saturating_sub(equal));
        found.units.push(of_unit(unit.model, unit.dataset, samples, &known, measured));
    }
    found
}

/// The directory on this host with the model's tokenizer.
fn tokenizer_folder(model: &ModelConfig) -> Option<std::path::PathBuf> {
    let here = model.remote.as_ref().map_or(&model.tokenizer_path, |remote| &remote.tokenizer_path);
    here.is_dir().then(|| here.clone())
}

/// Describes the devices whose speeds are known, where there is something to say: that none of them is of the type asked for, or
/// which of several GPUs was taken.
fn choice(model: &ModelPlan, learned: &Learned) -> Option<String> {
    let asked = asked_device(model);
    let gpus = learned.of_type(Some(DeviceType::Cuda)).count();
    match (learned.latest(asked), learned.latest(None)) {
        (None, Some((other, _))) => {
            let wanted = if asked == Some(DeviceType::Cuda) { "a GPU" } else { "a CPU" };
            let name = &model.abbr;
            Some(format!("no run of {name} on {wanted} is known, and its speeds on {other} say nothing about one"))
        }
        (Some((device, _)), _) if gpus > 1 && DeviceType::of_engine(device) == DeviceType::Cuda => Some(format!(
            "speeds of {} are those on {device}, where it ran last; {gpus} types of GPU are known",
            model.abbr
        )),
        _ => None,
    }
}

/// `remaining` are its samples without a result, `computed` those of them whose request no other one's is equal to.
fn of_unit(
    model: &ModelPlan,
    dataset: &DatasetPlan,
    (remaining, computed): (u64, u64),
    known: &Known<'_>,
    measured: impl FnOnce() -> Option<Measured>,
) -> UnitEstimate {
    let mut found = UnitEstimate {
        model: model.abbr.clone(),
        dataset: dataset.abbr.clone(),
        samples: remaining,
        submitted: 0,
        distinct: 0,
        is_distinct_in_job: false,
        generated: 0,
        tokens_by: TokenSource::Characters,
        seconds: Seconds::default(),
        gpus: gpus_of(model),
        endpoint_slots: model.endpoint.as_ref().map(|endpoint| endpoint.budget.workers.max(1)),
        source: Source::Unknown,
    };
    if known.speeds.is_some_and(|(device, _)| DeviceType::of_engine(device) == DeviceType::Cuda) {
        found.gpus = found.gpus.max(1);
    }
    let of_any = known.any.and_then(Rates::of);
    // Tokens that are generated: few, some, many.
    let mut generated = None;
    // Tokens that go through the model, where a run tells.
    let mut read = None;
    if let Some(took) = known.learned.tokens_of(dataset) {
        read = Some(by_run(&mut found, computed, took, known.learned.are_all(took.at, known.datasets)));
        generated = Some([found.generated as f64; 3]);
    } else {
        let share = computed as f64 / f64::from(dataset.samples.max(1));
        let (per_token, submitted) = match measured() {
            Some(measured) => {
                found.tokens_by = TokenSource::Tokenizer;
                (measured.characters_per_token, measured.submitted_per_sample * computed as f64)
            }
            None => {
                let per_token = of_any.map_or(CHARACTERS_PER_TOKEN, |rates| rates.characters.max(0.1));
                let labels = u64::from(dataset.labels.unwrap_or(1).max(1));
                let all = labels * (dataset.characters + shared_characters(dataset));
                (per_token, share * all as f64 / per_token)
            }
        };
        found.submitted = submitted.round() as u64;
        let distinct = share * distinct_characters(dataset) as f64 / per_token.max(0.01);
        found.distinct = (distinct.round() as u64).min(found.submitted);
    }
    let most = (most_generated(model, dataset) * computed) as f64;
    let answered = match of_any.and_then(|rates| rates.answered) {
        Some(answered) => [0.5 * answered, answered, (2.0 * answered).min(1.0)],
        None => ANSWERED,
    };
    let [few, some, many] = generated.unwrap_or(answered.map(|answered| most * answered));
    found.generated = some as u64;
    let runs = known.speeds.and_then(|(device, on)| Some((device, on.datasets.get(&name(dataset))?)));
    if let Some((device, runs)) = runs.filter(|(_, runs)| !runs.is_empty()) {
        found.seconds = as_before(computed, runs);
        found.source = Source::Runs { runs: runs.len(), device: device.clone() };
        return found;
    }
    let rates = known.speeds.and_then(|(device, on)| Some((device, Rates::of(on)?)));
    let (each_computed, each_generated, around) = match &rates {
        Some((_, rates)) => (rates.computed, rates.generated, LIKE),
        None => match roofline(model, found.gpus) {
            Some((computed, generated)) => (computed, generated, ROOFLINE),
            None => return found,
        },
    };
    found.source = match rates {
        Some((device, _)) => Source::Others { device: device.clone() },
        None => Source::Roofline,
    };
    let read = read.unwrap_or(found.distinct as f64) * each_computed;
    let at = |generated: f64| read + generated * each_generated;
    found.seconds = Seconds { low: at(few) * around.0, middle: at(some), high: at(many) * around.1 };
    found
}

/// GPUs that a replica takes: `cuda` needs one where none is named.
fn gpus_of(model: &ModelPlan) -> u32 {
    match model.device {
        _ if model.endpoint.is_some() => 0,
        DeviceRequest::Cpu => 0,
        DeviceRequest::Cuda => model.num_gpus.max(1),
        DeviceRequest::Auto => model.num_gpus,
    }
}

/// Tokens as in an earlier run of the same data set; returns those that went through the model. What a data set shared with others
/// is counted once, as the run counted it, where the data sets of both jobs `are_all` the same; else as if it ran by itself.
fn by_run(found: &mut UnitEstimate, computed: u64, took: &Took, are_all: bool) -> f64 {
    let share = computed as f64 / took.samples.max(1) as f64;
    let scaled = |tokens: u64| (tokens as f64 * share).round() as u64;
    let in_job = took.distinct.filter(|_| are_all);
    found.is_distinct_in_job = in_job.is_some();
    found.submitted = scaled(took.submitted);
    found.distinct = scaled(in_job.unwrap_or(took.computed)).min(found.submitted);
    found.generated = scaled(took.generated);
    found.tokens_by = TokenSource::Run;
    took.computed as f64 * share
}

/// Time by earlier runs of the same data set: the mean, within what they differ by.
fn as_before(computed: u64, runs: &[Took]) -> Seconds {
    let samples = computed as f64;
    let per_sample: Vec<f64> = runs.iter().map(|took| took.seconds / took.samples.max(1) as f64).collect();
    let mean = per_sample.iter().sum::<f64>() / per_sample.len().max(1) as f64;
    let least = per_sample.iter().copied().fold(f64::INFINITY, f64::min).min(mean);
    let most = per_sample.iter().copied().fold(0.0, f64::max).max(mean);
    Seconds { low: least * samples * SEEN.0, middle: mean * samples, high: most * samples * SEEN.1 }
}

#[cfg(test)]
mod tests {
    use super::super::rates::tests::took;
    use super::*;
    use compass_plan::evaluation::EvaluatorSpec;
    use compass_plan::prompt::ShotFormat;
    use compass_plan::weights::{Pin, WeightsDigest};
    use compass_plan::{EvalSpec, InferSpec, ModelKind};
    use std::collections::BTreeMap;

    fn dataset(abbr: &str) -> DatasetPlan {
        DatasetPlan {
            abbr: abbr.into(),
            version: "000000".into(),
            infer: InferSpec::Ppl,
            shot_format: ShotFormat::default(),
            eval: EvalSpec::new(EvaluatorSpec::Acc),
            samples: 100,
            characters: 4_000,
            prefix_runs: Vec::new(),
            labels: Some(2),
            own_questions: 0,
            entries: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// A model on a device, with a gigabyte of weights.
    fn model(device: DeviceRequest, num_gpus: u32) -> ModelPlan {
        let file = serde_json::json!({ "bytes": 1_000_000_000_u64, "digest": "00".repeat(32) });
        let files = BTreeMap::from([("weights/model.safetensors".to_owned(), serde_json::from_value(file).unwrap())]);
        let pin = Pin { weights: WeightsDigest::new(files), generation: Default::default() };
        ModelPlan { device, num_gpus, pin: Some(pin), ..ModelPlan::new("m", ModelKind::Hf, "m") }
    }

    /// Makes a record of devices by name, each of the data set `d` and seen at its position.
    fn learned(devices: &[(&str, f64)]) -> Learned {
        let on = |at: usize, seconds: f64| OnDevice {
            latest: at as i64,
            datasets: BTreeMap::from([("d 000000".to_owned(), vec![took(100, seconds, 1_000, 0)])]),
        };
        let devices = devices.iter().enumerate().map(|(at, (name, seconds))| ((*name).to_owned(), on(at, *seconds)));
        Learned { devices: devices.collect() }
    }

    fn estimated(model: &ModelPlan, abbr: &str, learned: &Learned, measured: Option<Measured>) -> UnitEstimate {
        estimated_rest(model, abbr, learned, measured, 100)
    }

    /// Estimates a run that has all samples but `rest`.
    fn estimated_rest(
        model: &ModelPlan,
        abbr: &str,
        learned: &Learned,
        measured: Option<Measured>,
        rest: u64,
    ) -> UnitEstimate {
        let all = learned.devices.values().flat_map(|on| on.datasets.keys());
        let datasets: BTreeSet<String> = all.filter(|name| !name.starts_with("gone")).cloned().collect();
        let known = Known {
            speeds: learned.latest(asked_device(model)),
            any: learned.latest(None).map(|(_, on)| on),
            learned,
            datasets: &datasets,
        };
        of_unit(model, &dataset(abbr), (rest, rest), &known, || measured)
    }

    #[test]
    fn a_data_set_takes_what_it_took() {
        let Seconds { low, middle, high } = as_before(200, &[took(100, 50.0, 1_000, 0), took(50, 35.0, 600, 10)]);
        assert!((middle - 120.0).abs() < 1e-9 && (low - 85.0).abs() < 1e-9 && (high - 168.0).abs() < 1e-9);
        // Of 200 samples 50 are computed: the others ask the same.
        assert_eq!(as_before(50, &[took(100, 50.0, 1_000, 0)]).middle, 25.0);
    }

    #[test]
    fn distinct_tokens_are_no_more_than_those_submitted() {
        let mut found = estimated(&model(DeviceRequest::Cpu, 0), "d", &learned(&[("cpu", 50.0)]), None);
        assert_eq!((found.submitted, found.distinct, found.tokens_by), (3_000, 500, TokenSource::Run));
        // A run computed tokens again, and a file of an older version does not hold the distinct ones.
        let again = Took { submitted: 1_188, distinct: None, computed: 1_450, ..took(100, 50.0, 1_450, 0) };
        assert_eq!(by_run(&mut found, 100, &again, true), 1_450.0);
        assert_eq!((found.submitted, found.distinct, found.is_distinct_in_job), (1_188, 1_188, false));
    }

    #[test]
    fn what_data_sets_share_is_counted_as_the_run_counted_it() {
        let mut known = learned(&[("cpu", 50.0)]);
        let (asked, shared) = (model(DeviceRequest::Cpu, 0), Took { distinct: Some(0), ..took(100, 50.0, 1_000, 0) });
        let datasets = &mut known.devices.get_mut("cpu").unwrap().datasets;
        datasets.insert("new 000000".to_owned(), vec![shared]);
        let all_shared = estimated(&asked, "new", &known, None);
        assert_eq!((all_shared.distinct, all_shared.is_distinct_in_job), (0, true), "the other data set has them");
        assert!(all_shared.seconds.middle > 0.0);
        // This job lacks a data set of that run: what it shares with the others is not known.
        known.devices.get_mut("cpu").unwrap().datasets.insert("gone 000000".to_owned(), vec![shared]);
        let alone = estimated(&asked, "new", &known, None);
        assert_eq!((alone.distinct, alone.is_distinct_in_job), (1_000, false));
    }

    #[test]
    fn what_a_run_has_recorded_takes_nothing() {
        let (asked, known) = (model(DeviceRequest::Cpu, 0), learned(&[("cpu", 50.0)]));
        let rest = estimated_rest(&asked, "d", &known, None, 40);
        assert_eq!((rest.samples, rest.submitted, rest.seconds.middle), (40, 1_200, 20.0));
        let rest = estimated_rest(&asked, "new", &known, None, 40);
        assert_eq!((rest.samples, rest.submitted), (40, 1_600), "2 characters a token");
        let nothing = estimated_rest(&asked, "d", &known, None, 0);
        assert_eq!((nothing.samples, nothing.submitted, nothing.seconds), (0, 0, Seconds::default()));
    }

    #[test]
    fn speeds_of_another_type_of_device_are_not_used() {
        let (on_gpu, on_cpu) = (model(DeviceRequest::Cuda, 1), learned(&[("cpu", 50.0)]));
        let found = estimated(&on_gpu, "d", &on_cpu, None);
        assert_eq!((&found.source, found.gpus), (&Source::Roofline, 1));
        assert!(found.seconds.middle > 0.0 && found.seconds.middle < 1.0, "{found:?}");
        assert_eq!((found.submitted, found.tokens_by), (3_000, TokenSource::Run), "tokens are the same everywhere");
        let said = choice(&on_gpu, &on_cpu).unwrap();
        assert_eq!(said, "no run of m on a GPU is known, and its speeds on cpu say nothing about one");
        let either = model(DeviceRequest::Auto, 0);
        assert!(matches!(estimated(&either, "d", &on_cpu, None).source, Source::Runs { .. }));
        assert_eq!(choice(&either, &on_cpu), None);
        // A job for CPUs has no use for the speeds of GPUs.
        let found = estimated(&model(DeviceRequest::Cpu, 1), "d", &learned(&[("NVIDIA H100", 1.0)]), None);
        assert_eq!((found.source, found.gpus), (Source::Roofline, 0));
    }

    #[test]
    fn of_several_types_of_gpu_the_latest_is_taken_and_named() {
        let known = learned(&[("NVIDIA H100", 2.0), ("NVIDIA A100", 4.0), ("cpu", 50.0)]);
        let asked = model(DeviceRequest::Auto, 2);
        let found = estimated(&asked, "d", &known, None);
        assert_eq!(found.source, Source::Runs { runs: 1, device: "NVIDIA A100".into() });
        assert_eq!((found.seconds.middle, found.gpus), (4.0, 2));
        let said = choice(&asked, &known).unwrap();
        assert_eq!(said, "speeds of m are those on NVIDIA A100, where it ran last; 2 types of GPU are known");
    }

    #[test]
    fn tokens_of_a_data_set_that_never_ran_are_those_of_the_tokenizer() {
        let (asked, nothing) = (model(DeviceRequest::Cpu, 0), Learned::default());
        let found = estimated(&asked, "new", &nothing, None);
        assert_eq!((found.submitted, found.distinct), (2_000, 1_000), "4 characters a token");
        assert_eq!(found.tokens_by, TokenSource::Characters);
        let measured = Measured { submitted_per_sample: 90.0, characters_per_token: 1.0 };
        let found = estimated(&asked, "new", &nothing, Some(measured));
        assert_eq!((found.submitted, found.distinct, found.tokens_by), (9_000, 4_000, TokenSource::Tokenizer));
    }
}
