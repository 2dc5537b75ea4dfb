//! From the plan and what was learnt to tokens and seconds, as intervals.
//!
//! Of equal requests one is computed. A data set that an earlier run had takes per computed sample what it took then. Another one takes `a` seconds for a token that is computed
//! and `b` for one that is generated, as the data sets did that are known of this architecture and device. Where nothing is known, a
//! roofline: computing is bound by arithmetic (2 operations for each parameter and token), generating by reading the weights once a
//! step for a batch.

use super::learned::{Learned, OnDevice, Took, distinct_characters, most_generated, name};
use crate::pipeline::Planned;
use compass_plan::{DatasetPlan, DeviceRequest, ModelPlan};
use compass_scheduler::{Duplicates, Recorded};
use std::ops::Add;
use std::path::Path;

/// Characters of a token where nothing was learnt.
const CHARACTERS_PER_TOKEN: f64 = 4.0;
/// How far a data set may be from its earlier runs, and from what others of its model say.
const SEEN: (f64, f64) = (0.85, 1.2);
const LIKE: (f64, f64) = (0.5, 2.0);
/// How far a device may be from its roofline.
const ROOFLINE: (f64, f64) = (0.4, 4.0);
/// Share of the longest answers that answers have, where nothing was learnt: low, middle, high.
const ANSWERED: [f64; 3] = [0.05, 0.4, 1.0];
/// Sequences that generate together.
const BATCH: f64 = 32.0;

/// Operations and bytes in a second that a device is good for: what was reached of an A100's 312 TFLOP/s and 2 TB/s, and of a CPU core.
#[derive(Clone, Copy, Debug)]
struct Roofline {
    operations: f64,
    bytes: f64,
}

const GPU: Roofline = Roofline { operations: 312e12 * 0.4, bytes: 2e12 * 0.6 };
const CPU: Roofline = Roofline { operations: 30e9, bytes: 10e9 };

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

/// What an estimate stands on.
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

/// What one data set takes of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitEstimate {
    pub model: String,
    pub dataset: String,
    pub samples: u64,
    pub submitted: u64,
    pub distinct: u64,
    pub generated: u64,
    pub seconds: Seconds,
    /// GPUs of a slot; 0 on a CPU.
    pub gpus: u32,
    pub source: Source,
}

/// What a job takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    pub units: Vec<UnitEstimate>,
}

/// Seconds for a token that is computed, and for one that is generated.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    computed: f64,
    generated: f64,
    characters: f64,
    /// Share of the longest answers.
    answered: Option<f64>,
}

impl Rates {
    /// Of everything that is known of a device; `None` where nothing was computed.
    fn of(on: &OnDevice) -> Option<Self> {
        let all: Vec<&Took> = on.datasets.values().filter_map(|runs| runs.last()).collect();
        let sum = |of: &dyn Fn(&Took) -> f64, which: &dyn Fn(&Took) -> bool| -> f64 {
            all.iter().filter(|took| which(took)).map(|took| of(took)).sum()
        };
        let (scores, generates) = (|took: &Took| took.generated == 0, |took: &Took| took.generated > 0);
        let (computed, seconds) = (|took: &Took| took.computed as f64, |took: &Took| took.seconds);
        let generated = |took: &Took| took.generated as f64;
        let everything = |_: &Took| true;
        let all_computed = sum(&computed, &everything);
        if all_computed <= 0.0 {
            return None;
        }
        let of_scores = sum(&computed, &scores);
        let of_answers = sum(&generated, &generates);
        let rate = match (of_scores > 0.0, of_answers > 0.0) {
            (true, _) => sum(&seconds, &scores) / of_scores,
            (false, true) => sum(&seconds, &everything) / (all_computed + of_answers),
            (false, false) => sum(&seconds, &everything) / all_computed,
        };
        let rest = sum(&seconds, &generates) - rate * sum(&computed, &generates);
        let most = sum(&|took: &Took| took.most_generated as f64, &generates);
        Some(Self {
            computed: rate,
            generated: if of_answers > 0.0 { (rest / of_answers).max(0.0) } else { rate * BATCH },
            characters: sum(&|took: &Took| took.characters, &everything) / all_computed,
            answered: (most > 0.0).then(|| of_answers / most),
        })
    }
}

/// What a job takes, by what is kept in the folder `state`.
pub fn estimate(planned: &Planned, state: &Path) -> Estimate {
    let plan = &planned.plan;
    let equal = Duplicates::beside(planned.duplicates.of_units(plan), &Recorded::default()).by_unit();
    let learned: Vec<Learned> = plan.models.iter().map(|model| Learned::read(state, model)).collect();
    let units = plan.units().map(|unit| {
        let known = learned.get(plan.model_of(unit.id).0 as usize).and_then(Learned::latest);
        let equal = equal.get(&unit.id).map_or(0, |samples| u64::from(samples.len()));
        of_unit(unit.model, unit.dataset, u64::from(unit.dataset.samples).saturating_sub(equal), known)
    });
    Estimate { units: units.collect() }
}

/// `computed` are its samples without those whose request another one's is equal to.
fn of_unit(
    model: &ModelPlan,
    dataset: &DatasetPlan,
    computed: u64,
    known: Option<(&String, &OnDevice)>,
) -> UnitEstimate {
    let samples = u64::from(dataset.samples);
    let share = computed as f64 / samples.max(1) as f64;
    let mut found = UnitEstimate {
        model: model.abbr.clone(),
        dataset: dataset.abbr.clone(),
        samples,
        submitted: 0,
        distinct: 0,
        generated: 0,
        seconds: Seconds::default(),
        gpus: if model.device == DeviceRequest::Cpu { 0 } else { model.num_gpus },
        source: Source::Unknown,
    };
    let runs = known.and_then(|(device, on)| Some((device, on.datasets.get(&name(dataset))?)));
    if let Some((device, runs)) = runs.filter(|(_, runs)| !runs.is_empty()) {
        seen(&mut found, computed, runs);
        found.source = Source::Runs { runs: runs.len(), device: device.clone() };
        return found;
    }
    let rates = known.and_then(|(device, on)| Some((device, Rates::of(on)?)));
    let per_token = rates.as_ref().map_or(CHARACTERS_PER_TOKEN, |(_, rates)| rates.characters.max(0.1));
    let labels = u64::from(dataset.labels.unwrap_or(1).max(1));
    let shared: u64 = shared_characters(dataset);
    found.distinct = (share * distinct_characters(dataset) as f64 / per_token) as u64;
    found.submitted = (share * (labels * (dataset.characters + shared)) as f64 / per_token) as u64;
    let most = (most_generated(model, dataset) * computed) as f64;
    let [few, some, many] = match rates.as_ref().and_then(|(_, rates)| rates.answered) {
        Some(answered) => [0.5 * answered, answered, (2.0 * answered).min(1.0)],
        None => ANSWERED,
    };
    found.generated = (most * some) as u64;
    let (each_computed, each_generated, around) = match &rates {
        Some((_, rates)) => (rates.computed, rates.generated, LIKE),
        None => match roofline(model) {
            Some((computed, generated)) => (computed, generated, ROOFLINE),
            None => return found,
        },
    };
    found.source = match rates {
        Some((device, _)) => Source::Others { device: device.clone() },
        None => Source::Roofline,
    };
    let read = found.distinct as f64 * each_computed;
    let at = |answered: f64| read + most * answered * each_generated;
    found.seconds = Seconds { low: at(few) * around.0, middle: at(some), high: at(many) * around.1 };
    found
}

/// Characters of shared prefixes, counted for each sample that has them.
fn shared_characters(dataset: &DatasetPlan) -> u64 {
    let mut begin = 0;
    let mut all = 0;
    for run in &dataset.prefix_runs {
        all += u64::from(run.end.saturating_sub(begin)) * run.characters;
        begin = run.end;
    }
    all
}

/// By earlier runs of the same data set: the mean, within what they differ by.
fn seen(found: &mut UnitEstimate, computed: u64, runs: &[Took]) {
    let samples = computed as f64;
    let per_sample: Vec<f64> = runs.iter().map(|took| took.seconds / took.samples.max(1) as f64).collect();
    let mean = per_sample.iter().sum::<f64>() / per_sample.len().max(1) as f64;
    let least = per_sample.iter().copied().fold(f64::INFINITY, f64::min).min(mean);
    let most = per_sample.iter().copied().fold(0.0, f64::max).max(mean);
    found.seconds = Seconds { low: least * samples * SEEN.0, middle: mean * samples, high: most * samples * SEEN.1 };
    if let Some(last) = runs.last() {
        let share = samples / last.samples.max(1) as f64;
        let scaled = |tokens: u64| (tokens as f64 * share).round() as u64;
        (found.submitted, found.distinct) = (scaled(last.submitted), scaled(last.computed));
        found.generated = scaled(last.generated);
    }
}

/// Seconds for a token that is computed and one that is generated; `None` where the weights are not known here.
fn roofline(model: &ModelPlan) -> Option<(f64, f64)> {
    let pin = model.pin.as_ref()?;
    let weights = pin.weights.files.iter().filter(|(name, _)| name.starts_with("weights/"));
    let bytes: u64 = weights.map(|(_, file)| file.bytes).sum();
    if bytes == 0 {
        return None;
    }
    let gpus = f64::from(model.num_gpus.max(1));
    let device = if model.num_gpus == 0 || model.device == DeviceRequest::Cpu { CPU } else { GPU };
    // Weights are taken for 2 bytes each, as they are kept.
    let parameters = bytes as f64 / 2.0;
    let computed = 2.0 * parameters / (device.operations * gpus);
    Some((computed, computed + bytes as f64 / (device.bytes * gpus) / BATCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn took(samples: u64, seconds: f64, computed: u64, generated: u64) -> Took {
        Took {
            at: 0,
            samples,
            seconds,
            submitted: 3 * computed,
            computed,
            generated,
            characters: computed as f64 * 2.0,
            most_generated: 4 * generated,
        }
    }

    #[test]
    fn rates_are_those_of_what_was_seen() {
        let datasets = BTreeMap::from([
            ("scores".to_owned(), vec![took(10, 20.0, 1_000, 0)]),
            ("answers".to_owned(), vec![took(10, 99.0, 9, 9), took(10, 50.0, 500, 80)]),
        ]);
        let rates = Rates::of(&OnDevice { latest: 0, datasets }).unwrap();
        assert_eq!(rates, Rates { computed: 0.02, generated: 0.5, characters: 2.0, answered: Some(0.25) });
        assert_eq!(Rates::of(&OnDevice::default()), None);
    }

    #[test]
    fn a_data_set_takes_what_it_took() {
        let mut found = UnitEstimate {
            model: String::new(),
            dataset: String::new(),
            samples: 200,
            submitted: 0,
            distinct: 0,
            generated: 0,
            seconds: Seconds::default(),
            gpus: 0,
            source: Source::Unknown,
        };
        seen(&mut found, 200, &[took(100, 50.0, 1_000, 0), took(50, 35.0, 600, 10)]);
        let Seconds { low, middle, high } = found.seconds;
        assert!((middle - 120.0).abs() < 1e-9 && (low - 85.0).abs() < 1e-9 && (high - 168.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.submitted, found.distinct, found.generated), (7_200, 2_400, 40));
        // Of 200 samples 50 are computed: the others ask the same.
        seen(&mut found, 50, &[took(100, 50.0, 1_000, 0)]);
        assert_eq!((found.seconds.middle, found.distinct), (25.0, 500));
    }
}
