//! Logits processors of Hugging Face transformers' `generate`, in its order: repetition penalty, minimum length, and
//! for sampling temperature, top-k, top-p (`_get_logits_processor`).

use crate::executor::batching::Changes;
use crate::kernels::Warp;

/// Rules for one generation.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::executor) struct LogitsRules {
    /// Logits of tokens seen before, including the prompt's, are divided by this if positive and multiplied by it if
    /// negative; 1 has no effect (`RepetitionPenaltyLogitsProcessor`, <https://arxiv.org/abs/1909.05858>).
    pub(in crate::executor) repetition_penalty: f32,
    /// End tokens are impossible until this many others were generated.
    pub(in crate::executor) min_new_tokens: usize,
    /// Present for sampling; otherwise the most probable token is chosen.
    pub(in crate::executor) warp: Option<Warp>,
}

impl LogitsRules {
    /// Returns whether any rule changes logits before the distribution is transformed.
    pub(in crate::executor) fn change_logits(&self) -> bool {
        self.repetition_penalty != 1.0 || self.min_new_tokens > 0
    }

    /// Returns what [`LogitsRules::apply`] changes before the distribution is transformed.
    pub(in crate::executor) fn changes(&self, seen: &[u32], generated: usize, eos: &[u32]) -> Changes {
        let penalised = if self.repetition_penalty == 1.0 { Vec::new() } else { distinct(seen) };
        let forbidden = if generated < self.min_new_tokens { eos.to_vec() } else { Vec::new() };
        Changes { penalised, forbidden }
    }

    /// Applies the rules to the logits of the next token.
    ///
    /// `seen` are the prompt's tokens and the `generated` ones after them; `eos` are the end tokens. Rejected tokens
    /// get minus infinity.
    pub(in crate::executor) fn apply(&self, logits: &mut [f32], seen: &[u32], generated: usize, eos: &[u32]) {
        if self.repetition_penalty != 1.0 {
            penalize(logits, seen, self.repetition_penalty);
        }
        if generated < self.min_new_tokens {
            for &id in eos {
                set(logits, id, |_| f32::NEG_INFINITY);
            }
        }
        if let Some(warp) = self.warp {
            warp.apply(logits);
        }
    }
}

fn set(logits: &mut [f32], id: u32, change: impl FnOnce(f32) -> f32) {
    if let Some(logit) = logits.get_mut(id as usize) {
        *logit = change(*logit);
    }
}

fn distinct(seen: &[u32]) -> Vec<u32> {
    let mut seen = seen.to_vec();
    seen.sort_unstable();
    seen.dedup();
    seen
}

/// Once per token, however often it was seen.
fn penalize(logits: &mut [f32], seen: &[u32], penalty: f32) {
    for id in distinct(seen) {
        set(logits, id, |logit| if logit < 0.0 { logit * penalty } else { logit / penalty });
    }
}

impl Warp {
    /// Rejected tokens get minus infinity.
    pub(crate) fn apply(self, logits: &mut [f32]) {
        if self.temperature != 1.0 {
            logits.iter_mut().for_each(|logit| *logit /= self.temperature);
        }
        if self.top_k > 0 && self.top_k < logits.len() {
            keep_top_k(logits, self.top_k);
        }
        if self.top_p < 1.0 {
            keep_top_p(logits, self.top_p);
        }
    }
}

fn keep_top_k(logits: &mut [f32], k: usize) {
    let mut order = logits.to_vec();
    let (_, &mut least, _) = order.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    for logit in logits.iter_mut().filter(|logit| **logit < least) {
        *logit = f32::NEG_INFINITY;
    }
}

/// Removes the least probable tokens whose probabilities sum to at most `1 - p`; one always stays. Of equal ones the
/// higher ids are removed first. transformers sums in f32 and leaves the order of equals to `torch.sort`; here sums are
/// f64, so that the two can differ only at a tie or if a sum meets the limit to 1e-7.
fn keep_top_p(logits: &mut [f32], p: f64) {
    let mut order: Vec<usize> = (0..logits.len()).filter(|&id| logits[id] > f32::NEG_INFINITY).collect();
    order.sort_by(|&a, &b| logits[a].total_cmp(&logits[b]).then(b.cmp(&a)));
    let Some((&best, others)) = order.split_last() else { return };
    let weight = |id: usize| f64::from(logits[id] - logits[best]).exp();
    let border = (1.0 - p) * order.iter().map(|&id| weight(id)).sum::<f64>();
    let mut sum = 0.0;
    let mut gone = others.len();
    for (place, &id) in others.iter().enumerate() {
        sum += weight(id);
        if sum > border {
            gone = place;
            break;
        }
    }
    for &id in &order[..gone] {
        logits[id] = f32::NEG_INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose::probabilities;
    use super::*;
    use crate::kernels::{Kernels, Reference};
    use serde_json::Value;
    use tch::Tensor;

    /// Rules in the golden file's notation.
    fn rules(case: &Value) -> LogitsRules {
        let number = |key: &str, neutral: f64| case["rules"][key].as_f64().unwrap_or(neutral);
        LogitsRules {
            repetition_penalty: number("repetition_penalty", 1.0) as f32,
            min_new_tokens: number("min_new_tokens", 0.0) as usize,
            warp: case["rules"]["do_sample"].as_bool().unwrap().then(|| Warp {
                temperature: number("temperature", 1.0) as f32,
                top_k: number("top_k", 0.0) as usize,
                top_p: number("top_p", 1.0),
            }),
        }
    }

    fn ids(value: &Value) -> Vec<u32> {
        value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
    }

    #[test]
    fn distributions_equal_those_of_transformers() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engine/goldens/sampling.json");
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let numbers = |value: &Value| -> Vec<f64> {
            let number = |number: &Value| number.as_f64().unwrap_or(f64::NEG_INFINITY);
            value.as_array().unwrap().iter().map(number).collect()
        };
        let cases = golden["cases"].as_array().unwrap();
        for case in cases {
            let mut logits: Vec<f32> = numbers(&golden["logits"][case["logits"].as_u64().unwrap() as usize])
                .into_iter()
                .map(|number| number as f32)
                .collect();
            let generated = case["generated"].as_u64().unwrap() as usize;
            rules(case).apply(&mut logits, &ids(&case["seen"]), generated, &ids(&case["eos"]));
            let (got, expected) = (probabilities(&logits).unwrap(), numbers(&case["probabilities"]));
            assert_eq!(got.len(), expected.len());
            for (id, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert!((got - expected).abs() < 1e-6, "{}: token {id}: {got} {expected}", case["rules"]);
                assert_eq!(*got == 0.0, *expected == 0.0, "{}: token {id}", case["rules"]);
            }
        }
        assert!(cases.len() >= 60, "{}", cases.len());
    }

    /// Changes on a device give the same bits.
    #[test]
    fn changes_on_a_device_are_those_of_the_host() {
        tch::manual_seed(3);
        let (rows, vocabulary) = (5i64, 40i64);
        let logits = Tensor::randn([rows, vocabulary], (tch::Kind::Float, tch::Device::Cpu)) * 3.0;
        for (penalty, least) in [(1.3f32, 0), (1.0, 4), (0.7, 4), (1.0, 0)] {
            let rules = LogitsRules { repetition_penalty: penalty, min_new_tokens: least, warp: None };
            let seen = |row: i64| (0..row as u32 * 3).map(|at| at * 7 % 45).collect::<Vec<u32>>();
            let (mut penalised, mut forbidden, mut wanted) = (Vec::new(), Vec::new(), Vec::<f32>::new());
            for row in 0..rows {
                let mut host = Vec::<f32>::try_from(&logits.get(row)).unwrap();
                rules.apply(&mut host, &seen(row), row as usize + 2, &[5, 44]);
                wanted.extend(host);
                let Changes { penalised: less, forbidden: none } =
                    rules.changes(&seen(row), row as usize + 2, &[5, 44]);
                let known = |ids: Vec<u32>| ids.into_iter().filter(|&id| i64::from(id) < vocabulary);
                penalised.extend(known(less).map(|id| row * vocabulary + i64::from(id)));
                forbidden.extend(known(none).map(|id| row * vocabulary + i64::from(id)));
            }
            let changed = logits.copy();
            Reference.change(&changed, &penalised, penalty, &forbidden).unwrap();
            assert_eq!(Vec::<f32>::try_from(&changed.view([-1])).unwrap(), wanted, "{penalty} {least}");
            assert_eq!(rules.change_logits(), penalty != 1.0 || least > 0);
        }
    }

    #[test]
    fn best_token_always_stays_and_unknown_ids_are_ignored() {
        let mut logits = vec![1.0, 5.0, 2.0];
        let warp = Some(Warp { temperature: 0.5, top_k: 1, top_p: 0.0 });
        let rules = LogitsRules { repetition_penalty: 2.0, min_new_tokens: 1, warp };
        rules.apply(&mut logits, &[9, 2, 2], 0, &[7]);
        assert_eq!(logits, [f32::NEG_INFINITY, 10.0, f32::NEG_INFINITY]);
        assert!(rules.change_logits());
        let mut none: Vec<f32> = Vec::new();
        rules.apply(&mut none, &[], 0, &[]);
    }
}
