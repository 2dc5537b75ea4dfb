//! Classification scores, pass rates, means and standard errors.

use crate::golden::{closely, texts};
use compass_metrics::statistics::*;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn totals(gold: &[&str], predicted: &[&str]) -> ClassTotals {
    let samples: Vec<_> = gold.iter().copied().zip(predicted.iter().copied()).collect();
    Classes::new(&samples).totals()
}

#[test]
fn classification() {
    closely("confusion", 80, |args| {
        let totals = totals(&texts(&args[0]), &texts(&args[1]));
        let f1 = [totals.macro_f1(), totals.micro_f1(), totals.weighted_f1()];
        vec![totals.matthews_correlation(), f1[0], f1[1], f1[2], totals.accuracy()]
    });
    closely("f1_binary", 60, |args| {
        let (gold, predicted) = (texts(&args[0]), texts(&args[1]));
        let names: std::collections::BTreeSet<&str> = gold.iter().chain(&predicted).copied().collect();
        let class = names.iter().position(|name| *name == "1");
        vec![class.map_or(0.0, |class| totals(&gold, &predicted).f1(class))]
    });
    closely("auc_roc", 60, |args| {
        let mut stats = AucStats::default();
        for (gold, score) in args[0].as_array().unwrap().iter().zip(numbers(&args[1])) {
            let mut one = AucStats::default();
            one.observe(gold.as_bool().unwrap(), score);
            stats.merge(&one);
        }
        vec![stats.score().unwrap()]
    });
    closely("brier", 60, |args| vec![brier_score(&numbers(&args[0]), args[1].as_u64().unwrap() as usize)]);
}

#[test]
fn pass_rates() {
    closely("pass_at_k", 60, |args| {
        let [n, c, k] = [0, 1, 2].map(|at| args[at].as_u64().unwrap());
        let mut out = vec![pass_at_k(n, c, k), mg_pass_at_k(n, c, k)];
        out.extend([0.0, 0.25, 0.5, 0.75, 1.0].map(|t| g_pass_at_k(n, c, k, t)));
        out
    });
}

#[test]
fn means_and_errors() {
    closely("means", 60, |args| {
        let (values, sizes, errors) = (numbers(&args[0]), numbers(&args[1]), numbers(&args[2]));
        let subtasks: Vec<(f64, u64)> = errors.iter().zip(&sizes).map(|(&error, &size)| (error, size as u64)).collect();
        let weighted: Vec<(f64, f64)> = values.iter().copied().zip(sizes.iter().copied()).collect();
        let by_size: f64 = weighted.iter().map(|(value, size)| value * size).sum();
        vec![
            mean(&values),
            median(&values).unwrap(),
            sample_stddev(&values).unwrap(),
            mean_stderr(&values).unwrap(),
            pooled_sample_stderr(&subtasks).unwrap(),
            unweighted_mean_stderr(&errors),
            weighted_mean(&weighted),
            by_size / sizes.iter().sum::<f64>(),
        ]
    });
    // 3 / (1/1 + 1/2 + 1/4), and a score of nought counting as one.
    assert_eq!(harmonic_mean(&[1.0, 2.0, 4.0]), 3.0 / 1.75);
    assert_eq!(harmonic_mean(&[0.0, 1.0]), 1.0);
}

#[test]
fn bootstrapped_errors() {
    closely("bootstrap", 6, |args| {
        let iterations = args[1].as_u64().unwrap() as usize;
        if let Some(predicted) = args.get(2) {
            let samples: Vec<_> = texts(&args[0]).into_iter().zip(texts(predicted)).collect();
            let classes = Classes::new(&samples);
            let correlation = |drawn: &[usize]| classes.totals_of(drawn.iter().copied()).matthews_correlation();
            return vec![bootstrap_stderr(samples.len(), iterations, correlation).unwrap()];
        }
        let values = numbers(&args[0]);
        let resampled = |drawn: &[usize]| drawn.iter().map(|&at| values[at]).collect::<Vec<f64>>();
        vec![
            bootstrap_stderr(values.len(), iterations, |drawn| median(&resampled(drawn)).unwrap()).unwrap(),
            bootstrap_stderr(values.len(), iterations, |drawn| (-mean(&resampled(drawn))).exp()).unwrap(),
        ]
    });
}
