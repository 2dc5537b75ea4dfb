//! Seconds for a token: as it was seen on a device, or as arithmetic and bandwidth bound it.

use super::learned::{OnDevice, Took};
use compass_plan::ModelPlan;

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

/// Seconds for a token that is computed, and for one that is generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    pub computed: f64,
    pub generated: f64,
    /// Characters of a token that is computed.
    pub characters: f64,
    /// Share of the longest answers.
    pub answered: Option<f64>,
}

impl Rates {
    /// Computes the rates of everything that is known of a device; `None` where nothing was computed.
    pub(super) fn of(on: &OnDevice) -> Option<Self> {
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

/// Seconds for a token that is computed and one that is generated, on so many GPUs or a core of a CPU; `None` where the weights are
/// not known here.
pub(super) fn roofline(model: &ModelPlan, gpus: u32) -> Option<(f64, f64)> {
    let pin = model.pin.as_ref()?;
    let weights = pin.weights.files.iter().filter(|(name, _)| name.starts_with("weights/"));
    let bytes: u64 = weights.map(|(_, file)| file.bytes).sum();
    if bytes == 0 {
        return None;
    }
    let device = if gpus == 0 { CPU } else { GPU };
    let gpus = f64::from(gpus.max(1));
    // Weights are taken for 2 bytes each, as they are kept.
    let parameters = bytes as f64 / 2.0;
    let computed = 2.0 * parameters / (device.operations * gpus);
    Some((computed, computed + bytes as f64 / (device.bytes * gpus) / BATCH))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A run of so many samples, with texts of two characters a token.
    pub(crate) fn took(samples: u64, seconds: f64, computed: u64, generated: u64) -> Took {
        Took {
            at: 0,
            samples,
            seconds,
            submitted: 3 * computed,
            distinct: Some(computed / 2),
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
}
