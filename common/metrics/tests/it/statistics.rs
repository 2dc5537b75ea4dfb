//! Classification scores, pass rates, means and standard errors.

use crate::golden::{closely, texts};
use compass_metrics::statistics::*;
use proptest::prelude::*;
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

/// Every subset was enumerated, in exact fractions.
#[test]
fn rates_of_k_answers() {
    closely("at_k", 240, |args| {
        let [n, right] = [0, 1].map(|at| args[at].as_u64().unwrap());
        let rivals: Vec<u64> = args[2].as_array().unwrap().iter().map(|votes| votes.as_u64().unwrap()).collect();
        let k: Vec<u64> = (1..=n).collect();
        let majority = maj_at_k(n, right, &rivals, &k).unwrap();
        let at = |(&k, majority): (&u64, f64)| [pass_at_k(n, right, k), majority, all_at_k(n, right, k)];
        k.iter().zip(majority).flat_map(at).collect()
    });
}

/// As many answers as have a majority, by whole numbers.
#[test]
fn majorities_of_many_answers() {
    closely("maj_at_k", 10, |args| {
        let [n, right] = [0, 1].map(|at| args[at].as_u64().unwrap());
        let [rivals, k] =
            [2, 3].map(|at| args[at].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect::<Vec<_>>());
        maj_at_k(n, right, &rivals, &k).unwrap()
    });
}

#[test]
fn what_has_no_majority() {
    assert_eq!(maj_at_k(4, 3, &[2], &[1]), None, "more votes than answers");
    assert_eq!(maj_at_k(4, 3, &[1], &[5]), None, "more draws than answers");
    assert_eq!(maj_at_k(MOST_VOTES + 1, 3, &[1], &[1]), None);
    assert_eq!(maj_at_k(3, u64::MAX, &[1], &[1]), None);
    assert_eq!(all_at_k(4, 3, 4), 0.0);
}

/// sqrt(mean((3/4)(1/4)/3, 0, (1/2)(1/2)/1) / 3)
#[test]
fn the_error_of_draws() {
    let found = draws_stderr(&[(4, 3), (4, 4), (2, 1)]).unwrap();
    assert!((found - ((0.0625 + 0.25) / 9.0f64).sqrt()).abs() < 1e-15, "{found}");
    assert_eq!((draws_stderr(&[]), draws_stderr(&[(1, 1)])), (None, None));
}

/// A question of up to 256 answers: how many there are, how many are right, and the votes of other classes.
fn question() -> impl Strategy<Value = (u64, u64, Vec<u64>)> {
    (proptest::collection::vec(1..20_u64, 0..6), 0..60_u64, 0..20_u64).prop_filter_map(
        "too many",
        |(rivals, right, silent)| {
            let n = rivals.iter().sum::<u64>() + right + silent;
            (1..=MOST_VOTES).contains(&n).then_some((n, right, rivals))
        },
    )
}

proptest! {
    #[test]
    fn one_answer_is_its_own_majority((n, right, rivals) in question()) {
        let share = right as f64 / n as f64;
        let one = [maj_at_k(n, right, &rivals, &[1]).unwrap()[0], pass_at_k(n, right, 1), all_at_k(n, right, 1)];
        prop_assert!(one.iter().all(|one| (one - share).abs() < 1e-12), "{:?}", one);
    }

    #[test]
    fn all_answers_are_one_vote((n, right, rivals) in question()) {
        let most = rivals.iter().copied().max().unwrap_or(0);
        let tied = rivals.iter().filter(|rival| **rival == right).count() as f64;
        let expected = if right == 0 || most > right { 0.0 } else { 1.0 / (tied + 1.0) };
        let found = maj_at_k(n, right, &rivals, &[n]).unwrap()[0];
        prop_assert!((found - expected).abs() < 1e-12, "{}", found);
    }

    #[test]
    fn a_majority_lies_between_all_and_any((n, right, mut rivals) in question(), draws in 1..=MOST_VOTES) {
        let k = draws.min(n);
        let found = maj_at_k(n, right, &rivals, &[k]).unwrap()[0];
        prop_assert!(found >= all_at_k(n, right, k) - 1e-12 && found <= pass_at_k(n, right, k) + 1e-12);
        rivals.reverse();
        let reversed = maj_at_k(n, right, &rivals, &[k]).unwrap()[0];
        prop_assert!((found - reversed).abs() < 1e-12, "{} in another order {}", found, reversed);
    }

    /// One of k answers is left out with the same probability: the rates of k + 1 say the rates of k.
    #[test]
    fn rates_of_all_are_a_hypergeometric_chain((n, right, _) in question(), k in 1..MOST_VOTES) {
        prop_assume!(k < n);
        let step = if right > k { (right - k) as f64 / (n - k) as f64 } else { 0.0 };
        prop_assert!((all_at_k(n, right, k + 1) - all_at_k(n, right, k) * step).abs() < 1e-12);
        prop_assert!((pass_at_k(n, right, k) - (1.0 - all_at_k(n, n - right, k))).abs() < 1e-12);
    }
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
