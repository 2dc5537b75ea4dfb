//! Every formula against what scipy, statsmodels and numpy print (`goldens/make.py`), to 1e-12.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_stats::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Goldens {
    mcnemar: Vec<Counts>,
    tango: Vec<Paired>,
    wilson: Vec<Share>,
    normal_quantile: Vec<Normal>,
    normal_tail: Vec<Normal>,
    student_tail: Vec<Student>,
    student_quantile: Vec<Student>,
    paired_mean: Vec<Values>,
    clustered: Vec<Values>,
    sign_flip: Vec<Values>,
    corrections: Vec<Corrections>,
    detectable: Vec<Detectable>,
    percentiles: Percentiles,
}

#[derive(Deserialize)]
struct Counts {
    gained: u64,
    lost: u64,
    exact: f64,
    mid: f64,
}

#[derive(Deserialize)]
struct Paired {
    gained: u64,
    lost: u64,
    pairs: u64,
    z: f64,
    interval: [f64; 2],
}

#[derive(Deserialize)]
struct Share {
    hits: u64,
    total: u64,
    interval: [f64; 2],
}

#[derive(Deserialize)]
struct Normal {
    x: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Student {
    t: f64,
    freedom: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Values {
    values: Vec<f64>,
    #[serde(default)]
    clusters: Vec<u32>,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    mean: f64,
    #[serde(default)]
    stderr: f64,
    p: f64,
    interval: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct Corrections {
    p: Vec<f64>,
    holm: Vec<f64>,
    bh: Vec<f64>,
}

#[derive(Deserialize)]
struct Detectable {
    pairs: u64,
    discordance: f64,
    level: f64,
    power: f64,
    share: f64,
}

#[derive(Deserialize)]
struct Percentiles {
    values: Vec<f64>,
    interval: [f64; 2],
}

fn goldens() -> Goldens {
    serde_json::from_str(include_str!("../goldens/statistics.json")).unwrap()
}

/// Equal to 1e-12 of the number, and of one where the number is near 0 by cancellation rather than by size.
#[track_caller]
fn same(found: f64, expected: f64, what: &str) {
    let within = 1e-12 * expected.abs();
    assert!((found - expected).abs() <= within, "{what}: {found:e}, expected {expected:e}");
}

#[test]
fn mcnemars_test_is_that_of_statsmodels() {
    let all = goldens().mcnemar;
    assert!(all.len() >= 16);
    for Counts { gained, lost, exact, mid } in all {
        let found = mcnemar(gained, lost);
        same(found.exact, exact, &format!("{gained} {lost} exact"));
        same(found.mid, mid, &format!("{gained} {lost} mid"));
    }
    assert_eq!(mcnemar(0, 0), McNemar { exact: 1.0, mid: 1.0 });
}

#[test]
fn tangos_interval_is_that_of_sixty_digits() {
    let all = goldens().tango;
    assert!(all.len() >= 32);
    for Paired { gained, lost, pairs, z, interval: [low, high] } in all {
        let found = tango(gained, lost, pairs, z);
        let what = format!("{gained} {lost} of {pairs}");
        assert!(
            (found.low - low).abs() < 1e-12 && (found.high - high).abs() < 1e-12,
            "{what}: {found:?}, {low} {high}"
        );
    }
}

/// Fagerland, Lydersen and Laake, "Recommended tests and confidence intervals for paired binomial proportions" (Statistics in
/// Medicine 33, 2014): airway hyper-responsiveness, and response to consolidation therapy.
#[test]
fn tangos_interval_is_that_of_published_tables() {
    let z = two_sided_z(0.95);
    let rounded = |found: Interval, digits: i32| {
        let scale = 10f64.powi(digits);
        [(found.low * scale).round() / scale, (found.high * scale).round() / scale]
    };
    assert_eq!(rounded(tango(1, 7, 21, z), 3), [-0.517, -0.026]);
    assert_eq!(rounded(tango(6, 16, 161, z), 4), [-0.124, -0.0054]);
    let test = mcnemar(6, 16);
    assert_eq!([test.exact, test.mid].map(|p| format!("{p:.6}")), ["0.052479", "0.034690"]);
}

#[test]
fn wilsons_interval_is_that_of_statsmodels() {
    for Share { hits, total, interval: [low, high] } in goldens().wilson {
        let found = wilson(hits, total, two_sided_z(0.95)).unwrap();
        same(found.low, low, "low");
        same(found.high, high, "high");
    }
    assert_eq!(wilson(0, 0, 1.96), None);
    assert_eq!(wilson(10, 10, 1.96).map(|found| found.high), Some(1.0));
}

#[test]
fn the_distributions_are_those_of_scipy() {
    let goldens = goldens();
    for Normal { x, p } in goldens.normal_tail {
        same(normal_tail(x), p, &format!("normal tail of {x}"));
    }
    for Normal { x, p } in goldens.normal_quantile {
        assert!(
            (normal_quantile(p) - x).abs() <= 1e-12 * x.abs().max(1.0),
            "quantile of {p}: {}, {x}",
            normal_quantile(p)
        );
    }
    for Student { t, freedom, p } in goldens.student_tail {
        same(student_tail(t, freedom), p, &format!("t tail of {t}, {freedom}"));
    }
    for Student { t, freedom, p } in goldens.student_quantile {
        same(student_quantile(p, freedom), t, &format!("t quantile of {p}, {freedom}"));
    }
}

#[test]
fn means_are_those_of_scipy_and_statsmodels() {
    let goldens = goldens();
    for Values { values, mean, stderr, p, interval, .. } in goldens.paired_mean {
        let found = paired_mean(&values).unwrap();
        same(found.mean, mean, "mean");
        same(found.stderr, stderr, "stderr");
        same(found.p, p, "p");
        let half = two_sided_t(0.95, found.freedom) * found.stderr;
        let [low, high] = interval.unwrap();
        assert!((found.mean - half - low).abs() < 1e-12 && (found.mean + half - high).abs() < 1e-12);
    }
    for Values { values, clusters, count, mean, stderr, p, .. } in goldens.clustered {
        let found = clustered_mean(&values, &clusters, count).unwrap();
        assert!((found.mean - mean).abs() < 1e-14, "{} {mean}", found.mean);
        same(found.stderr, stderr, "clustered stderr");
        same(found.p, p, "clustered p");
    }
    assert_eq!(paired_mean(&[1.0]), None);
}

#[test]
fn sign_flips_are_those_of_scipy() {
    for Values { values, p, .. } in goldens().sign_flip {
        assert_eq!(sign_flip(&values, 1), SignFlip::Exact { p });
    }
    assert_eq!(sign_flip(&[0.0; 50], 1), SignFlip::Exact { p: 1.0 });
}

#[test]
fn corrections_are_those_of_statsmodels() {
    for Corrections { p, holm: h, bh } in goldens().corrections {
        for (found, expected) in holm(&p).iter().zip(&h).chain(benjamini_hochberg(&p).iter().zip(&bh)) {
            same(*found, *expected, &format!("{p:?}"));
        }
    }
    assert!(holm(&[]).is_empty());
}

#[test]
fn power_and_percentiles() {
    let goldens = goldens();
    for Detectable { pairs, discordance, level, power, share } in goldens.detectable {
        same(detectable_share(pairs, discordance, level, power).unwrap(), share, "detectable");
    }
    assert_eq!(detectable_share(5, 0.2, 1.96, 0.84), None, "five pairs tell nothing");
    let found = percentile_interval(&goldens.percentiles.values, 0.95).unwrap();
    let [low, high] = goldens.percentiles.interval;
    assert!((found.low - low).abs() < 1e-12 && (found.high - high).abs() < 1e-12, "{found:?}");
}

/// What is drawn follows the exact distribution, and the normal limit follows what is drawn.
#[test]
fn the_three_ways_to_flip_signs_agree() {
    // No two sums are equal, so that one tiny difference more changes nothing.
    let values: Vec<f64> = (0..20).map(|at| f64::from(at * at * 37 % 101) / 31.7 - 1.1).collect();
    let SignFlip::Exact { p } = sign_flip(&values, 1) else { panic!("20 values are looked at whole") };
    let more: Vec<f64> = values.iter().copied().chain([1e-9]).collect();
    let SignFlip::Drawn { p: drawn, draws } = sign_flip(&more, 1) else { panic!("21 values are drawn") };
    let error = (p * (1.0 - p) / draws as f64).sqrt();
    assert!((p - drawn).abs() < 4.0 * error, "{p} {drawn}");
    assert_eq!(sign_flip(&more, 1), sign_flip(&more, 1));
    let many: Vec<f64> = (0..20_000).map(|at| f64::from(at % 11) - 4.97).collect();
    let SignFlip::Drawn { p: drawn, .. } = sign_flip(&many, 7) else { panic!("20,000 values are drawn") };
    let one_more: Vec<f64> = many.iter().copied().chain([1e-9]).collect();
    let SignFlip::Normal { p } = sign_flip(&one_more, 7) else { panic!("more values are normal") };
    assert!((p - drawn).abs() < 0.008, "{p} {drawn}");
}
